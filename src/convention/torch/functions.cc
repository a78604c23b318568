#include "src/convention/torch/functions.h"

#include "absl/strings/match.h"

namespace onnxflops::convention {

bool CallsFunction(TorchTool* tool, const TorchScope& scope) {
  if (absl::StartsWith(scope.class_name, "transformers.")) {
    tool->ledger().Assume(
        "modules of transformers call torch.matmul and F.softmax by name; the file does not tell");
    return true;
  }
  tool->ledger().Assume(
      "products and softmax outside of torch.nn are taken for x @ y and torch.softmax, which have "
      "no wrapper; the file does not tell");
  return false;
}

void AssumeSpelling(TorchTool* tool, const TorchCall& call) {
  if (call.op == Aten::kAdd || call.op == Aten::kMul) {
    tool->ledger().Assume(
        "additions and multiplications are taken for the operators + and *, not torch.add and "
        "torch.mul; the file does not tell");
    return;
  }
  const bool by_name = IsActivation(call.op) || (IsPooling(call.op) && call.op != Aten::kMean);
  if (!by_name || absl::StartsWith(tool->trace().scope(call).class_name, "torch.nn.")) return;
  tool->ledger().Assume(
      "activations and pooling outside of torch.nn are taken for calls of torch.nn.functional; the "
      "file does not tell");
}

bool KeepsFunction(const TorchScope& scope) {
  return scope.class_name == "transformers.activations.GELUActivation";
}

AmountId AddedElements(TorchTool* tool, const TorchCall& call) {
  // A bias: one per column. What is added to a batch of products has their shape.
  const Shape& y = call.shape_of_y();
  if (call.op != Aten::kAddmm || !y.ranked() || y.rank() == 0) return call.out;
  return tool->Times(call, y[y.rank() - 1]);
}

Expr RecurrentByRow(const RecurrentSizes& sizes, Aten op, int64_t per_product) {
  const int64_t gates = op == Aten::kLstm ? 4 : op == Aten::kGru ? 3 : 1;
  const int64_t elementwise = op == Aten::kLstm ? 4 + 3 + 3 : op == Aten::kGru ? 1 + 3 + 3 : 1;
  // Products of the first layer, and of all others, which take what the one below gives.
  const Expr inputs = sizes.input + sizes.hidden * sizes.directions * (sizes.layers - 1) +
                      sizes.hidden * sizes.layers;
  int64_t per_layer = elementwise;
  if (per_product == 2) per_layer -= gates * 2;
  if (sizes.bias) per_layer += gates * 2;
  const Expr row =
      sizes.hidden * gates * inputs * per_product + sizes.hidden * per_layer * sizes.layers;
  return row * sizes.directions * sizes.steps * sizes.batch;
}

}  // namespace onnxflops::convention
