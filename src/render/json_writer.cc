// How it works. A stack of levels knows whether a comma and a new line are due; objects on one line
// keep rows of tables short. Strings are copied up to the first character that needs an escape;
// most have none. Names come from other people's files: what is not printable or no valid UTF-8 is
// replaced, keys that become equal by that are made different again, and "##" is escaped, because
// CI systems take it for a command. Integers of 128 bits are written with all digits.
#include "src/render/json_writer.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/utf8.h"

namespace onnxflops::report {
namespace {

// The length of the beginning of `text` that needs no escape, which most texts need nowhere. "#"
// ends it, since CI systems take "##[error]" for a command, also in the middle of a line.
size_t PlainPrefix(absl::string_view text) {
  const auto special = std::find_if(text.begin(), text.end(), [](char c) {
    return c < ' ' || c > '~' || c == '"' || c == '\\' || c == '#';
  });
  return static_cast<size_t>(special - text.begin());
}

constexpr char kReplacement[] = "\xef\xbf\xbd";  // U+FFFD

std::string UniqueKey(absl::string_view key) {
  std::string out;
  while (!key.empty()) {
    uint32_t code = 0;
    const size_t length = DecodeUtf8(key, &code);
    if (length == 0) {
      absl::StrAppend(&out, kReplacement, absl::Hex(static_cast<uint8_t>(key[0]), absl::kZeroPad2));
    } else {
      absl::StrAppend(&out, key.substr(0, length), code == 0xfffd ? kReplacement : "");
    }
    key.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace

void JsonWriter::NewLine() {
  out_ += '\n';
  out_.append(2 * (depth_ + levels_.size()), ' ');
}

void JsonWriter::Separate() {
  if (std::exchange(after_key_, false) || levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) out_ += ',';
  if (level.layout == Layout::kLines) {
    NewLine();
  } else if (!level.empty) {
    out_ += ' ';
  }
  level.empty = false;
}

void JsonWriter::Begin(char bracket, Layout layout) {
  Separate();
  out_ += bracket;
  const bool inside = !levels_.empty() && levels_.back().layout == Layout::kOneLine;
  levels_.push_back({true, inside ? Layout::kOneLine : layout});
}

void JsonWriter::End(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && level.layout == Layout::kLines) NewLine();
  out_ += bracket;
}

JsonWriter& JsonWriter::Key(absl::string_view key) {
  if (std::all_of(key.begin(), key.end(), absl::ascii_isascii)) {
    String(key);
  } else {
    String(UniqueKey(key));
  }
  out_ += ": ";
  after_key_ = true;
  return *this;
}

void JsonWriter::String(absl::string_view value) {
  Separate();
  out_ += '"';
  const bool cut = value.size() > most_bytes_;
  if (cut) value = Utf8Prefix(value, most_bytes_);
  size_t i = 0;
  while (i < value.size()) {
    const size_t plain = PlainPrefix(value.substr(i));
    out_.append(value.data() + i, plain);
    i += plain;
    if (i < value.size()) i += AppendEscaped(value.substr(i));
  }
  out_ += cut ? "...\"" : "\"";
}

// Writes the character that `text` begins with; returns its bytes.
size_t JsonWriter::AppendEscaped(absl::string_view text) {
  uint32_t code = 0;
  const size_t length = DecodeUtf8(text, &code);
  if (length == 0) {
    out_ += kReplacement;
    return 1;
  }
  if (code == '"' || code == '\\') {
    out_ += '\\';
    out_ += text[0];
  } else if (IsPrintable(code) && !absl::StartsWith(text, "##")) {
    out_.append(text.data(), length);
  } else if (code < 0x10000) {
    absl::StrAppend(&out_, "\\u", absl::Hex(code, absl::kZeroPad4));
  } else {  // a surrogate pair
    absl::StrAppend(&out_, "\\u", absl::Hex(0xd800 + ((code - 0x10000) >> 10), absl::kZeroPad4),
                    "\\u", absl::Hex(0xdc00 + ((code - 0x10000) & 0x3ff), absl::kZeroPad4));
  }
  return length;
}

void JsonWriter::Int(absl::int128 value) {
  Separate();
  out_ += Int128ToString(value);
}

void JsonWriter::Number(double value) {
  Separate();
  constexpr size_t kLongest = 32;
  char text[kLongest];
  const std::to_chars_result result = std::to_chars(text, text + kLongest, value);
  out_.append(text, result.ptr);
}

void JsonWriter::Bool(bool value) {
  Separate();
  out_ += value ? "true" : "false";
}

void JsonWriter::Null() {
  Separate();
  out_ += "null";
}

void JsonWriter::Quantity(const Expr& expr, bool known) {
  constexpr auto& kPlain = QuantityOf(&Amounts::flops);
  Figure(kPlain, expr, known);
}

void JsonWriter::Figure(const onnxflops::Quantity& quantity, const Expr& amount, bool known) {
  BeginObject(Layout::kOneLine);
  Key("expr").String(FormulaTextOf(quantity, amount));
  Key("value");
  if (known && amount.is_literal() && amount.error() == nullptr) {
    Exact(quantity, amount.literal());
  } else {
    Null();
  }
  EndObject();
}

void JsonWriter::Exact(const onnxflops::Quantity& quantity, absl::int128 amount) {
  Separate();
  out_ += ExactText(quantity, amount);
}

void JsonWriter::Range(const onnxflops::Quantity& quantity, const Expr& amount,
                       const std::optional<Expr>& at_least, const std::optional<Expr>& at_most) {
  BeginObject(Layout::kOneLine);
  Key("expr").String(FormulaTextOf(quantity, amount));
  Key("value").Null();
  for (const auto& [key, bound] : {std::pair("at_least", &at_least), {"at_most", &at_most}}) {
    Key(key);
    if (bound->has_value()) {
      Figure(quantity, **bound);
    } else {
      Null();
    }
  }
  EndObject();
}

std::string JsonWriter::TakeText() {
  out_ += '\n';
  return std::move(out_);
}

}  // namespace onnxflops::report
