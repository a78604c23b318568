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

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
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
};

// "512".
absl::StatusOr<int64_t> ParsePrefill(absl::string_view text);
// "1@512": one token after 512.
absl::StatusOr<ServingRequest::Decode> ParseDecode(absl::string_view text);

// A configuration whose prompt runs an encoder or a tower of images has a graph of its own for
// steps after a cache. Errors as of Count; also FailedPrecondition for a model without past
// inputs, or whose export fixed another size.
absl::StatusOr<ServingReport> CountServing(const Model& model, const CountOptions& options,
                                           const ServingRequest& request);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SERVING_H_
