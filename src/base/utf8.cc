#include "src/base/utf8.h"

#include <algorithm>
#include <iterator>

namespace onnxflops {
namespace {

struct Range {
  uint32_t first, last;
};

// Code points that must be escaped, in Unicode 14.0 (Python 3.11's unicodedata, and the property
// Default_Ignorable_Code_Point of DerivedCoreProperties.txt):
//   Cc control characters, Cf format characters, Cs surrogates, Co private use, Zl and Zp line
//   ends, Zs spaces other than U+0020, every Default_Ignorable_Code_Point (variation selectors,
//   tags and fillers among them), noncharacters, the unassigned planes 4 to 13, and planes 14 to
//   16; and characters that look blank but are in none of these classes: Braille's blank pattern,
//   the musical null notehead, the Khitan filler, the object replacement character.
// The block of Egyptian format controls is included as a whole: Unicode 15 has assigned more of it.
constexpr Range kNotPrintable[] = {
    {0x0000, 0x001f},    {0x007f, 0x00a0},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
    {0x0600, 0x0605},    {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},
    {0x0890, 0x0891},    {0x08e2, 0x08e2},   {0x115f, 0x1160},   {0x1680, 0x1680},
    {0x17b4, 0x17b5},    {0x180b, 0x180f},   {0x2000, 0x200f},   {0x2028, 0x202f},
    {0x205f, 0x206f},    {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},
    {0xd800, 0xf8ff},    {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},    {0xfff0, 0xfffc},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd},  {0x13430, 0x1345f}, {0x16fe4, 0x16fe4}, {0x1bca0, 0x1bca3},
    {0x1d159, 0x1d159},  {0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff}, {0x2fffe, 0x2ffff},
    {0x3fffe, 0x10ffff},
};

}  // namespace

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
  if (code < 0x7f) return code >= 0x20;
  const Range* range = std::upper_bound(std::begin(kNotPrintable), std::end(kNotPrintable), code,
                                        [](uint32_t c, const Range& r) { return c < r.first; });
  return std::prev(range)->last < code;
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
