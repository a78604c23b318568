// Names of nodes and of their outputs with the path of a module in them, as PyTorch's TorchScript
// exporter writes them: "/visual/conv1/Conv" runs in visual.conv1. tf2onnx and Keras write the same
// without the first slash: "StatefulPartitionedCall/model/conv1/Conv2D".
#ifndef ONNXFLOPS_SRC_EXPORTER_NODE_NAME_H_
#define ONNXFLOPS_SRC_EXPORTER_NODE_NAME_H_

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace onnxflops::exporter {

// The text before the last slash: "/visual/conv1". nullopt without a slash.
std::optional<absl::string_view> PathInNodeName(absl::string_view name);

// TorchScript names an output by its node: where an optimizer renamed the node, it still says.
bool IsOutputOfNamedNode(absl::string_view output);

// Decides between two possible readings of a name.
struct KnownModules {
  absl::FunctionRef<bool(absl::string_view path)> is_known;     // a module of this path was met
  absl::FunctionRef<bool(absl::string_view path)> has_weights;  // some weight's name begins with it
};

// Writes the path of a module to *path, from a component of a node's name and the parent's path:
// "resblocks.0" in visual.transformer is visual.transformer.resblocks.0.
void ModuleOfComponent(absl::string_view parent, absl::string_view component,
                       const KnownModules& modules, std::string* path);

}  // namespace onnxflops::exporter

#endif  // ONNXFLOPS_SRC_EXPORTER_NODE_NAME_H_
