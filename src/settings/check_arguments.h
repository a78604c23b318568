// The settings of a check.
#ifndef ONNXFLOPS_SRC_SETTINGS_CHECK_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_CHECK_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/api/check.h"
#include "src/api/count.h"
#include "src/settings/device_arguments.h"
#include "src/settings/size_arguments.h"
#include "src/settings/table.h"
#include "src/settings/training_arguments.h"

namespace onnxflops::settings {

struct CheckArguments {
  std::vector<std::string> limits;
  std::string profile, optimized;  // what a run of the model took
  SizeArguments sizes;
  CausalArgument causal;
  TrainingArguments training;  // of these, `backward`
  RateArguments rate;
  RooflineArguments roofline;

  void AddTo(Table* list);
  // Of these, `max`, and what a run took.
  void AddMaxTo(Table* list);
  void AddMeasuredTo(Table* list);
  // What is counted.
  absl::StatusOr<CountOptions> Counted() const;
  // The rest: how fast training went, the profile, and today.
  absl::Status Measure(CheckOptions* options) const;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_CHECK_ARGUMENTS_H_
