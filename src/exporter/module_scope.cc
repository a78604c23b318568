#include "src/exporter/module_scope.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace onnxflops::exporter {
namespace {

// "torch.nn.modules.conv.Conv2d" -> "Conv2d".
absl::string_view ClassName(absl::string_view qualified) {
  return qualified.substr(qualified.rfind('.') + 1);
}

// A module that is called again is "relu@1" to torch.export.
absl::string_view WithoutCallNumber(absl::string_view path) {
  const size_t at = path.rfind('@');
  if (at == absl::string_view::npos || at + 1 == path.size()) return path;
  const bool number = std::all_of(path.begin() + at + 1, path.end(), absl::ascii_isdigit);
  return number ? path.substr(0, at) : path;
}

std::optional<EnclosingModule> ModuleOf(absl::string_view path, absl::string_view qualified_class) {
  // The exporter writes this for nodes that it added itself.
  if (absl::StartsWith(path, "_empty_nn_module_stack")) return std::nullopt;
  return EnclosingModule{WithoutCallNumber(path), ClassName(qualified_class)};
}

}  // namespace

std::optional<EnclosingModule> ScopeList::last() const {
  return ModuleOf(paths_.last(), types_.last());
}

std::optional<EnclosingModule> NamespaceScopes::last() const {
  absl::string_view entry = text_.substr(LastEntry());
  if (absl::StartsWith(entry, "/")) entry.remove_prefix(1);
  const size_t colon = entry.find(": ");
  if (colon == absl::string_view::npos) return std::nullopt;
  return ModuleOf(entry.substr(0, colon), entry.substr(colon + 2));
}

size_t NamespaceScopes::LastEntry() const {
  const size_t slash = text_.rfind('/');
  return slash == absl::string_view::npos ? 0 : slash;
}

bool IsOnnxscriptFunction(absl::string_view domain) {
  return absl::StrContains(domain, "onnxscript");
}

absl::string_view ClassOfFunction(absl::string_view name) {
  size_t end = name.size();
  while (end > 0 && absl::ascii_isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
  return end > 1 && end < name.size() && name[end - 1] == '.' ? name.substr(0, end - 1) : name;
}

}  // namespace onnxflops::exporter
