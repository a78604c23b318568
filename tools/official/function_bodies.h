// Function bodies by which ONNX defines operators, from the official library's schemas.
#ifndef ONNXFLOPS_TOOLS_OFFICIAL_FUNCTION_BODIES_H_
#define ONNXFLOPS_TOOLS_OFFICIAL_FUNCTION_BODIES_H_

#include "onnx/onnx_pb.h"

namespace onnxflops::tools {

// The answer to a request as FunctionBodySource::Find (src/resolve/function_body_source.h)
// describes both. A schema that throws has no body.
onnx::ModelProto FindFunctionBodies(const onnx::ModelProto& request);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_OFFICIAL_FUNCTION_BODIES_H_
