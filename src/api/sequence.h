// The length of sequences as a batch really has them: tokens that a mask lets through.
#ifndef ONNXFLOPS_SRC_API_SEQUENCE_H_
#define ONNXFLOPS_SRC_API_SEQUENCE_H_

#include <cstdint>
#include <optional>
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

// The sizes of a step, as the inputs declare them: symbols, or what the file fixes.
struct InputSizes {
  std::string batch;                  // its symbol; "" if the file fixes it, or nothing has a batch
  std::optional<int64_t> batch_size;  // what the file fixes
  std::vector<std::string> lengths;   // symbols of numbers of tokens
  std::optional<int64_t> length;      // of token ids, what the file fixes
};
InputSizes FindInputSizes(const ModelData& model);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SEQUENCE_H_
