// What the name of a tensor reveals: exporters keep names of parameters, and invent names for
// tensors that they compute.
//
//   visual.conv1.weight    a parameter or buffer of the module visual.conv1
//   onnx::MatMul_123       TorchScript: changed by the exporter, which transposed or joined it
//   val_12, unsqueeze_16   dynamo: computed by the exporter; an ATen operator and a number
#ifndef ONNXFLOPS_SRC_EXPORTER_TENSOR_NAME_H_
#define ONNXFLOPS_SRC_EXPORTER_TENSOR_NAME_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "src/graph/model.h"

namespace onnxflops::exporter {

// The module of the parameter with this name, "visual.conv1"; nullopt for a name without a dot.
std::optional<absl::string_view> ModuleOfParameter(absl::string_view name);
// True if the name is most likely a parameter's: inside a module, without TorchScript's prefix or
// the path of a node.
bool IsParameterName(absl::string_view name);
// A running statistic of a BatchNorm: a buffer, not a parameter.
bool IsRunningStatistic(absl::string_view name);
// The frequencies of a rotary embedding: a buffer, too.
bool IsRotaryFrequency(absl::string_view name);
// Its table of angles: so is that.
bool IsRotaryTable(absl::string_view name);
// An input projection of torch.nn.MultiheadAttention.
bool IsInProjection(absl::string_view name);

// TorchScript keeps one of several parameters with equal values, which are common in untrained
// networks, and passes it to the others' users through Identity nodes. Returns the name of the
// parameter for which such a node stands, or empty.
absl::string_view SharedParameterName(const ModelData& model, const Node& node);

// TorchScript: the exporter changed the tensor, so it is not the original parameter.
bool IsRenamed(absl::string_view name);
// The same for tensors used by operators whose name begins with `op_type`.
bool IsRenamedFor(absl::string_view op_type, absl::string_view name);
// TorchScript computed a table of factors or angles: a rotary embedding or a mask. A vector may
// scale channels.
bool IsFoldedTable(const Tensor& tensor);

// True if a tensor of one number is a parameter and not a constant, in a file of PyTorch's
// exporters: its name is a Python name and not an invented one, which ends in a number. "exp" is a
// temperature that dynamo exponentiated.
bool IsScalarParameter(absl::string_view name);
// Dynamo: the result of a product computed during export, "linear_4".
bool IsFoldedProduct(absl::string_view name);
// A name that a module gave to its own tensor, and that is neither a layer's parameter nor
// otherwise known: a parameter or a buffer.
bool MayBeBuffer(absl::string_view name);

// Names of position embeddings in PyTorch models, relative to their module.
inline constexpr absl::string_view kPositionNames[] = {
    "positional_embedding", "position_embedding.weight", "position_embeddings.weight", "pos_embed"};

// Dynamo: "val_31", "add", "unsqueeze_16".
bool IsFoldedName(absl::string_view name);
// Dynamo: a part of another tensor, in its memory: "slice_2".
bool IsFoldedView(absl::string_view name);
// Dynamo: cast by PyTorch itself, as a mask that is multiplied: "convert_element_type_default".
bool IsFoldedCast(absl::string_view name);
// Dynamo: made of other tensors by arithmetic, "neg".
bool IsFoldedArithmetic(absl::string_view name);
// Dynamo: rows of an embedding that the exporter looked up, "embedding_1".
bool IsFoldedLookup(absl::string_view name);

}  // namespace onnxflops::exporter

#endif  // ONNXFLOPS_SRC_EXPORTER_TENSOR_NAME_H_
