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

bool SameKnowledge(const Fact& a, Fact b) { return a == WithOrigin(std::move(b), a); }

Fact WithOrigin(Fact fact, const Fact& other) {
  fact.constant = other.constant;
  fact.from_shapes = other.from_shapes;
  return fact;
}

Fact WithoutOrigin(Fact fact) { return WithOrigin(std::move(fact), Fact::Unknown()); }

Fact WithOriginOfBoth(Fact fact, const Fact& other) {
  fact.constant = fact.constant && other.constant;
  fact.from_shapes = fact.from_shapes && other.from_shapes;
  return fact;
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
  Fact stacked = WithOrigin(Fact::Tensor(element.dtype, element.shape), element);
  Shape& shape = stacked.shape;
  if (axis < 0) axis += shape.rank() + 1;
  if (axis < 0 || axis > shape.rank()) {
    shape = Shape::UnknownRank();
  } else {
    shape.dims().insert(shape.dims().begin() + axis, length);
  }
  return stacked;
}

}  // namespace onnxflops::infer
