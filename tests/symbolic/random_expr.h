// Random expressions over four symbols, the same with every standard library.
#ifndef ONNXFLOPS_TESTS_SYMBOLIC_RANDOM_EXPR_H_
#define ONNXFLOPS_TESTS_SYMBOLIC_RANDOM_EXPR_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "src/symbolic/expr.h"

namespace onnxflops {

struct RandomSymbol {
  const char* name;
  int64_t at_least;
};
inline constexpr RandomSymbol kRandomSymbols[] = {{"a", 1}, {"b", 0}, {"c", 2}, {"d", -3}};

class RandomExprs {
 public:
  explicit RandomExprs(unsigned seed) : random_(seed) {}

  // One of 0, 1, ... n - 1.
  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  // Up to `depth` operators inside each other. It may be an error.
  Expr Next(int depth) {
    if (depth == 0 || Pick(6) == 0) {
      const RandomSymbol& symbol = kRandomSymbols[Pick(4)];
      return Pick(3) == 0 ? Expr(Pick(12) - 4) : Expr::Symbol(symbol.name, symbol.at_least);
    }
    const int kind = Pick(10);
    const Expr x = Next(depth - 1), y = Next(depth - 1);
    if (kind < 2) return x + y;
    if (kind < 4) return x - y;
    if (kind < 6) return x * y;
    if (kind == 6) return Min(x, y);
    if (kind == 7) return Max(x, y);
    if (kind == 8) return FloorDiv(x, Pick(2) == 0 ? Expr(2 + Pick(4)) : Max(y, 1));
    return BroadcastDim(x, y).value_or(x);
  }

 private:
  std::mt19937 random_;
};

// All bindings of the four symbols with up to `most` above their least value.
inline std::vector<Bindings> AllBindings(int64_t most) {
  std::vector<Bindings> all = {{}};
  for (const RandomSymbol& symbol : kRandomSymbols) {
    std::vector<Bindings> longer;
    for (const Bindings& at : all) {
      for (int64_t i = 0; i <= most; ++i) {
        longer.push_back(at);
        longer.back()[symbol.name] = symbol.at_least + i;
      }
    }
    all = std::move(longer);
  }
  return all;
}

// The least and the greatest value among the bindings that have one.
struct TriedValues {
  int count = 0;
  absl::int128 least = std::numeric_limits<absl::int128>::max();
  absl::int128 most = std::numeric_limits<absl::int128>::min();

  TriedValues(const Expr& e, const std::vector<Bindings>& bindings) {
    for (const Bindings& at : bindings) {
      const absl::StatusOr<absl::int128> value = e.Evaluate(at);
      if (!value.ok()) continue;  // broadcasts two sizes
      ++count;
      least = std::min(least, *value);
      most = std::max(most, *value);
    }
  }
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_SYMBOLIC_RANDOM_EXPR_H_
