// Settings of what a model holds in memory, and of serving a decoder.
#ifndef ONNXFLOPS_SRC_SETTINGS_MEMORY_ARGUMENTS_H_
#define ONNXFLOPS_SRC_SETTINGS_MEMORY_ARGUMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/serving.h"
#include "src/memory/memory_options.h"
#include "src/settings/device_arguments.h"
#include "src/settings/table.h"
#include "src/training/training_options.h"

namespace onnxflops::settings {

// `memory` and what belongs to it, as texts. `fit` asks for `memory` by itself.
struct MemoryArguments {
  bool memory = false;
  std::string order, fit, loss, master_weights;

  void AddTo(Table* list);
  bool asked() const { return memory || !fit.empty(); }
  bool asks_for_training() const { return !loss.empty() || !master_weights.empty(); }
  // nullopt if memory is not asked for. `fit` may name a device, also one of the user's own.
  absl::StatusOr<std::optional<MemoryOptions>> Parse(const TrainingOptions& training,
                                                     const DevicesFileArgument& devices) const;
};

// `prefill`, `decode`, `requests` and `experts`.
struct ServingArguments {
  std::string prefill, decode, requests, experts;
  std::vector<StepRequest> request_list;  // instead of the file that `requests` names

  void AddTo(Table* list);
  bool asked() const {
    return !prefill.empty() || !decode.empty() || !requests.empty() || !request_list.empty();
  }
  // nullopt if no step is asked for.
  absl::StatusOr<std::optional<ServingRequest>> Parse() const;
};

}  // namespace onnxflops::settings

#endif  // ONNXFLOPS_SRC_SETTINGS_MEMORY_ARGUMENTS_H_
