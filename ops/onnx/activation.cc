// Activation functions and Dropout.
//
// Cost per element: what the operator's function body in ONNX executes, with both branches of a
// Where computed. Constants (sqrt(2), 1/6) are made once and not counted.
#include <optional>
#include <utility>

#include "ops/evaluate.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "ops/versions.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// Gelu is 0.5 X (1 + erf(X / sqrt(2))), or with approximate="tanh"
// 0.5 X (1 + tanh(sqrt(2/pi) (X + 0.044715 X^3))). Its gradient, of the first: the cumulative
// normal distribution again (div, erf, add, mul), its density c e^(-X^2 / 2) (3 mul, exp), times X,
// their sum, times dY. Of the other form, with u = a (X + b X^3):
// 0.5 (1 + tanh u) + 0.5 X (1 - tanh^2 u) a (1 + 3 b X^2), times dY.
absl::StatusOr<Census> GeluGradient(const NodeView& n, const GradientQuery&) {
  ASSIGN_OR_RETURN(const Shape shape, n.OutputShape(0));
  const bool tanh = n.String("approximate", "none") == "tanh";
  const ElementCost per_element =
      tanh ? ElementCost{.add = 5, .mul = 11, .pow = 1, .tanh = 1}
           : ElementCost{.add = 2, .mul = 6, .div = 1, .exp = 1, .erf = 1};
  return per_element * shape.NumElements();
}

// s and 1 - s again, X (1 - s), 1 + it, times s, times dY; alpha twice.
absl::StatusOr<Census> SwishGradient(const NodeView& n, const GradientQuery&) {
  ASSIGN_OR_RETURN(const Shape shape, n.OutputShape(0));
  ElementCost per_element = {.add = 3, .mul = 3, .div = 1, .exp = 1};
  if (n.Float("alpha", 1) != 1) per_element.mul += 2;
  return per_element * shape.NumElements();
}

// s and s' once; dA = dY B (s + alpha A s (1 - s)), dB = dY A s.
absl::StatusOr<Census> SwiGluGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const Shape shape, n.OutputShape(0));
  ElementCost per_element = {.add = 1, .div = 1, .exp = 1};
  if (n.Float("alpha", 1) != 1) per_element.mul += 1;
  if (query.Needs(0)) {
    per_element.add += 2;
    per_element.mul += n.Float("alpha", 1) != 1 ? 5 : 4;
  }
  if (query.Needs(1)) per_element.mul += 2;
  return per_element * shape.NumElements();
}

absl::StatusOr<Facts> InferSwiGlu(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape a, n.RankedShape(0));
  ASSIGN_OR_RETURN(Shape b, n.RankedShape(1, a.rank()));
  for (int i = 0; i < a.rank(); ++i) {
    RETURN_IF_ERROR(n.RequireSame("a dimension of A and B", a[i], b[i]));
    if (b[i].is_literal()) a[i] = b[i];
  }
  return Facts{n.Like(0, std::move(a))};
}

// PRelu: the slope broadcasts to X; before opset 7 it is one value, or one per channel.
absl::StatusOr<Facts> InferPRelu(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(Shape slope, n.RankedShape(1));
  if (n.version() >= 7) {
    ASSIGN_OR_RETURN(Shape both, BroadcastShapes({x, slope}));
    RETURN_IF_ERROR(n.RequireSame("rank of X and of the result", x.rank(), both.rank()));
  }
  return Facts{n.Like(0, std::move(x))};
}

absl::StatusOr<Facts> InferHardmax(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  if (n.version() >= 11) {
    RETURN_IF_ERROR(n.AxisAttr("axis", n.version() >= 13 ? -1 : 1, x.rank()).status());
  }
  return Facts{n.Like(0, std::move(x))};
}

// Whether a Dropout drops. nullopt when that is decided at run time.
std::optional<bool> DropoutTrains(const NodeView& n) {
  if (n.version() < 7) return !n.Flag("is_test") && n.Float("ratio", 0.5) != 0;
  if (n.version() < 12 || !n.HasInput(2)) return false;
  std::optional<Expr> mode = n.KnownInt(2);
  if (!mode.has_value()) return std::nullopt;
  return *mode != Expr(0) && n.KnownFloat(1).value_or(0.5) != 0;
}

absl::StatusOr<Facts> InferDropout(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape shape, n.RankedShape(0));
  const bool moved = DropoutTrains(n) == std::optional<bool>(false);
  const Fact mask = Fact::Tensor(n.version() < 10 ? n.dtype(0) : DType::kBool, shape);
  return Facts{moved ? n.input(0) : n.Like(0, std::move(shape)), mask};
}

// At inference nothing is computed, and data is handed on.
absl::Status DropoutBytes(const NodeView& n, Cost* cost) {
  if (DropoutTrains(n).value_or(true) || n.HasOutput(1)) return absl::OkStatus();
  cost->bytes_read = cost->bytes_written = Expr(0);
  return absl::OkStatus();
}

// Of a Dropout that drops: as many products as forward.
absl::StatusOr<Census> DropoutGradient(const NodeView&, const GradientQuery& query) {
  Census work;
  work[Kind::kMul] = query.forward[Kind::kMul];
  return work;
}

// ---- versions

constexpr int kCeluVersions[] = {12, 28};
constexpr int kDropoutVersions[] = {1, 6, 7, 10, 12, 13, 22};
constexpr int kGeluVersions[] = {20};
constexpr int kHardSwishVersions[] = {14, 22};
constexpr int kHardmaxVersions[] = {1, 11, 13};
constexpr int kLeakyReluVersions[] = {1, 6, 16};
constexpr int kMishVersions[] = {18, 22};
constexpr int kPReluVersions[] = {1, 6, 7, 9, 16};
constexpr int kReluVersions[] = {1, 6, 13, 14};
constexpr int kShrinkVersions[] = {9};
constexpr int kSigmoidVersions[] = {1, 6, 13};
constexpr int kSwiGluVersions[] = {28};
constexpr int kSwishVersions[] = {24};
constexpr int kThresholdedReluVersions[] = {10, 22};

// ---- examples

constexpr OpExample kCeluExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Celu(X) }",
     "add=4*N mul=8*N div=4*N cmp=4*N exp=4*N"},
};

constexpr OpExample kDropoutExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y, bool[N,4] mask) { Y, mask = Dropout(X) }", "free"},
    {"g (float[N,4] X) => (float[N,4] Y) { train = Constant<value = bool {1}>() Y = Dropout(X, , "
     "train) }",
     "mul=8*N cmp=4*N"},
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Dropout<is_test = 0>(X) }", "mul=8*N cmp=4*N", 6},
};

constexpr OpExample kEluExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Elu(X) }", "add=4*N mul=4*N cmp=4*N exp=4*N"},
};

constexpr OpExample kGeluExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Gelu(X) }", "add=4*N mul=8*N div=4*N erf=4*N"},
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Gelu<approximate = \"tanh\">(X) }",
     "add=8*N mul=16*N pow=4*N tanh=4*N"},
};

constexpr OpExample kHardSigmoidExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = HardSigmoid(X) }", "add=4*N mul=4*N cmp=8*N"},
};

constexpr OpExample kHardSwishExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = HardSwish(X) }", "add=4*N mul=8*N cmp=8*N"},
};

constexpr OpExample kHardmaxExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Hardmax(X) }", "cmp=4*N"},
};

constexpr OpExample kLeakyReluExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = LeakyRelu(X) }", "mul=4*N cmp=4*N"},
};

constexpr OpExample kMishExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Mish(X) }",
     "add=4*N mul=4*N exp=4*N log=4*N tanh=4*N"},
};

constexpr OpExample kPReluExamples[] = {
    {"g (float[N,4,5] X, float[4,1] slope) => (float[N,4,5] Y) { Y = PRelu(X, slope) }",
     "mul=20*N cmp=20*N"},
    {"g (float[N,4,5] X, float[4] slope) => (float[N,4,5] Y) { Y = PRelu(X, slope) }",
     "mul=20*N cmp=20*N", 6},
};

constexpr OpExample kReluExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Relu(X) }", "cmp=4*N"},
    {"g (int32[N] X) => (int32[N] Y) { Y = Relu(X) }", "int_cmp=N"},
};

constexpr OpExample kSeluExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Selu(X) }", "add=4*N mul=12*N cmp=4*N exp=4*N"},
};

constexpr OpExample kShrinkExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Shrink(X) }", "add=8*N cmp=8*N"},
};

constexpr OpExample kSigmoidExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Sigmoid(X) }", "add=4*N div=4*N exp=4*N"},
};

constexpr OpExample kSoftplusExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Softplus(X) }", "add=4*N exp=4*N log=4*N"},
};

constexpr OpExample kSoftsignExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Softsign(X) }", "add=4*N div=4*N"},
};

constexpr OpExample kSwiGLUExamples[] = {
    {"g (float[N,4] A, float[N,4] B) => (float[N,4] Y) { Y = SwiGLU(A, B) }",
     "add=4*N mul=8*N div=4*N exp=4*N"},
    {"g (float[N,4] A, float[N,4] B) => (float[N,4] Y) { Y = SwiGLU<alpha = 1.5>(A, B) }",
     "add=4*N mul=12*N div=4*N exp=4*N"},
};

constexpr OpExample kSwishExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Swish(X) }", "add=4*N mul=4*N div=4*N exp=4*N"},
    {"g (float[N,4] X) => (float[N,4] Y) { Y = Swish<alpha = 1.702>(X) }",
     "add=4*N mul=8*N div=4*N exp=4*N"},
};

constexpr OpExample kThresholdedReluExamples[] = {
    {"g (float[N,4] X) => (float[N,4] Y) { Y = ThresholdedRelu(X) }", "cmp=4*N"},
};

// ---- the table

// ---- where the function bodies cost more
constexpr OpException kGeluExceptions[] = {
    {"always", "sqrt", "the function body takes the square root of a constant"},
};
constexpr OpException kSwishExceptions[] = {
    {"alpha = 1", "mul",
     "the function body multiplies by it all the same; here SiLU costs what Sigmoid and Mul do"},
};

constexpr OpDef kActivationRows[] = {
    {.name = "Celu",
     .versions = kCeluVersions,
     .formula = "Y = alpha * elu(X / alpha)",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = kCeluExamples,
     .per_element = {.add = 1, .mul = 2, .div = 1, .cmp = 1, .exp = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY where X > 0, else dY * e^(X / alpha)",
                  .first = {.mul = 1, .div = 1, .cmp = 1, .exp = 1},
                  .keeps = {.inputs = InputBits({0}), .in_place = true}}},
    {.name = "Dropout",
     .versions = kDropoutVersions,
     .formula = "output = data at inference; in training output = scale * data * (random >= ratio)",
     .data = {.signature = "data ratio? training_mode? -> output mask?",
              .attributes = "is_test = 0; ratio = 0.5",
              .let = "trains = if(version < 7, (attr.is_test == 0)*(1 - attr.ratio.is_0), "
                     "if(version < 12, 0, if(training_mode.given, (training_mode.value != 0)*(1 - "
                     "ratio.is_0), 0)))",
              .costs = "mul = trains*2*data.elements; cmp = trains*data.elements"},
     .infer = InferDropout,
     .bytes = DropoutBytes,
     .examples = kDropoutExamples,
     .traits = Traits::kReadsContent,
     .onnx = {.since = 6},
     .note = "Drawing random numbers is not counted: ONNX does not say how it is done.",
     .gradient = {.formula = "dX = scale * dY * mask",
                  .rule = DropoutGradient,
                  .keeps = {.noise = true}}},
    {.name = "Elu",
     .versions = kSince1_6_22,
     .formula = "Y = X < 0 ? alpha * (e^X - 1) : X",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = kEluExamples,
     .per_element = {.add = 1, .mul = 1, .cmp = 1, .exp = 1},
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = dY where X > 0, else dY * (Y + alpha)",
                  .first = {.add = 1, .mul = 1, .cmp = 1},
                  .keeps = {.inputs = InputBits({0}), .in_place = true}}},
    {.name = "Gelu",
     .versions = kGeluVersions,
     .formula =
         "Y = 0.5 X (1 + erf(X / sqrt 2)); approximate = tanh: Y = 0.5 X (1 + tanh(a (X + b X^3)))",
     .data = {.signature = "X -> Y",
              .attributes = "approximate = none|tanh",
              .costs =
                  "div = Y.elements*attr.approximate.none; erf = Y.elements*attr.approximate.none; "
                  "add = Y.elements*if(attr.approximate.tanh, 2, 1); mul = "
                  "Y.elements*if(attr.approximate.tanh, 4, 2); pow = "
                  "Y.elements*attr.approximate.tanh; tanh = Y.elements*attr.approximate.tanh"},
     .infer = InferSameAsInput,
     .examples = kGeluExamples,
     .traits = Traits::kInPlace,
     .exceptions = kGeluExceptions,
     .gradient =
         {.formula = "dX = dY * (cdf(X) + X * pdf(X)); with approximate = tanh that of the formula",
          .rule = GeluGradient,
          .keeps = {.inputs = InputBits({0})}}},
    {.name = "HardSigmoid",
     .versions = kSince1_6_22,
     .formula = "Y = max(0, min(1, alpha * X + beta))",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = kHardSigmoidExamples,
     .per_element = {.add = 1, .mul = 1, .cmp = 2},
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = alpha * dY where 0 < Y < 1",
                  .first = {.mul = 1, .cmp = 2},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "HardSwish",
     .versions = kHardSwishVersions,
     .formula = "Y = X * max(0, min(1, X / 6 + 0.5))",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = kHardSwishExamples,
     .per_element = {.add = 1, .mul = 2, .cmp = 2},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY * (X / 3 + 0.5) where -3 < X < 3, dY above",
                  .first = {.add = 1, .mul = 2, .cmp = 2},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "Hardmax",
     .versions = kHardmaxVersions,
     .formula = "Y = 1 at the first maximum along an axis, else 0",
     .infer = InferHardmax,
     .count = CountPerOutputElement,
     .examples = kHardmaxExamples,
     .per_element = {.cmp = 1},
     .gradient = {.formula = "dX = 0"}},
    {.name = "LeakyRelu",
     .versions = kLeakyReluVersions,
     .formula = "Y = X < 0 ? alpha * X : X",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = kLeakyReluExamples,
     .per_element = {.mul = 1, .cmp = 1},
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = dY where X >= 0, else alpha * dY",
                  .first = {.mul = 1, .cmp = 1},
                  .keeps = {.inputs = InputBits({0}), .in_place = true}}},
    {.name = "Mish",
     .versions = kMishVersions,
     .formula = "Y = X * tanh(ln(1 + e^X))",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = kMishExamples,
     .per_element = {.add = 1, .mul = 1, .exp = 1, .log = 1, .tanh = 1},
     .traits = Traits::kInPlace,
     .gradient =
         {.formula =
              "t = tanh(ln(1 + e^X)), s = e^X / (1 + e^X): dX = dY * (t + X * s * (1 - t^2))",
          .first = {.add = 3, .mul = 4, .div = 1, .exp = 1, .log = 1, .tanh = 1},
          .keeps = {.inputs = InputBits({0})}}},
    {.name = "PRelu",
     .versions = kPReluVersions,
     .formula = "Y = X < 0 ? slope * X : X, the slope broadcast",
     .infer = InferPRelu,
     .count = CountPerOutputElement,
     .examples = kPReluExamples,
     .per_element = {.mul = 1, .cmp = 1},
     .operands = {.weights = InputBits({1})},
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula =
                      "dX = dY where X >= 0, else slope * dY; dslope = sum of X * dY where X < 0",
                  .broadcast = true,
                  .first = {.mul = 1, .cmp = 1},
                  .others = {.mul = 1, .cmp = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "Relu",
     .versions = kReluVersions,
     .formula = "Y = max(X, 0)",
     .infer = InferUnary,
     .count = CountPerOutputElement,
     .examples = kReluExamples,
     .per_element = {.cmp = 1},
     .evaluate = EvaluateRelu,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = dY where Y > 0",
                  .first = {.cmp = 1},
                  .keeps = {.outputs = InputBits({0})}}},
    {.name = "Selu",
     .versions = kSince1_6_22,
     .formula = "Y = gamma * (X < 0 ? alpha * e^X - alpha : X)",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = kSeluExamples,
     .per_element = {.add = 1, .mul = 3, .cmp = 1, .exp = 1},
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = gamma * dY where X > 0, else dY * (Y + gamma * alpha)",
                  .first = {.add = 1, .mul = 1, .cmp = 1},
                  .keeps = {.inputs = InputBits({0}), .in_place = true}}},
    {.name = "Shrink",
     .versions = kShrinkVersions,
     .formula = "Y = X < -lambd ? X + bias : X > lambd ? X - bias : 0",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = kShrinkExamples,
     .per_element = {.add = 2, .cmp = 2},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY where |X| > lambd",
                  .first = {.cmp = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "Sigmoid",
     .versions = kSigmoidVersions,
     .formula = "Y = 1 / (1 + e^-X)",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = kSigmoidExamples,
     .per_element = {.add = 1, .div = 1, .exp = 1},
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dX = dY * Y * (1 - Y)",
                  .first = {.add = 1, .mul = 2},
                  .keeps = {.outputs = InputBits({0})}}},
    {.name = "Softplus",
     .versions = kSince1_22,
     .formula = "Y = ln(1 + e^X)",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = kSoftplusExamples,
     .per_element = {.add = 1, .exp = 1, .log = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY / (1 + e^-X)",
                  .first = {.add = 1, .div = 1, .exp = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "Softsign",
     .versions = kSince1_22,
     .formula = "Y = X / (1 + |X|)",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = kSoftsignExamples,
     .per_element = {.add = 1, .div = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY / (1 + |X|)^2",
                  .first = {.add = 1, .mul = 1, .div = 1},
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "SwiGLU",
     .versions = kSwiGluVersions,
     .formula = "Y = A * sigmoid(alpha * A) * B",
     .data = {.signature = "A B -> Y",
              .attributes = "alpha = 1.0",
              .costs = "exp = Y.elements; add = Y.elements; div = Y.elements; mul = "
                       "Y.elements*if(attr.alpha.is_1, 2, 3)"},
     .infer = InferSwiGlu,
     .examples = kSwiGLUExamples,
     .traits = Traits::kInPlace,
     .note = "With alpha = 1 the function body still multiplies by it; here SiLU costs what "
             "Sigmoid and Mul do.",
     .gradient =
         {.formula = "s = sigmoid(alpha A): dA = dY * B * s * (1 + alpha A (1 - s)), dB = dY * A * "
                     "s",
          .rule = SwiGluGradient}},
    {.name = "Swish",
     .versions = kSwishVersions,
     .formula = "Y = X * sigmoid(alpha * X)",
     .data = {.signature = "X -> Y",
              .attributes = "alpha = 1.0",
              .costs = "exp = Y.elements; add = Y.elements; div = Y.elements; mul = "
                       "Y.elements*if(attr.alpha.is_1, 1, 2)"},
     .infer = InferSameAsInput,
     .examples = kSwishExamples,
     .traits = Traits::kInPlace,
     .exceptions = kSwishExceptions,
     .gradient = {.formula = "s = sigmoid(alpha X): dX = dY * s * (1 + alpha X (1 - s))",
                  .rule = SwishGradient,
                  .keeps = {.inputs = InputBits({0})}}},
    {.name = "ThresholdedRelu",
     .versions = kThresholdedReluVersions,
     .formula = "Y = X > alpha ? X : 0",
     .infer = InferSameAsInput,
     .count = CountPerOutputElement,
     .examples = kThresholdedReluExamples,
     .per_element = {.cmp = 1},
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dX = dY where X > alpha",
                  .first = {.cmp = 1},
                  .keeps = {.inputs = InputBits({0})}}},
};

}  // namespace

constexpr OpFamily kActivationFamily = {.domain = "", .rows = kActivationRows};

}  // namespace onnxflops
