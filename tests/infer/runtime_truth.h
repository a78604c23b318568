// What ONNX Runtime made of graphs: the lines of tests/data/NAME.jsonl, each a graph in ONNX's text
// form and its outputs (tools/export/node_truth.py and loop_truth.py).
#ifndef ONNXFLOPS_TESTS_INFER_RUNTIME_TRUTH_H_
#define ONNXFLOPS_TESTS_INFER_RUNTIME_TRUTH_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

inline std::vector<nlohmann::json> TruthsOf(const std::string& name) {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/tests/data/" + name);
  std::vector<nlohmann::json> truths;
  for (std::string line; std::getline(file, line);) {
    truths.push_back(nlohmann::json::parse(line));
  }
  return truths;
}

// The graph, without the types of its outputs.
inline onnx::ModelProto ModelOfTruth(const nlohmann::json& truth) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(21);
  const auto parsed = onnx::OnnxParser::Parse(*model.mutable_graph(),
                                              truth["graph"].get_ref<const std::string&>().c_str());
  EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage();
  for (auto& output : *model.mutable_graph()->mutable_output()) output.clear_type();
  return model;
}

// An input [N] of that name, whose size is the symbol N.
inline void AddInputOfN(const std::string& name, onnx::GraphProto* graph) {
  onnx::ValueInfoProto* input = graph->add_input();
  input->set_name(name);
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_param("N");
}

// The value where the symbol N is that; nullopt where it needs another.
inline std::optional<int64_t> ValueAtN(const Expr& e, int64_t n) {
  const absl::StatusOr<absl::int128> value = e.Evaluate({{"N", n}});
  return value.ok() ? std::optional<int64_t>(static_cast<int64_t>(*value)) : std::nullopt;
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_INFER_RUNTIME_TRUTH_H_
