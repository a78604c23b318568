// How it works. SelectModules makes a new tree of the matching modules, and CountPart counts the
// executions inside it. Totals, operators, coverage and node rows of the report are replaced by
// those of the part; symbols, warnings and outputs stay as they are.
//
// Inputs that nodes of the part read are marked. A part in the middle of a model reads none: then
// NeedFinder goes back from its nodes through producers, enclosing nodes and bodies, and marks the
// inputs on which the part depends.
#include "src/report/part.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/module/module_part.h"
#include "src/render/format.h"
#include "src/report/node_rows.h"

namespace onnxflops::report {
namespace {

CoverageInfo CoverageOf(const ModelData& model, const PartCounts& part, CoverageInfo whole) {
  absl::flat_hash_set<std::string> names;
  for (size_t i = 0; i < part.in_part.size(); ++i) {
    if (part.in_part[i]) names.insert(NodeLabel(model, model.node(static_cast<NodeId>(i))));
  }
  whole.items.erase(
      std::remove_if(whole.items.begin(), whole.items.end(),
                     [&](const CoverageItem& item) { return !names.contains(item.node); }),
      whole.items.end());
  whole.nodes = part.nodes;
  whole.counted = part.counted;
  whole.free = part.free;
  whole.unknown = part.unknown;
  return whole;
}

// Rows of the nodes in the part, each in its module there.
void KeepNodes(const ModulePart& part, Report* report) {
  std::vector<NodeRow> kept;
  for (NodeRow& row : report->nodes) {
    const int32_t place = part.place[static_cast<size_t>(row.module)];
    if (place < 0) continue;
    row.module = place;
    kept.push_back(std::move(row));
  }
  report->nodes = std::move(kept);
}

// Finds values that nodes need, directly or through other nodes.
class NeedFinder {
 public:
  NeedFinder(const ModelData& model, const std::vector<bool>& nodes)
      : model_(model), needed_(nodes), values_(model.values.size()), bodies_(model.nodes.size()) {
    needed_.resize(model.nodes.size());
    for (size_t g = 0; g < model.graphs.size(); ++g) {
      if (const OptionalNodeId node = model.graphs[g].parent_node) {
        bodies_[static_cast<size_t>(*node)].push_back(static_cast<GraphId>(g));
      }
    }
    for (size_t i = 0; i < needed_.size(); ++i) {
      if (needed_[i]) open_.push_back(static_cast<NodeId>(i));
    }
    while (!open_.empty()) Follow();
  }

  bool Needs(ValueId value) const { return values_[static_cast<size_t>(value)]; }

 private:
  void Follow() {
    const NodeId id = open_.back();
    open_.pop_back();
    const Node& node = model_.node(id);
    for (const OptionalValueId input : node.inputs) {
      if (!input) continue;
      values_[static_cast<size_t>(*input)] = true;
      if (const OptionalNodeId producer = model_.value(*input).producer) Add(*producer);
    }
    if (const OptionalNodeId around = model_.graph(node.graph).parent_node) Add(*around);
    for (const GraphId body : bodies_[static_cast<size_t>(id)]) {
      for (const NodeId inside : model_.graph(body).nodes) Add(inside);
    }
  }
  void Add(NodeId id) {
    if (needed_[static_cast<size_t>(id)]) return;
    needed_[static_cast<size_t>(id)] = true;
    open_.push_back(id);
  }

  const ModelData& model_;
  std::vector<bool> needed_, values_;
  std::vector<std::vector<GraphId>> bodies_;  // by NodeId
  std::vector<NodeId> open_;
};

// The shape of an input is known without its elements.
bool ReadsShapeOnly(const Node& node) {
  return node.domain.empty() && (node.op_type == "Shape" || node.op_type == "Size");
}

// Names of the model's inputs that nodes of the part read.
absl::flat_hash_set<absl::string_view> ReadInputs(const ModelData& model,
                                                  const std::vector<bool>& in_part) {
  absl::flat_hash_set<absl::string_view> names;
  for (size_t i = 0; i < in_part.size(); ++i) {
    const Node& node = model.node(static_cast<NodeId>(i));
    if (!in_part[i] || ReadsShapeOnly(node)) continue;
    for (const OptionalValueId input : node.inputs) {
      if (!input) continue;
      const Value& value = model.value(*input);
      if (value.is_graph_input && !value.initializer) names.insert(value.name);
    }
  }
  return names;
}

// The inputs that the part reads. If it reads none, those that it depends on through other nodes.
void MarkInputs(const ModelData& model, const std::vector<bool>& in_part, Report* report) {
  absl::flat_hash_set<absl::string_view> names = ReadInputs(model, in_part);
  const auto is_listed = [&](const InputInfo& input) { return names.contains(input.name); };
  if (std::none_of(report->inputs.begin(), report->inputs.end(), is_listed)) {
    const NeedFinder finder(model, in_part);
    for (const ValueId input : model.graphs[0].inputs) {
      if (finder.Needs(input)) names.insert(model.value(input).name);
    }
  }
  for (InputInfo& input : report->inputs) input.in_part = names.contains(input.name);
}

}  // namespace

absl::Status TakePart(const Inference& inference, const Counts& counts, const ModuleTree& tree,
                      const std::string& glob, Report* report) {
  const ModelData& model = *inference.model;
  absl::StatusOr<ModulePart> part = SelectModules(tree, glob);
  if (!part.ok()) {
    return absl::Status(part.status().code(),
                        absl::StrCat(Escaped(model.path), ": ", part.status().message()));
  }
  const PartCounts inside = CountPart(inference, counts, *part);
  report->part = glob;
  report->whole =
      Report::Whole{report->totals.flops, report->totals.macs, report->totals.lower_bound};
  const Module& root = part->modules[0];
  static_cast<Amounts&>(report->totals) = *root.amounts;
  report->totals.SetBackward(/*exact_backward=*/false);
  report->totals.lower_bound = root.lower_bound;
  report->census = inside.total.flops;
  report->int_census = inside.total.int_ops;
  report->macs_by_dtype = inside.total.macs_by_dtype;
  report->causal_nodes = inside.causal;
  report->coverage = CoverageOf(model, inside, std::move(report->coverage));
  report->by_op.clear();
  for (const auto& [key, op] : inside.by_op) {
    const auto nodes = inside.op_nodes.find(key);
    report->by_op.push_back({op.amounts, key.second, key.first,
                             nodes == inside.op_nodes.end() ? 0 : nodes->second, op.nodes,
                             op.lower_bound});
  }
  KeepNodes(*part, report);
  MarkInputs(model, inside.in_part, report);
  report->modules = std::move(part->modules);
  return absl::OkStatus();
}

}  // namespace onnxflops::report
