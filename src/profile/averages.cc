#include "src/profile/averages.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/csv_reader.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops::profile {
namespace {

using Cells = std::vector<std::string>;

// Columns of a table of OpenVINO's, by place; -1: not there.
struct Columns {
  int name = -1, status = -1, type = -1, time = -1;
  bool known() const { return name >= 0 && time >= 0; }
};

Columns ReadTitles(const Cells& titles) {
  Columns columns;
  for (size_t i = 0; i < titles.size(); ++i) {
    const std::string& title = titles[i];
    const auto place = static_cast<int>(i);
    if (title == "layerName") columns.name = place;
    if (title == "execStatus") columns.status = place;
    if (title == "layerType") columns.type = place;
    if (title == "realTime (ms)") columns.time = place;
  }
  return columns;
}

// Adds the layer of a line, if it was executed.
absl::Status AddLayer(const Columns& columns, const Cells& cells, Averages* averages) {
  const auto cell = [&](int place) {
    return place >= 0 && static_cast<size_t>(place) < cells.size()
               ? absl::string_view(cells[static_cast<size_t>(place)])
               : absl::string_view();
  };
  absl::string_view status = cell(columns.status);
  absl::ConsumePrefix(&status, "Status.");  // as the program in Python writes it
  if (cell(columns.name) == "Total" && status.empty()) return absl::OkStatus();
  if (status == "NOT_RUN" || status == "OPTIMIZED_OUT") return absl::OkStatus();
  double milliseconds = 0;
  if (!absl::SimpleAtod(cell(columns.time), &milliseconds)) {
    return absl::InvalidArgumentError(absl::StrCat("realTime (ms) of ", Quoted(cell(columns.name)),
                                                   " is ", Quoted(cell(columns.time)),
                                                   ", not a number"));
  }
  ASSIGN_OR_RETURN(const int64_t ns, NanosecondsOf(milliseconds));
  return averages->Add(std::string(cell(columns.name)), std::string(cell(columns.type)), ns);
}

}  // namespace

absl::StatusOr<int64_t> NanosecondsOf(double milliseconds) {
  constexpr double kNsPerMs = 1e6;
  const double ns = milliseconds * kNsPerMs;
  if (ns >= 0 && ns <= static_cast<double>(kMaxProfileNs)) return std::llround(ns);
  return absl::InvalidArgumentError(
      absl::StrCat("a time is ", milliseconds, " ms: it should be 0 or more, below 104 days"));
}

void Averages::BeginRun() {
  out_.averaged = true;
  out_.runs.emplace_back();
}

absl::Status Averages::Add(std::string name, std::string op, int64_t ns) {
  if (out_.runs.empty()) BeginRun();
  const auto run = static_cast<int32_t>(out_.runs.size()) - 1;
  const auto [it, is_new] = kernels_.try_emplace(name, static_cast<int32_t>(out_.kernels.size()));
  if (is_new) {
    if (out_.kernels.size() == kMaxProfileKernels) {
      return absl::OutOfRangeError(absl::StrCat("more than ", kMaxProfileKernels, " layers"));
    }
    ProfileKernel& kernel = out_.kernels.emplace_back();
    kernel.name = std::move(name);
    kernel.op = std::move(op);
  }
  ProfileKernel& kernel = out_.kernels[static_cast<size_t>(it->second)];
  if (kernel.samples.empty() || kernel.samples.back().run != run) {
    kernel.samples.push_back({.run = run});
  }
  KernelSample& sample = kernel.samples.back();
  ++sample.calls;
  sample.ns = std::min(sample.ns + ns, kMaxProfileNs);
  ProfileRun& of_run = out_.runs.back();
  of_run.kernel_ns = std::min(of_run.kernel_ns + ns, kMaxProfileNs);
  return absl::OkStatus();
}

absl::StatusOr<Profile> ReadCountersCsv(ByteReader* bytes) {
  Profile profile;
  profile.source = ProfileSource::kOpenVino;
  Averages averages(&profile);
  Columns columns;
  CsvReader csv(bytes, {.separator = 0, .most = kMaxProfileToken});
  Cells cells;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, csv.Next(&cells));
    if (!more) break;
    if (cells == Cells{""}) continue;
    const Columns titles = ReadTitles(cells);
    if (titles.known()) {
      RETURN_IF_ERROR(csv.CheckTitles(cells));
      if (profile.runs.size() == kMaxProfileRuns) {
        return absl::OutOfRangeError(absl::StrCat("more than ", kMaxProfileRuns, " tables"));
      }
      columns = titles;
      averages.BeginRun();
    } else if (!columns.known()) {
      return absl::InvalidArgumentError(
          "is not a profile: it should be JSON of ONNX Runtime or TensorRT, or a table of OpenVINO "
          "with layerName and realTime (ms)");
    } else if (const absl::Status added = AddLayer(columns, cells, &averages); !added.ok()) {
      return absl::Status(added.code(), absl::StrCat("line ", csv.line(), ": ", added.message()));
    }
  }
  if (profile.kernels.empty()) return absl::InvalidArgumentError("has no executed layer");
  return profile;
}

}  // namespace onnxflops::profile
