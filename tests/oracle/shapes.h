// Shape arithmetic that more than one family of loops needs.
#ifndef ONNXFLOPS_TESTS_ORACLE_SHAPES_H_
#define ONNXFLOPS_TESTS_ORACLE_SHAPES_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "tests/oracle/counted.h"

namespace onnxflops::oracle {

// What a loop says of its outputs: nullopt when the specification gives no output for these inputs,
// an empty list when the loop does not work out the shapes.
using Outputs = std::optional<std::vector<Sizes>>;
inline Outputs NoOutput() { return std::nullopt; }
inline Outputs UnnamedOutputs() { return std::vector<Sizes>{}; }
inline Outputs OneOutput(Sizes dims) { return std::vector<Sizes>{std::move(dims)}; }

// Multidirectional broadcasting, as NumPy does it.
inline std::optional<Sizes> Broadcast(const std::vector<Sizes>& shapes) {
  size_t rank = 0;
  for (const Sizes& s : shapes) rank = std::max(rank, s.size());
  Sizes out(rank, 1);
  for (const Sizes& s : shapes) {
    for (size_t i = 0; i < s.size(); ++i) {
      int64_t& dim = out[rank - s.size() + i];
      if (dim != 1 && s[i] != 1 && dim != s[i]) return std::nullopt;
      if (s[i] != 1) dim = s[i];
    }
  }
  return out;
}

inline Sizes Slice(const Sizes& sizes, size_t begin, size_t end) {
  return Sizes(sizes.begin() + static_cast<int64_t>(begin),
               sizes.begin() + static_cast<int64_t>(end));
}
inline Sizes Concat(Sizes a, const Sizes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Rounds towards minus infinity.
inline int64_t FloorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
inline int64_t CeilDiv(int64_t a, int64_t b) { return -FloorDiv(-a, b); }

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_SHAPES_H_
