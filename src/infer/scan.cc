// Scan: a body run once per slice of its scanned inputs.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/infer/body_facts.h"
#include "src/infer/evaluator.h"

namespace onnxflops {

// What the attributes and inputs of one Scan say, put in order.
struct Evaluator::ScanForm {
  bool batched =
      false;      // opset 8: lengths in a first optional input, dimension 0 a batch, 1 the sequence
  int first = 0;  // the first state's input
  int states = 0;
  int scans = 0;
  Expr length = 0;  // of the scanned axis
  Expr batch = 1;
  std::vector<Fact> body_inputs;
};

namespace {

void DropDim(Fact* fact, int axis) {
  if (!fact->is_tensor() || !fact->shape.ranked() || fact->shape.rank() <= axis) return;
  fact->shape.dims().erase(fact->shape.dims().begin() + axis);
}

int OutputAxis(const NodeView& view, size_t k) {
  const auto axes = view.Ints("scan_output_axes");
  if (k >= axes.size()) return 0;
  return static_cast<int>(std::clamp<int64_t>(axes[k], -kMaxRank, kMaxRank));
}

}  // namespace

absl::Status Evaluator::ReadScan(const NodeView& view, const Graph& graph, ScanForm* form) const {
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
absl::Status Evaluator::ReadSlices(const NodeView& view, ScanForm* form) const {
  const auto axes = view.Ints("scan_input_axes");
  for (int i = 0; i < form->scans; ++i) {
    const int input = form->first + form->states + i;
    ASSIGN_OR_RETURN(const Shape shape, view.ShapeOfRankAtLeast(input, form->batched ? 2 : 1));
    const auto at = static_cast<size_t>(i);
    const int64_t stated = at < axes.size() ? axes[at] : (form->batched ? 1 : 0);
    ASSIGN_OR_RETURN(const int axis, view.Axis(stated, shape.rank()));
    if (i == 0) form->length = shape[axis];
    RETURN_IF_ERROR(view.RequireSame("the scanned length", form->length, shape[axis]));
    Fact slice = view.Moved(input, shape);
    DropDim(&slice, axis);
    if (form->batched) {
      form->batch = shape[0];
      DropDim(&slice, 0);
    }
    form->body_inputs.push_back(std::move(slice));
  }
  return absl::OkStatus();
}

absl::StatusOr<Facts> Evaluator::InferScan(const NodeView& view, const Frame& frame, Call* call) {
  ASSIGN_OR_RETURN(const GraphId body, BodyOf(view, "body"));
  ScanForm form;
  RETURN_IF_ERROR(ReadScan(view, data_.graph(body), &form));
  RETURN_IF_ERROR(ReadSlices(view, &form));
  constexpr int kMaxPasses = 6;  // each pass loses something of some state; then ranks are given up
  for (int pass = 0;; ++pass) {
    FactIds inputs;
    for (const Fact& input : form.body_inputs) inputs.push_back(facts_.Intern(input));
    auto run = RunBody(body, inputs, frame);
    if (!run.ok()) return run.status();
    bool stable = true;
    for (int i = 0; i < form.states; ++i) {
      Fact& state = form.body_inputs[static_cast<size_t>(i)];
      const FactId after = facts_.WithoutContent(run->second[static_cast<size_t>(i)]);
      const Fact& joined = facts_[Join(view, inputs[static_cast<size_t>(i)], after, i, "scan")];
      if (SameKnowledge(state, joined)) continue;
      stable = false;
      state = pass < kMaxPasses ? joined : Fact::Unknown();
    }
    if (!stable) continue;
    call->bodies = {{run->first, form.length * form.batch, true, "body"}};
    Facts outputs;
    for (size_t i = 0; i < run->second.size(); ++i) {
      Fact fact = WithoutContent(facts_[run->second[i]]);
      const auto states = static_cast<size_t>(form.states);
      if (i >= states) fact = Stack(fact, form.length, OutputAxis(view, i - states));
      outputs.push_back(form.batched ? Stack(fact, form.batch, 0) : std::move(fact));
    }
    return outputs;
  }
}

}  // namespace onnxflops
