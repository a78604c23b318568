// How it works. Recomputation is chosen by attention patterns, by repeated blocks, or by modules
// whose path matches. Blocks are modules that end in a number, have siblings of the same class and
// hold others; of nested ones the outermost counts. The forward work of the chosen nodes is counted
// once more.
//
// torch's checkpointing stops as soon as all saved tensors are there again. So a block is counted
// up to its last node whose backward pass reads something, without that node if it is a product,
// since a product saves its inputs. With "full" the whole block runs again.
#include "src/training/recompute.h"

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/glob.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/module/module_path.h"
#include "src/symbolic/expr_sum.h"

namespace onnxflops::training {
namespace {

// The text before the number of a repeated module: "" for "0", "encoder_layer_" for torchvision's
// "encoder_layer_0"; nullopt for other names. "layer1" is a stage, which has its own blocks.
std::optional<absl::string_view> StemOf(absl::string_view name) {
  size_t digits = 0;
  while (digits < name.size() &&
         absl::ascii_isdigit(static_cast<unsigned char>(name[name.size() - digits - 1]))) {
    ++digits;
  }
  const absl::string_view stem = name.substr(0, name.size() - digits);
  const bool is_numbered = digits > 0 && (stem.empty() || absl::EndsWith(stem, "_"));
  return is_numbered ? std::optional(stem) : std::nullopt;
}

// Repeated modules, "layers.0" and "layers.1" of one class: the outermost ones of each path.
class Blocks {
 public:
  explicit Blocks(const modules::ModulePaths& paths) {
    absl::btree_map<std::tuple<absl::string_view, absl::string_view, absl::string_view>, int>
        siblings;
    absl::flat_hash_set<absl::string_view> parents;
    for (size_t i = 0; i < paths.size(); ++i) {
      const absl::string_view path = paths.path(static_cast<ModuleId>(i));
      if (!path.empty()) parents.insert(modules::ParentPath(path));
    }
    const auto stem_of = [&](absl::string_view path) {
      const absl::string_view parent = modules::ParentPath(path);
      return StemOf(path.substr(parent.empty() ? 0 : parent.size() + 1));
    };
    const auto is_candidate = [&](absl::string_view path) {
      return parents.contains(path) && stem_of(path).has_value();
    };
    const auto key = [&](size_t i) {
      const absl::string_view path = paths.path(static_cast<ModuleId>(i));
      return std::tuple(modules::ParentPath(path), stem_of(path).value_or(""),
                        paths.type(static_cast<ModuleId>(i)));
    };
    for (size_t i = 0; i < paths.size(); ++i) {
      if (is_candidate(paths.path(static_cast<ModuleId>(i)))) ++siblings[key(i)];
    }
    for (size_t i = 0; i < paths.size(); ++i) {
      const absl::string_view path = paths.path(static_cast<ModuleId>(i));
      if (is_candidate(path) && siblings[key(i)] > 1) blocks_.insert(path);
    }
  }

  bool empty() const { return blocks_.empty(); }

  // The outermost block around a module, or "".
  absl::string_view Of(absl::string_view path) const {
    absl::string_view outermost;
    for (absl::string_view around = path; !around.empty(); around = modules::ParentPath(around)) {
      if (blocks_.contains(around)) outermost = around;
    }
    return outermost;
  }

 private:
  absl::flat_hash_set<absl::string_view> blocks_;
};

// The pattern, with "*." before it if no module of the nodes matches it as a
// whole.
std::string CompletedGlob(absl::string_view glob, const modules::Attribution& attribution,
                          const std::vector<NodeId>& nodes) {
  for (const NodeId node : nodes) {
    const OptionalModuleId id = attribution.node_module[static_cast<size_t>(node)];
    absl::string_view at = id ? attribution.paths.path(*id) : absl::string_view();
    for (; !at.empty(); at = modules::ParentPath(at)) {
      if (MatchesGlob(glob, at)) return std::string(glob);
    }
  }
  return absl::StrCat("*.", glob);
}

class Recomputer {
 public:
  Recomputer(const Inference& inference, const Counts& counts,
             const modules::Attribution& attribution, const std::vector<NodeBackward>& backward)
      : counts_(counts),
        attribution_(attribution),
        backward_(backward),
        main_(inference.instance(0)),
        nodes_(inference.model->graph(main_.graph).nodes) {}

  Recomputed Attention(const AttentionPatterns& patterns) {
    absl::flat_hash_set<NodeId> inside;
    for (const AttentionPattern& pattern : patterns.patterns) {
      inside.insert({pattern.scores, pattern.output});
      inside.insert(pattern.between.begin(), pattern.between.end());
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (inside.contains(nodes_[i]) && backward_[i] != NodeBackward::kNone) Add(i);
    }
    return Total();
  }

  absl::StatusOr<Recomputed> Modules(absl::string_view given) {
    bool any = false;
    const std::string glob = CompletedGlob(given, attribution_, nodes_);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const absl::string_view path = PathOf(i);
      bool matches = MatchesGlob(glob, path);
      for (absl::string_view at = path; !at.empty() && !matches; at = modules::ParentPath(at)) {
        matches = MatchesGlob(glob, at);
      }
      if (matches) Add(i);
      any = any || matches;
    }
    if (any) return Total();
    return absl::NotFoundError(absl::StrCat(Setting("recompute"), " ", Quoted(given),
                                            ": no node of the main graph is in such a module"));
  }

  absl::StatusOr<Recomputed> RepeatedModules(bool stops_early) {
    const Blocks blocks(attribution_.paths);
    if (blocks.empty()) {
      return absl::NotFoundError(WithSettings(
          "{recompute}: the model has no repeated modules; name modules by a pattern instead"));
    }
    absl::btree_map<absl::string_view, std::vector<size_t>> by_block;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const absl::string_view block = blocks.Of(PathOf(i));
      if (!block.empty()) by_block[block].push_back(i);
    }
    for (const auto& [block, nodes] : by_block) AddBlock(nodes, stops_early);
    return Total();
  }

 private:
  absl::string_view PathOf(size_t i) const {
    const OptionalModuleId id = attribution_.node_module[static_cast<size_t>(nodes_[i])];
    return id ? attribution_.paths.path(*id) : absl::string_view();
  }

  // Runs up to the last node whose backward pass reads something: torch stops as soon as all saved
  // tensors are there again. A product reads its inputs only, so it need not run itself.
  void AddBlock(const std::vector<size_t>& nodes, bool stops_early) {
    size_t end = nodes.size();
    while (end > 0 && backward_[nodes[end - 1]] != NodeBackward::kReads) --end;
    if (end == 0) return;
    const CallCost& last = counts_.cost(main_.calls[nodes[end - 1]]);
    if (!stops_early) {
      end = nodes.size();
    } else if (last.own().flops[Kind::kMac] != Expr(0)) {
      --end;
    }
    for (size_t i = 0; i < end; ++i) Add(nodes[i]);
  }

  void Add(size_t i) {
    const CallCost& cost = counts_.cost(main_.calls[i]);
    if (!main_.shape_work.empty() && main_.shape_work[i]) return;
    flops_.Add(cost.tally().amounts.flops);
    macs_.Add(cost.tally().flops[Kind::kMac]);
  }

  Recomputed Total() const { return {flops_.Total(), macs_.Total()}; }

  const Counts& counts_;
  const modules::Attribution& attribution_;
  const std::vector<NodeBackward>& backward_;
  const Instance& main_;
  const std::vector<NodeId>& nodes_;
  ExprSum flops_, macs_;
};

// The outermost enclosing module that matches, or "".
absl::string_view OutermostMatch(absl::string_view glob, absl::string_view path) {
  absl::string_view outermost;
  for (absl::string_view at = path; !at.empty(); at = modules::ParentPath(at)) {
    if (MatchesGlob(glob, at)) outermost = at;
  }
  return outermost;
}

std::vector<std::vector<size_t>> AttentionGroups(const std::vector<NodeId>& nodes,
                                                 const AttentionPatterns& patterns) {
  absl::flat_hash_map<NodeId, size_t> group_of;
  for (size_t g = 0; g < patterns.patterns.size(); ++g) {
    const AttentionPattern& pattern = patterns.patterns[g];
    group_of[pattern.scores] = group_of[pattern.output] = g;
    for (NodeId node : pattern.between) group_of[node] = g;
  }
  std::vector<std::vector<size_t>> groups(patterns.patterns.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto group = group_of.find(nodes[i]);
    if (group != group_of.end()) groups[group->second].push_back(i);
  }
  return groups;
}

}  // namespace

std::vector<std::vector<size_t>> RecomputedGroups(const Inference& inference,
                                                  const modules::Attribution& attribution,
                                                  const AttentionPatterns& patterns,
                                                  const Recompute& recompute) {
  const std::vector<NodeId>& nodes = inference.model->graph(0).nodes;
  if (recompute.what == Recompute::What::kNone) return {};
  if (recompute.what == Recompute::What::kAttention) return AttentionGroups(nodes, patterns);
  const Blocks blocks(attribution.paths);
  const std::string glob = recompute.what == Recompute::What::kModules
                               ? CompletedGlob(recompute.glob, attribution, nodes)
                               : "";
  absl::btree_map<absl::string_view, std::vector<size_t>> by_module;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const OptionalModuleId id = attribution.node_module[static_cast<size_t>(nodes[i])];
    if (!id) continue;
    const absl::string_view path = attribution.paths.path(*id);
    const absl::string_view module =
        recompute.what == Recompute::What::kModules ? OutermostMatch(glob, path) : blocks.Of(path);
    if (!module.empty()) by_module[module].push_back(i);
  }
  std::vector<std::vector<size_t>> groups;
  for (auto& [module, places] : by_module) groups.push_back(std::move(places));
  return groups;
}

absl::StatusOr<Recomputed> CountRecomputed(const Inference& inference, const Counts& counts,
                                           const modules::Attribution& attribution,
                                           const AttentionPatterns& patterns,
                                           const std::vector<NodeBackward>& backward,
                                           const Recompute& recompute) {
  Recomputer recomputer(inference, counts, attribution, backward);
  switch (recompute.what) {
    case Recompute::What::kNone:
      return Recomputed();
    case Recompute::What::kAttention:
      return recomputer.Attention(patterns);
    case Recompute::What::kBlocks:
    case Recompute::What::kFull:
      return recomputer.RepeatedModules(recompute.what == Recompute::What::kBlocks);
    case Recompute::What::kModules:
      return recomputer.Modules(recompute.glob);
  }
  return Recomputed();
}

}  // namespace onnxflops::training
