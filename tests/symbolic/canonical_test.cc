// What random expressions are simplified to, and how they print. The sums of sizes show a change
// that simplifies less.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/parse.h"
#include "src/symbolic/term_count.h"
#include "tests/symbolic/random_expr.h"
#include "tests/symbolic/symbols.h"

namespace onnxflops::canonical_test {
namespace {

// A symbol of RandomExprs, with its range.
absl::StatusOr<Expr> SymbolOf(absl::string_view name) {
  for (const RandomSymbol& symbol : kRandomSymbols) {
    if (symbol.name == name) return Expr::Symbol(name, symbol.at_least);
  }
  return absl::NotFoundError(name);
}

// What is simplified already is the same when it is read again.
TEST(CanonicalTest, ReadsAsItPrints) {
  RandomExprs random(5);
  size_t bytes = 0;
  for (int i = 0; i < 6000; ++i) {
    const Expr e = random.Next(1 + i % 4);
    if (e.error() != nullptr) continue;
    const absl::StatusOr<Expr> read = ParseFormula(e.ToString(), SymbolOf);
    ASSERT_TRUE(read.ok()) << e.ToString() << ": " << read.status();
    ASSERT_EQ(*read, e);
    ASSERT_EQ(read->NumTerms(), e.NumTerms());
    bytes += e.ToString().size();
  }
  EXPECT_LE(bytes, 107120);
}

// However little of it is wanted. A symbol has one letter here, a coefficient up to some ten.
TEST(CanonicalTest, PrintsAsMuchAsIsWanted) {
  constexpr size_t kLongestPart = 40;
  RandomExprs random(6);
  for (int i = 0; i < 600; ++i) {
    const Expr e = random.Next(2 + i % 3);
    const std::string text = e.ToString();
    for (size_t most = 0; most <= text.size() + 2; ++most) {
      const size_t bytes = e.TextBytes(most);
      if (text.size() <= most) {
        ASSERT_EQ(bytes, text.size());
        ASSERT_EQ(e.Shortened(most), text);
      } else {
        ASSERT_GT(bytes, most) << text;
        ASSERT_LE(bytes, most + kLongestPart) << text;
        ASSERT_EQ(e.Shortened(most), text.substr(0, most) + "...");
      }
    }
  }
}

using Operator = Expr (*)(const Expr& x, const Expr& y);
using OfNumbers = int64_t (*)(int64_t x, int64_t y);

int64_t Floor(int64_t x, int64_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0); }

struct SimplifiedCase {
  const char* name;
  Operator of;
  OfNumbers value;
  bool by_zero;       // is an error then
  size_t most_bytes;  // of all results, as text
};

constexpr SimplifiedCase kSimplified[] = {
    {"Min", &Min, [](int64_t x, int64_t y) { return std::min(x, y); }, false, 98487},
    {"Max", &Max, [](int64_t x, int64_t y) { return std::max(x, y); }, false, 100332},
    {"FloorDiv", &FloorDiv, &Floor, true, 115966},
    {"CeilDiv", &CeilDiv, [](int64_t x, int64_t y) { return -Floor(-x, y); }, true, 125467},
    {"Mod", &Mod, [](int64_t x, int64_t y) { return x - y * Floor(x, y); }, true, 321020},
    {"Times", [](const Expr& x, const Expr& y) { return x * y; },
     [](int64_t x, int64_t y) { return x * y; }, false, 169495},
};

// Something that has to do with x.
Expr RelatedTo(const Expr& x, RandomExprs* random) {
  const Expr k = random->Pick(9) - 2, y = random->Next(1);
  const Expr choices[] = {x + k,
                          k * x + y,
                          Min(x, y) + k,
                          Max(x, y + k),
                          FloorDiv(x, 3),
                          x * y,
                          y,
                          k,
                          FloorDiv(x, 2) + FloorDiv(y, 2),
                          x - y,
                          2 * x * y + 2 * y};
  return choices[random->Pick(11)];
}

int64_t At(const Expr& e, const Bindings& at) {
  return static_cast<int64_t>(e.Evaluate(at).value());
}

class SimplifiedTest : public testing::TestWithParam<SimplifiedCase> {};

TEST_P(SimplifiedTest, HasTheValuesOfItsOperands) {
  const std::vector<Bindings> all = AllBindings(2);
  RandomExprs random(7);
  size_t bytes = 0;
  for (int i = 0; i < 5000; ++i) {
    const Expr x = random.Next(1 + i % 3), y = RelatedTo(x, &random);
    if (absl::StrContains(x.ToString() + y.ToString(), "broadcast")) continue;
    const Expr e = i % 2 == 0 ? GetParam().of(x, y) : GetParam().of(y, x);
    bytes += e.ToString().size();
    for (const Bindings& at : all) {
      const int64_t a = At(i % 2 == 0 ? x : y, at), b = At(i % 2 == 0 ? y : x, at);
      if (b == 0 && GetParam().by_zero) continue;
      ASSERT_EQ(At(e, at), GetParam().value(a, b)) << x.ToString() << ", " << y.ToString();
    }
  }
  EXPECT_LE(bytes, GetParam().most_bytes);
}

INSTANTIATE_TEST_SUITE_P(All, SimplifiedTest, testing::ValuesIn(kSimplified),
                         [](const auto& info) { return info.param.name; });

// Where two sizes fit, the result is the one that is not 1; if they fit for no values, it may say
// so.
TEST(CanonicalTest, BroadcastsFitOrDoNot) {
  const std::vector<Bindings> all = AllBindings(2);
  RandomExprs random(8);
  size_t bytes = 0;
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const Expr x = random.Next(1 + i % 3), y = RelatedTo(x, &random);
    const std::optional<Expr> size = BroadcastDim(x, y);
    refused += size.has_value() ? 0 : 1;
    bytes += size.has_value() ? size->ToString().size() : 0;
    for (const Bindings& at : all) {
      const auto a = x.Evaluate(at), b = y.Evaluate(at);
      if (!a.ok() || !b.ok() || (*a != *b && *a != 1 && *b != 1)) continue;
      ASSERT_TRUE(size.has_value()) << x.ToString() << ", " << y.ToString();
      ASSERT_EQ(size->Evaluate(at).value(), *a == 1 ? *b : *a)
          << x.ToString() << ", " << y.ToString();
    }
  }
  EXPECT_GE(refused, 640);
  EXPECT_LE(bytes, 127259);
}

// A quotient times the divisor is the dividend, as an expression. Where products are divided by a
// factor there is one.
TEST(CanonicalTest, ExactQuotients) {
  RandomExprs random(9);
  int found = 0;
  for (int i = 0; i < 4000; ++i) {
    const Expr x = random.Next(1 + i % 3), y = random.Next(1 + i % 2), product = x * y;
    if (product.error() != nullptr || y == Expr(0)) continue;
    ASSERT_EQ(DivideExactly(product, y), x) << product.ToString() << " by " << y.ToString();
    const Expr other = RelatedTo(product, &random);
    const std::optional<Expr> quotient = DivideExactly(other, y);
    found += quotient.has_value() ? 1 : 0;
    if (quotient.has_value()) {
      ASSERT_EQ(*quotient * y, other);
    }
  }
  EXPECT_GE(found, 749);
}

// The order of expressions is total, and no two have one place.
TEST(CanonicalTest, OrderIsTotal) {
  RandomExprs random(10);
  std::vector<Expr> all;
  for (int i = 0; i < 150; ++i) all.push_back(random.Next(i % 4));
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = i; k < all.size(); ++k) {
      ASSERT_FALSE(all[k] < all[i]) << all[i].ToString() << ", " << all[k].ToString();
      ASSERT_EQ(all[i] == all[k], !(all[i] < all[k])) << all[i].ToString();
      ASSERT_EQ(all[i] == all[k], all[i].ToString() == all[k].ToString());
      if (all[i] == all[k]) {
        ASSERT_EQ(absl::HashOf(all[i]), absl::HashOf(all[k]));
      }
    }
  }
}

}  // namespace
}  // namespace onnxflops::canonical_test
