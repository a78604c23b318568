// Calls of functions that the file defines: a body evaluated once for every distinct call.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/infer/body_facts.h"
#include "src/infer/evaluator.h"

namespace onnxflops {

// The attributes that a function's body sees: those of the call (references to the caller's own
// resolved), and the defaults of the others.
std::vector<Attribute> Evaluator::CallAttributes(const Node& node, const Function& function,
                                                 const Frame& frame) const {
  std::vector<Attribute> attributes;
  for (const Attribute& attribute : node.attributes) {
    Attribute resolved = attribute;
    if (!attribute.ref_attr_name.empty()) {
      const auto given =
          std::find_if(frame.call_attributes.begin(), frame.call_attributes.end(),
                       [&](const Attribute& a) { return a.name == attribute.ref_attr_name; });
      if (given == frame.call_attributes.end()) continue;
      resolved = *given;
      resolved.name = attribute.name;
    }
    attributes.push_back(resolved);
  }
  for (const Attribute& attribute : function.attribute_defaults) {
    if (node.FindAttribute(attribute.name) == nullptr) attributes.push_back(attribute);
  }
  return attributes;
}

Frame Evaluator::FrameInside(NodeId id, const Function& function, const Frame& frame) {
  Frame inner = frame;
  inner.call_attributes = {};
  inner.attributes_id = -1;
  std::vector<Attribute> attributes = CallAttributes(data_.node(id), function, frame);
  if (!attributes.empty()) {
    attributes_->push_back(std::move(attributes));
    inner.call_attributes = attributes_->back();
    inner.attributes_id = static_cast<int32_t>(attributes_->size());
  }
  if (!function.opsets.empty()) {
    inner.opsets = &function.opsets;
    for (const auto& [domain, version] : function.opsets) {
      if (domain.empty()) inner.default_opset = version;
    }
  }
  ++inner.depth;
  inner.caller = &frame;
  inner.via = id;
  inner.trip = -1;
  return inner;
}

absl::StatusOr<CallId> Evaluator::CallFunction(NodeId id, const Frame& frame,
                                               const FactIds& inputs) {
  const Node& node = data_.node(id);
  const Function& function = data_.function(*node.function);
  if (frame.depth >= kMaxCallDepth) {
    return LimitError(
        "call-depth",
        absl::StrCat(
            Escaped(data_.path), ": ", DescribeNode(data_, id),
            ": functions call each other deeper than the limit call-depth = ", kMaxCallDepth));
  }
  const bool shareable = node.attributes_comparable && !node.has_graphs;
  Key key{&function, 0, frame.attributes_id, node.outputs.size(), node.attribute_bytes.data(),
          inputs};
  if (shareable) {
    if (const auto known = memo_.find(key); known != memo_.end()) return known->second;
  }
  const Graph& graph = data_.graph(function.body);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    FactIdOf(graph.inputs[i]) = i < inputs.size() ? inputs[i] : FactTable::kAbsent;
  }
  // Attributes are copied, and looked up by name, for every call.
  const size_t given = node.attributes.size(), defaults = function.attribute_defaults.size();
  RETURN_IF_ERROR(Spend(kEvaluationsPerCall * (1 + given + defaults) +
                        given * (defaults + frame.call_attributes.size()) / 16));
  const int64_t fresh_before = symbols_.fresh_uses();
  ASSIGN_OR_RETURN(const InstanceId instance,
                   RunGraph(function.body, FrameInside(id, function, frame)));
  Call call;
  call.node = id;
  call.inputs = inputs;
  call.call_attributes = frame.call_attributes;
  call.bodies = {{instance, 1, true, {}}};
  for (ValueId v : graph.outputs) {
    call.outputs.push_back(FactIdOf(v).value_or(FactTable::kUnknown));
  }
  const CallId added = AddCall(std::move(call));
  if (shareable && symbols_.fresh_uses() == fresh_before) memo_.emplace(std::move(key), added);
  return added;
}

}  // namespace onnxflops
