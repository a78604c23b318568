// Chooses the rows of the module tree that are shown.
//
// How it works. Equal children with consecutive numbers become one row ("layers.0-23 24x"), and a
// module with a single child row is shown together with it ("visual.transformer"). By default rows
// are opened by cost: the costliest row first, until the page is full. Children below 1 % of the
// model, or too many for the space, are joined in a last row "[.. and 3 others]". A module with
// unknown parts may cost more, so some of these have a row of their own. With --depth or similar
// options, rows are opened level by level and nothing is joined.
//
// The shown rows must add up. FLOPs and MACs do so by the tree. Other figures may have a rest:
// bytes and integer operations of nodes that are a module's own and have no FLOPs. It gets a row
// "(own, without FLOPs)". The time bound has no rest: that of the model is of a run, those of its
// rows are of their arithmetic. Equal neighbours may differ in such figures, so groups then require
// all figures to be equal. Amounts of a row are held per copy; a place knows how many copies of it
// the rows above stand for.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "src/base/limits.h"
#include "src/cost/amounts_sum.h"
#include "src/render/format.h"
#include "src/render/numbered_name.h"
#include "src/render/open_place.h"
#include "src/report/figure_columns.h"
#include "src/report/view.h"

namespace onnxflops::report {
namespace {

// Most rows under one parent: from here on the smallest are joined.
constexpr size_t kMaxSiblings = 24;
// If not all rows below have room, a row is opened only if at least so many have.
constexpr size_t kLeastOpened = 3;
// Rows below 1/100 of the model are merged with other small ones.
constexpr int kLeastPart = 100;
// Most modules of unknown cost that have a row of their own where their known part is small.
constexpr size_t kMaxUnsure = 4;
constexpr int kMaxJoinedNames = 16;  // columns of the names in a row that joins others

// One row under a parent: a module, numbered equal neighbours, or the rest.
struct Group : Amounts {        // of all of them
  int32_t first = 0, last = 0;  // -1: others, which are not opened
  int64_t count = 1;
  std::string label;
  bool lower_bound = false;
};

class RowMaker {
 public:
  RowMaker(const Report& report, const ViewOptions& options)
      : report_(report),
        modules_(report.modules),
        options_(options),
        by_cost_(options.depth < 0 && options.fold && options.top == 0 && !options.stable),
        cost_(report, options),
        total_(cost_.Cost(RootAmounts(report))) {
    for (const Figure& figure : ShownFigures(report, options)) {
      if (figure.kind == Figure::Kind::kQuantity) shown_.push_back(figure.quantity);
      if (figure.kind == Figure::Kind::kIntensity) has_rest_ = true;
    }
    for (const Quantity* q : shown_) {
      has_rest_ = has_rest_ || (q->of == Quantity::Of::kWork && q->value != &Amounts::flops &&
                                q->value != &Amounts::macs);
    }
  }

  ModuleView Make() {
    AddRoot();
    if (by_cost_) {
      OpenByCost();
    } else {
      OpenToDepth(options_.depth >= 0 && options_.top == 0 ? options_.depth : kMaxModuleDepth);
    }
    if (options_.top > 0) return Leaves();
    return InOrder();
  }

 private:
  // A row, and the rows below it, which are found before it is opened.
  struct Place {
    Group group;
    Amounts amounts;    // in the model: of `times` times the group
    int64_t times = 1;  // copies that the row above stands for
    int indent = 0;
    std::vector<Group> below;
    std::vector<size_t> rows;  // of the rows below that are shown
  };

  const Module& At(int32_t i) const { return modules_[static_cast<size_t>(i)]; }
  absl::int128 CostOf(const Amounts& amounts) const { return cost_.Cost(amounts); }
  // True if `times` such costs are small. Rounds up instead of multiplying, which may overflow.
  bool IsSmall(absl::int128 cost, int64_t times = 1) const {
    const auto divide = [](absl::int128 a, absl::int128 b) { return a / b + (a % b > 0 ? 1 : 0); };
    return cost < divide(divide(total_, kLeastPart), times);
  }

  // True for modules whose shown figures are all 0.
  bool Hidden(const Module& m) const {
    if (!options_.fold || m.lower_bound) return false;
    return std::all_of(shown_.begin(), shown_.end(),
                       [&](const Quantity* q) { return report_.In(*q, *m.amounts) == Expr(0); });
  }

  Group GroupOf(int32_t index) const {
    const Module& m = At(index);
    return {*m.amounts, index, index, 1, std::string(m.name()), m.lower_bound};
  }

  // The children of a module, equal neighbours together.
  std::vector<Group> Groups(int32_t parent) const {
    std::vector<Group> groups;
    for (int32_t c = parent + 1; c < At(parent).end; c = At(c).end) {
      if (Hidden(At(c))) continue;
      if (options_.fold && !groups.empty() && Extends(groups.back(), At(c))) {
        ++groups.back().count;
        groups.back().last = c;
        continue;
      }
      groups.push_back(GroupOf(c));
    }
    for (Group& group : groups) {
      if (group.count == 1) continue;
      group.label = NumberedLabel(At(group.first).name(), At(group.last).name(), group.count);
      group.Amounts::operator=({});
      group.Amounts::Add(*At(group.first).amounts, group.count);  // exact within a kind
    }
    return groups;
  }

  // True if a module continues a group: the same kind, with the next number. Kinds do not include
  // bytes and similar amounts.
  bool Extends(const Group& group, const Module& next) const {
    const Module& first = At(group.first);
    if (first.kind != next.kind || first.own || next.own) return false;
    if (has_rest_ && !(*first.amounts == *next.amounts)) return false;
    return ContinuesNumbers(first.name(), group.count, next.name());
  }

  // Shows a module with a single child row together with it, but never the model with a row for
  // many. A module that patterns selected beside others is named by its whole path, without the
  // patterns. Returns the rows below.
  std::vector<Group> Unchain(Group* group) const {
    if (group->first < 0) return {};
    std::vector<Group> below = Groups(group->first);
    while (options_.fold && below.size() == 1 && !At(below[0].first).own &&
           (below[0].count == 1 || (!group->label.empty() && !has_rest_))) {
      const Module& child = At(below[0].first);
      group->label = child.name() == child.path ? below[0].label
                                                : absl::StrCat(group->label, ".", below[0].label);
      group->first = below[0].first;
      group->count *= below[0].count;
      below = Groups(group->first);
    }
    return below;
  }

  void AddRoot() {
    Group root = GroupOf(0);
    AddPlace(std::move(root), 1, 0);
  }

  size_t AddPlace(Group group, int64_t times, int indent) {
    Place& place = places_.emplace_back();
    place.times = times;
    place.indent = indent;
    place.below = Unchain(&group);
    if (times == 1) {
      place.amounts = static_cast<Amounts&>(group);
    } else {
      place.amounts.Add(group, times);
    }
    place.group = std::move(group);
    return places_.size() - 1;
  }

  // Adds a row for amounts missing in the rows below, such as bytes that a module moves itself, so
  // that they add up. No node has the bound on the time of a run.
  void AddRest(const Place& place, std::vector<Group>* below) const {
    const int64_t times = place.times * place.group.count;
    AmountsSum sum;
    sum.Add(place.amounts);
    for (const Group& group : *below) sum.Add(group, -times);
    Amounts rest = sum.Total();
    rest.time_bound = 0;
    const bool none = std::all_of(shown_.begin(), shown_.end(), [&](const Quantity* q) {
      return report_.In(*q, rest) == Expr(0);
    });
    if (none || below->empty()) return;
    // Per copy of the row above, like the others; whole numbers by construction.
    Group group{{}, -1, -1, 1, "(own, without FLOPs)"};
    for (const Quantity& q : kQuantities) {
      const std::optional<Expr> one = DivideExactly(rest.*q.value, Expr(times));
      group.*q.value = one.value_or(0);
    }
    below->push_back(std::move(group));
  }

  // By falling keys; equal ones keep their order.
  template <typename Key>
  static void Sort(const Key& key, std::vector<Group>* groups) {
    std::vector<std::pair<absl::int128, size_t>> order;
    order.reserve(groups->size());
    for (size_t i = 0; i < groups->size(); ++i) order.emplace_back(key((*groups)[i]), i);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<Group> sorted;
    sorted.reserve(groups->size());
    for (const auto& [cost, i] : order) sorted.push_back(std::move((*groups)[i]));
    *groups = std::move(sorted);
  }

  void SortAsAsked(std::vector<Group>* groups) const {
    Sort([&](const Group& group) { return cost_.SortKey(group); }, groups);
  }

  // The rows below a place as they would be shown, of modules at most so many.
  std::vector<Group> RowsBelow(const Place& place, size_t most = kMaxSiblings) const {
    std::vector<Group> below = place.below;
    if (has_rest_) AddRest(place, &below);
    if (by_cost_) JoinSmall(place.times * place.group.count, most, &below);
    const bool done = by_cost_ && options_.sort && options_.sort->kind == Figure::Kind::kQuantity;
    if (options_.sort && !done) SortAsAsked(&below);
    return below;
  }

  // Sorts the groups, keeps the costliest and some whose cost is not known, and joins the others,
  // which are below 1 % or beyond `most`, in a last row.
  void JoinSmall(int64_t times, size_t most, std::vector<Group>* groups) const {
    Sort([&](const Group& group) { return CostOf(group); }, groups);
    size_t kept = 0;
    while (kept < groups->size() && kept + 1 < most && !IsSmall(CostOf((*groups)[kept]), times)) {
      ++kept;
    }
    size_t unsure = 0;
    for (size_t i = kept; i < groups->size() && kept + 1 < most && unsure < kMaxUnsure; ++i) {
      if (!IsUnsure((*groups)[i])) continue;
      const auto begin = groups->begin();
      const auto at = [&](size_t place) { return begin + static_cast<std::ptrdiff_t>(place); };
      std::rotate(at(kept), at(i), at(i + 1));
      ++kept;
      ++unsure;
    }
    *groups = Joined(std::move(*groups), kept);
  }

  // True if it may cost more than it says.
  bool IsUnsure(const Group& group) const {
    return group.lower_bound && CostQuantity(report_, options_).of == Quantity::Of::kWork;
  }

  // The groups from `kept` on in one row, unless that is one group only.
  std::vector<Group> Joined(std::vector<Group> groups, size_t kept) const {
    if (groups.size() < kept + 2) return groups;
    Group others{{}, -1, -1, 0};
    AmountsSum sum;
    for (size_t i = kept; i < groups.size(); ++i) {
      sum.Add(groups[i]);
      others.count += groups[i].count;
      others.lower_bound = others.lower_bound || groups[i].lower_bound;
    }
    static_cast<Amounts&>(others) = sum.Total();
    others.label = JoinedLabel(absl::MakeConstSpan(groups).subspan(kept), others.count);
    groups.resize(kept);
    groups.push_back(std::move(others));
    return groups;
  }

  // "[ln_1, ln_2 and 3 others]", with the names that have room.
  static std::string JoinedLabel(absl::Span<const Group> groups, int64_t count) {
    std::vector<absl::string_view> names;
    int columns = 0;
    int64_t left = count;
    for (const Group& group : groups) {
      columns += DisplayWidth(group.label) + 2;
      if (columns > kMaxJoinedNames || names.size() == 2) break;
      names.push_back(group.label);
      left -= group.count;
    }
    std::string label = absl::StrJoin(names, ", ");
    if (left > 0) {
      absl::StrAppend(&label, names.empty() ? "" : " and ", GroupedDigits(left),
                      left == 1 ? " other" : " others");
    }
    return absl::StrCat("[", label, "]");
  }

  void Open(size_t at, std::vector<Group> below) {
    OpenPlace(at, std::move(below), &places_, [this](Group group, int64_t times, int indent) {
      return AddPlace(std::move(group), times, indent);
    });
  }

  // Opens the costliest row first. A row is not opened if nothing in it would get its own row.
  void OpenByCost() {
    std::vector<std::pair<absl::int128, size_t>> queue = {{total_, 0}};
    while (!queue.empty()) {
      const auto next =
          std::max_element(queue.begin(), queue.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first < b.first : a.second > b.second;
          });
      const auto [whole, at] = *next;
      queue.erase(next);
      std::vector<Group> below = RowsBelow(places_[at]);
      if (below.empty() || (below.size() == 1 && below[0].first < 0)) continue;
      const size_t page = static_cast<size_t>(std::max(0, options_.page_rows));
      const size_t room = std::max(page, places_.size()) - places_.size();
      if (below.size() > room) {
        // A row with most of the cost is opened as far as there is room.
        if (room < kLeastOpened || whole < total_ / 2) {
          ++closed_;
          continue;
        }
        below = RowsBelow(places_[at], room);
        crowded_ = true;
      }
      Open(at, std::move(below));
      for (size_t row : places_[at].rows) {
        const Place& place = places_[row];
        joined_ = joined_ || (place.group.first < 0 && place.group.count > 1);
        const absl::int128 cost = CostOf(place.amounts);
        if (!place.below.empty() && !IsSmall(cost)) queue.emplace_back(cost, row);
      }
    }
  }

  void OpenToDepth(int depth) {
    for (size_t at = 0; at < places_.size(); ++at) {
      if (places_[at].indent >= depth) continue;
      std::vector<Group> below = RowsBelow(places_[at]);
      places_[at].below.clear();
      Open(at, std::move(below));
    }
  }

  ModuleRow RowOf(Place* place) const {
    ModuleRow row;
    row.Amounts::operator=(std::move(place->amounts));
    row.label = std::move(place->group.label);
    row.indent = place->indent;
    row.module = place->group.first;
    row.lower_bound = place->group.lower_bound;
    if (place->group.first >= 0) {
      row.repeated = place->group.count;
      row.type = At(place->group.first).type;
    }
    return row;
  }

  // Each place before those below it.
  ModuleView InOrder() {
    ModuleView view;
    view.closed = closed_;
    view.joined = joined_;
    view.crowded = crowded_;
    std::vector<size_t> stack = {0};
    while (!stack.empty()) {
      Place& place = places_[stack.back()];
      stack.pop_back();
      stack.insert(stack.end(), place.rows.rbegin(), place.rows.rend());
      view.rows.push_back(RowOf(&place));
    }
    return view;
  }

  // The costliest modules without children, with their paths, and the rest.
  ModuleView Leaves() {
    std::vector<Group> leaves;
    std::vector<std::pair<size_t, std::string>> stack = {{0, ""}};
    while (!stack.empty()) {
      auto [at, path] = std::move(stack.back());
      stack.pop_back();
      Place& place = places_[at];
      const std::string& label = place.group.label;
      path = absl::StrCat(path, path.empty() || label.empty() ? "" : ".", label);
      for (auto row = place.rows.rbegin(); row != place.rows.rend(); ++row) {
        stack.emplace_back(*row, path);
      }
      if (!place.rows.empty()) continue;
      Group leaf = std::move(place.group);
      leaf.Amounts::operator=(std::move(place.amounts));
      leaf.count *= place.times;
      leaf.label = std::move(path);
      leaves.push_back(std::move(leaf));
    }
    SortAsAsked(&leaves);
    leaves = Joined(std::move(leaves), static_cast<size_t>(options_.top));
    ModuleView view;
    for (Group& leaf : leaves) {
      Place place;
      place.amounts = static_cast<Amounts&>(leaf);
      place.group = std::move(leaf);
      view.rows.push_back(RowOf(&place));
    }
    return view;
  }

  const Report& report_;
  const std::vector<Module>& modules_;
  const ViewOptions& options_;
  const bool by_cost_;  // opened by cost
  const FigureColumns cost_;
  const absl::int128 total_;
  std::vector<const Quantity*> shown_;
  bool has_rest_ = false;  // something is shown that children of a module need not add up to
  std::vector<Place> places_;
  int64_t closed_ = 0;
  bool joined_ = false, crowded_ = false;
};

}  // namespace

ModuleView ModuleRows(const Report& report, const ViewOptions& options) {
  return RowMaker(report, options).Make();
}

}  // namespace onnxflops::report
