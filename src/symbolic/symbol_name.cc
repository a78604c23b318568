// How it works. Symbols are printed in formulas and parsed again, in reports and on the command
// line, so every name must have exactly one written form. Identifiers stand as they are; everything
// else is put in quotes with escapes that leave only printable characters. A written symbol has
// three parts: a head, a place in parentheses ("nonzero(/mask/NonZero)"), and suffixes (".0",
// "#2"). "x.0" means axis 0 of input x, so a dimension that is really named so is quoted. Two "#"
// in a row are escaped, since they would look like a suffix. TypedSymbol() brings whatever a user
// types into the written form.
#include "src/symbolic/symbol_name.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/utf8.h"

namespace onnxflops {
namespace {

bool IsPlainPlaceChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/' ||
         c == ':' || c == '-';
}

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// The length of ".12" or "#12", 0 if `text` does not begin so.
size_t SuffixLength(absl::string_view text) {
  if (text.empty() || (text[0] != '.' && text[0] != '#')) return 0;
  size_t end = 1;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return end > 1 ? end : 0;
}

// "x.0" could be axis 0 of an input x.
bool EndsLikeAxis(absl::string_view name) {
  size_t begin = name.size();
  while (begin > 0 && IsDigit(name[begin - 1])) --begin;
  return begin < name.size() && begin > 0 && name[begin - 1] == '.';
}

bool IsIdentifier(absl::string_view text) {
  return !text.empty() && IdentifierLength(text) == text.size();
}

// Appends the written form of the character at name[i] to `out`; returns its bytes in the name. The
// written form is printable: Printable() of base/quote.h would not change it.
size_t AppendWritten(absl::string_view name, size_t i, std::string* out) {
  const char c = name[i];
  const size_t length = PrintableSequence(name.substr(i, 4));
  const bool second_hash = c == '#' && i > 0 && name[i - 1] == '#';
  if (c == '\\' || c == '\'') {
    *out += '\\';
    *out += c;
  } else if (c == '\n' || c == '\t') {
    *out += c == '\n' ? "\\n" : "\\t";
  } else if (length == 0 || second_hash) {
    absl::StrAppend(out, "\\x", absl::Hex(static_cast<uint8_t>(c), absl::kZeroPad2));
  } else {
    out->append(name.data() + i, length);
    return length;
  }
  return 1;
}

std::string InQuotes(absl::string_view name) {
  std::string out = "'";
  for (size_t i = 0; i < name.size();) i += AppendWritten(name, i, &out);
  return out + "'";
}

// Reads a quoted name into `*name`; returns its length with quotes, 0 if there is none.
size_t TakeQuoted(absl::string_view text, std::string* name) {
  if (text.empty() || text[0] != '\'') return 0;
  for (size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\'') return i + 1;
    if (c != '\\') {
      *name += c;
      continue;
    }
    if (++i == text.size()) return 0;
    const absl::string_view rest = text.substr(i);
    if (rest[0] == '\\' || rest[0] == '\'') {
      *name += rest[0];
    } else if (rest[0] == 'n' || rest[0] == 't') {
      *name += rest[0] == 'n' ? '\n' : '\t';
    } else if (rest[0] == 'x' && rest.size() > 2 && absl::ascii_isxdigit(rest[1]) &&
               absl::ascii_isxdigit(rest[2])) {
      *name += static_cast<char>(std::stoi(std::string(rest.substr(1, 2)), nullptr, 16));
      i += 2;
    } else {
      return 0;
    }
  }
  return 0;
}

// The parts of a written symbol, without quotes.
struct Parts {
  std::string head, place;
  bool quoted = false;  // the head
  bool has_place = false;
  absl::string_view suffixes;
  size_t length = 0;  // of the whole symbol; 0 if the text does not begin with one
};

// Reads "(place)" from `text` on; false if that begins a parenthesis that is something else.
bool TakePlace(absl::string_view text, Parts* parts) {
  if (text.empty() || text[0] != '(') return true;
  size_t end = 1 + TakeQuoted(text.substr(1), &parts->place);
  if (end == 1) {
    while (end < text.size() && IsPlainPlaceChar(text[end])) ++end;
    parts->place = std::string(text.substr(1, end - 1));
    if (parts->place.empty()) return false;
  }
  if (end >= text.size() || text[end] != ')') return false;
  parts->has_place = true;
  parts->length += end + 1;
  return true;
}

Parts Read(absl::string_view text) {
  Parts parts;
  const size_t quoted = TakeQuoted(text, &parts.head);
  parts.quoted = quoted > 0;
  if (!parts.quoted) parts.head = std::string(text.substr(0, IdentifierLength(text)));
  parts.length = parts.quoted ? quoted : parts.head.size();
  if (parts.length == 0) return parts;
  const bool function = !parts.quoted && IsFunctionName(parts.head);
  if (!function && !TakePlace(text.substr(parts.length), &parts)) parts.length = 0;
  if (parts.length == 0) return parts;
  const size_t begin = parts.length;
  while (const size_t suffix = SuffixLength(text.substr(parts.length))) parts.length += suffix;
  parts.suffixes = text.substr(begin, parts.length - begin);
  return parts;
}

std::string WrittenHead(absl::string_view name) {
  return IsIdentifier(name) ? std::string(name) : InQuotes(name);
}

}  // namespace

size_t IdentifierLength(absl::string_view text) {
  if (text.empty() || IsDigit(text[0]) || text[0] == '.') return 0;
  size_t end = 0;
  while (end < text.size() && (absl::ascii_isalnum(static_cast<unsigned char>(text[end])) ||
                               text[end] == '_' || text[end] == '.')) {
    ++end;
  }
  return end;
}

bool IsFunctionName(absl::string_view name) {
  return name == "floor" || name == "min" || name == "max" || name == "broadcast";
}

std::string FileSymbol(absl::string_view name) {
  return IsIdentifier(name) && !EndsLikeAxis(name) ? std::string(name) : InQuotes(name);
}

std::string AxisSymbol(absl::string_view input, int axis) {
  return absl::StrCat(WrittenHead(input), ".", axis);
}

std::string DataSymbol(absl::string_view hint, absl::string_view place) {
  const bool plain = !place.empty() && std::all_of(place.begin(), place.end(), IsPlainPlaceChar);
  return absl::StrCat(IsFunctionName(hint) ? InQuotes(hint) : WrittenHead(hint), "(",
                      plain ? std::string(place) : InQuotes(place), ")");
}

std::string CutSymbol(absl::string_view name, size_t most, size_t number) {
  return absl::StrCat(InQuotes(absl::StrCat(WrittenPrefix(name, most), "...")), "#", number);
}

absl::string_view WrittenPrefix(absl::string_view name, size_t most) {
  std::string written;
  size_t end = 0;
  while (end < name.size()) {
    const size_t length = AppendWritten(name, end, &written);
    if (written.size() > most) break;
    end += length;
  }
  return name.substr(0, end);
}

std::string TypedSymbol(absl::string_view text) {
  if (IsIdentifier(text)) return std::string(text);
  const Parts parts = Read(text);
  if (parts.length != text.size() || text.empty()) return InQuotes(text);
  if (!parts.quoted && !parts.has_place) return std::string(text);
  if (parts.has_place) return DataSymbol(parts.head, parts.place) + std::string(parts.suffixes);
  if (parts.suffixes.empty()) return FileSymbol(parts.head);
  const bool axis = absl::StartsWith(parts.suffixes, ".");
  return absl::StrCat(axis ? WrittenHead(parts.head) : InQuotes(parts.head), parts.suffixes);
}

std::string BareName(absl::string_view symbol) {
  const Parts parts = Read(symbol);
  if (parts.length != symbol.size()) return std::string(symbol);
  return absl::StrCat(parts.head, parts.has_place ? absl::StrCat("(", parts.place, ")") : "",
                      parts.suffixes);
}

std::string QuotedSymbol(absl::string_view symbol) {
  return absl::StartsWith(symbol, "'") ? std::string(symbol) : absl::StrCat("'", symbol, "'");
}

size_t SymbolLength(absl::string_view text) { return Read(text).length; }

}  // namespace onnxflops
