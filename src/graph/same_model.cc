#include "src/graph/same_model.h"

#include <algorithm>
#include <cstdint>

#include "absl/base/casts.h"

namespace onnxflops {
namespace {

template <typename List, typename Same>
bool AllSame(const List& a, const List& b, const Same& same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}
template <typename List>
bool AllSame(const List& a, const List& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// By their bits: a NaN is the same as itself.
bool SameFloat(float a, float b) {
  return absl::bit_cast<uint32_t>(a) == absl::bit_cast<uint32_t>(b);
}

bool SameDim(const DeclaredDim& a, const DeclaredDim& b) {
  return a.size == b.size && a.name == b.name;
}

bool SameType(const DeclaredType* a, const DeclaredType* b) {
  while (a != nullptr && b != nullptr) {
    if (a->kind != b->kind || a->dtype != b->dtype || a->has_shape != b->has_shape ||
        !AllSame(a->dims, b->dims, SameDim)) {
      return false;
    }
    a = a->element;
    b = b->element;
  }
  return a == b;
}

bool SameTensor(const Tensor& a, const Tensor& b) {
  return a.name == b.name && a.dtype == b.dtype && a.elements == b.elements && a.data == b.data &&
         a.has_data == b.has_data && a.external == b.external && AllSame(a.dims, b.dims) &&
         AllSame(a.strings, b.strings);
}

bool SameAttribute(const Attribute& a, const Attribute& b) {
  return a.name == b.name && a.type == b.type && SameFloat(a.f, b.f) && a.i == b.i && a.s == b.s &&
         a.ref_attr_name == b.ref_attr_name && AllSame(a.floats, b.floats, SameFloat) &&
         AllSame(a.ints, b.ints) && AllSame(a.strings, b.strings) &&
         AllSame(a.tensors, b.tensors) && AllSame(a.graphs, b.graphs) &&
         AllSame(a.sparse_dims, b.sparse_dims) && SameType(a.declared_type, b.declared_type);
}

bool SameNode(const Node& a, const Node& b) {
  return a.name == b.name && a.op_type == b.op_type && a.domain == b.domain &&
         a.overload == b.overload && a.graph == b.graph && a.function == b.function &&
         a.caller == b.caller && a.opset == b.opset && AllSame(a.inputs, b.inputs) &&
         AllSame(a.outputs, b.outputs) && AllSame(a.metadata, b.metadata) &&
         AllSame(a.attributes, b.attributes, SameAttribute);
}

bool SameValue(const Value& a, const Value& b) {
  return a.name == b.name && a.producer == b.producer && a.initializer == b.initializer &&
         a.is_graph_input == b.is_graph_input && SameType(a.declared, b.declared);
}

bool SameGraph(const Graph& a, const Graph& b) {
  return a.name == b.name && a.parent == b.parent && a.parent_node == b.parent_node &&
         a.function == b.function && a.nodes == b.nodes && a.inputs == b.inputs &&
         a.outputs == b.outputs && a.initializers == b.initializers && a.metadata == b.metadata;
}

bool SameFunction(const Function& a, const Function& b) {
  return a.domain == b.domain && a.name == b.name && a.overload == b.overload && a.body == b.body &&
         a.opsets == b.opsets && a.official == b.official && AllSame(a.attributes, b.attributes) &&
         AllSame(a.attribute_defaults, b.attribute_defaults, SameAttribute);
}

}  // namespace

bool SameGraphs(const ModelData& a, const ModelData& b) {
  return &a == &b ||
         (a.ir_version == b.ir_version && a.producer_name == b.producer_name &&
          a.producer_version == b.producer_version && a.opsets == b.opsets &&
          a.metadata == b.metadata && a.warnings == b.warnings &&
          AllSame(a.nodes, b.nodes, SameNode) && AllSame(a.values, b.values, SameValue) &&
          AllSame(a.tensors, b.tensors, SameTensor) && AllSame(a.graphs, b.graphs, SameGraph) &&
          AllSame(a.functions, b.functions, SameFunction) &&
          AllSame(a.inlined, b.inlined, SameNode));
}

}  // namespace onnxflops
