// How it works. The model's arrays are copied, and everything new is appended: values, tensors and
// nodes get the next free numbers, so the old numbers stay valid. Views and spans of old data still
// point into the original, which StorageOfOriginal keeps alive; new texts and lists are stored by
// Keep(). Spans are immutable, so a changed list (inputs, attributes, dimensions) is always a new
// one.
//
// Added nodes are collected by the node that they follow. Finish() puts them into the order of the
// main graph, which must stay topological.
#include "src/adapter/graph_editor.h"

#include <cstddef>
#include <cstring>
#include <utility>

namespace onnxflops::adapter {
namespace {

// Keeps the original's data alive.
struct StorageOfOriginal final : ByteStorage {
  explicit StorageOfOriginal(Model model) : original(std::move(model)) {}
  const Model original;
};

template <typename T>
std::string BytesOf(T number) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &number, sizeof(T));
  return bytes;
}

// A tensor whose content is unknown.
Tensor TensorOf(DType dtype, absl::Span<const int64_t> dims) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.dims = dims;
  tensor.elements = 1;
  for (const int64_t dim : dims) tensor.elements *= dim;
  tensor.external = true;
  return tensor;
}

}  // namespace

GraphEditor::GraphEditor(const Model& base) : model_(std::make_shared<ModelData>()) {
  model_->path = base->path;
  model_->ir_version = base->ir_version;
  model_->producer_name = base->producer_name;
  model_->producer_version = base->producer_version;
  model_->opsets = base->opsets;
  model_->metadata = base->metadata;
  model_->graphs = base->graphs;
  model_->nodes = base->nodes;
  model_->values = base->values;
  model_->tensors = base->tensors;
  model_->functions = base->functions;
  model_->inlined = base->inlined;
  model_->warnings = base->warnings;
  model_->bytes = std::make_shared<StorageOfOriginal>(base);
}

absl::string_view GraphEditor::Keep(absl::string_view text) {
  const absl::Span<char> kept = Keep(std::vector<char>(text.begin(), text.end()));
  return {kept.data(), kept.size()};
}

ValueId GraphEditor::AddValue(absl::string_view name) {
  Value value;
  value.name = Keep(name);
  model_->values.push_back(value);
  return static_cast<ValueId>(model_->values.size() - 1);
}

ValueId GraphEditor::AddTensor(absl::string_view name, DType dtype,
                               const std::vector<int64_t>& dims) {
  const ValueId value = AddValue(name);
  ReplaceTensor(value, dtype, dims);
  model_->graphs[0].initializers.push_back(value);
  return value;
}

void GraphEditor::ReplaceTensor(ValueId value, DType dtype, const std::vector<int64_t>& dims) {
  Tensor tensor = TensorOf(dtype, Keep(dims));
  tensor.name = model_->value(value).name;
  model_->tensors.push_back(tensor);
  Value& changed = model_->values[static_cast<size_t>(value)];
  changed.initializer = static_cast<TensorId>(model_->tensors.size() - 1);
  changed.declared = nullptr;
}

ValueId GraphEditor::AddNumber(absl::string_view name, DType dtype, double number) {
  const ValueId value = AddTensor(name, dtype, {});
  Tensor& tensor = model_->tensors.back();
  tensor.external = false;
  tensor.has_data = true;
  tensor.data =
      Keep(dtype == DType::kFloat64 ? BytesOf(number) : BytesOf(static_cast<float>(number)));
  return value;
}

ValueId GraphEditor::AddInts(absl::string_view name, const std::vector<int64_t>& ints) {
  const ValueId value = AddTensor(name, DType::kInt64, {static_cast<int64_t>(ints.size())});
  ReplaceInts(value, ints);
  return value;
}

void GraphEditor::ReplaceInts(ValueId value, const std::vector<int64_t>& ints) {
  ReplaceTensor(value, DType::kInt64, {static_cast<int64_t>(ints.size())});
  std::string bytes;
  for (const int64_t number : ints) bytes += BytesOf(number);
  Tensor& tensor = model_->tensors.back();
  tensor.external = false;
  tensor.has_data = true;
  tensor.data = Keep(absl::string_view(bytes));
}

ValueId GraphEditor::AddSizes(absl::string_view name, absl::Span<const Expr> sizes,
                              const std::vector<int64_t>& dims) {
  const ValueId value = AddTensor(name, DType::kInt64, dims);
  std::vector<absl::string_view> texts;
  for (const Expr& size : sizes) texts.push_back(Keep(absl::string_view(size.ToString())));
  Tensor& tensor = model_->tensors.back();
  tensor.external = false;
  tensor.has_data = true;
  tensor.strings = Keep(texts);
  return value;
}

void GraphEditor::ReplaceConstant(NodeId id, const std::vector<int64_t>& dims) {
  Node& node = model_->nodes[static_cast<size_t>(id)];
  std::vector<Attribute> attributes(node.attributes.begin(), node.attributes.end());
  for (Attribute& attribute : attributes) {
    if (attribute.name != "value" || attribute.tensors.empty()) continue;
    Tensor tensor = TensorOf(model_->tensor(attribute.tensors[0]).dtype, Keep(dims));
    model_->tensors.push_back(tensor);
    attribute.tensors =
        Keep(std::vector<TensorId>{static_cast<TensorId>(model_->tensors.size() - 1)});
  }
  node.attributes = Keep(attributes);
  node.attribute_bytes = {};
  node.attributes_comparable = false;
}

void GraphEditor::SetInputSize(ValueId input, size_t axis, const Expr& size) {
  Value& value = model_->values[static_cast<size_t>(input)];
  DeclaredType type = *value.declared;
  std::vector<DeclaredDim> dims(type.dims.begin(), type.dims.end());
  const std::optional<int64_t> number = size.AsInt64();
  dims[axis] = number ? DeclaredDim{*number, {}} : DeclaredDim{-1, Keep(size.Symbols().at(0))};
  type.dims = Keep(dims);
  value.declared = Keep(std::vector<DeclaredType>{type}).data();
}

void GraphEditor::ForgetDeclared() {
  for (Value& value : model_->values) {
    if (!value.is_graph_input) value.declared = nullptr;
  }
}

void GraphEditor::SetInput(NodeId id, size_t index, ValueId value) {
  Node& node = model_->nodes[static_cast<size_t>(id)];
  std::vector<OptionalValueId> inputs(node.inputs.begin(), node.inputs.end());
  inputs[index] = value;
  node.inputs = Keep(inputs);
}

NodeId GraphEditor::PushNode(Node node, const std::vector<OptionalValueId>& inputs,
                             ValueId output) {
  const auto id = static_cast<NodeId>(model_->nodes.size());
  node.graph = 0;
  node.inputs = Keep(inputs);
  node.outputs = Keep(std::vector<OptionalValueId>{output});
  model_->values[static_cast<size_t>(output)].producer = id;
  model_->nodes.push_back(node);
  return id;
}

ValueId GraphEditor::AddNode(NodeId after, Node node, const std::vector<OptionalValueId>& inputs,
                             OptionalValueId output) {
  const ValueId made = output ? *output : AddValue(node.name);
  added_[after].push_back(PushNode(node, inputs, made));
  return made;
}

ValueId GraphEditor::AddNodeBefore(NodeId before, Node node,
                                   const std::vector<OptionalValueId>& inputs) {
  const ValueId made = AddValue(node.name);
  added_before_[before].push_back(PushNode(node, inputs, made));
  return made;
}

ValueId GraphEditor::FreeOutput(NodeId id, absl::string_view name) {
  const ValueId made = AddValue(name);
  model_->values[static_cast<size_t>(made)].producer = id;
  Node& node = model_->nodes[static_cast<size_t>(id)];
  std::vector<OptionalValueId> outputs(node.outputs.begin(), node.outputs.end());
  outputs[0] = made;
  node.outputs = Keep(outputs);
  return made;
}

void GraphEditor::ReplaceNode(NodeId id, Node node, const std::vector<OptionalValueId>& inputs) {
  const Node& before = model_->node(id);
  node.outputs = before.outputs;
  node.graph = before.graph;
  node.inputs = Keep(inputs);
  model_->nodes[static_cast<size_t>(id)] = node;
}

Model GraphEditor::Finish() && {
  Graph& graph = model_->graphs[0];
  std::vector<NodeId> nodes;
  nodes.reserve(model_->nodes.size());
  const auto append = [&nodes](const auto& added, NodeId id) {
    const auto found = added.find(id);
    if (found != added.end()) nodes.insert(nodes.end(), found->second.begin(), found->second.end());
  };
  for (const NodeId id : graph.nodes) {
    append(added_before_, id);
    nodes.push_back(id);
    append(added_, id);
  }
  graph.nodes = std::move(nodes);
  graph.end_value = static_cast<ValueId>(model_->values.size());
  return Model(std::move(model_));
}

}  // namespace onnxflops::adapter
