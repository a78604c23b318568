// Lists of sizes as users write them: "512,300", "[[1, 32, 48], [1, 20, 24]]", a value per line.
//
//   ASSIGN_OR_RETURN(const std::vector<ListWord> words, ReadList("512,300\n17"));
//       // 512 and 300 of line 1, 17 of line 2
#ifndef ONNXFLOPS_SRC_API_SAMPLE_LIST_H_
#define ONNXFLOPS_SRC_API_SAMPLE_LIST_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

struct ListWord {
  absl::string_view text;
  // Words of one group belong together: those of a line, or of a bracket.
  int64_t group = 0;
  int64_t line = 1;
};

// Blanks, commas and semicolons separate. InvalidArgument with the line for a place without a value
// between two commas, and for brackets that are not in pairs.
absl::StatusOr<std::vector<ListWord>> ReadList(absl::string_view text);

// The error of more than kMaxSamples samples.
absl::Status TooManySamples();

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SAMPLE_LIST_H_
