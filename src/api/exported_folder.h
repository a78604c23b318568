// Small readers of a folder that an exporter wrote.
#ifndef ONNXFLOPS_SRC_API_EXPORTED_FOLDER_H_
#define ONNXFLOPS_SRC_API_EXPORTED_FOLDER_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onnxflops {

// The file with the shortest name in a folder, of equal ones the first, that matches a glob; of
// several globs, with | between them, the first that any file matches. "" if there is none.
std::string FirstMatch(const std::string& folder, absl::string_view globs);

// A text of TOML, in quotes.
std::string TomlText(absl::string_view text);

// Lines of a comment: "# Recognised as TITLE: a.onnx is encoder, b.onnx is decoder.". They are
// short, as many files may be taken for something.
std::string RecognisedAs(absl::string_view title, absl::Span<const std::string> taken);

// The value of a parameter in TOML. `most`: a bound, and what it is.
std::string ParameterValue(int64_t number, std::optional<int64_t> most, absl::string_view about);
// Lines of a decoder's parameters prompt and tokens; `most`: what both are at most.
std::string PromptAndTokens(std::optional<int64_t> most, absl::string_view about);

// FailedPrecondition: a folder that is a pipeline, but not a whole one.
absl::Status NotWhole(const std::string& file, absl::string_view why);

// A JSON object from the text of a file, and in a file of the folder. Errors: NotWhole.
absl::StatusOr<nlohmann::json> ObjectOf(const std::string& text, const std::string& file);
absl::StatusOr<nlohmann::json> ObjectIn(const std::string& folder, absl::string_view name);
// The same; null without one, or if it is none.
nlohmann::json JsonIn(const std::string& folder, absl::string_view name);

// The same, with the keys of objects in the order of the file.
nlohmann::ordered_json OrderedJsonIn(const std::string& folder, absl::string_view name);

// A whole number of a configuration, from 1 to kMaxConfigSize.
std::optional<int64_t> NumberIn(const nlohmann::json& json, const char* key);
// A text; "" if there is none.
std::string TextIn(const nlohmann::json& json, const char* key);
// Of genai_config.json: search.num_beams, or 1.
int64_t BeamsIn(const nlohmann::json& config);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_EXPORTED_FOLDER_H_
