// Inlines local functions, so that every later stage sees the executed graph: patterns, roles of
// weights and saved tensors do not end at a call. ONNX Runtime does the same when it loads a model.
#ifndef ONNXFLOPS_SRC_RESOLVE_INLINE_CALLS_H_
#define ONNXFLOPS_SRC_RESOLVE_INLINE_CALLS_H_

#include "src/graph/model.h"

namespace onnxflops {

// `model` without local functions: each call is replaced by the function's nodes, with the caller's
// values and attributes (Node::caller names the call). Returns the model itself if it has no call;
// if it would get more than kMaxInlinedNodes additional nodes or become too deep; if a call returns
// an omitted input; or if a body is an attribute of a call. A call of a function with the name of
// an operator becomes that operator, with a warning.
Model InlineCalls(const Model& model);
// True if the main graph calls local functions.
bool HasCalls(const ModelData& model);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_RESOLVE_INLINE_CALLS_H_
