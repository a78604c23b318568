#include "src/module/module_path.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "src/base/limits.h"
#include "src/exporter/node_name.h"
#include "src/exporter/scope.h"
#include "src/exporter/tensor_name.h"

namespace onnxflops {
namespace {

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// The path, cut where it gets deeper or longer than the limits.
absl::string_view Limited(absl::string_view path) {
  if (static_cast<int64_t>(path.size()) > kMaxModulePath) {
    path = path.substr(0, kMaxModulePath);
    const size_t dot = path.rfind('.');
    path = path.substr(0, dot == absl::string_view::npos ? 0 : dot);
  }
  int depth = 1;
  for (size_t dot = path.find('.'); dot != absl::string_view::npos; dot = path.find('.', dot + 1)) {
    if (++depth > kMaxModuleDepth) return path.substr(0, dot);
  }
  return path;
}

}  // namespace

OptionalModuleId ModulePaths::Memo::Find(absl::string_view key) {
  if (last && key == last_key) return last;
  const auto it = known.find(key);
  if (it == known.end()) return kNone;
  last_key = key;
  last = it->second;
  return last;
}

ModuleId ModulePaths::Memo::Remember(absl::string_view key, ModuleId id) {
  known.emplace(key, id);
  last_key = key;
  last = id;
  return id;
}

ModulePaths::ModulePaths(std::vector<absl::string_view> weights, bool containers,
                         size_t max_modules)
    : weights_(std::move(weights)),
      containers_(containers),
      max_modules_(max_modules),
      max_bytes_(max_modules > kAnyNumber / kMaxModuleBytes ? kAnyNumber
                                                            : max_modules * kMaxModuleBytes) {
  paths_.emplace_back();
  types_.emplace_back();
  ids_.emplace("", kRootModule);
}

void ModulePaths::SetTypeIfUnknown(ModuleId id, absl::string_view type) {
  absl::string_view& known = types_[static_cast<size_t>(id)];
  if (known.empty()) known = type;
}

ModuleId ModulePaths::Intern(absl::string_view path) {
  if (const auto known = ids_.find(path); known != ids_.end()) return known->second;
  if (const absl::string_view limited = Limited(path); limited.size() < path.size()) {
    cut_ = true;
    return Intern(limited);
  }
  if (paths_.size() >= max_modules_ || bytes_ + path.size() > max_bytes_) {
    cut_ = true;
    return LongestKnown(path).value_or(kRootModule);
  }
  const ModuleId id = static_cast<ModuleId>(paths_.size());
  bytes_ += path.size();
  paths_.emplace_back(path);
  types_.emplace_back();
  ids_.emplace(paths_.back(), id);
  return id;
}

OptionalModuleId ModulePaths::Find(absl::string_view path) const {
  const auto it = ids_.find(path);
  if (it == ids_.end()) return kNone;
  return it->second;
}

OptionalModuleId ModulePaths::LongestKnown(absl::string_view path) const {
  path = Limited(path);
  while (!path.empty()) {
    const auto it = ids_.find(path);
    if (it != ids_.end()) return it->second;
    const size_t dot = path.rfind('.');
    path = path.substr(0, dot == absl::string_view::npos ? 0 : dot);
  }
  return kNone;
}

OptionalModuleId ModulePaths::FromMetadata(const NodeMetadata& metadata) {
  const absl::string_view classes = metadata.class_hierarchy.value_or("");
  const absl::string_view text = metadata.name_scopes.value_or(metadata.name_space.value_or(""));
  if (text.size() > kMaxScopesText || classes.size() > kMaxScopesText) {
    cut_ = true;
    return kNone;
  }
  if (metadata.name_scopes) return FromScopes(ScopeList(text, classes));
  if (metadata.name_space) return FromScopes(NamespaceScopes(text));
  return kNone;
}

// A path is known by the text before the operator, "['', 'visual', 'visual.conv1'". What that text
// adds to a shorter one that is known is made module by module.
template <typename List>
ModuleId ModulePaths::FromScopes(List list) {
  if (const OptionalModuleId known = by_scopes_.Find(list.key())) return *known;
  absl::InlinedVector<std::pair<absl::string_view, std::optional<Scope>>, 16> steps;
  ModuleId id = kRootModule;
  for (; !list.empty(); list.DropLast()) {
    if (const OptionalModuleId known = by_scopes_.Find(list.key())) {
      id = *known;
      break;
    }
    steps.emplace_back(list.key(), list.last());
  }
  for (; !steps.empty(); steps.pop_back()) {
    const auto& [key, scope] = steps.back();
    if (scope) {
      id = Intern(scope->path);
      SetTypeIfUnknown(id, scope->type);
    }
    by_scopes_.Remember(key, id);
  }
  return id;
}

OptionalModuleId ModulePaths::FromNodeName(absl::string_view name) {
  const std::optional<absl::string_view> in_name = PathInNodeName(name);
  if (!in_name) return kNone;
  const absl::string_view key = *in_name;
  if (const OptionalModuleId known = by_name_.Find(key)) return *known;
  // What is known of the longest beginning. Where a limit cut a path, names say more than paths.
  size_t begin = 0;
  ModuleId id = kRootModule;
  for (size_t end = cut_ ? absl::string_view::npos : key.rfind('/');
       end != absl::string_view::npos && end > 0; end = key.rfind('/', end - 1)) {
    const auto known = by_name_.known.find(key.substr(0, end));
    if (known == by_name_.known.end()) continue;
    begin = end;
    id = known->second;
    break;
  }
  const auto is_known = [this](absl::string_view module) { return ids_.contains(module); };
  const auto has_weights = [this](absl::string_view module) { return HasWeights(module); };
  const KnownModules known_modules = {is_known, has_weights};
  std::string path(this->path(id));
  int depth = 0;
  for (absl::string_view component : absl::StrSplit(key.substr(0, begin), '/', absl::SkipEmpty())) {
    depth += component.empty() ? 0 : 1;
  }
  for (absl::string_view component : absl::StrSplit(key.substr(begin), '/', absl::SkipEmpty())) {
    if (++depth > kMaxModuleDepth || static_cast<int64_t>(path.size()) > kMaxModulePath) {
      cut_ = true;
      break;
    }
    path = ModuleOfComponent(path, component, known_modules);
    id = Intern(path);
    if (!cut_) {
      const size_t end = static_cast<size_t>(component.data() + component.size() - key.data());
      by_name_.known.try_emplace(key.substr(0, end), id);
    }
  }
  return by_name_.Remember(key, id);
}

bool ModulePaths::HasWeights(absl::string_view path) {
  if (!weights_indexed_) {
    weights_indexed_ = true;
    for (absl::string_view name : weights_) {
      name = Limited(name);
      size_t dot = name.rfind('.');
      // A prefix that is there has its own prefixes there, too.
      while (dot != absl::string_view::npos &&
             weight_prefixes_.insert(name.substr(0, dot)).second) {
        if (dot == 0) break;
        dot = name.rfind('.', dot - 1);
      }
    }
  }
  return weight_prefixes_.contains(path);
}

ModuleId ModulePaths::FromWeight(absl::string_view name) {
  const absl::string_view path = Limited(ModuleOfParameter(name).value_or(""));
  if (const OptionalModuleId known = by_weight_.Find(path)) return *known;
  for (size_t dot = path.find('.'); dot != absl::string_view::npos; dot = path.find('.', dot + 1)) {
    const absl::string_view rest = path.substr(dot + 1);
    if (containers_ || !IsNumber(rest.substr(0, rest.find('.')))) Intern(path.substr(0, dot));
  }
  return by_weight_.Remember(path, Intern(path));
}

}  // namespace onnxflops
