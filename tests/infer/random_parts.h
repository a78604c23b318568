// Attributes, nodes and declared values of random models.
#ifndef ONNXFLOPS_TESTS_INFER_RANDOM_PARTS_H_
#define ONNXFLOPS_TESTS_INFER_RANDOM_PARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"

namespace onnxflops::random_parts {

inline onnx::AttributeProto Int(const std::string& name, int64_t value) {
  onnx::AttributeProto a;
  a.set_name(name);
  a.set_type(onnx::AttributeProto::INT);
  a.set_i(value);
  return a;
}

inline onnx::AttributeProto IntList(const std::string& name, const std::vector<int64_t>& values) {
  onnx::AttributeProto a;
  a.set_name(name);
  a.set_type(onnx::AttributeProto::INTS);
  for (int64_t v : values) a.add_ints(v);
  return a;
}

inline onnx::AttributeProto Body(const std::string& name, const onnx::GraphProto& graph) {
  onnx::AttributeProto a;
  a.set_name(name);
  a.set_type(onnx::AttributeProto::GRAPH);
  *a.mutable_g() = graph;
  return a;
}

inline void AddNode(onnx::GraphProto* graph, const std::string& op,
                    const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(op);
  node->set_name(graph->name() + "/" + op);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
}

inline void Declare(onnx::ValueInfoProto* value, const std::string& name,
                    int type = onnx::TensorProto::FLOAT) {
  value->set_name(name);
  value->mutable_type()->mutable_tensor_type()->set_elem_type(type);
}

inline onnx::AttributeProto String(const std::string& name, const std::string& value) {
  onnx::AttributeProto a;
  a.set_name(name);
  a.set_type(onnx::AttributeProto::STRING);
  a.set_s(value);
  return a;
}

inline onnx::AttributeProto Float(const std::string& name, float value) {
  onnx::AttributeProto a;
  a.set_name(name);
  a.set_type(onnx::AttributeProto::FLOAT);
  a.set_f(value);
  return a;
}

}  // namespace onnxflops::random_parts

#endif  // ONNXFLOPS_TESTS_INFER_RANDOM_PARTS_H_
