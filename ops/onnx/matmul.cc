// Matrix products.
//
// How it works. MatMul and Gemm are counted by formulas of their rows; the code here finds shapes
// and checks that the inner sizes agree. Einsum has no formula: its equation is read into labels,
// one per dimension, and its operands are joined from left to right as the loop nest of the
// specification would do. Labels that only one operand has and that occur no more are summed first
// (add). Each join then multiplies over all labels in use. If labels end there it is a contraction
// and counts as mac, else as mul. Another order of joining may take less, so from three operands on
// there is no lower bound.
//
// Backward of an Einsum takes a product as large as the join for each side that needs a gradient.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- MatMul and its quantised forms
//
// Y[..,M,N] = A[..,M,K] B[..,K,N], the leading dimensions broadcast; a one-dimensional A is a row,
// a one-dimensional B a column, and the dimension of size 1 so made is not in the output.

struct Product {
  Shape output;
  Expr k;
};

absl::StatusOr<Product> MatrixProduct(const NodeView& n, int input_a, int input_b) {
  ASSIGN_OR_RETURN(const Shape a, n.ShapeOfRankAtLeast(input_a, 1));
  ASSIGN_OR_RETURN(const Shape b, n.ShapeOfRankAtLeast(input_b, 1));
  const int rank_a = a.rank(), rank_b = b.rank();
  Product product;
  ASSIGN_OR_RETURN(product.k, Unify(n, "K", a[rank_a - 1], b[std::max(rank_b - 2, 0)]));
  Shape batch[2];
  for (int i = 0; i + 2 < rank_a; ++i) batch[0].push_back(a[i]);
  for (int i = 0; i + 2 < rank_b; ++i) batch[1].push_back(b[i]);
  ASSIGN_OR_RETURN(product.output, BroadcastShapes(batch));
  if (rank_a > 1) product.output.push_back(a[rank_a - 2]);
  if (rank_b > 1) product.output.push_back(b[rank_b - 1]);
  return product;
}

absl::StatusOr<Facts> InferMatMul(const NodeView& n) {
  ASSIGN_OR_RETURN(Product product, MatrixProduct(n, 0, 1));
  return Facts{n.Like(0, std::move(product.output))};
}

// MatMulInteger: Y = (A - a_zero_point) (B - b_zero_point), in 32-bit integers.
absl::StatusOr<Facts> InferMatMulInteger(const NodeView& n) {
  ASSIGN_OR_RETURN(Product product, MatrixProduct(n, 0, 1));
  return Facts{Fact::Tensor(DType::kInt32, std::move(product.output))};
}

// QLinearMatMul: integer product of a - a_zero_point and b - b_zero_point, requantised.
absl::StatusOr<Facts> InferQLinearMatMul(const NodeView& n) {
  ASSIGN_OR_RETURN(Product product, MatrixProduct(n, 0, 3));
  return Facts{Fact::Tensor(n.dtype(7), std::move(product.output))};
}

// ---- Gemm
//
// Y[M,N] = alpha * A'[M,K] B'[K,N] + beta * C, A' and B' transposed if asked, C broadcast to [M,N].

absl::StatusOr<Product> GemmProduct(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape a, n.RankedShape(0, 2));
  ASSIGN_OR_RETURN(const Shape b, n.RankedShape(1, 2));
  const int trans_a = n.Flag("transA") ? 1 : 0, trans_b = n.Flag("transB") ? 1 : 0;
  Product product;
  ASSIGN_OR_RETURN(product.k, Unify(n, "K", a[1 - trans_a], b[trans_b]));
  product.output = Shape{a[trans_a], b[1 - trans_b]};
  return product;
}

absl::StatusOr<Facts> InferGemm(const NodeView& n) {
  ASSIGN_OR_RETURN(Product product, GemmProduct(n));
  if (n.HasInput(2) && n.input(2).shape.ranked()) {
    ASSIGN_OR_RETURN(const Shape c, n.RankedShape(2));
    ASSIGN_OR_RETURN(const Shape sum, BroadcastShapes({product.output, c}));
    if (sum.rank() != 2) {
      return absl::InvalidArgumentError(absl::StrCat("C has rank ", c.rank(), ", more than 2"));
    }
    RETURN_IF_ERROR(n.RequireSame("M of C broadcast", sum[0], product.output[0]));
    RETURN_IF_ERROR(n.RequireSame("N of C broadcast", sum[1], product.output[1]));
  }
  return Facts{n.Like(0, std::move(product.output))};
}

// ---- Einsum

// A label: 0 to 25 for A to Z, 26 to 51 for a to z (so the implicit output is sorted as ASCII), and
// 52 + i for the i-th dimension from the right that an ellipsis stands for.
using Label = uint8_t;
constexpr int kLetters = 52;
constexpr int kLabels = kLetters + kMaxRank;
using Labels = absl::InlinedVector<Label, 8>;

bool IsLetter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
Label LabelOf(char c) { return static_cast<Label>(c <= 'Z' ? c - 'A' : c - 'a' + 26); }

std::string LabelName(Label label) {
  if (label >= kLetters) return "'...'";
  return absl::StrCat(
      "'", std::string(1, static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26)), "'");
}

struct Equation {
  std::vector<Labels> operands;
  Labels output;
};

// The labels of one term; its ellipsis, if any, stands for `ellipsis_rank` dimensions.
absl::StatusOr<Labels> ParseTerm(absl::string_view term, int ellipsis_rank) {
  Labels labels;
  bool has_ellipsis = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (IsLetter(term[i])) {
      labels.push_back(LabelOf(term[i]));
      continue;
    }
    if (term.substr(i, 3) != "..." || has_ellipsis) {
      return absl::InvalidArgumentError(
          absl::StrCat("the equation holds '", std::string(1, term[i]), "' out of place"));
    }
    has_ellipsis = true;
    for (int d = ellipsis_rank; d-- > 0;) labels.push_back(static_cast<Label>(kLetters + d));
    i += 2;
  }
  return labels;
}

// The labels of operand `index`, one for each of its dimensions; raises `max_ellipsis_rank`.
absl::StatusOr<Labels> ParseOperand(absl::string_view term, int index, int rank,
                                    int* max_ellipsis_rank) {
  const int letters = static_cast<int>(std::count_if(term.begin(), term.end(), IsLetter));
  const bool has_ellipsis = term.find('.') != absl::string_view::npos;
  const int ellipsis_rank = rank - letters;
  if (ellipsis_rank < 0 || (ellipsis_rank > 0 && !has_ellipsis)) {
    return absl::InvalidArgumentError(absl::StrCat("operand ", index, " has rank ", rank, " but ",
                                                   letters, " labels in the equation"));
  }
  if (ellipsis_rank > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("'...' stands for ", ellipsis_rank, " dimensions"));
  }
  *max_ellipsis_rank = std::max(*max_ellipsis_rank, ellipsis_rank);
  return ParseTerm(term, ellipsis_rank);
}

// The output of an equation without "->": what '...' stands for, then the letters that occur once.
Labels ImplicitOutput(const std::vector<Labels>& operands, int ellipsis_rank) {
  std::array<int, kLabels> occurrences = {};
  for (const Labels& labels : operands) {
    for (Label label : labels) ++occurrences[label];
  }
  Labels output;
  for (int d = ellipsis_rank; d-- > 0;) output.push_back(static_cast<Label>(kLetters + d));
  for (int label = 0; label < kLetters; ++label) {
    if (occurrences[static_cast<size_t>(label)] == 1) output.push_back(static_cast<Label>(label));
  }
  return output;
}

absl::Status CheckOutput(const Equation& equation) {
  std::array<bool, kLabels> known = {};
  for (const Labels& labels : equation.operands) {
    for (Label label : labels) known[label] = true;
  }
  for (Label label : equation.output) {
    if (!known[label]) {
      return absl::InvalidArgumentError(absl::StrCat("the equation's output has ", LabelName(label),
                                                     ", which no operand has, or has it twice"));
    }
    known[label] = false;
  }
  return absl::OkStatus();
}

absl::StatusOr<Equation> ReadEquation(const NodeView& n) {
  if (!n.HasAttr("equation")) return absl::InvalidArgumentError("attribute equation is missing");
  std::string text(n.String("equation", ""));
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  const bool has_output = arrow != std::string::npos;
  absl::string_view left = absl::string_view(text).substr(0, has_output ? arrow : text.size());
  const auto terms = std::count(left.begin(), left.end(), ',') + 1;
  if (terms != n.num_inputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the equation has ", terms, " operands, the node ", n.num_inputs()));
  }
  Equation equation;
  int ellipsis_rank = 0;
  for (int i = 0; i < n.num_inputs(); ++i) {
    const absl::string_view term = left.substr(0, left.find(','));
    left.remove_prefix(std::min(term.size() + 1, left.size()));
    ASSIGN_OR_RETURN(const Shape shape, n.RankedShape(i));
    ASSIGN_OR_RETURN(Labels labels, ParseOperand(term, i, shape.rank(), &ellipsis_rank));
    equation.operands.push_back(std::move(labels));
  }
  if (has_output) {
    ASSIGN_OR_RETURN(equation.output,
                     ParseTerm(absl::string_view(text).substr(arrow + 2), ellipsis_rank));
  } else {
    equation.output = ImplicitOutput(equation.operands, ellipsis_rank);
  }
  RETURN_IF_ERROR(CheckOutput(equation));
  return equation;
}

absl::StatusOr<Facts> InferEinsum(const NodeView& n) {
  ASSIGN_OR_RETURN(const Equation equation, ReadEquation(n));
  std::array<Expr, kLabels> sizes;
  sizes.fill(1);
  for (int i = 0; i < n.num_inputs(); ++i) {
    const Labels& labels = equation.operands[static_cast<size_t>(i)];
    for (size_t d = 0; d < labels.size(); ++d) {
      const Expr& size = n.input(i).shape.dims()[d];
      const std::optional<Expr> joined = BroadcastDim(sizes[labels[d]], size);
      if (!joined.has_value()) {
        return absl::InvalidArgumentError(absl::StrCat(LabelName(labels[d]),
                                                       " differs: ", sizes[labels[d]].ToString(),
                                                       " vs ", size.ToString()));
      }
      sizes[labels[d]] = *joined;
    }
  }
  Shape output;
  for (Label label : equation.output) output.push_back(sizes[label]);
  return Facts{n.Like(0, std::move(output))};
}

// What Einsum executes: the operands joined from left to right, each pair summed over the labels
// that occur no more.
class EinsumCounter {
 public:
  explicit EinsumCounter(const Equation& equation) {
    for (size_t i = 0; i < equation.operands.size(); ++i) {
      for (Label label : equation.operands[i]) last_use_[label] = i;
    }
    for (Label label : equation.output) last_use_[label] = std::numeric_limits<size_t>::max();
  }

  void Join(size_t step, const Labels& labels, const Shape& shape) {
    Operand next;  // a label that occurs twice picks the diagonal
    for (size_t d = 0; d < labels.size(); ++d) next.Set(labels[d], shape.dims()[d]);
    const Expr elements = next.Elements();
    // Labels of this operand alone that occur no more are summed out first.
    const bool reduced =
        next.Remove([&](Label label) { return last_use_[label] <= step && !joined_.Has(label); });
    if (reduced) work_[Kind::kAdd] += elements;
    if (step == 0) {
      joined_ = std::move(next);
      return;
    }
    for (Label label : next.labels) {
      joined_.Set(
          label, BroadcastDim(joined_.sizes[label], next.sizes[label]).value_or(next.sizes[label]));
    }
    const Expr products = joined_.Elements();
    const bool contracts = joined_.Remove([&](Label label) { return last_use_[label] <= step; });
    work_[contracts ? Kind::kMac : Kind::kMul] += products;
  }

  Census Work() && { return std::move(work_); }

 private:
  struct Operand {
    Operand() { sizes.fill(1); }
    bool Has(Label label) const {
      return std::find(labels.begin(), labels.end(), label) != labels.end();
    }
    void Set(Label label, const Expr& size) {
      if (!Has(label)) labels.push_back(label);
      sizes[label] = size;
    }
    Expr Elements() const {
      Expr elements = 1;
      for (Label label : labels) elements *= sizes[label];
      return elements;
    }
    // Drops the labels that satisfy `dead`; false if there were none.
    template <typename Predicate>
    bool Remove(Predicate dead) {
      const size_t before = labels.size();
      for (Label label : labels) {
        if (dead(label)) sizes[label] = 1;
      }
      labels.erase(std::remove_if(labels.begin(), labels.end(), dead), labels.end());
      return labels.size() != before;
    }
    Labels labels;
    std::array<Expr, kLabels> sizes;  // 1 where there is no such label
  };

  std::array<size_t, kLabels> last_use_ = {};
  Operand joined_;
  Census work_;
};

absl::StatusOr<Cost> CountEinsum(const NodeView& n) {
  ASSIGN_OR_RETURN(const Equation equation, ReadEquation(n));
  EinsumCounter counter(equation);
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    counter.Join(i, equation.operands[i], n.input(static_cast<int>(i)).shape);
  }
  return CostIn(n.dtype(0), std::move(counter).Work());
}

// With three or more operands, another order may take less, so nothing is certain.
absl::StatusOr<Cost> LeastEinsum(const NodeView& n) {
  return n.num_inputs() > 2 ? Cost() : CountEinsum(n);
}

// Operands are joined from left to right: the gradient of what is joined so far and that of the
// next operand take a product as large as the join.
absl::StatusOr<Census> EinsumGradient(const NodeView& n, const GradientQuery& query) {
  ASSIGN_OR_RETURN(const Equation equation, ReadEquation(n));
  const size_t operands = equation.operands.size();
  if (operands > kMaxGradientOperands) {
    return absl::UnimplementedError(
        absl::StrCat("the gradient of more than ", kMaxGradientOperands, " operands"));
  }
  Census work, before;
  bool left = query.Needs(0);
  for (size_t last = 1; last < operands; ++last) {
    EinsumCounter counter(equation);
    for (size_t i = 0; i <= last; ++i) {
      counter.Join(i, equation.operands[i], n.input(static_cast<int>(i)).shape);
    }
    const Census joined = std::move(counter).Work();
    const int gradients = (left ? 1 : 0) + (query.Needs(last) ? 1 : 0);
    for (Kind kind : {Kind::kMac, Kind::kMul}) {
      const Expr join = joined[kind] - std::as_const(before)[kind];
      if (gradients > 0 && join != Expr(0)) work[kind] += join * gradients;
    }
    before = joined;
    left = left || query.Needs(last);
  }
  return work;
}

constexpr OpDef kMatMulRows[] = {
    {.name = "MatMul",
     .versions = {1, 9, 13},
     .formula = "Y[..,M,N] = A[..,M,K] B[..,K,N]",
     .data = {.signature = "A[a...] B[b...] -> Y[y...]",
              .let = "K = same(A[-1], B[max(-2, -B.rank)])",
              .costs = "mac = Y.elements*K"},
     .infer = InferMatMul,
     .examples = {{"float[N,77,512] A, float[512,1024] B -> float[N,77,1024] Y", "mac=40370176*N"},
                  {"float[8,N,64] A, float[2,1,64,N] B -> float[2,8,N,N] Y", "mac=1024*N^2"},
                  {"float[5] A, float[3,5,7] B -> float[3,7] Y", "mac=105"},
                  {"float[3,4,5] A, float[5] B -> float[3,4] Y", "mac=60"},
                  {"float[N] A, float[N] B -> float Y", "mac=N"},
                  {"int32[2,3] A, int32[3,4] B -> int32[2,4] Y", "int_mac=24"}},
     .operands = {.weights = InputBits({0, 1})},
     .gradient = {.formula = "dA = dY B'; dB = A' dY: a product as large as forward for each",
                  .products = InputBits({0, 1}),
                  .keeps = {.batched = true}}},
    {.name = "Gemm",
     .versions = {1, 6, 7, 9, 11, 13},
     .formula = "Y[M,N] = alpha * A'[M,K] B'[K,N] + beta * C",
     .data = {.signature = "A[a0, a1] B[b0, b1] C? -> Y[M, N]",
              .attributes = "transA = 0; transB = 0; alpha = 1.0; beta = 1.0",
              .let = "K = same(if(attr.transA, a0, a1), if(attr.transB, b1, b0))",
              .costs = "mac = M*N*K; add = C.given*M*N; mul = if(attr.alpha.is_1, 0, M*N) + "
                       "if(attr.beta.is_1, 0, C.elements)"},
     .infer = InferGemm,
     .examples = {{"float[N,512] A, float[10,512] B, float[10] C -> float[N,10] Y <transB=1>",
                   "mac=5120*N add=10*N"},
                  {"float[512,N] A, float[512,10] B -> float[N,10] Y <transA=1, alpha=0.5>",
                   "mac=5120*N mul=10*N"},
                  {"float[N,512] A, float[512,10] B, float[10] C -> float[N,10] Y <beta=2.0>",
                   "mac=5120*N add=10*N mul=10"},
                  {"float[N,512] A, float[512,10] B, float[10] C -> float[N,10] Y <broadcast=1>",
                   "mac=5120*N add=10*N", 6},
                  {"float[1,5] a, float[5,4] b, float[1,4] c -> float[1,4] y", "mac=20 add=4"}},
     .operands = {.weights = InputBits({0, 1, 2})},
     .onnx = {.since = 6},
     .gradient = {.formula = "dA = alpha dY B'; dB = alpha A' dY: a product as large as forward "
                             "for each; dC = beta * sum of dY",
                  .costs = "mul = if(attr.alpha.is_1, 0, A.needed*A.elements + "
                           "B.needed*B.elements) + if(attr.beta.is_1, 0, C.needed*C.elements); add "
                           "= C.summed",
                  .products = InputBits({0, 1})}},
    {.name = "Einsum",
     .versions = {12, 28},
     .formula =
         "operands are joined from left to right; a pair costs the product of the sizes of all "
         "its labels: as mac if a label is summed out, else as mul; a label of one operand "
         "alone that is not in the output: add = elements of the operand",
     .infer = InferEinsum,
     .count = CountEinsum,
     .least = LeastEinsum,
     .examples =
         {{"float[N,12,77,64] q, float[N,12,77,64] k -> float[N,12,77,77] s "
           "<equation=\"bhid,bhjd->bhij\">",
           "mac=4553472*N"},
          {"float[N,3,4] a, float[4,5] b -> float[N,3,5] y <equation=\"...k, kn -> ...n\">",
           "mac=60*N"},
          {"float[2,N] a, float[N,4] b, float[4,5] c -> float[2,5] y <equation=\"ij,jk,kl\">",
           "mac=8*N + 40"},
          {"float[N,7] x -> float[N] y <equation=\"ij->i\">", "add=7*N"},
          {"float[N,7] x -> float[7,N] y <equation=\"ij->ji\">", "free"},
          {"float[N,N] x -> float y <equation=\"ii\">", "add=N"},
          {"float[N] a, float[7] b -> float[N,7] y <equation=\"i,j->ij\">", "mul=7*N"},
          {"float[N,7] a, float[5,6] b -> float[N,5] y <equation=\"ij,kl->ik\">",
           "add=7*N + 30 mul=5*N"}},
     .operands = {.weights = InputBits({0, 1, 2, 3})},
     .note =
         "The order is the one of ONNX Runtime: left to right, labels summed out as soon as they "
         "occur no more. Transpositions and diagonals are free.",
     .gradient = {.formula =
                      "for two operands a product as large as forward for the gradient of each",
                  .rule = EinsumGradient,
                  .keeps = {.crosswise = true}}},
    {.name = "MatMulInteger",
     .versions = {10},
     .formula = "Y[..,M,N] = (A[..,M,K] - a_zero_point) (B[..,K,N] - b_zero_point)",
     .data = {.signature = "A[a...] B[b...] a_zero_point? b_zero_point? -> Y[y...]",
              .let = "K = same(A[-1], B[max(-2, -B.rank)])",
              .costs = "int_mac = Y.elements*K; int_add = a_zero_point.given*A.elements + "
                       "b_zero_point.given*B.elements"},
     .infer = InferMatMulInteger,
     .examples = {{"uint8[N,12] A, int8[12,5] B, uint8 az -> int32[N,5] Y",
                   "int_mac=60*N int_add=12*N"},
                  {"uint8[N,12] A, int8[12,5] B, uint8 az, int8[5] bz -> int32[N,5] Y",
                   "int_mac=60*N int_add=12*N + 60"}},
     .operands = {.weights = InputBits({0, 1}), .not_parameters = InputBits({2, 3})}},
    {.name = "QLinearMatMul",
     .versions = {10, 21},
     .formula = "y[..,M,N] = requantised (a - a_zero_point)[..,M,K] (b - b_zero_point)[..,K,N]",
     .data = {.signature =
                  "a a_scale a_zero_point b b_scale b_zero_point y_scale y_zero_point -> y",
              .let = "K = same(a[-1], b[max(-2, -b.rank)])",
              .costs =
                  "mac = y.elements*K; add = a.elements + b.elements; float_mul = y.elements; "
                  "float_round = y.elements; float_add = y.elements; float_cmp = 2*y.elements"},
     .infer = InferQLinearMatMul,
     .mac_operands = TypesOf<0, 3>,
     .examples = {{"uint8[N,4] a, float as, uint8 az, int8[4,3] b, float bs, int8 bz, float ys, "
                   "uint8 yz -> uint8[N,3] y",
                   "add=3*N mul=3*N cmp=6*N round=3*N int_mac=12*N int_add=4*N + 12"}},
     .operands = {.weights = InputBits({3}), .not_parameters = InputBits({1, 2, 4, 5, 6, 7})},
     .note = "The factor a_scale * b_scale / y_scale is made once: not counted."},
};

}  // namespace

constinit const OpFamily kMatMulFamily = {"", kMatMulRows};

}  // namespace onnxflops
