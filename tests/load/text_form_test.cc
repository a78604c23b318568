// A model written as text is the model: every model of models/ and of ONNX's node tests, printed by
// the official library in each form, is read as the same bytes, or gives the report that the binary
// file gives. Faults are told
// with their line.
#include "tools/official/text_form.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "onnx/defs/printer.h"
#include "src/base/limits.h"
#include "src/onnxflops.h"
#include "tests/infer/node_suite.h"
#include "tests/sample.h"

namespace onnxflops::tools::text_form_test {
namespace {

using testing::HasSubstr;

constexpr TextForm kForms[] = {TextForm::kOnnx, TextForm::kProtobuf, TextForm::kJson};

std::string Print(const onnx::ModelProto& model, TextForm form) {
  std::string text;
  switch (form) {
    case TextForm::kOnnx:
      return onnx::ProtoToString(model);
    case TextForm::kProtobuf:
      EXPECT_TRUE(google::protobuf::TextFormat::PrintToString(model, &text));
      break;
    case TextForm::kJson:
      EXPECT_TRUE(google::protobuf::util::MessageToJsonString(model, &text).ok());
      break;
    case TextForm::kNone:
      break;
  }
  return text;
}

// The report on a model, or why there is none.
std::string Json(const onnx::ModelProto& model) {
  const absl::StatusOr<Model> loaded = LoadFromBytes(model.SerializeAsString(), "model");
  if (!loaded.ok()) return loaded.status().ToString();
  const absl::StatusOr<Report> report = Count(*loaded, {.node_rows = true});
  return report.ok() ? ToJson(*report) : report.status().ToString();
}

onnx::ModelProto ReadBinary(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromIstream(&file)) << path;
  return model;
}

// Without what ONNX's printer leaves out, the metadata of nodes, and what it writes and ONNX's
// parser does not read, the names of tensors in attributes.
void DropUnprintable(onnx::GraphProto* graph) {
  for (onnx::NodeProto& node : *graph->mutable_node()) {
    node.clear_metadata_props();
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) attribute.mutable_t()->clear_name();
      if (attribute.has_g()) DropUnprintable(attribute.mutable_g());
    }
  }
}

// Where two texts part, with what stands there; empty if they are equal.
std::string FirstDifference(const std::string& a, const std::string& b) {
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  if (i == a.size() && i == b.size()) return "";
  const size_t from = i < 100 ? 0 : i - 100;
  return absl::StrCat("...", a.substr(from, 200), "...\nis not\n...", b.substr(from, 200), "...");
}

void ExpectSameReport(onnx::ModelProto model, TextForm form) {
  if (form == TextForm::kOnnx) DropUnprintable(model.mutable_graph());
  const absl::StatusOr<onnx::ModelProto> read = ReadText(form, Print(model, form));
  ASSERT_TRUE(read.ok()) << NameOf(form) << ": " << read.status();
  if (read->SerializeAsString() == model.SerializeAsString())
    return;  // the same model, byte for byte
  const std::string expected = Json(model);
  ASSERT_EQ(expected.substr(0, 1), "{") << expected;
  EXPECT_EQ(FirstDifference(Json(*read), expected), "") << NameOf(form);
}

TEST(TextFormTest, RealModelsGiveTheReportOfTheirBinaryForm) {
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ONNXFLOPS_SOURCE_DIR "/models")) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path());
    const onnx::ModelProto model = ReadBinary(entry.path());
    for (const TextForm form : kForms) ExpectSameReport(model, form);
    ++models;
  }
  EXPECT_GE(models, 16);
}

TEST(TextFormTest, NodeModelsGiveTheReportOfTheirBinaryForm) {
  Sample sample;
  for (const auto& [name, entry] : NodeSuite().items()) {
    if (!sample.Next()) continue;
    SCOPED_TRACE(name);
    const onnx::ModelProto model = ReadBinary(NodeModelPath(name));
    for (const TextForm form : kForms) ExpectSameReport(model, form);
  }
}

struct FaultCase {
  TextForm form;
  const char* text;
  const char* message;
};

TEST(TextFormTest, FaultsAreToldWithTheirPlace) {
  const FaultCase cases[] = {
      {TextForm::kOnnx, "<ir_version: 8>\ng (float x) => (float y) {\n y = Relu(x\n}\n",
       "line 4, column 1: Expected character ) not found"},
      {TextForm::kOnnx, "<ir_version: 99999999999999999999>", "A number is out of range"},
      {TextForm::kOnnx, "<ir_version: 8>\ng (flot x) => (float y) {}", "line 2, column 9: "},
      {TextForm::kOnnx, " \n", "is empty"},
      {TextForm::kProtobuf, "ir_version: 8\ngraph {\n  node { op_typ: 'Relu' }\n}",
       "line 3, column 16: Message type \"onnx.NodeProto\" has no field named \"op_typ\""},
      {TextForm::kProtobuf, "ir_version: 8\ngraph { name: \"g\n}", "line 2, column 17: "},
      {TextForm::kJson, "{\"irVersion\": 8,\n \"graph\": [}",
       "line 2, column 12: not JSON from here: syntax error"},
      {TextForm::kJson, "{\"graph\": {\n\"node\": [{},\n{\"opTyp\": \"Relu\"}]}}",
       "line 3, column 8: graph.node[1] has no field 'opTyp'"},
      {TextForm::kJson, "{\"graph\": {\"initializer\": [{\"dims\": [1,\n2,\n3.5]}]}}",
       "line 3, column "},
      {TextForm::kJson, "{\n\"ir_version\": \"x\"}",
       "line 2, column 12: (ir_version): invalid value"},
      {TextForm::kJson, "[1]", "line 1, column 1: Root element must be a message"},
  };
  for (const FaultCase& c : cases) {
    const absl::StatusOr<onnx::ModelProto> model = ReadText(c.form, c.text);
    EXPECT_THAT(std::string(model.status().message()), HasSubstr(c.message)) << c.text;
  }
}

std::string Repeat(absl::string_view text, int n) {
  std::string all;
  for (int i = 0; i < n; ++i) absl::StrAppend(&all, text);
  return all;
}

// Both readers recurse; far deeper than this and the stack would end.
TEST(TextFormTest, DeepNestingIsRefusedBeforeItIsRead) {
  const std::pair<TextForm, const char*> cases[] = {
      {TextForm::kOnnx, "seq("},
      {TextForm::kOnnx, "=>) {<["},  // closes nothing
      {TextForm::kProtobuf, "graph{node{attribute{g{"},
      {TextForm::kProtobuf, "graph<\"\n<"},  // its strings end with the line
      {TextForm::kProtobuf, "'\"'{"},        // one quote inside of the other
      {TextForm::kJson, "[{\"a\\\"\":"},
  };
  for (const auto& [form, text] : cases) {
    EXPECT_THAT(std::string(CheckNesting(form, Repeat(text, 1'000'000)).message()),
                HasSubstr("text-nesting"))
        << text;
  }
}

TEST(TextFormTest, BracketsInStringsAndCommentsDoNotNest) {
  const std::pair<TextForm, const char*> cases[] = {
      {TextForm::kOnnx, "\"({\\\"{\" "}, {TextForm::kOnnx, "# {\n"},
      {TextForm::kProtobuf, "'\"{' "},   {TextForm::kProtobuf, "# {\n"},
      {TextForm::kJson, "\"{\\\"[{\","}, {TextForm::kJson, "{[]}"},
      {TextForm::kOnnx, "(x) => <y>"},
  };
  for (const auto& [form, text] : cases) {
    EXPECT_TRUE(CheckNesting(form, Repeat(text, 2 * kMaxTextNesting)).ok()) << text;
  }
}

TEST(TextFormTest, TheBeginningTellsTheForm) {
  const std::pair<const char*, TextForm> cases[] = {
      {"<\n  ir_version: 8", TextForm::kOnnx},
      {"# mine\n< opset_import : [", TextForm::kOnnx},
      {"\xef\xbb\xbf{ \"irVersion\"", TextForm::kJson},
      {"# mine\n# yours\nir_version: 8", TextForm::kProtobuf},
      {"graph {", TextForm::kProtobuf},
      {"graphs {", TextForm::kNone},
      {"<html>", TextForm::kNone},
      {"<graph>", TextForm::kNone},
      {"\x08\x07\x12\x07pytorch", TextForm::kNone},
      {"", TextForm::kNone},
  };
  for (const auto& [text, form] : cases) EXPECT_EQ(TextFormOfBytes(text), form) << text;
}

TEST(TextFormTest, TheExtensionTellsTheForm) {
  const std::pair<const char*, TextForm> cases[] = {
      {"a.onnxtxt", TextForm::kOnnx},     {"a.PBTXT", TextForm::kProtobuf},
      {"a.b.txtpb", TextForm::kProtobuf}, {"a.textproto", TextForm::kProtobuf},
      {"a.json", TextForm::kJson},        {"a.onnx", TextForm::kNone},
      {"json", TextForm::kNone},
  };
  for (const auto& [path, form] : cases) EXPECT_EQ(TextFormOfFile(path), form) << path;
}

}  // namespace
}  // namespace onnxflops::tools::text_form_test
