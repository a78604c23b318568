// Reads what the layers of a decoder are beside plain attention and an MLP: experts, latent
// attention, windows. Formulas of whole models have terms for them.
#ifndef ONNXFLOPS_SRC_CONVENTION_LAYER_FACTS_H_
#define ONNXFLOPS_SRC_CONVENTION_LAYER_FACTS_H_

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "src/convention/formulas.h"
#include "src/infer/infer.h"
#include "src/resolve/parameters.h"

namespace onnxflops {

// Sets `a` and the parameters of layers with experts, if an operator is a mixture of experts. Reads
// `n` and `d`.
void ReadExperts(const Inference& inference, absl::Span<const resolve::Parameter> parameters,
                 FormulaParameters* p);

// Sets the parameters of latent attention, if weights have DeepSeek's names. Reads `d` and `h`.
void ReadLatentAttention(absl::Span<const resolve::Parameter> parameters, FormulaParameters* p);

// Layers of a configuration that predict further tokens; 0 without one.
Expr FurtherTokenLayers(const ModelData& model);

// Why Megatron-Bridge has another formula for the layers of this model; "" if it has none.
std::string OtherLayersOfBridge(const ModelData& model, const FormulaParameters& p);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CONVENTION_LAYER_FACTS_H_
