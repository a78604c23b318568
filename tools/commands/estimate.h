// onnxflops estimate, for the program and for Python.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_ESTIMATE_H_
#define ONNXFLOPS_TOOLS_COMMANDS_ESTIMATE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/estimate/estimate_report.h"
#include "src/graph/model.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"
#include "tools/commands/each_model.h"

namespace onnxflops::tools {

struct EstimateArguments {
  std::vector<std::string> models;
  SizeArguments sizes;
  CausalArgument causal;
  JobsArgument jobs;
  OutputArguments output;
  std::string calibrate, calibration;
  bool family_table = false;

  void AddTo(OptionList* list);
};

// The calibration of --calibrate or --calibration. `load` loads the one measured model. Sizes
// missing in `options` are set to those of the measurement.
absl::StatusOr<std::optional<Calibration>> FindCalibration(
    const EstimateArguments& args,
    absl::FunctionRef<absl::StatusOr<Model>(const CountOptions& options)> load,
    CountOptions* options);

// Compares a model with the rules of thumb.
absl::StatusOr<CompareReport> EstimateModel(const Model& model, const CountOptions& options);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_ESTIMATE_H_
