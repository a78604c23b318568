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
  // The same and constants that the exporter computed of parameters, `1 + weight`, which it left
  // out: what a gradient runs to.
  std::vector<bool> gradient;
  absl::int128 elements = 0, bytes = 0;
  absl::int128 all_elements = 0;  // of frozen ones, too
  int64_t tensors = 0;
  std::vector<std::string> warnings;  // patterns that match nothing or by a guess; copies
};

// A parameter is known by its name in the file, by the module of the first node that uses it, by
// all modules around it and, a matrix, as the weight of each module that uses it. A matrix whose
// name the exporter dropped is also known by what it is used for. NotFound where no pattern of an
// option matches a parameter.
// A copy of a tied weight is trained if that weight is, and a pattern that matches one is for both.
absl::StatusOr<TrainedParameters> FindTrained(const ModelData& model,
                                              const modules::Attribution& attribution,
                                              const resolve::Ties& ties,
                                              const TrainingOptions& options);

}  // namespace onnxflops::training

#endif  // ONNXFLOPS_SRC_TRAINING_TRAINED_H_
