// Every figure that is a formula of open sizes is, at any sizes, the count with these sizes given:
// of operators' examples and of models, in every quantity of a report and of other tools.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "onnx/onnx_pb.h"
#include "src/onnxflops.h"
#include "tests/ops/examples.h"
#include "tests/sample.h"

namespace onnxflops::formulas_hold_test {
namespace {

using Figures = std::map<std::string, Expr>;

void AddAmounts(const std::string& of, const Amounts& amounts, Figures* figures) {
  for (const Quantity& q : kQuantities) {
    (*figures)[absl::StrCat(of, " ", std::string(q.key))] = amounts.*q.value;
  }
}

void AddMemory(const MemoryReport& memory, Figures* figures) {
  const auto add_peak = [&](const std::string& name, const PeakRow& row) {
    if (row.bytes) (*figures)[name] = *row.bytes;
  };
  add_peak("peak", memory.peak);
  for (size_t i = 0; i < memory.other.size(); ++i) {
    add_peak(absl::StrCat("peak by rule ", i), memory.other[i]);
  }
  (*figures)["kept"] = memory.saved_bytes;
  (*figures)["kept inputs"] = memory.saved_input_bytes;
  if (memory.cache) (*figures)["cache"] = memory.cache->bytes;
}

void AddTraining(const TrainingReport& training, Figures* figures) {
  (*figures)["recompute FLOPs"] = training.recompute_flops;
  (*figures)["recompute MACs"] = training.recompute_macs;
  for (const GradientRow& row : training.by_op) {
    (*figures)[absl::StrCat("gradient of ", row.domain, ".", row.op)] = row.flops;
  }
}

Figures FiguresOf(const Report& report) {
  Figures figures;
  AddAmounts("total", report.totals, &figures);
  figures["backward"] = report.totals.backward_flops;
  figures["training"] = report.totals.training_flops;
  for (const OpRow& row : report.by_op) {
    AddAmounts(absl::StrCat("operator ", row.domain, ".", row.op), row, &figures);
  }
  for (const Module& module : report.modules) {
    AddAmounts(absl::StrCat("module ", module.path, module.own ? " (own)" : ""), *module.amounts,
               &figures);
  }
  for (const auto& [operands, macs] : report.macs_by_dtype) {
    figures[absl::StrCat("MACs of ", operands.ToString())] = macs;
  }
  for (int kind = 0; kind < kNumKinds; ++kind) {
    figures[absl::StrCat("census ", std::string(KindName(static_cast<Kind>(kind))))] =
        report.census[static_cast<Kind>(kind)];
  }
  if (report.memory) AddMemory(*report.memory, &figures);
  if (report.training) AddTraining(*report.training, &figures);
  // The estimate of fused operators is no such figure: what fuses depends on the sizes.
  if (report.roofline) figures["memory bound"] = report.roofline->MemoryBound();
  return figures;
}

// What is asked of a model; each gives figures of its own.
struct Asked {
  const char* name;
  AttentionBackward attention;
  const char* recompute;
  CausalCounting causal;
};
constexpr Asked kAsked[] = {
    {"training", AttentionBackward::kMath, "none", CausalCounting::kFull},
    {"blocks again", AttentionBackward::kMath, "blocks", CausalCounting::kFull},
    {"blocks again in full", AttentionBackward::kFlash, "full", CausalCounting::kFull},
    {"attention again, half of it causal", AttentionBackward::kFlash, "attention",
     CausalCounting::kHalf},
};

CountOptions OptionsOf(const Asked& asked) {
  CountOptions options;
  options.training.emplace();
  options.training->attention = asked.attention;
  options.training->recompute = ParseRecompute(asked.recompute);
  options.causal = asked.causal;
  options.memory.emplace().training = *options.training;
  options.on_device = DeviceChoice{*FindDevice("h100-sxm"), Precision::kBf16};
  return options;
}

// All of one size, and each for itself: what is equal, what is 1 beside others, what is neither.
std::vector<Bindings> SizesOf(const std::vector<std::string>& symbols) {
  std::vector<Bindings> all;
  const auto add = [&](auto size_of) {
    Bindings sizes;
    for (size_t i = 0; i < symbols.size(); ++i) sizes[symbols[i]] = size_of(i);
    if (std::find(all.begin(), all.end(), sizes) == all.end()) all.push_back(std::move(sizes));
  };
  for (const int64_t size : {1, 2, 3, 7}) add([&](size_t) { return size; });
  constexpr int64_t kMixed[] = {3, 2, 7, 1};
  for (const size_t shift : {0, 1, 2, 3}) add([&](size_t i) { return kMixed[(i + shift) % 4]; });
  for (size_t one = 0; one < symbols.size(); ++one) {
    add([&](size_t i) -> int64_t { return i == one ? 1 : 3; });
    add([&](size_t i) -> int64_t { return i == one ? 3 : 1; });
  }
  return all;
}

// Those that are free: what follows from other sizes would contradict them.
std::vector<std::string> SymbolsOf(const Report& report) {
  std::vector<std::string> symbols;
  for (const SymbolOrigin& symbol : report.symbols) {
    if (symbol.kind != SymbolOrigin::Kind::kSizes && symbol.kind != SymbolOrigin::Kind::kRepeats) {
      symbols.push_back(symbol.name);
    }
  }
  return symbols;
}

struct Compared {
  int sizes = 0, figures = 0;
};

void ExpectHolds(const Figures& formulas, const Figures& counted, const Bindings& sizes,
                 Compared* compared) {
  ++compared->sizes;
  for (const auto& [name, formula] : formulas) {
    const absl::StatusOr<absl::int128> value = formula.Evaluate(sizes);
    if (!value.ok()) continue;  // it has sizes that follow from others
    const auto count = counted.find(name);
    const Expr expected = count == counted.end() ? Expr(0) : count->second;
    if (!expected.is_literal()) continue;
    ++compared->figures;
    EXPECT_EQ(Int128ToString(*value), expected.ToString()) << name << " is " << formula.ToString();
  }
}

std::string Text(const Bindings& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) absl::StrAppend(&text, name, " = ", size, " ");
  return text;
}

// A count that knows less than the formula is of sizes that contradict each other, as more
// sequences than tokens.
bool KnowsLess(const Report& bound, const Report& open) {
  return bound.coverage.unknown > open.coverage.unknown ||
         bound.training->unknown.size() > open.training->unknown.size();
}

// What autograd keeps is a formula of sizes from 2: of a size of 1 PyTorch may view what it copies
// of larger ones.
bool IsOfSizesFromTwo(const std::string& name) { return absl::StartsWith(name, "kept"); }

bool HasOne(const Bindings& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](const auto& size) { return size.second == 1; });
}

// At sizes that the model refuses nothing is compared. `given` are sizes that the model states
// nowhere, but fits alone.
void Compare(const Model& model, CountOptions options, const Bindings& given, Compared* compared) {
  const absl::StatusOr<Report> open = Count(model, options);
  if (!open.ok() || open->symbols.empty()) return;
  const Figures formulas = FiguresOf(*open);
  for (Bindings sizes : SizesOf(SymbolsOf(*open))) {
    for (const auto& [name, size] : given) sizes[name] = size;
    SCOPED_TRACE(Text(sizes));
    options.bindings = sizes;
    const absl::StatusOr<Report> bound = Count(model, options);
    if (!bound.ok() || KnowsLess(*bound, *open)) continue;
    Figures asked = formulas;
    if (HasOne(sizes)) {
      std::erase_if(asked, [](const auto& figure) { return IsOfSizesFromTwo(figure.first); });
    }
    ExpectHolds(asked, FiguresOf(*bound), sizes, compared);
    if (testing::Test::HasFailure()) return;  // one says enough
  }
}

TEST(FormulasHoldTest, OfExamples) {
  Compared compared;
  Sample sample;
  for (const auto& [name, example] : NamedExamples()) {
    if (!sample.Next()) continue;
    const absl::StatusOr<onnx::ModelProto> proto = ExampleModel(example);
    ASSERT_TRUE(proto.ok()) << proto.status();
    const absl::StatusOr<Model> model = LoadFromBytes(proto->SerializeAsString());
    ASSERT_TRUE(model.ok()) << model.status();
    for (const Asked& asked : kAsked) {
      SCOPED_TRACE(absl::StrCat(name, ", ", asked.name, ": ", example.example.text));
      CountOptions options = OptionsOf(asked);
      options.training->input_gradients = true;
      options.memory->training = *options.training;
      Compare(*model, options, {}, &compared);
    }
  }
  EXPECT_GT(compared.figures, Sample::IsAll() ? 100000 : 1000);
}

struct ModelCase {
  const char* name;
  Bindings given = {};
};

class FormulasOfModelsTest : public testing::TestWithParam<ModelCase> {};

TEST_P(FormulasOfModelsTest, Hold) {
  const absl::StatusOr<Model> model =
      Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", GetParam().name));
  ASSERT_TRUE(model.ok()) << model.status();
  Compared compared;
  static size_t turn = 0;  // of a sample, each model has another
  const Asked& sampled = kAsked[turn++ % std::size(kAsked)];
  for (const Asked& asked : kAsked) {
    if (!Sample::IsAll() && &asked != &sampled) continue;
    SCOPED_TRACE(asked.name);
    Compare(*model, OptionsOf(asked), GetParam().given, &compared);
  }
  if (!Sample::IsAll()) return;
  EXPECT_GT(compared.figures, 1000);
}

INSTANTIATE_TEST_SUITE_P(
    Models, FormulasOfModelsTest,
    testing::Values(ModelCase{"bert-base.onnx"}, ModelCase{"clip-vit-b-32.ts17.onnx"},
                    ModelCase{"custom-op.onnx"}, ModelCase{"gpt2.onnx"},
                    ModelCase{"llama-tiny.onnx"}, ModelCase{"lstm.onnx"},
                    ModelCase{"mobilenet-v3-large.onnx"},
                    ModelCase{"deployed/gpt2_past.ort_fused.onnx"},
                    ModelCase{"deployed/hf_vit_s_16.ort_fused_fp16.onnx"},
                    ModelCase{"deployed/llama_tiny_gqa.genai_int4.onnx", {{"kv_cache_dim", 64}}},
                    ModelCase{"deployed/native_gqa_rms.dynamo25.dynamic.onnx"}),
    [](const auto& test) {
      return absl::StrReplaceAll(test.param.name, {{".", "_"}, {"-", "_"}, {"/", "_"}});
    });

}  // namespace
}  // namespace onnxflops::formulas_hold_test
