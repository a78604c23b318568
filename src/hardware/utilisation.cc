#include "src/hardware/utilisation.h"

#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/setting.h"

namespace onnxflops {
absl::StatusOr<double> StepSeconds(const StepRate& rate, std::optional<int64_t> samples,
                                   std::optional<int64_t> tokens) {
  const double given[] = {rate.step_seconds, rate.steps_per_second, rate.samples_per_second,
                          rate.tokens_per_second};
  constexpr absl::string_view kNames[] = {"step-time", "steps-per-second", "samples-per-second",
                                          "tokens-per-second"};
  std::vector<std::string> names;
  bool usable = true;
  for (size_t i = 0; i < std::size(given); ++i) {
    if (given[i] == 0) continue;
    names.push_back(Setting(kNames[i]));
    usable = usable && given[i] > 0 && std::isfinite(given[i]);
  }
  if (names.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(absl::StrJoin(names, " and "), ": one of them gives the time of a step"));
  }
  if (names.empty() || !usable) {
    return absl::InvalidArgumentError(WithSettings(
        "one of {step-time}, {steps-per-second}, {samples-per-second} and {tokens-per-second} is "
        "needed, as a number above 0"));
  }
  if (rate.step_seconds > 0) return rate.step_seconds;
  if (rate.steps_per_second > 0) return 1 / rate.steps_per_second;
  const bool by_sample = rate.samples_per_second > 0;
  const std::optional<int64_t>& items = by_sample ? samples : tokens;
  if (!items) {
    return absl::FailedPreconditionError(
        by_sample ? "how many samples a step has is not known: the inputs have no batch dimension"
                  : WithSettings(
                        "how many tokens a step has is not known; {parameter tokens=N} gives it"));
  }
  return static_cast<double>(*items) /
         (by_sample ? rate.samples_per_second : rate.tokens_per_second);
}

namespace {

std::optional<double> Decimal(absl::string_view text) {
  double value = 0;
  const bool decimal = text.find_first_not_of("0123456789.eE+-") == absl::string_view::npos;
  if (!decimal || !absl::SimpleAtod(text, &value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

// "0:00:02.5", "30:15:00", as clocks of a run show it.
std::optional<double> SecondsOfClock(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() != 3) return std::nullopt;
  double seconds = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    constexpr double kSixty = 60;
    const std::optional<double> part = Decimal(parts[i]);
    if (!part || *part < 0 || (i > 0 && *part >= kSixty)) return std::nullopt;
    seconds = kSixty * seconds + *part;
  }
  return seconds;
}

}  // namespace

std::optional<double> SecondsOfText(absl::string_view text) {
  constexpr std::pair<absl::string_view, double> kUnits[] = {
      {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"min", 60}, {"h", 3600}, {"s", 1}};
  double factor = 1;
  for (const auto& [unit, seconds] : kUnits) {
    if (!absl::ConsumeSuffix(&text, unit)) continue;
    factor = seconds;
    break;
  }
  text = absl::StripAsciiWhitespace(text);
  const std::optional<double> value = Decimal(text);
  return value ? std::optional(*value * factor) : SecondsOfClock(text);
}

double Utilisation(absl::int128 flops, double seconds, int64_t devices, double peak) {
  return static_cast<double>(flops) / (seconds * static_cast<double>(devices) * peak);
}

std::string PeakWithUnit(double utilisation, double peak) {
  constexpr double kLeast = 1e-6;    // lowest utilisation of a real run
  constexpr double kMostTera = 1e4;  // of one device; larger values use 10^9
  constexpr double kMost = 1e7;      // of a peak that was written without one
  const double factor = peak < kMostTera ? 1e12 : 1e9;
  if (peak > kMost || utilisation <= kLeast * factor || utilisation > factor) return "";
  return absl::StrCat(peak, peak < kMostTera ? "T" : "G");
}

std::vector<std::string> ReasonsAboveOne(double utilisation, double peak) {
  std::vector<std::string> reasons;
  if (const std::string with_unit = PeakWithUnit(utilisation, peak); !with_unit.empty()) {
    reasons.push_back(
        absl::StrCat("the peak, ", peak, " FLOP/s, lacks its unit: ", Setting("peak", with_unit)));
  }
  for (const char* reason :
       {"the peak is that of another device, dtype or half of a module",
        "the batch (of {dim}, or of the log) is larger than that of the step that was timed",
        "{devices} is too small, or the time is not that of a whole step",
        "a part of the model is skipped at run time (padding, early exit, sparsity)",
        "causal attention is counted in full, and the kernel skips masked blocks"}) {
    reasons.push_back(WithSettings(reason));
  }
  return reasons;
}

std::vector<std::string> ReasonsOfRatio(double executed_to_counted) {
  constexpr double kRecomputed = 1.25, kSame = 1.02, kLess = 0.98;
  if (executed_to_counted > kRecomputed) {
    return {WithSettings("activations are computed again: compare with {recompute blocks} or full"),
            "work on padding, or on tokens that the counted batch does not have"};
  }
  if (executed_to_counted > kSame) {
    return {
        WithSettings("flash attention computes its scores again: compare with {attention flash}"),
        "padding of shapes to the tiles of a kernel", "optimizer and other work of the step"};
  }
  if (executed_to_counted < kLess) {
    return {WithSettings(
                "a kernel skips the masked half of causal attention: compare with {causal half}"),
            WithSettings("a part is frozen: compare with {backward exact} and {frozen}"),
            "the counters miss units, such as those of fp32 beside the tensor cores"};
  }
  return {"both agree"};
}

}  // namespace onnxflops
