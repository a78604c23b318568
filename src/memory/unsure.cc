#include "src/memory/unsure.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "ops/op_def.h"
#include "ops/rules.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/tensor_name.h"

namespace onnxflops::memory {
namespace {

constexpr char kLookedUp[] =
    "the exporter looked up rows of an embedding; PyTorch keeps the places, unless a buffer holds "
    "them";
constexpr char kFoldedProduct[] =
    "the exporter computed a product, for which PyTorch keeps factors";
constexpr char kFoldedParameters[] =
    "the exporter computed its constant of parameters or buffers; of parameters, PyTorch keeps "
    "more";

bool IsFactor(const onnxflops::Gradient& gradient, size_t i) {
  return (gradient.products >> i & 1) != 0;
}

// Of sizes 1 but for one axis: what spreads over other axes, as scales of channels do.
bool IsVector(const Tensor& tensor) {
  for (int64_t size : tensor.dims) {
    if (size != 1 && size != tensor.elements) return false;
  }
  return tensor.elements > 1;
}

// Rows for all of a batch.
bool IsTable(const Tensor& tensor) {
  const size_t rank = tensor.dims.size();
  return !IsVector(tensor) && (rank == 2 || (rank == 3 && tensor.dims[0] == 1));
}

// A weight, or what it works on, that is a value of the call and no parameter or buffer.
bool IsComputedFactor(absl::string_view call, size_t i, absl::string_view tensor) {
  const absl::string_view name = exporter::FxValueName(exporter::ParseFxArgs(call).Arg(i));
  if (name.empty() || exporter::IsFxPlaceholder(name)) return false;
  if (exporter::IsViewName(name)) return false;
  return name == tensor || exporter::IsFoldedName(tensor);
}

const char* WhyOfInput(const Tensor& tensor, size_t i, const onnxflops::Gradient& gradient,
                       const std::optional<absl::string_view>& call, const Node& node) {
  if (!IsFloat(tensor.dtype) || tensor.elements <= 1) return nullptr;
  if (!call) {
    const bool folded = gradient.products == 0 && exporter::IsRenamedFor(node.op_type, tensor.name);
    if (!folded) return nullptr;
    return gradient.passes == 0 ? kFoldedParameters : IsTable(tensor) ? kLookedUp : nullptr;
  }
  if (exporter::IsFoldedLookup(tensor.name)) return kLookedUp;
  if (exporter::IsFoldedProduct(tensor.name)) return kFoldedProduct;
  if (IsFactor(gradient, i)) {
    return IsComputedFactor(*call, i, tensor.name) ? kFoldedParameters : nullptr;
  }
  const bool scales = gradient.keeps.crosswise && exporter::IsFoldedName(tensor.name);
  const bool computed = exporter::IsFoldedArithmetic(tensor.name) || IsVector(tensor);
  return scales && computed ? kFoldedParameters : nullptr;
}

}  // namespace

const char* WhyFoldedKeepsMore(const Inference& inference, const Storages& storages,
                               const Node& node, const Call& call) {
  const ModelData& model = *inference.model;
  const std::optional<absl::string_view> text = exporter::NodeMetadata(node.metadata).fx_node;
  const onnxflops::Gradient& gradient = call.def->gradient;
  size_t factors = 0, folded_factors = 0;
  for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
    if (!node.inputs[i]) continue;
    const Value& root = model.value(storages.Of(*node.inputs[i]).root);
    if (IsFactor(gradient, i)) ++factors;
    if (!root.initializer) continue;
    if (IsFactor(gradient, i)) ++folded_factors;
    if (const char* why = WhyOfInput(model.tensor(*root.initializer), i, gradient, text, node)) {
      return why;
    }
  }
  return factors > 1 && folded_factors == factors ? kFoldedParameters : nullptr;
}

bool ReadsMergedCall(const ModelData& model, const Node& node, ValueId value) {
  const std::optional<absl::string_view> text = exporter::NodeMetadata(node.metadata).fx_node;
  const Value& read = model.value(value);
  if (!text || !read.producer) return false;
  const exporter::NodeMetadata maker(model.node(*read.producer).metadata);
  if (!maker.fx_node || maker.IsFusedBatchNorm()) return false;
  if (exporter::NodeMetadata(node.metadata).IsFusedBatchNorm()) return false;
  bool names_other = false;
  for (absl::string_view arg : exporter::ParseFxArgs(*text).args) {
    const absl::string_view name = exporter::FxValueName(arg);
    if (name == read.name) return false;
    names_other |= exporter::SplitFxName(name).first == exporter::SplitFxName(read.name).first;
  }
  if (!names_other) return false;
  for (OptionalValueId input : node.inputs) {
    if (!input || *input == value) continue;
    const absl::string_view name = model.value(*input).name;
    if (exporter::SplitFxName(name).first == exporter::SplitFxName(read.name).first) return false;
  }
  return true;
}

bool LooksUpRows(const Inference& inference, const Instance& body) {
  const ModelData& model = *inference.model;
  const Graph& graph = model.graph(body.graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = model.node(graph.nodes[i]);
    const OpDef* def = inference.call(body.calls[i]).def;
    const bool looks_up = def != nullptr && Has(def->traits, Traits::kSelects);
    if (!looks_up || !node.input(0) || !node.input(1)) continue;
    const OptionalTensorId table = model.value(*node.inputs[0]).initializer;
    if (table && IsFloat(model.tensor(*table).dtype)) return true;
  }
  return false;
}

}  // namespace onnxflops::memory
