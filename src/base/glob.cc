#include "src/base/glob.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace onnxflops {
namespace {

// Where the next sign begins: in UTF-8 one may be several bytes.
size_t NextSign(absl::string_view text, size_t at) {
  do {
    ++at;
  } while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
  return at;
}

}  // namespace

// In one pass: a star that fails later takes one sign more.
bool MatchesGlob(absl::string_view glob, absl::string_view text) {
  size_t g = 0, t = 0;
  size_t star = absl::string_view::npos, after_star = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      after_star = t;
    } else if (g < glob.size() && glob[g] == '?') {
      ++g;
      t = NextSign(text, t);
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g;
      ++t;
    } else if (star != absl::string_view::npos) {
      g = star + 1;
      t = after_star = NextSign(text, after_star);
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == absl::string_view::npos;
}

bool MatchesPath(absl::string_view glob, absl::string_view path, bool exact) {
  return MatchesGlob(glob, path) || (!exact && MatchesGlob(absl::StrCat("*.", glob), path));
}

}  // namespace onnxflops
