#include "src/hardware/device.h"

#include <cstddef>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/quote.h"
#include "src/base/similar.h"

namespace onnxflops {
namespace {

struct PrecisionNames {
  const char* name;
  const char* other;  // of ONNX and NumPy
};
constexpr PrecisionNames kPrecisions[kNumPrecisions] = {
    {"fp64", "float64"},  {"fp32", "float32"}, {"tf32", "tf32"},
    {"bf16", "bfloat16"}, {"fp16", "float16"}, {"fp8", "float8"},
    {"fp4", "float4"},    {"int8", "int8"},    {"int4", "int4"},
};

bool IsCalled(const Device& device, absl::string_view name) {
  if (absl::EqualsIgnoreCase(device.name, name)) return true;
  for (const std::string& alias : device.aliases) {
    if (absl::EqualsIgnoreCase(alias, name)) return true;
  }
  return false;
}

}  // namespace

absl::string_view PrecisionName(Precision precision) {
  return kPrecisions[static_cast<size_t>(precision)].name;
}

absl::StatusOr<Precision> ParsePrecision(absl::string_view name) {
  for (size_t i = 0; i < kNumPrecisions; ++i) {
    const PrecisionNames& names = kPrecisions[i];
    if (name == names.name || name == names.other) return static_cast<Precision>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "dtype ", Quoted(name), ": not one of ",
      absl::StrJoin(kPrecisions, ", ", [](std::string* out, const PrecisionNames& names) {
        absl::StrAppend(out, names.name);
      })));
}

const PeakFigure* Device::PeakOf(Precision precision) const {
  for (const PeakFigure& peak : peaks) {
    if (peak.precision == precision && peak.accumulate.empty()) return &peak;
  }
  return nullptr;
}

absl::StatusOr<Device> FindDevice(absl::string_view name, absl::Span<const Device> own) {
  std::vector<std::string> names;
  for (absl::Span<const Device> devices : {own, absl::MakeConstSpan(AllDevices())}) {
    for (const Device& device : devices) {
      if (IsCalled(device, name)) return device;
      names.push_back(device.name);
    }
  }
  const std::string similar = DidYouMean(name, names);
  return absl::NotFoundError(absl::StrCat(
      "no device is called ", Quoted(name), similar,
      similar.empty() ? "; `onnxflops devices` lists them, and --peak gives a peak of your own"
                      : ""));
}

absl::StatusOr<PeakFigure> FindPeak(const Device& device, Precision precision) {
  if (const PeakFigure* peak = device.PeakOf(precision)) return *peak;
  std::vector<absl::string_view> there;
  for (int i = 0; i < kNumPrecisions; ++i) {
    const auto other = static_cast<Precision>(i);
    if (device.PeakOf(other) != nullptr) there.push_back(PrecisionName(other));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(Escaped(device.name), " has no ", PrecisionName(precision), " peak in the table",
                   there.empty() ? "" : absl::StrCat("; it has ", absl::StrJoin(there, ", ")),
                   "; --peak gives one of your own"));
}

absl::StatusOr<Device> CpuByFormula(int64_t cores, int64_t hertz, int64_t flops_per_cycle,
                                    Precision precision) {
  constexpr int64_t kGiga = 1'000'000'000;
  constexpr int64_t kMost = int64_t{1} << 20;
  const bool fits = cores > 0 && cores <= kMost && flops_per_cycle > 0 &&
                    flops_per_cycle <= kMost && hertz > 0 && hertz <= 100 * kGiga;
  if (!fits) {
    return absl::InvalidArgumentError(
        "a CPU's peak needs cores, hertz and FLOPs per cycle, each above 0");
  }
  const absl::int128 giga = absl::int128(cores) * flops_per_cycle * hertz / kGiga;
  Device device;
  device.name = "cpu";
  device.title = absl::StrCat("CPU, ", cores, " cores");
  device.unit = "CPU";
  const std::string source =
      absl::StrCat(cores, " cores x ", hertz, " Hz x ", flops_per_cycle, " FLOPs per cycle");
  device.peaks.push_back({precision, static_cast<int64_t>(giga), "", source});
  return device;
}

}  // namespace onnxflops
