#include "src/exporter/node_metadata.h"

#include "absl/strings/match.h"

namespace onnxflops {

NodeMetadata::NodeMetadata(MetadataProps props) {
  for (const auto& [key, value] : props) {
    if (key == kNameScopesKey) {
      name_scopes = value;
    } else if (key == kClassHierarchyKey) {
      class_hierarchy = value;
    } else if (key == kNamespaceKey) {
      name_space = value;
    } else if (key == kFxNodeKey) {
      fx_node = value;
    } else if (key == kStackTraceKey) {
      stack_trace = value;
    } else if (key == kRewriterRuleKey) {
      rewriter_rule = value;
    }
  }
}

bool NodeMetadata::StatesCall() const {
  return name_scopes && !name_scopes->empty() && class_hierarchy && !class_hierarchy->empty();
}

bool NodeMetadata::IsFusedBatchNorm() const {
  return rewriter_rule && absl::StrContains(*rewriter_rule, "FuseBatchNorm");
}

}  // namespace onnxflops
