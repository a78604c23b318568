#include "src/load/write_application.h"

#include <cstddef>
#include <protozero/pbf_builder.hpp>
#include <protozero/types.hpp>

#include "absl/strings/str_cat.h"

namespace onnxflops {
namespace {

using protozero::pbf_builder;
using protozero::pbf_tag_type;

// Messages of onnx.proto and their fields, as far as they are written here.
enum class ModelProto : pbf_tag_type { kFunctions = 25 };
enum class FunctionProto : pbf_tag_type {
  kNode = 7,
  kOpsetImport = 9,
  kValueInfo = 12,
  kOverload = 13,
  kMetadataProps = 14,
};
enum class NodeProto : pbf_tag_type { kInput = 1, kOutput = 2, kOpType = 4, kDomain = 7 };
enum class OperatorSetIdProto : pbf_tag_type { kDomain = 1, kVersion = 2 };
enum class ValueInfoProto : pbf_tag_type { kName = 1, kType = 2 };
enum class StringStringEntryProto : pbf_tag_type { kKey = 1 };
enum class TypeProto : pbf_tag_type { kTensorType = 1, kSequenceType = 4, kOptionalType = 9 };
enum class TensorTypeProto : pbf_tag_type { kElemType = 1, kShape = 2 };
enum class ElementTypeProto : pbf_tag_type { kElemType = 1 };  // of a sequence or an optional
enum class TensorShapeProto : pbf_tag_type { kDim = 1 };
enum class DimensionProto : pbf_tag_type { kDimValue = 1 };

void AddText(pbf_builder<NodeProto>* node, NodeProto field, absl::string_view text) {
  node->add_string(field, text.data(), text.size());
}

std::string ShapeProto(absl::Span<const DeclaredDim> dims) {
  std::string bytes;
  pbf_builder<TensorShapeProto> shape(bytes);
  for (const DeclaredDim& dim : dims) {
    std::string size;
    if (dim.size >= 0)
      pbf_builder<DimensionProto>(size).add_int64(DimensionProto::kDimValue, dim.size);
    shape.add_message(TensorShapeProto::kDim, size);  // an open one is there as well
  }
  return bytes;
}

bool IsTensor(const DeclaredType& type) {
  return type.kind == TypeKind::kTensor || type.kind == TypeKind::kSparseTensor;
}

std::string TensorType(const DeclaredType& type) {
  std::string tensor, bytes;
  pbf_builder<TensorTypeProto> fields(tensor);
  fields.add_int32(TensorTypeProto::kElemType, static_cast<int32_t>(type.dtype));
  if (type.has_shape) fields.add_message(TensorTypeProto::kShape, ShapeProto(type.dims));
  pbf_builder<TypeProto>(bytes).add_message(TypeProto::kTensorType, tensor);
  return bytes;
}

// Empty for an unknown type, and for any type that is not a tensor, a sequence or an optional of
// tensors.
std::string WriteType(const DeclaredType& type) {
  if (IsTensor(type)) return type.dtype == DType::kUndefined ? "" : TensorType(type);
  const bool is_sequence = type.kind == TypeKind::kSequence;
  if (!is_sequence && type.kind != TypeKind::kOptional) return "";
  if (type.element == nullptr || !IsTensor(*type.element)) return "";
  std::string outer, bytes;
  pbf_builder<ElementTypeProto>(outer).add_message(ElementTypeProto::kElemType,
                                                   TensorType(*type.element));
  pbf_builder<TypeProto>(bytes).add_message(
      is_sequence ? TypeProto::kSequenceType : TypeProto::kOptionalType, outer);
  return bytes;
}

std::string WriteNode(const Node& node) {
  std::string bytes;
  pbf_builder<NodeProto> proto(bytes);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    AddText(&proto, NodeProto::kInput, node.inputs[i] ? absl::StrCat("i", i) : "");
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    AddText(&proto, NodeProto::kOutput, node.outputs[i] ? absl::StrCat("o", i) : "");
  }
  AddText(&proto, NodeProto::kOpType, node.op_type);
  AddText(&proto, NodeProto::kDomain, node.domain);
  // After the other fields, unchanged from the file.
  if (node.attributes_comparable) absl::StrAppend(&bytes, node.attribute_bytes);
  return bytes;
}

}  // namespace

std::string WriteApplication(const Node& node, int64_t opset,
                             absl::Span<const DeclaredType* const> types) {
  std::string bytes;
  pbf_builder<FunctionProto> function(bytes);
  function.add_message(FunctionProto::kNode, WriteNode(node));
  {
    pbf_builder<OperatorSetIdProto> import(function, FunctionProto::kOpsetImport);
    import.add_string(OperatorSetIdProto::kDomain, node.domain.data(), node.domain.size());
    import.add_int64(OperatorSetIdProto::kVersion, opset);
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string type = types[i] == nullptr ? "" : WriteType(*types[i]);
    if (type.empty()) continue;
    pbf_builder<ValueInfoProto> info(function, FunctionProto::kValueInfo);
    info.add_string(ValueInfoProto::kName, absl::StrCat("i", i));
    info.add_message(ValueInfoProto::kType, type);
  }
  if (!node.attributes_comparable) {
    pbf_builder<StringStringEntryProto> partial(function, FunctionProto::kMetadataProps);
    partial.add_string(StringStringEntryProto::kKey, "partial");
  }
  return bytes;
}

void AppendFunction(absl::string_view function, absl::string_view overload, std::string* model) {
  pbf_builder<ModelProto> proto(*model);
  pbf_builder<FunctionProto> out(proto, ModelProto::kFunctions);
  out.add_string(FunctionProto::kOverload, overload.data(), overload.size());
  absl::StrAppend(model, function);
}

}  // namespace onnxflops
