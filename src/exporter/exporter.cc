#include "src/exporter/exporter.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/node_name.h"

namespace onnxflops {

Exporter ExporterOf(const ModelData& model) {
  const auto any = [&](const auto& says) {
    return std::any_of(model.nodes.begin(), model.nodes.end(), says);
  };
  if (any([](const Node& node) { return NodeMetadata(node.metadata).StatesCall(); })) {
    return Exporter::kDynamo;
  }
  const bool torch_script = model.producer_name == "pytorch" &&
                            any([](const Node& node) { return absl::StartsWith(node.name, "/"); });
  return torch_script ? Exporter::kTorchScript : Exporter::kOther;
}

bool NamesModules(const ModelData& model) {
  return std::any_of(model.nodes.begin(), model.nodes.end(), [](const Node& node) {
    return !node.metadata.empty() || PathInNodeName(node.name).has_value();
  });
}

}  // namespace onnxflops
