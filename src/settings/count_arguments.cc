#include "src/settings/count_arguments.h"

#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/convention/conventions.h"
#include "src/training/training_options.h"

namespace onnxflops::settings {

void CountArguments::AddTo(Table* list) {
  list->BeginGroup("sizes", "Sizes of the model, and what is counted");
  sizes.AddTo(list, /*sweeps=*/true);
  upper.AddTo(list);
  causal.AddTo(list);
  serving.AddTo(list);
  list->BeginGroup("samples", "The batch that ran");
  samples.AddTo(list);
  list->BeginGroup("view", "What is shown");
  view.AddTo(list);
  list->AddValue(
      "convention", "NAME", &convention,
      "Count as another tool does, thop or fvcore. `onnxflops compare {list on}` has the names.",
      convention::ConventionNames());
  no_grad.AddTo(list);
  list->BeginGroup("training", "Training");
  training.AddTo(list);
  list->BeginGroup("memory", "Memory");
  memory.AddTo(list);
  list->BeginGroup("devices", "Time on a device");
  roofline.AddTo(list);
}

absl::StatusOr<CountOptions> CountArguments::Options(std::vector<DimSizes>* sweep) const {
  ASSIGN_OR_RETURN(CountOptions options, sizes.Parse(sweep));
  ASSIGN_OR_RETURN(options.samples, samples.Parse());
  ASSIGN_OR_RETURN(options.causal, causal.Parse());
  ASSIGN_OR_RETURN(options.tied, training.tied.Parse());
  ASSIGN_OR_RETURN(options.lora, training.ParseLoraOptions());
  ASSIGN_OR_RETURN(const TrainingOptions trained, training.ParseOptions());
  ASSIGN_OR_RETURN(options.memory, memory.Parse(trained, roofline.devices_file));
  // With --lora, a forward pass alone may be asked for.
  const bool is_forward = !convention.empty() || serving.asked();
  const bool exact = training.backward == "exact" || training.FirstOfExact() != nullptr;
  if (training.backward == "exact" ||
      (!options.memory && (!options.lora || exact || !is_forward))) {
    ASSIGN_OR_RETURN(options.training, training.Parse());
  }
  ASSIGN_OR_RETURN(options.on_device, roofline.Parse());
  if (!convention.empty()) {
    RETURN_IF_ERROR(convention::RequireConvention(convention).status());
  } else if (no_grad.given) {
    return absl::InvalidArgumentError(
        WithSettings("{no-grad on} is about what another tool counts: it needs {convention}"));
  }
  options.no_grad = no_grad.given;
  options.module = view.module;
  options.upper_bounds = upper.given;
  return options;
}

}  // namespace onnxflops::settings
