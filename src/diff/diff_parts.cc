// How it works. Every figure goes through the same steps, whatever table or sentence it is for.
// Sides holds the formula of a quantity in the base and in the head, and how far each is known:
// exactly, as a lower bound, or not at all. A formula becomes a number at the sizes that the head
// lines name. The text is made last, so that ">=" and "-" stand in every output alike where a part
// is not counted. A change is exact only if both sides are.
//
// Nothing is left out silently: rows below the threshold, rows beyond the maximum and operators
// with equal figures are counted in a note below the table. Modules are counted where a reader
// would: of changed ones only the leaves, of new and gone ones only the top. Inputs and outputs
// that differ alike and are numbered one by one, as the caches of all layers, share one row.
#include "src/diff/diff_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "src/base/limits.h"
#include "src/base/setting.h"
#include "src/diff/diff_rows.h"
#include "src/pipeline/pipeline_report.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/render/numbered_name.h"
#include "src/report/memory_report.h"
#include "src/report/view.h"

namespace onnxflops::diff {
namespace {

using report::ContinuesNumbers;
using report::GroupedDigits;
using report::Known;
using report::KnownOfChange;
using report::KnownText;
using report::LabelledLine;
using report::NumberedLabel;
using report::Percent;
using report::ShowExpr;
using Column = TextTable::Column;

constexpr auto kName = Column::Narrow::kName;
constexpr auto kText = Column::Narrow::kText;
constexpr auto kSpare = Column::Narrow::kSpare;
constexpr size_t kMaxListedNodes = 40;
constexpr size_t kMaxNotCounted = 8;  // operators

std::string FigureText(const Diff& diff, const Expr& amount, const Quantity& q, bool exact) {
  const std::optional<absl::int128> value = ShownValue(diff, amount);
  return value ? report::AmountText(q, *value, exact) : "-";
}

Sides SidesOf(const Diff& diff, const ShownRow& row, const Quantity& q) {
  const bool exact = diff.modules[0].exact_backward;
  return {q, q.In(row.base, exact), row.base_lower_bound, q.In(row.head, exact),
          row.head_lower_bound};
}

// "+9.7", ">= +9.7"; "-" if the change is unknown.
std::string PercentText(const Diff& diff, const Sides& s) {
  const Known known = s.change(diff);
  const std::string text =
      ChangePercent(ShownValue(diff, s.base).value_or(0), ShownValue(diff, s.head).value_or(0));
  if (known == Known::kNothing) return "-";
  return text == "new" || text == "-" ? text : KnownText(known, text);
}

// Nodes of the model, or of the part that is compared.
int64_t NodesOf(const Diff& diff, const ModelInfo& model) {
  if (diff.part.empty()) return model.nodes;
  int64_t nodes = 0;
  for (const OpDiff& op : diff.ops) nodes += &model == &diff.base ? op.base_nodes : op.head_nodes;
  return nodes;
}

std::vector<std::string> DescribeFile(const Diff& diff, const ModelInfo& model,
                                      const Bindings& bindings) {
  std::vector<std::string> texts = {model.path};
  if (!diff.part.empty()) texts.push_back(absl::StrCat("only ", diff.part));
  for (const auto& [name, size] : bindings) texts.push_back(absl::StrCat(name, " = ", size));
  std::string facts;
  const auto opset = model.opsets.find("ai.onnx");
  if (opset != model.opsets.end()) facts = absl::StrCat("opset ", opset->second, ", ");
  texts.push_back(absl::StrCat(facts, Plural(NodesOf(diff, model), "node")));
  return texts;
}

// True for the quantities that a summary names.
bool IsMain(const Quantity& q) {
  return q.value == &Amounts::flops || q.value == &Amounts::macs || q.value == &Amounts::params;
}

bool HasEqualMainFigures(const Diff& diff, const DiffPart& part) {
  return !part.lower_bound() &&
         std::all_of(diff.quantities.begin(), diff.quantities.end(),
                     [&](const Quantity* q) { return !IsMain(*q) || part.Change(*q).is_zero(); });
}

int64_t CountOf(const Diff& diff, DiffStatus status) {
  // If a whole subtree is new or gone, only its top counts.
  return std::count_if(diff.modules.begin(), diff.modules.end(), [&](const ModuleDiff& m) {
    if (m.status != status || m.parent < 0 || m.own) return false;
    const bool is_leaf = m.end == static_cast<int32_t>(&m - diff.modules.data()) + 1;
    return status == DiffStatus::kChanged
               ? is_leaf && !HasEqualMainFigures(diff, m)
               : diff.modules[static_cast<size_t>(m.parent)].status != status;
  });
}

std::vector<std::string> CountsInWords(const Diff& diff) {
  constexpr std::pair<DiffStatus, const char*> kWords[] = {
      {DiffStatus::kChanged, "changed"},
      {DiffStatus::kNew, "new"},
      {DiffStatus::kGone, "gone"},
      {DiffStatus::kMovedHere, "moved"},
  };
  std::vector<std::string> texts;
  for (const auto& [status, word] : kWords) {
    const int64_t count = CountOf(diff, status);
    if (count == 0) continue;
    texts.push_back(texts.empty() ? absl::StrCat(Plural(count, diff.noun), " ", word)
                                  : absl::StrCat(GroupedDigits(count), " ", word));
  }
  return texts;
}

int64_t Renamed(const Diff& diff) {
  return std::count_if(diff.modules.begin(), diff.modules.end(),
                       [&](const ModuleDiff& m) { return diff.IsRenamed(m); });
}

bool HasParams(const Diff& diff) {
  const Quantity* params = nullptr;
  for (const Quantity* q : diff.quantities) {
    if (q->value == &Amounts::params) params = q;
  }
  return params != nullptr &&
         std::any_of(diff.modules.begin(), diff.modules.end(),
                     [&](const ModuleDiff& m) { return !m.Change(*params).is_zero(); });
}

const Quantity& ParamsQuantity() {
  return *std::find_if(std::begin(kQuantities), std::end(kQuantities),
                       [](const Quantity& q) { return q.value == &Amounts::params; });
}

// Changed rows of operators or nodes, the largest change first, as indices.
template <typename Row>
std::vector<size_t> ChangedRows(const Diff& diff, const DiffViewOptions& options,
                                const std::vector<Row>& rows, size_t* hidden) {
  std::vector<std::pair<absl::int128, size_t>> order;
  *hidden = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Expr change = rows[i].Change(*options.quantity);
    if (rows[i].status == DiffStatus::kSame) continue;
    if (!rows[i].lower_bound() && IsBelowThreshold(diff, options, change)) {
      ++*hidden;
    } else {
      order.emplace_back(Magnitude(diff, change), i);
    }
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<size_t> indices;
  indices.reserve(order.size());
  for (const auto& [magnitude, i] : order) indices.push_back(i);
  return indices;
}

void NoteHidden(size_t hidden, const char* noun, TextTable* table) {
  if (hidden == 0) return;
  table->notes.push_back(
      absl::StrCat(Plural(static_cast<int64_t>(hidden), noun), " below the threshold not shown"));
}

// Facts that differ alike, of names that are numbered one by one: the caches of all layers.
struct FactGroup {
  const FactDiff *first, *last;
  int64_t count = 1;

  std::string Label() const {
    if (count == 1) return first->name;
    return absl::StrCat(NumberedLabel(first->name, last->name, count), "  ", count, "x");
  }
};

std::vector<FactGroup> GroupsOf(const std::vector<FactDiff>& facts) {
  using Key = std::tuple<std::string, std::optional<std::string>, std::optional<std::string>>;
  std::vector<FactGroup> groups;
  absl::flat_hash_map<Key, size_t> known;  // the last group of names that differ in digits
  for (const FactDiff& fact : facts) {
    std::string name = fact.name;
    name.erase(std::remove_if(name.begin(), name.end(),
                              [](unsigned char c) { return absl::ascii_isdigit(c); }),
               name.end());
    const auto [at, is_new] =
        known.try_emplace(Key(std::move(name), fact.base, fact.head), groups.size());
    FactGroup* group = is_new ? nullptr : &groups[at->second];
    if (group != nullptr && ContinuesNumbers(group->first->name, group->count, fact.name)) {
      group->last = &fact;
      ++group->count;
      continue;
    }
    at->second = groups.size();
    groups.push_back({&fact, &fact});
  }
  return groups;
}

const char* TagOf(const Diff& diff, DiffStatus status) {
  if (!diff.has_base) return "";
  return status == DiffStatus::kNew ? "  [new]" : status == DiffStatus::kGone ? "  [gone]" : "";
}

}  // namespace

Known Sides::change(const Diff& diff) const {
  return KnownOfChange(base_known, head_known, ShownValue(diff, head - base));
}

Sides SidesOf(const DiffPart& part, const Quantity& q) {
  return {q, part.BaseOf(q), part.base_lower_bound, part.HeadOf(q), part.head_lower_bound};
}

Sides SidesOfPeak(const Quantity& q, const PeakDiff& peak) {
  return {q, peak.base, peak.base_lower_bound, peak.head, peak.head_lower_bound};
}

void AddFigures(const Diff& diff, const Sides& s, bool exact, std::vector<std::string>* cells) {
  if (!diff.has_base) {
    cells->push_back(KnownText(s.head_known, FigureText(diff, s.head, s.q, exact)));
    return;
  }
  cells->push_back(KnownText(s.base_known, FigureText(diff, s.base, s.q, exact)));
  cells->push_back(KnownText(s.head_known, FigureText(diff, s.head, s.q, exact)));
  cells->push_back(KnownText(s.change(diff), ChangeText(diff, s.head - s.base, s.q, exact)));
  cells->push_back(PercentText(diff, s));
}

void AddFigureColumns(const Diff& diff, const Quantity& q, TextTable* table) {
  if (!diff.has_base) {
    table->columns.push_back({std::string(q.title), true});
    return;
  }
  table->columns.push_back({absl::StrCat("base ", q.title), true});
  table->columns.push_back({"head", true});
  table->columns.push_back({"change", true});
  table->columns.push_back({"%", true});
}

std::string ChangeText(const Diff& diff, const Expr& change, const Quantity& q, bool exact) {
  const std::optional<absl::int128> value = ShownValue(diff, change);
  if (!value) return "-";
  if (*value == 0) return "0";
  return absl::StrCat(*value > 0 ? "+" : "", report::AmountText(q, *value, exact));
}

std::string ChangePercent(absl::int128 base, absl::int128 head) {
  if (base == head) return "0";
  if (base == 0) return "new";
  const bool more = head > base;
  std::string text = Percent(more ? head - base : base - head, base);
  if (text == "<0.1" || text == "-") return text;
  // Digits without commas may look like a commit's name in a comment.
  for (size_t i = text.size() - 2; i > 3; i -= 3) text.insert(i - 3, ",");
  return absl::StrCat(more ? "+" : "-", text);
}

std::string NotCountedOps(const Diff& diff, bool of_head) {
  std::vector<std::string> names;
  for (const OpDiff& op : diff.ops) {
    if (of_head ? op.head_lower_bound : op.base_lower_bound) {
      names.push_back(OpLabel(op.domain, op.op));
    }
  }
  const size_t shown = std::min(names.size(), kMaxNotCounted);
  const size_t more = names.size() - shown;
  names.resize(shown);
  return absl::StrCat(absl::StrJoin(names, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

std::vector<std::string> NotCountedTexts(const Diff& diff) {
  std::vector<std::string> texts;
  for (const bool of_head : {false, true}) {
    const ModuleDiff& model = diff.modules[0];
    if (!(of_head ? model.head_lower_bound : model.base_lower_bound)) continue;
    const std::string ops = NotCountedOps(diff, of_head);
    texts.push_back(absl::StrCat(
        of_head ? "the head" : "the base", " has parts that are not counted",
        ops.empty() ? "" : absl::StrCat(" (", ops, ")"), ": its figures are lower bounds"));
  }
  return texts;
}

std::string ChangeInWords(const Diff& diff) {
  if (!diff.has_base) return "there is no base: everything is new";
  if (diff.IsEmpty())
    return diff.lower_bound ? "nothing that is counted changed" : "nothing changed";
  std::vector<std::string> figures, equal;
  for (const Quantity* q : diff.quantities) {
    if (!IsMain(*q)) continue;
    const Sides sides = SidesOf(diff.modules[0], *q);
    const Known known = sides.change(diff);
    const absl::int128 base = ShownValue(diff, sides.base).value_or(0);
    const absl::int128 head = ShownValue(diff, sides.head).value_or(0);
    const std::string percent = ChangePercent(base, head);
    if (base == head && known == Known::kExact) {
      equal.emplace_back(q->title);
    } else if (percent == "new" && known != Known::kNothing) {
      figures.push_back(absl::StrCat(q->title, " new"));
    } else {
      const char* way = percent != "<0.1" ? "" : head > base ? " more" : " less";
      figures.push_back(
          absl::StrCat(q->title, " ", KnownText(known, absl::StrCat(percent, " %", way))));
    }
  }
  if (!equal.empty()) {
    const std::string last = equal.back();
    equal.pop_back();
    figures.push_back(
        absl::StrCat("equal ", absl::StrJoin(equal, ", "), equal.empty() ? "" : " and ", last));
  }
  std::vector<std::string> parts = {absl::StrJoin(figures, ", ")};
  for (std::string& text : ModulesInWords(diff)) parts.push_back(std::move(text));
  return absl::StrJoin(parts, "; ");
}

std::vector<std::string> ModulesInWords(const Diff& diff) {
  std::vector<std::string> parts;
  const std::vector<std::string> counts = CountsInWords(diff);
  if (!counts.empty()) parts.push_back(absl::StrJoin(counts, ", "));
  if (const int64_t renamed = Renamed(diff); renamed > 0) {
    parts.push_back(absl::StrCat(Plural(renamed, diff.noun), " renamed"));
  }
  return parts;
}

std::string WhyOtherWork(const Diff& diff) {
  if (!diff.unequal_sizes.empty()) return Describe(diff.unequal_sizes[0]);
  return diff.other_inputs.empty() ? "" : Describe(diff.other_inputs[0]);
}

std::string WhyOtherTimes(const Diff& diff) {
  return diff.other_device ? Describe(*diff.other_device) : "";
}

std::vector<std::string> ComparedTexts(const Diff& diff) {
  std::vector<std::string> texts;
  const auto add = [&](const auto& sizes, const char* begin, const char* end) {
    for (size_t i = 0; i < std::min(sizes.size(), kMaxRowTensors); ++i) {
      texts.push_back(absl::StrCat(begin, Describe(sizes[i]), end));
    }
  };
  add(diff.made_equal, "at the size that one of the models fixes: ", "");
  add(diff.unequal_sizes, "at unequal sizes: ", ": changes are of different work");
  if (const absl::Span<const OtherInput> others = diff.other_inputs; !others.empty()) {
    texts.push_back(absl::StrCat("at unequal inputs: ", Describe(others.subspan(0, kMaxRowTensors)),
                                 ": changes are of different work"));
  }
  if (diff.other_device) {
    texts.push_back(absl::StrCat("on unequal devices: ", Describe(*diff.other_device),
                                 ": changes of times are of different devices"));
  }
  for (const ModelInfo* model : {&diff.base, &diff.head}) {
    const char* side = model == &diff.base ? "base" : "head";
    for (size_t i = 0; i < std::min(model->positions.size(), kMaxRowTensors); ++i) {
      texts.push_back(
          absl::StrCat("at another size of images: in the ", side, ", ", model->positions[i]));
    }
  }
  return texts;
}

// What tells two counts of one file apart: their inputs.
std::vector<std::string> OwnInputs(const Diff& diff, bool of_head) {
  std::vector<std::string> texts;
  if (!diff.has_base || diff.base.path != diff.head.path) return texts;
  for (const FactDiff& input : diff.inputs) {
    const std::optional<std::string>& own = of_head ? input.head : input.base;
    if (own) texts.push_back(absl::StrCat(input.name, " ", *own));
    if (texts.size() == kMaxRowTensors) break;
  }
  return texts;
}

std::vector<LabelledLine> HeadLines(const Diff& diff) {
  std::vector<LabelledLine> lines;
  lines.push_back({"base", diff.has_base ? DescribeFile(diff, diff.base, diff.base_bindings)
                                         : std::vector<std::string>{"none"}});
  lines.push_back({"head", DescribeFile(diff, diff.head, diff.head_bindings)});
  for (const bool of_head : {false, true}) {
    for (std::string& text : OwnInputs(diff, of_head)) {
      lines[of_head ? 1 : 0].texts.push_back(std::move(text));
    }
  }
  if (!diff.sizes.empty()) {
    LabelledLine sizes = {"sizes", {}};
    for (const auto& [name, size] : diff.sizes) {
      sizes.texts.push_back(absl::StrCat(name, " = ", size));
      if (sizes.texts.size() == kMaxRowTensors) break;
    }
    sizes.texts.push_back(absl::StrCat("(of figures", WithSettings("; {dim} sets them"), ")"));
    lines.push_back(std::move(sizes));
  }
  for (std::string& text : ComparedTexts(diff)) lines.push_back({"compared", {std::move(text)}});
  lines.push_back({"change", {ChangeInWords(diff)}});
  const char* label = "note";
  for (std::string& text : NotCountedTexts(diff)) {
    lines.push_back({label, {std::move(text)}});
    label = "";
  }
  return lines;
}

TextTable TotalsTable(const Diff& diff, const DiffViewOptions& options) {
  TextTable table;
  table.columns = {{""}, {"base", true}, {"head", true}, {"change", true}, {"%", true}};
  if (!diff.has_base) table.columns = {{""}, {"head", true}};
  const ModuleDiff& model = diff.modules[0];
  for (const Quantity* q : diff.quantities) {
    if (((*model.base).*(q->value)).is_zero() && ((*model.head).*(q->value)).is_zero()) continue;
    const bool tells = model.base->BopsTellMore() || model.head->BopsTellMore();
    if (q->value == &Amounts::bops && !tells) continue;
    TextTable::Row row = {{std::string(q->title)}};
    AddFigures(diff, SidesOf(model, *q), options.exact, &row.cells);
    table.rows.push_back(std::move(row));
  }
  if (diff.peak) {
    TextTable::Row row = {{std::string(kPeakActivations.title)}};
    AddFigures(diff, SidesOfPeak(kPeakActivations, *diff.peak), options.exact, &row.cells);
    table.rows.push_back(std::move(row));
  }
  return table;
}

namespace {

TotalTexts TextsOfSides(const Diff& diff, const Sides& s) {
  const std::string base = KnownText(s.base_known, FigureText(diff, s.base, s.q, false));
  const std::string head = KnownText(s.head_known, FigureText(diff, s.head, s.q, false));
  if (!diff.has_base) return {head, "new"};
  if (s.change(diff) == Known::kExact && (s.head - s.base).is_zero()) return {head, ""};
  const std::string sides = base == head ? head : absl::StrCat(base, " -> ", head);
  if (s.change(diff) == Known::kNothing) return {sides, "unknown"};
  const std::string percent =
      ChangePercent(ShownValue(diff, s.base).value_or(0), ShownValue(diff, s.head).value_or(0));
  if (percent == "new" || percent == "-") return {sides, percent};
  return {sides, KnownText(s.change(diff), absl::StrCat(percent, " %"))};
}

}  // namespace

TotalTexts TextsOf(const Diff& diff, const Quantity& q) {
  if (q.key == kPeakActivations.key || q.key == kPipelineMemory.key) {
    const std::optional<PeakDiff>& peak = q.key == kPipelineMemory.key ? diff.memory : diff.peak;
    return peak ? TextsOfSides(diff, SidesOfPeak(q, *peak)) : TotalTexts();
  }
  if (!absl::c_linear_search(diff.quantities, &q)) return {};
  return TextsOfSides(diff, SidesOf(diff.modules[0], q));
}

std::vector<std::string> ChangeFormulas(const Diff& diff, const DiffViewOptions& options) {
  constexpr const char* kMeaning[] = {"",
                                      "more at all sizes",
                                      "less at all sizes",
                                      "never less, at any sizes",
                                      "never more, at any sizes",
                                      "more or less, as the sizes are"};
  std::vector<std::string> texts;
  for (const Quantity* q : diff.quantities) {
    const Expr change = diff.modules[0].Change(*q);
    if (change.is_literal() || !IsMain(*q)) continue;
    const std::string formula = change.TextBytes(kMaxShownFormula) > kMaxShownFormula
                                    ? change.Shortened(kMaxShownFormula)
                                    : ShowExpr(change, options.exact);
    const bool is_known = SidesOf(diff.modules[0], *q).change(diff) == Known::kExact;
    texts.push_back(absl::StrCat(
        q->title, ": ", formula, " (",
        is_known ? kMeaning[static_cast<size_t>(SignOf(change))] : "of what is counted", ")"));
  }
  return texts;
}

TextTable ModuleTable(const Diff& diff, const DiffViewOptions& options) {
  const ShownRows shown = DiffRows(diff, options);
  const bool params = HasParams(diff) && options.quantity->value != &Amounts::params;
  TextTable table;
  table.columns = {{"module", false, kName}};
  AddFigureColumns(diff, *options.quantity, &table);
  if (params) table.columns.push_back({"params", true, kSpare});
  for (const ShownRow& row : shown.rows) {
    TextTable::Row out;
    out.indent = row.indent;
    out.strong = row.indent == 0;
    out.faint = row.others;
    out.cells.push_back(absl::StrCat(row.label,
                                     row.repeated > 1 ? absl::StrCat("  ", row.repeated, "x") : "",
                                     row.note.empty() ? "" : absl::StrCat("  [", row.note, "]")));
    AddFigures(diff, SidesOf(diff, row, *options.quantity), options.exact, &out.cells);
    if (params) {
      const Quantity& q = ParamsQuantity();
      const Sides sides = SidesOf(diff, row, q);
      const std::string change = ChangeText(diff, sides.head - sides.base, q, options.exact);
      out.cells.push_back(change == "0" ? "" : change);
    }
    table.rows.push_back(std::move(out));
  }
  if (shown.closed > 0) {
    table.notes.push_back(
        absl::StrCat(report::ClosedText(shown.closed), WithSettings(": {depth N} opens them")));
  }
  return table;
}

TextTable OpTable(const Diff& diff, const DiffViewOptions& options) {
  TextTable table;
  table.columns = {{"operator", false, kName}, {"nodes", true, kSpare}};
  AddFigureColumns(diff, *options.quantity, &table);
  size_t hidden = 0, quiet = 0;
  for (size_t i : ChangedRows(diff, options, diff.ops, &hidden)) {
    const OpDiff& op = diff.ops[i];
    if (op.Change(*options.quantity).is_zero() && !op.lower_bound()) {
      ++quiet;
      continue;
    }
    TextTable::Row row = {{absl::StrCat(OpLabel(op.domain, op.op), TagOf(diff, op.status))}};
    row.cells.push_back(
        op.base_nodes == op.head_nodes || !diff.has_base
            ? GroupedDigits(op.head_nodes)
            : absl::StrCat(GroupedDigits(op.base_nodes), " -> ", GroupedDigits(op.head_nodes)));
    AddFigures(diff, SidesOf(op, *options.quantity), options.exact, &row.cells);
    table.rows.push_back(std::move(row));
  }
  NoteHidden(hidden, "operator", &table);
  if (quiet > 0) {
    table.notes.push_back(absl::StrCat(Plural(static_cast<int64_t>(quiet), "operator"),
                                       diff.has_base ? " changed, with equal " : " without ",
                                       options.quantity->title,
                                       WithSettings("; {format csv} lists them")));
  }
  return table;
}

TextTable NodeTable(const Diff& diff, const DiffViewOptions& options) {
  TextTable table;
  table.columns = {{"node", false, kName}, {"operator", false, kName}};
  AddFigureColumns(diff, *options.quantity, &table);
  size_t hidden = 0;
  const std::vector<size_t> changed = ChangedRows(diff, options, diff.nodes, &hidden);
  for (size_t k = 0; k < std::min(changed.size(), kMaxListedNodes); ++k) {
    const NodeDiff& node = diff.nodes[changed[k]];
    const std::string& name = node.name.empty() ? node.base_name : node.name;
    TextTable::Row row = {
        {absl::StrCat(name, TagOf(diff, node.status)), OpLabel(node.domain, node.op)}};
    AddFigures(diff, SidesOf(node, *options.quantity), options.exact, &row.cells);
    table.rows.push_back(std::move(row));
  }
  NoteHidden(hidden, "node", &table);
  if (changed.size() > kMaxListedNodes) {
    table.notes.push_back(
        absl::StrCat(Plural(static_cast<int64_t>(changed.size() - kMaxListedNodes), "node"),
                     " more changed", WithSettings("; {format csv} lists all")));
  }
  return table;
}

TextTable FileTable(const Diff& diff) {
  TextTable table;
  table.columns = {{"file", false, kName}, {"base", false, kText}, {"head", false, kText}};
  const auto add = [&](absl::string_view kind, const std::vector<FactDiff>& facts) {
    for (const FactGroup& group : GroupsOf(facts)) {
      const FactDiff& fact = *group.first;
      table.rows.push_back({{absl::StrCat(kind, group.Label()), fact.base.value_or("(none)"),
                             fact.head.value_or("(none)")}});
    }
  };
  add("", diff.facts);
  add("input ", diff.inputs);
  add("output ", diff.outputs);
  for (const auto& [from, to] : diff.renamed_symbols) table.rows.push_back({{"symbol", from, to}});
  for (const std::string& name : diff.base_symbols) {
    table.rows.push_back({{"symbol", name, "(none)"}});
  }
  for (const std::string& name : diff.head_symbols) {
    table.rows.push_back({{"symbol", "(none)", name}});
  }
  if (table.rows.size() > kMaxRowTensors) {
    const auto more = static_cast<int64_t>(table.rows.size() - kMaxRowTensors);
    table.rows.resize(kMaxRowTensors);
    table.notes.push_back(
        absl::StrCat(GroupedDigits(more), " more", WithSettings("; {format json} lists all")));
  }
  return table;
}

std::vector<Section> Sections(const Diff& diff, const DiffViewOptions& options) {
  std::vector<Section> sections;
  if (options.by == GroupBy::kModule && diff.has_base) {
    sections.push_back({"Modules", ModuleTable(diff, options)});
    if (sections[0].table.rows.size() == 1) sections.clear();
  }
  if (options.by != GroupBy::kNode) sections.push_back({"Operators", OpTable(diff, options)});
  if (options.by == GroupBy::kNode) sections.push_back({"Nodes", NodeTable(diff, options)});
  sections.push_back({"Files", FileTable(diff)});
  sections.erase(std::remove_if(sections.begin(), sections.end(),
                                [](const Section& section) { return section.table.rows.empty(); }),
                 sections.end());
  return sections;
}

}  // namespace onnxflops::diff
