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

// A text of several lines under a label.
void AppendLabelled(absl::string_view label, absl::string_view text, int width, std::string* out) {
  constexpr int kLabelWidth = 10;
  std::vector<std::string> words = absl::StrSplit(text, ' ');
  absl::StrAppend(out, "  ", label, std::string(kLabelWidth - label.size(), ' '),
                  DrawWrapped(words, " ", width - kLabelWidth - 2, kLabelWidth + 2));
}

void AppendTensors(absl::string_view label, const std::vector<TensorInfo>& tensors, int64_t omitted,
                   int width, std::string* out) {
  for (const TensorInfo& t : tensors) {
    AppendLabelled(label, absl::StrCat(t.name, "  ", TensorText(t.type, t.shape)), width, out);
  }
  if (omitted > 0) {
    AppendLabelled(label, absl::StrCat("and ", GroupedDigits(omitted), " more"), width, out);
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
void AppendRaised(const Explanation& e, int width, std::string* out) {
  constexpr size_t kShown = 4;
  if (e.raised.empty()) return;
  std::vector<std::string> sizes;
  for (const SymbolOrigin& symbol : e.raised) {
    if (sizes.size() == kShown) break;
    sizes.push_back(absl::StrCat(symbol.name, " = ", ShowExpr(*symbol.at_most, true)));
  }
  if (e.raised.size() > kShown) sizes.push_back(absl::StrCat(e.raised.size() - kShown, " more"));
  AppendLabelled("at most", absl::StrJoin(sizes, ", "), width, out);
}

std::string StatusText(const Explanation& e) {
  if (e.node.status == Coverage::kUnknown) return absl::StrCat("unknown: ", e.reason);
  if (e.shape_work) return "free: it only makes shapes, which a runtime folds";
  if (e.node.status == Coverage::kFree && e.bodies.empty()) return "free: it does no arithmetic";
  return "";
}

// Facts that hold for every node of the operator.
void AppendRule(const Explanation& e, int width, std::string* out) {
  if (!e.formula.empty()) AppendLabelled("formula", e.formula, width, out);
  if (!e.names.empty()) AppendLabelled("names", e.names, width, out);
  for (const std::string& definition : e.where) AppendLabelled("where", definition, width, out);
  if (!e.note.empty()) AppendLabelled("note", e.note, width, out);
  for (const std::string& exception : e.exceptions) {
    AppendLabelled("except", exception, width, out);
  }
}

// "node /conv1/Conv (Conv, opset 17, rule of version 11) of resnet50.onnx".
std::string HeadText(const Explanation& e, const TableStyle& style) {
  const std::string rule = e.version > 0 ? absl::StrCat(", rule of version ", e.version) : "";
  const std::string text =
      DrawSentence("node ",
                   absl::StrCat(e.node.name, " (", OpLabel(e.node.domain, e.node.op), ", opset ",
                                e.opset, rule, ") of ", e.model),
                   style.line_width());
  return absl::StrCat(InBold(text, style), "\n");
}

// Which of several nodes it is, and its module.
void AppendPlace(const Explanation& e, int width, std::string* out) {
  if (e.nodes_of_that_name > 1) {
    const int64_t next = e.number < e.nodes_of_that_name ? e.number + 1 : 1;
    AppendLabelled("name",
                   absl::StrCat("number ", e.number, " of ", e.nodes_of_that_name,
                                " nodes of this name; NAME#", next, " explains another"),
                   width, out);
  }
  if (e.module.empty()) return;
  AppendLabelled("module", absl::StrCat(e.module, e.module_type.empty() ? "" : "  ", e.module_type),
                 width, out);
}

void AppendCost(const Explanation& e, int width, std::string* out) {
  if (const std::string status = StatusText(e); !status.empty()) {
    AppendLabelled("cost", status, width, out);
  }
  for (const Explanation::Term& term : e.terms) {
    AppendLabelled("cost",
                   absl::StrCat(term.kind, " = ", term.how, term.how.empty() ? "" : " = ",
                                Show(term.amount, /*exact=*/true)),
                   width, out);
  }
  for (const auto& [operands, macs] : e.macs_by_dtype) {
    if (e.one_type) break;
    AppendLabelled("types",
                   absl::StrCat(operands.ToString(), operands.qdq ? " (computed in float)" : ""),
                   width, out);
  }
  for (const Explanation::Body& body : e.bodies) {
    AppendLabelled("inside",
                   absl::StrCat(body.name, "  FLOPs ", Show(body.flops, true), ", MACs ",
                                Show(body.macs, true), "  (", body.how, ")"),
                   width, out);
  }
  if (e.node.multiplicity == Expr(1)) return;
  AppendLabelled("runs", absl::StrCat(Show(e.node.multiplicity, true), "; below is one run"), width,
                 out);
}

// "118.0 M"; an expression is written out.
std::string SumText(const Expr& amount, bool bytes) {
  if (amount.is_literal()) return bytes ? BytesText(amount) : ShowExpr(amount, false);
  return absl::StrCat(Show(amount, false), bytes ? " bytes" : "");
}

// The last line: the sums of one run.
std::string SumsText(const Explanation& e, const TableStyle& style) {
  if (e.node.status == Coverage::kUnknown) {
    return InBold(WithSettings("MACs unknown   FLOPs unknown ({rules FILE} can give its cost; "
                               "{template on} writes it to "
                               "fill in)\n"),
                  style);
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
  return InBold(DrawWrapped(sums, "   ", style.line_width()), style);
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
  std::string out = HeadText(e, style);
  AppendPlace(e, width, &out);
  AppendTensors("input", e.node.inputs, e.node.inputs_omitted, width, &out);
  AppendTensors("output", e.node.outputs, e.node.outputs_omitted, width, &out);
  AppendRaised(e, width, &out);
  AppendRule(e, width, &out);
  AppendCost(e, width, &out);
  return absl::StrCat(out, "\n", SumsText(e, style));
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
