// The settings of a count.
#ifndef ONNXFLOPS_SRC_SETTINGS_COUNT_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_COUNT_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/settings/device_arguments.h"
#include "src/settings/memory_arguments.h"
#include "src/settings/sample_arguments.h"
#include "src/settings/size_arguments.h"
#include "src/settings/table.h"
#include "src/settings/training_arguments.h"
#include "src/settings/view_arguments.h"

namespace onnxflops::settings {

struct CountArguments {
  SizeArguments sizes;
  SampleArguments samples;
  CausalArgument causal;
  TrainingArguments training;
  RooflineArguments roofline;
  MemoryArguments memory;
  ServingArguments serving;
  ViewArguments view;
  std::string convention;
  UpperArgument upper;
  NoGradArgument no_grad;

  void AddTo(Table* list);
  // What is counted, without what shows it. Dimensions with several sizes go to `sweep`.
  absl::StatusOr<CountOptions> Options(std::vector<DimSizes>* sweep) const;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_COUNT_ARGUMENTS_H_
