// How it works. A parser by recursive descent computes the value while it reads. All work is
// bounded, because texts come from users and files: length, depth of nesting, terms of each operand
// and the power are checked against limits before the arithmetic is done. The first error is kept
// with its column; afterwards every function returns at once and values no longer matter.
//
// Formulas of operators have more: comparisons, if(), same(), digits(), parts of a shape. A
// condition that depends on open sizes is an error in some callers (must_decide); otherwise a
// comparison counts as true and if() as the larger of both branches, so that a cost is never too
// low. In the branch that is not chosen names are not looked up and all values are 1, since they
// may not exist there.
#include "src/symbolic/parse.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/utf8.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/poly.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

using namespace symbolic;  // NOLINT(google-build-using-namespace): internals of Expr

namespace {

// The terms of a power of a sum of `terms`, at most: (terms + power - 1) choose power.
double NumPowerTerms(int64_t terms, int power) {
  double count = 1;
  for (int64_t i = 1; i < terms; ++i) {
    count *= static_cast<double>(power + i) / static_cast<double>(i);
  }
  return count;
}

// Recursive descent, by precedence:
//   sum     = ["+"] product {("+" | "-") product}
//   product = unary {("*" | "//") unary}
//   unary   = {"-"} power
//   power   = primary ["^" integer]
//   primary = integer | name | "(" sum ")" | "floor" "(" product "/" unary ")"
//           | ("min" | "max" | "broadcast") "(" sum {"," sum} ")"
// A name is an identifier, and in expressions any written symbol: see symbol_name.h. Formulas of
// operators have more: see parse.h.
// After a failure every function returns at once; the value no longer matters.
class Parser {
 public:
  enum class Names { kIdentifiers, kSymbols };
  Parser(absl::string_view text, Names names, const NameValue& value_of, size_t max_terms)
      : text_(text), names_(names), value_of_(value_of), max_terms_(max_terms) {}
  Parser(absl::string_view text, const FormulaNames& names)
      : text_(text),
        names_(Names::kIdentifiers),
        value_of_(names.value),
        formula_(&names),
        max_terms_(kMaxParsedTerms) {}

  absl::StatusOr<Expr> Parse() {
    if (text_.size() > kMaxParsedChars) {
      pos_ = kMaxParsedChars;
      Fail(absl::StrCat("the expression has more than ", kMaxParsedChars,
                        " characters (parsed-chars)"));
    }
    Expr result = ParseComparison();
    if (Peek() != '\0' || pos_ < text_.size()) FailHere("an operator");
    if (!status_.ok()) return status_;
    return result;
  }

 private:
  Expr ParseComparison();
  Expr ParseSum();
  Expr ParseProduct();
  Expr ParseUnary();
  Expr ParsePower();
  Expr ParsePrimary();
  Expr ParseInteger();
  Expr ParseFloor();
  Expr ParseList(absl::string_view function);
  Expr ParseIf();
  Expr ParseDigits();
  Expr ParseSame();
  Expr ParseUnless(bool skip);
  Expr ParsePart(absl::string_view name);
  Expr ValueOf(absl::string_view name);
  Expr Found(absl::string_view name, const absl::StatusOr<Expr>& value);
  // The value of a condition; nullopt if it is open.
  std::optional<bool> Decide(std::optional<bool> condition, absl::string_view what);

  bool failed() const { return !status_.ok(); }
  void Fail(absl::string_view what) {
    if (failed()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat("column ", pos_ + 1, ": ", what));
  }
  void FailHere(absl::string_view expected) {
    if (pos_ >= text_.size()) {
      Fail(absl::StrCat("expected ", expected, ", found the end"));
    } else {
      uint32_t code = 0;
      const size_t length = DecodeUtf8(text_.substr(pos_), &code);
      const absl::string_view found = text_.substr(pos_, std::max<size_t>(length, 1));
      Fail(absl::StrCat("expected ", expected, ", found ", Quoted(found)));
    }
  }
  // Checks a computed value.
  Expr Checked(const Expr& e) {
    if (skipped_ > 0) return 1;
    if (e.error() != nullptr) Fail(absl::StrCat("the value ", e.error()));
    return failed() ? Expr(0) : e;
  }
  // Bounds the work of a text: an operand is read once, but may be multiplied often.
  void CheckOperand(const Expr& e) {
    if (!e.is_literal() && e.error() == nullptr && TermsOf(e).size() > max_terms_) {
      FailTerms();
    }
  }
  void FailTerms() {
    Fail(absl::StrCat("the value has more than ", max_terms_, " terms (parsed-terms)"));
  }
  // The next character that is not a space; '\0' at the end and after a failure.
  char Peek() {
    while (pos_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[pos_]))) {
      ++pos_;
    }
    return failed() || pos_ >= text_.size() ? '\0' : text_[pos_];
  }
  bool Take(absl::string_view token) {
    if (Peek() == '\0' || text_.substr(pos_, token.size()) != token) return false;
    pos_ += token.size();
    return true;
  }
  void Expect(absl::string_view token) {
    if (!Take(token)) FailHere(absl::StrCat("'", token, "'"));
  }

  // The length of a name at the start of the rest; 0 without a name.
  size_t NameLength() const {
    const absl::string_view rest = text_.substr(pos_);
    const size_t symbol = names_ == Names::kSymbols ? SymbolLength(rest) : 0;
    return symbol > 0 ? symbol : IdentifierLength(rest);
  }

  absl::string_view text_;
  const Names names_;
  const NameValue& value_of_;
  const FormulaNames* formula_ = nullptr;
  const size_t max_terms_;
  size_t pos_ = 0;
  int depth_ = 0;
  int skipped_ = 0;  // inside so many arguments that `if` does not choose: all values are 1
  absl::Status status_;
};

Expr Parser::ParseComparison() {
  Expr left = ParseSum();
  if (formula_ == nullptr || !absl::StrContains("=!<>", Peek())) return left;
  const char* const kOperators[] = {"==", "!=", "<=", ">=", "<", ">"};
  const auto* const op = std::find_if(std::begin(kOperators), std::end(kOperators),
                                      [this](const char* token) { return Take(token); });
  if (op == std::end(kOperators)) return left;
  const Expr right = ParseSum();
  if (failed()) return 0;
  const absl::string_view sign = *op;
  const bool equality = sign == "==" || sign == "!=";
  const bool swapped = sign == ">" || sign == "<=";
  const bool negated = sign == "!=" || sign == "<=" || sign == ">=";
  const std::optional<bool> holds = Decide(equality  ? ProvablyEqual(left, right)
                                           : swapped ? ProvablyLess(right, left)
                                                     : ProvablyLess(left, right),
                                           absl::StrCat(left.Shortened(kMaxShownFormula), " ", sign,
                                                        " ", right.Shortened(kMaxShownFormula)));
  return Expr(holds.value_or(true) != negated ? 1 : 0);
}

Expr Parser::ParseSum() {
  Take("+");
  Expr first = ParseProduct();
  if (Peek() != '+' && Peek() != '-') return Checked(first);
  TermAccumulator sum;
  sum.Add(first);
  while (!failed()) {
    const bool negative = Peek() == '-';
    if (!Take("+") && !Take("-")) break;
    const Expr product = ParseProduct();
    sum.Add(negative ? Negate(product) : product);
  }
  return Checked(std::move(sum).Finish());
}

Expr Parser::ParseProduct() {
  Expr result = ParseUnary();
  while (!failed()) {
    const bool times = Peek() == '*';
    if (!Take("*") && !Take("//")) break;
    CheckOperand(result);
    const Expr right = ParseUnary();
    CheckOperand(right);
    if (failed()) break;
    result = Checked(times ? result * right : FloorDiv(result, right));
  }
  return result;
}

Expr Parser::ParseUnary() {
  bool negative = false;
  while (Take("-")) negative = !negative;
  const Expr power = ParsePower();
  return negative ? Checked(Negate(power)) : power;
}

Expr Parser::ParsePower() {
  Expr base = ParsePrimary();
  if (!Take("^")) return base;
  Peek();
  CheckOperand(base);
  const Expr exponent = formula_ != nullptr ? ParsePrimary() : ParseInteger();
  if (failed() || skipped_ > 0) return failed() ? 0 : 1;
  if (!exponent.AsInt64().has_value() || exponent.literal() < 0) {
    if (formula_ == nullptr) {  // digits alone: a number beyond 64 bits
      Fail(absl::StrCat("the power ", kDegreeTooHigh));
    } else if (formula_->must_decide) {
      Fail(absl::StrCat("the power ", exponent.Shortened(kMaxShownFormula), " is no number"));
    }
    return base;
  }
  if (!failed() && exponent.literal() > kMaxDegree) {
    Fail(absl::StrCat("the power ", kDegreeTooHigh));
  }
  if (failed()) return 0;
  const int power = static_cast<int>(exponent.literal());
  if (NumPowerTerms(base.NumTerms(), power) > static_cast<double>(max_terms_)) {
    FailTerms();
    return 0;
  }
  return Checked(Power(base, power));
}

Expr Parser::ParseInteger() {
  Int value = 0;
  const size_t start = pos_;
  for (; pos_ < text_.size() && absl::ascii_isdigit(static_cast<unsigned char>(text_[pos_]));
       ++pos_) {
    if (!MulInt(value, 10, &value) || !AddInt(value, text_[pos_] - '0', &value)) {
      Fail(absl::StrCat("the number ", kOverflow));
      return 0;
    }
  }
  if (pos_ == start) FailHere("an integer");
  return Literal(value);
}

Expr Parser::ParsePrimary() {
  const char c = Peek();
  if (absl::ascii_isdigit(static_cast<unsigned char>(c))) return ParseInteger();
  const size_t length = failed() ? 0 : NameLength();
  if (length == 0 && c != '(') {
    FailHere("a number, a name or '('");
    return 0;
  }
  if (depth_ >= kMaxParsedDepth) {
    Fail(absl::StrCat("nested more than ", kMaxParsedDepth, " deep (parsed-depth)"));
    return 0;
  }
  ++depth_;
  Expr result;
  if (Take("(")) {
    result = ParseComparison();
    Expect(")");
  } else {
    const absl::string_view name = text_.substr(pos_, length);
    pos_ += length;
    if (IsFunctionName(name) && Take("(")) {
      result = name == "floor" ? ParseFloor() : ParseList(name);
    } else if (formula_ != nullptr && name == "if" && Take("(")) {
      result = ParseIf();
    } else if (formula_ != nullptr && name == "digits" && Take("(")) {
      result = ParseDigits();
    } else if (formula_ != nullptr && name == "same" && Take("(")) {
      result = ParseSame();
    } else if (formula_ != nullptr && Take("[")) {
      result = ParsePart(name);
    } else {
      result = ValueOf(name);
    }
  }
  --depth_;
  return result;
}

Expr Parser::ValueOf(absl::string_view name) {
  if (skipped_ > 0) return 1;
  return Found(name, value_of_(name));
}

Expr Parser::Found(absl::string_view name, const absl::StatusOr<Expr>& value) {
  if (value.ok() || failed()) return value.ok() ? Checked(*value) : Expr(0);
  const size_t column = static_cast<size_t>(name.data() - text_.data()) + 1;
  status_ =
      WithMessage(value.status(), absl::StrCat("column ", column, ": ", value.status().message()));
  return 0;
}

std::optional<bool> Parser::Decide(std::optional<bool> condition, absl::string_view what) {
  if (failed() || skipped_ > 0 || condition.has_value()) return condition;
  if (!formula_->must_decide) return std::nullopt;
  status_ = absl::FailedPreconditionError(
      absl::StrCat("column ", pos_ + 1, ": whether ", what, " is not known"));
  return std::nullopt;
}

// An argument of `if`. The branch not taken is only parsed.
Expr Parser::ParseUnless(bool skip) {
  if (skip) ++skipped_;
  Expr value = ParseComparison();
  if (skip) --skipped_;
  return value;
}

Expr Parser::ParseIf() {
  const Expr condition = ParseComparison();
  const std::optional<bool> zero = Decide(
      ProvablyEqual(condition, 0), absl::StrCat(condition.Shortened(kMaxShownFormula), " is 0"));
  Expect(",");
  const Expr then = ParseUnless(zero.value_or(false));
  Expect(",");
  const Expr otherwise = ParseUnless(!zero.value_or(true));
  Expect(")");
  if (failed() || skipped_ > 0) return 1;
  if (zero.has_value()) return *zero ? otherwise : then;
  CheckOperand(then);
  CheckOperand(otherwise);
  return failed() ? Expr(0) : Checked(Max(then, otherwise));
}

// The number of binary digits. For a symbol: the sum of min(value / 2^i, 1), 1 for each digit that
// it has.
Expr Parser::ParseDigits() {
  constexpr int kMostDigits = 40;  // of a symbol: no axis of a trillion elements fits into memory
  const Expr value = ParseComparison();
  Expect(")");
  CheckOperand(value);
  if (failed() || skipped_ > 0) return failed() ? 0 : 1;
  Expr digits = 0;
  if (value.is_literal()) {
    for (absl::int128 rest = value.literal(); rest > 0; rest /= 2) digits += 1;
    return digits;
  }
  const std::optional<absl::int128> most = value.UpperBound();
  absl::int128 power = 1;
  for (int i = 0; i < kMostDigits && (!most.has_value() || power <= *most); ++i, power *= 2) {
    digits += Min(FloorDiv(value, power), 1);
  }
  return Checked(digits);
}

Expr Parser::ParseSame() {
  const Expr first = ParseComparison();
  Expect(",");
  const Expr second = ParseComparison();
  Expect(")");
  if (failed() || skipped_ > 0) return failed() ? 0 : 1;
  return !first.is_literal() && second.is_literal() ? second : first;
}

Expr Parser::ParsePart(absl::string_view name) {
  FormulaPart part;
  if (Peek() != ':') part.at = ParseSum();
  if (Take(":")) {
    part.begin = std::exchange(part.at, std::nullopt);
    if (Peek() != ']') part.end = ParseSum();
  }
  Expect("]");
  if (failed() || skipped_ > 0) return 1;
  return Found(name, formula_->part(name, part));
}

Expr Parser::ParseFloor() {
  const Expr numerator = ParseProduct();
  Expect("/");
  const Expr denominator = ParseUnary();
  Expect(")");
  CheckOperand(numerator);
  CheckOperand(denominator);
  return failed() ? Expr(0) : Checked(FloorDiv(numerator, denominator));
}

Expr Parser::ParseList(absl::string_view function) {
  Expr result = ParseComparison();
  while (Take(",")) {
    const Expr next = ParseComparison();
    CheckOperand(result);
    CheckOperand(next);
    if (failed()) return 0;
    if (function == "broadcast") {
      const std::optional<Expr> size = BroadcastDim(result, next);
      result = Checked(size ? *size : Error(kMismatch));
    } else {
      result = Checked(function == "min" ? Min(result, next) : Max(result, next));
    }
  }
  Expect(")");
  return result;
}

}  // namespace

absl::StatusOr<Expr> ParseExpr(absl::string_view text, int64_t symbols_at_least, size_t max_terms) {
  const auto value_of = [&](absl::string_view name) {
    return Expr::Symbol(name, symbols_at_least);
  };
  return Parser(text, Parser::Names::kSymbols, value_of, max_terms).Parse();
}

absl::StatusOr<Expr> ParseFormula(absl::string_view text, const NameValue& value_of,
                                  size_t max_terms) {
  return Parser(text, Parser::Names::kIdentifiers, value_of, max_terms).Parse();
}

absl::StatusOr<Expr> ParseFormula(absl::string_view text, const FormulaNames& names) {
  return Parser(text, names).Parse();
}

}  // namespace onnxflops
