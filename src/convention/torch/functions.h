// Tools that wrap Python's functions: what they see depends on how the source code writes a call,
// which an export does not keep.
#ifndef ONNXFLOPS_SRC_CONVENTION_TORCH_FUNCTIONS_H_
#define ONNXFLOPS_SRC_CONVENTION_TORCH_FUNCTIONS_H_

#include "src/convention/torch/tool.h"

namespace onnxflops::convention {

// Whether a wrapper sees the call: of functions of torch.nn.functional; of functions of torch, and
// methods of tensors.
bool IsFunctional(TorchTool* tool, const TorchCall& call);
bool IsByName(TorchTool* tool, const TorchCall& call);

// The class of transformers that does so with F.gelu.
inline constexpr absl::string_view kGeluOfTransformers = "transformers.activations.GELUActivation";
// Whether the module keeps a function of torch.nn.functional from when it was made, before a tool
// wraps it.
bool KeepsFunction(const TorchScope& scope);

// What torch.add and torch.mul count: elements of the larger in each dimension, of which the first
// is compared with the first.
AmountId ElementsByName(TorchTool* tool, const TorchCall& call);

// Elements of what addmm or baddbmm adds.
AmountId AddedElements(TorchTool* tool, const TorchCall& call);

// The hook of ptflops, calflops and DeepSpeed for nn.LSTM, nn.GRU and nn.RNN, of all rows: weights
// of the first direction of every layer, twice if there are two. `per_product` is what a
// multiply-accumulate counts; at 2, the sums of a row count one less than its products.
Expr RecurrentByRow(const RecurrentSizes& sizes, Aten op, int64_t per_product);
// Their hook for nn.RNNCell, nn.GRUCell and nn.LSTMCell, which stops at an input without batch.
AmountId CellByRow(TorchTool* tool, const TorchCall& call, int64_t per_product);

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_TORCH_FUNCTIONS_H_
