// Whether two models are the same graph, as loaded: every name, type, attribute and small constant.
//
//   SameGraphs(*Load("clip.onnx").value(), *Load("copy.onnx").value())
//
// Paths are not compared, nor are payloads that were not kept (large weights). Takes time in
// proportion to the graphs.
#ifndef ONNXFLOPS_SRC_GRAPH_SAME_MODEL_H_
#define ONNXFLOPS_SRC_GRAPH_SAME_MODEL_H_

#include "src/graph/model.h"

namespace onnxflops {

bool SameGraphs(const ModelData& a, const ModelData& b);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_GRAPH_SAME_MODEL_H_
