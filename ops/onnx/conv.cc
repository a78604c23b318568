// Convolutions. Padding is counted: every output costs its whole window.
//
// How it works. Window arithmetic (kernel, stride, dilation, padding of either kind) is shared with
// the pools (ops/window.h). Costs are formulas of the rows. The code finds the shapes and the lower
// bound for times, which leaves out what a runtime may skip: window elements that lie on padding,
// and for ConvTranspose those that the padding cuts away from the output. DeformConv has no such
// bound, since its offsets may move every sample onto padding; its gradient samples the columns
// again.
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "ops/window.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

absl::Span<const Expr> SpatialDims(const Shape& shape) {
  return absl::MakeConstSpan(shape.dims()).subspan(2);
}

absl::StatusOr<int64_t> PositiveAttr(const NodeView& n, absl::string_view name) {
  const int64_t value = n.Int(name, 1);
  if (value < 1) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " is ", value));
  }
  return value;
}

// ---- Conv and its quantised forms
//
// Y[N,Cout,o1,o2..] from X[N,Cin,i1,i2..] and W[Cout,Cin/group,k1,k2..].

struct Convolution {
  Shape output;
  Windows windows;
  Expr
      per_pair;  // multiply-accumulates of an output and an element of its window: N*Cout*Cin/group
};

absl::StatusOr<Convolution> Convolve(const NodeView& n, int input_x, int input_w) {
  ASSIGN_OR_RETURN(const Shape x, n.ShapeOfRankAtLeast(input_x, 3));
  ASSIGN_OR_RETURN(const Shape w, n.RankedShape(input_w, x.rank()));
  ASSIGN_OR_RETURN(const int64_t group, PositiveAttr(n, "group"));
  ASSIGN_OR_RETURN(const Dims kernel, KernelFromWeight(n, w));
  ASSIGN_OR_RETURN(Windows windows, ReadWindows(n, kernel));
  ASSIGN_OR_RETURN(const Dims spatial, windows.Outputs(SpatialDims(x)));
  ASSIGN_OR_RETURN(const Expr cin, Unify(n, "Cin", x[1], w[1] * group));
  ASSIGN_OR_RETURN(const Expr cin_per_group, DivideEvenly("Cin per group", cin, group));
  RETURN_IF_ERROR(DivideEvenly("Cout per group", w[0], group).status());
  Convolution conv;
  conv.output = Shape{x[0], w[0]};
  for (const Expr& size : spatial) conv.output.push_back(size);
  conv.per_pair = x[0] * w[0] * cin_per_group;
  conv.windows = std::move(windows);
  return conv;
}

absl::Status CheckBias(const NodeView& n, int input, const Expr& channels) {
  if (!n.HasInput(input) || !n.input(input).shape.ranked()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Shape bias, n.RankedShape(input, 1));
  return n.RequireSame("Cout of the bias", bias[0], channels);
}

// Without the window elements that lie on padding, which a runtime may skip.
template <int kX, int kW>
absl::StatusOr<Cost> LeastConv(const NodeView& n) {
  ASSIGN_OR_RETURN(const Convolution conv, Convolve(n, kX, kW));
  Census work;
  work[Kind::kMac] = conv.per_pair * conv.windows.ElementsOnData(SpatialDims(n.input(kX).shape),
                                                                 SpatialDims(conv.output));
  return CostIn(n.dtype(kX), std::move(work));
}

absl::StatusOr<Facts> InferConv(const NodeView& n) {
  ASSIGN_OR_RETURN(Convolution conv, Convolve(n, 0, 1));
  RETURN_IF_ERROR(CheckBias(n, 2, conv.output[1]));
  return Facts{n.Like(0, std::move(conv.output))};
}

// ConvInteger: y = (x - x_zero_point) * (w - w_zero_point), in 32-bit integers.
absl::StatusOr<Facts> InferConvInteger(const NodeView& n) {
  ASSIGN_OR_RETURN(Convolution conv, Convolve(n, 0, 1));
  return Facts{Fact::Tensor(DType::kInt32, std::move(conv.output))};
}

// QLinearConv: integer convolution of x - x_zero_point and w - w_zero_point, plus an integer bias,
// requantised.
absl::StatusOr<Facts> InferQLinearConv(const NodeView& n) {
  ASSIGN_OR_RETURN(Convolution conv, Convolve(n, 0, 3));
  RETURN_IF_ERROR(CheckBias(n, 8, conv.output[1]));
  return Facts{Fact::Tensor(n.dtype(7), std::move(conv.output))};
}

// ---- ConvTranspose
//
// Y[N,Cout,o1,o2..] from X[N,Cin,i1,i2..] and W[Cin,Cout/group,k1,k2..]: every input is spread over
// a whole window of outputs.

// The output along one axis: stride*(i-1) + output_padding + extent - padding; with auto_pad
// SAME_*, as much padding as it takes to come down to stride*i.
Expr TransposedSize(const WindowAxis& axis, bool same, int64_t output_padding, const Expr& input) {
  const Expr extent = axis.Extent() + output_padding;
  const Expr padding = same ? Max(extent - axis.stride, 0) : Expr(axis.pad_begin) + axis.pad_end;
  return axis.stride * (input - 1) + extent - padding;
}

absl::StatusOr<Dims> TransposedSpatialDims(const NodeView& n, absl::Span<const Expr> input,
                                           const Windows& windows) {
  const size_t rank = input.size();
  ASSIGN_OR_RETURN(const auto output_padding, PerAxis(n, "output_padding", rank, 0, 0));
  // Some exporters put batch and channels in front of the spatial sizes.
  const size_t given = n.Ints("output_shape").size();
  if (given != 0) {
    const size_t skip = given == rank + 2 ? 2 : 0;
    ASSIGN_OR_RETURN(const auto sizes, PerAxis(n, "output_shape", rank + skip, 0, 0));
    return Dims(sizes.begin() + static_cast<int64_t>(skip), sizes.end());
  }
  Dims output;
  for (size_t i = 0; i < rank; ++i) {
    output.push_back(TransposedSize(windows.axes[i], windows.Same(), output_padding[i], input[i]));
    if (output[i].is_literal() && output[i].literal() < 0) {
      return absl::InvalidArgumentError(absl::StrCat("the output has ", output[i].ToString(),
                                                     " elements along spatial axis ", i));
    }
  }
  return output;
}

absl::StatusOr<Facts> InferConvTranspose(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.ShapeOfRankAtLeast(0, 3));
  ASSIGN_OR_RETURN(const Shape w, n.RankedShape(1, x.rank()));
  ASSIGN_OR_RETURN(const int64_t group, PositiveAttr(n, "group"));
  ASSIGN_OR_RETURN(const Dims kernel, KernelFromWeight(n, w));
  ASSIGN_OR_RETURN(const Windows windows, ReadWindows(n, kernel));
  ASSIGN_OR_RETURN(const Expr cin, Unify(n, "Cin", x[1], w[0]));
  RETURN_IF_ERROR(DivideEvenly("Cin per group", cin, group).status());
  Shape output{x[0], w[1] * group};
  ASSIGN_OR_RETURN(const Dims spatial, TransposedSpatialDims(n, SpatialDims(x), windows));
  for (const Expr& size : spatial) output.push_back(size);
  RETURN_IF_ERROR(CheckBias(n, 2, output[1]));
  return Facts{n.Like(0, std::move(output))};
}

// Elements of the windows that inputs are spread over, without those that the padding cuts away.
absl::StatusOr<Expr> ElementsNotCut(const NodeView& n, const Dims& kernel, const Shape& x,
                                    const Shape& y) {
  ASSIGN_OR_RETURN(const Windows windows, ReadWindows(n, kernel));
  ASSIGN_OR_RETURN(const auto output_padding, PerAxis(n, "output_padding", kernel.size(), 0, 0));
  const bool follows = windows.Same() || !n.Ints("output_shape").empty();
  Expr elements = 1;
  for (size_t i = 0; i < kernel.size(); ++i) {
    const WindowAxis& axis = windows.axes[i];
    const Expr& input = SpatialDims(x)[i];
    const Expr& output = SpatialDims(y)[i];
    if (!follows && axis.pad_begin == 0 && axis.pad_end == 0) {
      elements *= input * axis.kernel;
      continue;
    }
    Expr pad = axis.pad_begin;
    if (follows) {
      const Expr both =
          Max(0, axis.stride * (input - 1) + output_padding[i] + axis.Extent() - output);
      pad = windows.auto_pad == AutoPad::kSameUpper ? FloorDiv(both, 2) : CeilDiv(both, 2);
    }
    elements *= ElementsOnData(axis, pad, output, input);
  }
  return elements;
}

absl::StatusOr<Cost> LeastConvTranspose(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(const Shape w, n.RankedShape(1));
  ASSIGN_OR_RETURN(const Shape y, n.OutputShape(0));
  ASSIGN_OR_RETURN(const Expr cin, Unify(n, "Cin", x[1], w[0]));
  ASSIGN_OR_RETURN(const Dims kernel, KernelFromWeight(n, w));
  ASSIGN_OR_RETURN(const Expr elements, ElementsNotCut(n, kernel, x, y));
  Census work;
  work[Kind::kMac] = x[0] * cin * w[1] * elements;
  return CostIn(n.dtype(0), std::move(work));
}

// ---- DeformConv
//
// A convolution whose samples X[N,Cin,..] are taken at places that offset[N,offset_group*k1*k2..*d,
// o1,o2..] moves, interpolated linearly between the 2^d points around, and scaled by mask.

absl::Status CheckOffset(const NodeView& n, const Shape& output, const Expr& places) {
  ASSIGN_OR_RETURN(const Shape offset, n.RankedShape(2, output.rank()));
  const int spatial_rank = output.rank() - 2;
  RETURN_IF_ERROR(n.RequireSame("N of the offset", offset[0], output[0]));
  RETURN_IF_ERROR(n.RequireSame("channels of the offset", offset[1], places * spatial_rank));
  for (int i = 2; i < output.rank(); ++i) {
    RETURN_IF_ERROR(n.RequireSame("spatial size of the offset", offset[i], output[i]));
  }
  return absl::OkStatus();
}

// Places sampled per output pixel: offset_group * k1*k2...
absl::StatusOr<Expr> SampledPlaces(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape w, n.ShapeOfRankAtLeast(1, 3));
  ASSIGN_OR_RETURN(const int64_t offset_group, PositiveAttr(n, "offset_group"));
  ASSIGN_OR_RETURN(const Dims kernel, KernelFromWeight(n, w));
  Expr places = offset_group;
  for (const Expr& size : kernel) places *= size;
  return places;
}

absl::StatusOr<Facts> InferDeformConv(const NodeView& n) {
  ASSIGN_OR_RETURN(Convolution conv, Convolve(n, 0, 1));
  ASSIGN_OR_RETURN(const Expr places, SampledPlaces(n));
  RETURN_IF_ERROR(CheckOffset(n, conv.output, places));
  RETURN_IF_ERROR(
      DivideEvenly("Cin per offset group", n.input(0).shape[1], n.Int("offset_group", 1)).status());
  RETURN_IF_ERROR(CheckBias(n, 3, conv.output[1]));
  return Facts{n.Like(0, std::move(conv.output))};
}

// ---- Col2Im
//
// Adds L overlapping blocks, the columns of input[N,C*b1*b2..,L], into an image[N,C,h1,h2..].

absl::StatusOr<int> Col2ImRank(const NodeView& n) {
  for (int i : {1, 2}) {
    ASSIGN_OR_RETURN(const Shape shape, n.RankedShape(i, 1));
    const std::optional<int64_t> rank = shape[0].AsInt64();
    if (!rank.has_value()) continue;
    if (*rank < 1 || *rank > 62) {
      return absl::InvalidArgumentError(absl::StrCat("an image of ", *rank, " dimensions"));
    }
    return static_cast<int>(*rank);
  }
  return absl::FailedPreconditionError("the rank of the image is not known");
}

absl::Status CheckBlockCount(const NodeView& n, const Dims& image, const Dims& blocks,
                             const Expr& columns) {
  ASSIGN_OR_RETURN(const Windows windows, ReadWindows(n, blocks));
  ASSIGN_OR_RETURN(const Dims counts, windows.Outputs(image));
  Expr product = 1;
  for (const Expr& count : counts) product *= count;
  return n.RequireSame("number of blocks", columns, product);
}

absl::StatusOr<Facts> InferCol2Im(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape input, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(const int rank, Col2ImRank(n));
  const auto size = static_cast<size_t>(rank);
  const std::optional<Dims> image = n.KnownInts(1), blocks = n.KnownInts(2);
  for (const auto& sizes : {image, blocks}) {
    if (sizes.has_value() && sizes->size() != size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "image_shape and block_shape differ in length: ", sizes->size(), " vs ", size));
    }
  }
  Shape output{input[0]};
  if (blocks.has_value()) {
    Expr block = 1;
    for (const Expr& b : *blocks) block *= b;
    ASSIGN_OR_RETURN(Expr channels, DivideEvenly("C", input[1], block));
    output.push_back(std::move(channels));
  } else {
    output.push_back(n.FreshDim(0, 1, "col2im"));
  }
  for (size_t i = 0; i < size; ++i) {
    output.push_back(image.has_value() ? (*image)[i]
                                       : n.FreshDim(0, static_cast<int>(i) + 2, "col2im"));
  }
  if (image.has_value() && blocks.has_value()) {
    RETURN_IF_ERROR(CheckBlockCount(n, *image, *blocks, input[2]));
  }
  return Facts{n.Like(0, std::move(output))};
}

constexpr OpDef kConvRows[] = {
    {.name = "Conv",
     .versions = {1, 11, 22},
     .formula = "Y[N,Cout,o1,o2..] = X[N,Cin,i1,i2..] * W[Cout,Cin/group,k1,k2..] + B",
     .data = {.signature = "X[N, Cin, i...] W[Cout, c, k...] B? -> Y[N, Cout, o...]",
              .attributes = "group = 1; kernel_shape = k...",
              .let = "C = same(Cin, c*attr.group) // attr.group",
              .costs = "mac = Y.elements*C*k; add = B.given*Y.elements"},
     .infer = InferConv,
     .least = LeastConv<0, 1>,
     .examples =
         {{"float[N,3,224,224] X, float[64,3,7,7] W -> float[N,64,112,112] Y <pads=[3,3,3,3], "
           "strides=[2,2]>",
           "mac=118013952*N"},
          {"float[N,32,14,14] X, float[32,1,3,3] W, float[32] B -> float[N,32,14,14] Y <group=32, "
           "auto_pad=\"SAME_UPPER\">",
           "mac=56448*N add=6272*N"},
          {"float[1,4,L] X, float[6,2,3] W -> float[1,6,L] Y <group=2, dilations=[2], pads=[2,2]>",
           "mac=36*L"},
          {"float[1,1,5,5,5] X, float[2,1,3,3,3] W -> float[1,2,2,2,2] Y <strides=[2,2,2], "
           "auto_pad=\"VALID\">",
           "mac=432"}},
     .operands = {.weights = InputBits({1, 2})},
     .note = "Padding is counted: every output costs its whole window.",
     .gradient = {.formula = "dX = dY spread by W; dW = dY with X: a product as large as forward "
                             "for each; dB = sum of dY",
                  .products = InputBits({0, 1}),
                  .sums = InputBits({2})}},
    {.name = "ConvTranspose",
     .versions = {1, 11, 22},
     .formula = "Y[N,Cout,o1,o2..] = X[N,Cin,i1,i2..] spread by W[Cin,Cout/group,k1,k2..] + B",
     .data = {.signature = "X[N, Cin, i...] W[Cin, C, k...] B? -> Y[N, Cout, o...]",
              .attributes = "kernel_shape = k...",
              .costs = "mac = N*Cin*i*C*k; add = B.given*Y.elements"},
     .infer = InferConvTranspose,
     .least = LeastConvTranspose,
     .examples = {{"float[N,64,8,8] X, float[64,32,4,4] W, float[32] B -> float[N,32,16,16] Y "
                   "<strides=[2,2], pads=[1,1,1,1]>",
                   "mac=2097152*N add=8192*N"},
                  {"float[N,4,3,3] X, float[4,1,3,3] W -> float[N,2,10,8] Y <group=2, "
                   "strides=[3,2], output_padding=[1,1]>",
                   "mac=324*N"},
                  {"float[N,1,5] X, float[1,2,3] W -> float[N,2,10] Y <strides=[2], "
                   "auto_pad=\"SAME_UPPER\">",
                   "mac=30*N"},
                  {"float[1,1,3,3] X, float[1,2,3,3] W -> float[1,2,10,8] Y <strides=[3,2], "
                   "output_shape=[10,8]>",
                   "mac=162"}},
     .operands = {.weights = InputBits({1, 2})},
     .note = "Outputs that the padding cuts away are counted.",
     .gradient = {.formula = "dX = dY with W; dW = dY with X: a product as large as forward for "
                             "each; dB = sum of dY",
                  .products = InputBits({0, 1}),
                  .sums = InputBits({2})}},
    {.name = "ConvInteger",
     .versions = {10},
     .formula = "y = (x - x_zero_point) * (w - w_zero_point)",
     .data =
         {.signature =
              "x[N, Cin, i...] w[Cout, c, k...] x_zero_point? w_zero_point? -> y[N, Cout, o...]",
          .attributes = "group = 1; kernel_shape = k...",
          .let = "C = same(Cin, c*attr.group) // attr.group",
          .costs = "int_mac = y.elements*C*k; int_add = x_zero_point.given*x.elements + "
                   "w_zero_point.given*w.elements"},
     .infer = InferConvInteger,
     .least = LeastConv<0, 1>,
     .examples =
         {{"uint8[N,1,3,3] x, uint8[1,1,2,2] w, uint8 xz -> int32[N,1,4,4] y <pads=[1,1,1,1]>",
           "int_mac=64*N int_add=9*N"}},
     .operands = {.weights = InputBits({1}), .not_parameters = InputBits({2, 3})}},
    {.name = "QLinearConv",
     .versions = {10},
     .formula = "y = requantised (x - x_zero_point) * (w - w_zero_point) + B",
     .data = {.signature = "x[N, Cin, i...] x_scale x_zero_point w[Cout, c, k...] w_scale "
                           "w_zero_point y_scale y_zero_point B? -> y[N, Cout, o...]",
              .attributes = "group = 1; kernel_shape = k...",
              .let = "C = same(Cin, c*attr.group) // attr.group",
              .costs = "int_mac = y.elements*C*k; int_add = x.elements + w.elements + "
                       "B.given*y.elements; float_mul = y.elements; float_round = y.elements; "
                       "float_add = y.elements; float_cmp = 2*y.elements"},
     .infer = InferQLinearConv,
     .least = LeastConv<0, 3>,
     .mac_operands = TypesOf<0, 3>,
     .examples = {{"uint8[N,2,5,5] x, float xs, uint8 xz, int8[3,2,3,3] w, float ws, int8 wz, "
                   "float ys, uint8 yz, int32[3] B -> uint8[N,3,3,3] y",
                   "add=27*N mul=27*N cmp=54*N round=27*N int_mac=486*N int_add=77*N + 54"}},
     .operands = {.weights = InputBits({3, 8}), .not_parameters = InputBits({1, 2, 4, 5, 6, 7})},
     .note = "The factor x_scale * w_scale / y_scale is made once: not counted."},
    {.name = "DeformConv",
     .versions = {19, 22},
     .formula = "Y[N,Cout,o1,o2..] = X[N,Cin,i1,i2..] * W[Cout,Cin/group,k1,k2..] + B, X sampled "
                "at places moved by offset and weighted by mask",
     .data =
         {.signature = "X[N, Cin, i...] W[Cout, c, k...] offset B? mask? -> Y[N, Cout, o...]",
          .attributes = "group = 1; kernel_shape = k...; offset_group = 1",
          .let = "C = same(Cin, c*attr.group) // attr.group; d = X.rank - 2; places = "
                 "N*attr.offset_group*k*o; samples = places*(Cin // "
                 "attr.offset_group)",
          .costs =
              "mac = Y.elements*C*k; round = d*places; add = 3*d*places + 2^d*samples + "
              "B.given*Y.elements; mul = (d - 1)*2^d*places + 2^d*samples + mask.given*samples"},
     .infer = InferDeformConv,
     .least = NoMacs,  // offsets may move any sample onto padding
     .examples =
         {// 16 output pixels, 4 places each: add = 64 * (6 + 2 * 4) + 48, mul = 64 * (4 + 2 * 4 +
          // 2).
          {"float[N,2,5,5] X, float[3,2,2,2] W, float[N,8,4,4] offset, float[3] B, float[N,4,4,4] "
           "mask -> float[N,3,4,4] Y",
           "mac=384*N add=944*N mul=896*N round=128*N"}},
     .operands = {.weights = InputBits({1, 3})},
     .traits = Traits::kSamples,
     .note =
         "Sampling: a coordinate costs its offset, floor, fraction and 1 - fraction; the weights "
         "of the 2^d corners are shared by the channels of an offset group. Bounds checks are "
         "addressing: free.",
     .gradient = {.formula =
                      "dW = dY with the columns, sampled again; one product W' dY for X (spread to "
                      "the corners), offset (differences of corners) and mask; dB = sum of dY",
                  // X takes dY spread to 2^d corners, an offset the differences of the corners
                  // along each axis, the mask the sample.
                  .let = "columns = max(X.needed, offset.needed, mask.needed); moved = "
                         "(2^d*(X.needed + d*offset.needed) + mask.needed)*samples",
                  .costs = "mac = (columns + W.needed)*forward.mac; add = W.needed*(forward.add - "
                           "B.given*Y.elements) + moved; mul = W.needed*forward.mul + moved; round "
                           "= W.needed*forward.round",
                  .sums = InputBits({3})}},
    {.name = "Col2Im",
     .versions = {18},
     .formula = "Y[N,C,h1,h2..] = sum of the blocks X[N,C*b1*b2..,L]",
     .infer = InferCol2Im,
     .count = CountPerInputElement,
     .examples = {{"g (float[N,27,16] x) => (float[N,3,6,6] y) <int64[2] image = {6, 6}, int64[2] "
                   "block = {3, 3}> { y = Col2Im(x, image, block) }",
                   "add=432*N"},
                  {"g (float[1,9,L] x, int64[2] image) => (float[1,1,H,W] y) <int64[2] block = {3, "
                   "3}> { y = Col2Im(x, image, block) }",
                   "add=9*L"}},
     .per_element = {.add = 1},
     .shape_inputs = 1 << 1 | 1 << 2,
     .traits = Traits::kReadsContent,
     .note = "Elements that fall into the padding are counted.",
     .gradient = {.formula = "dX = dY at the places of the blocks"}},
};

}  // namespace

constinit const OpFamily kConvFamily = {"", kConvRows};

}  // namespace onnxflops
