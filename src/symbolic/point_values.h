// Values of expressions at a few fixed sizes, the same for all expressions. If a is less than b at
// one of them, a is not always at least b, so no proof needs to be tried.
#ifndef ONNXFLOPS_SRC_SYMBOLIC_POINT_VALUES_H_
#define ONNXFLOPS_SRC_SYMBOLIC_POINT_VALUES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/numeric/int128.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

class PointValues {
 public:
  PointValues() = default;  // of 0
  explicit PointValues(const Expr& e);

  // True if a sum of 2^30 such numbers, and small multiples of it, cannot overflow.
  static bool IsSmall(absl::int128 value) { return -kMost < value && value < kMost; }

  // Adds a multiple of another's values, or a small number.
  void Add(const PointValues& other, int times) {
    for (size_t i = 0; i < kPoints; ++i) {
      values_[i] += other.values_[i] * times;
      unknown_[i] += other.unknown_[i] * times;
    }
  }
  void Add(absl::int128 literal) {
    for (absl::int128& value : values_) value += literal;
  }
  // False: it is less than the other at some size.
  bool MayBeAtLeast(const PointValues& other) const {
    for (size_t i = 0; i < kPoints; ++i) {
      if (values_[i] < other.values_[i] && unknown_[i] == 0 && other.unknown_[i] == 0) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kPoints = 16;
  static constexpr absl::int128 kMost = absl::MakeInt128(int64_t{1} << 26, 0);  // 2^90

  std::array<absl::int128, kPoints> values_ = {};
  std::array<int32_t, kPoints> unknown_ = {};  // how many parts have no value there
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_POINT_VALUES_H_
