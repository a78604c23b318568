// How it works. Two sources tell which nodes were one call of PyTorch. A dynamo export has the text
// of the call at each node: equal texts are one group, unless one of the nodes is a product of a
// call without a derivative of its own (bilinear has one). In TorchScript's files groups are found
// by patterns such as "Mul(x, Sigmoid(x))": the match goes from the last operator back to its
// inputs, tries both orders of arguments where "*" allows it, and binds names to values. A match
// counts only if nothing else reads its inner values, and if it takes whole calls where calls are
// stated.
//
// A group knows its last node, at which it is treated, and whether it is a module of its own: all
// nodes under its path and no others. Values that only nodes of one group read are inner ones,
// which PyTorch does not keep.
#include "src/memory/call_groups.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/op_def.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/node_name.h"

namespace onnxflops::memory {
namespace {

// "Mul(x, Sigmoid(x))": "Mul", and "x" and "Sigmoid(x)". Of "x", no arguments.
std::pair<absl::string_view, std::vector<absl::string_view>> Parts(absl::string_view text) {
  const size_t open = text.find('(');
  if (open == absl::string_view::npos) return {text, {}};
  std::vector<absl::string_view> arguments;
  size_t begin = open + 1;
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if ((text[i] == ',' && depth == 0) || (text[i] == ')' && depth == 0)) {
      arguments.push_back(absl::StripAsciiWhitespace(text.substr(begin, i - begin)));
      begin = i + 1;
    } else if (text[i] == ')') {
      --depth;
    }
  }
  return {text.substr(0, open), std::move(arguments)};
}

absl::string_view LastOperatorOf(absl::string_view pattern) {
  absl::ConsumePrefix(&pattern, "rows=");
  absl::string_view name = pattern.substr(0, pattern.find('('));
  absl::ConsumeSuffix(&name, "*");
  return name;
}

}  // namespace

// The values and nodes that a pattern's names matched.
struct CallGroups::Match {
  const CallPattern* pattern = nullptr;
  absl::flat_hash_map<absl::string_view, ValueId> bound;
  absl::btree_set<size_t> places;
  OptionalValueId rows;
};

CallGroups::CallGroups(const Inference& inference, const Instance& instance)
    : in_(inference), model_(*inference.model), graph_(model_.graph(instance.graph)) {
  absl::flat_hash_map<absl::string_view, int32_t> ids;
  group_.assign(graph_.nodes.size(), -1);
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = model_.node(graph_.nodes[i]);
    place_[graph_.nodes[i]] = i;
    const exporter::NodeMetadata metadata(node.metadata);
    const OpDef* row = in_.call(instance.calls[i]).def;
    if (row != nullptr && Has(row->traits, Traits::kStored)) continue;
    names_.push_back(node.name);
    if (!metadata.fx_node) continue;
    group_[i] = ids.emplace(*metadata.fx_node, static_cast<int32_t>(ids.size())).first->second;
  }
  outputs_.insert(graph_.outputs.begin(), graph_.outputs.end());
  FindReaders();
  std::sort(names_.begin(), names_.end());
  state_calls_ = !ids.empty();
  std::vector<bool> has_product(ids.size(), false);
  for (size_t i = 0; i < group_.size(); ++i) {
    const OpDef* def = in_.call(instance.calls[i]).def;
    const bool product = def == nullptr || def->gradient.products != 0;
    if (group_[i] < 0 || !product) continue;
    const exporter::NodeMetadata metadata(model_.node(graph_.nodes[i]).metadata);
    const bool has_own_gradient = exporter::KeptByCall(*metadata.fx_node).has_value();
    if (!has_own_gradient) has_product[static_cast<size_t>(group_[i])] = true;
  }
  size_.assign(ids.size(), 0);
  for (int32_t& group : group_) {
    if (group >= 0 && has_product[static_cast<size_t>(group)]) group = -1;
    if (group >= 0) ++size_[static_cast<size_t>(group)];
  }
  for (const CallPattern& pattern : CallPatterns()) {
    if (state_calls_ && !pattern.in_any_export) continue;
    const absl::string_view last = LastOperatorOf(pattern.operators);
    for (size_t i = 0; i < group_.size(); ++i) {
      if (model_.node(graph_.nodes[i]).op_type != last) continue;
      const int opset = in_.call(instance.calls[i]).opset;
      if (pattern.before_opset == 0 || opset < pattern.before_opset) TryPattern(pattern, i);
    }
  }
  members_.resize(size_.size());
  for (size_t i = 0; i < group_.size(); ++i) {
    if (group_[i] >= 0) members_[static_cast<size_t>(group_[i])].push_back(i);
  }
  FindInner();
}

// Nodes with unused results are not readers, such as a skipped Identity.
void CallGroups::FindReaders() {
  for (size_t i = graph_.nodes.size(); i-- > 0;) {
    const Node& node = model_.node(graph_.nodes[i]);
    const bool is_used =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](OptionalValueId value) {
          return value && (outputs_.contains(*value) || readers_.contains(*value) ||
                           model_.graphs.size() > 1);
        });
    if (!is_used) continue;
    for (OptionalValueId value : node.inputs) {
      if (value) readers_[*value].push_back(i);
    }
  }
}

const CallPattern* CallGroups::PatternOf(size_t place) const {
  const auto found = found_.find(group_[place]);
  return found == found_.end() ? nullptr : found->second.pattern;
}
bool CallGroups::IsLast(size_t place) const { return found_.at(group_[place]).last == place; }
ValueId CallGroups::InputOf(size_t place) const { return found_.at(group_[place]).input; }
ValueId CallGroups::OtherOf(size_t place) const { return found_.at(group_[place]).other; }
ValueId CallGroups::RowsOf(size_t place) const { return found_.at(group_[place]).rows; }

// Makes a group of the nodes that match; `last` is the node of the result.
void CallGroups::TryPattern(const CallPattern& pattern, size_t last) {
  const Node& node = model_.node(graph_.nodes[last]);
  if (IsTaken(pattern, last) || node.outputs.size() != 1 || !node.output(0)) return;
  Match match;
  match.pattern = &pattern;
  if (!MatchValue(pattern.operators, *node.output(0), &match)) return;
  if (!IsClosed(match, last) || !TakesWholeCalls(match)) return;
  const auto group = static_cast<int32_t>(size_.size());
  if (pattern.keeps == CallPattern::Keeps::kWritten) match.places = {last};
  for (size_t place : match.places) {
    if (group_[place] >= 0) size_[static_cast<size_t>(group_[place])] = 0;
    group_[place] = group;
  }
  size_.push_back(static_cast<int32_t>(match.places.size()));
  const auto other = match.bound.find("y");
  found_[group] = {&pattern,
                   last,
                   match.bound.at("x"),
                   other == match.bound.end() ? 0 : other->second,
                   match.rows.value_or(0),
                   AreModule(match)};
}

// True if the place belongs to a call already. A pattern marked in_any_export may claim places of
// stated calls, because torch.export writes it as several calls; for it only groups found by
// patterns count.
bool CallGroups::IsTaken(const CallPattern& pattern, size_t place) const {
  if (group_[place] < 0) return false;
  return !pattern.in_any_export || found_.contains(group_[place]);
}

bool CallGroups::TakesWholeCalls(const Match& match) const {
  absl::flat_hash_map<int32_t, int32_t> taken;
  for (size_t place : match.places) {
    if (group_[place] >= 0) ++taken[group_[place]];
  }
  return std::all_of(taken.begin(), taken.end(), [&](const auto& group) {
    return size_[static_cast<size_t>(group.first)] == group.second;
  });
}

bool CallGroups::AreModule(const Match& match) const {
  const auto path_of = [&](size_t place) {
    return exporter::PathInNodeName(model_.node(graph_.nodes[place]).name).value_or("");
  };
  const absl::string_view path = path_of(*match.places.begin());
  if (path.empty()) return false;
  for (size_t place : match.places) {
    if (path_of(place) != path) return false;
  }
  const auto is_inside = [&](absl::string_view name) {
    return absl::ConsumePrefix(&name, path) && absl::StartsWith(name, "/");
  };
  // Names that begin with the path and a slash are consecutive.
  const std::string first = absl::StrCat(path, "/");
  auto at = std::lower_bound(names_.begin(), names_.end(), absl::string_view(first));
  size_t inside = 0;
  while (at != names_.end() && inside <= match.places.size() && is_inside(*at)) ++at, ++inside;
  return inside == match.places.size();
}

bool CallGroups::MatchValue(absl::string_view text, ValueId value, Match* match) const {
  if (absl::ConsumePrefix(&text, "rows=")) match->rows = value;
  auto [name, arguments] = Parts(text);
  const bool any_order = absl::ConsumeSuffix(&name, "*");
  if (arguments.empty()) {
    if (name == "k") {
      const Fact* fact = in_.FactOf(value);
      return model_.value(value).initializer ||
             (fact != nullptr && (fact->constant || fact->from_shapes));
    }
    return match->bound.emplace(name, value).first->second == value;
  }
  const OptionalNodeId maker = model_.value(value).producer;
  const auto place = maker ? place_.find(*maker) : place_.end();
  if (place == place_.end() || IsTaken(*match->pattern, place->second)) return false;
  const Node& node = model_.node(*maker);
  if (node.op_type != name || !node.domain.empty()) return false;
  if (!MatchArguments(arguments, node, any_order, match)) return false;
  match->places.insert(place->second);
  return true;
}

bool CallGroups::MatchArguments(const std::vector<absl::string_view>& arguments, const Node& node,
                                bool any_order, Match* match) const {
  const auto in_order = [&](bool swapped) {
    const Match before = *match;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const OptionalValueId input = node.input(swapped ? arguments.size() - 1 - i : i);
      if (input && MatchValue(arguments[i], *input, match)) continue;
      *match = before;
      return false;
    }
    return true;
  };
  return in_order(false) || (any_order && in_order(true));
}

// Nothing but the result is used elsewhere.
bool CallGroups::IsClosed(const Match& match, size_t last) const {
  for (size_t place : match.places) {
    if (place == last) continue;
    for (OptionalValueId value : model_.node(graph_.nodes[place]).outputs) {
      if (!value) continue;
      if (outputs_.contains(*value)) return false;
      const auto readers = readers_.find(*value);
      if (readers == readers_.end()) continue;
      for (size_t reader : readers->second) {
        if (!match.places.contains(reader)) return false;
      }
    }
  }
  return true;
}

void CallGroups::FindInner() {
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (group_[i] < 0) continue;
    for (OptionalValueId value : model_.node(graph_.nodes[i]).outputs) {
      const auto readers = value ? readers_.find(*value) : readers_.end();
      if (readers == readers_.end() || outputs_.contains(*value)) continue;
      const bool inside = std::all_of(readers->second.begin(), readers->second.end(),
                                      [&](size_t reader) { return group_[reader] == group_[i]; });
      if (inside) inner_.insert(*value);
    }
  }
}

}  // namespace onnxflops::memory
