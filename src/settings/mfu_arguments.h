// Settings of utilisation in training.
#ifndef ONNXFLOPS_SRC_SETTINGS_MFU_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_MFU_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/mfu.h"
#include "src/settings/device_arguments.h"
#include "src/settings/sample_arguments.h"
#include "src/settings/size_arguments.h"
#include "src/settings/table.h"
#include "src/settings/training_arguments.h"

namespace onnxflops::settings {

struct MfuArguments {
  SizeArguments sizes;
  SampleArguments samples;
  CausalArgument causal;
  TrainingArguments training;
  DevicesFileArgument devices_file;
  RateArguments rate;
  std::string batch_per_device, accumulation = "1", device, dtype, peak, measured, convention;
  std::vector<std::string> parameters;

  void AddTo(Table* list);
  // Of these, what holds for a model that is counted already: all but sizes and training.
  void AddRateTo(Table* list);
  // Of these, what gives the peak.
  void AddPeakTo(Table* list);
  // What is counted.
  void AddModelTo(Table* list);
  absl::StatusOr<MfuOptions> Parse() const;
  // FLOP/s of one device, of what AddPeakTo adds.
  absl::StatusOr<double> ParsePeak() const;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_MFU_ARGUMENTS_H_
