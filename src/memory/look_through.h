// Nodes that hand on their input as it is, and so are none of PyTorch's calls: an Identity, a
// Dropout that is switched off, a Cast to the type that is there, a Reshape to the sizes that are
// there. What recognises patterns must not see them.
#ifndef ONNXFLOPS_SRC_MEMORY_LOOK_THROUGH_H_
#define ONNXFLOPS_SRC_MEMORY_LOOK_THROUGH_H_

#include <optional>

#include "src/count/count.h"
#include "src/infer/infer.h"

namespace onnxflops::memory {

// The same inference where every node reads what is before such nodes, whose results nothing but
// outputs of graphs uses then; nullopt if there are none. Nodes that state a call of PyTorch stay,
// and so do Identity nodes that stand for a parameter (exporter::SharedParameterName).
std::optional<Inference> LookThrough(const Inference& inference, const Counts& counts);

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_LOOK_THROUGH_H_
