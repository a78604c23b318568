// --lengths, --cu-seqlens, --images, --packed and --packed-as-row: the batch that ran.
#ifndef ONNXFLOPS_TOOLS_CLI_SAMPLE_ARGUMENTS_H_
#define ONNXFLOPS_TOOLS_CLI_SAMPLE_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/samples.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

struct SampleArguments {
  std::vector<std::string> lengths;
  std::string cu_seqlens, images;
  bool packed = false, as_row = false;

  void AddTo(OptionList* list);
  // What does not begin with a digit or a bracket is the name of a file. nullopt without samples.
  absl::StatusOr<std::optional<Samples>> Parse() const;
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_SAMPLE_ARGUMENTS_H_
