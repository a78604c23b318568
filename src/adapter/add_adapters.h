// A model with low-rank adapters beside its linear layers, as peft's LoRA runs them:
//
//   result = base_layer(x) + lora_B(lora_A(x)) * scaling
//
// Every later stage then sees a graph that has them: shapes, costs, the exact backward pass and
// memory need no rule of their own. Modules are named as peft names them, q_proj.lora_A.default.
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

struct Adapted {
  Model model;
  LoraSummary summary;
  std::vector<std::string> warnings;
};

// `inference`: of `model`, or of what Resolve() made of it. Errors: as of LinearLayers::Targets;
// InvalidArgument for a layer that cannot have an adapter of this rank; OutOfRange for one that is
// too large.
absl::StatusOr<Adapted> AddAdapters(const Model& model, const Inference& inference,
                                    const modules::Attribution& attribution,
                                    const LoraOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_ADAPTER_ADD_ADAPTERS_H_
