// Model FLOPs utilisation.
//   Utilisation(flops, seconds, devices, peak)
//
// MFU = FLOPs of the model per step / (seconds per step x devices x peak). It counts forward and
// backward once: no recomputation, no optimizer. HFU counts recomputation, too.
#ifndef ONNXFLOPS_SRC_HARDWARE_UTILISATION_H_
#define ONNXFLOPS_SRC_HARDWARE_UTILISATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

// The speed of training: exactly one of the four is given.
struct StepRate {
  double step_seconds = 0, steps_per_second = 0, samples_per_second = 0, tokens_per_second = 0;
};
// Seconds of a step with this many samples and tokens. InvalidArgument unless exactly one rate is
// given, above 0; FailedPrecondition if the number of samples or tokens is needed and unknown.
absl::StatusOr<double> StepSeconds(const StepRate& rate, std::optional<int64_t> samples,
                                   std::optional<int64_t> tokens);

// Parses "0.31", "310ms", "2 s", "1.5min" or "0:00:02"; without a unit it is seconds. nullopt if
// the text is not a time.
std::optional<double> SecondsOfText(absl::string_view text);

// flops / (seconds * devices * peak). Not clamped. `peak` in FLOP/s of one device.
double Utilisation(absl::int128 flops, double seconds, int64_t devices, double peak);

// "312T" where `utilisation` would be plausible if `peak` were in 10^12 or 10^9 FLOP/s; else "".
std::string PeakWithUnit(double utilisation, double peak);
// Why a utilisation may be above 1, the likeliest first.
std::vector<std::string> ReasonsAboveOne(double utilisation, double peak);
// Why hardware counters may have measured so many times the counted FLOPs.
std::vector<std::string> ReasonsOfRatio(double executed_to_counted);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_HARDWARE_UTILISATION_H_
