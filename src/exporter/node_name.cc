#include "src/exporter/node_name.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onnxflops {
namespace {

// "relu_1" -> "relu"; empty if no number is at the end.
absl::string_view WithoutCopyNumber(absl::string_view path) {
  const size_t underscore = path.rfind('_');
  if (underscore == absl::string_view::npos || underscore + 1 == path.size()) return {};
  const bool number = std::all_of(path.begin() + underscore + 1, path.end(), absl::ascii_isdigit);
  return number ? path.substr(0, underscore) : absl::string_view();
}

// `parent` is `head`, or its last parts are.
bool EndsWithPath(absl::string_view parent, absl::string_view head) {
  return absl::EndsWith(parent, head) &&
         (parent.size() == head.size() || parent[parent.size() - head.size() - 1] == '.');
}

}  // namespace

std::optional<absl::string_view> PathInNodeName(absl::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash == absl::string_view::npos) return std::nullopt;
  return name.substr(0, slash);
}

bool IsOutputOfNamedNode(absl::string_view output) { return absl::StartsWith(output, "/"); }

// The TorchScript exporter names a module by the last part of its path that is not a number, and
// the numbers after it: resblocks.0 of visual.transformer is "resblocks.0", and features.0.1 of
// features.0 is "features.0.1", whose beginning repeats the parent. The second call of a module
// gets "_1" after its name.
std::string ModuleOfComponent(absl::string_view parent, absl::string_view component,
                              const KnownModules& modules) {
  std::string path = parent.empty() ? std::string(component) : absl::StrCat(parent, ".", component);
  for (size_t dot = component.rfind('.'); dot != absl::string_view::npos && dot > 0;
       dot = component.rfind('.', dot - 1)) {
    if (!EndsWithPath(parent, component.substr(0, dot))) continue;
    const std::string inside = absl::StrCat(parent, component.substr(dot));
    if (!modules.has_weights(path) || modules.has_weights(inside)) path = inside;
    break;
  }
  const absl::string_view first = WithoutCopyNumber(path);
  if (!first.empty() && modules.is_known(first) && !modules.has_weights(path)) {
    return std::string(first);
  }
  return path;
}

}  // namespace onnxflops
