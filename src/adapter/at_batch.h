// Converts a model exported for one batch to another, as if it had been exported at that batch. The
// new batch may be a symbol, which then is a dimension of the inputs.
//
// This works if the graph treats the first dimension of its inputs as samples. Sizes of Reshape,
// Expand and others that hold the old batch follow it; states and tokens that are one for all
// samples are expanded. Weights keep their shapes. Everything else that may hold the batch is an
// error that names the node. Later stages see an ordinary model.
#ifndef ONNXFLOPS_SRC_ADAPTER_AT_BATCH_H_
#define ONNXFLOPS_SRC_ADAPTER_AT_BATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "src/graph/batch_size.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

struct AtBatch {
  Model model;
  std::vector<std::string> warnings;
};

// A dimension of an input.
struct BatchInput {
  ValueId input = 0;
  int axis = 0;
};
// The inputs that have the batch, and its size.
struct BatchInputs {
  std::vector<BatchInput> inputs;
  int64_t size = 0;
};
// InvalidArgument if the sizes there differ or are open, or an input is not there.
absl::StatusOr<BatchInputs> FindBatch(const ModelData& model, const BatchSize& batch);

// `infer` binds a symbol as in `bound`. Returns the model itself if it already has that batch.
// Errors: those of FindBatch; InvalidArgument if the file fixes what depends on the batch.
absl::StatusOr<AtBatch> ModelAtBatch(
    const Model& model, const BatchSize& batch, const Bindings& bound,
    absl::FunctionRef<absl::StatusOr<Inference>(const Model&)> infer);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_ADAPTER_AT_BATCH_H_
