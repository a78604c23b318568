// What ONNX's own shape inference finds out, as far as that decides other tools' figures: they ask
// it, and count with 0 where it does not know a size.
//
// It follows sizes through Shape, Size, Gather, Concat, Slice, Squeeze, Unsqueeze, Cast, Add, Sub
// and Mul (its "data propagation"), and only Reshape, Expand and ConstantOfShape look at what came
// of that; all others want constants. Read in onnx 1.23.2, onnx/defs/*/{defs,old,utils}.cc,
// onnx/defs/shape_inference.{h,cc} and onnx/shape_inference/implementation.cc.
#ifndef ONNXFLOPS_SRC_CONVENTION_ONNX_SHAPES_H_
#define ONNXFLOPS_SRC_CONVENTION_ONNX_SHAPES_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "src/infer/infer.h"

namespace onnxflops {

struct OnnxShapeOptions {
  bool declared = true;          // the value_info in the file stays
  bool data_propagation = true;  // is switched on
};

// What is known of the values of the main graph. A size that it knows is the one that we infer, so
// only whether it does is kept.
class OnnxShapes {
 public:
  OnnxShapes(const Inference& inference, const OnnxShapeOptions& options);

  // The first node with an output of which not all is known; kNone if all is. What is said to be
  // known is (a test holds it to the official library); of rare operators more may be.
  OptionalNodeId first_doubt() const { return first_doubt_; }

  using Flags = absl::InlinedVector<bool, 6>;  // by axis, or by element
  struct Known {
    bool typed = false;  // nothing is inferred of what comes of a value of unknown type
    bool ranked = false;
    Flags dims;
    bool constant = false;     // an initializer, or of a Constant
    bool has_content = false;  // elements found by data propagation, or of a constant
    Flags content;
  };
  const Known& of(ValueId value) const { return known_[static_cast<size_t>(value)]; }

 private:
  class Follower;
  std::vector<Known> known_;  // by ValueId
  OptionalNodeId first_doubt_;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CONVENTION_ONNX_SHAPES_H_
