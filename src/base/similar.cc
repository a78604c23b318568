#include "src/base/similar.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/limits.h"
#include "src/base/quote.h"

namespace onnxflops {
namespace {

constexpr size_t kMaxDistance = 3;
constexpr size_t kLettersPerDifference = 3;
constexpr size_t kShortest = 2;  // one letter is the beginning of too much

// Letters to insert, delete, replace, or swap with the next one. Both texts have at most
// kMaxComparedName letters.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::array<std::array<size_t, kMaxComparedName + 1>, 3> rows;  // of i - 2, i - 1 and i
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i - 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

// How far apart two names in lower case are, or nothing if they are not similar.
std::optional<size_t> Distance(absl::string_view typed, absl::string_view name) {
  if (typed.size() > kMaxComparedName || name.size() > kMaxComparedName) return std::nullopt;
  const size_t shorter = std::min(typed.size(), name.size());
  const size_t longer = std::max(typed.size(), name.size());
  if (shorter >= kShortest && absl::StartsWith(name, typed)) {
    return std::min(kMaxDistance, longer - shorter);
  }
  if (shorter >= kShortest && absl::StartsWith(typed, name)) return kMaxDistance + 1;
  const size_t most = std::min(kMaxDistance, typed.size() / kLettersPerDifference);
  if (longer - shorter > most) return std::nullopt;
  const size_t distance = EditDistance(typed, name);
  return distance <= most ? std::optional<size_t>(distance) : std::nullopt;
}

}  // namespace

std::vector<std::string> SimilarNames(absl::string_view typed,
                                      absl::Span<const std::string> names) {
  const std::string lower = absl::AsciiStrToLower(typed);
  std::vector<std::pair<size_t, size_t>> found;  // distance, index
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() > kMaxComparedName) continue;
    const std::optional<size_t> distance = Distance(lower, absl::AsciiStrToLower(names[i]));
    if (distance) found.emplace_back(*distance, i);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> similar;
  for (const auto& [distance, i] : found) {
    if (similar.size() == kMaxSuggestedNames) break;
    similar.push_back(names[i]);
  }
  return similar;
}

bool IsOneEditApart(absl::string_view a, absl::string_view b) {
  if (std::max(a.size(), b.size()) > kMaxComparedName) return false;
  return std::max(a.size(), b.size()) - std::min(a.size(), b.size()) <= 1 &&
         EditDistance(a, b) == 1;
}

std::string DidYouMean(absl::string_view typed, absl::Span<const std::string> names) {
  const std::vector<std::string> similar = SimilarNames(typed, names);
  if (similar.empty()) return "";
  const auto append = [](std::string* out, const std::string& name) {
    absl::StrAppend(out, Escaped(name));
  };
  return absl::StrCat("; did you mean ", absl::StrJoin(similar, " or ", append), "?");
}

}  // namespace onnxflops
