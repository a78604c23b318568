// How it works. The dynamo exporter writes the signature of the program as text: which argument
// ("p_fc_weight") stands for which parameter or buffer ("fc.weight"). It lists all of them, but the
// file need not contain them all. If no call names a parameter and no value of the file has its
// name, the exporter used it to compute a constant, such as a table or a normalised weight. Such
// parameters are kept by module (unnamed_), because only a node of the same module can have read
// the result. Unnamed buffers that may hold indices are kept in the same way (places_), for their
// module and its parent.
#include "src/exporter/signature.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/tensor_name.h"
#include "src/graph/dtype.h"

namespace onnxflops::exporter {
namespace {

// The text between the first and the last quote of a line.
absl::string_view Quotation(absl::string_view text) {
  const size_t begin = text.find('\''), end = text.rfind('\'');
  return begin == end ? absl::string_view() : text.substr(begin + 1, end - begin - 1);
}

bool MayHoldPlaces(absl::string_view target) {
  constexpr absl::string_view kPlaces[] = {"ids", "idx", "ind", "pos", "places"};
  const auto module = ModuleOfParameter(target);
  const absl::string_view own = module ? target.substr(module->size() + 1) : target;
  return std::any_of(std::begin(kPlaces), std::end(kPlaces),
                     [&](absl::string_view part) { return absl::StrContains(own, part); });
}

template <typename Map>
absl::Span<const absl::string_view> Of(const Map& map, absl::string_view module) {
  const auto found = map.find(module);
  return found == map.end() ? absl::Span<const absl::string_view>() : found->second;
}

// True if the exporter made the tensor by arithmetic that may start from a parameter. Masks and
// angles have other names.
bool IsFoldedTensor(const Tensor& tensor) {
  const absl::string_view op = SplitFxName(tensor.name).first;
  return IsFoldedArithmetic(tensor.name) || (IsFoldedName(op) && IsScalarParameter(op));
}

}  // namespace

Signature::Signature(const ModelData& model) {
  if (model.graphs.empty()) return;
  for (const auto& [key, value] : model.graph(0).metadata) {
    if (key == kGraphSignatureKey) Read(value);
  }
  if (is_stated_) FindUnnamed(model);
}

void Signature::Read(absl::string_view text) {
  constexpr absl::string_view kParameter = ": PARAMETER target=", kBuffer = ": BUFFER target=",
                              kConstant = ": CONSTANT_TENSOR target=";
  while (!text.empty()) {
    const absl::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line == "# outputs") return;
    if (line == "# inputs") is_stated_ = true;
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos) continue;
    const absl::string_view argument = line.substr(0, colon), rest = line.substr(colon);
    const absl::string_view target = Quotation(rest);
    if (target.empty()) continue;
    if (absl::StartsWith(rest, kParameter)) parameters_.emplace(target, argument);
    if (absl::StartsWith(rest, kBuffer)) buffers_.emplace(target, argument);
    if (absl::StartsWith(rest, kConstant)) constants_.insert(target);
  }
}

void Signature::FindUnnamed(const ModelData& model) {
  absl::flat_hash_set<absl::string_view> named;
  for (const Node& node : model.nodes) {
    const auto text = NodeMetadata(node.metadata).fx_node;
    if (!text) continue;
    for (absl::string_view name : FxNames(*text)) {
      if (IsFxPlaceholder(name)) named.insert(name);
    }
  }
  for (const Value& value : model.values) {
    for (const auto* arguments : {&parameters_, &buffers_}) {
      const auto argument = arguments->find(value.name);
      if (argument != arguments->end()) named.insert(argument->second);
    }
  }
  for (const auto& [target, argument] : parameters_) {
    if (!named.contains(argument)) unnamed_[ModuleOfTarget(target)].push_back(target);
  }
  for (const auto& [target, argument] : buffers_) {
    if (named.contains(argument) || !MayHoldPlaces(target)) continue;
    const absl::string_view module = ModuleOfTarget(target);
    places_[module].push_back(target);
    if (const auto around = ModuleOfParameter(module)) places_[*around].push_back(target);
    if (!module.empty() && !ModuleOfParameter(module)) places_[""].push_back(target);
  }
}

absl::Span<const absl::string_view> Signature::UnnamedOf(absl::string_view module) const {
  return Of(unnamed_, module);
}

absl::Span<const absl::string_view> Signature::PlacesOf(absl::string_view module) const {
  return Of(places_, module);
}

absl::Span<const absl::string_view> ComputedOf(const ModelData& model, const Signature& signature,
                                               const Node& node, ValueId value) {
  const Value& read = model.value(value);
  if (!signature.HasUnnamed() || !read.initializer) return {};
  const Tensor& tensor = model.tensor(*read.initializer);
  const bool is_stated = signature.IsParameter(read.name) || signature.IsBuffer(read.name);
  if (is_stated || !IsFloat(tensor.dtype) || !IsFoldedTensor(tensor)) return {};
  return UnnamedBeside(signature, node);
}

absl::Span<const absl::string_view> UnnamedBeside(const Signature& signature, const Node& node) {
  const auto module = ModuleOfNode(node);
  return module ? signature.UnnamedOf(module->path) : absl::Span<const absl::string_view>();
}

std::optional<EnclosingModule> ModuleOfNode(const Node& node) {
  const NodeMetadata metadata(node.metadata);
  if (!metadata.name_scopes || !metadata.class_hierarchy) return std::nullopt;
  return ScopeList(*metadata.name_scopes, *metadata.class_hierarchy).last();
}

bool IsViewOfMade(const Signature& signature, absl::string_view call, const Tensor& tensor) {
  if (!signature.is_stated() || signature.HasUnnamed() || !IsViewName(tensor.name)) return false;
  if (tensor.dims.size() < 2 || tensor.elements < 2) return false;
  const bool is_vector = std::all_of(tensor.dims.begin(), tensor.dims.end(), [&](int64_t size) {
    return size == 1 || size == tensor.elements;
  });
  const std::vector<absl::string_view> names = FxNames(call);
  return is_vector && std::find(names.begin(), names.end(), tensor.name) != names.end();
}

absl::string_view ModuleOfTarget(absl::string_view target) {
  constexpr absl::string_view kParametrizations = "parametrizations.";
  const size_t at = target.find(kParametrizations);
  if (at == 0) return {};
  if (at != absl::string_view::npos && target[at - 1] == '.') return target.substr(0, at - 1);
  return ModuleOfParameter(target).value_or("");
}

bool IsWeightNorm(absl::Span<const absl::string_view> targets) {
  const auto has = [&](absl::string_view end) {
    return std::any_of(targets.begin(), targets.end(),
                       [&](absl::string_view target) { return absl::EndsWith(target, end); });
  };
  return (has("weight.original0") && has("weight.original1")) ||
         (has("weight_g") && has("weight_v"));
}

}  // namespace onnxflops::exporter
