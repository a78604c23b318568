// The largest value that an expression takes where its symbols lie between two numbers.
//
//   LargestValue(1000 * batch - batch * batch, {{"batch", {1, 8}}})   // 7936, at batch = 8
#ifndef ONNXFLOPS_SRC_SYMBOLIC_INTERVAL_H_
#define ONNXFLOPS_SRC_SYMBOLIC_INTERVAL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/numeric/int128.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

struct SizeRange {
  int64_t first = 1, last = 1;  // both included
};
using SizeRanges = absl::btree_map<std::string, SizeRange>;

struct Largest {
  absl::int128 value = 0;
  bool exact = false;  // it is taken, at `at`; otherwise no value is above it
  Bindings at;
};

// Exact if the expression is monotonic in each symbol, which is proved from its form or from its
// difference, or if there are at most kMaxSweepPoints combinations of sizes. Otherwise a bound by
// interval arithmetic. Symbols without a range may have any size from their least on. nullopt if no
// bound is known.
std::optional<Largest> LargestValue(const Expr& expr, const SizeRanges& ranges);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SYMBOLIC_INTERVAL_H_
