#include "src/settings/model_arguments.h"

#include "src/base/status_macros.h"

namespace onnxflops::settings {

void CompareArguments::AddTo(Table* list) {
  sizes.AddTo(list);
  upper.AddTo(list);
  no_grad.AddTo(list);
}

absl::StatusOr<CountOptions> CompareArguments::Options() const {
  ASSIGN_OR_RETURN(CountOptions options, sizes.Parse());
  options.upper_bounds = upper.given;
  options.no_grad = no_grad.given;
  options.module = module;
  return options;
}

void ExplainArguments::AddTo(Table* list) {
  sizes.AddTo(list);
  upper.AddTo(list);
  causal.AddTo(list);
}

absl::StatusOr<CountOptions> ExplainArguments::Options() const {
  ASSIGN_OR_RETURN(CountOptions options, sizes.Parse());
  ASSIGN_OR_RETURN(options.causal, causal.Parse());
  options.upper_bounds = upper.given;
  return options;
}

void DiffArguments::AddTo(Table* list) {
  sizes.AddTo(list);
  causal.AddTo(list);
}

absl::StatusOr<CountOptions> DiffArguments::Options() const {
  ASSIGN_OR_RETURN(CountOptions options, sizes.Parse());
  ASSIGN_OR_RETURN(options.causal, causal.Parse());
  options.activation_peak = true;
  return options;
}

}  // namespace onnxflops::settings
