// CPUs have no row in the table of devices: their peak is a formula.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/byte_text.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/hardware/device.h"

namespace onnxflops {
namespace {

constexpr int64_t kPerGiga = 1'000'000'000;

absl::Status BadCpu(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      Quoted(text),
      ": a CPU is cpu:CORES:GHZ:SET, cpu:CORES:GHZ:SET:GB/s or "
      "cpu:CORES:GHZ:SET:GB/s:CACHE (32MiB, all of its caches together), with one of ",
      absl::StrJoin(kCpuSets, ", ",
                    [](std::string* out, const CpuSet& set) { absl::StrAppend(out, set.name); })));
}

// A number above 0 and up to `most`, times 10^9.
bool ParseGiga(absl::string_view text, double most, int64_t* giga) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value > 0) || value > most) return false;
  *giga = std::llround(value * kPerGiga);
  return *giga > 0;
}

}  // namespace

absl::StatusOr<Device> CpuByFormula(int64_t cores, int64_t hertz, int64_t flops_per_cycle,
                                    Precision precision) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const bool fits = cores > 0 && cores <= kMost && flops_per_cycle > 0 &&
                    flops_per_cycle <= kMost && hertz > 0 && hertz <= 100 * kPerGiga;
  if (!fits) {
    return absl::InvalidArgumentError(
        "a CPU's peak needs cores, hertz and FLOPs per cycle, each above 0");
  }
  const absl::int128 giga = absl::int128(cores) * flops_per_cycle * hertz / kPerGiga;
  Device device;
  device.name = "cpu";
  device.title = absl::StrCat("CPU, ", cores, " cores");
  device.unit = "CPU";
  const std::string source =
      absl::StrCat(cores, " cores x ", hertz, " Hz x ", flops_per_cycle, " FLOPs per cycle");
  device.peaks.push_back({precision, static_cast<int64_t>(giga), "", source});
  return device;
}

absl::StatusOr<Device> ParseCpu(absl::string_view text) {
  constexpr size_t kFields = 4, kBandwidth = 4, kCache = 5;
  constexpr int64_t kMostCache = int64_t{1} << 40;
  constexpr double kMostGigahertz = 100, kMostGigabytes = 1e6;
  const std::vector<absl::string_view> fields = absl::StrSplit(text, ':');
  if (fields.size() < kFields || fields.size() > kCache + 1) return BadCpu(text);
  int64_t cores = 0, hertz = 0, bytes = 0;
  const auto set = std::find_if(std::begin(kCpuSets), std::end(kCpuSets), [&](const CpuSet& s) {
    return absl::EqualsIgnoreCase(s.name, fields[3]);
  });
  if (!absl::SimpleAtoi(fields[1], &cores) || !ParseGiga(fields[2], kMostGigahertz, &hertz) ||
      set == std::end(kCpuSets)) {
    return BadCpu(text);
  }
  if (fields.size() > kBandwidth && !ParseGiga(fields[kBandwidth], kMostGigabytes, &bytes)) {
    return BadCpu(text);
  }
  std::optional<absl::int128> cache;
  if (fields.size() > kCache) {
    cache = ParseBytes(fields[kCache]);
    const bool unit = absl::EndsWithIgnoreCase(fields[kCache], "B");
    if (!cache || !unit || *cache > kMostCache) return BadCpu(text);
  }
  Device cpu;
  for (const auto& [precision, rate] : {std::pair(Precision::kFp64, set->fp64),
                                        {Precision::kFp32, set->fp32},
                                        {Precision::kBf16, set->bf16},
                                        {Precision::kFp16, set->fp16},
                                        {Precision::kInt8, set->int8}}) {
    if (rate == 0) continue;
    ASSIGN_OR_RETURN(Device one, CpuByFormula(cores, hertz, rate, precision));
    absl::StrAppend(&one.peaks[0].source, " (", set->name, ": ", set->how, ")");
    one.peaks.insert(one.peaks.begin(), cpu.peaks.begin(), cpu.peaks.end());
    cpu = std::move(one);
  }
  cpu.name = std::string(text);
  if (bytes > 0) {
    cpu.bytes_per_second = bytes;
    cpu.memory_source = "as given";
  }
  if (cache) {
    cpu.cache_bytes = static_cast<int64_t>(*cache);
    cpu.cache_source = "as given";
  }
  return cpu;
}

}  // namespace onnxflops
