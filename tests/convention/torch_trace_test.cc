// The calls of PyTorch behind an export: from what a dynamo export states, and from the structure
// of a TorchScript export.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/convention/torch/trace.h"
#include "tests/convention/torch_maker.h"

namespace onnxflops::convention::torch_trace_test {
namespace {

using testing::ElementsAre;

TEST(TorchNamesTest, OperatorsAndClasses) {
  EXPECT_EQ(AtenOf("aten.linear.default"), Aten::kLinear);
  EXPECT_EQ(AtenOf("aten.conv_transpose2d.input"), Aten::kConvTranspose);
  EXPECT_EQ(AtenOf("prims.linear"), Aten::kOther);
  EXPECT_EQ(NnClassOf("torch.nn.modules.linear.Linear"), NnClass::kLinear);
  EXPECT_EQ(NnClassOf("torch.nn.modules.linear.NonDynamicallyQuantizableLinear"), NnClass::kNone);
  EXPECT_EQ(NnClassOf("my.Linear"), NnClass::kNone);
}

// ---- traces

// "linear in m: n1 n2", one line for each call.
std::vector<std::string> Calls(const ModelMaker& make) {
  Traced traced(make);
  const Evidence& evidence = traced.evidence;
  const TorchTrace& trace = traced.trace();
  std::vector<std::string> lines;
  for (const TorchCall& call : trace.calls) {
    const TorchScope& scope = trace.scope(call);
    std::string line = absl::StrCat(AtenLabel(call.op), call.has_bias ? " with bias" : "",
                                    OperatorOf(scope.nn_class) == call.op ? " of torch.nn" : "",
                                    " in ", evidence.paths().path(scope.module), ":");
    for (EntryId id : trace.entries_of(call)) {
      absl::StrAppend(&line, " ", evidence.node(evidence.entry(id)).op_type);
    }
    if (call.op != Aten::kOther) lines.push_back(std::move(line));
  }
  return lines;
}

TEST(TorchTraceTest, NodesOfOneCallAreOne) {
  TorchMaker make;
  make.Input("x", {"2", "3", "8"}).Weight("w", {8, 4}).Weight("b", {4});
  const std::string linear = "torch.nn.modules.linear.Linear";
  make.Node("a", "MatMul", {"x", "w"}, {"y"});
  make.From(linear, "linear", "%x, %p_w, %p_b");
  make.Node("b", "Add", {"y", "b"}, {"z"});
  make.From(linear, "linear", "%x, %p_w, %p_b");
  make.Node("c", "Relu", {"z"}, {"r"});
  make.From("net.Block", "relu", "%linear").Output("r");
  EXPECT_THAT(Calls(make),
              ElementsAre("linear with bias of torch.nn in m: MatMul Add", "relu in m: Relu"));
}

// A bias that the convolution had gives its name to that of the two.
TEST(TorchTraceTest, AConvolutionWithItsBatchNormIsTwoCalls) {
  TorchMaker make;
  make.Input("x", {"1", "4", "8", "8"}).Weight("m.weight", {6, 4, 3, 3}).Weight("m.bias", {6});
  make.Node("n", "Conv", {"x", "m.weight", "m.bias"}, {"y"}).Output("y");
  make.FromOperator("torch.nn.modules.batchnorm.BatchNorm2d", "batch_norm", "batch_norm",
                    "%conv2d, %p_w, %p_b, %m, %v");
  make.Metadata("pkg.onnxscript.rewriter.rule_name", "FuseBatchNormIntoConv");
  EXPECT_THAT(Calls(make), ElementsAre("convolution with bias of torch.nn in m: Conv",
                                       "batch_norm of torch.nn in m: Conv"));
}

// nn.ReLU6 without the exporter's optimisations: its limits are made first, as scalars.
TEST(TorchTraceTest, AClampWorksOnItsInputAndNotOnItsLimits) {
  TorchMaker make;
  make.Input("x", {"3", "5"}).Weight("six", {});
  const auto from = [&] {
    make.From("torch.nn.modules.activation.ReLU6", "hardtanh", "%x, 0.0, 6.0");
  };
  make.Node("c", "CastLike", {"six", "x"}, {"limit"});
  from();
  make.Node("n", "Clip", {"x", "", "limit"}, {"y"}).Output("y");
  from();
  Traced traced(make);
  ASSERT_EQ(traced.trace().calls.size(), 1U);
  EXPECT_EQ(traced.trace().calls[0].op, Aten::kRelu6);
  EXPECT_EQ(traced.trace().calls[0].shape_of_x().NumElements(), Expr(15));
}

// A linear layer, with so many users by its text, a call of tanh on it, and a sum of what `inputs`
// are, which its arguments name as `args`. How many more linear layers and calls with several
// results there were.
struct MergedCase {
  int users;
  std::vector<std::string> inputs;
  std::string args;
  int64_t linears;
  bool has_parts;
};

void ExpectMerged(const MergedCase& c) {
  TorchMaker make;
  make.Input("x", {"3", "8"}).Weight("m.weight", {8, 8});
  make.Node("a", "MatMul", {"x", "m.weight"}, {"linear"});
  make.Users(c.users).From("torch.nn.modules.linear.Linear", "linear", "%x, %p_m_weight");
  make.Node("t", "Tanh", {"linear"}, {"tanh"});
  make.Users(1).From("net.Block", "tanh", "%linear");
  make.Node("s", "Add", c.inputs, {"add"});
  make.From("net.Block", "add", c.args).Output("add");
  Traced traced(make);
  const TorchTrace& trace = traced.trace();
  EXPECT_EQ(trace.unseen[static_cast<size_t>(Aten::kLinear)], c.linears) << c.args;
  EXPECT_EQ(trace.has_merged_parts, c.has_parts) << c.args;
}

TEST(TorchTraceTest, CallsThatTheExporterMerged) {
  const MergedCase cases[] = {
      {2, {"linear", "tanh"}, "%linear, %tanh", 0, false},
      // torch.tanh(self.l(x)) + torch.tanh(self.l(x)), and both of one self.l(x).
      {1, {"tanh", "tanh"}, "%tanh, %tanh_1", 1, false},
      {2, {"tanh", "tanh"}, "%tanh, %tanh_1", 0, false},
      // self.l(x) + dropout(self.l(x)), and of one.
      {2, {"linear", "linear"}, "%linear, %dropout", 1, false},
      {3, {"linear", "linear"}, "%linear, %dropout", 0, false},
      // x + dropout(tanh).
      {1, {"x", "tanh"}, "%x, %dropout", 0, false},
      // A number says that there were more.
      {2, {"linear", "tanh"}, "%linear_2, %tanh", 2, false},
      {2, {"linear", "tanh"}, "%linear, %getitem_3", 0, true},
  };
  for (const MergedCase& c : cases) ExpectMerged(c);
}

// TorchScript: a Linear of its own, one that a function does, and a product with a parameter.
TEST(TorchTraceTest, LinearLayersOfTorchScript) {
  ModelMaker make;
  make.proto.set_producer_name("pytorch");
  make.Input("x", {"2", "3", "8"}).Weight("onnx::MatMul_1", {8, 8}).Weight("fc.bias", {8});
  make.Weight("proj", {8, 8});
  make.Node("/fc/MatMul", "MatMul", {"x", "onnx::MatMul_1"}, {"a"});
  make.Node("/fc/Add", "Add", {"fc.bias", "a"}, {"b"});
  make.Node("/attn/MatMul", "MatMul", {"b", "onnx::MatMul_1"}, {"c"});
  make.Node("/attn/Relu", "Relu", {"c"}, {"d"});
  make.Node("/MatMul", "MatMul", {"d", "proj"}, {"y"}).Output("y");
  EXPECT_THAT(Calls(make),
              ElementsAre("linear with bias of torch.nn in fc: MatMul Add",
                          "linear in attn: MatMul", "relu in attn: Relu", "matmul in : MatMul"));
}

// Both operands of QK' are scaled; what is scaled once is a product like any other.
TEST(TorchTraceTest, AttentionOfTorchScript) {
  for (const bool twice : {true, false}) {
    ModelMaker make;
    make.proto.set_producer_name("pytorch");
    make.Input("q", {"2", "4", "7", "4"}).Input("k", {"2", "4", "4", "7"});
    make.Input("v", {"2", "4", "7", "4"}).Weight("s", {}).Weight("mask", {7, 7});
    make.Node("/attn/Mul", "Mul", {"q", "s"}, {"qs"});
    make.Node("/attn/Mul_1", "Mul", {"k", "s"}, {"ks"});
    make.Node("/attn/MatMul", "MatMul", {"qs", twice ? "ks" : "k"}, {"w"});
    make.Node("/attn/Add", "Add", {"w", "mask"}, {"m"});
    make.Node("/attn/Softmax", "Softmax", {"m"}, {"p"});
    make.Node("/attn/MatMul_1", "MatMul", {"p", "v"}, {"y"}).Output("y").Output("ks");
    const std::vector<std::string> calls = Calls(make);
    if (twice) {
      EXPECT_THAT(calls, ElementsAre("scaled_dot_product_attention in attn: Mul Mul MatMul Add "
                                     "Softmax MatMul"));
    } else {
      EXPECT_THAT(calls, testing::Contains("matmul in attn: MatMul"));
    }
  }
}

TEST(TorchTraceTest, ProductsWithoutASoftmaxAreNoAttention) {
  ModelMaker make;
  make.proto.set_producer_name("pytorch");
  make.Input("q", {"2", "4", "7", "4"}).Input("k", {"2", "4", "4", "7"});
  make.Input("v", {"2", "4", "7", "4"}).Weight("s", {}).Weight("mask", {7, 7});
  make.Node("/attn/Mul", "Mul", {"q", "s"}, {"qs"});
  make.Node("/attn/Mul_1", "Mul", {"k", "s"}, {"ks"});
  make.Node("/attn/MatMul", "MatMul", {"qs", "ks"}, {"w"});
  make.Node("/attn/Add", "Add", {"w", "mask"}, {"m"});
  make.Node("/attn/MatMul_1", "MatMul", {"m", "v"}, {"y"}).Output("y");
  const std::vector<std::string> calls = Calls(make);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "matmul in attn: MatMul"), 2);
}

// The affine part is in the module of the norm, or no part of it.
TEST(TorchTraceTest, LayerNormOfTorchScript) {
  const struct {
    const char *mul, *add, *tail;
  } cases[] = {{"/ln/Mul", "/ln/Add_1", " Mul Add"},
               {"/ln/Mul", "/shift/Add_1", " Mul"},
               {"/scale/Mul", "/scale/Add_1", ""}};
  for (const auto& c : cases) {
    ModelMaker make(13);
    make.proto.set_producer_name("pytorch");
    make.Input("x", {"2", "8"}).Weight("ln.weight", {8}).Weight("ln.bias", {8}).Weight("e", {});
    make.Node("/ln/ReduceMean", "ReduceMean", {"x"}, {"m"});
    make.Node("/ln/Sub", "Sub", {"x", "m"}, {"d"}).Node("/ln/Pow", "Pow", {"d", "e"}, {"p"});
    make.Node("/ln/Mean", "ReduceMean", {"p"}, {"v"}).Node("/ln/Add", "Add", {"v", "e"}, {"ve"});
    make.Node("/ln/Sqrt", "Sqrt", {"ve"}, {"r"}).Node("/ln/Div", "Div", {"d", "r"}, {"n"});
    make.Node(c.mul, "Mul", {"n", "ln.weight"}, {"w"});
    make.Node(c.add, "Add", {"w", "ln.bias"}, {"y"}).Output("y");
    EXPECT_THAT(Calls(make),
                testing::Contains(absl::StrCat("layer_norm of torch.nn in ln: ReduceMean Sub Pow "
                                               "ReduceMean Add Sqrt Div",
                                               c.tail)));
  }
}

// ---- what texts of a dynamo export say

// One node that is a call with these arguments, on a tensor of so many dimensions.
TorchMaker OneNode(const std::string& type, const std::string& class_name, const std::string& name,
                   const std::string& args, const std::string& kwargs = "") {
  TorchMaker make;
  make.Input("x", {"2", "4", "5", "6"}).Weight("m.weight", {4}).Weight("kernel", {4, 4, 1, 1});
  make.Weight("matrix", {6, 6});
  ModelMaker::Strings inputs = {"x"};
  if (type == "BatchNormalization") inputs.insert(inputs.end(), 4, "m.weight");
  if (type == "InstanceNormalization") inputs.insert(inputs.end(), 2, "m.weight");
  if (type == "MatMul") inputs.push_back("matrix");
  if (type == "Conv" || type == "ConvTranspose") inputs.push_back("kernel");
  make.Node("n", type, inputs, {"y"}).Output("y");
  if (type == "AveragePool") make.Ints("kernel_shape", {2, 2});
  make.From(class_name, name, args, kwargs);
  return make;
}

struct ArgumentCase {
  const char *type, *name, *args;
  bool bias, affine;
  const char* kwargs = "";
};

// Each operator with what makes it so, and without.
const ArgumentCase kArguments[] = {
    {"MatMul", "linear", "%x, %p_w, %p_b", true, false},
    {"MatMul", "linear", "%x, %p_w, None", false, false},
    {"MatMul", "linear", "%x, %p_w", false, false},
    {"MatMul", "linear", "%x, %p_w", true, false, "bias: %p_b"},
    {"Conv", "conv2d", "%x, %p_w, %p_b, [1, 1]", true, false},
    {"Conv", "conv2d", "%x, %p_w, None, [1, 1]", false, false},
    {"ConvTranspose", "conv_transpose2d", "%x, %p_w, %p_b", true, false},
    {"LayerNormalization", "layer_norm", "%x, [6], %p_w, %p_b", false, true},
    {"LayerNormalization", "layer_norm", "%x, [6], None, None", false, false},
    {"LayerNormalization", "layer_norm", "%x, [6]", false, false},
    {"LayerNormalization", "layer_norm", "%x, [6]", false, true, "weight: %p_w"},
    {"InstanceNormalization", "group_norm", "%x, 2, %p_w, %p_b", false, true},
    {"InstanceNormalization", "group_norm", "%x, 2, None", false, false},
    {"InstanceNormalization", "native_group_norm", "%x, %p_w, %p_b, 2", false, true},
    {"InstanceNormalization", "native_group_norm", "%x, None, %p_b, 2", false, false},
    {"BatchNormalization", "batch_norm", "%x, %p_w, %p_b, %b_m, %b_v", false, true},
    {"BatchNormalization", "batch_norm", "%x, None, %p_b, %b_m, %b_v", false, false},
    {"InstanceNormalization", "instance_norm", "%x, %p_w, None", false, true},
    {"InstanceNormalization", "instance_norm", "%x, None, %p_b", false, false},
};

TEST(DynamoTest, ArgumentsSayWhatHasABiasOrIsAffine) {
  for (const ArgumentCase& c : kArguments) {
    TorchMaker make = OneNode(c.type, "net.Block", c.name, c.args, c.kwargs);
    if (std::string(c.type) == "LayerNormalization") make.Weight("s", {6}).node->add_input("s");
    Traced traced(make);
    const TorchCall& call = traced.trace().calls[0];
    EXPECT_EQ(call.has_bias, c.bias) << c.name << c.args;
    EXPECT_EQ(call.is_affine, c.affine) << c.name << c.args;
  }
}

// The operator that a call is taken for, by its arguments, its class and its line of source.
struct OperatorCase {
  const char *type, *class_name, *name, *args;
  Aten op;
  const char* line = "";
  int64_t assumed = 0;
};

constexpr char kNet[] = "net.Block", kPool[] = "torch.nn.modules.pooling.AdaptiveAvgPool2d";
constexpr char kNorm[] = "torch.nn.modules.instancenorm.InstanceNorm2d";

// Operators of which more than the name says what they are.
const OperatorCase kOperators[] = {
    {"Conv", kNet, "convolution", "%x, %p_w, None, [1], [0], [1], False, [0], 1", Aten::kConv},
    {"ConvTranspose", kNet, "convolution", "%x, %p_w, None, [1], [0], [1], True, [0], 1",
     Aten::kConvTranspose},
    {"ConvTranspose", kNet, "_convolution", "%x, %p_w, None, [1], [0], [1], True, [0], 1",
     Aten::kConvTranspose},
    {"Conv", kNet, "conv2d", "%x, %p_w, None, [1], [0], [1], True", Aten::kConv},
    {"AveragePool", kNet, "avg_pool2d", "%x, [2, 2]", Aten::kAvgPool},
    {"AveragePool", kPool, "avg_pool2d", "%x, [2, 2]", Aten::kAdaptiveAvgPool},
    {"AveragePool", kNet, "avg_pool2d", "%x, [2, 2]", Aten::kAdaptiveAvgPool,
     "return F.adaptive_avg_pool2d(x, 3)"},
    {"AveragePool", kNet, "avg_pool2d", "%x, [2, 2]", Aten::kAvgPool, "return F.avg_pool2d(x, 2)"},
    {"ReduceMean", kPool, "mean", "%x, [2]", Aten::kAdaptiveAvgPool},
    {"ReduceMean", kNet, "mean", "%x, [-1, -2], True", Aten::kAdaptiveAvgPool, "", 1},
    {"ReduceMean", kNet, "mean", "%x, [-1, -2], True", Aten::kAdaptiveAvgPool,
     "return F.adaptive_avg_pool2d(x, 1)"},
    {"ReduceMean", kNet, "mean", "%x, [-1, -2], True", Aten::kMean,
     "return x.mean([-1, -2], True)"},
    {"ReduceMean", kNet, "mean", "%x, [-1, -2], False", Aten::kMean},
    {"ReduceMean", kNet, "mean", "%x, [-1, -2]", Aten::kMean},
    {"ReduceMean", kNet, "mean", "%x, [2, 3], True", Aten::kMean},
    {"BatchNormalization", kNet, "batch_norm", "%x, %p_w, %p_b, %m, %v", Aten::kBatchNorm},
    {"BatchNormalization", kNorm, "batch_norm", "%x, %p_w, %p_b, %m, %v", Aten::kInstanceNorm},
    {"LayerNormalization", kNorm, "layer_norm", "%x, [6], %p_w", Aten::kLayerNorm},
};

TEST(DynamoTest, WhichOperatorACallIs) {
  for (const OperatorCase& c : kOperators) {
    TorchMaker make = OneNode(c.type, c.class_name, c.name, c.args);
    if (std::string(c.type) == "LayerNormalization") make.Weight("s", {6}).node->add_input("s");
    if (*c.line != '\0') {
      make.Metadata("pkg.torch.onnx.stack_trace",
                    absl::StrCat("File \"net.py\", line 3, in forward\n    ", c.line));
    }
    Traced traced(make);
    EXPECT_EQ(traced.trace().calls[0].op, c.op) << c.name << c.args << c.line;
    EXPECT_EQ(traced.trace().assumptions.size(), static_cast<size_t>(c.assumed))
        << c.name << c.args << c.line;
  }
}

TEST(DynamoTest, ProductsWithoutACall) {
  TorchMaker make;
  make.Input("x", {"2", "4"}).Weight("w", {4, 4}).Node("a", "Relu", {"x"}, {"r"});
  make.From("net.Block", "relu", "%x").Node("b", "Relu", {"r"}, {"s"}).Output("s");
  EXPECT_EQ(Traced(make).trace().unattributed, 1);
  EXPECT_EQ(Traced(make).trace().origin, TorchTrace::Origin::kDynamo);
  make.Node("c", "MatMul", {"s", "w"}, {"t"}).Node("d", "MatMul", {"t", "w"}, {"u"}).Output("u");
  EXPECT_EQ(Traced(make).trace().problem,
            "2 products carry no call of PyTorch: the graph was changed after it was exported");
  EXPECT_EQ(Traced(make).trace().origin, TorchTrace::Origin::kNone);
}

struct FusedCase {
  const char *type, *rule;
  ModelMaker::Strings dims;
  std::vector<int64_t> weight;
  Aten op;
  NnClass nn_class;
};

// Convolutions of one to four dimensions of space, transposed ones, and a linear layer.
const FusedCase kFused[] = {
    {"Conv", "FuseBatchNormIntoConv", {"1", "4", "8"}, {6, 4, 3}, Aten::kConv, NnClass::kConv1d},
    {"Conv",
     "FuseBatchNormIntoConv",
     {"1", "4", "8", "8"},
     {6, 4, 3, 3},
     Aten::kConv,
     NnClass::kConv2d},
    {"Conv",
     "FuseBatchNormIntoConv",
     {"1", "4", "8", "8", "8"},
     {6, 4, 3, 3, 3},
     Aten::kConv,
     NnClass::kConv3d},
    {"Conv",
     "FuseBatchNormIntoConv",
     {"1", "4", "8", "8", "8", "8"},
     {6, 4, 3, 3, 3, 3},
     Aten::kConv,
     NnClass::kNone},
    {"ConvTranspose",
     "FuseBatchNormIntoConvTranspose",
     {"1", "4", "8"},
     {4, 6, 3},
     Aten::kConvTranspose,
     NnClass::kConvTranspose1d},
    {"ConvTranspose",
     "FuseBatchNormIntoConvTranspose",
     {"1", "4", "8", "8"},
     {4, 6, 3, 3},
     Aten::kConvTranspose,
     NnClass::kConvTranspose2d},
    {"Gemm", "FuseBatchNormIntoGemm", {"3", "4"}, {4, 6}, Aten::kLinear, NnClass::kLinear},
};

// The convolution that a BatchNorm went into: its class is taken from its input.
TEST(DynamoTest, ClassesOfConvolutionsThatTookABatchNormIn) {
  for (const FusedCase& c : kFused) {
    TorchMaker make;
    make.Input("x", c.dims).Weight("m.weight", c.weight).Weight("m.bias", {6});
    make.Node("n", c.type, {"x", "m.weight", "m.bias"}, {"y"}).Output("y");
    make.From("torch.nn.modules.batchnorm.BatchNorm2d", "batch_norm",
              "%conv2d_7, %p_w, %p_b, %m, %v");
    make.Metadata("pkg.onnxscript.rewriter.rule_name", c.rule);
    Traced traced(make);
    const TorchTrace& trace = traced.trace();
    ASSERT_EQ(trace.calls.size(), 2U) << c.type;
    EXPECT_EQ(trace.calls[0].op, c.op) << c.type << c.dims.size();
    EXPECT_EQ(trace.nn_class(trace.calls[0]), c.nn_class) << c.type << c.dims.size();
    EXPECT_EQ(trace.calls[0].name, "conv2d_7");
    EXPECT_TRUE(trace.scope(trace.calls[0]).is_assumed);
    EXPECT_EQ(trace.calls[1].op, Aten::kBatchNorm);
    EXPECT_EQ(trace.assumed_convs, 1);
    EXPECT_EQ(trace.unknown_args, 0);
  }
}

constexpr char kRelu[] = "torch.nn.modules.activation.ReLU";

struct AroundCase {
  std::string around, innermost;
  bool timm, encoder, transformers;
};

// Classes of the module around a call, and of the one that makes it.
const AroundCase kAround[] = {
    {"net.Net", kRelu, false, false, false},
    {"timm.models.vision_transformer.Attention", kRelu, true, false, false},
    {"timm.layers.attention.Attention", kRelu, true, false, false},
    {"torch.nn.modules.transformer.TransformerEncoderLayer", kRelu, false, true, false},
    {"torch.nn.modules.transformer.TransformerDecoderLayer", kRelu, false, false, false},
    {"net.Net", "transformers.models.x.Attn", false, false, true},
    {"net.Net", "transformers.models.x.RotaryEmbedding", false, false, false},
    {"transformers.models.x.Attn", kRelu, false, false, false},
    {"net.Net", "timm.layers.attention.Attention", true, false, false},
};

TEST(DynamoTest, ClassesAroundACall) {
  for (const AroundCase& c : kAround) {
    TorchMaker make;
    make.Input("x", {"2", "4"}).Node("n", "Relu", {"x"}, {"y"}).Output("y");
    make.Scopes("['', 'm', 'm.c', 'relu']", absl::StrCat("['net.Net', '", c.around, "', '",
                                                         c.innermost, "', 'aten.relu.default']"));
    make.Metadata("pkg.torch.onnx.fx_node",
                  "%relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args "
                  "= (%x,), kwargs = {})");
    Traced traced(make);
    const TorchScope& scope = traced.trace().scope(traced.trace().calls[0]);
    EXPECT_EQ(scope.in_timm_attention, c.timm) << c.around << c.innermost;
    EXPECT_EQ(scope.encoder_layer >= 0, c.encoder) << c.around << c.innermost;
    EXPECT_EQ(scope.of_transformers, c.transformers) << c.around << c.innermost;
    EXPECT_EQ(scope.class_name, c.innermost);
    EXPECT_EQ(traced.trace().transform, "");
  }
}

TEST(DynamoTest, CompiledModulesAndCellsAndMissingArguments) {
  TorchMaker make;
  make.Input("x", {"2", "4"}).Node("n", "Relu", {"x"}, {"y"}).Output("y");
  make.Scopes("['', '_orig_mod', 'relu']",
              "['net.Net', 'torch.nn.modules.rnn.LSTMCell', 'aten.relu.default']");
  make.Metadata("pkg.torch.onnx.fx_node", "");
  Traced traced(make);
  EXPECT_EQ(traced.trace().transform, "torch.compile");
  EXPECT_EQ(traced.trace().recurrent_cells, 1);
  EXPECT_EQ(traced.trace().unknown_args, 1);
  EXPECT_FALSE(traced.trace().has_parameters);
}

struct ApartCase {
  const char *class_name, *target;
  Aten apart;
};

// Modules that call another operator than their own; kOther: it was not taken apart.
const ApartCase kApart[] = {
    {"torch.nn.modules.normalization.GroupNorm", "relu", Aten::kGroupNorm},
    {"torch.nn.modules.pooling.AdaptiveMaxPool1d", "relu", Aten::kAdaptiveMaxPool},
    {"torch.nn.modules.pooling.AdaptiveMaxPool3d", "relu", Aten::kAdaptiveMaxPool},
    {"torch.nn.modules.pooling.MaxPool1d", "relu", Aten::kMaxPool},
    {"torch.nn.modules.pooling.AvgPool3d", "relu", Aten::kAvgPool},
    {"torch.nn.modules.upsampling.Upsample", "relu", Aten::kUpsampleBilinear},
    {"torch.nn.modules.upsampling.Upsample", "upsample_nearest2d", Aten::kOther},
    {"torch.nn.modules.activation.ReLU", "relu", Aten::kOther},
    {"net.Block", "_unsafe_index", Aten::kUpsampleBilinear},
};

// A module that does not call its operator was taken apart.
TEST(DynamoTest, ModulesThatWereTakenApart) {
  for (const ApartCase& c : kApart) {
    TorchMaker make;
    make.Input("x", {"2", "4"}).Node("n", "Relu", {"x"}, {"y"}).Output("y");
    make.From(c.class_name, c.target, "%x");
    Traced traced(make);
    for (size_t i = 1; i < kNumAtens; ++i) {
      EXPECT_EQ(traced.trace().decomposed[i], i == static_cast<size_t>(c.apart) ? 1 : 0)
          << c.class_name << i;
    }
  }
}

// ---- how the source writes a call

struct SpellingCase {
  const char *class_name, *name, *type, *line;
  Spelling spelling;
  bool stated;
  bool in_torch_nn = false;  // whose the line is
};

TorchMaker Spelled(const SpellingCase& c) {
  TorchMaker make;
  make.Input("x", {"6", "6"});
  const bool is_unary = std::string(c.type) == "Relu" || std::string(c.type) == "Softmax";
  make.Node("n", c.type, is_unary ? ModelMaker::Strings{"x"} : ModelMaker::Strings{"x", "x"},
            {"y"});
  make.Output("y");
  if (std::string(c.type) == "Einsum") make.Text("equation", "ij,jk->ik");
  make.From(c.class_name, c.name, "%x, %y");
  if (*c.line != '\0') {
    make.Metadata("pkg.torch.onnx.stack_trace",
                  absl::StrCat("File \"", c.in_torch_nn ? "/lib/torch/nn/modules/x.py" : "/net.py",
                               "\", line 3, in forward\n    ", c.line));
  }
  return make;
}

constexpr char kLinearOfNn[] = "torch.nn.modules.linear.Linear";
constexpr char kAttentionOfNn[] = "torch.nn.modules.activation.MultiheadAttention";

// Without a line of source only what torch.nn writes itself is stated.
const SpellingCase kSpellings[] = {
    {kLinearOfNn, "linear", "MatMul", "", Spelling::kFunctional, true},
    {kNet, "linear", "MatMul", "", Spelling::kFunctional, false},
    {kNet, "linear", "MatMul", "return F.linear(x, y)", Spelling::kFunctional, true},
    {kNet, "matmul", "MatMul", "", Spelling::kSymbol, false},
    {kNet, "matmul", "MatMul", "return x @ y", Spelling::kSymbol, true},
    {kNet, "matmul", "MatMul", "return torch.matmul(x, y)", Spelling::kTorch, true},
    {kNet, "matmul", "MatMul", "return x.matmul(y)", Spelling::kMethod, false},
    {kAttentionOfNn, "bmm", "MatMul", "", Spelling::kTorch, true},
    {kAttentionOfNn, "linear", "MatMul", "", Spelling::kFunctional, true},
    {"transformers.models.x.Attn", "matmul", "MatMul", "", Spelling::kTorch, false},
    // Functions of torchvision have no line.
    {"torchvision.models.swin_transformer.ShiftedWindowAttention", "matmul", "MatMul", "",
     Spelling::kMethod, false},
    {"torchvision.models.swin_transformer.ShiftedWindowAttention", "softmax", "Softmax", "",
     Spelling::kFunctional, false},
    {kNet, "add", "Add", "", Spelling::kSymbol, false},
    {kNet, "add", "Add", "return x + y", Spelling::kSymbol, true},
    {kNet, "add", "Add", "x += y", Spelling::kInPlace, true},
    {kNet, "add", "Add", "return torch.add(x, y)", Spelling::kTorch, true},
    {kLinearOfNn, "add", "Add", "", Spelling::kSymbol, false},
    {kNet, "mul", "Mul", "return x * y", Spelling::kSymbol, true},
    {kNet, "mul", "Mul", "return x.mul(y)", Spelling::kMethod, false},
    {kNet, "relu", "Relu", "", Spelling::kFunctional, false},
    {kNet, "relu", "Relu", "return F.relu(x)", Spelling::kFunctional, true},
    {kNet, "relu", "Relu", "return torch.relu(x)", Spelling::kTorch, true},
    {"torch.nn.modules.transformer.TransformerEncoderLayer", "relu", "Relu", "", Spelling::kNone,
     true},
    {"torch.nn.modules.transformer.TransformerEncoderLayer", "linear", "MatMul", "",
     Spelling::kFunctional, true},
    {kNet, "softmax", "Softmax", "", Spelling::kTorch, false},
    {kNet, "softmax", "Softmax", "return x.softmax(-1)", Spelling::kMethod, true},
    {kNet, "softmax", "Softmax", "return F.softmax(x, -1)", Spelling::kFunctional, true},
    {"torch.nn.modules.activation.Softmin", "softmax", "Softmax", "return F.softmin(x, -1)",
     Spelling::kMethod, true, true},
    {"torch.nn.modules.activation.Softmax", "softmax", "Softmax", "return F.softmax(x, -1)",
     Spelling::kFunctional, true, true},
    {kNet, "einsum", "Einsum", "return torch.einsum('ij,jk->ik', x, y)", Spelling::kTorch, true},
    {kNet, "einsum", "Einsum", "return torch.einsum(\"ij,jk->ik\", x, y)", Spelling::kTorch, true},
    {kNet, "einsum", "Einsum", "return torch.einsum(eq, x, y)", Spelling::kTorch, false},
};

// What stands before the dot may be a module of Python where a tensor is an argument.
TEST(DynamoTest, SpellingsOfCalls) {
  for (const SpellingCase& c : kSpellings) {
    Traced traced(Spelled(c));
    const TorchCall& call = traced.trace().calls[0];
    const auto want =
        c.stated ? OpenFact<Spelling>::Stated(c.spelling) : OpenFact<Spelling>(c.spelling);
    EXPECT_EQ(call.spelling.key(), want.key()) << c.class_name << c.name << c.line;
    EXPECT_EQ(call.has_source, *c.line != '\0');
    EXPECT_EQ(call.in_torch_nn, c.in_torch_nn);
  }
}

struct LineCase {
  SpellingCase call;
  int64_t hooks, derived;
  bool inside, other;
};

// Calls of hooks and of derived layers, and what PyTorch does inside.
const LineCase kLines[] = {
    {{kLinearOfNn, "linear", "MatMul", "return F.linear(x, y)", Spelling::kNone, true},
     1,
     0,
     false,
     false},
    {{kLinearOfNn, "linear", "MatMul", "return F.linear(x, y)", Spelling::kNone, true, true},
     0,
     0,
     false,
     false},
    {{kNet, "linear", "MatMul", "return F.linear(x, y)", Spelling::kNone, true, true},
     0,
     0,
     false,
     false},
    {{kNet, "matmul", "MatMul", "return x @ y", Spelling::kNone, true, true}, 0, 1, false, false},
    {{kNet, "bmm", "MatMul", "return torch.bmm(x, y)", Spelling::kNone, true, true},
     0,
     1,
     false,
     false},
    {{kNet, "addmm", "MatMul", "return torch.addmm(x, y)", Spelling::kNone, true, true},
     0,
     1,
     false,
     false},
    {{kNet, "matmul", "MatMul", "return x @ y", Spelling::kNone, true}, 0, 0, false, false},
    {{kNet, "matmul", "MatMul", "return torch.cdist(x, y)", Spelling::kNone, true},
     0,
     0,
     false,
     true},
    {{kNet, "relu", "Relu", "return torch.cdist(x, y)", Spelling::kNone, true}, 0, 0, false, false},
    {{kNet, "matmul", "MatMul", "return torch.tensordot(x, y)", Spelling::kNone, true},
     0,
     0,
     true,
     false},
};

// Lines of others in modules of torch.nn, lines of torch.nn in other classes, and functions that
// PyTorch runs as one operator.
TEST(DynamoTest, WhoseTheLineIs) {
  for (const LineCase& c : kLines) {
    Traced traced(Spelled(c.call));
    const TorchTrace& trace = traced.trace();
    EXPECT_EQ(trace.calls_of_hooks, c.hooks) << c.call.name << c.call.line;
    EXPECT_EQ(trace.derived_layers, c.derived) << c.call.name << c.call.line;
    EXPECT_EQ(trace.calls[0].is_inside, c.inside) << c.call.name << c.call.line;
    EXPECT_EQ(trace.calls[0].op == Aten::kOther, c.other) << c.call.name << c.call.line;
  }
}

// ---- what the exporter computed

struct FoldedCase {
  const char *name, *args;
  std::vector<int64_t> dims;
  int type;
  int64_t folded, layers;
};

// A matrix by the name of a call that is an argument was computed beforehand.
const FoldedCase kFolded[] = {
    {"mm_3", "%x, %mm_3", {4, 4}, onnx::TensorProto::FLOAT, 1, 0},
    {"mm_3", "%x, %other", {4, 4}, onnx::TensorProto::FLOAT, 0, 0},
    {"mm_3", "%x, %mm_3", {4}, onnx::TensorProto::FLOAT, 0, 0},
    {"mm_3", "%x, %mm_3", {1, 1}, onnx::TensorProto::FLOAT, 0, 0},
    {"m.weight", "%x, %p_m_weight", {4, 4}, onnx::TensorProto::FLOAT, 0, 0},
    {"p_w", "%x, %p_w", {4, 4}, onnx::TensorProto::FLOAT, 0, 0},
    {"sigmoid", "%x, %sigmoid", {4, 4}, onnx::TensorProto::FLOAT, 1, 1},
    {"softmax_2", "%x, %softmax_2", {4, 4}, onnx::TensorProto::FLOAT, 1, 1},
    {"mm_3", "%x, %a, %b, %c, %d, %e, %f, %mm_3", {4, 4}, onnx::TensorProto::FLOAT, 1, 0},
    {"mm_3", "%x, %a, %b, %c, %d, %e, %f, %g, %mm_3", {4, 4}, onnx::TensorProto::FLOAT, 1, 0},
    {"mm_3", "%x, %a, %b, %c, %d, %e, %f, %g, %h", {4, 4}, onnx::TensorProto::FLOAT, 0, 0},
};

TEST(DynamoTest, TensorsThatWereComputedBeforehand) {
  for (const FoldedCase& c : kFolded) {
    TorchMaker make;
    make.Input("x", {"4", "4"}).Weight(c.name, c.dims, c.type);
    make.Node("n", "Mul", {"x", c.name}, {"y"}).Output("y");
    make.From(kNet, "mul", c.args);
    Traced traced(make);
    EXPECT_EQ(traced.trace().folded, c.folded) << c.name << c.args << c.dims.size();
    EXPECT_EQ(traced.trace().folded_layers, c.layers) << c.name;
  }
}

// A weight that no node made, and that is not a parameter.
TEST(DynamoTest, WeightsThatWereComputedBeforehand) {
  const struct {
    const char *name, *args, *kwargs;
    int64_t folded;
  } cases[] = {{"linear", "%x, %mul", "", 1},
               {"linear", "%x, %p_w", "", 0},
               {"linear", "%x", "weight: %mul", 1},
               {"linear", "%x, 3", "", 0},
               {"matmul", "%x, %mul", "", 0}};
  for (const auto& c : cases) {
    TorchMaker make;
    make.Input("x", {"4", "4"})
        .Weight("w.weight", {4, 4})
        .Node("n", "MatMul", {"x", "w.weight"}, {"y"});
    make.Output("y");
    make.From(kNet, c.name, c.args, c.kwargs);
    EXPECT_EQ(Traced(make).trace().folded, c.folded) << c.name << c.args << c.kwargs;
  }
}

// Modules that work on the parameters of another path.
TEST(DynamoTest, ModulesThatStandInSeveralPlaces) {
  const struct {
    const char *class_name, *args;
    int64_t shared;
  } cases[] = {
      {kLinearOfNn, "%x, %p_m_weight", 0},  {kLinearOfNn, "%x, %p_other_weight", 1},
      {kLinearOfNn, "%x, %w", 0},           {kNet, "%x, %p_other_weight", 0},
      {kLinearOfNn, "%x, %p_mm_weight", 1}, {kLinearOfNn, "%x, %p_other_weight, %p_m_bias", 0},
      {kLinearOfNn, "%x, %p_emb_weight", 0}};
  for (const auto& c : cases) {
    TorchMaker make;
    make.Input("x", {"4", "4"})
        .Weight("w", {4, 4})
        .Node("n", "MatMul", {"x", "w"}, {"y"})
        .Output("y");
    make.From(c.class_name, "linear", c.args);
    make.Node("r", "Relu", {"x"}, {"z"}).Output("z");  // a module of another class
    make.Scopes("['', 'emb', 'relu']",
                "['net.Net', 'torch.nn.modules.activation.ReLU', 'aten.relu.default']");
    make.Metadata("pkg.torch.onnx.fx_node", "");
    EXPECT_EQ(Traced(make).trace().shared_modules, c.shared) << c.class_name << c.args;
  }
}

}  // namespace
}  // namespace onnxflops::convention::torch_trace_test
