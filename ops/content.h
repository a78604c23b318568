// Following the contents of small tensors through operators that move data, element by element.
// Every element is known or unknown for itself.
#ifndef ONNXFLOPS_OPS_CONTENT_H_
#define ONNXFLOPS_OPS_CONTENT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/op_def.h"

namespace onnxflops {

using Sizes = absl::InlinedVector<int64_t, 6>;

// The sizes of a tensor so small that its content is followed; nullopt for any other.
std::optional<Sizes> SmallSizes(DType type, const Shape& shape);
inline std::optional<Sizes> SmallSizes(const Fact& fact) {
  return SmallSizes(fact.dtype, fact.shape);
}

// How far apart neighbors along each axis are, in row-major order.
Sizes RowMajorStrides(const Sizes& sizes);

int64_t ProductOf(const Sizes& sizes, size_t begin, size_t end);

// The element at `position` in row-major order; unknown when the tensor's content is.
Scalar ElementAt(const Fact& fact, int64_t position);

// Calls visit(index) for every index of a tensor of these sizes, in row-major order.
template <typename Visit>
void ForEachIndex(const Sizes& sizes, Visit visit) {
  for (int64_t size : sizes) {
    if (size <= 0) return;
  }
  Sizes index(sizes.size(), 0);
  while (true) {
    visit(index);
    size_t i = sizes.size();
    while (i > 0 && ++index[i - 1] == sizes[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

// Whether the rank of an input is known.
inline bool HasRank(const NodeView& n, int input) {
  return n.input(input).is_tensor() && n.input(input).shape.ranked();
}

// SetContent, unless the number of elements is not the fact's.
void SetFollowed(Content content, Fact* fact);

// `to`, of which type and shape are set, gets the content whose element at `index` is `from`'s at
// offset + sum(index * strides). Left alone when there is nothing to follow.
void FollowStrides(const Fact& from, int64_t offset, const Sizes& strides, Fact* to);

// The same elements in the same order, in another shape.
void FollowInOrder(const Fact& from, Fact* to);

// The elements of an integer input that decides a shape, one by one; nullopt where not known.
// FailedPrecondition when not even their number is known.
using MaybeInts = std::vector<std::optional<Expr>>;
absl::StatusOr<MaybeInts> IntsOf(const NodeView& n, int input);

// The same, of exactly `count` elements.
absl::StatusOr<MaybeInts> IntsOf(const NodeView& n, int input, size_t count);

// The axes that an input or attribute lists, normalized, each at most once. FailedPrecondition when
// the input's content is not known.
using Axes = absl::InlinedVector<int, 4>;
absl::StatusOr<Axes> AxesOf(const NodeView& n, absl::Span<const int64_t> axes, int rank);
absl::StatusOr<Axes> AxesInput(const NodeView& n, int input, int rank);

// The value, or a symbol that depends on data, and is at most the largest of `at_most`.
Expr OrFresh(const NodeView& n, const std::optional<Expr>& value, int output, int axis,
             absl::string_view hint, absl::Span<const Expr> at_most = {});

// The cost rule of operators that select elements of input 0: no arithmetic; of input 0 only as
// much is read as output 0 holds, of the other inputs everything.
absl::Status SelectionBytes(const NodeView& n, Cost* cost);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_CONTENT_H_
