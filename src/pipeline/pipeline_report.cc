// How it works. A row per stage and one for all. Figures are formulas over the parameters; people
// see them at the parameters' values, JSON and CSV have the values and the formulas.
#include "src/pipeline/pipeline_report.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "fmt/format.h"
#include "src/base/limits.h"
#include "src/base/setting.h"
#include "src/cost/roofline.h"
#include "src/pipeline/pipeline_parts.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/render/text_table.h"
#include "src/report/device_columns.h"
#include "src/report/json_parts.h"

namespace onnxflops {
namespace {

using pipeline::StageTexts;
using pipeline::StageWarnings;
using pipeline::WithoutEffect;
using pipeline::WritePipeline;
using report::GroupedDigits;
using report::JsonWriter;
using report::Known;
using report::KnownOf;
using report::KnownText;
using report::kOneLine;
using report::LabelledLine;

std::optional<absl::int128> ValueAt(const Expr& expr, const Bindings& at) {
  const absl::StatusOr<absl::int128> value = expr.Evaluate(at);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

std::string FigureText(const Quantity& q, const Expr& amount, const Bindings& at, bool exact,
                       Known known = Known::kExact) {
  const std::optional<absl::int128> value = ValueAt(amount, at);
  return value ? KnownText(known, report::AmountText(q, *value, exact)) : "?";
}

std::string ShareText(const Share& share) {
  return fmt::format("{}/{}", Int128ToString(share.part), Int128ToString(share.whole));
}

// What the rows of the table and CSV have.
std::vector<const Quantity*> PipelineQuantities() {
  return {&QuantityOf(&Amounts::flops), &QuantityOf(&Amounts::macs), &QuantityOf(&Amounts::params),
          &QuantityOf(&Amounts::param_bytes), &kBytesMoved};
}

const Quantity& TimeQuantity() { return QuantityOf(&Amounts::time_bound); }

const char* SlowerOf(const PipelineTime& time, const Bindings& at) {
  const auto arithmetic = ValueAt(time.arithmetic, at), memory = ValueAt(time.memory, at);
  if (!arithmetic || !memory || !time.memory_known) return "?";
  return *arithmetic >= *memory ? "compute" : "memory";
}

// Answers in a second, at most.
std::optional<double> RateOf(const PipelineReport& report, const Bindings& at) {
  if (!report.time) return std::nullopt;
  const std::optional<absl::int128> time = ValueAt(report.time->bound, at);
  const std::optional<absl::int128> answers = ValueAt(report.per_count, at);
  if (!time || !answers || *time <= 0) return std::nullopt;
  return static_cast<double>(*answers) * kTimesPerSecond / static_cast<double>(*time);
}

std::string PerSecondText(double rate) {
  constexpr double kLeastOfUnits = 1000;
  return rate < kLeastOfUnits ? fmt::format("{:.4g}", rate) : report::SiNumber(absl::int128(rate));
}

// The value of `per`; nullopt if there is none, or 0 of it.
std::optional<absl::int128> DivisorOf(const PipelineReport& report, const Bindings& at) {
  if (report.per.empty()) return std::nullopt;
  const std::optional<absl::int128> value = ValueAt(report.per_count, at);
  return value && *value > 0 ? value : std::nullopt;
}

// ---- the table

// With a probability, as many as are expected: "184.6 of 512".
std::string RunsText(const PipelineStageCost& stage, const Bindings& at) {
  const std::optional<absl::int128> runs = ValueAt(stage.runs, at);
  if (!runs) return "?";
  const Share& share = stage.probability;
  std::string all = GroupedDigits(*runs);
  if (share.part == share.whole) return all;
  const double expected = static_cast<double>(*runs) * static_cast<double>(share.part) /
                          static_cast<double>(share.whole);
  return fmt::format("{:.4g} of {}", expected, all);
}

// The FLOPs of one run; of a loop, of one on average.
std::string EachRunText(const PipelineStageCost& stage, const Bindings& at, bool exact) {
  const Quantity& q = QuantityOf(&Amounts::flops);
  const std::optional<absl::int128> runs = ValueAt(stage.runs, at);
  if (!runs || *runs <= 0) return "-";
  const Expr each = FloorDiv(stage.certain_flops, *runs);
  return FigureText(q, each, at, exact, KnownOf(q, stage.totals.flops, stage.totals.lower_bound));
}

// Whether some multiply-accumulates are of integers, which are no FLOPs. Expectations are rounded
// down, so without them the parts are at most the whole.
bool HasIntegers(const Totals& totals, const Bindings& at) {
  return ValueAt(2 * totals.macs + totals.other_flops - totals.flops, at).value_or(0) > 0;
}

// The share of a stage in the cost of all. Of a lower bound it may be less; that of a stage with
// uncounted parts may be anything.
std::string ShareOfCost(const Totals& stage, const Totals& all, Expr Amounts::*cost,
                        const Bindings& at) {
  const std::optional<absl::int128> part = ValueAt(stage.*cost, at), whole = ValueAt(all.*cost, at);
  if (stage.lower_bound) return "-";
  if (!part || !whole) return "?";
  return KnownText(all.lower_bound ? Known::kAtMost : Known::kExact,
                   report::Percent(*part, *whole));
}

TextTable StageTable(const PipelineReport& report, const Bindings& at, bool exact) {
  using Narrow = TextTable::Column::Narrow;
  TextTable table;
  const auto column = [&](const char* title, bool right, Narrow narrow) {
    table.columns.emplace_back();
    table.columns.back().title = title;
    table.columns.back().right = right;
    table.columns.back().narrow = narrow;
  };
  column("stage", false, Narrow::kName);
  column("runs", true, Narrow::kKeep);
  column("FLOPs a run", true, Narrow::kSpare);
  column("FLOPs", true, Narrow::kKeep);
  column(HasIntegers(report.totals, at) ? "% of MACs" : "%", true, Narrow::kSpare);
  column("MACs", true, Narrow::kKeep);
  column("params", true, Narrow::kKeep);
  column("bytes moved", true, Narrow::kSpare);
  if (report.time) {
    column("time", true, Narrow::kKeep);
    column("bound by", false, Narrow::kSpare);
  }
  // Integers make no FLOPs, so a share of these would leave them out.
  Expr Amounts::*const cost = HasIntegers(report.totals, at) ? &Amounts::macs : &Amounts::flops;
  const auto row = [&](const std::string& name, const std::pair<std::string, std::string>& runs,
                       const Totals& totals, const std::optional<PipelineTime>& time) {
    TextTable::Row cells;
    const auto text = [&](const Quantity& q) {
      const Expr amount = q.In(totals);
      return FigureText(q, amount, at, exact, KnownOf(q, amount, totals.lower_bound));
    };
    cells.cells = {name,
                   runs.first,
                   runs.second,
                   text(QuantityOf(&Amounts::flops)),
                   ShareOfCost(totals, report.totals, cost, at),
                   text(QuantityOf(&Amounts::macs)),
                   text(QuantityOf(&Amounts::params)),
                   text(kBytesMoved)};
    if (time) {
      cells.cells.push_back(FigureText(TimeQuantity(), time->bound, at, exact, Known::kAtLeast));
      cells.cells.emplace_back(SlowerOf(*time, at));
    }
    table.rows.push_back(std::move(cells));
  };
  for (const PipelineStageCost& stage : report.stages) {
    row(stage.name, {RunsText(stage, at), EachRunText(stage, at, exact)}, stage.totals, stage.time);
  }
  row(kAllStages, {}, report.totals, report.time);
  table.rows.back().strong = true;
  return table;
}

// ---- the lines

// With every digit, as in a report: people copy it.
void AddFormula(const char* label, absl::string_view name, const Expr& expr,
                std::vector<LabelledLine>* lines) {
  if (expr.is_literal()) return;
  std::string text = report::GroupedExpr(expr);
  if (text.size() > kMaxShownFormula) text = expr.Shortened(kMaxShownFormula);
  lines->push_back({label, {absl::StrCat(name, " ", text)}});
}

std::string MemoryText(const PipelineReport& report, const Bindings& at, bool exact) {
  if (!report.memory_bytes) {
    const auto stage = absl::c_find_if(
        report.stages, [](const PipelineStageCost& one) { return !one.peak_activations; });
    return absl::StrCat(
        "not known: ",
        stage == report.stages.end()
            ? "the peak over all stages has no formula"
            : absl::StrCat("the activations of stage ", stage->name, " have no formula"),
        report.at.empty() ? "" : "; numbers for all sizes have one");
  }
  const Quantity& bytes = QuantityOf(&Amounts::param_bytes);
  return absl::StrCat(FigureText(bytes, *report.memory_bytes, at, exact,
                                 report.totals.lower_bound ? Known::kAtLeast : Known::kExact),
                      report.in_turn ? " for the weights and activations of one stage at a time"
                                     : " for the weights of all stages and the activations of one");
}

std::vector<LabelledLine> TotalLines(const PipelineReport& report, const Bindings& at, bool exact) {
  std::vector<LabelledLine> lines;
  const Totals& totals = report.totals;
  const auto text = [&](Expr Amounts::*of) {
    const Quantity& q = QuantityOf(of);
    return FigureText(q, totals.*of, at, exact, KnownOf(q, totals.*of, totals.lower_bound));
  };
  const bool integers = HasIntegers(totals, at);
  const Expr macs = integers ? FloorDiv(totals.flops - totals.other_flops, 2) : totals.macs;
  const Quantity& q = QuantityOf(&Amounts::macs);
  if (integers) lines.push_back({"MACs", {text(&Amounts::macs)}});
  lines.push_back(
      {"FLOPs",
       {absl::StrCat(text(&Amounts::flops), " = 2 x ",
                     FigureText(q, macs, at, exact, KnownOf(q, macs, totals.lower_bound)),
                     integers ? " floating-point" : "", " MACs + ", text(&Amounts::other_flops),
                     " other", report.expected ? ", as expected by the probabilities" : "")}});
  if (integers) {
    lines.push_back({"integer", {absl::StrCat(text(&Amounts::int_ops), " operations")}});
  }
  const std::optional<absl::int128> divisor = DivisorOf(report, at);
  if (divisor && *divisor != 1) {
    std::vector<std::string> texts;
    for (Expr Amounts::*of : {&Amounts::flops, &Amounts::macs}) {
      texts.push_back(
          absl::StrCat(FigureText(QuantityOf(of), FloorDiv(totals.*of, *divisor), at, exact,
                                  KnownOf(QuantityOf(of), totals.*of, totals.lower_bound)),
                       " ", QuantityOf(of).title));
    }
    lines.push_back({absl::StrCat("per ", report.per),
                     {absl::StrCat(absl::StrJoin(texts, ", "), " for each of ",
                                   GroupedDigits(*divisor), " ", report.per)}});
  }
  lines.push_back({"params",
                   {absl::StrCat(text(&Amounts::params), " (", text(&Amounts::param_bytes),
                                 "), those that stages share counted once")}});
  lines.push_back({"memory", {MemoryText(report, at, exact)}});
  if (report.time) {
    LabelledLine line = {
        "time",
        {absl::StrCat(FigureText(TimeQuantity(), report.time->bound, at, exact, Known::kAtLeast),
                      " on ", report.device, " in ", report.dtype, ", stages one after another")}};
    if (const std::optional<double> rate = RateOf(report, at)) {
      line.texts.push_back(
          KnownText(Known::kAtMost, fmt::format("{} {} per second", PerSecondText(*rate),
                                                report.per.empty() ? "answers" : report.per)));
    }
    if (!report.time->memory_known) line.texts.emplace_back(report::kCacheNotKnown);
    line.texts.emplace_back(
        "for memory it has the weights, inputs and outputs of each run, and nothing in between");
    lines.push_back(std::move(line));
  }
  const absl::string_view sign = totals.lower_bound ? ">=" : "=";
  AddFormula("formula", absl::StrCat("FLOPs ", sign), totals.flops, &lines);
  AddFormula("", absl::StrCat("MACs ", sign), totals.macs, &lines);
  return lines;
}

LabelledLine TitleLine(const PipelineReport& report) { return {"pipeline", PipelineTitle(report)}; }

// ---- JSON

void WriteNumberOrNull(const char* key, const std::optional<double>& value, JsonWriter* json) {
  json->Key(key);
  if (value) {
    json->Number(*value);
  } else {
    json->Null();
  }
}

std::optional<double> Seconds(const Expr& time, const Bindings& at) {
  const std::optional<absl::int128> value = ValueAt(time, at);
  return value ? std::optional(static_cast<double>(*value) / kTimesPerSecond) : std::nullopt;
}

void WriteFigures(const Totals& totals, const Bindings& bindings, JsonWriter* json) {
  json->Key("totals").BeginObject();
  const auto write = [&](const Quantity& q) {
    const Expr amount = q.In(totals).Substitute(bindings);
    json->Key(q.key).Figure(q, amount, report::HasFigure(q, amount, totals.lower_bound));
  };
  for (const Quantity& q : kQuantities) {
    if (q.needs == Quantity::Needs::kNothing) write(q);
  }
  write(kBytesMoved);
  json->Key("lower_bound").Bool(totals.lower_bound);
  json->EndObject();
}

void WriteStageTime(const std::optional<PipelineTime>& time, const Bindings& at, JsonWriter* json) {
  if (!time) return;
  json->Key("time").BeginObject(kOneLine);
  WriteNumberOrNull("seconds", Seconds(time->bound, at), json);
  WriteNumberOrNull("arithmetic_seconds", Seconds(time->arithmetic, at), json);
  WriteNumberOrNull("memory_seconds", time->memory_known ? Seconds(time->memory, at) : std::nullopt,
                    json);
  json->EndObject();
}

void WriteStage(const PipelineReport& report, const PipelineStageCost& stage, JsonWriter* json) {
  json->BeginObject();
  json->Key("name").String(stage.name);
  json->Key("path").String(stage.path);
  json->Key("runs").Quantity(stage.runs.Substitute(report.bindings));
  json->Key("runs_formula").String(stage.runs_text);
  json->Key("probability").BeginObject(kOneLine);
  json->Key("part").Int(stage.probability.part);
  json->Key("whole").Int(stage.probability.whole);
  json->EndObject();
  json->Key("sizes").BeginObject(kOneLine);
  for (const auto& [name, size] : stage.sizes) json->Key(name).String(size);
  json->EndObject();
  json->Key("assumed").BeginArray(kOneLine);
  for (const std::string& text : stage.assumed) json->String(text);
  json->EndArray();
  json->Key("warnings").BeginArray();
  for (const std::string& text : stage.warnings) json->String(text);
  json->EndArray();
  json->Key("has_formula").Bool(stage.has_formula);
  json->Key("is_step").Bool(stage.is_step);
  json->Key("weights_of");
  if (stage.weights_of.empty()) {
    json->Null();
  } else {
    json->String(stage.weights_of);
  }
  WriteFigures(stage.totals, report.bindings, json);
  json->Key(kPeakActivations.key);
  if (stage.peak_activations) {
    json->Quantity(stage.peak_activations->Substitute(report.bindings));
  } else {
    json->Null();
  }
  WriteStageTime(stage.time, report.Sizes(), json);
  json->EndObject();
}

void WriteParameters(const PipelineReport& report, JsonWriter* json) {
  json->Key("parameters").BeginArray();
  for (const PipelineParameter& parameter : report.parameters) {
    json->BeginObject(kOneLine);
    json->Key("name").String(parameter.name);
    json->Key("value");
    const std::optional<absl::int128> value = ValueAt(parameter.expr, report.bindings);
    if (value) {
      json->Int(*value);
    } else {
      json->Null();
    }
    json->Key("formula").String(parameter.formula);
    if (parameter.least) json->Key("least").Int(*parameter.least);
    if (parameter.most) json->Key("most").Int(*parameter.most);
    if (!parameter.about.empty()) json->Key("about").String(parameter.about);
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace

std::vector<std::string> PipelineTitle(const PipelineReport& report) {
  std::vector<std::string> texts = {report.file};
  if (!report.title.empty()) texts.push_back(report.title);
  for (const PipelineParameter& parameter : report.parameters) {
    const bool is_open = !parameter.value && parameter.formula.empty();
    texts.push_back(
        absl::StrCat(parameter.name, " = ",
                     parameter.value ? absl::StrCat(*parameter.value)
                     : is_open       ? "1"
                                     : parameter.formula,
                     is_open || parameter.assumed
                         ? absl::StrCat(" (assumed", WithSettings("; {dim} sets it"), ")")
                         : ""));
  }
  return texts;
}

Bindings PipelineReport::Sizes() const {
  Bindings sizes = bindings;
  sizes.insert(at.begin(), at.end());
  return sizes;
}

namespace pipeline {

absl::int128 CommonWhole(const std::vector<PipelineStageCost>& stages) {
  constexpr absl::int128 kMost = int64_t{1} << 60;
  absl::int128 whole = 1;
  for (const PipelineStageCost& stage : stages) {
    absl::int128 a = whole, b = stage.probability.whole;
    while (b != 0) a = std::exchange(b, a % b);
    whole *= stage.probability.whole / a;
    if (whole > kMost) return 0;
  }
  return whole;
}

std::vector<std::string> WithoutEffect(const PipelineReport& report) {
  std::vector<std::string> used;
  const auto use = [&](const Expr& expr) {
    absl::c_move(expr.Symbols(), std::back_inserter(used));
  };
  for (const PipelineStageCost& stage : report.stages) {
    if (!stage.has_formula) return {};  // its figures are of the parameters' numbers alone
    use(stage.runs);
    for (const Quantity& q : kQuantities) use(stage.totals.*q.value);
    if (stage.peak_activations) use(*stage.peak_activations);
  }
  use(report.per_count);  // figures are divided by it
  for (const PipelineParameter& parameter : report.parameters) {
    if (!parameter.formula.empty()) use(parameter.expr);
  }
  std::vector<std::string> notes;
  for (const PipelineParameter& parameter : report.parameters) {
    const bool is_number = parameter.expr.is_literal();  // in all formulas
    if (is_number || !parameter.formula.empty()) continue;
    if (absl::c_linear_search(used, parameter.name)) continue;
    notes.push_back(absl::StrCat("parameter ", parameter.name,
                                 " changes no figure: no run and no open size depends on it"));
  }
  return notes;
}

std::vector<std::string> StageTexts(const PipelineReport& report) {
  std::vector<std::string> texts;
  for (const PipelineStageCost& stage : report.stages) {
    std::vector<std::string> parts;
    for (const auto& [name, size] : stage.sizes) parts.push_back(absl::StrCat(name, " = ", size));
    for (const std::string& size : stage.assumed) {
      parts.push_back(
          absl::StrCat(size, " (assumed", WithSettings("; {dim} or the file sets it"), ")"));
    }
    std::string text =
        absl::StrCat("stage ", stage.name, ": ", stage.path, "; runs ", stage.runs_text);
    if (!parts.empty()) absl::StrAppend(&text, "; ", absl::StrJoin(parts, ", "));
    if (stage.is_step) absl::StrAppend(&text, "; the graph of a decoding step");
    if (stage.probability.whole != stage.probability.part) {
      absl::StrAppend(&text, "; with a probability of ", ShareText(stage.probability),
                      stage.policy);
    }
    if (!stage.weights_of.empty()) {
      absl::StrAppend(&text, "; the weights of stage ", stage.weights_of);
    }
    if (stage.uncounted > 0) {
      absl::StrAppend(&text, "; ", Plural(stage.uncounted, "node"),
                      stage.uncounted == 1 ? " is" : " are", " not counted",
                      WithSettings(" ({rules} defines operators)"), ": figures are lower bounds");
    }
    if (!stage.fixed.empty()) {
      absl::StrAppend(&text, "; the export fixed ", absl::StrJoin(stage.fixed, ", "));
    } else if (!stage.has_formula) {
      absl::StrAppend(&text, "; counted at these sizes only: a size decides what the model runs");
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> StageWarnings(const PipelineReport& report) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_text;  // and its stages
  for (const PipelineStageCost& stage : report.stages) {
    for (const std::string& warning : stage.warnings) {
      auto same = absl::c_find_if(by_text, [&](const auto& one) { return one.first == warning; });
      if (same == by_text.end()) same = by_text.insert(same, {warning, {}});
      if (!absl::c_linear_search(same->second, stage.name)) same->second.push_back(stage.name);
    }
  }
  std::vector<std::string> texts;
  texts.reserve(by_text.size());
  for (const auto& [text, stages] : by_text) {
    texts.push_back(absl::StrCat(stages.size() == 1 ? "stage " : "stages ",
                                 absl::StrJoin(stages, ", "), ": ", text));
  }
  return texts;
}

void WritePipeline(const PipelineReport& report, JsonWriter* to) {
  JsonWriter& json = *to;
  json.BeginObject();
  json.Key("schema").String("onnxflops.pipeline/1");
  json.Key("file").String(report.file);
  json.Key("title").String(report.title);
  WriteParameters(report, to);
  report::WriteSizes("bindings", report.bindings, to);
  report::WriteSizes("at", report.at, to);
  json.Key("expected").Bool(report.expected);
  WriteFigures(report.totals, report.bindings, to);
  json.Key("formulas").BeginObject();
  json.Key("flops").String(report.totals.flops.ToString());
  json.Key("macs").String(report.totals.macs.ToString());
  json.EndObject();
  json.Key("loaded").String(report.in_turn ? "in turn" : "together");
  json.Key("memory_bytes");
  if (report.memory_bytes) {
    json.Quantity(report.memory_bytes->Substitute(report.bindings));
  } else {
    json.Null();
  }
  if (!report.per.empty()) {
    json.Key("per").String(report.per);
    json.Key("per_count").Quantity(report.per_count.Substitute(report.bindings));
  }
  if (report.time) {
    json.Key("device").String(report.device);
    json.Key("dtype").String(report.dtype);
    WriteStageTime(report.time, report.Sizes(), to);
    WriteNumberOrNull("answers_per_second", RateOf(report, report.Sizes()), to);
  }
  json.Key("stages").BeginArray();
  for (const PipelineStageCost& stage : report.stages) WriteStage(report, stage, to);
  json.EndArray();
  json.EndObject();
}

}  // namespace pipeline

namespace {

void AddCsvColumns(const PipelineReport& report, TextTable* table) {
  const auto column = [&](absl::string_view title) {
    table->columns.push_back({std::string(title)});
  };
  for (const char* title : {"file", "stage", "path", "runs"}) column(title);
  for (const Quantity* q : PipelineQuantities()) column(q->key);
  column("lower_bound");
  if (report.time) column(TimeQuantity().key);
  column("probability");
  column(kPipelineMemory.key);
  if (report.time) {
    column("answers_per_second");
    report::AddDeviceColumns(table);
  }
}

// A line per stage and one for all. `first` are cells before those of AddCsvColumns.
void AddCsvLines(const PipelineReport& report, const std::vector<std::string>& first,
                 TextTable* table) {
  const Bindings at = report.Sizes();
  const auto row = [&](std::vector<std::string> cells, const Totals& totals,
                       const std::optional<PipelineTime>& time, const PipelineStageCost* stage) {
    TextTable::Row fields;
    fields.cells = first;
    absl::c_move(cells, std::back_inserter(fields.cells));
    for (const Quantity* q : PipelineQuantities()) {
      const Expr amount = q->In(totals).Substitute(report.bindings);
      fields.cells.push_back(
          report::KnownField(KnownOf(*q, amount, totals.lower_bound), FieldText(*q, amount)));
    }
    fields.cells.emplace_back(totals.lower_bound ? "true" : "false");
    if (time)
      fields.cells.push_back(FieldText(TimeQuantity(), time->bound.Substitute(report.bindings)));
    const bool is_sure = stage != nullptr && stage->probability.part == stage->probability.whole;
    fields.cells.push_back(stage == nullptr ? "" : is_sure ? "1" : ShareText(stage->probability));
    const bool has_memory = stage == nullptr && report.memory_bytes.has_value();
    fields.cells.push_back(
        has_memory ? FieldText(kPipelineMemory, report.memory_bytes->Substitute(report.bindings))
                   : "");
    if (report.time) {
      const std::optional<double> rate = stage == nullptr ? RateOf(report, at) : std::nullopt;
      fields.cells.push_back(rate ? fmt::format("{}", *rate) : "");
      report::AddDeviceCells(report.device, report.dtype, &fields);
    }
    table->rows.push_back(std::move(fields));
  };
  for (const PipelineStageCost& stage : report.stages) {
    row({report.file, stage.name, stage.path, stage.runs.Substitute(report.bindings).ToString()},
        stage.totals, stage.time, &stage);
  }
  row({report.file, kAllStages, "", ""}, report.totals, report.time, nullptr);
}

// ---- several numbers for a name

TextTable PointTable(const PipelineSweep& sweep, bool exact) {
  using Narrow = TextTable::Column::Narrow;
  const PipelineReport& first = sweep.points[0].report;
  TextTable table;
  for (const std::string& name : sweep.symbols) {
    table.columns.push_back({name, true, Narrow::kKeep, /*foreign=*/true});
  }
  const auto column = [&](const char* title, Narrow narrow) {
    table.columns.push_back({title, true, narrow});
  };
  column("FLOPs", Narrow::kKeep);
  column("MACs", Narrow::kKeep);
  const std::string each = absl::StrCat("FLOPs / ", first.per);
  if (!first.per.empty()) column(each.c_str(), Narrow::kSpare);
  column("bytes moved", Narrow::kSpare);
  if (first.memory_bytes) column("memory", Narrow::kSpare);
  const std::string rate = absl::StrCat(first.per.empty() ? "answers" : first.per, " per s");
  if (first.time) {
    column("time", Narrow::kKeep);
    column(rate.c_str(), Narrow::kKeep);
  }
  for (const PipelineSweep::Point& point : sweep.points) {
    const PipelineReport& report = point.report;
    const Bindings at = report.Sizes();
    TextTable::Row row;
    for (const std::string& name : sweep.symbols) {
      row.cells.push_back(GroupedDigits(point.at.at(name)));
    }
    const auto add = [&](const Quantity& q, const Expr& amount) {
      row.cells.push_back(
          FigureText(q, amount, at, exact, KnownOf(q, amount, report.totals.lower_bound)));
    };
    const Quantity& flops = QuantityOf(&Amounts::flops);
    add(flops, report.totals.flops);
    add(QuantityOf(&Amounts::macs), report.totals.macs);
    const std::optional<absl::int128> divisor = DivisorOf(report, at);
    if (divisor) {
      add(flops, FloorDiv(report.totals.flops, *divisor));
    } else if (!first.per.empty()) {
      row.cells.emplace_back("?");
    }
    add(kBytesMoved, kBytesMoved.In(report.totals));
    if (first.memory_bytes) {
      if (report.memory_bytes) {
        add(QuantityOf(&Amounts::param_bytes), *report.memory_bytes);
      } else {
        row.cells.emplace_back("?");
      }
    }
    if (report.time) {
      row.cells.push_back(
          FigureText(TimeQuantity(), report.time->bound, at, exact, Known::kAtLeast));
      const std::optional<double> most = RateOf(report, at);
      row.cells.push_back(most ? KnownText(Known::kAtMost, PerSecondText(*most)) : "?");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// What stages run, at the first point where others differ. `first`: its report, as it is shown.
std::vector<std::string> TextsOfSweep(const PipelineSweep& sweep, const PipelineReport& first) {
  std::vector<std::string> texts = StageTexts(first);
  std::vector<bool> differs(texts.size(), false);
  const std::vector<std::string> own = StageTexts(sweep.points[0].report);
  for (const PipelineSweep::Point& point : sweep.points) {
    const std::vector<std::string> others = StageTexts(point.report);
    for (size_t i = 0; i < texts.size(); ++i) differs[i] = differs[i] || others[i] != own[i];
  }
  std::vector<std::string> at;
  for (const std::string& name : sweep.symbols) {
    at.push_back(absl::StrCat(name, " = ", sweep.points[0].at.at(name)));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    if (differs[i]) texts[i] = absl::StrCat("at ", absl::StrJoin(at, ", "), ", ", texts[i]);
  }
  return texts;
}

std::vector<std::string> WarningsOfSweep(const PipelineSweep& sweep) {
  PipelineReport all;
  for (const PipelineSweep::Point& point : sweep.points) {
    all.stages.insert(all.stages.end(), point.report.stages.begin(), point.report.stages.end());
  }
  return StageWarnings(all);
}

}  // namespace

std::string ToJson(const PipelineReport& report) {
  JsonWriter json;
  WritePipeline(report, &json);
  return json.TakeText();
}

std::string ToJson(const PipelineSweep& sweep) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.pipelines/1");
  json.Key("symbols").BeginArray(kOneLine);
  for (const std::string& name : sweep.symbols) json.String(name);
  json.EndArray();
  json.Key("points").BeginArray();
  for (const PipelineSweep::Point& point : sweep.points) {
    json.BeginObject();
    report::WriteSizes("sizes", point.at, &json);
    json.Key("pipeline");
    WritePipeline(point.report, &json);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

std::string ToCsv(const PipelineReport& report) {
  TextTable table;
  AddCsvColumns(report, &table);
  AddCsvLines(report, {}, &table);
  return DrawCsv(table);
}

std::string ToCsv(const PipelineSweep& sweep) {
  TextTable table;
  for (const std::string& name : sweep.symbols) {
    table.columns.push_back({name, false, TextTable::Column::Narrow::kKeep, /*foreign=*/true});
  }
  AddCsvColumns(sweep.points[0].report, &table);
  for (const PipelineSweep::Point& point : sweep.points) {
    std::vector<std::string> numbers;
    for (const std::string& name : sweep.symbols) {
      numbers.push_back(absl::StrCat(point.at.at(name)));
    }
    AddCsvLines(point.report, numbers, &table);
  }
  return DrawCsv(table);
}

Document ToDocument(const PipelineSweep& sweep, const ViewOptions& options) {
  PipelineReport first = sweep.points[0].report;
  std::erase_if(first.parameters, [&](const PipelineParameter& parameter) {
    return absl::c_linear_search(sweep.symbols, parameter.name);
  });
  Document document;
  document.title = first.file;
  document.Add(Document::Lines{{TitleLine(first)}});
  document.Add(Document::Table{PointTable(sweep, options.exact), ""});
  document.Add(Document::List{"", TextsOfSweep(sweep, first)});
  document.Add(Document::List{"", WithoutEffect(sweep.points[0].report)});
  document.Add(Document::List{"warnings:", WarningsOfSweep(sweep), /*alarming=*/true});
  return document;
}

Document ToDocument(const PipelineReport& report, const ViewOptions& options) {
  const Bindings at = report.Sizes();
  Document document;
  document.title = report.file;
  document.Add(Document::Lines{{TitleLine(report)}});
  document.Add(Document::Lines{TotalLines(report, at, options.exact)});
  document.Add(Document::Table{StageTable(report, at, options.exact), ""});
  document.Add(Document::List{"", StageTexts(report)});
  document.Add(Document::List{"", WithoutEffect(report)});
  document.Add(Document::List{"warnings:", StageWarnings(report), /*alarming=*/true});
  return document;
}

}  // namespace onnxflops
