// Matrix products: MatMul, Gemm, Einsum and their quantised forms.
#ifndef ONNXFLOPS_TESTS_ORACLE_MATMUL_H_
#define ONNXFLOPS_TESTS_ORACLE_MATMUL_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "tests/oracle/shapes.h"

namespace onnxflops::oracle {

// One dot product of length k.
inline Counted Dot(int64_t k) {
  Counted acc = 0;
  for (int64_t i = 0; i < k; ++i) MulAcc(&acc, 0.5, 0.25);
  return acc;
}

// numpy.matmul; `after` sees every element of the product.
template <typename After>
Outputs MatMul(Sizes a, Sizes b, After after) {
  if (a.empty() || b.empty()) return NoOutput();
  const bool a_vector = a.size() == 1, b_vector = b.size() == 1;
  if (a_vector) a.insert(a.begin(), 1);
  if (b_vector) b.push_back(1);
  const int64_t k = a.back();
  if (b[b.size() - 2] != k) return NoOutput();
  const auto batch = Broadcast({Slice(a, 0, a.size() - 2), Slice(b, 0, b.size() - 2)});
  if (!batch.has_value()) return NoOutput();
  ForEach(Concat(*batch, {a[a.size() - 2], b.back()}), [&](const Sizes&) { after(Dot(k)); });
  Sizes out = *batch;
  if (!a_vector) out.push_back(a[a.size() - 2]);
  if (!b_vector) out.push_back(b.back());
  return OneOutput(out);
}
inline Outputs MatMul(const Sizes& a, const Sizes& b) {
  return MatMul(a, b, [](Counted) {});
}

// Y = alpha * A' * B' + beta * C. A factor of one is not multiplied by; C is scaled before it is
// broadcast, as a Mul of its own would.
struct GemmArguments {
  Sizes a, b;
  std::optional<Sizes> c;
  bool trans_a = false, trans_b = false;
  double alpha = 1, beta = 1;
};
inline Outputs Gemm(GemmArguments g) {
  if (g.trans_a) std::swap(g.a[0], g.a[1]);
  if (g.trans_b) std::swap(g.b[0], g.b[1]);
  const int64_t m = g.a[0], k = g.a[1], n = g.b[1];
  if (g.b[0] != k) return NoOutput();
  if (g.c.has_value() && Broadcast({*g.c, {m, n}}) != Sizes{m, n}) return NoOutput();
  std::optional<Tensor> c;
  if (g.c.has_value()) {
    c.emplace(*g.c);
    if (g.beta != 1) {
      for (Counted& element : c->elements) element = Counted(g.beta) * element;
    }
  }
  ForEach({m, n}, [&](const Sizes&) {
    Counted y = Dot(k);
    if (g.alpha != 1) y = Counted(g.alpha) * y;
    if (c.has_value()) y += 0.5;
  });
  return OneOutput({m, n});
}

// Sizes of the labels of an equation without ellipsis; nullopt when two operands disagree.
inline std::optional<std::map<char, int64_t>> LabelSizes(const std::vector<std::string>& terms,
                                                         const std::vector<Sizes>& shapes) {
  std::map<char, int64_t> sizes;
  for (size_t t = 0; t < terms.size(); ++t) {
    if (terms[t].size() != shapes[t].size()) return std::nullopt;
    for (size_t i = 0; i < terms[t].size(); ++i) {
      const auto [it, is_new] = sizes.emplace(terms[t][i], shapes[t][i]);
      if (is_new || it->second == shapes[t][i]) continue;
      if (it->second != 1 && shapes[t][i] != 1) return std::nullopt;
      it->second = std::max(it->second, shapes[t][i]);  // a size of one is broadcast
    }
  }
  return sizes;
}

// Two operands: every output element is a sum of products over the labels that it lacks.
inline Outputs EinsumOfTwo(const std::vector<std::string>& terms, const std::string& out,
                           const std::vector<Sizes>& shapes) {
  const auto sizes = LabelSizes(terms, shapes);
  if (!sizes.has_value()) return NoOutput();
  Sizes dims;
  int64_t summed = 1;
  for (char label : out) dims.push_back(sizes->at(label));
  for (const auto& [label, size] : *sizes) {
    if (out.find(label) == std::string::npos) summed *= size;
  }
  ForEach(dims, [&](const Sizes&) { Dot(summed); });
  return OneOutput(dims);
}

// Any number of operands, joined from left to right; a label is summed out as soon as no later
// operand and not the output has it. A pair that sums nothing out is a product, not a contraction.
struct Operand {
  std::string labels;
  Sizes shape;
};
inline Operand SummedAlone(const Operand& operand, const std::string& kept) {
  Operand result;
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    if (kept.find(operand.labels[i]) == std::string::npos) continue;
    if (result.labels.find(operand.labels[i]) != std::string::npos) continue;  // a diagonal
    result.labels += operand.labels[i];
    result.shape.push_back(operand.shape[i]);
  }
  const std::string& all = operand.labels;
  const bool sums = std::any_of(all.begin(), all.end(),
                                [&](char label) { return kept.find(label) == std::string::npos; });
  if (sums) {
    Counted acc = 0;
    ForEach(operand.shape, [&](const Sizes&) { acc += 0.5; });
  }
  return result;
}
inline Operand Joined(const Operand& a, const Operand& b, const std::string& kept) {
  const auto sizes = *LabelSizes({a.labels, b.labels}, {a.shape, b.shape});
  Operand result;
  Sizes box;
  for (const auto& [label, size] : sizes) {
    box.push_back(size);
    if (kept.find(label) == std::string::npos) continue;
    result.labels += label;
    result.shape.push_back(size);
  }
  Counted acc = 0;
  const bool contracts = result.labels.size() < sizes.size();
  ForEach(box, [&](const Sizes&) {
    if (contracts) MulAcc(&acc, 0.5, 0.25);
    if (!contracts) Counted(0.5) * 0.25;
  });
  return result;
}
inline Outputs Einsum(const std::vector<Operand>& operands, const std::string& out) {
  // Labels that what comes after operand i needs.
  const auto needed = [&](size_t i) {
    std::string labels = out;
    for (size_t j = i + 1; j < operands.size(); ++j) labels += operands[j].labels;
    return labels;
  };
  Operand acc = SummedAlone(operands[0], needed(0));
  for (size_t i = 1; i < operands.size(); ++i) {
    acc = Joined(acc, SummedAlone(operands[i], needed(i) + acc.labels), needed(i));
  }
  Sizes dims;
  for (char label : out) dims.push_back(acc.shape[acc.labels.find(label)]);
  return OneOutput(dims);
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_MATMUL_H_
