// Options of utilisation in training, which `mfu`, `monitor` and Python share.
#ifndef ONNXFLOPS_TOOLS_CLI_MFU_ARGUMENTS_H_
#define ONNXFLOPS_TOOLS_CLI_MFU_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/mfu.h"
#include "tools/cli/device_arguments.h"
#include "tools/cli/option_list.h"
#include "tools/cli/options.h"
#include "tools/cli/sample_arguments.h"
#include "tools/cli/training_arguments.h"

namespace onnxflops::tools {

struct MfuArguments {
  SizeArguments sizes;
  SampleArguments samples;
  CausalArgument causal;
  TrainingArguments training;
  DevicesFileArgument devices_file;
  RateArguments rate;
  std::string batch_per_device, accumulation = "1", device, dtype, peak, measured, convention;
  std::vector<std::string> parameters;

  void AddTo(OptionList* list);
  // Of these, what holds for a model that is counted already: all but sizes and training.
  void AddRateTo(OptionList* list);
  // Of these, what gives the peak.
  void AddPeakTo(OptionList* list);
  // What is counted.
  void AddModelTo(OptionList* list);
  absl::StatusOr<MfuOptions> Parse() const;
  // FLOP/s of one device, of what AddPeakTo adds.
  absl::StatusOr<double> ParsePeak() const;
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_MFU_ARGUMENTS_H_
