#include "src/profile/layer_info.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "src/base/json_reader.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"

namespace onnxflops {
namespace {

using Json = nlohmann::json;

constexpr absl::string_view kOnnxLayer = "[ONNX Layer: ";

// "[ONNX Layer: conv1]\x1f[ONNX Layer: relu]" -> conv1, relu. Layers are separated by \x1e, \x1f or
// nothing; a name may contain "]".
std::vector<std::string> NodesOf(absl::string_view metadata) {
  std::vector<std::string> nodes;
  for (size_t at = metadata.find(kOnnxLayer); at != absl::string_view::npos;) {
    metadata.remove_prefix(at + kOnnxLayer.size());
    at = metadata.find(kOnnxLayer);
    const absl::string_view name = metadata.substr(0, at);
    nodes.emplace_back(name.substr(0, name.rfind(']')));
  }
  return nodes;
}

const std::string* TextOf(const Json& layer, const char* key) {
  const auto it = layer.find(key);
  return it == layer.end() ? nullptr : it->get_ptr<const std::string*>();
}

}  // namespace

absl::Status AddLayerInfo(absl::string_view json, absl::string_view name, Profile* profile) {
  constexpr int kDeepest = 8;
  const JsonLimits limits = {.bytes = kMaxReportBytes, .nesting = kDeepest};
  const absl::StatusOr<Json> parsed = ParseJson(json, limits);
  if (!parsed.ok()) {
    return WithMessage(parsed.status(),
                       absl::StrCat(Escaped(name), ": ", parsed.status().message()));
  }
  const Json& document = *parsed;
  const auto layers = document.is_object() ? document.find("Layers") : document.end();
  if (!document.is_object() || layers == document.end() || !layers->is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(name),
        ": it should be JSON with \"Layers\", as trtexec writes it with exportLayerInfo"));
  }
  absl::flat_hash_map<absl::string_view, std::vector<std::string>> parts;
  for (const Json& layer : *layers) {
    if (!layer.is_object()) continue;
    const std::string* const of = TextOf(layer, "Name");
    const std::string* const metadata = TextOf(layer, "Metadata");
    if (of == nullptr || metadata == nullptr) continue;
    std::vector<std::string> nodes = NodesOf(*metadata);
    if (!nodes.empty()) parts[*of] = std::move(nodes);
  }
  if (parts.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(Escaped(name),
                                                   ": no layer names its nodes: run trtexec with "
                                                   "profilingVerbosity=detailed"));
  }
  for (ProfileKernel& kernel : profile->kernels) {
    const auto it = parts.find(kernel.name);
    if (it != parts.end()) kernel.parts = it->second;
  }
  return absl::OkStatus();
}

}  // namespace onnxflops
