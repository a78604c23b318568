// The loader: what a Model says of a file.
#include "src/load/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "tests/load/load_bytes.h"

namespace onnxflops {
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

TEST(LoadTest, MetadataOfModelAndNodes) {
  const std::string pair = Bytes(1, "key") + Bytes(2, "value");
  const Model m = MustLoad(ModelOf(Node_("A", {}, {"a"}, Bytes(9, pair) + Bytes(9, pair))) +
                           Bytes(14, pair) + Bytes(2, "pytorch") + Bytes(3, "2.9"));
  EXPECT_THAT(m->metadata, ElementsAre(Pair("key", "value")));
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

// ---- Tensors

struct PayloadCase {
  int dtype;
  int64_t elements;
  std::string fields;
  std::string data;  // as kept
};

TEST(LoadTest, PayloadsOfEveryField) {
  using std::string_literals::operator""s;
  const uint64_t minus_one = ~uint64_t{0};
  const PayloadCase cases[] = {
      {1, 1, Bytes(4, "abcd"), "abcd"},
      {1, 2, Varint(4 << 3 | 5) + "abcd" + Varint(4 << 3 | 5) + "efgh", "abcdefgh"},
      {14, 1, Bytes(4, "abcdefgh"), "abcdefgh"},
      {11, 1, Bytes(10, "abcdefgh"), "abcdefgh"},
      {15, 1, Bytes(10, "abcdefghijklmnop"), "abcdefghijklmnop"},
      {6, 2, Packed(5, {1, minus_one}), "\1\0\0\0\xff\xff\xff\xff"s},
      {3, 2, Packed(5, {1, minus_one}), "\1\xff"},
      {9, 2, Number(5, 1) + Number(5, 0), "\1\0"s},
      {10, 1, Packed(5, {0x3c00}), "\0\x3c"s},
      {7, 2, Packed(7, {1}) + Packed(7, {2}), "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"s},
      {12, 1, Packed(11, {7}), "\7\0\0\0"s},
      {13, 1, Packed(11, {7}), "\7\0\0\0\0\0\0\0"s},
      {22, 3, Packed(5, {0x21, 0x03}), "\x21\x03"},  // int4: two in an entry
      {25, 5, Packed(5, {0x21, 0x03}), "\x21\x03"},  // uint2: four
      {22, 3, Bytes(9, "ab"), "ab"},
      {25, 5, Bytes(9, "ab"), "ab"},
      {27, 5, Bytes(9, "abcd"), "abcd"},  // float6: four in three bytes
      {7, 1, Bytes(9, "abcdefgh"), "abcdefgh"},
  };
  for (const PayloadCase& c : cases) {
    const Model m = MustLoad(ModelOf(Bytes(5, Number(1, static_cast<uint64_t>(c.elements)) +
                                                  Number(2, static_cast<uint64_t>(c.dtype)) +
                                                  Bytes(8, "w") + c.fields)));
    EXPECT_TRUE(TensorNamed(m, "w").has_data) << c.dtype;
    EXPECT_EQ(TensorNamed(m, "w").data, c.data) << c.dtype;
  }
}

TEST(LoadTest, StringTensors) {
  const Model m = MustLoad(ModelOf(
      Bytes(5, Number(1, 2) + Number(2, 8) + Bytes(8, "w") + Bytes(6, "a") + Bytes(6, ""))));
  EXPECT_THAT(TensorNamed(m, "w").strings, ElementsAre("a", ""));
}

TEST(LoadTest, ExternalDataIsNotOpened) {
  const std::string location = Bytes(13, Bytes(1, "location") + Bytes(2, "/etc/passwd"));
  const Model m = MustLoad(ModelOf(Initializer_("w", {3}, location + Number(14, 1))));
  EXPECT_TRUE(TensorNamed(m, "w").external);
  EXPECT_FALSE(TensorNamed(m, "w").has_data);
  EXPECT_THAT(m->warnings, IsEmpty());
}

TEST(LoadTest, SparseInitializersHaveTheirDenseShape) {
  const std::string values = Number(1, 1) + Number(2, 1) + Bytes(8, "w") + Bytes(9, "abcd");
  const std::string indices = Number(1, 1) + Number(2, 7) + Packed(7, {5});
  const Model m = MustLoad(
      ModelOf(Bytes(15, Bytes(1, values) + Bytes(2, indices) + Number(3, 3) + Number(3, 4))));
  EXPECT_THAT(TensorNamed(m, "w").dims, ElementsAre(3, 4));
  EXPECT_EQ(TensorNamed(m, "w").elements, 12);
  EXPECT_FALSE(TensorNamed(m, "w").has_data);
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
}  // namespace onnxflops
