#include "tests/fuzz/mend_model.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace onnxflops {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

using Names = std::set<std::string>;
// Domain, name and overload of a function.
using FunctionKey = std::pair<std::string, std::pair<std::string, std::string>>;

constexpr int kMaxNesting = 30;

FunctionKey KeyOf(const FunctionProto& f) { return {f.domain(), {f.name(), f.overload()}}; }
FunctionKey KeyOf(const NodeProto& n) { return {n.domain(), {n.op_type(), n.overload()}}; }

// Mends what stands in one graph or function, and the bodies inside.
class Mender {
 public:
  // `forbidden`: functions that nodes here may not call.
  explicit Mender(const std::set<FunctionKey>* forbidden) : forbidden_(*forbidden) {}

  void Mend(GraphProto* graph, Names visible, int depth) {
    Names own;
    MendInputs(graph, &own);
    MendInitializers(graph, &own);
    visible.insert(own.begin(), own.end());
    MendNodes(graph->mutable_node(), &own, &visible, depth);
    MendOutputs(graph, own);
  }

  void Mend(FunctionProto* function) {
    Names own;
    for (std::string& name : *function->mutable_input()) {
      if (name.empty() || own.contains(name)) name = Fresh();
      own.insert(name);
    }
    Names visible = own;
    MendNodes(function->mutable_node(), &own, &visible, 0);
    for (std::string& name : *function->mutable_output()) {
      if (!own.contains(name) && !own.empty()) name = *own.begin();
    }
    if (own.empty()) function->clear_output();
  }

 private:
  std::string Fresh() { return "mended_" + std::to_string(next_++); }

  void MendInputs(GraphProto* graph, Names* own) {
    for (auto& input : *graph->mutable_input()) {
      if (input.name().empty() || own->contains(input.name())) input.set_name(Fresh());
      own->insert(input.name());
    }
  }
  void MendInitializers(GraphProto* graph, Names* own) {
    Names seen;
    for (auto& tensor : *graph->mutable_initializer()) {
      if (tensor.name().empty() || !seen.insert(tensor.name()).second) tensor.set_name(Fresh());
      own->insert(tensor.name());
    }
    for (auto& tensor : *graph->mutable_sparse_initializer()) {
      std::string* name = tensor.mutable_values()->mutable_name();
      if (name->empty() || own->contains(*name)) *name = Fresh();
      own->insert(*name);
    }
  }
  void MendOutputs(GraphProto* graph, const Names& own) {
    if (own.empty()) graph->clear_output();
    for (auto& output : *graph->mutable_output()) {
      if (!own.contains(output.name())) output.set_name(*own.begin());
    }
  }

  template <typename Nodes>
  void MendNodes(Nodes* nodes, Names* own, Names* visible, int depth) {
    for (NodeProto& node : *nodes) {
      if (node.op_type().empty() || forbidden_.contains(KeyOf(node))) {
        node.set_op_type("Relu");
        node.set_domain("");
      }
      for (std::string& input : *node.mutable_input()) {
        if (!visible->contains(input)) input.clear();
      }
      Names attributes;
      for (AttributeProto& attribute : *node.mutable_attribute()) {
        if (!attributes.insert(attribute.name()).second) attribute.set_name(Fresh());
        MendBodies(&attribute, *visible, depth);
      }
      for (std::string& output : *node.mutable_output()) {
        if (output.empty()) continue;
        if (own->contains(output)) output = Fresh();
        own->insert(output);
        visible->insert(output);
      }
    }
  }
  void MendBodies(AttributeProto* attribute, const Names& visible, int depth) {
    if (depth >= kMaxNesting) {
      attribute->clear_g();
      attribute->clear_graphs();
      return;
    }
    if (attribute->has_g()) Mend(attribute->mutable_g(), visible, depth + 1);
    for (GraphProto& graph : *attribute->mutable_graphs()) Mend(&graph, visible, depth + 1);
  }

  const std::set<FunctionKey>& forbidden_;
  int next_ = 0;
};

void ImportOnnx(ModelProto* model) {
  for (const auto& import : model->opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") return;
  }
  model->add_opset_import()->set_version(18);
}

}  // namespace

void MendModel(ModelProto* model) {
  ImportOnnx(model);
  std::set<FunctionKey> earlier;
  for (int i = 0; i < model->functions_size(); ++i) {
    FunctionProto* function = model->mutable_functions(i);
    if (!earlier.insert(KeyOf(*function)).second) {
      function->set_name(function->name() + "_" + std::to_string(i));
      earlier.insert(KeyOf(*function));
    }
    Mender(&earlier).Mend(function);
  }
  const std::set<FunctionKey> none;
  Mender(&none).Mend(model->mutable_graph(), {}, 0);
}

}  // namespace onnxflops
