// The work that one inference may still do.
#ifndef ONNXFLOPS_SRC_INFER_BUDGET_H_
#define ONNXFLOPS_SRC_INFER_BUDGET_H_

#include <cstddef>
#include <cstdint>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "src/base/limits.h"
#include "src/graph/evaluations.h"
#include "src/graph/model.h"
#include "src/symbolic/work.h"

namespace onnxflops::infer {

// Holds the remaining evaluations, and the limit on steps of arithmetic for this thread while it
// exists. Both follow from the size of the file. Spent evaluations are never returned.
class Budget {
 public:
  Budget(const ModelData& model, const Limits& limits);

  // OutOfRange, with the file's name, once more was spent than there was.
  absl::Status Spend(size_t evaluations) {
    evaluations_left_ -= static_cast<int64_t>(evaluations);
    if (ABSL_PREDICT_TRUE(evaluations_left_ >= 0)) return absl::OkStatus();
    return TooManyEvaluations();
  }
  int64_t evaluations_left() const { return evaluations_left_; }

  // OutOfRange once the steps on expressions, or the symbols, exceed the limits; results since then
  // may be wrong.
  absl::Status CheckWork(size_t symbols) const {
    if (ABSL_PREDICT_TRUE(!steps_.exceeded() && symbols <= max_symbols_)) return absl::OkStatus();
    return TooMuchWork();
  }

 private:
  absl::Status TooManyEvaluations() const;
  absl::Status TooMuchWork() const;

  const ModelData& model_;
  const Limits& limits_;
  const size_t max_symbols_;
  int64_t evaluations_left_;
  const WorkLimit steps_;
};

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_BUDGET_H_
