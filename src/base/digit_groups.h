// Commas between digits.
#ifndef ONNXFLOPS_SRC_BASE_DIGIT_GROUPS_H_
#define ONNXFLOPS_SRC_BASE_DIGIT_GROUPS_H_

#include <algorithm>
#include <cstddef>

#include "absl/strings/string_view.h"

namespace onnxflops {

// True if commas divide digits into groups of three: "4,133,742,592", "512", "". "1,5" is refused,
// because many countries write 1.5 in this way.
inline bool AreDigitGroups(absl::string_view digits) {
  size_t comma = digits.find(',');
  if (comma == absl::string_view::npos) return true;
  if (comma == 0 || comma > 3) return false;
  for (; comma != absl::string_view::npos; comma = digits.find(',')) {
    digits.remove_prefix(comma + 1);
    if (std::min(digits.find(','), digits.size()) != 3) return false;
  }
  return true;
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_DIGIT_GROUPS_H_
