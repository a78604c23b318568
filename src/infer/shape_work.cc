// A node is shape arithmetic if all it computes from are shapes and constants, and what it computes
// ends in an input that decides a shape (Reshape's second, Range's limits, ...). Nodes are visited
// from the outputs to the inputs, bodies inside their node.
#include "src/infer/shape_work.h"

#include <cstdint>
#include <vector>

#include "ops/op_def.h"

namespace onnxflops::infer {

namespace {

class ShapeWorkMarker {
 public:
  explicit ShapeWorkMarker(Inference* inference)
      : inference_(*inference), model_(*inference->model), needed_(model_.values.size(), false) {
    function_outputs_.resize(inference_.instances.size());
  }

  void MarkAll() {
    // Callers come before what they call, so that a function knows which of its outputs make
    // shapes.
    for (size_t i = inference_.callees_first.size(); i-- > 0;) {
      const InstanceId id = inference_.callees_first[i];
      const Graph& graph = GraphOf(id);
      if (id != 0 && graph.parent) continue;  // a body: marked inside its node
      for (size_t k = 0; k < function_outputs_[static_cast<size_t>(id)].size(); ++k) {
        if (function_outputs_[static_cast<size_t>(id)][k]) Need(graph.outputs[k]);
      }
      Mark(id);
    }
  }

 private:
  const Graph& GraphOf(InstanceId id) const {
    const GraphId graph = inference_.instance(id).graph;
    return model_.graph(graph);
  }
  void Need(OptionalValueId v) {
    if (v) needed_[static_cast<size_t>(*v)] = true;
  }
  bool IsNeeded(OptionalValueId v) const { return v && needed_[static_cast<size_t>(*v)]; }

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
    bool needed = false;
    for (OptionalValueId v : node.outputs) needed = needed || IsNeeded(v);
    if (!call.bodies.empty()) MarkBodies(node, call);
    const uint32_t shape_inputs = call.def == nullptr ? 0 : call.def->shape_inputs;
    if (shape_inputs != 0) {
      for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
        if ((shape_inputs >> i & 1) != 0) Need(node.inputs[i]);
      }
    }
    if (!needed || call.def == nullptr) return false;
    // Reading a shape does not need what the tensor holds.
    if (Has(call.def->traits, Traits::kShapeOnly)) return true;
    // What is needed of a value that holds data as well (Gather of a Shape) is what came from
    // shapes.
    for (size_t i = 0; i < node.inputs.size() && i < call.inputs.size(); ++i) {
      if (inference_.fact(call.inputs[i]).from_shapes) Need(node.inputs[i]);
    }
    return call.from_shapes && call.bodies.empty();
  }

  // Outputs of a node with bodies are, in order, the last outputs of each body; a body's own needs
  // reach outer values by themselves.
  void MarkBodies(const Node& node, const Call& call) {
    for (const BodyRun& run : call.bodies) {
      const Graph& body = GraphOf(run.instance);
      if (!body.parent) {
        auto& outputs = function_outputs_[static_cast<size_t>(run.instance)];
        outputs.resize(body.outputs.size(), false);
        for (size_t i = 0; i < node.outputs.size() && i < outputs.size(); ++i) {
          outputs[i] = outputs[i] || IsNeeded(node.outputs[i]);
        }
        continue;
      }
      const size_t extra =
          body.outputs.size() > node.outputs.size() ? body.outputs.size() - node.outputs.size() : 0;
      for (size_t i = 0; i + extra < body.outputs.size(); ++i) {
        if (IsNeeded(node.outputs[i])) Need(body.outputs[i + extra]);
      }
      Mark(run.instance);
    }
  }

  Inference& inference_;
  const ModelData& model_;
  std::vector<char> needed_;                         // by ValueId; not of bits, which take longer
  std::vector<std::vector<bool>> function_outputs_;  // by instance: outputs that a caller needs
};

}  // namespace

void MarkShapeWork(Inference* inference) { ShapeWorkMarker(inference).MarkAll(); }

}  // namespace onnxflops::infer
