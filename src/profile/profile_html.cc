// A joined profile as a page, drawn by src/render/html/.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/limits.h"
#include "src/cost/amounts.h"
#include "src/module/module.h"
#include "src/profile/profile_report.h"
#include "src/profile/profile_rows.h"
#include "src/render/html_page.h"
#include "src/render/json_writer.h"
#include "src/report/html_tree.h"

namespace onnxflops {
namespace {

using profile::kDidNotJoin;
using profile::kNodesWithoutKernel;
using profile::kOutsideKernels;
using report::HtmlTree;

// Quantities of a profile's page. The time is measured, and bytes are one figure.
constexpr Quantity kProfileQuantities[] = {
    {"time", "time", Quantity::Unit::kSeconds, Quantity::Of::kWork, &Amounts::time_bound},
    {"flops", "FLOPs", Quantity::Unit::kFlops, Quantity::Of::kWork, &Amounts::flops},
    {"macs", "MACs", Quantity::Unit::kMacs, Quantity::Of::kWork, &Amounts::macs},
    {"bytes", "bytes moved", Quantity::Unit::kBytes, Quantity::Of::kWork, &Amounts::bytes_read},
};

// The run with its modules and their kernels, and the time outside modules.
class ProfileTree {
 public:
  explicit ProfileTree(const ProfileReport& report) : report_(report), tree_(Quantities()) {
    groups_.resize(report.modules.size());
    for (const ProfileGroup& group : report.groups) {
      if (!group.joined()) continue;
      groups_[static_cast<size_t>(group.module)].push_back(&group);
    }
    AddModules();
    AddOutside();
  }

  void Write(report::JsonWriter* json) const { tree_.Write(json); }

 private:
  static std::vector<const Quantity*> Quantities() {
    std::vector<const Quantity*> quantities;
    for (const Quantity& q : kProfileQuantities) quantities.push_back(&q);
    return quantities;
  }

  void Add(HtmlTree::Kind kind, int32_t depth, absl::string_view name, absl::string_view type,
           const ProfileWork& work, bool unknown = false) {
    constexpr int64_t kZsPerNs = 1'000'000'000'000;
    Amounts& amounts = amounts_.emplace_back();
    amounts.time_bound = Expr(absl::int128(work.ns) * kZsPerNs);
    amounts.flops = Expr(work.flops);
    amounts.macs = Expr(work.macs);
    amounts.bytes_read = Expr(work.bytes);
    HtmlTree::Item item;
    item.kind = kind;
    item.depth = depth;
    item.name = name;
    item.type = type;
    item.nodes = work.kernels;
    item.lower_bounds = {work.lower_bound || unknown};
    item.figures = {&amounts};
    item.weight = work.ns;
    tree_.Add(std::move(item));
  }

  void AddKernels(const std::vector<const ProfileGroup*>& groups, int32_t depth,
                  bool unknown = false) {
    for (const ProfileGroup* group : groups) {
      Add(HtmlTree::Kind::kOperator, depth, group->kernels[0], group->op, group->work, unknown);
    }
  }

  void AddModules() {
    for (size_t i = 0; i < report_.modules.size(); ++i) {
      const ProfileModule& m = report_.modules[i];
      if (i > 0 && m.work.kernels == 0) continue;
      ProfileWork work = i == 0 ? report_.total : m.work;
      if (i == 0) work = WholeRun(work);
      Add(HtmlTree::Kind::kModule, m.depth, i == 0 ? "" : NameOf(m), m.type, work);
      // Kernels that belong to the module itself, not to a child, have a row of their own.
      const bool mixed = m.own.kernels > 0 && m.own.kernels < report_.total.kernels &&
                         (i == 0 || m.own.kernels < m.work.kernels);
      if (mixed) {
        const absl::string_view name = i == 0 ? kOutsideModules : kOwnWork;
        Add(HtmlTree::Kind::kOwn, m.depth + 1, name, "", m.own);
      }
      AddKernels(groups_[i], m.depth + (mixed ? 2 : 1));
    }
  }

  absl::string_view NameOf(const ProfileModule& m) const {
    const std::string& above = report_.modules[static_cast<size_t>(std::max(m.parent, 0))].path;
    const bool inside = !above.empty() && m.path.size() > above.size();
    return inside ? absl::string_view(m.path).substr(above.size() + 1) : m.path;
  }

  // As in the row "(all)" of the table: also the time outside kernels, and nodes without a kernel.
  ProfileWork WholeRun(ProfileWork work) const {
    work.ns = report_.run_ns();
    work.flops = report_.run_flops();
    work.macs += report_.macs_without_kernel;
    return work;
  }

  void AddOutside() {
    if (report_.flops_without_kernel > 0) {
      Add(HtmlTree::Kind::kOwn, 1, kNodesWithoutKernel, "",
          {.flops = report_.flops_without_kernel, .macs = report_.macs_without_kernel});
    }
    ProfileWork missing;
    std::vector<const ProfileGroup*> groups;
    for (const ProfileGroup& group : report_.groups) {
      if (group.joined()) continue;
      missing.Add(group.work);
      groups.push_back(&group);
    }
    if (!groups.empty()) {
      Add(HtmlTree::Kind::kOwn, 1, kDidNotJoin, "", missing, /*unknown=*/true);
      AddKernels(groups, 2, /*unknown=*/true);
    }
    if (report_.outside_ns.value_or(0) > 0) {
      Add(HtmlTree::Kind::kOwn, 1, kOutsideKernels, "", {.ns = *report_.outside_ns});
    }
  }

  const ProfileReport& report_;
  HtmlTree tree_;
  std::vector<std::vector<const ProfileGroup*>> groups_;  // by module
  std::deque<Amounts> amounts_;
};

}  // namespace

std::string ToHtml(const ProfileReport& report) {
  report::JsonWriter summary, rest;
  summary.CutStrings(kMaxPageText);
  summary.BeginObject();
  profile::WriteSummary(report, &summary);
  summary.EndObject();
  rest.BeginObject(report::kOneLine);
  rest.Key("sizes").BeginObject();
  rest.EndObject();
  rest.Key("joined").BeginArray();
  for (const std::string& text : profile::JoinTexts(report)) rest.String(text);
  rest.EndArray();
  rest.Key("cost").String(kProfileQuantities[0].key);
  rest.Key("tree").BeginObject();
  ProfileTree(report).Write(&rest);
  rest.EndObject();
  rest.EndObject();
  const std::string folded = report::FoldJson(summary.TakeText(), kMaxPageListBytes);
  return report::HtmlPage(report::FileNameOf(report.model), "profile",
                          absl::StrCat("{\"profile\": ", folded, ", ", rest.TakeText().substr(1)));
}

}  // namespace onnxflops
