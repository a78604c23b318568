// The length of sequences as a batch really has them: tokens that a mask lets through.
#ifndef ONNXFLOPS_SRC_API_SEQUENCE_H_
#define ONNXFLOPS_SRC_API_SEQUENCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/graph/model.h"

namespace onnxflops {

// The sizes that CountOptions::tokens or ::mask_sum give to symbols of the inputs that take tokens;
// none without them. `warnings` gets how a mean was rounded. Errors: InvalidArgument for both, for
// a size that --dim sets otherwise; FailedPrecondition where no input has an open number of tokens,
// or the batch is not known.
absl::StatusOr<Bindings> BindSequence(const ModelData& model, const CountOptions& options,
                                      std::vector<std::string>* warnings);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SEQUENCE_H_
