// Which parameters a training run changes.
#ifndef ONNXFLOPS_SRC_TRAINING_TRAINED_H_
#define ONNXFLOPS_SRC_TRAINING_TRAINED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "src/graph/model.h"
#include "src/module/attribution.h"
#include "src/resolve/ties.h"
#include "src/training/training_options.h"

namespace onnxflops::training {

struct TrainedParameters {
  std::vector<bool> value;  // by ValueId
  // The same, plus constants such as `1 + weight` that the exporter computed from parameters and
  // kept in their place: gradients run to these too.
  std::vector<bool> gradient;
  absl::int128 elements = 0, bytes = 0;
  absl::int128 all_elements = 0;  // including frozen ones
  int64_t tensors = 0;
  std::vector<std::string> warnings;  // patterns that match nothing or by a guess; copies
};

// Matches a parameter by its name in the file, by the module of the first node that uses it and by
// all modules around that one. A matrix also matches as the weight of each module that uses it and,
// if the exporter dropped its name, by its use. NotFound if no pattern of an option matches a
// parameter. A copy of a tied weight is trained if that weight is, and a pattern that matches one
// holds for both.
absl::StatusOr<TrainedParameters> FindTrained(const ModelData& model,
                                              const modules::Attribution& attribution,
                                              const resolve::Ties& ties,
                                              const TrainingOptions& options);

}  // namespace onnxflops::training

#endif  // ONNXFLOPS_SRC_TRAINING_TRAINED_H_
