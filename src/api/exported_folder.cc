#include "src/api/exported_folder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/json_reader.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/input_file.h"

namespace onnxflops {

std::string FirstMatch(const std::string& folder, absl::string_view globs) {
  for (const absl::string_view glob : absl::StrSplit(globs, '|')) {
    const std::vector<std::string> found = platform::MatchingIn(folder, std::string(glob));
    // A variant of a file has a longer name: encoder.int8.onnx.
    const auto first = absl::c_min_element(found, [](const auto& a, const auto& b) {
      return std::pair(a.size(), a) < std::pair(b.size(), b);
    });
    if (first != found.end()) return first->substr(folder.size() + 1);
  }
  return "";
}

std::string TomlText(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppend(&out, "\\u", absl::Hex(c, absl::kZeroPad4));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string RecognisedAs(absl::string_view title, absl::Span<const std::string> taken) {
  constexpr size_t kMostColumns = 100;
  std::string text = absl::StrCat("# Recognised as ", title, ":");
  size_t begin = 0;  // of the last line
  for (size_t i = 0; i < taken.size(); ++i) {
    constexpr size_t kAround = 2;  // a space and a comma
    if (text.size() - begin + taken[i].size() + kAround > kMostColumns) {
      text += "\n#";
      begin = text.size() - 1;
    }
    absl::StrAppend(&text, " ", taken[i], i + 1 == taken.size() ? "." : ",");
  }
  return text + "\n";
}

std::string ParameterValue(int64_t number, std::optional<int64_t> most, absl::string_view about) {
  if (!most) return absl::StrCat(number);
  return absl::StrCat("{ value = ", number, ", most = ", *most, ", about = ", TomlText(about),
                      " }");
}

std::string PromptAndTokens(std::optional<int64_t> most, absl::string_view about) {
  const int64_t half = std::max<int64_t>(most.value_or(kMaxConfigSize) / 2, 1);
  return absl::StrCat("prompt = ", ParameterValue(std::min<int64_t>(512, half), most, about),
                      "\ntokens = ", ParameterValue(std::min<int64_t>(128, half), most, about),
                      "\n");
}

absl::Status NotWhole(const std::string& file, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(Escaped(file), ": ", why));
}

absl::StatusOr<nlohmann::json> ObjectOf(const std::string& text, const std::string& file) {
  absl::StatusOr<nlohmann::json> parsed =
      ParseJson(text, {.nesting = kMaxConfigNesting, .not_numbers = true});
  if (!parsed.ok()) return NotWhole(file, parsed.status().message());
  if (!parsed->is_object()) return NotWhole(file, "it should be a JSON object");
  return parsed;
}

static absl::StatusOr<std::string> TextOfFile(const std::string& file) {
  absl::StatusOr<std::string> text = ReadTextFile(file, kMaxConfigBytes);
  if (!text.ok()) return NotWhole(file, text.status().message());
  if (text->size() > kMaxConfigBytes) {
    return NotWhole(file, absl::StrCat("is larger than ", kMaxConfigBytes, " bytes"));
  }
  return text;
}

absl::StatusOr<nlohmann::json> ObjectIn(const std::string& folder, absl::string_view name) {
  const std::string file = absl::StrCat(folder, "/", name);
  ASSIGN_OR_RETURN(const std::string text, TextOfFile(file));
  return ObjectOf(text, file);
}

nlohmann::json JsonIn(const std::string& folder, absl::string_view name) {
  absl::StatusOr<nlohmann::json> json = ObjectIn(folder, name);
  return json.ok() ? *std::move(json) : nlohmann::json(nullptr);
}

nlohmann::ordered_json OrderedJsonIn(const std::string& folder, absl::string_view name) {
  const std::string file = absl::StrCat(folder, "/", name);
  const absl::StatusOr<std::string> text = TextOfFile(file);
  if (!text.ok() || !ObjectOf(*text, file).ok()) return nullptr;  // with its limits
  return nlohmann::ordered_json::parse(*text, nullptr, /*allow_exceptions=*/false);
}

std::optional<int64_t> NumberIn(const nlohmann::json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_number_integer()) return {};
  const auto number = json[key].get<int64_t>();
  return number > 0 && number <= kMaxConfigSize ? std::optional(number) : std::nullopt;
}

std::string TextIn(const nlohmann::json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_string()
             ? json[key].get<std::string>()
             : "";
}

int64_t BeamsIn(const nlohmann::json& config) {
  const auto search = config.find("search");  // of no object: none
  return search == config.end() ? 1 : NumberIn(*search, "num_beams").value_or(1);
}

}  // namespace onnxflops
