#include "src/render/numbered_name.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace onnxflops::report {
namespace {

struct NumberedName {
  absl::string_view prefix, digits, suffix;
};

// All ways to read a name as prefix, number, suffix; numbers of at most 9 digits without leading 0.
std::vector<NumberedName> Numbers(absl::string_view name) {
  std::vector<NumberedName> result;
  for (size_t i = 0; i < name.size();) {
    if (!absl::ascii_isdigit(name[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < name.size() && absl::ascii_isdigit(name[end])) ++end;
    if (end - i <= 9 && (name[i] != '0' || end == i + 1)) {
      result.push_back({name.substr(0, i), name.substr(i, end - i), name.substr(end)});
    }
    i = end;
  }
  return result;
}

size_t CommonPrefix(absl::string_view a, absl::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + most, b.begin()).first -
                             a.begin());
}

size_t CommonSuffix(absl::string_view a, absl::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  return static_cast<size_t>(std::mismatch(a.rbegin(), a.rbegin() + most, b.rbegin()).first -
                             a.rbegin());
}

int64_t ToNumber(absl::string_view digits) {
  int64_t value = 0;
  for (char c : digits) value = value * 10 + (c - '0');
  return value;
}

}  // namespace

bool ContinuesNumbers(absl::string_view first, int64_t count, absl::string_view next) {
  // Skips the common beginning and end, so that a number is not compared with other text.
  const size_t begin = CommonPrefix(first, next);
  const size_t end = CommonSuffix(first, next);
  const std::vector<NumberedName> numbers = Numbers(first);
  return std::any_of(numbers.begin(), numbers.end(), [&](const NumberedName& n) {
    if (n.prefix.size() > begin || n.suffix.size() > end) return false;
    const std::string number = absl::StrCat(ToNumber(n.digits) + count);
    return next.size() == n.prefix.size() + number.size() + n.suffix.size() &&
           next.substr(n.prefix.size(), number.size()) == number;
  });
}

std::string NumberedLabel(absl::string_view first, absl::string_view last, int64_t count) {
  const size_t begin = CommonPrefix(first, last);
  for (const NumberedName& n : Numbers(first)) {
    const int64_t number = ToNumber(n.digits) + count - 1;
    if (n.prefix.size() <= begin && last == absl::StrCat(n.prefix, number, n.suffix)) {
      return absl::StrCat(n.prefix, n.digits, "-", number, n.suffix);
    }
  }
  return std::string(first);
}

}  // namespace onnxflops::report
