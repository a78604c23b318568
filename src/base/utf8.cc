#include "src/base/utf8.h"

namespace onnxflops {

size_t DecodeUtf8(absl::string_view text, uint32_t* code) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  *code = first;
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  *code = first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    *code = *code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = (length == 3 && *code < 0x800) || (length == 4 && *code < 0x10000);
  const bool invalid = overlong || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000);
  return invalid ? 0 : length;
}

bool IsPrintable(uint32_t code) {
  if (code < 0xa0) return code >= 0x20 && code < 0x7f;
  const bool turns = code == 0x61c || (code >= 0x200e && code <= 0x200f) ||
                     (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const bool is_tag = code >= 0xe0000 && code <= 0xe007f;  // unseen text
  return !turns && !is_tag;
}

size_t PrintableSequence(absl::string_view text) {
  uint32_t code = 0;
  const size_t length = DecodeUtf8(text, &code);
  return length > 0 && IsPrintable(code) ? length : 0;
}

absl::string_view Utf8Prefix(absl::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace onnxflops
