// The largest size that fits into memory, from formulas of the memory in use.
//
//   LargestThatFits({4096 * batch + 1000, 8000 * batch}, 80'000, "batch")   // 10
#ifndef ONNXFLOPS_SRC_MEMORY_FIT_H_
#define ONNXFLOPS_SRC_MEMORY_FIT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// The largest size of `symbol`, from 1 on, at which all `sums` are at most `bytes`; 0 if one
// exceeds it at 1; nullopt if none ever does. A formula of degree 1 is solved. Any other must grow
// with the symbol and is searched by bisection. InvalidArgument if it is not known to grow;
// FailedPrecondition if it has other symbols.
absl::StatusOr<std::optional<int64_t>> LargestThatFits(absl::Span<const Expr> sums,
                                                       absl::int128 bytes,
                                                       const std::string& symbol);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MEMORY_FIT_H_
