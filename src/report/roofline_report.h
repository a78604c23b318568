// The roofline part of a report: the device, the bound on the time of a run, and estimates.
#ifndef ONNXFLOPS_SRC_REPORT_ROOFLINE_REPORT_H_
#define ONNXFLOPS_SRC_REPORT_ROOFLINE_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "src/cost/roofline.h"
#include "src/hardware/device.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

namespace report {
// What a screen says where a bound has no time for memory.
inline constexpr char kCacheNotKnown[] =
    "nothing for memory: how much a cache of the device keeps is not known";
}  // namespace report

// What times are of. The rates are stated where a name says too little: a user's own device may
// have the name of another.
struct TimedOn {
  std::string device, dtype;
  double flops_per_second = 0;
  int64_t bytes_per_second = 0;

  bool operator==(const TimedOn&) const = default;
};

// In rows, Amounts::time_bound is the least arithmetic at the peak, and time_estimate the sum over
// the nodes. The time_bound of the totals is that of a run: it also covers the bytes that must go
// through memory. In 10^-21 s, as in Roofline.
struct RooflineReport {
  std::string device, device_title;
  Precision precision = Precision::kBf16;
  PeakFigure peak;
  int64_t bytes_per_second = 0;
  std::string memory_source;
  std::optional<int64_t> memory_bytes;
  Roofline rates;
  std::optional<int64_t> cache_bytes;
  std::string cache_source;
  // For the whole model, not a part (CountOptions::module): arithmetic that no run can skip; bytes
  // of inputs, parameters and outputs, once each; and the estimate with element-wise operators
  // fused into their producers.
  std::optional<Expr> arithmetic_time, compulsory_bytes, fused_time_estimate;

  // The time for memory alone: compulsory_bytes, minus those that a cache may keep from the run
  // before. A cache of unknown size may keep all.
  Expr MemoryBound() const {
    if (!compulsory_bytes || !cache_bytes) return 0;
    return rates.MemoryTime(Max(0, *compulsory_bytes - Expr(*cache_bytes)));
  }

  TimedOn timed_on() const {
    constexpr double kGiga = 1e9;
    return {device, std::string(PrecisionName(precision)), static_cast<double>(peak.giga) * kGiga,
            bytes_per_second};
  }

  // FLOPs per byte from which on the arithmetic takes longer than moving the bytes.
  double ridge() const {
    return static_cast<double>(rates.zs_per_byte) / static_cast<double>(rates.zs_per_operation);
  }
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_ROOFLINE_REPORT_H_
