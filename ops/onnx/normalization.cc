// Normalizations: statistics of groups of elements, then one step per element.
//
// How it works. Costs are formulas of the rows, in two notations: E elements of X, and R groups
// ("rows") that share a mean. For LayerNormalization, GroupNormalization and InstanceNormalization
// the statistics are those of the function bodies in ONNX: mean = sum X / K, variance = sum X^2 / K
// - mean^2. The code checks shapes and has the costs and gradients that depend on attributes.
//
// Gradients are data where possible: operations per element for the first input that needs one, for
// the others, and what they share, plus divisions per root. Backward computes the normalized X
// again from the statistics that forward kept, as PyTorch does.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- parts

// A scale or bias must broadcast to X without making it larger.
absl::Status RequireFits(const NodeView& n, int input, const Shape& x) {
  ASSIGN_OR_RETURN(Shape parameter, n.RankedShape(input));
  ASSIGN_OR_RETURN(Shape both, BroadcastShapes({x, parameter}));
  return n.RequireSame("rank of X and of the result", x.rank(), both.rank());
}

// The shape of X [N, C, ...], its scale and bias checked to be [C] each.
absl::StatusOr<Shape> ChannelShape(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  for (int i : {1, 2}) {
    ASSIGN_OR_RETURN(Shape parameter, n.RankedShape(i, 1));
    RETURN_IF_ERROR(n.RequireSame("C", x[1], parameter[0]));
  }
  return x;
}

// ---- BatchNormalization: X [N, C, ...]; scale, B, mean, var [C]

absl::StatusOr<Facts> InferBatchNorm(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 1));
  const Expr channels = x.rank() > 1 ? x[1] : Expr(1);
  for (int i = 1; i <= 4; ++i) {
    ASSIGN_OR_RETURN(Shape parameter, n.RankedShape(i));
    // Before opset 9, spatial=0 has parameters of shape [C, ...].
    if (parameter.rank() == 1) RETURN_IF_ERROR(n.RequireSame("C", channels, parameter[0]));
  }
  // Running mean and variance; before opset 14 also the saved ones of the batch.
  return Facts{n.Like(0, std::move(x)), n.Like(3, n.input(3).shape), n.Like(4, n.input(4).shape),
               n.Like(3, n.input(3).shape), n.Like(4, n.input(4).shape)};
}

// ---- LayerNormalization, RMSNormalization: statistics over the dimensions from `axis` on

// X's dimensions before `axis`, then ones.
Shape RowShape(const Shape& x, int axis) {
  Shape rows = x;
  for (int i = axis; i < x.rank(); ++i) rows[i] = 1;
  return rows;
}

absl::StatusOr<Facts> InferLayerNorm(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(int axis, n.AxisAttr("axis", -1, x.rank()));
  RETURN_IF_ERROR(RequireFits(n, 1, x));
  if (n.HasInput(2)) RETURN_IF_ERROR(RequireFits(n, 2, x));
  ASSIGN_OR_RETURN(DType stash, DTypeAttr(n, "stash_type", DType::kFloat32));
  const Fact statistic = Fact::Tensor(stash, RowShape(x, axis));
  return Facts{n.Like(0, std::move(x)), statistic, statistic};
}

// Y has the type of the scale. SimplifiedLayerNormalization also gives 1 / RMS.
absl::StatusOr<Facts> InferRmsNorm(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(int axis, n.AxisAttr("axis", -1, x.rank()));
  RETURN_IF_ERROR(RequireFits(n, 1, x));
  ASSIGN_OR_RETURN(DType stash, DTypeAttr(n, "stash_type", DType::kFloat32));
  const Fact inverse = Fact::Tensor(stash, RowShape(x, axis));
  return Facts{n.Like(1, std::move(x)), inverse};
}

// ---- GroupNormalization, InstanceNormalization: statistics of groups of channels of one instance

absl::StatusOr<Facts> InferGroupNorm(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  const int64_t groups = n.Int("num_groups", 0);
  if (groups < 1) {
    return absl::InvalidArgumentError(absl::StrCat("num_groups = ", groups, " is not positive"));
  }
  if (x[1].is_literal() && x[1].literal() % groups != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("C = ", x[1].ToString(), " is not a multiple of num_groups = ", groups));
  }
  for (int i : {1, 2}) {  // one value per group in opset 18, per channel from 21 on
    ASSIGN_OR_RETURN(Shape parameter, n.RankedShape(i, 1));
    RETURN_IF_ERROR(n.RequireSame(n.version() < 21 ? "num_groups" : "C",
                                  n.version() < 21 ? Expr(groups) : x[1], parameter[0]));
  }
  return Facts{n.Like(0, std::move(x))};
}

absl::StatusOr<Facts> InferInstanceNorm(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, ChannelShape(n));
  return Facts{n.Like(0, std::move(x))};
}

// ---- LpNormalization, MeanVarianceNormalization, LRN

absl::StatusOr<Facts> InferLpNorm(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  RETURN_IF_ERROR(n.AxisAttr("axis", -1, x.rank()).status());
  const int64_t p = n.Int("p", 2);
  if (p != 1 && p != 2) {
    return absl::InvalidArgumentError(absl::StrCat("p = ", p, " is neither 1 nor 2"));
  }
  return Facts{n.Like(0, std::move(x))};
}

// R: the product of the sizes that are not reduced.
absl::StatusOr<Expr> MeanVarianceRows(const NodeView& n, const Shape& x) {
  absl::InlinedVector<int64_t, 4> axes = n.Ints("axes");
  if (!n.HasAttr("axes")) axes = {0, 2, 3};
  Shape rows = x;
  for (int64_t axis : axes) {
    ASSIGN_OR_RETURN(int normalized, n.Axis(axis, x.rank()));
    rows[normalized] = 1;
  }
  return rows.NumElements();
}

absl::StatusOr<Facts> InferMeanVarianceNorm(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  RETURN_IF_ERROR(MeanVarianceRows(n, x).status());
  return Facts{n.Like(0, std::move(x))};
}

absl::StatusOr<Cost> CountMeanVarianceNorm(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(Expr rows, MeanVarianceRows(n, x));
  // Per row: two means, the squared mean, its difference, the root, epsilon.
  Census work = ElementCost{.add = 2, .div = 2, .sqrt = 1, .pow = 1} * rows;
  // Per element: a square, two sums, the deviation and its quotient.
  work += ElementCost{.add = 3, .div = 1, .pow = 1} * x.NumElements();
  return CostIn(n.dtype(0), std::move(work));
}

// LRN: the sum of squares over the channels from c - floor((size-1)/2) to c + ceil((size-1)/2).
absl::StatusOr<Facts> InferLrn(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 2));
  const int64_t size = n.Int("size", 0);
  if (size < 1) {
    return absl::InvalidArgumentError(absl::StrCat("size = ", size, " is not positive"));
  }
  return Facts{n.Like(0, std::move(x))};
}

// ---- the table

constexpr FormulaData kRMSNormalizationFormulas = {
    .signature = "X scale -> Y InvRMS?",
    .attributes = "axis = -1",
    .let = "rows = X[:attr.axis]",
    .costs =
        "add = X.elements + rows; mul = 2*X.elements; div = X.elements + (1 + InvRMS.given)*rows; "
        "sqrt = rows"};

// x is computed again (add, mul); g = dY * scale and the two means (mul; add; mul, add), x times
// its mean (mul), two differences (2 add), times 1 / std (mul). BatchNormalization as in training,
// with the statistics of its batch.
constexpr char kNormGradient[] =
    "x = (X - mean) / std, g = dY * scale: dX = (g - mean(g) - x * mean(g * x)) / std; "
    "dscale = sum of dY * x; dbias = sum of dY";
// Inputs 1 and 2, where there are any, are the scale and the bias.
constexpr Gradient kScaledNormGradient = {.formula = kNormGradient,
                                          .sums = InputBits({2}),
                                          .first = {.add = 4, .mul = 4},
                                          .others = {.add = 1, .mul = 1},
                                          .shared = {.add = 1, .mul = 1},
                                          .per_root = {.div = 2},
                                          .keeps = {.inputs = InputBits({0}), .per_root = 2}};
constexpr Gradient InstanceNormGradient() {
  Gradient gradient = kScaledNormGradient;
  gradient.keeps.spread_scale = true;
  return gradient;
}
constexpr char kRmsNormGradient[] =
    "x = X / rms, g = dY * scale: dX = (g - x * mean(g * x)) / rms; dscale = sum of dY * x";

constexpr OpDef kNormalizationRows[] = {
    // Per element difference, quotient, scale, bias; per channel var + epsilon and its root. In
    // training, mean and variance of the batch are computed first (sum X / K, sum of
    // (X - mean)^2 / K), and the running ones are updated: two products and a sum each.
    {.name = "BatchNormalization",
     .versions = {1, 6, 7, 9, 14, 15},
     .formula = "Y = (X - mean[C]) / sqrt(var[C] + eps) * scale[C] + B[C]",
     .data =
         {.signature = "X scale B mean var -> Y running_mean? running_var? saved_mean? saved_var?",
          .attributes = "is_test = 0; training_mode = 0",
          .let =
              "C = var.elements; trains = if(version < 14, running_mean.given*(attr.is_test == 0), "
              "attr.training_mode != 0)",
          .costs = "add = 2*X.elements + C + trains*(3*X.elements + 2*C); mul = X.elements + "
                   "trains*(X.elements + 4*C); div = X.elements + trains*2*C; sqrt = C"},
     .infer = InferBatchNorm,
     .examples =
         {{"float[N,3,4,4] X, float[3] s, float[3] b, float[3] m, float[3] v -> float[N,3,4,4] Y",
           "add=96*N + 3 mul=48*N div=48*N sqrt=3"},
          {"float[N,3] X, float[3] s, float[3] b, float[3] m, float[3] v -> float[N,3] Y, float[3] "
           "rm, float[3] rv <training_mode = 1>",
           "add=15*N + 9 mul=6*N + 12 div=3*N + 6 sqrt=3"},
          {"float[N,3] X, float[3] s, float[3] b, float[3] m, float[3] v -> float[N,3] Y <is_test "
           "= 1>",
           "add=6*N + 3 mul=3*N div=3*N sqrt=3", 6}},
     .operands = {.weights = InputBits({1, 2}), .not_parameters = InputBits({3, 4})},
     .onnx = {.since = 6},
     .note = "As written, not folded into one product and one sum per element.",
     .gradient = kScaledNormGradient},
    {.name = "GroupNormalization",
     .versions = {18, 21},
     .formula = "Y = (X - mean) / sqrt(var + eps) * scale[C] + bias[C] by groups of channels",
     .data = {.signature = "X[N, C, i...] scale bias -> Y",
              .attributes = "num_groups = int",
              .let = "rows = N*attr.num_groups",
              .costs = "add = 4*X.elements + 2*rows; mul = 2*X.elements + rows; div = X.elements + "
                       "2*rows; sqrt = rows"},
     .infer = InferGroupNorm,
     .examples = {{"float[N,6,5] X, float[6] s, float[6] b -> float[N,6,5] Y <num_groups = 2>",
                   "add=124*N mul=62*N div=34*N sqrt=2*N"},
                  {"float[N,6,5] X, float[2] s, float[2] b -> float[N,6,5] Y <num_groups = 2>",
                   "add=124*N mul=62*N div=34*N sqrt=2*N", 18}},
     .operands = {.weights = InputBits({1, 2})},
     .onnx = {.finds = OnnxInference::Finds::kNothing},
     .gradient = kScaledNormGradient},
    {.name = "InstanceNormalization",
     .versions = {1, 6, 22},
     .formula =
         "output = (input - mean) / sqrt(var + eps) * scale[C] + B[C] by channels of an instance",
     .data = {.signature = "input[N, C, i...] scale B -> output",
              .let = "rows = N*C",
              .costs = "add = 4*input.elements + 2*rows; mul = 2*input.elements + rows; div = "
                       "input.elements + 2*rows; sqrt = rows"},
     .infer = InferInstanceNorm,
     .examples = {{"float[N,2,5] X, float[2] s, float[2] b -> float[N,2,5] Y",
                   "add=44*N mul=22*N div=14*N sqrt=2*N"}},
     .operands = {.weights = InputBits({1, 2})},
     .onnx = {.since = 6},
     .note = "Costs what GroupNormalization with one channel per group does.",
     .gradient = InstanceNormGradient()},
    {.name = "LRN",
     .versions = {1, 13},
     .formula = "Y = X / (bias + alpha / size * sum of X^2 over the window of channels)^beta",
     .data = {.signature = "X[N, C, i...] -> Y",
              .attributes = "size = int",
              .let = "left = max(C - 1 - (attr.size - 1)//2, 0); right = max(C - 1 - attr.size//2, "
                     "0); windows = C*C - (left*(left + 1) + right*(right + 1))//2",
              .costs = "add = X.elements + N*windows*i; mul = X.elements + N*windows*i; div = "
                       "X.elements; pow = X.elements"},
     .infer = InferLrn,
     .examples =
         {// Windows of 3 over 4 channels: 2 + 3 + 3 + 2 elements.
          {"float[N,4,5] X -> float[N,4,5] Y <size = 3>", "add=70*N mul=70*N div=20*N pow=20*N"},
          // Windows of 4 reach one channel back and two ahead: 3 + 4 + 3 + 2 elements.
          {"float[N,4,5] X -> float[N,4,5] Y <size = 4>", "add=80*N mul=80*N div=20*N pow=20*N"}},
     .note = "Windows are cut at the first and the last channel, as the specification has them.",
     .gradient =
         {.formula =
              "b = bias + alpha / size * sum of X^2: dX = dY * b^-beta - 2 alpha beta / size * "
              "X * sum over the windows of dY * Y / b",
          // b^-beta is kept as Y / X; times X and the constant 2 mul; the windows as forward.
          .costs = "add = forward.add",
          .per_input = {.mul = 4, .div = 1},
          .temporaries = {.outputs = 1}}},
    {.name = "LayerNormalization",
     .versions = {17},
     .formula = "Y = (X - mean) / sqrt(var + eps) * Scale + B by rows",
     .data = {.signature = "X Scale B? -> Y Mean? InvStdDev?",
              .attributes = "axis = -1",
              .let = "rows = X[:attr.axis]",
              .costs = "add = (3 + B.given)*X.elements + 2*rows; mul = 2*X.elements + rows; div = "
                       "X.elements + (2 + InvStdDev.given)*rows; sqrt = rows"},
     .infer = InferLayerNorm,
     .examples = {{"float[N,7,16] X, float[16] s, float[16] b -> float[N,7,16] Y",
                   "add=462*N mul=231*N div=126*N sqrt=7*N"},
                  {"float[N,7,16] X, float[7,16] s -> float[N,7,16] Y, float[N,1,1] M, "
                   "float[N,1,1] I <axis = 1>",
                   "add=338*N mul=225*N div=115*N sqrt=N"}},
     .operands = {.weights = InputBits({1, 2})},
     .traits = Traits::kInPlace,
     .note = "The function body computes InvStdDev even where it is no output; here it is counted "
             "only where it is one.",
     .gradient = kScaledNormGradient},
    {.name = "LpNormalization",
     .versions = {1, 22},
     .formula = "output = input / norm along an axis",
     .data = {.signature = "input -> output",
              .attributes = "axis = -1; p = 2",
              .let = "axis = if(attr.axis < 0, attr.axis + input.rank, attr.axis); rows = "
                     "input[:axis]*input[axis + 1:]",
              .costs = "add = input.elements; div = input.elements; mul = (attr.p == "
                       "2)*input.elements; sqrt = (attr.p == 2)*rows"},
     .infer = InferLpNorm,
     .examples = {{"float[N,5] X -> float[N,5] Y", "add=5*N mul=5*N div=5*N sqrt=N"},
                  {"float[N,5] X -> float[N,5] Y <p = 1>", "add=5*N div=5*N"}},
     .gradient =
         {.formula =
              "dX = (dY - Y * sum of dY * Y) / norm; for p = 1 sign(X) stands for the first Y",
          .costs = "mul = (attr.p == 2)*input.elements",
          .per_input = {.add = 2, .mul = 1, .div = 1}}},
    {.name = "MeanVarianceNormalization",
     .versions = {9, 13},
     .formula = "Y = (X - mean) / (sqrt(mean of X^2 - mean^2) + eps) over the axes; per element "
                "pow, 3 add, div; per row 2 add, 2 div, pow, sqrt",
     .infer = InferMeanVarianceNorm,
     .count = CountMeanVarianceNorm,
     .examples = {{"float[N,2,5,5] X -> float[N,2,5,5] Y",
                   "add=150*N + 4 div=50*N + 4 sqrt=2 pow=50*N + 2"}},
     .onnx = {.finds = OnnxInference::Finds::kNothing},
     .gradient = kScaledNormGradient},
    {.name = "RMSNormalization",
     .versions = {23},
     .formula = "Y = X / sqrt(mean of X^2 + eps) * scale by rows",
     .data = kRMSNormalizationFormulas,
     .infer = InferRmsNorm,
     .examples = {{"float[N,7,16] X, float[16] s -> float[N,7,16] Y",
                   "add=119*N mul=224*N div=119*N sqrt=7*N"}},
     .operands = {.weights = InputBits({1})},
     .gradient = {.formula = kRmsNormGradient,
                  .first = {.add = 2, .mul = 4},
                  .others = {.add = 1, .mul = 1},
                  .shared = {.mul = 1},
                  .per_root = {.div = 1},
                  .keeps = {.inputs = InputBits({0}), .per_root = 1, .composed = true}}},
    {.name = "SimplifiedLayerNormalization",
     .versions = {1},
     .formula = "Y = RMSNormalization(X)",
     .data = kRMSNormalizationFormulas,
     .infer = InferRmsNorm,
     .examples = {{"float[N,7,16] X, float[16] s -> float[N,7,16] Y",
                   "add=119*N mul=224*N div=119*N sqrt=7*N"},
                  {"float[N,7,16] X, float[16] s -> float[N,7,16] Y, float[N,7,1] I",
                   "add=119*N mul=224*N div=126*N sqrt=7*N"}},
     .operands = {.weights = InputBits({1})},
     .onnx = {.finds = OnnxInference::Finds::kNothing},
     .note = "Not in ONNX: ONNX Runtime and onnxscript write it into the domain ai.onnx.",
     .gradient = {.formula = kRmsNormGradient,
                  .first = {.add = 2, .mul = 4},
                  .others = {.add = 1, .mul = 1},
                  .shared = {.mul = 1},
                  .per_root = {.div = 1},
                  .keeps = {.inputs = InputBits({0}), .per_root = 1, .composed = true}}},
};

}  // namespace

constexpr OpFamily kNormalizationFamily = {.domain = "", .rows = kNormalizationRows};

}  // namespace onnxflops
