// Reductions over axes.
#ifndef ONNXFLOPS_TESTS_ORACLE_REDUCTION_H_
#define ONNXFLOPS_TESTS_ORACLE_REDUCTION_H_

#include <cstddef>
#include <functional>
#include <set>

#include "tests/oracle/shapes.h"

namespace onnxflops::oracle {

// One group of elements to one number.
using Reducer = Counted (*)(const Row& elements);

inline Counted SumOf(const Row& elements) {
  Counted acc = 0;
  for (Counted x : elements) acc += x;
  return acc;
}
inline Counted MaxOf(const Row& elements) {
  Counted acc = -1e30;
  for (Counted x : elements) acc = Max(acc, x);
  return acc;
}
inline Counted MinOf(const Row& elements) {
  Counted acc = 1e30;
  for (Counted x : elements) acc = Min(acc, x);
  return acc;
}
inline Counted ProductOf(const Row& elements) {
  Counted acc = 1;
  for (Counted x : elements) acc = acc * x;
  return acc;
}
inline Counted MeanOf(const Row& elements) {
  return SumOf(elements) / static_cast<double>(elements.size());
}
inline Row Squared(Row elements) {
  for (Counted& x : elements) x = x * x;
  return elements;
}
inline Row Exponentials(Row elements) {
  for (Counted& x : elements) x = Exp(x);
  return elements;
}

struct Reduction {
  const char* name;
  Reducer reduce;
};
inline constexpr Reduction kReductions[] = {
    {"ReduceSum", SumOf},
    {"ReduceMean", MeanOf},
    {"ReduceMax", MaxOf},
    {"ReduceMin", MinOf},
    {"ReduceProd", ProductOf},
    {"ReduceL1", SumOf},  // an absolute value flips a bit
    {"ReduceL2", [](const Row& x) { return Sqrt(SumOf(Squared(x))); }},
    {"ReduceSumSquare", [](const Row& x) { return SumOf(Squared(x)); }},
    {"ReduceLogSum", [](const Row& x) { return Log(SumOf(x)); }},
    {"ReduceLogSumExp", [](const Row& x) { return Log(SumOf(Exponentials(x))); }},
};
// The index that goes along with a maximum costs nothing.
inline constexpr Reduction kArgReductions[] = {{"ArgMax", MaxOf}, {"ArgMin", MinOf}};

// Normalised axes; nullopt when one is outside of the rank.
inline std::optional<std::set<int64_t>> Normalised(const Sizes& axes, size_t rank) {
  std::set<int64_t> normalised;
  const auto r = static_cast<int64_t>(rank);
  for (int64_t axis : axes) {
    if (axis < -r || axis >= r) return std::nullopt;
    normalised.insert(axis < 0 ? axis + r : axis);
  }
  return normalised;
}

inline Outputs Reduce(Reducer reduce, const Sizes& x, const Sizes& axes, bool keepdims) {
  const auto reduced = Normalised(axes, x.size());
  if (!reduced.has_value()) return NoOutput();
  Sizes kept, out;
  int64_t k = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    if (reduced->count(static_cast<int64_t>(i)) == 0) {
      kept.push_back(x[i]);
      out.push_back(x[i]);
    } else {
      k *= x[i];
      if (keepdims) out.push_back(1);
    }
  }
  ForEach(kept, [&](const Sizes&) { reduce(Row(static_cast<size_t>(k), 0.5)); });
  return OneOutput(out);
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_REDUCTION_H_
