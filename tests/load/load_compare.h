// Holds a loaded model against what protobuf's own reader says of the same bytes.
#ifndef ONNXFLOPS_TESTS_LOAD_LOAD_COMPARE_H_
#define ONNXFLOPS_TESTS_LOAD_LOAD_COMPARE_H_

#include <string>
#include <vector>

#include "onnx/onnx_pb.h"
#include "src/graph/model.h"

namespace onnxflops {

// Every difference, one line each ("graph.node[3].attribute[0].i: 4, not 5"); none if both agree.
// Checks as well what a Model promises beyond the file: ids, scopes, the order of nodes.
std::vector<std::string> Differences(const onnx::ModelProto& proto, const ModelData& model);

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_LOAD_LOAD_COMPARE_H_
