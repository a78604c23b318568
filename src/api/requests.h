// The requests of one step of a server: chunks of prompts, and single tokens that follow a cache,
// in one run of the model.
//
//   ASSIGN_OR_RETURN(std::vector<StepRequest> requests,
//                    ParseRequests("prompt,cached,chunk,generated\n900,512,256,0\n300,0,,7\n"));
//   requests[0].tokens(), requests[0].past()   // 256 of the prompt, after 512
//   requests[1].tokens(), requests[1].past()   // 1, after 300 + 6
#ifndef ONNXFLOPS_SRC_API_REQUESTS_H_
#define ONNXFLOPS_SRC_API_REQUESTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/api/samples.h"

namespace onnxflops {

struct StepRequest {
  int64_t prompt = 0;            // tokens of the whole prompt
  int64_t cached = 0;            // of these, in the cache before the step
  std::optional<int64_t> chunk;  // tokens of the step; default: the rest of the prompt, or 1
  int64_t generated = 0;         // tokens that it has got before the step
  // Images or audio that run through a tower or an encoder in this step; null if there are none.
  // The prompt includes the tokens of images.
  std::shared_ptr<const Samples> media = nullptr;
  int64_t line = 0;  // of the file; 0 without one

  bool is_decode() const { return generated > 0; }
  // The last token that it has got is not in the cache yet.
  int64_t past() const { return is_decode() ? prompt + generated - 1 : cached; }
  int64_t tokens() const { return chunk.value_or(is_decode() ? 1 : prompt - cached); }
  // True if the step generates a token for the request, that is, no chunk of its prompt is left.
  bool gets_token() const { return is_decode() || cached + tokens() == prompt; }
};

// Parses a table with a header, with cells separated by commas, semicolons or tabs, or JSON lines.
// The columns are the fields of StepRequest in any order; only `prompt` is required. Its media are
// one of grid_thw, images, tiles and audio: "1x32x48 1x20x24", or a list in JSON. An empty cell
// counts as a missing column. Errors: InvalidArgument with the line, the column and the fault;
// OutOfRange for too many requests.
absl::StatusOr<std::vector<StepRequest>> ParseRequests(absl::string_view text);

// The columns that one request has, as the cells of a table: {{"prompt", "900"}, {"images",
// "[336x336]"}}.
using RequestCells = std::vector<std::pair<std::string, std::string>>;
// Adds it to a list. Errors: as above, with the number of the request instead of the line.
absl::Status AddRequest(const RequestCells& cells, std::vector<StepRequest>* requests);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_REQUESTS_H_
