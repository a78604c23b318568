// The loader: what a Model says of a file, and what is said of a file that is no good.
#include "src/load/load.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/load/byte_region.h"

namespace onnxflops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

// ---- Building files
// ---------------------------------------------------------------------------------

std::string Varint(uint64_t n) {
  std::string out;
  for (; n >= 0x80; n >>= 7) out += static_cast<char>(n | 0x80);
  return out + static_cast<char>(n);
}
// Fields of a message: a number, and anything with a length.
std::string Number(uint32_t field, uint64_t value) { return Varint(field << 3) + Varint(value); }
std::string Bytes(uint32_t field, const std::string& bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
}

std::string Attribute_(const std::string& fields) { return Bytes(5, fields); }
std::string Node_(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs, const std::string& more = "") {
  std::string node;
  for (const std::string& name : inputs) node += Bytes(1, name);
  for (const std::string& name : outputs) node += Bytes(2, name);
  return Bytes(1, node + Bytes(4, op) + more);
}
std::string Input_(const std::string& name) { return Bytes(11, Bytes(1, name)); }
std::string Output_(const std::string& name) { return Bytes(12, Bytes(1, name)); }
// An initializer of int64.
std::string Initializer_(const std::string& name, const std::vector<int64_t>& dims,
                         const std::string& payload) {
  std::string tensor;
  for (const int64_t dim : dims) tensor += Number(1, static_cast<uint64_t>(dim));
  return Bytes(5, tensor + Number(2, 7) + Bytes(8, name) + payload);
}
std::string Opset(const std::string& domain, uint64_t version) {
  return Bytes(8, Bytes(1, domain) + Number(2, version));
}
std::string ModelOf(const std::string& graph) {
  return Number(1, 8) + Bytes(7, graph) + Opset("", 17);
}

// A model in ONNX's own text form.
std::string Text(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model.SerializeAsString();
}
// A graph in text form, as a model of opset 17.
std::string GraphText(const std::string& graph) {
  return Text("<ir_version: 8, opset_import: [\"\" : 17]> " + graph);
}

// ---- Looking at models
// ------------------------------------------------------------------------------

Model MustLoad(const std::string& bytes) {
  absl::StatusOr<Model> model = LoadFromBytes(bytes, "m.onnx");
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model(std::make_shared<ModelData>());
}

std::string ErrorOf(const std::string& bytes) {
  const absl::StatusOr<Model> model = LoadFromBytes(bytes, "m.onnx");
  return model.ok() ? "it loads" : std::string(model.status().message());
}

const Value& ValueNamed(const Model& m, absl::string_view name) {
  static const auto& none = *new Value();
  for (const Value& value : m->values) {
    if (value.name == name) return value;
  }
  ADD_FAILURE() << "no value " << name;
  return none;
}

std::vector<std::string> OpTypes(const Model& m, const std::vector<NodeId>& nodes) {
  std::vector<std::string> ops;
  ops.reserve(nodes.size());
  for (const NodeId id : nodes) ops.emplace_back(m->nodes[static_cast<size_t>(id)].op_type);
  return ops;
}

std::vector<std::string> Names(const Model& m, absl::Span<const ValueId> ids) {
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (const ValueId id : ids) {
    names.emplace_back(id == kNone ? "-" : m->values[static_cast<size_t>(id)].name);
  }
  return names;
}

const Tensor& TensorNamed(const Model& m, absl::string_view name) {
  return m->tensors[static_cast<size_t>(ValueNamed(m, name).initializer)];
}

constexpr char kSmall[] =
    "g (float[N, 4] x) => (float[N, 2] y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, "
    "int64[1] axes = {1}> { h = MatMul(x, w)  y = ReduceSum<keepdims = 1>(h, axes) }";

// ---- What is in a model
// -----------------------------------------------------------------------------

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
  EXPECT_EQ(ValueNamed(m, "h").producer, 0);
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
  EXPECT_NE(ValueNamed(m, "w").initializer, kNone);
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
  EXPECT_EQ(ValueNamed(m, "y").producer, 1);
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
// ---------------------------------------------------------------------------

constexpr char kIf[] =
    "g (bool c, float[2] x) => (float[2] y) { h = Relu(x)  y = If (c) <"
    "then_branch = t () => (float[2] t) { t = Add(h, x) }, "
    "else_branch = e () => (float[2] e) { h = Neg(x)  e = Mul(h, h) }> }";

TEST(LoadTest, BodiesUseNamesFromAroundThem) {
  const Model m = MustLoad(GraphText(kIf));
  ASSERT_EQ(m->graphs.size(), 3u);
  const Graph& then_branch = m->graphs[1];
  EXPECT_EQ(then_branch.parent, 0);
  EXPECT_EQ(m->nodes[static_cast<size_t>(then_branch.parent_node)].op_type, "If");
  const Node& add = m->nodes[static_cast<size_t>(then_branch.nodes[0])];
  EXPECT_EQ(add.inputs[0], m->nodes[0].outputs[0]);
  EXPECT_EQ(add.inputs[1], m->graphs[0].inputs[1]);
  EXPECT_EQ(then_branch.end_value - then_branch.first_value, 1);
  EXPECT_TRUE(m->nodes[static_cast<size_t>(then_branch.parent_node)].has_graphs);
}

TEST(LoadTest, BodiesMayDefineANameAgain) {
  const Model m = MustLoad(GraphText(kIf));
  const Graph& else_branch = m->graphs[2];
  const Node& mul = m->nodes[static_cast<size_t>(else_branch.nodes[1])];
  EXPECT_EQ(mul.inputs[0], m->nodes[static_cast<size_t>(else_branch.nodes[0])].outputs[0]);
  EXPECT_NE(mul.inputs[0], m->nodes[0].outputs[0]);
  EXPECT_EQ(m->values.size(), 7u);  // c x h y, t, h e
}

std::string Body(const std::string& graph) {
  return Attribute_(Bytes(1, "body") + Bytes(6, graph) + Number(20, 5));
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
  EXPECT_EQ(m->nodes.back().inputs[9'999], m->graphs[0].inputs[9'999]);
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
  EXPECT_EQ(body.function, 0);
  EXPECT_EQ(body.parent, kNone);
  EXPECT_THAT(Names(m, body.inputs), ElementsAre("a"));
  EXPECT_THAT(Names(m, body.outputs), ElementsAre("b"));
  EXPECT_EQ(m->nodes[0].function, 0);
  EXPECT_EQ(m->nodes[1].attributes[0].ref_attr_name, "k");
}

// A function of domain "f" without inputs that calls others.
std::string FunctionCalling(const std::string& name, const std::vector<std::string>& callees,
                            const std::string& overload = "") {
  std::string f = Bytes(1, name) + Bytes(10, "f") + Bytes(9, Bytes(1, "f") + Number(2, 1)) +
                  (overload.empty() ? "" : Bytes(13, overload));
  int calls = 0;
  for (const std::string& callee : callees) {
    f += Bytes(7, Bytes(2, absl::StrCat("call", ++calls)) + Bytes(4, callee) + Bytes(7, "f"));
  }
  return Bytes(25, f);
}
std::string Call(const std::string& name, const std::string& more = "") {
  return Node_(name, {}, {"y"}, Bytes(7, "f") + more);
}

TEST(LoadTest, OverloadsAreDifferentFunctions) {
  const Model m = MustLoad(ModelOf(Call("g", Bytes(8, "two"))) + FunctionCalling("g", {}, "one") +
                           FunctionCalling("g", {}, "two"));
  EXPECT_EQ(m->nodes[0].function, 1);
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
// -------------------------------------------------------------------------------------

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

TEST(LoadTest, PackedAndUnpackedListsAreTheSame) {
  const std::string ints = Varint(5) + Varint(static_cast<uint64_t>(-1));
  const Model m = WithAttributes(
      Attribute_(Bytes(1, "packed") + Bytes(8, ints)) +
      Attribute_(Bytes(1, "not") + Number(8, 5) + Number(8, static_cast<uint64_t>(-1))));
  EXPECT_THAT(m->nodes[0].attributes[0].ints, ElementsAre(5, -1));
  EXPECT_THAT(m->nodes[0].attributes[1].ints, ElementsAre(5, -1));
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

// ---- Tensors
// ----------------------------------------------------------------------------------------

struct PayloadCase {
  int dtype;
  int64_t elements;
  std::string fields;
  std::string data;  // as kept
};

std::string Packed(uint32_t field, const std::vector<uint64_t>& entries) {
  std::string bytes;
  for (const uint64_t entry : entries) bytes += Varint(entry);
  return Bytes(field, bytes);
}

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
// ---------------------------------------------------------------------------------------

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

// ---- Errors
// -----------------------------------------------------------------------------------------

TEST(LoadTest, FunctionsWithoutAnOpsetUseTheModels) {
  const std::string node = Bytes(7, Bytes(2, "y") + Bytes(4, "Relu"));
  const Model m = MustLoad(ModelOf("") + Bytes(25, Bytes(1, "f") + node));
  EXPECT_THAT(m->functions[0].opsets, ElementsAre(Pair("", 17)));
  EXPECT_THAT(m->warnings,
              ElementsAre("function 'f' imports no opset of 'ai.onnx', which the node of "
                          "'y' (Relu) is of"));
}

// ---- Errors

struct ErrorCase {
  const char* what;
  std::string bytes;
  std::string message;
};

void ExpectErrors(const std::vector<ErrorCase>& cases) {
  for (const ErrorCase& c : cases) {
    EXPECT_EQ(ErrorOf(c.bytes), "m.onnx: " + c.message) << c.what;
  }
}

std::string Named(const std::string& name) { return Bytes(3, name); }

TEST(LoadErrorTest, Graphs) {
  ExpectErrors({
      {"missing value", ModelOf(Node_("Add", {"x", "nope"}, {"y"}, Named("X")) + Input_("x")),
       "node 'X' (Add): input 'nope' is not produced by any node, input or initializer"},
      {"missing in a body",
       ModelOf(Node_("If", {}, {"y"}, Body(Node_("Add", {"nope"}, {"z"}, Named("inner"))))),
       "node 'inner' (Add): input 'nope' is not produced by any node, input or initializer"},
      {"body's values are its own",
       ModelOf(Node_("If", {}, {"y"}, Body(Node_("A", {}, {"z"}))) +
               Node_("B", {"z"}, {}, Named("B"))),
       "node 'B' (B): input 'z' is not produced by any node, input or initializer"},
      {"graph output", ModelOf(Output_("y")),
       "graph output 'y' is not produced by any node, input or initializer"},
      {"output twice",
       ModelOf(Node_("A", {}, {"y"}, Named("a")) + Node_("B", {}, {"y"}, Named("b"))),
       "value 'y' is defined twice, by node 'a' (A) and by node 'b' (B)"},
      {"output twice, no names", ModelOf(Node_("A", {}, {"y"}) + Node_("B", {}, {"y"})),
       "value 'y' is defined twice, by node 1 of the file (A) and by node 2 of the file (B)"},
      {"output and input", ModelOf(Node_("A", {}, {"y"}, Named("a")) + Input_("y")),
       "value 'y' is defined twice, by node 'a' (A) and by a graph input"},
      {"initializer and output",
       ModelOf(Initializer_("y", {0}, "") + Node_("A", {}, {"y"}, Named("a"))),
       "value 'y' is defined twice, by an initializer and by node 'a' (A)"},
      {"initializer twice", ModelOf(Initializer_("w", {0}, "") + Initializer_("w", {0}, "")),
       "initializer 'w' is given twice"},
      {"input twice", ModelOf(Input_("x") + Input_("x")), "graph input 'x' is given twice"},
      {"input without name", ModelOf(Input_("")), "an input of the graph has no name"},
      {"output without name", ModelOf(Output_("")), "an output of the graph has no name"},
      {"initializer without name", ModelOf(Initializer_("", {0}, "")),
       "an initializer has no name"},
      {"no op_type", ModelOf(Bytes(1, Named("n"))), "node 'n' has no op_type"},
  });
}

TEST(LoadErrorTest, Cycles) {
  std::string ring;
  for (int i = 0; i < 1000; ++i) {
    ring += Node_("A", {absl::StrCat("v", i)}, {absl::StrCat("v", (i + 1) % 1000)},
                  Named(absl::StrCat("n", i)));
  }
  ExpectErrors({
      {"two", ModelOf(Node_("A", {"y"}, {"x"}, Named("a")) + Node_("B", {"x"}, {"y"}, Named("b"))),
       "its nodes form a cycle: a -> b -> a"},
      {"one", ModelOf(Node_("A", {"x"}, {"x"}, Named("a"))), "its nodes form a cycle: a -> a"},
      {"through a body",
       ModelOf(Node_("If", {}, {"x"}, Named("if") + Body(Node_("A", {"y"}, {"z"}))) +
               Node_("B", {"x"}, {"y"}, Named("b"))),
       "its nodes form a cycle: if -> b -> if"},
      {"long", ModelOf(ring),
       "its nodes form a cycle: n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n7 "
       "-> ... (992 more) -> n0"},
  });
}

TEST(LoadErrorTest, Functions) {
  ExpectErrors({
      {"itself", ModelOf(Call("a")) + FunctionCalling("a", {"a"}),
       "its local functions call each other in a circle: a -> a"},
      {"each other, though nobody calls them",
       ModelOf("") + FunctionCalling("x", {"a"}) + FunctionCalling("a", {"b"}) +
           FunctionCalling("b", {"a"}),
       "its local functions call each other in a circle: a -> b -> a"},
      {"twice", ModelOf("") + FunctionCalling("a", {}) + FunctionCalling("a", {}),
       "function 'a' of domain 'f' is defined twice"},
      {"no name", ModelOf("") + Bytes(25, Bytes(10, "f")), "function '': has no name"},
      {"output", ModelOf("") + Bytes(25, Bytes(1, "a") + Bytes(5, "y")),
       "function 'a': graph output 'y' is not produced by any node, input or initializer"},
  });
  std::string chain = ModelOf("") + FunctionCalling(absl::StrCat("f", kMaxCallDepth), {});
  for (int i = 0; i < kMaxCallDepth; ++i) {
    chain += FunctionCalling(absl::StrCat("f", i), {absl::StrCat("f", i + 1)});
  }
  EXPECT_THAT(ErrorOf(chain), HasSubstr("(kMaxCallDepth)"));
}

TEST(LoadErrorTest, VersionsAndOpsets) {
  const std::string graph = Bytes(7, "");
  const std::string relu = Bytes(7, Node_("Relu", {}, {"y"}, Named("r")));
  ExpectErrors({
      {"nothing but a version", Number(1, 8), "has no graph: not an ONNX model, or truncated"},
      {"no version", graph + Opset("", 17), "has no ir_version: not an ONNX model, or damaged"},
      {"no opset", Number(1, 8) + graph,
       "has no opset_import: what its operators mean is not said"},
      {"new IR", Number(1, 99) + graph, "IR version 99; this version knows up to 14"},
      {"new opset", Number(1, 8) + graph + Opset("", 99),
       "opset 99; this version knows 1 up to 28"},
      {"opset 0", Number(1, 8) + graph + Opset("", 0), "opset 0; this version knows 1 up to 28"},
      {"two opsets", Number(1, 8) + graph + Opset("", 17) + Opset("ai.onnx", 18),
       "imports the opset of 'ai.onnx' twice, as 17 and as 18"},
      {"no opset of ai.onnx", Number(1, 8) + relu + Opset("other", 1),
       "node 'r' (Relu) is an operator of ai.onnx, but the model imports no opset of it"},
  });
}

TEST(LoadErrorTest, Attributes) {
  const auto with = [](const std::string& fields) {
    return ModelOf(Node_("A", {}, {"y"}, Named("n") + Attribute_(fields)));
  };
  ExpectErrors({
      {"other value", with(Bytes(1, "axis") + Bytes(4, "x") + Number(20, 2)),
       "node 'n' (A): attribute 'axis': is of type INT but holds a value of type STRING"},
      {"two values", with(Bytes(1, "axis") + Bytes(4, "x") + Number(3, 2)),
       "node 'n' (A): attribute 'axis': is of type INT but holds a value of type STRING"},
      {"nothing", with(Bytes(1, "axis")),
       "node 'n' (A): attribute 'axis': has neither a type nor a value"},
      {"unknown type", with(Bytes(1, "axis") + Number(20, 99)),
       "node 'n' (A): attribute 'axis': is of type 99, which ONNX 1.23.2 does not have"},
      {"no name", with(Number(3, 1)), "node 'n' (A): attribute '': has no name"},
      {"twice",
       ModelOf(Node_("A", {}, {"y"},
                     Named("n") + Attribute_(Bytes(1, "i") + Number(3, 1)) +
                         Attribute_(Bytes(1, "i") + Number(3, 1)))),
       "node 'n' (A): attribute 'i' is given twice"},
      {"tensor inside",
       with(Bytes(1, "value") + Bytes(5, Number(1, 2) + Number(2, 7) + Bytes(9, "1234567"))),
       "node 'n' (A): attribute 'value': tensor: int64[2] needs 16 bytes, raw_data has 7"},
  });
}

TEST(LoadErrorTest, Tensors) {
  const auto with = [](const std::vector<int64_t>& dims, const std::string& fields) {
    return ModelOf(Initializer_("w", dims, fields));
  };
  const std::string external = Number(14, 1) + Bytes(13, Bytes(1, "length") + Bytes(2, "9"));
  ExpectErrors({
      {"raw too short", with({1}, Bytes(9, "1234567")),
       "initializer 'w': int64[1] needs 8 bytes, raw_data has 7"},
      {"raw too long", with({}, Bytes(9, "123456789")),
       "initializer 'w': int64[] needs 8 bytes, raw_data has 9"},
      {"large raw", with({5000}, Bytes(9, std::string(40001, 'x'))),
       "initializer 'w': int64[5000] needs 40000 bytes, raw_data has 40001"},
      {"too few entries", with({3}, Packed(7, {1, 2})),
       "initializer 'w': int64[3] needs 3 entries of int64_data, it has 2"},
      {"too few, not read", with({50000}, Bytes(7, std::string(30000, '\1'))),
       "initializer 'w': int64[50000] needs 50000 entries of int64_data, it has 3000 to 30000"},
      {"two fields", with({1}, Packed(7, {1}) + Bytes(9, "12345678")),
       "initializer 'w': has both int64_data and raw_data"},
      {"another field", with({1}, Bytes(4, "1234")),
       "initializer 'w': is of type int64 but has float_data"},
      {"external too short", with({1}, external),
       "initializer 'w': int64[1] needs 8 bytes, its external data has 9"},
      {"external and not", with({1}, external + Packed(7, {1})),
       "initializer 'w': has external data and a payload in the file as well"},
      {"negative", with({2, -4}, ""), "initializer 'w': has a dimension of -4"},
      {"too many", with({int64_t{1} << 40, int64_t{1} << 40}, ""),
       "initializer 'w': has more than 4611686018427387904 elements (kMaxElements): "
       "int64[1099511627776,1099511627776]"},
      {"no such type", ModelOf(Bytes(5, Number(2, 99) + Bytes(8, "w"))),
       "initializer 'w': is of data type 99, which ONNX 1.23.2 does not have"},
      {"rank", with(std::vector<int64_t>(65, 1), ""),
       "initializer '' has more than 64 dimensions (kMaxRank)"},
  });
}

TEST(LoadErrorTest, Types) {
  const auto with = [](const std::string& type) {
    return ModelOf(Bytes(11, Bytes(1, "x") + Bytes(2, type)));
  };
  const auto shape = [](uint64_t dim) {
    return Bytes(1, Number(1, 1) + Bytes(2, Bytes(1, Number(1, dim)) + Bytes(1, Number(1, dim))));
  };
  std::string deep = Bytes(1, Number(1, 1));
  for (int i = 0; i < 10'000; ++i) deep = Bytes(4, Bytes(1, deep));
  ExpectErrors({
      {"negative", with(shape(static_cast<uint64_t>(-4))), "the type of 'x': a dimension of -4"},
      {"too many", with(shape(uint64_t{1} << 40)),
       "the type of 'x': more than 4611686018427387904 elements (kMaxElements)"},
      {"no such type", with(Bytes(1, Number(1, 99))),
       "the type of 'x': data type 99, which ONNX 1.23.2 does not have"},
      {"deep", with(deep), "the type of 'x': types are nested more than 32 deep (kMaxTypeNesting)"},
  });
}

TEST(LoadErrorTest, GraphsNestedTenThousandDeep) {
  std::string graph;
  for (int i = 0; i < 10'000; ++i) graph = Node_("If", {}, {"y"}, Body(graph));
  EXPECT_THAT(ErrorOf(ModelOf(graph)),
              HasSubstr("graphs are nested more than 64 deep (kMaxGraphNesting)"));
  EXPECT_LT(ErrorOf(ModelOf(graph)).size(), 500u);
}

TEST(LoadErrorTest, NamesAreShownEscapedAndCut) {
  const std::string nasty = "\x1b[31m\n::error::\xff";
  EXPECT_THAT(ErrorOf(ModelOf(Output_(nasty))), HasSubstr("'\\x1b[31m\\n::error::\\xff' is not"));
  EXPECT_LT(ErrorOf(ModelOf(Output_(std::string(1'000'000, 'x')))).size(), 500u);
  EXPECT_EQ(Quoted("caf\xc3\xa9"), "'caf\xc3\xa9'");
  EXPECT_EQ(Quoted("\xe2\x80\xae"), "'\\xe2\\x80\\xae'");  // turns text around
}

// ---- Wire format
// ------------------------------------------------------------------------------------

TEST(LoadErrorTest, EveryTruncationIsNoticed) {
  const std::string whole = GraphText(kIf);
  for (size_t n = 0; n < whole.size(); ++n) {
    const std::string error = ErrorOf(whole.substr(0, n));
    EXPECT_THAT(error, StartsWith("m.onnx: ")) << n;
    EXPECT_THAT(error, ::testing::Not(HasSubstr("\n"))) << n;
  }
}

TEST(LoadErrorTest, LengthsBeyondTheEnd) {
  const std::string model = Number(1, 8);
  for (const uint64_t length : {uint64_t{1}, uint64_t{1} << 31, uint64_t{1} << 40, ~uint64_t{0}}) {
    EXPECT_EQ(ErrorOf(model + Varint(7 << 3 | 2) + Varint(length)),
              absl::StrCat("m.onnx: truncated: the field at byte 3 has ", length,
                           " bytes, the file only 0 more"));
  }
}

TEST(LoadErrorTest, MalformedFields) {
  const std::string start = Number(1, 8);
  const std::string cases[] = {
      start + Varint(0),                                    // field number 0
      start + Varint(50 << 3 | 3),                          // a group
      start + Varint(50 << 3 | 6) + "x",                    // no such type
      start + Varint(50 << 3) + std::string(11, '\x80'),    // a number of eleven bytes
      start + std::string(6, '\x80') + std::string(20, 0),  // a tag of six
      start + Varint(7 << 3 | 2) + "\x84\x80\x80\x80\x80\x80\x01" + std::string(99, 0),
      start + Bytes(7, Varint(1 << 3 | 2) + Varint(9) + "x"),  // longer than its message
      start + Bytes(7, Varint(2 << 3 | 2) + "\x80"),           // ends inside of a length
      start + Bytes(20, Bytes(1, Bytes(1, "\x80"))),           // inside of what is skipped
  };
  for (const std::string& bytes : cases) {
    EXPECT_THAT(ErrorOf(bytes), ::testing::MatchesRegex("m.onnx: (damaged|truncated).*"));
  }
}

// ---- Foreign files
// ----------------------------------------------------------------------------------

TEST(LoadErrorTest, ForeignFilesAreNamed) {
  using std::string_literals::operator""s;
  const std::pair<std::string, const char*> cases[] = {
      {"", "is empty"},
      {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "a PNG image"},
      {"\xff\xd8\xff\xe0\0\x10JFIF"s, "a JPEG image"},
      {"<!DOCTYPE html>\n<html>", "an HTML page"},
      {"  <HTML><head>", "an HTML page"},
      {"<?xml version=\"1.0\"?>", "an XML or HTML file"},
      {"PK\3\4\x14\0\0\0archive/data.pkl"s, "a zip archive, such as a PyTorch checkpoint"},
      {"\x80\2}q\0(X\4\0\0\0"s, "a Python pickle"},
      {"\x80\4\x95\x10\0\0\0\0\0\0\0"s, "a Python pickle"},
      {"\x40\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\""s, "a safetensors file"},
      {"\x89HDF\r\n\x1a\n\0\0"s, "an HDF5 file"},
      {"\x1c\0\0\0TFL3\x14\0"s, "a TensorFlow Lite model"},
      {"GGUF\3\0\0\0"s, "a GGUF file"},
      {"\x1f\x8b\x08\0\0\0"s, "a gzip file"},
      {"{\"model\": 1}", "a JSON file"},
      {"hello, world", "a text file"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
       "a Git LFS pointer, not the model: run git lfs pull"},
      {std::string(5000, '\0'), "only zeros"},
  };
  for (const auto& [bytes, what] : cases) {
    EXPECT_THAT(ErrorOf(bytes), StartsWith(absl::StrCat("m.onnx: ", what)));
  }
}

// ---- Files, pipes
// -----------------------------------------------------------------------------------

class LoadFileTest : public ::testing::Test {
 protected:
  LoadFileTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "onnxflops_load_XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~LoadFileTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return (directory_ / name).string(); }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }

 private:
  std::filesystem::path directory_;
};

TEST_F(LoadFileTest, File) {
  const absl::StatusOr<Model> model = Load(Write("m.onnx", GraphText(kSmall)));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->path, Path("m.onnx"));
  EXPECT_EQ((*model)->nodes.size(), 2u);
}

TEST_F(LoadFileTest, WhatIsNoFile) {
  EXPECT_EQ(Load(Path("nope.onnx")).status().message(), Path("nope.onnx") + ": no such file");
  EXPECT_EQ(Load(Path("nope.onnx")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Load(Path("")).status().message(), Path("") + ": is a directory, not a file");
  EXPECT_EQ(Load("/dev/null").status().message(), "/dev/null: is empty");
  EXPECT_EQ(Load(Write("empty.onnx", "")).status().message(), Path("empty.onnx") + ": is empty");
  EXPECT_THAT(std::string(Load("/dev/zero").status().message()),
              StartsWith("/dev/zero: only zeros"));
}

TEST_F(LoadFileTest, PermissionDenied) {
  const std::string path = Write("secret.onnx", GraphText(kSmall));
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  // Root may read everything, and nobody else may look into the directory.
  const bool root = geteuid() == 0;
  ASSERT_TRUE(!root || seteuid(65534) == 0);
  const absl::Status status = Load(path).status();
  ASSERT_TRUE(!root || seteuid(0) == 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(), path + ": permission denied");
}

// A graph with a payload of that many bytes between its nodes and its input.
std::string BeforePayload(uint64_t payload) {
  const std::string tensor =
      Number(1, payload) + Number(2, 2) + Bytes(8, "w") + Varint(9 << 3 | 2) + Varint(payload);
  const std::string nodes = Node_("Relu", {"x"}, {"y"});
  const uint64_t graph = nodes.size() + 1 + Varint(tensor.size() + payload).size() + tensor.size() +
                         payload + Input_("x").size();
  return Number(1, 8) + Opset("", 17) + Varint(7 << 3 | 2) + Varint(graph) + nodes +
         Varint(5 << 3 | 2) + Varint(tensor.size() + payload) + tensor;
}

int64_t ResidentPages() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident;
}

TEST_F(LoadFileTest, FiveGigabytesOfPayloadAreNotRead) {
  const uint64_t payload = uint64_t{5} << 30;
  const std::string before = BeforePayload(payload);
  const std::string path = Write("big.onnx", before);
  if (truncate(path.c_str(), static_cast<off_t>(before.size() + payload)) != 0) {
    GTEST_SKIP() << "no sparse files here";
  }
  std::ofstream(path, std::ios::binary | std::ios::app) << Input_("x");
  const int64_t pages = ResidentPages();
  const absl::StatusOr<Model> model = Load(path);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_LT(ResidentPages() - pages, 1000);
  EXPECT_EQ(TensorNamed(*model, "w").elements, static_cast<int64_t>(payload));
  EXPECT_TRUE(ValueNamed(*model, "x").is_graph_input);
}

// Load of a fifo that a thread writes `bytes` into.
absl::StatusOr<Model> LoadThroughPipe(const std::string& path, const std::string& bytes) {
  EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    const int fd = open(path.c_str(), O_WRONLY);
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t n = write(fd, bytes.data() + at, std::min<size_t>(bytes.size() - at, 10'000));
      if (n <= 0) break;
      at += static_cast<size_t>(n);
    }
    close(fd);
  });
  signal(SIGPIPE, SIG_IGN);
  absl::StatusOr<Model> model = Load(path);
  writer.join();
  return model;
}

TEST_F(LoadFileTest, PipesAreReadToTheEnd) {
  const std::string bytes = BeforePayload(3'000'000) + std::string(3'000'000, 'x') + Input_("x");
  const absl::StatusOr<Model> model = LoadThroughPipe(Path("pipe"), bytes);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(ValueNamed(*model, "x").is_graph_input);
}

TEST_F(LoadFileTest, PipesThatEndTooEarly) {
  const std::string whole = BeforePayload(300'000) + std::string(300'000, 'x') + Input_("x");
  int i = 0;
  for (const size_t n :
       {size_t{1}, size_t{10}, size_t{40}, size_t{5'000}, size_t{290'000}, whole.size() - 1}) {
    const std::string path = Path(absl::StrCat("pipe", ++i));
    const absl::StatusOr<Model> model = LoadThroughPipe(path, whole.substr(0, n));
    EXPECT_THAT(std::string(model.status().message()), StartsWith(path + ": truncated")) << n;
  }
}

TEST_F(LoadFileTest, AFileThatShrinksIsAnError) {
  const std::string path = Write("m.onnx", std::string(100'000, 'x'));
  const int fd = open(path.c_str(), O_RDONLY);
  const absl::Cleanup close_file = [fd] { close(fd); };
  auto region = ByteRegion::OfFile(fd, 100'000'000);
  ASSERT_TRUE(region.ok());
  EXPECT_TRUE((*region)->Load((*region)->begin(), 100));
  EXPECT_FALSE((*region)->Load((*region)->begin() + 50'000'000, 100));
  EXPECT_EQ((*region)->error(),
            "changed while it was read: had 100000000 bytes, now ends after 50000000");
}

// ---- Large graphs
// -----------------------------------------------------------------------------------

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
// ----------------------------------------------------------------------------------

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
