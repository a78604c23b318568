#include "src/report/explain.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/report/format.h"
#include "src/report/node_rows.h"

namespace onnxflops {
namespace {

constexpr size_t kMaxSuggestions = 5;
constexpr int kLineWidth = 100;

// Where a node runs first.
struct Place {
  const Instance* instance = nullptr;
  size_t index = 0;
};

absl::StatusOr<NodeId> FindNode(const ModelData& model, absl::string_view name) {
  std::vector<std::string> similar;
  OptionalNodeId by_output;
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    const Node& node = model.nodes[i];
    if (node.name == name && !name.empty()) return static_cast<NodeId>(i);
    for (OptionalValueId output : node.outputs) {
      if (!output || by_output) continue;
      if (model.value(*output).name == name) by_output = static_cast<NodeId>(i);
    }
    if (similar.size() < kMaxSuggestions && absl::StrContains(node.name, name)) {
      similar.push_back(Quoted(node.name));
    }
  }
  if (by_output) return *by_output;
  std::string message =
      absl::StrCat(Escaped(model.path), ": no node or tensor is named ", Quoted(name));
  if (!similar.empty()) absl::StrAppend(&message, "; similar: ", absl::StrJoin(similar, ", "));
  return absl::NotFoundError(message);
}

Place FindPlace(const Inference& inference, NodeId id) {
  const GraphId graph = inference.model->node(id).graph;
  const std::vector<NodeId>& nodes = inference.model->graph(graph).nodes;
  const auto it = std::find(nodes.begin(), nodes.end(), id);
  for (const Instance& instance : inference.instances) {
    const size_t index = static_cast<size_t>(it - nodes.begin());
    if (instance.graph == graph && index < instance.calls.size()) return {&instance, index};
  }
  return {};
}

// The row of a node in the main graph or a body; nodes of functions have none.
const NodeRow* FindRow(const std::vector<NodeRow>& rows, const std::string& label) {
  const auto it =
      std::find_if(rows.begin(), rows.end(), [&](const NodeRow& row) { return row.name == label; });
  return it == rows.end() ? nullptr : &*it;
}

std::vector<Shape> ShapesOf(const std::vector<TensorInfo>& tensors) {
  std::vector<Shape> shapes;
  shapes.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) shapes.push_back(tensor.shape);
  return shapes;
}

void AddTerms(const Census& census, const char* prefix, const char* in_formula, Explanation* e) {
  for (int i = 0; i < kNumKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    if (census[kind] == Expr(0)) continue;
    Explanation::Term term;
    term.kind = absl::StrCat(prefix, KindName(kind));
    term.amount = census[kind];
    if (e->node.multiplicity == Expr(1)) {
      term.how = FillIn(e->formula, absl::StrCat(in_formula, KindName(kind)),
                        ShapesOf(e->node.inputs), ShapesOf(e->node.outputs), term.amount);
    }
    e->terms.push_back(std::move(term));
  }
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
  e->note = call.def->note;
  for (const OpException& exception : call.def->exceptions) {
    e->exceptions.push_back(ExceptionText(exception));
  }
  for (int version : call.def->versions) {
    if (version <= call.opset) e->version = std::max(e->version, version);
  }
}

void DescribeCost(const CallCost& cost, Explanation* e) {
  const Tally& tally = e->shape_work                          ? cost.as_shape_work
                       : e->is_function || !e->bodies.empty() ? cost.tally
                                                              : cost.own;
  e->flops = tally.Flops();
  e->macs = tally.Macs();
  e->bytes_read = tally.bytes_read;
  e->bytes_written = tally.bytes_written;
  if (cost.coverage == Coverage::kUnknown) e->reason = std::string(cost.problem.message());
  AddTerms(tally.flops, "", "", e);
  AddTerms(tally.int_ops, "int_", "integer ", e);
}

std::string HowItCounts(const Call& call, const CallCost& cost, size_t body) {
  const BodyRun& run = call.bodies[body];
  if (call.choose_larger) {
    const Expr& times = cost.body_times[body];
    if (times == Expr(1)) return "counted: it costs more";
    if (times == Expr(0)) return "not counted: it costs less";
    return "counted at the sizes at which it costs more";
  }
  if (!run.counted) return "not run";
  if (absl::EndsWith(run.attribute, "_branch")) return "taken: the condition is known";
  return absl::StrCat("runs ", run.times.ToString(), " times");
}

// What stands inside an If, Loop and the like.
void DescribeBodies(const Counts& counts, const Call& call, const CallCost& cost, Explanation* e) {
  for (size_t b = 0; b < call.bodies.size(); ++b) {
    const BodyRun& run = call.bodies[b];
    if (run.attribute.empty()) continue;  // a function: its cost is the node's
    const Tally& tally = counts.instances[static_cast<size_t>(run.instance)];
    e->bodies.push_back(
        {std::string(run.attribute), HowItCounts(call, cost, b), tally.Flops(), tally.Macs()});
  }
}

// A text of several lines under a label.
void AppendLabelled(absl::string_view label, absl::string_view text, int width, std::string* out) {
  constexpr int kLabelWidth = 10;
  std::vector<std::string> words = absl::StrSplit(text, ' ');
  absl::StrAppend(out, "  ", label, std::string(kLabelWidth - label.size(), ' '),
                  DrawWrapped(words, " ", width - kLabelWidth - 2, kLabelWidth + 2));
}

std::string StatusText(const Explanation& e) {
  if (e.node.status == Coverage::kUnknown) return absl::StrCat("unknown: ", e.reason);
  if (e.shape_work) return "free: it only makes shapes, which a runtime folds";
  if (e.node.status == Coverage::kFree && e.bodies.empty()) return "free: it does no arithmetic";
  return "";
}

}  // namespace

absl::StatusOr<Explanation> Explain(const Model& model, const CountOptions& options,
                                    absl::string_view name) {
  ASSIGN_OR_RETURN(const NodeId id, FindNode(*model, name));
  const InferOptions infer = InferOptionsOf(options);
  ASSIGN_OR_RETURN(const Inference inference, Infer(model, infer));
  ASSIGN_OR_RETURN(const Counts counts, Count(inference, options.causal));
  const Place place = FindPlace(inference, id);
  const Node& node = model->node(id);
  if (place.instance == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(Escaped(model->path), ": ", DescribeNode(*model, id), " never runs"));
  }
  CountOptions with_rows = options;
  with_rows.node_rows = true;
  ASSIGN_OR_RETURN(const Report report, MakeReport(inference, counts, with_rows));
  Explanation e;
  e.model = model->path;
  e.total_flops = report.totals.flops;
  const CallId call_id = place.instance->calls[place.index];
  const Call& call = inference.call(call_id);
  const CallCost& cost = counts.calls[static_cast<size_t>(call_id)];
  const NodeRow* row = FindRow(report.nodes, NodeLabel(*model, node));
  if (row != nullptr) {
    e.node = *row;
    const Module& module = report.modules[static_cast<size_t>(row->module)];
    e.module = module.path;
    e.module_type = module.type;
  } else {
    e.node = DescribeNodeInside(inference, id, call_id);
  }
  e.shape_work =
      place.index < place.instance->shape_work.size() && place.instance->shape_work[place.index];
  e.node.status = cost.coverage;
  DescribeRule(*inference.model, node, call, &e);
  DescribeBodies(counts, call, cost, &e);
  DescribeCost(cost, &e);
  return e;
}

std::string ExceptionText(const OpException& exception) {
  return absl::StrCat(exception.when, ": ", exception.reason, " (the decomposed form costs more: ",
                      absl::StrReplaceAll(exception.kinds, {{" ", ", "}}), ")");
}

std::string ToText(const Explanation& e, const TableStyle& style) {
  const int width = style.width > 0 ? style.width : kLineWidth;
  std::string out = absl::StrCat(Printable(e.model), ": node ", Printable(e.node.name), " (",
                                 Printable(OpLabel(e.node.domain, e.node.op)), ", opset ", e.opset);
  if (e.version > 0) absl::StrAppend(&out, ", rule of version ", e.version);
  out += ")\n\n";
  if (!e.module.empty()) {
    AppendLabelled("module",
                   absl::StrCat(e.module, e.module_type.empty() ? "" : "  ", e.module_type), width,
                   &out);
  }
  for (const TensorInfo& t : e.node.inputs) {
    AppendLabelled("input", absl::StrCat(t.name, "  ", TensorText(t.type, t.shape)), width, &out);
  }
  for (const TensorInfo& t : e.node.outputs) {
    AppendLabelled("output", absl::StrCat(t.name, "  ", TensorText(t.type, t.shape)), width, &out);
  }
  if (!e.formula.empty()) AppendLabelled("formula", e.formula, width, &out);
  if (!e.note.empty()) AppendLabelled("note", e.note, width, &out);
  for (const std::string& exception : e.exceptions) {
    AppendLabelled("except", exception, width, &out);
  }
  if (const std::string status = StatusText(e); !status.empty()) {
    AppendLabelled("cost", status, width, &out);
  }
  for (const Explanation::Term& term : e.terms) {
    AppendLabelled("cost",
                   absl::StrCat(term.kind, " = ", term.how, term.how.empty() ? "" : " = ",
                                ShowExpr(term.amount, /*exact=*/true)),
                   width, &out);
  }
  for (const Explanation::Body& body : e.bodies) {
    AppendLabelled("inside",
                   absl::StrCat(body.name, "  FLOPs ", ShowExpr(body.flops, true), ", MACs ",
                                ShowExpr(body.macs, true), "  (", body.how, ")"),
                   width, &out);
  }
  if (e.node.multiplicity != Expr(1)) {
    AppendLabelled("runs", absl::StrCat(ShowExpr(e.node.multiplicity, true), "; below is one run"),
                   width, &out);
  }
  std::vector<std::string> sums = {absl::StrCat("MACs ", SiExpr(e.macs)),
                                   absl::StrCat("FLOPs ", SiExpr(e.flops))};
  if (e.flops.is_literal() && e.total_flops.is_literal()) {
    sums.back() += absl::StrCat(" (", Percent(e.flops.literal(), e.total_flops.literal()),
                                " % of the model's ", SiExpr(e.total_flops), ")");
  }
  sums.push_back(
      absl::StrCat("bytes read ", SiExpr(e.bytes_read), ", written ", SiExpr(e.bytes_written)));
  return absl::StrCat(out, "\n", DrawWrapped(sums, "   ", width));
}

}  // namespace onnxflops
