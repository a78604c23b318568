#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/utf8.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/poly.h"

namespace onnxflops {

using namespace symbolic;  // NOLINT(google-build-using-namespace): internals of Expr

namespace {

// By 19 digits at a time, as divisions of 128 bits take long.
std::string Digits(UInt v) {
  constexpr uint64_t kChunk = 10'000'000'000'000'000'000u;
  if (v < kChunk) return absl::StrCat(static_cast<uint64_t>(v));
  return absl::StrCat(Digits(v / kChunk),
                      absl::Dec(static_cast<uint64_t>(v % kChunk), absl::kZeroPad19));
}

bool IsSum(const Expr& e) {
  return !e.is_literal() && e.error() == nullptr && TermsOf(e).size() > 1;
}

bool IsProduct(const Expr& e) {
  if (e.is_literal() || e.error() != nullptr) return false;
  const Term& t = TermsOf(e)[0];
  return t.coefficient != 1 || t.factors.size() > 1;
}

// Writes expressions until there is more text than wanted.
class Printer {
 public:
  explicit Printer(size_t most) : most_(most) {}

  void Print(const Expr& e);
  std::string Take() && { return std::move(out_); }

 private:
  bool full() const { return out_.size() > most_; }
  void PrintTerm(const Term& t);
  void PrintAtom(const Atom& atom);
  void PrintOperand(const Expr& e, bool parenthesised) {
    if (parenthesised) out_.push_back('(');
    Print(e);
    if (parenthesised) out_.push_back(')');
  }

  const size_t most_;
  std::string out_;
};

void Printer::PrintAtom(const Atom& atom) {
  if (atom.kind == Kind::kSymbol) {
    out_.append(atom.name);
    return;
  }
  if (atom.kind == Kind::kFloorDiv) {
    const Expr &n = atom.args[0], &d = atom.args[1];
    out_.append("floor(");
    PrintOperand(n, IsSum(n));
    out_.push_back('/');
    PrintOperand(d, IsSum(d) || IsProduct(d));
  } else {
    out_.append(atom.kind == Kind::kMin ? "min(" : atom.kind == Kind::kMax ? "max(" : "broadcast(");
    for (size_t i = 0; i < atom.args.size() && !full(); ++i) {
      if (i > 0) out_.append(", ");
      Print(atom.args[i]);
    }
  }
  out_.push_back(')');
}

void Printer::PrintTerm(const Term& t) {
  const UInt magnitude = AbsInt(t.coefficient);
  bool times = magnitude != 1 || t.factors.empty();
  if (times) out_.append(Digits(magnitude));
  for (const Factor& f : t.factors) {
    if (times) out_.push_back('*');
    times = true;
    PrintAtom(*f.atom);
    if (f.power != 1) absl::StrAppend(&out_, "^", f.power);
    if (full()) return;
  }
}

void Printer::Print(const Expr& e) {
  if (e.is_literal()) {
    out_.append(Int128ToString(e.literal()));
    return;
  }
  if (const char* error = e.error()) {
    absl::StrAppend(&out_, "(", error, ")");
    return;
  }
  SpendTerms(TermsOf(e).size());
  bool first = true;
  for (const Term& t : TermsOf(e)) {
    const bool negative = t.coefficient < 0;
    out_.append(first ? (negative ? "-" : "") : (negative ? " - " : " + "));
    first = false;
    PrintTerm(t);
    if (full()) return;
  }
}

std::string PrintUpTo(const Expr& e, size_t most) {
  Printer printer(most);
  printer.Print(e);
  return std::move(printer).Take();
}

}  // namespace

std::string Expr::ToString() const { return PrintUpTo(*this, std::string::npos); }

size_t Expr::TextBytes(size_t most) const { return PrintUpTo(*this, most).size(); }

std::string Expr::Shortened(size_t most) const {
  std::string text = PrintUpTo(*this, most);
  if (text.size() <= most) return text;
  return absl::StrCat(Utf8Prefix(text, most), "...");
}

std::string Int128ToString(absl::int128 value) {
  const Int v = static_cast<Int>(value);
  return (v < 0 ? "-" : "") + Digits(AbsInt(v));
}

}  // namespace onnxflops
