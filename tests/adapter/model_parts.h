// Parts of small models for tests of other sizes: lists and constants that the file holds.
#ifndef ONNXFLOPS_TESTS_ADAPTER_MODEL_PARTS_H_
#define ONNXFLOPS_TESTS_ADAPTER_MODEL_PARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"
#include "tests/model_maker.h"

namespace onnxflops {

using Sizes = std::vector<int64_t>;

inline void AddInts(onnx::NodeProto* node, const std::string& name, const Sizes& ints) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (const int64_t i : ints) attribute->add_ints(i);
}

// An initializer of int64 that the file holds; `scalar`: of rank 0.
inline void AddConstant(ModelMaker* make, const std::string& name, const Sizes& ints,
                        bool scalar = false) {
  onnx::TensorProto* tensor = make->proto.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::INT64);
  if (!scalar) tensor->add_dims(static_cast<int64_t>(ints.size()));
  for (const int64_t i : ints) tensor->add_int64_data(i);
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_ADAPTER_MODEL_PARTS_H_
