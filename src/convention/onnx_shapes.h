// What ONNX's own shape inference finds out, as far as that decides other tools' figures: they ask
// it, and count with 0 where it does not know a size.
//
// It follows sizes through Shape, Size, Gather, Concat, Slice, Squeeze, Unsqueeze, Cast, Add, Sub
// and Mul (its "data propagation"), and only Reshape, Expand and ConstantOfShape look at what came
// of that; all others want constants. Read in onnx 1.23.2, onnx/defs/*/{defs,old,utils}.cc and
// onnx/shape_inference/implementation.cc.
#ifndef ONNXFLOPS_SRC_CONVENTION_ONNX_SHAPES_H_
#define ONNXFLOPS_SRC_CONVENTION_ONNX_SHAPES_H_

#include "src/graph/model.h"

namespace onnxflops {

// The first node of the main graph with an output whose shape ONNX's inference may not find, given
// the file's inputs; kNone if it finds all. It may doubt too much, but never too little.
struct OnnxShapeOptions {
  bool declared = true;          // the value_info in the file stays
  bool data_propagation = true;  // is switched on
};
NodeId FirstDoubtfulShape(const ModelData& model, const OnnxShapeOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CONVENTION_ONNX_SHAPES_H_
