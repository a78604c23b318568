#include "src/api/text_forms.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace onnxflops {
namespace {

struct Extension {
  absl::string_view extension;
  TextForm form;
};

constexpr Extension kExtensions[] = {
    {".onnxtxt", TextForm::kOnnx},       {".onnxtext", TextForm::kOnnx},
    {".textproto", TextForm::kProtobuf}, {".prototxt", TextForm::kProtobuf},
    {".pbtxt", TextForm::kProtobuf},     {".txtpb", TextForm::kProtobuf},
    {".json", TextForm::kJson},          {".onnxjson", TextForm::kJson},
};

// Fields of ModelProto, by which Protobuf's text format may begin.
constexpr absl::string_view kFields[] = {"ir_version",       "opset_import",   "producer_name",
                                         "producer_version", "domain",         "model_version",
                                         "doc_string",       "metadata_props", "graph",
                                         "functions",        "training_info",  "configuration"};

// "opset_import" -> "opsetImport", as Protobuf writes it in JSON.
std::string CamelCase(absl::string_view field) {
  std::string name;
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '_') continue;
    const bool first = i > 0 && field[i - 1] == '_';
    name.push_back(first ? absl::ascii_toupper(static_cast<unsigned char>(field[i])) : field[i]);
  }
  return name;
}

bool BeginsWithKey(absl::string_view json) {
  if (!absl::ConsumePrefix(&json, "{")) return false;
  json = absl::StripLeadingAsciiWhitespace(json);
  if (!absl::ConsumePrefix(&json, "\"")) return false;
  const absl::string_view key = json.substr(0, json.find('"'));
  return std::any_of(std::begin(kFields), std::end(kFields), [&](absl::string_view field) {
    return key == field || key == CamelCase(field);
  });
}

// True if a name follows, and then the start of a field's value.
bool BeginsWithField(absl::string_view text) {
  return std::any_of(std::begin(kFields), std::end(kFields), [&](absl::string_view field) {
    absl::string_view rest = text;
    if (!absl::ConsumePrefix(&rest, field)) return false;
    rest = absl::StripLeadingAsciiWhitespace(rest);
    return !rest.empty() && absl::StrContains(":{<", rest[0]);
  });
}

// Without a byte order mark and blanks.
absl::string_view WithoutMark(absl::string_view text) {
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");
  return absl::StripLeadingAsciiWhitespace(text);
}

}  // namespace

const char* NameOf(TextForm form) {
  switch (form) {
    case TextForm::kOnnx:
      return "onnxtxt";
    case TextForm::kProtobuf:
      return "textproto";
    case TextForm::kJson:
      return "json";
    case TextForm::kNone:
      break;
  }
  return "";
}

TextForm TextFormNamed(absl::string_view name) {
  for (const TextForm form : {TextForm::kOnnx, TextForm::kProtobuf, TextForm::kJson}) {
    if (name == NameOf(form)) return form;
  }
  return TextForm::kNone;
}

TextForm TextFormOfFile(absl::string_view path) {
  for (const auto& [extension, form] : kExtensions) {
    if (absl::EndsWithIgnoreCase(path, extension)) return form;
  }
  return TextForm::kNone;
}

TextForm TextFormOfBytes(absl::string_view text) {
  text = WithoutMark(text);
  bool comment = false;  // both of ONNX's and of Protobuf's text
  while (absl::StartsWith(text, "#")) {
    comment = true;
    const size_t end = text.find('\n');
    text = end == absl::string_view::npos ? "" : text.substr(end);
    text = absl::StripLeadingAsciiWhitespace(text);
  }
  if (!comment && absl::StartsWith(text, "{")) return TextForm::kJson;
  // XML and HTML begin so as well, with a name right after; ONNX's text has one of these.
  if (absl::ConsumePrefix(&text, "<")) {
    text = absl::StripLeadingAsciiWhitespace(text);
    return BeginsWithField(text) ? TextForm::kOnnx : TextForm::kNone;
  }
  return BeginsWithField(text) ? TextForm::kProtobuf : TextForm::kNone;
}

bool IsOtherJson(absl::string_view beginning) {
  return TextFormOfBytes(beginning) == TextForm::kJson && !BeginsWithKey(WithoutMark(beginning));
}

bool IsTextModel(absl::string_view path, absl::string_view beginning) {
  switch (TextFormOfBytes(beginning)) {
    case TextForm::kOnnx:
    case TextForm::kProtobuf:
      return true;
    case TextForm::kJson:
      return BeginsWithKey(WithoutMark(beginning));
    case TextForm::kNone:
      break;
  }
  // ONNX's text may begin with a graph, which has any name.
  return TextFormOfFile(path) == TextForm::kOnnx;
}

}  // namespace onnxflops
