// Functions in the place of their calls, node by node as written by hand.
#include "src/resolve/inline_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "tests/model_maker.h"

namespace onnxflops::inline_calls_test {
namespace {

// "y = Relu(x); ..." of the main graph.
std::string NodesOf(const ModelData& model) {
  std::string text;
  for (NodeId id : model.graph(0).nodes) {
    const Node& node = model.node(id);
    absl::StrAppend(&text, text.empty() ? "" : "; ", model.value(*node.output(0)).name, " = ",
                    node.op_type, "(");
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "" : ", ",
                      node.input(i) ? model.value(*node.input(i)).name : "-");
    }
    absl::StrAppend(&text, ")");
  }
  return text;
}

// x -> F -> y, where F's nodes are what `fill` adds to its formal inputs a, b and output c.
template <typename Fill>
ModelMaker OneCall(Fill fill) {
  ModelMaker make;
  make.Import("f");
  fill(make.AddFunction("f", "F", {"a", "b"}, "c"));
  make.Input("x", {"4"}).Node("call", "F", {"x"}, {"y"}).Output("y");
  make.node->set_domain("f");
  return make;
}

TEST(InlineCallsTest, NodesTakeTheValuesOfTheCall) {
  const Model model = *OneCall([](onnx::FunctionProto* f) {
                         ModelMaker::AddNode(f, "r", "Relu", {"a"}, {"m"});
                         ModelMaker::AddNode(f, "c", "Clip", {"m", "b"}, {"c"});
                       }).Load();
  const Model inlined = InlineCalls(model);
  EXPECT_EQ(NodesOf(*model), "y = F(x)");
  EXPECT_EQ(NodesOf(*inlined), "m = Relu(x); y = Clip(m, -)");
  EXPECT_TRUE(inlined->functions.empty());
  ASSERT_EQ(inlined->inlined.size(), 1u);
  EXPECT_EQ(inlined->inlined_call(0).op_type, "F");
  EXPECT_EQ(inlined->node(0).caller, OptionalInlinedCallId(0));
}

// ONNX Runtime runs its own MatMul, whatever the file calls so.
TEST(InlineCallsTest, AFunctionWithTheNameOfAnOperatorIsTheOperator) {
  ModelMaker make;
  make.Import("com.microsoft");
  ModelMaker::AddNode(make.AddFunction("", "MatMul", {"a", "b"}, "c"), "i", "Identity", {"a"},
                      {"c"});
  ModelMaker::AddNode(make.AddFunction("com.microsoft", "NoSuchOp", {"a"}, "c"), "r", "Relu", {"a"},
                      {"c"});
  make.Input("x", {"4", "4"}).Node("m", "MatMul", {"x", "x"}, {"p"});
  make.Node("n", "NoSuchOp", {"p"}, {"q"});
  make.node->set_domain("com.microsoft");
  make.Node("m2", "MatMul", {"q", "q"}, {"y"}).Output("y");
  const Model inlined = InlineCalls(*make.Load());
  EXPECT_EQ(NodesOf(*inlined), "p = MatMul(x, x); q = Relu(p); y = MatMul(q, q)");
  ASSERT_EQ(inlined->warnings.size(), 1u);
  EXPECT_EQ(inlined->warnings[0],
            "the file has a function named 'MatMul', as an operator is: the operator is counted, "
            "which ONNX Runtime runs");
}

// What F hands through: an input is copied, one that the call leaves out keeps the call.
TEST(InlineCallsTest, InputsThatAreHandedThrough) {
  for (const auto& [handed, nodes] : {std::pair("a", "m = Relu(x); y = Identity(x)"),
                                      std::pair("m", "y = Relu(x)"), std::pair("b", "y = F(x)")}) {
    const Model model = *OneCall([output = handed](onnx::FunctionProto* f) {
                           ModelMaker::AddNode(f, "r", "Relu", {"a"}, {"m"});
                           f->set_output(0, output);
                         }).Load();
    EXPECT_EQ(NodesOf(*InlineCalls(model)), nodes);
  }
}

// A function states its own versions; a node knows where they are not the model's.
TEST(InlineCallsTest, NodesKeepTheVersionOfTheirFunction) {
  for (const int version : {13, 17}) {
    ModelMaker make = OneCall([&](onnx::FunctionProto* f) {
      ModelMaker::AddNode(f, "r", "Relu", {"a"}, {"c"});
      f->mutable_opset_import(0)->set_version(version);
    });
    make.proto.mutable_opset_import(0)->set_version(17);
    EXPECT_EQ(InlineCalls(*make.Load())->node(0).opset, version == 17 ? 0 : 13);
  }
}

TEST(InlineCallsTest, AttributesAreThoseOfTheCallOrTheDefault) {
  ModelMaker make = OneCall([](onnx::FunctionProto* f) {
    for (const char* name : {"axis", "other"}) {
      onnx::NodeProto* node = ModelMaker::AddNode(f, name, "Softmax", {"a"}, {name});
      onnx::AttributeProto* attribute = node->add_attribute();
      attribute->set_name("axis");
      attribute->set_ref_attr_name(name);
      attribute->set_type(onnx::AttributeProto::INT);
    }
    ModelMaker::AddNode(f, "s", "Add", {"axis", "other"}, {"c"});
    f->add_attribute("axis");
    onnx::AttributeProto* standard = f->add_attribute_proto();
    standard->set_name("other");
    standard->set_type(onnx::AttributeProto::INT);
    standard->set_i(7);
  });
  onnx::AttributeProto* axis = make.node->add_attribute();
  axis->set_name("axis");
  axis->set_type(onnx::AttributeProto::INT);
  axis->set_i(3);
  const Model inlined = InlineCalls(*make.Load());
  EXPECT_EQ(inlined->node(0).FindAttribute("axis")->i, 3);
  EXPECT_EQ(inlined->node(1).FindAttribute("axis")->i, 7);
}

// F0 calls F1 twice, F1 calls F2 twice, ...: 2^n nodes.
Model Doubling(int n) {
  ModelMaker make;
  make.Import("f");
  for (int i = 0; i <= n; ++i) {
    onnx::FunctionProto* f = make.AddFunction("f", absl::StrCat("F", i), {"a"}, "c");
    const std::string inner = i == n ? "Relu" : absl::StrCat("F", i + 1);
    ModelMaker::AddNode(f, "p", inner, {"a"}, {i == n ? "c" : "m"});
    if (i < n) ModelMaker::AddNode(f, "q", inner, {"m"}, {"c"});
    for (onnx::NodeProto& node : *f->mutable_node()) node.set_domain(i == n ? "" : "f");
  }
  make.Input("x", {"4"}).Node("call", "F0", {"x"}, {"y"}).Output("y");
  make.node->set_domain("f");
  return *make.Load();
}

TEST(InlineCallsTest, CallsStayWhereTheModelWouldGrowTooLarge) {
  EXPECT_EQ(InlineCalls(Doubling(11))->graph(0).nodes.size(), size_t{1} << 11);
  EXPECT_EQ(InlineCalls(Doubling(12))->graph(0).nodes.size(), 1u);
  EXPECT_EQ(InlineCalls(Doubling(60))->graph(0).nodes.size(), 1u);
}

}  // namespace
}  // namespace onnxflops::inline_calls_test
