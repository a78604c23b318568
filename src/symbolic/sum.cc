// Sums over a symbol, in closed form.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "src/symbolic/expr.h"

namespace onnxflops {

namespace {

constexpr int kSamples = kMaxSummedPower + 1;
static_assert(kSamples == 4);

// count over k: k = 1, 2, 3, 4.
std::array<Expr, kSamples> Binomials(const Expr& count) {
  const Expr pairs = count * (count - 1);
  return {count, FloorDiv(pairs, 2), FloorDiv(pairs * (count - 2), 6),
          FloorDiv(pairs * (count - 2) * (count - 3), 24)};
}

}  // namespace

std::vector<Expr> SumWeights(const Expr& count) {
  const std::array<Expr, kSamples> n = Binomials(count);
  // Difference k at 0 is the sum of p(j), each times (-1)^(k - j) and k over j.
  return {n[0] - n[1] + n[2] - n[3], n[1] - 2 * n[2] + 3 * n[3], n[2] - 3 * n[3], n[3]};
}

std::optional<Expr> SumOver(const Expr& term, absl::string_view index, const Expr& count) {
  if (term.error() != nullptr) return std::nullopt;
  if (term.is_literal()) return term * count;
  const std::string name(index);
  std::array<Expr, kSamples> at;
  for (int i = 0; i < kSamples; ++i) at[static_cast<size_t>(i)] = term.Substitute({{name, i}});
  const Expr first = at[1] - at[0];
  const Expr second = at[2] - 2 * at[1] + at[0];
  const Expr third = at[3] - 3 * at[2] + 3 * at[1] - at[0];
  const Expr t = Expr::Symbol(index);
  const Expr rebuilt = 6 * at[0] + t * (6 * first + (t - 1) * (3 * second + (t - 2) * third));
  if (rebuilt != 6 * term) return std::nullopt;
  const std::array<Expr, kSamples> n = Binomials(count);
  return at[0] * n[0] + first * n[1] + second * n[2] + third * n[3];
}

}  // namespace onnxflops
