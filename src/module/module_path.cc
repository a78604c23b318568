#include "src/module/module_path.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/limits.h"

namespace onnxflops {
namespace {

constexpr absl::string_view kScopesKey = "pkg.torch.onnx.name_scopes";
constexpr absl::string_view kClassesKey = "pkg.torch.onnx.class_hierarchy";
constexpr absl::string_view kNamespaceKey = "namespace";
// What the dynamo exporter writes for work that it made up itself.
constexpr absl::string_view kNoStack = "_empty_nn_module_stack";

// The value of `key`; nullptr if there is none. `*at` is where to look first: nodes of one exporter
// have their keys in the same order.
const absl::string_view* FindKey(MetadataProps metadata, absl::string_view key, size_t* at) {
  if (*at < metadata.size() && metadata[*at].first == key) return &metadata[*at].second;
  for (size_t i = 0; i < metadata.size(); ++i) {
    if (metadata[i].first == key) {
      *at = i;
      return &metadata[i].second;
    }
  }
  return nullptr;
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// "torch.nn.modules.conv.Conv2d" -> "Conv2d".
absl::string_view ClassName(absl::string_view qualified) {
  return qualified.substr(qualified.rfind('.') + 1);
}

// A module that is called again is "relu@1" to torch.export.
absl::string_view WithoutCallNumber(absl::string_view path) {
  const size_t at = path.rfind('@');
  return at != absl::string_view::npos && IsNumber(path.substr(at + 1)) ? path.substr(0, at) : path;
}

// A Python list of strings as str() prints it, read from its end: "['', 'visual', 'conv2d']".
class ListFromEnd {
 public:
  explicit ListFromEnd(absl::string_view text) : text_(text) {}

  // What is left of the text: "['', 'visual'" after one step, "" at the end.
  absl::string_view rest() const { return text_; }
  // The last string that is left, escapes as they are: conv2d. Empty if there is none.
  absl::string_view last() const {
    absl::string_view item = text_.substr(SeparatorBefore());
    const size_t quote = item.find_first_of("'\"");
    const size_t end = item.find_last_of("'\"");
    return quote < end && end != absl::string_view::npos ? item.substr(quote + 1, end - quote - 1)
                                                         : absl::string_view();
  }
  void DropLast() { text_ = text_.substr(0, SeparatorBefore()); }

 private:
  // Where the ", '" before the last item begins; 0 if there is none.
  size_t SeparatorBefore() const {
    size_t end = text_.size();
    while (end > 0) {
      const void* comma = memrchr(text_.data(), ',', end);
      if (comma == nullptr) return 0;
      end = static_cast<size_t>(static_cast<const char*>(comma) - text_.data());
      const absl::string_view next = text_.substr(end + 1, 2);
      if (next == " '" || next == " \"") return end;
    }
    return 0;
  }

  absl::string_view text_;
};

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

OptionalModuleId ModulePaths::FromMetadata(MetadataProps metadata) {
  if (metadata.empty()) return kNone;
  if (const absl::string_view* scopes = FindKey(metadata, kScopesKey, &scopes_at_)) {
    const absl::string_view* classes = FindKey(metadata, kClassesKey, &classes_at_);
    return FromScopes(*scopes, classes == nullptr ? absl::string_view() : *classes);
  }
  size_t at = 0;
  const absl::string_view* text = FindKey(metadata, kNamespaceKey, &at);
  if (text == nullptr) return kNone;
  return FromNamespace(*text);
}

bool ModulePaths::IsFusedBatchNorm(MetadataProps metadata) {
  size_t at = 0;
  const absl::string_view* rules = FindKey(metadata, "pkg.onnxscript.rewriter.rule_name", &at);
  return rules != nullptr && absl::StrContains(*rules, "FuseBatchNorm");
}

// A path is known by the text before the operator, "['', 'visual', 'visual.conv1'". What that text
// adds to a shorter one that is known is made module by module.
OptionalModuleId ModulePaths::FromScopes(absl::string_view scopes, absl::string_view classes) {
  if (scopes.size() > kMaxScopesText || classes.size() > kMaxScopesText) {
    cut_ = true;
    return kNone;
  }
  ListFromEnd paths(scopes), types(classes);
  paths.DropLast();
  types.DropLast();
  if (const OptionalModuleId known = by_scopes_.Find(paths.rest())) return *known;
  struct Step {
    absl::string_view key, path, type;
  };
  absl::InlinedVector<Step, 16> steps;  // the deepest first
  ModuleId id = kRootModule;
  while (!paths.rest().empty()) {
    if (const OptionalModuleId known = by_scopes_.Find(paths.rest())) {
      id = *known;
      break;
    }
    steps.push_back({paths.rest(), paths.last(), types.last()});
    paths.DropLast();
    types.DropLast();
  }
  for (; !steps.empty(); steps.pop_back()) {
    const Step& step = steps.back();
    if (!absl::StartsWith(step.path, kNoStack)) {
      id = Intern(WithoutCallNumber(step.path));
      SetTypeIfUnknown(id, ClassName(step.type));
    }
    by_scopes_.Remember(step.key, id);
  }
  return id;
}

OptionalModuleId ModulePaths::FromNamespace(absl::string_view text) {
  if (text.size() > kMaxScopesText) {
    cut_ = true;
    return kNone;
  }
  const size_t slash = text.rfind('/');
  const absl::string_view key = text.substr(0, slash == absl::string_view::npos ? 0 : slash);
  if (const OptionalModuleId known = by_namespace_.Find(key)) return *known;
  ModuleId id = kRootModule;
  for (absl::string_view entry : absl::StrSplit(key, '/')) {
    const size_t colon = entry.find(": ");
    if (colon == absl::string_view::npos || absl::StartsWith(entry, kNoStack)) continue;
    id = Intern(WithoutCallNumber(entry.substr(0, colon)));
    SetTypeIfUnknown(id, ClassName(entry.substr(colon + 2)));
  }
  return by_namespace_.Remember(key, id);
}

OptionalModuleId ModulePaths::FromNodeName(absl::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash == absl::string_view::npos) return kNone;
  const absl::string_view key = name.substr(0, slash);
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
    path = Descend(path, component);
    id = Intern(path);
    if (!cut_) {
      const size_t end = static_cast<size_t>(component.data() + component.size() - key.data());
      by_name_.known.try_emplace(key.substr(0, end), id);
    }
  }
  return by_name_.Remember(key, id);
}

// The TorchScript exporter names a module by the last part of its path that is not a number, and
// the numbers after it: resblocks.0 of visual.transformer is "resblocks.0", and features.0.1 of
// features.0 is "features.0.1", whose beginning repeats the parent. The second call of a module
// gets "_1" after its name.
std::string ModulePaths::Descend(absl::string_view parent, absl::string_view component) {
  const auto join = [&](absl::string_view c) {
    return parent.empty() ? std::string(c) : absl::StrCat(parent, ".", c);
  };
  std::string path = join(component);
  for (size_t dot = component.rfind('.'); dot != absl::string_view::npos && dot > 0;
       dot = component.rfind('.', dot - 1)) {
    const absl::string_view head = component.substr(0, dot);
    const bool repeats =
        absl::EndsWith(parent, head) &&
        (parent.size() == head.size() || parent[parent.size() - head.size() - 1] == '.');
    if (!repeats) continue;
    const std::string inside = absl::StrCat(parent, component.substr(dot));
    if (!HasWeights(path) || HasWeights(inside)) path = inside;
    break;
  }
  const size_t underscore = path.rfind('_');
  if (underscore != std::string::npos && underscore > 0 &&
      IsNumber(absl::string_view(path).substr(underscore + 1))) {
    const absl::string_view first = absl::string_view(path).substr(0, underscore);
    if (ids_.contains(first) && !HasWeights(path)) return std::string(first);
  }
  return path;
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
  const absl::string_view path = Limited(name.substr(0, name.rfind('.')));
  if (const OptionalModuleId known = by_weight_.Find(path)) return *known;
  for (size_t dot = path.find('.'); dot != absl::string_view::npos; dot = path.find('.', dot + 1)) {
    const absl::string_view rest = path.substr(dot + 1);
    if (containers_ || !IsNumber(rest.substr(0, rest.find('.')))) Intern(path.substr(0, dot));
  }
  return by_weight_.Remember(path, Intern(path));
}

}  // namespace onnxflops
