// Local functions in the place of their calls, so that every later stage sees the graph that runs:
// patterns, roles of weights and what backward keeps do not end at a call. ONNX Runtime does the
// same when it loads a model.
#ifndef ONNXFLOPS_SRC_RESOLVE_INLINE_CALLS_H_
#define ONNXFLOPS_SRC_RESOLVE_INLINE_CALLS_H_

#include "src/graph/model.h"

namespace onnxflops {

// `model` without local functions: the nodes of each stand where it is called, with the caller's
// values and attributes (Node::caller says for which call). The model itself where it has no call,
// where it would have more than kMaxInlinedNodes nodes more than the file or be too deep, where a
// call gives a left-out input as its output, and where a body is an attribute of a call. A call of
// a function that has the name of an operator becomes that operator, with a warning.
Model InlineCalls(const Model& model);
// Whether the main graph calls local functions.
bool HasCalls(const ModelData& model);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_RESOLVE_INLINE_CALLS_H_
