#include "src/graph/fact.h"

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/limits.h"
#include "src/symbolic/symbol_name.h"
#include "src/symbolic/work.h"

namespace onnxflops {

Expr Shape::Product(int begin, int end) const {
  Expr product = 1;
  for (int i = begin; i < end; ++i) product *= dims_[static_cast<size_t>(i)];
  return product;
}

std::string Shape::ToString() const {
  if (!ranked_) return "?";
  return absl::StrCat("[",
                      absl::StrJoin(dims_, ", ",
                                    [](std::string* out, const Expr& dim) {
                                      absl::StrAppend(out, dim.ToString());
                                    }),
                      "]");
}

bool operator==(const Scalar& a, const Scalar& b) {
  if (a.kind != b.kind || (a.is_ratio() && a.i != b.i)) return false;
  if (a.kind == Scalar::Kind::kInt) return a.i == b.i;
  // By bits: a NaN is the same content as itself, and -0 is not 0.
  return a.kind == Scalar::Kind::kUnknown ||
         absl::bit_cast<uint64_t>(a.f) == absl::bit_cast<uint64_t>(b.f);
}

const Expr& IndexSymbol(int axis) {
  // No file has a dimension of such a name: it would be written in quotes.
  static const auto* const symbols = [] {
    auto* all = new std::vector<Expr>;
    for (int i = 0; i < kMaxRank; ++i) {
      all->push_back(Expr::Symbol(DataSymbol("index", std::to_string(i))));
    }
    return all;
  }();
  return (*symbols)[static_cast<size_t>(axis)];
}

Fact Fact::Absent() {
  Fact fact;
  fact.kind = Kind::kAbsent;
  return fact;
}

Fact Fact::Tensor(DType dtype, Shape shape) {
  Fact fact;
  fact.kind = Kind::kTensor;
  fact.dtype = dtype;
  fact.shape = std::move(shape);
  return fact;
}

Fact Fact::Ints(Content content, DType dtype) {
  Fact fact = Tensor(dtype, Shape{Expr(static_cast<int64_t>(content.size()))});
  fact.content = std::make_shared<const Content>(std::move(content));
  return fact;
}

Fact Fact::ScalarOf(Scalar value, DType dtype) {
  Fact fact = Tensor(dtype, Shape{});
  fact.content = std::make_shared<const Content>(Content{std::move(value)});
  return fact;
}

Fact Fact::Sequence(Fact element, std::optional<Expr> length) {
  Fact fact;
  fact.kind = Kind::kSequence;
  fact.element = std::make_shared<const Fact>(std::move(element));
  fact.length = std::move(length);
  return fact;
}

Fact Fact::Optional(Fact element) {
  Fact fact;
  fact.kind = Kind::kOptional;
  fact.element = std::make_shared<const Fact>(std::move(element));
  return fact;
}

std::optional<Dims> Fact::KnownInts() const {
  if (content == nullptr) return std::nullopt;
  SpendSteps(2 * content->size());
  Dims ints;
  ints.reserve(content->size());
  for (const Scalar& scalar : *content) {
    if (!scalar.is_int()) return std::nullopt;
    ints.push_back(scalar.i);
  }
  return ints;
}

std::string Fact::ToString() const {
  switch (kind) {
    case Kind::kAbsent:
      return "absent";
    case Kind::kUnknown:
      return "unknown";
    case Kind::kMap:
      return "map";
    case Kind::kTensor:
      return absl::StrCat(DTypeName(dtype), shape.ToString());
    case Kind::kSequence:
      return absl::StrCat("sequence(", element == nullptr ? "?" : element->ToString(), ")");
    case Kind::kOptional:
      return absl::StrCat("optional(", element == nullptr ? "?" : element->ToString(), ")");
  }
  return "unknown";
}

namespace {

template <typename T>
bool SamePointee(const std::shared_ptr<T>& a, const std::shared_ptr<T>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace

bool operator==(const Fact& a, const Fact& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.constant == b.constant &&
         a.from_shapes == b.from_shapes && a.stored == b.stored && a.shape == b.shape &&
         SamePointee(a.content, b.content) && SamePointee(a.rule, b.rule) &&
         SamePointee(a.element, b.element) && a.length == b.length && SamePointee(a.items, b.items);
}

}  // namespace onnxflops
