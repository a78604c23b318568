// What derivatives make on their way and drop: part of the peak of a step.
#ifndef ONNXFLOPS_SRC_MEMORY_TEMPORARIES_H_
#define ONNXFLOPS_SRC_MEMORY_TEMPORARIES_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "ops/op_def.h"

namespace onnxflops::memory {

// Of a call of PyTorch by the text of the exporter, of which the exporter may make several nodes,
// or a node that other calls are made of as well. nullopt: the operator's row says it.
// `casts`: its last node casts to another type.
std::optional<Temporaries> TemporariesOfCall(absl::string_view fx_node, bool casts);

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_TEMPORARIES_H_
