// Comparisons for people: terminals and GitHub. There are two views of the same report. The table
// has a section for each unit (MACs, FLOPs), ours first, then the tools by falling figure. A
// waterfall goes from our count over every term to the figure of one tool.
//
// All amounts are formulas. They are shown with every digit at the sizes that the head states;
// sizes inside the model, which no input has, are taken as 1, and a note says so. Two marks must
// not be mixed up: a star at the tool's name (its figure rests on a guess), and ">=" (a part of our
// count is unknown, so that no share is shown). A term may have a row for each module. Modules that
// differ in one number and have the same amount share a row ("resblocks.0-23.attn 24x").
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/compare/compare_known.h"
#include "src/compare/compare_parts.h"
#include "src/compare/compare_report.h"
#include "src/convention/conventions.h"
#include "src/module/module.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/render/text_table.h"
#include "src/report/figure_columns.h"
#include "src/report/reference_sizes.h"
#include "src/report/summary.h"

namespace onnxflops {
namespace {

using compare::KnownOfOurs;
using compare::KnownOfTool;
using convention::AllConventions;
using convention::Convention;
using report::DrawWrapped;
using report::GroupedDigits;
using report::Known;
using report::KnownText;
using report::OperationsOf;
using report::Percent;
using report::ReferenceValues;
using report::ShowExpr;
using report::SiNumber;
using report::WithoutEnd;

using Step = Document::Waterfall::Step;

constexpr size_t kMaxFormulaColumns = 160;  // columns of a formula below the figures
constexpr int kMaxReason = 100;             // columns of why a tool has no figure
constexpr size_t kMaxModuleRows = 24;       // under one term
constexpr size_t kMaxNamedNodes = 1000;

// Figures with every digit, at the sizes that the head states.
class Figures {
 public:
  Figures(const Report& ours, const std::vector<Expr>& shown)
      : values_(ours), upper_bounds_(ours.upper_bounds) {
    absl::flat_hash_set<std::string> open;
    for (const Expr& expr : absl::flat_hash_set<Expr>(shown.begin(), shown.end())) {
      for (std::string& name : expr.Symbols()) open.insert(std::move(name));
    }
    inside_ = std::count_if(ours.symbols.begin(), ours.symbols.end(), [&](const SymbolOrigin& s) {
      return s.kind != SymbolOrigin::Kind::kInput && open.contains(s.name);
    });
  }

  static bool HasFigure(const ToolRow& tool) { return tool.standing != Standing::kNotApplicable; }

  std::string Show(const Expr& expr) const {
    const auto value = values_.Of(expr);
    return value ? GroupedDigits(*value) : "?";
  }
  absl::int128 Value(const Expr& expr) const { return values_.Of(expr).value_or(0); }

  // "101.2" percent.
  std::string Share(const Expr& part, const Expr& whole) const {
    const auto p = values_.Of(part);
    const auto w = values_.Of(whole);
    return p && w ? Percent(*p, *w) : "-";
  }

  // A warning that readers of the figures need, or empty.
  std::string Note() const {
    if (inside_ == 0) return "";
    return absl::StrCat(Plural(inside_, "size"), " inside the model ", inside_ == 1 ? "is" : "are",
                        " taken as 1", WithSettings("; {dim NAME=N} sets one"),
                        upper_bounds_ ? "" : WithSettings(", {upper on} counts at upper bounds"));
  }

 private:
  const ReferenceValues values_;
  const bool upper_bounds_;
  int64_t inside_ = 0;  // sizes of no input that figures depend on
};

// Our figure that a tool's is compared with. Tools that count FLOPs include integer work.
Expr OursIn(Unit unit, const Report& ours) {
  if (unit == Unit::kActivation) return ours.totals.activation_count;
  return unit == Unit::kMac ? ours.totals.macs : OperationsOf(ours, ours.totals);
}

// "-1.788 G linear layers in Attention: no hook": the largest term.
std::string LargestTerm(const ToolRow& tool, const Figures& figures) {
  std::map<std::string, absl::int128> terms;
  for (const TermRow& term : tool.terms) {
    if (tool.convention->passes > 1 && term.name == convention::kBackwardPass) continue;
    terms[absl::StrCat(term.name, ": ", term.reason)] += figures.Value(term.amount);
  }
  const auto size = [](absl::int128 value) { return value < 0 ? -value : value; };
  const auto largest = std::max_element(
      terms.begin(), terms.end(),
      [&](const auto& a, const auto& b) { return size(a.second) < size(b.second); });
  if (largest == terms.end() || largest->second == 0) return "";
  return absl::StrCat(largest->second > 0 ? "+" : "", SiNumber(largest->second), "  ",
                      largest->first);
}

// The figure that a tool prints. Its star is at the name.
std::string FigureText(const Report& ours, const std::string& figure) {
  return ours.totals.lower_bound ? KnownText(Known::kAtLeast, figure) : figure;
}

// The tools of one unit, ours first, then by falling figure. No columns if no tool has a figure in
// this unit. Sets `note`, if empty, to a warning that readers of the figures need.
TextTable UnitTable(const CompareReport& report, Unit unit, std::string* note) {
  const Expr ours = OursIn(unit, report.ours);
  std::vector<const ToolRow*> tools;
  std::vector<Expr> shown = {ours};
  for (const ToolRow& tool : report.tools) {
    if (tool.convention->unit != unit || !Figures::HasFigure(tool)) continue;
    tools.push_back(&tool);
    shown.push_back(*tool.headline);
  }
  TextTable table;
  if (tools.empty()) return table;
  const Figures figures(report.ours, shown);
  if (note->empty()) *note = figures.Note();
  std::stable_sort(tools.begin(), tools.end(), [&](const ToolRow* a, const ToolRow* b) {
    return figures.Value(*a->headline) > figures.Value(*b->headline);
  });
  using Column = TextTable::Column;
  const bool integers = unit == Unit::kFlop && ours != report.ours.totals.flops;
  table.columns = {{absl::StrCat("tools in ", UnitName(unit)), false},
                   {std::string(UnitName(unit)), true},
                   {"% of ours", true},
                   {"largest difference", false, Column::Narrow::kText}};
  const Known known = KnownOfOurs(report.ours, ours);
  const bool at_least = report.ours.totals.lower_bound;
  table.rows.push_back({{integers ? "ours, integer work included" : "ours",
                         KnownText(known, figures.Show(ours)), at_least ? "-" : "100.0", ""},
                        0,
                        true});
  for (const ToolRow* tool : tools) {
    table.rows.push_back(
        {{KnownText(KnownOfTool(report.ours, *tool), tool->convention->name),
          FigureText(report.ours, figures.Show(*tool->headline)),
          at_least ? "-" : figures.Share(*tool->headline, ours * tool->convention->passes),
          LargestTerm(*tool, figures)}});
  }
  return table;
}

// "thop, fvcore (why); torchstat (why)": tools without a figure, by reason.
std::string WithoutFigure(const CompareReport& report) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const ToolRow& tool : report.tools) {
    if (Figures::HasFigure(tool)) continue;
    const std::string reason = tool.assumptions.empty() ? "" : tool.assumptions[0];
    const auto same = [&](const auto& group) { return group.first == reason; };
    const auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group != groups.end()) {
      group->second.emplace_back(tool.convention->name);
    } else {
      groups.push_back({reason, {tool.convention->name}});
    }
  }
  return absl::StrJoin(groups, "; ", [](std::string* out, const auto& group) {
    absl::StrAppend(out, absl::StrJoin(group.second, ", "), " (",
                    WithoutEnd(group.first, kMaxReason), ")");
  });
}

// Sentences below the tables.
std::vector<std::string> TableNotes(const CompareReport& report, const std::string& note) {
  std::vector<std::string> notes;
  const bool assumed =
      std::any_of(report.tools.begin(), report.tools.end(),
                  [](const ToolRow& tool) { return tool.standing == Standing::kAssumed; });
  if (assumed) notes.emplace_back(WithSettings("* rests on a guess, which {with NAME} prints"));
  const bool steps = std::any_of(report.tools.begin(), report.tools.end(), [](const ToolRow& tool) {
    return tool.convention->passes > 1 && Figures::HasFigure(tool);
  });
  if (steps) notes.emplace_back("figures of a training step are compared with 3 x ours");
  const std::string without = WithoutFigure(report);
  if (!without.empty()) notes.push_back(absl::StrCat("no figure: ", without));
  if (!note.empty()) notes.push_back(note);
  notes.emplace_back(
      WithSettings("every term from our count to a tool's: {with NAME}, or {with all}"));
  return notes;
}

// Paths that differ in one number, "resblocks.0.attn" and "resblocks.1.attn", and have the same
// amount.
struct ModuleGroup {
  std::string label;
  Expr amount;  // of all of them
};

// "a.12.b" -> "a.*.b" and 12, its first number; -1 without a number.
std::pair<std::string, int64_t> WithoutNumber(absl::string_view path) {
  std::vector<std::string> parts = absl::StrSplit(path, '.');
  for (std::string& part : parts) {
    if (part.empty() || part.size() > 9 ||
        !std::all_of(part.begin(), part.end(), absl::ascii_isdigit)) {
      continue;
    }
    const int64_t number = std::stoll(part);
    part = "*";
    return {absl::StrJoin(parts, "."), number};
  }
  return {std::string(path), -1};
}

std::vector<ModuleGroup> GroupModules(const std::vector<const TermRow*>& rows) {
  struct Run {
    std::string pattern;
    std::vector<int64_t> numbers;
    Expr each;
  };
  std::vector<Run> runs;
  std::map<std::pair<std::string, Expr>, size_t> known;
  for (const TermRow* row : rows) {
    const auto [pattern, number] =
        row->of_model ? std::make_pair(std::string("(the whole model)"), int64_t{-1})
                      : WithoutNumber(row->module);
    const auto [it, is_new] = known.try_emplace({pattern, row->amount}, runs.size());
    if (is_new) runs.push_back({pattern, {}, row->amount});
    runs[it->second].numbers.push_back(number);
  }
  std::vector<ModuleGroup> groups;
  for (Run& run : runs) {
    std::sort(run.numbers.begin(), run.numbers.end());
    const int64_t first = run.numbers.front(), last = run.numbers.back();
    const int64_t count = static_cast<int64_t>(run.numbers.size());
    std::string number = absl::StrCat(first);
    if (count > 1) absl::StrAppend(&number, last - first == count - 1 ? "-" : "..", last);
    const size_t star = run.pattern.find('*');
    std::string label = run.pattern;
    if (first >= 0 && star != std::string::npos) label.replace(star, 1, number);
    if (label.empty()) label = std::string(kOutsideModules);
    if (count > 1) absl::StrAppend(&label, "  ", count, "x");
    groups.push_back({std::move(label), run.each * count});
  }
  return groups;
}

// A row of the report, or, by module, the rows of one term.
std::vector<std::vector<const TermRow*>> GroupTerms(const ToolRow& tool) {
  std::vector<std::vector<const TermRow*>> groups;
  std::map<absl::string_view, size_t> known;
  for (const TermRow& term : tool.terms) {
    const auto [it, is_new] = known.try_emplace(term.name, groups.size());
    if (is_new) groups.emplace_back();
    groups[it->second].push_back(&term);
  }
  return groups;
}

void AddTerm(const std::vector<const TermRow*>& rows, const CompareRequest& request,
             const Figures& figures, std::vector<Step>* steps) {
  std::vector<Expr> amounts;
  amounts.reserve(rows.size());
  for (const TermRow* row : rows) amounts.push_back(row->amount);
  const TermRow& first = *rows[0];
  steps->push_back(
      {absl::StrCat(first.name, ": ", first.reason), figures.Show(Sum(amounts)), 1, false});
  if (request.by_module) {
    const std::vector<ModuleGroup> groups = GroupModules(rows);
    for (size_t i = 0; i < groups.size() && i < kMaxModuleRows; ++i) {
      steps->push_back({groups[i].label, figures.Show(groups[i].amount), 2, false});
    }
    if (groups.size() > kMaxModuleRows) {
      steps->push_back(
          {absl::StrCat("[", groups.size() - kMaxModuleRows, " others]"), "", 2, false});
    }
  }
  size_t shown = 0;
  for (const TermRow* row : rows) {
    for (const std::string& name : row->node_names) {
      if (++shown <= kMaxNamedNodes) steps->push_back({absl::StrCat("node ", name), "", 3, false});
    }
  }
  if (shown > kMaxNamedNodes) {
    steps->push_back(
        {absl::StrCat("[", shown - kMaxNamedNodes, " others", WithSettings(": {format json}"), "]"),
         "", 3, false});
  }
}

// The figures of one tool.
Figures FiguresOf(const ToolRow& tool, const CompareReport& report) {
  std::vector<Expr> shown;
  if (Figures::HasFigure(tool)) {
    shown = {tool.start, *tool.headline};
    for (const TermRow& term : tool.terms) shown.push_back(term.amount);
  }
  return Figures(report.ours, shown);
}

// A line at an end. The star is put at the name, so that digits stay aligned.
Step EndStep(absl::string_view name, absl::string_view what, Known known, std::string figure) {
  const bool assumed = known == Known::kAssumed;
  return {absl::StrCat(assumed ? KnownText(known, name) : name, what.empty() ? "" : ": ", what),
          assumed ? std::move(figure) : KnownText(known, figure), 0, true};
}

std::vector<Step> Steps(const ToolRow& tool, const CompareReport& report, const Figures& figures) {
  std::vector<Step> steps;
  steps.push_back(
      tool.from == nullptr
          ? EndStep("ours", "", KnownOfOurs(report.ours, tool.start), figures.Show(tool.start))
          : EndStep(tool.from->name, tool.from->headline, Known::kExact, figures.Show(tool.start)));
  if (tool.standing == Standing::kNotApplicable) return steps;
  for (const auto& rows : GroupTerms(tool)) AddTerm(rows, report.request, figures, &steps);
  steps.push_back(EndStep(tool.convention->name, tool.convention->headline,
                          KnownOfTool(report.ours, tool),
                          FigureText(report.ours, figures.Show(*tool.headline))));
  return steps;
}

// Why a tool has no figure. The reason may name the tool itself.
std::string NoFigure(const ToolRow& tool) {
  const absl::string_view name = tool.convention->name;
  const std::string why = absl::StrJoin(tool.assumptions, "; ");
  return absl::StrCat(absl::StartsWith(why, name) ? "" : absl::StrCat(name, " gives "),
                      "no figure: ", why);
}

// "ours = 3,590*batch": the figures at both ends of a waterfall, where sizes are open.
std::vector<std::string> FormulaTexts(const ToolRow& tool, const Report& ours) {
  std::vector<std::string> texts;
  const auto add = [&](absl::string_view name, const Expr& e, bool at_least) {
    if (e.is_literal()) return;
    const bool fits = e.TextBytes(kMaxFormulaColumns) <= kMaxFormulaColumns;
    const std::string text =
        fits ? ShowExpr(e, true)
             : absl::StrCat("(long", WithSettings(": {format json} has it"), ")");
    texts.push_back(absl::StrCat(name, at_least ? " " : " = ",
                                 KnownText(at_least ? Known::kAtLeast : Known::kExact, text)));
  };
  add(tool.from == nullptr ? "ours" : tool.from->name, tool.start,
      tool.from == nullptr && ours.totals.lower_bound);
  if (tool.headline) add(tool.convention->name, *tool.headline, ours.totals.lower_bound);
  return texts;
}

std::vector<std::string> Remarks(const ToolRow& tool, const Report& ours, const Figures& figures) {
  const bool none = tool.standing == Standing::kNotApplicable;
  std::vector<std::string> remarks;
  if (none) {
    remarks.push_back(NoFigure(tool));
  } else {
    for (const std::string& text : tool.assumptions) {
      remarks.push_back(absl::StrCat("assumed: ", text));
    }
  }
  if (!none && tool.from == nullptr && tool.convention->passes > 1 && !ours.totals.lower_bound) {
    const Expr step = tool.start * tool.convention->passes;
    remarks.push_back(absl::StrCat("its share: ", figures.Share(*tool.headline, step), " % of ",
                                   tool.convention->passes, " x ours"));
  }
  if (tool.params) remarks.push_back(absl::StrCat("its parameters: ", GroupedDigits(*tool.params)));
  for (std::string& text : FormulaTexts(tool, ours)) remarks.push_back(std::move(text));
  if (std::string note = figures.Note(); !note.empty()) remarks.push_back(std::move(note));
  return remarks;
}

Document::Waterfall WaterfallOf(const ToolRow& tool, const CompareReport& report) {
  const Figures figures = FiguresOf(tool, report);
  return {std::string(UnitName(tool.convention->unit)), Steps(tool, report, figures),
          Remarks(tool, report.ours, figures)};
}

// "deepspeed@0.19.7, the default, since 2026-09: ...", word by word.
std::vector<std::string> VersionWords(const Convention& tool, const Convention& version) {
  std::string text = absl::StrCat(tool.name, "@", version.version);
  if (&version == tool.versions.front()) absl::StrAppend(&text, ", the default");
  if (*version.since != '\0') absl::StrAppend(&text, ", since ", version.since);
  absl::StrAppend(&text, ": ", version.changed);
  return absl::StrSplit(text, ' ');
}

}  // namespace

void compare::AddFigures(const CompareReport& report, bool waterfalls, Document* document) {
  if (waterfalls) {
    for (const ToolRow& tool : report.tools) document->Add(WaterfallOf(tool, report));
    return;
  }
  std::string about_figures;
  for (const Unit unit : {Unit::kMac, Unit::kFlop, Unit::kActivation}) {
    TextTable table = UnitTable(report, unit, &about_figures);
    if (!table.columns.empty()) document->Add(Document::Table{std::move(table)});
  }
  document->Add(Document::List{"", TableNotes(report, about_figures)});
}

Document ToDocument(const CompareReport& report, bool waterfalls) {
  Document document;
  document.title = report.ours.model.path;
  document.Add(Document::Lines{report::HeadOf(report.ours)});
  compare::AddFigures(report, waterfalls, &document);
  return document;
}

std::string ToTable(const CompareReport& report, bool waterfalls, const TableStyle& style) {
  return DrawText(ToDocument(report, waterfalls), style);
}

std::string ToMarkdown(const CompareReport& report, bool waterfalls) {
  return DrawMarkdown(ToDocument(report, waterfalls));
}

std::string ListConventions(const TableStyle& style) {
  const int width = style.line_width();
  std::string out;
  for (const Convention* c : AllConventions()) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", c->name, "\n");
    const std::pair<const char*, std::string> fields[] = {
        {"  prints    ", absl::StrCat(c->headline, " (in ", UnitName(c->unit), ")")},
        {"  includes  ", c->includes},
        {"  misses    ", c->misses},
        {"  source    ", c->source},
    };
    for (const auto& [label, text] : fields) {
      const std::vector<std::string> words = absl::StrSplit(text, ' ');
      absl::StrAppend(&out, label, DrawWrapped(words, " ", width - 12, 12));
    }
    const char* label = "  versions  ";
    for (const Convention* version : c->versions) {
      absl::StrAppend(&out, label, DrawWrapped(VersionWords(*c, *version), " ", width - 12, 12));
      label = "            ";
    }
  }
  return out;
}

}  // namespace onnxflops
