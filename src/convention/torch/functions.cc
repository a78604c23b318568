#include "src/convention/torch/functions.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace onnxflops::convention {

namespace {

// True if the added value comes from a convolution, or from the BatchNorm after one.
bool AddsToConvolution(const Evidence& evidence, const TorchCall& call) {
  constexpr absl::string_view kConvolutions[] = {"Conv", "BatchNormalization"};
  for (OptionalValueId input : evidence.node(evidence.entry(call.main)).inputs) {
    if (!input) continue;
    const OptionalNodeId maker = evidence.model().value(*input).producer;
    if (maker && IsOneOf(evidence.model().node(*maker).op_type, kConvolutions)) return true;
  }
  return false;
}

}  // namespace

bool IsSwinOfTorchvision(const TorchScope& scope) {
  return absl::StartsWith(scope.class_name, "torchvision.models.swin_transformer.");
}

Spelling LikelySpelling(const Evidence& evidence, const TorchScope& scope, const TorchCall& call) {
  const Aten op = call.op;
  if (IsSwinOfTorchvision(scope)) {
    if (op == Aten::kMatmul) return Spelling::kMethod;
    if (op == Aten::kSoftmax) return Spelling::kFunctional;
  }
  if (op == Aten::kAdd && AddsToConvolution(evidence, call)) return Spelling::kInPlace;
  if (op == Aten::kAdd || op == Aten::kMul) return Spelling::kSymbol;
  if (op == Aten::kMatmul) return scope.of_transformers ? Spelling::kTorch : Spelling::kSymbol;
  if (op == Aten::kSoftmax && !scope.of_transformers) return Spelling::kTorch;
  const bool is_of_torch = IsMatmul(op) || op == Aten::kMv || op == Aten::kAddmm ||
                           op == Aten::kBaddbmm || op == Aten::kEinsum || op == Aten::kMean;
  return is_of_torch ? Spelling::kTorch : Spelling::kFunctional;
}

bool IsFunctional(TorchTool* tool, const TorchCall& call) {
  return tool->SpellingOf(call) == Spelling::kFunctional;
}

bool IsByName(TorchTool* tool, const TorchCall& call) {
  const Spelling spelling = tool->SpellingOf(call);
  return spelling == Spelling::kTorch || spelling == Spelling::kMethod;
}

bool KeepsFunction(const TorchScope& scope) {
  constexpr absl::string_view kKeepers[] = {
      kGeluOfTransformers,
      "torch.nn.modules.transformer.TransformerEncoderLayer",
      "torch.nn.modules.transformer.TransformerDecoderLayer",
  };
  return IsOneOf(scope.class_name, kKeepers);
}

AmountId ElementsByName(TorchTool* tool, const TorchCall& call) {
  const Shape& x = call.shape_of_x();
  const Shape& w = call.shape_of_w();
  if (!x.ranked() || !w.ranked()) return call.out;
  Expr elements = 1;
  for (int i = 0; i < std::max(x.rank(), w.rank()); ++i) {
    const Expr a = i < x.rank() ? x[i] : Expr(1);
    const Expr b = i < w.rank() ? w[i] : Expr(1);
    elements *= a == b ? a : Max(a, b);
  }
  return tool->Times(call, elements);
}

AmountId AddedElements(TorchTool* tool, const TorchCall& call) {
  constexpr size_t kAdded = 2;  // of Gemm
  const Entry& main = tool->evidence().entry(call.main);
  const Fact& added = tool->evidence().Input(main, kAdded);
  if (added.is_tensor() && added.shape.ranked()) {
    return tool->Times(call, added.shape.NumElements());
  }
  const Shape& result = call.shape_of_y();
  if (call.op == Aten::kAddmm && tool->evidence().node(main).op_type == "Gemm" && result.ranked() &&
      result.rank() > 0) {
    tool->ledger().Assume(
        "what an addmm adds is not in the file, as it is 0: taken for a vector, as a bias is");
    return tool->Times(call, result[result.rank() - 1]);
  }
  // The addend may be broadcast to the shape of a batch of products.
  const Entry& last = tool->evidence().entry(tool->trace().entries_of(call).back());
  if (tool->evidence().node(last).op_type != "Add" || !result.ranked()) return call.out;
  for (size_t i = 0; i < 2; ++i) {
    const Shape& operand = ShapeOf(tool->evidence().Input(last, i));
    if (operand.ranked() && operand != result) return tool->Times(call, operand.NumElements());
  }
  return call.out;
}

Expr RecurrentByRow(const RecurrentSizes& sizes, Aten op, int64_t per_product) {
  const int64_t gates = op == Aten::kLstm ? 4 : op == Aten::kGru ? 3 : 1;
  const int64_t elementwise = op == Aten::kLstm ? 4 + 3 + 3 : op == Aten::kGru ? 1 + 3 + 3 : 1;
  // Products of the first layer, and of all others, whose input is the output of the layer below.
  const Expr inputs = sizes.input + sizes.hidden * sizes.directions * (sizes.layers - 1) +
                      sizes.hidden * sizes.layers;
  int64_t per_layer = elementwise;
  if (per_product == 2) per_layer -= gates * 2;
  if (sizes.bias) per_layer += gates * 2;
  const Expr row =
      sizes.hidden * gates * inputs * per_product + sizes.hidden * per_layer * sizes.layers;
  return row * sizes.directions * sizes.RowsOfHooks();
}

AmountId CellByRow(TorchTool* tool, const TorchCall& call, int64_t per_product) {
  const std::optional<RecurrentSizes> sizes = CellSizesOf(call);
  if (!sizes.has_value()) {
    tool->ledger().Assume("sizes of a recurrent cell are unknown: counted as 0");
    return kZero;
  }
  if (sizes->is_unbatched || call.is_by_keyword) {
    tool->Abort(absl::StrCat("it stops with IndexError at a recurrent cell whose input ",
                             sizes->is_unbatched ? "lacks the batch (" : "is given by keyword (",
                             call.name, ")"));
    return kZero;
  }
  return tool->Times(call, RecurrentByRow(*sizes, LayerOfCell(call), per_product));
}

}  // namespace onnxflops::convention
