// Arithmetic on single elements of followed contents: what an elementwise operator makes of the
// elements of its inputs, as an EvaluateFn. Shape arithmetic flows through these.
//
// Integers are exact and symbolic; an element is kUnknown where the result depends on the sizes.
// Floats are computed in double and rounded to the tensor's type. A symbolic size in a float tensor
// is followed as an exact fraction, n/32 between Cast and Ceil, as long as the type's rounding
// cannot change what Floor and Ceil make of it.
#ifndef ONNXFLOPS_OPS_EVALUATE_H_
#define ONNXFLOPS_OPS_EVALUATE_H_

#include "absl/types/span.h"
#include "ops/op_def.h"

namespace onnxflops {

using Scalars = absl::Span<const Scalar>;

// ---- arithmetic; Sum, Mean, Min and Max of any number of inputs
Scalar EvaluateAdd(Scalars x, DType type);
Scalar EvaluateSub(Scalars x, DType type);
Scalar EvaluateMul(Scalars x, DType type);
Scalar EvaluateDiv(Scalars x, DType type);       // of integers: towards zero
Scalar EvaluateMod(Scalars x, DType type);       // the sign of the divisor, as Python
Scalar EvaluateTruncMod(Scalars x, DType type);  // the sign of the dividend, as C
Scalar EvaluatePow(Scalars x, DType type);
Scalar EvaluateSum(Scalars x, DType type);
Scalar EvaluateMean(Scalars x, DType type);
Scalar EvaluateMin(Scalars x, DType type);
Scalar EvaluateMax(Scalars x, DType type);

// ---- of one input
Scalar EvaluateNeg(Scalars x, DType type);
Scalar EvaluateRelu(Scalars x, DType type);
Scalar EvaluateAbs(Scalars x, DType type);
Scalar EvaluateSign(Scalars x, DType type);
Scalar EvaluateFloor(Scalars x, DType type);
Scalar EvaluateCeil(Scalars x, DType type);
Scalar EvaluateRound(Scalars x, DType type);
Scalar EvaluateReciprocal(Scalars x, DType type);
Scalar EvaluateSqrt(Scalars x, DType type);
Scalar EvaluateExp(Scalars x, DType type);
Scalar EvaluateLog(Scalars x, DType type);
Scalar EvaluateCast(Scalars x, DType type);
Scalar EvaluateIsNaN(Scalars x, DType type);

// ---- with boolean results
Scalar EvaluateEqual(Scalars x, DType type);
Scalar EvaluateLess(Scalars x, DType type);
Scalar EvaluateLessOrEqual(Scalars x, DType type);
Scalar EvaluateGreater(Scalars x, DType type);
Scalar EvaluateGreaterOrEqual(Scalars x, DType type);
Scalar EvaluateNot(Scalars x, DType type);
Scalar EvaluateAnd(Scalars x, DType type);
Scalar EvaluateOr(Scalars x, DType type);
Scalar EvaluateXor(Scalars x, DType type);

// Inputs: condition, then, else.
Scalar EvaluateWhere(Scalars x, DType type);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_EVALUATE_H_
