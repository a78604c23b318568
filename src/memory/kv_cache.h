// The cache of keys and values of a decoder, found from its past inputs, and the sizes that a step
// of serving binds.
//
//   absl::StatusOr<Decoder> decoder = FindDecoder(inference);
//   BindStep(*decoder, {.tokens = 1, .past = 512})
//       // past_sequence_length = 512, sequence_length = 1, total_sequence_length = 513
#ifndef ONNXFLOPS_SRC_MEMORY_KV_CACHE_H_
#define ONNXFLOPS_SRC_MEMORY_KV_CACHE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

struct Decoder {
  int64_t tensors = 0;             // past inputs that grow with the tokens; 0: states only
  Expr length;                     // of the past: a symbol, or a number that the export fixed
  Expr bytes;                      // of them all
  Expr fixed_bytes;                // past inputs of constant size, such as an encoder's
  std::vector<DType> types;        // of the inputs that grow
  bool has_states = false;         // of fixed size, as Mamba's; a step after them has one token
  std::string token_input;         // "input_ids"
  Expr tokens;                     // how many it takes
  std::vector<std::string> total;  // symbols of past and new tokens together: masks
  std::vector<std::string> equal;  // symbols of new tokens elsewhere: positions
  // The end of learned positions, if there is one.
  struct Positions {
    int64_t most = 0;
    std::string where;  // what has them: "the configuration", a weight
  };
  std::optional<Positions> positions;
  // For a merged decoder: the input that says whether there is a past.
  std::string use_cache;
  // Other sizes of past inputs, found from the outputs, such as the width of a head.
  Bindings known;
};

// True if an output passes the cache to the next step, by the names that exporters use:
// "present.0.key", "past_key_values.0.value". The loss does not use it.
bool IsCacheOutput(absl::string_view name);

// Finds the decoder in a model. NotFound if it has no past inputs, or no input of tokens.
absl::StatusOr<Decoder> FindDecoder(const Inference& inference);
// The same by the sizes that the file declares, whatever is bound.
absl::StatusOr<Decoder> FindDeclaredDecoder(const Inference& inference);

// The sizes that follow from those of the past and of the new tokens: of masks and positions, and
// widths that an output shows. Of masks and positions only those whose size `bindings` tell.
Bindings FollowingSizes(const Decoder& decoder, const Bindings& bindings);

// A step of serving: so many new tokens after so many that are in the cache.
struct ServingStep {
  int64_t tokens = 1, past = 0;
};
// Sizes of a step. FailedPrecondition if the export fixed another size, InvalidArgument if the
// step goes beyond the learned positions.
absl::StatusOr<Bindings> BindStep(const Decoder& decoder, const ServingStep& step);

// Bytes that each token adds to the cache; nullopt if they depend on the number of tokens.
std::optional<Expr> CacheBytesPerToken(const Decoder& decoder);
// Bytes of a cache with this many tokens, without `fixed_bytes`; nullopt if unknown.
std::optional<Expr> CacheBytesAt(const Decoder& decoder, const Expr& tokens);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MEMORY_KV_CACHE_H_
