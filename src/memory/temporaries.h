// Temporary tensors of derivatives, which are part of the peak of a step.
#ifndef ONNXFLOPS_SRC_MEMORY_TEMPORARIES_H_
#define ONNXFLOPS_SRC_MEMORY_TEMPORARIES_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "ops/op_def.h"

namespace onnxflops::memory {

// The temporaries of a PyTorch call by the exporter's text, if the exporter writes the call as
// several nodes, or as a node that other calls use as well. nullopt: the operator's row decides.
// `casts`: its last node casts to another type.
std::optional<Temporaries> TemporariesOfCall(absl::string_view fx_node, bool casts);

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_TEMPORARIES_H_
