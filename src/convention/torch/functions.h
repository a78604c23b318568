// For tools that wrap Python functions: their figures depend on how the source code spells a call,
// which an export does not keep.
#ifndef ONNXFLOPS_SRC_CONVENTION_TORCH_FUNCTIONS_H_
#define ONNXFLOPS_SRC_CONVENTION_TORCH_FUNCTIONS_H_

#include "src/convention/torch/tool.h"

namespace onnxflops::convention {

// True if a wrapper sees the call: wrappers of torch.nn.functional; of torch's functions, and of
// methods of tensors.
bool IsFunctional(TorchTool* tool, const TorchCall& call);
bool IsByName(TorchTool* tool, const TorchCall& call);

// The class of transformers that does so with F.gelu.
inline constexpr absl::string_view kGeluOfTransformers = "transformers.activations.GELUActivation";
// True if the module keeps a reference to a function of torch.nn.functional from before a tool
// wraps it.
bool KeepsFunction(const TorchScope& scope);

// The counts of torch.add and torch.mul: the product over the dimensions of the larger size in
// each, with dimensions aligned from the first.
AmountId ElementsByName(TorchTool* tool, const TorchCall& call);

// Elements of the addend of addmm or baddbmm.
AmountId AddedElements(TorchTool* tool, const TorchCall& call);

// The count of the hook of ptflops, calflops and DeepSpeed for nn.LSTM, nn.GRU and nn.RNN, over all
// rows: weights of the first direction of every layer, doubled if there are two. `per_product` is
// the count of a multiply-accumulate; at 2, the sums of a row count one less than its products.
Expr RecurrentByRow(const RecurrentSizes& sizes, Aten op, int64_t per_product);
// Their hook for nn.RNNCell, nn.GRUCell and nn.LSTMCell, which stops at an input without batch.
AmountId CellByRow(TorchTool* tool, const TorchCall& call, int64_t per_product);

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_TORCH_FUNCTIONS_H_
