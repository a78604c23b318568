#include "src/exporter/python_list.h"

#include <cstdint>
#include <cstring>

#include "absl/strings/ascii.h"
#include "src/base/find_last.h"

namespace onnxflops::exporter {
namespace {

// How the depth changes after a character.
int BracketStep(char c) {
  if (c == '(' || c == '[' || c == '{') return 1;
  if (c == ')' || c == ']' || c == '}') return -1;
  return 0;
}

}  // namespace

absl::string_view PyBrackets(absl::string_view text) {
  if (text.empty() || BracketStep(text[0]) != 1) return {};
  int64_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += BracketStep(text[i]);
    if (depth == 0) return text.substr(0, i + 1);
  }
  return {};
}

std::vector<absl::string_view> PyItems(absl::string_view list) {
  std::vector<absl::string_view> items;
  if (list.size() < 2 || BracketStep(list.front()) != 1 || BracketStep(list.back()) != -1) {
    return items;
  }
  const absl::string_view text = list.substr(1, list.size() - 2);
  int64_t depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += BracketStep(text[i]);
    const bool ends = text[i] == ',' && depth == 0 && (i + 1 == text.size() || text[i + 1] == ' ');
    if (!ends) continue;
    items.push_back(absl::StripAsciiWhitespace(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  const absl::string_view last = absl::StripAsciiWhitespace(text.substr(begin));
  if (!last.empty()) items.push_back(last);
  return items;
}

std::vector<std::pair<absl::string_view, absl::string_view>> PyPairs(absl::string_view dict) {
  std::vector<std::pair<absl::string_view, absl::string_view>> pairs;
  for (absl::string_view item : PyItems(dict)) {
    const size_t colon = item.find(": ");
    if (colon == absl::string_view::npos) continue;
    pairs.emplace_back(item.substr(0, colon), item.substr(colon + 2));
  }
  return pairs;
}

absl::string_view PyStrings::last() const {
  const absl::string_view item = text_.substr(LastItem());
  const size_t quote = item.find_first_of("'\"");
  const size_t end = item.find_last_of("'\"");
  return quote < end && end != absl::string_view::npos ? item.substr(quote + 1, end - quote - 1)
                                                       : absl::string_view();
}

size_t PyStrings::LastItem() const {
  size_t end = text_.size();
  while (end > 0) {
    end = FindLast(text_.substr(0, end), ',');
    if (end == absl::string_view::npos) return 0;
    const absl::string_view next = text_.substr(end + 1, 2);
    if (next == " '" || next == " \"") return end;
  }
  return 0;
}

}  // namespace onnxflops::exporter
