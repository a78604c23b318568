#include "src/base/quote.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"

namespace onnxflops {
namespace {

// The length of the valid UTF-8 sequence that `text` begins with; 0 if it begins with none, or with
// a control character: C0, C1, or one that turns the direction of the text around it.
size_t PrintableSequence(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  uint32_t code = first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool invalid = overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
  const bool control = code < 0xa0 || (code >= 0x200e && code <= 0x200f) ||
                       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return invalid || control ? 0 : length;
}

}  // namespace

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
