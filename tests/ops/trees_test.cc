// Trees whose nodes test for members of sets: a comparison per member, by the sets as NaN ends
// them, in all types that hold them. And what is no forest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "src/count/count_model.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"

namespace onnxflops::trees_test {
namespace {

using ::testing::HasSubstr;

// One tree: node 0 asks for a member, node 1 (if true) for another, node 2 (if false) for less.
constexpr char kForest[] =
    "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 5]> g (T[N,2] x) => (T[N,1] y) "
    "{ y = ai.onnx.ml.TreeEnsemble<nodes_featureids=[0,1,0], nodes_modes = uint8[3] {6,6,1}, "
    "nodes_splits = T[3] {0,0,2}, nodes_truenodeids=[1,0,2], nodes_falsenodeids=[2,1,3], "
    "nodes_trueleafs=[0,1,1], nodes_falseleafs=[0,1,1], tree_roots=[0], "
    "leaf_targetids=[0,0,0,0], leaf_weights = T[4] {1,2,3,4}, n_targets=1, "
    "membership_values = T[1] {0}>(x) }";

template <typename T>
void SetMembers(const std::vector<T>& members, onnx::ModelProto* model) {
  for (auto& attribute : *model->mutable_graph()->mutable_node(0)->mutable_attribute()) {
    if (attribute.name() != "membership_values") continue;
    onnx::TensorProto* tensor = attribute.mutable_t();
    const int type = tensor->data_type();
    tensor->Clear();
    tensor->set_data_type(type);
    tensor->add_dims(static_cast<int64_t>(members.size()));
    tensor->set_raw_data(
        std::string(reinterpret_cast<const char*>(members.data()), members.size() * sizeof(T)));
  }
}

template <typename T>
std::string ComparisonsOf(const std::string& type, const std::vector<T>& members) {
  std::string text = kForest;
  for (size_t at = text.find("T["); at != std::string::npos; at = text.find("T[", at)) {
    text.replace(at, 1, type);
  }
  onnx::ModelProto model;
  const auto parsed = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage();
  SetMembers(members, &model);
  const absl::StatusOr<Model> loaded = LoadFromBytes(model.SerializeAsString());
  const absl::StatusOr<Inference> inference = Infer(*loaded);
  const absl::StatusOr<Counts> counts = Count(*inference);
  if (!counts.ok()) return std::string(counts.status().message());
  return counts->unknown == 0 ? counts->total.flops[Kind::kCmp].ToString()
                              : counts->unknown_items[0].reason;
}

// What is said of a node with these attributes; empty if nothing is wrong.
std::string ErrorOf(const std::string& op_and_attributes) {
  const std::string text =
      "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 5]> g (float[N,2] x) => "
      "(float[N,1] y) { y = ai.onnx.ml." +
      op_and_attributes + "(x) }";
  onnx::ModelProto model;
  const auto parsed = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage();
  const absl::StatusOr<Model> loaded = LoadFromBytes(model.SerializeAsString());
  const absl::StatusOr<Inference> inference = Infer(*loaded);
  if (!inference.ok()) return std::string(inference.status().message());
  return std::string(Count(*inference).status().message());
}

TEST(TreesTest, WhatIsNoForestIsRefused) {
  const std::string tree =
      "TreeEnsemble<nodes_featureids=[0], nodes_modes = uint8[1] {0}, nodes_splits = float[1] {0}, "
      "nodes_truenodeids=[0], nodes_falsenodeids=[1], nodes_trueleafs=[1], nodes_falseleafs=[1], "
      "tree_roots=[0], leaf_targetids=[0,0], leaf_weights = float[2] {1,2}, n_targets=1";
  EXPECT_EQ(ErrorOf(tree + ">"), "");
  EXPECT_EQ(ErrorOf(tree + ", aggregate_function=3>"), "");
  EXPECT_THAT(ErrorOf(tree + ", aggregate_function=4>"), HasSubstr("aggregate_function is 4"));
  EXPECT_THAT(ErrorOf(tree + ", aggregate_function=-1>"), HasSubstr("aggregate_function is -1"));
  EXPECT_THAT(ErrorOf("TreeEnsembleRegressor<n_targets=1>"), HasSubstr("nodes_treeids is missing"));
}

TEST(TreesTest, AMemberIsAComparison) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const float small_nan = std::numeric_limits<float>::quiet_NaN();
  // Three members (an infinity is one) and two: the deeper path has node 1 with two.
  EXPECT_EQ(ComparisonsOf<double>("double", {1, inf, 3, nan, 4, 5, nan}), "5*N");
  EXPECT_EQ(ComparisonsOf<float>("float", {1, 2, 3, small_nan, 4, 5, small_nan}), "5*N");
  // 1, infinity, NaN; 2, 3, 4 and the end.
  EXPECT_EQ(ComparisonsOf<uint16_t>("float16", {0x3C00, 0x7C00, 0x7E00, 0x4000, 0x4200, 0x4400}),
            "5*N");
}

}  // namespace
}  // namespace onnxflops::trees_test
