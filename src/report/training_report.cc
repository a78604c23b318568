#include "src/report/training_report.h"

#include <utility>

#include "src/base/status_macros.h"
#include "src/report/formula_text.h"
#include "src/report/node_rows.h"
#include "src/report/report.h"
#include "src/training/backward.h"

namespace onnxflops {

absl::Status SetTraining(const ModelData& model, const Backward& backward,
                         const TrainingOptions& options, Report* report) {
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
  report->totals.backward_flops = backward.flops;
  report->totals.backward_macs = backward.macs;
  report->totals.training_flops = report->totals.flops + backward.flops;
  report->training = std::move(training);
  return absl::OkStatus();
}

}  // namespace onnxflops
