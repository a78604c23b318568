#include "src/base/toml.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops {
namespace {

// What a mistake of the file may be, which the parser's words do not say.
absl::string_view HintOf(absl::string_view why) {
  if (absl::StrContains(why, "cannot redefine existing table")) {
    return "; several of a kind begin with two brackets each, as [[stage]]";
  }
  const bool is_value = absl::StrContains(why, "parsing value") ||
                        absl::StrContains(why, "integer") ||
                        absl::StrContains(why, "key-value pair");
  return is_value ? "; a text or a formula stands in quotes" : "";
}

}  // namespace

TomlFile::TomlFile(absl::string_view file) : name_(Escaped(file)) {}

absl::Status TomlFile::At(const toml::source_position& place, absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(name_, ":", place.line, ":", place.column, ": ", what));
}

absl::Status TomlFile::Fault(const toml::node& node, absl::string_view what) const {
  return At(node.source().begin, what);
}

absl::StatusOr<toml::table> TomlFile::Parse(absl::string_view text) const {
  RETURN_IF_ERROR(CheckText(text));
  toml::parse_result parsed = toml::parse(std::string_view(text.data(), text.size()));
  if (parsed) return std::move(parsed).table();
  const toml::parse_error& error = parsed.error();
  const std::string_view why = error.description();
  const absl::string_view told(why.data(), why.size());
  return At(error.source().begin, absl::StrCat(Escaped(told), HintOf(told)));
}

absl::Status TomlFile::CheckText(absl::string_view text) const {
  if (text.size() > kMaxRulesBytes) {
    return LimitError("rules-bytes", absl::StrCat(name_, ": larger than the limit ",
                                                  "rules-bytes = ", kMaxRulesBytes, " bytes"));
  }
  int number = 1;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    int dots = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '.' && (i == 0 || line[i - 1] != '.')) ++dots;
    }
    if (dots > kMaxRulesDots) {
      return absl::InvalidArgumentError(
          absl::StrCat(name_, ":", number,
                       ":1: more dots in a line than the limit rules-dots = ", kMaxRulesDots));
    }
    ++number;
  }
  return absl::OkStatus();
}

}  // namespace onnxflops
