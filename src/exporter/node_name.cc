#include "src/exporter/node_name.h"

#include <cstddef>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/find_last.h"

namespace onnxflops::exporter {
namespace {

// "relu_1" -> "relu"; empty if no number is at the end.
absl::string_view WithoutCopyNumber(absl::string_view path) {
  size_t end = path.size();
  while (end > 0 && absl::ascii_isdigit(static_cast<unsigned char>(path[end - 1]))) --end;
  const bool numbered = end > 0 && end < path.size() && path[end - 1] == '_';
  return numbered ? path.substr(0, end - 1) : absl::string_view();
}

// `parent` is `head`, or its last parts are.
bool EndsWithPath(absl::string_view parent, absl::string_view head) {
  return absl::EndsWith(parent, head) &&
         (parent.size() == head.size() || parent[parent.size() - head.size() - 1] == '.');
}

}  // namespace

std::optional<absl::string_view> PathInNodeName(absl::string_view name) {
  const size_t slash = FindLast(name, '/');
  if (slash == absl::string_view::npos) return std::nullopt;
  return name.substr(0, slash);
}

bool IsOutputOfNamedNode(absl::string_view output) { return absl::StartsWith(output, "/"); }

// The TorchScript exporter names a module by the last part of its path that is not a number, and
// the numbers after it: resblocks.0 of visual.transformer is "resblocks.0", and features.0.1 of
// features.0 is "features.0.1", whose beginning repeats the parent. The second call of a module
// gets "_1" after its name.
void ModuleOfComponent(absl::string_view parent, absl::string_view component,
                       const KnownModules& modules, std::string* path) {
  path->assign(parent.data(), parent.size());
  if (!parent.empty()) path->push_back('.');
  path->append(component.data(), component.size());
  for (size_t dot = component.rfind('.'); dot != absl::string_view::npos && dot > 0;
       dot = component.rfind('.', dot - 1)) {
    if (!EndsWithPath(parent, component.substr(0, dot))) continue;
    const std::string inside = absl::StrCat(parent, component.substr(dot));
    if (!modules.has_weights(*path) || modules.has_weights(inside)) *path = inside;
    break;
  }
  const absl::string_view first = WithoutCopyNumber(*path);
  if (!first.empty() && modules.is_known(first) && !modules.has_weights(*path)) {
    path->resize(first.size());
  }
}

}  // namespace onnxflops::exporter
