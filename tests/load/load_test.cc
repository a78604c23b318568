// The loader: what a Model says of a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/load/load_file.h"
#include "tests/load/load_bytes.h"

namespace onnxflops::load_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// ---- What is in a model

TEST(LoadTest, GraphWithInputsInitializersAndNodes) {
  const Model m = MustLoad(GraphText(kSmall));
  EXPECT_EQ(m->path, "m.onnx");
  EXPECT_EQ(m->ir_version, 8);
  EXPECT_THAT(m->opsets, ElementsAre(Pair("", 17)));
  const Graph& g = m->graphs[0];
  EXPECT_EQ(g.name, "g");
  EXPECT_THAT(Names(m, g.inputs), ElementsAre("x"));
  EXPECT_THAT(Names(m, g.outputs), ElementsAre("y"));
  EXPECT_THAT(Names(m, g.initializers), ElementsAre("w", "axes"));
  EXPECT_THAT(OpTypes(m, g.nodes), ElementsAre("MatMul", "ReduceSum"));
  EXPECT_THAT(Names(m, m->nodes[0].inputs), ElementsAre("x", "w"));
  EXPECT_EQ(*ValueNamed(m, "h").producer, 0);
  EXPECT_EQ(m->nodes[1].FindAttribute("keepdims")->i, 1);
  EXPECT_EQ(ValueNamed(m, "x").declared->dims[0].name, "N");
  EXPECT_EQ(ValueNamed(m, "x").declared->dims[1].size, 4);
  EXPECT_EQ(ValueNamed(m, "h").declared, nullptr);
  EXPECT_THAT(m->warnings, IsEmpty());
}

TEST(LoadTest, SmallTensorsAreKeptAsLittleEndianBytes) {
  const Model m = MustLoad(GraphText(kSmall));
  EXPECT_EQ(TensorNamed(m, "axes").data, absl::string_view("\1\0\0\0\0\0\0\0", 8));
  EXPECT_TRUE(TensorNamed(m, "w").has_data);
  EXPECT_EQ(TensorNamed(m, "w").data.size(), 32u);
  EXPECT_EQ(TensorNamed(m, "w").elements, 8);
}

TEST(LoadTest, LargeTensorsAreNot) {
  const std::string payload(8 * (kMaxIntContent + 1), 'x');
  const Model m = MustLoad(ModelOf(Initializer_("w", {kMaxIntContent + 1}, Bytes(9, payload))));
  EXPECT_FALSE(TensorNamed(m, "w").has_data);
  EXPECT_EQ(TensorNamed(m, "w").elements, kMaxIntContent + 1);
}

// Each of its sizes is small.
TEST(LoadTest, LargeTensorsOfSmallSizesAreNot) {
  const std::string payload(16 * kMaxIntContent, 'x');
  const Model m = MustLoad(ModelOf(Initializer_("w", {2, kMaxIntContent}, Bytes(9, payload))));
  EXPECT_FALSE(TensorNamed(m, "w").has_data);
  EXPECT_EQ(TensorNamed(m, "w").elements, 2 * kMaxIntContent);
}

TEST(LoadTest, BytesNeedNotOutliveTheCall) {
  auto bytes = std::make_unique<std::string>(GraphText(kSmall));
  const Model m = MustLoad(*bytes);
  bytes->assign(bytes->size(), 'x');
  bytes.reset();
  EXPECT_EQ(ValueNamed(m, "axes").name, "axes");
  EXPECT_EQ(TensorNamed(m, "axes").data[0], 1);
}

TEST(LoadTest, InitializerListedAsInputIsBoth) {
  const Model m =
      MustLoad(Text("<ir_version: 3, opset_import: [\"\" : 8]> g (float[2] x, float[2] w) "
                    "=> (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"));
  EXPECT_TRUE(ValueNamed(m, "w").is_graph_input);
  EXPECT_TRUE(ValueNamed(m, "w").initializer);
  EXPECT_THAT(Names(m, m->graphs[0].inputs), ElementsAre("x", "w"));
}

TEST(LoadTest, InputsAndOutputsLeftOut) {
  const Model m = MustLoad(ModelOf(Input_("x") + Node_("Clip", {"x", "", "x"}, {"", "y"})));
  EXPECT_THAT(Names(m, m->nodes[0].inputs), ElementsAre("x", "-", "x"));
  EXPECT_THAT(Names(m, m->nodes[0].outputs), ElementsAre("-", "y"));
}

TEST(LoadTest, DomainOfOnnxIsEmptyHoweverItIsSpelled) {
  const Model m =
      MustLoad(Number(1, 8) + Bytes(7, Node_("Constant", {}, {"y"}, Bytes(7, "ai.onnx"))) +
               Opset("ai.onnx", 13) + Opset("", 13));
  EXPECT_EQ(m->nodes[0].domain, "");
  EXPECT_EQ(m->OpsetOf(""), 13);
  EXPECT_EQ(m->OpsetOf("ai.onnx"), 13);
  EXPECT_EQ(m->OpsetOf("ai.onnx.ml"), std::nullopt);
  EXPECT_EQ(m->opsets.size(), 1u);
}

TEST(LoadTest, UnsortedNodesAreSortedAndStayInOrderOtherwise) {
  const Model m = MustLoad(ModelOf(Node_("C", {"b"}, {"c"}) + Node_("D", {}, {"d"}) +
                                   Node_("B", {"a"}, {"b"}) + Node_("E", {"c", "d"}, {"e"}) +
                                   Node_("A", {"x"}, {"a"}) + Input_("x") + Output_("e")));
  EXPECT_THAT(OpTypes(m, m->graphs[0].nodes), ElementsAre("D", "A", "B", "C", "E"));
}

TEST(LoadTest, NodesBeforeAndAfterInitializersAndInputs) {
  const Model m = MustLoad(ModelOf(Output_("y") + Node_("A", {"x", "w"}, {"a"}) + Input_("x") +
                                   Initializer_("w", {0}, "") + Node_("B", {"a"}, {"y"})));
  EXPECT_THAT(OpTypes(m, m->graphs[0].nodes), ElementsAre("A", "B"));
  EXPECT_EQ(*ValueNamed(m, "y").producer, 1);
}

TEST(LoadTest, TwoGraphsOfOneModelAreMerged) {
  const Model m = MustLoad(ModelOf(Node_("B", {"a"}, {"b"})) + Bytes(7, Node_("A", {}, {"a"})));
  EXPECT_THAT(OpTypes(m, m->graphs[0].nodes), ElementsAre("A", "B"));
}

TEST(LoadTest, OldFilesNeedNoOpset) {
  const Model m = MustLoad(Number(1, 1) + Bytes(7, Node_("Relu", {"x"}, {"y"}) + Input_("x")));
  EXPECT_EQ(m->OpsetOf(""), 1);
}

TEST(LoadTest, MetadataOfModelGraphAndNodes) {
  const std::string pair = Bytes(1, "key") + Bytes(2, "value");
  const Model m =
      MustLoad(ModelOf(Node_("A", {}, {"a"}, Bytes(9, pair) + Bytes(9, pair)) + Bytes(16, pair)) +
               Bytes(14, pair) + Bytes(2, "pytorch") + Bytes(3, "2.9"));
  EXPECT_THAT(m->metadata, ElementsAre(Pair("key", "value")));
  EXPECT_THAT(m->graphs[0].metadata, ElementsAre(Pair("key", "value")));
  EXPECT_THAT(m->nodes[0].metadata, ElementsAre(Pair("key", "value"), Pair("key", "value")));
  EXPECT_EQ(m->producer_name, "pytorch");
  EXPECT_EQ(m->producer_version, "2.9");
}

TEST(LoadTest, FieldsOfTheFutureAreSkipped) {
  const std::string future = Number(1000, 7) + Bytes(1001, "x") + Varint(1002 << 3 | 5) + "abcd" +
                             Varint(1003 << 3 | 1) + "abcdefgh";
  const Model m = MustLoad(ModelOf(Node_("A", {}, {"a"}, future) + future) + future);
  EXPECT_EQ(m->nodes.size(), 1u);
}

// ---- Bodies and functions

TEST(LoadTest, BodiesUseNamesFromAroundThem) {
  const Model m = MustLoad(GraphText(kIf));
  ASSERT_EQ(m->graphs.size(), 3u);
  const Graph& then_branch = m->graphs[1];
  EXPECT_EQ(then_branch.parent, 0);
  EXPECT_EQ(m->node(*then_branch.parent_node).op_type, "If");
  const Node& add = m->node(then_branch.nodes[0]);
  EXPECT_EQ(*add.inputs[0], *m->nodes[0].outputs[0]);
  EXPECT_EQ(*add.inputs[1], m->graphs[0].inputs[1]);
  EXPECT_EQ(then_branch.end_value - then_branch.first_value, 1);
  EXPECT_TRUE(m->node(*then_branch.parent_node).has_graphs);
}

TEST(LoadTest, BodiesMayDefineANameAgain) {
  const Model m = MustLoad(GraphText(kIf));
  const Graph& else_branch = m->graphs[2];
  const Node& mul = m->node(else_branch.nodes[1]);
  EXPECT_EQ(*mul.inputs[0], *m->node(else_branch.nodes[0]).outputs[0]);
  EXPECT_NE(*mul.inputs[0], *m->nodes[0].outputs[0]);
  EXPECT_EQ(m->values.size(), 7u);  // c x h y, t, h e
}

TEST(LoadTest, WhatABodyUsesOrdersItsNode) {
  const std::string inner =
      Node_("If", {"c"}, {"i"}, Body(Node_("X", {"late"}, {"o"}) + Output_("o")));
  const Model m = MustLoad(ModelOf(Node_("If", {"c"}, {"y"}, Body(inner + Output_("i"))) +
                                   Node_("Late", {}, {"late"}) + Input_("c") + Output_("y")));
  EXPECT_THAT(OpTypes(m, m->graphs[0].nodes), ElementsAre("Late", "If"));
  EXPECT_EQ(m->graphs[2].parent, 1);
  EXPECT_EQ(m->values.size(), 5u);  // c y late i o
}

TEST(LoadTest, ABodyMayPassAnOuterValueOn) {
  const Model m = MustLoad(ModelOf(Node_("If", {"c"}, {"y"}, Body(Output_("c"))) + Input_("c")));
  EXPECT_EQ(m->graphs[1].outputs, m->graphs[0].inputs);
}

TEST(LoadTest, NamesFromSixtyGraphsFurtherOut) {
  std::string inputs, graph;
  std::vector<std::string> names;
  names.reserve(10'000);
  for (int i = 0; i < 10'000; ++i) names.push_back(absl::StrCat("x", i));
  for (const std::string& name : names) inputs += Input_(name);
  graph = Node_("A", names, {"a"});
  for (int i = 0; i < 60; ++i) graph = Node_("If", {}, {"y"}, Body(graph));
  const Model m = MustLoad(ModelOf(graph + inputs));
  EXPECT_EQ(m->values.size(), 10'000u + 61);
  EXPECT_EQ(*m->nodes.back().inputs[9'999], m->graphs[0].inputs[9'999]);
}

constexpr char kFunction[] =
    "<ir_version: 9, opset_import: [\"\" : 17, \"local\" : 1]> g (float[2] x) => (float[2] y) "
    "{ y = local.Twice<k = 3>(x) } "
    "<opset_import: [\"\" : 17], domain: \"local\"> Twice <k, m: int = 4> (a) => (b) "
    "{ h = Scale<by: int = @k>(a)  b = Add(h, h) }";

TEST(LoadTest, FunctionsAreGraphsOfTheirOwn) {
  const Model m = MustLoad(Text(kFunction));
  ASSERT_EQ(m->functions.size(), 1u);
  const Function& f = m->functions[0];
  EXPECT_EQ(f.domain, "local");
  EXPECT_EQ(f.name, "Twice");
  EXPECT_THAT(f.attributes, ElementsAre("k"));
  ASSERT_EQ(f.attribute_defaults.size(), 1u);
  EXPECT_EQ(f.attribute_defaults[0].i, 4);
  EXPECT_THAT(f.opsets, ElementsAre(Pair("", 17)));
  const Graph& body = m->graphs[static_cast<size_t>(f.body)];
  EXPECT_EQ(*body.function, 0);
  EXPECT_FALSE(body.parent);
  EXPECT_THAT(Names(m, body.inputs), ElementsAre("a"));
  EXPECT_THAT(Names(m, body.outputs), ElementsAre("b"));
  EXPECT_EQ(*m->nodes[0].function, 0);
  EXPECT_EQ(m->nodes[1].attributes[0].ref_attr_name, "k");
}

TEST(LoadTest, FunctionsHaveTypesAndDomainsAsGraphsHave) {
  const std::string type = Bytes(2, Bytes(1, Number(1, 7)));
  const Model m =
      MustLoad(ModelOf(Node_("F", {}, {"q"})) +
               Bytes(25, Bytes(1, "F") + Bytes(10, "ai.onnx") + Bytes(4, "a") + Bytes(5, "b") +
                             Bytes(7, Bytes(1, "a") + Bytes(2, "b") + Bytes(4, "Relu")) +
                             Bytes(9, Number(2, 17)) + Bytes(12, Bytes(1, "a") + type)));
  EXPECT_EQ(m->functions[0].domain, "");
  EXPECT_EQ(*m->nodes[0].function, 0);
  EXPECT_FALSE(m->nodes[1].function);
  EXPECT_EQ(ValueNamed(m, "a").declared->dtype, DType::kInt64);
  EXPECT_EQ(ValueNamed(m, "b").declared, nullptr);
  EXPECT_EQ(m->graphs[1].name, "F");
}

// What is inside of an attribute's graphs takes nothing from the lists of the node around it.
TEST(LoadTest, ListsOfNodesAroundBodiesAreTheirOwn) {
  const auto ints = [](const char* name, std::vector<uint64_t> values) {
    return Attribute_(Bytes(1, name) + Packed(8, values));
  };
  const auto pair = [](const char* key) { return Bytes(9, Bytes(1, key) + Bytes(2, "v")); };
  const std::string leaf = Node_("L", {}, {}, ints("l", {7, 8}) + pair("of L"));
  const std::string two_graphs =
      Attribute_(Bytes(1, "two") + Bytes(11, leaf) + Bytes(11, leaf + leaf));
  const std::string inner = Node_("In", {}, {}, ints("p", {4}) + two_graphs + ints("q", {5}));
  const Model m =
      MustLoad(ModelOf(Node_("Out", {}, {"y"},
                             pair("first") + ints("a", {1}) +
                                 Attribute_(Bytes(1, "g") + Bytes(11, inner) + Bytes(11, "")) +
                                 ints("b", {2, 3}) + pair("second"))));
  const Node& out = m->nodes[0];
  ASSERT_EQ(out.attributes.size(), 3U);
  EXPECT_THAT(out.metadata, ElementsAre(Pair("first", "v"), Pair("second", "v")));
  EXPECT_THAT(out.attributes[0].ints, ElementsAre(1));
  EXPECT_THAT(out.attributes[2].ints, ElementsAre(2, 3));
  EXPECT_THAT(out.attributes[1].graphs, ElementsAre(1, 4));
  const Node& in = m->node(m->graphs[1].nodes[0]);
  ASSERT_EQ(in.attributes.size(), 3U);
  EXPECT_THAT(in.attributes[1].graphs, ElementsAre(2, 3));
  EXPECT_THAT(in.attributes[2].ints, ElementsAre(5));
  EXPECT_EQ(m->graphs[3].nodes.size(), 2U);
  EXPECT_THAT(m->node(m->graphs[3].nodes[1]).metadata, ElementsAre(Pair("of L", "v")));
}

// What stands behind a function is not of it.
TEST(LoadTest, AFunctionBeforeTheGraph) {
  const std::string function = Bytes(25, Bytes(1, "f") + Bytes(10, "d") + Bytes(9, Number(2, 17)) +
                                             Bytes(11, Bytes(1, "k") + Number(3, 1)));
  const std::string node = Node_("A", {}, {"z"}, Bytes(7, "other"));
  const Model m = MustLoad(function + ModelOf(Node_("If", {}, {"y"}, Body(node)) + node));
  EXPECT_EQ(*m->graphs[1].function, 0);
  for (const size_t other : {0, 2}) EXPECT_FALSE(m->graphs[other].function.has_value());
  EXPECT_EQ(*m->graphs[2].parent, 0);
  EXPECT_THAT(m->functions[0].opsets, ElementsAre(Pair("", 17)));
  EXPECT_THAT(m->warnings, ElementsAre("the model imports no opset of 'other', which the node of "
                                       "'z' (A) is of"));
  EXPECT_EQ(m->functions[0].attribute_defaults.size(), 1U);
  EXPECT_THAT(m->nodes[0].attributes[0].name, "body");
}

TEST(LoadTest, OverloadsAreDifferentFunctions) {
  const Model m = MustLoad(ModelOf(Call("g", Bytes(8, "two"))) + FunctionCalling("g", {}, "one") +
                           FunctionCalling("g", {}, "two"));
  EXPECT_EQ(*m->nodes[0].function, 1);
}

TEST(LoadTest, ATreeOfCallsIsNoRecursion) {
  std::string bytes = ModelOf(Call("f0"));
  for (int i = 0; i < 60; ++i) {
    const std::string next = absl::StrCat("f", i + 1);
    bytes += FunctionCalling(absl::StrCat("f", i), {next, next});
  }
  EXPECT_EQ(MustLoad(bytes + FunctionCalling("f60", {}))->functions.size(), 61u);
}

// ---- Attributes

Model WithAttributes(const std::string& attributes) {
  return MustLoad(ModelOf(Node_("A", {}, {"a"}, attributes)));
}

TEST(LoadTest, TypeOfAnAttributeIsThatOfItsValueIfNotGiven) {
  const Model m = WithAttributes(Attribute_(Bytes(1, "i") + Number(3, 5)) +
                                 Attribute_(Bytes(1, "is") + Number(8, 5) + Number(8, 6)) +
                                 Attribute_(Bytes(1, "s") + Bytes(4, "text")) +
                                 Attribute_(Bytes(1, "none") + Number(20, 7)));
  EXPECT_EQ(m->nodes[0].attributes[0].type, AttributeType::kInt);
  EXPECT_EQ(m->nodes[0].attributes[1].type, AttributeType::kInts);
  EXPECT_THAT(m->nodes[0].attributes[1].ints, ElementsAre(5, 6));
  EXPECT_EQ(m->nodes[0].attributes[2].s, "text");
  EXPECT_THAT(m->nodes[0].attributes[3].ints, IsEmpty());
}

// As in the fields of AttributeProto, each of which is of one type.
TEST(LoadTest, EveryValueTellsTheTypeOfItsAttribute) {
  const std::string one(4, '\1'), tensor = Number(1, 1) + Number(2, 7) + Packed(7, {5});
  const struct {
    std::string value;
    AttributeType type;
  } cases[] = {{Varint(2 << 3 | 5) + one, AttributeType::kFloat},
               {Number(3, 5), AttributeType::kInt},
               {Bytes(4, "text"), AttributeType::kString},
               {Bytes(5, tensor), AttributeType::kTensor},
               {Bytes(6, Named("g")), AttributeType::kGraph},
               {Varint(7 << 3 | 5) + one, AttributeType::kFloats},
               {Bytes(7, one + one), AttributeType::kFloats},
               {Number(8, 5), AttributeType::kInts},
               {Packed(8, {5, 6}), AttributeType::kInts},
               {Bytes(9, "text"), AttributeType::kStrings},
               {Bytes(10, tensor), AttributeType::kTensors},
               {Bytes(11, Named("g")), AttributeType::kGraphs},
               {Bytes(14, ""), AttributeType::kType},
               {Bytes(15, ""), AttributeType::kTypes}};
  for (const auto& c : cases) {
    const Model m = WithAttributes(Attribute_(Bytes(1, "a") + c.value));
    ASSERT_EQ(m->nodes[0].attributes.size(), 1U);
    EXPECT_EQ(m->nodes[0].attributes[0].type, c.type) << static_cast<int>(c.type);
  }
}

TEST(LoadTest, PackedAndUnpackedListsAreTheSame) {
  const std::string ints = Varint(5) + Varint(static_cast<uint64_t>(-1));
  const Model m = WithAttributes(
      Attribute_(Bytes(1, "packed") + Bytes(8, ints)) +
      Attribute_(Bytes(1, "not") + Number(8, 5) + Number(8, static_cast<uint64_t>(-1))));
  EXPECT_THAT(m->nodes[0].attributes[0].ints, ElementsAre(5, -1));
  EXPECT_THAT(m->nodes[0].attributes[1].ints, ElementsAre(5, -1));
}

// What counts nothing is skipped, lists of numbers without a tag each as well: of a graph that
// initialises a training, the initializers.
TEST(LoadTest, PackedListsInsideOfWhatIsSkipped) {
  const std::string eight(8, '\1');
  const auto training = [](const std::string& tensor) {
    return Bytes(20, Bytes(1, Bytes(5, tensor))) + ModelOf(Output_("y") + Node_("A", {}, {"y"}));
  };
  for (const std::string& tensor :
       {Packed(1, {2, 300}), Bytes(4, eight), Packed(5, {1, 300}), Packed(7, {1, 300}),
        Bytes(10, eight), Packed(11, {1, 300}), Packed(1, {2, 300}) + Bytes(4, eight)}) {
    EXPECT_EQ(MustLoad(training(tensor))->nodes.size(), 1U);  // what comes behind is read
  }
  for (const std::string& tensor : {Bytes(1, "\x80"), Bytes(4, eight.substr(3)),
                                    Bytes(10, eight.substr(4)), Bytes(7, "\1\x80")}) {
    EXPECT_THAT(ErrorOf(training(tensor)), HasSubstr("m.onnx: ")) << tensor;
  }
}

// And whatever message it stands in, what comes behind it is read.
TEST(LoadTest, WhatIsBehindASkippedMessage) {
  const std::string pair = Bytes(1, "k") + Bytes(2, "v");
  const std::string device =
      Bytes(1, "d") + Bytes(2, Bytes(1, "x") + Bytes(2, "\1\2") +
                                   Bytes(4, Bytes(1, "\1") + Bytes(2, Bytes(2, "n"))));
  const std::string tensor =
      Number(1, 1) + Bytes(16, pair) + Number(2, 7) + Bytes(8, "w") + Number(7, 5);
  const std::string skipped = Bytes(14, Bytes(1, "x") + Bytes(2, pair)) + Bytes(16, pair);
  const std::string node =
      Node_("A", {"x"}, {"y"}, Bytes(10, device) + Bytes(9, pair) + Named("n"));
  const std::string graph =
      skipped + Bytes(5, tensor) + node +
      Bytes(11, Bytes(4, pair) + Bytes(1, "x") + Bytes(2, Bytes(1, Number(1, 1))));
  const std::string function = Bytes(25, Bytes(14, pair) + Bytes(1, "f"));
  const Model m = MustLoad(Bytes(20, Bytes(3, pair)) + Bytes(26, Bytes(1, "d") + Number(2, 4)) +
                           function + ModelOf(graph) + Bytes(2, "last"));
  EXPECT_EQ(m->producer_name, "last");
  EXPECT_EQ(m->functions[0].name, "f");
  EXPECT_EQ(m->nodes[0].name, "n");
  EXPECT_EQ(ValueNamed(m, "x").declared->dtype, DType::kFloat32);
  EXPECT_EQ(TensorNamed(m, "w").data.size(), 8U);
}

TEST(LoadTest, AttributeBytesTellEqualAttributes) {
  const std::string i = Attribute_(Bytes(1, "i") + Number(3, 5) + Number(20, 2));
  const Model m =
      MustLoad(ModelOf(Node_("A", {}, {"a"}, i + i.substr(0, 2) + Bytes(1, "j") + i.substr(5)) +
                       Node_("A", {}, {"b"}, i) + Node_("A", {}, {"c"}, i) +
                       Node_("A", {}, {"d"}, i + Bytes(3, "name"))));
  EXPECT_EQ(m->nodes[1].attribute_bytes, i);
  EXPECT_EQ(m->nodes[1].attribute_bytes, m->nodes[2].attribute_bytes);
  EXPECT_EQ(m->nodes[1].attribute_bytes, m->nodes[3].attribute_bytes);
  EXPECT_NE(m->nodes[1].attribute_bytes, m->nodes[0].attribute_bytes);
  EXPECT_TRUE(m->nodes[0].attributes_comparable);
}

TEST(LoadTest, AttributesWithGraphsSkippedPayloadsOrGapsAreNotComparable) {
  const std::string large =
      Bytes(5, Number(1, 5000) + Number(2, 7) + Bytes(9, std::string(40000, 'x')));
  const std::string i = Attribute_(Bytes(1, "i") + Number(3, 5));
  const std::string j = Attribute_(Bytes(1, "j") + Number(3, 5));
  const Model m = MustLoad(ModelOf(Node_("A", {}, {"a"}, Attribute_(Bytes(1, "t") + large)) +
                                   Node_("A", {}, {"b"}, Body(Node_("B", {}, {"q"}))) +
                                   Node_("A", {}, {"c"}, i + Bytes(3, "name") + j)));
  for (const Node& node : m->nodes) {
    EXPECT_EQ(node.attributes_comparable, node.op_type == "B") << node.op_type;
    EXPECT_EQ(node.attribute_bytes, "");
  }
}

TEST(LoadTest, NodesOfEqualAttributesShareThem) {
  const std::string i =
      Attribute_(Bytes(1, "i") + Bytes(5, Number(1, 1) + Number(2, 2) + Bytes(9, "x")));
  const std::string j = Attribute_(Bytes(1, "j") + Number(3, 5));
  const Model m = MustLoad(
      ModelOf(Node_("A", {}, {"a"}, i) + Node_("A", {}, {"b"}, i) + Node_("A", {}, {"c"}, i + j) +
              Node_("A", {}, {"d"}, i + Bytes(3, "name") + j) + Node_("A", {}, {"e"}, i)));
  for (const size_t same : {1, 4}) {
    EXPECT_EQ(m->nodes[same].attributes.data(), m->nodes[0].attributes.data());
    EXPECT_EQ(m->nodes[same].attribute_bytes.data(), m->nodes[0].attribute_bytes.data());
  }
  for (const size_t longer : {2, 3}) {
    ASSERT_EQ(m->nodes[longer].attributes.size(), 2);
    EXPECT_EQ(m->tensor(m->nodes[longer].attributes[0].tensors[0]).data, "x");
    EXPECT_EQ(m->nodes[longer].attributes[1].i, 5);
  }
  EXPECT_EQ(m->nodes[2].attribute_bytes, i + j);
  EXPECT_FALSE(m->nodes[3].attributes_comparable);
}

TEST(LoadTest, TensorsWithoutDataAreNotShared) {
  const std::string t = Attribute_(Bytes(1, "t") + Bytes(5, Number(1, 3) + Number(2, 1)));
  const Model m = MustLoad(ModelOf(Node_("A", {}, {"a"}, t) + Node_("A", {}, {"b"}, t)));
  EXPECT_EQ(m->tensors.size(), 2);
  EXPECT_NE(m->nodes[0].attributes.data(), m->nodes[1].attributes.data());
  EXPECT_EQ(m->nodes[0].attribute_bytes.data(), m->nodes[1].attribute_bytes.data());
}

// ---- Types

TEST(LoadTest, DimensionsAreSizesOrNames) {
  const std::string size = Number(1, 7), name = Bytes(2, "n"), unknown = Number(1, ~uint64_t{0});
  std::string dims;
  for (const std::string& dim : {size, name, size + name, name + size, unknown, name + unknown,
                                 std::string(), Bytes(3, "DATA_BATCH")}) {
    dims += Bytes(1, dim);
  }
  const std::string type = Bytes(1, Bytes(2, dims) + Number(1, 1) + Bytes(2, Bytes(1, size)));
  const Model m = MustLoad(ModelOf(Bytes(11, Bytes(1, "x") + Bytes(2, type))));
  const absl::Span<const DeclaredDim> found = ValueNamed(m, "x").declared->dims;
  std::vector<std::string> texts;
  for (const DeclaredDim& dim : found) texts.push_back(absl::StrCat(dim.size, dim.name));
  EXPECT_THAT(texts, ElementsAre("7", "-1n", "-1n", "7", "-1", "-1", "-1", "-1", "7"));
  EXPECT_THAT(m->warnings, ElementsAre("dimensions declared as -1, read as unknown: 2"));
}

// Of several kinds of type in one message the last counts; of one kind, parts are merged.
TEST(LoadTest, TypesThatAreGivenTwice) {
  const std::string tensor = Bytes(1, Number(1, 7)), size = Bytes(2, Bytes(1, Number(1, 3)));
  const auto type_of = [](const std::string& type) {
    return *ValueNamed(MustLoad(ModelOf(Bytes(11, Bytes(1, "x") + type))), "x").declared;
  };
  EXPECT_EQ(type_of(Bytes(2, tensor)).has_shape, false);
  const DeclaredType merged = type_of(Bytes(2, tensor + Bytes(1, size)) + Bytes(2, Bytes(1, "")));
  EXPECT_EQ(merged.dtype, DType::kInt64);
  EXPECT_EQ(merged.dims.size(), 1U);
  const DeclaredType other = type_of(Bytes(2, tensor + Bytes(8, Bytes(2, ""))));
  EXPECT_EQ(other.kind, TypeKind::kSparseTensor);
  EXPECT_EQ(other.dtype, DType::kUndefined);
  EXPECT_TRUE(other.has_shape);
  const DeclaredType map = type_of(Bytes(2, Bytes(5, Number(1, 7) + Bytes(2, tensor))));
  EXPECT_EQ(map.kind, TypeKind::kMap);
  EXPECT_EQ(map.element->kind, TypeKind::kTensor);
  EXPECT_EQ(type_of(Bytes(2, Bytes(7, Bytes(1, "d")))).kind, TypeKind::kOpaque);
  const DeclaredType optional = type_of(Bytes(2, Bytes(9, Bytes(1, Bytes(4, Bytes(1, tensor))))));
  EXPECT_EQ(optional.element->element->dtype, DType::kInt64);
}

// An input's own type counts before that of an output or of a list, that of an output before the
// list's, and the first of several.
TEST(LoadTest, WhoseTypeAValueHas) {
  const auto typed = [](uint32_t field, const char* name, uint64_t type) {
    return Bytes(field, Bytes(1, name) + Bytes(2, Bytes(1, Number(1, type))));
  };
  const Model m = MustLoad(ModelOf(Node_("A", {"x", "h"}, {"y"}) + Node_("B", {}, {"h"}) +
                                   Node_("C", {}, {"z"}) + typed(13, "x", 9) + typed(13, "y", 9) +
                                   typed(13, "h", 7) + typed(13, "h", 8) + typed(13, "gone", 5) +
                                   Bytes(13, Bytes(1, "z")) + typed(12, "y", 6) +
                                   typed(12, "x", 2) + typed(11, "x", 1)));
  EXPECT_EQ(ValueNamed(m, "x").declared->dtype, DType::kFloat32);
  EXPECT_EQ(ValueNamed(m, "y").declared->dtype, DType::kInt32);
  EXPECT_EQ(ValueNamed(m, "h").declared->dtype, DType::kInt64);
  EXPECT_EQ(ValueNamed(m, "z").declared, nullptr);
  EXPECT_EQ(m->values.size(), 4U);
}

TEST(LoadTest, TypesOfEveryKind) {
  const Model m =
      MustLoad(GraphText("g (seq(float[N]) s, optional(float[3]) o, map(int64, string[]) m, "
                         "sparse_tensor(float[4]) p, "
                         "float u) => () { }"));
  EXPECT_EQ(ValueNamed(m, "s").declared->kind, TypeKind::kSequence);
  EXPECT_EQ(ValueNamed(m, "s").declared->element->dims[0].name, "N");
  EXPECT_EQ(ValueNamed(m, "o").declared->kind, TypeKind::kOptional);
  EXPECT_EQ(ValueNamed(m, "m").declared->kind, TypeKind::kMap);
  EXPECT_EQ(ValueNamed(m, "m").declared->dtype, DType::kInt64);
  EXPECT_EQ(ValueNamed(m, "m").declared->element->dtype, DType::kString);
  EXPECT_EQ(ValueNamed(m, "p").declared->kind, TypeKind::kSparseTensor);
  EXPECT_TRUE(ValueNamed(m, "u").declared->has_shape);
}

// ---- Warnings

TEST(LoadTest, OddButUnderstoodIsAWarning) {
  const std::string dim = Bytes(1, Bytes(1, Number(1, static_cast<uint64_t>(-1))));
  const std::string type =
      Bytes(1, Number(1, 1) + Bytes(2, Bytes(1, Number(1, static_cast<uint64_t>(-1)))));
  const Model m =
      MustLoad(ModelOf(Node_("Gelu", {"x"}, {"y"}, Bytes(3, "n") + Bytes(7, "com.microsoft")) +
                       Initializer_("w", {3}, "") + Bytes(11, Bytes(1, "x") + Bytes(2, type))));
  EXPECT_EQ(ValueNamed(m, "x").declared->dims[0].size, -1);
  EXPECT_THAT(
      m->warnings,
      ElementsAre("the model imports no opset of 'com.microsoft', which node 'n' (Gelu) is of",
                  "dimensions declared as -1, read as unknown: 1", "tensors without a payload: 1"));
}

TEST(LoadTest, FunctionsWithoutAnOpsetUseTheModels) {
  const std::string node = Bytes(7, Bytes(2, "y") + Bytes(4, "Relu"));
  const Model m = MustLoad(ModelOf("") + Bytes(25, Bytes(1, "f") + node));
  EXPECT_THAT(m->functions[0].opsets, ElementsAre(Pair("", 17)));
  EXPECT_THAT(m->warnings,
              ElementsAre("function 'f' imports no opset of 'ai.onnx', which the node of "
                          "'y' (Relu) is of"));
}

// Up to ten domains are named, and of a function each for itself.
TEST(LoadTest, DomainsWithoutAnOpset) {
  for (const int count : {9, 10, 11, 13}) {
    std::string graph;
    for (int i = 0; i < count; ++i) {
      for (const char* again : {"a", "b"}) {
        graph += Node_("A", {}, {absl::StrCat(again, i)}, Bytes(7, absl::StrCat("d", i)));
      }
    }
    const std::vector<std::string> warnings = MustLoad(ModelOf(graph))->warnings;
    ASSERT_EQ(warnings.size(), static_cast<size_t>(std::min(count, 11)));
    EXPECT_EQ(warnings[8], "the model imports no opset of 'd8', which the node of 'a8' (A) is of");
    if (count < 11) continue;
    EXPECT_EQ(warnings[10], absl::StrCat(count - 10, " more domains are used without an opset"));
  }
}

TEST(LoadTest, DomainsOfFunctionsAreTheirOwn) {
  const auto function = [](const std::string& name, const std::string& opset) {
    return Bytes(25, Bytes(1, name) + Bytes(10, "local") + opset +
                         Bytes(7, Bytes(2, "y") + Bytes(4, "A") + Bytes(7, "d")) +
                         Bytes(7, Bytes(2, "z") + Bytes(4, "f") + Bytes(7, "local")));
  };
  const std::string of_d = Bytes(9, Bytes(1, "d") + Number(2, 3));
  const std::string node = Node_("A", {}, {"y"}, Bytes(7, "d"));
  const Model m = MustLoad(ModelOf(node) + Opset("d", 4) + function("g", of_d) + function("h", "") +
                           Bytes(25, Bytes(1, "f") + Bytes(10, "local")));
  EXPECT_THAT(m->functions[0].opsets, ElementsAre(Pair("d", 3)));
  EXPECT_THAT(m->functions[1].opsets, ElementsAre(Pair("d", 4)));
  EXPECT_THAT(m->warnings,
              ElementsAre("function 'h' imports no opset of 'd', which the node of 'y' (A) is of"));
  EXPECT_THAT(ErrorOf(Number(1, 8) + Bytes(7, "") + Opset("d", 4) +
                      Bytes(25, Bytes(1, "f") + Bytes(7, Bytes(4, "Relu") + Named("r")))),
              HasSubstr("node 'r' (Relu) is an operator of ai.onnx, but function 'f' imports no "
                        "opset of it"));
}

// ---- Large graphs

TEST(LoadTest, AHundredThousandNodesInReverse) {
  constexpr int kNodes = 100'000;
  std::string graph;
  for (int i = kNodes; i > 0; --i) {
    graph += Node_("Relu", {absl::StrCat("v", i - 1)}, {absl::StrCat("v", i)});
  }
  const Model m = MustLoad(ModelOf(graph + Input_("v0") + Output_(absl::StrCat("v", kNodes))));
  ASSERT_EQ(m->graphs[0].nodes.size(), static_cast<size_t>(kNodes));
  EXPECT_EQ(m->graphs[0].nodes.front(), kNodes - 1);
  EXPECT_EQ(m->graphs[0].nodes.back(), 0);
  EXPECT_EQ(m->values.size(), static_cast<size_t>(kNodes) + 1);
}

TEST(LoadTest, ManyThreadsLoadAtOnce) {
  const std::string bytes = GraphText(kIf);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) EXPECT_EQ(MustLoad(bytes)->graphs.size(), 3u);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- Element types

TEST(DTypeTest, NamesGoBothWays) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(ParseDType(DTypeName(type)), type);
    EXPECT_EQ(DTypeFromOnnx(i), type);
  }
  EXPECT_EQ(ParseDType("float"), DType::kFloat32);
  EXPECT_EQ(ParseDType("double"), DType::kFloat64);
  EXPECT_EQ(ParseDType("undefined"), std::nullopt);
  EXPECT_EQ(ParseDType(""), std::nullopt);
  EXPECT_EQ(DTypeFromOnnx(kNumDTypes), std::nullopt);
  EXPECT_EQ(DTypeFromOnnx(-1), std::nullopt);
}

TEST(DTypeTest, KindsAndSizes) {
  EXPECT_EQ(BitsPerElement(DType::kBool), 8);
  EXPECT_EQ(BitsPerElement(DType::kInt4), 4);
  EXPECT_EQ(BitsPerElement(DType::kComplex128), 128);
  EXPECT_EQ(BitsPerElement(DType::kString), 0);
  EXPECT_TRUE(IsFloat(DType::kFloat4E2M1) && IsFloat(DType::kBfloat16) &&
              IsFloat(DType::kComplex64));
  EXPECT_TRUE(IsInteger(DType::kUint2) && !IsInteger(DType::kBool) && !IsFloat(DType::kBool));
  EXPECT_TRUE(IsComplex(DType::kComplex64) && !IsComplex(DType::kFloat32));
}

TEST(ModelTest, NodesAreDescribedByNameOrOutput) {
  const Model m = MustLoad(
      ModelOf(Node_("A", {}, {"a"}, Named("n")) + Node_("B", {}, {"", "b"}) + Node_("C", {}, {})));
  EXPECT_EQ(DescribeNode(*m, 0), "node 'n' (A)");
  EXPECT_EQ(DescribeNode(*m, 1), "the node of 'b' (B)");
  EXPECT_EQ(DescribeNode(*m, 2), "a node without name (C)");
}

}  // namespace
}  // namespace onnxflops::load_test
