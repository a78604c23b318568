// Pipelines as pages: what src/render/html/ draws.
//
// How it works. Stages are the modules of a tree, so that the picture, the table and the fields of
// sizes are those of the other pages. Figures are formulas over the parameters, and the page works
// them out at the numbers of its fields. If a stage is counted at its numbers alone, or a formula
// is too long for a page, all figures are numbers and there are no fields.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/limits.h"
#include "src/base/setting.h"
#include "src/pipeline/pipeline_parts.h"
#include "src/pipeline/pipeline_report.h"
#include "src/render/html_page.h"
#include "src/render/json_writer.h"
#include "src/report/html_tree.h"
#include "src/report/json_parts.h"

namespace onnxflops {
namespace {

using report::HtmlTree;
using report::JsonWriter;

class PipelinePage {
 public:
  explicit PipelinePage(const PipelineReport& report) : report_(report), at_(report.Sizes()) {
    for (const Quantity& q : kQuantities) {
      const bool is_time = q.value == &Amounts::time_bound && report.time.has_value();
      if (q.needs == Quantity::Needs::kNothing || is_time) quantities_.push_back(&q);
    }
    has_fields_ = absl::c_all_of(report.stages, [&](const PipelineStageCost& stage) {
      return stage.has_formula && Fits(stage.runs) && Fit(stage.totals, stage.time);
    });
    has_fields_ = has_fields_ && Fit(report.totals, report.time) &&
                  (!report.memory_bytes || Fits(*report.memory_bytes)) &&
                  absl::c_all_of(report.stages, [&](const PipelineStageCost& stage) {
                    return absl::c_all_of(stage.limits, [&](const PipelineLimit& limit) {
                      return Fits(limit.value);
                    });
                  });
  }

  std::string Write() {
    JsonWriter json;
    json.CutStrings(kMaxPageText);
    json.BeginObject();
    json.Key("report");
    pipeline::WritePipeline(report_, &json);
    WriteSizes(&json);
    WriteTexts("caveats", Caveats(), &json);
    WriteNotes(&json);
    json.Key("cost").String(kQuantities[0].key);
    json.CutStrings(kMaxPageFormula);
    WriteFormulas(&json);
    if (has_fields_) WriteLimits(&json);
    json.Key("tree").BeginObject(report::kOneLine);
    WriteTree(&json);
    json.EndObject();
    json.EndObject();
    return json.TakeText();
  }

 private:
  static bool Fits(const Expr& formula) {
    return formula.TextBytes(kMaxPageFormula) <= kMaxPageFormula;
  }
  bool Fit(const Totals& totals, const std::optional<PipelineTime>& time) const {
    const bool fit = absl::c_all_of(quantities_, [&](const Quantity* q) {
      return q->value == &Amounts::time_bound || Fits(totals.*q->value);
    });
    return fit && (!time || (Fits(time->bound) && Fits(time->arithmetic) && Fits(time->memory)));
  }

  // A number that would stay as it is where a reader changes the sizes is left out.
  bool HasMemory() const {
    return report_.memory_bytes && (report_.memory_has_formula || !has_fields_);
  }

  // What the page has for a formula.
  Expr Shown(const Expr& formula) const {
    if (has_fields_) return formula;
    const absl::StatusOr<absl::int128> value = formula.Evaluate(at_);
    return value.ok() ? Expr(*value) : formula;
  }
  std::string ShownText(const Expr& formula) const { return Shown(formula).ToString(); }

  // The parameters and sizes that some figure depends on: the fields of the page.
  std::vector<std::string> Fields() const {
    if (!has_fields_) return {};
    absl::btree_set<std::string> used;
    const auto use = [&](const Expr& formula) {
      for (std::string& name : formula.Symbols()) used.insert(std::move(name));
    };
    for (const PipelineStageCost& stage : report_.stages) {
      use(stage.runs);
      for (const Quantity* q : quantities_) use(stage.totals.*q->value);
      if (stage.time) use(stage.time->bound);
    }
    if (HasMemory()) use(*report_.memory_bytes);
    use(report_.per_count);
    std::vector<std::string> names;
    for (const PipelineParameter& parameter : report_.parameters) {
      if (used.erase(parameter.name) > 0) names.push_back(parameter.name);
    }
    names.insert(names.end(), used.begin(), used.end());
    std::erase_if(names, [&](const std::string& name) { return !at_.contains(name); });
    return names;
  }
  void WriteSizes(JsonWriter* json) const {
    json->Key("sizes").BeginObject(report::kOneLine);
    for (const std::string& name : Fields()) json->Key(name).Int(at_.at(name));
    json->EndObject();
  }

  // A reader can change a size of a field, so texts have only its name.
  std::vector<std::string> Caveats() const {
    const std::vector<std::string> fields = Fields();
    std::vector<std::string> names, texts;
    const auto assume = [&](const std::string& name) {
      const bool is_field = absl::c_linear_search(fields, name);
      names.push_back(is_field ? name : absl::StrCat(name, " = ", at_.at(name)));
    };
    for (const PipelineParameter& parameter : report_.parameters) {
      const bool is_open = !parameter.value && parameter.formula.empty();
      if (at_.contains(parameter.name) && (is_open || parameter.assumed)) assume(parameter.name);
    }
    for (const auto& [name, size] : report_.at) {
      if (!absl::c_linear_search(names, name)) assume(name);
    }
    if (!names.empty()) {
      texts.push_back(absl::StrCat(
          "assumed numbers: ", absl::StrJoin(names, ", "),
          fields.empty() ? WithSettings("; {dim} sets them") : "; the fields below set them"));
    }
    if (report_.totals.lower_bound) {
      texts.emplace_back("not all nodes are counted: figures are lower bounds");
    }
    if (report_.expected) texts.emplace_back("figures are as expected by the probabilities");
    return texts;
  }

  void WriteNotes(JsonWriter* json) const {
    PipelineReport without = report_;
    for (PipelineStageCost& stage : without.stages) {
      if (has_fields_) stage.assumed.clear();  // the fields have them
    }
    std::vector<std::string> notes = pipeline::StageTexts(without);
    absl::c_move(pipeline::WithoutEffect(report_), std::back_inserter(notes));
    absl::c_move(pipeline::StageWarnings(report_), std::back_inserter(notes));
    if (notes.size() > kMaxPageNotes) notes.resize(kMaxPageNotes);
    WriteTexts("notes", notes, json);
  }

  // Formulas of figures that are no sums over stages, and of the runs of each stage.
  void WriteFormulas(JsonWriter* json) const {
    const auto time = [&](const std::optional<PipelineTime>& of) {
      if (!of) return;
      json->Key("arithmetic").String(ShownText(of->arithmetic));
      if (of->memory_known) json->Key("memory").String(ShownText(of->memory));
    };
    json->Key("all").BeginObject(report::kOneLine);
    json->Key("per").String(ShownText(report_.per_count));
    if (HasMemory()) json->Key("memory_bytes").String(ShownText(*report_.memory_bytes));
    time(report_.time);
    json->EndObject();
    json->Key("stages").BeginArray();
    for (const PipelineStageCost& stage : report_.stages) {
      json->BeginObject(report::kOneLine);
      json->Key("runs").String(ShownText(stage.runs));
      time(stage.time);
      json->EndObject();
    }
    json->EndArray();
  }

  // What the numbers of the fields have to hold, as they do where the program counts.
  void WriteLimits(JsonWriter* json) const {
    json->Key("limits").BeginArray();
    for (size_t i = 0; i < report_.stages.size(); ++i) {
      for (const PipelineLimit& limit : report_.stages[i].limits) {
        json->BeginObject(report::kOneLine);
        json->Key("stage").Int(static_cast<int64_t>(i));
        json->Key("what").String(limit.what);
        json->Key("value").String(limit.value.ToString());
        json->Key("most").Int(limit.most);
        json->EndObject();
      }
    }
    json->EndArray();
  }

  const Amounts* ShownAmounts(const Totals& totals, const std::optional<PipelineTime>& time) {
    Amounts& amounts = amounts_.emplace_back();
    for (const Quantity* q : quantities_) {
      const bool is_time = q->value == &Amounts::time_bound;
      amounts.*q->value = Shown(is_time && time ? time->bound : totals.*q->value);
    }
    return &amounts;
  }

  void WriteTree(JsonWriter* json) {
    HtmlTree tree(quantities_);
    const auto add = [&](const std::string& name, int32_t depth, int64_t place,
                         const Totals& totals, const std::optional<PipelineTime>& time) {
      HtmlTree::Item item;
      item.depth = depth;
      item.name = name;
      item.nodes = place;  // its stage; so no two rows are equal, which would be joined
      item.lower_bounds = {totals.lower_bound};
      item.figures = {ShownAmounts(totals, time)};
      item.weight = totals.flops.Evaluate(at_).value_or(0);
      tree.Add(std::move(item));
    };
    add("", 0, 0, report_.totals, report_.time);
    int64_t place = 0;
    for (const PipelineStageCost& stage : report_.stages) {
      add(stage.name, 1, place++, stage.totals, stage.time);
    }
    tree.Write(json);
  }

  const PipelineReport& report_;
  const Bindings at_;
  std::vector<const Quantity*> quantities_;
  bool has_fields_ = false;
  std::deque<Amounts> amounts_;
};

}  // namespace

std::string ToHtml(const PipelineReport& report) {
  return report::HtmlPage(report::FileNameOf(report.file), "pipeline",
                          PipelinePage(report).Write());
}

std::string ToHtml(const PipelineSweep& sweep) {
  PipelineSweep points = sweep;
  for (PipelineSweep::Point& point : points.points) {
    PipelineReport& report = point.report;
    report.stages.clear();
    for (const Quantity& q : kQuantities) {  // formulas would repeat at each point
      report.totals.*q.value = (report.totals.*q.value).Substitute(report.bindings);
    }
  }
  return report::FoldedHtmlPage(report::FileNameOf(sweep.points[0].report.file), "pipeline",
                                ToJson(points));
}

}  // namespace onnxflops
