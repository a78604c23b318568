// How it works. Hardware counters come as CSV of Nsight Compute or rocprof, as a list (kernel,
// metric, value) or with a metric per column. Lines before the titles are skipped. Each metric is
// turned into FLOPs by what it counts: operations, instructions per thread, instructions per wave
// of 64, or steps of 512 operations. Counters of instructions whose operations are not known are an
// error, not a guess. Metrics that are parts of others are left out. All kernels of one name are
// added up.
//
// Kernels are joined to the groups of the profile by name. The hybrid figure takes the counters of
// joined kernels and the count of all others. If measured and counted FLOPs differ by more than 2
// %, likely reasons are listed.
#include "src/profile/counters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "src/base/byte_reader.h"
#include "src/base/csv_reader.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"

namespace onnxflops {
namespace {

using Cells = std::vector<std::string>;

// FLOPs per count of a metric; nullopt if the metric does not count FLOPs. InvalidArgument if the
// operations of its instructions are unknown.
//
// Nsight Compute: sm__ops_path_tensor_* are "math ops executed in Tensor path" (ncu
// --query-metrics), including its parts *_sparsity_on and *_sparsity_off. rocprof, after AMD's list
// of counters of MI200 and MI300 and the FLOPs of ROCm Compute Profiler:
// SQ_INSTS_VALU_{ADD,MUL,TRANS,FMA}_* are instructions of waves of 64 work-items, and
// SQ_INSTS_VALU_MFMA_MOPS_* are "in the unit of 512" operations, where _I8 counts integers.
absl::StatusOr<std::optional<int64_t>> FlopsOfMetric(absl::string_view metric) {
  constexpr int64_t kWave = 64, kMatrixStep = 512;
  if (absl::StrContains(metric, "inst_executed_pipe_tensor")) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(metric),
                     ": FLOPs per instruction of a tensor core differ by its variant; measure "
                     "sm__ops_path_tensor_* instead"));
  }
  absl::string_view name = metric;
  if (absl::ConsumePrefix(&name, "sm__ops_path_tensor_src_")) {
    const bool part = absl::StrContains(name, "_sparsity_");  // of the metric without it
    const bool sum = absl::EndsWith(name, ".sum") || !absl::StrContains(name, ".");
    const bool is_float = !absl::StartsWith(name, "int");
    return part || !sum || !is_float ? std::nullopt : std::optional<int64_t>(1);
  }
  const size_t op = name.find("sass_thread_inst_executed_op_");
  if (op != absl::string_view::npos && absl::EndsWith(name, "_pred_on.sum")) {
    name.remove_prefix(op + absl::string_view("sass_thread_inst_executed_op_").size());
    const absl::string_view kind = name.substr(0, name.find('_'));
    for (const char type : {'d', 'f', 'h'}) {
      if (kind == absl::StrCat(std::string(1, type), "fma")) return std::optional<int64_t>(2);
      if (kind == absl::StrCat(std::string(1, type), "add")) return std::optional<int64_t>(1);
      if (kind == absl::StrCat(std::string(1, type), "mul")) return std::optional<int64_t>(1);
    }
    return std::nullopt;
  }
  if (!absl::ConsumePrefix(&name, "SQ_INSTS_VALU_")) return std::nullopt;
  absl::ConsumeSuffix(&name, "_sum");
  for (const absl::string_view type :
       {"_F16", "_F32", "_F64", "_BF16", "_XF32", "_F8", "_BF8", "_F6F4"}) {
    if (!absl::EndsWith(name, type)) continue;
    const absl::string_view kind = name.substr(0, name.size() - type.size());
    if (kind == "MFMA_MOPS") return std::optional<int64_t>(kMatrixStep);
    if (kind == "FMA") return std::optional<int64_t>(2 * kWave);
    if (kind == "ADD" || kind == "MUL" || kind == "TRANS") return std::optional<int64_t>(kWave);
  }
  return std::nullopt;
}

// The columns of a record.
struct Layout {
  int kernel = -1, metric = -1, value = -1, unit = -1;
  // For a table with a metric per column: column, and FLOPs per count.
  std::vector<std::pair<size_t, int64_t>> metrics;
  std::string source;
  bool is_list() const { return metric >= 0 && value >= 0; }
  bool known() const { return kernel >= 0 && (is_list() || !metrics.empty()); }
};

absl::StatusOr<Layout> ReadTitles(const Cells& titles) {
  Layout layout;
  bool amd = false;
  for (size_t i = 0; i < titles.size(); ++i) {
    const std::string& title = titles[i];
    const auto place = static_cast<int>(i);
    if (title == "Kernel Name" || title == "Kernel_Name" || title == "KernelName") {
      layout.kernel = place;
      amd = title != "Kernel Name";
    }
    if (title == "Metric Name" || title == "Counter_Name") layout.metric = place;
    if (title == "Metric Value" || title == "Counter_Value") layout.value = place;
    if (title == "Metric Unit") layout.unit = place;
    ASSIGN_OR_RETURN(const std::optional<int64_t> flops, FlopsOfMetric(title));
    if (flops) layout.metrics.emplace_back(i, *flops);
  }
  layout.source = amd ? "rocprof" : "Nsight Compute";
  return layout;
}

class CountersReader {
 public:
  explicit CountersReader(ByteReader* bytes) : csv_(bytes, {.most = kMaxProfileToken}) {}

  absl::StatusOr<Counters> Run() {
    Layout layout;
    Cells cells;
    while (true) {
      ASSIGN_OR_RETURN(const bool more, csv_.Next(&cells));
      if (!more) break;
      absl::Status status;
      if (!layout.known()) {  // ncu writes other lines before the table
        absl::StatusOr<Layout> titles = ReadTitles(cells);
        status = titles.status();
        if (titles.ok()) layout = *std::move(titles);
        if (layout.known()) RETURN_IF_ERROR(csv_.CheckTitles(cells));
      } else {
        status = Take(layout, cells);
      }
      if (!status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat("line ", csv_.line(), ": ", status.message()));
      }
    }
    if (!layout.known()) {
      return absl::InvalidArgumentError(
          "has no column of kernel names with counters of FLOPs: it should be the CSV of Nsight "
          "Compute or rocprof");
    }
    if (!any_) return absl::InvalidArgumentError("has no counter of FLOPs");
    out_.source = layout.source;
    return std::move(out_);
  }

 private:
  absl::Status Take(const Layout& layout, const Cells& cells) {
    const auto cell = [&](int place) -> absl::string_view {
      return place >= 0 && static_cast<size_t>(place) < cells.size()
                 ? absl::string_view(cells[static_cast<size_t>(place)])
                 : absl::string_view();
    };
    const absl::string_view kernel = cell(layout.kernel);
    if (kernel.empty()) return absl::OkStatus();  // the line of units
    if (layout.is_list()) {
      ASSIGN_OR_RETURN(const std::optional<int64_t> flops, FlopsOfMetric(cell(layout.metric)));
      if (!flops) return absl::OkStatus();
      return Add(kernel, cell(layout.value), cell(layout.unit), *flops);
    }
    for (const auto& [place, flops] : layout.metrics) {
      RETURN_IF_ERROR(Add(kernel, cell(static_cast<int>(place)), "", flops));
    }
    return absl::OkStatus();
  }

  absl::Status Add(absl::string_view kernel, absl::string_view text, absl::string_view unit,
                   int64_t flops) {
    constexpr double kMost = 1e24;  // so that sums cannot overflow
    const std::string digits = absl::StrReplaceAll(text, {{",", ""}});
    double value = 0;
    if (!unit.empty() && unit != "inst" && unit != "op" && unit != "ops") {
      return absl::InvalidArgumentError(
          absl::StrCat("the unit ", Quoted(unit),
                       ": write the file with base units, as ncu does with print-units base"));
    }
    if (!absl::SimpleAtod(digits, &value) || !(value >= 0 && value <= kMost)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a counter of ", Quoted(kernel), " is ", Quoted(text), ", not a number from 0 to 1e24"));
    }
    absl::int128 exact = 0;
    if (!absl::SimpleAtoi(digits, &exact)) exact = static_cast<absl::int128>(std::round(value));
    const auto [it, is_new] = places_.try_emplace(kernel, out_.kernels.size());
    if (is_new) {
      name_bytes_ += kernel.size();
      if (name_bytes_ > kMaxProfileNameBytes || out_.kernels.size() == kMaxProfileKernels) {
        return absl::OutOfRangeError(absl::StrCat("more than ", kMaxProfileKernels, " kernels, or ",
                                                  kMaxProfileNameBytes, " bytes of their names"));
      }
      out_.kernels.push_back({std::string(kernel), 0});
    }
    const absl::int128 most = absl::int128{1} << 100;
    CountedKernel& counted = out_.kernels[it->second];
    counted.flops = std::min(counted.flops + exact * flops, most);
    out_.flops = std::min(out_.flops + exact * flops, most);
    any_ = true;
    return absl::OkStatus();
  }

  CsvReader csv_;
  Counters out_;
  absl::flat_hash_map<std::string, size_t> places_;
  size_t name_bytes_ = 0;
  bool any_ = false;
};

}  // namespace

namespace {

absl::StatusOr<Counters> ReadNamedCounters(ByteReader* bytes, absl::string_view name) {
  absl::StatusOr<Counters> counters = CountersReader(bytes).Run();
  if (bytes->failed()) counters = absl::UnknownError("cannot be read");
  if (!counters.ok()) {
    return absl::Status(counters.status().code(),
                        absl::StrCat(Escaped(name), ": ", counters.status().message()));
  }
  counters->path = std::string(name);
  return counters;
}

}  // namespace

absl::StatusOr<Counters> ReadCounters(ByteSource source, absl::string_view name) {
  ByteReader bytes(source);
  return ReadNamedCounters(&bytes, name);
}

absl::StatusOr<Counters> ReadCountersText(absl::string_view text, absl::string_view name) {
  ByteReader bytes(text);
  return ReadNamedCounters(&bytes, name);
}

namespace {

std::vector<std::string> LikelyReasons(double measured_to_counted) {
  constexpr double kMore = 1.02, kLess = 0.98;
  if (measured_to_counted > kMore) {
    return {WithSettings(
                "the counters are of more runs than {counter-runs} says, or of warm-up as well"),
            "kernels pad shapes to their tiles, and compute what is cut off",
            "exp, tanh and their like take several instructions, and are one FLOP here"};
  }
  if (measured_to_counted < kLess) {
    return {"tensor cores were not counted: measure sm__ops_path_tensor_* as well",
            "the counters are of a part of a run",
            "a convolution ran as Winograd, or attention skipped masked blocks"};
  }
  return {};
}

}  // namespace

void AddCounters(const Counters& counters, int64_t runs, ProfileReport* report) {
  absl::flat_hash_map<absl::string_view, int32_t> groups;
  for (size_t i = report->groups.size(); i-- > 0;) {
    const ProfileGroup& group = report->groups[i];
    if (group.nodes.size() == 1) groups[group.nodes[0]] = static_cast<int32_t>(i);
  }
  for (size_t i = report->groups.size(); i-- > 0;) {
    groups[report->groups[i].kernels[0]] = static_cast<int32_t>(i);
  }
  ProfileCounters out;
  out.path = counters.path;
  out.source = counters.source;
  out.runs = runs;
  out.measured = counters.flops / runs;
  absl::int128 replaced = 0;
  absl::flat_hash_map<int32_t, bool> seen;
  for (const CountedKernel& kernel : counters.kernels) {
    ProfileCounters::Kernel& row = out.kernels.emplace_back();
    row.name = kernel.name;
    row.flops = kernel.flops / runs;
    const auto it = groups.find(kernel.name);
    if (it == groups.end()) continue;
    row.group = it->second;
    ++out.joined;
    out.hybrid_measured += row.flops;
    if (seen.try_emplace(row.group, true).second) {
      replaced += report->groups[static_cast<size_t>(row.group)].work.flops;
    }
  }
  const absl::int128 executed = report->run_flops();
  out.hybrid_counted = executed - replaced;
  if (executed > 0) {
    out.measured_to_counted = static_cast<double>(out.measured) / static_cast<double>(executed);
    out.reasons = LikelyReasons(out.measured_to_counted);
  }
  report->counters = std::move(out);
}

}  // namespace onnxflops
