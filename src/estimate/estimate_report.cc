// How it works. One model gives a table with a row for each figure (forward pass, training step,
// each rule of thumb); several models give a table with a row for each model. Tables show numbers,
// at the sizes that a note names; CSV and JSON keep the formulas. A rule of thumb is shown in
// percent of our count of the same number of passes, since a rule for a training step would else
// look three times too large. A calibrated figure is our count times measured / counted. It is
// given only for the pass that was measured: a measured forward pass tells nothing about a training
// step.
#include "src/estimate/estimate_report.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/render/text_table.h"
#include "src/report/json_parts.h"
#include "src/report/reference_sizes.h"
#include "src/report/summary.h"

namespace onnxflops {
namespace report {
namespace {

bool HasToolFigure(const ToolRow& tool) { return tool.standing != Standing::kNotApplicable; }

// Our count times measured / counted; nullopt without a calibration for this pass, or beyond 128
// bits.
std::optional<absl::int128> Calibrated(const EstimateReport& report,
                                       const std::optional<absl::int128>& counted, bool training) {
  if (!report.calibration || !counted) return std::nullopt;
  if (report.calibration->measured.of_training != training) return std::nullopt;
  const double figure = static_cast<double>(*counted) * report.calibration->ratio();
  if (!(figure < 0x1p126)) return std::nullopt;
  return absl::int128(std::nearbyint(figure));
}

std::string Cell(const std::optional<absl::int128>& figure) {
  return figure ? SiNumber(*figure) : "-";
}

// "101.2": of our count of the same number of passes.
std::string ShareCell(const ToolRow& tool, const Report& ours, const ReferenceValues& values) {
  if (!HasToolFigure(tool)) return "-";
  const auto figure = values.Of(*tool.headline);
  const auto whole = values.Of(ours.totals.flops * tool.convention->passes);
  return figure && whole ? Percent(*figure, *whole) : "-";
}

std::string SizesOf(const Bindings& sizes) {
  return absl::StrJoin(sizes, ", ", [](std::string* out, const auto& size) {
    absl::StrAppend(out, Escaped(size.first), " = ", size.second);
  });
}

// Weights that may be copies make rules of thumb that read N too large.
void AddCopies(const EstimateReport& report, TextTable* table) {
  constexpr size_t kMostNotes = 5;
  size_t copies = 0;
  for (const CompareReport& model : report.models) {
    if (!absl::c_any_of(model.tools, HasToolFigure)) continue;
    const std::string holder = report.models.size() == 1
                                   ? "N holds"
                                   : absl::StrCat(Escaped(model.ours.model.path), ": N holds");
    for (const WeightCopy& likely : model.ours.likely_copies) {
      if (++copies <= kMostNotes) table->notes.push_back(LikelyCopyText(likely, holder));
    }
  }
  if (copies > kMostNotes) {
    table->notes.push_back(absl::StrCat(copies - kMostNotes, " more weights may be copies"));
  }
}

void AddNotes(const EstimateReport& report, TextTable* table) {
  if (const std::optional<Calibration>& c = report.calibration) {
    table->notes.push_back(
        fmt::format("calibrated: our count x {:.6g}, which is {} measured / {} counted of a {} "
                    "of {} on {}, {}{}{}",
                    c->ratio(), SiNumber(c->measured.flops), SiNumber(c->counted),
                    c->measured.of_training ? "training step" : "forward pass", Escaped(c->model),
                    Escaped(c->measured.device), Escaped(c->measured.date),
                    c->measured.sizes.empty() ? "" : ", at ", SizesOf(c->measured.sizes)));
  }
  for (const CompareReport& model : report.models) {
    const ReferenceValues values(model.ours);
    if (values.sizes().empty()) continue;
    table->notes.push_back(absl::StrCat("open sizes are at ", SizesOf(values.sizes()),
                                        WithSettings("; {dim NAME=N} sets others")));
    break;
  }
  AddCopies(report, table);
  table->notes.emplace_back(WithSettings(
      "rules of thumb are in % of our count, of a training step where theirs are; onnxflops "
      "compare MODEL {with NAME} has every term between"));
}

// A row for each figure of one model.
TextTable OneModel(const EstimateReport& report) {
  using Narrow = TextTable::Column::Narrow;
  const CompareReport& model = report.models[0];
  const ReferenceValues values(model.ours);
  const bool calibrated = report.calibration.has_value();
  TextTable table;
  table.columns = {{"figure"}, {"FLOPs", true}, {"% of ours", true}};
  if (calibrated) table.columns.push_back({"calibrated", true});
  table.columns.push_back({"what it is", false, Narrow::kText});
  const auto add = [&](const std::string& name, const std::optional<absl::int128>& figure,
                       Known known, const std::string& share, const std::string& extra,
                       const char* text) {
    std::vector<std::string> cells = {name, KnownText(known, Cell(figure)), share};
    if (calibrated) cells.push_back(extra);
    cells.emplace_back(text);
    table.rows.push_back({std::move(cells)});
  };
  const auto forward = values.Of(model.ours.totals.flops);
  const auto training = values.Of(model.ours.totals.training_flops);
  const Known known =
      KnownOf(QuantityOf(&Amounts::flops), model.ours.totals.flops, model.ours.totals.lower_bound);
  add("forward pass", forward, known, "100.0", Cell(Calibrated(report, forward, false)),
      "our count");
  add("training step", training, known, "100.0", Cell(Calibrated(report, training, true)),
      "our count, backward twice forward");
  for (const ToolRow& tool : model.tools) {
    if (!HasToolFigure(tool)) continue;
    add(tool.convention->name, values.Of(*tool.headline), KnownOf(tool.standing),
        ShareCell(tool, model.ours, values), "", tool.convention->headline);
  }
  AddNotes(report, &table);
  return table;
}

// A row for each model.
TextTable ManyModels(const EstimateReport& report) {
  using Narrow = TextTable::Column::Narrow;
  TextTable table;
  table.columns = {{"model", false, Narrow::kName},
                   {"params", true},
                   {"MACs", true},
                   {"FLOPs", true},
                   {"training", true}};
  table.columns[0].paths = true;
  if (report.calibration) table.columns.push_back({"calibrated", true});
  std::vector<size_t> shown;  // tools that have any figure
  for (size_t i = 0; i < report.models[0].tools.size(); ++i) {
    bool has = false;
    for (const CompareReport& model : report.models) has = has || HasToolFigure(model.tools[i]);
    if (!has) continue;
    shown.push_back(i);
    const absl::string_view name = report.models[0].tools[i].convention->name;
    table.columns.push_back(
        {std::string(absl::StripPrefix(name, "config-")), true, Narrow::kSpare});
  }
  for (const CompareReport& model : report.models) {
    const ReferenceValues values(model.ours);
    const auto forward = values.Of(model.ours.totals.flops);
    const auto training = values.Of(model.ours.totals.training_flops);
    const Totals& ours = model.ours.totals;
    const auto cell = [&](Expr Amounts::*of) {
      return KnownText(KnownOf(QuantityOf(of), ours.*of, ours.lower_bound),
                       Cell(values.Of(ours.*of)));
    };
    const Known known = KnownOf(QuantityOf(&Amounts::flops), ours.flops, ours.lower_bound);
    std::vector<std::string> cells = {
        model.ours.model.path, Cell(values.Of(model.ours.totals.params)), cell(&Amounts::macs),
        cell(&Amounts::flops), KnownText(known, Cell(training))};
    if (report.calibration) {
      const bool of_training = report.calibration->measured.of_training;
      cells.push_back(Cell(Calibrated(report, of_training ? training : forward, of_training)));
    }
    for (size_t i : shown) cells.push_back(ShareCell(model.tools[i], model.ours, values));
    table.rows.push_back({std::move(cells)});
  }
  AddNotes(report, &table);
  return table;
}

TextTable TableOf(const EstimateReport& report) {
  return report.models.size() == 1 ? OneModel(report) : ManyModels(report);
}

void WriteCalibration(const Calibration& calibration, JsonWriter* json) {
  const Measurement& measured = calibration.measured;
  json->BeginObject();
  json->Key("model").String(calibration.model);
  json->Key("of").String(measured.of_training ? "training" : "forward");
  json->Key("flops").Int(measured.flops);
  json->Key("counted").Int(calibration.counted);
  json->Key("ratio").Number(calibration.ratio());
  json->Key("date").String(measured.date);
  json->Key("device").String(measured.device);
  report::WriteSizes("bindings", measured.sizes, json);
  json->EndObject();
}

void WriteCalibrated(const EstimateReport& report, const CompareReport& model, JsonWriter* json) {
  json->Key("calibrated");
  if (!report.calibration) return json->Null();
  const bool training = report.calibration->measured.of_training;
  const Expr& counted = training ? model.ours.totals.training_flops : model.ours.totals.flops;
  const std::optional<absl::int128> figure = Calibrated(
      report, counted.is_literal() ? std::optional(counted.literal()) : std::nullopt, training);
  json->BeginObject(kOneLine);
  json->Key("of").String(training ? "training" : "forward");
  json->Key("flops");
  figure ? json->Int(*figure) : json->Null();
  json->EndObject();
}

void WriteEstimatedModel(const EstimateReport& report, const CompareReport& model,
                         JsonWriter* json) {
  const Totals& totals = model.ours.totals;
  json->BeginObject();
  json->Key("model").String(model.ours.model.path);
  report::WriteSizes("bindings", model.ours.bindings, json);
  json->Key("params").Quantity(totals.params);
  for (const auto& [key, amount] : {std::pair("macs", &totals.macs),
                                    {"flops", &totals.flops},
                                    {"training_flops", &totals.training_flops}}) {
    json->Key(key).Quantity(*amount, HasFigure(*amount, totals.lower_bound));
  }
  json->Key("lower_bound").Bool(totals.lower_bound);
  WriteCalibrated(report, model, json);
  json->Key("rules_of_thumb").BeginArray();
  for (const ToolRow& tool : model.tools) {
    json->BeginObject();
    json->Key("name").String(tool.convention->name);
    json->Key("passes").Int(tool.convention->passes);
    json->Key("flops");
    HasToolFigure(tool) ? json->Quantity(*tool.headline) : json->Null();
    json->Key("source").String(tool.convention->source);
    json->Key("assumptions").BeginArray();
    for (const std::string& text : tool.assumptions) json->String(text);
    json->EndArray();
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

}  // namespace
}  // namespace report

Document ToDocument(const EstimateReport& report) {
  Document document;
  document.Add(Document::Table{report::TableOf(report)});
  return document;
}

std::string ToCsv(const EstimateReport& report) {
  TextTable table;
  for (const char* title : {"model", "params", "macs", "flops", "training_flops", "calibrated"}) {
    table.columns.push_back({title});
  }
  for (const ToolRow& tool : report.models[0].tools)
    table.columns.push_back({tool.convention->name});
  for (const CompareReport& model : report.models) {
    const Totals& totals = model.ours.totals;
    const bool training = report.calibration && report.calibration->measured.of_training;
    const Expr& counted = training ? totals.training_flops : totals.flops;
    const auto calibrated = report::Calibrated(
        report, counted.is_literal() ? std::optional(counted.literal()) : std::nullopt, training);
    std::vector<std::string> cells = {model.ours.model.path,
                                      totals.params.ToString(),
                                      totals.macs.ToString(),
                                      totals.flops.ToString(),
                                      totals.training_flops.ToString(),
                                      calibrated ? Int128ToString(*calibrated) : ""};
    for (const ToolRow& tool : model.tools) {
      cells.push_back(report::HasToolFigure(tool) ? tool.headline->ToString() : "");
    }
    table.rows.push_back({std::move(cells)});
  }
  return DrawCsv(table);
}

std::string ToJson(const EstimateReport& report) {
  report::JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.estimate/1");
  json.Key("calibration");
  if (report.calibration) {
    report::WriteCalibration(*report.calibration, &json);
  } else {
    json.Null();
  }
  json.Key("estimates").BeginArray();
  for (const CompareReport& model : report.models)
    report::WriteEstimatedModel(report, model, &json);
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

}  // namespace onnxflops
