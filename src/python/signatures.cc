#include "src/python/signatures.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/python/argument_words.h"
#include "src/python/arguments.h"

namespace onnxflops::python {
namespace {

// Python types of options that are not strings. "" stands for the option's words.
constexpr std::pair<absl::string_view, absl::string_view> kTypes[] = {
    {"dim", "Mapping[str, int]"},
    {"tokens", "int"},
    {"mask-sum", "int"},
    {"lengths", "Sequence[int] | Mapping[str, Sequence[int]] | str | PathLike[str]"},
    {"cu-seqlens", "Sequence[int] | str | PathLike[str]"},
    {"images", "Sequence[tuple[int, int]] | str | PathLike[str]"},
    {"grid-thw", "Sequence[tuple[int, int, int]] | str | PathLike[str]"},
    {"audio", "Sequence[float | str] | str | PathLike[str]"},
    {"input", "Mapping[str, Sequence[int | str]] | str | Sequence[str]"},
    {"value", "Mapping[str, Any] | str | Sequence[str]"},
    {"limit", "Mapping[str, int] | str | Sequence[str]"},
    {"tied", "Mapping[str, str] | str | Sequence[str]"},
    {"max", "Mapping[str, str | float] | str | Sequence[str]"},
    {"parameter", "Mapping[str, float] | str | Sequence[str]"},
    {"titles", "str"},
    {"module", "str | Sequence[str]"},
    {"causal", ""},
    {"backward", ""},
    {"attention", ""},
    {"by", ""},
    {"fit", "int | str"},
    {"at-image", "int | str"},
    {"at-batch", "int | str"},
    {"step-time", "float | str"},
    {"steps-per-second", "float"},
    {"samples-per-second", "float"},
    {"tokens-per-second", "float"},
    {"peak", "float | str"},
    {"measured-flops", "float | str"},
    {"devices", "int"},
    {"batch-per-device", "int"},
    {"grad-accumulation", "int"},
    {"warmup", "int"},
    {"counter-runs", "int"},
};

std::string TypeOf(const settings::Row& option) {
  const auto* const found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                         [&](const auto& row) { return row.first == option.name; });
  if (found != std::end(kTypes)) {
    if (!found->second.empty()) return std::string(found->second);
    return absl::StrCat("Literal['", absl::StrJoin(option.choices, "', '"), "']");
  }
  if (option.flag != nullptr) return "bool";
  if (option.values != nullptr) return "str | Sequence[str]";
  return absl::StartsWith(option.type, "FILE") ? "str | PathLike[str]" : "str";
}

// "devices: int = 1".
std::string Parameter(const settings::Row& option) {
  const std::string type = TypeOf(option);
  std::string value = "None";
  if (option.flag != nullptr) value = "False";
  if (option.values != nullptr && option.name != "dim") value = "()";
  if (option.value != nullptr && !option.value->empty()) {
    value = type == "int" ? *option.value : absl::StrCat("'", *option.value, "'");
  }
  return absl::StrCat(ArgumentName(option), ": ", type, value == "None" ? " | None" : "", " = ",
                      value);
}

}  // namespace

Shown ShowFunction(absl::string_view head, absl::string_view result, absl::string_view help,
                   const settings::Table& list, absl::string_view sizes) {
  Shown shown = {absl::StrCat(head, ", *"), absl::StrCat(help, "\n\nOptions:\n")};
  for (const settings::Row& option : list.rows()) {
    if (IsNotInPython(option.name)) continue;
    absl::StrAppend(&shown.signature, ", ", Parameter(option));
    const std::string name = ArgumentName(option);
    const std::string text = IsOfServing(option.name)
                                 ? absl::StrCat("Always refused: Report.serving(", name,
                                                "=...) counts the step of a server")
                                 : ArgumentWords(settings::FirstSentence(option.text));
    absl::StrAppend(&shown.help, "  ", name, ": ", text, "\n");
  }
  if (!sizes.empty()) {
    absl::StrAppend(&shown.signature, ", **sizes: ", sizes);
    absl::StrAppend(&shown.help, "  **sizes: Sizes that the model leaves open, by their names\n");
  }
  absl::StrAppend(&shown.signature, ") -> ", result);
  shown.help.pop_back();
  return shown;
}

}  // namespace onnxflops::python
