// One node written as a function that applies it, read back by protobuf's own classes; and
// functions that are added to a model that is there.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "onnx/onnx_pb.h"
#include "src/load/with_functions.h"
#include "src/load/write_application.h"
#include "tests/load/load_bytes.h"

namespace onnxflops::application_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string TextOf(const std::string& function) {
  onnx::FunctionProto proto;
  EXPECT_TRUE(proto.ParseFromString(function));
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  EXPECT_TRUE(printer.PrintToString(proto, &text));
  return text;
}

// What is written of the type of input 0 of a Relu.
std::string TypeOf(const std::string& type) {
  const Model m = MustLoad(ModelOf(Node_("Relu", {"x"}, {"y"}) + Bytes(11, Bytes(1, "x") + type)));
  const DeclaredType* declared = ValueNamed(m, "x").declared;
  const std::string text = TextOf(WriteApplication(m->nodes[0], 17, {&declared, 1}));
  const size_t type_begin = text.find("value_info { name: \"i0\" type { ");
  return type_begin == std::string::npos ? "" : text.substr(type_begin + 31);
}

TEST(WriteApplicationTest, TypesOfInputs) {
  const std::string dims =
      Bytes(2, Bytes(1, Number(1, 3)) + Bytes(1, Bytes(2, "N")) + Bytes(1, Number(1, 0)));
  const std::string tensor = Number(1, 7) + dims;
  const std::string text =
      "tensor_type { elem_type: 7 shape { dim { dim_value: 3 } dim { } dim { dim_value: 0 } } } ";
  const std::pair<std::string, std::string> cases[] = {
      {Bytes(1, tensor), text + "} } "},
      {Bytes(8, tensor), text + "} } "},
      {Bytes(1, Number(1, 1)), "tensor_type { elem_type: 1 } } } "},
      {Bytes(1, Number(1, 1) + Bytes(2, "")), "tensor_type { elem_type: 1 shape { } } } } "},
      {Bytes(1, dims), ""},
      {Bytes(4, Bytes(1, Bytes(1, tensor))), "sequence_type { elem_type { " + text + "} } } } "},
      {Bytes(9, Bytes(1, Bytes(1, tensor))), "optional_type { elem_type { " + text + "} } } } "},
      {Bytes(4, ""), ""},
      {Bytes(9, Bytes(1, Bytes(4, Bytes(1, Bytes(1, tensor))))), ""},
      {Bytes(5, Number(1, 7) + Bytes(2, Bytes(1, tensor))), ""},
      {Bytes(7, ""), ""},
  };
  for (const auto& [type, expected] : cases) EXPECT_EQ(TypeOf(Bytes(2, type)), expected);
  EXPECT_EQ(TypeOf(""), "");
}

TEST(WriteApplicationTest, NodesWithInputsLeftOut) {
  const std::string i = Attribute_(Bytes(1, "i") + Number(3, 5) + Number(20, 2));
  const Model m = MustLoad(
      ModelOf(Node_("Op", {"x", "", "x"}, {"", "y"}, Named("n") + Bytes(7, "d") + i) + Input_("x") +
              Node_("Op", {}, {},
                    Bytes(7, "d") + i + Named("apart") + i.substr(0, 4) + "j" + i.substr(5))));
  const DeclaredType type = {.kind = TypeKind::kTensor, .dtype = DType::kFloat16};
  const DeclaredType* const types[] = {nullptr, nullptr, &type};
  EXPECT_EQ(
      TextOf(WriteApplication(m->nodes[0], 3, types)),
      "node { input: \"i0\" input: \"\" input: \"i2\" output: \"\" output: \"o1\" op_type: \"Op\" "
      "attribute { name: \"i\" i: 5 type: INT } domain: \"d\" } "
      "opset_import { domain: \"d\" version: 3 } "
      "value_info { name: \"i2\" type { tensor_type { elem_type: 10 } } } ");
  EXPECT_EQ(TextOf(WriteApplication(m->nodes[1], 3, {})),
            "node { op_type: \"Op\" domain: \"d\" } opset_import { domain: \"d\" version: 3 } "
            "metadata_props { key: \"partial\" } ");
}

// Functions as an answer may hold them: with a body that uses a name from around it.
std::string Answer(const std::string& overload) {
  std::string node = Node_("If", {}, {"z"}, Body(Node_("Relu", {"h"}, {"t"}) + Output_("t")));
  node[0] = static_cast<char>(7 << 3 | 2);
  std::string functions;
  AppendFunction(Bytes(1, "g") + Bytes(4, "a") + Bytes(5, "z") + Bytes(9, Number(2, 17)) +
                     Bytes(7, Bytes(1, "a") + Bytes(2, "h") + Bytes(4, "Neg")) + node,
                 overload, &functions);
  return functions;
}

// All that the file says beside its functions is in the copy as well.
TEST(WithFunctionsTest, TheRestStaysAsItIs) {
  const Model before = MustLoad(
      ModelOf(Node_("A", {"x"}, {"y"}) + Input_("x") + Output_("y") + Initializer_("w", {0}, "")) +
      Opset("d", 3) + Bytes(2, "pytorch") + Bytes(3, "2.9") +
      Bytes(14, Bytes(1, "k") + Bytes(2, "v")));
  const absl::StatusOr<Model> m = WithFunctions(before, Answer("one"), {});
  ASSERT_TRUE(m.ok()) << m.status();
  EXPECT_EQ((*m)->path, before->path);
  EXPECT_EQ((*m)->ir_version, 8);
  EXPECT_EQ((*m)->producer_name, "pytorch");
  EXPECT_EQ((*m)->producer_version, "2.9");
  EXPECT_EQ((*m)->opsets, before->opsets);
  EXPECT_EQ((*m)->opsets.size(), 2U);
  EXPECT_EQ((*m)->metadata, before->metadata);
  EXPECT_EQ((*m)->metadata.size(), 1U);
  EXPECT_EQ((*m)->tensors.size(), 1U);
  EXPECT_EQ((*m)->graphs[0].inputs, before->graphs[0].inputs);
  EXPECT_EQ((*m)->graphs[0].nodes, before->graphs[0].nodes);
}

TEST(WithFunctionsTest, AddsThemBehindItsOwn) {
  const Model before = MustLoad(ModelOf(Node_("If", {}, {"q"}, Body(Node_("A", {"p"}, {"r"}))) +
                                        Node_("B", {}, {"p"}) + Node_("C", {}, {})) +
                                FunctionCalling("own", {}));
  const absl::StatusOr<Model> m = WithFunctions(
      before, Number(1, 99) + Answer("one") + Answer("two"), {{0, "two"}, {3, "none"}});
  ASSERT_TRUE(m.ok()) << m.status();
  ASSERT_EQ((*m)->functions.size(), 3U);
  EXPECT_FALSE((*m)->functions[0].official);
  EXPECT_TRUE((*m)->functions[1].official && (*m)->functions[2].official);
  EXPECT_EQ(*(*m)->nodes[0].function, 2);
  EXPECT_FALSE((*m)->nodes[3].function.has_value());
  EXPECT_EQ(before->nodes[0].function.has_value(), false);
  EXPECT_EQ((*m)->ir_version, 8);
  EXPECT_EQ((*m)->path, "m.onnx");
  EXPECT_EQ((*m)->nodes.size(), before->nodes.size() + 6);
  EXPECT_EQ((*m)->graphs.size(), before->graphs.size() + 4);
  // The values of the file stay as they are; those of a function are a h z, and t of its body.
  for (size_t i = 0; i < before->values.size(); ++i) {
    EXPECT_EQ((*m)->values[i].name, before->values[i].name);
  }
  EXPECT_EQ((*m)->values.size(), before->values.size() + 8);
  for (const size_t f : {1, 2}) {
    const Graph& graph = (*m)->graph((*m)->functions[f].body);
    EXPECT_THAT(Names(*m, graph.inputs), ElementsAre("a"));
    EXPECT_THAT(Names(*m, graph.outputs), ElementsAre("z"));
    EXPECT_THAT(OpTypes(*m, graph.nodes), ElementsAre("Neg", "If"));
    const Node& branch = (*m)->node(graph.nodes[1]);
    const Graph& body = (*m)->graph(branch.attributes[0].graphs[0]);
    const Node& relu = (*m)->node(body.nodes[0]);
    EXPECT_EQ(relu.inputs[0], (*m)->node(graph.nodes[0]).outputs[0]);
    EXPECT_THAT(Names(*m, body.outputs), ElementsAre("t"));
    EXPECT_EQ(body.end_value - body.first_value, 1);
    EXPECT_EQ(graph.end_value - graph.first_value, 4);
  }
}

TEST(WithFunctionsTest, AnAnswerThatIsDamagedIsAnError) {
  const Model before = MustLoad(ModelOf(Node_("C", {}, {})));
  const std::string nameless = Bytes(25, Bytes(4, "a"));
  EXPECT_EQ(WithFunctions(before, nameless, {}).status().message(), "function '': has no name");
  EXPECT_EQ(WithFunctions(before, Answer("x") + "\xca\x01\x09", {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(WithFunctions(before, "", {}).ok());
}

// Warnings of both are told, and what is missing of each is counted alone.
TEST(WithFunctionsTest, WarningsAreAdded) {
  const std::string tensor = Attribute_(Bytes(1, "t") + Bytes(5, Number(1, 3) + Number(2, 1)));
  const Model before = MustLoad(ModelOf(Node_("A", {}, {}, tensor)));
  std::string functions;
  AppendFunction(Bytes(1, "g") + Bytes(7, Bytes(4, "B") + tensor + tensor.substr(0, 4) + "u" +
                                              tensor.substr(5)),
                 "o", &functions);
  const absl::StatusOr<Model> m = WithFunctions(before, functions, {});
  ASSERT_TRUE(m.ok()) << m.status();
  EXPECT_THAT((*m)->warnings,
              ElementsAre("tensors without a payload: 1", "tensors without a payload: 2"));
  EXPECT_THAT(MustLoad(ModelOf(""))->warnings, IsEmpty());
}

}  // namespace
}  // namespace onnxflops::application_test
