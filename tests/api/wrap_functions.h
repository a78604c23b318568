// The same model with nodes inside functions.
#ifndef ONNXFLOPS_TESTS_API_WRAP_FUNCTIONS_H_
#define ONNXFLOPS_TESTS_API_WRAP_FUNCTIONS_H_

#include <cstddef>

#include "onnx/onnx_pb.h"

namespace onnxflops {

// Moves nodes of the main graph into functions, `run` consecutive ones into each, and every call of
// those into a function of its own, so that there are `depth` around each node. Runs that are alike
// but for names share one function.
onnx::ModelProto WithFunctions(onnx::ModelProto model, size_t run, int depth);

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_API_WRAP_FUNCTIONS_H_
