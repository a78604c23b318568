// How it works. Paths such as "visual.blocks.0" are interned: each gets a number, its text is kept
// once in an arena, and paths beyond the limits stand for a module around them. Paths are found
// three ways, by the exporter's scopes, by node names, by names of weights, and all are on the hot
// path of large graphs. Therefore each way remembers the last answer, and texts share prefixes with
// the one before: scopes are looked up from the whole list to shorter ones until one is known; node
// names keep a stack of steps, and only the components that differ from the last name are followed.
//
// Whether a component of a node's name is a module is decided by the exporter's rules with two
// questions: is the path known, and does any weight lie below it? The index of weights is made at
// the first question.
#include "src/module/module_path.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "src/base/limits.h"
#include "src/exporter/module_scope.h"
#include "src/exporter/node_name.h"
#include "src/exporter/tensor_name.h"

namespace onnxflops::modules {
namespace {

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// The path, cut at the limits of depth and length.
absl::string_view Limited(absl::string_view path) {
  if (path.size() < static_cast<size_t>(kMaxModuleDepth)) return path;  // so many dots at most
  if (static_cast<int64_t>(path.size()) > kMaxModulePath) {
    path = ParentPath(path.substr(0, kMaxModulePath));
  }
  int depth = 1;
  for (size_t dot = path.find('.'); dot != absl::string_view::npos; dot = path.find('.', dot + 1)) {
    if (++depth > kMaxModuleDepth) return path.substr(0, dot);
  }
  return path;
}

// `path` lies below `around`.
bool IsInside(absl::string_view path, absl::string_view around) {
  return around.empty() || (path.size() > around.size() && path[around.size()] == '.' &&
                            absl::StartsWith(path, around));
}

// How many characters two texts begin with in common.
size_t CommonPrefix(absl::string_view a, absl::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t same = 0;
  for (; same + sizeof(uint64_t) <= most; same += sizeof(uint64_t)) {
    if (std::memcmp(a.data() + same, b.data() + same, sizeof(uint64_t)) != 0) break;
  }
  while (same < most && a[same] == b[same]) ++same;
  return same;
}

}  // namespace

bool IsWithin(absl::string_view path, absl::string_view base) {
  return base.empty() ||
         (absl::StartsWith(path, base) && (path.size() == base.size() || path[base.size()] == '.'));
}

absl::string_view ParentPath(absl::string_view path) {
  return exporter::ModuleOfParameter(path).value_or("");
}

absl::string_view CommonPath(absl::string_view a, absl::string_view b) {
  if (IsWithin(b, a)) return a;
  const size_t same = CommonPrefix(a, b);
  if (same == b.size() && a[same] == '.') return b;
  return ParentPath(a.substr(0, same));
}

bool IsParameterPath(absl::string_view name) {
  // Most nodes hand no parameter on, and ask for no name.
  return !name.empty() && static_cast<int64_t>(name.size()) <= kMaxModulePath &&
         exporter::IsParameterName(name);
}

OptionalModuleId ModulePaths::Memo::Find(absl::string_view key, uint32_t hash) {
  const TextMap::OptionalNumber found = known.Find(key, hash);
  if (!found) return kNone;
  last_key = key;
  last = *found;
  return last;
}

ModuleId ModulePaths::Memo::Remember(absl::string_view key, uint32_t hash, ModuleId id) {
  if (!known.Find(key, hash)) known.Insert(key, hash, id);
  last_key = key;
  last = id;
  return id;
}

ModulePaths::ModulePaths(std::vector<absl::string_view> weights, bool containers,
                         size_t max_modules)
    : paths_(1),
      types_(1),
      around_(1),
      weights_(std::move(weights)),
      containers_(containers),
      max_modules_(max_modules),
      max_bytes_(max_modules > kAnyNumber / kMaxModuleBytes ? kAnyNumber
                                                            : max_modules * kMaxModuleBytes) {
  ids_.Insert("", ids_.Hash(""), kRootModule);
}

void ModulePaths::SetTypeIfUnknown(ModuleId id, absl::string_view type) {
  absl::string_view& known = types_[static_cast<size_t>(id)];
  if (known.empty()) known = type;
}

ModuleId ModulePaths::Intern(absl::string_view path, ModuleId around) {
  const uint32_t hash = ids_.Hash(path);
  if (const auto known = ids_.Find(path, hash)) return *known;
  if (const absl::string_view limited = Limited(path); limited.size() < path.size()) {
    cut_ = true;
    return Intern(limited, around);
  }
  if (paths_.size() >= max_modules_ || bytes_ + path.size() > max_bytes_) {
    cut_ = true;
    return LongestKnown(path, around);
  }
  const ModuleId id = static_cast<ModuleId>(paths_.size());
  bytes_ += path.size();
  const absl::Span<char> copy = arena_->Copy(path.data(), path.size());
  paths_.emplace_back(copy.data(), copy.size());
  types_.emplace_back();
  around_.push_back(around);
  ids_.Insert(paths_.back(), hash, id);
  return id;
}

OptionalModuleId ModulePaths::Find(absl::string_view path) const {
  const auto known = ids_.Find(path);
  return known ? OptionalModuleId(*known) : kNone;
}

ModuleId ModulePaths::LongestKnown(absl::string_view path, ModuleId around) const {
  const size_t known_size = this->path(around).size();
  while (path.size() > known_size) {
    if (const auto known = ids_.Find(path)) return *known;
    path = ParentPath(path);
  }
  return around;
}

ModuleId ModulePaths::ParentOf(ModuleId id) const {
  return LongestKnown(ParentPath(path(id)), around_[static_cast<size_t>(id)]);
}

OptionalModuleId ModulePaths::FromMetadata(const exporter::NodeMetadata& metadata) {
  const absl::string_view classes = metadata.class_hierarchy.value_or("");
  const absl::string_view text = metadata.name_scopes.value_or(metadata.name_space.value_or(""));
  if (text.size() > kMaxScopesText || classes.size() > kMaxScopesText) {
    cut_ = true;
    return kNone;
  }
  if (metadata.name_scopes) return FromScopes(exporter::ScopeList(text, classes));
  if (metadata.name_space) return FromScopes(exporter::NamespaceScopes(text));
  return kNone;
}

// Paths are cached by the text before the operator, "['', 'visual', 'visual.conv1'". If a shorter
// text is cached, only its additional modules are made.
template <typename List>
ModuleId ModulePaths::FromScopes(List list) {
  if (by_scopes_.last && list.key() == by_scopes_.last_key) return *by_scopes_.last;
  struct Step {
    absl::string_view key;
    uint32_t hash;
    std::optional<exporter::EnclosingModule> scope;
  };
  absl::InlinedVector<Step, 16> steps;
  ModuleId id = kRootModule;
  for (; !list.empty(); list.DropLast()) {
    const uint32_t hash = by_scopes_.known.Hash(list.key());
    if (const OptionalModuleId known = by_scopes_.Find(list.key(), hash)) {
      id = *known;
      break;
    }
    steps.push_back({list.key(), hash, list.last()});
  }
  for (; !steps.empty(); steps.pop_back()) {
    const auto& [key, hash, scope] = steps.back();
    if (scope) {
      const bool inside = IsInside(scope->path, path(id));
      id = Intern(scope->path, inside ? id : kRootModule);
      SetTypeIfUnknown(id, scope->type);
    }
    by_scopes_.Remember(key, hash, id);
  }
  return id;
}

OptionalModuleId ModulePaths::FromNodeName(absl::string_view name) {
  const std::optional<absl::string_view> path = exporter::PathInNodeName(name);
  if (!path) return kNone;
  if (*path != followed_) Follow(*path);
  return steps_.empty() ? kRootModule : steps_.back().module;
}

void ModulePaths::Follow(absl::string_view text) {
  const size_t common = CommonPrefix(text, followed_);
  const auto leads_there = [&](const Step& step) {
    return step.end <= common && (step.end == text.size() || text[step.end] == '/');
  };
  while (!steps_.empty() && !leads_there(steps_.back())) steps_.pop_back();
  followed_ = text;
  size_t at = steps_.empty() ? 0 : steps_.back().end;
  while (steps_.empty() || !steps_.back().is_cut) {
    while (at < text.size() && text[at] == '/') ++at;
    if (at == text.size()) return;
    if (steps_.size() == static_cast<size_t>(kMaxModuleDepth)) {
      cut_ = true;
      return;
    }
    const absl::string_view component = text.substr(at, text.find('/', at) - at);
    at += component.size();
    const ModuleId parent = steps_.empty() ? kRootModule : steps_.back().module;
    steps_.push_back(StepInto(parent, component, at));
  }
}

ModulePaths::Step ModulePaths::StepInto(ModuleId parent, absl::string_view component, size_t end) {
  const uint32_t hash = by_component_.Hash(component, parent);
  if (const auto known = by_component_.Find(component, hash, parent)) return {end, *known, false};
  const auto is_known = [this](absl::string_view path) { return ids_.Find(path).has_value(); };
  const auto has_weights = [this](absl::string_view path) { return HasWeights(path); };
  exporter::ModuleOfComponent(path(parent), component, {is_known, has_weights}, &scratch_);
  const ModuleId id = Intern(scratch_, parent);
  const bool is_cut = path(id).size() < scratch_.size();
  if (!is_cut) by_component_.Insert(component, hash, id, parent);
  return {end, id, is_cut};
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
  const absl::string_view path = Limited(exporter::ModuleOfParameter(name).value_or(""));
  if (by_weight_.last && path == by_weight_.last_key) return *by_weight_.last;
  const uint32_t hash = by_weight_.known.Hash(path);
  if (const OptionalModuleId known = by_weight_.Find(path, hash)) return *known;
  ModuleId around = kRootModule;
  for (size_t dot = path.find('.'); dot != absl::string_view::npos; dot = path.find('.', dot + 1)) {
    const absl::string_view rest = path.substr(dot + 1);
    if (containers_ || !IsNumber(rest.substr(0, rest.find('.')))) {
      around = Intern(path.substr(0, dot), around);
    }
  }
  return by_weight_.Remember(path, hash, Intern(path, around));
}

std::string WithoutDigits(absl::string_view path) {
  std::string without(path);
  std::erase_if(without, [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  return without;
}

}  // namespace onnxflops::modules
