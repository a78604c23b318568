// How it works. A name is looked up as the name of a node, then as NAME#N, then as the tensor that
// a node makes. If nothing fits, the error lists similar names. A node without a row in the report
// (such as one inside a function) is explained at the first call that runs it. The costs are those
// of the count. The rule's formula is evaluated again with the sizes of this node, and a derivation
// ("M*N*K = 1*1000*2048") is shown only if its terms add up to exactly the counted amount, so that
// a derivation is never wrong. Otherwise the whole formula of the rule is shown. The text is a list
// of labelled lines that ends with the sums of one run.
#include "src/explain/explain.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ops/formula/formula.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/explain/make_explanation.h"
#include "src/infer/call_view.h"
#include "src/module/module_tree.h"
#include "src/operators/operator_values.h"
#include "src/render/format.h"
#include "src/render/text_table.h"
#include "src/report/figure_columns.h"
#include "src/report/make_report.h"
#include "src/report/node_rows.h"
#include "src/report/view.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

using report::BytesText;
using report::DescribedNode;
using report::DescribeNode;
using report::DescribeNodeInside;
using report::DrawSentence;
using report::DrawWrapped;
using report::ExceptionText;
using report::FormulaLine;
using report::GroupedDigits;
using report::IsPlainFloat;
using report::LabelledLine;
using report::Percent;
using report::ShowExpr;
using report::TensorText;

constexpr size_t kMaxSuggestions = 5;

// Where a node inside a function is evaluated first.
struct CallSite {
  const Instance* instance = nullptr;
  size_t index = 0;
  bool IsShapeWork() const {
    return index < instance->shape_work.size() && instance->shape_work[index];
  }
};

// A node as the user named it, and the others of that name.
struct NamedNode {
  NodeId node = 0;
  int64_t number = 1;  // of the nodes of that name, in the order of the file
  int64_t nodes = 1;   // that have the name
};

// Nodes of exactly this name, in the order of the file.
std::vector<NodeId> NodesNamed(const ModelData& model, absl::string_view name) {
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < model.nodes.size() && !name.empty(); ++i) {
    if (model.nodes[i].name == name) nodes.push_back(static_cast<NodeId>(i));
  }
  return nodes;
}

// "same#2" is the second node named "same", unless a node has that very name. nullopt if no node is
// named so; NotFound if fewer are.
absl::StatusOr<std::optional<NamedNode>> FindNumbered(const ModelData& model,
                                                      absl::string_view name) {
  const size_t hash = name.rfind('#');
  int64_t number = 0;
  if (hash == absl::string_view::npos || !absl::SimpleAtoi(name.substr(hash + 1), &number)) {
    return std::nullopt;
  }
  const absl::string_view without = name.substr(0, hash);
  const std::vector<NodeId> nodes = NodesNamed(model, without);
  if (nodes.empty()) return std::nullopt;
  const auto count = static_cast<int64_t>(nodes.size());
  if (number < 1 || number > count) {
    return absl::NotFoundError(absl::StrCat(Escaped(model.path), ": ", Plural(count, "node"),
                                            count == 1 ? " is" : " are", " named ", Quoted(without),
                                            "; there is no number ", number));
  }
  return NamedNode{nodes[static_cast<size_t>(number - 1)], number, count};
}

absl::StatusOr<NamedNode> FindNode(const ModelData& model, absl::string_view name) {
  if (const std::vector<NodeId> nodes = NodesNamed(model, name); !nodes.empty()) {
    return NamedNode{nodes[0], 1, static_cast<int64_t>(nodes.size())};
  }
  ASSIGN_OR_RETURN(const std::optional<NamedNode> numbered, FindNumbered(model, name));
  if (numbered) return *numbered;
  const std::string typed = absl::AsciiStrToLower(name);
  std::vector<std::string> similar;
  OptionalNodeId by_output;
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    const Node& node = model.nodes[i];
    for (OptionalValueId output : node.outputs) {
      if (!output || by_output) continue;
      if (model.value(*output).name == name) by_output = static_cast<NodeId>(i);
    }
    if (similar.size() < kMaxSuggestions &&
        absl::StrContains(absl::AsciiStrToLower(node.name), typed)) {
      similar.push_back(Quoted(node.name));
    }
  }
  if (by_output) return NamedNode{*by_output};
  std::string message =
      absl::StrCat(Escaped(model.path), ": no node, tensor or module is named ", Quoted(name));
  if (!similar.empty()) absl::StrAppend(&message, "; similar: ", absl::StrJoin(similar, ", "));
  return absl::NotFoundError(message);
}

CallSite FindCallSite(const Inference& inference, NodeId id) {
  const GraphId graph = inference.model->node(id).graph;
  const std::vector<NodeId>& nodes = inference.model->graph(graph).nodes;
  const auto it = std::find(nodes.begin(), nodes.end(), id);
  for (const Instance& instance : inference.instances) {
    const size_t index = static_cast<size_t>(it - nodes.begin());
    if (instance.graph == graph && index < instance.calls.size()) return {&instance, index};
  }
  return {};
}

// The formulas of the call's rule, if they are data, with this node's sizes where they fit.
std::vector<FormulaTerm> DescribeFormulas(const Inference& inference, const Call& call,
                                          Explanation* e) {
  if (call.def == nullptr) return {};
  const absl::StatusOr<std::optional<Formulas>> formulas = FormulasOf(*call.def);
  if (!formulas.ok() || !formulas->has_value() || (*formulas)->costs.empty()) return {};
  if (call.def->user_rule == nullptr) {  // whose formula says it all
    e->names = SignatureText(**formulas);
    for (const NamedFormula& let : (*formulas)->lets) {
      e->where.push_back(absl::StrCat(let.key, " = ", let.text));
    }
  }
  const CallView view(inference, call);
  absl::StatusOr<FormulaResult> result = EvaluateFormulas(**formulas, view.view());
  return result.ok() ? std::move(result->terms) : std::vector<FormulaTerm>();
}

// "M*N*K = 1*1000*2048" if this equals the counted amount, or empty if it would only repeat the
// amount; nullopt if it differs, so that a derivation is never wrong.
std::optional<std::string> Derivation(const std::vector<FormulaTerm>& terms, Kind kind, bool is_int,
                                      const Expr& amount) {
  Expr sum = 0;
  std::vector<std::string> formulas, filled;
  for (const FormulaTerm& term : terms) {
    if (term.kind != kind || term.is_int != is_int || term.amount == Expr(0)) continue;
    sum += term.amount;
    formulas.push_back(term.formula);
    filled.push_back(term.filled);
  }
  if (sum != amount) return std::nullopt;
  std::string formula = absl::StrJoin(formulas, " + ");
  const std::string numbers = absl::StrJoin(filled, " + ");
  if (numbers == amount.Shortened(kMaxShownFormula)) return formula == numbers ? "" : formula;
  if (numbers.size() > kMaxShownFormula) return formula;
  return formula == numbers ? formula : absl::StrCat(formula, " = ", numbers);
}

// Returns true if the formulas explain every term.
bool AddTerms(const Census& census, bool is_int, const std::vector<FormulaTerm>& formulas,
              Explanation* e) {
  bool derived = true;
  for (int i = 0; i < kNumKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    if (census[kind] == Expr(0)) continue;
    Explanation::Term term;
    term.kind = absl::StrCat(is_int ? "int_" : "", KindName(kind));
    term.amount = census[kind];
    std::optional<std::string> how = Derivation(formulas, kind, is_int, term.amount);
    derived = derived && how.has_value();
    term.how = std::move(how).value_or("");
    e->terms.push_back(std::move(term));
  }
  return derived;
}

void DescribeRule(const ModelData& model, const Node& node, const Call& call, Explanation* e) {
  e->opset = call.opset;
  if (node.function) {
    const bool official = model.function(*node.function).official;
    e->is_function = true;
    e->formula = official ? "no rule; its official function body: what the nodes of that cost"
                          : "a local function: what the nodes of its body cost";
    return;
  }
  if (call.def == nullptr) return;
  e->formula = call.def->formula;
  e->note = report::NoteLine(*call.def);
  for (const OpException& exception : call.def->exceptions) {
    e->exceptions.push_back(ExceptionText(exception));
  }
  for (int version : call.def->versions) {
    if (version <= call.opset) e->version = std::max(e->version, version);
  }
}

void DescribeCost(const Call& call, const CallCost& cost, const std::vector<FormulaTerm>& formulas,
                  Explanation* e) {
  const Tally tally = e->shape_work                          ? cost.tally().AsShapeWork()
                      : e->is_function || !e->bodies.empty() ? cost.tally()
                                                             : cost.own();
  e->amounts = tally.amounts;
  e->macs_by_dtype = tally.macs_by_dtype;
  if (cost.coverage == Coverage::kUnknown) e->reason = std::string(cost.problem.message());
  const bool flops = AddTerms(tally.flops, /*is_int=*/false, formulas, e);
  const bool int_ops = AddTerms(tally.int_ops, /*is_int=*/true, formulas, e);
  // If the terms do not explain all costs, the whole formula is shown.
  const bool shown = flops && int_ops && cost.coverage != Coverage::kUnknown;
  if (call.def != nullptr && !e->is_function && !shown) e->formula = FormulaLine(*call.def);
}

std::string HowItCounts(const Call& call, const CallCost& cost, size_t body) {
  const BodyRun& run = call.bodies[body];
  if (call.choose_larger) {
    const Expr& times = cost.body_times[body];
    if (times == Expr(1)) return "counted: it costs more";
    if (times == Expr(0)) return "not counted: it costs less";
    return "counted at the sizes at which it costs more";
  }
  if (call.growing.has_value()) {
    return absl::StrCat("runs ", call.growing->count.Shortened(kMaxShownFormula),
                        " times, with other sizes in each; this is trip ", call.growing->symbol,
                        ", counted from 0");
  }
  if (!run.counted) return "not run";
  if (absl::EndsWith(run.attribute, "_branch")) return "taken: the condition is known";
  return absl::StrCat("runs ", run.times.Shortened(kMaxShownFormula), " times");
}

// Describes the bodies of an If, a Loop or another node with bodies.
void DescribeBodies(const Counts& counts, const Call& call, const CallCost& cost, Explanation* e) {
  for (size_t b = 0; b < call.bodies.size(); ++b) {
    const BodyRun& run = call.bodies[b];
    if (run.attribute.empty()) continue;           // a function: its cost is the node's
    if (call.growing.has_value() && b > 0) break;  // the first stands for all trips
    const Tally& tally = counts.run_of(run.instance);
    e->bodies.push_back({std::string(run.attribute), HowItCounts(call, cost, b),
                         tally.amounts.flops, tally.amounts.macs});
  }
}

// A formula that is too long for a reader is cut.
std::string Show(const Expr& expr, bool exact) {
  if (expr.TextBytes(kMaxShownFormula) > kMaxShownFormula) return expr.Shortened(kMaxShownFormula);
  return ShowExpr(expr, exact);
}

using Lines = std::vector<LabelledLine>;

// A text of several lines under a label.
std::string DrawLine(const LabelledLine& line, int width) {
  constexpr int kLabelWidth = 10;
  std::vector<std::string> words = absl::StrSplit(line.texts[0], ' ');
  return absl::StrCat("  ", line.label, std::string(kLabelWidth - line.label.size(), ' '),
                      DrawWrapped(words, " ", width - kLabelWidth - 2, kLabelWidth + 2));
}

void AddLine(absl::string_view label, std::string text, Lines* lines) {
  lines->push_back({std::string(label), {std::move(text)}});
}

void AddTensors(absl::string_view label, const std::vector<TensorInfo>& tensors, int64_t omitted,
                Lines* lines) {
  for (const TensorInfo& t : tensors) {
    AddLine(label, absl::StrCat(t.name, "  ", TensorText(t.type, t.shape)), lines);
  }
  if (omitted > 0) {
    AddLine(label, absl::StrCat("and ", GroupedDigits(omitted), " more"), lines);
  }
}

// Each line of a text by itself.
std::string InBold(absl::string_view text, const TableStyle& style) {
  if (!style.color) return std::string(text);
  std::string out;
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    absl::StrAppend(&out, report::kBold, line, report::kPlain, "\n");
  }
  return out;
}

// "batch" of "3*batch"; nullopt for a sum.
std::optional<Expr> FactorOf(const Expr& total) {
  if (total.NumTerms() > 1 || total.error() != nullptr) return std::nullopt;
  const std::string text = total.ToString();
  const absl::string_view digits =
      absl::string_view(text).substr(0, text.find_first_not_of("0123456789"));
  const absl::StatusOr<Expr> coefficient = ParseExpr(digits.empty() ? "1" : digits);
  return coefficient.ok() ? DivideExactly(total, *coefficient) : std::nullopt;
}

// Percent of the model, if both are a number, or a number times the same.
std::optional<std::string> ShareOf(const Expr& part, const Expr& whole) {
  if (part.is_literal() && whole.is_literal()) return Percent(part.literal(), whole.literal());
  const std::optional<Expr> factor = FactorOf(whole);
  if (!factor) return std::nullopt;
  const std::optional<Expr> p = DivideExactly(part, *factor), w = DivideExactly(whole, *factor);
  if (!p || !w || !p->is_literal() || !w->is_literal()) return std::nullopt;
  return Percent(p->literal(), w->literal());
}

// Sizes that are at their upper bounds.
void AddRaised(const Explanation& e, Lines* lines) {
  constexpr size_t kShown = 4;
  if (e.raised.empty()) return;
  std::vector<std::string> sizes;
  for (const SymbolOrigin& symbol : e.raised) {
    if (sizes.size() == kShown) break;
    sizes.push_back(absl::StrCat(symbol.name, " = ", ShowExpr(*symbol.at_most, true)));
  }
  if (e.raised.size() > kShown) sizes.push_back(absl::StrCat(e.raised.size() - kShown, " more"));
  AddLine("at most", absl::StrJoin(sizes, ", "), lines);
}

std::string StatusText(const Explanation& e) {
  if (e.node.status == Coverage::kUnknown) return absl::StrCat("unknown: ", e.reason);
  if (e.shape_work) return "free: it only makes shapes, which a runtime folds";
  if (e.node.status == Coverage::kFree && e.bodies.empty()) return "free: it does no arithmetic";
  return "";
}

// Facts that hold for every node of the operator.
void AddRule(const Explanation& e, Lines* lines) {
  if (!e.formula.empty()) AddLine("formula", e.formula, lines);
  if (!e.names.empty()) AddLine("names", e.names, lines);
  for (const std::string& definition : e.where) AddLine("where", definition, lines);
  if (!e.note.empty()) AddLine("note", e.note, lines);
  for (const std::string& exception : e.exceptions) {
    AddLine("except", exception, lines);
  }
}

// "/conv1/Conv (Conv, opset 17, rule of version 11) of resnet50.onnx".
std::string NodeText(const Explanation& e) {
  const std::string rule = e.version > 0 ? absl::StrCat(", rule of version ", e.version) : "";
  return absl::StrCat(e.node.name, " (", OpLabel(e.node.domain, e.node.op), ", opset ", e.opset,
                      rule, ") of ", e.model);
}

// Which of several nodes it is, and its module.
void AddPlace(const Explanation& e, Lines* lines) {
  if (e.nodes_of_that_name > 1) {
    const int64_t next = e.number < e.nodes_of_that_name ? e.number + 1 : 1;
    AddLine("name",
            absl::StrCat("number ", e.number, " of ", e.nodes_of_that_name,
                         " nodes of this name; NAME#", next, " explains another"),
            lines);
  }
  if (e.module.empty()) return;
  AddLine("module", absl::StrCat(e.module, e.module_type.empty() ? "" : "  ", e.module_type),
          lines);
}

void AddCost(const Explanation& e, Lines* lines) {
  if (const std::string status = StatusText(e); !status.empty()) {
    AddLine("cost", status, lines);
  }
  for (const Explanation::Term& term : e.terms) {
    AddLine("cost",
            absl::StrCat(term.kind, " = ", term.how, term.how.empty() ? "" : " = ",
                         Show(term.amount, /*exact=*/true)),
            lines);
  }
  for (const auto& [operands, macs] : e.macs_by_dtype) {
    if (e.one_type) break;
    AddLine("types", absl::StrCat(operands.ToString(), operands.qdq ? " (computed in float)" : ""),
            lines);
  }
  for (const Explanation::Body& body : e.bodies) {
    AddLine("inside",
            absl::StrCat(body.name, "  FLOPs ", Show(body.flops, true), ", MACs ",
                         Show(body.macs, true), "  (", body.how, ")"),
            lines);
  }
  if (e.node.multiplicity == Expr(1)) return;
  AddLine("runs", absl::StrCat(Show(e.node.multiplicity, true), "; below is one run"), lines);
}

// "118.0 M"; an expression is written out.
std::string SumText(const Expr& amount, bool bytes) {
  if (amount.is_literal()) return bytes ? BytesText(amount) : ShowExpr(amount, false);
  return absl::StrCat(Show(amount, false), bytes ? " bytes" : "");
}

// The last line: the sums of one run.
std::vector<std::string> SumsOf(const Explanation& e) {
  if (e.node.status == Coverage::kUnknown) {
    return {"MACs unknown",
            WithSettings("FLOPs unknown ({rules FILE} can give its cost; {template on} writes it "
                         "to fill in)")};
  }
  std::vector<std::string> sums = {absl::StrCat("MACs ", SumText(e.amounts.macs, false)),
                                   absl::StrCat("FLOPs ", SumText(e.amounts.flops, false))};
  const auto share = ShareOf(e.amounts.flops, e.total_flops);
  if (share) {
    sums.back() +=
        absl::StrCat(" (", *share, " % of the model's ", SumText(e.total_flops, false), ")");
  }
  if (e.amounts.int_ops != Expr(0)) {
    sums.push_back(absl::StrCat("integer operations ", SumText(e.amounts.int_ops, false)));
  }
  sums.push_back(absl::StrCat("read ", SumText(e.amounts.bytes_read, true), ", written ",
                              SumText(e.amounts.bytes_written, true)));
  return sums;
}

// All lines between the name of the node and the sums.
Lines LinesOf(const Explanation& e) {
  Lines lines;
  AddPlace(e, &lines);
  AddTensors("input", e.node.inputs, e.node.inputs_omitted, &lines);
  AddTensors("output", e.node.outputs, e.node.outputs_omitted, &lines);
  AddRaised(e, &lines);
  AddRule(e, &lines);
  AddCost(e, &lines);
  return lines;
}

}  // namespace

absl::StatusOr<Explanation> MakeExplanation(const Inference& inference, const Counts& counts,
                                            absl::string_view name) {
  const ModelData& model = *inference.model;
  ASSIGN_OR_RETURN(const NamedNode found, FindNode(model, name));
  const NodeId id = found.node;
  ASSIGN_OR_RETURN(const ModuleTree tree, BuildModules(inference, counts));
  const Node& node = model.node(id);
  std::optional<DescribedNode> described = DescribeNode(inference, counts, tree, id);
  const bool has_row = described.has_value();
  if (!has_row) {
    const CallSite place = FindCallSite(inference, id);
    if (place.instance == nullptr) {
      return absl::NotFoundError(
          absl::StrCat(Escaped(model.path), ": ", DescribeNode(model, id), " never runs"));
    }
    const CallId inside = place.instance->calls[place.index];
    described = {DescribeNodeInside(inference, id, inside), inside, place.IsShapeWork()};
  }
  Explanation e;
  e.model = model.path;
  e.total_flops = counts.total.amounts.flops;
  const MacsByDType& types = counts.total.macs_by_dtype;
  e.one_type = types.size() == 1 && IsPlainFloat(types.begin()->first);
  e.number = found.number;
  e.nodes_of_that_name = found.nodes;
  e.node = std::move(described->row);
  if (has_row) {
    const Module& module = tree.modules[static_cast<size_t>(e.node.module)];
    e.module = module.path;
    e.module_type = module.type;
  }
  const Call& call = inference.call(described->call);
  const CallCost& cost = counts.cost(described->call);
  e.shape_work = described->shape_work;
  e.node.status = cost.coverage;
  DescribeRule(*inference.model, node, call, &e);
  DescribeBodies(counts, call, cost, &e);
  DescribeCost(call, cost, DescribeFormulas(inference, call, &e), &e);
  return e;
}

std::string ToText(const Explanation& e, const TableStyle& style) {
  const int width = style.line_width();
  std::string out = InBold(DrawSentence("node ", NodeText(e), width), style);
  out += "\n";
  for (const LabelledLine& line : LinesOf(e)) out += DrawLine(line, width);
  // The advice for an unknown node stays on its line.
  const std::vector<std::string> sums = SumsOf(e);
  const std::string text = e.node.status == Coverage::kUnknown
                               ? absl::StrCat(absl::StrJoin(sums, "   "), "\n")
                               : DrawWrapped(sums, "   ", width);
  return absl::StrCat(out, "\n", InBold(text, style));
}

Document ToDocument(const Explanation& e) {
  Document::Lines lines;
  AddLine("node", NodeText(e), &lines.lines);
  for (LabelledLine& line : LinesOf(e)) lines.lines.push_back(std::move(line));
  lines.lines.push_back({"sum", SumsOf(e)});
  Document document;
  document.Add(std::move(lines));
  return document;
}

std::string ExplainModule(const Report& module, const TableStyle& style) {
  constexpr int kCostliestNodes = 5;
  ViewOptions nodes;
  nodes.by = GroupBy::kNode;
  nodes.top = kCostliestNodes;
  return absl::StrCat(ToTable(module, {}, style), "\n",
                      DrawText(report::MakeTable(module, nodes), style));
}

}  // namespace onnxflops
