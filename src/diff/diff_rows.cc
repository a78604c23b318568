// How it works. First every module gets a number for its kind, from the leaves up. Two modules have
// the same kind if they changed in the same way and so did all that is in them. Neighbours of one
// kind whose names count on (resblocks.0, resblocks.1, ...) share a row. Then rows are opened: with
// --depth down to it; without, the closed row with the largest change comes next, as long as the
// page has room for its children.
//
// Below a row stand the changed modules, the largest change first, and then one row for each sort
// of the others: below the threshold, not counted, equal in the shown quantity, unchanged. A last
// row "(own)" holds what the module has in addition to its children. So the rows below a row always
// add up to it.
#include "src/diff/diff_rows.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/limits.h"
#include "src/cost/amounts_sum.h"
#include "src/module/module.h"
#include "src/render/format.h"
#include "src/render/numbered_name.h"
#include "src/render/open_place.h"

namespace onnxflops::diff {
namespace {

using report::ContinuesNumbers;
using report::GroupedDigits;
using report::NumberedLabel;

// Without --depth, the largest changes are opened first, as far as this many rows allow.
constexpr size_t kDiffPageRows = 32;
constexpr int64_t kMillion = 1'000'000;

// One row under a parent: a module, numbered equal neighbours, or the rest.
struct Group {
  int32_t first = -1, last = -1;  // -1: others, which are not opened
  int64_t count = 1;
  std::string label;
  Amounts base, head;  // of all of them
  bool base_lower_bound = false, head_lower_bound = false;
  absl::int128 key = 0;
};

class DiffRowMaker {
 public:
  DiffRowMaker(const Diff& diff, const DiffViewOptions& options)
      : diff_(diff), options_(options), q_(*options.quantity) {
    FindKinds();
  }

  ShownRows Make() {
    AddPlace(GroupOf(0), 1, 0);
    if (options_.depth < 0) {
      OpenByChange();
    } else {
      OpenToDepth();
    }
    ShownRows shown;
    shown.closed = closed_;
    std::vector<size_t> stack = {0};
    while (!stack.empty()) {
      const Place& place = places_[stack.back()];
      stack.pop_back();
      stack.insert(stack.end(), place.rows.rbegin(), place.rows.rend());
      shown.rows.push_back(RowOf(place));
    }
    return shown;
  }

 private:
  struct Place {
    Group group;
    int64_t times = 1;  // copies that the row above stands for
    int indent = 0;
    std::vector<size_t> rows;  // below, of those that are shown
  };

  const ModuleDiff& At(int32_t i) const { return diff_.modules[static_cast<size_t>(i)]; }
  Expr In(const Amounts& amounts) const { return q_.In(amounts, At(0).exact_backward); }
  absl::int128 MagnitudeOf(const Group& group) const {
    return Magnitude(diff_, In(group.head) - In(group.base));
  }

  // Modules of one kind changed in the same way, including everything inside.
  void FindKinds() {
    using Key = std::tuple<DiffStatus, bool, std::string, Amounts, Amounts, std::vector<int32_t>>;
    absl::flat_hash_map<Key, int32_t> ids;
    const size_t count = diff_.modules.size();
    kinds_.resize(count);
    has_moved_.resize(count);
    is_quiet_.assign(count, true);
    std::vector<std::vector<int32_t>> children(count);
    for (size_t i = count; i-- > 0;) {
      const ModuleDiff& m = diff_.modules[i];
      std::reverse(children[i].begin(), children[i].end());
      Key key = {m.status, m.renamed(), m.type, *m.base, *m.head, std::move(children[i])};
      kinds_[i] = ids.try_emplace(std::move(key), static_cast<int32_t>(ids.size())).first->second;
      if (m.status == DiffStatus::kMovedHere || m.status == DiffStatus::kMovedAway) {
        has_moved_[i] = true;
      }
      is_quiet_[i] = is_quiet_[i] && IsQuiet(m);
      if (m.parent < 0) continue;
      const auto parent = static_cast<size_t>(m.parent);
      children[parent].push_back(kinds_[i]);
      has_moved_[parent] = has_moved_[parent] || has_moved_[i];
      is_quiet_[parent] = is_quiet_[parent] && is_quiet_[i];
    }
  }

  // True if nothing that a row shows has changed.
  bool IsQuiet(const ModuleDiff& m) const {
    return (m.status == DiffStatus::kSame || m.status == DiffStatus::kChanged) &&
           m.Change(q_).is_zero() && (m.base->params == m.head->params);
  }

  Group GroupOf(int32_t index) const {
    const ModuleDiff& m = At(index);
    return {index,
            index,
            1,
            std::string(m.name()),
            *m.base,
            *m.head,
            m.base_lower_bound,
            m.head_lower_bound,
            0};
  }

  bool Extends(const Group& group, int32_t next) const {
    const ModuleDiff &first = At(group.first), &m = At(next);
    return kinds_[static_cast<size_t>(group.first)] == kinds_[static_cast<size_t>(next)] &&
           !first.own && !m.own && ContinuesNumbers(first.name(), group.count, m.name());
  }

  // Other rows of one sort, merged into one row.
  class Pool {
   public:
    void Add(const Group& group) {
      base_.Add(group.base);
      head_.Add(group.head);
      base_lower_bound_ = base_lower_bound_ || group.base_lower_bound;
      head_lower_bound_ = head_lower_bound_ || group.head_lower_bound;
      count_ += group.count;
    }
    void MoveTo(absl::string_view what, std::vector<Group>* groups) const {
      if (count_ == 0) return;
      Group group;
      group.count = count_;
      group.label = absl::StrCat("[", GroupedDigits(count_), " ", what, "]");
      group.base = base_.Total();
      group.head = head_.Total();
      group.base_lower_bound = base_lower_bound_;
      group.head_lower_bound = head_lower_bound_;
      groups->push_back(std::move(group));
    }

   private:
    AmountsSum base_, head_;
    bool base_lower_bound_ = false, head_lower_bound_ = false;
    int64_t count_ = 0;
  };

  // The rows below a module: changes with the largest first, then unchanged ones.
  std::vector<Group> Below(int32_t parent) const {
    std::vector<Group> groups;
    Pool small, quiet, unknown, same;
    AmountsSum base, head;
    for (int32_t c = parent + 1; c < At(parent).end; c = At(c).end) {
      Group group = GroupOf(c);
      base.Add(group.base);
      head.Add(group.head);
      // A part that is not counted may have changed, so it is not listed as unchanged.
      const bool is_same = At(c).status == DiffStatus::kSame;
      if ((is_same || is_quiet_[static_cast<size_t>(c)]) && At(c).lower_bound()) {
        unknown.Add(group);
      } else if (is_same) {
        same.Add(group);
      } else if (is_quiet_[static_cast<size_t>(c)]) {
        quiet.Add(group);
      } else if (IsBelowThreshold(diff_, options_, At(c).Change(q_))) {
        small.Add(group);
      } else if (!groups.empty() && Extends(groups.back(), c)) {
        ++groups.back().count;
        groups.back().last = c;
      } else {
        groups.push_back(std::move(group));
      }
    }
    for (Group& group : groups) Finish(&group);
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Group& a, const Group& b) { return a.key > b.key; });
    if (options_.siblings > 0 && groups.size() > options_.siblings) {
      Pool more;
      for (size_t i = options_.siblings; i < groups.size(); ++i) more.Add(groups[i]);
      groups.resize(options_.siblings);
      more.MoveTo("with smaller changes", &groups);
    }
    small.MoveTo("below the threshold", &groups);
    unknown.MoveTo("not counted, or in part", &groups);
    quiet.MoveTo(absl::StrCat("with equal ", q_.title), &groups);
    same.MoveTo("unchanged", &groups);
    AddRest(parent, base.Total(), head.Total(), &groups);
    return groups;
  }

  void Finish(Group* group) const {
    if (group->count > 1) {
      group->label = NumberedLabel(At(group->first).name(), At(group->last).name(), group->count);
      group->base = group->head = Amounts();
      group->base.Add(*At(group->first).base, group->count);
      group->head.Add(*At(group->first).head, group->count);
    }
    group->key = MagnitudeOf(*group);
  }

  // Adds the module's own share in addition to its children, such as bytes that it moves itself.
  void AddRest(int32_t parent, const Amounts& base, const Amounts& head,
               std::vector<Group>* groups) const {
    if (groups->empty()) return;
    Group rest;
    rest.label = std::string(kOwnWork);
    for (const Quantity& q : kQuantities) {
      rest.base.*q.value = (*At(parent).base).*(q.value) - base.*q.value;
      rest.head.*q.value = (*At(parent).head).*(q.value) - head.*q.value;
    }
    const bool none = In(rest.base).is_zero() && In(rest.head).is_zero();
    if (!none) groups->push_back(std::move(rest));
  }

  size_t AddPlace(Group group, int64_t times, int indent) {
    places_.push_back({std::move(group), times, indent, {}});
    return places_.size() - 1;
  }

  // True if the row has something to show inside. A module that is entirely new or gone has
  // nothing, unless --depth asks for it or a part of it moved.
  bool CanOpen(int32_t i) const {
    const ModuleDiff& m = At(i);
    if (m.end == i + 1 || is_quiet_[static_cast<size_t>(i)]) return false;
    if (m.status == DiffStatus::kChanged || i == 0) return m.status != DiffStatus::kSame;
    return m.status != DiffStatus::kSame &&
           (has_moved_[static_cast<size_t>(i)] || options_.depth >= 0);
  }

  void Open(size_t at, std::vector<Group> below) {
    report::OpenPlace(at, std::move(below), &places_,
                      [this](Group group, int64_t times, int indent) {
                        return AddPlace(std::move(group), times, indent);
                      });
  }

  void OpenByChange() {
    std::vector<std::pair<absl::int128, size_t>> queue;
    const auto offer = [&](size_t at) {
      const Group& group = places_[at].group;
      if (group.first >= 0 && CanOpen(group.first)) queue.emplace_back(group.key, at);
    };
    if (diff_.has_base) offer(0);
    while (!queue.empty()) {
      const auto next =
          std::max_element(queue.begin(), queue.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first < b.first : a.second > b.second;
          });
      const size_t at = next->second;
      queue.erase(next);
      std::vector<Group> below = Below(places_[at].group.first);
      if (at != 0 && places_.size() + below.size() > kDiffPageRows) {
        ++closed_;
        continue;
      }
      Open(at, std::move(below));
      for (size_t row : places_[at].rows) offer(row);
    }
  }

  void OpenToDepth() {
    for (size_t at = 0; at < places_.size(); ++at) {
      const int32_t module = places_[at].group.first;
      if (places_[at].indent < options_.depth && module >= 0 && CanOpen(module)) {
        Open(at, Below(module));
      }
    }
  }

  std::string NoteOn(const ModuleDiff& m) const {
    if (m.new_level) return "new level";
    switch (m.status) {
      case DiffStatus::kNew:
        return "new";
      case DiffStatus::kGone:
        return "gone";
      case DiffStatus::kMovedHere:
        return absl::StrCat("moved from ", m.base_path);
      case DiffStatus::kMovedAway:
        return absl::StrCat("moved to ", m.base_path);
      case DiffStatus::kSame:
      case DiffStatus::kChanged:
        break;
    }
    return diff_.IsRenamed(m) ? absl::StrCat("was ", m.base_path) : "";
  }

  ShownRow RowOf(const Place& place) const {
    ShownRow row;
    row.indent = place.indent;
    row.label = place.group.label;
    row.others = place.group.first < 0;
    row.repeated = row.others ? 1 : place.group.count;
    row.base.Add(place.group.base, place.times);
    row.head.Add(place.group.head, place.times);
    row.base_lower_bound = place.group.base_lower_bound;
    row.head_lower_bound = place.group.head_lower_bound;
    if (row.others) return row;
    const ModuleDiff& m = At(place.group.first);
    if (row.label.empty()) row.label = m.type.empty() ? "(model)" : m.type;
    if (place.group.count == 1 && m.parent >= 0) row.note = NoteOn(m);
    if (place.group.count > 1 && !m.renamed()) row.note = NoteOn(m);
    return row;
  }

  const Diff& diff_;
  const DiffViewOptions& options_;
  const Quantity& q_;
  std::vector<int32_t> kinds_;
  std::vector<bool> has_moved_, is_quiet_;
  std::vector<Place> places_;
  int64_t closed_ = 0;
};

}  // namespace

std::optional<absl::int128> ShownValue(const Diff& diff, const Expr& formula) {
  if (formula.error() != nullptr) return std::nullopt;
  if (formula.is_literal()) return formula.literal();
  const absl::StatusOr<absl::int128> value = formula.Evaluate(diff.sizes);
  return value.ok() ? std::optional<absl::int128>(*value) : std::nullopt;
}

absl::int128 Magnitude(const Diff& diff, const Expr& change) {
  const absl::int128 value = ShownValue(diff, change).value_or(0);
  if (value >= 0) return value;
  return value == absl::Int128Min() ? absl::Int128Max() : -value;
}

bool IsBelowThreshold(const Diff& diff, const DiffViewOptions& options, const Expr& change) {
  if (options.threshold == 0) return false;
  const Expr formula = diff.modules[0].BaseOf(*options.quantity);
  const absl::int128 total = ShownValue(diff, formula).value_or(0);
  const bool fits = total <= absl::Int128Max() / options.threshold;
  return Magnitude(diff, change) <
         (fits ? total * options.threshold / kMillion : total / kMillion * options.threshold);
}

ShownRows DiffRows(const Diff& diff, const DiffViewOptions& options) {
  return DiffRowMaker(diff, options).Make();
}

}  // namespace onnxflops::diff
