// Parameters that the exporter made one, since their values were equal: they are in no single
// module.
#ifndef ONNXFLOPS_SRC_MODULE_SHARED_PARAMETERS_H_
#define ONNXFLOPS_SRC_MODULE_SHARED_PARAMETERS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "src/graph/model.h"
#include "src/module/attribution.h"
#include "src/resolve/parameters.h"

namespace onnxflops::modules {

// By the kept initializer: the path of the innermost module that contains all its users.
using SharedParameters = absl::flat_hash_map<ValueId, absl::string_view>;
SharedParameters FindSharedParameters(const ModelData& model);

// A warning if vectors that belong to one layer are also used by layers of its kind: a file whose
// norms and biases had equal values, as those of an untrained model, has each of them once. Empty
// if there are none.
std::string WarningOfMerged(const ModelData& model, const Attribution& attribution,
                            const std::vector<resolve::Parameter>& parameters);

}  // namespace onnxflops::modules

#endif  // ONNXFLOPS_SRC_MODULE_SHARED_PARAMETERS_H_
