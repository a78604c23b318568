// Which rows of the module tree are shown.
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/cost/amounts_sum.h"
#include "src/report/format.h"
#include "src/report/view.h"

namespace onnxflops::report {
namespace {

// Without --depth, the tree is opened as far as this many rows allow, but no further than
// kMaxAutoDepth and at least to depth 1.
constexpr size_t kPageRows = 40;
constexpr int kMaxAutoDepth = 5;
// Rows under one parent before the smallest become "[12 others]".
constexpr size_t kMaxSiblings = 24;

// One row under a parent: a module, equal neighbours that are numbered, or others.
struct Group : Amounts {        // of all of them
  int32_t first = 0, last = 0;  // -1: others, which are not opened
  int64_t count = 1;
  std::string label;
};

struct NumberedName {
  absl::string_view prefix, digits, suffix;
};

// All ways to read a name as prefix, number, suffix; numbers of at most 9 digits without leading 0.
std::vector<NumberedName> Numbers(absl::string_view name) {
  std::vector<NumberedName> result;
  for (size_t i = 0; i < name.size();) {
    if (!absl::ascii_isdigit(name[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < name.size() && absl::ascii_isdigit(name[end])) ++end;
    if (end - i <= 9 && (name[i] != '0' || end == i + 1)) {
      result.push_back({name.substr(0, i), name.substr(i, end - i), name.substr(end)});
    }
    i = end;
  }
  return result;
}

size_t CommonPrefix(absl::string_view a, absl::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + most, b.begin()).first -
                             a.begin());
}

size_t CommonSuffix(absl::string_view a, absl::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  return static_cast<size_t>(std::mismatch(a.rbegin(), a.rbegin() + most, b.rbegin()).first -
                             a.rbegin());
}

int64_t ToNumber(absl::string_view digits) {
  int64_t value = 0;
  for (char c : digits) value = value * 10 + (c - '0');
  return value;
}

class RowMaker {
 public:
  RowMaker(const Report& report, const ViewOptions& options)
      : modules_(report.modules),
        fold_(options.fold),
        exact_(options.exact),
        shorten_(options.fold && options.depth < 0),
        by_macs_(!report.has_flops()),
        reference_(report),
        total_work_(reference_.Of(WorkOf(report.totals)).value_or(0)) {}

  // Rows to `depth`, or nothing when there are more than `limit`.
  std::vector<ModuleRow> Make(int depth, size_t limit) {
    rows_.clear();
    rows_.reserve(std::min(limit, kPageRows) + 1);
    Group root = GroupOf(0);
    std::vector<Group> top = Unchain(&root);
    const int64_t below_root = root.count;
    Add(std::move(root), 0, 1);
    std::vector<Frame> stack;
    if (depth > 0) stack.push_back({std::move(top), 0, below_root, 1});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == frame.groups.size()) {
        stack.pop_back();
        continue;
      }
      Group group = std::move(frame.groups[frame.next++]);
      const int indent = frame.indent;
      const int64_t times = frame.times;
      std::vector<Group> below = Unchain(&group);
      const int64_t times_below = times * group.count;
      Add(std::move(group), indent, times);
      if (rows_.size() > limit) return {};
      if (indent < depth && !below.empty()) {
        stack.push_back({std::move(below), 0, times_below, indent + 1});
      }
    }
    return std::move(rows_);
  }

 private:
  struct Frame {
    std::vector<Group> groups;
    size_t next;
    int64_t times;
    int indent;
  };

  const Module& At(int32_t i) const { return modules_[static_cast<size_t>(i)]; }
  // Of a module or group: FLOPs, or the MACs of a tool that counts those.
  const Expr& WorkOf(const Amounts& a) const { return by_macs_ ? a.macs : a.flops; }

  // Modules that do nothing, and own work that would be shown as less than 0.1 percent.
  bool Hidden(const Module& m) const {
    if (!fold_ || m.lower_bound) return false;
    const Amounts& amounts = *m.amounts;
    if (amounts.flops == Expr(0) && amounts.macs == Expr(0)) return amounts.params == Expr(0);
    if (!m.own || m.parent == 0 || exact_) return false;
    const auto work = reference_.Of(WorkOf(amounts));
    return work && *work < total_work_ / 1000 &&
           amounts.params.literal() < modules_[0].amounts->params.literal() / 1000;
  }

  Group GroupOf(int32_t index) const {
    const Module& m = At(index);
    return {*m.amounts, index, index, 1, std::string(m.name())};
  }

  // The children of a module, equal neighbours together.
  std::vector<Group> Groups(int32_t parent) const {
    std::vector<Group> groups;
    for (int32_t c = parent + 1; c < At(parent).end; c = At(c).end) {
      if (Hidden(At(c))) continue;
      if (fold_ && !groups.empty() && Extends(groups.back(), At(c))) {
        ++groups.back().count;
        groups.back().last = c;
        continue;
      }
      groups.push_back(GroupOf(c));
    }
    for (Group& group : groups) {
      if (group.count == 1) continue;
      group.label = FoldedLabel(group);
      group.Amounts::operator=({});
      group.Amounts::Add(*At(group.first).amounts, group.count);  // exact in what tells kinds apart
    }
    if (shorten_ && groups.size() > kMaxSiblings) JoinSmallest(&groups);
    return groups;
  }

  // Whether a module is the next of a group: of the same kind, with the next number.
  bool Extends(const Group& group, const Module& next) const {
    const Module& first = At(group.first);
    if (first.kind != next.kind || first.own || next.own) return false;
    // What is equal at the beginning and at the end, so that no number is compared with the rest of
    // the names.
    const absl::string_view name = next.name();
    const size_t begin = CommonPrefix(first.name(), name);
    const size_t end = CommonSuffix(first.name(), name);
    const std::vector<NumberedName> numbers = Numbers(first.name());
    return std::any_of(numbers.begin(), numbers.end(), [&](const NumberedName& n) {
      if (n.prefix.size() > begin || n.suffix.size() > end) return false;
      const std::string number = absl::StrCat(ToNumber(n.digits) + group.count);
      return name.size() == n.prefix.size() + number.size() + n.suffix.size() &&
             name.substr(n.prefix.size(), number.size()) == number;
    });
  }

  // "resblocks.0" of 24 is "resblocks.0-23".
  std::string FoldedLabel(const Group& group) const {
    const absl::string_view last_name = At(group.last).name();
    const size_t begin = CommonPrefix(At(group.first).name(), last_name);
    for (const NumberedName& n : Numbers(At(group.first).name())) {
      const int64_t last = ToNumber(n.digits) + group.count - 1;
      if (n.prefix.size() <= begin && last_name == absl::StrCat(n.prefix, last, n.suffix)) {
        return absl::StrCat(n.prefix, n.digits, "-", last, n.suffix);
      }
    }
    return group.label;
  }

  // Leaves the largest, in their order, and puts what is left into a last row.
  void JoinSmallest(std::vector<Group>* groups) const {
    std::vector<std::pair<absl::int128, size_t>> by_size;
    for (size_t i = 0; i < groups->size(); ++i) {
      by_size.emplace_back(reference_.Of(WorkOf((*groups)[i])).value_or(0), i);
    }
    std::sort(by_size.begin(), by_size.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<bool> keep(groups->size(), false);
    for (size_t i = 0; i + 1 < kMaxSiblings; ++i) keep[by_size[i].second] = true;
    std::vector<Group> kept;
    Group others{{}, -1, -1, 0};
    AmountsSum sum;
    for (size_t i = 0; i < groups->size(); ++i) {
      Group& group = (*groups)[i];
      if (keep[i]) {
        kept.push_back(std::move(group));
        continue;
      }
      others.count += group.count;
      sum.Add(group);
    }
    static_cast<Amounts&>(others) = sum.Total();
    others.label = absl::StrCat("[", others.count, " others]");
    kept.push_back(std::move(others));
    *groups = std::move(kept);
  }

  // A module with one child row only is shown together with it, but the model not with a row of
  // many. Returns the rows below.
  std::vector<Group> Unchain(Group* group) const {
    if (group->first < 0) return {};
    std::vector<Group> below = Groups(group->first);
    while (fold_ && below.size() == 1 && !At(below[0].first).own &&
           (!group->label.empty() || below[0].count == 1)) {
      group->label = absl::StrCat(group->label, group->label.empty() ? "" : ".", below[0].label);
      group->first = below[0].first;
      group->count *= below[0].count;
      below = Groups(group->first);
    }
    return below;
  }

  void Add(Group group, int indent, int64_t times) {
    ModuleRow& row = rows_.emplace_back();
    row.label = std::move(group.label);
    row.indent = indent;
    row.module = group.first;
    if (times == 1) {
      Amounts& amounts = group;
      row.Amounts::operator=(std::move(amounts));
    } else {
      row.Amounts::Add(group, times);
    }
    if (group.first >= 0) {
      row.repeated = group.count;
      row.type = At(group.first).type;
      row.lower_bound = At(group.first).lower_bound;
    }
  }

  const std::vector<Module>& modules_;
  const bool fold_;
  const bool exact_;
  const bool shorten_;
  const bool by_macs_;
  ReferenceValues reference_;
  const absl::int128 total_work_;
  std::vector<ModuleRow> rows_;
};

}  // namespace

std::vector<ModuleRow> ModuleRows(const Report& report, const ViewOptions& options) {
  RowMaker maker(report, options);
  constexpr size_t kNoLimit = static_cast<size_t>(-1);
  if (options.depth >= 0) return maker.Make(options.depth, kNoLimit);
  if (!options.fold) return maker.Make(kMaxModuleDepth, kNoLimit);
  std::vector<ModuleRow> rows = maker.Make(1, kNoLimit);
  for (int depth = 2; depth <= kMaxAutoDepth; ++depth) {
    std::vector<ModuleRow> more = maker.Make(depth, kPageRows);
    if (more.empty() || more.size() == rows.size()) break;
    rows = std::move(more);
  }
  return rows;
}

}  // namespace onnxflops::report
