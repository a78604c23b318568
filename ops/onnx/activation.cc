// Activation functions and Dropout.
//
// How it works. Cost per element: what the operator's function body in ONNX executes, with both
// branches of a Where computed. Constants (sqrt(2), 1/6) are made once and not counted. Rows are
// formulas; the code has shapes. Dropout is free at inference and then hands its input on, so it
// moves no bytes either. Whether it drops was an attribute in old versions and is an input now; if
// that is not known, it counts as training.
#include <optional>
#include <utility>

#include "ops/element_rows.h"
#include "ops/evaluate.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

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

// Whether a Dropout drops; nullopt if that is decided at run time.
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

// ---- examples

constexpr std::initializer_list<OpExample> kReluExamples = {
    {"g (int32[N] X) => (int32[N] Y) { Y = Relu(X) }", "int_cmp=N"},
};

// ---- the table

constexpr OpDef kActivationRows[] = {
    Unary("Celu", {12, 28}, "Y = alpha * elu(X / alpha)",
          {.add = 1, .mul = 2, .div = 1, .cmp = 1, .exp = 1},
          KeepsXInPlace("dX = dY where X > 0, else dY * e^(X / alpha)",
                        {.mul = 1, .div = 1, .cmp = 1, .exp = 1})),
    {.name = "Dropout",
     .versions = {1, 6, 7, 10, 12, 13, 22},
     .formula = "output = data at inference; in training output = scale * data * (random >= ratio)",
     .data = {.signature = "data ratio? training_mode? -> output mask?",
              .attributes = "is_test = 0; ratio = 0.5",
              .let = "trains = if(version < 7, (attr.is_test == 0)*(1 - attr.ratio.is_0), "
                     "if(version < 12, 0, if(training_mode.given, (training_mode.value != 0)*(1 - "
                     "ratio.is_0), 0)))",
              .costs = "mul = trains*2*data.elements; cmp = trains*data.elements"},
     .infer = InferDropout,
     .bytes = DropoutBytes,
     .examples = {{"float[N,4] X -> float[N,4] Y, bool[N,4] mask", "free"},
                  {"g (float[N,4] X) => (float[N,4] Y) { train = Constant<value = bool {1}>() Y = "
                   "Dropout(X, , train) }",
                   "mul=8*N cmp=4*N"},
                  {"float[N,4] X -> float[N,4] Y <is_test = 0>", "mul=8*N cmp=4*N", 6}},
     .traits = Traits::kReadsContent,
     .onnx = {.since = 6},
     .note = "Drawing random numbers is not counted: ONNX does not say how it is done.",
     .gradient = {.formula = "dX = scale * dY * mask",
                  .costs = "mul = forward.mul",
                  .keeps = {.noise = true}}},
    Unary("Elu", {1, 6, 22}, "Y = X < 0 ? alpha * (e^X - 1) : X",
          {.add = 1, .mul = 1, .cmp = 1, .exp = 1},
          KeepsXInPlace("dX = dY where X > 0, else dY * (Y + alpha)",
                        {.add = 1, .mul = 1, .cmp = 1})),
    {.name = "Gelu",
     .versions = {20},
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
     .examples = {{"float[N,4] X -> float[N,4] Y", "add=4*N mul=8*N div=4*N erf=4*N"},
                  {"float[N,4] X -> float[N,4] Y <approximate = \"tanh\">",
                   "add=8*N mul=16*N pow=4*N tanh=4*N"}},
     .traits = Traits::kInPlace,
     .exceptions = {{"always", "sqrt", "the function body takes the square root of a constant"}},
     // The cumulative normal distribution again (div, erf, add, mul), its density c e^(-X^2 / 2)
     // (3 mul, exp), times X, their sum, times dY. Of the other form, with u = a (X + b X^3):
     // 0.5 (1 + tanh u) + 0.5 X (1 - tanh^2 u) a (1 + 3 b X^2), times dY.
     .gradient =
         {.formula = "dX = dY * (cdf(X) + X * pdf(X)); with approximate = tanh that of the formula",
          .let = "none = attr.approximate.none*Y.elements; tanh = attr.approximate.tanh*Y.elements",
          .costs = "add = 2*none + 5*tanh; mul = 6*none + 11*tanh; div = none; exp = none; erf = "
                   "none; pow = tanh; tanh = tanh",
          .keeps = {.inputs = InputBits({0})}}},
    Unary("HardSigmoid", {1, 6, 22}, "Y = max(0, min(1, alpha * X + beta))",
          {.add = 1, .mul = 1, .cmp = 2},
          KeepsX("dX = alpha * dY where 0 < Y < 1", {.mul = 1, .cmp = 2})),
    Unary("HardSwish", {14, 22}, "Y = X * max(0, min(1, X / 6 + 0.5))",
          {.add = 1, .mul = 2, .cmp = 2},
          KeepsX("dX = dY * (X / 3 + 0.5) where -3 < X < 3, dY above",
                 {.add = 1, .mul = 2, .cmp = 2})),
    {.name = "Hardmax",
     .versions = {1, 11, 13},
     .formula = "Y = 1 at the first maximum along an axis, else 0",
     .infer = InferHardmax,
     .count = CountPerOutputElement,
     .examples = {{"float[N,4] X -> float[N,4] Y", "cmp=4*N"}},
     .per_element = {.cmp = 1},
     .gradient = {.formula = "dX = 0"}},
    Unary("LeakyRelu", {1, 6, 16}, "Y = X < 0 ? alpha * X : X", {.mul = 1, .cmp = 1},
          KeepsXInPlace("dX = dY where X >= 0, else alpha * dY", {.mul = 1, .cmp = 1})),
    Unary("Mish", {18, 22}, "Y = X * tanh(ln(1 + e^X))",
          {.add = 1, .mul = 1, .exp = 1, .log = 1, .tanh = 1},
          KeepsX("t = tanh(ln(1 + e^X)), s = e^X / (1 + e^X): dX = dY * (t + X * s * (1 - t^2))",
                 {.add = 3, .mul = 4, .div = 1, .exp = 1, .log = 1, .tanh = 1})),
    {.name = "PRelu",
     .versions = {1, 6, 7, 9, 16},
     .formula = "Y = X < 0 ? slope * X : X, the slope broadcast",
     .infer = InferPRelu,
     .count = CountPerOutputElement,
     .examples = {{"float[N,4,5] X, float[4,1] slope -> float[N,4,5] Y", "mul=20*N cmp=20*N"},
                  {"float[N,4,5] X, float[4] slope -> float[N,4,5] Y", "mul=20*N cmp=20*N", 6}},
     .per_element = {.mul = 1, .cmp = 1},
     .operands = {.weights = InputBits({1})},
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula =
                      "dX = dY where X >= 0, else slope * dY; dslope = sum of X * dY where X < 0",
                  .broadcast = true,
                  .first = {.mul = 1, .cmp = 1},
                  .others = {.mul = 1, .cmp = 1},
                  .keeps = {.inputs = InputBits({0, 1})}}},
    Unary("Relu", {1, 6, 13, 14}, "Y = max(X, 0)", {.cmp = 1},
          KeepsY("dX = dY where Y > 0", {.cmp = 1}),
          {.examples = kReluExamples, .evaluate = EvaluateRelu}),
    Unary("Selu", {1, 6, 22}, "Y = gamma * (X < 0 ? alpha * e^X - alpha : X)",
          {.add = 1, .mul = 3, .cmp = 1, .exp = 1},
          KeepsXInPlace("dX = gamma * dY where X > 0, else dY * (Y + gamma * alpha)",
                        {.add = 1, .mul = 1, .cmp = 1})),
    Unary("Shrink", {9}, "Y = X < -lambd ? X + bias : X > lambd ? X - bias : 0",
          {.add = 2, .cmp = 2}, KeepsX("dX = dY where |X| > lambd", {.cmp = 1})),
    Unary("Sigmoid", {1, 6, 13}, "Y = 1 / (1 + e^-X)", {.add = 1, .div = 1, .exp = 1},
          KeepsY("dX = dY * Y * (1 - Y)", {.add = 1, .mul = 2})),
    Unary("Softplus", {1, 22}, "Y = ln(1 + e^X)", {.add = 1, .exp = 1, .log = 1},
          KeepsX("dX = dY / (1 + e^-X)", {.add = 1, .div = 1, .exp = 1})),
    Unary("Softsign", {1, 22}, "Y = X / (1 + |X|)", {.add = 1, .div = 1},
          KeepsX("dX = dY / (1 + |X|)^2", {.add = 1, .mul = 1, .div = 1})),
    {.name = "SwiGLU",
     .versions = {28},
     .formula = "Y = A * sigmoid(alpha * A) * B",
     .data = {.signature = "A B -> Y",
              .attributes = "alpha = 1.0",
              .costs = "exp = Y.elements; add = Y.elements; div = Y.elements; mul = "
                       "Y.elements*if(attr.alpha.is_1, 2, 3)"},
     .infer = InferSwiGlu,
     .examples = {{"float[N,4] A, float[N,4] B -> float[N,4] Y", "add=4*N mul=8*N div=4*N exp=4*N"},
                  {"float[N,4] A, float[N,4] B -> float[N,4] Y <alpha = 1.5>",
                   "add=4*N mul=12*N div=4*N exp=4*N"}},
     .traits = Traits::kInPlace,
     .note = "With alpha = 1 the function body still multiplies by it; here SiLU costs what "
             "Sigmoid and Mul do.",
     .gradient =
         {.formula =
              "s = sigmoid(alpha A): dA = dY * B * s * (1 + alpha A (1 - s)), dB = dY * A * s",
          // s and s' once.
          .costs = "mul = (2*B.needed + if(attr.alpha.is_1, 0, 1 + A.needed))*Y.elements",
          .first = {.add = 2, .mul = 4},
          .shared = {.add = 1, .div = 1, .exp = 1}}},
    {.name = "Swish",
     .versions = {24},
     .formula = "Y = X * sigmoid(alpha * X)",
     .data = {.signature = "X -> Y",
              .attributes = "alpha = 1.0",
              .costs = "exp = Y.elements; add = Y.elements; div = Y.elements; mul = "
                       "Y.elements*if(attr.alpha.is_1, 1, 2)"},
     .infer = InferSameAsInput,
     .examples = {{"float[N,4] X -> float[N,4] Y", "add=4*N mul=4*N div=4*N exp=4*N"},
                  {"float[N,4] X -> float[N,4] Y <alpha = 1.702>",
                   "add=4*N mul=8*N div=4*N exp=4*N"}},
     .traits = Traits::kInPlace,
     .exceptions = {{"alpha = 1", "mul",
                     "the function body multiplies by it all the same; here SiLU costs what "
                     "Sigmoid and Mul do"}},
     .gradient = {.formula = "s = sigmoid(alpha X): dX = dY * s * (1 + alpha X (1 - s))",
                  // s and 1 - s again, X (1 - s), 1 + it, times s, times dY; alpha twice.
                  .costs = "mul = if(attr.alpha.is_1, 0, 2)*Y.elements",
                  .shared = kSiluGradient,
                  .keeps = {.inputs = InputBits({0})}}},
    Unary("ThresholdedRelu", {10, 22}, "Y = X > alpha ? X : 0", {.cmp = 1},
          KeepsX("dX = dY where X > alpha", {.cmp = 1})),
};

}  // namespace

constexpr OpFamily kActivationFamily = {.domain = "", .rows = kActivationRows};

}  // namespace onnxflops
