// Writes a model's costs into a copy of it, where viewers such as Netron show them.
#ifndef ONNXFLOPS_SRC_API_ANNOTATE_H_
#define ONNXFLOPS_SRC_API_ANNOTATE_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/graph/model.h"

namespace onnxflops {

// Passes a copy of the model's file to `write`, in pieces and in order. The metadata_props of each
// node hold the costs of one run: onnxflops.macs, onnxflops.flops, onnxflops.bytes and
// onnxflops.module (a path), and onnxflops.reason if the cost is unknown. Nodes that do not run get
// no entry. All other bytes stay the same; external data is still referred to by name.
//
// Errors: those of Count; InvalidArgument if the model is not a file in Protobuf's binary form, or
// the file changed meanwhile; OutOfRange for a copy that Protobuf could not read; what `write`
// returns.
absl::Status Annotate(const Model& model, const CountOptions& options,
                      absl::FunctionRef<absl::Status(absl::string_view)> write);

// True if a model is such a copy.
bool IsAnnotated(const Model& model);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_ANNOTATE_H_
