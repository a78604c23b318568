#include "src/report/training_report.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/base/status_macros.h"
#include "src/cost/amounts.h"
#include "src/module/module_tree.h"
#include "src/report/formula_text.h"
#include "src/report/make_report.h"
#include "src/report/node_rows.h"
#include "src/report/report.h"
#include "src/symbolic/expr_sum.h"
#include "src/training/backward.h"

namespace onnxflops {

namespace {

void SetOperators(const Backward& backward, Report* report) {
  absl::flat_hash_map<std::pair<std::string, std::string>, size_t> places;
  for (size_t i = 0; i < report->by_op.size(); ++i) {
    places[{report->by_op[i].domain, report->by_op[i].op}] = i;
  }
  for (const BackwardOp& op : backward.by_giver) {
    if (op.flops == Expr(0)) continue;
    const auto [place, is_new] = places.try_emplace({op.domain, op.op}, report->by_op.size());
    if (is_new) report->by_op.push_back({{}, op.op, op.domain, 0, 0, false});
    report->by_op[place->second].gradient_flops = op.flops;
    report->by_op[place->second].gradient_macs = op.macs;
  }
}

// A node with several rows has its backward pass in the first.
void SetNodes(const Backward& backward, Report* report) {
  absl::flat_hash_map<NodeId, const BackwardNode*> nodes;
  for (const BackwardNode& node : backward.by_node) nodes[node.node] = &node;
  for (NodeRow& row : report->nodes) {
    const auto found = nodes.find(row.node);
    if (found == nodes.end()) continue;
    row.gradient_flops = found->second->flops;
    row.gradient_macs = found->second->macs;
    nodes.erase(found);
  }
}

// By module: the child that holds its own work, or itself.
std::vector<int32_t> OwnWork(const std::vector<Module>& modules) {
  std::vector<int32_t> own(modules.size());
  for (size_t i = 0; i < modules.size(); ++i) {
    const Module& m = modules[i];
    own[i] = static_cast<int32_t>(i);
    const bool is_work = m.own && m.amounts->flops + m.amounts->int_ops != Expr(0);
    if (is_work && m.parent >= 0) own[static_cast<size_t>(m.parent)] = own[i];
  }
  return own;
}

// Modules of one kind still share their amounts if their backward passes are also equal.
void SetModules(const Backward& backward, const ModuleTree& tree, Report* report) {
  std::vector<ExprSum> flops(report->modules.size()), macs(report->modules.size());
  const std::vector<int32_t> own = OwnWork(report->modules);
  for (const BackwardNode& node : backward.by_node) {
    const int32_t of_node = tree.node_module[static_cast<size_t>(node.node)];
    int32_t module = own[static_cast<size_t>(of_node)];
    for (; module >= 0; module = report->modules[static_cast<size_t>(module)].parent) {
      flops[static_cast<size_t>(module)].Add(node.flops);
      macs[static_cast<size_t>(module)].Add(node.macs);
    }
  }
  absl::flat_hash_map<Amounts, std::shared_ptr<const Amounts>> shared;
  for (size_t i = 0; i < report->modules.size(); ++i) {
    Amounts amounts = *report->modules[i].amounts;
    amounts.gradient_flops = flops[i].Total();
    amounts.gradient_macs = macs[i].Total();
    std::shared_ptr<const Amounts>& same = shared[amounts];
    if (same == nullptr) same = std::make_shared<const Amounts>(std::move(amounts));
    report->modules[i].amounts = same;
  }
}

}  // namespace

absl::Status SetTraining(const Inference& inference, const Counts& counts, const Backward& backward,
                         const TrainingOptions& options, Report* report) {
  const ModelData& model = *inference.model;
  report::FormulaText formulas(model);
  formulas.Add(backward.flops);
  formulas.Add(backward.macs);
  formulas.Add(backward.recomputed_flops);
  formulas.Add(backward.recomputed_macs);
  for (const BackwardOp& op : backward.by_op) {
    formulas.Add(op.nodes);
    formulas.Add(op.flops);
    formulas.Add(op.macs);
  }
  RETURN_IF_ERROR(formulas.Check());
  TrainingReport training;
  training.options = options;
  training.trained_params = backward.trained_params;
  training.params = backward.params;
  training.recompute_flops = backward.recomputed_flops;
  training.recompute_macs = backward.recomputed_macs;
  training.optimizer_flops = backward.optimizer_flops;
  training.attentions = backward.attentions;
  training.flash_attentions = backward.flash;
  for (const BackwardOp& op : backward.by_op) {
    training.by_op.push_back({op.op, op.domain, op.nodes, op.flops, op.macs});
  }
  int64_t text_left = report::MaxRowText(model);
  for (const UnknownItem& item : backward.unknown) {
    if (text_left <= 0) {
      ++training.unknown_omitted;
      continue;
    }
    UnknownGradient row{report::NodeLabel(model, model.node(item.node)), std::string(item.op),
                        std::string(item.domain), item.reason};
    text_left -= static_cast<int64_t>(row.node.size() + row.op.size() + row.reason.size());
    training.unknown.push_back(std::move(row));
  }
  report->training = std::move(training);
  for (size_t i = 0; i < kNumQuantities; ++i) {
    if (kQuantities[i].needs == Quantity::Needs::kTraining) report->absent &= ~(uint32_t{1} << i);
  }
  report->totals.gradient_flops = backward.flops;
  report->totals.gradient_macs = backward.macs;
  report->totals.SetBackward(/*exact_backward=*/true);
  SetOperators(backward, report);
  SetNodes(backward, report);
  ASSIGN_OR_RETURN(const ModuleTree tree, BuildModules(inference, counts));
  SetModules(backward, tree, report);
  report::FormulaText rows(model);
  rows.Add(*report);
  return rows.Check();
}

}  // namespace onnxflops
