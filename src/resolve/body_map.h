// How the inputs and outputs of a node with bodies correspond to those of a body.
#ifndef ONNXFLOPS_SRC_RESOLVE_BODY_MAP_H_
#define ONNXFLOPS_SRC_RESOLVE_BODY_MAP_H_

#include <cstddef>
#include <cstdint>

#include "ops/op_def.h"
#include "src/graph/model.h"

namespace onnxflops::resolve {

struct BodyMap {
  int first_input = 0;       // node input of the body's input 0
  int first_output = 0;      // body output of the node's output 0
  size_t carried = 0;        // values handed from trip to trip
  size_t carried_out = 0;    // the first of them among the body's outputs
  size_t carried_in = 0;     // and among its inputs
  bool takes_inputs = true;  // inputs of the node become inputs of the body
  bool on_scores = false;    // the body runs on scores, which inputs 0 and 1 make
};

// `def`: the row of the node's operator; nullptr for a call of a function.
BodyMap BodyMapOf(const Node& node, const OpDef* def, int64_t opset, const Graph& body);

}  // namespace onnxflops::resolve

#endif  // ONNXFLOPS_SRC_RESOLVE_BODY_MAP_H_
