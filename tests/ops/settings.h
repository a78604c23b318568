// What the attributes of an operator may be set to.
#ifndef ONNXFLOPS_TESTS_OPS_SETTINGS_H_
#define ONNXFLOPS_TESTS_OPS_SETTINGS_H_

#include <vector>

#include "onnx/onnx_pb.h"
#include "tests/ops/examples.h"
#include "tests/ops/variants.h"

namespace onnxflops {

// The attributes of the example's operator that have a default, by ONNX's schema of the version
// that the model imports or by ONNX Runtime's, each set to it.
std::vector<onnx::AttributeProto> DefaultsOf(const Example& e, const onnx::ModelProto& model);

// The example with one attribute of its operator set to something else, "axis=2" say: to some
// numbers or words, and to whatever an example of any operator sets an attribute of that name.
std::vector<Variant> SettingsOf(const Example& e, const onnx::ModelProto& model);

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_OPS_SETTINGS_H_
