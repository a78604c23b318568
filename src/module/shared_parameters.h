// Parameters that the exporter made one, since their values were equal: they are in no single
// module.
#ifndef ONNXFLOPS_SRC_MODULE_SHARED_PARAMETERS_H_
#define ONNXFLOPS_SRC_MODULE_SHARED_PARAMETERS_H_

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "src/graph/model.h"

namespace onnxflops::modules {

// By the kept initializer: the path of the innermost module that contains all its users.
using SharedParameters = absl::flat_hash_map<ValueId, absl::string_view>;
SharedParameters FindSharedParameters(const ModelData& model);

}  // namespace onnxflops::modules

#endif  // ONNXFLOPS_SRC_MODULE_SHARED_PARAMETERS_H_
