#include "src/cost/cost.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace onnxflops {

absl::string_view KindName(Kind kind) {
  static constexpr absl::string_view kNames[kNumKinds] = {"mac",  "add", "mul",  "div", "cmp",
                                                          "exp",  "log", "sqrt", "pow", "trig",
                                                          "tanh", "erf", "round"};
  return kNames[static_cast<size_t>(kind)];
}

Census& Census::operator=(const Census& other) {
  if (other.by_kind_ == nullptr) {
    by_kind_ = nullptr;
  } else if (this != &other) {
    by_kind_ = std::make_unique<ByKind>(*other.by_kind_);
  }
  return *this;
}

Expr& Census::operator[](Kind kind) {
  if (by_kind_ == nullptr) by_kind_ = std::make_unique<ByKind>();
  return (*by_kind_)[static_cast<size_t>(kind)];
}

const Expr& Census::operator[](Kind kind) const {
  static const Expr& zero = *new Expr(0);
  return by_kind_ == nullptr ? zero : (*by_kind_)[static_cast<size_t>(kind)];
}

Census& Census::operator+=(const Census& other) {
  if (other.by_kind_ == nullptr) return *this;
  if (by_kind_ == nullptr) return *this = other;
  for (size_t i = 0; i < by_kind_->size(); ++i) (*by_kind_)[i] += (*other.by_kind_)[i];
  return *this;
}

Census& Census::operator*=(const Expr& times) {
  if (by_kind_ == nullptr) return *this;
  for (Expr& e : *by_kind_) e *= times;
  return *this;
}

void Census::Halve() {
  if (by_kind_ == nullptr) return;
  for (Expr& e : *by_kind_) e = FloorDiv(e, 2);
}

absl::Status Census::CheckNotNegative() const {
  absl::Status status;
  ForEach([&](Kind kind, const Expr& amount) {
    if (!amount.is_literal() || amount.literal() >= 0) return;
    status.Update(
        absl::InvalidArgumentError(absl::StrCat("the work comes out as ", amount.ToString(), " ",
                                                KindName(kind), ", which is less than none")));
  });
  return status;
}

bool operator==(const Census& a, const Census& b) {
  if (a.by_kind_ == nullptr || b.by_kind_ == nullptr) return a.IsZero() && b.IsZero();
  return *a.by_kind_ == *b.by_kind_;
}

bool Census::IsZero() const {
  return by_kind_ == nullptr ||
         std::all_of(by_kind_->begin(), by_kind_->end(), [](const Expr& e) { return e.is_zero(); });
}

Expr Census::Other() const {
  Expr sum;
  if (by_kind_ == nullptr) return sum;
  for (size_t i = 1; i < by_kind_->size(); ++i) {
    if (!(*by_kind_)[i].is_zero()) sum += (*by_kind_)[i];
  }
  return sum;
}

Expr Census::Ops() const { return 2 * (*this)[Kind::kMac] + Other(); }

namespace {

void AppendCensus(const Census& census, absl::string_view prefix, std::string* out) {
  census.ForEach([&](Kind kind, const Expr& amount) {
    absl::StrAppend(out, out->empty() ? "" : " ", prefix, KindName(kind), "=", amount.ToString());
  });
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
