#include "src/memory/einsum.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace onnxflops::memory {
namespace {

bool AreLetters(const std::string& term, int rank) {
  if (static_cast<int>(term.size()) != rank) return false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (!absl::ascii_isalpha(term[i]) || term.find(term[i], i + 1) != std::string::npos) {
      return false;
    }
  }
  return true;
}

// "ij", "jk" and "ik"; without "->", the letters that appear once, in alphabetical order.
std::optional<std::array<std::string, 3>> TermsOf(absl::string_view equation) {
  std::string text(equation);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (sides.size() > 2 || terms.size() != 2) return std::nullopt;
  if (sides.size() == 2) return std::array<std::string, 3>{terms[0], terms[1], sides[1]};
  std::string made;
  for (const char letter : terms[0] + terms[1]) {
    const auto count = [&](const std::string& term) {
      return std::count(term.begin(), term.end(), letter);
    };
    if (count(terms[0]) + count(terms[1]) == 1) made += letter;
  }
  std::sort(made.begin(), made.end());
  return std::array<std::string, 3>{terms[0], terms[1], made};
}

}  // namespace

std::optional<EinsumProduct> ProductOfEinsum(absl::string_view equation, const Shape& a,
                                             const Shape& b) {
  const auto terms = TermsOf(equation);
  if (!terms) return std::nullopt;
  const auto& [left, right, made] = *terms;
  if (!AreLetters(left, a.rank()) || !AreLetters(right, b.rank())) return std::nullopt;
  if (!AreLetters(made, static_cast<int>(made.size()))) return std::nullopt;
  std::string summed;
  for (const char letter : left + right) {
    const bool is_new =
        made.find(letter) == std::string::npos && summed.find(letter) == std::string::npos;
    if (is_new) summed += letter;
  }
  std::sort(summed.begin(), summed.end());
  if (summed.empty()) return std::nullopt;
  EinsumProduct result;
  std::vector<int> of_both, of_left, of_right;  // axes of the result
  auto& [lefts, rights] = result.factors;
  for (const char letter : made + summed) {
    const size_t i = left.find(letter), j = right.find(letter);
    const bool in_left = i != std::string::npos && a[static_cast<int>(i)] != Expr(1);
    const bool in_right = j != std::string::npos && b[static_cast<int>(j)] != Expr(1);
    const size_t place = made.find(letter);
    const bool is_summed = place == std::string::npos;
    if (is_summed && in_left != in_right) return std::nullopt;
    const int axis = is_summed ? -1 : static_cast<int>(place);
    if (in_left) lefts[is_summed ? 2 : in_right ? 0 : 1].push_back(static_cast<int>(i));
    if (in_right) rights[is_summed ? 1 : in_left ? 0 : 2].push_back(static_cast<int>(j));
    if (!is_summed) (in_left && in_right ? of_both : in_left ? of_left : of_right).push_back(axis);
  }
  result.made = std::move(of_both);
  result.made.insert(result.made.end(), of_left.begin(), of_left.end());
  result.made.insert(result.made.end(), of_right.begin(), of_right.end());
  return result;
}

}  // namespace onnxflops::memory
