// How it works. No graph is kept in memory. Each node is written as protobuf bytes into the model
// when it is made; initializers, inputs and outputs collect in buffers of their own and are
// appended in the end, since the fields of a message may come in any order. So a graph costs little
// more than its bytes.
//
// The module of a node is four texts: the path with dots for weights, the path with slashes for
// node names, and the two lists of metadata that the dynamo exporter writes (names and classes),
// from which the module tree is read again. A Scope appends to these texts and cuts them again when
// it ends. Names are made unique as PyTorch does it, Add, Add_1, ..., with a counter per path and
// operator. A weight that is asked for twice is one tensor, as the embedding that T5's two stacks
// share.
#include "src/family/graph_builder.h"

#include <cstddef>
#include <cstring>
#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_writer.hpp>
#include <protozero/types.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "src/exporter/node_metadata.h"

namespace onnxflops::family {
namespace {

using protozero::pbf_builder;
using protozero::pbf_tag_type;

// The messages and fields of onnx.proto that are written here.
enum class ModelField : pbf_tag_type {
  kIrVersion = 1,
  kProducerName = 2,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadata = 14,
};
enum class OpsetField : pbf_tag_type { kDomain = 1, kVersion = 2 };
enum class GraphField : pbf_tag_type {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kInput = 11,
  kOutput = 12,
};
enum class NodeField : pbf_tag_type {
  kInput = 1,
  kOutput = 2,
  kName = 3,
  kOpType = 4,
  kAttribute = 5,
  kDomain = 7,
  kMetadata = 9,
};
enum class AttributeField : pbf_tag_type {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kInts = 8,
  kType = 20,
};
enum class TensorField : pbf_tag_type {
  kDims = 1,
  kDataType = 2,
  kName = 8,
  kRawData = 9,
  kExternalData = 13,
  kDataLocation = 14,
};
enum class EntryField : pbf_tag_type { kKey = 1, kValue = 2 };
enum class ValueField : pbf_tag_type { kName = 1, kType = 2 };
enum class TypeField : pbf_tag_type { kTensorType = 1 };
enum class TensorTypeField : pbf_tag_type { kElemType = 1, kShape = 2 };
enum class ShapeField : pbf_tag_type { kDim = 1 };
enum class DimField : pbf_tag_type { kSize = 1, kSymbol = 2 };

constexpr int64_t kIrVersion = 11;
constexpr int64_t kOpset = 25;  // the first whose Attention has windows
constexpr int32_t kExternal = 1;
constexpr size_t kUsualBytes = 1 << 22;  // of a large graph without its weights

template <typename Field>
void AddString(pbf_builder<Field>* message, Field field, absl::string_view text) {
  message->add_string(field, text.data(), text.size());
}

std::string ValueInfo(absl::string_view name, DType dtype, const Dims& dims) {
  std::string shape_bytes;
  pbf_builder<ShapeField> shape(shape_bytes);
  for (const Dim& dim : dims) {
    std::string bytes;
    pbf_builder<DimField> one(bytes);
    if (dim.size >= 0) one.add_int64(DimField::kSize, dim.size);
    if (dim.size < 0) one.add_string(DimField::kSymbol, dim.symbol);
    shape.add_message(ShapeField::kDim, bytes);
  }
  std::string tensor, type, info;
  pbf_builder<TensorTypeField> fields(tensor);
  fields.add_int32(TensorTypeField::kElemType, static_cast<int32_t>(dtype));
  fields.add_message(TensorTypeField::kShape, shape_bytes);
  pbf_builder<TypeField>(type).add_message(TypeField::kTensorType, tensor);
  pbf_builder<ValueField> value(info);
  AddString(&value, ValueField::kName, name);
  value.add_message(ValueField::kType, type);
  return info;
}

void AddAttribute(const Attr& attr, pbf_builder<NodeField>* node) {
  pbf_builder<AttributeField> proto(*node, NodeField::kAttribute);
  AddString(&proto, AttributeField::kName, attr.name);
  constexpr int32_t kFloat = 1, kInt = 2, kString = 3, kInts = 7;
  int32_t type = kInt;
  if (const auto* i = std::get_if<int64_t>(&attr.value)) {
    proto.add_int64(AttributeField::kInt, *i);
  } else if (const auto* f = std::get_if<float>(&attr.value)) {
    proto.add_float(AttributeField::kFloat, *f);
    type = kFloat;
  } else if (const auto* s = std::get_if<std::string>(&attr.value)) {
    proto.add_string(AttributeField::kString, *s);
    type = kString;
  } else {
    for (int64_t i : std::get<std::vector<int64_t>>(attr.value)) {
      proto.add_int64(AttributeField::kInts, i);
    }
    type = kInts;
  }
  proto.add_int32(AttributeField::kType, type);
}

// A list of modules. Its last item is the operator, as the dynamo exporter writes it.
void AddModules(absl::string_view key, absl::string_view modules, absl::string_view end,
                pbf_builder<NodeField>* node) {
  pbf_builder<EntryField> entry(*node, NodeField::kMetadata);
  AddString(&entry, EntryField::kKey, key);
  entry.add_bytes_vectored(EntryField::kValue, modules, end);
}

std::string Entry(absl::string_view key, absl::string_view value) {
  std::string bytes;
  pbf_builder<EntryField> entry(bytes);
  AddString(&entry, EntryField::kKey, key);
  AddString(&entry, EntryField::kValue, value);
  return bytes;
}

std::string Opset(absl::string_view domain, int64_t version) {
  std::string bytes;
  pbf_builder<OpsetField> opset(bytes);
  AddString(&opset, OpsetField::kDomain, domain);
  opset.add_int64(OpsetField::kVersion, version);
  return bytes;
}

// Makes the tensor external data of a file.
void AddNoContent(absl::string_view file, pbf_builder<TensorField>* tensor) {
  tensor->add_message(TensorField::kExternalData, Entry("location", file));
  tensor->add_int32(TensorField::kDataLocation, kExternal);
}

template <typename T>
std::string BytesOf(absl::Span<const T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

GraphBuilder::GraphBuilder(absl::string_view root, DType dtype, SaveOptions save)
    : dtype_(dtype),
      save_(std::move(save)),
      scopes_("[''"),
      classes_(absl::StrCat("['", root, "'")) {
  // Reserved pages that are never written cost nothing; growing would copy the bytes.
  bytes_.reserve(kUsualBytes);
  initializers_.reserve(kUsualBytes);
  graph_.emplace(model_, static_cast<pbf_tag_type>(ModelField::kGraph));
}

GraphBuilder::Scope::Scope(GraphBuilder* b, absl::string_view name, absl::string_view type)
    : b_(*b),
      path_(b->path_.size()),
      slashes_(b->slashes_.size()),
      scopes_(b->scopes_.size()),
      classes_(b->classes_.size()) {
  absl::StrAppend(&b->path_, b->path_.empty() ? "" : ".", name);
  absl::StrAppend(&b->slashes_, "/", absl::StrReplaceAll(name, {{".", "/"}}));
  absl::StrAppend(&b->scopes_, ", '", b->path_, "'");
  absl::StrAppend(&b->classes_, ", '", type, "'");
}

GraphBuilder::Scope::~Scope() {
  b_.path_.resize(path_);
  b_.slashes_.resize(slashes_);
  b_.scopes_.resize(scopes_);
  b_.classes_.resize(classes_);
}

Tensor GraphBuilder::Input(absl::string_view name, DType dtype, const Dims& dims) {
  const auto [at, is_new] = input_names_.insert(std::string(name));
  if (is_new) {
    pbf_builder<GraphField>(inputs_).add_message(GraphField::kInput, ValueInfo(name, dtype, dims));
  }
  return Tensor(*at);
}

void GraphBuilder::DeclareOutput(absl::string_view name, DType dtype, const Dims& dims) {
  pbf_builder<GraphField>(outputs_).add_message(GraphField::kOutput, ValueInfo(name, dtype, dims));
}

void GraphBuilder::Output(absl::string_view name, const Tensor& value, DType dtype,
                          const Dims& dims) {
  Ops("Identity", {value}, {std::string(name)});
  DeclareOutput(name, dtype, dims);
}

Tensor GraphBuilder::Weight(absl::string_view name, const std::vector<int64_t>& dims) {
  absl::string_view below = path_;
  const bool tied = !tied_.first.empty() && absl::ConsumePrefix(&below, tied_.first);
  const std::string path = tied ? absl::StrCat(tied_.second, below) : path_;
  const auto [at, is_new] = weights_.insert(absl::StrCat(path, path.empty() ? "" : ".", name));
  const std::string& full = *at;
  if (is_new) {
    pbf_builder<GraphField> graph(initializers_);
    pbf_builder<TensorField> tensor(graph, GraphField::kInitializer);
    for (int64_t dim : dims) tensor.add_int64(TensorField::kDims, dim);
    tensor.add_int32(TensorField::kDataType, static_cast<int32_t>(dtype_));
    tensor.add_string(TensorField::kName, full);
    AddNoContent(save_.weights_at, &tensor);
  }
  return Tensor(full);
}

// A Constant node, which is never a parameter.
Tensor GraphBuilder::Constant(DType dtype, int64_t count, bool scalar,
                              std::optional<absl::string_view> bytes) {
  const absl::string_view name = UniqueName("Constant");
  pbf_builder<NodeField> node(*graph_, GraphField::kNode);
  AddString(&node, NodeField::kOutput, name);
  AddString(&node, NodeField::kName, name);
  AddString<NodeField>(&node, NodeField::kOpType, "Constant");
  constexpr int32_t kTensor = 4;
  pbf_builder<AttributeField> value(node, NodeField::kAttribute);
  AddString<AttributeField>(&value, AttributeField::kName, "value");
  value.add_int32(AttributeField::kType, kTensor);
  pbf_builder<TensorField> tensor(value, AttributeField::kTensor);
  if (!scalar) tensor.add_int64(TensorField::kDims, count);
  tensor.add_int32(TensorField::kDataType, static_cast<int32_t>(dtype));
  if (bytes) {
    tensor.add_bytes(TensorField::kRawData, bytes->data(), bytes->size());
  } else {
    AddNoContent(save_.weights_at, &tensor);
  }
  return Tensor(name);
}

Tensor GraphBuilder::Ints(const std::vector<int64_t>& values) {
  return Constant(DType::kInt64, static_cast<int64_t>(values.size()), false,
                  BytesOf<int64_t>(values));
}

Tensor GraphBuilder::Floats(std::initializer_list<float> values) {
  return Constant(DType::kFloat32, static_cast<int64_t>(values.size()), false,
                  BytesOf<float>(values));
}

Tensor GraphBuilder::Table(int64_t count) {
  return Constant(DType::kFloat32, count, false, std::nullopt);
}

Tensor GraphBuilder::IndexTable(int64_t count) {
  return Constant(DType::kInt64, count, false, std::nullopt);
}

Tensor GraphBuilder::Scalar(int64_t value) {
  return Constant(DType::kInt64, 1, true, BytesOf<int64_t>({value}));
}

absl::string_view GraphBuilder::UniqueName(absl::string_view op) {
  auto& [name, count] = *names_.try_emplace(absl::StrCat(slashes_, "/", op), 0).first;
  if (count++ == 0) return name;
  return Keep(absl::StrCat(name, "_", count - 1));
}

Tensor GraphBuilder::Op(absl::string_view type, absl::Span<const Tensor> inputs,
                        absl::Span<const Attr> attrs) {
  const Tensor output(UniqueName(type));
  AddNode(output.name_, type, inputs, {output}, attrs, "");
  return output;
}

std::vector<Tensor> GraphBuilder::Ops(absl::string_view type, absl::Span<const Tensor> inputs,
                                      absl::Span<const std::string> outputs,
                                      absl::Span<const Attr> attrs, absl::string_view domain) {
  const absl::string_view name = UniqueName(type);
  std::vector<Tensor> tensors;
  for (const std::string& output : outputs) {
    const bool first = tensors.empty();
    tensors.push_back(Tensor(!output.empty() ? Keep(output)
                             : first         ? name
                                             : Keep(absl::StrCat(name, ":", tensors.size()))));
  }
  AddNode(name, type, inputs, tensors, attrs, domain);
  return tensors;
}

void GraphBuilder::AddNode(absl::string_view name, absl::string_view type,
                           absl::Span<const Tensor> inputs, absl::Span<const Tensor> outputs,
                           absl::Span<const Attr> attrs, absl::string_view domain) {
  pbf_builder<NodeField> node(*graph_, GraphField::kNode);
  for (const Tensor& input : inputs) AddString(&node, NodeField::kInput, input.name_);
  for (const Tensor& output : outputs) AddString(&node, NodeField::kOutput, output.name_);
  AddString(&node, NodeField::kName, name);
  AddString(&node, NodeField::kOpType, type);
  for (const Attr& attr : attrs) AddAttribute(attr, &node);
  if (!domain.empty()) AddString(&node, NodeField::kDomain, domain);
  const std::string end = absl::StrCat(", '", type, "']");
  AddModules(exporter::kNameScopesKey, scopes_, end, &node);
  AddModules(exporter::kClassHierarchyKey, classes_, end, &node);
}

std::string GraphBuilder::Finish() && {
  graph_->add_string(static_cast<pbf_tag_type>(GraphField::kName), "main_graph");
  for (const std::string* part : {&initializers_, &inputs_, &outputs_}) bytes_.append(*part);
  graph_.reset();
  pbf_builder<ModelField> model(bytes_);
  model.add_int64(ModelField::kIrVersion, kIrVersion);
  AddString<ModelField>(&model, ModelField::kProducerName, "onnxflops");
  model.add_message(ModelField::kOpsetImport, Opset("", kOpset));
  model.add_message(ModelField::kOpsetImport, Opset("com.microsoft", 1));
  if (!save_.config.empty()) {
    model.add_message(ModelField::kMetadata, Entry(kConfigKey, save_.config));
  }
  if (!anyres_.empty()) model.add_message(ModelField::kMetadata, Entry(kAnyResKey, anyres_));
  const auto add_dims = [&](absl::string_view prefix, const auto& dims) {
    for (const auto& [symbol, size] : dims) {
      model.add_message(ModelField::kMetadata,
                        Entry(absl::StrCat(prefix, symbol), absl::StrCat(size)));
    }
  };
  add_dims(kAssumedDimPrefix, assumed_);
  add_dims(kMostDimPrefix, most_);
  add_dims(kMultipleDimPrefix, multiples_);
  add_dims(kPixelDimPrefix, pixels_);
  add_dims(kRateDimPrefix, rates_);
  add_dims(kSameDimPrefix, same_);
  return std::move(bytes_);
}

}  // namespace onnxflops::family
