// Whether the cost of a node is known.
#ifndef ONNXFLOPS_SRC_COST_COVERAGE_H_
#define ONNXFLOPS_SRC_COST_COVERAGE_H_

#include <cstdint>

namespace onnxflops {

// How a node ended.
enum class Coverage : uint8_t {
  kCounted,
  kFree,     // does no arithmetic: stated by its row, or shape arithmetic
  kUnknown,  // no rule knows its cost
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_COST_COVERAGE_H_
