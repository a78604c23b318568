#include "src/exporter/packed_projection.h"

#include "absl/types/span.h"

namespace onnxflops::exporter {

bool IsPackedProjection(const Node& node) {
  constexpr int64_t kOrder[] = {3, 1, 2, 0, 4};  // unsqueeze(0).transpose(0, -2).squeeze(-2)
  const Attribute* perm = node.FindAttribute("perm");
  return perm != nullptr && perm->ints == absl::MakeConstSpan(kOrder);
}

}  // namespace onnxflops::exporter
