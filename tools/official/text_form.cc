// How it works. A model as text is in ONNX's own syntax, in protobuf's text form, or in JSON. The
// official parsers call themselves for every bracket, so deep nesting would overflow the stack: it
// is checked before they start. Brackets in strings and comments do not count, so the check knows
// how each form writes these. Each parser reports faults in its own way, in a text, to a collector,
// or by an exception; all become one error with line and column. Only the first fault is kept,
// since others follow from it.
#include "tools/official/text_form.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "onnx/defs/parser.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops::tools {
namespace {

absl::Status Fault(absl::string_view line, absl::string_view column, absl::string_view what) {
  what = absl::StripSuffix(absl::StripAsciiWhitespace(what), ".");
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line, ", column ", column, ": ", Escaped(what)));
}

char Closer(char opener) {
  switch (opener) {
    case '(':
      return ')';
    case '[':
      return ']';
    case '{':
      return '}';
    default:
      return '>';
  }
}

// Keeps the first fault, which is the one to mend; others follow from it.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (status.ok()) {
      status = Fault(absl::StrCat(std::max(line, 0) + 1), absl::StrCat(std::max(column, 0) + 1),
                     message);
    }
  }

  absl::Status status;
};

absl::Status ReadProtobufText(absl::string_view text, onnx::ModelProto* model) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxTextNesting);
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  if (parser.Parse(&stream, model)) return absl::OkStatus();
  return error.status.ok() ? absl::InvalidArgumentError("is not the text form of a ModelProto")
                           : error.status;
}

// ONNX's messages: "[ParseError at position (line: 3 column: 5)]\nError context: ...\nWhat."
absl::Status FromOnnxMessage(absl::string_view message) {
  constexpr absl::string_view kLine = "(line: ", kColumn = " column: ";
  const size_t line = message.find(kLine), column = message.find(kColumn);
  const size_t end = message.find(')');
  if (line == absl::string_view::npos || column == absl::string_view::npos || end < column) {
    return absl::InvalidArgumentError(Escaped(message));
  }
  absl::string_view what = message;
  for (int i = 0; i < 2; ++i) {  // after two lines
    what.remove_prefix(std::min(what.find('\n'), what.size() - 1) + 1);
  }
  return Fault(message.substr(line + kLine.size(), column - line - kLine.size()),
               message.substr(column + kColumn.size(), end - column - kColumn.size()), what);
}

absl::Status ReadOnnxText(absl::string_view text, onnx::ModelProto* model) {
  onnx::OnnxParser parser(std::string_view(text.data(), text.size()));
  try {
    auto status = parser.Parse(*model);
    if (status.IsOK() && !parser.EndOfInput()) status = parser.ParseError("The model ends before.");
    return status.IsOK() ? absl::OkStatus() : FromOnnxMessage(status.ErrorMessage());
  } catch (const std::exception&) {
    // From the standard library, which the parser uses to read numbers: one is out of range.
    return FromOnnxMessage(parser.ParseError("A number is out of range.").ErrorMessage());
  }
}

}  // namespace

absl::Status FaultAt(absl::string_view text, size_t place, absl::string_view what) {
  const absl::string_view before = text.substr(0, place);
  const size_t line_begin = before.rfind('\n') + 1;  // 0 without a newline
  return Fault(absl::StrCat(std::count(before.begin(), before.end(), '\n') + 1),
               absl::StrCat(before.size() - line_begin + 1), what);
}

// Brackets inside strings and comments do not count. A closing bracket without an opening one is a
// fault that the reader finds; here it is skipped, so that the depth is never less than the
// reader's.
absl::Status CheckNesting(TextForm form, absl::string_view text) {
  const bool is_json = form == TextForm::kJson, is_onnx = form == TextForm::kOnnx;
  std::vector<char> open;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      // Protobuf's strings end with the line at the latest, which is a fault.
      if (c == quote || (c == '\n' && form == TextForm::kProtobuf)) quote = 0;
    } else if (c == '"' || (c == '\'' && form == TextForm::kProtobuf)) {
      quote = c;
    } else if (c == '#' && !is_json) {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '{' || c == '[' || (!is_json && c == '<') || (is_onnx && c == '(')) {
      open.push_back(Closer(c));
      if (open.size() <= static_cast<size_t>(kMaxTextNesting)) continue;
      return FaultAt(
          text, i, absl::StrCat("brackets nest deeper than ", kMaxTextNesting, " (text-nesting)"));
    } else if (!open.empty() && c == open.back()) {
      const bool arrow = is_onnx && c == '>' && i > 0 && text[i - 1] == '=';
      if (!arrow) open.pop_back();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<onnx::ModelProto> ReadText(TextForm form, absl::string_view text) {
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  if (absl::StripAsciiWhitespace(text).empty()) return absl::InvalidArgumentError("is empty");
  onnx::ModelProto model;
  RETURN_IF_ERROR(CheckNesting(form, text));
  switch (form) {
    case TextForm::kOnnx:
      RETURN_IF_ERROR(ReadOnnxText(text, &model));
      break;
    case TextForm::kProtobuf:
      RETURN_IF_ERROR(ReadProtobufText(text, &model));
      break;
    case TextForm::kJson:
      RETURN_IF_ERROR(ReadJson(text, &model));
      break;
    case TextForm::kNone:
      return absl::InvalidArgumentError("is not a text form of an ONNX model");
  }
  return model;
}

}  // namespace onnxflops::tools
