// Tells which exporter wrote a model, by its producer and by traces in the file.
//
// Only this folder reads the traces of PyTorch's exporters: metadata of nodes (node_metadata.h,
// scope.h, fx_node.h), names of nodes (node_name.h) and of tensors (tensor_name.h).
#ifndef ONNXFLOPS_SRC_EXPORTER_EXPORTER_H_
#define ONNXFLOPS_SRC_EXPORTER_EXPORTER_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "src/graph/model.h"

namespace onnxflops::exporter {

enum class Exporter : uint8_t {
  kDynamo,       // torch.onnx.export(dynamo=True): nodes state the calls of PyTorch
  kTorchScript,  // torch.onnx.export(dynamo=False): names of nodes are paths of modules
  kOther,        // not PyTorch, or no trace of it is left
};
Exporter ExporterOf(const ModelData& model);
// A graph that was made of a configuration: what it stores once, modules share.
bool IsOwnGraph(const ModelData& model);

// Major and minor version of the PyTorch that exported the file; nullopt if unknown.
using TorchRelease = std::pair<int, int>;
std::optional<TorchRelease> TorchReleaseOf(const ModelData& model);

// True if the file names modules in other ways than by its weights.
bool NamesModules(const ModelData& model);

}  // namespace onnxflops::exporter

#endif  // ONNXFLOPS_SRC_EXPORTER_EXPORTER_H_
