// The mask that TorchScript writes for scaled_dot_product_attention(is_causal=True).
#ifndef ONNXFLOPS_SRC_EXPORTER_CAUSAL_MASK_H_
#define ONNXFLOPS_SRC_EXPORTER_CAUSAL_MASK_H_

#include "src/graph/model.h"

namespace onnxflops::exporter {

// The value is Where(Equal(Trilu(Expand(1)), 0), -inf, 0): a mask that no caller gave.
bool IsCausalMask(const ModelData& model, ValueId value);

}  // namespace onnxflops::exporter

#endif  // ONNXFLOPS_SRC_EXPORTER_CAUSAL_MASK_H_
