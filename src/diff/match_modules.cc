// How it works. First each module gets numbers that are equal in both models for equal contents: a
// signature (MACs, weights, and the same of the children), and weaker ones of its work alone. Then
// a queue of matched pairs begins with the two models. For each pair the children are matched by
// one rule after the other, the strongest evidence first, and every match joins the queue. A rule
// that opens a wrapper changes who the children are, so the rules of that pair run again. Modules
// that moved are looked for last, when everything that stayed in its place has a partner. Swapping
// the models swaps the result: wrappers of both sides are found before one is opened, and pairs are
// sorted by keys that do not depend on the side.
#include "src/diff/match_modules.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "src/base/limits.h"
#include "src/cost/amounts.h"
#include "src/module/module.h"
#include "src/symbolic/expr.h"

namespace onnxflops::diff {
namespace {

constexpr int32_t kNone = ModuleMatch::kNone;

// One side of the comparison.
struct Side {
  absl::Span<const Module> modules;
  std::vector<int32_t>* partner;
  std::vector<bool>* moved;
  std::vector<bool>* wrapper;
  std::vector<bool> inside_moved;
  std::vector<int32_t> signature;  // equal if MACs, weights and the children's signatures are equal
  // A number for equal MACs and weights, with separate numbers for modules with and without
  // children; kNone if one of them is 0.
  std::vector<int32_t> work;
  // Equal for equal MACs: `macs` of modules with children, `any_macs` of any; kNone for others.
  std::vector<int32_t> macs, any_macs;

  const Module& At(int32_t i) const { return modules[static_cast<size_t>(i)]; }
  int32_t PartnerOf(int32_t i) const { return (*partner)[static_cast<size_t>(i)]; }
  bool IsHeavy(int32_t i) const {
    const Amounts& amounts = *At(i).amounts;
    return !amounts.macs.is_zero() || !amounts.params.is_zero();
  }
  int32_t Size(int32_t i) const { return At(i).end - i; }
  std::vector<int32_t> Unmatched(int32_t parent) const {
    std::vector<int32_t> children = ChildrenWithin(modules, *wrapper, parent);
    children.erase(std::remove_if(children.begin(), children.end(),
                                  [&](int32_t c) { return PartnerOf(c) != kNone; }),
                   children.end());
    return children;
  }
};

// What identifies a wrapper: child names, signatures of children with MACs or weights, MACs of
// children with children.
struct KnownModules {
  absl::flat_hash_set<absl::string_view> names;
  absl::flat_hash_set<int32_t> signatures, macs;

  KnownModules(const Side& side, const std::vector<int32_t>& modules) {
    for (int32_t i : modules) {
      if (side.At(i).own) continue;
      names.insert(side.At(i).name());
      if (side.IsHeavy(i)) signatures.insert(side.signature[static_cast<size_t>(i)]);
      if (side.macs[static_cast<size_t>(i)] != kNone)
        macs.insert(side.macs[static_cast<size_t>(i)]);
    }
  }
  bool Has(const Side& side, int32_t i) const {
    // A number identifies nothing: the first layer of any list is called 0.
    const absl::string_view name = side.At(i).name();
    const bool is_number = name.find_first_not_of("0123456789") == absl::string_view::npos;
    return (!is_number && names.contains(name)) ||
           (side.IsHeavy(i) && signatures.contains(side.signature[static_cast<size_t>(i)])) ||
           macs.contains(side.macs[static_cast<size_t>(i)]);
  }
};

class Matcher {
 public:
  Matcher(absl::Span<const Module> base, absl::Span<const Module> head) {
    match_.of_base.assign(base.size(), kNone);
    match_.of_head.assign(head.size(), kNone);
    match_.base_moved.resize(base.size());
    match_.head_moved.resize(head.size());
    match_.base_wrapper.resize(base.size());
    match_.head_wrapper.resize(head.size());
    base_ = {base,
             &match_.of_base,
             &match_.base_moved,
             &match_.base_wrapper,
             std::vector<bool>(base.size()),
             {},
             {},
             {},
             {}};
    head_ = {head,
             &match_.of_head,
             &match_.head_moved,
             &match_.head_wrapper,
             std::vector<bool>(head.size()),
             {},
             {},
             {},
             {}};
  }

  ModuleMatch Run() {
    Sign(&base_);
    Sign(&head_);
    Match(0, 0);
    for (size_t i = 0; i < queue_.size(); ++i) {
      const auto [b, h] = queue_[i];
      do {
        MatchByName(b, h);
        while (OpenWrappers(b, h)) MatchByName(b, h);
        MatchBySignature(b, h);
        MatchByLikeness(b, h);
      } while (MatchByWork(b, h, &Side::work) || MatchByWork(b, h, &Side::macs) ||
               MatchByWork(b, h, &Side::any_macs));
    }
    MatchMoved();
    return std::move(match_);
  }

 private:
  void Match(int32_t b, int32_t h) {
    match_.of_base[static_cast<size_t>(b)] = h;
    match_.of_head[static_cast<size_t>(h)] = b;
    queue_.emplace_back(b, h);
  }

  // Children come after their parents in the list, so this walks backwards and signs them first. A
  // module without MACs and weights is identified by its class and FLOPs. The signature of its
  // parent ignores it, since another exporter may write it in another way.
  void Sign(Side* side) {
    side->signature.resize(side->modules.size());
    side->work.assign(side->modules.size(), kNone);
    side->macs.assign(side->modules.size(), kNone);
    side->any_macs.assign(side->modules.size(), kNone);
    std::vector<std::vector<int32_t>> children(side->modules.size());
    for (auto i = static_cast<int32_t>(side->modules.size()) - 1; i >= 0; --i) {
      const Module& m = side->At(i);
      const bool heavy = side->IsHeavy(i);
      std::vector<int32_t>& inside = children[static_cast<size_t>(i)];
      std::sort(inside.begin(), inside.end());
      Key key = {m.amounts->macs, m.amounts->params, heavy ? Expr() : m.amounts->flops,
                 heavy ? "" : m.type, std::move(inside)};
      const int32_t id =
          ids_.try_emplace(std::move(key), static_cast<int32_t>(ids_.size())).first->second;
      side->signature[static_cast<size_t>(i)] = id;
      if (!m.own && !m.amounts->macs.is_zero()) SignWork(i, side);
      if (heavy && m.parent >= 0) children[static_cast<size_t>(m.parent)].push_back(id);
    }
  }

  void SignWork(int32_t i, Side* side) {
    const Module& m = side->At(i);
    const auto id = [this](const Expr& macs, const Expr& params, bool leaf) {
      const auto next = static_cast<int32_t>(work_ids_.size());
      return work_ids_.try_emplace(std::tuple(macs, params, leaf), next).first->second;
    };
    const bool leaf = side->Size(i) == 1;
    const auto at = static_cast<size_t>(i);
    if (!m.amounts->params.is_zero()) side->work[at] = id(m.amounts->macs, m.amounts->params, leaf);
    if (!leaf) side->macs[at] = id(m.amounts->macs, Expr(), false);
    side->any_macs[at] = id(m.amounts->macs, Expr(), true);
  }

  // The own work of a module and that of the model have different names.
  static absl::string_view NameOf(const Module& m) { return m.own ? kOwnWork : m.name(); }

  void MatchByName(int32_t b, int32_t h) {
    absl::flat_hash_map<absl::string_view, int32_t> names;
    for (int32_t c : head_.Unmatched(h)) names.try_emplace(NameOf(head_.At(c)), c);
    for (int32_t c : base_.Unmatched(b)) {
      const auto same = names.find(NameOf(base_.At(c)));
      if (same == names.end()) continue;
      Match(c, same->second);
      names.erase(same);
    }
  }

  // The child that holds most of its parent's modules and has no partner; kNone.
  static int32_t MainChild(const Side& side, int32_t parent) {
    for (int32_t c : side.Unmatched(parent)) {
      if (!side.At(c).own && 2 * side.Size(c) > side.Size(parent)) return c;
    }
    return kNone;
  }

  // True if most children of a module exist on the other side.
  static bool Wraps(const Side& side, int32_t module, const KnownModules& others) {
    int64_t children = 0, known = 0;
    for (int32_t c : side.Unmatched(module)) {
      if (side.At(c).own) continue;
      ++children;
      known += others.Has(side, c) ? 1 : 0;
    }
    return known > 0 && 2 * known >= children;
  }

  // The wrappers below `parent` of modules that exist on the other side: one, or several nested
  // ones.
  static std::vector<int32_t> FindWrappers(const Side& side, int32_t parent,
                                           const KnownModules& others) {
    std::vector<int32_t> around;
    for (int32_t c = MainChild(side, parent); c != kNone; c = MainChild(side, c)) {
      around.push_back(c);
      if (Wraps(side, c, others)) return around;
    }
    return {};
  }

  // Both sides are searched before one is opened, so that the result does not depend on which model
  // is the base.
  bool OpenWrappers(int32_t b, int32_t h) {
    const std::vector<int32_t> left = base_.Unmatched(b), right = head_.Unmatched(h);
    if (left.empty() || right.empty()) return false;
    const std::vector<int32_t> of_base = FindWrappers(base_, b, KnownModules(head_, right));
    const std::vector<int32_t> of_head = FindWrappers(head_, h, KnownModules(base_, left));
    for (int32_t c : of_base) match_.base_wrapper[static_cast<size_t>(c)] = true;
    for (int32_t c : of_head) match_.head_wrapper[static_cast<size_t>(c)] = true;
    return !of_base.empty() || !of_head.empty();
  }

  // The n-th child with a signature matches the n-th child with that signature in the other model.
  void MatchBySignature(int32_t b, int32_t h) {
    absl::flat_hash_map<int32_t, std::vector<int32_t>> by_signature;
    const auto is_telling = [](const Side& side, int32_t i) {
      return side.IsHeavy(i) || !side.At(i).type.empty();
    };
    for (int32_t c : head_.Unmatched(h)) {
      if (is_telling(head_, c)) by_signature[head_.signature[static_cast<size_t>(c)]].push_back(c);
    }
    for (auto& [signature, list] : by_signature) std::reverse(list.begin(), list.end());
    for (int32_t c : base_.Unmatched(b)) {
      const auto same = by_signature.find(base_.signature[static_cast<size_t>(c)]);
      if (same == by_signature.end() || same->second.empty()) continue;
      Match(c, same->second.back());
      same->second.pop_back();
    }
  }

  // A number identifies nothing: the first layer of any list is called 0.
  static absl::flat_hash_set<absl::string_view> ChildNames(const Side& side, int32_t parent) {
    absl::flat_hash_set<absl::string_view> names;
    for (int32_t c = parent + 1; c < side.At(parent).end; c = side.At(c).end) {
      const absl::string_view name = side.At(c).name();
      if (name.find_first_not_of("0123456789") != absl::string_view::npos) names.insert(name);
    }
    return names;
  }

  // The most alike first. Of pairs that share a module no two have the same key, so that the order
  // does not depend on which model is the base.
  void MatchByLikeness(int32_t b, int32_t h) {
    const std::vector<int32_t> left = base_.Unmatched(b), right = head_.Unmatched(h);
    if (left.empty() || right.empty() || left.size() + right.size() > kMaxComparedModules) return;
    std::vector<std::tuple<int64_t, int64_t, int64_t, int32_t, int32_t>> pairs;
    for (size_t i = 0; i < left.size(); ++i) {
      const auto names = ChildNames(base_, left[i]);
      for (size_t j = 0; j < right.size(); ++j) {
        const std::string &type = base_.At(left[i]).type, &other = head_.At(right[j]).type;
        if (type != other && !type.empty() && !other.empty()) continue;
        const auto others = ChildNames(head_, right[j]);
        const auto shared = std::count_if(names.begin(), names.end(),
                                          [&](absl::string_view n) { return others.contains(n); });
        if (shared == 0 || 2 * shared < static_cast<int64_t>(std::max(names.size(), others.size())))
          continue;
        const auto x = static_cast<int64_t>(i), y = static_cast<int64_t>(j);
        pairs.emplace_back(-shared, std::abs(x - y), x + y, left[i], right[j]);
      }
    }
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [shared, distance, sum, l, r] : pairs) {
      if (base_.PartnerOf(l) == kNone && head_.PartnerOf(r) == kNone) Match(l, r);
    }
  }

  // The child that has more than half of its parent's MACs at all sizes; kNone.
  static int32_t CostliestChild(const Side& side, int32_t parent) {
    const Expr& all = side.At(parent).amounts->macs;
    for (int32_t c = parent + 1; c < side.At(parent).end; c = side.At(c).end) {
      if (side.At(c).own || side.At(c).amounts->macs.is_zero()) continue;
      const auto least = (Expr(2) * side.At(c).amounts->macs - all).LowerBound();
      if (least && *least > 0) return c;
    }
    return kNone;
  }

  // Modules by their own work (depth 0), by that of their costliest child (depth 1), of that
  // child's costliest child, and so on.
  struct Chains {
    std::map<std::pair<size_t, int32_t>, std::vector<int32_t>> tops;  // by depth and work there
    absl::flat_hash_map<int32_t, std::vector<size_t>> depths;         // of a work

    Chains(const Side& side, const std::vector<int32_t>& modules, const std::vector<int32_t>& ids) {
      for (int32_t top : modules) {
        if (side.At(top).own || side.At(top).amounts->macs.is_zero()) continue;
        int32_t c = top;
        for (size_t depth = 0; c != kNone && depth < kMaxComparedModules; ++depth) {
          const int32_t work = ids[static_cast<size_t>(c)];
          if (work == kNone) break;
          std::vector<int32_t>& list = tops[{depth, work}];
          if (list.empty()) depths[work].push_back(depth);
          list.push_back(top);
          c = CostliestChild(side, c);
        }
      }
    }
    const std::vector<int32_t>* At(size_t depth, int32_t work) const {
      const auto found = tops.find({depth, work});
      return found == tops.end() ? nullptr : &found->second;
    }
  };

  // Those without a partner, the first with the first.
  std::vector<std::pair<int32_t, int32_t>> Pairs(std::vector<int32_t> left,
                                                 std::vector<int32_t> right) const {
    const auto erase = [](const Side& side, std::vector<int32_t>* list) {
      list->erase(std::remove_if(list->begin(), list->end(),
                                 [&](int32_t i) { return side.PartnerOf(i) != kNone; }),
                  list->end());
    };
    erase(base_, &left);
    erase(head_, &right);
    std::vector<std::pair<int32_t, int32_t>> pairs;
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      pairs.emplace_back(left[i], right[i]);
    }
    return pairs;
  }

  // Two programs of one network have parts of equal MACs and weights, or at least of equal MACs,
  // whatever is inside. Such parts match, and so do the modules that consist mostly of them. If one
  // of the models has more levels around such a part, these are wrappers. Returns true if it opened
  // one.
  bool MatchByWork(int32_t b, int32_t h, std::vector<int32_t> Side::*ids) {
    const Chains left(base_, base_.Unmatched(b), base_.*ids);
    const Chains right(head_, head_.Unmatched(h), head_.*ids);
    for (const auto& [place, tops] : left.tops) {
      const std::vector<int32_t>* others = right.At(place.first, place.second);
      if (others == nullptr) continue;
      for (const auto& [l, r] : Pairs(tops, *others)) Match(l, r);
    }
    bool opened = false;
    for (const auto& [place, tops] : left.tops) {
      const auto known = right.depths.find(place.second);
      if (known == right.depths.end()) continue;
      for (const size_t depth : known->second) {
        if (depth == place.first) continue;
        const std::vector<int32_t>* others = right.At(depth, place.second);
        for (const auto& [l, r] : Pairs(tops, *others)) {
          OpenLevels(place.first, depth, l, &base_);
          OpenLevels(depth, place.first, r, &head_);
          opened = true;
        }
      }
    }
    return opened;
  }

  // Makes wrappers of the levels that one model has more than the other. `depth` levels are between
  // `top` and the part here, `other` in the other model.
  static void OpenLevels(size_t depth, size_t other, int32_t top, Side* side) {
    for (; depth > other; --depth) {
      (*side->wrapper)[static_cast<size_t>(top)] = true;
      top = CostliestChild(*side, top);
    }
  }

  // What identifies a module that may have moved: size, signature and, without children, its name.
  // The largest come first.
  using Moving = std::tuple<int32_t, int32_t, absl::string_view>;

  static std::map<Moving, std::vector<int32_t>> Movable(const Side& side) {
    std::map<Moving, std::vector<int32_t>> movable;
    for (int32_t i = 0; i < static_cast<int32_t>(side.modules.size()); ++i) {
      if (side.PartnerOf(i) != kNone || !side.IsHeavy(i) || side.At(i).own ||
          (*side.wrapper)[static_cast<size_t>(i)]) {
        continue;
      }
      const int32_t size = side.Size(i);
      movable[{-size, side.signature[static_cast<size_t>(i)],
               size > 1 ? absl::string_view() : side.At(i).name()}]
          .push_back(i);
    }
    return movable;
  }

  static void TakeOut(int32_t i, Side* side) {
    (*side->moved)[static_cast<size_t>(i)] = true;
    for (int32_t c = i; c < side->At(i).end; ++c) side->inside_moved[static_cast<size_t>(c)] = true;
  }

  // True if nothing in it has a partner: else a part would count twice.
  static bool IsWhole(const Side& side, int32_t i) {
    for (int32_t c = i; c < side.At(i).end; ++c) {
      if (side.PartnerOf(c) != kNone || side.inside_moved[static_cast<size_t>(c)]) return false;
    }
    return true;
  }

  void MatchMoved() {
    const std::map<Moving, std::vector<int32_t>> from = Movable(base_), to = Movable(head_);
    for (const auto& [key, left] : from) {
      const auto found = to.find(key);
      if (found == to.end()) continue;
      size_t next = 0;
      for (int32_t b : left) {
        if (!IsWhole(base_, b)) continue;
        while (next < found->second.size() && !IsWhole(head_, found->second[next])) ++next;
        if (next == found->second.size()) break;
        const int32_t h = found->second[next++];
        match_.of_base[static_cast<size_t>(b)] = h;
        match_.of_head[static_cast<size_t>(h)] = b;
        TakeOut(b, &base_);
        TakeOut(h, &head_);
      }
    }
  }

  using Key = std::tuple<Expr, Expr, Expr, std::string, std::vector<int32_t>>;

  ModuleMatch match_;
  Side base_, head_;
  absl::flat_hash_map<Key, int32_t> ids_;
  absl::flat_hash_map<std::tuple<Expr, Expr, bool>, int32_t> work_ids_;
  std::vector<std::pair<int32_t, int32_t>> queue_;
};

}  // namespace

std::vector<int32_t> ChildrenWithin(absl::Span<const Module> modules,
                                    const std::vector<bool>& wrapper, int32_t parent) {
  std::vector<int32_t> children;
  const int32_t end = modules[static_cast<size_t>(parent)].end;
  for (int32_t c = parent + 1; c < end;) {
    if (wrapper[static_cast<size_t>(c)]) {
      ++c;  // its first child, if it has one
      continue;
    }
    children.push_back(c);
    c = modules[static_cast<size_t>(c)].end;
  }
  return children;
}

ModuleMatch MatchModules(absl::Span<const Module> base, absl::Span<const Module> head) {
  return Matcher(base, head).Run();
}

}  // namespace onnxflops::diff
