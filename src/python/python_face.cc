#include "src/python/python_face.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "src/python/arguments.h"

namespace onnxflops::python {
namespace {

// Whose values have names: mappings.
constexpr absl::string_view kMappings[] = {"dim", "input", "value", "limit", "parameter"};

// A number, or the "N" or "NAME" that stands for one.
bool IsNumberOrPlace(absl::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
           absl::ascii_isupper(static_cast<unsigned char>(c));
  });
}

std::string Literal(absl::string_view value) {
  return IsNumberOrPlace(value) ? std::string(value) : absl::StrCat("\"", value, "\"");
}

std::string FormatText(absl::string_view format) {
  if (format == "json" || format == "html") return absl::StrCat("to_", format, "()");
  return format == "csv" ? "rows()" : "";
}

std::string KeywordText(absl::string_view name, absl::string_view value) {
  if (name == "format") return FormatText(value);
  if (!IsInPython(name)) return "";
  std::string keyword = absl::StrReplaceAll(name, {{"-", "_"}});
  if (keyword == "with") keyword += "_";  // a word of the language
  if (value.empty()) return keyword;
  if (value == kOn) return absl::StrCat(keyword, "=True");
  const size_t equals = value.rfind('=');
  const bool maps =
      std::find(std::begin(kMappings), std::end(kMappings), name) != std::end(kMappings);
  if (!maps || equals == absl::string_view::npos) {
    return absl::StrCat(keyword, "=", Literal(value));
  }
  return absl::StrCat(keyword, "={\"", value.substr(0, equals),
                      "\": ", Literal(value.substr(equals + 1)), "}");
}

}  // namespace

const Face kPythonFace = {&KeywordText};

}  // namespace onnxflops::python
