// Adds low-rank adapters to the linear layers of a model, as peft's LoRA runs them:
//
//   result = base_layer(x) + lora_B(lora_A(x)) * scaling
//
// The adapters are nodes of the graph, so shapes, costs, the exact backward pass and memory need no
// special rule for them. Modules have peft's names, such as q_proj.lora_A.default.
#ifndef ONNXFLOPS_SRC_ADAPTER_ADD_ADAPTERS_H_
#define ONNXFLOPS_SRC_ADAPTER_ADD_ADAPTERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/adapter/lora_options.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/module/attribution.h"

namespace onnxflops {

// Patterns of the parameters of all adapters.
inline constexpr absl::string_view kAdapterPatterns[] = {"*.lora_A.default.weight",
                                                         "*.lora_B.default.weight"};
// And of those with LoraOptions::dora.
inline constexpr absl::string_view kMagnitudePattern = "*.lora_magnitude_vector.default.weight";

struct Adapted {
  Model model;
  LoraSummary summary;
  std::vector<std::string> warnings;
};

// `inference` belongs to `model`, or to what Resolve() made of it. Errors: those of
// LinearLayers::Targets; InvalidArgument for a layer that cannot have an adapter of this rank;
// OutOfRange for one that is too large.
absl::StatusOr<Adapted> AddAdapters(const Model& model, const Inference& inference,
                                    const modules::Attribution& attribution,
                                    const LoraOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_ADAPTER_ADD_ADAPTERS_H_
