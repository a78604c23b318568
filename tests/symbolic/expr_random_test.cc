// Random expressions against a direct evaluation of the tree that built them.
#include <cstdint>
#include <memory>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/symbolic/expr.h"
#include "tests/symbolic/symbols.h"

namespace onnxflops::expr_random_test {
namespace {

__extension__ typedef __int128 Int;

enum class Op {
  kLiteral,
  kSymbol,
  kAdd,
  kSub,
  kMul,
  kFloorDiv,
  kCeilDiv,
  kMod,
  kMin,
  kMax,
  kBroadcast
};
constexpr int kOps = 11;
constexpr const char* kNames[] = {"a", "b", "c", "d"};
constexpr int64_t kAtLeast[] = {1, 0, 2, -3};

struct Tree {
  Op op = Op::kLiteral;
  int64_t value = 0;  // of a literal; the index of a symbol
  std::unique_ptr<Tree> a, b;
};

class ExprRandomTest : public testing::Test {
 protected:
  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng_); }

  std::unique_ptr<Tree> RandomTree(int depth) {
    auto t = std::make_unique<Tree>();
    if (depth == 0 || Pick(0, 7) == 0) {
      t->op = Pick(0, 2) == 0 ? Op::kLiteral : Op::kSymbol;
      t->value = t->op == Op::kLiteral ? Pick(-4, 9) : Pick(0, 3);
      return t;
    }
    t->op = static_cast<Op>(Pick(2, kOps - 1));
    t->a = RandomTree(depth - 1);
    t->b = RandomTree(depth - 1);
    return t;
  }

  Bindings RandomBindings() {
    Bindings bindings;
    for (int i = 0; i < 4; ++i) {
      bindings[kNames[i]] = kAtLeast[i] + (Pick(0, 3) == 0 ? Pick(0, 40) : Pick(0, 4));
    }
    return bindings;
  }

  std::mt19937 rng_{20240607};
};

// The operators on numbers, by their definitions; nullopt where there is no value.
std::optional<Int> FloorDiv(Int x, Int y) {
  if (y == 0) return std::nullopt;
  if (y < 0) return FloorDiv(-x, -y);
  Int q = x / y;
  if (q * y > x) --q;  // rounded towards zero: one too high for a negative x
  return q;
}
std::optional<Int> CeilDiv(Int x, Int y) {
  const std::optional<Int> floor = FloorDiv(-x, y);
  return floor ? std::optional<Int>(-*floor) : std::nullopt;
}
std::optional<Int> Mod(Int x, Int y) {
  const std::optional<Int> floor = FloorDiv(x, y);
  return floor ? std::optional<Int>(x - y * *floor) : std::nullopt;
}
Int Min(Int x, Int y) { return x < y ? x : y; }
Int Max(Int x, Int y) { return x < y ? y : x; }
std::optional<Int> BroadcastDim(Int x, Int y) {
  if (x == 1 || x == y) return y;
  return y == 1 ? std::optional<Int>(x) : std::nullopt;
}

// An operator of a tree on two numbers, by the functions above, or on two expressions.
template <typename T>
std::optional<T> Apply(Op op, const T& x, const T& y) {
  switch (op) {
    case Op::kAdd:
      return x + y;
    case Op::kSub:
      return x - y;
    case Op::kMul:
      return x * y;
    case Op::kFloorDiv:
      return FloorDiv(x, y);
    case Op::kCeilDiv:
      return CeilDiv(x, y);
    case Op::kMod:
      return Mod(x, y);
    case Op::kMin:
      return Min(x, y);
    case Op::kMax:
      return Max(x, y);
    default:
      return BroadcastDim(x, y);
  }
}

// The value, by the definition of each operator; nullopt if there is none.
std::optional<Int> Oracle(const Tree& t, const Bindings& bindings) {
  if (t.op == Op::kLiteral) return t.value;
  if (t.op == Op::kSymbol) return bindings.at(kNames[t.value]);
  const std::optional<Int> x = Oracle(*t.a, bindings), y = Oracle(*t.b, bindings);
  return x && y ? Apply(t.op, *x, *y) : std::nullopt;
}

// nullopt if a broadcast in it fits for no values.
std::optional<Expr> Build(const Tree& t) {
  if (t.op == Op::kLiteral) return Expr(t.value);
  if (t.op == Op::kSymbol) return Expr::Symbol(kNames[t.value], kAtLeast[t.value]);
  const std::optional<Expr> x = Build(*t.a), y = Build(*t.b);
  return x && y ? Apply(t.op, *x, *y) : std::nullopt;
}

void ExpectValue(const Expr& e, const Bindings& bindings, Int value) {
  const absl::StatusOr<absl::int128> result = e.Evaluate(bindings);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(*result, absl::int128(value));
}

TEST_F(ExprRandomTest, AgreesWithTheTree) {
  int values = 0;
  for (int round = 0; round < 6000; ++round) {
    const std::unique_ptr<Tree> tree = RandomTree(round % 5);
    const std::optional<Expr> e = Build(*tree);
    SCOPED_TRACE(absl::StrCat("round ", round, ": ", e ? e->ToString() : "no broadcast"));
    const auto lower = e ? e->LowerBound() : std::nullopt,
               upper = e ? e->UpperBound() : std::nullopt;
    for (int i = 0; i < 8; ++i) {
      const Bindings bindings = RandomBindings();
      const std::optional<Int> value = Oracle(*tree, bindings);
      if (!value) continue;
      ++values;
      ASSERT_TRUE(e.has_value());
      ExpectValue(*e, bindings, *value);
      if (lower) {
        ASSERT_LE(*lower, absl::int128(*value));
      }
      if (upper) {
        ASSERT_GE(*upper, absl::int128(*value));
      }
      Bindings part = bindings;
      for (int k = Pick(0, 3); k > 0; --k) part.erase(kNames[Pick(0, 3)]);
      ExpectValue(e->Substitute(part), bindings, *value);
      EXPECT_EQ(e->Substitute(bindings), Expr(absl::int128(*value)));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(values, 20000);
}

TEST_F(ExprRandomTest, ProofsHold) {
  int proofs = 0;
  for (int round = 0; round < 6000; ++round) {
    const std::unique_ptr<Tree> s = RandomTree(1 + round % 3), t = RandomTree(1 + round % 3);
    const std::optional<Expr> a = Build(*s), b = Build(*t);
    if (!a || !b) continue;
    SCOPED_TRACE(absl::StrCat("round ", round, ": ", a->ToString(), " vs ", b->ToString()));
    const std::optional<bool> equal = ProvablyEqual(*a, *b), less = ProvablyLess(*a, *b);
    const std::optional<Expr> quotient = DivideExactly(*a, *b);
    for (int i = 0; i < 8; ++i) {
      const Bindings bindings = RandomBindings();
      const std::optional<Int> x = Oracle(*s, bindings), y = Oracle(*t, bindings);
      if (!x || !y) continue;
      proofs += equal.has_value() + less.has_value() + quotient.has_value();
      if (equal) {
        ASSERT_EQ(*equal, *x == *y);
      }
      if (less) {
        ASSERT_EQ(*less, *x < *y);
      }
      if (a->AtLeast(*b)) {
        ASSERT_GE(*x, *y);
      }
      if (*a == *b) {
        ASSERT_EQ(*x, *y);
      }
      if (quotient && *y != 0) ExpectValue(*quotient * *b, bindings, *x);
    }
  }
  EXPECT_GT(proofs, 5000);
}

// Laws of arithmetic hold as equality of canonical forms, not just of values.
TEST_F(ExprRandomTest, CanonicalFormsAgree) {
  int checked = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::optional<Expr> x = Build(*RandomTree(3)), y = Build(*RandomTree(2)),
                              z = Build(*RandomTree(2));
    if (!x || !y || !z || x->error() || y->error() || z->error()) continue;
    ++checked;
    const Expr &a = *x, &b = *y, &c = *z, e = Expr::Symbol("e");
    SCOPED_TRACE(absl::StrCat(a.ToString(), " ; ", b.ToString(), " ; ", c.ToString()));
    ASSERT_EQ((a + b) * c, c * b + a * c);
    ASSERT_EQ(absl::HashOf((a + b) * c), absl::HashOf(c * b + a * c));
    ASSERT_EQ((a * b) * c, b * (c * a));
    ASSERT_EQ((a - b) - (c - b), a - c);
    ASSERT_EQ(Sum({a, b, c, a}), 2 * a + b + c);
    ASSERT_EQ(a * Power(b, 3), a * b * b * b);
    if (b != Expr(0)) {
      ASSERT_EQ(FloorDiv(a * b, b), a);
      ASSERT_EQ(DivideExactly(a * b, b), a);
      ASSERT_EQ(FloorDiv(a * b * 6, b * 3), 2 * a);
    }
    ASSERT_EQ(FloorDiv(a + 7 * e * b, 7), FloorDiv(a, 7) + e * b);
    const Expr p = Pick(-9, 9) * e + Pick(-9, 9) * N() * e + Pick(0, 9) * M() + Pick(-20, 20);
    ASSERT_EQ(FloorDiv(FloorDiv(p, 2), 3), FloorDiv(FloorDiv(p, 3), 2));
    ASSERT_EQ(Min(a, b), Min(b, a));
    ASSERT_EQ(Max(a, Max(b, c)), Max(Max(c, a), b));
    ASSERT_EQ(a < b, !(b < a) && a != b);
  }
  EXPECT_GT(checked, 1000);
}

// Printing loses nothing but the symbols' ranges.
TEST_F(ExprRandomTest, PrintsWhatParses) {
  int values = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::unique_ptr<Tree> tree = RandomTree(1 + round % 4);
    const std::optional<Expr> e = Build(*tree);
    if (!e || e->error()) continue;
    const absl::StatusOr<Expr> parsed = ParseExpr(e->ToString(), -3);
    for (int i = 0; i < 4; ++i) {
      const Bindings bindings = RandomBindings();
      const std::optional<Int> value = Oracle(*tree, bindings);
      if (!value) continue;
      ++values;
      ASSERT_TRUE(parsed.ok()) << e->ToString() << ": " << parsed.status();
      ExpectValue(*parsed, bindings, *value);
    }
  }
  EXPECT_GT(values, 2000);
}

}  // namespace
}  // namespace onnxflops::expr_random_test
