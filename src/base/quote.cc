#include "src/base/quote.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/utf8.h"

namespace onnxflops {

std::string Escaped(absl::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size();) {
    if (out.size() >= kMaxShownName) {
      out += "...";
      break;
    }
    const size_t length = PrintableSequence(name.substr(i, 4));
    if (length > 0) {
      out.append(name.data() + i, length);
      i += length;
    } else {
      const char c = name[i++];
      if (c == '\n') {
        out += "\\n";
      } else if (c == '\t') {
        out += "\\t";
      } else {
        absl::StrAppend(&out, "\\x", absl::Hex(static_cast<uint8_t>(c), absl::kZeroPad2));
      }
    }
  }
  return out;
}

std::string Quoted(absl::string_view name) { return absl::StrCat("'", Escaped(name), "'"); }

}  // namespace onnxflops
