// Rows of operators that work element by element, in a line or two each:
//
//   Unary("Acos", {7, 22}, "Y = acos(X)", {.trig = 1},
//         KeepsX("dX = -dY / sqrt(1 - X^2)", {.add = 1, .mul = 1, .div = 1, .sqrt = 1})),
//
// are name, versions, what it computes, the work per element, the gradient, and what else an OpDef
// may say. Shape rule, cost rule and examples are those of the kind, unless `row` has others. What
// version 1 had no inference for in ONNX has it from 6 on.
#ifndef ONNXFLOPS_OPS_ELEMENT_ROWS_H_
#define ONNXFLOPS_OPS_ELEMENT_ROWS_H_

#include "absl/types/span.h"
#include "ops/op_def.h"
#include "ops/rules.h"

namespace onnxflops {

// ---- gradients of input 0: `work` per element

// Of the input, which is kept.
constexpr Gradient KeepsX(const char* formula, const ElementCost& work, int temporaries = 0) {
  return {.formula = formula,
          .first = work,
          .keeps = {.inputs = InputBits({0})},
          .temporaries = {.outputs = temporaries}};
}
// The same of an operator that PyTorch may run in place.
constexpr Gradient KeepsXInPlace(const char* formula, const ElementCost& work) {
  return {.formula = formula, .first = work, .keeps = {.inputs = InputBits({0}), .in_place = true}};
}
// Of the output, which is kept.
constexpr Gradient KeepsY(const char* formula, const ElementCost& work, int temporaries = 0) {
  return {.formula = formula,
          .first = work,
          .keeps = {.outputs = InputBits({0})},
          .temporaries = {.outputs = temporaries}};
}
inline constexpr Gradient kNoSlope = {.formula = "dX = 0"};

// ---- examples

inline constexpr OpExample kUnaryExamples[] = {
    {"float[N,4] X -> float[N,4] Y", "4*N"},
};
inline constexpr char kIntegerWork[] = "counted as integer work";

// ---- rows

// What all of them are.
constexpr OpDef ElementRow(const char* name, const Versions& versions, const char* formula,
                           const ElementCost& work, const Gradient& gradient, InferFn infer,
                           absl::Span<const OpExample> patterns, OpDef row) {
  row.name = name;
  row.versions = versions;
  row.formula = formula;
  row.per_element = work;
  row.gradient = gradient;
  row.traits = row.traits | Traits::kInPlace;
  if (versions.Has(1) && versions.Has(6)) row.onnx.since = 6;
  if (row.infer == nullptr) row.infer = infer;
  if (row.patterns.empty()) row.patterns = patterns;
  return row;
}

// Y = f(X). Without work it is free.
constexpr OpDef Unary(const char* name, const Versions& versions, const char* formula,
                      const ElementCost& work, const Gradient& gradient = {}, OpDef row = {}) {
  row = ElementRow(name, versions, formula, work, gradient, InferUnary, kUnaryExamples, row);
  if (work != ElementCost{}) row.count = CountPerOutputElement;
  return row;
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_ELEMENT_ROWS_H_
