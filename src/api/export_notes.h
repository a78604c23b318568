// What the Python package notes in the graphs that it exports: the sizes that they are for. A class
// may branch on an open size, of which its graph has one branch, or fix a size in its code.
//
//   RETURN_IF_ERROR(CheckNotedSizes(*model, {{"seq", 4096}}));
#ifndef ONNXFLOPS_SRC_API_EXPORT_NOTES_H_
#define ONNXFLOPS_SRC_API_EXPORT_NOTES_H_

#include "absl/status/status.h"
#include "src/graph/model.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// InvalidArgument if the graph does not hold at these sizes, with the sizes at which it does. Sizes
// that are left out are open: then it is an error only if no size would do. OutOfRange for more
// conditions than a class has.
absl::Status CheckNotedSizes(const ModelData& model, const Bindings& sizes);

// Whether there is anything to check.
bool HasNotedSizes(const ModelData& model);

// Takes out of `sizes` those that the export fixed at this very size. InvalidArgument for another.
absl::Status TakeNotedSizes(const ModelData& model, Bindings* sizes);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_EXPORT_NOTES_H_
