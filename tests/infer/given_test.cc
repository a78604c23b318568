// What a user gives (sizes, shapes, contents), and what a caller gives a function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "src/base/limits.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "tests/model_text.h"

namespace onnxflops::given_test {
namespace {

using testing::HasSubstr;

// The shape of the first output, or what is wrong.
std::string OutcomeOf(const Model& model, const InferOptions& options = {}) {
  const absl::StatusOr<Inference> inference = Infer(model, options);
  if (!inference.ok()) return std::string(inference.status().message());
  return inference->FactOf(inference->model->graphs[0].outputs[0])->ToString();
}

// ---- of inputs

Content Ints(const std::vector<int64_t>& values) {
  Content content;
  for (const int64_t value : values) content.push_back(Scalar::Int(value));
  return content;
}

TEST(GivenTest, ShapesBindTheirSymbols) {
  const Model model = ModelFromText(
      "g (float[N,4] a, float[N,M] b) => (float[N,K] y) "
      "{ y = Concat<axis=1>(a, b) }",
      20);
  const struct {
    InferOptions options;
    const char* outcome;
  } cases[] = {
      {{.input_shapes = {{"a", {3, 4}}}}, "float32[3, M + 4]"},
      {{.input_shapes = {{"a", {3, 4}}, {"b", {3, 5}}}}, "float32[3, 9]"},
      {{.input_shapes = {{"a", {3, 4}}, {"b", {2, 5}}}},
       "test.onnx: dimension 'N' is given as 3 and as 2 (input 'b')"},
      {{.dims = {{"N", 2}}, .input_shapes = {{"a", {3, 4}}}},
       "test.onnx: 'N' is given as 2 by dim and as 3 by input (dimension 0 of 'a'); leave one "
       "of them out"},
      {{.input_shapes = {{"a", {3, 5}}}}, "dimension 1 of input 'a' is 4"},
      {{.input_shapes = {{"a", {3}}}},
       "test.onnx: input 'a' is [N, 4] in the file, of rank 2, and the given shape has rank 1"},
      {{.dims = {{"N", -2}}}, "test.onnx: dimension 'N' is bound to -2"},
  };
  for (const auto& c : cases) EXPECT_THAT(OutcomeOf(model, c.options), HasSubstr(c.outcome));
}

TEST(GivenTest, ContentsHaveTheTypeAndTheSizeOfTheirInput) {
  const Model model = ModelFromText(
      "g (int64[L] s, float[K] f, int64[2,2] m, float[6] x) => (float[A,B] y, float[K] z) "
      "{ y = Reshape(x, s) z = Relu(f) k = Relu(m) }",
      20);
  const struct {
    InferOptions options;
    const char* outcome;
  } cases[] = {
      {{.input_values = {{"s", Ints({3, 2})}}}, "float32[3, 2]"},
      {{.input_values = {{"s", {Scalar::Float(1.5), Scalar::Int(4)}}}},
       "test.onnx: value of input 's': 1.5 is not a whole number of 64 bits, which int64 needs"},
      {{.input_values = {{"m", Ints({1, 2, 3})}}},
       "test.onnx: value of input 'm': 3 elements given for [2, 2]"},
      {{.input_values = {{"f", Ints({3, 2})}, {"s", Ints({6})}}}, "float32[6]"},
  };
  for (const auto& c : cases) EXPECT_THAT(OutcomeOf(model, c.options), HasSubstr(c.outcome));
  const InferOptions whole = {.input_values = {{"f", Ints({3, 2})}}};
  const Inference inference = Infer(model, whole).value();
  const Fact& f = *inference.FactOf(inference.model->graphs[0].inputs[1]);
  ASSERT_TRUE(f.has_content());
  EXPECT_EQ((*f.content)[0], Scalar::Float(3));  // written without a point, for a float
}

TEST(GivenTest, OfInputsOfOtherKinds) {
  const struct {
    const char* graph;
    InferOptions options;
    const char* outcome;
  } cases[] = {
      {"g (float[] x) => (float[] y) { y = Relu(x) }",
       {.input_values = {{"x", Ints({1, 2, 3})}}},
       "float32[3]"},
      {"g (float[] x) => (float[] y) { y = Relu(x) }",
       {.input_shapes = {{"x", {2, 3}}}},
       "float32[2, 3]"},
      {"g (float[N,4] x) => (float[] y) { y = Relu(x) }",
       {.input_shapes = {{"x", {Expr::Symbol("N", 1), 4}}}},
       "float32[N, 4]"},
      {"g (float[N,4] x) => (float[] y) { y = Relu(x) }",
       {.input_shapes = {{"x", {Expr::Symbol("M", 1), 4}}}},
       "dimension 0 of input 'x' is 'N' in the file, but 'M' was given: give a size, or leave the "
       "name as it is"},
      {"g (seq(float[2]) s) => (float[] y) { y = ConcatFromSequence<axis = 0>(s) }",
       {.input_values = {{"s", Ints({1, 2})}}},
       "value of input 's': 2 elements given for what is not a tensor"},
      {"g (sparse_tensor(float[2,3]) s) => (float[] y) { y = Identity(s) }", {}, "float32[2, 3]"},
      {"g (map(int64, float[2]) s) => (float[] y) { y = Identity(s) }", {}, "map"},
      {"g (float[2] x) => (float[] y) { y = Relu(x) }",
       {.input_values = {{"z", Ints({1, 2})}}},
       "test.onnx: no input is named 'z'; inputs: x"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(OutcomeOf(ModelFromText(c.graph, 20), c.options), HasSubstr(c.outcome)) << c.graph;
  }
}

// The size of what a known branch gives, which the data decides: inside of the branch it holds,
// too.
TEST(GivenTest, SizesOfABranchThatIsTaken) {
  const Model model = ModelFromText(
      "g (bool c, float[7] x) => (float[A,B] y) { y = If(c) <then_branch = t () => "
      "(float[P,Q] p) { i = NonZero(x) f = Cast<to = 1>(i) p = Relu(f) }, else_branch = e () => "
      "(float[R,S] q) { j = NonZero(x) q = Cast<to = 1>(j) }> }",
      20);
  InferOptions options = {.input_values = {{"c", Ints({1})}}};
  EXPECT_EQ(OutcomeOf(model, options), "float32[1, nonzero(i)]");
  options.dims = {{"if(n0).1", 5}};
  EXPECT_EQ(OutcomeOf(model, options), "float32[1, 5]");
  const Counts counts = Count(Infer(model, options).value()).value();
  EXPECT_EQ(counts.total.flops[Kind::kCmp], Expr(5 + 7));  // Relu, and NonZero's of x
}

// A file that says 3 where it declares N is right without the binding.
TEST(GivenTest, WhatDoesNotFitTheFileIsSaid) {
  const Model model = ModelFromText(
      "g (float[N,4] a) => (float[N,4] y) <float[3,4] w = {1,1,1,1,1,1,1,1,1,1,1,1}> "
      "{ y = Add(a, w) }",
      20);
  EXPECT_THAT(
      OutcomeOf(model, {.dims = {{"N", 2}}}),
      HasSubstr("test.onnx: N = 2 does not fit this model, which fixes what it declares as a "
                "symbol:"));
  EXPECT_THAT(OutcomeOf(model, {.input_shapes = {{"a", {2, 4}}}}),
              HasSubstr("test.onnx: a = [2, 4] does not fit this model"));
  EXPECT_THAT(OutcomeOf(model, {.dims = {{"N", 2}}, .input_shapes = {{"a", {2, 4}}}}),
              HasSubstr("test.onnx: N = 2, a = [2, 4] do not fit this model"));
}

// ---- of functions

Model WithFunctions(const std::string& graph, const std::string& functions) {
  const std::string text =
      absl::StrCat("<ir_version: 10, opset_import: [\"\" : 20, \"f\" : 1]> g ", graph, functions);
  onnx::ModelProto proto;
  const auto parsed = onnx::OnnxParser::Parse(proto, text.c_str());
  EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage();
  return LoadFromBytes(proto.SerializeAsString(), "test.onnx").value();
}

// Attributes that a function hands on: given, or not, so that the default of what is called holds.
TEST(FunctionTest, AttributesAreHandedOn) {
  constexpr char kFunctions[] =
      "<domain: \"f\", opset_import: [\"\" : 20, \"f\" : 1]> outer <from> (x) => (y) "
      "{ y = f.inner<axis: int = @from>(x) } "
      "<domain: \"f\", opset_import: [\"\" : 20, \"f\" : 1]> inner <axis> (x) => (y) "
      "{ y = Flatten<axis: int = @axis>(x) }";
  const struct {
    const char *call, *outcome;
  } cases[] = {
      {"f.outer<from = 2>(x)", "float32[6, 5]"},
      {"f.outer<from = 0>(x)", "float32[1, 30]"},
      {"f.outer(x)", "float32[2, 15]"},  // Flatten's own
      {"f.inner<axis = 2>(x)", "float32[6, 5]"},
  };
  for (const auto& c : cases) {
    const std::string graph =
        absl::StrCat("(float[2,3,5] x) => (float[A,B] y) { y = ", c.call, " } ");
    EXPECT_EQ(OutcomeOf(WithFunctions(graph, kFunctions)), c.outcome) << c.call;
  }
}

// The operators in a function are those of the opsets that it imports; afterwards those of the
// model hold again. ReduceSum had its axes in an attribute before opset 13.
TEST(FunctionTest, HasItsOwnOpsets) {
  constexpr char kFunctions[] =
      "<domain: \"f\", opset_import: [\"\" : 11, \"f\" : 1]> old (x) => (y) "
      "{ y = ReduceSum<axes = [1], keepdims = 0>(x) } "
      "<domain: \"f\", opset_import: [\"\" : 20, \"f\" : 1]> fresh (x) => (y) "
      "{ a = Constant<value_ints = [0]>() y = ReduceSum<keepdims = 0>(x, a) } "
      "<domain: \"f\", opset_import: [\"\" : 11, \"f\" : 1]> mixed (x) => (y) "
      "{ z = f.fresh(x) y = ReduceSum<axes = [1], keepdims = 0>(z) } ";
  const struct {
    const char *nodes, *outcome;
  } cases[] = {
      {"y = f.old(x)", "float32[2, 5]"},
      {"y = f.fresh(x)", "float32[3, 5]"},
      {"y = f.mixed(x)", "float32[3]"},
      {"z = f.old(x) a = Constant<value_ints = [0]>() y = ReduceSum<keepdims = 0>(z, a)",
       "float32[5]"},
  };
  for (const auto& c : cases) {
    const std::string graph = absl::StrCat("(float[2,3,5] x) => (float[A] y) { ", c.nodes, " } ");
    EXPECT_EQ(OutcomeOf(WithFunctions(graph, kFunctions)), c.outcome) << c.nodes;
  }
}

TEST(FunctionTest, OperatorsAreOfTheirOpset) {
  constexpr char kFunctions[] =
      "<domain: \"f\", opset_import: [\"\" : 11]> old (x) => (y) { y = Gelu(x) } "
      "<domain: \"f\", opset_import: [\"\" : 21]> fresh (x) => (y) { y = Gelu(x) } ";
  const struct {
    const char *nodes, *warning;
    int opset;
  } cases[] = {
      {"y = Gelu(x)", "", 20},
      {"y = f.fresh(x)", "", 21},
      {"y = f.old(x)", "Gelu exists from opset 20, but the file declares opset 11", 20},
  };
  for (const auto& c : cases) {
    const std::string graph = absl::StrCat("(float[2] x) => (float[2] y) { ", c.nodes, " } ");
    const Inference inference = Infer(WithFunctions(graph, kFunctions)).value();
    const Call& call = inference.calls[0];
    ASSERT_NE(call.def, nullptr) << c.nodes;
    EXPECT_EQ(call.opset, c.opset) << c.nodes;
    EXPECT_EQ(inference.warnings.size(), c.warning[0] == 0 ? 0u : 1u) << c.nodes;
    EXPECT_THAT(inference.warnings, testing::Each(HasSubstr(c.warning)));
  }
}

// What makes shapes is free inside of a function, too; what makes numbers for others is not. Each
// of the two outputs takes two operations on integers.
TEST(FunctionTest, ShapeArithmeticInsideIsFree) {
  constexpr char kFunctions[] =
      "<domain: \"f\", opset_import: [\"\" : 20]> both (x) => (p, q) "
      "{ s = Shape(x) p = Add(s, s) q = Mul(s, s) } ";
  const struct {
    const char* nodes;
    int int_ops;
  } cases[] = {
      {"p, q = f.both(x) y = Expand(x, p) z = Expand(x, q)", 0},
      {"p, q = f.both(x) y = Expand(x, p) z = Identity(q)", 2},
      {"p, q = f.both(x) y = Identity(p) z = Expand(x, q)", 2},
      {"p, q = f.both(x) y = Identity(p) z = Identity(q)", 4},
      {"p, q = f.both(x) y = Expand(x, p) z = Identity(p)", 2},
  };
  for (const auto& c : cases) {
    const std::string graph = absl::StrCat("(float[1,1] x) => (y, z) { ", c.nodes, " } ");
    const Counts counts = Count(Infer(WithFunctions(graph, kFunctions)).value()).value();
    EXPECT_EQ(counts.total.amounts.int_ops, Expr(c.int_ops)) << c.nodes;
  }
}

// A size of a function's inside belongs to the first output that it comes out by.
TEST(FunctionTest, SizesBelongToTheFirstOutput) {
  const Model model =
      WithFunctions("(float[7] x) => (int64[A,B] p, int64[A,B] q) { p, q = f.both(x) } ",
                    "<domain: \"f\", opset_import: [\"\" : 20]> both (x) => (y, z) { y = "
                    "NonZero(x) z = Neg(y) } ");
  const Inference inference = Infer(model).value();
  ASSERT_EQ(inference.symbols.size(), 1u);
  EXPECT_EQ(inference.symbols[0].value, "p");
  EXPECT_EQ(inference.symbols[0].axis, 1);
  EXPECT_EQ(inference.symbols[0].at_most, Expr(7));
}

// ---- of loops

// Trips by hand: the body's condition is read after each of them, that of the input before the
// first.
TEST(LoopConditionTest, DecidesHowManyTripsThereAre) {
  const struct {
    const char *loop, *condition;  // its first two inputs, and what the body says of trip i
    const char* stacked;           // of one vector per trip
    int flops;
  } cases[] = {
      {", yes", "Less(i, three)", "float32[4, 5]", 20},
      {"two, yes", "Less(i, three)", "float32[2, 5]", 10},
      {"ten, yes", "Less(i, three)", "float32[4, 5]", 20},
      {"ten, yes", "Identity(c)", "float32[10, 5]", 50},
      {"ten, ", "Identity(yes)", "float32[10, 5]", 50},
      {"ten, ", "Identity(no)", "float32[1, 5]", 5},
      {", yes", "Identity(no)", "float32[1, 5]", 5},
      {"ten, no", "Identity(yes)", "float32[0, 5]", 0},
      {", no", "Less(i, three)", "float32[0, 5]", 0},
      {"zero, yes", "Identity(c)", "float32[0, 5]", 0},
  };
  for (const auto& c : cases) {
    const Model model = ModelFromText(
        absl::StrCat("g (float[5] x) => (float[5] last, float[K,5] all) <int64 zero = {0}, int64 "
                     "two = {2}, int64 three = {3}, int64 ten = {10}, bool yes = {1}, bool no = "
                     "{0}> { last, all = Loop<body = b (int64 i, bool c, float[5] s) => (bool d, "
                     "float[5] r, float[5] e) { d = ",
                     c.condition, " r = Relu(s) e = Identity(r) }>(", c.loop, ", x) }"),
        20);
    const Inference inference = Infer(model).value();
    const std::vector<ValueId>& outputs = inference.model->graphs[0].outputs;
    EXPECT_EQ(inference.FactOf(outputs[0])->ToString(), "float32[5]") << c.condition;
    EXPECT_EQ(inference.FactOf(outputs[1])->ToString(), c.stacked) << c.loop << c.condition;
    const Counts counts = Count(inference).value();
    EXPECT_EQ(counts.total.amounts.flops, Expr(c.flops)) << c.loop << c.condition;
    EXPECT_THAT(inference.warnings, testing::IsEmpty()) << c.loop << c.condition;
  }
}

// How often a loop runs is a size of its first output that has a name.
TEST(LoopConditionTest, OpenTripsBelongToTheFirstOutput) {
  for (const char* outputs : {"p, q", "p, ", ", q"}) {
    const Model model = ModelFromText(
        absl::StrCat("g (float[5] x, bool go) => (float[5] y) { ", outputs,
                     " = Loop<body = b (int64 i, bool c, float[5] s, float[5] t) => (bool d, "
                     "float[5] r, float[5] u) { d = Identity(go) r = Relu(s) u = Relu(t) }>"
                     "(, go, x, x) y = Relu(x) }"),
        20);
    const Inference inference = Infer(model).value();
    ASSERT_EQ(inference.symbols.size(), 1u) << outputs;
    EXPECT_EQ(inference.symbols[0].name, "trips(n0)");
    EXPECT_EQ(inference.symbols[0].value, outputs[0] == 'p' ? "p" : "q") << outputs;
    EXPECT_EQ(inference.symbols[0].kind, SymbolOrigin::Kind::kTripCount);
  }
}

// Each trip has sizes of its own, which say which trip they are of.
TEST(LoopConditionTest, SizesOfTripsHaveTheirNumbers) {
  const Model model = ModelFromText(
      "g (float[5] x) => (float[K] y) <int64 n = {3}, bool t = {1}, int64[1] flat = {-1}> { "
      "y = Loop<body = b (int64 i, bool c, float[P] s) => (bool d, float[Q] r) { d = Identity(c) "
      "z = NonZero(s) f = Cast<to = 1>(z) v = Reshape(f, flat) r = Concat<axis = 0>(x, v) }>"
      "(n, t, x) }",
      20);
  const Inference inference = Infer(model).value();
  ASSERT_EQ(inference.symbols.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(inference.symbols[i].name, absl::StrCat("nonzero('trip ", i, "/z')"));
  }
}

// ---- of operators without a rule

TEST(UnknownTest, OperatorsKeepTheirInputs) {
  const Model model = ModelFromText(
      "g (float[2,3] x, float[4] w) => (float[A] y) { y = com.microsoft.NoSuch(x, w) }", 20);
  const Inference inference = Infer(model).value();
  const Call& call = inference.call(inference.instance(0).calls[0]);
  ASSERT_EQ(call.inputs.size(), 2u);
  EXPECT_EQ(inference.fact(call.inputs[0]).ToString(), "float32[2, 3]");
  EXPECT_EQ(inference.fact(call.inputs[1]).ToString(), "float32[4]");
  EXPECT_EQ(call.problem.message(), "no rule for operator NoSuch of domain com.microsoft");
  EXPECT_EQ(call.problem.code(), absl::StatusCode::kUnimplemented);
  ASSERT_EQ(call.outputs.size(), 1u);
  EXPECT_EQ(inference.fact(call.outputs[0]).ToString(), "float32[A]");  // as the file says
}

// The sizes behind an operator without a rule, as `declared` has them of its output h.
std::string SizesAfterUnknown(const std::string& declared, const Bindings& dims = {}) {
  const Model model = ModelFromText(
      absl::StrCat("g (float[batch,seq,8] x, float[8,4] w) => (float[A,B,C] y) <float[", declared,
                   "] h> { h = com.microsoft.NoSuch(x) y = MatMul(h, w) }"),
      20);
  InferOptions options;
  options.dims = dims;
  const absl::StatusOr<Inference> inference = Infer(model, options);
  if (!inference.ok()) return std::string(inference.status().message());
  std::string text = inference->FactOf(inference->model->graphs[0].outputs[0])->ToString();
  for (const SymbolOrigin& symbol : inference->symbols) {
    if (symbol.kind == SymbolOrigin::Kind::kData) absl::StrAppend(&text, " ", symbol.name);
  }
  return text;
}

TEST(UnknownTest, DeclaredSymbolsAreThoseOfInputs) {
  EXPECT_EQ(SizesAfterUnknown("batch,seq,8"), "float32[batch, seq, 4]");
  EXPECT_EQ(SizesAfterUnknown("batch,\"2*seq + 1\",8"), "float32[batch, 2*seq + 1, 4]");
  EXPECT_EQ(SizesAfterUnknown("batch,\"2*seq + 1\",8", {{"seq", 3}}), "float32[batch, 7, 4]");
  EXPECT_EQ(SizesAfterUnknown("batch,found,8"), "float32[batch, found, 4] found");
  EXPECT_EQ(SizesAfterUnknown("batch,found,8", {{"found", 5}}), "float32[batch, 5, 4]");
  EXPECT_EQ(SizesAfterUnknown("batch,?,8"), "float32[A, B, C] A B C");
}

// Two nodes alike: what the file declares of one is not said of the other.
TEST(UnknownTest, WhatIsDeclaredIsOfOneNode) {
  const Model model = ModelFromText(
      "g (float[12] x, int64[R] s) => (float[3,4] y, float[2,6] z) { y = Reshape(x, s) "
      "z = Reshape(x, s) }",
      20);
  const Inference inference = Infer(model).value();
  EXPECT_EQ(inference.FactOf(inference.model->graphs[0].outputs[1])->shape.ToString(), "[2, 6]");
}

TEST(UnknownTest, AttributeThatIsNoBody) {
  const auto infer = [](const char* attribute) {
    onnx::ModelProto proto;
    const auto parsed = onnx::OnnxParser::Parse(
        proto, absl::StrCat("<ir_version: 10, opset_import: [\"\" : 24, \"ai.onnx.preview\" : 1]> "
                            "g (float[1,1,3,4] Q) => (float[1,1,3,4] Y) "
                            "{ Y = ai.onnx.preview.FlexAttention<",
                            attribute, ">(Q, Q, Q) }")
                   .c_str());
    EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage();
    return OutcomeOf(LoadFromBytes(proto.SerializeAsString(), "test.onnx").value());
  };
  EXPECT_THAT(infer("score_mod = 3"), HasSubstr("attribute score_mod holds no graph"));
  EXPECT_EQ(infer("scale = 0.5"), "float32[1, 1, 3, 4]");
}

// Numbers that are followed have a name for each axis, up to the limit.
TEST(GivenTest, TargetsOfTooManyDimensionsAreRefused) {
  std::string target = "3";
  for (int i = 0; i < kMaxRank; ++i) target += ",1";
  const Model model = ModelFromText(
      absl::StrCat("g (float[1] x) => (int64[A] y) <int64[", kMaxRank + 1, "] target = {", target,
                   "}, int64[3] c = {0, 1, 2}> { y = Reshape(c, target) }"),
      20);
  EXPECT_THAT(OutcomeOf(model), HasSubstr("above the limit rank"));
}

// The loader refuses more.
TEST(FunctionTest, AsDeepAsTheLimit) {
  std::string functions;
  for (int i = 0; i < kMaxCallDepth; ++i) {
    absl::StrAppend(&functions, "<domain: \"f\", opset_import: [\"\" : 20, \"f\" : 1]> f", i,
                    " (x) => (y) { y = ",
                    i + 1 < kMaxCallDepth ? absl::StrCat("f.f", i + 1) : std::string("Relu"),
                    "(x) } ");
  }
  const std::string graph = "(float[2] x) => (float[A] y) { y = f.f0(x) } ";
  EXPECT_EQ(OutcomeOf(WithFunctions(graph, functions)), "float32[2]");
}

}  // namespace
}  // namespace onnxflops::given_test
