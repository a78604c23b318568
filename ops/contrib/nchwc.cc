// com.microsoft.nchwc: what ONNX Runtime makes of convolutions and pooling on CPUs, on channels in
// blocks of 8 or 16. Shapes are written [N, C, i1, i2..], C rounded up to whole blocks; the weights
// in the file are rounded up as well, so that the padding is counted.
//
// How it works. Apart from the blocks these are the operators of ai.onnx, so their rules infer
// shapes and count; an activation and a sum that were joined into a Conv are added to its cost.
// Only ReorderInput needs the size of a block, which depends on the machine that optimised the file
// and is written nowhere: if 8 and 16 round the channels to different numbers, they become a
// symbol.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/contrib/plain.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- Conv (X, W, B), then + Sum, then an activation

absl::StatusOr<Facts> InferConv(const NodeView& n) { return InferAs(n, "Conv", InputsOf(n, 3)); }

absl::StatusOr<Cost> LeastConv(const NodeView& n) {
  return LeastAs(n, "Conv", InputsOf(n, 3), {n.output(0)});
}

// ---- pooling

absl::StatusOr<Facts> InferPool(const NodeView& n) { return InferImageAs(n, n.op_type()); }

// ---- Upsample: every size times its scale

absl::StatusOr<Facts> InferUpsample(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 2));
  const auto scales = n.Ints("scales");
  if (scales.size() != static_cast<size_t>(y.rank())) {
    return absl::InvalidArgumentError(
        absl::StrCat("scales has ", scales.size(), " elements for a tensor of rank ", y.rank()));
  }
  for (int i = 0; i < y.rank(); ++i) {
    const int64_t scale = scales[static_cast<size_t>(i)];
    if (scale <= 0) return absl::InvalidArgumentError(absl::StrCat("a scale is ", scale));
    y[i] *= scale;
  }
  return Facts{n.Like(0, std::move(y))};
}

// As Resize, with the scales as its third input.
absl::StatusOr<Cost> CountUpsample(const NodeView& n) {
  Content scales;
  for (int64_t scale : n.Ints("scales"))
    scales.push_back(Scalar::Float(static_cast<double>(scale)));
  Fact fact = Fact::Tensor(DType::kFloat32, Shape{static_cast<int64_t>(scales.size())});
  SetContent(std::move(scales), &fact);
  return CountAs(n, "Resize", {n.input(0), Fact::Absent(), fact}, {n.output(0)});
}

// ---- into blocks and back: no arithmetic

// The channels rounded up to whole blocks. The size of a block is the machine's: where blocks of 8
// and of 16 make a difference, the result is a symbol.
absl::StatusOr<Facts> InferReorderInput(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  const Shape y = n.Flag("channels_last") ? ChannelsFirst(n.input(0)).shape : x;
  const Expr eights = CeilDiv(y[1], 8) * 8, sixteens = CeilDiv(y[1], 16) * 16;
  Shape blocked = y;
  blocked[1] = eights == sixteens
                   ? eights
                   : n.FreshDim(0, 1, "blocked-channels", SymbolOrigin::Kind::kMachine);
  return Facts{n.Moved(0, std::move(blocked))};
}

absl::StatusOr<Facts> InferReorderOutput(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 2));
  const int64_t channels = n.Int("channels", 0);
  if (channels <= 0) return absl::InvalidArgumentError(absl::StrCat("channels is ", channels));
  if (ProvablyLess(y[1], channels).value_or(false)) {
    return absl::InvalidArgumentError(
        absl::StrCat("channels is ", channels, ", X has ", y[1].ToString()));
  }
  y[1] = channels;
  const Fact first = n.Moved(0, std::move(y));
  return Facts{ChannelsLastIf(n.Flag("channels_last"), first)};
}

constexpr OpDef kMsNchwcRows[] = {
    {.name = "AveragePool",
     .formula = "as ai.onnx AveragePool",
     .data = {.costs = "as AveragePool"},
     .infer = InferPool,
     .examples =
         {{"float[N,16,4,4] X -> float[N,16,2,2] Y <kernel_shape = [2, 2], strides = [2, 2]>",
           "add=256*N div=64*N"}}},
    {.name = "Conv",
     .formula = "Y = activation(Conv(X, W, B) + Sum)",
     .data = {.costs = "as com.microsoft.FusedConv"},
     .infer = InferConv,
     .least = LeastConv,
     .examples = {{"float[N,16,8,8] X, float[32,16,3,3] W, float[32] B, float[N,32,6,6] S -> "
                   "float[N,32,6,6] Y <activation = \"Relu\">",
                   "mac=165888*N add=2304*N cmp=1152*N"}},
     .operands = {.weights = InputBits({1, 2})},
     .note = "channels that only fill up a block are in W and in Y, and are counted"},
    {.name = "GlobalAveragePool",
     .formula = "as ai.onnx GlobalAveragePool",
     .data = {.costs = "as GlobalAveragePool"},
     .infer = InferPool,
     .examples = {{"float[N,16,4,4] X -> float[N,16,1,1] Y", "add=256*N div=16*N"}}},
    {.name = "GlobalMaxPool",
     .formula = "as ai.onnx GlobalMaxPool",
     .data = {.signature = "X -> Y", .costs = "cmp = X.elements"},
     .infer = InferPool,
     .examples = {{"float[N,16,4,4] X -> float[N,16,1,1] Y", "cmp=256*N"}}},
    {.name = "MaxPool",
     .formula = "as ai.onnx MaxPool",
     .data = {.signature = "X -> Y", .costs = "as MaxPool"},
     .infer = InferPool,
     .examples =
         {{"float[N,16,4,4] X -> float[N,16,2,2] Y <kernel_shape = [2, 2], strides = [2, 2]>",
           "cmp=256*N"}}},
    {.name = "ReorderInput",
     .formula = "Y[N,C',i1,i2..] = X with its channels in blocks",
     .infer = InferReorderInput,
     .examples = {{"float[N,64,7,7] X -> float[N,64,7,7] Y", "free"},
                  {"float[N,7,7,60] X -> float[N,64,7,7] Y <channels_last = 1>", "free"},
                  {"float[N,72,7,7] X -> float[N,C,7,7] Y", "free"}},
     .note = "C' is C rounded up to blocks of 8 or 16, which the file does not say: a symbol where "
             "they differ"},
    {.name = "ReorderOutput",
     .formula = "Y = the first `channels` channels of X, out of blocks",
     .infer = InferReorderOutput,
     .examples = {{"float[N,80,7,7] X -> float[N,72,7,7] Y <channels = 72>", "free"},
                  {"float[N,80,7,5] X -> float[N,7,5,72] Y <channels = 72, channels_last = 1>",
                   "free"}}},
    {.name = "Upsample",
     .formula = "as ai.onnx Resize by the attribute scales",
     .infer = InferUpsample,
     .count = CountUpsample,
     .examples = {{"float[N,16,4,4] X -> float[N,16,8,8] Y <scales = [1, 1, 2, 2]>", "free"}},
     .traits = Traits::kSamples},
};

}  // namespace

constinit const OpFamily kMsNchwcFamily = {"com.microsoft.nchwc", kMsNchwcRows};

}  // namespace onnxflops
