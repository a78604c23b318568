// What training keeps of small modules, exported by both exporters, against torch's hooks of saved
// tensors. tests/data/kept_truth.json says how its figures were measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "src/onnxflops.h"

namespace onnxflops::kept_test {
namespace {

using Json = nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

// Of 100 figures without a warning, so many at least are torch's; of all, so many at most have one.
// The figures of fresh modules are harder than those that users meet: they were made to break ours.
constexpr size_t kPercentAsTorch = 99;
constexpr size_t kPercentWithWarning = 18;

const Json& Cases() {
  static const Json truth =
      Json::parse(std::ifstream(ONNXFLOPS_SOURCE_DIR "/tests/data/kept_truth.json"));
  return truth["cases"];
}

struct Found {
  bool equal = false, unknown = false;
};

// Whether bytes and those of inputs are torch's; what differs without a word is a failure.
Found Compare(const Json& row, const std::string& attention) {
  const auto model =
      Load(absl::StrCat(ONNXFLOPS_KEPT_MODELS_DIR, "/", row["file"].get<std::string>()));
  EXPECT_TRUE(model.ok()) << model.status();
  CountOptions options;
  TrainingOptions& training = options.memory.emplace().training;
  if (attention == "flash") training.attention = AttentionBackward::kFlash;
  const absl::StatusOr<Report> report = Count(*model, options);
  EXPECT_TRUE(report.ok()) << report.status();
  if (!report.ok()) return {};
  const Json& truth = row[attention];
  const bool equal = report->memory->saved_bytes == Expr(truth[0].get<int64_t>()) &&
                     report->memory->saved_input_bytes == Expr(truth[1].get<int64_t>());
  const bool unknown = report->memory->unknown_saved > 0;
  const Json expected = row.value("unknown", Json(false));
  EXPECT_EQ(unknown, expected == Json(true) || expected == Json(attention));
  if (unknown) {
    EXPECT_THAT(report->warnings, Contains(HasSubstr("what autograd keeps is not known of")));
    const bool above = report->memory->saved_bytes.literal() > truth[0].get<int64_t>();
    EXPECT_EQ(above, row.contains("above")) << report->memory->saved_bytes.ToString();
  }
  if (row.contains("either")) {
    EXPECT_THAT(report->warnings, Contains(HasSubstr("which no file tells")));
  }
  EXPECT_TRUE(equal || unknown || row.contains("unlike") || row.contains("either"))
      << report->memory->saved_bytes.ToString();
  return {equal, unknown};
}

TEST(KeptTest, ModulesKeepWhatTorchSaves) {
  ASSERT_GT(Cases().size(), 650);
  size_t figures = 0, silent = 0, silent_as_torch = 0;
  for (const Json& row : Cases()) {
    SCOPED_TRACE(row["file"].get<std::string>());
    size_t of_case = 0, equal_of_case = 0;
    for (const char* attention : {"math", "flash"}) {
      if (!row.contains(attention)) continue;
      ++of_case;
      const Found found = Compare(row, attention);
      equal_of_case += found.equal ? 1 : 0;
      silent += found.unknown ? 0 : 1;
      silent_as_torch += found.equal && !found.unknown ? 1 : 0;
    }
    EXPECT_TRUE(!row.contains("unlike") || equal_of_case < of_case) << "it is as torch's now";
    figures += of_case;
  }
  EXPECT_GE(100 * silent_as_torch, kPercentAsTorch * silent) << silent_as_torch << " of " << silent;
  EXPECT_LE(100 * (figures - silent), kPercentWithWarning * figures) << figures - silent;
}

// The figures of recurrent layers are those of PyTorch's CPU, with a warning: a GPU keeps something
// else. The dynamo exporter unrolls plain layers.
TEST(KeptTest, RecurrentLayersKeepWhatTorchSavesOnACpu) {
  int layers = 0;
  for (const Json& row : Cases()) {
    const std::string file = row["file"].get<std::string>();
    const bool is_gru = absl::StartsWith(file, "r_gru") && !absl::StrContains(file, "_by_hand");
    const bool is_plain = absl::StartsWith(file, "r_rnn") && absl::StrContains(file, ".ts17.");
    if (!is_gru && !is_plain) continue;
    SCOPED_TRACE(file);
    const Found found = Compare(row, "math");
    EXPECT_TRUE(found.equal);
    EXPECT_TRUE(found.unknown);
    ++layers;
  }
  EXPECT_GE(layers, 5);
}

// ---- nodes that do nothing

struct Edge {
  int node = 0, input = 0;
};

std::vector<Edge> EdgesOf(const onnx::GraphProto& graph) {
  std::vector<Edge> edges;
  for (int n = 0; n < graph.node_size(); ++n) {
    for (int i = 0; i < graph.node(n).input_size(); ++i) {
      if (!graph.node(n).input(i).empty()) edges.push_back({n, i});
    }
  }
  return edges;
}

// An Identity on each of the edges.
onnx::ModelProto WithIdentities(onnx::ModelProto model, const std::vector<Edge>& edges) {
  onnx::GraphProto* graph = model.mutable_graph();
  std::vector<std::vector<onnx::NodeProto>> before(static_cast<size_t>(graph->node_size()));
  for (const Edge& edge : edges) {
    std::string* input = graph->mutable_node(edge.node)->mutable_input(edge.input);
    onnx::NodeProto identity;
    identity.set_op_type("Identity");
    identity.add_input(*input);
    *input = absl::StrCat("same_", edge.node, "_", edge.input);
    identity.add_output(*input);
    before[static_cast<size_t>(edge.node)].push_back(std::move(identity));
  }
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (int n = 0; n < graph->node_size(); ++n) {
    for (onnx::NodeProto& identity : before[static_cast<size_t>(n)]) *nodes.Add() = identity;
    *nodes.Add() = graph->node(n);
  }
  *graph->mutable_node() = std::move(nodes);
  return model;
}

struct KeptBytes {
  std::string bytes, of_inputs;
  bool unknown = false;
};

KeptBytes KeptOf(const onnx::ModelProto& proto, AttentionBackward attention) {
  const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString());
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {};
  CountOptions options;
  options.memory.emplace().training.attention = attention;
  const absl::StatusOr<Report> report = Count(*model, options);
  EXPECT_TRUE(report.ok()) << report.status();
  if (!report.ok()) return {};
  return {report->memory->saved_bytes.ToString(), report->memory->saved_input_bytes.ToString(),
          report->memory->unknown_saved > 0};
}

void ExpectSame(const KeptBytes& kept, const KeptBytes& plain) {
  if (kept.unknown) return;
  EXPECT_FALSE(plain.unknown) << "a warning went";
  EXPECT_EQ(kept.bytes, plain.bytes);
  EXPECT_EQ(kept.of_inputs, plain.of_inputs);
}

// An Identity is no call of PyTorch, wherever it stands.
TEST(KeptTest, IdentitiesKeepNothing) {
  constexpr size_t kEachEdgeOf = 9;  // of one model in so many
  size_t models = 0, edges = 0, new_warnings = 0;
  for (const Json& row : Cases()) {
    const std::string file = row["file"].get<std::string>();
    SCOPED_TRACE(file);
    onnx::ModelProto model;
    std::ifstream stream(absl::StrCat(ONNXFLOPS_KEPT_MODELS_DIR, "/", file), std::ios::binary);
    ASSERT_TRUE(model.ParseFromIstream(&stream));
    const AttentionBackward attention =
        row.contains("flash") ? AttentionBackward::kFlash : AttentionBackward::kMath;
    const KeptBytes plain = KeptOf(model, attention);
    const std::vector<Edge> all = EdgesOf(model.graph());
    const KeptBytes kept = KeptOf(WithIdentities(model, all), attention);
    ExpectSame(kept, plain);
    if (kept.unknown && !plain.unknown) ++new_warnings;
    if (models++ % kEachEdgeOf != 0) continue;
    for (const Edge& edge : all) {
      SCOPED_TRACE(absl::StrCat("node ", edge.node, ", input ", edge.input));
      ExpectSame(KeptOf(WithIdentities(model, {edge}), attention), plain);
      ++edges;
    }
  }
  EXPECT_GT(edges, 1000);
  EXPECT_LE(100 * new_warnings, 2 * models) << new_warnings;
}

}  // namespace
}  // namespace onnxflops::kept_test
