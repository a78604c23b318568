// A joined profile as text, Markdown and CSV.
//
// How it works. The lines above the table show what ran and how it was measured: model, profile,
// the time of a run (median, and the spread over runs), FLOPs counted and executed, how many
// kernels joined, loops and branches, hardware counters. The table has a row per place, with time
// and work. Rows that are not places (time outside of kernels, for example) have only a time. The
// bound is the larger of FLOPs at the peak and bytes at the bandwidth. Lists are cut to a few
// entries for people; JSON has all of them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/profile/profile_report.h"
#include "src/profile/profile_rows.h"
#include "src/render/format.h"
#include "src/render/known.h"
#include "src/render/text_table.h"
#include "src/report/figure_columns.h"

namespace onnxflops {
namespace {

using profile::FlopsShare;
using profile::ProfileRow;
using profile::RowsOf;
using profile::TimeShare;
using report::LabelledLine;
using report::SiNumber;

constexpr size_t kListedKernels = 5, kListedControl = 5, kListedSizes = 8;
constexpr double kHundred = 100, kNsPerSecond = 1e9;

std::string NsText(int64_t ns) {
  constexpr int64_t kZsPerNs = 1'000'000'000'000;
  return report::TimeText(absl::int128(ns) * kZsPerNs, false);
}

std::string FlopsText(bool lower_bound, absl::int128 flops) {
  return report::KnownText(lower_bound ? report::LowerBound(flops) : report::Known::kExact,
                           SiNumber(flops));
}

std::string SpreadText(const TimeSpread& spread) {
  if (spread.least_ns == spread.most_ns) return NsText(spread.median_ns);
  return absl::StrCat(NsText(spread.median_ns), " (", NsText(spread.least_ns), " to ",
                      NsText(spread.most_ns), ")");
}

std::string ShareText(double share) {
  constexpr double kLeast = 0.0005;
  if (share > 0 && share < kLeast) return "<0.1";
  return fmt::format("{:.1f}", kHundred * share);
}

// "+12.3": how far the share of time is above the share of FLOPs, in percent of the whole.
std::string GapText(const ProfileReport& r, const ProfileWork& work) {
  const double gap = kHundred * (TimeShare(r, work) - FlopsShare(r, work));
  constexpr double kLeast = 0.05;
  return gap > -kLeast && gap < kLeast ? "0.0" : fmt::format("{:+.1f}", gap);
}

// "12.34 G" and the unit.
std::string RateWithUnit(double per_second) {
  return absl::StrCat(SiNumber(static_cast<absl::int128>(per_second)), per_second < 1000 ? " " : "",
                      "FLOP/s");
}

std::string GigaText(const ProfileWork& work) {
  const std::optional<double> rate = work.flops_per_second();
  if (!rate || work.flops == 0) return "-";
  return fmt::format("{:.4g}", *rate / kNsPerSecond);
}

std::string BoundText(const ProfileReport& r, const ProfileWork& work) {
  if (work.bytes == 0) return "-";
  const double compute = static_cast<double>(work.flops) / r.peak;
  const double memory = static_cast<double>(work.bytes) / r.bytes_per_second;
  return report::BoundName(compute >= memory ? report::Bound::kCompute : report::Bound::kMemory);
}

std::string PeakText(const ProfileReport& r, const ProfileWork& work) {
  const std::optional<double> rate = work.flops_per_second();
  if (!rate || work.flops == 0) return "-";
  return ShareText(*rate / r.peak);
}

TextTable EmptyTable(const ProfileReport& r, const ProfileView& view) {
  TextTable table;
  const bool by_op = view.by == GroupBy::kOp;
  table.columns.push_back({by_op                         ? "operator"
                           : view.by == GroupBy::kModule ? "module"
                                                         : "kernel",
                           false, TextTable::Column::Narrow::kName});
  if (!by_op) {
    table.columns.push_back({view.by == GroupBy::kModule ? "type" : "operator", false,
                             TextTable::Column::Narrow::kExtra});
  }
  std::vector<std::string> titles = {"time", "time %", "FLOPs %", "gap", "FLOPs", "GFLOP/s"};
  if (r.peak > 0) titles.push_back("peak %");
  titles.push_back("FLOP/byte");
  if (r.peak > 0 && r.bytes_per_second > 0) titles.push_back("bound");
  for (const std::string& title : titles) {
    const bool is_time = absl::StartsWith(title, "time");
    table.columns.push_back(
        {title, true,
         is_time ? TextTable::Column::Narrow::kKeep : TextTable::Column::Narrow::kSpare});
  }
  return table;
}

TextTable TableOf(const ProfileReport& r, const ProfileView& view) {
  TextTable table = EmptyTable(r, view);
  const bool by_op = view.by == GroupBy::kOp;
  const auto add = [&](const std::string& name, const std::string& type, const ProfileWork& work,
                       ProfileRow::Kind kind) {
    TextTable::Row row;
    row.cells = {name};
    if (!by_op) row.cells.push_back(type);
    // Nodes that were fused or folded took their time in kernels of other names.
    if (kind == ProfileRow::Kind::kNoKernel) {
      row.cells.insert(row.cells.end(), {"-", "-", ShareText(FlopsShare(r, work)), "-",
                                         FlopsText(work.lower_bound, work.flops)});
    } else {
      row.cells.insert(row.cells.end(), {NsText(work.ns), ShareText(TimeShare(r, work))});
    }
    if (kind <= ProfileRow::Kind::kOthers) {
      row.cells.insert(row.cells.end(), {ShareText(FlopsShare(r, work)), GapText(r, work),
                                         FlopsText(work.lower_bound, work.flops), GigaText(work)});
      if (r.peak > 0) row.cells.push_back(PeakText(r, work));
      row.cells.push_back(work.bytes == 0 ? "-" : report::Intensity(work.flops, work.bytes));
      if (r.peak > 0 && r.bytes_per_second > 0) row.cells.push_back(BoundText(r, work));
    }
    row.cells.resize(table.columns.size(), "-");
    table.rows.push_back(std::move(row));
  };
  ProfileWork whole = r.total;
  whole.ns = r.run_ns();
  whole.flops = r.run_flops();
  if (r.flops_without_kernel > 0) whole.bytes = 0;  // of these nodes they are not known
  add("(all)", "", whole, ProfileRow::Kind::kPlace);
  table.rows.back().strong = true;
  for (const ProfileRow& row : RowsOf(r, view, true)) {
    add(row.name, row.type, row.work, row.kind);
    table.rows.back().faint = row.kind != ProfileRow::Kind::kPlace;
  }
  const std::string first =
      view.sort == ProfileSort::kTime
          ? absl::StrCat("first: what takes longest",
                         WithSettings(" ({sort gap}: longer than its share of FLOPs)"))
      : view.sort == ProfileSort::kFlops ? "first: what has most FLOPs"
                                         : "first: where the share of time is furthest above the "
                                           "share of FLOPs";
  table.notes.push_back(absl::StrCat(
      first, r.used() > 1 ? "; times are those of the run whose time is the median" : "",
      "; gap: time % less FLOPs %",
      view.by == GroupBy::kModule ? "; a fused kernel counts in the module of its matrix products"
                                  : ""));
  return table;
}

LabelledLine ModelLineOf(const ProfileReport& r) {
  LabelledLine line = {"model", {r.model}};
  size_t named = 0;
  for (const auto& [name, size] : r.bindings) {
    if (named++ == kListedSizes) {
      line.texts.push_back(absl::StrCat(r.bindings.size() - kListedSizes, " more sizes"));
      break;
    }
    line.texts.push_back(absl::StrCat(name, " = ", size));
  }
  return line;
}

LabelledLine ProfileLineOf(const ProfileReport& r) {
  LabelledLine line = {"profile", {r.profile, std::string(SourceName(r.source))}};
  std::string runs = Plural(r.runs, "run");
  if (r.warmup > 0) absl::StrAppend(&runs, ", the first ", r.warmup, " left out");
  line.texts.push_back(std::move(runs));
  return line;
}

std::vector<LabelledLine> RunLines(const ProfileReport& r) {
  std::vector<LabelledLine> lines;
  LabelledLine run = {"run", {}};
  const auto spread = [](TimeSpread all, int64_t ns) {
    all.median_ns = ns;
    return SpreadText(all);
  };
  if (r.wall) run.texts.push_back(spread(*r.wall, r.wall_ns));
  run.texts.push_back(absl::StrCat("kernels ", spread(r.kernels, r.total.ns)));
  lines.push_back(std::move(run));
  LabelledLine line = {"FLOPs",
                       {absl::StrCat(FlopsText(r.total.lower_bound, r.counted_flops), " counted")}};
  if (r.run_flops() != r.counted_flops) {
    line.texts.push_back(absl::StrCat(SiNumber(r.run_flops()), " executed"));
  }
  if (const std::optional<double> rate = r.flops_per_second()) {
    line.texts.push_back(absl::StrCat(RateWithUnit(*rate), " over a run"));
    if (r.peak > 0) {
      line.texts.push_back(
          absl::StrCat(ShareText(*rate / r.peak), " % of ", RateWithUnit(r.peak),
                       r.device.empty() ? "" : absl::StrCat(" of ", r.device, " in ", r.dtype)));
    }
  }
  lines.push_back(std::move(line));
  return lines;
}

// How much was joined, and the kernels that were not, the longest first.
std::vector<LabelledLine> JoinLines(const ProfileReport& r) {
  std::vector<const ProfileGroup*> missing;
  for (const ProfileGroup& group : r.groups) {
    if (!group.joined()) missing.push_back(&group);
  }
  std::vector<LabelledLine> lines = {{"joined", profile::JoinTexts(r)}};
  for (size_t i = 0; i < std::min(missing.size(), kListedKernels); ++i) {
    const ProfileGroup& group = *missing[i];
    lines.push_back(
        {"",
         {absl::StrCat("did not join: ", ShareText(TimeShare(r, group.work)), " % of time, ",
                       Escaped(group.kernels[0]),
                       group.op.empty() ? "" : absl::StrCat(" (", Escaped(group.op), ")"))}});
  }
  if (missing.size() > kListedKernels) {
    lines.push_back({"",
                     {absl::StrCat("did not join: ", missing.size() - kListedKernels, " more",
                                   WithSettings(" ({format json} lists them)"))}});
  }
  return lines;
}

std::vector<LabelledLine> ControlLines(const ProfileReport& r) {
  std::vector<LabelledLine> lines;
  for (size_t i = 0; i < std::min(r.control.size(), kListedControl); ++i) {
    const ProfileControl& c = r.control[i];
    LabelledLine line = {i == 0 ? "control" : "", {absl::StrCat(Escaped(c.node), ":")}};
    if (!c.taken.empty() || !c.taken_count.empty()) {
      line.texts.push_back(absl::StrCat("branch taken: ", c.taken.empty() ? "?" : c.taken));
      if (!c.taken_count.empty()) line.texts.push_back(absl::StrCat("counted: ", c.taken_count));
    } else {
      line.texts.push_back(absl::StrCat(Plural(c.bodies.median_ns, "trip")));
      if (!c.counted.empty()) line.texts.push_back(absl::StrCat("counted: ", c.counted));
    }
    lines.push_back(std::move(line));
  }
  if (r.control.size() > kListedControl) {
    lines.push_back(
        {"", {absl::StrCat(r.control.size() - kListedControl, " more loops and branches")}});
  }
  return lines;
}

std::vector<LabelledLine> CounterLines(const ProfileReport& r) {
  std::vector<LabelledLine> lines;
  if (r.calibrated) {
    lines.push_back(
        {"smart",
         {absl::StrCat(SiNumber(static_cast<absl::int128>(r.calibrated->flops)),
                       " FLOPs: the count x ", fmt::format("{:.4g}", r.calibrated->ratio), " of ",
                       Escaped(r.calibrated->path))}});
  }
  if (!r.counters) return lines;
  const ProfileCounters& c = *r.counters;
  lines.push_back(
      {"measured",
       {absl::StrCat(SiNumber(c.measured), " FLOPs executed, ",
                     fmt::format("{:.4g}", c.measured_to_counted), " x the counted ones"),
        absl::StrCat(Plural(static_cast<int64_t>(c.kernels.size()), "kernel"), " of ", c.source,
                     ", ", Escaped(c.path))}});
  for (const std::string& reason : c.reasons)
    lines.push_back({"", {absl::StrCat("likely: ", reason)}});
  lines.push_back(
      {"hybrid",
       {absl::StrCat(SiNumber(c.hybrid_measured + c.hybrid_counted),
                     " FLOPs = ", SiNumber(c.hybrid_measured), " by counters of ",
                     Plural(c.joined, "kernel"), " + ", SiNumber(c.hybrid_counted), " counted")}});
  return lines;
}

std::vector<LabelledLine> LinesOf(const ProfileReport& r) {
  std::vector<LabelledLine> lines = {ModelLineOf(r), ProfileLineOf(r)};
  if (!r.optimized.empty()) lines.push_back({"graph", {r.optimized}});
  for (const auto& more : {RunLines(r), JoinLines(r), ControlLines(r), CounterLines(r)}) {
    lines.insert(lines.end(), more.begin(), more.end());
  }
  for (const std::string& note : r.notes) lines.push_back({"note", {note}});
  return lines;
}

}  // namespace

std::vector<std::string> profile::JoinTexts(const ProfileReport& r) {
  ProfileWork lost;
  for (const ProfileGroup& group : r.groups) {
    if (!group.joined()) lost.Add(group.work);
  }
  std::vector<std::string> texts = {
      absl::StrCat(r.total.kernels - lost.kernels, " of ", Plural(r.total.kernels, "kernel"),
                   r.optimized.empty() ? ", by name" : ", by tensors of both graphs")};
  if (r.nodes_without_kernel > 0) {
    texts.push_back(absl::StrCat(Plural(r.nodes_without_kernel, "node"), " without a kernel: ",
                                 SiNumber(r.flops_without_kernel), " FLOPs"));
  }
  return texts;
}

Document ToDocument(const ProfileReport& report, const ProfileView& view) {
  Document document;
  document.Add(Document::Lines{LinesOf(report)});
  document.Add(Document::Table{TableOf(report, view)});
  return document;
}

std::string ToCsv(const ProfileReport& report, const ProfileView& view) {
  TextTable table;
  for (const char* title : {"name", "type", "kernels", "time_ns", "flops", "macs", "bytes",
                            "time_share", "flops_share", "flops_per_second"}) {
    table.columns.push_back({title});
  }
  for (const ProfileRow& row : RowsOf(report, view, false)) {
    const std::optional<double> rate = row.work.flops_per_second();
    table.rows.push_back(
        {{row.name, row.type, absl::StrCat(row.work.kernels), absl::StrCat(row.work.ns),
          Int128ToString(row.work.flops), Int128ToString(row.work.macs),
          Int128ToString(row.work.bytes), fmt::format("{:.6g}", TimeShare(report, row.work)),
          fmt::format("{:.6g}", FlopsShare(report, row.work)),
          rate ? fmt::format("{:.6g}", *rate) : ""}});
  }
  return DrawCsv(table);
}

}  // namespace onnxflops
