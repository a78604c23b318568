// What a user gives (sizes, shapes, contents), and what a caller gives a function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "src/base/limits.h"
#include "src/count/count.h"
#include "src/infer/infer.h"
#include "src/load/load.h"
#include "tests/model_text.h"

namespace onnxflops {
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
       "test.onnx: 'N' is given as 2 by --dim and as 3 by --input (dimension 0 of 'a'); leave one "
       "of them out"},
      {{.input_shapes = {{"a", {3, 5}}}}, "dimension 1 of input 'a' is 4"},
      {{.input_shapes = {{"a", {3}}}},
       "test.onnx: input 'a' has rank 2, but the given shape has rank 1"},
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
}  // namespace onnxflops
