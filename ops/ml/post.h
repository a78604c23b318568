// What the models of ai.onnx.ml share: rows of features in, scores out, and a transform of the
// scores at the end.
#ifndef ONNXFLOPS_OPS_ML_POST_H_
#define ONNXFLOPS_OPS_ML_POST_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/op_def.h"
#include "src/base/status_macros.h"

namespace onnxflops {

// X as rows of features: [N,C], or [C] as one row.
struct FeatureRows {
  Expr rows, features;
};

inline absl::StatusOr<FeatureRows> RowsOf(const NodeView& n, int input = 0) {
  ASSIGN_OR_RETURN(const Shape x, n.ShapeOfRankAtLeast(input, 1));
  if (x.rank() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", input, " has rank ", x.rank(), ", not 1 or 2"));
  }
  return FeatureRows{x.rank() == 1 ? Expr(1) : x[0], x[x.rank() - 1]};
}

// Elements of a list attribute of this type; 0 when it is missing.
inline int64_t LengthOf(const NodeView& n, absl::string_view name,
                        AttributeType type = AttributeType::kFloats) {
  size_t length = 0;
  if (type == AttributeType::kFloats) length = n.Floats(name).size();
  if (type == AttributeType::kInts) length = n.Ints(name).size();
  if (type == AttributeType::kStrings) length = n.Strings(name).size();
  return static_cast<int64_t>(length);
}

// Labels of classes are strings or integers, whichever attribute is there.
struct Labels {
  DType type = DType::kInt64;
  int64_t count = 0;
};

inline Labels LabelsOf(const NodeView& n, absl::string_view ints_name) {
  if (const int64_t count = LengthOf(n, "classlabels_strings", AttributeType::kStrings);
      count > 0) {
    return {DType::kString, count};
  }
  return {DType::kInt64, LengthOf(n, ints_name, AttributeType::kInts)};
}

// Arithmetic of a transform per score: softmax as its function body, logistic 1 / (1 + exp(-x)),
// probit sqrt(2) * erfinv(2x - 1).
inline absl::StatusOr<ElementCost> PostTransformCost(absl::string_view transform) {
  if (transform == "NONE") return ElementCost{};
  if (transform == "SOFTMAX" || transform == "SOFTMAX_ZERO") {
    return ElementCost{.add = 2, .div = 1, .cmp = 1, .exp = 1};
  }
  if (transform == "LOGISTIC") return ElementCost{.add = 1, .div = 1, .exp = 1};
  if (transform == "PROBIT") return ElementCost{.add = 1, .mul = 2, .erf = 1};
  return absl::InvalidArgumentError(absl::StrCat("post_transform is '", transform, "'"));
}

inline absl::Status CheckPostTransform(const NodeView& n) {
  return PostTransformCost(n.String("post_transform", "NONE")).status();
}

// Of `scores` scores, by the attribute post_transform.
inline absl::StatusOr<Census> PostTransform(const NodeView& n, const Expr& scores) {
  ASSIGN_OR_RETURN(const ElementCost cost, PostTransformCost(n.String("post_transform", "NONE")));
  return cost * scores;
}

inline MacOperands FloatOperands(const NodeView&) { return {DType::kFloat32, DType::kFloat32}; }

// The arithmetic of all these models is that of float32, whatever type the features have.
inline Cost FloatCost(Census work) {
  Cost cost;
  cost.flops = std::move(work);
  cost.flops_mac_operands = {DType::kFloat32, DType::kFloat32};
  return cost;
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_ML_POST_H_
