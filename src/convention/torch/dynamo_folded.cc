// Tensors and layers that the exporter computed and stored as constants in the file.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/convention/torch/dynamo_parts.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/tensor_name.h"

namespace onnxflops::convention {
namespace {

// True if the call's arguments name the value, and it is not a placeholder.
bool IsArgument(absl::string_view name, CallText* text) {
  constexpr size_t kMany = 8;
  const std::vector<absl::string_view>& args = DynamoTexts::ArgsOf(text).args;
  if (name.empty() || exporter::IsFxPlaceholder(name)) return false;
  if (args.size() <= kMany) {
    return std::any_of(args.begin(), args.end(),
                       [&](absl::string_view arg) { return exporter::FxValueName(arg) == name; });
  }
  if (text->value_names.empty()) {
    for (absl::string_view arg : args) text->value_names.insert(exporter::FxValueName(arg));
  }
  return text->value_names.contains(name);
}

// Vectors that may come from a sum or a product. Other vectors are steps and angles, as from an
// arange.
bool MayBeOfLayer(absl::string_view name) {
  constexpr absl::string_view kCalls[] = {"amax", "amin", "flatten", "linear", "matmul",  "mean",
                                          "mv",   "norm", "reshape", "select", "squeeze", "sum"};
  return IsOneOf(exporter::SplitFxName(name).first, kCalls);
}

}  // namespace

void FoldedTensors::Note(const TorchCall& call, CallText* text) {
  NoteWeight(call, text);
  for (EntryId id : trace_.entries_of(call)) {
    if (evidence_.Ours(Unit::kFlop, id) == kZero) continue;
    const NodeId node = evidence_.entry(id).node;
    const auto [it, is_new] = folded_.try_emplace({text, node}, 0);
    if (is_new) it->second = FoldedIn(node, text);
    trace_.folded += it->second;
  }
}

// A weight computed from others has neither a node nor the name of one.
void FoldedTensors::NoteWeight(const TorchCall& call, CallText* text) {
  const bool has_weight = call.op == Aten::kLinear || call.op == Aten::kConv;
  if (!has_weight || !folded_weights_.insert(text).second) return;
  const absl::string_view weight =
      exporter::FxValueName(DynamoTexts::ArgsOf(text).Get(1, "weight"));
  if (weight.empty() || exporter::IsFxPlaceholder(weight)) return;
  const OptionalValueId value = evidence_.node(evidence_.entry(call.main)).input(1);
  if (value && evidence_.model().value(*value).initializer) ++trace_.folded;
}

// How many inputs of the node are such tensors.
int64_t FoldedTensors::FoldedIn(NodeId id, CallText* text) const {
  int64_t folded = 0;
  for (OptionalValueId input : evidence_.model().node(id).inputs) {
    if (!input || !IsMatrixOfNoModule(evidence_.model().value(*input))) continue;
    if (DynamoTexts::ArgsOf(text).args.empty()) return 0;
    if (IsArgument(evidence_.model().value(*input).name, text)) ++folded;
  }
  return folded;
}

// Lookups and most vectors are not products; a tensor that belongs to a module is a parameter.
bool FoldedTensors::IsMatrixOfNoModule(const Value& value) const {
  if (!value.initializer || exporter::ModuleOfParameter(value.name)) return false;
  const Tensor& tensor = evidence_.model().tensor(*value.initializer);
  const bool may_be =
      tensor.dims.size() >= 2 || (tensor.dims.size() == 1 && MayBeOfLayer(value.name));
  return IsFloat(tensor.dtype) && tensor.elements > 1 && may_be &&
         !exporter::IsFoldedLookup(value.name);
}

void FindFoldedLayers(const Evidence& evidence, TorchTrace* trace) {
  constexpr absl::string_view kLayers[] = {"elu",  "gelu",    "layer_norm", "leaky_relu", "relu",
                                           "silu", "sigmoid", "softmax",    "softplus",   "tanh"};
  for (const Value& value : evidence.model().values) {
    if (value.initializer && IsOneOf(exporter::SplitFxName(value.name).first, kLayers)) {
      ++trace->folded_layers;
    }
  }
}

}  // namespace onnxflops::convention
