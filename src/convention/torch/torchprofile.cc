// torchprofile: a table of operators over the graph that torch.jit.trace records, as fvcore's, with
// other rows: element-wise multiplications and attention count.
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/convention/conventions.h"
#include "src/convention/torch/tool.h"

namespace onnxflops::convention {
namespace torchprofile {
namespace {

constexpr char kNoHandler[] = "no handler for the operator: a warning, counted as 0";
constexpr char kFree[] = "known as an operator without multiply-accumulates";
constexpr char kPerResult[] = "1 per result, added to the MACs";

class Torchprofile : public TorchTool {
 public:
  explicit Torchprofile(Evidence* evidence)
      : TorchTool(evidence, Unit::kMac, {.whole_functions = true}) {}

  Ledger Run(const AtenRules<Torchprofile>& rules) {
    ledger().Assume(
        "multiplications of sizes in Python count 1 each, and the file does not have them");
    AtenSet counted = rules.Counted();
    counted[static_cast<size_t>(Aten::kOther)] = false;  // its gaps are not those of means
    return Apply(counted, [&](const TorchCall& call) -> Decision {
      if (call.is_of_rnn || call.is_inside) return {kZero, kNoHandler};
      if (TakesFastPath(call)) {
        return {kZero, "the fast path of nn.MultiheadAttention is one operator without a handler"};
      }
      return rules.Decide(this, call);
    });
  }

  // ---- rules of rows
  Decision Conv(const TorchCall& call) {
    if (HasNamedPadding(call)) return {kZero, "padding 'same' or 'valid': an operator of its own"};
    return Products(call);
  }

  // Counted by output positions. The channels of the input are not divided by the groups, and are
  // taken from the wrong side of the weight where there are as many of them as of results.
  Decision ConvTranspose(const TorchCall& call) {
    const Shape& w = call.shape_of_w();
    const Shape& y = call.shape_of_y();
    if (!w.ranked() || !y.ranked() || w.rank() < 2 || y.rank() < 2) return Products(call);
    const Expr& channels = y[1] == w[0] ? w[1] : w[0];
    return {evidence().Intern(evidence().amount(call.out) * channels * w.Product(2, w.rank()))};
  }

  // All combinations of labels; an ellipsis is not understood.
  Decision Einsum(const TorchCall& call) {
    const Attribute* equation = MainAttribute(call, "equation");
    if (equation != nullptr && equation->s.find("...") != absl::string_view::npos) {
      return {kZero, "an einsum with an ellipsis counts as 0"};
    }
    if (const std::optional<EinsumCost> cost = NumpyEinsum(evidence(), call)) {
      return {Times(call, Expr(cost->combinations)), "every combination of labels counts"};
    }
    ledger().Assume("an einsum of other than two operands of known sizes counts as its products");
    return Products(call);
  }

  Decision Attention(const TorchCall& call) {
    if (call.arguments.groups_heads) {
      Abort(
          absl::StrCat("torchprofile stops with AssertionError at attention with fewer heads of "
                       "k and v (",
                       call.name, ")"));
    }
    return Products(call);
  }

  Decision Normalization(const TorchCall& call) {
    return {call.is_affine ? call.in : kZero, call.is_affine ? kPerResult : "without weights: 0"};
  }

  Decision Bilinear(const TorchCall& call) {
    if (call.arguments.is_variant) return {kZero, kNoHandler};
    return {Scaled(call.out, 4)};
  }

  Decision GridSampler(const TorchCall& call) {
    const Attribute* mode = MainAttribute(call, "mode");
    const absl::string_view name = mode == nullptr ? absl::string_view() : mode->s;
    if (name == "nearest") return {kZero, kFree};
    return {Scaled(call.out, name == "cubic" || name == "bicubic" ? 16 : 4)};
  }

  // A mean that a TorchScript export names by its operator only.
  Decision Other(const TorchCall& call) {
    if (trace().origin != TorchTrace::Origin::kTorchScript) return {};
    const Entry& entry = evidence().entry(call.main);
    if (evidence().node(entry).op_type != "ReduceMean") return {};
    return {evidence().Elements(evidence().Output(entry, 0), entry).value_or(kZero), kPerResult};
  }
};

constexpr AtenRules<Torchprofile> kRules = {{
    {Aten::kOther, &Torchprofile::Other, kNoHandler},
    {Aten::kLinear, &Torchprofile::Products},
    {Aten::kMatmul, &Torchprofile::Products},
    {Aten::kMm, kNotCounted, kNoHandler},
    {Aten::kBmm, &Torchprofile::Products},
    {Aten::kMv, kNotCounted, kNoHandler},
    {Aten::kAddmm, &Torchprofile::Products},
    {Aten::kBaddbmm, &Torchprofile::Products},
    {Aten::kEinsum, &Torchprofile::Einsum},
    {Aten::kConv, &Torchprofile::Conv},
    {Aten::kConvTranspose, &Torchprofile::ConvTranspose,
     "counted from the output side, as if not transposed"},
    {Aten::kSdpa, &Torchprofile::Attention},
    {Aten::kLstm, &Torchprofile::Products},
    {Aten::kGru, kNotCounted, kNoHandler},
    {Aten::kRnn, kNotCounted, kNoHandler},
    {Aten::kBatchNorm, &Torchprofile::Normalization},
    {Aten::kLayerNorm, &Torchprofile::Normalization},
    {Aten::kGroupNorm, &Torchprofile::Normalization},
    {Aten::kInstanceNorm, &Torchprofile::Normalization},
    {Aten::kSoftmax, kNotCounted, kFree},
    {Aten::kRelu, kNotCounted, kFree},
    {Aten::kRelu6, kNotCounted, kFree},
    {Aten::kLeakyRelu, &Torchprofile::ElementsOut, kPerResult},
    {Aten::kElu, kNotCounted, kNoHandler},
    {Aten::kPrelu, kNotCounted, kNoHandler},
    {Aten::kGelu, kNotCounted, kFree},
    {Aten::kSilu, kNotCounted, kFree},
    {Aten::kMaxPool, kNotCounted, kFree},
    {Aten::kAvgPool, &Torchprofile::ElementsOut, kPerResult},
    {Aten::kAdaptiveAvgPool, &Torchprofile::ElementsOut, kPerResult},
    {Aten::kAdaptiveMaxPool, kNotCounted, kFree},
    {Aten::kMean, &Torchprofile::ElementsOut, kPerResult},
    {Aten::kUpsampleNearest, kNotCounted, kFree},
    {Aten::kUpsampleLinear, kNotCounted, kNoHandler},
    {Aten::kUpsampleBilinear, &Torchprofile::Bilinear, "4 per result"},
    {Aten::kUpsampleBicubic, kNotCounted, kNoHandler},
    {Aten::kUpsampleTrilinear, kNotCounted, kNoHandler},
    {Aten::kGridSampler, &Torchprofile::GridSampler, "4 per result, 16 if bicubic"},
    {Aten::kAdd, kNotCounted, kFree},
    {Aten::kMul, &Torchprofile::ElementsOut, kPerResult},
    {Aten::kTranspose, kNotCounted, kFree},
}};

Ledger Apply(Evidence* evidence) { return Torchprofile(evidence).Run(kRules); }

}  // namespace
}  // namespace torchprofile

const Convention kTorchprofile = {
    {"torchprofile", Unit::kMac, "MACs (profile_macs; 1 per multiply-accumulate)",
     "torchprofile 0.1.0 (2026-03): torchprofile/handlers.py, trace.py",
     "linear, matmul, bmm, addmm, einsum, convolutions, scaled_dot_product_attention, LSTM; 1 per "
     "result of multiplications, means, average pooling and norms with weights",
     "mm, GRU and RNN, nn.MultiheadAttention's fast path, softmax, activations, additions"},
    torchprofile::Apply,
};

}  // namespace onnxflops::convention
