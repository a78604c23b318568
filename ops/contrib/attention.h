// What the attention operators of com.microsoft share; Sdpa is in ops/parts.h.
#ifndef ONNXFLOPS_OPS_CONTRIB_ATTENTION_H_
#define ONNXFLOPS_OPS_CONTRIB_ATTENTION_H_

#include <initializer_list>

#include "absl/status/statusor.h"
#include "ops/op_def.h"
#include "ops/parts.h"

namespace onnxflops {

// Makes attention causal: of its pairs, half of `twice_unmasked` are those that the mask lets
// through.
void MakeCausal(const NodeView& n, const Expr& twice_unmasked, Sdpa* sdpa);

// For a bound on time: where one of these inputs is given, what it holds may hide any pair.
void LeaveOutHidden(const NodeView& n, std::initializer_list<int> inputs, Sdpa* sdpa);

// RMSNormalization of each head of so many tokens.
Census HeadNormWork(const Expr& heads, const Expr& head_size);

// The labels of products of activations: both of the type of input `i`.
MacOperands OperandsLike(const NodeView& n, int i);

// A positive attribute.
absl::StatusOr<Expr> PositiveAttr(const NodeView& n, absl::string_view name);

// Key and value caches in few bits: what is appended is quantised, all that is read dequantised.
struct CacheUse {
  Expr appended, read;  // elements
};
Census CacheWork(DType stored, bool quantized, const CacheUse& use);

// Pairs of tokens of one sequence: of the lengths, where they are known, else of B sequences of S.
absl::StatusOr<Expr> PackedPairs(const NodeView& n, int token_offset);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_CONTRIB_ATTENTION_H_
