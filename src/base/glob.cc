#include "src/base/glob.h"

#include <cstddef>

namespace onnxflops {

// In one pass: a star that fails later takes one sign more.
bool MatchesGlob(absl::string_view glob, absl::string_view text) {
  size_t g = 0, t = 0;
  size_t star = absl::string_view::npos, after_star = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      after_star = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != absl::string_view::npos) {
      g = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == absl::string_view::npos;
}

}  // namespace onnxflops
