// Scan: a body run once per slice of its scanned inputs.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/infer/body_facts.h"
#include "src/infer/control_flow.h"

namespace onnxflops::infer {

namespace {

// The attributes and inputs of one Scan in a common form for all its versions.
struct ScanForm {
  bool batched =
      false;      // opset 8: lengths in a first optional input, dimension 0 a batch, 1 the sequence
  int first = 0;  // the first state's input
  int states = 0;
  int scans = 0;
  Expr length = 0;  // of the scanned axis
  Expr batch = 1;
  std::vector<Fact> body_inputs;
};

void DropDim(Fact* fact, int axis) {
  if (!fact->is_tensor() || !fact->shape.ranked() || fact->shape.rank() <= axis) return;
  fact->shape.dims().erase(fact->shape.dims().begin() + axis);
}

int OutputAxis(const NodeView& view, size_t k) {
  const auto axes = view.Ints("scan_output_axes");
  if (k >= axes.size()) return 0;
  return static_cast<int>(std::clamp<int64_t>(axes[k], -kMaxRank, kMaxRank));
}

absl::Status ReadScan(const NodeView& view, const Graph& graph, ScanForm* form) {
  form->batched = view.version() == 8;
  form->first = form->batched ? 1 : 0;
  const int inputs = static_cast<int>(graph.inputs.size());
  const int64_t scans = view.Int("num_scan_inputs", -1);
  if (scans < 1 || scans > inputs || view.num_inputs() != inputs + form->first ||
      static_cast<int64_t>(graph.outputs.size()) < inputs - scans) {
    return absl::InvalidArgumentError(absl::StrCat("num_scan_inputs = ", scans, " does not fit ",
                                                   view.num_inputs(), " inputs and a body of ",
                                                   inputs));
  }
  form->scans = static_cast<int>(scans);
  form->states = inputs - form->scans;
  for (int i = 0; i < form->states; ++i) {
    Fact state = WithoutContent(view.input(form->first + i));
    if (form->batched) DropDim(&state, 0);
    form->body_inputs.push_back(std::move(state));
  }
  return absl::OkStatus();
}

// Adds the slices of the scanned inputs to the body's inputs.
absl::Status ReadSlices(const NodeView& view, ScanForm* form) {
  const auto axes = view.Ints("scan_input_axes");
  for (int i = 0; i < form->scans; ++i) {
    const int input = form->first + form->states + i;
    ASSIGN_OR_RETURN(const Shape shape, view.ShapeOfRankAtLeast(input, form->batched ? 2 : 1));
    const auto at = static_cast<size_t>(i);
    const int64_t stated = at < axes.size() ? axes[at] : (form->batched ? 1 : 0);
    ASSIGN_OR_RETURN(const int axis, view.Axis(stated, shape.rank()));
    if (i == 0) form->length = shape[axis];
    RETURN_IF_ERROR(view.RequireSame("the scanned length", form->length, shape[axis]));
    Fact slice = WithOrigin(view.Moved(input, shape), view.input(input));
    DropDim(&slice, axis);
    if (form->batched) {
      form->batch = shape[0];
      DropDim(&slice, 0);
    }
    form->body_inputs.push_back(std::move(slice));
  }
  return absl::OkStatus();
}

// Joins each state with the body's output for it. False if nothing changes.
bool TakeStates(const ControlNode& node, const FactIds& inputs, const BodyResult& run, int pass,
                ScanForm* form) {
  FactTable& facts = node.facts();
  bool changed = false;
  for (int i = 0; i < form->states; ++i) {
    Fact& state = form->body_inputs[static_cast<size_t>(i)];
    const FactId after = facts.WithoutContent(run.outputs[static_cast<size_t>(i)]);
    const Fact& joined = facts[node.Join(inputs[static_cast<size_t>(i)], after, i, "scan")];
    if (SameKnowledge(state, joined)) {
      Fact kept = WithOriginOfBoth(state, pass < kMaxBodyPasses ? joined : Fact::Unknown());
      changed = changed || kept != state;
      state = std::move(kept);
      continue;
    }
    changed = true;
    state = pass < kMaxBodyPasses ? joined : Fact::Unknown();
  }
  return changed;
}

Facts TakeOutputs(const ControlNode& node, const ScanForm& form, const BodyResult& run) {
  const auto states = static_cast<size_t>(form.states);
  Facts outputs;
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    Fact fact = WithoutContent(node.facts()[run.outputs[i]]);
    if (i >= states) fact = Stack(fact, form.length, OutputAxis(node.view(), i - states));
    outputs.push_back(form.batched ? Stack(fact, form.batch, 0) : std::move(fact));
  }
  return outputs;
}

}  // namespace

absl::StatusOr<Facts> InferScan(const ControlNode& node) {
  ASSIGN_OR_RETURN(const GraphId body, node.BodyOf("body"));
  ScanForm form;
  RETURN_IF_ERROR(ReadScan(node.view(), node.graph(body), &form));
  RETURN_IF_ERROR(ReadSlices(node.view(), &form));
  for (int pass = 0;; ++pass) {
    FactIds inputs;
    for (const Fact& input : form.body_inputs) inputs.push_back(node.facts().Intern(input));
    ASSIGN_OR_RETURN(const BodyResult run, node.Run(body, inputs));
    if (TakeStates(node, inputs, run, pass, &form)) continue;
    node.call().bodies = {{run.instance, form.length * form.batch, true, "body"}};
    return TakeOutputs(node, form, run);
  }
}

}  // namespace onnxflops::infer
