#include "src/module/shared_parameters.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/exporter/exporter.h"
#include "src/exporter/tensor_name.h"
#include "src/module/module_path.h"
#include "src/symbolic/expr.h"

namespace onnxflops::modules {
namespace {

// The nodes that use a vector: where, and as which of their inputs.
struct Uses {
  int64_t places = 0;
  absl::flat_hash_set<absl::string_view> modules;
};

// True if its own layer uses it, and another one of the same kind.
bool IsMerged(const Uses& uses, absl::string_view own) {
  if (!uses.modules.contains(own)) return false;
  absl::flat_hash_set<std::string> kinds;
  for (const absl::string_view module : uses.modules) kinds.insert(WithoutDigits(module));
  return kinds.size() < uses.modules.size();
}

}  // namespace

SharedParameters FindSharedParameters(const ModelData& model) {
  SharedParameters shared;
  for (const Node& node : model.nodes) {
    const absl::string_view name = exporter::SharedParameterName(model, node);
    if (!IsParameterPath(name)) continue;
    const ValueId kept = *node.input(0);
    absl::string_view& path =
        shared.try_emplace(kept, ParentPath(model.value(kept).name)).first->second;
    path = CommonPath(path, ParentPath(name));
  }
  return shared;
}

std::string WarningOfMerged(const ModelData& model, const Attribution& attribution,
                            const std::vector<resolve::Parameter>& parameters) {
  if (exporter::IsOwnGraph(model)) return "";
  absl::flat_hash_map<ValueId, Uses> vectors;
  for (const resolve::Parameter& p : parameters) {
    const OptionalTensorId tensor = model.value(p.value).initializer;
    if (tensor && model.tensor(*tensor).dims.size() == 1 && p.elements > 1) vectors[p.value];
  }
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    const OptionalModuleId module = attribution.node_module[i];
    for (const OptionalValueId input : model.nodes[i].inputs) {
      const auto vector = input && module ? vectors.find(*input) : vectors.end();
      if (vector == vectors.end()) continue;
      ++vector->second.places;
      vector->second.modules.insert(attribution.paths.path(*module));
    }
  }
  std::string first;
  int64_t merged = 0;
  absl::int128 more = 0;
  for (const resolve::Parameter& p : parameters) {
    const auto vector = vectors.find(p.value);
    if (vector == vectors.end() || !IsMerged(vector->second, ParentPath(p.name))) continue;
    if (merged++ == 0) first = Quoted(p.name);
    more += p.elements * (vector->second.places - 1);
  }
  if (merged == 0) return "";
  return absl::StrCat(
      "params hold ", first, merged == 1 ? "" : absl::StrCat(" and ", merged - 1, " more"),
      " once for several layers: exporters store equal values once, as those of "
      "norms before training. Unless the layers share them, the model has at least ",
      Int128ToString(more), " more parameters");
}

}  // namespace onnxflops::modules
