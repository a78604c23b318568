// How it works. Shape arithmetic is evaluated on symbols, in integer and in float tensors. Integers
// are expressions. Floats are doubles, rounded to their type; but exporters also divide sizes in
// floats ("floor(h / 2)"), so a float may be a fraction: an expression over a literal. A result is
// known only if it is exactly what a runtime computes. Therefore factors are limited to 2^12, with
// which products of usual sizes are exact in float32, and a fraction whose denominator is no power
// of two has been rounded already: only Floor, Ceil or Cast may follow. Everything else is unknown,
// which is safe.
#include "ops/evaluate.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "ops/rules.h"

namespace onnxflops {

namespace {

// ---- exact fractions of symbolic sizes, in float tensors

// Denominators and multipliers up to here, times sizes up to 2^12, are exact in a float32's 24
// bits. A larger product may be rounded, but only above the fraction that decides a floor.
constexpr int64_t kMaxFactor = 4096;

struct Fraction {
  Expr numerator;
  int64_t denominator = 1;
};

bool IsPowerOfTwo(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

std::optional<Fraction> AsFraction(const Scalar& x) {
  if (x.is_int()) return Fraction{x.i, 1};
  if (x.is_ratio()) return Fraction{x.i, static_cast<int64_t>(x.f)};
  if (!x.is_float() || !(std::abs(x.f) <= 0x1p40)) return std::nullopt;
  for (int64_t denominator = 1; denominator <= kMaxFactor; denominator *= 2) {
    const double numerator = x.f * static_cast<double>(denominator);
    if (numerator == std::floor(numerator)) {
      return Fraction{static_cast<int64_t>(numerator), denominator};
    }
  }
  return std::nullopt;
}

Scalar FromFraction(Fraction x) {
  if (x.numerator.error() != nullptr) return {};
  if (x.numerator.is_literal()) {
    return Scalar::Float(static_cast<double>(x.numerator.literal()) /
                         static_cast<double>(x.denominator));
  }
  while (x.denominator % 2 == 0) {
    std::optional<Expr> half = DivideExactly(x.numerator, 2);
    if (!half.has_value()) break;
    x.numerator = *std::move(half);
    x.denominator /= 2;
  }
  if (std::optional<Expr> whole = DivideExactly(x.numerator, x.denominator)) {
    return Scalar::Int(*std::move(whole));
  }
  if (x.denominator > kMaxFactor) return {};
  return Scalar::Ratio(std::move(x.numerator), x.denominator);
}

// An operand for further arithmetic. n/3 has been rounded, so only a Floor, Ceil or Cast may
// follow.
std::optional<Fraction> ExactOperand(const Scalar& x) {
  std::optional<Fraction> fraction = AsFraction(x);
  if (fraction.has_value() && !IsPowerOfTwo(fraction->denominator)) return std::nullopt;
  return fraction;
}

bool IsSmallFactor(const Expr& e) {
  return !e.is_literal() || (e.literal() <= kMaxFactor && e.literal() >= -kMaxFactor);
}

Scalar AddFractions(const Scalar& x, const Scalar& y, int sign) {
  std::optional<Fraction> a = ExactOperand(x), b = ExactOperand(y);
  if (!a.has_value() || !b.has_value()) return {};
  return FromFraction({a->numerator * b->denominator + sign * (b->numerator * a->denominator),
                       a->denominator * b->denominator});
}

Scalar MulFractions(const Scalar& x, const Scalar& y) {
  std::optional<Fraction> a = ExactOperand(x), b = ExactOperand(y);
  if (!a.has_value() || !b.has_value()) return {};
  if (!IsSmallFactor(a->numerator) || !IsSmallFactor(b->numerator)) return {};
  return FromFraction({a->numerator * b->numerator, a->denominator * b->denominator});
}

Scalar DivFractions(const Scalar& x, const Scalar& y) {
  std::optional<Fraction> a = ExactOperand(x), b = ExactOperand(y);
  if (!a.has_value() || !b.has_value() || b->numerator == Expr(0)) return {};
  const Expr numerator = a->numerator * b->denominator;
  const Expr denominator = b->numerator * a->denominator;
  if (std::optional<Expr> whole = DivideExactly(numerator, denominator)) {
    return FromFraction({*std::move(whole), 1});
  }
  std::optional<int64_t> literal = denominator.AsInt64();
  if (!literal.has_value() || !IsSmallFactor(denominator)) return {};
  return *literal > 0 ? FromFraction({numerator, *literal})
                      : FromFraction({-1 * numerator, -*literal});
}

// ---- integers

// Integers, or floats that are whole numbers of symbolic size.
bool BothInts(Scalars x) { return x[0].is_int() && x[1].is_int(); }

bool BothFloats(Scalars x) { return x.size() == 2 && x[0].is_float() && x[1].is_float(); }

bool BothKnown(Scalars x) { return x.size() == 2 && x[0].known() && x[1].known(); }

bool AllKnown(Scalars x) {
  for (const Scalar& s : x) {
    if (!s.known()) return false;
  }
  return !x.empty();
}

// a / b towards zero. nullopt where b may have either sign, or is 0.
std::optional<Expr> TruncDiv(const Expr& a, const Expr& b) {
  if (b == Expr(0)) return std::nullopt;
  if (a.is_literal() && b.is_literal()) return Expr(a.literal() / b.literal());
  if (std::optional<Expr> exact = DivideExactly(a, b)) return exact;
  if (!b.AtLeast(0)) {
    if (!(0 - b).AtLeast(0)) return std::nullopt;
    std::optional<Expr> positive = TruncDiv(a, 0 - b);
    if (!positive.has_value()) return std::nullopt;
    return 0 - *positive;
  }
  // Either a or -a is not positive, so one of the two terms is 0.
  return FloorDiv(Max(a, 0), b) - FloorDiv(Max(0 - a, 0), b);
}

// A number known as a double: a float, or a literal integer.
std::optional<double> AsDouble(const Scalar& x) {
  if (x.is_float()) return x.f;
  if (x.is_int() && x.i.is_literal()) return static_cast<double>(x.i.literal());
  return std::nullopt;
}

template <typename Function>
Scalar OfDouble(const Scalar& x, DType type, Function function) {
  std::optional<double> value = AsDouble(x);
  return value.has_value() ? InType(Scalar::Float(function(*value)), type) : Scalar{};
}

// Applies a function of two elements from left to right.
Scalar Fold(Scalars x, DType type, EvaluateFn function) {
  if (!AllKnown(x)) return {};
  Scalar result = x[0];
  for (const Scalar& s : x.subspan(1)) {
    const std::array<Scalar, 2> pair = {std::move(result), s};
    result = function(pair, type);
  }
  return result;
}

}  // namespace

// ---- arithmetic

Scalar EvaluateAdd(Scalars x, DType type) {
  if (!BothKnown(x)) return {};
  if (BothFloats(x)) return InType(Scalar::Float(x[0].f + x[1].f), type);
  if (BothInts(x)) return InType(Scalar::Int(x[0].i + x[1].i), type);
  return InType(AddFractions(x[0], x[1], 1), type);
}

Scalar EvaluateSub(Scalars x, DType type) {
  if (!BothKnown(x)) return {};
  if (BothFloats(x)) return InType(Scalar::Float(x[0].f - x[1].f), type);
  if (BothInts(x)) return InType(Scalar::Int(x[0].i - x[1].i), type);
  return InType(AddFractions(x[0], x[1], -1), type);
}

Scalar EvaluateMul(Scalars x, DType type) {
  if (!BothKnown(x)) return {};
  if (BothFloats(x)) return InType(Scalar::Float(x[0].f * x[1].f), type);
  if (BothInts(x)) return InType(Scalar::Int(x[0].i * x[1].i), type);
  return InType(MulFractions(x[0], x[1]), type);
}

Scalar EvaluateDiv(Scalars x, DType type) {
  if (!BothKnown(x)) return {};
  if (BothFloats(x)) return InType(Scalar::Float(x[0].f / x[1].f), type);
  if (IsFloat(type)) return InType(DivFractions(x[0], x[1]), type);
  if (!BothInts(x)) return {};
  std::optional<Expr> quotient = TruncDiv(x[0].i, x[1].i);
  return quotient.has_value() ? InType(Scalar::Int(*std::move(quotient)), type) : Scalar{};
}

Scalar EvaluateMod(Scalars x, DType type) {
  if (!BothKnown(x)) return {};
  if (BothFloats(x)) {
    const double remainder = std::fmod(x[0].f, x[1].f);
    const bool flip = remainder != 0 && (remainder < 0) != (x[1].f < 0);
    return InType(Scalar::Float(flip ? remainder + x[1].f : remainder), type);
  }
  if (!BothInts(x) || x[1].i == Expr(0)) return {};
  return InType(Scalar::Int(Mod(x[0].i, x[1].i)), type);
}

Scalar EvaluateTruncMod(Scalars x, DType type) {
  if (!BothKnown(x)) return {};
  if (BothFloats(x)) return InType(Scalar::Float(std::fmod(x[0].f, x[1].f)), type);
  if (!BothInts(x)) return {};
  std::optional<Expr> quotient = TruncDiv(x[0].i, x[1].i);
  if (!quotient.has_value()) return {};
  return InType(Scalar::Int(x[0].i - x[1].i * *quotient), type);
}

Scalar EvaluatePow(Scalars x, DType type) {
  if (!BothKnown(x)) return {};
  std::optional<double> exponent = AsDouble(x[1]);
  if (x[0].is_float() && exponent.has_value()) {
    return InType(Scalar::Float(std::pow(x[0].f, *exponent)), type);
  }
  if (!x[0].is_int() || !exponent.has_value() || *exponent != std::floor(*exponent)) return {};
  // Beyond 63 only powers of 0, 1 and -1 fit int64; areas and volumes are what sizes are raised to.
  const double largest = x[0].i.is_literal() ? 63 : 4;
  if (*exponent < 0 || *exponent > largest) return {};
  return InType(Scalar::Int(Power(x[0].i, static_cast<int>(*exponent))), type);
}

Scalar EvaluateSum(Scalars x, DType type) { return Fold(x, type, EvaluateAdd); }

Scalar EvaluateMean(Scalars x, DType type) {
  const Scalar mean[] = {EvaluateSum(x, type), Scalar::Float(static_cast<double>(x.size()))};
  return EvaluateDiv(mean, type);
}

namespace {

// The lesser or the greater of two elements.
template <bool greater>
Scalar EvaluateExtreme(Scalars pair, DType type) {
  std::optional<Fraction> a = AsFraction(pair[0]), b = AsFraction(pair[1]);
  if (!BothFloats(pair) && a.has_value() && b.has_value() && a->denominator == 1 &&
      b->denominator == 1) {
    const Expr extreme =
        greater ? Max(a->numerator, b->numerator) : Min(a->numerator, b->numerator);
    return InType(Scalar::Int(extreme), type);
  }
  const Scalar less = EvaluateLess(pair, DType::kBool);
  if (!less.known()) return {};
  return pair[(less.i == Expr(1)) == greater ? 1 : 0];
}

}  // namespace

Scalar EvaluateMin(Scalars x, DType type) { return Fold(x, type, EvaluateExtreme<false>); }

Scalar EvaluateMax(Scalars x, DType type) { return Fold(x, type, EvaluateExtreme<true>); }

Scalar EvaluateRelu(Scalars x, DType type) {
  const Scalar pair[] = {x[0], InType(Scalar::Int(0), type)};
  return EvaluateMax(pair, type);
}

// ---- of one input

Scalar EvaluateNeg(Scalars x, DType type) {
  if (x[0].is_float()) return Scalar::Float(-x[0].f);
  if (x[0].is_ratio()) return Scalar::Ratio(0 - x[0].i, static_cast<int64_t>(x[0].f));
  return x[0].is_int() ? InType(Scalar::Int(0 - x[0].i), type) : Scalar{};
}

Scalar EvaluateAbs(Scalars x, DType type) {
  if (x[0].is_float()) return Scalar::Float(std::abs(x[0].f));
  if (!x[0].known() || x[0].i.AtLeast(0)) return x[0];
  if (x[0].is_int()) return InType(Scalar::Int(Max(x[0].i, 0 - x[0].i)), type);
  return {};
}

Scalar EvaluateSign(Scalars x, DType type) {
  if (x[0].is_float()) {
    const double f = x[0].f;
    return std::isnan(f) ? x[0] : Scalar::Float(f > 0 ? 1 : f < 0 ? -1 : 0);
  }
  if (!x[0].known()) return {};
  if (x[0].i.AtLeast(1)) return InType(Scalar::Int(1), type);
  if (x[0].i == Expr(0)) return InType(Scalar::Int(0), type);
  return (-1 - x[0].i).AtLeast(0) ? InType(Scalar::Int(-1), type) : Scalar{};
}

Scalar EvaluateFloor(Scalars x, DType type) {
  if (x[0].is_ratio()) {
    return InType(Scalar::Int(FloorDiv(x[0].i, static_cast<int64_t>(x[0].f))), type);
  }
  return x[0].is_float() ? Scalar::Float(std::floor(x[0].f)) : x[0];
}

Scalar EvaluateCeil(Scalars x, DType type) {
  if (x[0].is_ratio()) {
    return InType(Scalar::Int(CeilDiv(x[0].i, static_cast<int64_t>(x[0].f))), type);
  }
  return x[0].is_float() ? Scalar::Float(std::ceil(x[0].f)) : x[0];
}

Scalar EvaluateRound(Scalars x, DType) {
  if (x[0].is_ratio()) return {};
  return x[0].is_float() ? Scalar::Float(std::nearbyint(x[0].f)) : x[0];
}

Scalar EvaluateReciprocal(Scalars x, DType type) {
  const Scalar quotient[] = {Scalar::Float(1), x[0]};
  return EvaluateDiv(quotient, type);
}

Scalar EvaluateSqrt(Scalars x, DType type) {
  return OfDouble(x[0], type, [](double v) { return std::sqrt(v); });
}

Scalar EvaluateExp(Scalars x, DType type) {
  return OfDouble(x[0], type, [](double v) { return std::exp(v); });
}

Scalar EvaluateLog(Scalars x, DType type) {
  return OfDouble(x[0], type, [](double v) { return std::log(v); });
}

Scalar EvaluateCast(Scalars x, DType type) { return InType(x[0], type); }

Scalar EvaluateIsNaN(Scalars x, DType) {
  if (!x[0].known()) return {};
  return Scalar::Int(x[0].is_float() && std::isnan(x[0].f) ? 1 : 0);
}

// ---- with boolean results

namespace {

Scalar Bool(std::optional<bool> value) {
  return value.has_value() ? Scalar::Int(*value ? 1 : 0) : Scalar{};
}

Scalar Inverted(const Scalar& x) {
  return x.known() ? Scalar::Int(x.i == Expr(0) ? 1 : 0) : Scalar{};
}

// Two elements on one denominator, for comparing.
std::optional<std::pair<Expr, Expr>> Comparable(Scalars x) {
  if (!BothKnown(x)) return std::nullopt;
  if (BothInts(x)) return std::pair(x[0].i, x[1].i);
  std::optional<Fraction> a = AsFraction(x[0]), b = AsFraction(x[1]);
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  return std::pair(a->numerator * b->denominator, b->numerator * a->denominator);
}

}  // namespace

Scalar EvaluateEqual(Scalars x, DType) {
  if (BothFloats(x)) return Bool(x[0].f == x[1].f);
  const auto pair = Comparable(x);
  return pair.has_value() ? Bool(ProvablyEqual(pair->first, pair->second)) : Scalar{};
}

Scalar EvaluateLess(Scalars x, DType) {
  if (BothFloats(x)) return Bool(x[0].f < x[1].f);
  const auto pair = Comparable(x);
  return pair.has_value() ? Bool(ProvablyLess(pair->first, pair->second)) : Scalar{};
}

Scalar EvaluateGreater(Scalars x, DType type) {
  if (x.size() != 2) return {};
  const Scalar swapped[] = {x[1], x[0]};
  return EvaluateLess(swapped, type);
}

Scalar EvaluateLessOrEqual(Scalars x, DType type) {
  if (BothFloats(x)) return Bool(x[0].f <= x[1].f);
  return Inverted(EvaluateGreater(x, type));
}

Scalar EvaluateGreaterOrEqual(Scalars x, DType type) {
  if (BothFloats(x)) return Bool(x[0].f >= x[1].f);
  return Inverted(EvaluateLess(x, type));
}

Scalar EvaluateNot(Scalars x, DType) { return Inverted(x[0]); }

Scalar EvaluateAnd(Scalars x, DType) {
  for (const Scalar& s : x) {
    if (s.is_int() && s.i == Expr(0)) return s;
  }
  return AllKnown(x) ? Scalar::Int(1) : Scalar{};
}

Scalar EvaluateOr(Scalars x, DType) {
  for (const Scalar& s : x) {
    if (s.is_int() && s.i == Expr(1)) return s;
  }
  return AllKnown(x) ? Scalar::Int(0) : Scalar{};
}

Scalar EvaluateXor(Scalars x, DType) {
  return BothKnown(x) ? Scalar::Int(x[0].i == x[1].i ? 0 : 1) : Scalar{};
}

Scalar EvaluateWhere(Scalars x, DType) {
  if (x[0].is_int() && x[0].i.is_literal()) return x[0].i == Expr(0) ? x[2] : x[1];
  return x[1] == x[2] ? x[1] : Scalar{};
}

}  // namespace onnxflops
