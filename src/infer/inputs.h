// The graph's inputs: declared types and the user's bindings become facts, and names of dimensions
// become symbols.
#ifndef ONNXFLOPS_SRC_INFER_INPUTS_H_
#define ONNXFLOPS_SRC_INFER_INPUTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "src/graph/fact.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/infer/symbol_table.h"

namespace onnxflops::infer {

struct BoundInput {
  Fact fact;
  Shape declared;  // as the file declares it, whatever is bound
};

// One entry for each input of the main graph. Adds their symbols to `symbols`, with the sizes that
// `options` binds to them.
absl::StatusOr<std::vector<BoundInput>> BindInputs(const ModelData& model,
                                                   const InferOptions& options,
                                                   SymbolTable* symbols);

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_INPUTS_H_
