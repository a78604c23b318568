// How PyTorch runs an einsum of two operands: as one batched product (sumproduct_pair of
// ATen/native/Linear.cpp). It permutes the axes of the operands before and those of the result
// after.
#ifndef ONNXFLOPS_SRC_MEMORY_EINSUM_H_
#define ONNXFLOPS_SRC_MEMORY_EINSUM_H_

#include <array>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/graph/fact.h"

namespace onnxflops::memory {

struct EinsumProduct {
  // By factor: lists of its axes. PyTorch makes one axis of each list.
  std::array<std::array<std::vector<int>, 3>, 2> factors;
  std::vector<int> made;  // axes of the result in the order in which they lie in memory
};

// nullopt if the einsum is not such a product: "bij,bij->bij", an ellipsis, a letter twice in one
// operand, an axis of one operand that is summed.
std::optional<EinsumProduct> ProductOfEinsum(absl::string_view equation, const Shape& a,
                                             const Shape& b);

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_EINSUM_H_
