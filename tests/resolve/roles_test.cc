// What the tensors of a file are to the model.
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "src/resolve/parameters.h"
#include "tests/model_maker.h"

namespace onnxflops::roles_test {
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

// A graph whose inputs beside "x" and "c" are initializers, as if their data were in another file.
ModelMaker MakerOf(const std::string& graph) {
  ModelMaker make(21);
  const std::string text = "g " + graph;
  const auto parsed = onnx::OnnxParser::Parse(*make.proto.mutable_graph(), text.c_str());
  EXPECT_TRUE(parsed.IsOK()) << parsed.ErrorMessage() << "\n" << text;
  const auto inputs = make.proto.graph().input();
  make.proto.mutable_graph()->clear_input();
  for (const onnx::ValueInfoProto& input : inputs) {
    const auto& type = input.type().tensor_type();
    if (input.name() == "x" || input.name() == "c") {
      *make.proto.mutable_graph()->add_input() = input;
      continue;
    }
    std::vector<int64_t> dims;
    for (const auto& dim : type.shape().dim()) dims.push_back(dim.dim_value());
    make.Weight(input.name(), dims, type.elem_type());
  }
  return make;
}

int64_t ParametersOf(const std::string& graph) {
  const absl::StatusOr<Model> model = MakerOf(graph).Load();
  EXPECT_TRUE(model.ok()) << model.status() << "\n" << graph;
  if (!model.ok()) return -1;
  int64_t elements = 0;
  for (const resolve::Parameter& parameter : resolve::FindParameters(**model)) {
    elements += static_cast<int64_t>(parameter.elements);
  }
  return elements;
}

// "val_1" is no name of a parameter: what tells is the place that it has in the end.
TEST(RolesTest, WhatAWeightIsMadeOfIsWeights) {
  // What makes w of val_1, with other inputs; how many elements of theirs are weights.
  const struct {
    const char* inputs;
    const char* nodes;
    int64_t elements;
  } cases[] = {
      {"float16[8,8] val_1", "w = Cast<to=1>(val_1)", 64},
      {"float[8,8] val_1", "w = Cast<to=1>(val_1)", 64},
      {"float16[8,8] val_1", "w = CastLike(val_1, x)", 64},
      {"float[8,8] val_1", "h = Cast<to=10>(val_1) w = Cast<to=1>(h)", 64},
      {"float[8,8] val_1", "w = Transpose<perm=[1,0]>(val_1)", 64},
      {"float[64] val_1, int64[2] s", "w = Reshape(val_1, s)", 64},
      {"float[8,8] fc_weight, int64[1] s", "u = Unsqueeze(fc_weight, s) w = Squeeze(u, s)", 64},
      {"float[8,8] fc_weight, int64[2] s", "w = Expand(fc_weight, s)", 64},
      {"float[1,8] val_1", "s = Shape(x) w = Expand(val_1, s)", 8},
      {"float[8,16] val_1", "w, v = Split<axis=1, num_outputs=2>(val_1)", 128},
      {"float[8,16] val_1", "v, w = Split<axis=1, num_outputs=2>(val_1)", 128},
      {"float[9,8] val_1, int64[1] a, int64[1] b", "w = Slice(val_1, a, b)", 72},
      {"float[4,8] val_1, float[4,8] val_2", "w = Concat<axis=0>(val_1, val_2)", 64},
      {"float[7,8] val_1, int64[4] p", "w = Pad(val_1, p)", 56},
      {"float[4,8] val_1, int64[2] n", "w = Tile(val_1, n)", 32},
      {"float[9,8] val_1, int64[8] i", "w = Gather(val_1, i)", 72},
      {"float[9,8] val_1, int64[8,1] i", "w = GatherND(val_1, i)", 72},
      {"float[8,8] val_1", "w = Dropout(val_1)", 64},
      {"float[8,8] val_1, bool[8,8] m, float z", "w = Where(m, val_1, z)", 64},
      {"float[8,8] val_1, int64 i", "s = SequenceConstruct(val_1) w = SequenceAt(s, i)", 64},
      {"float[8,8] val_1", "o = Optional(val_1) w = OptionalGetElement(o)", 64},
      {"float[8,8] val_1, float[1] val_2", "w = Mul(val_1, val_2)", 64},
      {"float[8,8] fc_weight, float[8,8] delta", "w = Add(fc_weight, delta)", 128},
      {"float[8,8] fc_weight, float[8,2] b, float[2,8] a", "d = MatMul(b, a) w = Add(fc_weight, d)",
       96},
      {"float[8,8] val_1, float[8,1] val_2",
       "n = ReduceL2<keepdims=1>(val_1) v = Div(val_1, n) w = Mul(v, val_2)", 72},
      {"float[8,8] val_1", "m = ReduceMean<keepdims=1>(val_1) w = Sub(val_1, m)", 64},
      // A layer of which of two is not known.
      {"bool c, float[8,8] val_1, float[8,8] val_2",
       "w = If(c) <then_branch = t () => (a) { a = Identity(val_1) }, else_branch = e () => (b) { "
       "b "
       "= Transpose(val_2) }>",
       128},
      // Quantised without a QuantizeLinear: scale and zero point are no weights.
      {"int8[8,8] val_1, float[8,1] val_2", "f = Cast<to=1>(val_1) w = Mul(f, val_2)", 64},
      {"uint8[8,8] val_1, uint8[8,1] val_2, float[8,1] val_3",
       "q = Cast<to=1>(val_1) z = Cast<to=1>(val_2) d = Sub(q, z) w = Mul(d, val_3)", 64},
  };
  for (const auto& c : cases) {
    const std::string graph =
        std::string("(float[2,8] x, ") + c.inputs + ") => (y) { " + c.nodes + " y = MatMul(x, w) }";
    EXPECT_EQ(ParametersOf(graph), c.elements) << graph;
  }
}

// Rows times what their blocks hold, as GGML lays them out: 256 in 66 bytes, 32 in 18, 256 in 176.
TEST(RolesTest, APackedWeightHasTheParametersThatItsBlocksHold) {
  const std::pair<const char*, int64_t> cases[] = {
      {"(float16[5,256] x, uint8[48,66] w) => (float16[5,48] y) { y = "
       "com.microsoft.MatMulPacked<packed_type = 16, K = 256, N = 48>(x, w) }",
       48 * 256},
      {"(float16[5,64] x, uint8[48,36] w) => (float16[5,48] y) { y = "
       "com.microsoft.MatMulPacked<packed_type = 2, K = 64, N = 48>(x, w) }",
       48 * 64},
      {"(float16[5,64] x, uint8[48,128] w) => (float16[5,48] y) { y = "
       "com.microsoft.MatMulPacked<packed_type = 1, K = 64, N = 48>(x, w) }",
       48 * 64},
      {"(int32[5] x, uint8[100,352] w) => (float[5,512] y) { y = "
       "com.microsoft.GatherPacked<packed_type = 13, K = 512, output_dtype = 1>(w, x) }",
       100 * 512}};
  for (const auto& [graph, elements] : cases) EXPECT_EQ(ParametersOf(graph), elements) << graph;
}

TEST(RolesTest, WhatALoopHandsOnIsAWeightWhereItDoesNotChange) {
  const std::string body =
      " y, z = Loop(n, , x, val_1) <body = b (int64 i, bool ci, float[2,8] s, float[8,8] w) => "
      "(bool "
      "co, float[2,8] so, float[8,8] wo) { co = Identity(ci) so = MatMul(s, w) wo = ";
  const std::string inputs = "(float[2,8] x, int64 n, float[8,8] val_1) => (y) {";
  EXPECT_EQ(ParametersOf(inputs + body + "Identity(w) }> }"), 64);
  // A state that begins with zeros.
  EXPECT_EQ(ParametersOf(inputs + body + "MatMul(so, so) }> }"), 0);
}

TEST(RolesTest, WhatMeetsActivationsOnTheWayIsNoWeight) {
  for (const char* nodes : {
           "h = Add(x, val_1) y = MatMul(h, x)",                        // a table of positions
           "h = Where(c, val_1, x) y = MatMul(h, x)",                   // what is masked out
           "h = Concat<axis=0>(val_1, x) y = MatMul(x, h)",             // a cache
           "h = Mul(x, val_1) r = Reshape(h, s) y = MatMul(r, x)",      // angles
           "m = Cast<to=9>(val_1) h = Where(m, x, x) y = MatMul(h, x)"  // a mask
       }) {
    const std::string graph =
        std::string("(float[8,8] x, bool c, int64[2] s, float[8,8] val_1) => (y) { ") + nodes +
        " }";
    EXPECT_EQ(ParametersOf(graph), 0) << graph;
  }
}

TEST(RolesTest, StatisticsBehindACastAreBuffers) {
  EXPECT_EQ(
      ParametersOf("(float[2,8] x, float16[8] n_weight, float16[8] n_bias, float16[8] "
                   "n_running_mean, float16[8] n_running_var) => (y) { s = Cast<to=1>(n_weight) "
                   "b = Cast<to=1>(n_bias) m = Cast<to=1>(n_running_mean) v = "
                   "Cast<to=1>(n_running_var) y = BatchNormalization(x, s, b, m, v) }"),
      16);
}

// A number that is put beside others is a constant, as these are.
TEST(RolesTest, NumbersBesideOthersAreConstants) {
  const absl::StatusOr<Model> model =
      MakerOf(
          "(float[2,8] x, int64[1] one, int64[2] two) => (y) { s = Concat<axis=0>(one, two) y = "
          "Expand(x, s) }")
          .Load();
  ASSERT_TRUE(model.ok()) << model.status();
  for (const resolve::TensorRole role : resolve::FindRoles(**model)) {
    EXPECT_EQ(role, resolve::TensorRole::kConstant);
  }
}

// A Constant with few elements is a weight where a contraction takes it with an activation.
TEST(RolesTest, SmallConstants) {
  const std::string constant = "w = Constant<value = float[2,2] {1.0, 2.0, 3.0, 4.0}>() ";
  EXPECT_EQ(ParametersOf("(float[2,2] x) => (y) { " + constant + "y = MatMul(x, w) }"), 4);
  EXPECT_EQ(ParametersOf("(float[2,2] x) => (y) { " + constant + "y = Gemm(x, x, w) }"), 4);
  EXPECT_EQ(ParametersOf("(float[2,2] x) => (y) { " + constant + "y = Add(x, w) }"), 0);
  EXPECT_EQ(
      ParametersOf("(float[2,2] x) => (y) { " + constant + "p = MatMul(w, w) y = Mul(x, p) }"), 0);
}

// The signature of torch.export decides before places and names.
TEST(RolesTest, TheSignatureListsParametersBuffersAndConstants) {
  ModelMaker make = MakerOf(
      "(float[2,8] x, float[8,8] table, float[8] mean, float[1] scale, int8[8,8] packed, "
      "float[8,8] lifted) => (y) { m = MatMul(x, lifted) a = MatMul(m, table) b = Add(a, mean) c = "
      "Mul(b, scale) q = Cast<to=1>(packed)"
      " y = MatMul(c, q) }");
  auto* signature = make.proto.mutable_graph()->add_metadata_props();
  signature->set_key("pkg.torch.export.ExportedProgram.graph_signature");
  signature->set_value(
      "# inputs\n"
      "b_table: BUFFER target='table' persistent=False\n"
      "p_mean: PARAMETER target='mean'\n"
      "p_scale: PARAMETER target='scale'\n"
      "b_packed: BUFFER target='packed' persistent=True\n"
      "c_lifted: CONSTANT_TENSOR target='lifted'\n"
      "x: USER_INPUT\n"
      "# outputs\n"
      "y: USER_OUTPUT\n");
  const absl::StatusOr<Model> model = make.Load();
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<std::string> names;
  for (const resolve::Parameter& parameter : resolve::FindParameters(**model)) {
    names.emplace_back(parameter.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"mean", "scale", "packed"}));
}

// What the dynamo exporter makes of GroupNorm(2, 8) on [2, 8, 98]. PyTorch has 16 parameters, and
// none with affine=False.
TEST(RolesTest, OfAGroupNormOnlyItsOwnScaleAndShift) {
  for (const bool affine : {true, false}) {
    ModelMaker make = MakerOf(
        "(float[2,2,392] x, float[2] val_8, float[2] val_11, float[8,1] val_21, float[8,1] val_23, "
        "int64[3] val_13) => (y) { n = InstanceNormalization(x, val_8, val_11) r = Reshape(n, "
        "val_13) m = Mul(r, val_21) y = Add(m, val_23) }");
    for (auto& node : *make.proto.mutable_graph()->mutable_node()) {
      auto* call = node.add_metadata_props();
      call->set_key("pkg.torch.onnx.fx_node");
      call->set_value(absl::StrCat(
          "%group_norm : [num_users=1] = call_function[target=torch.ops.aten.group_norm.default]("
          "args = (%x, 2",
          affine ? ", %p_1_weight, %p_1_bias, 1e-05, False" : "", "), kwargs = {})"));
    }
    const absl::StatusOr<Model> model = make.Load();
    ASSERT_TRUE(model.ok()) << model.status();
    absl::int128 elements = 0;
    for (const resolve::Parameter& p : resolve::FindParameters(**model)) elements += p.elements;
    EXPECT_EQ(elements, affine ? 16 : 0);
  }
}

// The exporter makes the ones and zeros of a norm without parameters, as LayerNorm(7,
// elementwise_affine=False). PyTorch counts these.
TEST(RolesTest, ANormWithoutParameters) {
  const struct {
    const char *op, *call, *args;
    int elements;
  } cases[] = {
      {"LayerNormalization", "layer_norm", "%x, [7], None, None, 1e-05, False", 0},
      {"LayerNormalization", "layer_norm", "%x, [7]", 0},
      {"LayerNormalization", "layer_norm", "%x, [7], %add, None, 1e-05, False", 7},
      {"InstanceNormalization", "instance_norm", "%x, None, None, None, None, True", 0},
      {"InstanceNormalization", "instance_norm", "%x, %mul, %add, None, None, True", 14},
  };
  for (const auto& c : cases) {
    ModelMaker make;
    make.Input("x", {"2", "7", "7"}).Weight("val_1", {7}).Weight("val_2", {7});
    make.Node("n", c.op, {"x", "val_1", "val_2"}, {"y"}).Output("y");
    make.Metadata("pkg.torch.onnx.fx_node",
                  absl::StrCat("%n : [num_users=1] = call_function[target=torch.ops.aten.", c.call,
                               ".default](args = (", c.args, "), kwargs = {})"));
    const absl::StatusOr<Model> model = make.Load();
    ASSERT_TRUE(model.ok()) << model.status();
    absl::int128 elements = 0;
    for (const resolve::Parameter& p : resolve::FindParameters(**model)) elements += p.elements;
    EXPECT_EQ(elements, c.elements) << c.args;
  }
}

// Each value is made of the one before twice: what is looked at is of the order of the model.
TEST(RolesTest, ValuesThatAreMadeOfOneTwice) {
  std::string nodes = "a0 = Add(val_1, val_1) ";
  for (int i = 1; i < 2000; ++i) {
    const std::string before = "a" + std::to_string(i - 1);
    nodes += "a" + std::to_string(i) + " = Add(" + before + ", " + before + ") ";
  }
  EXPECT_EQ(
      ParametersOf("(float[8,8] x, float[8,8] val_1) => (y) { " + nodes + "y = MatMul(x, a1999) }"),
      64);
}

}  // namespace
}  // namespace onnxflops::roles_test
