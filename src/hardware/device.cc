// How it works. A device is found by its name or an alias, case-insensitively, the user's own
// devices first. A part of a name is not enough, because devices that share it may differ much in
// speed. The error then lists those that share the longest part with the given name, else similar
// names. The same holds for a precision for which the device has no peak: the error names the
// nearest precision but does not use it.
#include "src/hardware/device.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "fmt/format.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
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

// Letters and digits, without the vendor: "NVIDIA H100" is "h100".
std::string BareDeviceName(absl::string_view name) {
  std::string bare;
  for (char c : name) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) bare.push_back(absl::ascii_tolower(c));
  }
  return std::string(absl::StripPrefix(bare, "nvidia"));
}

// The length of the shorter name if it is a part of the other; else 0.
size_t SharedPart(absl::string_view typed, const Device& device) {
  constexpr size_t kLeast = 3;
  size_t most = 0;
  std::vector<std::string> called = device.aliases;
  called.push_back(device.name);
  for (const std::string& other : called) {
    const std::string theirs = BareDeviceName(other);
    const absl::string_view part = theirs.size() < typed.size() ? theirs : typed;
    const absl::string_view whole = theirs.size() < typed.size() ? typed : theirs;
    if (part.size() >= kLeast && absl::StrContains(whole, part)) most = std::max(most, part.size());
  }
  return most;
}

// Device names that contain the given one or are contained in it, those with the longest match.
// They are only suggested, because several devices may be meant.
std::vector<std::string> NamesAround(absl::string_view name, absl::Span<const Device> devices) {
  constexpr size_t kMost = 4;
  const std::string typed = BareDeviceName(name);
  size_t longest = 1;
  std::vector<std::string> around;
  for (const Device& device : devices) {
    const size_t shared = SharedPart(typed, device);
    if (shared < longest) continue;
    if (shared > longest) around.clear();
    longest = shared;
    if (around.size() < kMost) around.push_back(device.name);
  }
  return around;
}

}  // namespace

int64_t PrecisionBits(Precision precision) {
  switch (precision) {
    case Precision::kFp64:
      return 64;
    case Precision::kFp32:
    case Precision::kTf32:
      return 32;
    case Precision::kBf16:
    case Precision::kFp16:
      return 16;
    case Precision::kFp8:
    case Precision::kInt8:
      return 8;
    case Precision::kFp4:
    case Precision::kInt4:
      return 4;
  }
  return 0;
}

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
  if (absl::StartsWithIgnoreCase(name, "cpu:")) return ParseCpu(name);
  std::vector<std::string> names;
  for (absl::Span<const Device> devices : {own, absl::MakeConstSpan(AllDevices())}) {
    for (const Device& device : devices) {
      if (IsCalled(device, name)) return device;
      names.push_back(device.name);
    }
  }
  const std::vector<std::string> around = NamesAround(name, AllDevices());
  if (!around.empty()) {
    return absl::NotFoundError(absl::StrCat("no device is called ", Quoted(name), "; did you mean ",
                                            absl::StrJoin(around, " or "), "?"));
  }
  const std::string similar = DidYouMean(name, names);
  return absl::NotFoundError(absl::StrCat(
      "no device is called ", Quoted(name), similar,
      similar.empty()
          ? WithSettings(
                "; `onnxflops devices` lists them, and cpu:CORES:GHZ:SET:GB/s is any processor")
          : ""));
}

namespace {

// The precisions to name in an error if a device has no peak for this one: the next wider of its
// kind first, then narrower ones.
absl::Span<const Precision> NearestOf(Precision precision) {
  using P = Precision;
  static constexpr P kFp64[] = {P::kFp32}, kFp32[] = {P::kFp64, P::kTf32, P::kBf16, P::kFp16},
                     kTf32[] = {P::kFp32, P::kBf16, P::kFp16},
                     kBf16[] = {P::kFp16, P::kTf32, P::kFp32, P::kFp8},
                     kFp16[] = {P::kBf16, P::kTf32, P::kFp32, P::kFp8},
                     kFp8[] = {P::kBf16, P::kFp16, P::kTf32, P::kFp32},
                     kFp4[] = {P::kFp8, P::kBf16, P::kFp16, P::kFp32},
                     kInt8[] = {P::kFp8, P::kFp16, P::kBf16, P::kFp32},
                     kInt4[] = {P::kInt8, P::kFp8, P::kFp16, P::kBf16, P::kFp32};
  static constexpr absl::Span<const P> kAll[kNumPrecisions] = {kFp64, kFp32, kTf32, kBf16, kFp16,
                                                               kFp8,  kFp4,  kInt8, kInt4};
  return kAll[static_cast<size_t>(precision)];
}

}  // namespace

absl::StatusOr<PeakFigure> FindPeak(const Device& device, Precision precision) {
  if (const PeakFigure* peak = device.PeakOf(precision)) return *peak;
  std::string nearest;
  for (Precision other : NearestOf(precision)) {
    const PeakFigure* peak = device.PeakOf(other);
    if (peak == nullptr) continue;
    nearest =
        absl::StrCat("; the nearest is ", PrecisionName(other), ", ",
                     fmt::format("{:.6g}", static_cast<double>(peak->giga) / 1000), " TFLOP/s");
    break;
  }
  std::vector<absl::string_view> there;
  for (int i = 0; i < kNumPrecisions; ++i) {
    const auto other = static_cast<Precision>(i);
    if (device.PeakOf(other) != nullptr) there.push_back(PrecisionName(other));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      Escaped(device.name), " has no ", PrecisionName(precision), " peak in the table", nearest,
      there.empty() ? "" : absl::StrCat("; it has ", absl::StrJoin(there, ", ")),
      WithSettings("; {devices-file} gives one of your own")));
}

}  // namespace onnxflops
