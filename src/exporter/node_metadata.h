// The metadata that PyTorch's exporters write to a node, by key:
//
//   pkg.torch.onnx.name_scopes          ['', 'visual', 'visual.conv1', 'conv2d']
//   pkg.torch.onnx.class_hierarchy      ['m.CLIP', 'm.Vision', 'nn.Conv2d', 'aten.conv2d.default']
//   namespace                           : m.CLIP/visual: m.Vision/conv2d: aten.conv2d.default
//   pkg.torch.onnx.fx_node              %conv2d : [num_users=1] = call_function[target=...](...)
//   pkg.torch.onnx.stack_trace          see source_line.h
//   pkg.onnxscript.rewriter.rule_name   the optimiser's rule that made the node
#ifndef ONNXFLOPS_SRC_EXPORTER_NODE_METADATA_H_
#define ONNXFLOPS_SRC_EXPORTER_NODE_METADATA_H_

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onnxflops::exporter {

inline constexpr absl::string_view kNameScopesKey = "pkg.torch.onnx.name_scopes";
inline constexpr absl::string_view kClassHierarchyKey = "pkg.torch.onnx.class_hierarchy";
inline constexpr absl::string_view kNamespaceKey = "namespace";
inline constexpr absl::string_view kFxNodeKey = "pkg.torch.onnx.fx_node";
inline constexpr absl::string_view kStackTraceKey = "pkg.torch.onnx.stack_trace";
inline constexpr absl::string_view kRewriterRuleKey = "pkg.onnxscript.rewriter.rule_name";

using MetadataProps = absl::Span<const std::pair<absl::string_view, absl::string_view>>;

// The values, as written; nullopt if the node has no such key.
struct NodeMetadata {
  explicit NodeMetadata(MetadataProps props);

  std::optional<absl::string_view> name_scopes, class_hierarchy, name_space, fx_node, stack_trace,
      rewriter_rule;

  // True if the dynamo exporter named the node's call of PyTorch.
  bool StatesCall() const;
  // The optimiser fused a convolution and its BatchNorm into this node. Its metadata are then those
  // of the BatchNorm, and only the weight's name shows the convolution.
  bool IsFusedBatchNorm() const;
  // It made the node of a Pad and a convolution.
  bool IsFusedPad() const;
};

// The class of the module to which a weight of this many dimensions at such a node belongs:
// "Conv2d"; empty if the operator does not show it.
absl::string_view ClassOfFusedModule(absl::string_view op_type, size_t weight_rank);

}  // namespace onnxflops::exporter

#endif  // ONNXFLOPS_SRC_EXPORTER_NODE_METADATA_H_
