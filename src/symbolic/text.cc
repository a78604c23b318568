#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/symbolic/expr.h"
#include "src/symbolic/poly.h"

namespace onnxflops {

using namespace symbolic;  // NOLINT(google-build-using-namespace): all of it is Expr's own inside

namespace {

void Print(const Expr& e, std::string* out);

void PrintOperand(const Expr& e, bool parenthesised, std::string* out) {
  if (parenthesised) out->push_back('(');
  Print(e, out);
  if (parenthesised) out->push_back(')');
}

bool IsSum(const Expr& e) {
  return !e.is_literal() && e.error() == nullptr && TermsOf(e).size() > 1;
}

bool IsProduct(const Expr& e) {
  if (e.is_literal() || e.error() != nullptr) return false;
  const Term& t = TermsOf(e)[0];
  return t.coefficient != 1 || t.factors.size() > 1;
}

void PrintAtom(const Atom& atom, std::string* out) {
  if (atom.kind == Kind::kSymbol) {
    out->append(atom.name);
    return;
  }
  if (atom.kind == Kind::kFloorDiv) {
    const Expr &n = atom.args[0], &d = atom.args[1];
    out->append("floor(");
    PrintOperand(n, IsSum(n), out);
    out->push_back('/');
    PrintOperand(d, IsSum(d) || IsProduct(d), out);
  } else {
    out->append(atom.kind == Kind::kMin ? "min(" : atom.kind == Kind::kMax ? "max(" : "broadcast(");
    for (size_t i = 0; i < atom.args.size(); ++i) {
      if (i > 0) out->append(", ");
      Print(atom.args[i], out);
    }
  }
  out->push_back(')');
}

std::string Digits(UInt v) {
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(v % 10)));
    v /= 10;
  } while (v != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

void Print(const Expr& e, std::string* out) {
  if (e.is_literal()) {
    out->append(Int128ToString(e.literal()));
    return;
  }
  if (const char* error = e.error()) {
    absl::StrAppend(out, "(", error, ")");
    return;
  }
  SpendTerms(TermsOf(e).size());
  bool first = true;
  for (const Term& t : TermsOf(e)) {
    const bool negative = t.coefficient < 0;
    out->append(first ? (negative ? "-" : "") : (negative ? " - " : " + "));
    first = false;
    const UInt magnitude = AbsInt(t.coefficient);
    bool times = magnitude != 1 || t.factors.empty();
    if (times) out->append(Digits(magnitude));
    for (const Factor& f : t.factors) {
      if (times) out->push_back('*');
      times = true;
      PrintAtom(*f.atom, out);
      if (f.power != 1) absl::StrAppend(out, "^", f.power);
    }
  }
}

}  // namespace

std::string Expr::ToString() const {
  std::string text;
  Print(*this, &text);
  return text;
}

std::string Int128ToString(absl::int128 value) {
  const Int v = static_cast<Int>(value);
  return (v < 0 ? "-" : "") + Digits(AbsInt(v));
}

}  // namespace onnxflops
