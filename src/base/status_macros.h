// RETURN_IF_ERROR and ASSIGN_OR_RETURN, which this Abseil does not have yet.
//
//   RETURN_IF_ERROR(Check(x));
//   ASSIGN_OR_RETURN(const Shape& shape, node.Ranked(0));
#ifndef ONNXFLOPS_SRC_BASE_STATUS_MACROS_H_
#define ONNXFLOPS_SRC_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define ONNXFLOPS_CONCAT_INNER(a, b) a##b
#define ONNXFLOPS_CONCAT(a, b) ONNXFLOPS_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expr)                      \
  do {                                             \
    absl::Status status_macro_ = (expr);           \
    if (!status_macro_.ok()) return status_macro_; \
  } while (false)

#define ASSIGN_OR_RETURN(lhs, expr) \
  ONNXFLOPS_ASSIGN_OR_RETURN_INNER(ONNXFLOPS_CONCAT(status_or_, __LINE__), lhs, expr)

#define ONNXFLOPS_ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                                     \
  if (!result.ok()) return std::move(result).status();      \
  lhs = *std::move(result)

#endif  // ONNXFLOPS_SRC_BASE_STATUS_MACROS_H_
