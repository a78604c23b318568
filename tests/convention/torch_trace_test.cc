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

namespace onnxflops::convention {
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
  const Inference inference = Infer(make.Load().value()).value();
  const Counts counts = Count(inference).value();
  Evidence evidence(inference, counts);
  const TorchTrace& trace = evidence.torch_trace();
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

TEST(TorchTraceTest, AConvolutionWithItsBatchNormIsTwoCalls) {
  TorchMaker make;
  make.Input("x", {"1", "4", "8", "8"}).Weight("m.weight", {6, 4, 3, 3}).Weight("m.bias", {6});
  make.Node("n", "Conv", {"x", "m.weight", "m.bias"}, {"y"}).Output("y");
  make.FromOperator("torch.nn.modules.batchnorm.BatchNorm2d", "batch_norm", "batch_norm",
                    "%conv2d, %p_w, %p_b, %m, %v");
  make.Metadata("pkg.onnxscript.rewriter.rule_name", "FuseBatchNormIntoConv");
  EXPECT_THAT(Calls(make), ElementsAre("batch_norm of torch.nn in m: Conv",
                                       "convolution of torch.nn in m: Conv"));
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
  const Inference inference = Infer(make.Load().value()).value();
  const Counts counts = Count(inference).value();
  Evidence evidence(inference, counts);
  const TorchTrace& trace = evidence.torch_trace();
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

}  // namespace
}  // namespace onnxflops::convention
