#include "src/api/count.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/convention/conventions.h"
#include "src/count/count.h"
#include "src/infer/infer.h"

namespace onnxflops {
namespace {

// The stages that every verb needs.
struct Analysis {
  Inference inference;
  Counts counts;
};

absl::StatusOr<Analysis> Analyze(const Model& model, const CountOptions& options,
                                 CausalCounting causal) {
  InferOptions infer;
  infer.dims = options.bindings;
  infer.input_shapes = options.input_shapes;
  infer.input_values = options.input_values;
  infer.rules = options.rules;
  infer.bodies = options.bodies;
  infer.limits = options.limits;
  ASSIGN_OR_RETURN(Inference inference, Infer(model, infer));
  ASSIGN_OR_RETURN(Counts counts, Count(inference, causal));
  return Analysis{std::move(inference), std::move(counts)};
}

ReportOptions ReportOptionsOf(const CountOptions& options) {
  return {options.causal, options.node_rows};
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
