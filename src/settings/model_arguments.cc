#include "src/settings/model_arguments.h"

#include "src/base/status_macros.h"
#include "src/settings/value.h"

namespace onnxflops::settings {

static constexpr char kWork[] = "work", kActivations[] = "activations";

void ComparedArgument::AddTo(Table* list) {
  list->AddValue("quantity", "NAME", &quantity,
                 "What is compared: work (default), MACs and FLOPs; or activations, elements that "
                 "layers and products write.",
                 {kWork, kActivations});
}

absl::StatusOr<bool> ComparedArgument::IsActivations() const {
  if (quantity.empty() || quantity == kWork) return false;
  if (quantity == kActivations) return true;
  return BadValue("quantity", quantity, "it should be work or activations");
}

void CompareArguments::AddTo(Table* list) {
  sizes.AddTo(list);
  upper.AddTo(list);
  no_grad.AddTo(list);
  samples.AddTo(list);
}

absl::StatusOr<CountOptions> CompareArguments::Options() const {
  ASSIGN_OR_RETURN(CountOptions options, sizes.Parse());
  options.upper_bounds = upper.given;
  options.no_grad = no_grad.given;
  ASSIGN_OR_RETURN(options.samples, samples.Parse());
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
