// How PyTorch's torch.nn.MultiheadAttention projects queries, keys and values by one product.
#ifndef ONNXFLOPS_SRC_EXPORTER_PACKED_PROJECTION_H_
#define ONNXFLOPS_SRC_EXPORTER_PACKED_PROJECTION_H_

#include "src/graph/model.h"

namespace onnxflops::exporter {

// The Transpose of such a projection, which then is copied in its new order. Exporters leave the
// copy out.
bool IsPackedProjection(const Node& node);

}  // namespace onnxflops::exporter

#endif  // ONNXFLOPS_SRC_EXPORTER_PACKED_PROJECTION_H_
