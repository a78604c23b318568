#include "src/symbolic/expr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/symbolic/work.h"
#include "tests/symbolic/symbols.h"

namespace onnxflops::expr_test {
namespace {

absl::int128 Big(int bits) { return absl::int128(1) << bits; }

TEST(ExprTest, HeaderExample) {
  const Expr seq = Expr::Symbol("seq"), batch = Expr::Symbol("batch");
  const Expr macs = 512 * batch * seq * seq + 768 * seq;
  EXPECT_EQ(macs.ToString(), "512*batch*seq^2 + 768*seq");
  EXPECT_EQ(macs.Evaluate({{"batch", 2}, {"seq", 128}}).value(), 16875520);
  EXPECT_EQ(macs.Symbols(), (std::vector<std::string>{"batch", "seq"}));
}

struct Printed {
  Expr expr;
  const char* text;
};
void ExpectPrinted(const std::vector<Printed>& cases) {
  for (const Printed& c : cases) EXPECT_EQ(c.expr.ToString(), c.text);
}

TEST(ExprTest, PrintsPolynomialsCanonically) {
  const Expr n = N(), m = M();
  ExpectPrinted({
      {Expr(), "0"},
      {-7, "-7"},
      {n - n, "0"},
      {n + 0, "n"},
      {0 * n, "0"},
      {-1 * n, "-n"},
      {3 - n, "-n + 3"},
      {m * n - 2 * n - 1, "m*n - 2*n - 1"},
      {(n + m) * (n - m), "-m^2 + n^2"},
      {n * n * m + m * n + n * n + m, "m*n^2 + m*n + n^2 + m"},
      {Power(n + 1, 3), "n^3 + 3*n^2 + 3*n + 1"},
      {Power(2 * n, 4), "16*n^4"},
      {Power(n, 0), "1"},
      {Sum({n, m, 3, n, -3}), "m + 2*n"},
      {Sum({}), "0"},
  });
}

TEST(ExprTest, PrintsFloorsByLiteralsCanonically) {
  const Expr n = N(), m = M();
  ExpectPrinted({
      {FloorDiv(7, 2), "3"},
      {FloorDiv(-7, 2), "-4"},
      {FloorDiv(7, -2), "-4"},
      {CeilDiv(7, 2), "4"},
      {CeilDiv(-7, 2), "-3"},
      {FloorDiv(n, 1), "n"},
      {FloorDiv(n, 2), "floor(n/2)"},
      {FloorDiv(3 * n, 2), "floor(3*n/2)"},
      {FloorDiv(6 * n + 3, 2), "3*n + 1"},
      {FloorDiv(6 * n + m + 3, 2), "3*n + floor((m + 1)/2) + 1"},
      {FloorDiv(n - 1, 2) + 1, "floor((n + 1)/2)"},
      {CeilDiv(n, 2), "floor((n + 1)/2)"},
      {FloorDiv(2 * n + 3, 4), "floor((n + 1)/2)"},
      {FloorDiv(n, -2), "floor(-n/2)"},
      {FloorDiv(FloorDiv(n, 2), 3), "floor(n/6)"},
      {FloorDiv(FloorDiv(n - 1, 2), 2) + 1, "floor((n + 3)/4)"},
      {FloorDiv(FloorDiv(n, 2) + m, 3), "floor((2*m + n)/6)"},
      {FloorDiv(Min(n, 3), 4), "0"},
      {Power(FloorDiv(n, 2), 2) * m, "m*floor(n/2)^2"},
  });
}

TEST(ExprTest, PrintsFloorsBySymbolsCanonically) {
  const Expr n = N(), m = M(), k = K(), z = Z();
  ExpectPrinted({
      {FloorDiv(n * m, m), "n"},
      {FloorDiv(n * n - m * m, n + m), "-m + n"},
      {FloorDiv(n * m + k, m), "n + floor(k/m)"},
      {FloorDiv(2 * n, 4 * m), "floor(n/(2*m))"},
      {FloorDiv(n * k, m * k), "floor(n/m)"},
      {FloorDiv(0 - n, n - m), "floor(n/(m - n))"},
      {FloorDiv(n, n + 1), "0"},
      {FloorDiv(n, 2 * n), "0"},
      {FloorDiv(0, n), "0"},
      {FloorDiv(n + 1, m * k), "floor((n + 1)/(k*m))"},
      {CeilDiv(n * m, m), "n"},
      {CeilDiv(n, m), "floor((n - 1)/m) + 1"},
      {CeilDiv(n, z), "-floor(-n/z)"},
      {Mod(n, 2), "n - 2*floor(n/2)"},
      {Mod(6 * n + 1, 3), "1"},
      {Mod(-7, 3), "2"},
      {Mod(7, -3), "-2"},
  });
}

TEST(ExprTest, PrintsMinAndMaxCanonically) {
  const Expr n = N(), m = M(), k = K();
  ExpectPrinted({
      {Min(3, 5), "3"},
      {Max(3, 5), "5"},
      {Min(n, n + 3), "n"},
      {Max(n, n + 3), "n + 3"},
      {Min(n, 5), "min(5, n)"},
      {Max(n, 1), "n"},
      {Min(n, 0), "0"},
      {Max(0, Z()), "z"},
      {Min(n, INT64_MAX), "n"},
      {Max(n, INT64_MIN), "n"},
      {Min(5, INT64_MAX), "5"},
      {Min(Min(m, n), Min(n, k)), "min(k, m, n)"},
      {Min(Min(n, 7), 5), "min(5, n)"},
      {Max(Min(n, 5), 7), "7"},
      {Max(0, n - Min(n, 3)), "n - min(3, n)"},
      {Max(0, n - FloorDiv(n, 2)), "n - floor(n/2)"},
      {Min(n * m, m), "m"},
      {Min(n, CeilDiv(n, 2)), "floor((n + 1)/2)"},
  });
}

TEST(ExprTest, EqualWhateverTheWay) {
  const Expr n = N(), m = M();
  const struct {
    Expr a, b;
  } kCases[] = {
      {n * (m + 1), n + m * n},
      {CeilDiv(n, 2), FloorDiv(n - 1, 2) + 1},
      {FloorDiv(FloorDiv(n, 2) + 1, 2), FloorDiv(n + 2, 4)},
      {Min(n, Min(m, 4)), Min(Min(4, n), m)},
      {BroadcastDim(n, m).value(), BroadcastDim(m, n).value()},
      {n * FloorDiv(m, 2) - FloorDiv(m, 2) * n, 0},
      {Power(n + m, 2), n * n + 2 * n * m + m * m},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.a.ToString());
    EXPECT_EQ(c.a, c.b);
    EXPECT_EQ(absl::HashOf(c.a), absl::HashOf(c.b));
    EXPECT_FALSE(c.a < c.b);
    EXPECT_FALSE(c.b < c.a);
  }
}

TEST(ExprTest, OrderIsTotal) {
  const Expr n = N(), m = M();
  std::vector<Expr> all = {n,         m,     n * m,         3, -1, n + 1, FloorDiv(n, 2), Min(n, m),
                           Max(n, m), 2 * n, FloorDiv(1, 0)};
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) EXPECT_EQ(all[i] < all[j], i < j) << i << " " << j;
  }
}

TEST(ExprTest, LiteralsFit) {
  EXPECT_EQ(Expr(5).AsInt64(), 5);
  EXPECT_EQ((Expr(INT64_MAX) + 1).AsInt64(), std::nullopt);
  EXPECT_EQ((Expr(INT64_MIN) - 1).AsInt64(), std::nullopt);
  EXPECT_EQ(Expr(INT64_MIN).AsInt64(), INT64_MIN);
  EXPECT_EQ(N().AsInt64(), std::nullopt);
  EXPECT_EQ(Int128ToString(absl::Int128Max()), "170141183460469231731687303715884105727");
  EXPECT_EQ(Int128ToString(absl::Int128Min()), "-170141183460469231731687303715884105728");
  EXPECT_EQ(Int128ToString(0), "0");
}

// floor(floor(n/2^100)/2^100) is right as it stands, though 2^200 fits nowhere.
TEST(ExprTest, NestedFloorsTooLargeToJoinStay) {
  const Expr twice = FloorDiv(FloorDiv(N(), Expr(Big(100))), Expr(Big(100)));
  EXPECT_EQ(twice.error(), nullptr);
  EXPECT_EQ(twice.Evaluate({{"n", 5}}).value(), 0);
}

TEST(ExprTest, ErrorsStick) {
  const Expr n = N(), big = Expr(Big(126));
  const struct {
    Expr expr;
    const char* error;
  } kCases[] = {
      {big * 2, "overflows 128 bits"},
      {big + big, "overflows 128 bits"},
      {Expr(absl::Int128Min()) - 1, "overflows 128 bits"},
      {FloorDiv(Expr(absl::Int128Min()), -1), "overflows 128 bits"},
      {(big * n) * 2, "overflows 128 bits"},
      {big * n + big * n, "overflows 128 bits"},
      {Power(n + 10, 200), "overflows 128 bits"},
      {Power(n, 1001), "has a degree above 1000 (degree)"},
      {Expr(3) - big * 4 * n, "overflows 128 bits"},
      {FloorDiv(n, 0), "divides by zero"},
      {CeilDiv(n, n - n), "divides by zero"},
      {Mod(3, 0), "divides by zero"},
      {0 * FloorDiv(1, 0), "divides by zero"},
      {Min(1, FloorDiv(1, 0)) + n, "divides by zero"},
      {Max(FloorDiv(1, 0), n), "divides by zero"},
      {FloorDiv(n, FloorDiv(1, 0)), "divides by zero"},
      {FloorDiv(1, 0) + big * 4, "divides by zero"},
      {Sum({n, FloorDiv(1, 0), n}), "divides by zero"},
      {BroadcastDim(FloorDiv(1, 0), n).value(), "divides by zero"},
      {DivideExactly(FloorDiv(1, 0), n).value(), "divides by zero"},
      {FloorDiv(1, 0).Substitute({{"n", 1}}), "divides by zero"},
      {FloorDiv(n, Z()).Substitute({{"z", 0}}), "divides by zero"},
      {BroadcastDim(n, M()).value().Substitute({{"n", 2}, {"m", 3}}), "broadcasts different sizes"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.expr.ToString());
    ASSERT_NE(c.expr.error(), nullptr);
    EXPECT_STREQ(c.expr.error(), c.error);
    EXPECT_FALSE(c.expr.Evaluate({{"n", 1}}).ok());
    EXPECT_EQ(c.expr.LowerBound(), std::nullopt);
    EXPECT_EQ(ProvablyEqual(c.expr, c.expr), std::nullopt);
    EXPECT_EQ(ProvablyLess(c.expr, 1), std::nullopt);
  }
  EXPECT_EQ(Mod(Expr(absl::Int128Min()), -1), Expr(0));
  EXPECT_EQ((big * n).error(), nullptr);
  EXPECT_EQ(FloorDiv(Expr(absl::Int128Min()) * n, -1).error(), std::string("overflows 128 bits"));
}

TEST(ExprTest, Bounds) {
  const Expr n = N(), m = M(), z = Z(), x = Expr::Symbol("x", -5);
  using Bound = std::optional<absl::int128>;
  const struct {
    Expr expr;
    Bound lower, upper;
  } kCases[] = {
      {7, 7, 7},
      {n, 1, {}},
      {z, 0, {}},
      {-2 * n + 3, {}, 1},
      {n * m + 4, 5, {}},
      {n * x, {}, {}},
      {x * x, 0, {}},
      {Power(Min(x, 3), 2), 0, 25},
      {Power(Min(x, 3), 3), -125, 27},
      {n - m, {}, {}},
      {n + 3 - n, 3, 3},
      {n * m - m, 0, {}},
      {n * n - n, 0, {}},
      {Min(n, 5), 1, 5},
      {Max(z, 5), 5, {}},
      {Min(n, 5) * Min(m, 4) - 2, -1, 18},
      {FloorDiv(n, 3), 0, {}},
      {FloorDiv(n + 8, 3), 3, {}},
      {FloorDiv(Min(n, 9), 2), 0, 4},
      {FloorDiv(Min(n, 9), m + 2), 0, 3},
      {FloorDiv(0 - Min(n, 9), m), -9, -1},
      {Mod(n, 4), 0, 3},
      {Mod(x, 4), 0, 3},
      {n - FloorDiv(n, 2), 1, {}},
      {n - Min(n, 3), 0, {}},
      {Min(n, 3) - n, {}, 0},
      {Max(n, 7) - n, 0, {}},
      {BroadcastDim(n, m).value(), 1, {}},
      {BroadcastDim(n, z).value(), 0, {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.expr.ToString());
    EXPECT_EQ(c.expr.LowerBound(), c.lower);
    EXPECT_EQ(c.expr.UpperBound(), c.upper);
  }
  EXPECT_TRUE((n + m).AtLeast(n + 1));
  EXPECT_TRUE((2 * n).AtLeast(n));
  EXPECT_FALSE(n.AtLeast(m));
  EXPECT_FALSE(z.AtLeast(1));
  EXPECT_TRUE(Expr(Big(126)).AtLeast(Expr(-Big(126))));  // their difference fits nowhere
}

TEST(ExprTest, Proofs) {
  const Expr n = N(), m = M(), z = Z();
  const struct {
    Expr a, b;
    std::optional<bool> equal, less;
  } kCases[] = {
      {n, n, true, false}, {n, n + 3, false, true},  {n + 3, n, false, false},
      {n, m, {}, {}},      {n, 0, false, false},     {z, 0, {}, false},
      {0, n, false, true}, {2 * n, n, false, false}, {n * m, n, {}, false},
      {2, 3, false, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.a.ToString(), " vs ", c.b.ToString()));
    EXPECT_EQ(ProvablyEqual(c.a, c.b), c.equal);
    EXPECT_EQ(ProvablyLess(c.a, c.b), c.less);
  }
}

TEST(ExprTest, DividesExactly) {
  const Expr n = N(), m = M();
  const struct {
    Expr a, b;
    std::optional<Expr> quotient;
  } kCases[] = {
      {12, 4, Expr(3)},
      {12, 5, {}},
      {12, 0, {}},
      {0, 0, {}},
      {0, n, Expr(0)},
      {-12, 4, Expr(-3)},
      {6 * n, 3, 2 * n},
      {6 * n + 2, 3, {}},
      {12 * n * m, 4 * n, 3 * m},
      {12 * n * m, 5 * n, {}},
      {n * m, n * n, {}},
      {(n + m) * (n - 2 * m + 3), n + m, n - 2 * m + 3},
      {(n + m) * (n - 2 * m + 3) + 1, n + m, {}},
      {Power(n, 20) - 1, n - 1, Sum({Power(n, 19), FloorDiv(Power(n, 19) - 1, n - 1)})},
      {768 * n * FloorDiv(m, 2), 12 * FloorDiv(m, 2), 64 * n},
      {5, n, {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.a.ToString(), " by ", c.b.ToString()));
    EXPECT_EQ(DivideExactly(c.a, c.b), c.quotient);
  }
}

TEST(ExprTest, Broadcasts) {
  const Expr n = N(), m = M(), k = K(), z = Z();
  const Expr nm = BroadcastDim(n, m).value();
  const struct {
    Expr a, b;
    const char* size;  // nullptr: do not fit
  } kCases[] = {
      {3, 3, "3"},
      {1, 3, "3"},
      {0, 1, "0"},
      {2, 3, nullptr},
      {0, 3, nullptr},
      {n, 1, "n"},
      {n, n, "n"},
      {n, 3, "3"},
      {n, 0, "0"},
      {n, m, "broadcast(m, n)"},
      {nm, n, "broadcast(m, n)"},
      {nm, BroadcastDim(k, n).value(), "broadcast(k, m, n)"},
      {nm, 4, "4"},
      {n, Min(n, 5), "n"},
      {Min(n, m + 1), n, "n"},
      {Min(n, m), n, "broadcast(n, min(m, n))"},
      {n + 2, n + 3, nullptr},
      {n, n + 1, "broadcast(n, n + 1)"},
      {n + 5, 3, nullptr},
      {z, n, "broadcast(n, z)"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.a.ToString(), " with ", c.b.ToString()));
    for (const auto& size : {BroadcastDim(c.a, c.b), BroadcastDim(c.b, c.a)}) {
      ASSERT_EQ(size.has_value(), c.size != nullptr);
      if (size) {
        EXPECT_EQ(size->ToString(), c.size);
      }
    }
  }
  // None of the smaller one leaves none, where n is 1.
  const Expr capped = BroadcastDim(n, Min(n, z)).value();
  EXPECT_EQ(capped.Evaluate({{"n", 1}, {"z", 0}}).value(), 0);
  EXPECT_EQ(capped.Evaluate({{"n", 5}, {"z", 7}}).value(), 5);
}

TEST(ExprTest, EvaluateSaysWhy) {
  const Expr n = N(), m = M(), z = Z();
  const Expr nm = BroadcastDim(n, m).value();
  const Bindings bindings = {{"n", 6}, {"m", 1}, {"z", 0}, {"big", INT64_MAX}};
  EXPECT_EQ(Expr(4).Evaluate({}).value(), 4);
  EXPECT_EQ(nm.Evaluate(bindings).value(), 6);
  EXPECT_EQ(FloorDiv(0 - n - 1, 4).Evaluate(bindings).value(), -2);
  const struct {
    Expr expr;
    absl::StatusCode code;
    const char* message;
  } kCases[] = {
      {n + Expr::Symbol("seq"), absl::StatusCode::kFailedPrecondition,
       "symbol 'seq' is not bound (bind it with dim seq=N)"},
      {FloorDiv(n, z), absl::StatusCode::kInvalidArgument, "divides by zero: z is 0"},
      {BroadcastDim(n, m + 3).value(), absl::StatusCode::kInvalidArgument,
       "cannot broadcast 4 (m + 3) with 6 (n)"},
      {Power(Expr::Symbol("big"), 3), absl::StatusCode::kOutOfRange, "overflows 128 bits"},
      {FloorDiv(1, 0), absl::StatusCode::kInvalidArgument, "divides by zero"},
  };
  for (const auto& c : kCases) {
    const absl::Status status = c.expr.Evaluate(bindings).status();
    EXPECT_EQ(status.code(), c.code) << status;
    EXPECT_EQ(status.message(), c.message);
  }
}

TEST(ExprTest, Substitutes) {
  const Expr n = N(), m = M();
  const struct {
    Expr expr;
    Bindings bindings;
    const char* text;
  } kCases[] = {
      {n * m + n, {}, "m*n + n"},
      {n * m + n, {{"n", 4}}, "4*m + 4"},
      {n * m - 2 * m, {{"n", 2}}, "0"},
      {n * m, {{"other", 2}}, "m*n"},
      {FloorDiv(n * m + 1, 4), {{"n", 4}}, "m"},
      {Min(n, m) * n, {{"n", 1}}, "1"},
      {Max(Min(n, 5), FloorDiv(m, 2)), {{"m", 9}}, "max(4, min(5, n))"},
      {BroadcastDim(n, m).value(), {{"n", 1}}, "m"},
  };
  for (const auto& c : kCases) EXPECT_EQ(c.expr.Substitute(c.bindings).ToString(), c.text);
}

TEST(ExprTest, Parses) {
  const struct {
    const char* text;
    const char* printed;
  } kCases[] = {
      {"12", "12"},
      {" seq ", "seq"},
      {"-seq^2 + 3*seq*batch - -4", "3*batch*seq - seq^2 + 4"},
      {"(a + b)*(a - b)", "a^2 - b^2"},
      {"2*(past_seq.1 + seq)", "2*past_seq.1 + 2*seq"},
      {"floor((n + 1)/2)", "floor((n + 1)/2)"},
      {"floor(-n/(2*m))", "floor(-n/(2*m))"},
      {"floor(3*n/2)", "floor(3*n/2)"},
      {"7//2 * 3", "9"},
      {"-7//2", "-4"},
      {"n//2//3", "floor(n/6)"},
      {"min(a, b, 3) + max(1 + 2, a)", "max(3, a) + min(3, a, b)"},
      {"broadcast(a, b)", "broadcast(a, b)"},
      {"min", "min"},
      {"2*nonzero(/head/NonZero).1^2 + 'a + b' * 'n'", "'a + b'*n + 2*nonzero(/head/NonZero).1^2"},
      {"floor*2", "2*floor"},
      {"170141183460469231731687303715884105727", "170141183460469231731687303715884105727"},
  };
  for (const auto& c : kCases) {
    const absl::StatusOr<Expr> e = ParseExpr(c.text);
    ASSERT_TRUE(e.ok()) << c.text << ": " << e.status();
    EXPECT_EQ(e->ToString(), c.printed);
  }
  EXPECT_EQ(ParseExpr("n", 1)->LowerBound(), absl::int128(1));
}

// "(s0+s1+s2)".
std::string ManySymbols(int count) {
  std::string text = "(s0";
  for (int i = 1; i < count; ++i) absl::StrAppend(&text, "+s", i);
  return text + ")";
}

TEST(ExprTest, ParseErrors) {
  const struct {
    std::string text;
    const char* message;
  } kCases[] = {
      {"", "column 1: expected a number, a name or '(', found the end"},
      {"n +", "column 4: expected a number, a name or '(', found the end"},
      {"n m", "column 3: expected an operator, found 'm'"},
      {"(n", "column 3: expected ')', found the end"},
      {"n/2", "column 2: expected an operator, found '/'"},
      {"floor(n + 1/2)", "column 9: expected '/', found '+'"},
      {"min(n, )", "column 8: expected a number, a name or '(', found ')'"},
      {"n^m", "column 3: expected an integer, found 'm'"},
      {"n^9999", "column 7: the power has a degree above 1000 (degree)"},
      {"n^99999999999999999999", "column 23: the power has a degree above 1000 (degree)"},
      {"n//0", "column 5: the value divides by zero"},
      {"broadcast(2, 3)", "column 15: the value broadcasts different sizes"},
      {"170141183460469231731687303715884105728", "column 39: the number overflows 128 bits"},
      {"2^100*2^100", "column 12: the value overflows 128 bits"},
      {ManySymbols(1001) + "*x", "column 4899: the value has more than 200 terms (parsed-terms)"},
      {"(a+b+c+d)^30*x*x", "column 13: the value has more than 200 terms (parsed-terms)"},
      {std::string(500, '('), "column 101: nested more than 100 deep (parsed-depth)"},
      {std::string(1 << 20, '-'),
       "column 16385: the expression has more than 16384 characters (parsed-chars)"},
      {"nonzero(a b)", "column 8: expected an operator, found '('"},
      {"'a", "column 1: expected a number, a name or '(', found '''"},
      {std::string("n\0m", 3), nullptr},
      {"n\xff", nullptr},
  };
  for (const auto& c : kCases) {
    const absl::Status status = ParseExpr(c.text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.text;
    if (c.message != nullptr) {
      EXPECT_EQ(status.message(), c.message) << c.text;
    }
  }
}

// ---- Limits: what a hostile file could ask for is refused before the work. ----

Expr SumOfSymbols(int count) {
  std::vector<Expr> terms;
  for (int i = 0; i < count; ++i) terms.push_back(Expr::Symbol(absl::StrCat("s", i), 1));
  return Sum(terms);
}

TEST(ExprLimitsTest, Terms) {
  const Expr most = SumOfSymbols(100000);
  ASSERT_EQ(most.error(), nullptr);
  const std::string message = "has more than 100000 terms (terms)";
  EXPECT_EQ((most + 1).error(), message);
  EXPECT_EQ((most * most).error(), message);
  EXPECT_EQ(Power(most, 1000).error(), message);
  EXPECT_EQ(SumOfSymbols(100001).error(), message);
  EXPECT_EQ(most - most, Expr(0));
  EXPECT_EQ((2 * most).error(), nullptr);
  EXPECT_EQ(DivideExactly(most, N() + M()), std::nullopt);
}

TEST(ExprLimitsTest, TermsOfAProduct) {
  Expr rows, columns;
  for (int i = 0; i < 250; ++i) rows = rows + Expr::Symbol(absl::StrCat("r", i), 1);
  for (int i = 0; i < 400; ++i) columns = columns + Expr::Symbol(absl::StrCat("c", i), 1);
  EXPECT_EQ((rows * columns).NumTerms(), 100000);
  EXPECT_EQ((rows * (columns + 1)).error(), std::string("has more than 100000 terms (terms)"));
}

TEST(ExprLimitsTest, TermsOfAParsedPower) {
  EXPECT_EQ(ParseExpr("(a + b + c)^18").value().NumTerms(), 190);  // 20 choose 2
  EXPECT_THAT(std::string(ParseExpr("(a + b + c)^19").status().message()),
              testing::HasSubstr("more than 200 terms (parsed-terms)"));
}

TEST(ExprLimitsTest, Depth) {
  Expr e = N();
  int depth = 0;
  for (; e.error() == nullptr && depth < 1000; ++depth) {
    e = depth % 2 == 0 ? Min(e + M(), K()) : Max(e * M(), Z());
  }
  EXPECT_EQ(e.error(), std::string("is nested more than 64 deep (expr-depth)"));
  EXPECT_EQ(depth, 65);
}

// Each step names the last value twice: written out, it doubles.
TEST(ExprLimitsTest, SharedOperandsDoNotDouble) {
  Expr e = N();
  for (int i = 0; e.error() == nullptr && i < 60; ++i) e = Min(e * M(), e * K() + Z());
  EXPECT_EQ(e.error(),
            std::string("has a min, max or quotient of more than 10000 parts (atom-weight)"));
}

TEST(ExprLimitsTest, Operands) {
  Expr least = N(), broadcast = N();
  for (int i = 0; i < 70; ++i) {
    const Expr s = Expr::Symbol(absl::StrCat("s", i), 1);
    if (i == 63) {
      EXPECT_EQ(least.error(), nullptr);
    }
    least = Min(least, s);
    broadcast = BroadcastDim(broadcast, s).value();
  }
  const std::string message = "has a min, max or broadcast of more than 64 operands (operands)";
  EXPECT_EQ(least.error(), message);
  EXPECT_EQ(broadcast.error(), message);
}

// The name in parentheses, if there is one.
TEST(ExprLimitsTest, ErrorsNameTheirLimits) {
  Expr deep = N(), wide = N(), doubled = N();
  for (int i = 0; i < 70; ++i) {
    deep = i % 2 == 0 ? Min(deep + M(), K()) : Max(deep * M(), Z());
    wide = Min(wide, Expr::Symbol(absl::StrCat("s", i), 1));
    doubled = Min(doubled * M(), doubled * K() + Z());
  }
  const Expr heavy = Power(SumOfSymbols(20), 3), atom = Max(heavy, Power(M(), 3));
  const std::pair<Expr, const char*> cases[] = {
      {N(), ""},
      {FloorDiv(1, 0), ""},
      {Power(2, 127), ""},
      {SumOfSymbols(100001), "terms"},
      {Power(N(), 1001), "degree"},
      {deep, "expr-depth"},
      {wide, "operands"},
      {doubled, "atom-weight"},
      {SumOfSymbols(400) * atom, "expr-weight"},
  };
  for (const auto& [e, limit] : cases) EXPECT_EQ(LimitOf(e.error()), limit);
}

// ---- Work: of a limit in force, what is left bounds all that expressions do. ----

constexpr char kNoStepsLeft[] = "takes more steps than are left (steps-per-node)";

TEST(WorkLimitTest, WithoutStepsThereIsNoResult) {
  const Expr n = N(), m = M(), sum = n + m, product = n * m, floor = FloorDiv(n, m);
  const Expr larger = Max(n, m), by_two = FloorDiv(n, 2);
  const std::vector<std::function<Expr()>> operations = {
      [&] { return n + m; },
      [&] { return n - m; },
      [&] { return n * m; },
      [&] { return sum * (n - 1); },
      [&] {
        return Sum({n, m, product});
      },
      [&] { return FloorDiv(n, 3); },
      [&] { return FloorDiv(sum, product); },
      [&] { return Min(n, m + 1); },
      [&] { return Power(sum, 3); },
      [&] {
        return sum.Substitute({{"n", 3}});
      },
      [&] {
        return larger.Substitute({{"n", 3}});
      },
      [&] {
        return product.Replace({{"n", m}});
      },
      [&] { return Expr::Symbol("other", 1); },
  };
  for (size_t i = 0; i < operations.size(); ++i) {
    const WorkLimit limit(0);
    EXPECT_FALSE(limit.exceeded());
    EXPECT_STREQ(operations[i]().error(), kNoStepsLeft) << i;
    EXPECT_TRUE(limit.exceeded()) << i;
  }
}

TEST(WorkLimitTest, WithoutStepsNothingIsKnown) {
  const Expr n = N(), m = M(), sum = n + m, product = n * m;
  const WorkLimit limit(0);
  EXPECT_EQ(sum.LowerBound(), std::nullopt);
  EXPECT_FALSE(sum.AtLeast(1));
  EXPECT_EQ(DivideExactly(product, n), std::nullopt);
  EXPECT_TRUE(sum.Symbols().empty());
  const absl::Status status = sum.Evaluate({{"n", 1}, {"m", 2}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(status.message(), kNoStepsLeft);
  EXPECT_EQ(LimitOf(FloorDiv(n, 3).error()), "steps-per-node");
}

TEST(WorkLimitTest, CountsForThoseAroundIt) {
  const WorkLimit outer(100);
  {
    const WorkLimit inner(1000);  // no more than are left around it
    SpendSteps(90);
    EXPECT_FALSE(inner.exceeded());
    SpendSteps(10);
    EXPECT_FALSE(inner.exceeded());
  }
  EXPECT_FALSE(outer.exceeded());
  {
    const WorkLimit inner(10);
    SpendSteps(1);
    EXPECT_TRUE(inner.exceeded());
  }
  EXPECT_TRUE(outer.exceeded());
}

TEST(WorkLimitTest, LeavesTheRestToThoseAroundIt) {
  const WorkLimit outer(100);
  for (int i = 0; i < 10; ++i) {
    const WorkLimit inner(5);
    SpendSteps(10);
    EXPECT_TRUE(inner.exceeded());
  }
  EXPECT_FALSE(outer.exceeded());
  SpendSteps(1);
  EXPECT_TRUE(outer.exceeded());
}

// What some work takes: the least limit that it keeps.
int64_t StepsOf(const std::function<void()>& work) {
  int64_t low = -1, high = int64_t{1} << 24;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    const WorkLimit limit(middle);
    work();
    (limit.exceeded() ? low : high) = middle;
  }
  return high;
}

// Some four steps for each term that is looked at or made.
TEST(WorkLimitTest, StepsGrowWithTheTerms) {
  for (const int count : {20, 60, 200}) {
    const Expr a = SumOfSymbols(count), b = 2 * a;
    const Expr rows = SumOfSymbols(count / 20) + N(), larger = Max(a, N() * M());
    Bindings bindings = {{"n", 1}, {"m", 1}};
    for (int i = 0; i < count; ++i) bindings[absl::StrCat("s", i)] = 1;
    const struct {
      std::function<void()> work;
      int64_t terms;
    } cases[] = {
        {[&] { a + b; }, 3 * count},
        {[&] { 3 * a; }, 2 * count},
        {[&] { rows* a; }, (count / 20 + 1) * count},
        {[&] { a.Evaluate(bindings).IgnoreError(); }, count},
        {[&] { a.ToString(); }, count},
        {[&] { a.Symbols(); }, count},
        {[&] { a.LowerBound(); }, count},
        {[&] { DivideExactly(2 * a, 2); }, 4 * count},
        {[&] { larger.ToString(); }, count},
    };
    for (const auto& c : cases) {
      const int64_t steps = StepsOf(c.work);
      EXPECT_GE(steps, 3 * c.terms) << &c - cases << " of " << count;
      EXPECT_LE(steps, 40 * c.terms + 200) << &c - cases << " of " << count;
    }
  }
}

}  // namespace
}  // namespace onnxflops::expr_test
