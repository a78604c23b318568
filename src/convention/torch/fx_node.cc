#include "src/convention/torch/fx_node.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace onnxflops {
namespace {

constexpr size_t kMaxNumberDigits = 9;

// Where the bracket that opens at `begin` closes; npos if it does not.
size_t ClosingBracket(absl::string_view text, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i;
  }
  return absl::string_view::npos;
}

// Splits at ", " outside of brackets.
std::vector<absl::string_view> SplitItems(absl::string_view text) {
  std::vector<absl::string_view> items;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    const bool ends = c == ',' && depth == 0 && (i + 1 == text.size() || text[i + 1] == ' ');
    if (!ends) continue;
    items.push_back(absl::StripAsciiWhitespace(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  const absl::string_view last = absl::StripAsciiWhitespace(text.substr(begin));
  if (!last.empty()) items.push_back(last);
  return items;
}

// What is inside of the brackets after `label`; empty if there are none.
absl::string_view Bracketed(absl::string_view text, absl::string_view label) {
  const size_t at = text.find(label);
  if (at == absl::string_view::npos) return {};
  const size_t open = at + label.size();
  const size_t close = ClosingBracket(text, open);
  if (close == absl::string_view::npos) return {};
  return text.substr(open + 1, close - open - 1);
}

}  // namespace

absl::string_view FxArgs::Kwarg(absl::string_view name) const {
  for (const auto& [key, value] : kwargs) {
    if (key == name) return value;
  }
  return {};
}

absl::string_view FxArgs::Get(size_t i, absl::string_view name) const {
  return i < args.size() ? args[i] : Kwarg(name);
}

bool FxArgs::Has(size_t i, absl::string_view name) const {
  const absl::string_view value = Get(i, name);
  return !value.empty() && value != "None";
}

FxArgs ParseFxArgs(absl::string_view fx_node) {
  FxArgs result;
  constexpr absl::string_view kArgs = "(args = ";
  const size_t at = fx_node.find(kArgs);
  if (at == absl::string_view::npos) return result;
  const absl::string_view args = Bracketed(fx_node, kArgs);
  result.args = SplitItems(args);
  const absl::string_view after = fx_node.substr(at + kArgs.size() + args.size());
  for (absl::string_view item : SplitItems(Bracketed(after, "kwargs = "))) {
    const size_t colon = item.find(": ");
    if (colon == absl::string_view::npos) continue;
    result.kwargs.emplace_back(item.substr(0, colon), item.substr(colon + 2));
  }
  return result;
}

std::vector<absl::string_view> FxItems(absl::string_view list) {
  if (list.size() < 2 || (list[0] != '[' && list[0] != '(')) return {};
  return SplitItems(list.substr(1, list.size() - 2));
}

std::vector<absl::string_view> PyStrings(absl::string_view list, size_t limit) {
  std::vector<absl::string_view> strings;
  size_t at = 0;
  while (strings.size() < limit) {
    const size_t open = list.find_first_of("'\"", at);
    if (open == absl::string_view::npos) break;
    const size_t close = list.find(list[open], open + 1);
    if (close == absl::string_view::npos) break;
    strings.push_back(list.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return strings;
}

LastPyString SplitLastPyString(absl::string_view list) {
  const size_t close = list.find_last_of("'\"");
  if (close == absl::string_view::npos || close == 0) return {};
  const size_t open = list.rfind(list[close], close - 1);
  if (open == absl::string_view::npos) return {};
  return {list.substr(0, open), list.substr(open + 1, close - open - 1)};
}

std::pair<absl::string_view, int64_t> SplitNumber(absl::string_view name) {
  const size_t underscore = name.rfind('_');
  int64_t number = 0;
  if (underscore == absl::string_view::npos || underscore == 0 ||
      name.size() - underscore - 1 > kMaxNumberDigits ||
      !absl::SimpleAtoi(name.substr(underscore + 1), &number) || number <= 0) {
    return {name, 0};
  }
  return {name.substr(0, underscore), number};
}

}  // namespace onnxflops
