// Resolving: which nodes get a body, and what is asked about them.
#include "src/resolve/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/onnxflops.h"
#include "tests/model_text.h"
#include "tools/official/function_bodies.h"

namespace onnxflops::resolve_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Answers as the official library does, and keeps what it was asked.
class Library final : public FunctionBodySource {
 public:
  absl::StatusOr<std::string> Find(absl::string_view request) const override {
    onnx::ModelProto& proto = requests.emplace_back();
    EXPECT_TRUE(proto.ParseFromArray(request.data(), static_cast<int>(request.size())));
    return tools::FindFunctionBodies(proto).SerializeAsString();
  }
  mutable std::vector<onnx::ModelProto> requests;
};

// Answers every request with these bytes, or an error.
class Answer final : public FunctionBodySource {
 public:
  explicit Answer(absl::StatusOr<std::string> bytes) : bytes_(std::move(bytes)) {}
  absl::StatusOr<std::string> Find(absl::string_view) const override { return bytes_; }

 private:
  absl::StatusOr<std::string> bytes_;
};

// A body for the first question.
Answer BodyOf(const std::string& function) {
  onnx::ModelProto model;
  const auto parsed = onnx::OnnxParser::Parse(*model.add_functions(), function.c_str());
  EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage();
  model.mutable_functions(0)->set_overload("0");
  return Answer(model.SerializeAsString());
}

// As if these operators were newer than our table.
FoundOp FindOldOps(absl::string_view domain, absl::string_view op_type, int64_t opset) {
  const bool is_new = op_type == "Clip" || op_type == "Mish" || op_type == "Softplus";
  return is_new ? FoundOp() : FindOp(domain, op_type, opset);
}

Resolution ResolveWith(const FunctionBodySource& bodies, const Model& model) {
  ResolveOptions options;
  options.operators.find_op = FindOldOps;
  options.bodies = &bodies;
  return Resolve(model, options);
}

Counts CountsOf(const Model& model) {
  InferOptions options;
  options.operators.find_op = FindOldOps;
  return Count(Infer(model, options).value()).value();
}

bool HasBody(const Model& model, NodeId node) { return model->node(node).function.has_value(); }

TEST(ResolveTest, AModelWithoutNewOperatorsIsNotAskedAbout) {
  const Library library;
  const Model model = ModelFromText("g (float[4] x) => (float[4] y) { y = Relu(x) }", 20);
  const Resolution resolution = ResolveWith(library, model);
  EXPECT_THAT(library.requests, IsEmpty());
  EXPECT_FALSE(resolution.has_bodies);
  EXPECT_EQ(&*resolution.model, &*model);
}

TEST(ResolveTest, EqualNodesAreOneQuestionOfOneRequest) {
  const Library library;
  const Resolution resolution =
      ResolveWith(library, ModelFromText("g (float[4] x, float[5] v) => (float[4] y, float[5] w) "
                                         "{ y = Softplus(x) z = Softplus(x) w = Softplus(v) }",
                                         20));
  ASSERT_EQ(library.requests.size(), 1u);
  EXPECT_EQ(library.requests[0].functions_size(), 2);
  ASSERT_TRUE(HasBody(resolution.model, 0) && HasBody(resolution.model, 2));
  EXPECT_EQ(resolution.model->node(0).function, resolution.model->node(1).function);
  EXPECT_NE(resolution.model->node(0).function, resolution.model->node(2).function);
}

// Mish(x) = x * Tanh(Softplus(x)), Softplus(x) = Log(Exp(x) + 1).
TEST(ResolveTest, ABodyMayNeedBodies) {
  const Library library;
  const Resolution resolution =
      ResolveWith(library, ModelFromText("g (float[4] x) => (float[4] y) { y = Mish(x) }", 20));
  EXPECT_EQ(library.requests.size(), 2u);
  const Counts counts = CountsOf(resolution.model);
  EXPECT_EQ(counts.unknown, 0);
  for (const Kind kind : {Kind::kExp, Kind::kAdd, Kind::kLog, Kind::kTanh, Kind::kMul}) {
    EXPECT_EQ(counts.total.flops[kind], Expr(4)) << KindName(kind);
  }
}

// What is known of a node's input, from where it comes.
TEST(ResolveTest, TypesAreThoseThatTheFileHolds) {
  const struct {
    const char *graph, *type;
  } cases[] = {
      {"g (float[N,4] x) => (y) { y = Mish(x) }",
       "tensor_type { elem_type: 1 shape { dim { } dim { dim_value: 4 } } }"},
      {"g (float x) => (y) { y = Mish(x) }", "tensor_type { elem_type: 1 shape { } }"},
      {"g (seq(float[4]) x) => (y) { y = Mish(x) }",
       "sequence_type { elem_type { tensor_type { elem_type: 1 shape { dim { dim_value: 4 } } } } "
       "}"},
      {"g () => (y) <float[2] w = {1.0, 2.0}> { y = Mish(w) }",
       "tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } }"},
      {"g () => (y) { c = Constant <value = double[2] {1.0, 2.0}> () y = Mish(c) }",
       "tensor_type { elem_type: 11 shape { dim { dim_value: 2 } } }"},
      {"g () => (y) { c = Constant <value_ints = [1, 2, 3]> () y = Mish(c) }",
       "tensor_type { elem_type: 7 shape { dim { dim_value: 3 } } }"},
      {"g (float[4] x) => (y) <float16[4] a> { a = Identity(x) y = Mish(a) }",
       "tensor_type { elem_type: 10 shape { dim { dim_value: 4 } } }"},
      {"g (float[4] x) => (y) { a = Identity(x) y = Mish(a) }", ""},
  };
  for (const auto& c : cases) {
    const Library library;
    ResolveWith(library, ModelFromText(c.graph, 20));
    ASSERT_FALSE(library.requests.empty()) << c.graph;
    const onnx::FunctionProto& question = library.requests[0].functions(0);
    const std::string type =
        question.value_info_size() == 0 ? "" : question.value_info(0).type().ShortDebugString();
    EXPECT_EQ(type, c.type) << c.graph;
  }
}

TEST(ResolveTest, ABodyThatDependsOnTypesNeedsThemDeclared) {
  const struct {
    const char* graph;
    bool has_body;
  } cases[] = {
      {"g (float[4] x, float lo) => (y) { y = Clip(x, lo) }", true},
      {"g (float[4] x, float lo) => (y) { y = Clip(x, , lo) }", true},
      {"g (float[4] x, float lo) => (y) <float[4] a> { a = Neg(x) y = Clip(a, lo) }", true},
      {"g (float[4] x, float lo) => (y) { a = Neg(x) y = Clip(a, lo) }", false},
  };
  for (const auto& c : cases) {
    const Model model = ResolveWith(Library(), ModelFromText(c.graph, 20)).model;
    EXPECT_EQ(HasBody(model, model->graph(0).nodes.back()), c.has_body) << c.graph;
    EXPECT_EQ(CountsOf(model).unknown, c.has_body ? 0 : 1) << c.graph;
  }
}

TEST(ResolveTest, AFunctionsNodesAreOfTheOpsetThatItImports) {
  onnx::ModelProto proto;
  const char text[] =
      R"(<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
         g (float[4] x) => (float[4] y) { y = local.f(x) }
         <domain: "local", opset_import: ["" : 18]> f (a) => (b) { b = Mish(a) })";
  ASSERT_TRUE(onnx::OnnxParser::Parse(proto, text).IsOK());
  const Library library;
  ResolveWith(library, LoadFromBytes(proto.SerializeAsString()).value());
  ASSERT_FALSE(library.requests.empty());
  EXPECT_EQ(library.requests[0].functions(0).opset_import(0).version(), 18);
}

TEST(ResolveTest, AnAnswerThatIsNoneLeavesTheModelAsItIs) {
  const Model model = ModelFromText("g (float[4] x) => (y) { y = Mish(x) }", 20);
  for (const absl::StatusOr<std::string>& answer :
       {absl::StatusOr<std::string>(""), absl::StatusOr<std::string>(absl::UnknownError("gone"))}) {
    const Resolution resolution = ResolveWith(Answer(answer), model);
    EXPECT_FALSE(resolution.has_bodies);
    EXPECT_THAT(resolution.warnings, IsEmpty());
  }
  const Resolution resolution = ResolveWith(Answer("\xca\x01\x7f"), model);
  EXPECT_FALSE(resolution.has_bodies);
  EXPECT_THAT(resolution.warnings, ElementsAre(HasSubstr("official function bodies do not fit: ")));
}

// ---- The driver

absl::StatusOr<Report> CountNew(const std::string& body) {
  const Answer answer = BodyOf(body);
  CountOptions options;
  options.bodies = &answer;
  return Count(ModelFromText("g (float[4] x) => (y) { y = New(x) }", 20), options);
}

TEST(ResolveTest, ANewOperatorCountsThroughItsBody) {
  const absl::StatusOr<Report> report =
      CountNew(R"(<domain: "", opset_import: ["" : 20]> New (a) => (b) { b = Exp(a) })");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->totals.flops, Expr(4));
  EXPECT_THAT(report->warnings,
              ElementsAre("New has no rule: counted through its official function body"));
}

TEST(ResolveTest, ABodyThatContradictsTheModelLeavesTheNodeUnknown) {
  const absl::StatusOr<Report> report = CountNew(
      R"(<domain: "", opset_import: ["" : 20]>
         New (a) => (b) { c = Constant <value_ints = [3]> () b = Reshape(a, c) })");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->coverage.unknown, 1);
  EXPECT_THAT(report->warnings,
              ElementsAre(HasSubstr("official function bodies do not fit: test.onnx: ")));
}

}  // namespace
}  // namespace onnxflops::resolve_test
