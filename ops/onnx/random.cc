// Random numbers. How a generator makes them is not part of ONNX: drawing one is free; what is done
// with it is counted.
#include <utility>

#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// RandomNormal, RandomUniform: the shape is an attribute.
absl::StatusOr<Facts> InferRandom(const NodeView& n) {
  ASSIGN_OR_RETURN(DType type, DTypeAttr(n, "dtype", DType::kFloat32));
  if (!n.HasAttr("shape")) return absl::InvalidArgumentError("attribute shape is missing");
  Shape shape;
  for (int64_t size : n.Ints("shape")) shape.push_back(size);
  return Facts{Fact::Tensor(type, std::move(shape))};
}

// The shape of the input; its type unless `dtype` is given.
absl::StatusOr<Facts> InferRandomLike(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(0));
  ASSIGN_OR_RETURN(DType type, DTypeAttr(n, "dtype", n.dtype(0)));
  return Facts{Fact::Tensor(type, std::move(shape))};
}

// Multinomial: X [B, C] -> Y [B, S].
absl::StatusOr<Facts> InferMultinomial(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(DType type, DTypeAttr(n, "dtype", DType::kInt32));
  return Facts{Fact::Tensor(type, Shape{x[0], n.Int("sample_size", 1)})};
}

constexpr char kDrawing[] =
    "Drawing random numbers is not counted: ONNX does not say how it is done.";

constexpr OpDef kRandomRows[] = {
    {.name = "Bernoulli",
     .versions = {15, 22},
     .formula = "Y = random < X",
     .infer = InferRandomLike,
     .count = CountPerInputElement,
     .examples = {{"float[N,4] X -> float[N,4] Y", "cmp=4*N"},
                  {"float[N,4] X -> bool[N,4] Y <dtype = 9>", "cmp=4*N"}},
     .per_element = {.cmp = 1},
     .traits = Traits::kRandom,
     .note = kDrawing},
    // Running sums of e^X by rows; a sample scales a random number to the row's total and is
    // compared with the C sums.
    {.name = "Multinomial",
     .versions = {7, 22},
     .formula = "output[B,S] = S samples of each row of e^input[B,C]",
     .data = {.signature = "input[B, C] -> output",
              .attributes = "sample_size = 1",
              .costs =
                  "exp = B*C; add = B*C; mul = B*attr.sample_size; cmp = B*attr.sample_size*C"},
     .infer = InferMultinomial,
     .examples = {{"float[N,5] X -> int32[N,3] Y <sample_size = 3>",
                   "add=5*N mul=3*N cmp=15*N exp=5*N"}},
     .traits = Traits::kRandom,
     .note = kDrawing},
    {.name = "RandomNormal",
     .versions = {1, 22},
     .formula = "Y = random numbers",
     .infer = InferRandom,
     .examples = {{"-> float[2,3] Y <shape = [2, 3]>", "free"}},
     .traits = Traits::kRandom,
     .note = kDrawing},
    {.name = "RandomNormalLike",
     .versions = {1, 22},
     .formula = "Y = random numbers",
     .infer = InferRandomLike,
     .examples = {{"float[N,4] X -> float16[N,4] Y <dtype = 10>", "free"}},
     .traits = Traits::kRandom,
     .note = kDrawing},
    {.name = "RandomUniform",
     .versions = {1, 22},
     .formula = "Y = random numbers",
     .infer = InferRandom,
     .examples = {{"-> double[2,3] Y <shape = [2, 3], dtype = 11>", "free"}},
     .traits = Traits::kRandom,
     .note = kDrawing},
    {.name = "RandomUniformLike",
     .versions = {1, 22},
     .formula = "Y = random numbers",
     .infer = InferRandomLike,
     .examples = {{"float[N,4] X -> float[N,4] Y", "free"}},
     .traits = Traits::kRandom,
     .note = kDrawing},
};

}  // namespace

constexpr OpFamily kRandomFamily = {.domain = "", .rows = kRandomRows};

}  // namespace onnxflops
