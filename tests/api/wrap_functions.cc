#include "tests/api/wrap_functions.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace onnxflops {
namespace {

constexpr char kDomain[] = "wrapped";

// Names that a graph takes from around it.
void AddCaptured(const onnx::GraphProto& graph, std::vector<std::string>* names);

void AddUsed(const onnx::NodeProto& node, std::vector<std::string>* names) {
  names->insert(names->end(), node.input().begin(), node.input().end());
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) AddCaptured(attribute.g(), names);
    for (const onnx::GraphProto& graph : attribute.graphs()) AddCaptured(graph, names);
  }
}

void AddCaptured(const onnx::GraphProto& graph, std::vector<std::string>* names) {
  std::set<std::string> own;
  for (const auto& input : graph.input()) own.insert(input.name());
  for (const auto& tensor : graph.initializer()) own.insert(tensor.name());
  std::vector<std::string> used;
  for (const onnx::NodeProto& node : graph.node()) {
    own.insert(node.output().begin(), node.output().end());
    AddUsed(node, &used);
  }
  for (const auto& output : graph.output()) used.push_back(output.name());
  for (const std::string& name : used) {
    if (own.count(name) == 0) names->push_back(name);
  }
}

// A name, and each only once.
void AddNew(const std::string& name, std::vector<std::string>* names) {
  if (name.empty() || std::find(names->begin(), names->end(), name) != names->end()) return;
  names->push_back(name);
}

class Wrapper {
 public:
  explicit Wrapper(onnx::ModelProto* model) : model_(*model) {}

  void Wrap(size_t run) {
    const std::vector<onnx::NodeProto> nodes(model_.graph().node().begin(),
                                             model_.graph().node().end());
    CountUses(nodes);
    model_.mutable_graph()->clear_node();
    for (size_t i = 0; i < nodes.size(); i += run) {
      const size_t end = std::min(nodes.size(), i + run);
      AddCall({nodes.begin() + static_cast<std::ptrdiff_t>(i),
               nodes.begin() + static_cast<std::ptrdiff_t>(end)});
    }
  }

 private:
  void CountUses(const std::vector<onnx::NodeProto>& nodes) {
    uses_.clear();
    for (const onnx::NodeProto& node : nodes) CountUses(node, 1);
    for (const auto& output : model_.graph().output()) ++uses_[output.name()];
  }
  void CountUses(const onnx::NodeProto& node, int each) {
    std::vector<std::string> used;
    AddUsed(node, &used);
    for (const std::string& name : used) uses_[name] += each;
  }

  void AddCall(std::vector<onnx::NodeProto> nodes) {
    std::set<std::string> made;
    std::vector<std::string> inputs, outputs;
    for (const onnx::NodeProto& node : nodes) {
      std::vector<std::string> used;
      AddUsed(node, &used);
      for (const std::string& name : used) {
        if (made.count(name) == 0) AddNew(name, &inputs);
      }
      made.insert(node.output().begin(), node.output().end());
      CountUses(node, -1);
    }
    for (const onnx::NodeProto& node : nodes) {
      for (const std::string& name : node.output()) {
        if (uses_[name] > 0) AddNew(name, &outputs);
      }
    }
    for (const onnx::NodeProto& node : nodes) CountUses(node, 1);
    onnx::NodeProto* call = model_.mutable_graph()->add_node();
    call->set_op_type(FunctionOf(std::move(nodes), inputs, outputs));
    call->set_domain(kDomain);
    for (const std::string& name : inputs) call->add_input(name);
    for (const std::string& name : outputs) call->add_output(name);
  }

  // The function's name. Nodes with bodies keep the names of what these capture.
  std::string FunctionOf(std::vector<onnx::NodeProto> nodes, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs) {
    onnx::FunctionProto function;
    std::map<std::string, std::string> names;
    const bool has_graphs = std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
      return std::any_of(node.attribute().begin(), node.attribute().end(),
                         [](const auto& a) { return a.has_g() || a.graphs_size() > 0; });
    });
    const auto rename = [&](const std::string& name) {
      if (name.empty() || has_graphs) return name;
      return names.emplace(name, "v" + std::to_string(names.size())).first->second;
    };
    for (const std::string& name : inputs) function.add_input(rename(name));
    for (onnx::NodeProto& node : nodes) {
      node.clear_name();
      node.clear_metadata_props();
      node.clear_doc_string();
      for (std::string& name : *node.mutable_input()) name = rename(name);
      for (std::string& name : *node.mutable_output()) name = rename(name);
      *function.add_node() = std::move(node);
    }
    for (const std::string& name : outputs) function.add_output(rename(name));
    function.set_domain(kDomain);
    *function.mutable_opset_import() = model_.opset_import();
    const std::string bytes = function.SerializeAsString();
    const auto known = functions_.find(bytes);
    if (known != functions_.end()) return known->second;
    std::string name = "F" + std::to_string(model_.functions_size());
    function.set_name(name);
    *model_.add_functions() = std::move(function);
    return functions_[bytes] = name;
  }

  onnx::ModelProto& model_;
  std::map<std::string, int> uses_;               // of values, by nodes and outputs
  std::map<std::string, std::string> functions_;  // by their bytes without a name: the name
};

}  // namespace

onnx::ModelProto WithFunctions(onnx::ModelProto model, size_t run, int depth) {
  onnx::OperatorSetIdProto* opset = model.add_opset_import();
  opset->set_domain(kDomain);
  opset->set_version(1);
  model.set_ir_version(std::max<int64_t>(model.ir_version(), 10));
  for (int i = 0; i < depth; ++i) Wrapper(&model).Wrap(i == 0 ? run : 1);
  return model;
}

}  // namespace onnxflops
