// Functions that are not in the file: for the stage that resolves operators.
#ifndef ONNXFLOPS_SRC_LOAD_WITH_FUNCTIONS_H_
#define ONNXFLOPS_SRC_LOAD_WITH_FUNCTIONS_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/graph/model.h"

namespace onnxflops {

// `model` with the functions of a ModelProto added after its own. They are marked official. Nothing
// else of the ModelProto is read. Each pair is a node and the overload of the function that it
// calls from now on. A node whose function is not there stays as it is.
absl::StatusOr<Model> WithFunctions(const Model& model, absl::string_view functions,
                                    absl::Span<const std::pair<NodeId, std::string>> calls);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_LOAD_WITH_FUNCTIONS_H_
