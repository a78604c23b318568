#include "src/report/json_writer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/utf8.h"

namespace onnxflops {

void JsonWriter::NewLine() {
  out_ += '\n';
  out_.append(2 * levels_.size(), ' ');
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
  String(key);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

void JsonWriter::String(absl::string_view value) {
  Separate();
  out_ += '"';
  for (size_t i = 0; i < value.size();) {
    uint32_t code = 0;
    const size_t length = DecodeUtf8(value.substr(i), &code);
    if (length == 0) {
      out_ += "\xef\xbf\xbd";  // U+FFFD
      ++i;
    } else if (code == '"' || code == '\\') {
      out_ += '\\';
      out_ += value[i++];
    } else if (IsPrintable(code)) {
      out_.append(value.data() + i, length);
      i += length;
    } else {  // all of these are below U+10000
      absl::StrAppend(&out_, "\\u", absl::Hex(code, absl::kZeroPad4));
      i += length;
    }
  }
  out_ += '"';
}

void JsonWriter::Int(absl::int128 value) {
  Separate();
  out_ += Int128ToString(value);
}

void JsonWriter::Bool(bool value) {
  Separate();
  out_ += value ? "true" : "false";
}

void JsonWriter::Null() {
  Separate();
  out_ += "null";
}

void JsonWriter::Quantity(const Expr& expr) {
  BeginObject(Layout::kOneLine);
  Key("expr").String(expr.ToString());
  Key("value");
  if (expr.is_literal() && expr.error() == nullptr) {
    Int(expr.literal());
  } else {
    Null();
  }
  EndObject();
}

std::string JsonWriter::TakeText() {
  out_ += '\n';
  return std::move(out_);
}

}  // namespace onnxflops
