// How it works. Each function here recognises one trace of work that the exporter folded or merged,
// from names and shapes of tensors and from the text of the call: tables that were looked up,
// products that were computed, parameters that became vectors or kernels, biases of attention
// heads. PyTorch keeps more for these than the file shows. The answer is a reason; IsLowerBound()
// tells whether the figure is then a lower bound or a guess. Names are exporters' conventions
// ("select_1", "view_3"), so rules are strict: a name alone counts only together with a place where
// such a tensor can stand.
#include "src/memory/unsure.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "ops/op_def.h"
#include "ops/rules.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/node_name.h"
#include "src/exporter/tensor_name.h"

namespace onnxflops::memory {
namespace {

constexpr char kFoldedParameters[] =
    "the exporter computed its constant of parameters or buffers; of parameters, PyTorch keeps "
    "more";

bool IsFactor(const onnxflops::Gradient& gradient, size_t i) {
  return (gradient.products >> i & 1) != 0;
}

// True if all sizes but one are 1, as for scales of channels, which are broadcast.
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

// Added to scores of attention, with other numbers for each head: rows of an embedding of places,
// or made of numbers alone.
bool BiasesHeads(const Tensor& tensor) {
  const size_t rank = tensor.dims.size();
  return rank >= 3 && tensor.dims[rank - 3] > 1 && tensor.dims[rank - 2] > 1 &&
         tensor.dims[rank - 1] > 1;
}

// True if argument `i` of the call, a weight or an operand, was computed, so that it is neither a
// parameter nor a buffer.
bool IsComputedFactor(absl::string_view call, size_t i, absl::string_view tensor) {
  const absl::string_view name = exporter::FxValueName(exporter::ParseFxArgs(call).Arg(i));
  if (name.empty() || exporter::IsFxPlaceholder(name)) return false;
  if (exporter::IsViewName(name)) return false;
  return name == tensor || exporter::IsFoldedName(tensor);
}

// A tensor that the call reads by the tensor's own name was computed: parameters and buffers have
// other names.
bool IsValueOfCall(absl::string_view call, absl::string_view tensor) {
  if (exporter::IsFoldedName(tensor) || exporter::IsFoldedView(tensor)) return false;
  if (exporter::IsViewName(tensor)) return false;  // of a weight, more often than not
  const std::vector<absl::string_view> names = exporter::FxNames(call);
  return std::find(names.begin(), names.end(), tensor) != names.end();
}

// A table of one number for each pair of positions, which an embedding would hold as one number per
// row: squeeze() gives its rows.
bool IsSqueezedTable(const Tensor& tensor) {
  return exporter::SplitFxName(tensor.name).first == "squeeze" && IsTable(tensor);
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
  const bool by_head =
      gradient.passes != 0 && exporter::IsFoldedName(tensor.name) && BiasesHeads(tensor);
  if (by_head || (gradient.passes != 0 && IsSqueezedTable(tensor))) return kLookedUp;
  const bool reads = IsFactor(gradient, i) || (gradient.keeps.inputs >> i & 1) != 0;
  if (reads && IsValueOfCall(*call, tensor.name)) return kFoldedParameters;
  if (IsFactor(gradient, i)) {
    return IsComputedFactor(*call, i, tensor.name) ? kFoldedParameters : nullptr;
  }
  // Rows are scaled by input 1 of a normalization.
  const bool has_place = gradient.keeps.crosswise || (gradient.keeps.composed && i == 1);
  const bool scales = has_place && exporter::IsFoldedName(tensor.name);
  const bool computed = exporter::IsFoldedArithmetic(tensor.name) || IsVector(tensor);
  return scales && computed ? kFoldedParameters : nullptr;
}

}  // namespace

bool IsLowerBound(const char* why) {
  constexpr const char* kMore[] = {nullptr,        kContraction,  kBagAsLoop,   kDropoutOff,
                                   kBufferOrMade,  kMerged,       kMaskOfFlash, kPlaces,
                                   kFoldedProduct, kSliceOrPlaces};
  return std::find(std::begin(kMore), std::end(kMore), why) != std::end(kMore);
}

bool IsComputedKernel(const exporter::Signature& signature, const Node& node,
                      const Tensor& tensor) {
  return tensor.dims.size() > 2 && exporter::IsViewName(tensor.name) &&
         !exporter::UnnamedBeside(signature, node).empty();
}

const char* WhyFoldedKeepsMore(const Inference& inference, const Storages& storages,
                               const exporter::Signature& signature, const Node& node,
                               const Call& call) {
  const ModelData& model = *inference.model;
  const std::optional<absl::string_view> text = exporter::NodeMetadata(node.metadata).fx_node;
  const onnxflops::Gradient& gradient = call.def->gradient;
  // TorchScript joins the weights of gates.
  if (gradient.keeps.gates || gradient.keeps.steps) return nullptr;
  size_t factors = 0, folded_factors = 0;
  for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
    if (!node.inputs[i]) continue;
    const Value& root = model.value(storages.Of(*node.inputs[i]).root);
    if (IsFactor(gradient, i)) ++factors;
    if (!root.initializer) continue;
    if (IsFactor(gradient, i)) ++folded_factors;
    const Tensor& tensor = model.tensor(*root.initializer);
    if (IsFactor(gradient, i) && IsComputedKernel(signature, node, tensor)) {
      return kFoldedParameters;
    }
    if (const char* why = WhyOfInput(tensor, i, gradient, text, node)) return why;
  }
  return factors > 1 && folded_factors == factors ? kFoldedParameters : nullptr;
}

int64_t PlacesOfLookup(const Tensor& tensor) {
  const size_t rank = tensor.dims.size();
  if (IsSqueezedTable(tensor)) return tensor.elements;
  if (!exporter::IsFoldedLookup(tensor.name) && BiasesHeads(tensor)) {
    return tensor.dims[rank - 2] * tensor.dims[rank - 1];
  }
  return rank == 0 || tensor.dims[rank - 1] == 0 ? 0 : tensor.elements / tensor.dims[rank - 1];
}

std::vector<NodeId> ReadersOfOtherModules(const ModelData& model, const Graph& graph) {
  const auto path_of = [&](NodeId id) {
    return exporter::PathInNodeName(model.node(id).name).value_or("");
  };
  const auto name_of = [](absl::string_view path) { return path.substr(path.rfind('/') + 1); };
  absl::flat_hash_set<ValueId> read_inside;
  std::vector<std::pair<ValueId, NodeId>> read_outside;
  for (NodeId id : graph.nodes) {
    const absl::string_view reader = path_of(id);
    for (OptionalValueId value : model.node(id).inputs) {
      if (!value || !model.value(*value).producer) continue;
      const absl::string_view maker = path_of(*model.value(*value).producer);
      if (maker.empty() || reader.empty()) continue;
      if (maker == reader) {
        read_inside.insert(*value);
      } else if (name_of(maker) == name_of(reader)) {
        read_outside.emplace_back(*value, id);
      }
    }
  }
  std::vector<NodeId> readers;
  for (const auto& [value, id] : read_outside) {
    if (read_inside.contains(value)) readers.push_back(id);
  }
  return readers;
}

MergedCalls::MergedCalls(const ModelData& model, const Node& node) : model_(model) {
  const exporter::NodeMetadata metadata(node.metadata);
  states_call_ = metadata.fx_node && !metadata.IsFusedBatchNorm();
  if (!states_call_) return;
  absl::flat_hash_set<absl::string_view> read;
  for (OptionalValueId input : node.inputs) {
    if (input) read.insert(model.value(*input).name);
  }
  for (absl::string_view arg : exporter::ParseFxArgs(*metadata.fx_node).args) {
    const absl::string_view name = exporter::FxValueName(arg);
    if (name.empty()) continue;
    named_.insert(name);
    if (read.contains(name)) continue;
    const auto [other, is_new] = unread_.emplace(exporter::SplitFxName(name).first, name);
    if (!is_new && other->second != name) other->second = {};
  }
}

bool MergedCalls::Made(ValueId value) const {
  const Value& read = model_.value(value);
  if (!states_call_ || !read.producer || named_.contains(read.name)) return false;
  const exporter::NodeMetadata maker(model_.node(*read.producer).metadata);
  if (!maker.fx_node || maker.IsFusedBatchNorm()) return false;
  return unread_.contains(exporter::SplitFxName(read.name).first);
}

absl::string_view MergedCalls::NameOf(ValueId value) const {
  return unread_.at(exporter::SplitFxName(model_.value(value).name).first);
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
