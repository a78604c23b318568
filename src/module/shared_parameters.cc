#include "src/module/shared_parameters.h"

#include "src/exporter/tensor_name.h"
#include "src/module/module_path.h"

namespace onnxflops::modules {

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

}  // namespace onnxflops::modules
