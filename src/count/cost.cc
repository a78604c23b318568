#include "src/count/cost.h"

#include "absl/strings/str_cat.h"

namespace onnxflops {

absl::string_view KindName(Kind kind) {
  static constexpr absl::string_view kNames[kNumKinds] = {"mac",  "add", "mul",  "div", "cmp",
                                                          "exp",  "log", "sqrt", "pow", "trig",
                                                          "tanh", "erf", "round"};
  return kNames[static_cast<size_t>(kind)];
}

Census& Census::operator+=(const Census& other) {
  for (size_t i = 0; i < count.size(); ++i) count[i] += other.count[i];
  return *this;
}

Census& Census::operator*=(const Expr& times) {
  for (Expr& e : count) e *= times;
  return *this;
}

bool Census::IsZero() const {
  for (const Expr& e : count) {
    if (e != Expr(0)) return false;
  }
  return true;
}

Expr Census::Other() const {
  Expr sum;
  for (size_t i = 1; i < count.size(); ++i) sum += count[i];
  return sum;
}

Expr Census::Ops() const { return 2 * count[0] + Other(); }

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
