// Pooling. Padding is counted: every output costs its whole window.
//
// How it works. Windows are read as for convolutions (ops/window.h), and output sizes follow from
// them; costs are formulas per window element. Global pools have one window over the whole image.
// LpPool counts by its p: a sum for 1, squares and a root for 2, powers otherwise. MaxUnpool moves
// values back; its size follows from the windows or from an input, and is a fresh symbol if that is
// not known.
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "ops/window.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- windows: X[N,C,i1,i2..] -> Y[N,C,o1,o2..]

absl::StatusOr<Windows> PoolWindows(const NodeView& n, const Shape& x) {
  ASSIGN_OR_RETURN(const Dims kernel, KernelFromAttribute(n, x.rank() - 2));
  return ReadWindows(n, kernel);
}

absl::StatusOr<Shape> PooledShape(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.ShapeOfRankAtLeast(0, 3));
  ASSIGN_OR_RETURN(const Windows windows, PoolWindows(n, x));
  ASSIGN_OR_RETURN(const Dims spatial, windows.Outputs(absl::MakeConstSpan(x.dims()).subspan(2)));
  Shape y{x[0], x[1]};
  for (const Expr& size : spatial) y.push_back(size);
  return y;
}

absl::StatusOr<Facts> InferPool(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, PooledShape(n));
  return Facts{n.Like(0, std::move(y))};
}

absl::StatusOr<Facts> InferMaxPool(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape y, PooledShape(n));
  return Facts{n.Like(0, y), Fact::Tensor(DType::kInt64, y)};
}

// The power p has the type of its version.
void CheckPower(const NodeView& n) {
  if (n.version() == 1) {
    n.Float("p", 2);
  } else {
    n.Int("p", 2);
  }
}

absl::StatusOr<Facts> InferLpPool(const NodeView& n) {
  CheckPower(n);
  return InferPool(n);
}

// Per output dY * Y^(1 - p), per element of a window that times x |x|^(p - 2), and a sum.
constexpr Gradient kNormPoolGradient = {
    .formula = "dx += dY * Y^(1 - p) * x |x|^(p - 2) for each x of its window",
    .costs =
        "add = forward.add; mul = (attr.p.is_2 + power)*forward.add + power*Y.elements; div = "
        "attr.p.is_2*Y.elements; pow = power*(forward.add + Y.elements)"};

// ---- one window over the whole image: X[N,C,i1,i2..] -> Y[N,C,1,1..]

absl::StatusOr<Facts> InferGlobalPool(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape y, n.ShapeOfRankAtLeast(0, 2));
  for (int i = 2; i < y.rank(); ++i) y[i] = 1;
  return Facts{n.Like(0, std::move(y))};
}

absl::StatusOr<Facts> InferGlobalLpPool(const NodeView& n) {
  CheckPower(n);
  return InferGlobalPool(n);
}

// ---- MaxUnpool
//
// Puts X[N,C,i1,i2..] back to the places I from which MaxPool took it, zeros elsewhere.

absl::StatusOr<Facts> InferMaxUnpool(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape x, n.ShapeOfRankAtLeast(0, 3));
  ASSIGN_OR_RETURN(const Windows windows, PoolWindows(n, x));
  Shape output{x[0], x[1]};
  if (!n.HasInput(2)) {
    for (int i = 2; i < x.rank(); ++i) {
      const WindowAxis& axis = windows.axes[static_cast<size_t>(i - 2)];
      output.push_back(axis.stride * (x[i] - 1) + axis.kernel - axis.pad_begin - axis.pad_end);
    }
    return Facts{n.Like(0, std::move(output))};
  }
  const std::optional<Dims> sizes = n.KnownInts(2);
  if (sizes.has_value() && sizes->size() != static_cast<size_t>(x.rank())) {
    return absl::InvalidArgumentError(
        absl::StrCat("output_shape has ", sizes->size(), " elements, X has rank ", x.rank()));
  }
  if (sizes.has_value()) return Facts{n.Like(0, Shape(*sizes))};
  for (int i = 2; i < x.rank(); ++i) output.push_back(n.FreshDim(0, i, "maxunpool"));
  return Facts{n.Like(0, std::move(output))};
}

constexpr OpDef kPoolRows[] = {
    {.name = "AveragePool",
     .versions = {1, 7, 10, 11, 19, 22},
     .formula = "Y[N,C,o1,o2..] = mean over windows k1*k2..",
     .data = {.signature = "X -> Y",
              .attributes = "kernel_shape = ints",
              .costs = "add = Y.elements*attr.kernel_shape[:]; div = Y.elements"},
     .infer = InferPool,
     .examples =
         {{"float[N,16,14,14] X -> float[N,16,7,7] Y <kernel_shape=[2,2], strides=[2,2]>",
           "add=3136*N div=784*N"},
          {"float[1,1,4,4] X -> float[1,1,2,2] Y <kernel_shape=[3,3], strides=[2,2], ceil_mode=1>",
           "add=36 div=4"}},
     .note = "Padding is counted: every output costs its whole window.",
     .gradient = {.formula = "dY / k added to each element of its window",
                  .as_forward = true,
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "MaxPool",
     .versions = {1, 8, 10, 11, 12, 22},
     .formula = "Y[N,C,o1,o2..] = maximum over windows k1*k2..",
     .data = {.signature = "X -> Y Indices?",
              .attributes = "kernel_shape = ints",
              .costs = "cmp = Y.elements*attr.kernel_shape[:]"},
     .infer = InferMaxPool,
     .examples = {{"float[N,64,112,112] X -> float[N,64,56,56] Y <kernel_shape=[3,3], "
                   "strides=[2,2], pads=[1,1,1,1]>",
                   "cmp=1806336*N"},
                  {"float[N,1,7] X -> float[N,1,3] Y, int64[N,1,3] I <kernel_shape=[2], "
                   "strides=[2], dilations=[2]>",
                   "cmp=6*N"},
                  // A third window would start in the padding at the end: it does not count.
                  {"float[N,1,5] X -> float[N,1,2] Y <kernel_shape=[2], strides=[3], pads=[1,1], "
                   "ceil_mode=1>",
                   "cmp=4*N"},
                  {"uint8[N,1,5] X -> uint8[N,1,3] Y <kernel_shape=[3], strides=[2], "
                   "auto_pad=\"SAME_UPPER\">",
                   "int_cmp=9*N"}},
     .note = "Padding is counted: every output costs its whole window. Indices are free.",
     .gradient = {.formula = "dY added to the largest element of its window",
                  .first = {.add = 1},
                  .keeps = {.inputs = InputBits({0}), .places = true}}},
    {.name = "LpPool",
     .versions = {1, 2, 11, 18, 22},
     .formula = "Y[N,C,o1,o2..] = (sum over windows k1*k2.. of |x|^p)^(1/p)",
     .data = {.signature = "X -> Y",
              .attributes = "kernel_shape = ints; p = 2.",
              .let = "window = attr.kernel_shape[:]; power = (1 - attr.p.is_1)*(1 - attr.p.is_2)",
              .costs = "add = Y.elements*window; mul = attr.p.is_2*Y.elements*window; sqrt = "
                       "attr.p.is_2*Y.elements; pow = power*Y.elements*(window + 1)"},
     .infer = InferLpPool,
     .examples =
         {{"float[N,3,8,8] X -> float[N,3,4,4] Y <kernel_shape=[2,2], strides=[2,2]>",
           "add=192*N mul=192*N sqrt=48*N"},
          {"float[N,3,8,8] X -> float[N,3,4,4] Y <kernel_shape=[2,2], strides=[2,2], p=3>",
           "add=192*N pow=240*N"},
          {"float[N,3,8,8] X -> float[N,3,4,4] Y <kernel_shape=[2,2], strides=[2,2], p=1.0>",
           "add=192*N", 1}},
     .onnx = {.since = 2},
     .note = "Padding is counted: every output costs its whole window.",
     .gradient = kNormPoolGradient},
    {.name = "GlobalAveragePool",
     .versions = {1, 22},
     .formula = "Y[N,C,1,1..] = mean of X[N,C,..]",
     .data = {.signature = "X[N, C, i...] -> Y", .costs = "add = X.elements; div = N*C"},
     .infer = InferGlobalPool,
     .examples = {{"float[N,2048,7,7] X -> float[N,2048,1,1] Y", "add=100352*N div=2048*N"}},
     .gradient = {.formula = "dY / k to each element",
                  .first = {.div = 1},
                  .keeps = {.nothing = true}}},
    {.name = "GlobalMaxPool",
     .versions = {1, 22},
     .formula = "Y[N,C,1,1..] = maximum of X[N,C,..]",
     .infer = InferGlobalPool,
     .count = CountPerInputElement,
     .examples = {{"float[N,8,W] X -> float[N,8,1] Y", "cmp=8*N*W"}},
     .per_element = {.cmp = 1},
     .gradient = {.formula = "dY to the largest element",
                  .keeps = {.inputs = InputBits({0}), .outputs = InputBits({0})}}},
    {.name = "GlobalLpPool",
     .versions = {1, 2, 22},
     .formula = "Y[N,C,1,1..] = (sum of |X[N,C,..]|^p)^(1/p)",
     .data = {.signature = "X[N, C, i...] -> Y",
              .attributes = "p = 2.",
              .let = "power = (1 - attr.p.is_1)*(1 - attr.p.is_2)",
              .costs = "add = X.elements; mul = attr.p.is_2*X.elements; sqrt = attr.p.is_2*N*C; "
                       "pow = power*(X.elements + N*C)"},
     .infer = InferGlobalLpPool,
     .examples = {{"float[N,8,5] X -> float[N,8,1] Y", "add=40*N mul=40*N sqrt=8*N"},
                  {"float[N,8,5] X -> float[N,8,1] Y <p=3.0>", "add=40*N pow=48*N", 1}},
     .onnx = {.since = 2},
     .gradient = kNormPoolGradient},
    {.name = "MaxUnpool",
     .versions = {9, 11, 22},
     .formula = "Y = X[N,C,i1,i2..] at the places I, else 0",
     .infer = InferMaxUnpool,
     .examples = {{"float[N,1,2,2] X, int64[N,1,2,2] I -> float[N,1,4,4] Y <kernel_shape=[2,2], "
                   "strides=[2,2]>",
                   "free"},
                  {"g (float[1,1,2,2] X, int64[1,1,2,2] I) => (float[1,1,5,5] Y) <int64[4] s = {1, "
                   "1, 5, 5}> { Y = MaxUnpool<kernel_shape=[2,2], strides=[2,2]>(X, I, s) }",
                   "free"}},
     .shape_inputs = 1 << 2,
     .traits = Traits::kReadsContent,
     .onnx = {.finds = OnnxInference::Finds::kNothing}},
};

}  // namespace

constinit const OpFamily kPoolFamily = {"", kPoolRows};

}  // namespace onnxflops
