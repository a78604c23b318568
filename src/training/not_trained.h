// Finds tensors that are used as weights but are not parameters, according to the file.
#ifndef ONNXFLOPS_SRC_TRAINING_NOT_TRAINED_H_
#define ONNXFLOPS_SRC_TRAINING_NOT_TRAINED_H_

#include <vector>

#include "src/exporter/signature.h"
#include "src/graph/model.h"

namespace onnxflops::training {

// By ValueId.
//   - frequencies and tables of angles of rotary embeddings, by their names;
//   - tables that TorchScript computed and elements are multiplied with (exporter::IsFoldedTable);
//   - where nodes state their calls: what calls name as a buffer, and what the exporter made up for
//     an argument that a call does not have, as the scale of a LayerNorm without one;
//   - where the file states arguments: buffers.
std::vector<bool> FindNotTrained(const ModelData& model, const exporter::Signature& signature);

}  // namespace onnxflops::training

#endif  // ONNXFLOPS_SRC_TRAINING_NOT_TRAINED_H_
