#include "src/exporter/exporter.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/node_name.h"

namespace onnxflops::exporter {
namespace {

constexpr absl::string_view kPyTorch = "pytorch";  // as a producer

}  // namespace

Exporter ExporterOf(const ModelData& model) {
  const auto any = [&](const auto& says) {
    return std::any_of(model.nodes.begin(), model.nodes.end(), says);
  };
  if (any([](const Node& node) { return NodeMetadata(node.metadata).StatesCall(); })) {
    return Exporter::kDynamo;
  }
  const bool torch_script = model.producer_name == kPyTorch &&
                            any([](const Node& node) { return absl::StartsWith(node.name, "/"); });
  return torch_script ? Exporter::kTorchScript : Exporter::kOther;
}

bool IsOwnGraph(const ModelData& model) { return model.producer_name == "onnxflops"; }

std::optional<TorchRelease> TorchReleaseOf(const ModelData& model) {
  if (model.producer_name != kPyTorch) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(model.producer_version, '.');
  TorchRelease release;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &release.first) ||
      !absl::SimpleAtoi(parts[1], &release.second)) {
    return std::nullopt;
  }
  return release;
}

bool NamesModules(const ModelData& model) {
  const auto names = [](const Node& node) {
    return !node.metadata.empty() || PathInNodeName(node.name).has_value();
  };
  return std::any_of(model.nodes.begin(), model.nodes.end(), names) ||
         std::any_of(model.inlined.begin(), model.inlined.end(), names);
}

}  // namespace onnxflops::exporter
