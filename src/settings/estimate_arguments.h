// The settings of an estimate.
#ifndef ONNXFLOPS_SRC_SETTINGS_ESTIMATE_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_ESTIMATE_ARGUMENTS_H_

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/estimate/estimate_report.h"
#include "src/graph/model.h"
#include "src/settings/size_arguments.h"
#include "src/settings/table.h"
#include "src/settings/training_arguments.h"

namespace onnxflops::settings {

struct EstimateArguments {
  SizeArguments sizes;
  CausalArgument causal;
  TiedArgument tied;
  std::string calibrate, calibration;

  void AddTo(Table* list);
  absl::StatusOr<CountOptions> Options() const;

  using LoadMeasured = absl::FunctionRef<absl::StatusOr<Model>(const CountOptions& options)>;
  // What `calibrate` or `calibration` gives. `load` gives the one model that was measured. Sizes
  // that `options` do not give become those of the measurement.
  absl::StatusOr<std::optional<Calibration>> FindCalibration(LoadMeasured load,
                                                             CountOptions* options) const;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_ESTIMATE_ARGUMENTS_H_
