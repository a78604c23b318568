// Models that differ from an example in one place.
#ifndef ONNXFLOPS_TESTS_OPS_VARIANTS_H_
#define ONNXFLOPS_TESTS_OPS_VARIANTS_H_

#include <string>
#include <vector>

#include "onnx/onnx_pb.h"
#include "ops/op_def.h"

namespace onnxflops {

struct Variant {
  std::string place;  // where it differs, "x[1]+1": unique among those of an example
  onnx::ModelProto model;
};

// The example with sizes for its symbols, of which four are pairwise different, and without the
// types of its outputs.
onnx::ModelProto WithSizes(onnx::ModelProto example);

// That; then, one at a time: every size one more and one less, every input a dimension more, one
// less, and of one or none, every input and every attribute not there, an input too many, every
// number of a stored tensor or an attribute somewhat more or less, every word another; and the
// other versions of the operator.
std::vector<Variant> VariantsOf(const onnx::ModelProto& example, const Versions& versions);

// The example with one input of another type of its kind, a time.
std::vector<Variant> RetypedOf(const onnx::ModelProto& base);

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_OPS_VARIANTS_H_
