// A diff as a page, drawn by src/render/html/.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/limits.h"
#include "src/diff/diff_parts.h"
#include "src/diff/diff_writers.h"
#include "src/diff/pipeline_diff.h"
#include "src/render/format.h"
#include "src/render/html_page.h"
#include "src/render/json_writer.h"
#include "src/report/html_tree.h"
#include "src/report/json_parts.h"

namespace onnxflops {
namespace {

using report::HtmlTree;

// Without rows of modules, which the tree has, and of nodes.
Diff WithoutRows(const Diff& full) {
  Diff diff = full;
  diff.modules.resize(1);
  diff.nodes.clear();
  diff.has_nodes = false;
  return diff;
}

// The base's name of a module, relative to its parent there.
absl::string_view BaseName(const Diff& diff, const ModuleDiff& m) {
  const absl::string_view path = m.base_path;
  const std::string& around = diff.modules[static_cast<size_t>(std::max(m.parent, 0))].base_path;
  const bool inside = !around.empty() && path.size() > around.size() + 1 &&
                      absl::StartsWith(path, around) && path[around.size()] == '.';
  return inside ? path.substr(around.size() + 1) : path;
}

HtmlTree TreeOf(const Diff& diff, const Quantity& cost) {
  std::vector<const Quantity*> quantities = diff.quantities;
  report::AddCost(cost, &quantities);
  HtmlTree tree(std::move(quantities), diff.modules[0].exact_backward);
  const auto value = [&](const Expr& expr) -> absl::int128 {
    return expr.Evaluate(diff.sizes).value_or(0);
  };
  for (const ModuleDiff& m : diff.modules) {
    HtmlTree::Item item;
    item.kind = m.own ? HtmlTree::Kind::kOwn : HtmlTree::Kind::kModule;
    item.depth = m.depth;
    item.name = m.depth == 0 ? absl::string_view() : m.name();
    item.type = m.type;
    item.status = NameOf(m.status);
    if (diff.IsRenamed(m)) item.base_name = BaseName(diff, m);
    if (m.base_type != m.type) item.base_type = m.base_type;
    item.lower_bounds = {m.base_lower_bound, m.head_lower_bound};
    item.figures = {m.base.get(), m.head.get()};
    item.weight = std::max(value(m.BaseOf(cost)), value(m.HeadOf(cost)));
    tree.Add(std::move(item));
  }
  return tree;
}

// What the page of two pipelines has beside the figures.
struct StageTexts {
  std::vector<std::string> words, notes;
  std::optional<PeakDiff> memory;
};

void WriteLowerBounds(const PeakDiff& peak, report::JsonWriter* json) {
  json->Key("peak_lower_bounds").BeginArray(report::kOneLine);
  json->Bool(peak.base_lower_bound);
  json->Bool(peak.head_lower_bound);
  json->EndArray();
}

// Which sides of an operator are not fully counted: {"Add": [true, false]}. Others are left out.
void WriteOpLowerBounds(const Diff& diff, report::JsonWriter* json) {
  json->Key("op_lower_bounds").BeginObject();
  for (const OpDiff& op : diff.ops) {
    if (!op.lower_bound()) continue;
    json->Key(OpLabel(op.domain, op.op)).BeginArray(report::kOneLine);
    json->Bool(op.base_lower_bound);
    json->Bool(op.head_lower_bound);
    json->EndArray();
  }
  json->EndObject();
}

void WriteStageTexts(const StageTexts& texts, report::JsonWriter* json) {
  json->Key("noun").String("stage");
  WriteTexts("words", texts.words, json);
  WriteTexts("notes", texts.notes, json);
  if (!texts.memory) return;
  json->Key("memory");
  diff::WriteChange(diff::SidesOfPeak(kPipelineMemory, *texts.memory), /*sign=*/true, json);
  WriteLowerBounds(*texts.memory, json);
}

// `stages`: of pipelines; of models null.
std::string PageOf(const Diff& diff, const Quantity& cost, const StageTexts* stages) {
  report::JsonWriter summary, json;
  summary.CutStrings(kMaxPageText);
  diff::WriteDiff(WithoutRows(diff), &summary, report::kOneLine);
  json.CutStrings(kMaxPageText);
  json.BeginObject();
  json.Key("sizes").BeginObject(report::kOneLine);
  for (const auto& [name, size] : diff.sizes) json.Key(name).Int(size);
  json.EndObject();
  std::vector<SymbolOrigin> shown;
  absl::c_copy_if(diff.symbols, std::back_inserter(shown),
                  [&](const SymbolOrigin& symbol) { return diff.sizes.contains(symbol.name); });
  report::WriteSymbols(shown, &json);
  json.Key("caveats").BeginArray();
  for (const std::string& text : diff::ComparedTexts(diff)) json.String("compared " + text);
  for (const std::string& text : diff::NotCountedTexts(diff)) json.String(text);
  json.EndArray();
  json.Key("modules_in_words").String(absl::StrJoin(diff::ModulesInWords(diff), "; "));
  if (diff.peak) WriteLowerBounds(*diff.peak, &json);
  WriteOpLowerBounds(diff, &json);
  if (stages != nullptr) WriteStageTexts(*stages, &json);
  json.Key("base_root").String(diff.modules[0].base_type);
  json.Key("cost").String(cost.key);
  json.CutStrings(kMaxPageFormula);
  json.Key("tree").BeginObject(report::kOneLine);
  TreeOf(diff, cost).Write(&json);
  json.EndObject();
  json.EndObject();
  const std::string folded = report::FoldJson(summary.TakeText(), kMaxPageListBytes);
  return report::HtmlPage(report::FileNameOf(diff.head.path), "diff",
                          absl::StrCat("{\"diff\": ", folded, ", ", json.TakeText().substr(1)));
}

// "base: answers = 1, prompt = 512", or without the side if both are equal.
std::vector<std::string> WordsOf(const PipelineDiff& diff) {
  const auto words = [](const PipelineReport& report) {
    const std::vector<std::string> title = PipelineTitle(report);
    return absl::StrJoin(title.begin() + 1, title.end(), ", ");
  };
  const std::string base = words(diff.base), head = words(diff.head);
  if (base == head) return {head};
  return {absl::StrCat("base: ", base), absl::StrCat("head: ", head)};
}

std::vector<std::string> NotesOf(const PipelineDiff& diff) {
  std::vector<std::string> notes;
  for (size_t i = 0; i < diff.stages.size() && notes.size() < kMaxPageNotes; ++i) {
    const auto& [base, head, peak] = diff.stages[i];
    if (base == head) continue;
    notes.push_back(absl::StrCat("stage ", diff.figures.modules[i + 1].path, ": ",
                                 base.Shortened(100), " runs in the base, ", head.Shortened(100),
                                 " in the head"));
  }
  return notes;
}

}  // namespace

std::string ToHtml(const Diff& diff, const DiffViewOptions& options) {
  return PageOf(diff, *options.quantity, nullptr);
}

std::string ToHtml(const PipelineDiff& diff) {
  const StageTexts texts = {WordsOf(diff), NotesOf(diff), diff.figures.memory};
  return PageOf(diff.figures, kQuantities[0], &texts);
}

}  // namespace onnxflops
