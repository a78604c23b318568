// How it works. Evaluation of an expression at sizes. An expression is a sum of terms, products of
// atoms; atoms are symbols or operations on expressions, so evaluation follows this structure. The
// nesting is limited when atoms are made, so recursion is safe. A total mentions few symbols in
// many terms, so the values of the first 16 atoms are remembered in a small array. Every step is
// checked for overflow of 128 bits, and the work for its limit.
//
// Substitute() first tries to evaluate, which is fast and needs no expressions; only if a symbol
// stays open is the expression rebuilt, each atom once. PointValues are values at fixed
// pseudo-random sizes of all magnitudes: a comparison that a sample contradicts need not be tried
// by proof. They depend on names only, so that every process decides the same.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/setting.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/point_values.h"
#include "src/symbolic/poly.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

using namespace symbolic;  // NOLINT(google-build-using-namespace): internals of Expr

namespace {

// Evaluates one expression. Remembers the values of the atoms met first: a total mentions the same
// few symbols in every term. Sizes::Of gives a symbol's value, or fails.
template <typename Sizes>
class Evaluator {
 public:
  explicit Evaluator(Sizes sizes) : sizes_(sizes) {}

  // These return false if there is no value; then the status has the reason, if Sizes::kExplains.
  bool Value(const Expr& e, Int* out);
  const absl::Status& status() const { return status_; }

 private:
  bool AtomValue(const Atom& atom, Int* out);
  bool Compute(const Atom& atom, Int* out);
  bool BroadcastValue(const Atom& atom, Int* out);
  template <typename MakeStatus>
  bool Fail(MakeStatus make) {
    if constexpr (Sizes::kExplains) status_ = make();
    return false;
  }
  bool Overflow() {
    return Fail([] { return absl::OutOfRangeError(kOverflow); });
  }

  static constexpr size_t kRemembered = 16;
  const Sizes sizes_;
  absl::InlinedVector<std::pair<const Atom*, Int>, kRemembered> known_;
  absl::Status status_;
};

absl::Status ErrorOf(const char* error) {
  return error == kZeroDivision || error == kMismatch ? absl::InvalidArgumentError(error)
                                                      : LimitError(LimitOf(error), error);
}

template <typename Sizes>
bool Evaluator<Sizes>::Value(const Expr& e, Int* out) {
  if (e.is_literal()) {
    *out = LiteralOf(e);
    return true;
  }
  if (const char* error = e.error()) return Fail([error] { return ErrorOf(error); });
  if (!SpendTerms(TermsOf(e).size())) return Fail([] { return ErrorOf(kTooMuchWork); });
  Int sum = 0;
  for (const Term& t : TermsOf(e)) {
    Int product = t.coefficient;
    for (const Factor& f : t.factors) {
      Int value;
      if (!AtomValue(*f.atom, &value)) return false;
      if (f.power != 1 && !PowInt(value, f.power, &value)) return Overflow();
      if (!MulInt(product, value, &product)) return Overflow();
    }
    if (!AddInt(sum, product, &sum)) return Overflow();
  }
  *out = sum;
  return true;
}

template <typename Sizes>
bool Evaluator<Sizes>::AtomValue(const Atom& atom, Int* out) {
  for (const auto& [known, value] : known_) {
    if (known == &atom) {
      *out = value;
      return true;
    }
  }
  if (!Compute(atom, out)) return false;
  if (known_.size() < kRemembered) known_.emplace_back(&atom, *out);
  return true;
}

template <typename Sizes>
bool Evaluator<Sizes>::Compute(const Atom& atom, Int* out) {
  if (atom.kind == Kind::kSymbol) {
    return sizes_.Of(atom, out) || Fail([&atom] {
             return absl::FailedPreconditionError(
                 absl::StrCat("symbol ", QuotedSymbol(atom.name), " is not bound (bind it with ",
                              Setting("dim", absl::StrCat(atom.name, "=N")), ")"));
           });
  }
  if (atom.kind == Kind::kBroadcast) return BroadcastValue(atom, out);
  if (!Value(atom.args[0], out)) return false;
  for (size_t i = 1; i < atom.args.size(); ++i) {
    Int value;
    if (!Value(atom.args[i], &value)) return false;
    if (atom.kind == Kind::kMin) {
      *out = std::min(*out, value);
    } else if (atom.kind == Kind::kMax) {
      *out = std::max(*out, value);
    } else if (value == 0) {
      return Fail([&atom] {
        return absl::InvalidArgumentError(
            absl::StrCat(kZeroDivision, ": ", atom.args[1].ToString(), " is 0"));
      });
    } else if (!FloorDivInt(*out, value, out)) {
      return Overflow();
    }
  }
  return true;
}

template <typename Sizes>
bool Evaluator<Sizes>::BroadcastValue(const Atom& atom, Int* out) {
  *out = 1;
  const Expr* from = nullptr;
  for (const Expr& e : atom.args) {
    Int value;
    if (!Value(e, &value)) return false;
    if (value == 1 || value == *out) continue;
    if (*out != 1) {
      return Fail([&] {
        return absl::InvalidArgumentError(
            absl::StrCat("cannot broadcast ", Int128ToString(*out), " (", from->ToString(),
                         ") with ", Int128ToString(value), " (", e.ToString(), ")"));
      });
    }
    *out = value;
    from = &e;
  }
  return true;
}

// Sizes that a user gives.
struct Given {
  static constexpr bool kExplains = true;
  const Bindings& bindings;

  bool Of(const Atom& atom, Int* out) const {
    const auto it = bindings.find(atom.name);
    if (it == bindings.end()) return false;
    *out = it->second;
    return true;
  }
};

// Sizes of all magnitudes, different for each symbol, the same in every process. At odd points half
// of them have their least value.
struct Sampled {
  static constexpr bool kExplains = false;
  static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  static constexpr int kMostBits = 30;
  const uint64_t point;

  bool Of(const Atom& atom, Int* out) const {
    uint64_t bits = (atom.name_hash + point * kGolden) * kGolden;
    bits = (bits ^ bits >> 29) * kGolden;
    bits ^= bits >> 32;
    *out = *atom.range.lo;
    if (point % 2 == 1 && bits % 2 == 0) return true;
    const uint64_t size = (bits >> 16) % (uint64_t{1} << (bits >> 8) % (kMostBits + 1));
    *out += static_cast<Int>(size);
    return true;
  }
};

// Replaces symbols, bottom up, each atom once.
template <typename Values>
class Substituter {
 public:
  explicit Substituter(const Values& values) : values_(values) {}

  Expr Rebuild(const Expr& e);

 private:
  Expr RebuildAtom(const std::shared_ptr<const Atom>& atom);
  Expr Compute(const Atom& atom);

  const Values& values_;
  absl::flat_hash_map<const Atom*, Expr> done_;
};

template <typename Values>
Expr Substituter<Values>::Rebuild(const Expr& e) {
  if (e.is_literal() || e.error() != nullptr) return e;
  TermAccumulator sum;
  for (const Term& t : TermsOf(e)) {
    Expr product = Literal(t.coefficient);
    for (const Factor& f : t.factors) product *= Power(RebuildAtom(f.atom), f.power);
    sum.Add(product);
    if (sum.error() != nullptr) break;
  }
  return std::move(sum).Finish();
}

template <typename Values>
Expr Substituter<Values>::RebuildAtom(const std::shared_ptr<const Atom>& atom) {
  if (const auto it = done_.find(atom.get()); it != done_.end()) return it->second;
  Expr result;
  if (atom->kind == Kind::kSymbol) {
    const auto it = values_.find(atom->name);
    result = it == values_.end() ? FromAtom(atom) : Expr(it->second);
  } else {
    result = Compute(*atom);
  }
  done_.emplace(atom.get(), result);
  return result;
}

template <typename Values>
Expr Substituter<Values>::Compute(const Atom& atom) {
  Expr result = Rebuild(atom.args[0]);
  for (size_t i = 1; i < atom.args.size(); ++i) {
    const Expr arg = Rebuild(atom.args[i]);
    if (atom.kind == Kind::kFloorDiv) {
      result = FloorDiv(result, arg);
    } else if (atom.kind == Kind::kBroadcast) {
      const std::optional<Expr> size = BroadcastDim(result, arg);
      result = size ? *size : Error(kMismatch);
    } else {
      result = MinOrMax(atom.kind, result, arg);
    }
  }
  return result;
}

class SymbolCollector {
 public:
  void Visit(const Expr& e) {
    if (e.is_literal() || e.error() != nullptr || !SpendTerms(TermsOf(e).size())) return;
    for (const Term& t : TermsOf(e)) {
      for (const Factor& f : t.factors) {
        if (!visited_.insert(f.atom.get()).second) continue;
        if (f.atom->kind == Kind::kSymbol) names_.insert(f.atom->name);
        for (const Expr& arg : f.atom->args) Visit(arg);
      }
    }
  }
  std::vector<std::string> Names() const { return {names_.begin(), names_.end()}; }

 private:
  absl::flat_hash_set<const Atom*> visited_;
  absl::btree_set<std::string> names_;
};
}  // namespace

PointValues::PointValues(const Expr& e) {
  // For higher degrees no refined bound is looked for, and most samples would overflow.
  if (!e.is_literal() && e.error() == nullptr && TermsOf(e)[0].degree > kMaxRefinedDegree) {
    unknown_.fill(1);
    return;
  }
  for (size_t point = 0; point < kPoints; ++point) {
    Int value;
    const bool known = Evaluator(Sampled{point}).Value(e, &value) && IsSmall(value);
    values_[point] = known ? absl::int128(value) : 0;
    unknown_[point] = known ? 0 : 1;
  }
}

absl::StatusOr<absl::int128> Expr::Evaluate(const Bindings& bindings) const {
  Evaluator evaluator(Given{bindings});
  Int value;
  if (!evaluator.Value(*this, &value)) return evaluator.status();
  return absl::int128(value);
}

Expr Expr::Substitute(const Bindings& bindings) const {
  if (bindings.empty() || is_literal()) return *this;
  // If no symbol stays open, the value is computed directly.
  Evaluator evaluator(Given{bindings});
  Int value;
  return evaluator.Value(*this, &value) ? Literal(value) : Substituter(bindings).Rebuild(*this);
}

Expr Expr::Replace(const Replacements& replacements) const {
  if (replacements.empty() || is_literal()) return *this;
  return Substituter(replacements).Rebuild(*this);
}

std::vector<std::string> Expr::Symbols() const {
  SymbolCollector collector;
  collector.Visit(*this);
  return collector.Names();
}

}  // namespace onnxflops
