// Differences of real exports: what holds of any two, and mutations whose effect is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/diff/model_diff.h"
#include "src/onnxflops.h"
#include "tests/diff/diff_properties.h"
#include "tests/model_maker.h"
#include "tests/sample.h"

namespace onnxflops::diff_models_test {
namespace {

using testing::ElementsAre;

std::vector<std::string> RepositoryModels() {
  std::vector<std::string> models;
  const std::string root = ONNXFLOPS_SOURCE_DIR "/models";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".onnx") models.push_back(entry.path().string());
  }
  std::sort(models.begin(), models.end());
  return models;
}

TEST(DiffPropertyTest, AReportReadBackIsTheModel) {
  int rows = 0;
  Sample sample;
  for (const std::string& path : RepositoryModels()) {
    if (std::filesystem::file_size(path) > 500'000) continue;  // as small ones, but slow
    if (!sample.Next()) continue;
    const Model model = Load(path).value();
    const Report report = Count(model, {.node_rows = true}).value();
    const absl::StatusOr<Report> read = ReadReport(ToJson(report), "base.json");
    ASSERT_TRUE(read.ok()) << path << ": " << read.status();
    const Diff diff = MakeDiff(&*read, report).value();
    EXPECT_TRUE(diff.IsEmpty()) << path;
    EXPECT_TRUE(MakeDiff(&report, report).value().IsEmpty()) << path;
    EXPECT_EQ(diff.nodes.size(), report.nodes.size());
    rows += static_cast<int>(diff.modules.size());
  }
  EXPECT_GT(rows, Sample::IsAll() ? 1000 : 0);
}

TEST(DiffPropertyTest, PartsAddUpAndSwappingTurnsTheSignsAround) {
  std::vector<Report> reports;
  for (const char* name : {"resnet50", "mobilenet-v3-large", "gpt2", "lstm",
                           "deployed/resnet50.qdq_s8", "deployed/resnet50.ort_all", "gpt-124m",
                           "vit-b-16", "hf-clip-vit-l-14-336", "llama-tiny"}) {
    reports.push_back(CountFile(absl::StrCat(ONNXFLOPS_SOURCE_DIR, "/models/", name, ".onnx")));
  }
  for (size_t i = 0; i < reports.size(); ++i) {
    for (size_t j = i + 1; j < reports.size(); ++j) {
      const Diff diff = MakeDiff(&reports[i], reports[j]).value();
      ExpectPartsAddUp(diff);
      // Names of open sizes follow the head.
      if (!diff.renamed_symbols.empty()) continue;
      const Diff back = MakeDiff(&reports[j], reports[i]).value();
      EXPECT_EQ(Turned(diff, 1), Turned(back, -1)) << i << " " << j;
    }
  }
}

// What a configuration describes has no wrapper around it; the export was one of a class `m`.
TEST(DiffPropertyTest, AWrapperIsNotAnotherModel) {
  const Report exported = CountFile(ONNXFLOPS_SOURCE_DIR "/models/gpt2.onnx");
  const Report described = CountFile(ONNXFLOPS_SOURCE_DIR "/tests/data/config/gpt2/config.json");
  for (const auto& [base, head] : {std::tie(exported, described), std::tie(described, exported)}) {
    const Diff diff = MakeDiff(&base, head).value();
    ExpectPartsAddUp(diff);
    for (const ModuleDiff& m : diff.modules) {
      EXPECT_TRUE(m.Change(QuantityOf("macs")).is_zero()) << NameOf(m.status) << " " << m.path;
    }
  }
}

// What Count finds with --memory, also where that was written and read back.
TEST(DiffPropertyTest, ThePeakIsThatOfACount) {
  for (const char* name : {"gpt2", "resnet50", "vit-b-16", "t5-small"}) {
    const Model model = Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR, "/models/", name, ".onnx")).value();
    const Report alone = Count(model, {.activation_peak = true}).value();
    const Report full = Count(model, {.memory = MemoryOptions()}).value();
    ASSERT_TRUE(alone.activation_peak) << name;
    EXPECT_EQ(alone.activation_peak->bytes, full.memory->peak.bytes) << name;
    const Report read = ReadReport(ToJson(full), "base.json").value();
    const Diff diff = MakeDiff(&read, alone).value();
    EXPECT_TRUE(diff.IsEmpty()) << name;
    ASSERT_TRUE(diff.peak) << name;
    EXPECT_EQ(diff.peak->head, alone.activation_peak->bytes) << name;
  }
}

onnx::ModelProto ReadProto(const std::string& name) {
  std::ifstream file(absl::StrCat(ONNXFLOPS_SOURCE_DIR, "/models/", name, ".onnx"),
                     std::ios::binary);
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromIstream(&file)) << name;
  proto.mutable_graph()->clear_value_info();
  return proto;
}

Report CountProto(const onnx::ModelProto& proto) {
  return Count(LoadFromBytes(proto.SerializeAsString()).value()).value();
}

onnx::TensorShapeProto::Dimension* InputDim(onnx::ModelProto* proto, int axis) {
  return proto->mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(axis);
}

// What is in the parts whose names `fixed` lists does not see the image.
bool IsOneOf(absl::string_view path, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return path == name || absl::EndsWith(path, absl::StrCat(".", name));
  });
}

// Twice the height and width: every convolution over the image has 4 times the work. What comes
// behind a global pooling has the same.
TEST(DiffMutationTest, ALargerImage) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"resnet50", {"fc"}},
      {"mobilenet-v3-large", {"fc1", "fc2", "classifier", "classifier.0", "classifier.3"}}};
  for (const auto& [name, fixed] : cases) {
    onnx::ModelProto proto = ReadProto(name);
    const Report base = CountProto(proto);
    for (int axis : {2, 3}) InputDim(&proto, axis)->set_dim_value(448);
    const Diff diff = MakeDiff(&base, CountProto(proto)).value();
    int changed = 0;
    for (const ModuleDiff& m : diff.modules) {
      EXPECT_EQ(m.Change(QuantityOf("params")), Expr(0)) << m.path;
      if (m.end != static_cast<int32_t>(&m - diff.modules.data()) + 1) continue;  // its children
      EXPECT_EQ((*m.head).macs, (*m.base).macs * Expr(IsOneOf(m.path, fixed) ? 1 : 4)) << m.path;
      changed += m.Change(QuantityOf("macs")).is_zero() ? 0 : 1;
    }
    EXPECT_GT(changed, 40) << name;
  }
}

// Every module has so many times the work, and at a batch of 1 nothing changed.
TEST(DiffMutationTest, BatchMadeDynamic) {
  for (const char* name :
       {"resnet50", "deployed/resnet50.ts11.static", "deployed/resnet50.qdq_s8"}) {
    onnx::ModelProto proto = ReadProto(name);
    const Report base = CountProto(proto);
    InputDim(&proto, 0)->set_dim_param("batch");
    const Report head = CountProto(proto);
    const Diff diff = MakeDiff(&base, head).value();
    EXPECT_THAT(diff.head_symbols, ElementsAre("batch"));
    for (const ModuleDiff& m : diff.modules) {
      EXPECT_EQ((*m.head).macs, (*m.base).macs * Expr::Symbol("batch", 1)) << m.path;
      EXPECT_EQ(m.Change(QuantityOf("macs")).is_zero(), (*m.base).macs.is_zero()) << m.path;
      EXPECT_EQ(m.Change(QuantityOf("params")), Expr(0)) << m.path;
    }
    Report at_one = head;
    ASSERT_TRUE(BindReport({{"batch", 1}}, &at_one).ok());
    const Diff none = MakeDiff(&base, at_one).value();
    for (const ModuleDiff& m : none.modules) {
      EXPECT_EQ(m.status, DiffStatus::kSame) << m.path;
    }
  }
}

// ---- one layer more

struct Layer {
  const char *model, *name, *copy;
  const char* stream;  // the activations that flow into it
};

// By the names of nodes, or by what the dynamo exporter wrote beside them.
bool IsIn(const onnx::NodeProto& node, const Layer& layer) {
  if (absl::StrContains(node.name(), absl::StrCat(layer.name, "/"))) return true;
  const auto& props = node.metadata_props();
  return std::any_of(props.begin(), props.end(), [&](const auto& prop) {
    return absl::StrContains(prop.value(), absl::StrCat("'", layer.name, "'"));
  });
}

std::string LastPart(absl::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));  // npos + 1 is 0
}

// What the copy calls a node, a weight or a module of the layer.
std::string OfCopy(const Layer& layer, const std::string& name) {
  return absl::StrReplaceAll(name, {{LastPart(layer.name), LastPart(layer.copy)}});
}

// The nodes of the layer once more, with tensors and weights of their own, fed with `input`.
std::vector<onnx::NodeProto> CopyLayer(const Layer& layer, const std::string& input,
                                       onnx::GraphProto* graph) {
  std::set<std::string> made, weights;
  std::vector<onnx::NodeProto> copies;
  for (const onnx::NodeProto& node : graph->node()) {
    if (!IsIn(node, layer)) continue;
    copies.push_back(node);
    made.insert(node.output().begin(), node.output().end());
    weights.insert(node.input().begin(), node.input().end());
  }
  for (int i = graph->initializer_size(); i-- > 0;) {
    if (!weights.contains(graph->initializer(i).name())) continue;
    made.insert(graph->initializer(i).name());
    onnx::TensorProto* tensor = graph->add_initializer();
    *tensor = graph->initializer(i);
    tensor->set_name(OfCopy(layer, tensor->name()) + "_copy");
  }
  for (onnx::NodeProto& node : copies) {
    node.set_name(OfCopy(layer, node.name()) + "_copy");
    for (std::string& name : *node.mutable_output()) name = OfCopy(layer, name) + "_copy";
    for (std::string& name : *node.mutable_input()) {
      if (name == layer.stream) {
        name = input;
      } else if (made.contains(name)) {
        name = OfCopy(layer, name) + "_copy";
      }
    }
    for (auto& prop : *node.mutable_metadata_props()) {
      prop.set_value(OfCopy(layer, prop.value()));
    }
  }
  return copies;
}

// The copy stands behind the layer: it takes what leaves that, and feeds what took it.
void RepeatLayer(const Layer& layer, onnx::GraphProto* graph) {
  std::set<std::string> made, left;
  for (const onnx::NodeProto& node : graph->node()) {
    if (IsIn(node, layer)) made.insert(node.output().begin(), node.output().end());
  }
  int behind = graph->node_size();
  for (int i = graph->node_size(); i-- > 0;) {
    if (IsIn(graph->node(i), layer)) continue;
    for (std::string& name : *graph->mutable_node(i)->mutable_input()) {
      if (!made.contains(name)) continue;
      left.insert(name);
      name = OfCopy(layer, name) + "_copy";
      behind = i;
    }
  }
  ASSERT_EQ(left.size(), 1u) << layer.model;
  for (const onnx::NodeProto& node : CopyLayer(layer, *left.begin(), graph)) {
    *graph->add_node() = node;
    for (int i = graph->node_size() - 1; i > behind; --i) {
      graph->mutable_node()->SwapElements(i, i - 1);
    }
    ++behind;
  }
}

const ModuleDiff* FindLayer(const Diff& diff, const std::string& name) {
  const auto found =
      std::find_if(diff.modules.begin(), diff.modules.end(), [&](const ModuleDiff& m) {
        return m.path == name || absl::EndsWith(m.path, absl::StrCat(".", name));
      });
  return found == diff.modules.end() ? nullptr : &*found;
}

// The copy is new and costs what the layer costs. So much more cost the modules around it, and
// nothing else changed.
void ExpectOnlyCopyIsNew(const Layer& layer, const Diff& diff) {
  const ModuleDiff* original = FindLayer(diff, LastPart(layer.name));
  const ModuleDiff* copy = FindLayer(diff, LastPart(layer.copy));
  ASSERT_TRUE(original != nullptr && copy != nullptr) << layer.model;
  EXPECT_EQ(copy->status, DiffStatus::kNew) << layer.model;
  for (const ModuleDiff& m : diff.modules) {
    const bool around = m.parent < 0 || absl::StartsWith(copy->path, absl::StrCat(m.path, "."));
    for (absl::string_view key : {"macs", "flops", "params"}) {
      const Quantity& q = QuantityOf(key);
      if (around || &m == copy) {
        EXPECT_EQ(m.Change(q).ToString(), (*original->head.*q.value).ToString())
            << layer.model << " " << m.path << " " << key;
      } else if (!absl::StartsWith(m.path, copy->path)) {
        EXPECT_EQ(m.Change(q).ToString(), "0") << layer.model << " " << m.path << " " << key;
      }
    }
  }
}

TEST(DiffMutationTest, OneLayerMore) {
  const Layer layers[] = {
      {"resnet50", "layer1/layer1.2", "layer1/layer1.3", "/layer1/layer1.1/relu_2/Relu_output_0"},
      {"vit-b-16", "encoder/layers/encoder_layer_11", "encoder/layers/encoder_layer_12",
       "/encoder/layers/encoder_layer_10/Add_1_output_0"},
      {"hf-clip-vit-l-14-336", "vision_model/encoder/layers.23", "vision_model/encoder/layers.24",
       "/m/vision_model/encoder/layers.22/Add_1_output_0"},
      {"gpt2", "transformer/h.11", "transformer/h.12", "/m/transformer/h.10/Add_1_output_0"},
      {"clip-vit-b-32.ts17", "visual/transformer/resblocks.11", "visual/transformer/resblocks.12",
       "/visual/transformer/resblocks.10/Add_1_output_0"},
      {"gpt-124m", "trf_blocks.11", "trf_blocks.12", "add_88"},
  };
  for (const Layer& layer : layers) {
    onnx::ModelProto proto = ReadProto(layer.model);
    const Report base = CountProto(proto);
    RepeatLayer(layer, proto.mutable_graph());
    const Diff diff = MakeDiff(&base, CountProto(proto)).value();
    ExpectOnlyCopyIsNew(layer, diff);
  }
}

// ---- a wider layer

// Weights of the nodes there have `more` where they have `wide`.
void Widen(const std::string& place, int64_t wide, int64_t more, onnx::GraphProto* graph) {
  std::set<std::string> used;
  for (const onnx::NodeProto& node : graph->node()) {
    if (!absl::StrContains(node.name(), place)) continue;
    used.insert(node.input().begin(), node.input().end());
  }
  for (onnx::TensorProto& tensor : *graph->mutable_initializer()) {
    if (!used.contains(tensor.name())) continue;
    for (int axis = 0; axis < tensor.dims_size(); ++axis) {
      if (tensor.dims(axis) == wide) tensor.set_dims(axis, more);
    }
    tensor.clear_external_data();  // with its length
  }
}

// A quarter wider: so much more work and weights have its two matrices, and no other module has
// other MACs. What is not around it does not change at all.
TEST(DiffMutationTest, AWiderMlp) {
  const struct {
    const char *model, *place, *path;
    int64_t wide, hidden, rows;
  } cases[] = {
      {"hf-clip-vit-l-14-336", "/vision_model/encoder/layers.7/mlp/",
       "m.vision_model.encoder.layers.7.mlp", 4096, 1024, 577},
      {"clip-vit-b-32.ts17", "/visual/transformer/resblocks.3/mlp/",
       "visual.transformer.resblocks.3.mlp", 3072, 768, 50},
      {"vit-b-16", "/encoder_layer_3/mlp/", "encoder.layers.encoder_layer_3.mlp", 3072, 768, 197},
  };
  for (const auto& c : cases) {
    onnx::ModelProto proto = ReadProto(c.model);
    const Report base = CountProto(proto);
    Widen(c.place, c.wide, c.wide * 5 / 4, proto.mutable_graph());
    const Diff diff = MakeDiff(&base, CountProto(proto)).value();
    const bool is_open = !base.totals.macs.is_literal();
    const Expr more =
        Expr(c.rows * c.hidden * c.wide / 4) * (is_open ? Expr::Symbol("batch", 1) : Expr(1));
    int matrices = 0;
    for (const ModuleDiff& m : diff.modules) {
      const Expr macs = m.Change(QuantityOf("macs"));
      if (absl::StartsWith(c.path, m.path)) {  // around it, or itself
        EXPECT_EQ(macs, Expr(2) * more) << m.path;
        EXPECT_EQ(m.Change(QuantityOf("params")), Expr(c.wide / 4 * (2 * c.hidden + 1)));
      } else if (!absl::StartsWith(m.path, c.path)) {
        EXPECT_EQ(m.status, DiffStatus::kSame) << c.model << " " << m.path;
      } else if (!macs.is_zero()) {
        EXPECT_EQ(macs, more) << m.path;
        ++matrices;
      }
    }
    EXPECT_EQ(matrices, 2) << c.model;
  }
}

// ---- quantisation

// Between the pooling and the classifier: FLOPs of quantising 2048 numbers there, and no MACs.
TEST(DiffMutationTest, QdqInserted) {
  onnx::ModelProto proto = ReadProto("resnet50");
  const Report base = CountProto(proto);
  onnx::GraphProto* graph = proto.mutable_graph();
  for (const char* name : {"scale", "zero"}) {
    onnx::TensorProto* tensor = graph->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(*name == 's' ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT8);
    tensor->set_raw_data(std::string(*name == 's' ? 4 : 1, '\0'));
  }
  auto& fc = *std::find_if(graph->mutable_node()->begin(), graph->mutable_node()->end(),
                           [](const onnx::NodeProto& node) { return node.name() == "/fc/Gemm"; });
  const std::string input = fc.input(0);
  fc.set_input(0, "dequantised");
  ModelMaker::AddNode(graph, "/fc/Q", "QuantizeLinear", {input, "scale", "zero"}, {"q"});
  ModelMaker::AddNode(graph, "/fc/DQ", "DequantizeLinear", {"q", "scale", "zero"}, {"dequantised"});
  const Diff diff = MakeDiff(&base, CountProto(proto)).value();
  for (const ModuleDiff& m : diff.modules) {
    EXPECT_EQ(m.Change(QuantityOf("macs")), Expr(0)) << m.path;
    const bool here = m.parent < 0 || m.path == "fc" || absl::StartsWith(m.path, "fc.");
    EXPECT_EQ(m.Change(QuantityOf("flops")) == Expr(0), !here) << m.path;
  }
  std::vector<std::string> ops;
  for (const OpDiff& op : diff.ops) {
    if (op.base_nodes != op.head_nodes) ops.push_back(op.op);
  }
  EXPECT_THAT(ops, ElementsAre("DequantizeLinear", "QuantizeLinear"));
}

// CLIP as Hugging Face and as open_clip write it: modules have other names and levels, and
// attention is split in another way. Towers, layers and what is in them are the same all the same.
TEST(DiffPropertyTest, TwoProgramsOfOneNetwork) {
  const std::string root = ONNXFLOPS_SOURCE_DIR "/models/";
  const Report hf = CountFile(root + "hf-clip-vit-l-14-336.onnx");
  Report open_clip = CountFile(root + "clip-vit-l-14-336.onnx");
  ASSERT_TRUE(BindReport({{"batch", 1}}, &open_clip).ok());
  const std::pair<std::string, std::string> kSame[] = {
      {"visual.transformer", "m.vision_model.encoder"},
      {"visual.transformer.resblocks.23.mlp.c_fc", "m.vision_model.encoder.layers.23.mlp.fc1"},
      {"visual.transformer.resblocks.7.attn", "m.vision_model.encoder.layers.7.self_attn"},
      {"visual.conv1", "m.vision_model.embeddings.patch_embedding"},
      {"transformer.resblocks.11", "m.text_model.encoder.layers.11"},
      {"ln_final", "m.text_model.final_layer_norm"}};
  const Diff to = MakeDiff(&hf, open_clip).value(), back = MakeDiff(&open_clip, hf).value();
  for (const auto& [in_open_clip, in_hf] : kSame) {
    for (const Diff* diff : {&to, &back}) {
      const std::string& path = diff == &to ? in_open_clip : in_hf;
      const auto m = std::find_if(diff->modules.begin(), diff->modules.end(),
                                  [&](const ModuleDiff& row) { return row.path == path; });
      ASSERT_NE(m, diff->modules.end()) << path;
      EXPECT_EQ(m->base_path, diff == &to ? in_hf : in_open_clip);
      EXPECT_TRUE(m->Change(QuantityOf("macs")).is_zero()) << path;
    }
  }
}

// The same network by two exporters: every module that does multiply has a partner, with equal
// MACs.
// The same network by two programs, one of which fixes the sizes and has no attention_mask: the
// tokens are paired by their type, and both are counted at 2 x 1,024.
TEST(DiffPropertyTest, InputsOfOtherNamesAreThoseOfTheirType) {
  const Model open = Load(ONNXFLOPS_SOURCE_DIR "/models/gpt2.onnx").value();
  const Model fixed = Load(ONNXFLOPS_SOURCE_DIR "/models/gpt-124m.onnx").value();
  const absl::StatusOr<Diff> diff = DiffModels(open, fixed);
  ASSERT_TRUE(diff.ok()) << diff.status();
  EXPECT_EQ(diff->made_equal.size(), 2);
  EXPECT_TRUE(diff->modules[0].Change(QuantityOf(&Amounts::macs)).is_zero());
}

TEST(DiffPropertyTest, AnotherExporterIsNotAnotherModel) {
  int networks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ONNXFLOPS_COMPARE_MODELS_DIR)) {
    const std::string dynamo = entry.path().string();
    constexpr absl::string_view kEnd = ".dynamo20.static.onnx";
    if (!absl::EndsWith(dynamo, kEnd)) continue;
    const std::string script =
        absl::StrCat(dynamo.substr(0, dynamo.size() - kEnd.size()), ".ts17.static.onnx");
    if (!std::filesystem::exists(script)) continue;
    ++networks;
    const Report base = CountFile(script);
    const Diff diff = MakeDiff(&base, CountFile(dynamo)).value();
    // The one folds the table of rotary embeddings into a constant, the other multiplies it out.
    const bool has_rotary = absl::StrContains(dynamo, "llama_tiny_gqa.");
    for (const ModuleDiff& m : diff.modules) {
      const Expr change = m.Change(QuantityOf("macs"));
      EXPECT_TRUE(change.is_zero() || (has_rotary && change == Expr(-4096)))
          << dynamo << " " << NameOf(m.status) << " " << m.path << " " << change.ToString();
    }
    EXPECT_FALSE(diff.facts.empty()) << "it says which exporter";
  }
  EXPECT_GE(networks, 10);
}

}  // namespace
}  // namespace onnxflops::diff_models_test
