// Small models for tests, made node by node.
//
//   ModelMaker make;
//   make.Input("x", {"batch", "8"}).Weight("fc.weight", {4, 8});
//   make.Node("/fc/Gemm", "Gemm", {"x", "fc.weight"}, {"y"}, {{"transB", 1}}).Output("y");
//   Report report = make.Count().value();
#ifndef ONNXFLOPS_TESTS_MODEL_MAKER_H_
#define ONNXFLOPS_TESTS_MODEL_MAKER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "src/onnxflops.h"

namespace onnxflops {

class ModelMaker {
 public:
  using Strings = std::vector<std::string>;

  explicit ModelMaker(int opset = 17) {
    proto.set_ir_version(10);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("g");
  }

  // A float input; dimensions are numbers, names, or empty where the file does not say.
  ModelMaker& Input(const std::string& name, const Strings& dims) {
    Declare(proto.mutable_graph()->add_input(), name, dims);
    return *this;
  }
  ModelMaker& Output(const std::string& name) {
    proto.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  // An initializer without payload, as if its data were in another file.
  ModelMaker& Weight(const std::string& name, const std::vector<int64_t>& dims,
                     int type = onnx::TensorProto::FLOAT) {
    onnx::TensorProto* tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (int64_t dim : dims) tensor->add_dims(dim);
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    return *this;
  }
  ModelMaker& Node(const std::string& name, const std::string& op, const Strings& inputs,
                   const Strings& outputs, const std::map<std::string, int64_t>& ints = {}) {
    node = AddNode(proto.mutable_graph(), name, op, inputs, outputs);
    for (const auto& [attribute, value] : ints) {
      onnx::AttributeProto* a = node->add_attribute();
      a->set_name(attribute);
      a->set_type(onnx::AttributeProto::INT);
      a->set_i(value);
    }
    return *this;
  }
  // What the dynamo exporter writes to the last node: paths and classes of the modules around it,
  // the operator last.
  ModelMaker& Scopes(const std::string& paths, const std::string& classes) {
    Metadata("pkg.torch.onnx.name_scopes", paths);
    return Metadata("pkg.torch.onnx.class_hierarchy", classes);
  }
  ModelMaker& Metadata(const std::string& key, const std::string& value) {
    onnx::StringStringEntryProto* entry = node->add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
    return *this;
  }

  // Version 1 of another domain.
  ModelMaker& Import(const std::string& domain) {
    AddImport(&proto, domain, 1);
    return *this;
  }
  // A function of a domain that the model imports; its nodes are still to be added.
  onnx::FunctionProto* AddFunction(const std::string& domain, const std::string& name,
                                   const Strings& inputs, const std::string& output) {
    onnx::FunctionProto* function = proto.add_functions();
    function->set_domain(domain);
    function->set_name(name);
    AddImport(function, "", 17);
    for (const std::string& input : inputs) function->add_input(input);
    function->add_output(output);
    return function;
  }

  // To a model or a function.
  template <typename Proto>
  static void AddImport(Proto* to, const std::string& domain, int version) {
    onnx::OperatorSetIdProto* opset = to->add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  // To a graph or a function.
  template <typename Proto>
  static onnx::NodeProto* AddNode(Proto* graph, const std::string& name, const std::string& op,
                                  const Strings& inputs, const Strings& outputs) {
    onnx::NodeProto* node = graph->add_node();
    node->set_name(name);
    node->set_op_type(op);
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
    return node;
  }
  static void Declare(onnx::ValueInfoProto* value, const std::string& name, const Strings& dims) {
    value->set_name(name);
    auto* type = value->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    for (const std::string& dim : dims) {
      auto* d = type->mutable_shape()->add_dim();
      if (dim.empty()) continue;
      if (dim.find_first_not_of("0123456789") == std::string::npos) {
        d->set_dim_value(std::stoll(dim));
      } else {
        d->set_dim_param(dim);
      }
    }
  }

  absl::StatusOr<Model> Load() const {
    return LoadFromBytes(proto.SerializeAsString(), "test.onnx");
  }
  absl::StatusOr<Report> Count(const CountOptions& options = {}) const {
    absl::StatusOr<Model> model = Load();
    if (!model.ok()) return model.status();
    return onnxflops::Count(*model, options);
  }

  onnx::ModelProto proto;
  onnx::NodeProto* node = nullptr;  // the last one
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_MODEL_MAKER_H_
