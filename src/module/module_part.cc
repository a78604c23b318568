// How it works. Patterns select modules. If one selected module is inside another, only the outer
// one counts, so that nothing is counted twice. If a part of a module is excluded, its other parts
// are selected instead, with the module's own nodes, which have no row in the tree if they cost
// nothing. One selected module becomes the root of the new tree; several get a root that is their
// sum. The tree has only the amounts of modules. Everything else in a report (operators, coverage,
// numbers of nodes) is counted from the executions whose module lies inside. If nothing matches,
// the error suggests the paths that share most characters with the pattern at both ends.
#include "src/module/module_part.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/glob.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/cost/amounts_sum.h"
#include "src/count/tally_sum.h"
#include "src/module/attribution.h"

namespace onnxflops {
namespace {

constexpr size_t kMaxSuggestions = 5;

// How many characters two names share at the beginning and at the end.
size_t Likeness(absl::string_view a, absl::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t begin = 0, end = 0;
  while (begin < most && a[begin] == b[begin]) ++begin;
  while (end < most - begin && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
  return begin + end;
}

// Less is more alike: how many characters differ, then how many do not. nullopt if more than half
// of them differ.
using Difference = std::pair<size_t, int64_t>;
std::optional<Difference> DifferenceOf(absl::string_view a, absl::string_view b) {
  const size_t longer = std::max(a.size(), b.size());
  const size_t likeness = Likeness(a, b);
  if (2 * likeness < longer) return std::nullopt;
  return Difference(longer - likeness, -static_cast<int64_t>(likeness));
}

// The end of a path that has as many names as `like`: a module may be called by it.
absl::string_view EndOf(absl::string_view path, absl::string_view like) {
  auto names = 1 + std::count(like.begin(), like.end(), '.');
  for (size_t i = path.size(); i-- > 0;) {
    if (path[i] == '.' && --names == 0) return path.substr(i + 1);
  }
  return path;
}

absl::Status NoSuchModule(const std::vector<Module>& modules, absl::string_view glob) {
  std::vector<std::pair<Difference, const Module*>> similar;
  for (const Module& m : modules) {
    if (m.path.empty() || m.own) continue;
    std::optional<Difference> difference = DifferenceOf(m.path, glob);
    if (!difference) difference = DifferenceOf(EndOf(m.path, glob), glob);
    if (difference) similar.emplace_back(*difference, &m);
  }
  const bool found = !similar.empty();
  for (const Module& m : modules) {
    if (!found && m.depth == 1) similar.emplace_back(Difference(), &m);
  }
  std::stable_sort(similar.begin(), similar.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (similar.size() > kMaxSuggestions) similar.resize(kMaxSuggestions);
  std::string message = absl::StrCat("no module is called ", Quoted(glob));
  if (!similar.empty()) {
    absl::StrAppend(&message, found ? "; similar: " : "; modules are ",
                    absl::StrJoin(similar, ", ", [](std::string* out, const auto& item) {
                      absl::StrAppend(out, Quoted(item.second->path));
                    }));
  }
  if (absl::StrContains(glob, '[') || absl::StrContains(glob, '{')) {
    absl::StrAppend(&message, "; only * and ? stand for other characters");
  }
  return absl::NotFoundError(message);
}

// Appends a module with everything inside it. A module's own work is a row of the tree, but not a
// module.
void Append(const ModuleTree& tree, int32_t from, int32_t parent, ModulePart* part) {
  const Module& top = tree.modules[static_cast<size_t>(from)];
  const auto to = static_cast<int32_t>(part->modules.size());
  const int32_t depth = parent < 0 ? 0 : 1;
  for (int32_t i = from; i < top.end; ++i) {
    Module& m = part->modules.emplace_back(tree.modules[static_cast<size_t>(i)]);
    m.parent = i == from ? parent : m.parent - from + to;
    m.depth += depth - top.depth;
    m.end += to - from;
    part->place[static_cast<size_t>(i)] = i - from + to;
    const Module& whole = tree.modules[static_cast<size_t>(i)];
    part->paths.insert(whole.own ? tree.modules[static_cast<size_t>(whole.parent)].path
                                 : whole.path);
  }
  Module& moved = part->modules[static_cast<size_t>(to)];
  moved.name_begin = 0;  // its parent is not shown
}

// Patterns of modules to count, and of those to leave out.
struct Patterns {
  std::vector<std::string> wanted, excluded;
};

bool MatchesAny(const std::vector<std::string>& globs, const Module& m) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return MatchesGlob(glob, m.path); });
}

// The towers of a CLIP by the names that papers and open_clip use. open_clip
// has the layers of the text tower in the root, next to the module of the image
// tower. Hugging Face has two models, each with a projection next to it, which
// belongs to the tower. "!text" is what is left without it.
std::string TowerOf(const std::vector<Module>& modules, absl::string_view globs) {
  absl::string_view tower = globs;
  if (absl::ConsumePrefix(&tower, "!") && (tower == "text" || tower == "visual")) {
    std::vector<std::string> inverse = absl::StrSplit(TowerOf(modules, tower), ',');
    for (std::string& glob : inverse) glob = glob[0] == '!' ? glob.substr(1) : "!" + glob;
    return absl::StrJoin(inverse, ",");
  }
  const auto is_there = [&](absl::string_view glob) {
    return std::any_of(modules.begin() + 1, modules.end(),
                       [&](const Module& m) { return MatchesPath(glob, m.path, /*exact=*/false); });
  };
  if ((globs != "text" && globs != "visual") || is_there(globs)) return std::string(globs);
  const bool is_text = globs == "text";
  if (is_there("text_model") && is_there("vision_model")) {
    const char* const projection = is_text ? "text_projection" : "visual_projection";
    return absl::StrCat(is_text ? "text_model" : "vision_model",
                        is_there(projection) ? absl::StrCat(",", projection) : "");
  }
  return is_text && is_there("visual") ? "!visual" : std::string(globs);
}

// The same for each name of a list. What is left without a module is in none.
absl::StatusOr<std::string> WithTowers(const std::vector<Module>& modules,
                                       absl::string_view globs) {
  if (!absl::StrContains(globs, ',')) return TowerOf(modules, globs);
  std::vector<std::string> words = absl::StrSplit(globs, ',');
  for (std::string& word : words) {
    const std::string name(absl::StripAsciiWhitespace(word));
    word = TowerOf(modules, name);
    if (name == word || !absl::StartsWith(word, "!") || absl::StartsWith(name, "!")) continue;
    return absl::NotFoundError(absl::StrCat(Quoted(name), " is all that is outside ",
                                            Quoted(word.substr(1)),
                                            " here, and stands alone, not in a list"));
  }
  return absl::StrJoin(words, ",");
}

absl::StatusOr<Patterns> ReadPatterns(const std::vector<Module>& modules, absl::string_view given) {
  Patterns patterns;
  ASSIGN_OR_RETURN(const std::string globs, WithTowers(modules, given));
  for (absl::string_view word : absl::StrSplit(globs, ',', absl::SkipWhitespace())) {
    word = absl::StripAsciiWhitespace(word);
    const bool excludes = absl::ConsumePrefix(&word, "!");
    if (word.empty()) return NoSuchModule(modules, word);
    const auto found = [&](const std::string& glob) {
      return std::any_of(modules.begin() + 1, modules.end(),
                         [&](const Module& m) { return MatchesGlob(glob, m.path); });
    };
    std::string glob(word);
    if (!found(glob)) glob = absl::StrCat("*.", word);
    if (!found(glob)) return NoSuchModule(modules, word);
    (excludes ? patterns.excluded : patterns.wanted).push_back(std::move(glob));
  }
  if (patterns.wanted.empty() && patterns.excluded.empty()) return NoSuchModule(modules, globs);
  if (patterns.wanted.empty()) patterns.wanted.emplace_back("*");
  return patterns;
}

// For each module, whether it or a part of it is excluded.
std::vector<bool> Reduced(const std::vector<Module>& modules, const Patterns& patterns) {
  std::vector<bool> reduced(modules.size(), false);
  for (size_t i = modules.size(); i-- > 1;) {
    reduced[i] = reduced[i] || MatchesAny(patterns.excluded, modules[i]);
    if (reduced[i]) reduced[static_cast<size_t>(modules[i].parent)] = true;
  }
  return reduced;
}

struct Selection {
  std::vector<int32_t> whole;    // the outermost modules that are wanted whole
  std::vector<int32_t> divided;  // selected except for a part: their own nodes are in the part
};

Selection Select(const std::vector<Module>& modules, const Patterns& patterns) {
  const std::vector<bool> reduced = Reduced(modules, patterns);
  Selection selection;
  int32_t wanted_until = 0;
  const auto size = static_cast<int32_t>(modules.size());
  if (reduced[0] && MatchesAny(patterns.wanted, modules[0])) selection.divided.push_back(0);
  for (int32_t i = 1; i < size;) {
    const Module& m = modules[static_cast<size_t>(i)];
    const bool excluded = MatchesAny(patterns.excluded, m);
    const bool wanted = !excluded && (i < wanted_until || MatchesAny(patterns.wanted, m));
    const bool whole = wanted && !reduced[static_cast<size_t>(i)];
    if (wanted) (whole ? selection.whole : selection.divided).push_back(i);
    if (wanted) wanted_until = std::max(wanted_until, m.end);
    i = excluded || whole ? m.end : i + 1;
  }
  return selection;
}

}  // namespace

absl::StatusOr<ModulePart> SelectModules(const ModuleTree& tree, absl::string_view globs) {
  ASSIGN_OR_RETURN(const Patterns patterns, ReadPatterns(tree.modules, globs));
  const auto [selected, divided] = Select(tree.modules, patterns);
  if (selected.empty()) {
    return absl::NotFoundError(absl::StrCat("no module is left of ", Quoted(globs)));
  }
  ModulePart part;
  part.place.assign(tree.modules.size(), -1);
  for (int32_t i : divided) {
    part.place[static_cast<size_t>(i)] = 0;
    part.paths.insert(tree.modules[static_cast<size_t>(i)].path);
  }
  if (selected.size() == 1 && divided.empty()) {
    Append(tree, selected[0], -1, &part);
    part.modules[0].own = false;
    return part;
  }
  part.modules.emplace_back().path = std::string(globs);
  AmountsSum sum;
  for (int32_t i : selected) {
    const Module& m = tree.modules[static_cast<size_t>(i)];
    sum.Add(*m.amounts);
    part.modules[0].nodes += m.nodes;
    part.modules[0].lower_bound = part.modules[0].lower_bound || m.lower_bound;
    Append(tree, i, 0, &part);
  }
  part.modules[0].amounts = std::make_shared<const Amounts>(sum.Total());
  part.modules[0].end = static_cast<int32_t>(part.modules.size());
  part.modules[0].kind = -1;
  return part;
}

PartCounts CountPart(const Inference& inference, const Counts& counts, const ModulePart& part) {
  const modules::Attribution attribution =
      modules::AttributeNodes(inference, counts, modules::ExecutionFilter::kAll);
  PartCounts result;
  result.in_part.assign(inference.model->nodes.size(), false);
  TallySum total;
  // Adding expressions is far costlier than counting executions, so equal ones are counted first.
  absl::btree_map<std::pair<int32_t, int32_t>, int64_t> executions;
  for (const modules::Execution& e : attribution.executions) {
    if (!part.paths.contains(attribution.paths.path(e.module))) continue;
    ++executions[{e.work, e.times}];
    const CallCost& cost = counts.cost(e.call());
    const Node& node = inference.model->node(e.node);
    const size_t id = static_cast<size_t>(e.node);
    result.in_part[id] = true;
    if (node.function && !inference.call(e.call()).bodies.empty()) continue;  // as Counts::nodes
    ++result.nodes;
    ++(cost.coverage == Coverage::kCounted ? result.counted
       : cost.coverage == Coverage::kFree  ? result.free
                                           : result.unknown);
    result.causal += cost.causal ? 1 : 0;
    ++result.op_nodes[{std::string(node.domain), std::string(node.op_type)}];
  }
  absl::flat_hash_map<OpKey, AmountsSum> sums;
  for (const auto& [execution, count] : executions) {
    const modules::Execution e = {kRootModule, execution.first, execution.second, 0};
    const Call& call = inference.call(e.call());
    const CallCost& cost = counts.cost(e.call());
    const Node& node = inference.model->node(call.node);
    const Expr times = attribution.times[static_cast<size_t>(e.times)] * count;
    const Tally tally = e.part() == modules::CostPart::kOwn         ? cost.own()
                        : e.part() == modules::CostPart::kShapeWork ? cost.tally().AsShapeWork()
                                                                    : cost.tally();
    total.Add(tally, times);
    const OpKey key = {std::string(node.domain), std::string(node.op_type)};
    sums[key].Add(tally.amounts, times);
    OpTally& op = result.by_op[key];
    op.nodes += times;
    op.lower_bound = op.lower_bound || tally.lower_bound;
  }
  for (auto& [key, op] : result.by_op) op.amounts = sums[key].Total();
  result.total = total.Total();
  return result;
}

}  // namespace onnxflops
