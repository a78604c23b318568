#include "src/settings/table.h"

#include <cstddef>
#include <utility>

#include "absl/strings/strip.h"
#include "src/base/setting.h"

namespace onnxflops::settings {

std::string FirstSentence(absl::string_view text) {
  const size_t end = text.find(". ");
  if (end != absl::string_view::npos) text = text.substr(0, end);
  absl::ConsumeSuffix(&text, ".");
  return std::string(text);
}

bool IsList(const Row& row) { return row.type == "GLOBS" || row.type == "KEYS"; }

Row& Table::Add(absl::string_view name, absl::string_view type, absl::string_view text,
                std::vector<std::string> choices) {
  Row& row = rows_.emplace_back();
  row.name = std::string(name);
  row.type = std::string(type);
  row.text = WithSettings(text);
  row.choices = std::move(choices);
  if (!groups_.empty()) row.group = groups_.back().name;
  return row;
}

void Table::AddFlag(absl::string_view name, bool* value, absl::string_view text) {
  Add(name, "", text, {}).flag = value;
}

void Table::AddValue(absl::string_view name, absl::string_view type, std::string* value,
                     absl::string_view text, std::vector<std::string> choices) {
  Add(name, type, text, std::move(choices)).value = value;
}

void Table::AddValues(absl::string_view name, absl::string_view type,
                      std::vector<std::string>* values, absl::string_view text,
                      std::vector<std::string> choices) {
  Add(name, type, text, std::move(choices)).values = values;
}

void Table::BeginGroup(absl::string_view name, absl::string_view title) {
  groups_.push_back({std::string(name), std::string(title)});
}

void Table::CompleteFrom(absl::string_view lists) { rows_.back().lists = std::string(lists); }

}  // namespace onnxflops::settings
