// What the tools that watch PyTorch say of products, layers and attention, and of the models that
// the founding figures are of. The digits of single operators are what the tools printed (or, of
// sizes that were not run, what their source says, worked out by hand); those of models are what
// they printed.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "src/api/count.h"
#include "src/compare/compare_report.h"
#include "src/compare/make_comparison.h"
#include "src/convention/torch/names.h"
#include "src/load/load_file.h"
#include "tests/convention/torch_figures.h"
#include "tests/convention/torch_maker.h"

namespace onnxflops::convention::torch_convention_test {
namespace {

// ---- linear layers and products

// [3, 8] by [4, 8]': 96 multiply-accumulates, 12 results.
TorchMaker Linear(const std::string& class_name, const std::string& name = "linear") {
  TorchMaker make;
  make.Input("x", {"3", "8"}).Weight("m.weight", {4, 8}).Weight("m.bias", {4});
  make.Node("n", "Gemm", {"x", "m.weight", "m.bias"}, {"y"}, {{"transB", 1}});
  make.From(class_name, name, "%x, %p_m_weight, %p_m_bias").Output("y");
  return make;
}

TEST(TorchConventionTest, LinearLayers) {
  ExpectFigures("nn.Linear", Linear(Nn("linear.Linear")),
                {{"thop", "96"},
                 {"fvcore", "96"},
                 {"ptflops", "108"},
                 {"ptflops-aten", "108"},
                 {"calflops", "192"},
                 {"deepspeed", "192"},
                 {"torchstat", "96"},
                 {"flop-counter-mode", "192"},
                 {"flop-counter-mode-cpu", "192"},
                 {"torch-profiler", "192"}});
  ExpectFigures("F.linear", Linear(kNet),
                {{"thop", "0"},
                 {"fvcore", "96"},
                 {"ptflops", "0"},
                 {"ptflops-aten", "108"},
                 {"calflops", "192"},
                 {"torchstat", "0"},
                 {"flop-counter-mode", "192"}});
  ExpectFigures("a subclass", Linear("net.MyLinear"), {{"thop", "0"}, {"fvcore", "96"}});
}

// A transposed input of a linear layer from 8 to 4, and MACs with biases of 12 or 24 results.
// Moving axes of size 1 leaves memory in order. Run with ptflops.
TEST(TorchConventionTest, LinearLayersOnTransposedInputs) {
  struct Case {
    std::vector<std::string> x;
    std::vector<int64_t> perm;
    const char* aten;
  } cases[] = {
      {{"1", "3", "8"}, {1, 0, 2}, "108"}, {{"3", "1", "8"}, {1, 0, 2}, "108"},
      {{"2", "3", "8"}, {1, 0, 2}, "192"}, {{"2", "8", "1"}, {0, 2, 1}, "72"},
      {{"2", "8", "3"}, {0, 2, 1}, "192"},
  };
  for (const Case& c : cases) {
    TorchMaker make;
    make.Input("x", c.x).Weight("m.weight", {8, 4}).Weight("m.bias", {4});
    make.Node("t", "Transpose", {"x"}, {"xt"});
    make.Ints("perm", c.perm);
    make.From(kNet, "transpose", "%x, 0, 1");
    make.Node("p", "MatMul", {"xt", "m.weight"}, {"p"});
    make.From(Nn("linear.Linear"), "linear", "%transpose, %p_m_weight, %p_m_bias");
    make.Node("a", "Add", {"p", "m.bias"}, {"y"}).Output("y");
    make.From(Nn("linear.Linear"), "linear", "%transpose, %p_m_weight, %p_m_bias");
    ExpectFigures(absl::StrJoin(c.x, ","), make, {{"ptflops-aten", c.aten}});
  }
}

TorchMaker Matmul(const std::string& class_name, const ModelMaker::Strings& a,
                  const ModelMaker::Strings& b) {
  TorchMaker make;
  make.Input("a", a).Input("b", b);
  make.Node("n", "MatMul", {"a", "b"}, {"y"});
  make.From(class_name, "matmul", "%a, %b").Output("y");
  return make;
}

TEST(TorchConventionTest, MatrixProducts) {
  ExpectFigures("[3,5] @ [2,5,7]", Matmul(kNet, {"3", "5"}, {"2", "5", "7"}),
                {{"thop", "0"},
                 {"fvcore", "105"},
                 {"ptflops", "0"},
                 {"ptflops-aten", "210"},
                 {"calflops", "0"},
                 {"deepspeed", "210"},
                 {"flop-counter-mode", "420"},
                 {"torch-profiler", "420"}});
  ExpectFigures("torch.matmul", Matmul("transformers.models.x.Attn", {"3", "5"}, {"2", "5", "7"}),
                {{"ptflops", "105"}, {"calflops", "210"}});
  ExpectFigures("[3,5] @ [5]", Matmul(kNet, {"3", "5"}, {"5"}),
                {{"fvcore", "-"},
                 {"ptflops-aten", "0"},
                 {"flop-counter-mode", "0"},
                 {"torch-profiler", "0"}});
}

// NumPy prints 421 for 210 combinations, and 4.096e+09 for 2048000000.
TEST(TorchConventionTest, Einsum) {
  struct Case {
    const char* equation;
    ModelMaker::Strings a, b;
    Figures want;
  } cases[] = {
      {"bij,bjk->bik",
       {"2", "3", "5"},
       {"2", "5", "7"},
       {{"fvcore", "210"}, {"calflops", "421"}, {"ptflops", "0"}, {"flop-counter-mode", "420"}}},
      {"nct,ncp->ntp", {"2", "3", "4"}, {"2", "3", "5"}, {{"fvcore", "120"}, {"calflops", "241"}}},
      {"ij,jk->ik",
       {"1601", "1283"},
       {"1283", "997"},
       {{"fvcore", "2048000000"}, {"deepspeed", "4096000000"}}},
  };
  for (const Case& c : cases) {
    TorchMaker make;
    make.Input("a", c.a).Input("b", c.b).Node("n", "Einsum", {"a", "b"}, {"y"}).Output("y");
    make.Text("equation", c.equation);
    make.From(kNet, "einsum", absl::StrCat(c.equation, ", [%a, %b]"));
    ExpectFigures(c.equation, make, c.want);
  }
}

// Conv1D of transformers: addmm(bias, x, weight).
TEST(TorchConventionTest, Addmm) {
  TorchMaker make;
  make.Input("x", {"3", "8"}).Weight("m.weight", {8, 4}).Weight("m.bias", {4});
  make.Node("n", "Gemm", {"x", "m.weight", "m.bias"}, {"y"});
  make.From("transformers.pytorch_utils.Conv1D", "addmm", "%p_m_bias, %x, %p_m_weight");
  make.Output("y");
  ExpectFigures("addmm", make,
                {{"thop", "0"},
                 {"fvcore", "96"},
                 {"ptflops", "100"},
                 {"ptflops-aten", "108"},
                 {"calflops", "196"},
                 {"flop-counter-mode", "192"}});
}

// ---- convolutions

// 4 -> 6 channels, 3 x 3, 8 x 8 results: 13824 multiply-accumulates, 384 results.
TorchMaker Conv2d(const char* rule = "", const char* bias = "m.bias") {
  TorchMaker make;
  make.Input("x", {"1", "4", "8", "8"}).Weight("m.weight", {6, 4, 3, 3}).Weight(bias, {6});
  make.Node("n", "Conv", {"x", "m.weight", bias}, {"y"}).Output("y");
  make.Ints("pads", {1, 1, 1, 1});
  if (*rule == '\0') {
    make.From(Nn("conv.Conv2d"), "conv2d", "%x, %p_m_weight, %p_m_bias, [1, 1], [1, 1]");
  } else {
    make.FromOperator(Nn("batchnorm.BatchNorm2d"), "_native_batch_norm_legit_no_training",
                      "_native_batch_norm_legit_no_training", "%conv2d, %p_w, %p_b, %m, %v");
    make.Metadata("pkg.onnxscript.rewriter.rule_name", rule);
  }
  return make;
}

TEST(TorchConventionTest, Convolutions) {
  ExpectFigures("nn.Conv2d with bias", Conv2d(),
                {{"thop", "13824"},
                 {"fvcore", "13824"},
                 {"ptflops", "14208"},
                 {"ptflops-aten", "14208"},
                 {"calflops", "28032"},
                 {"torchstat", "14208"},
                 {"flop-counter-mode", "27648"},
                 {"torch-profiler", "27648"}});
  ExpectFigures("without bias, with its BatchNorm",
                Conv2d("FuseBatchNormIntoConv", "m.weight_bias"),
                {{"thop", "15360"},
                 {"fvcore", "14592"},
                 {"ptflops", "14592"},
                 {"ptflops-aten", "13824"},
                 {"calflops", "28416"},
                 {"flop-counter-mode", "27648"}});
  ExpectFigures("with bias and its BatchNorm", Conv2d("FuseBatchNormIntoConv"),
                {{"ptflops", "14976"}, {"ptflops-aten", "14208"}, {"calflops", "28800"}});
}

TorchMaker ConvTranspose(int64_t kernel, int64_t groups, const std::vector<int64_t>& weight,
                         bool bias) {
  TorchMaker make;
  make.Input("x", {"1", std::to_string(weight[0]), "5", "5"}).Weight("m.weight", weight);
  make.Weight("m.bias", {weight[1] * groups});
  ModelMaker::Strings inputs = {"x", "m.weight"};
  if (bias) inputs.push_back("m.bias");
  make.Node("n", "ConvTranspose", inputs, {"y"}, {{"group", groups}}).Output("y");
  make.Ints("strides", {2, 2}).Ints("kernel_shape", {kernel, kernel});
  make.From(Nn("conv.ConvTranspose2d"), "conv_transpose2d",
            absl::StrCat("%x, %p_m_weight, ", bias ? "%p_m_bias" : "None", ", [2, 2]"));
  return make;
}

// By the input, as it is.
TEST(TorchConventionTest, TransposedConvolutionsOfUltralyticsThop) {
  for (const char* version : {"thop@ultralytics-2.0.18", "thop@ultralytics-2.2.3"}) {
    EXPECT_EQ(FigureAs(ConvTranspose(2, 1, {4, 12, 2, 2}, true), version), "4800");
    EXPECT_EQ(FigureAs(ConvTranspose(3, 2, {8, 3, 3, 3}, false), version), "5400");
  }
}

TEST(TorchConventionTest, TransposedConvolutions) {
  ExpectFigures("2 x 2, stride 2", ConvTranspose(2, 1, {4, 12, 2, 2}, true),
                {{"thop", "19200"},
                 {"fvcore", "4800"},
                 {"ptflops", "6000"},
                 {"ptflops-aten", "6000"},
                 {"calflops", "9648"},
                 {"deepspeed", "10800"},
                 {"flop-counter-mode", "9600"},
                 {"torch-profiler", "0"}});
  ExpectFigures("3 x 3, 2 groups", ConvTranspose(3, 2, {8, 3, 3, 3}, false),
                {{"thop", "26136"},
                 {"fvcore", "5400"},
                 {"ptflops", "5400"},
                 {"calflops", "3600"},
                 {"deepspeed", "10800"}});
}

// The layers of DeepSpeed's pull request 8323, on [2, channels, 8, 8]. It gives the figures, before
// and after.
TEST(TorchConventionTest, DeepSpeedBeforeAndAfterItsPullRequest8323) {
  struct Case {
    std::vector<int64_t> weight;  // [in, out / groups, kernel, kernel]
    int64_t groups, padding, output_padding;
    const char *before, *after;
  } cases[] = {{{4, 6, 4, 4}, 1, 1, 0, "98496", "101376"},
               {{4, 1, 3, 3}, 4, 1, 1, "32", "11264"},
               {{6, 2, 2, 2}, 3, 0, 0, "64", "15360"}};
  for (const Case& c : cases) {
    TorchMaker make;
    make.Input("x", {"2", std::to_string(c.weight[0]), "8", "8"}).Weight("m.weight", c.weight);
    make.Weight("m.bias", {c.weight[1] * c.groups});
    make.Node("n", "ConvTranspose", {"x", "m.weight", "m.bias"}, {"y"}, {{"group", c.groups}});
    make.Ints("strides", {2, 2}).Ints("output_padding", {c.output_padding, c.output_padding});
    make.Ints("pads", {c.padding, c.padding, c.padding, c.padding}).Output("y");
    make.From(Nn("conv.ConvTranspose2d"), "conv_transpose2d", "%x, %p_m_weight, %p_m_bias");
    EXPECT_EQ(FigureAs(make, "deepspeed@0.19.6"), c.before);
    EXPECT_EQ(FigureAs(make, "deepspeed@0.19.7"), c.after);
    EXPECT_EQ(FigureAs(make, "deepspeed"), c.after);
  }
}

// ---- recurrent layers: 5 inputs, 4 hidden, 3 steps, batch 2

TEST(TorchConventionTest, Lstm) {
  TorchMaker make;
  make.Input("x", {"3", "2", "5"}).Weight("w", {1, 16, 5}).Weight("r", {1, 16, 4});
  make.Weight("b", {1, 32}).Node("n", "LSTM", {"x", "w", "r", "b"}, {"y"}, {{"hidden_size", 4}});
  make.From(Nn("rnn.LSTM"), "lstm",
            "%x, [%h, %c], [%p_a, %p_b, %p_c, %p_d], True, 1, 0.0, False, False, False");
  make.Output("y");
  ExpectFigures("nn.LSTM", make,
                {{"thop", "1248"},
                 {"fvcore", "0"},
                 {"ptflops", "1296"},
                 {"ptflops-aten", "0"},
                 {"calflops", "1968"},
                 {"deepspeed", "1968"},
                 {"flop-counter-mode", "1728"},
                 {"flop-counter-mode-cpu", "0"},
                 {"torch-profiler", "16"}});
}

// DeepSpeed wraps torch.baddbmm, which the method of a tensor does not call: 2*2*3*5*7 + 2*3*7.
TEST(TorchConventionTest, AMethodIsNotWrapped) {
  for (const bool method : {false, true}) {
    TorchMaker make;
    make.Input("b", {"2", "3", "7"}).Input("x", {"2", "3", "5"}).Input("w", {"2", "5", "7"});
    const auto from = [&] {
      make.From(kNet, "baddbmm", "%b, %x, %w");
      make.Metadata("pkg.torch.onnx.stack_trace",
                    absl::StrCat("File \"net.py\", line 3, in forward\n    y = ",
                                 method ? "b.baddbmm(x, w)" : "torch.baddbmm(b, x, w)"));
    };
    make.Node("product", "MatMul", {"x", "w"}, {"p"});
    from();
    make.Node("sum", "Add", {"p", "b"}, {"y"}).Output("y");
    from();
    ExpectFigures(method ? "method" : "function", make, {{"deepspeed", method ? "0" : "462"}});
  }
}

// thop adds up what the module has: two weights and two biases for each gate.
TEST(TorchConventionTest, ParametersOfRecurrentLayers) {
  const struct {
    const char *op, *module, *call;
    int gates;
  } cases[] = {{"LSTM", "rnn.LSTM", "lstm", 4},
               {"GRU", "rnn.GRU", "gru", 3},
               {"RNN", "rnn.RNN", "rnn_tanh", 1}};
  for (const auto& c : cases) {
    TorchMaker make;
    make.Input("x", {"3", "2", "5"}).Weight("w", {1, 4 * c.gates, 5});
    make.Weight("r", {1, 4 * c.gates, 4}).Weight("b", {1, 8 * c.gates});
    make.Node("n", c.op, {"x", "w", "r", "b"}, {"y"}, {{"hidden_size", 4}}).Output("y");
    make.From(Nn(c.module), c.call,
              absl::StrCat("%x, ", c.gates == 4 ? "[%h, %c]" : "%h",
                           ", [%p_a, %p_b, %p_c, %p_d], True, 1, 0.0, False, False, False"));
    EXPECT_EQ(RowAs(make, "thop").params, 4 * c.gates * (5 + 4 + 2)) << c.op;
  }
}

// Its hook for it: of 2 heads and 5 tokens, 40 elements are scaled, 2 * 25 scores take 4 + 4
// products and a softmax of 1. So it is in one operator or in two products.
TEST(TorchConventionTest, PtflopsHooksTheAttentionOfTimm) {
  constexpr char kAttention[] = "timm.layers.attention.Attention";
  for (const bool fused : {true, false}) {
    TorchMaker make;
    make.Input("q", {"1", "2", "5", "4"}).Input("k", {"1", "2", "4", "5"});
    make.Input("v", {"1", "2", "5", "4"});
    const auto from = [&](const char* call, const char* args) {
      make.From(kAttention, fused ? "scaled_dot_product_attention" : call,
                fused ? "%q, %k, %v" : args);
    };
    make.Node("s", "MatMul", {"q", "k"}, {"s"});
    from("matmul", "%q, %k");
    make.Node("w", "Softmax", {"s"}, {"w"});
    from("softmax", "%matmul, -1");
    make.Node("n", "MatMul", {"w", "v"}, {"y"}).Output("y");
    from("matmul_1", "%softmax, %v");
    ExpectFigures(fused ? "fused" : "products", make, {{"ptflops", "490"}});
  }
}

// ptflops counts timm's Attention as a whole: what its calls do besides is not seen.
TEST(TorchConventionTest, ActivationsInsideOfTimmsAttention) {
  for (const bool timm : {false, true}) {
    TorchMaker make;
    make.Input("x", {"3", "5"}).Node("n", "Relu", {"x"}, {"y"}).Output("y");
    make.From(timm ? "timm.models.vision_transformer.Attention" : kNet, "relu", "%x");
    ExpectFigures(timm ? "timm" : "net", make, {{"ptflops", timm ? "0" : "15"}});
  }
}

// ---- attention: batch 2, 4 heads of 4, 7 tokens: 3136 multiply-accumulates

// Two products of 1568 multiply-accumulates.
TorchMaker Attention(bool gqa) {
  TorchMaker make;
  make.Input("q", {"2", "4", "7", "4"}).Input("k", {"2", "4", "4", "7"});
  make.Input("v", {"2", "4", "7", "4"});
  const auto from = [&] {
    make.From(kNet, "scaled_dot_product_attention", "%q, %k, %v", gqa ? "enable_gqa: True" : "");
  };
  make.Node("qk", "MatMul", {"q", "k"}, {"s"});
  from();
  make.Node("softmax", "Softmax", {"s"}, {"p"});
  from();
  make.Node("pv", "MatMul", {"p", "v"}, {"y"}).Output("y");
  from();
  return make;
}

TEST(TorchConventionTest, ScaledDotProductAttention) {
  for (const bool gqa : {false, true}) {
    ExpectFigures("attention", Attention(gqa),
                  {{"thop", "0"},
                   {"fvcore", "0"},
                   {"fvcore-torch1", "3136"},
                   {"ptflops", "0"},
                   {"ptflops-aten", gqa ? "3136" : "0"},
                   {"calflops", "0"},
                   {"deepspeed", "6272"},
                   {"flop-counter-mode", "6272"},
                   {"flop-counter-mode-cpu", "6272"},
                   {"torch-profiler", gqa ? "6272" : "0"}});
  }
}

// A kernel of the CPU that 2.14 does not know and 2.15 does. What is not fused both count.
TEST(TorchConventionTest, FlopCounterModeCountsAttentionOnACpuSinceTorch215) {
  EXPECT_EQ(FigureAs(Attention(false), "flop-counter-mode-cpu@2.14"), "0");
  EXPECT_EQ(FigureAs(Attention(false), "flop-counter-mode-cpu@2.15"), "6272");
  EXPECT_EQ(FigureAs(Attention(true), "flop-counter-mode-cpu@2.14"), "6272");
  EXPECT_EQ(FigureAs(Attention(true), "flop-counter-mode-cpu@2.15"), "6272");
  EXPECT_EQ(FigureAs(Attention(false), "flop-counter-mode@2.14"), "6272");
  EXPECT_EQ(FigureAs(Attention(false), "flop-counter-mode@2.15"), "6272");
  EXPECT_EQ(FigureAs(Attention(false), "fvcore@torch1"), "3136");
  EXPECT_EQ(FigureAs(Attention(false), "fvcore@torch2"), "0");
}

// Without a version it is the one of the PyTorch that exported the file; if that is not known, the
// newest.
TEST(TorchConventionTest, TheExporterDecidesWhichFlopCounterModeCounts) {
  struct Case {
    const char *producer, *version, *figure, *counted_by;
  } cases[] = {{"pytorch", "2.14.1+debian", "0", "2.14"}, {"pytorch", "1.13.0", "0", "2.14"},
               {"pytorch", "2.15.0", "6272", "2.15"},     {"pytorch", "3.0", "6272", "2.15"},
               {"pytorch", "", "6272", "2.15"},           {"pytorch", "two.14", "6272", "2.15"},
               {"onnx.quantize", "0.1.0", "6272", "2.15"}};
  for (const Case& c : cases) {
    TorchMaker make = Attention(false);
    make.proto.set_producer_name(c.producer);
    make.proto.set_producer_version(c.version);
    const ToolRow row = RowAs(make, "flop-counter-mode-cpu");
    EXPECT_EQ(FigureOf(row), c.figure) << c.version;
    EXPECT_EQ(row.version, c.counted_by) << c.version;
    EXPECT_EQ(row.standing, Standing::kAssumed) << c.version;
    EXPECT_EQ(RowAs(make, "flop-counter-mode-cpu@2.14").standing, Standing::kExact) << c.version;
  }
}

// Without attention the versions agree, and nothing is assumed.
TEST(TorchConventionTest, NoVersionIsAssumedWhereAllCountAlike) {
  const ToolRow row = RowAs(Linear(Nn("linear.Linear")), "flop-counter-mode-cpu");
  EXPECT_EQ(row.standing, Standing::kExact);
  EXPECT_EQ(FigureOf(row), "192");
}

// nn.MultiheadAttention(16, 4) on 7 tokens, batch 2: 17472 multiply-accumulates. With batch_first
// it begins with a transposition.
constexpr int64_t kBatchFirst[] = {1, 0, 2};
TorchMaker MultiheadAttention(absl::Span<const int64_t> first_perm) {
  TorchMaker make;
  const std::string mha = Nn("activation.MultiheadAttention");
  make.Weight("m.in_proj_weight", {16, 48}).Weight("m.in_proj_bias", {48});
  make.Weight("m.out_proj.weight", {16, 16}).Weight("m.out_proj.bias", {16});
  if (!first_perm.empty()) {
    const ModelMaker::Strings tokens = {"7", "2", "16"};
    ModelMaker::Strings x(3);
    for (size_t i = 0; i < 3; ++i) x[static_cast<size_t>(first_perm[i])] = tokens[i];
    make.Input("x", x).Node("t", "Transpose", {"x"}, {"tokens"});
    make.Ints("perm", {first_perm.begin(), first_perm.end()}).From(mha, "transpose", "%x, 1, 0");
  } else {
    make.Input("tokens", {"7", "2", "16"});
  }
  const char kInProj[] = "%tokens, %p_m_in_proj_weight, %p_m_in_proj_bias";
  make.Node("in", "MatMul", {"tokens", "m.in_proj_weight"}, {"product"}).Output("product");
  make.From(mha, "linear", kInProj);
  make.Node("in_bias", "Add", {"product", "m.in_proj_bias"}, {"qkv"}).Output("qkv");
  make.From(mha, "linear", kInProj);
  make.Input("q", {"2", "4", "7", "4"}).Input("k", {"2", "4", "4", "7"});
  make.Input("v", {"2", "4", "7", "4"}).Input("a", {"14", "16"});
  make.Node("qk", "MatMul", {"q", "k"}, {"s"});
  make.From(mha, "scaled_dot_product_attention", "%q, %k, %v");
  make.Node("pv", "MatMul", {"s", "v"}, {"o"}).Output("o");
  make.From(mha, "scaled_dot_product_attention", "%q, %k, %v");
  make.Node("out", "Gemm", {"a", "m.out_proj.weight", "m.out_proj.bias"}, {"y"}, {{"transB", 1}});
  make.From(mha, "linear_1", "%a, %p_m_out_proj_weight, %p_m_out_proj_bias").Output("y");
  return make;
}

TEST(TorchConventionTest, MultiheadAttention) {
  ExpectFigures("fast path", MultiheadAttention(kBatchFirst),
                {{"thop", "0"},
                 {"fvcore", "0"},
                 {"fvcore-torch1", "17472"},
                 {"ptflops", "18984"},
                 {"ptflops-aten", "0"},
                 {"calflops", "0"},
                 {"deepspeed", "0"},
                 {"flop-counter-mode", "34944"},
                 {"flop-counter-mode-cpu", "0"},
                 {"torch-profiler", "34944"}},
                /*no_grad=*/true);
  ExpectFigures("with gradients", MultiheadAttention(kBatchFirst),
                {{"thop", "0"},
                 {"fvcore", "14336"},
                 {"ptflops", "18984"},
                 {"flop-counter-mode-cpu", "34944"},
                 {"torch-profiler", "28672"}});
  ExpectFigures("part by part", MultiheadAttention({}),
                {{"thop", "0"},
                 {"fvcore", "14336"},
                 {"fvcore-torch1", "17472"},
                 {"ptflops", "18984"},
                 {"flop-counter-mode", "34944"},
                 {"flop-counter-mode-cpu", "34944"},
                 {"torch-profiler", "28672"}});
  for (const std::vector<int64_t>& perm : {std::vector<int64_t>{0, 2, 1}, {2, 1, 0}, {2, 0, 1}}) {
    ExpectFigures("another transposition", MultiheadAttention(perm),
                  {{"fvcore", "14336"}, {"flop-counter-mode-cpu", "34944"}});
  }
  EXPECT_EQ(FigureAs(MultiheadAttention({}), "flop-counter-mode-cpu@2.14"), "28672");
}

// ---- what the file does not tell

Standing StandingOf(const ModelMaker& make, absl::string_view tool) {
  return RowOf(CompareAll(make.Load().value()), tool).standing;
}

TEST(TorchConventionTest, ExactWhereTheFileTells) {
  EXPECT_EQ(StandingOf(Linear(Nn("linear.Linear")), "thop"), Standing::kExact);
  EXPECT_EQ(StandingOf(Linear(Nn("linear.Linear")), "fvcore"), Standing::kExact);
  EXPECT_EQ(StandingOf(Conv2d(), "thop"), Standing::kExact);
  EXPECT_EQ(StandingOf(MultiheadAttention({}), "fvcore"), Standing::kExact);
}

TEST(TorchConventionTest, AssumedWhereItDoesNot) {
  // The class of the convolution is gone.
  EXPECT_EQ(StandingOf(Conv2d("FuseBatchNormIntoConv"), "thop"), Standing::kAssumed);
  // There was a first linear layer.
  EXPECT_EQ(StandingOf(Linear(Nn("linear.Linear"), "linear_1"), "thop"), Standing::kAssumed);
  // A fast path may have been taken.
  EXPECT_EQ(StandingOf(MultiheadAttention(kBatchFirst), "fvcore"), Standing::kAssumed);
  // One way of writing a product is seen, the other is not.
  EXPECT_EQ(StandingOf(Matmul(kNet, {"3", "5"}, {"5", "7"}), "ptflops"), Standing::kAssumed);
}

// What made a constant that arithmetic uses may have been a product.
TEST(TorchConventionTest, FoldedWorkIsAssumedAway) {
  for (const char* name : {"unsqueeze_4", "m.scale"}) {
    TorchMaker make;
    make.Input("x", {"2", "3"}).Weight(name, {2, 3});
    make.Node("n", "Mul", {"x", name}, {"y"}).Output("y");
    make.From(kNet, "mul", absl::StrCat("%x, %", name));
    const bool folded = !absl::StrContains(name, ".");
    EXPECT_EQ(StandingOf(make, "fvcore"), folded ? Standing::kAssumed : Standing::kExact) << name;
  }
}

TEST(TorchConventionTest, AModuleThatTheExporterTookApartIsAssumed) {
  TorchMaker make;
  make.Input("x", {"2", "3"}).Node("n", "ReduceMean", {"x"}, {"y"}).Output("y");
  make.From(Nn("normalization.GroupNorm"), "var_mean", "%x, [1]");
  EXPECT_EQ(StandingOf(make, "fvcore"), Standing::kAssumed);
  EXPECT_EQ(StandingOf(make, "flop-counter-mode"), Standing::kExact);
}

TEST(TorchConventionTest, AResizingThatTheExporterTookApartIsAssumed) {
  TorchMaker make;
  make.Input("x", {"2", "3"}).Node("n", "Identity", {"x"}, {"y"}).Output("y");
  make.From(kNet, "_unsafe_index", "%x, [%a, %b]");
  EXPECT_EQ(StandingOf(make, "fvcore"), Standing::kAssumed);
  EXPECT_EQ(StandingOf(make, "flop-counter-mode"), Standing::kExact);
}

TEST(TorchConventionTest, NoFigureWithoutPyTorch) {
  ModelMaker make;
  make.Input("x", {"3", "8"}).Weight("w", {8, 4});
  make.Node("", "MatMul", {"x", "w"}, {"y"}).Output("y");
  for (const char* tool : {"thop", "fvcore", "ptflops", "flop-counter-mode", "torch-profiler"}) {
    EXPECT_EQ(StandingOf(make, tool), Standing::kNotApplicable) << tool;
  }
}

// A product that an optimizer made has no call; what tools said of the model before is not known.
TEST(TorchConventionTest, NoFigureForAGraphThatWasChanged) {
  TorchMaker make = Linear(Nn("linear.Linear"));
  make.Weight("w2", {4, 4}).Node("fused", "MatMul", {"y", "w2"}, {"z"}).Output("z");
  EXPECT_EQ(StandingOf(make, "thop"), Standing::kNotApplicable);
  EXPECT_EQ(StandingOf(make, "macs"), Standing::kExact);
}

TEST(TorchConventionTest, TorchstatStopsAtTokens) {
  TorchMaker make;
  make.Input("x", {"1", "3", "8"}).Weight("w", {8, 4});
  make.Node("n", "MatMul", {"x", "w"}, {"y"}).Output("y");
  make.From(Nn("linear.Linear"), "linear", "%x, %p_w");
  const CompareReport report = CompareAll(make.Load().value());
  EXPECT_EQ(RowOf(report, "torchstat").standing, Standing::kNotApplicable);
  EXPECT_TRUE(absl::StrContains(RowOf(report, "torchstat").assumptions[0], "rank 3"));
}

// ---- models

struct ModelCase {
  const char* file;
  Figures want;
};

TEST(TorchConventionTest, FoundingFigures) {
  const ModelCase cases[] = {
      {"openclip224-vit-l-14-336-visual", {{"thop", "116512260096"}, {"torchstat", "-"}}},
      {"openclip224-vit-h-14-visual", {{"thop", "107986288640"}}},
      {"openclip224-eva02-e-14-visual", {{"thop", "958556798976"}}},
      {"openclip224-vit-l-14-336",
       {{"thop", "120872239104"},
        {"fvcore-torch1", "197764840192"},
        {"fvcore", "181291430656"},
        {"flop-counter-mode", "395219472384"},
        {"torchstat", "-"}}},
      {"openclip224-vit-h-14",
       {{"thop", "123488436224"},
        {"fvcore-torch1", "190968706560"},
        {"fvcore", "185266550272"},
        {"flop-counter-mode", "381681664000"}}},
      {"clip-eva02-e-14",
       {{"thop", "974058946560"},
        {"fvcore-torch1", "1156025526016"},
        {"fvcore", "1140584048384"},
        {"flop-counter-mode", "2311418314752"}}},
      {"gpt-124m",
       {{"thop", "252993601536"},
        {"fvcore", "291648307200"},
        {"calflops", "505987203072"},
        {"flop-counter-mode", "583296614400"}}},
      {"clip-vit-b-32", {{"deepspeed", "14790819328"}, {"thop", "5480644608"}}},
  };
  for (const ModelCase& c : cases) {
    absl::StatusOr<Model> model =
        Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", c.file, ".onnx"));
    ASSERT_TRUE(model.ok()) << model.status();
    ExpectFigures(c.file, CompareAll(*model), c.want);
  }
}

// thop's own count of parameters: those of the modules that it hooks.
TEST(TorchConventionTest, ThopsParameters) {
  const std::pair<const char*, const char*> cases[] = {
      {"openclip224-vit-l-14-336-visual", "202051584"}, {"gpt-124m", "123614976"}};
  for (const auto& [file, params] : cases) {
    absl::StatusOr<Model> model =
        Load(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", file, ".onnx"));
    ASSERT_TRUE(model.ok()) << model.status();
    const CompareReport report = CompareAll(*model);
    ASSERT_TRUE(RowOf(report, "thop").params.has_value()) << file;
    EXPECT_EQ(Int128ToString(*RowOf(report, "thop").params), params) << file;
  }
}

// What forward() of PyTorch's classes calls, as torch/nn/modules has it.
TEST(NamesTest, ClassesCallTheirOperators) {
  using convention::Aten;
  const std::map<std::string, Aten> operators = {
      {"linear.Linear", Aten::kLinear},
      {"linear.Bilinear", Aten::kOther},
      {"conv.Conv1d", Aten::kConv},
      {"conv.Conv2d", Aten::kConv},
      {"conv.Conv3d", Aten::kConv},
      {"conv.ConvTranspose1d", Aten::kConvTranspose},
      {"conv.ConvTranspose2d", Aten::kConvTranspose},
      {"conv.ConvTranspose3d", Aten::kConvTranspose},
      {"batchnorm.BatchNorm1d", Aten::kBatchNorm},
      {"batchnorm.BatchNorm2d", Aten::kBatchNorm},
      {"batchnorm.BatchNorm3d", Aten::kBatchNorm},
      {"instancenorm.InstanceNorm1d", Aten::kInstanceNorm},
      {"instancenorm.InstanceNorm3d", Aten::kInstanceNorm},
      {"pooling.MaxPool1d", Aten::kMaxPool},
      {"pooling.MaxPool3d", Aten::kMaxPool},
      {"pooling.AvgPool1d", Aten::kAvgPool},
      {"pooling.AvgPool3d", Aten::kAvgPool},
      {"pooling.AdaptiveAvgPool1d", Aten::kAdaptiveAvgPool},
      {"pooling.AdaptiveAvgPool3d", Aten::kAdaptiveAvgPool},
  };
  for (const auto& [name, aten] : operators) {
    EXPECT_EQ(convention::OperatorOf(convention::NnClassOf("torch.nn.modules." + name)), aten)
        << name;
  }
}

}  // namespace
}  // namespace onnxflops::convention::torch_convention_test
