// How it works. The joined profile is grouped three ways: by module, by operator and by group of
// kernels. Modules are shown at one depth, by default the deepest; kernels that belong to modules
// above it get rows of their own, "(own)", so that rows add up to the run. Modules whose names
// differ in numbers only, such as layers, become one row with their count if they have one class
// and the same work. If there are still too many rows, modules with different work are merged too.
// Rows are sorted by time, by FLOPs, or by the gap between the share of time and the share of
// FLOPs, which shows what is slow for its work. The last rows are the time of kernels that match no
// node, and the time outside kernels, so that the shares add up to 100 %.
#include "src/profile/profile_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "src/module/module.h"

namespace onnxflops::profile {
namespace {

std::string ModuleName(const ProfileReport& report, size_t i) {
  const ProfileModule& module = report.modules[i];
  if (module.path.empty()) return i == 0 ? "(model)" : std::string(kOutsideModules);
  return module.path;
}

// The modules at one depth, and modules above it without children. Kernels of other modules above
// have rows of their own.
std::vector<ProfileRow> RowsAtDepth(const ProfileReport& report, int depth) {
  std::vector<ProfileRow> rows;
  for (size_t i = 0; i < report.modules.size(); ++i) {
    const ProfileModule& module = report.modules[i];
    const bool leaf = static_cast<size_t>(module.end) == i + 1;
    if (module.depth > depth) continue;
    const bool whole = leaf || module.depth == depth;
    const ProfileWork& work = whole ? module.work : module.own;
    if (work.kernels == 0) continue;
    std::string name = ModuleName(report, i);
    if (!whole) name = i == 0 ? std::string(kOutsideModules) : absl::StrCat(name, ".", kOwnWork);
    rows.push_back({std::move(name), whole ? module.type : "", work});
  }
  return rows;
}

bool IsNumber(absl::string_view text) {
  constexpr size_t kMaxDigits = 9;
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// "encoder.layer_*.mlp" and 11, of "encoder.layer_11.mlp".
struct Numbered {
  std::string pattern;
  std::vector<int64_t> numbers;
};

// Numbers that are a whole part of a path, or end one after "_". In the last part the latter may
// distinguish modules (ln_1, ln_2), so they count only `with_last`.
Numbered NumbersOf(absl::string_view path, bool with_last) {
  Numbered result;
  std::vector<std::string> parts = absl::StrSplit(path, '.');
  for (std::string& part : parts) {
    const size_t line = part.rfind('_');
    const size_t begin = line == std::string::npos ? 0 : line + 1;
    if (!IsNumber(absl::string_view(part).substr(begin))) continue;
    if (begin > 0 && &part == &parts.back() && !with_last) continue;
    result.numbers.push_back(std::stoll(part.substr(begin)));
    part.replace(begin, std::string::npos, "*");
  }
  result.pattern = absl::StrJoin(parts, ".");
  return result;
}

// "encoder.layer_0-11.mlp" if one number differs without gaps, else the pattern.
std::string RangeName(const std::vector<Numbered>& names) {
  const Numbered& first = names[0];
  int64_t place = -1;
  for (size_t n = 0; n < first.numbers.size(); ++n) {
    const bool differs = std::any_of(names.begin(), names.end(), [&](const Numbered& name) {
      return name.numbers[n] != first.numbers[n];
    });
    if (differs && place >= 0) return first.pattern;
    if (differs) place = static_cast<int64_t>(n);
  }
  std::string out;
  size_t n = 0;
  for (const char c : first.pattern) {
    if (c != '*' || n == first.numbers.size()) {
      out += c;
    } else if (static_cast<int64_t>(n) != place) {
      absl::StrAppend(&out, first.numbers[n++]);
    } else {
      for (size_t i = 0; i < names.size(); ++i) {
        if (names[i].numbers[n] != first.numbers[n] + static_cast<int64_t>(i)) return first.pattern;
      }
      absl::StrAppend(&out, first.numbers[n], "-", names.back().numbers[n]);
      ++n;
    }
  }
  return out;
}

// Modules that differ in numbers only, as layers do, are one row with their count. With
// `equal_only`, if they have the same class and do the same work.
std::vector<ProfileRow> JoinAlike(std::vector<ProfileRow> rows, bool equal_only) {
  std::vector<Numbered> all;
  all.reserve(rows.size());
  for (const ProfileRow& row : rows) all.push_back(NumbersOf(row.name, /*with_last=*/true));
  using Key = std::tuple<std::string, std::string, absl::int128>;
  std::vector<ProfileRow> joined;
  std::vector<std::vector<Numbered>> names;
  absl::flat_hash_map<Key, size_t> places;
  for (size_t i = 0; i < rows.size(); ++i) {
    ProfileRow& row = rows[i];
    const bool after = i > 0 && all[i - 1].pattern == all[i].pattern;
    const bool before = i + 1 < rows.size() && all[i + 1].pattern == all[i].pattern;
    Numbered name = NumbersOf(row.name, /*with_last=*/after || before);
    const Key key = {name.pattern, equal_only ? row.type : "",
                     equal_only ? row.work.flops : absl::int128(0)};
    const auto [it, is_new] = places.try_emplace(key, joined.size());
    if (is_new) {
      joined.push_back(std::move(row));
      names.push_back({std::move(name)});
      continue;
    }
    ProfileRow& first = joined[it->second];
    names[it->second].push_back(std::move(name));
    if (first.type != row.type) first.type.clear();
    first.work.Add(row.work);
  }
  for (size_t i = 0; i < joined.size(); ++i) {
    if (names[i].size() < 2) continue;
    joined[i].name = absl::StrCat(RangeName(names[i]), "  ", names[i].size(), "x");
  }
  return joined;
}

std::vector<ProfileRow> ModuleRows(const ProfileReport& report, const ProfileView& view, bool cut) {
  int depth = view.depth;
  for (const ProfileModule& module : report.modules) {
    if (view.depth < 0) depth = std::max(depth, module.depth);
  }
  std::vector<ProfileRow> rows = RowsAtDepth(report, std::max(depth, 0));
  if (!cut || view.top == 0) return rows;
  std::vector<ProfileRow> equal = JoinAlike(rows, /*equal_only=*/true);
  if (view.depth >= 0 || equal.size() <= static_cast<size_t>(view.top)) return equal;
  return JoinAlike(std::move(rows), /*equal_only=*/false);
}

std::vector<ProfileRow> OperatorRows(const ProfileReport& report) {
  absl::btree_map<std::string, ProfileWork> by_op;
  for (const ProfileGroup& group : report.groups) {
    if (group.joined()) by_op[group.op].Add(group.work);
  }
  std::vector<ProfileRow> rows;
  for (const auto& [op, work] : by_op) rows.push_back({op, "", work});
  return rows;
}

std::vector<ProfileRow> GroupRows(const ProfileReport& report) {
  std::vector<ProfileRow> rows;
  for (const ProfileGroup& group : report.groups) {
    if (!group.joined()) continue;
    std::string name = group.kernels[0];
    if (group.kernels.size() > 1) {
      absl::StrAppend(&name, " and ", group.kernels.size() - 1, " more");
    }
    rows.push_back({std::move(name), group.op, group.work});
  }
  return rows;
}

void Cut(size_t most, std::vector<ProfileRow>* rows) {
  if (most == 0 || rows->size() <= most + 1) return;
  ProfileRow others;
  others.kind = ProfileRow::Kind::kOthers;
  others.name = absl::StrCat("[", rows->size() - most, " others]");
  for (size_t i = most; i < rows->size(); ++i) others.work.Add((*rows)[i].work);
  rows->resize(most);
  rows->push_back(std::move(others));
}

}  // namespace

double TimeShare(const ProfileReport& report, const ProfileWork& work) {
  const int64_t whole = report.run_ns();
  return whole == 0 ? 0 : static_cast<double>(work.ns) / static_cast<double>(whole);
}

double FlopsShare(const ProfileReport& report, const ProfileWork& work) {
  const absl::int128 whole = report.run_flops();
  return whole == 0 ? 0 : static_cast<double>(work.flops) / static_cast<double>(whole);
}

std::vector<ProfileRow> RowsOf(const ProfileReport& report, const ProfileView& view, bool cut) {
  std::vector<ProfileRow> rows = view.by == GroupBy::kModule ? ModuleRows(report, view, cut)
                                 : view.by == GroupBy::kOp   ? OperatorRows(report)
                                                             : GroupRows(report);
  const auto key = [&](const ProfileRow& row) {
    const double time = TimeShare(report, row.work), flops = FlopsShare(report, row.work);
    return view.sort == ProfileSort::kTime    ? time
           : view.sort == ProfileSort::kFlops ? flops
                                              : time - flops;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const ProfileRow& a, const ProfileRow& b) { return key(a) > key(b); });
  if (cut) Cut(static_cast<size_t>(view.top), &rows);
  if (report.flops_without_kernel > 0) {
    rows.push_back({std::string(kNodesWithoutKernel),
                    "",
                    {.flops = report.flops_without_kernel, .macs = report.macs_without_kernel},
                    ProfileRow::Kind::kNoKernel});
  }
  ProfileRow missing = {std::string(kDidNotJoin), "", {}, ProfileRow::Kind::kNotJoined};
  for (const ProfileGroup& group : report.groups) {
    if (!group.joined()) missing.work.Add(group.work);
  }
  if (missing.work.kernels > 0) rows.push_back(std::move(missing));
  if (report.outside_ns) {
    rows.push_back(
        {std::string(kOutsideKernels), "", {.ns = *report.outside_ns}, ProfileRow::Kind::kOutside});
  }
  return rows;
}

}  // namespace onnxflops::profile
