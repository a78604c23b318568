#include "src/exporter/causal_mask.h"

#include "absl/strings/string_view.h"

namespace onnxflops::exporter {

bool IsCausalMask(const ModelData& model, ValueId value) {
  constexpr absl::string_view kOperators[] = {"Where", "Equal", "Trilu", "Expand"};
  OptionalValueId at = value;
  for (absl::string_view op : kOperators) {
    const OptionalNodeId maker = at ? model.value(*at).producer : kNone;
    if (!maker || model.node(*maker).op_type != op) return false;
    at = model.node(*maker).input(0);
  }
  return true;
}

}  // namespace onnxflops::exporter
