// What ONNX's own shape inference finds out, as far as that decides other tools' figures: they ask
// it, and count with 0 where it does not know a size.
//
// It is a mask over our facts: each node's own shape rule runs again, on inputs of which only that
// is told which ONNX's inference knows. Where that finds less than the rule would, the operator's
// row says so (OpDef::onnx). How it goes through a graph was read in onnx 1.23.2,
// onnx/shape_inference/implementation.{h,cc} and onnx/defs/shape_inference.cc.
#ifndef ONNXFLOPS_SRC_CONVENTION_ONNX_SHAPES_H_
#define ONNXFLOPS_SRC_CONVENTION_ONNX_SHAPES_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/infer/fact_table.h"
#include "src/infer/infer.h"

namespace onnxflops::convention {

// Whether the official library defines the operators of a domain.
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

  // What is known of a value of the main graph: a dimension is literal, or not known. Nothing is
  // known of a value that is left out.
  const Fact& of(OptionalValueId value) const;
  // Whether the whole shape is; of a value that is left out there is nothing to know.
  bool IsKnown(OptionalValueId value) const;

 private:
  class Mask;
  infer::FactTable facts_;
  std::vector<FactId> known_;  // by ValueId
  OptionalNodeId first_doubt_;
};

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_ONNX_SHAPES_H_
