#include "src/infer/body_facts.h"

#include <utility>

namespace onnxflops::infer {

absl::string_view PlaceOf(const ModelData& data, NodeId id) {
  const Node& node = data.node(id);
  if (!node.name.empty()) return node.name;
  for (OptionalValueId v : node.outputs) {
    if (v) return data.value(*v).name;
  }
  return node.op_type;
}

bool SameKnowledge(const Fact& a, Fact b) {
  b.constant = a.constant;
  b.from_shapes = a.from_shapes;
  return a == b;
}

std::optional<bool> KnownBool(const Fact& fact) {
  if (fact.content == nullptr || fact.content->size() != 1) return std::nullopt;
  const Scalar& value = fact.content->front();
  if (!value.is_int() || !value.i.is_literal()) return std::nullopt;
  return value.i.literal() != 0;
}

Fact WithoutContent(Fact fact) {
  fact.DropContent();
  return fact;
}

Fact Stack(const Fact& element, const Expr& length, int axis) {
  if (!element.is_tensor()) return Fact::Unknown();
  if (!element.shape.ranked()) return WithoutContent(element);
  Shape shape = element.shape;
  if (axis < 0) axis += shape.rank() + 1;
  if (axis < 0 || axis > shape.rank()) return Fact::Tensor(element.dtype, Shape::UnknownRank());
  shape.dims().insert(shape.dims().begin() + axis, length);
  return Fact::Tensor(element.dtype, std::move(shape));
}

}  // namespace onnxflops::infer
