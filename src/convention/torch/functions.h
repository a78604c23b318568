// Tools that wrap Python's functions: what they see depends on how the source code writes a call,
// which an export does not keep.
#ifndef ONNXFLOPS_SRC_CONVENTION_TORCH_FUNCTIONS_H_
#define ONNXFLOPS_SRC_CONVENTION_TORCH_FUNCTIONS_H_

#include "src/convention/torch/tool.h"

namespace onnxflops::convention {

// Whether a module calls torch.matmul and F.softmax by these names, as transformers does, and not
// the operator @ and torch.softmax. Assumes it aloud.
bool CallsFunction(TorchTool* tool, const TorchScope& scope);

// Says what is taken for what where a call is not made by a module of torch.nn: relu for F.relu,
// addition for the operator +.
void AssumeSpelling(TorchTool* tool, const TorchCall& call);

// Whether the module keeps a function of torch.nn.functional from when it was made, before a tool
// wraps it.
bool KeepsFunction(const TorchScope& scope);

// Elements of what addmm or baddbmm adds.
AmountId AddedElements(TorchTool* tool, const TorchCall& call);

// The hook of ptflops, calflops and DeepSpeed for nn.LSTM, nn.GRU and nn.RNN, of all rows: weights
// of the first direction of every layer, twice if there are two. `per_product` is what a
// multiply-accumulate counts; at 2, the sums of a row count one less than its products.
Expr RecurrentByRow(const RecurrentSizes& sizes, Aten op, int64_t per_product);

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_TORCH_FUNCTIONS_H_
