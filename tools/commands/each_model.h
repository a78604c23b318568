// Runs a function for many models, on several threads, with the results in the order of the models.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_EACH_MODEL_H_
#define ONNXFLOPS_TOOLS_COMMANDS_EACH_MODEL_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

// -j.
struct JobsArgument {
  std::string jobs;
  void AddTo(OptionList* list);
  // The given number of threads, else the number of cores for this program.
  absl::StatusOr<int> Parse() const;
};

// Calls run(0), run(1), ... run(count - 1), each once, on up to `threads` threads. While it lasts,
// a terminal shows on stderr how many are done.
void ForEach(size_t count, int threads, const std::function<void(size_t)>& run);

// What a model lacks of the sizes of --dim.
struct MissingSizes {
  std::string path;
  std::vector<std::string> names;
};
// A symbol of --dim that no model has is an error. One that only some models have is skipped for
// the others, with a message. `done`: "counted".
absl::Status TellMissing(const std::vector<MissingSizes>& models, absl::string_view done);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_EACH_MODEL_H_
