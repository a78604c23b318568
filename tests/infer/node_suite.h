// ONNX's own node test models (tests/data/node_suite.tar.xz, which the build unpacks): model,
// inputs by value, official types and shapes of the outputs.
//
//   for (const auto& [name, entry] : NodeSuite().items()) {
//     const Model model = LoadNodeModel(name).value();
//     Infer(model, NodeSuiteOptions(*model, entry));
//   }
#ifndef ONNXFLOPS_TESTS_INFER_NODE_SUITE_H_
#define ONNXFLOPS_TESTS_INFER_NODE_SUITE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "src/count/count_model.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/resolve/resolve.h"

namespace onnxflops {

// By model: {"inputs": [VALUE...], "outputs": [VALUE...]}, in the order of the graph's. VALUE is
// {"name", "dtype", "shape", "values"} for a tensor (values in row-major order, only of inputs, and
// only up to 512 elements of a type that NumPy has), {"name", "kind": "sequence", "items"} or
// {"name", "kind": "optional"}.
const nlohmann::json& NodeSuite();

std::string NodeModelPath(const std::string& name);
absl::StatusOr<Model> LoadNodeModel(const std::string& name);

// The shapes of the inputs, and what they hold as far as inference follows it.
InferOptions NodeSuiteOptions(const ModelData& model, const nlohmann::json& entry);

// What the official outputs say of the symbols in `inference`: the size of the output and axis that
// a symbol comes from, the length of a sequence, and for the trips of a loop the size of an output
// that is as long.
Bindings OfficialSizes(const Inference& inference, const nlohmann::json& entry);

// Loads, resolves, infers and counts the model of that name on its inputs.
struct CountedModel {
  Inference inference;
  Counts counts;
};
absl::StatusOr<CountedModel> CountNodeModel(const std::string& name, const nlohmann::json& entry,
                                            const ResolveOptions& options = {});

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_INFER_NODE_SUITE_H_
