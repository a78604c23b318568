// Whether the operands of linear layers lie in memory in the order of their elements.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "src/convention/torch/trace.h"

namespace onnxflops::convention {
namespace {

// Operators that keep the order in memory of their first operand of full shape.
constexpr absl::string_view kKeepOrder[] = {"Add", "Sub",  "Mul",     "Div",  "Cast", "Relu",
                                            "Erf", "Gelu", "Sigmoid", "Tanh", "Clip", "Identity"};

// Whether the transposition changes the order of the dimensions that are not 1.
bool ChangesOrder(const Node& node, const Shape& shape) {
  const Attribute* perm = node.FindAttribute("perm");
  if (perm == nullptr || static_cast<int64_t>(perm->ints.size()) != shape.rank()) return true;
  int64_t last = -1;
  for (int64_t axis : perm->ints) {
    if (axis < 0 || axis >= shape.rank()) return true;
    if (shape[static_cast<int>(axis)] == Expr(1)) continue;
    if (axis < last) return true;
    last = axis;
  }
  return false;
}

class Finder {
 public:
  explicit Finder(const Evidence& evidence)
      : inference_(evidence.inference()), model_(evidence.model()) {}

  // Whether what the node works on is contiguous.
  bool IsContiguous(NodeId node) {
    constexpr int kMaxSteps = 16;
    for (int i = 0; i < kMaxSteps; ++i) {
      const Step& step = StepFrom(node);
      if (!step.before) return step.contiguous;
      node = *step.before;
    }
    return true;
  }

 private:
  struct Step {
    OptionalNodeId before;  // the node that decides it; kNone if it is decided
    bool contiguous;        // if it is
  };

  const Step& StepFrom(NodeId id) {
    const auto [it, is_new] = known_.try_emplace(id, Step{kNone, true});
    if (is_new) it->second = FindStep(model_.node(id));
    return it->second;
  }

  Step FindStep(const Node& node) const {
    OptionalNodeId maker;
    for (size_t i = 0; i < node.inputs.size() && !maker; ++i) {
      if (const OptionalValueId input = node.inputs[i]) maker = model_.value(*input).producer;
    }
    if (!maker) return {kNone, true};
    const Node& before = model_.node(*maker);
    if (before.op_type == "Transpose" && before.input(0)) {
      const Fact* x = inference_.FactOf(before.input(0));
      if (x == nullptr || !ShapeOf(*x).ranked()) return {kNone, true};
      if (ChangesOrder(before, x->shape)) return {kNone, false};
      return {maker, true};
    }
    if (before.op_type == "Slice" || before.op_type == "Split") return {kNone, false};
    const bool keeps = std::find(std::begin(kKeepOrder), std::end(kKeepOrder), before.op_type) !=
                       std::end(kKeepOrder);
    return {keeps ? maker : OptionalNodeId(), true};
  }

  const Inference& inference_;
  const ModelData& model_;
  absl::flat_hash_map<NodeId, Step> known_;
};

}  // namespace

void FindContiguous(const Evidence& evidence, TorchTrace* trace) {
  Finder finder(evidence);
  for (TorchCall& call : trace->calls) {
    if (call.op != Aten::kLinear || !call.has_bias) continue;
    call.is_contiguous = finder.IsContiguous(evidence.entry(call.main).node);
  }
}

}  // namespace onnxflops::convention
