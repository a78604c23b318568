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
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

struct AtBatch {
  Model model;
  std::vector<std::string> warnings;
};

// The inputs whose first dimension is the batch, and its size.
struct BatchInputs {
  std::vector<ValueId> inputs;
  int64_t size = 0;
};
// InvalidArgument if the inputs share no first size, or if it is open.
absl::StatusOr<BatchInputs> FindBatch(const ModelData& model);

// `batch` is a number or a symbol, which `infer` binds as in `bound`. Returns the model itself if
// it already has that batch. Errors: those of FindBatch; InvalidArgument if the file fixes what
// depends on the batch.
absl::StatusOr<AtBatch> ModelAtBatch(
    const Model& model, const Expr& batch, const Bindings& bound,
    absl::FunctionRef<absl::StatusOr<Inference>(const Model&)> infer);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_ADAPTER_AT_BATCH_H_
