// How it works. The figures of all stages add up term by term. With probabilities they are
// expectations, which are rounded down. So that the terms still lead exactly from our count to the
// tool's, each step is the difference of two rounded sums. One tool without a figure in one stage
// has none of the pipeline, and the reason names the stage.
//
// People see figures at the sizes of the pipeline, as one comparison whose modules are the stages:
// the writers of a model's comparison write it.
#include "src/pipeline/pipeline_compare.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "src/compare/compare_parts.h"
#include "src/pipeline/pipeline_parts.h"
#include "src/render/json_writer.h"
#include "src/report/json_parts.h"

namespace onnxflops {
namespace {

// Sums of amounts times their shares, rounded down. The steps between them add up to the last sum.
class RoundedSums {
 public:
  explicit RoundedSums(absl::int128 whole) : whole_(whole) {}

  Expr Step(const Expr& amount, const Share& share) {
    if (whole_ == 1) return amount * Expr(share.part);
    exact_ += amount * Expr(share.part * (whole_ / share.whole));
    Expr rounded = FloorDiv(exact_, whole_);
    Expr step = rounded - rounded_;
    rounded_ = std::move(rounded);
    return step;
  }

 private:
  const absl::int128 whole_;
  Expr exact_, rounded_;
};

// A tool's figures in a stage, as expected.
void TakeShare(const Share& share, ToolRow* tool) {
  RoundedSums sums(share.whole);
  tool->start = sums.Step(tool->start, share);
  for (TermRow& term : tool->terms) term.amount = sums.Step(term.amount, share);
  if (tool->headline) tool->headline = RoundedSums(share.whole).Step(*tool->headline, share);
}

// "stage unet: text"; "stages text, unet: text" where both have it.
class StageRemarks {
 public:
  void Add(const std::string& stage, const std::string& text) {
    const auto [place, is_new] = places_.try_emplace(text, remarks_.size());
    if (is_new) remarks_.emplace_back(text, std::vector<std::string>());
    remarks_[place->second].second.push_back(stage);
  }
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const auto& [text, stages] : remarks_) {
      texts.push_back(absl::StrCat(stages.size() == 1 ? "stage " : "stages ",
                                   absl::StrJoin(stages, ", "), ": ", text));
    }
    return texts;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> remarks_;
  std::map<std::string, size_t> places_;
};

// One tool in all stages.
class AllStages {
 public:
  // `stages`: figures of all runs, without probabilities.
  AllStages(const PipelineReport& ours, const std::vector<std::vector<ToolRow>>& stages,
            size_t tool)
      : ours_(ours), whole_(std::max(absl::int128(1), pipeline::CommonWhole(ours.stages))) {
    for (const std::vector<ToolRow>& stage : stages) rows_.push_back(&stage[tool]);
  }

  ToolRow Added() {
    ToolRow all;
    all.convention = rows_[0]->convention;
    all.from = rows_[0]->from;
    RoundedSums sums(whole_);
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (all.version.empty()) all.version = rows_[i]->version;
      all.standing = std::max(all.standing, rows_[i]->standing);
      all.start += sums.Step(rows_[i]->start, ShareOf(i));
    }
    StageRemarks remarks;
    for (size_t i = 0; i < rows_.size(); ++i) {
      // Where some stage has no figure, only that is worth a remark.
      if (rows_[i]->standing != all.standing && all.standing == Standing::kNotApplicable) continue;
      for (const std::string& text : rows_[i]->assumptions) {
        remarks.Add(ours_.stages[i].name, text);
      }
    }
    all.assumptions = remarks.Texts();
    if (all.standing == Standing::kNotApplicable) return all;
    all.terms = Terms(&sums);
    RoundedSums of_headlines(whole_);
    all.headline = Expr(0);
    for (size_t i = 0; i < rows_.size(); ++i) {
      *all.headline += of_headlines.Step(*rows_[i]->headline, ShareOf(i));
    }
    all.params = Params();
    return all;
  }

 private:
  const Share& ShareOf(size_t stage) const { return ours_.stages[stage].probability; }

  // A row for each stage, the largest term first.
  std::vector<TermRow> Terms(RoundedSums* sums) const {
    std::vector<std::string> names;
    std::map<std::string, std::vector<TermRow>> rows;
    for (size_t i = 0; i < rows_.size(); ++i) {
      for (const TermRow& term : rows_[i]->terms) {
        std::vector<TermRow>& known = rows[term.name];
        if (known.empty()) names.push_back(term.name);
        TermRow row = term;
        row.module = ours_.stages[i].name;
        row.of_model = false;
        row.node_names.clear();
        if (!known.empty()) row.reason = known[0].reason;
        row.amount = sums->Step(term.amount, ShareOf(i));
        known.push_back(std::move(row));
      }
    }
    const Bindings sizes = ours_.Sizes();
    std::map<std::string, absl::int128> size;
    for (const auto& [name, of] : rows) {
      for (const TermRow& row : of) size[name] += row.amount.Evaluate(sizes).value_or(0);
      if (size[name] < 0) size[name] = -size[name];
    }
    absl::c_stable_sort(
        names, [&](const std::string& a, const std::string& b) { return size[a] > size[b]; });
    std::vector<TermRow> terms;
    for (const std::string& name : names) absl::c_move(rows[name], std::back_inserter(terms));
    return terms;
  }

  // Those of shared weights once.
  std::optional<absl::int128> Params() const {
    std::map<std::string, absl::int128> of_weights;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!rows_[i]->params) return std::nullopt;
      const PipelineStageCost& stage = ours_.stages[i];
      absl::int128& most = of_weights[stage.weights_of.empty() ? stage.name : stage.weights_of];
      most = std::max(most, *rows_[i]->params);
    }
    absl::int128 sum = 0;
    for (const auto& [name, params] : of_weights) sum += params;
    return sum;
  }

  const PipelineReport& ours_;
  const absl::int128 whole_;
  std::vector<const ToolRow*> rows_;
};

// The amounts of `tools` with these numbers for sizes.
std::vector<ToolRow> WithSizes(std::vector<ToolRow> tools, const Bindings& sizes) {
  for (ToolRow& tool : tools) {
    tool.start = tool.start.Substitute(sizes);
    for (TermRow& term : tool.terms) term.amount = term.amount.Substitute(sizes);
    if (tool.headline) tool.headline = tool.headline->Substitute(sizes);
  }
  return tools;
}

// A comparison at the sizes of the pipeline, as one of a model. Terms have their stages as modules.
CompareReport AtSizes(const PipelineComparison& comparison, const std::string& name,
                      const Totals& totals, const std::vector<ToolRow>& tools) {
  const Bindings sizes = comparison.ours.Sizes();
  CompareReport report;
  report.ours.model.path = name;
  report.ours.totals = totals;
  for (const Quantity& q : kQuantities) {
    report.ours.totals.*q.value = (totals.*q.value).Substitute(sizes);
  }
  const Totals& ours = report.ours.totals;
  // Multiply-accumulates of integers are no FLOPs.
  const absl::StatusOr<absl::int128> integers =
      (2 * ours.macs + ours.other_flops - ours.flops).Evaluate({});
  if (integers.value_or(0) > 0) report.ours.int_census[Kind::kMac] = 1;
  report.request = comparison.request;
  report.request.by_module = true;
  report.tools = WithSizes(tools, sizes);
  return report;
}

std::vector<CompareReport> StagesAtSizes(const PipelineComparison& comparison) {
  std::vector<CompareReport> reports;
  for (size_t i = 0; i < comparison.stages.size(); ++i) {
    const PipelineStageCost& stage = comparison.ours.stages[i];
    reports.push_back(AtSizes(comparison, stage.name, stage.totals, comparison.stages[i]));
  }
  return reports;
}

// Formulas over what has no number.
void WriteTools(const PipelineComparison& comparison, const std::vector<ToolRow>& tools,
                bool lower_bound, bool by_stage, report::JsonWriter* json) {
  CompareRequest request = comparison.request;
  request.by_module = by_stage;
  json->Key("lower_bound").Bool(lower_bound);
  json->Key("conventions").BeginArray();
  for (const ToolRow& tool : WithSizes(tools, comparison.ours.bindings)) {
    compare::WriteTool(tool, request, lower_bound, json);
  }
  json->EndArray();
}

}  // namespace

PipelineComparison MakePipelineComparison(PipelineReport ours, const CompareRequest& request,
                                          std::vector<std::vector<ToolRow>> stages) {
  PipelineComparison comparison;
  for (size_t i = 0; i < stages[0].size(); ++i) {
    comparison.tools.push_back(AllStages(ours, stages, i).Added());
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    for (ToolRow& tool : stages[i]) TakeShare(ours.stages[i].probability, &tool);
  }
  comparison.ours = std::move(ours);
  comparison.request = request;
  comparison.stages = std::move(stages);
  return comparison;
}

CompareReport AmongModels(const PipelineComparison& comparison) {
  CompareReport report =
      AtSizes(comparison, comparison.ours.file, comparison.ours.totals, comparison.tools);
  report.ours.bindings = comparison.ours.Sizes();
  return report;
}

std::string ToHtml(const PipelineComparison& comparison) {
  std::vector<std::string> texts = pipeline::StageTexts(comparison.ours);
  absl::c_move(pipeline::StageWarnings(comparison.ours), std::back_inserter(texts));
  return compare::Page(AmongModels(comparison), texts);
}

Document ToDocument(const PipelineComparison& comparison, bool waterfalls) {
  Document document;
  document.title = comparison.ours.file;
  document.Add(Document::Lines{{{"pipeline", PipelineTitle(comparison.ours)}}});
  if (waterfalls) {
    TextTable stages = compare::ModelsTable(StagesAtSizes(comparison));
    stages.columns[0].title = "stage";
    stages.notes.clear();
    document.Add(Document::Table{std::move(stages)});
  }
  compare::AddFigures(
      AtSizes(comparison, comparison.ours.file, comparison.ours.totals, comparison.tools),
      waterfalls, &document);
  document.Add(Document::List{"", pipeline::StageTexts(comparison.ours)});
  return document;
}

std::string ToCompareCsv(const PipelineComparison& comparison, bool waterfalls) {
  const CompareReport all =
      AtSizes(comparison, comparison.ours.file, comparison.ours.totals, comparison.tools);
  if (waterfalls) return ToCompareCsv(all, true);
  TextTable table;
  const auto add = [&](const std::string& stage, const std::string& path, CompareReport report) {
    report.ours.model.path = path;
    TextTable lines = compare::CsvTable(absl::MakeConstSpan(&report, 1), false);
    if (table.columns.empty()) {
      table.columns.push_back({"stage"});
      absl::c_move(lines.columns, std::back_inserter(table.columns));
    }
    for (TextTable::Row& row : lines.rows) {
      row.cells.insert(row.cells.begin(), stage);
      table.rows.push_back(std::move(row));
    }
  };
  std::vector<CompareReport> stages = StagesAtSizes(comparison);
  for (size_t i = 0; i < stages.size(); ++i) {
    const PipelineStageCost& stage = comparison.ours.stages[i];
    add(stage.name, stage.path, std::move(stages[i]));
  }
  add(kAllStages, comparison.ours.file, all);
  return DrawCsv(table);
}

std::string ToJson(const PipelineComparison& comparison) {
  const PipelineReport& ours = comparison.ours;
  report::JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.pipeline_compare/1");
  json.Key("file").String(ours.file);
  json.Key("title").String(ours.title);
  report::WriteSizes("bindings", ours.bindings, &json);
  report::WriteSizes("at", ours.at, &json);
  json.Key("expected").Bool(ours.expected);
  WriteTools(comparison, comparison.tools, ours.totals.lower_bound, /*by_stage=*/true, &json);
  json.Key("stages").BeginArray();
  for (size_t i = 0; i < comparison.stages.size(); ++i) {
    const PipelineStageCost& stage = ours.stages[i];
    json.BeginObject();
    json.Key("name").String(stage.name);
    json.Key("path").String(stage.path);
    json.Key("runs").Quantity(stage.runs.Substitute(ours.bindings));
    WriteTools(comparison, comparison.stages[i], stage.totals.lower_bound, /*by_stage=*/false,
               &json);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

}  // namespace onnxflops
