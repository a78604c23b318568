// The report of `estimate`: our count next to rules of thumb and to an earlier measurement.
//
//   ASSIGN_OR_RETURN(Measurement measured, ParseMeasurement(json, "measured.json"));
//   ASSIGN_OR_RETURN(Calibration calibration, Calibrate(measured, report));
//   calibration.ratio()   // measured / counted, at the sizes of the measurement
//
// A calibrated figure is our count times that ratio. It is shown in addition to the count and never
// replaces it.
#ifndef ONNXFLOPS_SRC_ESTIMATE_ESTIMATE_REPORT_H_
#define ONNXFLOPS_SRC_ESTIMATE_ESTIMATE_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/compare/compare_report.h"
#include "src/render/document.h"
#include "src/report/report.h"
#include "src/report/view_options.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// FLOPs that a profiler or hardware counters measured.
struct Measurement {
  absl::int128 flops = 0;
  bool of_training = false;  // of a training step, else of a forward pass
  std::string device, date;
  Bindings sizes;
};
// {"flops": 9.1e12, "of": "training", "device": "a100-sxm", "date": "2026-11-20",
//  "bindings": {"batch": 8, "seq": 1024}}. InvalidArgument names the key that is wrong.
absl::StatusOr<Measurement> ParseMeasurement(absl::string_view json, absl::string_view name);

struct Calibration {
  Measurement measured;
  std::string model;         // its path
  absl::int128 counted = 0;  // by us, at the same sizes
  double ratio() const {
    return static_cast<double>(measured.flops) / static_cast<double>(counted);
  }
};
// `report`: of the model that was measured. FailedPrecondition where sizes are open.
absl::StatusOr<Calibration> Calibrate(const Measurement& measured, const Report& report);
// Reads an earlier estimate from JSON.
absl::StatusOr<Calibration> ParseCalibration(absl::string_view json, absl::string_view name);

struct EstimateReport {
  std::vector<CompareReport> models;  // at least one; all with the same tools
  std::optional<Calibration> calibration;
};

Document ToDocument(const EstimateReport& report);
std::string ToCsv(const EstimateReport& report);
// JSON: "onnxflops.estimate/1" (tools/schema/estimate.v1.schema.json).
std::string ToJson(const EstimateReport& report);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_ESTIMATE_ESTIMATE_REPORT_H_
