// How it works. The joined profile is grouped three ways: by module, by operator and by group of
// kernels. Modules are those of a depth, by default the deepest; kernels that belong to modules
// above it get rows of their own, "(own)", so that rows add up to the run. If there are too many
// rows, modules that differ in numbers only, as layers do, are joined with their count. Rows are
// sorted by time, by FLOPs, or by the gap between the share of time and the share of FLOPs, which
// shows what is slow for its work. At the end stand the time of kernels that match no node, and the
// time outside of kernels, without which the shares would not add up to 100 %.
#include "src/profile/profile_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace onnxflops::profile {
namespace {

constexpr char kOutsideModules[] = "(outside any module)";

std::string ModuleName(const ProfileReport& report, size_t i) {
  const ProfileModule& module = report.modules[i];
  if (module.path.empty()) return i == 0 ? "(model)" : kOutsideModules;
  return module.path;
}

// The modules of one depth, and those above it that have no modules inside. Kernels of the other
// modules above are in rows of their own.
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
    if (!whole) name = i == 0 ? kOutsideModules : absl::StrCat(name, ".(own)");
    rows.push_back({std::move(name), whole ? module.type : "", work});
  }
  return rows;
}

// "visual.resblocks.*.mlp" of "visual.resblocks.11.mlp".
std::string WithoutNumbers(absl::string_view path) {
  std::vector<absl::string_view> parts = absl::StrSplit(path, '.');
  for (absl::string_view& part : parts) {
    const bool number = !part.empty() && std::all_of(part.begin(), part.end(), absl::ascii_isdigit);
    if (number) part = "*";
  }
  return absl::StrJoin(parts, ".");
}

// Modules that differ in numbers only, as layers do, are one row.
std::vector<ProfileRow> JoinAlike(std::vector<ProfileRow> rows) {
  std::vector<ProfileRow> joined;
  absl::flat_hash_map<std::string, size_t> places;
  std::vector<int64_t> times;
  for (ProfileRow& row : rows) {
    const auto [it, is_new] = places.try_emplace(WithoutNumbers(row.name), joined.size());
    if (is_new) {
      joined.push_back(std::move(row));
      times.push_back(1);
      continue;
    }
    ProfileRow& first = joined[it->second];
    if (times[it->second]++ == 1) first.name = it->first;
    if (first.type != row.type) first.type.clear();
    first.work.Add(row.work);
  }
  for (size_t i = 0; i < joined.size(); ++i) {
    if (times[i] > 1) absl::StrAppend(&joined[i].name, "  ", times[i], "x");
  }
  return joined;
}

std::vector<ProfileRow> ModuleRows(const ProfileReport& report, const ProfileView& view, bool cut) {
  if (view.depth >= 0) return RowsAtDepth(report, view.depth);
  int deepest = 0;
  for (const ProfileModule& module : report.modules) deepest = std::max(deepest, module.depth);
  std::vector<ProfileRow> rows = RowsAtDepth(report, deepest);
  const bool fit = view.top == 0 || rows.size() <= static_cast<size_t>(view.top);
  return fit || !cut ? rows : JoinAlike(std::move(rows));
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
  const absl::int128 whole = report.total.flops;
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
  ProfileRow missing = {"(did not join)", "", {}, ProfileRow::Kind::kNotJoined};
  for (const ProfileGroup& group : report.groups) {
    if (!group.joined()) missing.work.Add(group.work);
  }
  if (missing.work.kernels > 0) rows.push_back(std::move(missing));
  if (report.outside_ns) {
    rows.push_back(
        {"(outside kernels)", "", {.ns = *report.outside_ns}, ProfileRow::Kind::kOutside});
  }
  return rows;
}

}  // namespace onnxflops::profile
