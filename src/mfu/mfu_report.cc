// How it works. Writes one value, the MFU report, in several formats. The lines give a step's FLOPs
// by parts, the peak and its source, and then MFU and HFU. The table compares formulas, ours and
// those of papers, with the parameters that each used. A formula without a figure shows the reason
// instead; if many have none, as for an image model, notes replace them, one for each reason. A
// figure of which nothing was counted is null in JSON.
#include "src/mfu/mfu_report.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "src/base/quote.h"
#include "src/render/format.h"
#include "src/render/html_page.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/render/text_table.h"
#include "src/report/json_parts.h"
#include "src/symbolic/expr.h"

namespace onnxflops {
namespace {

using report::JsonWriter;
using report::Known;
using report::KnownField;
using report::KnownText;
using report::kOneLine;
using report::LabelledLine;
using report::LowerBound;
using report::SharePercent;
using report::SiNumber;

// "412.3 T".
std::string RateText(double per_second) {
  constexpr double kLeast = 1000;  // no prefix below it
  return per_second >= kLeast && per_second < 0x1p62 ? SiNumber(static_cast<int64_t>(per_second))
                                                     : fmt::format("{:.4g} ", per_second);
}

std::string FlopsText(const MfuReport& report, absl::int128 flops) {
  return KnownText(report.lower_bound ? LowerBound(flops) : Known::kExact, SiNumber(flops));
}

// What is known of the batch beside its size.
std::vector<std::string> BatchTexts(const MfuReport& report) {
  std::vector<std::string> texts;
  if (report.batch_is_fixed) {
    texts.push_back(
        absl::StrCat("batch ", *report.batch,
                     report.batch_is_other ? ", instead of the file's" : ", fixed by the file"));
  }
  if (report.devices > 1 && report.batch && !report.samples) {
    const double each = static_cast<double>(*report.batch) / static_cast<double>(report.devices);
    texts.push_back(absl::StrCat(*report.batch, " over ", report.devices,
                                 " devices = ", fmt::format("{:.4g}", each), " each"));
  }
  if (report.devices > 1 && report.samples) {
    texts.push_back(absl::StrCat("the ", Plural(report.samples->samples, "sample"),
                                 " are those of all ", report.devices, " devices"));
  }
  if (report.grad_accumulation > 1) {
    const std::string runs = absl::StrCat(report.grad_accumulation, " runs");
    texts.push_back(report.batch ? absl::StrCat(*report.batch, " x ", runs, " = ",
                                                Int128ToString(absl::int128(*report.batch) *
                                                               report.grad_accumulation),
                                                " a step")
                                 : absl::StrCat(runs, " a step"));
  }
  return texts;
}

LabelledLine ModelLineOf(const MfuReport& report) {
  LabelledLine line = {"model", {report.model}};
  for (const auto& [name, size] : report.bindings) {
    line.texts.push_back(absl::StrCat(name, " = ", size));
  }
  for (std::string& text : BatchTexts(report)) line.texts.push_back(std::move(text));
  return line;
}

// FLOPs of a step that are not in MFU.
std::vector<std::string> MoreFlopsTexts(const MfuReport& r) {
  std::vector<std::string> texts;
  if (r.recompute_flops != 0) {
    texts.push_back(
        absl::StrCat("recomputed: ", SiNumber(r.recompute_flops), " more, in HFU only"));
  }
  if (r.optimizer_flops != 0) {
    texts.push_back(absl::StrCat("optimizer: ", SiNumber(r.optimizer_flops), " more, in neither"));
  }
  return texts;
}

std::vector<std::string> MeasuredTexts(const MfuReport& r) {
  if (!r.measured_flops) return {};
  return {absl::StrCat(SiNumber(*r.measured_flops), " FLOPs executed, ",
                       fmt::format("{:.4g}", r.measured_to_counted), " x the counted ones"),
          absl::StrCat("HFU by counters ", SharePercent(r.measured_hfu), " %")};
}

std::vector<LabelledLine> StepLines(const MfuReport& r) {
  const Known known = r.lower_bound ? LowerBound(r.training_flops) : Known::kExact;
  std::vector<LabelledLine> lines = {ModelLineOf(r)};
  if (r.samples) report::AddSampleLines(*r.samples, r.lower_bound, &lines);
  lines.push_back(
      {"step",
       {absl::StrCat(FlopsText(r, r.training_flops), " FLOPs = ", FlopsText(r, r.forward_flops),
                     " forward + ", FlopsText(r, r.backward_flops), " backward (", r.counted, ")"),
        fmt::format("in {:.6g} s", r.step_seconds)}});
  for (const std::string& text : MoreFlopsTexts(r)) lines.push_back({"", {text}});
  lines.push_back(
      {"peak",
       {absl::StrCat(RateText(r.peak_flops_per_second), "FLOP/s", r.dtype.empty() ? "" : " ",
                     r.dtype, " of ", r.device.empty() ? "your own" : r.device, " (", r.peak_source,
                     ")"),
        absl::StrCat("x ", r.devices)}});
  for (const std::string& other : r.other_peaks) lines.push_back({"", {other}});
  lines.push_back({"rate",
                   {KnownText(known, absl::StrCat(RateText(r.achieved_flops_per_second),
                                                  "FLOP/s per device"))}});
  lines.push_back({"MFU", {absl::StrCat(KnownText(known, SharePercent(r.mfu)), " %")}});
  lines.push_back({"HFU",
                   {absl::StrCat(KnownText(known, SharePercent(r.hfu)), " %",
                                 r.recompute_flops == 0 ? " (nothing is recomputed)" : "")}});
  if (r.measured_flops) lines.push_back({"measured", MeasuredTexts(r)});
  for (const std::string& note : r.notes) lines.push_back({"note", {note}});
  return lines;
}

void WriteNumber(const char* key, double value, JsonWriter* json) { json->Key(key).Number(value); }

void WriteFormula(const MfuFormula& formula, JsonWriter* json) {
  json->BeginObject();
  json->Key("name").String(formula.name);
  json->Key("formula").String(formula.text);
  json->Key("source").String(formula.source);
  json->Key("flops_per_step");
  if (formula.flops_per_step && report::HasFigure(*formula.flops_per_step, formula.lower_bound)) {
    json->Int(*formula.flops_per_step);
    WriteNumber("mfu", formula.mfu, json);
    WriteNumber("hfu", formula.hfu, json);
  } else {
    json->Null();
    json->Key("mfu").Null();
    json->Key("hfu").Null();
    json->Key("missing").String(formula.flops_per_step ? "nothing of it is counted"
                                                       : formula.missing);
  }
  json->Key("lower_bound").Bool(formula.lower_bound);
  json->Key("parameters").BeginObject(kOneLine);
  for (const auto& [name, value] : formula.parameters) json->Key(name).Int(value);
  json->EndObject();
  if (!formula.terms.empty()) {
    json->Key("terms").BeginArray();
    for (const auto& [name, flops] : formula.terms) {
      json->BeginObject(kOneLine);
      json->Key("name").String(name);
      json->Key("flops").Int(flops);
      json->EndObject();
    }
    json->EndArray();
  }
  if (!formula.length_of.empty()) json->Key("length_of").String(formula.length_of);
  if (!formula.length_setting.empty()) json->Key("length_setting").String(formula.length_setting);
  json->EndObject();
}

void WriteMeasured(const MfuReport& r, JsonWriter* json) {
  if (!r.measured_flops) return;
  json->Key("measured").BeginObject();
  json->Key("executed_flops").Int(*r.measured_flops);
  WriteNumber("executed_to_counted", r.measured_to_counted, json);
  WriteNumber("hfu", r.measured_hfu, json);
  json->EndObject();
}

// "n=124439808 t=512 (longest sample) tokens=829".
std::string ParametersText(const MfuFormula& formula) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : formula.parameters) {
    texts.push_back(absl::StrCat(name, "=", value));
    if (formula.length_of.empty() || (name != "t" && name != "s2")) continue;
    absl::StrAppend(&texts.back(), " (", formula.length_of,
                    formula.length_setting.empty() ? "" : " as ", formula.length_setting, ")");
  }
  return absl::StrJoin(texts, " ");
}

Known KnownOf(const MfuFormula& formula) {
  if (!formula.flops_per_step) return Known::kNothing;
  return formula.lower_bound ? LowerBound(*formula.flops_per_step) : Known::kExact;
}

TextTable FormulaTable(const MfuReport& report) {
  TextTable table;
  TextTable::Column formula, flops, mfu, hfu, text;
  formula.title = "formula";
  flops.title = "FLOPs a step";
  mfu.title = "MFU %";
  hfu.title = "HFU %";
  flops.right = mfu.right = hfu.right = true;
  text.title = "what it is";
  text.narrow = TextTable::Column::Narrow::kText;
  table.columns = {formula, flops, mfu, hfu, text};
  for (const MfuFormula& f : report.formulas) {
    TextTable::Row row;
    const std::string values = ParametersText(f);
    const auto shown = [&](const std::string& text) {
      return f.flops_per_step ? KnownText(KnownOf(f), text) : "";
    };
    row.cells = {
        f.name, shown(SiNumber(f.flops_per_step.value_or(0))), shown(SharePercent(f.mfu)),
        shown(SharePercent(f.hfu)),
        f.missing.empty() ? absl::StrCat(f.text, values.empty() ? "" : "; ", values) : f.missing};
    row.strong = f.chosen;
    row.faint = !f.flops_per_step;
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Language-model formulas have no figure for an image model. Many missing ones become notes, one
// for each reason.
void FoldUnknown(TextTable* table) {
  constexpr size_t kMostRows = 2;
  std::vector<std::pair<std::string, std::vector<std::string>>> names_by_reason;
  size_t unknown = 0;
  for (const TextTable::Row& row : table->rows) {
    if (!row.faint || row.strong) continue;
    ++unknown;
    const std::string& why = row.cells.back();
    auto known = std::find_if(names_by_reason.begin(), names_by_reason.end(),
                              [&](const auto& reason) { return reason.first == why; });
    if (known == names_by_reason.end()) {
      known = names_by_reason.emplace(known, why, std::vector<std::string>());
    }
    known->second.push_back(row.cells[0]);
  }
  if (unknown <= kMostRows) return;
  std::erase_if(table->rows, [](const TextTable::Row& row) { return row.faint && !row.strong; });
  for (const auto& [why, names] : names_by_reason) {
    table->notes.push_back(absl::StrCat("no figure of ", absl::StrJoin(names, ", "), ": ", why));
  }
}

void WriteMfu(const MfuReport& r, JsonWriter* json) {
  json->Key("schema").String("onnxflops.mfu/1");
  json->Key("model").String(r.model);
  json->Key("bindings").BeginObject(kOneLine);
  for (const auto& [name, size] : r.bindings) json->Key(name).Int(size);
  json->EndObject();
  json->Key("counted").String(r.counted);
  json->Key("lower_bound").Bool(r.lower_bound);
  json->Key("grad_accumulation").Int(r.grad_accumulation);
  if (r.batch) json->Key("batch").Int(*r.batch);
  if (r.samples) {
    report::WriteSamples(*r.samples, r.lower_bound, json);
  }
  for (const auto& [key, flops] : {std::pair("forward_flops", r.forward_flops),
                                   {"backward_flops", r.backward_flops},
                                   {"training_flops", r.training_flops}}) {
    json->Key(key);
    report::HasFigure(flops, r.lower_bound) ? json->Int(flops) : json->Null();
  }
  json->Key("recompute_flops").Int(r.recompute_flops);
  json->Key("optimizer_flops").Int(r.optimizer_flops);
  const auto write_reached = [&](const char* key, double value) {
    json->Key(key);
    if (!report::HasFigure(r.training_flops, r.lower_bound)) {
      json->Null();
    } else {
      json->Number(value);
    }
  };
  WriteNumber("step_seconds", r.step_seconds, json);
  write_reached("achieved_flops_per_second", r.achieved_flops_per_second);
  WriteNumber("peak_flops_per_second", r.peak_flops_per_second, json);
  if (r.bytes_per_second) WriteNumber("bytes_per_second", *r.bytes_per_second, json);
  if (r.flops_per_byte) WriteNumber("flops_per_byte", *r.flops_per_byte, json);
  json->Key("devices").Int(r.devices);
  write_reached("mfu", r.mfu);
  write_reached("hfu", r.hfu);
  json->Key("device").String(r.device);
  json->Key("dtype").String(r.dtype);
  json->Key("peak_source").String(r.peak_source);
  WriteMeasured(r, json);
  json->Key("formulas").BeginArray();
  for (const MfuFormula& formula : r.formulas) WriteFormula(formula, json);
  json->EndArray();
  json->Key("notes").BeginArray();
  for (const std::string& note : r.notes) json->String(note);
  json->EndArray();
}

// The lines of the screen for which the page has no other place.
void WritePageLines(const MfuReport& r, JsonWriter* json) {
  const std::vector<LabelledLine> lines = {
      {"samples",
       r.samples ? report::SampleTexts(*r.samples, r.lower_bound) : std::vector<std::string>()},
      {"batch", BatchTexts(r)},
      {"step", MoreFlopsTexts(r)},
      {"peak", r.other_peaks},
      {"measured", MeasuredTexts(r)},
  };
  json->Key("lines").BeginArray();
  for (const LabelledLine& line : lines) {
    if (line.texts.empty()) continue;
    json->BeginArray();
    json->String(line.label);
    for (const std::string& text : line.texts) json->String(text);
    json->EndArray();
  }
  json->EndArray();
}

}  // namespace

Document ToDocument(const MfuReport& report) {
  Document document;
  document.Add(Document::Lines{StepLines(report)});
  TextTable table = FormulaTable(report);
  FoldUnknown(&table);
  document.Add(Document::Table{std::move(table)});
  return document;
}

std::string ToCsv(const MfuReport& report) {
  TextTable table = FormulaTable(report);
  table.columns.push_back({"lower_bound"});
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const MfuFormula& f = report.formulas[i];
    std::vector<std::string>& cells = table.rows[i].cells;
    cells[1] = KnownField(KnownOf(f), Int128ToString(f.flops_per_step.value_or(0)));
    cells[2] = KnownField(KnownOf(f), SharePercent(f.mfu));
    cells[3] = KnownField(KnownOf(f), SharePercent(f.hfu));
    cells.emplace_back(f.lower_bound ? "true" : "false");
  }
  return DrawCsv(table);
}

std::string ToJson(const MfuReport& report) {
  JsonWriter json;
  json.BeginObject();
  WriteMfu(report, &json);
  json.EndObject();
  return json.TakeText();
}

std::string ToHtml(const MfuReport& report) {
  JsonWriter json;
  json.BeginObject();
  WriteMfu(report, &json);
  WritePageLines(report, &json);
  json.EndObject();
  return report::FoldedHtmlPage(report::FileNameOf(report.model), "mfu", json.TakeText());
}

}  // namespace onnxflops
