#include "src/infer/budget.h"

#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/infer/infer.h"

namespace onnxflops::infer {

namespace {

int64_t MaxEvaluations(const ModelData& model, const Limits& limits) {
  size_t once = model.tensors.size() + model.graphs.size();
  for (const Node& node : model.nodes) once += EvaluationsOf(node);
  return kMaxExtraEvaluations + limits.evaluations_per_node * static_cast<int64_t>(once);
}

}  // namespace

Budget::Budget(const ModelData& model, const Limits& limits)
    : model_(model),
      limits_(limits),
      max_symbols_(kMaxExtraSymbols + kMaxSymbolsPerNode * model.nodes.size()),
      evaluations_left_(MaxEvaluations(model, limits)),
      steps_(MaxSteps(model, limits)) {}

absl::Status Budget::TooManyEvaluations() const {
  return LimitError(
      "evaluations-per-node",
      absl::StrCat(Escaped(model_.path),
                   ": bodies and functions are evaluated more often than the limit allows "
                   "(evaluations-per-node = ",
                   limits_.evaluations_per_node, ")"));
}

absl::Status Budget::TooMuchWork() const {
  if (steps_.exceeded()) {
    return LimitError("steps-per-node",
                      absl::StrCat("with it the sizes take more than ", MaxSteps(model_, limits_),
                                   " steps of arithmetic (steps-per-node)"));
  }
  return LimitError("symbols-per-node", absl::StrCat("with it there are more than ", max_symbols_,
                                                     " open sizes (symbols-per-node)"));
}

}  // namespace onnxflops::infer
