#include "src/base/quote.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/base/limits.h"
#include "src/base/utf8.h"

namespace onnxflops {
namespace {

// GitHub's "::error::" is a command at the start of a line, after any spaces, including Unicode's;
// its "##[error]" and Azure's "##vso[" are commands anywhere in a line.
std::string WithoutCommands(std::string text) {
  const auto is_blank = [](char c) { return c == ' ' || static_cast<unsigned char>(c) >= 0x80; };
  const auto begin = std::find_if_not(text.begin(), text.end(), is_blank);
  if (absl::StartsWith(absl::string_view(text).substr(static_cast<size_t>(begin - text.begin())),
                       "::")) {
    text.replace(begin, begin + 1, "\\x3a");
  }
  if (!absl::StrContains(text, "##")) return text;
  return absl::StrReplaceAll(text, {{"##", "#\\x23"}});
}

// Stops where `out` has `most` bytes or more.
std::string Escape(absl::string_view text, size_t most) {
  // Most text is ASCII that stays as it is.
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  const auto plain = std::find_if_not(text.begin(), text.end(), is_plain) - text.begin();
  size_t i = std::min(static_cast<size_t>(plain), most);
  std::string out(text.substr(0, i));
  while (i < text.size()) {
    if (out.size() >= most) {
      out += "...";
      break;
    }
    const size_t length = PrintableSequence(text.substr(i, 4));
    if (length > 0) {
      out.append(text.data() + i, length);
      i += length;
      continue;
    }
    const char c = text[i++];
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      absl::StrAppend(&out, "\\x", absl::Hex(static_cast<uint8_t>(c), absl::kZeroPad2));
    }
  }
  return WithoutCommands(std::move(out));
}

}  // namespace

std::string Printable(absl::string_view text) { return Escape(text, absl::string_view::npos); }

std::string Escaped(absl::string_view name) { return Escape(name, kMaxShownName); }

std::string Quoted(absl::string_view name) { return absl::StrCat("'", Escaped(name), "'"); }

}  // namespace onnxflops
