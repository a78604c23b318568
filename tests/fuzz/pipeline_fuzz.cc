// Fuzz target: whatever a file of stages says, it is refused in one line, or its stages are
// counted, compared with fewer of them and with other tools, whose terms add up, and every writer
// ends. The budgets that it begins with are read again.
//
// A byte of choices, then the file. Models are never those that the file names: each path stands
// for one of three small models of the tests, so nothing else is read.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "src/check/budgets.h"
#include "src/check/edit_budgets.h"
#include "src/onnxflops.h"
#include "src/pipeline/pipeline_audit.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/require_text.h"

namespace onnxflops {
namespace {

constexpr const char* kModels[] = {
    ONNXFLOPS_SOURCE_DIR "/tests/data/pipeline/gpt2-tiny/config.json",
    ONNXFLOPS_SOURCE_DIR "/tests/data/pipeline/sd-tiny/text_encoder/model.onnx",
    ONNXFLOPS_SOURCE_DIR "/tests/data/pipeline/t5-tiny/encoder_model.onnx"};
constexpr size_t kMostStages = 4;  // more take long, in the same way

void TakeOurModels(Pipeline* pipeline) {
  for (PipelineStage& stage : pipeline->stages) {
    size_t sum = 0;
    for (const char c : stage.model) sum += static_cast<uint8_t>(c);
    stage.path = kModels[sum % std::size(kModels)];
  }
}

CountOptions OptionsOf(uint8_t choice) {
  CountOptions options;
  options.bodies = nullptr;  // which ask in a process of their own
  if (choice % 2 != 0) options.bindings["tokens"] = choice;
  if (choice % 4 >= 2) {
    options.on_device =
        DeviceChoice{FindDevice("h100-sxm", {}).value(), ParsePrecision("bf16").value()};
  }
  return options;
}

void Compare(const PipelineReport& base, const PipelineReport& head, int width) {
  const PipelineDiff diff = MakePipelineDiff(base, head);
  RequireDocument(ToDocument(diff, /*exact=*/width % 3 == 0), {.width = width});
  RequireCsv(ToCsv(diff));
  RequireJson(ToJson(diff));
  RequirePage(ToHtml(diff));
}

void RequireSum(const std::vector<ToolRow>& tools) {
  for (const ToolRow& tool : tools) {
    Require(tool.headline.has_value() != (tool.standing == Standing::kNotApplicable),
            "a tool has a figure and has none");
    if (!tool.headline) continue;
    Expr sum = tool.start;
    for (const TermRow& term : tool.terms) sum += term.amount;
    Require(sum.error() != nullptr || sum == *tool.headline, "terms miss the figure");
  }
}

void CompareWithTools(const Pipeline& pipeline, const CountOptions& options, uint8_t choice) {
  CompareRequest request;
  request.activations = choice % 16 == 0;
  if (choice % 8 == 1) request.with = {"thop", "xla"};
  if (choice % 8 == 2) request = {.with = {"macs"}, .from = "fvcore"};
  CountOptions known = options;
  known.on_device.reset();
  const absl::StatusOr<PipelineComparison> comparison = ComparePipeline(pipeline, known, request);
  if (!comparison.ok()) return RequireOneLine(comparison.status(), "");
  RequireSum(comparison->tools);
  for (const std::vector<ToolRow>& stage : comparison->stages) RequireSum(stage);
  for (const bool waterfalls : {false, true}) {
    RequireDocument(ToDocument(*comparison, waterfalls), {.width = choice});
    RequireCsv(ToCompareCsv(*comparison, waterfalls));
  }
  RequireJson(ToJson(*comparison));
}

void WriteBudgets(const PipelineReport& report, const Bindings& at) {
  const std::string text = InitialBudgets({}, "", {{{report, at}}});
  const absl::StatusOr<Budgets> budgets = LoadBudgets(text, "onnxflops.toml");
  Require(budgets.ok(), "budgets that are written are no budgets", text);
}

void Count(Pipeline pipeline, uint8_t choice) {
  TakeOurModels(&pipeline);
  std::vector<std::string> unknown;
  const absl::StatusOr<PipelineReport> report =
      CountPipeline(pipeline, OptionsOf(choice), &unknown);
  if (!report.ok()) return RequireOneLine(report.status(), "");
  RequirePrintable(DrawText(ToDocument(*report, {}), {.width = choice}));
  RequireCsv(ToCsv(*report));
  RequireJson(ToJson(*report));
  RequirePage(ToHtml(*report));
  const AuditRow row = Audit("a", ParsePublishedFigure("1 GMACs").value(), {{*report, ""}}, "");
  RequirePrintable(DrawText(ToDocument(absl::MakeConstSpan(&row, 1)), {.width = choice}));
  RequireJson(ToJson(absl::MakeConstSpan(&row, 1)));
  CompareWithTools(pipeline, OptionsOf(choice), choice);
  WriteBudgets(*report, OptionsOf(choice).bindings);
  Require(MakePipelineDiff(*report, *report).IsEmpty(), "a pipeline differs from itself");
  PipelineReport fewer = *report;
  fewer.stages.erase(fewer.stages.begin());
  Compare(*report, fewer, choice);
  Compare(fewer, *report, choice);
}

}  // namespace
}  // namespace onnxflops

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace onnxflops;  // NOLINT(google-build-using-namespace): two lines
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const CountOptions options = OptionsOf(data[0]);
  absl::StatusOr<Pipeline> pipeline = LoadPipeline(text, "fuzz.toml", options.bindings);
  if (!pipeline.ok()) {
    RequireOneLine(pipeline.status(), "fuzz.toml:");
  } else if (pipeline->stages.size() <= kMostStages) {
    Count(*std::move(pipeline), data[0]);
  }
  return 0;
}
