// How it works. A node is shape arithmetic if all its inputs come from shapes and constants, and
// its results reach an input that decides a shape (Reshape's second, Range's limits, ...). Nodes
// are visited from the outputs to the inputs, bodies inside their node. Such a path may cross a
// function call in either direction, so functions are visited twice: callees first, to learn which
// of their inputs decide shapes; then callers first, when the needs of all calls are known.
#include "src/infer/shape_work.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/numeric/bits.h"
#include "ops/op_def.h"

namespace onnxflops::infer {

namespace {

// When a value decides a shape: bit 0 always, bit j + 1 if output j of the enclosing function does.
// Outputs without their own bit share the last one.
using When = uint64_t;
constexpr When kAlways = 1;
constexpr size_t kLastBit = 63;

size_t BitOf(size_t output) { return output + 1 < kLastBit ? output + 1 : kLastBit; }

class ShapeWorkMarker {
 public:
  explicit ShapeWorkMarker(Inference* inference)
      : inference_(*inference), model_(*inference->model), needed_(model_.values.size(), 0) {
    function_outputs_.resize(inference_.instances.size());
    function_inputs_.resize(inference_.instances.size());
  }

  void MarkAll() {
    for (InstanceId id : inference_.callees_first) {
      if (IsFunction(id)) FindInputs(id);
    }
    learning_ = false;
    for (size_t i = inference_.callees_first.size(); i-- > 0;) {
      const InstanceId id = inference_.callees_first[i];
      const Graph& graph = GraphOf(id);
      if (id != 0 && graph.parent) continue;  // a body: marked inside its node
      if (id != 0) Forget(graph);
      for (size_t k = 0; k < function_outputs_[static_cast<size_t>(id)].size(); ++k) {
        if (function_outputs_[static_cast<size_t>(id)][k]) Need(graph.outputs[k], kAlways);
      }
      Mark(id);
    }
  }

 private:
  const Graph& GraphOf(InstanceId id) const {
    const GraphId graph = inference_.instance(id).graph;
    return model_.graph(graph);
  }
  bool IsFunction(InstanceId id) const { return id != 0 && !GraphOf(id).parent; }
  void Need(OptionalValueId v, When when) {
    if (v) needed_[static_cast<size_t>(*v)] |= when;
  }
  When Needed(OptionalValueId v) const { return v ? needed_[static_cast<size_t>(*v)] : 0; }

  // Clears the needs that another run of the same function left.
  void Forget(const Graph& graph) {
    std::fill(needed_.begin() + graph.first_value, needed_.begin() + graph.end_value, When{0});
  }

  void FindInputs(InstanceId id) {
    const Graph& graph = GraphOf(id);
    Forget(graph);
    for (size_t k = 0; k < graph.outputs.size(); ++k) {
      Need(graph.outputs[k], When{1} << BitOf(k));
    }
    Mark(id);
    for (ValueId input : graph.inputs) {
      function_inputs_[static_cast<size_t>(id)].push_back(Needed(input));
    }
  }

  void Mark(InstanceId id) {
    Instance& instance = inference_.instance(id);
    const Graph& graph = GraphOf(id);
    if (instance.calls.size() != graph.nodes.size()) return;
    instance.shape_work.assign(graph.nodes.size(), false);
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      const Node& node = model_.node(graph.nodes[i]);
      const Call& call = inference_.call(instance.calls[i]);
      if (MarkNode(node, call)) instance.shape_work[i] = true;
    }
  }

  bool MarkNode(const Node& node, const Call& call) {
    When needed = 0;
    for (OptionalValueId v : node.outputs) needed |= Needed(v);
    if (!call.bodies.empty()) MarkBodies(node, call);
    const uint32_t shape_inputs = call.def == nullptr ? 0 : call.def->shape_inputs;
    if (shape_inputs != 0) {
      for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
        if ((shape_inputs >> i & 1) != 0) Need(node.inputs[i], kAlways);
      }
    }
    if (needed == 0 || call.def == nullptr) return false;
    // A shape can be read without the tensor's content.
    if (Has(call.def->traits, Traits::kShapeOnly)) return true;
    // If a node mixes shapes and data (Gather of a Shape), only its inputs from shapes are needed.
    for (size_t i = 0; i < node.inputs.size() && i < call.inputs.size(); ++i) {
      if (inference_.fact(call.inputs[i]).from_shapes) Need(node.inputs[i], needed);
    }
    return call.from_shapes && call.bodies.empty();
  }

  // Outputs of a node with bodies are, in order, the last outputs of each body; a body's own needs
  // reach outer values by themselves.
  void MarkBodies(const Node& node, const Call& call) {
    for (const BodyRun& run : call.bodies) {
      const Graph& body = GraphOf(run.instance);
      if (!body.parent) {
        MarkFunction(node, run.instance);
        continue;
      }
      const size_t extra =
          body.outputs.size() > node.outputs.size() ? body.outputs.size() - node.outputs.size() : 0;
      for (size_t i = 0; i + extra < body.outputs.size(); ++i) {
        Need(body.outputs[i + extra], Needed(node.outputs[i]));
      }
      Mark(run.instance);
    }
  }

  void MarkFunction(const Node& node, InstanceId id) {
    const size_t count = std::min(node.outputs.size(), GraphOf(id).outputs.size());
    std::array<When, kLastBit + 1> when = {kAlways};  // by bit of the function's
    for (size_t i = 0; i < count; ++i) when[BitOf(i)] |= Needed(node.outputs[i]);
    const std::vector<When>& inputs = function_inputs_[static_cast<size_t>(id)];
    for (size_t i = 0; i < node.inputs.size() && i < inputs.size(); ++i) {
      for (When bits = inputs[i]; bits != 0; bits &= bits - 1) {
        Need(node.inputs[i], when[static_cast<size_t>(absl::countr_zero(bits))]);
      }
    }
    if (learning_) return;
    std::vector<bool>& outputs = function_outputs_[static_cast<size_t>(id)];
    outputs.resize(GraphOf(id).outputs.size(), false);
    for (size_t i = 0; i < count; ++i) {
      if (Needed(node.outputs[i]) != 0) outputs[i] = true;
    }
  }

  Inference& inference_;
  const ModelData& model_;
  bool learning_ = true;      // of functions, before anything is known of their calls
  std::vector<When> needed_;  // by ValueId
  std::vector<std::vector<bool>> function_outputs_;  // by instance: outputs that a caller needs
  std::vector<std::vector<When>> function_inputs_;   // by instance: when they decide a shape
};

}  // namespace

void MarkShapeWork(Inference* inference) { ShapeWorkMarker(inference).MarkAll(); }

}  // namespace onnxflops::infer
