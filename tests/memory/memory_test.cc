// What models hold in memory: the peak of live activations against brute force and against ONNX
// Runtime, what training keeps against torch, the largest batch that fits against trial, and the
// cache of decoders. tests/data/memory_truth.json says where its figures come from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "onnx/onnx_pb.h"
#include "src/api/analysis.h"
#include "src/api/sweep.h"
#include "src/family/family.h"
#include "src/memory/fit.h"
#include "src/memory/liveness.h"
#include "src/onnxflops.h"
#include "src/report/memory_rows.h"
#include "tests/infer/random_graph.h"
#include "tests/model_maker.h"
#include "tests/model_text.h"

namespace onnxflops::memory_test {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Json& Truth() {
  static const Json truth =
      Json::parse(std::ifstream(ONNXFLOPS_SOURCE_DIR "/tests/data/memory_truth.json"));
  return truth;
}

Report CountAt(const Model& model, CountOptions options) {
  if (!options.memory) options.memory.emplace();
  absl::StatusOr<Report> report = Count(model, options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *std::move(report) : Report();
}

// ---- the peak

TEST(MemoryTest, PeaksAreThoseOfBruteForceAndOfOnnxRuntime) {
  const std::map<std::string, PeakOptions> rules = {
      {"plain", {.views = false}},
      {"views", {}},
      {"in_place", {.in_place = true}},
      {"in_place_inputs", {.in_place = true, .inputs = true}}};
  ASSERT_GT(Truth()["peaks"].size(), 8);
  for (const Json& row : Truth()["peaks"]) {
    const std::string name = row["model"];
    const auto model = Load(ONNXFLOPS_COMPARE_MODELS_DIR "/" + name);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto analysis = Analyze(*model, {}, CausalCounting::kFull);
    ASSERT_TRUE(analysis.ok()) << analysis.status();
    for (const char* order : {"file", "ort"}) {
      for (const auto& [rule, options] : rules) {
        if (!row.contains(order) || !row[order].contains(rule)) continue;
        PeakOptions ordered = options;
        if (std::string(order) == "ort") ordered.order = ExecutionOrder::kOrt;
        const auto peak = FindPeak(analysis->inference, ordered);
        ASSERT_TRUE(peak.ok()) << peak.status();
        EXPECT_EQ(peak->bytes, Expr(row[order][rule].get<int64_t>())) << name << order << rule;
      }
    }
  }
}

TEST(MemoryTest, TheNodeAtThePeakAndWhatIsAliveThere) {
  const auto model = Load(ONNXFLOPS_COMPARE_MODELS_DIR "/resnet50.ts17.static.onnx");
  ASSERT_TRUE(model.ok());
  const Report report = CountAt(*model, {});
  EXPECT_EQ(report.memory->peak.node, "/layer1/layer1.0/Add");
  Expr alive = 0;
  for (const AliveTensor& tensor : report.memory->alive) alive += tensor.bytes;
  EXPECT_EQ(alive, report.memory->peak.bytes);
}

// By hand: a, b and c are alive at c, and that is the order in which they are made, also where the
// file has the outputs before the nodes.
TEST(MemoryTest, EqualTensorsStandAsTheyAreMade) {
  ModelMaker make;
  make.Input("x", {"8"}).Output("c");
  const std::string ends = make.proto.graph().SerializeAsString();
  make.proto.clear_graph();
  const std::string head = make.proto.SerializeAsString();
  make.Node("1", "Exp", {"x"}, {"a"}).Node("2", "Sqrt", {"a"}, {"b"});
  make.Node("3", "Add", {"a", "b"}, {"c"});
  const std::string nodes = make.proto.graph().SerializeAsString();
  for (const std::string& graph : {ends + nodes, nodes + ends}) {
    ASSERT_LT(graph.size(), 256);
    const char size[] = {static_cast<char>(graph.size() | 128),
                         static_cast<char>(graph.size() / 128)};
    const auto model = LoadFromBytes(absl::StrCat(head, "\x3a", std::string(size, 2), graph));
    ASSERT_TRUE(model.ok()) << model.status();
    std::vector<std::string> names;
    const Report report = CountAt(*model, {});
    for (const AliveTensor& tensor : report.memory->alive) names.push_back(tensor.name);
    EXPECT_THAT(names, ElementsAre("a", "b", "c"));
  }
}

// By hand: y = x w, where the file has w as int8. What a runtime unpacks is no activation, nor is
// its transpose.
TEST(MemoryTest, ADequantisedWeightIsNoActivation) {
  const Model model = ModelFromText(
      "g (float[2,2] x) => (float[2,2] y) <int8[2,2] q = {1, 2, 3, 4}, float s = {0.5}> "
      "{ w = DequantizeLinear(q, s) t = Transpose(w) y = MatMul(x, t) }",
      17);
  EXPECT_EQ(CountAt(model, {}).memory->peak.bytes, Expr(2 * 2 * 4));
}

// Which of ten sizes is the largest decides where the peak is, more than one expression says.
// Totals, which hold at all sizes, have none.
TEST(MemoryTest, APeakOfAssumedSizesIsNoTotal) {
  ModelMaker make;
  CountOptions options;
  for (int i = 0; i < 10; ++i) {
    const std::string n = absl::StrCat(i);
    make.Input("x" + n, {"A" + n}).Node("e" + n, "Exp", {"x" + n}, {"p" + n});
    make.Node("s" + n, "ReduceSum", {"p" + n}, {"r" + n}).Output("r" + n);
    options.bindings["A" + n] = 8;
  }
  const Json open = Json::parse(ToJson(*make.Count({.memory = MemoryOptions()})));
  EXPECT_TRUE(open["totals"]["peak_activation_bytes"].is_null());
  EXPECT_FALSE(open["memory"]["inference_peak_bytes"].is_null());
  options.memory.emplace();
  const Json fixed = Json::parse(ToJson(*make.Count(options)));
  EXPECT_EQ(fixed["totals"]["peak_activation_bytes"]["value"], 72);  // 8 and ten sums, of 4 each
}

// A value is there from its node to its last use, by looking at every pair of them.
int64_t BruteForce(const Inference& in, const Bindings& at) {
  const Graph& graph = in.model->graph(0);
  const auto size = [&](ValueId value) {
    const Fact* fact = in.FactOf(value);
    if (fact == nullptr || !fact->is_tensor() || !fact->shape.ranked()) return int64_t{0};
    const auto elements = fact->shape.NumElements().Evaluate(at);
    const int bits = BitsPerElement(fact->dtype);
    return elements.ok() ? (static_cast<int64_t>(*elements) * bits + 7) / 8 : int64_t{0};
  };
  int64_t peak = 0;
  for (size_t step = 0; step < graph.nodes.size(); ++step) {
    int64_t live = 0;
    for (size_t maker = 0; maker <= step; ++maker) {
      const Node& made = in.model->node(graph.nodes[maker]);
      if (made.op_type == "Constant") continue;
      for (OptionalValueId value : made.outputs) {
        if (!value) continue;
        bool needed =
            maker == step || std::count(graph.outputs.begin(), graph.outputs.end(), *value);
        for (size_t user = step; user < graph.nodes.size() && !needed; ++user) {
          const auto& inputs = in.model->node(graph.nodes[user]).inputs;
          needed = std::count(inputs.begin(), inputs.end(), value) > 0;
        }
        if (needed) live += size(*value);
      }
    }
    peak = std::max(peak, live);
  }
  return peak;
}

// The largest output of a node, and the sum of all that nodes make.
std::pair<int64_t, int64_t> Bounds(const Report& report, const Bindings& at) {
  int64_t largest = 0, all = 0;
  for (const NodeRow& row : report.nodes) {
    for (const TensorInfo& output : row.outputs) {
      const auto dtype = ParseDType(output.type);
      if (!dtype || !output.shape.ranked()) continue;
      const auto elements = output.shape.NumElements().Evaluate(at);
      if (!elements.ok()) continue;
      const int64_t bytes = (static_cast<int64_t>(*elements) * BitsPerElement(*dtype) + 7) / 8;
      all += bytes;
      largest = std::max(largest, bytes);
    }
  }
  return {largest, all};
}

// Nodes on what nodes before made, or on the input: element by element, along an axis, or as a
// view.
Model RandomChain(uint32_t seed) {
  std::mt19937 random(seed);
  std::string text = "g (float[batch,seq] v0) => (float[batch,m] y) { ";
  constexpr int kNodes = 25;
  const auto pick = [&](int made) {
    return absl::StrCat("v", random() % static_cast<uint32_t>(made));
  };
  for (int i = 1; i < kNodes; ++i) {
    const std::string a = pick(i), b = pick(i);
    const char* const forms[] = {"Neg(", "Exp(", "Identity(", "Concat<axis=1>("};
    const uint32_t form = random() % 4;
    absl::StrAppend(&text, "v", i, " = ", forms[form], a, form == 3 ? absl::StrCat(", ", b) : "",
                    ") ");
  }
  return ModelFromText(absl::StrCat(text, "y = Concat<axis=1>(", pick(kNodes), ", v0) }"), 20);
}

TEST(MemoryTest, RandomGraphsAgreeWithBruteForceAtEverySize) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Model model = RandomChain(seed);
    const auto open = Analyze(model, {}, CausalCounting::kFull);
    ASSERT_TRUE(open.ok()) << open.status();
    const Bindings at = {{"batch", 1 + seed % 7}, {"seq", 1 + seed % 5}};
    const auto peak = FindPeak(open->inference, {.views = false, .at = at});
    ASSERT_TRUE(peak.ok() && peak->value && peak->bytes) << peak.status();
    EXPECT_EQ(*peak->value, BruteForce(open->inference, at)) << seed;
    EXPECT_EQ(peak->bytes->Substitute(at), Expr(*peak->value)) << seed;
    CountOptions counting;
    counting.node_rows = true;
    const auto [largest, all] = Bounds(CountAt(model, counting), at);
    EXPECT_GE(*peak->value, largest) << seed;
    EXPECT_LE(*peak->value, all) << seed;
    const auto ort = FindPeak(open->inference, {.order = ExecutionOrder::kOrt, .at = at});
    EXPECT_LE(*ort->value, all) << seed;
  }
}

TEST(MemoryTest, FormulasOfRandomModelsAreTheFiguresAtTheirSizes) {
  int compared = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    RandomGraph graph(seed);
    const auto model = LoadFromBytes(graph.Build().SerializeAsString());
    ASSERT_TRUE(model.ok()) << model.status();
    const auto open = Analyze(*model, {}, CausalCounting::kFull);
    ASSERT_TRUE(open.ok()) << open.status();
    CountOptions at;
    for (const SymbolOrigin& s : open->inference.symbols) at.bindings[s.name] = 1 + seed % 7;
    const auto bound = Analyze(*model, at, CausalCounting::kFull);
    if (!bound.ok()) continue;
    const auto of_open = FindPeak(open->inference, {}), of_bound = FindPeak(bound->inference, {});
    ASSERT_TRUE(of_open.ok() && of_bound.ok());
    if (!of_open->bytes || !of_bound->bytes) continue;
    ++compared;
    EXPECT_EQ(of_open->bytes->Substitute(at.bindings), *of_bound->bytes) << seed;
  }
  EXPECT_GT(compared, 20);
}

// Memory of a deep model takes a second a point; 1,000 points took 20 minutes and more.
TEST(MemoryTest, SweepsThatWouldTakeTooLongAreRefused) {
  const auto model = LoadConfig(R"({"model_type": "gpt2", "n_layer": 2048})", "deep.json");
  ASSERT_TRUE(model.ok()) << model.status();
  CountOptions options;
  options.memory.emplace();
  const auto each = [](const Report&) { return absl::CancelledError("the first point"); };
  const size_t most = 10'000'000 / (*model)->nodes.size();
  ASSERT_LT(most, 1000);
  std::vector<int64_t> sizes(most);
  std::iota(sizes.begin(), sizes.end(), 1);
  const auto sweep = [&] {
    return SweepMemory(*model, options, {{"seq", sizes}}, PointParts::kAll, each);
  };
  EXPECT_EQ(sweep().message(), "the first point");
  sizes.push_back(static_cast<int64_t>(most) + 1);
  const absl::Status status = sweep();
  EXPECT_THAT(status.message(),
              HasSubstr("deep.json: this sweep of memory counts the model again"));
  EXPECT_THAT(status.message(), HasSubstr("sweep fewer sizes at once"));
}

struct SweptRows {
  std::vector<MemoryRow> rows;
  int counted = 0;
};

SweptRows RowsOf(const Model& model, absl::Span<const SweptSymbol> swept, PointParts parts) {
  CountOptions options;
  options.memory.emplace().training.optimizer = Optimizer::kAdamW;
  SweptRows result;
  const absl::Status status = SweepMemory(model, options, swept, parts, [&](const Report& report) {
    result.rows.push_back(MakeMemoryRow(report));
    // Of a size that is open, the largest of sums can be written in more than one way.
    for (MemoryRow::Bytes& bytes : result.rows.back().bytes) {
      if (result.rows.back().open) bytes.exact.clear();
    }
    result.counted += report.modules.empty() ? 0 : 1;
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

// Where a size is 1, what a step holds has another formula: these points are counted.
TEST(MemoryTest, SweepsByFormulasAreThoseByCounting) {
  const char* const configs[] = {
      R"({"model_type": "gpt2", "n_layer": 2})",
      R"({"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 256,
          "num_attention_heads": 8, "intermediate_size": 700, "vocab_size": 1000})",
      R"({"model_type": "bert", "num_hidden_layers": 1})",
  };
  const SweptSymbol batch = {"batch", {1, 2, 7}}, seq = {"seq", {1, 2, 3, 100, 511}};
  for (const char* config : configs) {
    const auto model = LoadConfig(config, "config.json");
    ASSERT_TRUE(model.ok()) << model.status();
    for (const auto& [swept, ones] :
         {std::make_pair(std::vector<SweptSymbol>{batch, seq}, 7), {{seq}, 1}}) {
      const SweptRows formulas = RowsOf(*model, swept, PointParts::kMemory);
      const SweptRows counts = RowsOf(*model, swept, PointParts::kAll);
      EXPECT_EQ(formulas.rows, counts.rows) << config;
      EXPECT_EQ(formulas.counted, ones) << config;
    }
  }
}

struct PeakCase {
  const char* what;
  const char* text;
  int64_t views, in_place, copies;
};
constexpr PeakCase kPeakCases[] = {
    {"views own nothing",
     "g (float[8] x) => (float[2,4] y) { s = Constant<value = int64[2] {2, 4}>() a = Neg(x) b = "
     "Reshape(a, s) y = Exp(b) }",
     64, 32, 64},
    {"the branch of an If",
     "g (bool c, float[8] x) => (float[8] y) { y = If(c) <then_branch = t () => (float[8] u) "
     "{ a = Neg(x) u = Exp(a) }, else_branch = e () => (float[8] w) { w = Exp(x) }> }",
     64, 32, 64},
    {"a value that only a body uses",
     "g (bool c, float[8] x) => (float[8] y) { a = Neg(x) y = If(c) <then_branch = t () => "
     "(float[8] u) { u = Exp(a) }, else_branch = e () => (float[8] w) { w = Exp(x) }> }",
     64, 64, 64},
};

TEST(MemoryTest, PeaksOfSmallGraphs) {
  for (const PeakCase& c : kPeakCases) {
    const Model model = ModelFromText(c.text, 20);
    const Report report = CountAt(model, {});
    ASSERT_TRUE(report.memory) << c.what;
    EXPECT_EQ(report.memory->peak.bytes, Expr(c.views)) << c.what;
    EXPECT_EQ(report.memory->other[0].bytes, Expr(c.copies)) << c.what;
    EXPECT_EQ(report.memory->other[1].bytes, Expr(c.in_place)) << c.what;
  }
}

// ---- training

CountOptions OptionsOf(const Json& row) {
  CountOptions options;
  TrainingOptions& training = options.memory.emplace().training;
  training.frozen = row.value("frozen", std::vector<std::string>());
  training.trained = row.value("trained", std::vector<std::string>());
  if (row["attention"] == "flash") training.attention = AttentionBackward::kFlash;
  training.recompute = ParseRecompute(row.value("recompute", "none"));
  training.optimizer = Optimizer::kAdamW;
  return options;
}

TEST(MemoryTest, TrainingKeepsWhatTorchSaves) {
  ASSERT_GT(Truth()["training"].size(), 25);
  for (const Json& row : Truth()["training"]) {
    SCOPED_TRACE(row["case"].get<std::string>());
    const auto model = Load(ONNXFLOPS_TRAINING_MODELS_DIR "/" + row["model"].get<std::string>());
    ASSERT_TRUE(model.ok()) << model.status();
    const Report report = CountAt(*model, OptionsOf(row));
    ASSERT_TRUE(report.memory);
    EXPECT_EQ(report.memory->saved_bytes, Expr(row["saved_bytes"].get<int64_t>()));
    EXPECT_EQ(report.memory->saved_input_bytes, Expr(row["saved_input_bytes"].get<int64_t>()));
    EXPECT_EQ(report.memory->unknown_saved, 0);
    EXPECT_EQ(report.memory->gradient_bytes, report.memory->trained_params * 4);
    // Two moments, and the steps of each tensor: step_memory_test has these to the byte.
    EXPECT_GT(report.memory->optimizer_bytes, report.memory->trained_params * 8);
    EXPECT_LT(report.memory->optimizer_bytes, report.memory->trained_params * 8 + 4000);
  }
}

// Every size that the model leaves open, but a data-dependent one, has a size of its own.
Bindings DifferentSizes(const Report& report, int64_t first) {
  Bindings sizes;
  for (const SymbolOrigin& s : report.symbols) {
    if (s.kind == SymbolOrigin::Kind::kInput) sizes[s.name] = first + 2 * std::ssize(sizes);
  }
  return sizes;
}

TEST(MemoryTest, FormulasAreTheFiguresAtTheirSizes) {
  for (const char* file : {"models/gpt2.onnx", "models/lstm.onnx", "models/mobilenet-v3-large.onnx",
                           "models/llama-tiny.onnx", "tests/data/config/gpt2/config.json"}) {
    SCOPED_TRACE(file);
    const auto model = Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/", file));
    ASSERT_TRUE(model.ok()) << model.status();
    CountOptions options;
    options.memory.emplace().training.loss = Loss::kCrossEntropy;
    const Report open = CountAt(*model, options);
    for (const int64_t first : {1, 2, 9}) {
      options.bindings = DifferentSizes(open, first);
      const MemoryReport bound = *CountAt(*model, options).memory;
      const auto at = [&](const Expr& formula) { return formula.Substitute(options.bindings); };
      ASSERT_TRUE(open.memory->peak.bytes && bound.peak.value && bound.step.value);
      EXPECT_EQ(at(*open.memory->peak.bytes), Expr(*bound.peak.value)) << first;
      if (first < kMinTrainingSize) continue;
      EXPECT_EQ(at(open.memory->saved_bytes), bound.saved_bytes) << first;
      if (open.memory->step.bytes) {
        EXPECT_EQ(at(*open.memory->step.bytes), Expr(*bound.step.value)) << first;
      }
    }
  }
}

// What people read at assumed sizes is what a count at these sizes finds. Of one sequence PyTorch
// views the values of attention where they lie, and keeps more: by saved_tensors_hooks, GPT-2 with
// sdpa as math keeps 151,808,000 B of 128 tokens, and 284,740,608 B of two sequences.
TEST(MemoryTest, FiguresAtAssumedSizesAreThoseOfACountThere) {
  for (const char* file : {"gpt2", "lstm", "mobilenet-v3-large", "clip-vit-b-32.ts17"}) {
    SCOPED_TRACE(file);
    const auto model = Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", file, ".onnx"));
    ASSERT_TRUE(model.ok()) << model.status();
    const Report open = CountAt(*model, {});
    CountOptions options;
    options.bindings = open.memory->at;
    const Report bound = CountAt(*model, options);
    EXPECT_EQ(open.memory->step.value, bound.memory->step.value);
    EXPECT_EQ(open.memory->step.node, bound.memory->step.node);
    EXPECT_EQ(open.memory->step.phase, bound.memory->step.phase);
    EXPECT_EQ(open.memory->saved_value, bound.memory->saved_value);
    EXPECT_EQ(bound.memory->saved_bytes, Expr(*bound.memory->saved_value));
    if (std::string(file) != "gpt2") continue;
    EXPECT_EQ(open.memory->saved_value, 151808000);
    options.bindings["batch"] = 2;
    EXPECT_EQ(CountAt(*model, options).memory->saved_value, 284740608);
  }
}

// ---- the largest that fits

TEST(MemoryTest, TheLargestSizeIsThatOfTrial) {
  const Expr n = Expr::Symbol("n", 1);
  const std::vector<std::vector<Expr>> formulas = {
      {7 * n + 3}, {n * n + 5 * n, 40 * n}, {Expr(17)}, {3 * n * n * n, 100 * n + 1}};
  for (const std::vector<Expr>& sums : formulas) {
    for (int64_t bytes = 0; bytes < 3000; bytes += 37) {
      const auto fits = [&](int64_t size) {
        return std::all_of(sums.begin(), sums.end(), [&](const Expr& e) {
          return *e.Evaluate({{"n", size}}) <= bytes;
        });
      };
      int64_t trial = 0;
      while (trial < 5000 && fits(trial + 1)) ++trial;
      const auto found = LargestThatFits(sums, bytes, "n");
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->value_or(5000), trial) << bytes;
    }
  }
}

TEST(MemoryTest, TheLargestBatchFitsAndTheNextDoesNot) {
  const auto model = Load(ONNXFLOPS_SOURCE_DIR "/models/clip-vit-l-14-336.onnx");
  ASSERT_TRUE(model.ok());
  CountOptions options;
  options.memory.emplace().fit = *ParseFit("8GiB");
  const Report report = CountAt(*model, options);
  const MemoryReport& memory = *report.memory;
  for (const int more : {0, 1}) {
    const Bindings inference = {{"batch", *memory.fit->rows[0].largest + more}};
    const Bindings training = {{"batch", *memory.fit->rows[1].largest + more}};
    const Expr held = memory.peak.bytes->Substitute(inference) + memory.param_bytes;
    const Expr step = memory.step.bytes->Substitute(training);
    EXPECT_EQ(held.literal() <= memory.fit->bytes, more == 0);
    EXPECT_EQ(step.literal() <= memory.fit->bytes, more == 0);
  }
}

// A file that leaves a size open, and fixes it inside.
TEST(MemoryTest, WhatFitsIsNoMoreThanTheModelTakes) {
  const Model model = ModelFromText(
      "g (float[n,4] x) => (float[6,4] y) <float[6,4] w = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
      "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}> { e = Exp(x) c = Concat<axis=0>(e, e) y = Add(c, w) }",
      20);
  CountOptions options;
  options.memory.emplace().fit = *ParseFit("1MiB:n");
  const Report report = CountAt(model, options);
  for (const FitRow& row : report.memory->fit->rows) {
    EXPECT_EQ(row.largest, 3) << row.name;
    EXPECT_TRUE(row.of_model) << row.name;
  }
}

TEST(MemoryTest, BytesAreReadAsWritten) {
  const std::map<std::string, int64_t> sizes = {{"80GiB", int64_t{80} << 30},
                                                {"24GB", 24'000'000'000},
                                                {"17B", 17},
                                                {"3 KiB", 3072},
                                                {"1000000", 1'000'000}};
  for (const auto& [text, bytes] : sizes) EXPECT_EQ(ParseFit(text)->bytes, bytes) << text;
  EXPECT_EQ(ParseFit("1MB:seq")->symbol, "seq");
  for (const char* text : {"", "GiB", "-1", "1.5GiB", "80GiB:", "many", "24", "24:seq"}) {
    EXPECT_THAT(ParseFit(text).status().message(), HasSubstr("fit '")) << text;
  }
}

// ---- serving

TEST(MemoryTest, StepsOfServingBindTheirSizes) {
  const auto model = Load(ONNXFLOPS_SOURCE_DIR "/models/deployed/gpt2_past.ort_fused.onnx");
  ASSERT_TRUE(model.ok());
  CountOptions options;
  options.bindings = {{"batch", 2}};
  const auto serving = CountServing(*model, options, {.prefill = 16, .decode = {{1, 16}}});
  ASSERT_TRUE(serving.ok()) << serving.status();
  EXPECT_EQ(serving->cache_bytes_per_token, Expr(2 * 12 * 12 * 64 * 4));  // k and v, 12 layers
  EXPECT_EQ(serving->columns[1].cache_bytes, *serving->cache_bytes_per_token * 17 * 2);
  options.bindings = {{"batch", 2}, {"seq", 1}, {"past_seq", 16}, {"total_seq", 17}};
  EXPECT_EQ(serving->columns[1].totals.flops, Count(*model, options)->totals.flops);
  options.bindings = {{"batch", 2}, {"seq", 16}, {"past_seq", 0}, {"total_seq", 16}};
  EXPECT_EQ(serving->columns[0].totals.flops, Count(*model, options)->totals.flops);
}

constexpr char kMerged[] =
    "g (int64[b,n] input_ids, float[b,4,past_len,8] past_key_values_0_key, bool[1] "
    "use_cache_branch) => (float[b,4,m,8] present) { present = If(use_cache_branch) "
    "<then_branch = t () => (float[b,4,m,8] u) { u = Exp(past_key_values_0_key) }, else_branch = "
    "e () => (float[b,4,m,8] w) { q = Exp(past_key_values_0_key) w = Exp(q) }> }";

TEST(MemoryTest, AMergedDecoderTakesTheBranchOfTheStep) {
  const auto serving = CountServing(ModelFromText(kMerged, 20), {.bindings = {{"b", 1}}},
                                    {.prefill = 5, .decode = {{1, 5}}});
  ASSERT_TRUE(serving.ok()) << serving.status();
  EXPECT_EQ(serving->use_cache, "use_cache_branch");
  EXPECT_EQ(serving->columns[0].totals.flops, Expr(0));          // of no past
  EXPECT_EQ(serving->columns[1].totals.flops, Expr(4 * 5 * 8));  // one Exp
}

// 4 heads of 8 features, 4 bytes each. Without a past the step makes the encoder's keys, and every
// later step reads them.
TEST(MemoryTest, AMergedDecoderKeepsTheEncodersKeys) {
  const std::string text = absl::StrReplaceAll(
      kMerged, {{"bool[1]", "float[b,4,enc,8] past_key_values_0_encoder_key, bool[1]"}});
  const auto serving = CountServing(ModelFromText(text, 20), {.bindings = {{"b", 3}, {"enc", 100}}},
                                    {.prefill = 5, .decode = {{1, 5}}});
  ASSERT_TRUE(serving.ok()) << serving.status();
  const int64_t of_token = 3 * 4 * 8 * 4, encoder = 100 * of_token;
  const ServingColumn &prefill = serving->columns[0], &decode = serving->columns[1];
  EXPECT_EQ(prefill.traffic.cache_read, Expr(0));
  EXPECT_EQ(prefill.traffic.cache_written, Expr(encoder + 5 * of_token));
  EXPECT_EQ(prefill.cache_bytes, Expr(encoder + 5 * of_token));
  EXPECT_EQ(decode.traffic.cache_read, Expr(encoder + 5 * of_token));
  EXPECT_EQ(decode.traffic.cache_written, Expr(of_token));
  EXPECT_EQ(decode.cache_bytes, Expr(encoder + 6 * of_token));
}

constexpr char kStatic[] =
    "g (int64[1,1] input_ids, float[1,4,7,8] past_key_values_0_key) => (float[1,4,7,8] present) "
    "{ present = Exp(past_key_values_0_key) }";

struct LoopCase {
  const char *what, *body;
  int64_t saved, inputs;  // bytes
};
// 5 trips on h[4,2], of 32 bytes each; a is trained.
constexpr LoopCase kLoops[] = {
    {"a product keeps what the trip begins with", "ho = MatMul(h, a)", 4 * 32, 32},
    {"what the trip before made is there once", "e = MatMul(h, a) ho = Tanh(e)", 5 * 32, 32},
    {"and what is made inside of a trip", "e = Exp(h) ho = MatMul(e, a)", 5 * 32, 0},
};

TEST(MemoryTest, TripsOfALoopKeepTheirInputs) {
  for (const LoopCase& c : kLoops) {
    SCOPED_TRACE(c.what);
    CountOptions options;
    options.memory.emplace();
    const absl::StatusOr<Report> report =
        Count(ModelFromText(
                  absl::StrCat(
                      "g (float[4,2] x) => (float[4,2] y) <float[2,2] a = {1, 2, 3, 4}, int64 m = "
                      "{5}, bool c = {1}> { y = Loop (m, c, x) <body = b (int64 i, bool ci, "
                      "float[4,2] h) => (bool co, float[4,2] ho) { co = Identity(ci) ",
                      c.body, " }> }"),
                  17),
              options);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->memory->saved_bytes, Expr(c.saved));
    EXPECT_EQ(report->memory->saved_input_bytes, Expr(c.inputs));
  }
}

struct KeptCase {
  const char *what, *text;
  int64_t saved, unknown;
  const char* op;
};
constexpr KeptCase kKept[] = {
    {"factors",
     "g (float[4,2] x) => (float[4,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}> { h = Exp(x) y = "
     "com.microsoft.FusedMatMul(h, w) }",
     32, 0, ""},
    {"nothing",
     "g (float[4,2] x, float[2] b) => (float[1,2] y) { h = Add(x, b) y = ReduceMean<axes = [0]>(h) "
     "}",
     0, 0, ""},
    {"an output",
     "g (float[4,2] x, float[4,2] b) => (float[4,2] y) { y = com.microsoft.BiasSoftmax<axis = "
     "1>(x, b) }",
     32, 0, ""},
    {"a rule alone",
     "g (float[1,4,2] x, float[2] g) => (float[1,4,2] y) { y = "
     "com.microsoft.SkipLayerNormalization(x, x, g) }",
     0, 1, "SkipLayerNormalization"},
};

// Of frozen layers backward keeps nothing, and Python's variables are most of what is alive.
TEST(MemoryTest, APeakThatMayBeInFrozenLayersIsALowerBound) {
  const auto model = Load(ONNXFLOPS_SOURCE_DIR "/models/resnet50.onnx");
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<std::string> stem = {"conv1"};
  const std::vector<std::string> all_but_the_head = {"conv1", "layer1", "layer2", "layer3",
                                                     "layer4"};
  for (const auto& [frozen, is_bound] : {std::pair(stem, false), {all_but_the_head, true}}) {
    CountOptions options;
    options.memory.emplace().training.frozen = frozen;
    const Report report = CountAt(*model, options);
    EXPECT_EQ(report.memory->step.lower_bound, is_bound);
    const bool is_said =
        std::any_of(report.warnings.begin(), report.warnings.end(), [](const std::string& text) {
          return absl::StrContains(text, "layers without gradients");
        });
    EXPECT_EQ(is_said, is_bound);
  }
}

// Never nothing where nobody said so.
TEST(MemoryTest, WhatARowDoesNotTellIsUnknown) {
  for (const KeptCase& c : kKept) {
    SCOPED_TRACE(c.what);
    CountOptions options;
    options.memory.emplace().training.input_gradients = true;
    const Report report = CountAt(ModelFromText(c.text, 17), options);
    ASSERT_TRUE(report.memory);
    EXPECT_EQ(report.memory->saved_bytes, Expr(c.saved));
    EXPECT_EQ(report.memory->unknown_saved, c.unknown);
    EXPECT_EQ(report.memory->unknown_saved_op, c.op);
  }
}

// A cache that grows with the square of the tokens has no bytes per token.
TEST(MemoryTest, QuadraticPastsAreCountedAtTheirLength) {
  const Model model = ModelFromText(
      "g (int64[b,n] input_ids, float[b,2,past_len,past_len] past_scores) => (float[b,2,m,m] "
      "present) { present = Exp(past_scores) }",
      20);
  const auto serving =
      CountServing(model, {.bindings = {{"b", 3}}}, {.prefill = 5, .decode = {{1, 7}}});
  ASSERT_TRUE(serving.ok()) << serving.status();
  EXPECT_FALSE(serving->cache_bytes_per_token.has_value());
  EXPECT_EQ(serving->columns[0].cache_bytes, Expr(4 * 3 * 2 * 5 * 5));
  EXPECT_EQ(serving->columns[1].cache_bytes, Expr(4 * 3 * 2 * 8 * 8));
}

// Keys and values of 2 layers with 2 heads of 16 floats: 512 bytes for each token of a sample.
TEST(MemoryTest, WhatARunLeavesInTheCache) {
  const absl::StatusOr<Model> model = LoadConfig(
      R"({"model_type": "llama", "vocab_size": 100, "hidden_size": 64, "num_attention_heads": 4,
          "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 96,
          "max_position_embeddings": 64, "torch_dtype": "float32"})",
      "config.json");
  ASSERT_TRUE(model.ok()) << model.status();
  for (const int64_t past : {0, 7}) {
    const Report report = CountAt(*model, {.bindings = {{"batch", 3}, {"seq", 5}, {"past", past}}});
    ASSERT_TRUE(report.memory && report.memory->cache) << past;
    EXPECT_EQ(report.memory->cache->bytes, Expr(3 * 512 * past));
    EXPECT_EQ(report.memory->cache->length_after, Expr(past + 5));
    EXPECT_EQ(report.memory->cache->bytes_after, Expr(3 * 512 * (past + 5)));
    const std::string lines = ToTable(report, {});
    EXPECT_THAT(lines, HasSubstr(absl::StrCat(" after the run, at length ", past + 5)));
  }
}

TEST(MemoryTest, WhatCannotBeServedIsSaid) {
  const Model fixed = ModelFromText(kStatic, 20);
  EXPECT_THAT(CountServing(fixed, {}, {.prefill = 5}).status().message(),
              HasSubstr("the export fixed the tokens of input_ids to 1"));
  EXPECT_THAT(CountServing(fixed, {}, {.decode = {{1, 5}}}).status().message(),
              HasSubstr("the export fixed the length of the past to 7"));
  EXPECT_TRUE(CountServing(fixed, {}, {.decode = {{1, 7}}}).ok());
  const auto model = Load(ONNXFLOPS_SOURCE_DIR "/models/gpt2.onnx");
  EXPECT_THAT(CountServing(*model, {}, {.prefill = 5}).status().message(),
              HasSubstr("it has no past inputs"));
}

}  // namespace
}  // namespace onnxflops::memory_test
