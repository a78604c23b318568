#include "src/resolve/body_map.h"

namespace onnxflops::resolve {

BodyMap BodyMapOf(const Node& node, const OpDef* def, int64_t opset, const Graph& body) {
  BodyMap map;
  if (def == nullptr) return map;  // a function: one to one
  switch (def->control_flow) {
    case ControlFlow::kNone:  // an operator with modifiers: FlexAttention
      map.takes_inputs = false;
      map.on_scores = def->gradient.weighs_scores;
      break;
    case ControlFlow::kSequence:
      break;
    case ControlFlow::kIf:
      map.takes_inputs = false;
      break;
    case ControlFlow::kLoop:  // (trips, condition, v...) runs (number, condition, v...)
      map.first_output = 1;
      map.carried_out = 1;
      map.carried_in = 2;
      map.carried = body.inputs.size() < 2 ? 0 : body.inputs.size() - 2;
      break;
    case ControlFlow::kScan: {
      const Attribute* scans = node.FindAttribute("num_scan_inputs");
      const size_t inputs = body.inputs.size();
      const auto scanned = static_cast<size_t>(scans == nullptr || scans->i < 0 ? 0 : scans->i);
      map.first_input = opset < 9 ? 1 : 0;  // then there are sequence_lens first
      map.carried = scanned > inputs ? 0 : inputs - scanned;
      break;
    }
  }
  return map;
}

}  // namespace onnxflops::resolve
