// A model's costs inside of a copy of it, where viewers such as Netron show them.
#ifndef ONNXFLOPS_SRC_API_ANNOTATE_H_
#define ONNXFLOPS_SRC_API_ANNOTATE_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/graph/model.h"

namespace onnxflops {

// Hands a copy of the model's file to `write`, piece by piece in order. Nodes have the costs of one
// run in their metadata_props: onnxflops.macs, onnxflops.flops, onnxflops.bytes and
// onnxflops.module (a path); onnxflops.reason where the cost is unknown. Nodes that do not run have
// none. All else is the same, byte for byte; data in other files is referred to as before.
//
// Errors, beside those of Count: InvalidArgument for a model that is no file in Protobuf's binary
// form, or whose file changed since; OutOfRange for a copy that Protobuf could not read; what
// `write` returns.
absl::Status Annotate(const Model& model, const CountOptions& options,
                      absl::FunctionRef<absl::Status(absl::string_view)> write);

// Whether a model is such a copy.
bool IsAnnotated(const Model& model);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_ANNOTATE_H_
