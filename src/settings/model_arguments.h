// The settings of what is asked of one model or two: a comparison, an explanation, a diff.
#ifndef ONNXFLOPS_SRC_SETTINGS_MODEL_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_MODEL_ARGUMENTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/settings/sample_arguments.h"
#include "src/settings/size_arguments.h"
#include "src/settings/table.h"

namespace onnxflops::settings {

// What tools are compared by.
struct ComparedArgument {
  std::string quantity;

  void AddTo(Table* list);
  // Whether it is activations, not work.
  absl::StatusOr<bool> IsActivations() const;
};

struct CompareArguments {
  SizeArguments sizes;
  UpperArgument upper;
  NoGradArgument no_grad;
  SampleArguments samples;
  std::string module;  // which AddModule adds

  void AddTo(Table* list);
  absl::StatusOr<CountOptions> Options() const;
};

struct ExplainArguments {
  SizeArguments sizes;
  UpperArgument upper;
  CausalArgument causal;

  void AddTo(Table* list);
  absl::StatusOr<CountOptions> Options() const;
};

struct DiffArguments {
  SizeArguments sizes;
  CausalArgument causal;

  void AddTo(Table* list);
  absl::StatusOr<CountOptions> Options() const;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_MODEL_ARGUMENTS_H_
