// The length of sequences as a batch really has them: tokens that a mask lets through.
#ifndef ONNXFLOPS_SRC_API_SEQUENCE_H_
#define ONNXFLOPS_SRC_API_SEQUENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/graph/batch_size.h"
#include "src/graph/model.h"

namespace onnxflops {

// The sizes that CountOptions::tokens or ::mask_sum give to symbols of the inputs that take tokens;
// empty without them. `warnings` reports the rounding of a mean. Errors: InvalidArgument for both
// options together, and for a size that contradicts --dim; FailedPrecondition if no input has an
// open number of tokens, or the batch is unknown.
absl::StatusOr<Bindings> BindSequence(const ModelData& model, const CountOptions& options,
                                      std::vector<std::string>* warnings);

// The sizes of a step as declared by the inputs: symbols, or numbers fixed in the file.
struct InputSizes {
  std::string batch;                  // its symbol; "" if the file fixes it, or nothing has a batch
  std::optional<int64_t> batch_size;  // fixed in the file
  // Symbols of the batches of other inputs, by their names: image_batch next to text_batch.
  std::vector<std::string> other_batches;
  std::vector<std::string> lengths;  // symbols of numbers of tokens
  std::optional<int64_t> length;     // of token ids, fixed in the file
};
// With `batch`, as another batch of the call (CountOptions::batch) makes them.
InputSizes FindInputSizes(const ModelData& model,
                          const std::optional<BatchSize>& batch = std::nullopt);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SEQUENCE_H_
