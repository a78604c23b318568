// The roofline part of a report: the device, and what bounds the time of a run on it.
#ifndef ONNXFLOPS_SRC_REPORT_ROOFLINE_REPORT_H_
#define ONNXFLOPS_SRC_REPORT_ROOFLINE_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "src/cost/roofline.h"
#include "src/hardware/device.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// Amounts::time_bound holds the bounds of rows, node by node. In zeptoseconds, as Roofline has it.
struct RooflineReport {
  std::string device, device_title;
  Precision precision = Precision::kBf16;
  PeakFigure peak;
  int64_t bytes_per_second = 0;
  std::string memory_source;
  Roofline rates;
  // Of the whole model, with element-wise operators fused into what makes their input. Not of a
  // part (CountOptions::module).
  std::optional<Expr> fused_time_bound;

  // FLOPs per byte from which on the arithmetic takes longer than moving the bytes.
  double ridge() const {
    return static_cast<double>(rates.zs_per_byte) / static_cast<double>(rates.zs_per_operation);
  }
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_ROOFLINE_REPORT_H_
