// What the name of a tensor says: exporters keep names of parameters, and make up names for what
// they computed themselves.
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

// The module that the parameter of this name is of, "visual.conv1"; nullopt for a name without a
// dot.
std::optional<absl::string_view> ModuleOfParameter(absl::string_view name);
// Whether the name is that of a parameter in all likelihood: of a module, and neither of
// TorchScript nor with the path of a node.
bool IsParameterName(absl::string_view name);
// What a BatchNorm keeps: a buffer, no parameter.
bool IsRunningStatistic(absl::string_view name);
// The frequencies of a rotary embedding: a buffer, too.
bool IsRotaryFrequency(absl::string_view name);
// Its table of angles: so is that.
bool IsRotaryTable(absl::string_view name);
// An input projection of torch.nn.MultiheadAttention.
bool IsInProjection(absl::string_view name);

// TorchScript keeps one of several parameters with equal values, as those of a network that was
// never trained have, and hands it to the others by Identity nodes. The name of the parameter that
// such a node stands for; empty if it is none.
absl::string_view SharedParameterName(const ModelData& model, const Node& node);

// TorchScript: the tensor is no parameter as it was.
bool IsRenamed(absl::string_view name);
// The same for what operators whose name begins with `op_type` use.
bool IsRenamedFor(absl::string_view op_type, absl::string_view name);
// TorchScript computed what elements are multiplied with, or angles: a table of a rotary embedding
// or a mask. A vector may scale channels.
bool IsFoldedTable(const Tensor& tensor);

// Whether a tensor of one number is a parameter, and no constant, where an exporter of PyTorch
// wrote the file: a name that is one of Python's, and none that it made up, which end in a number.
// "exp" is a temperature that dynamo raised to its power.
bool IsScalarParameter(absl::string_view name);
// Dynamo: what a product made when the model was exported, "linear_4".
bool IsFoldedProduct(absl::string_view name);
// A name that a module gives a tensor of its own, and that neither parameters of layers nor those
// that are known by their names have: a parameter or a buffer.
bool MayBeBuffer(absl::string_view name);

// What PyTorch models call a parameter that holds the embeddings of positions, in its module.
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
