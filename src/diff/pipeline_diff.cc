// How it works. A pipeline becomes a Diff whose modules are its stages, so that what compares and
// judges models does it for pipelines as well. How often a stage runs and what memory holds are no
// amounts that add up, so they stand beside it. Equal figures of a stage are left out of tables.
#include "src/diff/pipeline_diff.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "src/base/setting.h"
#include "src/diff/comment.h"
#include "src/diff/diff_parts.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/render/text_table.h"
#include "src/report/json_parts.h"
#include "src/report/memory_report.h"

namespace onnxflops {
namespace {

using diff::AddFigures;
using diff::Sides;
using diff::SidesOf;
using diff::SidesOfPeak;
using report::JsonWriter;
using report::Known;
using report::KnownField;

constexpr Quantity kRuns = {"runs", "runs", Quantity::Unit::kElements, Quantity::Of::kWeights,
                            nullptr};
const std::string& AllStages() {
  static const auto& name = *new std::string(kAllStages);
  return name;
}

// At the numbers of the pipeline. Open sizes are 1 or more.
Expr AtNumbers(const Expr& formula, const Bindings& bindings) {
  const Expr bound = formula.Substitute(bindings);
  Replacements replacements;
  for (const std::string& name : bound.Symbols()) {
    replacements.emplace(name, Expr::Symbol(name, 1));
  }
  return replacements.empty() ? bound : bound.Replace(replacements);
}

std::shared_ptr<const Amounts> BoundAmounts(const Totals& totals,
                                            const std::optional<PipelineTime>& time,
                                            const Bindings& bindings) {
  Amounts amounts;
  for (const Quantity& q : kQuantities) {
    if (q.needs != Quantity::Needs::kNothing) continue;
    amounts.*q.value = AtNumbers(totals.*q.value, bindings);
  }
  if (time) amounts.time_bound = AtNumbers(time->bound, bindings);
  return std::make_shared<const Amounts>(std::move(amounts));
}

// A row of both pipelines. A side that is null is 0.
struct RowSides {
  const PipelineReport* base;
  const Totals* base_totals;
  const std::optional<PipelineTime>* base_time;
  const PipelineReport* head;
  const Totals* head_totals;
  const std::optional<PipelineTime>* head_time;
};

ModuleDiff StageRowOf(const RowSides& sides) {
  ModuleDiff row;
  row.base = row.head = std::make_shared<const Amounts>();
  if (sides.base_totals != nullptr) {
    row.base = BoundAmounts(*sides.base_totals, *sides.base_time, sides.base->bindings);
    row.base_lower_bound = sides.base_totals->lower_bound;
  }
  if (sides.head_totals != nullptr) {
    row.head = BoundAmounts(*sides.head_totals, *sides.head_time, sides.head->bindings);
    row.head_lower_bound = sides.head_totals->lower_bound;
  }
  row.status = sides.base_totals == nullptr   ? DiffStatus::kNew
               : sides.head_totals == nullptr ? DiffStatus::kGone
               : *row.base == *row.head       ? DiffStatus::kSame
                                              : DiffStatus::kChanged;
  return row;
}

const PipelineStageCost* StageOf(const PipelineReport* report, const std::string& name) {
  if (report == nullptr) return nullptr;
  const auto found =
      absl::c_find_if(report->stages, [&](const auto& stage) { return stage.name == name; });
  return found == report->stages.end() ? nullptr : &*found;
}

std::optional<PeakDiff> PeaksOf(const std::optional<Expr>& base, const PipelineReport* of_base,
                                bool base_lower_bound, const std::optional<Expr>& head,
                                const PipelineReport* of_head, bool head_lower_bound) {
  if (!base || !head) return std::nullopt;
  return PeakDiff{of_base == nullptr ? *base : AtNumbers(*base, of_base->bindings),
                  of_head == nullptr ? *head : AtNumbers(*head, of_head->bindings),
                  base_lower_bound, head_lower_bound};
}

class PipelineDiffMaker {
 public:
  PipelineDiffMaker(const PipelineReport* base, const PipelineReport& head, PipelineDiff* diff)
      : base_(base), head_(head), diff_(*diff) {}

  void Make() {
    Diff& figures = diff_.figures;
    figures.noun = "stage";
    figures.has_base = base_ != nullptr;
    figures.head.path = head_.file;
    figures.head_bindings = head_.bindings;
    figures.sizes = head_.at;
    if (base_ != nullptr) {
      figures.base.path = base_->file;
      figures.base_bindings = base_->bindings;
      figures.sizes.insert(base_->at.begin(), base_->at.end());
    }
    for (const Quantity& q : kQuantities) {
      const bool is_time = q.value == &Amounts::time_bound && head_.time.has_value() &&
                           (base_ == nullptr || base_->time.has_value());
      if (q.needs == Quantity::Needs::kNothing || is_time) figures.quantities.push_back(&q);
    }
    AddAll();
    for (const PipelineStageCost& stage : head_.stages) {
      AddStage(StageOf(base_, stage.name), &stage);
    }
    if (base_ != nullptr) {
      for (const PipelineStageCost& stage : base_->stages) {
        if (StageOf(&head_, stage.name) == nullptr) AddStage(&stage, nullptr);
      }
    }
    ModuleDiff& all = figures.modules[0];
    all.end = static_cast<int32_t>(figures.modules.size());
    figures.lower_bound = all.lower_bound();
    const bool same =
        absl::c_all_of(figures.modules,
                       [](const ModuleDiff& m) { return m.status == DiffStatus::kSame; }) &&
        (!figures.memory || figures.memory->base == figures.memory->head);
    if (base_ != nullptr) all.status = same ? DiffStatus::kSame : DiffStatus::kChanged;
  }

 private:
  void AddAll() {
    const bool has_base = base_ != nullptr;
    diff_.figures.modules.push_back(
        StageRowOf({base_, has_base ? &base_->totals : nullptr, has_base ? &base_->time : nullptr,
                    &head_, &head_.totals, &head_.time}));
    diff_.figures.memory = PeaksOf(has_base ? base_->memory_bytes : std::optional<Expr>(0), base_,
                                   has_base && base_->totals.lower_bound, head_.memory_bytes,
                                   &head_, head_.totals.lower_bound);
  }

  void AddStage(const PipelineStageCost* base, const PipelineStageCost* head) {
    ModuleDiff row = StageRowOf({base_, base == nullptr ? nullptr : &base->totals,
                                 base == nullptr ? nullptr : &base->time, &head_,
                                 head == nullptr ? nullptr : &head->totals,
                                 head == nullptr ? nullptr : &head->time});
    row.path = row.base_path = head == nullptr ? base->name : head->name;
    row.parent = 0;
    row.depth = 1;
    row.end = static_cast<int32_t>(diff_.figures.modules.size()) + 1;
    PipelineStageDiff stage = {
        base == nullptr ? 0 : AtNumbers(base->runs, base_->bindings),
        head == nullptr ? 0 : AtNumbers(head->runs, head_.bindings),
        PeaksOf(base == nullptr ? std::optional<Expr>(0) : base->peak_activations, base_,
                base != nullptr && base->totals.lower_bound,
                head == nullptr ? std::optional<Expr>(0) : head->peak_activations, &head_,
                head != nullptr && head->totals.lower_bound)};
    const bool other_runs = stage.base_runs != stage.head_runs;
    const bool other_peak = stage.peak && stage.peak->base != stage.peak->head;
    if (row.status == DiffStatus::kSame && (other_runs || other_peak)) {
      row.status = DiffStatus::kChanged;
    }
    diff_.figures.modules.push_back(std::move(row));
    diff_.stages.push_back(std::move(stage));
  }

  const PipelineReport* base_;
  const PipelineReport& head_;
  PipelineDiff& diff_;
};

Sides SidesOfRuns(const PipelineStageDiff& stage) {
  return {kRuns, stage.base_runs, false, stage.head_runs, false};
}

// ---- the table

void AddFigureRow(const PipelineDiff& diff, const std::string& label, int indent,
                  const Sides& sides, bool exact, TextTable* table) {
  TextTable::Row row = {{label}, indent};
  AddFigures(diff.figures, sides, exact, &row.cells);
  table->rows.push_back(std::move(row));
}

// What changed in a stage, or in all of them, below its row of FLOPs.
void AddChanges(const PipelineDiff& diff, const ModuleDiff& m, const std::optional<PeakDiff>& peak,
                const Quantity& of_peak, bool exact, TextTable* table) {
  const auto add = [&](const Sides& sides) {
    const Known known = sides.change(diff.figures);
    if (known == Known::kExact && (sides.head - sides.base).is_zero()) return;
    AddFigureRow(diff, std::string(sides.q.title), 1, sides, exact, table);
  };
  for (const Quantity* q :
       {&QuantityOf(&Amounts::macs), &QuantityOf(&Amounts::params), &kBytesMoved}) {
    add(SidesOf(m, *q));
  }
  if (peak) add(SidesOfPeak(of_peak, *peak));
  if (absl::c_linear_search(diff.figures.quantities, &QuantityOf(&Amounts::time_bound))) {
    add(SidesOf(m, QuantityOf(&Amounts::time_bound)));
  }
}

// A row if the stage runs with another probability.
void AddProbability(const PipelineDiff& diff, const ModuleDiff& m, TextTable* table) {
  const PipelineStageCost *const base = StageOf(&diff.base, m.path), *const head = StageOf(
                                                                         &diff.head, m.path);
  if (base == nullptr || head == nullptr) return;
  const auto value = [](const Share& share) {
    return static_cast<double>(share.part) / static_cast<double>(share.whole);
  };
  const double before = value(base->probability), after = value(head->probability);
  if (before == after) return;
  table->rows.push_back(
      {{"probability", fmt::format("{:.4g}", before), fmt::format("{:.4g}", after), "", ""}, 1});
}

TextTable ChangeTable(const PipelineDiff& diff, bool exact) {
  const Quantity& flops = QuantityOf(&Amounts::flops);
  TextTable table;
  table.columns = {{"stage", false, TextTable::Column::Narrow::kName}};
  diff::AddFigureColumns(diff.figures, flops, &table);
  for (size_t i = 1; i < diff.figures.modules.size(); ++i) {
    const ModuleDiff& m = diff.figures.modules[i];
    const PipelineStageDiff& stage = diff.stages[i - 1];
    const char* tag = m.status == DiffStatus::kNew    ? "  [new]"
                      : m.status == DiffStatus::kGone ? "  [gone]"
                                                      : "";
    AddFigureRow(diff, absl::StrCat(m.path, tag), 0, SidesOf(m, flops), exact, &table);
    table.rows.back().faint = m.status == DiffStatus::kSame;
    if (m.status == DiffStatus::kSame) continue;
    if (stage.base_runs != stage.head_runs) {
      AddFigureRow(diff, "runs", 1, SidesOfRuns(stage), /*exact=*/true, &table);
    }
    AddProbability(diff, m, &table);
    AddChanges(diff, m, stage.peak, kPeakActivations, exact, &table);
  }
  AddFigureRow(diff, AllStages(), 0, SidesOf(diff.figures.modules[0], flops), exact, &table);
  table.rows.back().strong = true;
  AddChanges(diff, diff.figures.modules[0], diff.figures.memory, kPipelineMemory, exact, &table);
  return table;
}

std::vector<report::LabelledLine> PipelineHeadLines(const PipelineDiff& diff) {
  std::vector<report::LabelledLine> lines = {{"base", PipelineTitle(diff.base)},
                                             {"head", PipelineTitle(diff.head)}};
  report::LabelledLine sizes = {"sizes", {}};
  for (const auto& [name, size] : diff.figures.sizes) {
    const auto is_parameter = [&, &symbol = name](const PipelineParameter& p) {
      return p.name == symbol;
    };
    if (absl::c_any_of(diff.base.parameters, is_parameter) ||
        absl::c_any_of(diff.head.parameters, is_parameter)) {
      continue;  // the lines above have it
    }
    sizes.texts.push_back(absl::StrCat(name, " = ", size));
  }
  if (!sizes.texts.empty()) {
    sizes.texts.push_back(absl::StrCat("(of figures", WithSettings("; {dim} sets them"), ")"));
    lines.push_back(std::move(sizes));
  }
  lines.push_back({"change", {diff::ChangeInWords(diff.figures)}});
  const char* label = "note";
  for (std::string& text : diff::NotCountedTexts(diff.figures)) {
    lines.push_back({label, {std::move(text)}});
    label = "";
  }
  return lines;
}

// ---- JSON and CSV

void WriteSide(const char* key, const PipelineReport& report, JsonWriter* json) {
  json->Key(key).BeginObject();
  json->Key("file").String(report.file);
  json->Key("title").String(report.title);
  report::WriteSizes("bindings", report.bindings, json);
  json->Key("loaded").String(report.in_turn ? "in turn" : "together");
  json->EndObject();
}

void WriteRow(const PipelineDiff& diff, const ModuleDiff& m, bool signs, JsonWriter* json) {
  for (const Quantity* q : diff.figures.quantities) {
    json->Key(q->key);
    diff::WriteChange(SidesOf(m, *q), signs, json);
  }
  json->Key(kBytesMoved.key);
  diff::WriteChange(SidesOf(m, kBytesMoved), signs, json);
}

}  // namespace

PipelineDiff MakePipelineDiff(PipelineReport base, PipelineReport head) {
  PipelineDiff diff;
  diff.base = std::move(base);
  diff.head = std::move(head);
  PipelineDiffMaker(&diff.base, diff.head, &diff).Make();
  diff.memory = diff.figures.memory;
  return diff;
}

PipelineDiff MakePipelineDiff(PipelineReport head) {
  PipelineDiff diff;
  diff.head = std::move(head);
  PipelineDiffMaker(nullptr, diff.head, &diff).Make();
  diff.memory = diff.figures.memory;
  return diff;
}

Diff FiguresOf(const PipelineReport& report) { return MakePipelineDiff(report).figures; }

Document ToDocument(const PipelineDiff& diff, bool exact) {
  Document document;
  document.title = diff.head.file;
  document.Add(Document::Lines{PipelineHeadLines(diff)});
  if (diff.IsEmpty()) return document;
  document.Add(Document::Table{ChangeTable(diff, exact), ""});
  return document;
}

std::string ToCsv(const PipelineDiff& diff) {
  TextTable table;
  table.columns = {{"stage"}, {"status"}};
  const std::vector<const Quantity*> quantities = {
      &QuantityOf(&Amounts::flops), &QuantityOf(&Amounts::macs), &QuantityOf(&Amounts::params),
      &QuantityOf(&Amounts::param_bytes), &kBytesMoved};
  const auto columns = [&](const Quantity& q) {
    for (const char* part : {"base", "head", "change"}) {
      table.columns.push_back({absl::StrCat(q.key, "_", part)});
    }
  };
  columns(kRuns);
  for (const Quantity* q : quantities) columns(*q);
  table.columns.push_back({"lower_bound"});
  const auto line = [&](const std::string& name, const ModuleDiff& m, const Sides* runs) {
    TextTable::Row row = {{name, std::string(NameOf(m.status))}};
    const auto add = [&](const Sides& s) {
      row.cells.push_back(KnownField(s.base_known, FieldText(s.q, s.base)));
      row.cells.push_back(KnownField(s.head_known, FieldText(s.q, s.head)));
      row.cells.push_back(KnownField(s.change(diff.figures), FieldText(s.q, s.head - s.base)));
    };
    if (runs != nullptr) {
      add(*runs);
    } else {
      row.cells.insert(row.cells.end(), 3, "");
    }
    for (const Quantity* q : quantities) add(SidesOf(m, *q));
    row.cells.emplace_back(m.lower_bound() ? "true" : "false");
    table.rows.push_back(std::move(row));
  };
  for (size_t i = 1; i < diff.figures.modules.size(); ++i) {
    const Sides runs = SidesOfRuns(diff.stages[i - 1]);
    line(diff.figures.modules[i].path, diff.figures.modules[i], &runs);
  }
  line(AllStages(), diff.figures.modules[0], nullptr);
  return DrawCsv(table);
}

std::string ToJson(const PipelineDiff& diff) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.pipeline_diff/1");
  WriteSide("base", diff.base, &json);
  WriteSide("head", diff.head, &json);
  json.Key("empty").Bool(diff.IsEmpty());
  json.Key("lower_bound").Bool(diff.figures.lower_bound);
  json.Key("totals").BeginObject();
  WriteRow(diff, diff.figures.modules[0], /*signs=*/true, &json);
  if (diff.figures.memory) {
    json.Key(kPipelineMemory.key);
    diff::WriteChange(SidesOfPeak(kPipelineMemory, *diff.figures.memory), /*sign=*/true, &json);
  }
  json.EndObject();
  json.Key("stages").BeginArray();
  for (size_t i = 1; i < diff.figures.modules.size(); ++i) {
    const ModuleDiff& m = diff.figures.modules[i];
    const PipelineStageDiff& stage = diff.stages[i - 1];
    json.BeginObject();
    json.Key("name").String(m.path);
    json.Key("status").String(NameOf(m.status));
    json.Key("lower_bound").Bool(m.lower_bound());
    json.Key(kRuns.key);
    diff::WriteChange(SidesOfRuns(stage), /*sign=*/false, &json);
    WriteRow(diff, m, /*signs=*/false, &json);
    if (stage.peak) {
      json.Key(kPeakActivations.key);
      diff::WriteChange(SidesOfPeak(kPeakActivations, *stage.peak), /*sign=*/false, &json);
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

namespace {

// The numbers that both pipelines have, then those that differ, and warnings about the figures.
std::string FactsOf(const PipelineDiff& diff) {
  const auto number = [](const PipelineReport& report, const std::string& name) {
    if (const auto found = report.bindings.find(name); found != report.bindings.end()) {
      return absl::StrCat(found->second);
    }
    const auto open = report.at.find(name);
    return open == report.at.end() ? "" : absl::StrCat("open (figures at ", open->second, ")");
  };
  std::vector<std::string> equal, facts;
  for (const PipelineParameter& parameter : diff.head.parameters) {
    const std::string& name = parameter.name;
    const std::string value = number(diff.head, name);
    const std::string before = diff.figures.has_base ? number(diff.base, name) : value;
    if (value.empty()) continue;
    if (before == value) {
      equal.push_back(report::MarkdownCode(absl::StrCat(name, " = ", value)));
    } else {
      facts.push_back(absl::StrCat(name, ": ", before.empty() ? "none" : before, " -> ", value));
    }
  }
  for (std::string& text : diff::NotCountedTexts(diff.figures)) facts.push_back(std::move(text));
  std::string out;
  if (!equal.empty()) absl::StrAppend(&out, "\nFigures at ", absl::StrJoin(equal, ", "), ".\n");
  const char* gap = "\n";
  for (const std::string& fact : facts) {
    absl::StrAppend(&out, gap, "- ", report::MarkdownCode(fact), "\n");
    gap = "";
  }
  return out;
}

}  // namespace

std::string CommentDetails(const PipelineDiff& diff, bool exact, size_t room, bool* complete) {
  if (diff.IsEmpty() && !diff.figures.lower_bound) return "";
  std::string out = FactsOf(diff);
  const std::string stages =
      diff.IsEmpty() ? "" : FoldedDetails("Stages", DrawMarkdown(ChangeTable(diff, exact)));
  if (out.size() + stages.size() <= room) return out + stages;
  *complete = false;
  return out.size() <= room ? out : "";
}

std::string ToComment(const PipelineDiff& diff, bool exact) {
  std::string out = absl::StrCat(CommentMarker("diff", diff.head.file), CommentTitle(diff.figures));
  if (diff.IsEmpty() && !diff.figures.lower_bound) return out;
  out += FactsOf(diff);
  if (diff.IsEmpty()) return out;
  const std::string table = absl::StrCat("\n", DrawMarkdown(ChangeTable(diff, exact)));
  constexpr char kLeftOut[] = "\nWhat did not fit is left out: onnxflops diff prints all of it.\n";
  const bool fits = out.size() + table.size() < kMaxCommentBytes;
  return absl::StrCat(out, fits ? table : kLeftOut);
}

}  // namespace onnxflops
