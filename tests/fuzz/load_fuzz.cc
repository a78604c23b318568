// libFuzzer target: no bytes make the loader crash, hang, or take memory out of proportion.
//
// What loads is walked through as later stages do, so that every view, span and index in it is
// looked at.
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/graph/model.h"
#include "src/load/load_file.h"
#include "tests/fuzz/require.h"

namespace {

using namespace onnxflops;  // NOLINT(google-build-using-namespace): a program of one page

uint64_t Touch(absl::string_view s) {
  uint64_t sum = s.size();
  for (const char c : s) sum += static_cast<uint8_t>(c);
  return sum;
}

void Promise(bool condition) { Require(condition, "the model is not as load promises"); }

template <typename T>
void RequireIndex(int32_t index, const std::vector<T>& of) {
  Promise(index >= 0 && static_cast<size_t>(index) < of.size());
}

uint64_t TouchType(const DeclaredType* type) {
  uint64_t sum = 0;
  for (; type != nullptr; type = type->element) {
    for (const DeclaredDim& dim : type->dims) sum += Touch(dim.name) + (dim.size < -1 ? 0 : 1);
  }
  return sum;
}

uint64_t TouchAttribute(const ModelData& m, const Attribute& a) {
  uint64_t sum = Touch(a.name) + Touch(a.s) + Touch(a.ref_attr_name) + TouchType(a.declared_type);
  for (const absl::string_view s : a.strings) sum += Touch(s);
  for (const int64_t i : a.ints) sum += static_cast<uint64_t>(i);
  sum += a.floats.size() + a.sparse_dims.size();
  for (const TensorId id : a.tensors) RequireIndex(id, m.tensors);
  for (const GraphId id : a.graphs) RequireIndex(id, m.graphs);
  return sum;
}

uint64_t TouchNode(const ModelData& m, const Node& n) {
  uint64_t sum = Touch(n.name) + Touch(n.op_type) + Touch(n.domain) + Touch(n.attribute_bytes);
  for (const OptionalValueId id : n.inputs) {
    if (id) RequireIndex(*id, m.values);
  }
  for (const OptionalValueId id : n.outputs) {
    if (id) RequireIndex(*id, m.values);
  }
  for (const Attribute& a : n.attributes) sum += TouchAttribute(m, a);
  for (const auto& [key, value] : n.metadata) sum += Touch(key) + Touch(value);
  RequireIndex(n.graph, m.graphs);
  if (n.function) RequireIndex(*n.function, m.functions);
  return sum;
}

uint64_t TouchModel(const ModelData& m) {
  uint64_t sum = 0;
  for (const Node& n : m.nodes) sum += TouchNode(m, n);
  for (const Value& v : m.values) {
    sum += Touch(v.name) + TouchType(v.declared);
    if (v.producer) RequireIndex(*v.producer, m.nodes);
    if (v.initializer) RequireIndex(*v.initializer, m.tensors);
    Promise(v.producer || v.initializer || v.is_graph_input);
  }
  for (const Tensor& t : m.tensors) {
    sum += Touch(t.name) + Touch(t.data);
    for (const absl::string_view s : t.strings) sum += Touch(s);
    Promise(t.elements >= 0);
    for (const int64_t dim : t.dims) Promise(dim >= 0);
  }
  for (const Graph& g : m.graphs) {
    for (const NodeId id : g.nodes) RequireIndex(id, m.nodes);
    for (const ValueId id : g.outputs) RequireIndex(id, m.values);
    Promise(g.first_value <= g.end_value && static_cast<size_t>(g.end_value) <= m.values.size());
  }
  for (const Function& f : m.functions) RequireIndex(f.body, m.graphs);
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::StatusOr<Model> model =
      LoadFromBytes(absl::string_view(reinterpret_cast<const char*>(data), size), "fuzz.onnx");
  if (model.ok()) {
    volatile uint64_t sum = TouchModel(**model);
    (void)sum;
  } else {
    RequireOneLine(model.status(), "fuzz.onnx: ");
  }
  return 0;
}
