// Fuzz target: whatever a file of budgets, of devices or of a pipeline, a report that serves as a
// base, or a measurement says, it is refused in one line, or models are compared with it, judged by
// it or calibrated with it, or devices are listed.
//
// A byte of choices, then the file: a report, measurement and calibration if it begins with {, else
// budgets and devices.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/check/budgets.h"
#include "src/check/check_writers.h"
#include "src/check/edit_budgets.h"
#include "src/check/judge.h"
#include "src/check/review.h"
#include "src/devices/device_report.h"
#include "src/diff/comment.h"
#include "src/estimate/estimate_report.h"
#include "src/hardware/device.h"
#include "src/onnxflops.h"
#include "src/render/text_table.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/require_text.h"
#include "tests/model_maker.h"

namespace onnxflops {
namespace {

// Two layers and what nobody knows, with an open size.
const Report& Head() {
  static const Report& head = *new Report([] {
    ModelMaker make;
    make.Input("x", {"batch", "8"}).Weight("a.weight", {8, 16}).Weight("b.weight", {16, 4});
    make.Node("/a/MatMul", "MatMul", {"x", "a.weight"}, {"h"});
    make.Node("/a/Relu", "Relu", {"h"}, {"r"});
    make.Node("/b/MatMul", "MatMul", {"r", "b.weight"}, {"y"}).Output("y");
    make.Node("/c/Mystery", "Mystery", {"y"}, {"z"}).Output("z");
    CountOptions options;
    options.bodies = nullptr;
    options.node_rows = true;
    options.activation_peak = true;
    return make.Count(options).value();
  }());
  return head;
}

void CompareWith(const Report& base, uint8_t choice) {
  DiffViewOptions view;
  view.by = choice % 3 == 0 ? GroupBy::kModule : choice % 3 == 1 ? GroupBy::kOp : GroupBy::kNode;
  view.depth = choice / 3 % 4 - 1;
  view.threshold = choice % 2 == 0 ? 0 : 1000;
  view.exact = choice % 5 == 0;
  for (const bool swapped : {false, true}) {
    const absl::StatusOr<Diff> diff = swapped ? MakeDiff(&Head(), base) : MakeDiff(&base, Head());
    if (!diff.ok()) return RequireOneLine(diff.status(), "");
    RequireDocument(ToDocument(*diff, view), {.width = choice});
    RequireCsv(ToCsv(*diff, view));
    RequireJson(ToJson(*diff));
    RequirePage(ToHtml(*diff, view));
  }
}

void CalibrateBy(absl::string_view text) {
  const absl::StatusOr<Measurement> measured = ParseMeasurement(text, "fuzz.json");
  if (!measured.ok()) {
    RequireOneLine(measured.status(), "fuzz.json:");
  } else if (const auto made = Calibrate(*measured, Head()); !made.ok()) {
    RequireOneLine(made.status(), "");
  }
  absl::StatusOr<Calibration> calibration = ParseCalibration(text, "fuzz.json");
  if (!calibration.ok()) return RequireOneLine(calibration.status(), "fuzz.json:");
  EstimateReport report;
  report.models.emplace_back().ours = Head();
  report.calibration = *std::move(calibration);
  RequireDocument(ToDocument(report), {.width = 80});
  RequireCsv(ToCsv(report));
  const std::string json = ToJson(report);
  RequireJson(json);
  Require(ParseCalibration(json, "fuzz.json").ok(), "a calibration that was written is none");
}

void JudgeBy(const Budgets& budgets, absl::string_view text) {
  const Diff diff = MakeDiff(&Head(), Head()).value();
  CheckReport report;
  report.budgets = budgets.file;
  const BudgetSizes* sizes = budgets.sizes.empty() ? nullptr : &budgets.sizes[0];
  const absl::Status judged = Judge(
      budgets, sizes, diff, "2027-01-15",
      [](const BudgetRule&) -> absl::StatusOr<std::vector<AchievedFigure>> {
        return std::vector<AchievedFigure>{{"", 0.5, 0.5, ""}, {"m", 2, 2, "open"}};
      },
      &report);
  if (!judged.ok()) return RequireOneLine(judged, "fuzz.toml:");
  RequireDocument(ToDocument(report), {.width = 80});
  RequireCsv(ToCsv(report));
  RequireJson(ToJson(report));
  RequirePage(ToHtml(report));
  const ReviewedModel changed = {Head().model.path, "", false, diff, report};
  const ReviewedModel gone = {"gone.onnx", "", true, diff, {}};
  const std::string comment = ToComment({{changed, gone}, true, {}});
  Require(comment.size() <= kMaxCommentBytes, "a comment that is too long");
  (void)LeftBudgets(budgets, report);
  // What is raised can be read, or there was a limit that no text is for.
  const std::string raised = RaisedBudgets(text, budgets, report);
  const absl::StatusOr<Budgets> again = LoadBudgets(raised, "fuzz.toml");
  Require(again.ok(), "a file of budgets that was raised is none any more");
}

void ListDevices(absl::string_view text) {
  const absl::StatusOr<std::vector<Device>> devices = LoadDevices(text, "fuzz.toml");
  if (!devices.ok()) return RequireOneLine(devices.status(), "fuzz.toml:");
  for (const Device& device : *devices) {
    Require(FindDevice(device.name, *devices).ok(), "a device of a file is not found by its name");
  }
  for (const TextTable& table : {DeviceTable(*devices, true), PeakTable(*devices)}) {
    RequirePrintable(DrawText(table, {.width = 80}));
    RequireCsv(DrawCsv(table));
  }
  RequireJson(DevicesToJson(*devices));
}

}  // namespace
}  // namespace onnxflops

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace onnxflops;  // NOLINT(google-build-using-namespace): two lines
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (LooksLikeReport(text)) {
    CalibrateBy(text);
    const absl::StatusOr<Report> base = ReadReport(text, "fuzz.json");
    if (!base.ok()) {
      RequireOneLine(base.status(), "fuzz.json:");
    } else {
      CompareWith(*base, data[0]);
    }
    return 0;
  }
  ListDevices(text);
  if (const auto pipeline = LoadPipeline(text, "fuzz.toml"); !pipeline.ok()) {
    RequireOneLine(pipeline.status(), "fuzz.toml:");
  }
  const absl::StatusOr<Budgets> budgets = LoadBudgets(text, "fuzz.toml");
  if (budgets.ok()) {
    JudgeBy(*budgets, text);
  } else {
    RequireOneLine(budgets.status(), "fuzz.toml:");
  }
  Budgets call;
  const absl::Status added = AddBudget(text, &call);
  if (added.ok()) {
    JudgeBy(call, "");
  } else {
    RequireOneLine(added, "");
  }
  return 0;
}
