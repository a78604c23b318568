// The reverse of loading: writes one node's operator, inputs and attributes as protobuf, so that
// the official library can be asked about it.
#ifndef ONNXFLOPS_SRC_LOAD_WRITE_APPLICATION_H_
#define ONNXFLOPS_SRC_LOAD_WRITE_APPLICATION_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/graph/model.h"

namespace onnxflops {

// A FunctionProto without name whose only node applies the operator of `node`, with the opset of
// its domain. Inputs are called i0, i1, ..., and outputs o0, o1, ...; `types` are the value_info of
// the inputs, by position, nullptr if unknown.
//
// Attributes are copied from the file. Those that cannot be written (graphs, or tensors that were
// not read) are omitted, and the metadata has the key "partial".
std::string WriteApplication(const Node& node, int64_t opset,
                             absl::Span<const DeclaredType* const> types);

// Adds a FunctionProto to the end of a ModelProto, under an overload.
void AppendFunction(absl::string_view function, absl::string_view overload, std::string* model);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_LOAD_WRITE_APPLICATION_H_
