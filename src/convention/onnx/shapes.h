// How much ONNX's own shape inference finds. Tools that use it count 0 where it knows no size, so
// it decides their figures.
//
// It is computed as a mask over our facts: each node's own shape rule runs again and sees only the
// sizes that ONNX's inference knows. If ONNX finds less than the rule would, the operator's row
// says so (OpDef::onnx). The walk through a graph follows onnx 1.23.2,
// onnx/shape_inference/implementation.{h,cc} and onnx/defs/shape_inference.cc.
#ifndef ONNXFLOPS_SRC_CONVENTION_ONNX_SHAPES_H_
#define ONNXFLOPS_SRC_CONVENTION_ONNX_SHAPES_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/infer/fact_table.h"
#include "src/infer/infer.h"

namespace onnxflops::convention {

// True if the official library defines the operators of a domain.
bool IsOnnxDomain(absl::string_view domain);

struct OnnxShapeOptions {
  bool declared = true;          // the value_info in the file stays
  bool data_propagation = true;  // is switched on
};

class OnnxShapes {
 public:
  OnnxShapes(const Inference& inference, const OnnxShapeOptions& options);

  // The first node with an output whose shape is not wholly known; kNone if all are.
  OptionalNodeId first_doubt() const { return first_doubt_; }

  // The fact about a value of the main graph: each dimension is literal or unknown. An omitted
  // value is unknown.
  const Fact& of(OptionalValueId value) const;
  // True if the whole shape is known, or the value is omitted.
  bool IsKnown(OptionalValueId value) const;

 private:
  class Mask;
  infer::FactTable facts_;
  std::vector<FactId> known_;  // by ValueId
  OptionalNodeId first_doubt_;
};

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_ONNX_SHAPES_H_
