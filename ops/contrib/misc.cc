// com.microsoft: lookups, moved data, transforms, tokens and strings.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/content.h"
#include "ops/contrib/plain.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "ops/versions.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- older forms of operators of ai.onnx, at the version that they were taken over with

constexpr int kGatherNdOpset = 11;
constexpr int kGridSampleOpset = 16;
constexpr int kPadOpset = 13;
constexpr int kRangeOpset = 11;
constexpr int kTriluOpset = 14;
constexpr int kUniqueOpset = 11;

absl::StatusOr<Facts> InferGatherNd(const NodeView& n) {
  return InferAs(n, "GatherND", InputsOf(n), kGatherNdOpset);
}

absl::StatusOr<Cost> CountGatherNd(const NodeView& n) {
  return CountAs(n, "GatherND", InputsOf(n), OutputsOf(n), kGatherNdOpset);
}

constexpr OpExample kGatherNdExamples[] = {
    {"g (float[N,7,4] X, int64[5,2] I) => (float[5,4] Y) { Y = com.microsoft.GatherND(X, I) }",
     "free"},
};

absl::StatusOr<Facts> InferGridSample(const NodeView& n) {
  return InferAs(n, "GridSample", InputsOf(n), kGridSampleOpset);
}

absl::StatusOr<Cost> CountGridSample(const NodeView& n) {
  return CountAs(n, "GridSample", InputsOf(n), OutputsOf(n), kGridSampleOpset);
}

constexpr OpExample kMiscGridSampleExamples[] = {
    {"g (float[N,3,8,8] X, float[N,4,5,2] G) => (float[N,3,4,5] Y) "
     "{ Y = com.microsoft.GridSample<mode = \"nearest\">(X, G) }",
     "add=80*N mul=40*N div=40*N round=40*N"},
};

// Pad: pads may also be [1, 2 * rank].
Facts PadInputs(const NodeView& n) {
  Facts inputs = InputsOf(n);
  if (inputs.size() > 1 && inputs[1].shape.ranked() && inputs[1].shape.rank() == 2) {
    inputs[1].shape = Shape{inputs[1].shape.NumElements()};
  }
  return inputs;
}

absl::StatusOr<Facts> InferPad(const NodeView& n) {
  return InferAs(n, "Pad", PadInputs(n), kPadOpset);
}

constexpr OpExample kPadExamples[] = {
    {"g (float[N,5] X) => (float[N,8] Y) <int64[1,4] p = {0, 1, 0, 2}> "
     "{ Y = com.microsoft.Pad(X, p) }",
     "free"},
};

// Range: the limits may also be [1], and delta may be left out.
absl::StatusOr<Facts> RangeInputs(const NodeView& n) {
  Facts inputs = InputsOf(n);
  if (inputs.size() < 2) return absl::InvalidArgumentError("start and limit are needed");
  if (inputs.size() < 3) inputs.resize(3);
  if (!n.HasInput(2)) {
    const Scalar one = IsFloat(n.dtype(0)) ? Scalar::Float(1) : Scalar::Int(1);
    inputs[2] = Fact::ScalarOf(one, n.dtype(0));
  }
  for (Fact& input : inputs) input.shape = Shape{};
  return inputs;
}

absl::StatusOr<Facts> InferRange(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts inputs, RangeInputs(n));
  return InferAs(n, "Range", inputs, kRangeOpset);
}

absl::StatusOr<Cost> CountRange(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts inputs, RangeInputs(n));
  return CountAs(n, "Range", inputs, OutputsOf(n), kRangeOpset);
}

constexpr OpExample kRangeExamples[] = {
    {"g () => (int64[5] Y) <int64[1] a = {2}, int64[1] b = {7}> "
     "{ Y = com.microsoft.Range(a, b) }",
     "int_add=5"},
};

absl::StatusOr<Facts> InferTrilu(const NodeView& n) {
  return InferAs(n, "Trilu", InputsOf(n), kTriluOpset);
}

constexpr OpExample kTriluExamples[] = {
    {"g (float[N,5,5] X) => (float[N,5,5] Y) { Y = com.microsoft.Trilu(X) }", "free"},
};

// Unique: without the indices of the first occurrences.
absl::StatusOr<Facts> InferUnique(const NodeView& n) {
  RETURN_IF_ERROR(n.RankedShape(0, 1).status());
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "Unique", InputsOf(n), kUniqueOpset));
  if (facts.size() < 4) return absl::UnimplementedError("Unique of this form");
  return Facts{facts[0], facts[2], facts[3]};
}

absl::StatusOr<Cost> CountUnique(const NodeView& n) {
  return CountAs(n, "Unique", InputsOf(n), {n.output(0)}, kUniqueOpset);
}

constexpr OpExample kUniqueExamples[] = {
    {"g (int64[12] X) => (int64[U] Y, int64[12] I, int64[U] C) "
     "{ Y, I, C = com.microsoft.Unique(X) }",
     "int_cmp=48"},
};

// ---- moved data

// ExpandDims: a dimension of 1 at `axis`.
absl::StatusOr<Facts> InferExpandDims(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.RankedShape(0));
  const std::optional<Expr> known = n.KnownInt(1);
  const std::optional<int64_t> given = known.has_value() ? known->AsInt64() : std::nullopt;
  if (!given.has_value()) return absl::FailedPreconditionError("the axis is not known");
  ASSIGN_OR_RETURN(int axis, n.Axis(*given, y.rank() + 1));
  y.dims().insert(y.dims().begin() + axis, Expr(1));
  Fact fact = n.Moved(0, std::move(y));
  FollowInOrder(n.input(0), &fact);
  return Facts{std::move(fact)};
}

constexpr OpExample kExpandDimsExamples[] = {
    {"g (float[N,5] X) => (float[N,1,5] Y) <int32 a = {1}> { Y = com.microsoft.ExpandDims(X, a) }",
     "free"},
};

// UnfoldTensor: slices of `size` along `dim`, `step` apart, in a dimension of their own.
absl::StatusOr<Facts> InferUnfoldTensor(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(int dim, n.AxisAttr("dim", -1, y.rank()));
  const int64_t size = n.Int("size", 0), step = n.Int("step", 1);
  if (size < 1 || step < 1) {
    return absl::InvalidArgumentError(absl::StrCat("size is ", size, ", step ", step));
  }
  if (ProvablyLess(y[dim], size).value_or(false)) {
    return absl::InvalidArgumentError(
        absl::StrCat("slices of ", size, " of a dimension of ", y[dim].ToString()));
  }
  y[dim] = FloorDiv(y[dim] - size, step) + 1;
  y.push_back(size);
  return Facts{n.Moved(0, std::move(y))};
}

constexpr OpExample kUnfoldTensorExamples[] = {
    {"g (float[N,10] X) => (float[N,4,3] Y) "
     "{ Y = com.microsoft.UnfoldTensor<dim = 1, size = 3, step = 2>(X) }",
     "free"},
};

// TorchEmbedding: rows of weight[V,M].
absl::StatusOr<Facts> InferTorchEmbedding(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape weight, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape y, n.RankedShape(1));
  y.push_back(weight[1]);
  return Facts{n.Moved(0, std::move(y))};
}

// Free, but only the rows that are looked up are read.
absl::StatusOr<Cost> CountTorchEmbedding(const NodeView& n) {
  Cost cost;
  ASSIGN_OR_RETURN(Expr rows, BytesOf(n.output(0)));
  ASSIGN_OR_RETURN(Expr indices, BytesOf(n.input(1)));
  cost.bytes_read = rows + indices;
  return cost;
}

constexpr OpExample kTorchEmbeddingExamples[] = {
    {"g (float[100,8] W, int64[N,5] I) => (float[N,5,8] Y) "
     "{ Y = com.microsoft.TorchEmbedding(W, I) }",
     "free"},
};

// GatherBlockQuantized: slices of data along gather_axis, dequantised. Where data is uint8, several
// numbers are packed into each byte along the last dimension.
struct BlockGather {
  Shape stored;  // what is read of data
  Shape scales;  // and of its scales
  Shape output;
  bool zero_points = false;
};

// `shape` with the dimensions of `indices` for its dimension `axis`; left alone where that is 1.
Shape Gathered(const Shape& shape, const Shape& indices, int axis, bool broadcast) {
  if (broadcast && shape[axis] == Expr(1)) return shape;
  Shape gathered;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) {
      gathered.push_back(shape[i]);
      continue;
    }
    for (const Expr& size : indices.dims()) gathered.push_back(size);
  }
  return gathered;
}

absl::StatusOr<BlockGather> ReadBlockGather(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape data, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(Shape indices, n.RankedShape(1));
  ASSIGN_OR_RETURN(Shape scales, n.RankedShape(2, data.rank()));
  ASSIGN_OR_RETURN(int axis, n.AxisAttr("gather_axis", 0, data.rank()));
  BlockGather g = {.stored = Gathered(data, indices, axis, false),
                   .scales = Gathered(scales, indices, axis, true),
                   .zero_points = n.HasInput(3)};
  g.output = g.stored;
  if (n.dtype(0) == DType::kUint8) {
    const int64_t bits = n.Int("bits", 4);
    if (bits != 2 && bits != 4 && bits != 8) {
      return absl::InvalidArgumentError(absl::StrCat("bits is ", bits));
    }
    if (axis == data.rank() - 1) {
      return absl::InvalidArgumentError("packed numbers cannot be gathered along their axis");
    }
    g.output[g.output.rank() - 1] *= 8 / bits;
  }
  return g;
}

absl::StatusOr<Facts> InferGatherBlockQuantized(const NodeView& n) {
  ASSIGN_OR_RETURN(BlockGather g, ReadBlockGather(n));
  return Facts{n.Like(2, std::move(g.output))};
}

absl::StatusOr<Cost> CountGatherBlockQuantized(const NodeView& n) {
  ASSIGN_OR_RETURN(BlockGather g, ReadBlockGather(n));
  Cost cost = Flops(DequantizeCost(g.zero_points) * g.output.NumElements());
  ASSIGN_OR_RETURN(Expr stored, BytesOf(n.Like(0, g.stored)));
  ASSIGN_OR_RETURN(Expr scales, BytesOf(n.Like(2, g.scales)));
  ASSIGN_OR_RETURN(Expr indices, BytesOf(n.input(1)));
  cost.bytes_read = stored + scales + indices;
  if (g.zero_points) {
    ASSIGN_OR_RETURN(Expr zero_points, BytesOf(n.Like(3, g.scales)));
    *cost.bytes_read += zero_points;
  }
  return cost;
}

constexpr OpExample kGatherBlockQuantizedExamples[] = {
    {"g (uint8[100,16] D, int64[N,5] I, float16[100,2] S) => (float16[N,5,32] Y) "
     "{ Y = com.microsoft.GatherBlockQuantized<block_size = 16>(D, I, S) }",
     "mul=160*N"},
    {"g (int4[100,32] D, int64[N,5] I, float[100,2] S, int4[100,2] Z) => (float[N,5,32] Y) "
     "{ Y = com.microsoft.GatherBlockQuantized<block_size = 16>(D, I, S, Z) }",
     "add=160*N mul=160*N"},
};

// RemovePadding: of X[B,S,H] with sequence_token_count[B], the tokens that count.
absl::StatusOr<Facts> InferRemovePadding(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 3));
  const std::optional<Dims> counts = n.KnownInts(1);
  Expr tokens = 0;
  if (counts.has_value()) {
    for (const Expr& count : *counts) tokens += count;
  } else {
    tokens = n.FreshDim(0, 0, "removepadding");
  }
  return Facts{n.Moved(0, Shape{tokens, x[2]}), n.Like(1, Shape{x[0], x[1]}),
               n.Like(1, Shape{x[0] + 1}), n.Like(1, Shape{1})};
}

constexpr OpExample kRemovePaddingExamples[] = {
    {"g (float[N,5,8] X, int32[N] C) => (float[T,8] Y, int32[N,5] O, int32[\"N + 1\"] S, int32[1] "
     "M) { Y, O, S, M = com.microsoft.RemovePadding(X, C) }",
     "free"},
};

absl::StatusOr<Facts> InferRestorePadding(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape offsets, n.RankedShape(1, 2));
  return Facts{n.Moved(0, Shape{offsets[0], offsets[1], x[1]})};
}

constexpr OpExample kRestorePaddingExamples[] = {
    {"g (float[T,8] X, int32[N,5] O) => (float[N,5,8] Y) "
     "{ Y = com.microsoft.RestorePadding(X, O) }",
     "free"},
};

// ---- CropAndResize: Y[R,C,h,w], h and w in crop_size, of X[N,C,H,W] and R boxes

absl::StatusOr<Facts> InferCropAndResize(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 4));
  ASSIGN_OR_RETURN(Shape boxes, n.RankedShape(1, 2));
  const std::optional<Dims> size = n.KnownInts(3);
  if (size.has_value() && size->size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("crop_size has ", size->size(), " elements"));
  }
  Shape y = {boxes[0], x[1]};
  for (int i = 0; i < 2; ++i) {
    y.push_back(size.has_value() ? (*size)[static_cast<size_t>(i)]
                                 : n.FreshDim(0, i + 2, "cropandresize"));
  }
  return Facts{n.Like(0, std::move(y))};
}

absl::StatusOr<Cost> CountCropAndResize(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.OutputShape(0));
  // Of a box, along each axis, the distance between places: (end - start) * (size - 1) / (n - 1).
  Census work = ElementCost{.add = 2, .mul = 2, .div = 2} * y[0];
  // Where a row (or column) of the crop is, whether that is in the image, and its rounding.
  const Expr lines = y[0] * (y[2] + y[3]);
  work += ElementCost{.add = 1, .mul = 2, .cmp = 2, .round = 1} * lines;
  if (n.String("mode", "bilinear") == "nearest") return Flops(std::move(work));
  // The neighbour above and the distance to the one below; per channel a + (b - a) * distance
  // between two elements of both rows, and between the rows.
  work += ElementCost{.add = 1, .round = 1} * lines;
  work += ElementCost{.add = 6, .mul = 3} * y.NumElements();
  return Flops(std::move(work));
}

constexpr OpExample kCropAndResizeExamples[] = {
    {"g (float[N,3,20,20] X, float[R,4] B, int32[R] I) => (float[R,3,6,7] Y) <int32[2] s = {6, 7}> "
     "{ Y = com.microsoft.CropAndResize(X, B, I, s) }",
     "add=784*R mul=406*R div=2*R cmp=26*R round=26*R"},
};

// ---- Fourier transforms over the last signal_ndim dimensions, real on one side

absl::StatusOr<int> SignalRank(const NodeView& n, int rank) {
  const int64_t dims = n.Int("signal_ndim", 1);
  if (dims < 1 || dims > 3 || dims > rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("signal_ndim is ", dims, ", the signal has rank ", rank));
  }
  return static_cast<int>(dims);
}

// The transforms of real[.., n1, n2, ..]: along the last dimension, then along those before it of
// the half that is left.
absl::StatusOr<Cost> FourierCost(const NodeView& n, const Shape& real, const Shape& half,
                                 int signal_rank) {
  Cost cost;
  for (int i = 0; i < signal_rank; ++i) {
    const Shape& signal = i == 0 ? real : half;
    const int axis = signal.rank() - 1 - i;
    // ai.onnx DFT transforms the last dimension but one; one number stands for each element.
    Shape lines{signal.Product(0, axis) * signal.Product(axis + 1, signal.rank()), signal[axis], 1};
    const Fact fact = n.Like(0, std::move(lines));
    ASSIGN_OR_RETURN(Cost part, CountAs(n, "DFT", {fact}, {fact}));
    cost.flops += part.flops;
  }
  return cost;
}

absl::StatusOr<Facts> InferRfft(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 1));
  RETURN_IF_ERROR(SignalRank(n, y.rank()).status());
  y[y.rank() - 1] = FloorDiv(y[y.rank() - 1], 2) + 1;
  y.push_back(2);
  return Facts{n.Like(0, std::move(y))};
}

absl::StatusOr<Cost> CountRfft(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(Shape half, n.OutputShape(0));
  ASSIGN_OR_RETURN(int dims, SignalRank(n, x.rank()));
  half.dims().pop_back();
  return FourierCost(n, x, half, dims);
}

constexpr OpExample kRfftExamples[] = {
    {"g (float[N,16] X) => (float[N,9,2] Y) { Y = com.microsoft.Rfft<signal_ndim = 1>(X) }",
     "add=192*N mul=128*N"},
};

absl::StatusOr<Facts> InferIrfft(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 2));
  RETURN_IF_ERROR(SignalRank(n, y.rank() - 1).status());
  RETURN_IF_ERROR(n.RequireSame("real and imaginary part", y[y.rank() - 1], 2));
  y.dims().pop_back();
  y[y.rank() - 1] = 2 * (y[y.rank() - 1] - 1);
  return Facts{n.Like(0, std::move(y))};
}

absl::StatusOr<Cost> CountIrfft(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape half, n.ShapeOfRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(Shape y, n.OutputShape(0));
  ASSIGN_OR_RETURN(int dims, SignalRank(n, y.rank()));
  half.dims().pop_back();
  return FourierCost(n, y, half, dims);
}

constexpr OpExample kIrfftExamples[] = {
    {"g (float[N,9,2] X) => (float[N,16] Y) { Y = com.microsoft.Irfft<signal_ndim = 1>(X) }",
     "add=192*N mul=128*N"},
};

// ---- DynamicTimeWarping: the cheapest path through X[M,N] (or [1,M,N])

absl::StatusOr<Facts> InferDynamicTimeWarping(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  if (x.rank() > 3) return absl::InvalidArgumentError(absl::StrCat("rank ", x.rank()));
  return Facts{Fact::Tensor(DType::kInt32, Shape{2, n.FreshDim(0, 1, "dynamictimewarping")})};
}

constexpr OpExample kDynamicTimeWarpingExamples[] = {
    {"g (float[M,20] X) => (int32[2,P] Y) { Y = com.microsoft.DynamicTimeWarping(X) }",
     "add=20*M cmp=40*M"},
};

// ---- tokens

// NGramHashMapping: Y[B,S,(N-1)*heads] (or [T,..] of packed requests); of each order up to N, the
// products of that many tokens, joined by xor, modulo the size of each head.
struct NGrams {
  Shape ids;
  Expr order, heads;  // N, and (N - 1) * n_head_per_ngram
};

absl::StatusOr<NGrams> ReadNGrams(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape ids, n.RankedShape(0));
  const int64_t order = n.Int("max_ngram_size", 0), heads = n.Int("n_head_per_ngram", 0);
  if (order < 2 || heads < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_ngram_size is ", order, ", n_head_per_ngram ", heads));
  }
  return NGrams{std::move(ids), order, (Expr(order) - 1) * heads};
}

absl::StatusOr<Facts> InferNGramHash(const NodeView& n) {
  RETURN_IF_ERROR(n.RankedShape(0, 2).status());
  ASSIGN_OR_RETURN(NGrams g, ReadNGrams(n));
  return Facts{n.Like(0, Shape{g.ids[0], g.ids[1], g.heads}),
               n.Like(0, Shape{g.ids[0], g.order - 1})};
}

absl::StatusOr<Facts> InferVarlenNGramHash(const NodeView& n) {
  RETURN_IF_ERROR(n.RankedShape(0, 1).status());
  ASSIGN_OR_RETURN(NGrams g, ReadNGrams(n));
  ASSIGN_OR_RETURN(Shape sums, n.RankedShape(3, 1));
  const Expr batch = sums[0] - 1;
  const Shape ids = {batch, g.order - 1};
  return Facts{n.Like(0, Shape{g.ids[0], g.heads}), n.Like(0, ids),
               Fact::Tensor(DType::kInt32, ids),
               n.Like(0, Shape{batch, n.Int("state_update_capacity", 0), g.order - 1})};
}

// `offsets` and `eos` are inputs; `segments` too.
absl::StatusOr<Cost> NGramHashCost(const NodeView& n, int offsets, int eos, int segments) {
  ASSIGN_OR_RETURN(NGrams g, ReadNGrams(n));
  const Expr tokens = g.ids.NumElements();
  Census work;
  work[Kind::kMul] = tokens * g.order;
  work[Kind::kCmp] = tokens * (g.order - 1);
  work[Kind::kDiv] = tokens * g.heads;
  if (n.HasInput(offsets)) work[Kind::kAdd] = tokens * g.heads;
  if (n.HasInput(eos) && n.Flag("reset_on_eos")) work[Kind::kCmp] += tokens * (g.order - 1);
  if (n.HasInput(segments)) work[Kind::kCmp] += tokens;
  Cost cost;
  cost.int_ops = std::move(work);
  return cost;
}

absl::StatusOr<Cost> CountNGramHash(const NodeView& n) { return NGramHashCost(n, 4, 5, 6); }
absl::StatusOr<Cost> CountVarlenNGramHash(const NodeView& n) { return NGramHashCost(n, 5, 6, 7); }

constexpr OpExample kNGramHashExamples[] = {
    {"g (int64[N,5] I, int64[3] M, int64[8] V) => (int64[N,5,8] H, int64[N,2] P) "
     "{ H, P = com.microsoft.NGramHashMapping<max_ngram_size = 3, n_head_per_ngram = 4, pad_id = "
     "0>(I, M, V) }",
     "int_mul=15*N int_div=40*N int_cmp=10*N"},
};

constexpr OpExample kVarlenNGramHashExamples[] = {
    {"g (int64[T] I, int64[3] M, int64[8] V, int32[4] C, int64[3,2] P, int64[8] O) => (int64[T,8] "
     "H, int64[3,2] Q) "
     "{ H, Q = com.microsoft.VarlenNGramHashMapping<max_ngram_size = 3, n_head_per_ngram = 4, "
     "pad_id = 0>(I, M, V, C, P, O) }",
     "int_add=8*T int_mul=3*T int_div=8*T int_cmp=2*T"},
};

// NGramRepeatBlock: each place of the tokens [B,S] is compared with the last n - 1 tokens.
absl::StatusOr<Facts> InferNGramRepeatBlock(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape scores, n.RankedShape(1, 2));
  return Facts{n.Like(1, std::move(scores))};
}

absl::StatusOr<Cost> CountNGramRepeatBlock(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape ids, n.RankedShape(0, 2));
  const int64_t size = n.Int("ngram_size", 0);
  if (size < 1) return absl::InvalidArgumentError(absl::StrCat("ngram_size is ", size));
  Cost cost;
  cost.int_ops[Kind::kCmp] = ids[0] * Max(ids[1] - size + 1, 0) * (size - 1);
  return cost;
}

constexpr OpExample kNGramRepeatBlockExamples[] = {
    {"g (int64[B,10] I, float[B,100] S) => (float[B,100] Y) "
     "{ Y = com.microsoft.NGramRepeatBlock<ngram_size = 3>(I, S) }",
     "int_cmp=16*B"},
};

// BifurcationDetector: the predicted tokens [P] against the source [S], then the last n-grams of
// the output anywhere in the source.
absl::StatusOr<Facts> InferBifurcationDetector(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape index, n.RankedShape(2));
  return Facts{n.Like(1, Shape{n.FreshDim(0, 0, "bifurcationdetector")}),
               n.Like(2, std::move(index))};
}

absl::StatusOr<Cost> CountBifurcationDetector(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape source, n.RankedShape(0, 1));
  const int64_t least = n.Int("min_ngram_size", 1), most = n.Int("max_ngram_size", 3);
  if (least < 1 || most < least || most > kMaxIntContent) {
    return absl::InvalidArgumentError(absl::StrCat("n-grams of ", least, " to ", most));
  }
  Cost cost;
  if (n.HasInput(3)) {
    ASSIGN_OR_RETURN(Shape predicted, n.RankedShape(3, 1));
    cost.int_ops[Kind::kCmp] = predicted[0];
  }
  cost.int_ops[Kind::kCmp] += source[0] * ((least + most) * (most - least + 1) / 2);
  return cost;
}

constexpr OpExample kBifurcationDetectorExamples[] = {
    {"g (int64[S] A, int64[C] B, int64 P, int64[T] D) => (int64[F] Y, int64 I) "
     "{ Y, I = com.microsoft.BifurcationDetector(A, B, P, D) }",
     "int_cmp=6*S + T"},
};

// ---- strings and hashes

// Tokenizer: as many tokens as the longest string has, in one more dimension.
absl::StatusOr<Facts> InferTokenizer(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 1));
  if (y.rank() > 2) return absl::InvalidArgumentError(absl::StrCat("X has rank ", y.rank()));
  const int rank = y.rank();
  y.push_back(n.FreshDim(0, rank, "tokenizer"));
  return Facts{n.Like(0, std::move(y))};
}

constexpr OpExample kTokenizerExamples[] = {
    {"g (string[N] X) => (string[N,T] Y) "
     "{ Y = com.microsoft.Tokenizer<mark = 0, mincharnum = 1, pad_value = \"#\", separators = "
     "[\" \"]>(X) }",
     "free"},
};

absl::StatusOr<Facts> InferMurmurHash3(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  const DType type = n.Flag("positive", true) ? DType::kUint32 : DType::kInt32;
  return Facts{Fact::Tensor(type, std::move(x))};
}

// Per 4 bytes: 3 products, 2 rotations (3 bit operations each), xor, a sum; once 2 products and 7
// bit operations to finish.
absl::StatusOr<Cost> CountMurmurHash3(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  if (n.dtype(0) == DType::kString) return Cost{};
  const int words = std::max(BitsPerElement(n.dtype(0)) / 32, 1);
  Cost cost;
  cost.int_ops =
      ElementCost{.add = words, .mul = 3 * words + 2, .cmp = 7 * words + 7} * x.NumElements();
  return cost;
}

constexpr OpExample kMurmurHash3Examples[] = {
    {"g (int64[N] X) => (uint32[N] Y) { Y = com.microsoft.MurmurHash3(X) }",
     "int_add=2*N int_mul=8*N int_cmp=21*N"},
    {"g (string[N] X) => (int32[N] Y) { Y = com.microsoft.MurmurHash3<positive = 0>(X) }", "free"},
};

// ---- what has no public meaning

constexpr OpExample kEpContextExamples[] = {
    {"g (float[N] X) => (float[N] Y) { Y = com.microsoft.EPContext(X) }", ""},
};

constexpr OpExample kSnpeExamples[] = {
    {"g (float[N] X) => (float[N] Y) { Y = com.microsoft.Snpe<DLC = \"x\">(X) }", ""},
};

// Of whole or packed requests: the signature names ids, offsets, eos and segments.
constexpr FormulaData NGramData(const char* signature) {
  return {.signature = signature,
          .attributes = "max_ngram_size = int; n_head_per_ngram = int; reset_on_eos = 0",
          .let =
              "tokens = ids.elements; N = attr.max_ngram_size; heads = (N - "
              "1)*attr.n_head_per_ngram",
          .costs =
              "int_mul = tokens*N; int_cmp = tokens*(N - 1) + if(attr.reset_on_eos, "
              "eos.given*tokens*(N - 1), 0) + segments.given*tokens; int_div = "
              "tokens*heads; int_add = offsets.given*tokens*heads"};
}

constexpr OpDef kMsMiscRows[] = {
    {.name = "BifurcationDetector",
     .versions = kSince1,
     .formula = "where the predicted tokens[P] leave the source[S], and where the last n-grams are "
                "in it; integer cmp = P + S * (sum of the sizes of the n-grams)",
     .data = {.signature = "source[S] tokens suffix_match? predicted? -> out suffix?",
              .attributes = "min_ngram_size = 1; max_ngram_size = 3",
              .let = "least = attr.min_ngram_size; most = attr.max_ngram_size",
              .costs = "int_cmp = predicted.elements + S*((least + most)*(most - least + 1)//2)"},
     .infer = InferBifurcationDetector,
     .count = CountBifurcationDetector,
     .examples = kBifurcationDetectorExamples,
     .note = "every place is compared in full, though a search may end early"},
    {.name = "CropAndResize",
     .versions = kSince1,
     .formula =
         "Y[R,C,h,w] = boxes of X, resized; per box: 2 add, 2 mul, 2 div; per row and column "
         "of a box: add, 2 mul, 2 cmp, round (bilinear: add and round more); bilinear: per "
         "element 6 add, 3 mul",
     .data = {.signature = "X rois batch_indices crop_size -> Y[R, C, h, w]",
              .attributes = "mode = bilinear|nearest",
              .let = "lines = R*(h + w); bilinear = attr.mode.bilinear",
              .costs =
                  "add = 2*R + (1 + bilinear)*lines + bilinear*6*Y.elements; mul = 2*R + 2*lines + "
                  "bilinear*3*Y.elements; div = 2*R; cmp = 2*lines; round = (1 + bilinear)*lines"},
     .infer = InferCropAndResize,
     .count = CountCropAndResize,
     .examples = kCropAndResizeExamples,
     .shape_inputs = 1 << 3,
     .traits = Traits::kReadsContent},
    {.name = "DynamicTimeWarping",
     .versions = kSince1,
     .formula = "Y[2,P] = the cheapest path through X[M,N]; per place: add = 1, cmp = 2",
     .infer = InferDynamicTimeWarping,
     .count = CountPerInputElement,
     .examples = kDynamicTimeWarpingExamples,
     .per_element = {.add = 1, .cmp = 2}},
    {.name = "EPContext",
     .versions = kSince1,
     .formula = "a part of a model, compiled for one execution provider",
     .infer = nullptr,
     .examples = kEpContextExamples,
     .traits = Traits::kUnknown,
     .note = "what it computes is inside of a binary for one execution provider"},
    {.name = "ExpandDims",
     .versions = kSince1,
     .formula = "Y = X with a dimension of 1 at axis; free",
     .infer = InferExpandDims,
     .examples = kExpandDimsExamples,
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent | Traits::kView},
    {.name = "GatherBlockQuantized",
     .versions = kSince1,
     .formula = "Y = (data[indices] - zero_point) * scale; mul = 1, add = 1 with zero_points, per "
                "element of Y",
     .data = {.signature = "data indices scales zero_points? -> output",
              .costs =
                  "float_mul = output.elements; float_add = zero_points.given*output.elements"},
     .infer = InferGatherBlockQuantized,
     .count = CountGatherBlockQuantized,
     .examples = kGatherBlockQuantizedExamples,
     .operands = {.weights = InputBits({0}), .not_parameters = InputBits({2, 3}), .packed = true},
     .note = "only what is gathered is read and dequantised"},
    {.name = "GatherND",
     .versions = kSince1,
     .formula = "as ai.onnx GatherND without batch_dims; free",
     .data = {.signature = "data indices -> output", .costs = "free"},
     .infer = InferGatherNd,
     .count = CountGatherNd,
     .examples = kGatherNdExamples},
    {.name = "GridSample",
     .versions = kSince1,
     .formula = "as ai.onnx GridSample of version 16",
     .data = GridSampleData("X[N, C, i...] grid -> Y[N, C, o...]"),
     .infer = InferGridSample,
     .count = CountGridSample,
     .examples = kMiscGridSampleExamples},
    {.name = "Irfft",
     .versions = kSince1,
     .formula = "as Rfft, backward: Y[.., n] of X[.., n/2 + 1, 2]",
     .data = {.signature = "X -> Y",
              .attributes = "signal_ndim = 1",
              .let = "d = attr.signal_ndim; work = Y.elements*digits(Y[-1] - 1) + if(d > 1, "
                     "X[:-1]*digits(Y[-2] - 1), 0) + if(d > 2, X[:-1]*digits(Y[-3] - 1), 0)",
              .costs = "mul = 2*work; add = 3*work"},
     .infer = InferIrfft,
     .count = CountIrfft,
     .examples = kIrfftExamples,
     .note = "not normalised, as the operator is"},
    {.name = "MurmurHash3",
     .versions = kSince1,
     .formula = "Y = hash of each element; integer, per 4 bytes: mul = 3, add = 1, cmp = 7; once: "
                "mul = 2, cmp = 7",
     .infer = InferMurmurHash3,
     .count = CountMurmurHash3,
     .examples = kMurmurHash3Examples,
     .note = "bit operations are cmp; strings are free"},
    {.name = "NGramHashMapping",
     .versions = kSince1,
     .formula = "Y[B,S,(N-1)*n] = xor of N products of tokens, modulo the size of a head; integer, "
                "per token: mul = N, cmp = N-1, div = (N-1)*n, add = (N-1)*n with head_offsets",
     .data =
         NGramData("ids multipliers vocab_sizes past? offsets? eos? segments? -> hashes present?"),
     .infer = InferNGramHash,
     .count = CountNGramHash,
     .examples = kNGramHashExamples,
     .note = "reset_on_eos: cmp = N-1 per token more; segment_ids: cmp = 1"},
    {.name = "NGramRepeatBlock",
     .versions = kSince1,
     .formula = "scores of tokens[B,S] that would repeat an n-gram are set to -inf; integer cmp = "
                "B*(S-n+1)*(n-1)",
     .data = {.signature = "ids[B, S] scores -> scores_out",
              .attributes = "ngram_size = int",
              .costs = "int_cmp = B*max(S - attr.ngram_size + 1, 0)*(attr.ngram_size - 1)"},
     .infer = InferNGramRepeatBlock,
     .count = CountNGramRepeatBlock,
     .examples = kNGramRepeatBlockExamples},
    {.name = "Pad",
     .versions = kSince1,
     .formula = "as ai.onnx Pad; free",
     .infer = InferPad,
     .examples = kPadExamples,
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent},
    {.name = "Range",
     .versions = kSince1,
     .formula = "as ai.onnx Range; delta is 1 where it is left out",
     .data = {.signature = "start limit delta? -> Y", .costs = "add = Y.elements"},
     .infer = InferRange,
     .count = CountRange,
     .examples = kRangeExamples,
     .shape_inputs = (1 << 0) | (1 << 1) | (1 << 2),
     .traits = Traits::kReadsContent},
    {.name = "RemovePadding",
     .versions = kSince1,
     .formula = "Y[T,H] = the tokens of X[B,S,H] that are not padding; free",
     .infer = InferRemovePadding,
     .examples = kRemovePaddingExamples,
     .shape_inputs = 1 << 1,
     .traits = Traits::kReadsContent},
    {.name = "RestorePadding",
     .versions = kSince1,
     .formula = "Y[B,S,H] = the tokens of X[T,H] at their places; free",
     .infer = InferRestorePadding,
     .examples = kRestorePaddingExamples},
    {.name = "Rfft",
     .versions = kSince1,
     .formula =
         "Y[.., n/2 + 1, 2] = Fourier transform of X[.., n]; as ai.onnx DFT along each of the "
         "last signal_ndim dimensions",
     .data = {.signature = "X -> Y",
              .attributes = "signal_ndim = 1",
              .let = "d = attr.signal_ndim; work = X.elements*digits(X[-1] - 1) + if(d > 1, "
                     "Y[:-1]*digits(X[-2] - 1), 0) + if(d > 2, Y[:-1]*digits(X[-3] - 1), 0)",
              .costs = "mul = 2*work; add = 3*work"},
     .infer = InferRfft,
     .count = CountRfft,
     .examples = kRfftExamples},
    {.name = "Snpe",
     .versions = kSince1,
     .formula = "a part of a model, compiled for SNPE",
     .infer = nullptr,
     .examples = kSnpeExamples,
     .traits = Traits::kUnknown,
     .note = "what it computes is inside of a binary for SNPE"},
    {.name = "Tokenizer",
     .versions = kSince1,
     .formula = "Y[N,C,T] = the tokens of X[N,C]; free",
     .infer = InferTokenizer,
     .examples = kTokenizerExamples},
    {.name = "TorchEmbedding",
     .versions = kSince1,
     .formula = "Y[..,M] = rows of weight[V,M]; free",
     .data = {.signature = "weight indices padding_idx? scale_grad_by_freq? -> Y", .costs = "free"},
     .infer = InferTorchEmbedding,
     .count = CountTorchEmbedding,
     .examples = kTorchEmbeddingExamples},
    {.name = "Trilu",
     .versions = kSince1,
     .formula = "as ai.onnx Trilu; free",
     .infer = InferTrilu,
     .examples = kTriluExamples},
    {.name = "UnfoldTensor",
     .versions = kSince1,
     .formula = "Y[.., (D - size)/step + 1, .., size] = slices of X; free",
     .infer = InferUnfoldTensor,
     .examples = kUnfoldTensorExamples},
    {.name = "Unique",
     .versions = kSince1,
     .formula = "as ai.onnx Unique, in the order in which they occur",
     .data = {.signature = "x -> y idx counts", .costs = "cmp = x.elements*digits(x.elements)"},
     .infer = InferUnique,
     .count = CountUnique,
     .examples = kUniqueExamples},
    {.name = "VarlenNGramHashMapping",
     .versions = kSince1,
     .formula = "as NGramHashMapping, of packed requests",
     .data = NGramData("ids multipliers vocab_sizes cu_seqlens past? offsets? eos? segments? "
                       "-> hashes present?"),
     .infer = InferVarlenNGramHash,
     .count = CountVarlenNGramHash,
     .examples = kVarlenNGramHashExamples,
     .note = "reset_on_eos: cmp = N-1 per token more; segment_ids: cmp = 1"},
};

}  // namespace

constinit const OpFamily kMsMiscFamily = {"com.microsoft", kMsMiscRows};

}  // namespace onnxflops
