#include "src/infer/control_node.h"

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/infer/body_facts.h"

namespace onnxflops::infer {

absl::StatusOr<GraphId> ControlNode::BodyOf(absl::string_view attribute) const {
  const Attribute* body = view_.FindAttr(attribute);
  if (body == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", attribute, " is missing"));
  }
  if (body->type != AttributeType::kGraph || body->graphs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", attribute, " is not a graph"));
  }
  return body->graphs[0];
}

absl::StatusOr<BodyResult> ControlNode::Run(GraphId body, absl::Span<const FactId> inputs) const {
  return runner_.Run(body, inputs, FactTable::kUnknown, FrameOfBody(frame_));
}

absl::StatusOr<BodyResult> ControlNode::RunTrip(GraphId body, absl::Span<const FactId> inputs,
                                                int64_t trip) const {
  return runner_.Run(body, inputs, FactTable::kUnknown, FrameOfTrip(frame_, trip));
}

FactId ControlNode::Join(FactId a, FactId b, int output, absl::string_view hint) const {
  return a == b ? a : facts().Intern(Joined(facts()[a], facts()[b], output, hint));
}

Fact ControlNode::Joined(const Fact& a, const Fact& b, int output, absl::string_view hint) const {
  if (a == b) return a;
  if (a.absent() || b.absent()) return a.absent() ? b : a;
  if (a.kind != b.kind) return Fact::Unknown();
  if (a.kind == Fact::Kind::kSequence || a.kind == Fact::Kind::kOptional) {
    // An empty sequence matches any element type.
    const bool takes_b = a.kind == Fact::Kind::kSequence && a.length == Expr(0);
    const bool keeps_a = b.kind == Fact::Kind::kSequence && b.length == Expr(0);
    Fact joined = WithOriginOfBoth(takes_b ? b : a, takes_b ? a : b);
    joined.items = nullptr;
    if (a.length != b.length) joined.length = std::nullopt;
    if (takes_b || keeps_a) return joined;
    if (a.element != nullptr && b.element != nullptr) {
      joined.element = std::make_shared<const Fact>(Joined(*a.element, *b.element, output, hint));
    }
    return joined;
  }
  if (!a.is_tensor() || a.dtype != b.dtype) return Fact::Unknown();
  Fact joined = WithOriginOfBoth(WithOrigin(Fact::Tensor(a.dtype, Shape::UnknownRank()), a), b);
  if (!a.shape.ranked() || !b.shape.ranked() || a.shape.rank() != b.shape.rank()) return joined;
  joined.shape = a.shape;
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (a.shape[i] == b.shape[i]) continue;
    const Expr either[] = {a.shape[i], b.shape[i]};
    joined.shape[i] = view_.FreshDim(
        output, i, hint, hint == "if" ? SymbolOrigin::Kind::kSizes : SymbolOrigin::Kind::kTrips,
        either);
  }
  return joined;
}

}  // namespace onnxflops::infer
