// com.microsoft: lookups in tables, also quantised ones.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/content.h"
#include "ops/contrib/attention.h"
#include "ops/contrib/packed_formats.h"
#include "ops/contrib/plain.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

constexpr int kGatherNdOpset = 11;

absl::StatusOr<Facts> InferGatherNd(const NodeView& n) {
  return InferAs(n, "GatherND", InputsOf(n), kGatherNdOpset);
}

// TorchEmbedding: rows of weight[V,M].
absl::StatusOr<Facts> InferTorchEmbedding(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape weight, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape y, n.RankedShape(1));
  y.push_back(weight[1]);
  return Facts{n.Moved(0, std::move(y))};
}

// Free, but only the rows that are looked up are read.
absl::Status TorchEmbeddingBytes(const NodeView& n, Cost* cost) {
  ASSIGN_OR_RETURN(Expr rows, BytesOf(n.output(0)));
  ASSIGN_OR_RETURN(Expr indices, BytesOf(n.input(1)));
  cost->bytes_read = rows + indices;
  return absl::OkStatus();
}

// GatherBlockQuantized: slices of data along gather_axis, dequantised. Where data is uint8, several
// numbers are packed into each byte along the last dimension.
struct BlockGather {
  Shape stored;  // what is read of data
  Shape scales;  // and of its scales
  Shape output;
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
                   .scales = Gathered(scales, indices, axis, true)};
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

absl::Status BlockGatherBytes(const NodeView& n, Cost* cost) {
  ASSIGN_OR_RETURN(const BlockGather g, ReadBlockGather(n));
  ASSIGN_OR_RETURN(const Expr stored, BytesOf(n.Like(0, g.stored)));
  ASSIGN_OR_RETURN(const Expr scales, BytesOf(n.Like(2, g.scales)));
  ASSIGN_OR_RETURN(const Expr indices, BytesOf(n.input(1)));
  cost->bytes_read = stored + scales + indices;
  if (!n.HasInput(3)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Expr zero_points, BytesOf(n.Like(3, g.scales)));
  *cost->bytes_read += zero_points;
  return absl::OkStatus();
}

// GatherPacked: rows of data[V, bytes], made K numbers each.
absl::StatusOr<Facts> InferGatherPacked(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape data, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(Shape y, n.RankedShape(1));
  ASSIGN_OR_RETURN(const Expr size, PositiveAttr(n, "K"));
  const int64_t id = n.Int("packed_type", -1);
  if (const auto format = FindPackedFormat("packed_type", id); format.ok()) {
    RETURN_IF_ERROR(CheckPackedRow(n, **format, size, data[1]));
  }
  ASSIGN_OR_RETURN(const DType type, DTypeAttr(n, "output_dtype", DType::kBfloat16));
  if (!IsFloat(type)) {
    return absl::InvalidArgumentError(absl::StrCat("output_dtype is ", DTypeName(type)));
  }
  y.push_back(size);
  return Facts{Fact::Tensor(type, std::move(y))};
}

absl::StatusOr<Cost> CountGatherPacked(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape data, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(const Shape y, n.OutputShape(0));
  ASSIGN_OR_RETURN(const PackedFormat* format,
                   FindPackedFormat("packed_type", n.Int("packed_type", -1)));
  Cost cost = Flops(UnpackingWork(*format, y.NumElements()));
  ASSIGN_OR_RETURN(const Expr indices, BytesOf(n.input(1)));
  cost.bytes_read = y.Product(0, y.rank() - 1) * data[1] + indices;
  return cost;
}

constexpr OpDef kMsGatherRows[] = {
    {.name = "GatherBlockQuantized",
     .formula = "output = (data[indices] - zero_point) * scale",
     .data = {.signature = "data indices scales zero_points? -> output",
              .costs =
                  "float_mul = output.elements; float_add = zero_points.given*output.elements"},
     .infer = InferGatherBlockQuantized,
     .bytes = BlockGatherBytes,
     .examples =
         {{"uint8[100,16] D, int64[N,5] I, float16[100,2] S -> float16[N,5,32] Y <block_size = 16>",
           "mul=160*N"},
          {"int4[100,32] D, int64[N,5] I, float[100,2] S, int4[100,2] Z -> float[N,5,32] Y "
           "<block_size = 16>",
           "add=160*N mul=160*N"}},
     .operands = {.weights = InputBits({0}), .not_parameters = InputBits({2, 3}), .packed = true},
     .note = "only what is gathered is read and dequantised"},
    {.name = "GatherND",
     .formula = "as ai.onnx GatherND without batch_dims",
     .data = {.signature = "data indices -> output", .costs = "free"},
     .infer = InferGatherNd,
     .bytes = SelectionBytes,
     .examples = {{"float[N,7,4] X, int64[5,2] I -> float[5,4] Y", "free"}}},
    {.name = "GatherPacked",
     .formula = "output[..,K] = rows of data[V,bytes], each of K numbers in blocks of packed_type; "
                "per number mul by the scale, per group of a format that has them mul for its "
                "scale, in Q5_K as well mul and add for its minimum; F32, F16 and BF16: free",
     .infer = InferGatherPacked,
     .count = CountGatherPacked,
     .examples =
         {// IQ2_XXS: 256 numbers in groups of 32.
          {"uint8[100,66] D, int64[N,5] I -> bfloat16[N,5,256] Y <packed_type = 16, K = 256>",
           "mul=1320*N"},
          // Q5_K: a minimum as well.
          {"uint8[100,352] D, int32[N] I -> float[N,512] Y <packed_type = 13, K = 512, "
           "output_dtype = 1>",
           "add=512*N mul=544*N"}},
     .operands = {.weights = InputBits({0}), .packed = true},
     .note = "only what is gathered is read and made floating point"},
    {.name = "TorchEmbedding",
     .formula = "Y[..,M] = rows of weight[V,M]",
     .data = {.signature = "weight indices padding_idx? scale_grad_by_freq? -> Y", .costs = "free"},
     .infer = InferTorchEmbedding,
     .bytes = TorchEmbeddingBytes,
     .examples = {{"float[100,8] W, int64[N,5] I -> float[N,5,8] Y", "free"}},
     .operands = {.weights = InputBits({0})}},
};

}  // namespace

constinit const OpFamily kMsGatherFamily = {"com.microsoft", kMsGatherRows};

}  // namespace onnxflops
