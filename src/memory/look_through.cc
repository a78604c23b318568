#include "src/memory/look_through.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "ops/op_def.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/tensor_name.h"
#include "src/memory/storage.h"

namespace onnxflops::memory {
namespace {

// Keeps the original's data alive for the copy.
class Original : public ByteStorage {
 public:
  explicit Original(Model model) : model_(std::move(model)) {}

 private:
  const Model model_;
};

bool IsSame(const Fact& from, const Fact& to) {
  return from.is_tensor() && to.is_tensor() && from.dtype == to.dtype && from.shape.ranked() &&
         to.shape.ranked() && from.shape == to.shape;
}

bool HandsOn(const Inference& inference, const Counts& counts, CallId id) {
  const Call& call = inference.call(id);
  if (call.def == nullptr || call.inputs.empty() || call.outputs.empty()) return false;
  if (!IsSame(inference.fact(call.inputs[0]), inference.fact(call.outputs[0]))) return false;
  const Traits traits = call.def->traits;
  if (Has(traits, Traits::kView)) {
    return !Has(traits, Traits::kShapeOnly) && !Has(traits, Traits::kStored);
  }
  if (CastsToItself(inference, call)) return true;
  return call.def->gradient.keeps.noise && counts.cost(id).own().flops[Kind::kMul].is_zero();
}

// By NodeId: in all runs of its graph.
std::vector<bool> FindInert(const Inference& inference, const Counts& counts) {
  const ModelData& model = *inference.model;
  std::vector<bool> inert(model.nodes.size(), false), other(model.nodes.size(), false);
  for (const Instance& instance : inference.instances) {
    const std::vector<NodeId>& nodes = model.graph(instance.graph).nodes;
    for (size_t i = 0; i < nodes.size() && i < instance.calls.size(); ++i) {
      const bool hands_on = HandsOn(inference, counts, instance.calls[i]);
      (hands_on ? inert : other)[static_cast<size_t>(nodes[i])] = true;
    }
  }
  for (size_t i = 0; i < inert.size(); ++i) {
    const Node& node = model.nodes[i];
    inert[i] = inert[i] && !other[i] && node.input(0) && node.output(0) &&
               !exporter::NodeMetadata(node.metadata).StatesCall() &&
               exporter::SharedParameterName(model, node).empty();
  }
  return inert;
}

// The input that the producing node passes on unchanged; kNone if the node computes the value.
OptionalValueId HandedOn(const ModelData& model, const std::vector<bool>& inert, ValueId value) {
  const OptionalNodeId maker = model.value(value).producer;
  if (!maker || !inert[static_cast<size_t>(*maker)]) return kNone;
  const Node& node = model.node(*maker);
  return node.outputs[0] == value ? node.inputs[0] : kNone;
}

// By ValueId, the value before such nodes; all others map to themselves.
std::vector<ValueId> FindSources(const ModelData& model, const std::vector<bool>& inert) {
  std::vector<ValueId> sources(model.values.size());
  for (size_t v = 0; v < sources.size(); ++v) sources[v] = static_cast<ValueId>(v);
  std::vector<bool> known(model.values.size(), false);
  for (size_t v = 0; v < sources.size(); ++v) {
    std::vector<ValueId> chain;
    auto value = static_cast<ValueId>(v);
    while (!known[static_cast<size_t>(value)]) {
      known[static_cast<size_t>(value)] = true;
      chain.push_back(value);
      value = HandedOn(model, inert, value) ? *HandedOn(model, inert, value) : value;
    }
    for (ValueId behind : chain) {
      sources[static_cast<size_t>(behind)] = sources[static_cast<size_t>(value)];
    }
  }
  return sources;
}

std::shared_ptr<ModelData> CopyOf(const Model& model) {
  auto copy = std::make_shared<ModelData>();
  copy->path = model->path;
  copy->ir_version = model->ir_version;
  copy->producer_name = model->producer_name;
  copy->producer_version = model->producer_version;
  copy->opsets = model->opsets;
  copy->metadata = model->metadata;
  copy->graphs = model->graphs;
  copy->nodes = model->nodes;
  copy->values = model->values;
  copy->tensors = model->tensors;
  copy->functions = model->functions;
  copy->inlined = model->inlined;
  copy->bytes = std::make_shared<Original>(model);
  return copy;
}

// Has the node read sources.
void Redirect(const std::vector<ValueId>& sources, ModelData* model, Node* node) {
  const auto moves = [&](OptionalValueId value) {
    return value && sources[static_cast<size_t>(*value)] != *value;
  };
  if (std::none_of(node->inputs.begin(), node->inputs.end(), moves)) return;
  const size_t count = node->inputs.size();
  auto* inputs = static_cast<OptionalValueId*>(
      model->arena.allocate(count * sizeof(OptionalValueId), alignof(OptionalValueId)));
  std::uninitialized_copy(node->inputs.begin(), node->inputs.end(), inputs);
  for (size_t i = 0; i < count; ++i) {
    if (inputs[i]) inputs[i] = sources[static_cast<size_t>(*inputs[i])];
  }
  node->inputs = absl::MakeConstSpan(inputs, count);
}

}  // namespace

std::optional<Inference> LookThrough(const Inference& inference, const Counts& counts) {
  const std::vector<bool> inert = FindInert(inference, counts);
  if (std::find(inert.begin(), inert.end(), true) == inert.end()) return std::nullopt;
  const std::vector<ValueId> sources = FindSources(*inference.model, inert);
  const std::shared_ptr<ModelData> model = CopyOf(inference.model);
  for (Node& node : model->nodes) Redirect(sources, model.get(), &node);
  Inference result = inference;
  result.model = Model(model);
  return result;
}

}  // namespace onnxflops::memory
