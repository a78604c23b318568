// Formulas: random texts against the trees that they were written from, and every error.
#include "src/symbolic/parse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/symbolic/expr.h"

namespace onnxflops::parse_test {
namespace {

// x has the parts 2, 3, 5, 7; n and m are open, and at least 1; s0, s1, ... are sizes.
constexpr int64_t kParts[] = {2, 3, 5, 7};

absl::StatusOr<Expr> ValueOf(absl::string_view name) {
  if (name == "zero") return Expr(0);
  if (name == "five") return Expr(5);
  if (name == "n" || name == "m" || absl::StartsWith(name, "s")) return Expr::Symbol(name, 1);
  if (name == "bad") return FloorDiv(1, 0);
  return absl::NotFoundError(absl::StrCat("no size is called ", name));
}

absl::StatusOr<Expr> PartOf(absl::string_view name, const FormulaPart& part) {
  if (name != "x") return absl::OutOfRangeError(absl::StrCat(name, " has no parts"));
  if (part.at.has_value()) return Expr(kParts[*part.at->AsInt64()]);
  Expr product = 1;
  const int64_t end = part.end.has_value() ? *part.end->AsInt64() : 4;
  for (int64_t i = part.begin.value_or(0).AsInt64().value(); i < end; ++i) product *= kParts[i];
  return product;
}

absl::StatusOr<Expr> Formula(absl::string_view text, bool must_decide = true) {
  return ParseFormula(text, {.value = ValueOf, .part = PartOf, .must_decide = must_decide});
}

// The value, or the error.
std::string Outcome(const absl::StatusOr<Expr>& e) {
  return e.ok() ? e->ToString() : std::string(e.status().message());
}

// ---- Random texts ----

// A text with its value, and how tightly its last operator binds: 0 of a sum, 1 of a product, 2
// behind a minus, 3 of a power, 4 of anything else.
struct Written {
  std::string text;
  int64_t value = 0;
  int binds = 4;
};

int64_t FloorOf(int64_t x, int64_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0); }

class Writer {
 public:
  explicit Writer(unsigned seed) : random_(seed) {}

  Written Next(int depth) {
    if (depth == 0) return Leaf();
    switch (Pick(10)) {
      case 0:
        return Binary(depth, "+", 0);
      case 1:
        return Binary(depth, "-", 0);
      case 2:
      case 3:
        return Binary(depth, "*", 1);
      case 4:
        return Binary(depth, "//", 1);
      case 5:
        return Minus(depth);
      case 6:
        return Raised(depth);
      case 7:
        return Condition(depth);
      case 8:
        return Call(depth);
      default:
        return If(depth);
    }
  }

 private:
  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string Space() { return std::string(static_cast<size_t>(Pick(4) / 2), ' '); }

  Written Leaf() {
    if (Pick(4) == 0) return {"five", 5};
    if (Pick(5) == 0) {
      const int i = Pick(4);
      return {absl::StrCat("x[", i, "]"), kParts[i]};
    }
    const int value = Pick(12);
    return {absl::StrCat(value), value};
  }

  // An operand that the operator around it does not take apart.
  Written Operand(int depth, int binds) {
    Written w = Next(depth - 1);
    if (std::abs(w.value) > 1000) w = Leaf();
    if (w.binds >= binds && Pick(5) > 0) return w;
    return {absl::StrCat("(", Space(), w.text, Space(), ")"), w.value};
  }

  Written Binary(int depth, const std::string& op, int binds) {
    const Written a = Operand(depth, binds), b = Operand(depth, binds + 1);
    if (op == "//" && b.value == 0) return a;
    const int64_t value = op == "+"   ? a.value + b.value
                          : op == "-" ? a.value - b.value
                          : op == "*" ? a.value * b.value
                                      : FloorOf(a.value, b.value);
    return {absl::StrCat(a.text, Space(), op, Space(), b.text), value, binds};
  }

  Written Minus(int depth) {
    const Written w = Operand(depth, 2);
    return {absl::StrCat("-", Space(), w.text), -w.value, 2};
  }

  Written Raised(int depth) {
    const Written w = Operand(depth, 4);
    const int power = Pick(4);
    int64_t value = 1;
    for (int i = 0; i < power; ++i) value *= w.value;
    return {absl::StrCat(w.text, Space(), "^", Space(), power), value, 3};
  }

  // A comparison stands in parentheses.
  Written Condition(int depth) {
    const char* const operators[] = {"==", "!=", "<", "<=", ">", ">="};
    const Written a = Operand(depth, 0), b = Pick(3) == 0 ? a : Operand(depth, 0);
    const bool holds[] = {a.value == b.value, a.value != b.value,
                          a.value<b.value, a.value <= b.value, a.value> b.value,
                          a.value >= b.value};
    const int i = Pick(6);
    return {absl::StrCat("(", a.text, Space(), operators[i], Space(), b.text, ")"),
            holds[i] ? 1 : 0};
  }

  Written Call(int depth) {
    const Written a = Operand(depth, 0), b = Operand(depth, 2), c = Operand(depth, 0);
    const Written product = Operand(depth, 1);
    switch (Pick(4)) {
      case 0:
        return {absl::StrCat("min(", a.text, ",", Space(), b.text, Space(), ",", c.text, ")"),
                std::min({a.value, b.value, c.value})};
      case 1:
        return {absl::StrCat("max(", Space(), a.text, ",", b.text, ")"),
                std::max(a.value, b.value)};
      case 2:
        return {absl::StrCat("broadcast(", a.text, ", 1)"), a.value};
      default:
        if (b.value == 0) return a.binds == 4 ? a : Leaf();
        return {absl::StrCat("floor(", product.text, Space(), "/", Space(), b.text, ")"),
                FloorOf(product.value, b.value)};
    }
  }

  Written If(int depth) {
    const Written c = Condition(depth), a = Operand(depth, 0), b = Operand(depth, 0);
    return {absl::StrCat("if(", c.text, ",", a.text, Space(), ",", Space(), b.text, ")"),
            c.value != 0 ? a.value : b.value};
  }

  std::mt19937 random_;
};

TEST(FormulaTest, IsWorthTheTreeItWasWrittenFrom) {
  Writer writer(1);
  for (int i = 0; i < 6000; ++i) {
    const Written w = writer.Next(1 + i % 4);
    const absl::StatusOr<Expr> e = Formula(w.text);
    ASSERT_TRUE(e.ok()) << w.text << ": " << e.status();
    ASSERT_EQ(e->ToString(), absl::StrCat(w.value)) << w.text;
    ASSERT_EQ(Outcome(Formula(w.text, /*must_decide=*/false)), absl::StrCat(w.value)) << w.text;
  }
}

// ---- By hand ----

struct FormulaCase {
  std::string text;
  std::string outcome;
};
void ExpectOutcomes(const std::vector<FormulaCase>& cases, bool must_decide = true) {
  for (const FormulaCase& c : cases) {
    EXPECT_EQ(Outcome(Formula(c.text, must_decide)), c.outcome) << c.text;
  }
}

TEST(FormulaTest, ConditionsOfSymbols) {
  ExpectOutcomes({{"n >= 1", "1"},
                  {"n > 0", "1"},
                  {"n < 1", "0"},
                  {"n <= 0", "0"},
                  {"0 < n", "1"},
                  {"0 >= n", "0"},
                  {"n == n", "1"},
                  {"n != n", "0"},
                  {"n == 0", "0"},
                  {"n != 0", "1"},
                  {"n + 1 > n", "1"},
                  {"n + 1 <= n", "0"},
                  {"if(n, n + 3, 7)", "n + 3"},
                  {"if(n - n, n + 3, 7)", "7"},
                  {"n < m", "column 6: whether n < m is not known"},
                  {"n  >= m ", "column 9: whether n >= m is not known"},
                  {"n == 2*m", "column 9: whether n == 2*m is not known"},
                  {"if(n - 2*m, 1, 2)", "column 11: whether -2*m + n is 0 is not known"}});
  EXPECT_EQ(Formula("n < m").status().code(), absl::StatusCode::kFailedPrecondition);
}

// Where any value will do, that of `if` is the larger one.
TEST(FormulaTest, OpenConditionsWhereOnlyTheTextIsChecked) {
  ExpectOutcomes({{"if(n - m, 3, 5)", "5"},
                  {"if(n - m, 5, 3)", "5"},
                  {"if(n - m, n, n + 2)", "n + 2"},
                  {"if(n < m, nosuch, 5)", "column 11: no size is called nosuch"},
                  {"if(n - m, 5, nosuch)", "column 14: no size is called nosuch"},
                  {"if(n - m, bad, 1)", "column 14: the value divides by zero"},
                  {"2^n", "2"},
                  {"(n + 3)^(0 - 1) + 1", "n + 4"},
                  {"5^99999999999999999999", "5"}},
                 /*must_decide=*/false);
  for (const char* op : {"==", "!=", "<", "<=", ">", ">="}) {
    const absl::StatusOr<Expr> open = Formula(absl::StrCat("n ", op, " m"), false);
    ASSERT_TRUE(open.ok()) << open.status();
    EXPECT_TRUE(*open == Expr(0) || *open == Expr(1)) << op;
  }
}

TEST(FormulaTest, WhatIsNotChosenIsNotLookedUp) {
  ExpectOutcomes({{"if(zero, nosuch, 5)", "5"},
                  {"if(five, 7, nosuch)", "7"},
                  {"if(zero, 1//0, 5)", "5"},
                  {"if(zero, bad, 5)", "5"},
                  {"if(zero, floor(3/0) + min(bad, 1), 5)", "5"},
                  {"if(zero, broadcast(2, 3), 5)", "5"},
                  {"if(zero, y[9] + x[1:n], 5)", "5"},
                  {"if(zero, 2^n + 2^(0 - 1) + n^2000, 5)", "5"},
                  {"if(zero, digits(nosuch), 5)", "5"},
                  {"if(zero, n < m, 5)", "5"},
                  {"if(zero, if(n - m, 1, 2), 5)", "5"},
                  {"if(zero, floor(3/if(five, 1, 2)), 5)", "5"},
                  {"if(1, if(zero, nosuch, 3), nosuch)", "3"},
                  {"if(if(zero, nosuch, 1), 4, nosuch)", "4"},
                  {"if(zero, nosuch, 5) + nosuch", "column 23: no size is called nosuch"},
                  {"if(five, nosuch, 5)", "column 10: no size is called nosuch"},
                  {"if(zero, 5, nosuch)", "column 13: no size is called nosuch"},
                  {"if(zero, 1 +, 5)", "column 13: expected a number, a name or '(', found ','"},
                  {"if(zero, 99999999999999999999999999999999999999999, 5)",
                   "column 48: the number overflows 128 bits"}});
}

TEST(FormulaTest, Parts) {
  ExpectOutcomes({{"x[0]", "2"},
                  {"x [ 1 + 1 ]", "5"},
                  {"x[1:3]", "15"},
                  {"x[:3]", "30"},
                  {"x[2:]", "35"},
                  {"x[:]", "210"},
                  {"x[0]^x[1]*x[2]", "40"},
                  {"2*x[1 : 1 + 1]", "6"},
                  {"1 + y[3]", "column 5: y has no parts"},
                  {"x[1", "column 4: expected ']', found the end"},
                  {"x[1:2", "column 6: expected ']', found the end"},
                  {"x[]", "column 3: expected a number, a name or '(', found ']'"},
                  {"x[1,2]", "column 4: expected ']', found ','"},
                  {"x[nosuch]", "column 3: no size is called nosuch"}});
  EXPECT_EQ(Formula("y[3]").status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Formula("nosuch").status().code(), absl::StatusCode::kNotFound);
}

int64_t BinaryDigits(int64_t value) {
  int64_t digits = 0;
  while (value >> digits != 0) ++digits;
  return digits;
}

// Of a symbol as many as a size can have, or as its bound has.
TEST(FormulaTest, Digits) {
  const Expr of_n = *Formula("digits(n)"), few = *Formula("digits( min(n, 12) + 1 )");
  for (int64_t value : {1, 2, 3, 4, 5, 7, 8, 12, 13, 14, 255, 256, 65535, 65536}) {
    EXPECT_EQ(Outcome(Formula(absl::StrCat("digits(", value, ")"))),
              absl::StrCat(BinaryDigits(value)));
    EXPECT_EQ(of_n.Evaluate({{"n", value}}).value(), BinaryDigits(value));
    const int64_t capped = std::min<int64_t>(value, 12) + 1;
    EXPECT_EQ(few.Evaluate({{"n", value}}).value(), BinaryDigits(capped));
  }
  EXPECT_EQ(of_n.Evaluate({{"n", (int64_t{1} << 40) - 1}}).value(), 40);
  EXPECT_EQ(of_n.Evaluate({{"n", int64_t{1} << 40}}).value(), 40);
  EXPECT_EQ(Formula("digits(min(n, 3))")->ToString(),
            "floor(min(3, n)/2) + 1");  // the first digit is always there
  EXPECT_EQ(Formula("digits(min(n, 4) - 1)")->UpperBound(), absl::int128(2));
  ExpectOutcomes({{"digits(0)", "0"},
                  {"digits(0 - 5)", "0"},
                  {"digits(3 < 4)", "1"},
                  {"digits(nosuch)", "column 8: no size is called nosuch"},
                  {"digits(bad)", "column 11: the value divides by zero"},
                  {"digits(1, 2)", "column 9: expected ')', found ','"}});
}

// ---- Errors ----

TEST(FormulaTest, ErrorsSayWhere) {
  ExpectOutcomes(
      {{"2^n", "column 4: the power n is no number"},
       {"2^(0 - 1) ", "column 10: the power -1 is no number"},
       {"2^99999999999999999999", "column 23: the power 99999999999999999999 is no number"},
       {"n^1001", "column 7: the power has a degree above 1000 (degree)"},
       {"2^-1", "column 3: expected a number, a name or '(', found '-'"},
       {"n^1000//n^998", "n^2"},
       {"bad", "column 4: the value divides by zero"},
       {"-bad", "column 5: the value divides by zero"},
       {"n + bad*2", "column 8: the value divides by zero"},
       {"max(bad, 1)", "column 8: the value divides by zero"},
       {"floor(n/zero)", "column 14: the value divides by zero"},
       {"n//zero*2", "column 8: the value divides by zero"},
       {"n*nosuch", "column 3: no size is called nosuch"},
       {"1 < nosuch", "column 5: no size is called nosuch"},
       {"nosuch < 1", "column 1: no size is called nosuch"},
       {"1 < 2 < 3", "column 7: expected an operator, found '<'"},
       {"1 = 2", "column 3: expected an operator, found '='"},
       {"if(1, 2)", "column 8: expected ',', found ')'"},
       {"if(1 2, 3)", "column 6: expected ',', found '2'"},
       {"if(1, 2, 3", "column 11: expected ')', found the end"},
       {"if + 1", "column 1: no size is called if"},
       {"digits", "column 1: no size is called digits"},
       {"min()", "column 5: expected a number, a name or '(', found ')'"},
       {"min(1 2)", "column 7: expected ')', found '2'"},
       {"floor(1)", "column 8: expected '/', found ')'"},
       {"floor(1/2", "column 10: expected ')', found the end"},
       {"'n'", "column 1: expected a number, a name or '(', found '''"},
       {"n + \xc3\xa9", "column 5: expected a number, a name or '(', found '\xc3\xa9'"},
       {"n \xff", "column 3: expected an operator, found '\\xff'"},
       {std::string("n\0", 2), "column 2: expected an operator, found '\\x00'"},
       {"1701411834604692317316873037158841057270", "column 40: the number overflows 128 bits"}});
}

std::string Nested(int parentheses, const std::string& inside) {
  const auto count = static_cast<size_t>(parentheses);
  return std::string(count, '(') + inside + std::string(count, ')');
}

// Only what is open at a place counts, not what was closed before.
TEST(FormulaTest, DepthAndLengthAreLimited) {
  const std::string too_deep = "nested more than 100 deep (parsed-depth)";
  std::string many = "(n)";
  for (int i = 1; i < 300; ++i) many += " + (1)";
  ExpectOutcomes({{Nested(100, "1"), "1"},
                  {Nested(101, "1"), absl::StrCat("column 101: ", too_deep)},
                  {Nested(99, "n"), "n"},
                  {Nested(100, "n"), absl::StrCat("column 101: ", too_deep)},
                  {many, "n + 299"},
                  {std::string(kMaxParsedChars - 1, ' ') + "1", "1"},
                  {std::string(kMaxParsedChars, ' ') + "1",
                   "column 16385: the expression has more than 16384 characters (parsed-chars)"}});
}

// An operand of two terms where one or two are allowed.
TEST(FormulaTest, TermsOfOperandsAreLimited) {
  const struct {
    const char *text, *outcome;
    int column;  // where it is noticed that there are too many
  } cases[] = {
      {"(s1 + s2)*s3", "s1*s3 + s2*s3", 11},
      {"s3*(s1 + s2)", "s1*s3 + s2*s3", 13},
      {"(s1 + s2)//s3", "floor((s1 + s2)/s3)", 12},
      {"min(s1 + s2, s3)", "min(s1 + s2, s3)", 16},
      {"max(s1 + s2, s3)", "max(s1 + s2, s3)", 16},
      {"floor((s1 + s2)/s3)", "floor((s1 + s2)/s3)", 20},
      {"floor(s3/(s1 + s2))", "floor(s3/(s1 + s2))", 20},
      {"broadcast(s1 + s2, s3)", "broadcast(s1 + s2, s3)", 22},
      {"(s1 + s2)^1", "s1 + s2", 11},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Outcome(ParseFormula(c.text, ValueOf, 2)), c.outcome);
    EXPECT_EQ(Outcome(ParseFormula(c.text, ValueOf, 1)),
              absl::StrCat("column ", c.column, ": the value has more than 1 terms (parsed-terms)"))
        << c.text;
    EXPECT_EQ(ParseExpr(c.text, 1, 1).ok(), false);
  }
  EXPECT_EQ(Outcome(ParseFormula("s1 + s2 + s3", ValueOf, 1)), "s1 + s2 + s3");
}

// (a + b)^k has k + 1 terms, (a + b + c)^k has (k + 1)(k + 2)/2.
TEST(FormulaTest, TermsOfPowersAreLimited) {
  const std::string sums[] = {"(s1 + s2)", "(s1 + s2 + s3)"};
  for (size_t power = 1; power < 12; ++power) {
    for (size_t i = 0; i < 2; ++i) {
      const size_t terms = i == 0 ? power + 1 : (power + 1) * (power + 2) / 2;
      const std::string text = absl::StrCat(sums[i], "^", power);
      EXPECT_TRUE(ParseFormula(text, ValueOf, terms).ok()) << text;
      EXPECT_FALSE(ParseFormula(text, ValueOf, terms - 1).ok()) << text;
    }
  }
}

std::string SumText(int terms) {
  std::string text = "s0";
  for (int i = 1; i < terms; ++i) absl::StrAppend(&text, "+s", i);
  return text;
}

TEST(FormulaTest, TermsOfConditionalsAreLimited) {
  const std::string most = SumText(200), more = SumText(201);
  const std::string error = "the value has more than 200 terms (parsed-terms)";
  const auto expect = [&](const std::string& form, bool good) {
    const std::string outcome = Outcome(Formula(form, false));
    EXPECT_EQ(absl::EndsWith(outcome, error), !good) << form << ": " << outcome;
  };
  expect(absl::StrCat("if(n - m, ", most, ", 1)"), true);
  expect(absl::StrCat("if(n - m, ", more, ", 1)"), false);
  expect(absl::StrCat("if(n - m, 1, ", most, ")"), true);
  expect(absl::StrCat("if(n - m, 1, ", more, ")"), false);
  expect(absl::StrCat("digits(", more, ")"), false);
  expect(absl::StrCat("if(zero, 1, ", more, ")"), true);
}

// Without parts and conditions.
TEST(FormulaTest, ExpressionsHaveLess) {
  const std::pair<const char*, const char*> cases[] = {
      {"n < m", "column 3: expected an operator, found '<'"},
      {"x[1]", "column 2: expected an operator, found '['"},
      {"if(1, 2, 3)", "column 3: expected an operator, found '('"},
      {"digits(1 + 1)", "column 7: expected an operator, found '('"},
      {"n^(1)", "column 3: expected an integer, found '('"},
      {"n ^ 2", "n^2"},
      {"+n", "n"},
      {"+ n + 1", "n + 1"},
      {"n + +1", "column 5: expected a number, a name or '(', found '+'"},
      {"--n", "n"},
      {"---n", "-n"},
      {"2 - -n^2", "n^2 + 2"},
      {"-2^2", "-4"},
      {"2 * -3", "-6"},
      {"7//-2", "-4"},
      {"2*3//4", "1"},
      {"\tn\n", "n"},
  };
  for (const auto& [text, outcome] : cases) EXPECT_EQ(Outcome(ParseExpr(text)), outcome) << text;
}

}  // namespace
}  // namespace onnxflops::parse_test
