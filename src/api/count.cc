#include "src/api/count.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/api/analysis.h"
#include "src/api/memory.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/convention/conventions.h"
#include "src/training/backward.h"

namespace onnxflops {
namespace {

ReportOptions ReportOptionsOf(const CountOptions& options) {
  return {options.causal, options.node_rows, options.module, options.upper_bounds};
}

}  // namespace

absl::StatusOr<Report> Count(const Model& model, const CountOptions& options) {
  if (options.memory && options.upper_bounds) {
    return absl::UnimplementedError(absl::StrCat(
        Escaped(model->path), ": --memory is there at open sizes, not at their upper bounds"));
  }
  if ((options.training || options.memory) && !options.module.empty()) {
    return absl::UnimplementedError(absl::StrCat(
        Escaped(model->path), ": ", options.training ? "the exact backward pass" : "--memory",
        " is there for a whole model, not for a part of it (", "--module ", Quoted(options.module),
        ")"));
  }
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(model, options, options.causal));
  ASSIGN_OR_RETURN(Report report,
                   MakeReport(analysis.inference, analysis.counts, ReportOptionsOf(options)));
  if (options.memory) {
    if (const absl::Status added = AddMemory(analysis, options, &report); !added.ok()) {
      return WithMessage(added, absl::StrCat(Escaped(model->path), ": ", added.message()));
    }
  }
  if (!options.training) return report;
  const absl::StatusOr<Backward> backward =
      CountBackward(analysis.inference, analysis.counts, options.causal, *options.training);
  if (!backward.ok()) {
    return WithMessage(backward.status(),
                       absl::StrCat(Escaped(model->path), ": ", backward.status().message()));
  }
  RETURN_IF_ERROR(SetTraining(*model, *backward, *options.training, &report));
  return report;
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
  if (options.training) {
    return absl::InvalidArgumentError(
        absl::StrCat("the exact backward pass is there as we count, not as ", name, " does"));
  }
  if (options.memory) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory is there as we count, not as ", name, " does"));
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
