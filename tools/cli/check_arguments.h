// Options of `check` that Python's check() has as well.
#ifndef ONNXFLOPS_TOOLS_CLI_CHECK_ARGUMENTS_H_
#define ONNXFLOPS_TOOLS_CLI_CHECK_ARGUMENTS_H_

#include <string>
#include <vector>

#include "tools/cli/option_list.h"

namespace onnxflops::tools {

// --max.
struct MaxArgument {
  std::vector<std::string> limits;
  void AddTo(OptionList* list);
};

// --profile and --optimized: what a run of the model took.
struct MeasuredArguments {
  std::string profile, optimized;
  void AddTo(OptionList* list);
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_CHECK_ARGUMENTS_H_
