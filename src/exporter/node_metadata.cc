#include "src/exporter/node_metadata.h"

#include "absl/strings/match.h"

namespace onnxflops::exporter {

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

bool NodeMetadata::IsFusedPad() const {
  return rewriter_rule && absl::StrContains(*rewriter_rule, "FuseConvPad");
}

absl::string_view ClassOfFusedModule(absl::string_view op_type, size_t weight_rank) {
  constexpr struct {
    absl::string_view op_type;
    size_t rank;
    absl::string_view type;
  } kClasses[] = {{"Conv", 3, "Conv1d"},
                  {"Conv", 4, "Conv2d"},
                  {"Conv", 5, "Conv3d"},
                  {"ConvTranspose", 3, "ConvTranspose1d"},
                  {"ConvTranspose", 4, "ConvTranspose2d"},
                  {"ConvTranspose", 5, "ConvTranspose3d"},
                  {"Gemm", 2, "Linear"}};
  for (const auto& c : kClasses) {
    if (c.op_type == op_type && c.rank == weight_rank) return c.type;
  }
  return {};
}

}  // namespace onnxflops::exporter
