// Serving a decoder: a prompt and the tokens after it, with the right sizes bound by themselves.
//
//   ServingRequest request;
//   request.prefill = 512;
//   request.decode = ServingRequest::Decode{.tokens = 1, .past = 512};
//   absl::StatusOr<ServingReport> report = CountServing(model, options, request);
#ifndef ONNXFLOPS_SRC_API_SERVING_H_
#define ONNXFLOPS_SRC_API_SERVING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/api/requests.h"
#include "src/graph/model.h"
#include "src/serving/serving_report.h"

namespace onnxflops {

struct ServingRequest {
  std::optional<int64_t> prefill;  // tokens of a prompt
  // Tokens after so many others, whose keys and values are in the cache.
  struct Decode {
    int64_t tokens = 1, past = 0;
  };
  std::optional<Decode> decode;
  // One step of many requests, in one run of the model: weights are read once.
  std::vector<StepRequest> requests;
  std::string requests_file;  // for errors about their lines; "" if they are of no file
  // How many experts the tokens of a step reach, of each layer that has them, or one number for all
  // layers. Without, a step of requests has as many as an even routing reaches on average, and the
  // others as many as can be.
  std::vector<int64_t> experts;
};

// "512".
absl::StatusOr<int64_t> ParsePrefill(absl::string_view text);
// "1@512": one token after 512.
absl::StatusOr<ServingRequest::Decode> ParseDecode(absl::string_view text);
// "8,7,8": numbers of 1 or more.
absl::StatusOr<std::vector<int64_t>> ParseExperts(absl::string_view text);

// If the prompt of a configuration runs an encoder or an image tower, steps after the prompt have a
// graph of their own. CountOptions::on_device gives times. CountOptions::memory gives what a step
// holds; only its order is used. Both assume that new keys and values are appended to the cache in
// place. Errors: those of Count; FailedPrecondition for a model without past inputs, or whose
// export fixed another size; InvalidArgument for requests that exceed the model's positions, or
// name experts that it does not have.
absl::StatusOr<ServingReport> CountServing(const Model& model, const CountOptions& options,
                                           const ServingRequest& request);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SERVING_H_
