// Lengths of sequences that an input states.
#ifndef ONNXFLOPS_OPS_LENGTHS_H_
#define ONNXFLOPS_OPS_LENGTHS_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/op_def.h"
#include "src/base/status_macros.h"

namespace onnxflops {

// Those of input `i`, where they are known. InvalidArgument: "input 6 states a length of -3".
inline absl::StatusOr<std::optional<Dims>> KnownLengths(const NodeView& n, int i) {
  std::optional<Dims> lengths = n.KnownInts(i);
  if (!lengths.has_value()) return lengths;
  for (const Expr& length : *lengths) {
    if (!ProvablyLess(length, 0).value_or(false)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " states a length of ", length.ToString()));
  }
  return lengths;
}

// The same of an input of one element.
inline absl::StatusOr<std::optional<Expr>> KnownLength(const NodeView& n, int i) {
  RETURN_IF_ERROR(KnownLengths(n, i).status());
  return n.KnownInt(i);
}

// The same of packed sequences, from their cumulative sum.
inline absl::StatusOr<std::optional<Dims>> KnownLengthsOfSums(const NodeView& n, int i) {
  ASSIGN_OR_RETURN(const std::optional<Dims> sums, KnownLengths(n, i));
  if (!sums.has_value() || sums->empty()) return std::nullopt;
  Dims lengths;
  for (size_t s = 1; s < sums->size(); ++s) {
    lengths.push_back((*sums)[s] - (*sums)[s - 1]);
    if (!ProvablyLess(lengths.back(), 0).value_or(false)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", i, " states a length of ", lengths.back().ToString(), ", between two sums"));
  }
  return lengths;
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_LENGTHS_H_
