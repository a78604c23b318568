// The facts about a value that are known without running the model: type, symbolic shape and, where
// sizes may depend on it, content. The content of a small tensor is known per element; of any
// other, as one rule for all elements.
//
//   Fact image = Fact::Tensor(DType::kFloat32, {Expr::Symbol("batch", 1), 3, 224, 224});
//   image.shape.ToString()  // "[batch, 3, 224, 224]"
//
// "Unknown" exists at every level: the kind of the value, the rank of a tensor, a dimension (a
// fresh symbol), an element of a content.
#ifndef ONNXFLOPS_SRC_GRAPH_FACT_H_
#define ONNXFLOPS_SRC_GRAPH_FACT_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "src/graph/dtype.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

using Dims = absl::InlinedVector<Expr, 4>;

// A list of dimensions, or the unknown rank.
class Shape {
 public:
  Shape() = default;  // a scalar
  Shape(std::initializer_list<Expr> dims) : dims_(dims) {}
  explicit Shape(Dims dims) : dims_(std::move(dims)) {}
  static Shape UnknownRank() {
    Shape s;
    s.ranked_ = false;
    return s;
  }

  bool ranked() const { return ranked_; }
  int rank() const { return static_cast<int>(dims_.size()); }  // REQUIRES: ranked(), as all below
  const Expr& operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  Expr& operator[](int i) { return dims_[static_cast<size_t>(i)]; }
  const Dims& dims() const { return dims_; }
  Dims& dims() { return dims_; }
  void push_back(Expr e) { dims_.push_back(std::move(e)); }
  Expr NumElements() const { return Product(0, rank()); }
  // The product of dimensions [begin, end).
  Expr Product(int begin, int end) const;
  std::string ToString() const;  // "[batch, 3, 224, 224]"; "?" for the unknown rank
  friend bool operator==(const Shape& a, const Shape& b) {
    return a.ranked_ == b.ranked_ && a.dims_ == b.dims_;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Shape& s) {
    return H::combine(std::move(h), s.ranked_, s.dims_);
  }

 private:
  Dims dims_;
  bool ranked_ = true;
};

// One element of a followed tensor: an exact integer (bool as 0 and 1), a float, a fraction of a
// symbolic size (floor(height * 0.5) in floating point passes through one), or unknown.
struct Scalar {
  enum class Kind : uint8_t { kUnknown, kInt, kFloat, kRatio };
  Kind kind = Kind::kUnknown;
  Expr i;        // of kInt; of kRatio the numerator, symbolic
  double f = 0;  // of kFloat: the exact value of the tensor's own type; of kRatio the denominator
  static Scalar Int(Expr value) { return {Kind::kInt, std::move(value), 0}; }
  static Scalar Float(double value) { return {Kind::kFloat, {}, value}; }
  static Scalar Ratio(Expr numerator, int64_t denominator) {
    return {Kind::kRatio, std::move(numerator), static_cast<double>(denominator)};
  }
  bool is_int() const { return kind == Kind::kInt; }
  bool is_float() const { return kind == Kind::kFloat; }
  bool is_ratio() const { return kind == Kind::kRatio; }
  bool known() const { return kind != Kind::kUnknown; }
  friend bool operator==(const Scalar& a, const Scalar& b);  // floats by bits
  template <typename H>
  friend H AbslHashValue(H h, const Scalar& s) {
    return H::combine(std::move(h), s.kind, s.i, s.f == s.f ? s.f : 0.0);
  }
};

// The elements of a small tensor in row-major order.
using Content = std::vector<Scalar>;

// The place of an element on an axis, in the rule of a tensor: 0 or more, below the axis's size.
const Expr& IndexSymbol(int axis);  // REQUIRES: 0 <= axis < kMaxRank

struct Fact {
  enum class Kind : uint8_t { kAbsent, kUnknown, kTensor, kSequence, kOptional, kMap };
  Kind kind = Kind::kUnknown;
  DType dtype = DType::kUndefined;  // of a tensor
  // Depends only on data in the file (initializers, constants): a runtime folds the work that made
  // it.
  bool constant = false;
  // Depends only on shapes of tensors and on constants: results of Shape and Size, and arithmetic
  // on them.
  bool from_shapes = false;
  // The type that the value was dequantised from, if it comes straight from a DequantizeLinear (or
  // through data movement only).
  DType stored = DType::kUndefined;
  Shape shape;  // of a tensor
  std::shared_ptr<const Content>
      content;  // of a small tensor: as many elements as the shape has, all dims literal; or null
  // For a tensor without such a list: its element at any index, in terms of IndexSymbol(0),
  // IndexSymbol(1), ... 7 is a tensor full of sevens, IndexSymbol(1) + 2 counts columns from 2 on.
  // May contain symbolic sizes. Never unknown; or null.
  std::shared_ptr<const Scalar> rule;
  // For a sequence or optional: the joined fact of its elements. For a sequence: their number, and
  // the elements one by one if known.
  std::shared_ptr<const Fact> element;
  std::optional<Expr> length;
  std::shared_ptr<const std::vector<Fact>> items;

  static Fact Absent();
  static Fact Unknown() { return {}; }
  static Fact Tensor(DType dtype, Shape shape);
  // A one-dimensional int64 tensor (or scalar, with rank0) of known content.
  static Fact Ints(Content content, DType dtype = DType::kInt64);
  static Fact ScalarOf(Scalar value, DType dtype);
  static Fact Sequence(Fact element, std::optional<Expr> length);
  static Fact Optional(Fact element);

  bool is_tensor() const { return kind == Kind::kTensor; }
  // A weight that the file stores in another type: a runtime unpacks it at its use.
  bool is_dequantised_weight() const { return constant && stored != DType::kUndefined; }
  bool absent() const { return kind == Kind::kAbsent; }
  bool has_content() const { return content != nullptr; }
  bool has_rule() const { return rule != nullptr; }
  void DropContent() {
    content = nullptr;
    rule = nullptr;
  }
  // The content as integers, when it is there and every element is known.
  std::optional<Dims> KnownInts() const;
  std::string ToString() const;  // "float32[batch, 3, 224, 224]"
  friend bool operator==(const Fact& a, const Fact& b);
  template <typename H>
  friend H AbslHashValue(H h, const Fact& f) {
    h = H::combine(std::move(h), f.kind, f.dtype, f.constant, f.from_shapes, f.stored, f.shape,
                   f.content != nullptr, f.rule != nullptr);
    if (f.content != nullptr) h = H::combine(std::move(h), *f.content);
    if (f.rule != nullptr) h = H::combine(std::move(h), *f.rule);
    if (f.element != nullptr) {
      h = H::combine(std::move(h), f.element->kind, f.element->dtype, f.element->shape);
    }
    if (f.length.has_value()) h = H::combine(std::move(h), *f.length);
    if (f.items == nullptr) return h;
    for (const Fact& item : *f.items) {
      h = H::combine(std::move(h), item.kind, item.dtype, item.shape);
    }
    return h;
  }
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_GRAPH_FACT_H_
