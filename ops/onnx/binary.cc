// Arithmetic, comparison and logic of several tensors, which broadcast.
//
// How it works. Cost per element of the output: one operation of the operator's kind, and k - 1 of
// k inputs. Subtraction is an add; Where selects: free. Rows are made by functions for each family
// (arithmetic, comparison, bitwise, logic), which fill in rule, cost and examples. Shapes broadcast
// by NumPy's rule, before opset 7 by the attributes broadcast and axis. Content is evaluated
// element by element, or on rules. Mod with fmod has another sign, so its content is evaluated a
// second time.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/element_rows.h"
#include "ops/evaluate.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- rules

absl::Status RequireTwoInputs(const NodeView& n) {
  if (n.num_inputs() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(n.num_inputs(), " inputs instead of 2"));
}

absl::StatusOr<Facts> InferBinary(const NodeView& n) {
  RETURN_IF_ERROR(RequireTwoInputs(n));
  return InferBroadcast(n);
}

absl::StatusOr<Facts> InferComparison(const NodeView& n) {
  RETURN_IF_ERROR(RequireTwoInputs(n));
  return InferBroadcastBool(n);
}

absl::StatusOr<Facts> InferWhere(const NodeView& n) {
  const Fact* inputs[] = {&n.input(0), &n.input(1), &n.input(2)};
  absl::InlinedVector<Shape, 3> shapes;
  for (int i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(Shape shape, n.RankedShape(i));
    shapes.push_back(std::move(shape));
  }
  ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(shapes));
  Fact result = Fact::Tensor(n.dtype(1), std::move(shape));
  EvaluateBroadcast(inputs, n.def().evaluate, &result);
  return Facts{std::move(result)};
}

absl::StatusOr<Facts> InferMod(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts facts, InferBinary(n));
  if (n.Flag("fmod") && (facts[0].has_content() || facts[0].has_rule())) {
    const Fact* inputs[] = {&n.input(0), &n.input(1)};
    facts[0].DropContent();
    EvaluateBroadcast(inputs, EvaluateTruncMod, &facts[0]);
  }
  return facts;
}

// ---- rows of two inputs

// The second of both is for versions before 7.
constexpr OpExample kBinaryExamples[] = {
    {"float[N,4] A, float[4] B -> float[N,4] C", "4*N"},
    {"float[N,3,5] A, float[3] B -> float[N,3,5] C <broadcast = 1, axis = 1>", "15*N", 6},
};
constexpr OpExample kComparisonExamples[] = {
    {"float[N,4] A, float[4] B -> bool[N,4] C", "4*N"},
    {"float[N,3,5] A, float[3] B -> bool[N,3,5] C <broadcast = 1, axis = 1>", "15*N", 6},
};
constexpr OpExample kBitwiseExamples[] = {
    {"int32[N,4] A, int32[4] B -> int32[N,4] C", "4*N"},
};
constexpr OpExample kLogicExamples[] = {
    {"bool[N,4] A, bool[4] B -> bool[N,4] C", "4*N"},
};

// The second example is only for operators with a version before 7.
constexpr absl::Span<const OpExample> ExamplesIn(const Versions& versions,
                                                 absl::Span<const OpExample> examples) {
  return versions.front() < 7 ? examples : examples.first(1);
}

// Y = f(A, B), which broadcast.
constexpr OpDef Binary(const char* name, const Versions& versions, const char* formula,
                       const ElementCost& work, const Gradient& gradient = {}, OpDef row = {}) {
  row.count = CountPerOutputElement;
  return ElementRow(name, versions, formula, work, gradient, InferBinary,
                    ExamplesIn(versions, kBinaryExamples), row);
}
// Its result is boolean.
constexpr OpDef Comparison(const char* name, const Versions& versions, const char* formula,
                           OpDef row = {}) {
  row.infer = InferComparison;
  if (row.patterns.empty()) row.patterns = ExamplesIn(versions, kComparisonExamples);
  return Binary(name, versions, formula, {.cmp = 1}, {}, row);
}
// Operators on the bits of integers.
constexpr OpDef Bitwise(const char* name, const Versions& versions, const char* formula) {
  return Binary(name, versions, formula, {.cmp = 1}, {},
                {.patterns = kBitwiseExamples, .note = kIntegerWork});
}
// Operators on booleans.
constexpr OpDef Logic(const char* name, const Versions& versions, const char* formula,
                      OpDef row = {}) {
  row.patterns = kLogicExamples;
  row.note = kIntegerWork;
  return Comparison(name, versions, formula, row);
}

constexpr std::initializer_list<OpExample> kAddExamples = {
    {"g (int64[N] A, int64[N] B) => (int64[N] C) { C = Add(A, B) }", "int_add=N"},
};
constexpr std::initializer_list<OpExample> kAndExamples = {
    {"g (bool[N,3,5] A, bool[3] B) => (bool[N,3,5] C) { C = And<broadcast = 1, axis = 1>(A, B) }",
     "int_cmp=15*N", 6},
};
constexpr std::initializer_list<OpExample> kEqualExamples = {
    {"g (int64[N] A, int64[1] B) => (bool[N] C) { C = Equal(A, B) }", "int_cmp=N"},
};

// ---- where the function bodies cost more

constexpr std::initializer_list<OpException> kGreaterOrEqualExceptions = {
    {"always", "cmp int_cmp",
     "the function body has three operators for one comparison: Greater, Equal, Or"},
};
constexpr std::initializer_list<OpException> kLessOrEqualExceptions = {
    {"always", "cmp int_cmp",
     "the function body has three operators for one comparison: Less, Equal, Or"},
};

// ---- the table

// Half of dY, and where both are equal.
constexpr Temporaries kExtremeTemporaries = {
    .outputs = 1, .masks = 1, .other_outputs = 1, .other_masks = 1};

constexpr OpDef kBinaryRows[] = {
    Binary("Add", {1, 6, 7, 13, 14}, "Y = A + B, broadcast", {.add = 1},
           {.formula = "dA = dY; dB = dY; summed up where broadcast",
            .broadcast = true,
            .passes = InputBits({0, 1})},
           {.examples = kAddExamples,
            .evaluate = EvaluateAdd,
            .traits = Traits::kMovesMask,
            .onnx = {.follows_since = 14}}),
    Logic("And", {1, 7}, "Y = A and B, broadcast",
          {.examples = kAndExamples, .evaluate = EvaluateAnd, .traits = Traits::kMovesMask}),
    {.name = "BitShift",
     .versions = {11, 28},
     .formula = "Y = A shifted by B bits, broadcast",
     .infer = InferBinary,
     .count = CountPerOutputElement,
     .examples = {{"uint8[N,4] A, uint8[4] B -> uint8[N,4] C <direction = \"LEFT\">",
                   "int_cmp=4*N"}},
     .per_element = {.cmp = 1},
     .traits = Traits::kInPlace,
     .note = kIntegerWork},
    Bitwise("BitwiseAnd", {18}, "Y = A and B bit by bit, broadcast"),
    Bitwise("BitwiseOr", {18}, "Y = A or B bit by bit, broadcast"),
    Bitwise("BitwiseXor", {18}, "Y = A xor B bit by bit, broadcast"),
    Binary("Div", {1, 6, 7, 13, 14}, "Y = A / B, broadcast", {.div = 1},
           {.formula = "dA = dY / B; dB = -dY / B * Y; summed up where broadcast",
            .broadcast = true,
            .first = {.div = 1},
            .others = {.mul = 1, .div = 1},
            .keeps = {.inputs = InputBits({1}), .crosswise = true},
            .temporaries = {.other_outputs = 2}},
           {.evaluate = EvaluateDiv}),
    Comparison("Equal", {1, 7, 11, 13, 19}, "Y = A == B, broadcast",
               {.examples = kEqualExamples,
                .patterns = absl::MakeConstSpan(kComparisonExamples, 1),
                .evaluate = EvaluateEqual,
                .traits = Traits::kMovesMask}),
    Comparison("Greater", {1, 7, 9, 13}, "Y = A > B, broadcast",
               {.evaluate = EvaluateGreater, .traits = Traits::kMovesMask}),
    Comparison("GreaterOrEqual", {12, 16}, "Y = A >= B, broadcast",
               {.evaluate = EvaluateGreaterOrEqual, .exceptions = kGreaterOrEqualExceptions}),
    Comparison("Less", {1, 7, 9, 13}, "Y = A < B, broadcast",
               {.evaluate = EvaluateLess, .traits = Traits::kMovesMask}),
    Comparison("LessOrEqual", {12, 16}, "Y = A <= B, broadcast",
               {.evaluate = EvaluateLessOrEqual, .exceptions = kLessOrEqualExceptions}),
    {.name = "Max",
     .versions = {1, 6, 8, 12, 13},
     .formula = "max = largest of k inputs, broadcast",
     .data = {.signature = "data_0... -> max", .costs = "cmp = (data_0.count - 1)*max.elements"},
     .infer = InferBroadcast,
     .examples = {{"float[N,4] A, float[4] B, float[1] C -> float[N,4] Y", "cmp=8*N"},
                  {"float[N,4] A -> float[N,4] Y", "free"}},
     .evaluate = EvaluateMax,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dY to the input that equals Y; summed up where broadcast",
                  .broadcast = true,
                  .first = {.cmp = 1},
                  .others = {.cmp = 1},
                  .keeps = {.inputs = InputBits({0, 1}), .numbers = true},
                  .temporaries = kExtremeTemporaries}},
    {.name = "Mean",
     .versions = {1, 6, 8, 13},
     .formula = "mean = mean of k inputs, broadcast",
     .data = {.signature = "data_0... -> mean",
              .costs = "add = (data_0.count - 1)*mean.elements; div = mean.elements"},
     .infer = InferBroadcast,
     .examples = {{"float[N,4] A, float[4] B, float[1] C -> float[N,4] Y", "add=8*N div=4*N"},
                  {"float[N,4] A -> float[N,4] Y", "div=4*N"}},
     .evaluate = EvaluateMean,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dY / k to each input; summed up where broadcast",
                  .broadcast = true,
                  .shared = {.div = 1},
                  .keeps = {.nothing = true}}},
    {.name = "Min",
     .versions = {1, 6, 8, 12, 13},
     .formula = "min = smallest of k inputs, broadcast",
     .data = {.signature = "data_0... -> min", .costs = "cmp = (data_0.count - 1)*min.elements"},
     .infer = InferBroadcast,
     .examples = {{"float[N,4] A, float[4] B, float[1] C -> float[N,4] Y", "cmp=8*N"},
                  {"float[N,4] A -> float[N,4] Y", "free"}},
     .evaluate = EvaluateMin,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dY to the input that equals Y; summed up where broadcast",
                  .broadcast = true,
                  .first = {.cmp = 1},
                  .others = {.cmp = 1},
                  .keeps = {.inputs = InputBits({0, 1}), .numbers = true},
                  .temporaries = kExtremeTemporaries}},
    {.name = "Mod",
     .versions = {10, 13, 28},
     .formula = "Y = remainder of A / B, broadcast",
     .infer = InferMod,
     .count = CountPerOutputElement,
     .examples = {{"int64[N,4] A, int64[4] B -> int64[N,4] C", "int_div=4*N"},
                  {"float[N,4] A, float[4] B -> float[N,4] C <fmod = 1>", "div=4*N"}},
     .per_element = {.div = 1},
     .evaluate = EvaluateMod,
     .traits = Traits::kInPlace,
     .gradient = {.formula = "dA = dY; dB = -dY * floor(A / B); summed up where broadcast",
                  .broadcast = true,
                  .others = {.mul = 1, .div = 1, .round = 1},
                  .passes = InputBits({0}),
                  .temporaries = {.other_outputs = 2}}},
    Binary("Mul", {1, 6, 7, 13, 14}, "Y = A * B, broadcast", {.mul = 1},
           {.formula = "dA = dY * B; dB = dY * A; summed up where broadcast",
            .broadcast = true,
            .first = {.mul = 1},
            .others = {.mul = 1},
            .keeps = {.crosswise = true}},
           {.evaluate = EvaluateMul, .onnx = {.follows_since = 14}}),
    Logic("Or", {1, 7}, "Y = A or B, broadcast",
          {.evaluate = EvaluateOr, .traits = Traits::kMovesMask}),
    Binary("Pow", {1, 7, 12, 13, 15}, "Y = A^B, broadcast", {.pow = 1},
           {.formula = "dA = dY * B * A^(B - 1); dB = dY * Y * ln A; summed up where broadcast",
            .broadcast = true,
            .first = {.add = 1, .mul = 2, .pow = 1},
            .others = {.mul = 2, .log = 1},
            .keeps = {.inputs = InputBits({0}), .exponent = true},
            .temporaries = {.outputs = 2, .other_outputs = 2, .other_masks = 1}},
           {.evaluate = EvaluatePow, .note = "a pow, whatever the exponent"}),
    Binary("Sub", {1, 6, 7, 13, 14}, "Y = A - B, broadcast", {.add = 1},
           {.formula = "dA = dY; dB = -dY; summed up where broadcast",
            .broadcast = true,
            .passes = InputBits({0})},
           {.evaluate = EvaluateSub, .traits = Traits::kMovesMask, .onnx = {.follows_since = 14}}),
    {.name = "Sum",
     .versions = {1, 6, 8, 13},
     .formula = "sum = sum of k inputs, broadcast",
     .data = {.signature = "data_0... -> sum", .costs = "add = (data_0.count - 1)*sum.elements"},
     .infer = InferBroadcast,
     .examples = {{"float[N,4] A, float[4] B, float[1] C -> float[N,4] Y", "add=8*N"},
                  {"float[N,4] A -> float[N,4] Y", "free"}},
     .evaluate = EvaluateSum,
     .traits = Traits::kInPlace,
     .onnx = {.since = 6},
     .gradient = {.formula = "dY to each input; summed up where broadcast",
                  .broadcast = true,
                  .passes = ~uint32_t{0}}},
    {.name = "Where",
     .versions = {9, 16},
     .formula = "Y = X where the condition holds, else Z, broadcast",
     .infer = InferWhere,
     .examples =
         {{"bool[N,1] c, float[N,4] X, float[4] Z -> float[N,4] Y", "free"},
          // Expand to a shape whose -1 stands for "as it is".
          {"g (float[N,1] X) => (float[N,5] Y) { t = Constant<value_ints = [-1, 5]>() keep = "
           "Constant<value_ints = [-1]>() c = Equal(t, keep) s = Shape(X) u = Where(c, s, t) Y = "
           "Expand(X, u) }",
           "free"}},
     .evaluate = EvaluateWhere,
     .traits = Traits::kSamples | Traits::kMovesMask | Traits::kInPlace,
     .gradient = {.formula =
                      "dX = dY where the condition holds, dZ elsewhere; summed up where broadcast",
                  .broadcast = true,
                  .keeps = {.inputs = InputBits({0})}}},
    Logic("Xor", {1, 7}, "Y = A xor B, broadcast", {.evaluate = EvaluateXor}),
};

}  // namespace

constexpr OpFamily kBinaryFamily = {.domain = "", .rows = kBinaryRows};

}  // namespace onnxflops
