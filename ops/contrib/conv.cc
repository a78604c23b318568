// com.microsoft: convolutions and pooling with an activation fused in, quantised, or with the
// channels last; com.microsoft.nchwc: the same on blocked channels.
//
// How it works. Shapes are turned into the layout of the plain operator (channels first), the rule
// of that operator is run on them (InferAs, LeastAs), and its result is turned back. So there is
// one rule for a convolution, whatever its layout.
//
// NhwcConv is ambiguous: the documentation has W as [M, C/group, k1, k2], the kernels take [M, k1,
// k2, C/group]. The form that fits X and kernel_shape is taken; if open sizes leave both possible
// and they would differ, the shape is unknown.
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/contrib/plain.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- Conv (X, W, B), then + Z, then an activation

// In which order the sizes of the inputs are: channels last in X (and Y), and in W as well.
struct Layout {
  bool channels_last = false;
  bool weight_channels_last = false;
};

Facts ConvInputs(const NodeView& n, Layout layout) {
  Facts inputs = InputsOf(n, 3);
  if (!inputs.empty()) inputs[0] = ChannelsFirstIf(layout.channels_last, inputs[0]);
  if (inputs.size() > 1) inputs[1] = ChannelsFirstIf(layout.weight_channels_last, inputs[1]);
  return inputs;
}

absl::StatusOr<Facts> InferConvIn(const NodeView& n, Layout layout) {
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "Conv", ConvInputs(n, layout)));
  facts[0] = ChannelsLastIf(layout.channels_last, facts[0]);
  return facts;
}

absl::StatusOr<Cost> LeastConvIn(const NodeView& n, Layout layout) {
  const Fact y = ChannelsFirstIf(layout.channels_last, n.output(0));
  return LeastAs(n, "Conv", ConvInputs(n, layout), {y});
}

// The activation's gradient first, then that of Conv. Z takes the same gradient unchanged.
constexpr Gradient kFusedConvGradient = {
    .formula =
        "that of the activation; dX, dW: a product as large as forward for each; dB = sum "
        "of dY",
    .costs = "mac = (X.needed + W.needed)*forward.mac",
    .sums = InputBits({2})};

absl::StatusOr<Facts> InferFusedConv(const NodeView& n) { return InferConvIn(n, {}); }
absl::StatusOr<Cost> LeastFusedConv(const NodeView& n) { return LeastConvIn(n, {}); }

absl::StatusOr<Facts> InferNhwcFusedConv(const NodeView& n) {
  return InferConvIn(n, {.channels_last = true});
}
absl::StatusOr<Cost> LeastNhwcFusedConv(const NodeView& n) {
  return LeastConvIn(n, {.channels_last = true});
}

// Whether W in this layout fits X and kernel_shape; nullopt if open sizes do not tell.
std::optional<bool> WeightFits(const NodeView& n, bool channels_last) {
  const Fact &x = n.input(0), &w = n.input(1);
  const int rank = w.shape.rank();
  std::optional<bool> fits;
  if (x.shape.ranked() && x.shape.rank() == rank) {
    const Expr channels = n.Int("group", 1) * w.shape[channels_last ? rank - 1 : 1];
    fits = ProvablyEqual(channels, x.shape[rank - 1]);
  }
  const auto kernel = n.Ints("kernel_shape");
  for (int i = 0; i < rank - 2 && kernel.size() == static_cast<size_t>(rank - 2); ++i) {
    const Expr& size = w.shape[channels_last ? i + 1 : i + 2];
    if (ProvablyEqual(size, kernel[static_cast<size_t>(i)]) == false) return false;
  }
  return fits;
}

// The documentation has W as [M, C/group, k1, k2], the kernels take [M, k1, k2, C/group]: the one
// that fits X and kernel_shape for all sizes is taken, the latter if both do.
absl::StatusOr<Layout> NhwcConvLayout(const NodeView& n) {
  const Fact &x = n.input(0), &w = n.input(1);
  Layout layout = {.channels_last = true, .weight_channels_last = true};
  if (!w.shape.ranked() || w.shape.rank() < 3) return layout;
  // The rule of Conv refuses these, and tells the reason.
  const size_t axes = static_cast<size_t>(w.shape.rank()) - 2;
  const size_t kernel_axes = n.Ints("kernel_shape").size();
  if (!x.shape.ranked() || x.shape.rank() != w.shape.rank()) return layout;
  if (kernel_axes != 0 && kernel_axes != axes) return layout;
  const auto sizes = absl::MakeConstSpan(w.shape.dims()).subspan(1);
  const bool same = absl::c_all_of(sizes, [&](const Expr& size) { return size == sizes[0]; });
  // Padded so, the kernel has no part in the size of Y, and its sizes are only multiplied.
  const bool pads_to_same = absl::StartsWith(n.String("auto_pad", ""), "SAME");
  const std::optional<bool> last = WeightFits(n, true), second = WeightFits(n, false);
  if (!last.has_value() && !second.has_value() && !same && !pads_to_same) {
    return absl::FailedPreconditionError(
        absl::StrCat("W ", w.shape.ToString(),
                     " may have its channels second or last: open sizes do not tell which"));
  }
  layout.weight_channels_last = last.value_or(second != true);
  return layout;
}

absl::StatusOr<Facts> InferNhwcConv(const NodeView& n) {
  ASSIGN_OR_RETURN(const Layout layout, NhwcConvLayout(n));
  return InferConvIn(n, layout);
}

absl::StatusOr<Cost> LeastNhwcConv(const NodeView& n) {
  ASSIGN_OR_RETURN(const Layout layout, NhwcConvLayout(n));
  return LeastConvIn(n, layout);
}

// ---- QLinearConv, with `channels_last` also in that layout; W stays [M, C/group, k1, k2]

Facts QLinearConvInputs(const NodeView& n) {
  Facts inputs = InputsOf(n);
  if (!inputs.empty()) inputs[0] = ChannelsFirstIf(n.Flag("channels_last"), inputs[0]);
  return inputs;
}

absl::StatusOr<Facts> InferQLinearConv(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "QLinearConv", QLinearConvInputs(n)));
  facts[0] = ChannelsLastIf(n.Flag("channels_last"), facts[0]);
  return facts;
}

absl::StatusOr<Cost> LeastQLinearConv(const NodeView& n) {
  const Fact y = ChannelsFirstIf(n.Flag("channels_last"), n.output(0));
  return LeastAs(n, "QLinearConv", QLinearConvInputs(n), {y});
}

// ---- pooling

absl::StatusOr<Facts> InferNhwcMaxPool(const NodeView& n) {
  return InferImageAs(n, "MaxPool", /*channels_last=*/true);
}

// MaxpoolWithMask: only elements whose mask is not 0 compete.
absl::StatusOr<Facts> InferMaxpoolWithMask(const NodeView& n) { return InferImageAs(n, "MaxPool"); }

// Quantised average pooling: X, x_scale, x_zero_point, y_scale, y_zero_point; stands for
// DequantizeLinear, the pooling on floats and QuantizeLinear.
absl::StatusOr<Facts> InferQLinearAveragePool(const NodeView& n) {
  return InferImageAs(n, "AveragePool", n.Flag("channels_last"));
}
absl::StatusOr<Facts> InferQLinearGlobalAveragePool(const NodeView& n) {
  return InferImageAs(n, "GlobalAveragePool", n.Flag("channels_last"));
}

// ---- ConvTransposeWithDynamicPads: X, W, the pads as an input, B

Facts DynamicPadsInputs(const NodeView& n) { return {n.input(0), n.input(1), n.input(3)}; }

absl::StatusOr<Facts> InferConvTransposeWithDynamicPads(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "ConvTranspose", DynamicPadsInputs(n)));
  const absl::string_view auto_pad = n.String("auto_pad", "NOTSET");
  if (!n.HasInput(2) || (auto_pad != "NOTSET" && !auto_pad.empty())) return facts;
  Shape& y = facts[0].shape;
  const std::optional<Dims> pads = n.KnownInts(2);
  const auto spatial_rank = static_cast<size_t>(y.rank() - 2);
  if (pads.has_value() && pads->size() != 2 * spatial_rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("Pads has ", pads->size(), " elements, not ", 2 * spatial_rank));
  }
  for (size_t i = 0; i < spatial_rank; ++i) {
    Expr& size = y[static_cast<int>(i) + 2];
    size = pads.has_value() ? size - (*pads)[i] - (*pads)[i + spatial_rank]
                            : n.FreshDim(0, static_cast<int>(i) + 2, "convtranspose");
    if (size.is_literal() && size.literal() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the output has ", size.ToString(), " elements along spatial axis ", i));
    }
  }
  return facts;
}

absl::StatusOr<Cost> LeastConvTransposeWithDynamicPads(const NodeView& n) {
  return LeastAs(n, "ConvTranspose", DynamicPadsInputs(n), {n.output(0)});
}

// ---- WordConvEmbedding: Y[S,M] of words[S,L] of characters, whose vectors [E] are looked up in
// C[*,E] and convolved with W[M,1,K,E]; then + B, Tanh, and the maximum over the positions.

struct WordConv {
  Expr words, positions, filters, window;
};

absl::StatusOr<WordConv> ReadWordConv(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape words, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape w, n.RankedShape(1, 4));
  ASSIGN_OR_RETURN(Shape characters, n.RankedShape(3, 2));
  RETURN_IF_ERROR(n.RequireSame("E", w[3], characters[1]));
  const Expr positions = words[1] - w[2] + 1;
  if (positions.is_literal() && positions.literal() < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a window of ", w[2].ToString(), " characters on words of ", words[1].ToString()));
  }
  return WordConv{words[0], positions, w[0], w[2] * w[3]};
}

absl::StatusOr<Facts> InferWordConvEmbedding(const NodeView& n) {
  ASSIGN_OR_RETURN(WordConv conv, ReadWordConv(n));
  return Facts{n.Like(1, Shape{conv.words, conv.filters})};
}

constexpr OpDef kMsConvRows[] = {
    {.name = "ConvTransposeWithDynamicPads",
     .formula = "Y = ConvTranspose(X, W, B) with pads from an input",
     .data = {.signature = "X[N, Cin, i...] W[Cin, C, k...] pads? B? -> Y",
              .costs = "as ConvTranspose"},
     .infer = InferConvTransposeWithDynamicPads,
     .least = LeastConvTransposeWithDynamicPads,
     .examples =
         {{"g (float[N,4,8,8] X, float[4,2,4,4] W, float[2] B) => (float[N,2,16,16] Y) "
           "<int64[4] p = {1, 1, 1, 1}> "
           "{ Y = com.microsoft.ConvTransposeWithDynamicPads<strides = [2, 2]>(X, W, p, B) }",
           "mac=8192*N add=512*N"}},
     .shape_inputs = 1 << 2,
     .traits = Traits::kReadsContent,
     .gradient = {.formula = "dX = dY with W; dW = dY with X: a product as large as forward for "
                             "each; dB = sum of dY",
                  .products = InputBits({0, 1}),
                  .sums = InputBits({3})}},
    {.name = "FusedConv",
     .formula = "Y = activation(Conv(X, W, B) + Z)",
     .data = {.signature = "X[N, Cin, i...] W[Cout, c, k...] B? Z? -> Y",
              .attributes = "group = 1; kernel_shape = k...; activation = activation",
              .let = "C = same(Cin, c*attr.group) // attr.group",
              .costs = "mac = Y.elements*C*k; add = (B.given + Z.given)*Y.elements"},
     .infer = InferFusedConv,
     .least = LeastFusedConv,
     .examples =
         {{"float[N,3,8,8] X, float[4,3,3,3] W, float[4] B -> float[N,4,6,6] Y <activation = "
           "\"Relu\">",
           "mac=3888*N add=144*N cmp=144*N"},
          {"float[N,3,8,8] X, float[4,3,3,3] W, float[4] B, float[N,4,6,6] Z -> float[N,4,6,6] Y "
           "<activation = \"HardSigmoid\", activation_params = [0.2, 0.5]>",
           "mac=3888*N add=432*N mul=144*N cmp=288*N"}},
     .operands = {.weights = InputBits({1, 2})},
     .gradient = kFusedConvGradient},
    {.name = "MaxpoolWithMask",
     .formula = "Y = MaxPool of the elements whose mask is not 0",
     .data = {.signature = "X mask -> Y",
              .attributes = "kernel_shape = ints",
              .costs = "float_cmp = Y.elements*attr.kernel_shape[:]; int_cmp = "
                       "Y.elements*attr.kernel_shape[:]"},
     .infer = InferMaxpoolWithMask,
     .examples = {{"float[N,3,8,8] X, int32[N,3,8,8] M -> float[N,3,4,4] Y <kernel_shape = [2, 2], "
                   "strides = [2, 2]>",
                   "cmp=192*N int_cmp=192*N"}},
     .gradient = {.formula = "dY added to the largest element of its window",
                  .first = {.add = 1},
                  .keeps = {.inputs = InputBits({0}), .places = true}}},
    {.name = "NhwcConv",
     .formula = "Y[N,o1,o2..,Cout] = Conv(X[N,i1,i2..,Cin], W, B)",
     .data = {.signature = "X W B? -> Y",
              .costs = "mac = Y.elements*W[1:]; add = B.given*Y.elements"},
     .infer = InferNhwcConv,
     .least = LeastNhwcConv,
     .examples = {{"float[N,8,8,3] X, float[4,5,5,3] W -> float[N,4,4,4] Y <kernel_shape = [5, 5]>",
                   "mac=4800*N"},
                  {"float[N,8,8,3] X, float[4,3,5,5] W, float[4] B -> float[N,4,4,4] Y",
                   "mac=4800*N add=64*N"}},
     .operands = {.weights = InputBits({1, 2})},
     .note = "W may be [Cout,k1,k2..,Cin/group], as the kernels have it, or [Cout,Cin/group,k1,"
             "k2..], as documented: whichever fits",
     .gradient = kFusedConvGradient},
    {.name = "NhwcFusedConv",
     .formula = "Y[N,o1,o2..,Cout] = activation(Conv(X[N,i1,i2..,Cin], W, B) + Z)",
     .data = {.signature = "X[N, i..., Cin] W[Cout, c, k...] B? Z? -> Y",
              .costs = "as com.microsoft.FusedConv"},
     .infer = InferNhwcFusedConv,
     .least = LeastNhwcFusedConv,
     .examples = {{"float[N,8,8,3] X, float[4,3,3,3] W, float[4] B, float[N,6,6,4] Z -> "
                   "float[N,6,6,4] Y <activation = \"Relu\">",
                   "mac=3888*N add=288*N cmp=144*N"}},
     .gradient = kFusedConvGradient},
    {.name = "NhwcMaxPool",
     .formula = "Y[N,o1,o2..,C] = maximum over windows k1*k2.. of X[N,i1,i2..,C]",
     .data = {.signature = "X -> Y", .costs = "as MaxPool"},
     .infer = InferNhwcMaxPool,
     .examples = {{"uint8[N,8,8,3] X -> uint8[N,4,4,3] Y <kernel_shape = [2, 2], strides = [2, 2]>",
                   "int_cmp=192*N"}}},
    {.name = "QLinearAveragePool",
     .formula = "Y = Quantize(AveragePool(Dequantize(X)))",
     .data = {.signature = "X x_scale x_zero_point? y_scale y_zero_point? -> Y",
              .attributes = "kernel_shape = ints",
              .costs = "float_mul = X.elements; float_add = x_zero_point.given*X.elements + "
                       "Y.elements*attr.kernel_shape[:] + y_zero_point.given*Y.elements; float_div "
                       "= 2*Y.elements; float_round = Y.elements; float_cmp = 2*Y.elements"},
     .infer = InferQLinearAveragePool,
     .examples = {{"uint8[N,3,4,4] X, float Xs, uint8 Xz, float Ys, uint8 Yz -> uint8[N,3,2,2] Y "
                   "<kernel_shape = [2, 2], strides = [2, 2]>",
                   "add=108*N mul=48*N div=24*N cmp=24*N round=12*N"}},
     .operands = {.not_parameters = InputBits({1, 2, 3, 4})}},
    {.name = "QLinearConv",
     .formula = "as ai.onnx QLinearConv, with channels_last on X[N,i1,i2..,Cin]",
     .data = {.signature = "x x_scale x_zero_point w[Cout, c, k...] w_scale w_zero_point y_scale "
                           "y_zero_point B? -> y",
              .attributes = "channels_last = 0",
              .let = "C = same(if(attr.channels_last, x[-1], x[1]), c*attr.group) // attr.group",
              .costs = "as QLinearConv"},
     .infer = InferQLinearConv,
     .least = LeastQLinearConv,
     .mac_operands = TypesOf<0, 3>,
     .examples = {{"uint8[N,5,5,2] x, float xs, uint8 xz, int8[3,2,3,3] w, float ws, int8 wz, "
                   "float ys, uint8 yz, int32[3] B -> uint8[N,3,3,3] y <channels_last = 1>",
                   "add=27*N mul=27*N cmp=54*N round=27*N int_mac=486*N int_add=77*N + 54"}},
     .operands = {.weights = InputBits({3, 8}), .not_parameters = InputBits({1, 2, 4, 5, 6, 7})}},
    {.name = "QLinearGlobalAveragePool",
     .formula = "Y = Quantize(GlobalAveragePool(Dequantize(X)))",
     .data = {.signature = "X x_scale x_zero_point? y_scale y_zero_point? -> Y",
              .costs = "float_mul = X.elements; float_add = (1 + x_zero_point.given)*X.elements + "
                       "y_zero_point.given*Y.elements; float_div = 2*Y.elements; float_round = "
                       "Y.elements; float_cmp = 2*Y.elements"},
     .infer = InferQLinearGlobalAveragePool,
     .examples = {{"uint8[N,4,4,3] X, float Xs, uint8 Xz, float Ys, uint8 Yz -> uint8[N,1,1,3] Y "
                   "<channels_last = 1>",
                   "add=99*N mul=48*N div=6*N cmp=6*N round=3*N"}},
     .operands = {.not_parameters = InputBits({1, 2, 3, 4})}},
    {.name = "WordConvEmbedding",
     .formula =
         "Y[S,M] = max over P positions of tanh(conv + B) of words[S,L], W[M,1,K,E], P = L - K + 1",
     .data =
         {.signature = "words[S, L] W[M, one, K, E] B table -> Y",
          .let = "P = L - K + 1",
          .costs =
              "float_mac = S*P*M*K*E; float_add = S*P*M; float_tanh = S*P*M; float_cmp = S*P*M"},
     .infer = InferWordConvEmbedding,
     .least = NoMacs,  // how long a word is, is data
     .mac_operands = TypesOf<3, 1>,
     .examples = {{"int32[S,12] X, float[16,1,3,8] W, float[16] B, float[100,8] C -> float[S,16] Y",
                   "mac=3840*S add=160*S cmp=160*S tanh=160*S"},
                  {"int32[S,3] X, float[16,1,3,8] W, float[16] B, float[100,8] C -> float[S,16] Y",
                   "mac=384*S add=16*S cmp=16*S tanh=16*S"}},
     .note = "every word is counted with all its L characters, padding included"},
};

}  // namespace

constinit const OpFamily kMsConvFamily = {"com.microsoft", kMsConvRows};

}  // namespace onnxflops
