// Copies with notes: read by ONNX's own ModelProto, checked by its checker, counted again.
#include "src/api/annotate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "onnx/checker.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "src/onnxflops.h"
#include "tests/infer/node_suite.h"

namespace onnxflops::annotate_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Notes = std::map<std::string, std::string>;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

fs::path WriteFile(const std::string& bytes) {
  const fs::path path = testing::TempDir() + "/annotate_test.onnx";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// The copy, or the error.
std::string CopyOf(const Model& model, const CountOptions& options = {}) {
  std::string copy;
  const absl::Status status = Annotate(model, options, [&](absl::string_view piece) {
    copy.append(piece.data(), piece.size());
    return absl::OkStatus();
  });
  return status.ok() ? copy : std::string(status.message());
}
std::string CopyOfFile(const fs::path& path, const CountOptions& options = {}) {
  return CopyOf(Load(path.string()).value(), options);
}

// All nodes of a list, those of bodies after their node.
template <typename Nodes>
void Visit(Nodes* nodes, const std::function<void(onnx::NodeProto*)>& visit) {
  for (onnx::NodeProto& node : *nodes) {
    visit(&node);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) Visit(attribute.mutable_g()->mutable_node(), visit);
      for (onnx::GraphProto& graph : *attribute.mutable_graphs()) {
        Visit(graph.mutable_node(), visit);
      }
    }
  }
}

// Takes the notes of a node out of it.
Notes TakeNotes(onnx::NodeProto* node) {
  Notes notes;
  auto* all = node->mutable_metadata_props();
  for (int i = all->size(); i-- > 0;) {
    if (!absl::StartsWith(all->Get(i).key(), "onnxflops.")) continue;
    notes[all->Get(i).key().substr(10)] = all->Get(i).value();
    all->DeleteSubrange(i, 1);
  }
  return notes;
}

struct Taken {
  std::string rest;                                   // the model without notes
  std::vector<std::pair<std::string, Notes>> nodes;   // of graphs, by name
  std::vector<std::pair<std::string, Notes>> inside;  // of functions
};
Taken TakeAll(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes)) << bytes.substr(0, 200);
  Taken taken;
  const auto into = [](auto* list) {
    return [list](onnx::NodeProto* node) { list->emplace_back(node->name(), TakeNotes(node)); };
  };
  Visit(model.mutable_graph()->mutable_node(), into(&taken.nodes));
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    Visit(function.mutable_node(), into(&taken.inside));
  }
  taken.rest = model.SerializeAsString();
  return taken;
}

// Whether a copy has the same model as the original, and counts the same.
void ExpectSame(const std::string& original, const std::string& copy, const std::string& name) {
  EXPECT_EQ(TakeAll(original).rest, TakeAll(copy).rest) << name;
  const Model before = LoadFromBytes(original).value(), after = LoadFromBytes(copy).value();
  EXPECT_EQ(ToJson(Count(before).value()), ToJson(Count(after).value())) << name;
  EXPECT_TRUE(IsAnnotated(after)) << name;
}

// What nodes of graphs have adds up to the total, where no size is open.
void ExpectSum(const Report& report, const std::vector<std::pair<std::string, Notes>>& nodes) {
  absl::int128 flops = 0, bytes = 0;
  for (const auto& [name, notes] : nodes) {
    int64_t value = 0;
    if (notes.empty()) continue;
    if (!absl::SimpleAtoi(notes.at("flops"), &value)) return;
    flops += value;
    if (!absl::SimpleAtoi(notes.at("bytes"), &value)) return;
    bytes += value;
  }
  EXPECT_EQ(report.totals.flops, Expr(flops)) << report.model.path;
  EXPECT_EQ(report.totals.bytes_read + report.totals.bytes_written, Expr(bytes))
      << report.model.path;
}

// Every third, which takes a third of the time.
TEST(AnnotateTest, RealModels) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(ONNXFLOPS_SOURCE_DIR "/models")) {
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  ASSERT_GE(paths.size(), 30);
  for (size_t i = 0; i < paths.size(); i += 3) {
    const Model model = Load(paths[i].string()).value();
    const std::string copy = CopyOf(model);
    ExpectSame(ReadFile(paths[i]), copy, paths[i]);
    CountOptions options;
    const Report open = Count(model).value();
    for (const SymbolOrigin& symbol : open.symbols) {
      if (symbol.kind == SymbolOrigin::Kind::kInput) options.bindings[symbol.name] = 4;
    }
    ExpectSum(Count(model, options).value(), TakeAll(CopyOf(model, options)).nodes);
  }
}

bool CheckerAccepts(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return false;
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

TEST(AnnotateTest, NodeSuite) {
  int accepted = 0, number = 0;
  for (const auto& item : NodeSuite().items()) {
    if (++number % 4 != 0) continue;
    const std::string path = NodeModelPath(item.key()), original = ReadFile(path);
    const absl::StatusOr<Model> model = Load(path);
    if (!model.ok() || !Count(*model).ok()) continue;
    const std::string copy = CopyOf(*model);
    ExpectSame(original, copy, item.key());
    if (!CheckerAccepts(original)) continue;
    EXPECT_TRUE(CheckerAccepts(copy)) << item.key();
    ++accepted;
  }
  EXPECT_GT(accepted, 350);
}

constexpr char kNested[] = R"(<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
g (float[n,64] x, bool c, int64 trips) => (float[n,64] out) {
  y = MatMul(x, x2)
  w = If (c) <then_branch = a () => (float[n,64] p) { p = Sigmoid(y) },
              else_branch = b () => (float[n,64] q) { q = Neg(y) }>
  v = f.Twice(w)
  u = f.Twice(v)
  out = Loop(trips, , u) <body = l (int64 i, bool go, float[n,64] s) => (bool more, float[n,64] t)
      { more = Identity(go)
        t = f.Twice(s) }>
}
<domain: "f", opset_import: ["" : 18]>
Twice (s) => (r) { r = Add(s, s) }
)";

std::string Nested() {
  onnx::ModelProto model;
  std::string text = kNested;
  const std::string input = "int64 trips)";
  text.replace(text.find(input), input.size(), "int64 trips, float[64,64] x2)");
  const auto parsed = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage();
  Visit(model.mutable_graph()->mutable_node(),
        [](onnx::NodeProto* node) { node->set_name(node->output(0)); });
  return model.SerializeAsString();
}

std::string FlopsOf(const Taken& taken, const std::string& name) {
  for (const auto& [node, notes] : taken.nodes) {
    const auto flops = notes.find("flops");
    if (node == name) return flops == notes.end() ? "(none)" : flops->second;
  }
  return "(no such node)";
}

// Worked out by hand: MatMul 2*64*64*n, Sigmoid 4 per element.
TEST(AnnotateTest, BodiesAndFunctions) {
  const std::string original = Nested(), copy = CopyOfFile(WriteFile(original));
  ExpectSame(original, copy, "nested");
  const Taken taken = TakeAll(copy);
  const std::pair<const char*, const char*> figures[] = {
      {"y", "8192*n"}, {"w", "0"},    {"p", "192*n"}, {"q", "(none)"},
      {"v", "64*n"},   {"u", "64*n"}, {"out", "0"},   {"more", "0"}};
  for (const auto& [node, flops] : figures) EXPECT_EQ(FlopsOf(taken, node), flops) << node;
  ASSERT_EQ(taken.inside.size(), 1);
  const std::string trips = FlopsOf(taken, "t");
  EXPECT_EQ(taken.inside[0].second.at("flops"), absl::StrCat(trips, " + 128*n"));
}

TEST(AnnotateTest, CopyOfACopyIsTheCopy) {
  const std::string copy = CopyOfFile(WriteFile(Nested()));
  EXPECT_EQ(CopyOfFile(WriteFile(copy)), copy);
  // Other figures take the place of those that are there.
  const CountOptions at = {.bindings = {{"n", 3}}};
  EXPECT_EQ(CopyOfFile(WriteFile(copy), at), CopyOfFile(WriteFile(Nested()), at));
}

// ---- what Protobuf reads, however it is written

std::string Varint(uint64_t value, size_t least = 1) {
  std::string bytes;
  for (; value >= 0x80 || bytes.size() + 1 < least; value >>= 7) {
    bytes += static_cast<char>((value & 0x7f) | 0x80);
  }
  return bytes + static_cast<char>(value);
}
// A field whose tag and length take more bytes than they need.
std::string LongField(uint32_t number, const std::string& bytes) {
  return Varint(number << 3 | 2, 3) + Varint(bytes.size(), 4) + bytes;
}

TEST(AnnotateTest, NumbersThatAreLongerThanTheyNeedBe) {
  onnx::NodeProto node;
  node.set_op_type("Relu");
  node.add_input("x");
  node.add_output("y");
  const std::string old = LongField(9, LongField(1, "onnxflops.macs") + LongField(2, "7")),
                    kept = LongField(9, LongField(1, "mine") + LongField(2, "8"));
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(18);
  onnx::GraphProto first, second;
  first.set_name("g");
  second.add_input()->set_name("x");
  second.add_output()->set_name("y");
  // The graph comes in two parts, which Protobuf merges, and has a field that nobody knows.
  const std::string bytes = model.SerializeAsString() +
                            LongField(7, first.SerializeAsString() + LongField(99, "?")) +
                            LongField(7, LongField(1, old + kept + node.SerializeAsString() + old) +
                                             second.SerializeAsString());
  const std::string copy = CopyOfFile(WriteFile(bytes));
  EXPECT_EQ(TakeAll(bytes).rest, TakeAll(copy).rest);
  onnx::ModelProto read;
  ASSERT_TRUE(read.ParseFromString(copy));
  const auto& notes = read.graph().node(0).metadata_props();
  EXPECT_EQ(notes.Get(0).key(), "mine");
  for (const auto& note : notes) EXPECT_NE(note.value(), "7");
}

// ---- errors

TEST(AnnotateTest, AFileThatChanged) {
  const fs::path path = WriteFile(Nested());
  const Model model = Load(path.string()).value();
  const std::string other = ReadFile(ONNXFLOPS_SOURCE_DIR "/models/lstm.onnx");
  for (const std::string& bytes : {other, Nested().substr(0, 100), Nested() + Nested()}) {
    WriteFile(bytes);
    EXPECT_THAT(CopyOf(model), testing::StartsWith(path.string() + ": ")) << bytes.size();
  }
  fs::remove(path);
  EXPECT_THAT(CopyOf(model), HasSubstr("no such file"));
}

TEST(AnnotateTest, AWriterThatFails) {
  const Model model = Load(WriteFile(Nested()).string()).value();
  const auto fail = [](absl::string_view) { return absl::UnknownError("disk full"); };
  EXPECT_EQ(Annotate(model, {}, fail).message(), "disk full");
}

TEST(AnnotateTest, AnUnknownOperatorIsNotZero) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(Nested()));
  model.mutable_graph()->mutable_node(0)->set_op_type("NoSuchOperator");
  const Taken taken = TakeAll(CopyOfFile(WriteFile(model.SerializeAsString())));
  EXPECT_EQ(FlopsOf(taken, "y"), "unknown");
  EXPECT_THAT(taken.nodes[0].second.at("reason"), HasSubstr("no rule"));
}

}  // namespace
}  // namespace onnxflops::annotate_test
