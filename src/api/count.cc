#include "src/api/count.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/convention/conventions.h"
#include "src/count/count.h"
#include "src/infer/infer.h"
#include "src/resolve/resolve.h"

namespace onnxflops {
namespace {

// The stages that every verb needs.
struct Analysis {
  Inference inference;
  Counts counts;
};

// Official bodies that do not fit leave their nodes unknown, which they are without.
absl::StatusOr<Inference> InferResolved(const Model& model, const Resolution& resolution,
                                        const InferOptions& options) {
  absl::StatusOr<Inference> inference = Infer(resolution.model, options);
  std::vector<std::string> warnings = resolution.warnings;
  if (!inference.ok() && resolution.has_bodies) {
    warnings.push_back(BodiesDoNotFit(inference.status()));
    inference = Infer(model, options);
  }
  if (inference.ok()) {
    inference->warnings.insert(inference->warnings.end(), warnings.begin(), warnings.end());
  }
  return inference;
}

absl::StatusOr<Analysis> Analyze(const Model& model, const CountOptions& options,
                                 CausalCounting causal) {
  ResolveOptions resolve;
  resolve.operators.rules = options.rules;
  resolve.bodies = options.bodies;
  InferOptions infer;
  infer.dims = options.bindings;
  infer.input_shapes = options.input_shapes;
  infer.input_values = options.input_values;
  infer.operators = resolve.operators;
  infer.limits = options.limits;
  ASSIGN_OR_RETURN(Inference inference, InferResolved(model, Resolve(model, resolve), infer));
  ASSIGN_OR_RETURN(Counts counts, Count(inference, causal));
  return Analysis{std::move(inference), std::move(counts)};
}

ReportOptions ReportOptionsOf(const CountOptions& options) {
  return {options.causal, options.node_rows, options.module, options.upper_bounds};
}

}  // namespace

absl::StatusOr<Report> Count(const Model& model, const CountOptions& options) {
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(model, options, options.causal));
  return MakeReport(analysis.inference, analysis.counts, ReportOptionsOf(options));
}

absl::StatusOr<Report> CountAs(const Model& model, const CountOptions& options,
                               absl::string_view name) {
  ASSIGN_OR_RETURN(const convention::Convention* convention, convention::RequireConvention(name));
  if (options.node_rows && !model->functions.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(Escaped(model->path),
                     ": rows by node of a model with functions are only there as we count"));
  }
  if (!options.module.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(Escaped(model->path), ": a part of a model (--module ", Quoted(options.module),
                     ") is only there as we count, not as ", name));
  }
  if (options.causal != CausalCounting::kFull) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " counts causal attention in its own way: half of it is only there as we count"));
  }
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(model, options, options.causal));
  return MakeReportAs(analysis.inference, analysis.counts, ReportOptionsOf(options), *convention);
}

absl::StatusOr<CompareReport> CompareTools(const Model& model, const CountOptions& options,
                                           const CompareRequest& request) {
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(model, options, CausalCounting::kFull));
  return MakeComparison(analysis.inference, analysis.counts, request);
}

absl::StatusOr<Explanation> Explain(const Model& model, const CountOptions& options,
                                    absl::string_view node) {
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(model, options, options.causal));
  return MakeExplanation(analysis.inference, analysis.counts, node);
}

}  // namespace onnxflops
