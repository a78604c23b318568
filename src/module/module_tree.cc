// How it works. The attribution gives for each module the executions in it: (call, part, how
// often). Adding formulas is much more costly than counting, so executions are counted first.
// Modules with the same counts share one sum, so that 24 equal layers are added up once.
//
// Then the modules are laid out in one vector, each before its children, in the order in which they
// first run; `end` is the place after the last descendant. Work that a module does outside its
// children becomes a last child "(own)", and weights that several children share one named
// "(shared)", so that children always add up to the parent. Modules in which nothing runs and that
// hold no parameters are left out.
//
// Last, a walk from the leaves up adds children to parents and gives each module a kind. Modules of
// one kind have the same type, weights, FLOPs, MACs and children of the same names and kinds: the
// report merges them into rows such as "layers.0-23 24x". Bytes do not decide the kind, since equal
// layers may differ there by a mask that only the first one computes.
#include "src/module/module_tree.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/cost/amounts_sum.h"
#include "src/exporter/tensor_name.h"
#include "src/module/attribution.h"
#include "src/module/shared_parameters.h"
#include "src/resolve/parameters.h"
#include "src/symbolic/term_count.h"
#include "src/symbolic/work.h"

namespace onnxflops {
namespace {

constexpr char kShared[] = "(shared)";  // weights that the exporter keeps once for several modules

// Positions of items grouped by a key: group g is order[begin[g] .. begin[g + 1]), in the original
// order.
struct Groups {
  std::vector<size_t> begin, order;

  // key(i) < groups, for every i < items.
  template <typename Key>
  Groups(size_t groups, size_t items, const Key& key) : begin(groups + 1), order(items) {
    for (size_t i = 0; i < items; ++i) ++begin[key(i) + 1];
    for (size_t g = 0; g < groups; ++g) begin[g + 1] += begin[g];
    std::vector<size_t> at(begin.begin(), begin.end() - 1);
    for (size_t i = 0; i < items; ++i) order[at[key(i)]++] = i;
  }
};

// How often some work is done at some number of times.
struct Repeated {
  int32_t work = 0, times = 0;
  int64_t count = 0;
  friend bool operator==(const Repeated& a, const Repeated& b) {
    return a.work == b.work && a.times == b.times && a.count == b.count;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Repeated& r) {
    return H::combine(std::move(h), r.work, r.times, r.count);
  }
};

// The work that a module does itself. Modules that do the same share one.
struct OwnWork {
  Amounts amounts;
  bool lower_bound = false;
  friend bool operator==(const OwnWork& a, const OwnWork& b) {
    return a.lower_bound == b.lower_bound && a.amounts == b.amounts;
  }
  template <typename H>
  friend H AbslHashValue(H h, const OwnWork& w) {
    return H::combine(std::move(h), w.amounts, w.lower_bound);
  }
};

// The work that makes modules differ for a reader. Bytes are not part of it: similar modules may
// differ by a few bytes because one computes sizes that the next one reuses.
using WorkKind = std::tuple<Expr, Expr, bool>;

// Adds up the executions of every module. Adding expressions is much more costly than counting
// executions, so they are counted first, and modules with the same counts share the sum.
class OwnWorks {
 public:
  // Stops if the sums have more than `most_terms`.
  OwnWorks(const modules::Attribution& attribution, const Counts& counts, int64_t most_terms)
      : attribution_(attribution),
        counts_(counts),
        most_terms_(most_terms),
        scratch_(counts.calls.size() * modules::kNumCostParts) {
    const std::vector<modules::Execution>& executions = attribution.executions;
    const Groups by_module(attribution.paths.size(), executions.size(),
                           [&](size_t i) { return static_cast<size_t>(executions[i].module); });
    of_module_.resize(attribution.paths.size(), 0);
    Find({});  // nothing is number 0
    for (size_t m = 0; m < attribution.paths.size() && terms_ <= most_terms_; ++m) {
      of_module_[m] = Find(CountUp(by_module, m));
    }
  }

  // Work given by the caller. A module with an unknown part stays a lower bound.
  OwnWorks(const modules::Attribution& attribution, const Counts& counts,
           absl::Span<const ModuleWork> given)
      : attribution_(attribution), counts_(counts), of_module_(attribution.paths.size(), 0) {
    Intern({});  // nothing is number 0
    const int32_t nothing_known = Intern({{}, true});
    for (const modules::Execution& execution : attribution.executions) {
      if (TallyOf(execution.work).lower_bound) {
        of_module_[static_cast<size_t>(execution.module)] = nothing_known;
      }
    }
    for (const ModuleWork& work : given) {
      int32_t& id = of_module_[static_cast<size_t>(work.module)];
      id = Intern({work.amounts, id == nothing_known});
    }
  }

  int32_t id(ModuleId module) const { return of_module_[static_cast<size_t>(module)]; }
  const OwnWork& work(int32_t id) const { return works_[static_cast<size_t>(id)]; }
  // Equal where FLOPs and MACs are.
  int32_t kind(int32_t id) const { return kinds_[static_cast<size_t>(id)]; }
  // The terms of all expressions that were multiplied.
  int64_t terms() const { return terms_; }

 private:
  static modules::CostPart PartOf(int32_t work) {
    return static_cast<modules::CostPart>(work % modules::kNumCostParts);
  }

  const Tally& TallyOf(int32_t work) const {
    const CallCost& cost = counts_.cost(work / modules::kNumCostParts);
    return PartOf(work) == modules::CostPart::kOwn ? cost.own() : cost.tally();
  }

  // Until the next call.
  absl::Span<const Repeated> CountUp(const Groups& by_module, size_t module) {
    std::vector<Repeated>& result = counted_;
    result.clear();
    absl::flat_hash_map<std::pair<int32_t, int32_t>, size_t> repeated;  // at other times than once
    for (size_t i = by_module.begin[module]; i < by_module.begin[module + 1]; ++i) {
      const modules::Execution& execution = attribution_.executions[by_module.order[i]];
      // The position of the work in the result, from 1.
      size_t& at = execution.times == 0 ? scratch_[static_cast<size_t>(execution.work)]
                                        : repeated[{execution.work, execution.times}];
      if (at == 0) {
        result.push_back({execution.work, execution.times, 0});
        at = result.size();
      }
      ++result[at - 1].count;
    }
    for (const Repeated& r : result) {
      if (r.times == 0) scratch_[static_cast<size_t>(r.work)] = 0;
    }
    return result;
  }

  int32_t Find(absl::Span<const Repeated> repeated) {
    if (const auto known = known_.find(repeated); known != known_.end()) return known->second;
    const std::vector<Repeated>& kept = kept_.emplace_back(repeated.begin(), repeated.end());
    const int32_t id = Intern(AddUp(kept));
    known_.emplace(kept, id);
    return id;
  }

  int32_t Intern(OwnWork sum) {
    const auto [same, is_new] = sums_.try_emplace(sum, static_cast<int32_t>(works_.size()));
    if (is_new) {
      const WorkKind kind = {sum.amounts.flops, sum.amounts.macs, sum.lower_bound};
      kinds_.push_back(by_kind_.try_emplace(kind, same->second).first->second);
      works_.push_back(std::move(sum));
    }
    return same->second;
  }

  OwnWork AddUp(const std::vector<Repeated>& repeated) {
    OwnWork result;
    AmountsSum sum;
    const auto add = [&](const Amounts& amounts, const Expr& times) {
      for (const Quantity& q : kQuantities) {
        if (times == Expr(1)) break;
        if (amounts.*q.value != Expr(0)) terms_ += TermsOfProduct(amounts.*q.value, times);
      }
      sum.Add(amounts, times);
    };
    for (const Repeated& r : repeated) {
      if (terms_ > most_terms_) break;
      const Expr times = attribution_.times[static_cast<size_t>(r.times)] * r.count;
      const Tally& tally = TallyOf(r.work);
      if (PartOf(r.work) == modules::CostPart::kShapeWork) {
        add(tally.ShapeWorkAmounts(), times);
      } else {
        add(tally.amounts, times);
      }
      result.lower_bound = result.lower_bound || tally.lower_bound;
    }
    result.amounts = sum.Total();  // whose terms the costs of all nodes limit already
    return result;
  }

  const modules::Attribution& attribution_;
  const Counts& counts_;
  const int64_t most_terms_ = 0;
  int64_t terms_ = 0;
  std::vector<size_t> scratch_;  // by work; zero between modules
  std::vector<OwnWork> works_;
  std::vector<int32_t> kinds_;  // by work
  absl::flat_hash_map<WorkKind, int32_t> by_kind_;
  std::vector<Repeated> counted_;           // by CountUp
  std::deque<std::vector<Repeated>> kept_;  // owns the contents of known_
  absl::flat_hash_map<absl::Span<const Repeated>, int32_t> known_;
  absl::flat_hash_map<OwnWork, int32_t> sums_;  // different ways to one sum
  std::vector<int32_t> of_module_;
};

// The inputs of a module's sums: its own work and weights, and its children.
using SumKey =
    std::tuple<int32_t, absl::int128, absl::int128, absl::InlinedVector<const Amounts*, 8>>;

// The kind of a module: everything except its name in the parent.
using KindKey = std::tuple<int32_t, bool, absl::int128, absl::int128, absl::string_view,
                           absl::InlinedVector<std::pair<absl::string_view, int32_t>, 8>>;

class Builder {
 public:
  Builder(const Inference& inference, const Counts& counts)
      : inference_(inference),
        work_(MaxSteps(*inference.model, inference.limits)),
        model_(*inference.model),
        most_terms_(MostTerms(inference)),
        attribution_(modules::AttributeNodes(inference, counts)),
        works_(attribution_, counts, most_terms_),
        terms_(works_.terms()),
        params_(attribution_.paths.size()),
        shared_params_(attribution_.paths.size()) {}
  Builder(const Inference& inference, const Counts& counts, absl::Span<const ModuleWork> work)
      : inference_(inference),
        work_(MaxSteps(*inference.model, inference.limits)),
        model_(*inference.model),
        most_terms_(MostTerms(inference)),
        attribution_(modules::AttributeNodes(inference, counts)),
        works_(attribution_, counts, work),
        params_(attribution_.paths.size()),
        shared_params_(attribution_.paths.size()) {}

  absl::StatusOr<ModuleTree> Build() {
    AddParameters();
    FindParents();
    const std::vector<int32_t> index = LayOut();
    RETURN_IF_ERROR(AddUp());
    tree_.node_module.reserve(attribution_.node_module.size());
    for (OptionalModuleId id : attribution_.node_module) {
      tree_.node_module.push_back(index[static_cast<size_t>(id.value_or(kRootModule))]);
    }
    tree_.warnings = Warnings();
    return std::move(tree_);
  }

 private:
  struct OwnParams {
    absl::int128 elements = 0, bytes = 0;
    void Add(absl::int128 more_elements, absl::int128 more_bytes) {
      elements += more_elements;
      bytes += more_bytes;
    }
  };

  static int64_t MostTerms(const Inference& inference) {
    return kMaxExtraTerms +
           inference.limits.terms_per_node * static_cast<int64_t>(inference.model->nodes.size());
  }

  std::vector<std::string> Warnings() const {
    std::vector<std::string> warnings;
    if (!merged_.empty()) warnings.push_back(merged_);
    if (attribution_.not_opened) {
      warnings.push_back(absl::StrCat("from ", DescribeNode(model_, *attribution_.not_opened),
                                      " on, modules inside of calls are not looked for (",
                                      attribution_.not_opened_limit, ")"));
    }
    if (attribution_.paths.cut()) {
      warnings.push_back(
          absl::StrCat("modules inside each other deeper than module-depth = ", kMaxModuleDepth,
                       ", with a path of more than module-path = ", kMaxModulePath,
                       " bytes, beyond modules-per-node = ", kMaxModulesPerNode,
                       " with module-bytes = ", kMaxModuleBytes, " each",
                       ", or whose scopes take more than scopes-text = ", kMaxScopesText,
                       " bytes, belong to the one around them"));
    }
    return warnings;
  }

  void AddParameters() {
    const modules::SharedParameters shared = modules::FindSharedParameters(model_);
    const std::vector<resolve::Parameter> parameters =
        resolve::FindParameters(model_, inference_.ties);
    merged_ = modules::WarningOfMerged(model_, attribution_, parameters);
    for (const resolve::Parameter& p : parameters) {
      if (const auto it = shared.find(p.value); it != shared.end()) {
        shared_params_[static_cast<size_t>(attribution_.paths.Around(it->second))].Add(p.elements,
                                                                                       p.bytes);
        continue;
      }
      OptionalModuleId module;
      if (const auto path = exporter::ModuleOfParameter(p.name))
        module = attribution_.paths.Find(*path);
      if (!module && p.first_user) {
        module = attribution_.node_module[static_cast<size_t>(*p.first_user)];
      }
      params_[static_cast<size_t>(module.value_or(kRootModule))].Add(p.elements, p.bytes);
      if (p.first_user && module == attribution_.node_module[static_cast<size_t>(*p.first_user)]) {
        tree_.node_weights.push_back({*p.first_user, p.elements, p.bytes});
      }
    }
  }

  // The parent of every module, and the position of its first node, including those of its
  // children.
  void FindParents() {
    const size_t n = attribution_.paths.size();
    parents_.assign(n, kNone);
    first_ = attribution_.first;
    for (size_t m = 1; m < n; ++m) {
      parents_[m] = attribution_.paths.ParentOf(static_cast<ModuleId>(m));
    }
    for (size_t m = 1; m < n; ++m) {
      const int64_t first = attribution_.first[m];
      for (OptionalModuleId p = parents_[m]; p && first_[static_cast<size_t>(*p)] > first;
           p = parents_[static_cast<size_t>(*p)]) {
        first_[static_cast<size_t>(*p)] = first;
      }
    }
  }

  bool HasOwn(ModuleId id) const {
    const OwnWork& work = works_.work(works_.id(id));
    const OwnParams& params = params_[static_cast<size_t>(id)];
    return work.lower_bound || work.amounts.flops != Expr(0) || work.amounts.macs != Expr(0) ||
           params.elements != 0;
  }

  // Writes the modules into the tree, each before its children, in the order in which they first
  // run; those in which nothing runs and that hold no parameters are left out. Returns the place of
  // every module.
  std::vector<int32_t> LayOut() {
    constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    std::vector<ModuleId> ids;
    std::vector<bool> shown(first_.size(), false);
    for (size_t m = 1; m < first_.size(); ++m) {
      if (first_[m] == kNever && params_[m].elements == 0 && shared_params_[m].elements == 0) {
        continue;
      }
      // With all modules around it, in which nothing else may run.
      for (OptionalModuleId at = static_cast<ModuleId>(m); at && !shown[static_cast<size_t>(*at)];
           at = parents_[static_cast<size_t>(*at)]) {
        shown[static_cast<size_t>(*at)] = true;
      }
    }
    for (size_t m = 1; m < first_.size(); ++m) {
      if (shown[m]) ids.push_back(static_cast<ModuleId>(m));
    }
    std::stable_sort(ids.begin(), ids.end(), [&](ModuleId a, ModuleId b) {
      return first_[static_cast<size_t>(a)] < first_[static_cast<size_t>(b)];
    });
    const Groups children(first_.size(), ids.size(), [&](size_t i) {
      return static_cast<size_t>(parents_[static_cast<size_t>(ids[i])].value_or(kRootModule));
    });
    std::vector<int32_t> index(first_.size(), -1);
    std::vector<std::pair<ModuleId, size_t>> stack = {{kRootModule, children.begin[0]}};
    tree_.modules.reserve(3 * ids.size() + 1);  // each may have own work and shared weights
    own_params_.reserve(3 * ids.size() + 1);
    Append(kRootModule, -1, 0);
    index[0] = 0;
    while (!stack.empty()) {
      const ModuleId id = stack.back().first;
      const int32_t at = index[static_cast<size_t>(id)];
      const int32_t depth = static_cast<int32_t>(stack.size());
      if (stack.back().second < children.begin[static_cast<size_t>(id) + 1]) {
        const ModuleId child = ids[children.order[stack.back().second++]];
        index[static_cast<size_t>(child)] = static_cast<int32_t>(tree_.modules.size());
        Append(child, at, depth);
        stack.emplace_back(child, children.begin[static_cast<size_t>(child)]);
        continue;
      }
      const bool has_children = tree_.modules.size() > static_cast<size_t>(at) + 1;
      AddShared(id, at, has_children, depth);
      if (has_children && HasOwn(id)) AppendOwn(at, depth);
      tree_.modules[static_cast<size_t>(at)].end = static_cast<int32_t>(tree_.modules.size());
      stack.pop_back();
    }
    return index;
  }

  void Append(ModuleId id, int32_t parent, int32_t depth) {
    Module& m = tree_.modules.emplace_back();
    m.path = std::string(attribution_.paths.path(id));
    if (parent >= 0) {
      const size_t above = tree_.modules[static_cast<size_t>(parent)].path.size();
      m.name_begin = above == 0 ? 0 : above + 1;
    }
    m.type = std::string(attribution_.paths.type(id));
    m.parent = parent;
    m.depth = depth;
    m.nodes = attribution_.nodes[static_cast<size_t>(id)];
    m.kind = works_.id(id);  // replaced by AddUp
    own_params_.push_back(params_[static_cast<size_t>(id)]);
  }

  // Adds, as the last child of the module at `parent`, the amounts that none of its children has.
  Module& AppendUnder(int32_t parent, int32_t depth, absl::string_view name,
                      const OwnParams& params) {
    const std::string& path = tree_.modules[static_cast<size_t>(parent)].path;
    Module m;
    m.path = path.empty() ? std::string(name) : absl::StrCat(path, ".", name);
    m.name_begin = path.empty() ? 0 : path.size() + 1;
    m.own = true;
    m.parent = parent;
    m.depth = depth;
    m.end = static_cast<int32_t>(tree_.modules.size()) + 1;
    own_params_.push_back(params);
    return tree_.modules.emplace_back(std::move(m));
  }

  // Weights that several modules inside of `id` share: a row under `parent`, its place in the tree,
  // or, without rows there, its own.
  void AddShared(ModuleId id, int32_t parent, bool has_children, int32_t depth) {
    const OwnParams& shared = shared_params_[static_cast<size_t>(id)];
    if (shared.elements == 0) return;
    if (has_children) {
      AppendUnder(parent, depth, kShared, shared);
    } else {
      own_params_[static_cast<size_t>(parent)].Add(shared.elements, shared.bytes);
    }
  }

  // The work of the module at `parent` itself, as its last child.
  void AppendOwn(int32_t parent, int32_t depth) {
    const OwnParams params = std::exchange(own_params_[static_cast<size_t>(parent)], {});
    Module& m = AppendUnder(parent, depth, parent == 0 ? kOutsideModules : kOwnWork, params);
    Module& of = tree_.modules[static_cast<size_t>(parent)];
    m.nodes = std::exchange(of.nodes, 0);
    m.kind = std::exchange(of.kind, 0);
  }

  // Computes sums and kinds from the leaves up. Modules with equal parts are added up once.
  absl::Status AddUp() {
    absl::flat_hash_map<KindKey, int32_t> kinds;  // to the first module of the kind
    absl::flat_hash_map<SumKey, std::shared_ptr<const Amounts>> sums;
    for (size_t i = tree_.modules.size(); i-- > 0;) {
      Module& m = tree_.modules[i];
      const OwnParams& params = own_params_[i];
      const OwnWork& own = works_.work(m.kind);
      KindKey key{works_.kind(m.kind), m.own, params.elements, params.bytes, m.type, {}};
      SumKey parts{m.kind, params.elements, params.bytes, {}};
      auto& children = std::get<5>(key);
      m.lower_bound = own.lower_bound;
      for (int32_t c = static_cast<int32_t>(i) + 1; c < m.end;
           c = tree_.modules[static_cast<size_t>(c)].end) {
        const Module& child = tree_.modules[static_cast<size_t>(c)];
        children.emplace_back(child.name(), child.kind);
        std::get<3>(parts).push_back(child.amounts.get());
        m.nodes += child.nodes;
        m.lower_bound = m.lower_bound || child.lower_bound;
      }
      const auto [sum, is_new] = sums.try_emplace(std::move(parts), nullptr);
      if (is_new) sum->second = AddUpModule(own, std::get<3>(sum->first), params);
      m.amounts = sum->second;
      m.kind = kinds.try_emplace(std::move(key), static_cast<int32_t>(i)).first->second;
      if (work_.exceeded()) {
        return LimitError(
            "steps-per-node",
            absl::StrCat(Escaped(model_.path), ": the sums of all modules take more than ",
                         MaxSteps(model_, inference_.limits),
                         " steps of arithmetic (steps-per-node)"));
      }
      if (terms_ > most_terms_) break;
    }
    if (terms_ <= most_terms_) return absl::OkStatus();
    return LimitError("terms-per-node", absl::StrCat(Escaped(model_.path),
                                                     ": the sums of all modules have more than ",
                                                     most_terms_, " terms (terms-per-node)"));
  }

  // If there are children, the module's own arithmetic is one of them.
  std::shared_ptr<const Amounts> AddUpModule(const OwnWork& own,
                                             absl::Span<const Amounts* const> children,
                                             const OwnParams& params) {
    AmountsSum sum;
    for (const Amounts* child : children) sum.Add(*child);
    sum.Add(own.amounts);
    Amounts total = sum.Total();
    terms_ += sum.TermsMade(total);
    total.params += params.elements;
    total.param_bytes += params.bytes;
    return std::make_shared<const Amounts>(std::move(total));
  }

  const Inference& inference_;
  const WorkLimit work_;
  const ModelData& model_;
  const int64_t most_terms_;
  modules::Attribution attribution_;
  OwnWorks works_;
  int64_t terms_ = 0;                      // of the sums so far
  std::vector<OwnParams> params_;          // by ModuleId
  std::vector<OwnParams> shared_params_;   // by ModuleId: shared by several modules inside it
  std::vector<OwnParams> own_params_;      // by module of the tree, without its children's
  std::vector<OptionalModuleId> parents_;  // by ModuleId
  std::string merged_;                     // a warning
  std::vector<int64_t> first_;             // by ModuleId
  ModuleTree tree_;
};

}  // namespace

absl::StatusOr<ModuleTree> BuildModules(const Inference& inference, const Counts& counts) {
  return Builder(inference, counts).Build();
}

absl::StatusOr<ModuleTree> BuildModules(const Inference& inference, const Counts& counts,
                                        absl::Span<const ModuleWork> work) {
  return Builder(inference, counts, work).Build();
}

}  // namespace onnxflops
