// Rules of batch_step.h for operators that multiply tensors: products, attention, recurrence.
//
// How it works. At most one dimension of the output counts samples, except that each sample of one
// input may meet each of another, as CLIP compares images and texts. Products that sum over samples
// are refused: no layer does, and a Reshape that is read wrongly often leads to one.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "src/adapter/batch_step.h"
#include "src/base/status_macros.h"

namespace onnxflops::adapter {

namespace {

// The inputs that must differ from sample to sample, from the first on.
size_t InputsOfSamples(absl::string_view op) {
  if (op == "GroupQueryAttention") return 6;
  if (op == "MultiHeadAttention" || op == "Attention") return 3;
  constexpr absl::string_view kTwo[] = {"EmbedLayerNormalization", "GridSample",
                                        "QEmbedLayerNormalization", "SkipLayerNormalization",
                                        "SkipSimplifiedLayerNormalization"};
  return absl::c_linear_search(kTwo, op) ? 2 : 1;
}

}  // namespace

// Operators whose tensors have the batch first, such as attention. The inputs of ONNX Runtime's
// Attention are tokens, weights and a cache [2, batch, ...].
absl::Status BatchStep::AllFirst() {
  const bool is_onnx = node_.domain.empty() && node_.op_type == "Attention";
  const bool is_quantised = node_.op_type == "QAttention";
  const bool is_fused = is_quantised || (!is_onnx && node_.op_type == "Attention");
  const size_t cache = is_quantised ? 8 : 4;
  const size_t of_samples = is_fused ? 1 : InputsOfSamples(node_.op_type);
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    BatchPlace expected;
    expected.axis = is_fused && i == cache ? 1 : 0;
    const bool is_cache = (is_onnx && (i == 4 || i == 5)) || (is_fused && i == cache);
    const std::optional<BatchPlace> place = Place(i);
    if (place && !(*place == expected)) return Refuse("its samples are not along the first axis");
    if (!place && Given(i) && (i < of_samples || is_cache)) wanted.emplace_back(i, expected);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!node_.outputs[i]) continue;
    BatchPlace place;
    place.axis = is_fused && i == 1 ? 1 : 0;
    const Shape& shape = *Out(i);
    if (shape.rank() > place.axis && shape[place.axis] == Expr(batch_.old)) outputs[i] = place;
  }
  return absl::OkStatus();
}

// Rows of A with weights in blocks.
absl::Status BatchStep::Rows() {
  RETURN_IF_ERROR(OnlyInputs({0}));
  if (Place(0)->axis == In(0)->rank() - 1) return Refuse("it sums over samples");
  outputs[0] = Place(0);
  return absl::OkStatus();
}

// Axes of a product: rows of A and columns of B stay, the others are summed or shared.
absl::Status BatchStep::MatMul() {
  RETURN_IF_ERROR(OnlyInputs({0, 1}));
  const std::optional<BatchPlace> a = Place(0), b = Place(1);
  const int rank_a = In(0)->rank(), rank_b = In(1)->rank();
  const bool sums_a = a && a->axis == rank_a - 1;
  const bool sums_b = b && b->axis == std::max(rank_b - 2, 0);
  if (sums_a || sums_b) return Refuse("it sums over samples");
  if (rank_a < 2 || rank_b < 2) {
    if (b) return Refuse("its input 1 differs from sample to sample");
    outputs[0] = a;
    return absl::OkStatus();
  }
  const int rank = std::max(rank_a, rank_b);
  const bool rows = a && a->axis == rank_a - 2, columns = b && b->axis == rank_b - 1;
  if (rows && columns && rank == 2) return Pairs(*a, *b);
  if ((rows || columns) && a && b) return Refuse("it multiplies samples with samples");
  std::optional<BatchPlace> joined;
  RETURN_IF_ERROR(Join(0, rank, &joined));
  RETURN_IF_ERROR(Join(1, rank, &joined));
  outputs[0] = joined;
  if (rows || columns || (a && b)) return absl::OkStatus();
  const size_t other = a ? 1 : 0;
  BatchPlace own = *joined;
  own.axis -= rank - In(other)->rank();
  const bool each = IsExpandedForBatch(other);
  if (own.axis >= 0 && (each || (*In(other))[own.axis] != Expr(1))) wanted.emplace_back(other, own);
  return absl::OkStatus();
}

// Each sample of A with each of B.
absl::Status BatchStep::Pairs(const BatchPlace& a, const BatchPlace& b) {
  if (!a.alone() || !b.alone()) return Refuse("it multiplies samples with samples");
  BatchPlace place;
  place.second = 1;
  outputs[0] = place;
  return absl::OkStatus();
}

absl::Status BatchStep::Gemm() {
  const std::optional<BatchPlace> a = Place(0), b = Place(1);
  if (a && b) {
    const bool rows = a->axis == (Int("transA", 0) != 0 ? 1 : 0);
    const bool columns = b->axis == (Int("transB", 0) != 0 ? 0 : 1);
    const bool plain = rows && columns && (!Given(2) || In(2)->NumElements() == Expr(1));
    return plain ? Pairs(*a, *b) : Refuse("it multiplies samples with samples");
  }
  if (!a && !b) return Refuse("its input 2 differs from sample to sample");
  BatchPlace place = a ? *a : *b;
  const int kept = (a ? Int("transA", 0) != 0 : Int("transB", 0) == 0) ? 1 : 0;
  if (place.axis != kept) return Refuse("it sums over samples");
  place.axis = a ? 0 : 1;
  std::optional<BatchPlace> joined = place;
  RETURN_IF_ERROR(Join(2, 2, &joined));
  BatchPlace own = place;
  own.axis -= Given(2) ? 2 - In(2)->rank() : 2;
  if (own.axis >= 0 && !Place(2) && (*In(2))[own.axis] != Expr(1)) wanted.emplace_back(2, own);
  outputs[0] = place;
  return absl::OkStatus();
}

absl::Status BatchStep::Einsum() {
  const Attribute* attribute = node_.FindAttribute("equation");
  std::string equation;
  for (const char c : attribute == nullptr ? absl::string_view() : attribute->s) {
    if (c != ' ') equation += c;
  }
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || absl::StrContains(equation, ".")) {
    return Refuse("its samples are not plain in the equation");
  }
  std::vector<std::string> terms(1);
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  char letter = 0;
  std::optional<BatchPlace> joined;
  for (size_t i = 0; i < node_.inputs.size() && i < terms.size(); ++i) {
    std::optional<BatchPlace> place = Place(i);
    if (!place) continue;
    const auto axis = static_cast<size_t>(place->axis);
    const char own = axis < terms[i].size() ? terms[i][axis] : '\0';
    place->axis = 0;
    if (own == 0 || (joined && (own != letter || !(*joined == *place)))) {
      return Refuse("it multiplies samples with samples");
    }
    letter = own;
    joined = place;
  }
  for (size_t i = 0; i < node_.inputs.size() && i < terms.size(); ++i) {
    const size_t axis = terms[i].find(letter);
    if (Place(i) || axis == std::string::npos) continue;
    BatchPlace own = *joined;
    own.axis = static_cast<int>(axis);
    wanted.emplace_back(i, own);
  }
  const size_t axis = equation.find(letter, arrow + 2);
  if (axis == std::string::npos) return absl::OkStatus();  // summed over
  joined->axis = static_cast<int>(axis - arrow - 2);
  outputs[0] = joined;
  return absl::OkStatus();
}

absl::Status BatchStep::Recurrent() {
  RETURN_IF_ERROR(OnlyInputs({0, 4, 5, 6}));
  const bool first = Int("layout", 0) != 0;
  const int axis = first ? 0 : 1;
  for (size_t i = 0; i < node_.inputs.size() && i < 7; ++i) {
    if (!Given(i) || (i >= 1 && i <= 3)) continue;
    BatchPlace place;
    place.axis = i == 4 ? 0 : axis;
    const std::optional<BatchPlace> own = Place(i);
    if (own && !(*own == place)) return Refuse("its samples are not along the axis of the batch");
    if (!own) wanted.emplace_back(i, place);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    BatchPlace place;
    place.axis = i == 0 && !first ? 2 : axis;
    outputs[i] = place;
  }
  return absl::OkStatus();
}

}  // namespace onnxflops::adapter
