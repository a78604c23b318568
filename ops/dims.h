// Dimensions that the specification ties together.
#ifndef ONNXFLOPS_OPS_DIMS_H_
#define ONNXFLOPS_OPS_DIMS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/op_def.h"
#include "src/base/status_macros.h"

namespace onnxflops {

// Two dimensions that must be equal, as the one that says more: a literal rather than a symbol.
inline absl::StatusOr<Expr> Unify(const NodeView& n, absl::string_view what, const Expr& a,
                                  const Expr& b) {
  RETURN_IF_ERROR(n.RequireSame(what, a, b));
  return !a.is_literal() && b.is_literal() ? b : a;
}

// total / parts, where the specification says that `parts` divides it: 768 features in 12 heads.
// Of a symbolic total, the floor.
inline absl::StatusOr<Expr> DivideEvenly(absl::string_view what, const Expr& total,
                                         const Expr& parts) {
  if (parts.is_literal() && parts.literal() <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", total.ToString(), " divided by ", parts.ToString()));
  }
  if (total.is_literal() && parts.is_literal() && total.literal() % parts.literal() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", total.ToString(), " is not a multiple of ", parts.ToString()));
  }
  return FloorDiv(total, parts);
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_DIMS_H_
