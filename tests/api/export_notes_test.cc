// Graphs with notes on the sizes that they are for, as the Python package exports them.
#include "src/api/export_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "src/api/count.h"
#include "src/load/load_file.h"

namespace onnxflops::export_notes_test {
namespace {

using testing::HasSubstr;

using Notes = std::vector<std::pair<std::string, std::string>>;

Model Noted(const std::string& graph, const Notes& notes) {
  onnx::ModelProto proto;
  proto.set_ir_version(10);
  proto.add_opset_import()->set_version(18);
  EXPECT_TRUE(onnx::OnnxParser::Parse(*proto.mutable_graph(), graph.c_str()).IsOK());
  for (const auto& [key, value] : notes) {
    auto* property = proto.add_metadata_props();
    property->set_key(key);
    property->set_value(value);
  }
  return LoadFromBytes(proto.SerializeAsString(), "test.onnx").value();
}

constexpr char kOpen[] = "g (float[batch,seq] x) => (float[batch,seq] y) { y = Relu(x) }";
constexpr char kFixed[] = "g (float[batch,12] x) => (float[batch,12] y) { y = Relu(x) }";

// What a count at these sizes says; the FLOPs if it is right.
std::string Says(const Model& model, const Bindings& sizes) {
  const auto report = Count(model, {.bindings = sizes});
  return report.ok() ? report->totals.flops.ToString() : std::string(report.status().message());
}

TEST(ExportNotesTest, GraphHoldsWhereItsConditionsDo) {
  const Model model =
      Noted(kOpen, {{"onnxflops.holds_where", "seq is 1 to 64"},
                    {"onnxflops.holds_where.0", "((seq + 63)//64) == 1"},
                    {"onnxflops.holds_where.1", "(batch*min(64, seq)) == seq*batch"},
                    {"onnxflops.holds_where.2", "no formula"}});
  EXPECT_EQ(Says(model, {}), "batch*seq");
  EXPECT_EQ(Says(model, {{"seq", 64}}), "64*batch");
  EXPECT_EQ(Says(model, {{"batch", 2}, {"seq", 1}}), "2");
  for (const Bindings& sizes : {Bindings{{"seq", 65}}, Bindings{{"batch", 2}, {"seq", 4096}}}) {
    EXPECT_THAT(Says(model, sizes), HasSubstr("This graph holds where seq is 1 to 64;"))
        << sizes.size();
  }
}

TEST(ExportNotesTest, ShapesOfInputsAreSizes) {
  const Model model = Noted(kOpen, {{"onnxflops.holds_where.0", "seq < 65"}});
  const auto report = Count(model, {.input_shapes = {{"x", {Expr(2), Expr(65)}}}});
  EXPECT_THAT(report.status().message(), HasSubstr("test.onnx: seq = 65: its class"));
}

TEST(ExportNotesTest, FixedSizeTakesItsOwnNumber) {
  const Model model = Noted(kFixed, {{"onnxflops.fixed_dim.seq", "12"}});
  EXPECT_EQ(Says(model, {{"batch", 2}, {"seq", 12}}), "24");
  EXPECT_THAT(Says(model, {{"seq", 13}}), HasSubstr("seq = 13: the graph was exported at 12"));
  EXPECT_THAT(Says(model, {{"sequence", 12}}), HasSubstr("no symbol is named 'sequence'"));
}

// Each sample is held to the conditions, not only the longest.
TEST(ExportNotesTest, SamplesAreHeldToConditions) {
  const Model model = Noted(kOpen, {{"onnxflops.holds_where.0", "seq != 8"}});
  const auto count = [&](std::vector<int64_t> lengths) {
    CountOptions options;
    options.samples.emplace().sizes["seq"] = std::move(lengths);
    return Count(model, options).status();
  };
  EXPECT_TRUE(count({7, 9}).ok()) << count({7, 9});
  EXPECT_THAT(count({7, 8, 9}).message(), HasSubstr("sample 2: test.onnx: seq = 8: its class"));
}

// The file may come from anyone.
TEST(ExportNotesTest, ConditionsWithoutEndAreRefused) {
  Notes notes;
  for (int i = 0; i < 257; ++i) notes.emplace_back(absl::StrCat("onnxflops.holds_where.", i), "1");
  EXPECT_THAT(Says(Noted(kOpen, notes), {{"seq", 8}}), HasSubstr("more than 256 conditions"));
  notes.pop_back();
  EXPECT_EQ(Says(Noted(kOpen, notes), {{"seq", 8}}), "8*batch");
}

TEST(ExportNotesTest, NoteOfAnOpenSizeIsNone) {
  const Model model = Noted(kOpen, {{"onnxflops.fixed_dim.seq", "12"}});
  EXPECT_EQ(Says(model, {{"batch", 2}, {"seq", 13}}), "26");
}

}  // namespace
}  // namespace onnxflops::export_notes_test
