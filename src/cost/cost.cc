#include "src/cost/cost.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace onnxflops {

absl::string_view KindName(Kind kind) {
  static constexpr absl::string_view kNames[kNumKinds] = {"mac",  "add", "mul",  "div", "cmp",
                                                          "exp",  "log", "sqrt", "pow", "trig",
                                                          "tanh", "erf", "round"};
  return kNames[static_cast<size_t>(kind)];
}

Census& Census::operator=(const Census& other) {
  if (other.amounts_ == nullptr) {
    amounts_ = nullptr;
  } else if (this != &other) {
    amounts_ = std::make_unique<Amounts>(*other.amounts_);
  }
  return *this;
}

Expr& Census::operator[](Kind kind) {
  if (amounts_ == nullptr) amounts_ = std::make_unique<Amounts>();
  return (*amounts_)[static_cast<size_t>(kind)];
}

const Expr& Census::operator[](Kind kind) const {
  static const Expr& zero = *new Expr(0);
  return amounts_ == nullptr ? zero : (*amounts_)[static_cast<size_t>(kind)];
}

Census& Census::operator+=(const Census& other) {
  if (other.amounts_ == nullptr) return *this;
  if (amounts_ == nullptr) return *this = other;
  for (size_t i = 0; i < amounts_->size(); ++i) (*amounts_)[i] += (*other.amounts_)[i];
  return *this;
}

Census& Census::operator*=(const Expr& times) {
  if (amounts_ == nullptr) return *this;
  for (Expr& e : *amounts_) e *= times;
  return *this;
}

void Census::Halve() {
  if (amounts_ == nullptr) return;
  for (Expr& e : *amounts_) e = FloorDiv(e, 2);
}

bool operator==(const Census& a, const Census& b) {
  if (a.amounts_ == nullptr || b.amounts_ == nullptr) return a.IsZero() && b.IsZero();
  return *a.amounts_ == *b.amounts_;
}

bool Census::IsZero() const {
  return amounts_ == nullptr || std::all_of(amounts_->begin(), amounts_->end(),
                                            [](const Expr& e) { return e == Expr(0); });
}

Expr Census::Other() const {
  Expr sum;
  if (amounts_ == nullptr) return sum;
  for (size_t i = 1; i < amounts_->size(); ++i) sum += (*amounts_)[i];
  return sum;
}

Expr Census::Ops() const { return 2 * (*this)[Kind::kMac] + Other(); }

namespace {

void AppendCensus(const Census& census, absl::string_view prefix, std::string* out) {
  for (int i = 0; i < kNumKinds; ++i) {
    const Expr& amount = census[static_cast<Kind>(i)];
    if (amount == Expr(0)) continue;
    absl::StrAppend(out, out->empty() ? "" : " ", prefix, KindName(static_cast<Kind>(i)), "=",
                    amount.ToString());
  }
}

}  // namespace

std::string Census::ToString() const {
  std::string text;
  AppendCensus(*this, "", &text);
  return text;
}

std::string MacOperands::ToString() const {
  if (a == b && !qdq) return std::string(DTypeName(a));
  return absl::StrCat(DTypeName(a), " x ", DTypeName(b), qdq ? ", QDQ" : "");
}

std::string Cost::ToString() const {
  std::string text;
  AppendCensus(flops, "", &text);
  AppendCensus(int_ops, "int_", &text);
  return text.empty() ? "free" : text;
}

}  // namespace onnxflops
