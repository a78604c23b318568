// Skips nodes that pass on their input unchanged and so are not calls of PyTorch: an Identity, a
// Dropout that is off, a Cast to the same type, a Reshape to the same sizes. Pattern matching must
// not see them.
#ifndef ONNXFLOPS_SRC_MEMORY_LOOK_THROUGH_H_
#define ONNXFLOPS_SRC_MEMORY_LOOK_THROUGH_H_

#include <optional>

#include "src/count/count_model.h"
#include "src/infer/infer.h"

namespace onnxflops::memory {

// The same inference with every node reading directly from before such nodes, so that only graph
// outputs still use their results; nullopt if there are none. Nodes that name a call of PyTorch
// stay, and so do Identity nodes that stand for a parameter (exporter::SharedParameterName).
std::optional<Inference> LookThrough(const Inference& inference, const Counts& counts);

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_LOOK_THROUGH_H_
