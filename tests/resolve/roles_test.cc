// What the tensors of a file are to the model.
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"
#include "src/resolve/parameters.h"
#include "tests/model_maker.h"

namespace onnxflops {
namespace {

struct RoleCase {
  const char* what;
  const char* name;
  std::vector<int64_t> dims;
  int type;
  const char* op;  // that uses it
  int place;       // at which input
  resolve::TensorRole role;
};

TEST(RolesTest, ATensorsRoleFollowsFromWhereItIsUsed) {
  constexpr int kFloat = onnx::TensorProto::FLOAT, kInt64 = onnx::TensorProto::INT64;
  const RoleCase cases[] = {
      {"a factor", "w", {8, 8}, kFloat, "MatMul", 1, resolve::TensorRole::kWeight},
      {"a factor of no name", "val_1", {8, 8}, kFloat, "MatMul", 1, resolve::TensorRole::kWeight},
      {"a bias", "fc.bias", {8}, kFloat, "Add", 1, resolve::TensorRole::kWeight},
      {"a running mean",
       "bn.running_mean",
       {8},
       kFloat,
       "BatchNormalization",
       3,
       resolve::TensorRole::kBuffer},
      {"an initial state", "h", {2, 2, 8}, kFloat, "LSTM", 5, resolve::TensorRole::kState},
      {"a scale", "w_scale", {8}, kFloat, "DequantizeLinear", 1, resolve::TensorRole::kBuffer},
      {"a causal mask", "attn.mask", {1, 8, 8}, kFloat, "Add", 1, resolve::TensorRole::kBuffer},
      {"an epsilon", "eps", {}, kFloat, "Add", 1, resolve::TensorRole::kConstant},
      {"a shape", "shape", {2}, kInt64, "Reshape", 1, resolve::TensorRole::kConstant},
      {"what dynamo folded", "mul_3", {8}, kFloat, "Add", 1, resolve::TensorRole::kConstant},
  };
  for (size_t i = 0; i < 2 * std::size(cases); ++i) {
    const RoleCase& c = cases[i / 2];
    const bool behind_identity = i % 2 == 1;
    ModelMaker make;
    make.Weight(c.name, c.dims, c.type).Input("x", {"8"});
    std::vector<std::string> inputs(static_cast<size_t>(c.place), "x");
    inputs.push_back(behind_identity ? "same" : c.name);
    if (behind_identity) make.Node("i", "Identity", {c.name}, {"same"});
    make.Node("n", c.op, inputs, {"y"}).Output("y");
    const absl::StatusOr<Model> model = make.Load();
    ASSERT_TRUE(model.ok()) << c.what << ": " << model.status();
    const std::vector<resolve::TensorRole> roles = resolve::FindRoles(**model);
    ASSERT_EQ(roles.size(), 1u) << c.what;
    EXPECT_EQ(roles[0], c.role) << c.what;
    EXPECT_EQ(resolve::FindParameters(**model).size(),
              c.role == resolve::TensorRole::kWeight ? 1u : 0u)
        << c.what;
  }
}

}  // namespace
}  // namespace onnxflops
