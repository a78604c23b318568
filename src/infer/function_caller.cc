#include "src/infer/function_caller.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops::infer {

namespace {

// The attributes that a function's body sees: those of the call, with references to the caller's
// own resolved, and the defaults of the others.
std::vector<Attribute> CallAttributes(const Node& node, const Function& function,
                                      const Frame& frame) {
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

}  // namespace

FunctionCaller::FunctionCaller(Session* session, BodyRunner* runner)
    : session_(*session),
      runner_(*runner),
      attributes_(std::make_shared<std::deque<std::vector<Attribute>>>()) {}

Frame FunctionCaller::FrameInside(NodeId id, const Function& function, const Frame& frame) {
  Frame inner = FrameOfBody(frame);
  inner.call_attributes = {};
  inner.attributes_id = -1;
  std::vector<Attribute> attributes = CallAttributes(session_.model().node(id), function, frame);
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
  inner.caller = &frame;
  inner.via = id;
  inner.trip = -1;
  return inner;
}

absl::StatusOr<CallId> FunctionCaller::CallFunction(NodeId id, const Frame& frame,
                                                    const FactIds& inputs) {
  const ModelData& model = session_.model();
  const Node& node = model.node(id);
  const Function& function = model.function(*node.function);
  if (frame.depth >= kMaxCallDepth) {
    return LimitError(
        "call-depth",
        absl::StrCat(
            Escaped(model.path), ": ", DescribeNode(model, id),
            ": functions call each other deeper than the limit call-depth = ", kMaxCallDepth));
  }
  const bool shareable = CallMemo::MayShare(node);
  CallSignature signature{
      &function, 0, frame.attributes_id, node.outputs.size(), node.attribute_bytes.data(), inputs};
  if (shareable) {
    if (const std::optional<CallId> known = memo_.Find(signature)) return *known;
  }
  // Attributes are copied, and looked up by name, for every call.
  const size_t given = node.attributes.size(), defaults = function.attribute_defaults.size();
  RETURN_IF_ERROR(session_.budget().Spend(kEvaluationsPerCall * (1 + given + defaults) +
                                          given * (defaults + frame.call_attributes.size()) / 16));
  const int64_t fresh_before = session_.symbols().fresh_uses();
  ASSIGN_OR_RETURN(BodyResult run, runner_.Run(function.body, inputs, FactTable::kAbsent,
                                               FrameInside(id, function, frame)));
  Call call;
  call.node = id;
  call.inputs = inputs;
  call.call_attributes = frame.call_attributes;
  call.bodies = {{run.instance, 1, true, {}}};
  call.outputs.assign(run.outputs.begin(), run.outputs.end());
  const CallId added = session_.AddCall(std::move(call));
  if (shareable && session_.symbols().fresh_uses() == fresh_before) {
    memo_.Keep(std::move(signature), added);
  }
  return added;
}

}  // namespace onnxflops::infer
