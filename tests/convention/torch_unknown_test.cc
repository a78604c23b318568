// What the tools that watch PyTorch are said to count where shapes are not known, and at the ends
// of what their formulas take: one dimension of space, vectors, groups. By hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/compare/make_comparison.h"
#include "tests/convention/torch_figures.h"
#include "tests/convention/torch_maker.h"

namespace onnxflops::convention::torch_unknown_test {
namespace {

// ---- nothing is known of the input

struct UnknownCase {
  const char* type;
  std::string class_name;
  const char *call, *args;
  ModelMaker::Strings more;  // weights, "z", an input of which nothing is known either, or ""
};

TorchMaker Unknown(const UnknownCase& c) {
  TorchMaker make;
  make.Input("x", {}).Input("z", {}).Weight("v", {4}).Weight("w", {4, 4, 3, 3}).Weight("m", {4, 4});
  make.Weight("r", {1, 12, 4}).Weight("another.weight", {1});
  ModelMaker::Strings inputs = {"x"};
  inputs.insert(inputs.end(), c.more.begin(), c.more.end());
  make.Node("n", c.type, inputs, {"y"}).Output("y");
  if (absl::StrContains(c.type, "Pool") && c.type[0] != 'G') make.Ints("kernel_shape", {2, 2});
  if (absl::StrContains(c.type, "Einsum")) make.Text("equation", "ij,jk->ik");
  if (absl::StrContains(c.type, "GRU")) {
    onnx::AttributeProto* hidden = make.node->add_attribute();
    hidden->set_name("hidden_size");
    hidden->set_type(onnx::AttributeProto::INT);
    hidden->set_i(4);
  }
  make.From(c.class_name, c.call, c.args);
  return make;
}

// Operators that tools have formulas of, with known weights and without.
const UnknownCase kUnknown[] = {
    {"MatMul", Nn("linear.Linear"), "linear", "%x, %p_w", {"m"}},
    {"MatMul", kNet, "matmul", "%x, %z", {"z"}},
    {"MatMul", kNet, "bmm", "%x, %z", {"z"}},
    {"MatMul", kNet, "addmm", "%b, %x, %z", {"z"}},
    {"Einsum", kNet, "einsum", "ij,jk->ik, [%x, %z]", {"z"}},
    {"Conv", Nn("conv.Conv2d"), "conv2d", "%x, %p_w", {"w"}},
    {"Conv", Nn("conv.Conv2d"), "conv2d", "%x, %z", {"z"}},
    {"ConvTranspose", Nn("conv.ConvTranspose2d"), "conv_transpose2d", "%x, %p_w", {"w"}},
    {"ConvTranspose", Nn("conv.ConvTranspose2d"), "conv_transpose2d", "%x, %z", {"z"}},
    {"LayerNormalization",
     Nn("normalization.LayerNorm"),
     "layer_norm",
     "%x, [4], %p_w, %p_b",
     {"v", "v"}},
    {"BatchNormalization",
     Nn("batchnorm.BatchNorm2d"),
     "batch_norm",
     "%x, %p_w, %p_b, %m, %v",
     {"v", "v", "v", "v"}},
    {"Softmax", Nn("activation.Softmax"), "softmax", "%x, -1", {}},
    {"Softmax", Nn("activation.MultiheadAttention"), "softmax", "%x, -1", {}},
    {"AveragePool", Nn("pooling.AvgPool2d"), "avg_pool2d", "%x, [2, 2]", {}},
    {"GlobalAveragePool", Nn("pooling.AdaptiveAvgPool2d"), "adaptive_avg_pool2d", "%x, [1, 1]", {}},
    {"Resize", Nn("upsampling.Upsample"), "upsample_bilinear2d", "%x, None, [2.0, 2.0]", {"", "z"}},
    {"GRU", Nn("rnn.GRU"), "gru", "%x, %h, [%p_a], True, 1, 0.0, False, False, True", {"r", "r"}},
    {"Relu", kNet, "relu", "%x", {}},
    {"Add", kNet, "add", "%x, %z", {"z"}},
    {"Mul", kNet, "mul", "%x, %z", {"z"}},
    {"GridSample", kNet, "grid_sampler", "%x, %z", {"z"}},
};

// No tool stops, and no figure that rests on it is called exact.
TEST(TorchUnknownTest, NothingIsKnownOfTheInput) {
  for (const UnknownCase& c : kUnknown) {
    absl::StatusOr<Model> model = Unknown(c).Load();
    ASSERT_TRUE(model.ok()) << c.type << model.status();
    for (const ToolRow& row : CompareAll(*model).tools) {
      if (absl::StrContains("macs onnx-tool onnx-opcounter onnxsim xla model_analyzer",
                            row.convention->name))
        continue;
      EXPECT_EQ(row.headline.value_or(0), Expr(0)) << c.type << c.call << row.convention->name;
      EXPECT_NE(row.standing, Standing::kExact) << c.type << c.call << " " << row.convention->name;
    }
  }
}

// A dynamo export of which no node that runs says its call.
TEST(TorchUnknownTest, NoNodeSaysItsCall) {
  TorchMaker make;
  make.Input("x", {"3", "4"}).Weight("w", {4, 4}).Node("n", "MatMul", {"x", "w"}, {"y"});
  make.Output("y");
  onnx::FunctionProto* unused = make.proto.add_functions();
  unused->set_name("f");
  unused->set_domain("local");
  unused->add_opset_import()->set_version(20);
  unused->add_input("a");
  unused->add_output("b");
  make.node = unused->add_node();
  make.node->set_op_type("Relu");
  make.node->add_input("a");
  make.node->add_output("b");
  make.From(kNet, "relu", "%x");
  EXPECT_THAT(
      RowAs(make, "fvcore").assumptions,
      testing::ElementsAre("the file does not say which modules of PyTorch its nodes came from"));
}

// ---- one dimension of space, groups, no batch

TEST(TorchUnknownTest, ConvolutionsOfOneDimension) {
  TorchMaker conv;
  conv.Input("x", {"2", "4", "8"}).Weight("m.weight", {6, 4, 3}).Weight("m.bias", {6});
  conv.Node("n", "Conv", {"x", "m.weight", "m.bias"}, {"y"}).Output("y");
  conv.From(Nn("conv.Conv1d"), "conv1d", "%x, %p_w, %p_b");
  // 2 * 6 * 6 results of 4 * 3 products each: 864, and 72 biases.
  ExpectFigures("Conv1d", conv,
                {{"thop", "864"},
                 {"fvcore", "864"},
                 {"ptflops", "936"},
                 {"calflops", "1800"},
                 {"flop-counter-mode", "1728"}});
  TorchMaker transposed;
  transposed.Input("x", {"2", "4", "5"}).Weight("m.weight", {4, 6, 3}).Weight("m.bias", {6});
  transposed.Node("n", "ConvTranspose", {"x", "m.weight", "m.bias"}, {"y"}).Output("y");
  transposed.Ints("strides", {2})
      .From(Nn("conv.ConvTranspose1d"), "conv_transpose1d", "%x, %p_w, %p_b, [2]");
  // 720 products, 2 * 5 * 4 inputs of 6 * 3 each, and 2 * 6 * 11 biases; thop takes 4 * 3 a result.
  // calflops has the biases of 2 places: see the next test.
  ExpectFigures("ConvTranspose1d", transposed,
                {{"thop", "1584"},
                 {"fvcore", "720"},
                 {"ptflops", "852"},
                 {"calflops", "1464"},
                 {"deepspeed", "1572"},
                 {"flop-counter-mode", "1440"}});
}

// calflops takes a transposed convolution for one forward: of dilated and padded windows as well.
TEST(TorchUnknownTest, BiasesOfTransposedConvolutionsInCalflops) {
  TorchMaker make;
  make.Input("x", {"2", "4", "7", "9"}).Weight("m.weight", {4, 3, 2, 3}).Weight("m.bias", {6});
  make.Node("n", "ConvTranspose", {"x", "m.weight", "m.bias"}, {"y"}, {{"group", 2}}).Output("y");
  make.Ints("strides", {2, 1}).Ints("dilations", {3, 2}).Ints("pads", {1, 2, 1, 2});
  make.From(Nn("conv.ConvTranspose2d"), "conv_transpose2d", "%x, %p_w, %p_b");
  // (7 + 2 - 4) / 2 + 1 and (9 + 4 - 5) / 1 + 1 places.
  const int64_t products = 2 * (2 * 4 * 7 * 9) * (3 / 2) * 6, bias = 3 * 2 * 3 * 9;
  EXPECT_EQ(FigureAs(make, "calflops"), std::to_string(products + bias));
  EXPECT_EQ(FigureAs(make, "deepspeed@0.19.6"), std::to_string(products + bias));
}

// torch.export adds the batch, and takes it away. thop reads the height as channels, ptflops the
// channels as a batch of rows.
TEST(TorchUnknownTest, ConvolutionsWithoutABatch) {
  for (const int64_t groups : {1, 3}) {
    TorchMaker make;
    make.Input("x", {"3", "8", "9"})
        .Weight("m.weight", {6, 3 / groups, 3, 3})
        .Weight("axes", {1}, onnx::TensorProto::INT64);
    onnx::TensorProto* axes = make.proto.mutable_graph()->mutable_initializer(1);
    axes->set_data_location(onnx::TensorProto::DEFAULT);
    axes->add_int64_data(0);
    const auto from = [&] { make.From(Nn("conv.Conv2d"), "conv2d", "%x, %p_w"); };
    make.Node("a", "Unsqueeze", {"x", "axes"}, {"u"}), from();
    make.Node("n", "Conv", {"u", "m.weight"}, {"c"}, {{"group", groups}}), from();
    make.Node("b", "Squeeze", {"c", "axes"}, {"y"}), from();
    make.Output("y");
    const int64_t results = 6 * 6 * 7;
    EXPECT_EQ(FigureAs(make, "thop"), std::to_string(results * (8 / groups) * 9)) << groups;
    const int64_t rows = 3, columns = 7, products = 9 * (3 * 6 / groups);
    EXPECT_EQ(FigureAs(make, "ptflops"), std::to_string(rows * columns * products)) << groups;
    EXPECT_EQ(FigureAs(make, "calflops"), "-") << groups;
  }
}

TEST(TorchUnknownTest, PoolsAndSoftmaxOfOneDimension) {
  TorchMaker pool;
  pool.Input("x", {"1", "4", "6"}).Node("n", "GlobalAveragePool", {"x"}, {"y"}).Output("y");
  pool.From(Nn("pooling.AdaptiveAvgPool1d"), "adaptive_avg_pool1d", "%x, [1]");
  ExpectFigures("AdaptiveAvgPool1d", pool, {{"thop", "28"}, {"ptflops", "48"}, {"calflops", "24"}});
  TorchMaker average;
  average.Input("x", {"1", "4", "6"}).Node("n", "AveragePool", {"x"}, {"y"}).Output("y");
  average.Ints("kernel_shape", {3})
      .Ints("strides", {3})
      .From(Nn("pooling.AvgPool1d"), "avg_pool1d", "%x, [3]");
  ExpectFigures("AvgPool1d", average, {{"thop", "8"}});
  EXPECT_EQ(FigureAs(average, "thop@ultralytics-2.2.3"), std::to_string(8 * (3 + 1)));
  for (const auto& [axis, size] : {std::pair(0, 2), {1, 3}, {2, 4}, {-1, 4}, {-3, 2}}) {
    TorchMaker softmax;
    softmax.Input("x", {"2", "3", "4"})
        .Node("n", "Softmax", {"x"}, {"y"}, {{"axis", axis}})
        .Output("y");
    softmax.From(Nn("activation.Softmax"), "softmax", absl::StrCat("%x, ", axis));
    EXPECT_EQ(FigureAs(softmax, "thop"), std::to_string(24 * 3 - 24 / size)) << axis;
  }
}

// ---- recurrent layers: 5 inputs, 4 hidden, 3 steps, batch 2

struct RecurrentCase {
  const char *type, *module, *call;
  int64_t gates, directions;
  bool two_layers, bias;
  Figures figures;
  int64_t params;
};

TorchMaker Recurrent(const RecurrentCase& c) {
  TorchMaker make;
  const int64_t rows = c.gates * 4;
  make.Input("x", {"3", "2", "5"}).Input("h", {"3", "2", std::to_string(4 * c.directions)});
  make.Weight("w", {c.directions, rows, 5}).Weight("v", {c.directions, rows, 4 * c.directions});
  make.Weight("r", {c.directions, rows, 4}).Weight("b", {c.directions, rows * 2});
  for (int layer = 0; layer < (c.two_layers ? 2 : 1); ++layer) {
    const std::string name = absl::StrCat("n", layer);
    ModelMaker::Strings inputs = {layer == 0 ? "x" : "h", layer == 0 ? "w" : "v", "r"};
    if (c.bias) inputs.push_back("b");
    make.Node(name, c.type, inputs, {"y" + name}, {{"hidden_size", 4}});
    if (c.directions == 2) make.Text("direction", "bidirectional");
    make.From(Nn(c.module), c.call, "%x, %h");
  }
  make.Output("yn0");
  return make;
}

// Of several gates, directions and layers, with biases and without. In flop-counter-mode the LSTM
// is 2 * 16 * (5 + 4) for each of 6 inputs and 2 directions, and 2 * 16 * (8 + 4) in the second
// layer; thop adds to the products: 4 * ((5 + 4) * 4 + 4 + 8) + 16, and with inputs of 8.
const RecurrentCase kRecurrent[] = {
    {"LSTM",
     "rnn.LSTM",
     "lstm",
     4,
     2,
     true,
     true,
     {{"thop", "5568"},
      {"ptflops", "5760"},
      {"calflops", "9024"},
      {"flop-counter-mode", "8064"},
      {"ptflops-aten", "0"}},
     800},
    {"GRU",
     "rnn.GRU",
     "gru",
     3,
     1,
     false,
     false,
     {{"thop", "816"},
      {"ptflops", "816"},
      {"calflops", "1320"},
      {"flop-counter-mode", "1296"},
      {"ptflops-aten", "648"}},
     108},
    {"RNN",
     "rnn.RNN",
     "rnn_tanh",
     1,
     1,
     false,
     true,
     {{"thop", "288"},
      {"ptflops", "288"},
      {"calflops", "456"},
      {"flop-counter-mode", "432"},
      {"ptflops-aten", "264"}},
     44},
    {"GRU",
     "rnn.GRU",
     "gru",
     3,
     2,
     true,
     true,
     {{"thop", "4272"},
      {"ptflops", "4272"},
      {"calflops", "6720"},
      {"flop-counter-mode", "6048"},
      {"ptflops-aten", "3600"}},
     600},
};

TEST(TorchUnknownTest, RecurrentLayersByTheirFormulas) {
  for (const RecurrentCase& c : kRecurrent) {
    const TorchMaker make = Recurrent(c);
    ExpectFigures(c.type, make, c.figures);
    EXPECT_EQ(RowAs(make, "thop").params, c.params) << c.type;
  }
}

// thop prints parameters of what it hooks; its fork does not, nor does a model without layers.
TEST(TorchUnknownTest, ParametersThatThopPrints) {
  TorchMaker make;
  make.Input("x", {"3", "4"}).Weight("m.weight", {4, 5}).Weight("m.bias", {5});
  make.Node("n", "Gemm", {"x", "m.weight", "m.bias"}, {"y"}).Output("y");
  make.From(Nn("linear.Linear"), "linear", "%x, %p_w, %p_b");
  EXPECT_EQ(RowAs(make, "thop").params, 4 * 5 + 5);
  EXPECT_EQ(RowAs(make, "thop@ultralytics-2.0.18").params, 4 * 5 + 5);
  EXPECT_EQ(RowAs(make, "thop@ultralytics-2.2.3").params, std::nullopt);
  TorchMaker none;
  none.Input("x", {"3", "4"}).Node("n", "Identity", {"x"}, {"y"}).Output("y");
  none.From(kNet, "relu", "%x");
  EXPECT_EQ(RowAs(none, "thop").params, std::nullopt);
}

// ---- functions by name, which compare sizes from the first

TEST(TorchUnknownTest, AdditionsByName) {
  const struct {
    ModelMaker::Strings x, w;
    const char *line, *compared, *results;
  } cases[] = {
      {{"2", "3"}, {"3"}, "y = torch.add(x, w)", "9", "6"},
      {{"3"}, {"2", "3"}, "y = torch.add(x, w)", "9", "6"},
      {{"2", "3", "4"}, {"3", "1"}, "y = torch.add(x, w)", "36", "24"},
      {{"2", "3"}, {"2", "3"}, "y = x.add(w)", "6", "6"},
      {{"2", "3"}, {"3"}, "y = x + w", "0", "0"},
  };
  for (const auto& c : cases) {
    TorchMaker make;
    make.Input("x", c.x).Input("w", c.w).Node("n", "Add", {"x", "w"}, {"y"}).Output("y");
    make.From(kNet, "add", "%x, %w");
    make.Metadata("pkg.torch.onnx.stack_trace",
                  absl::StrCat("File \"net.py\", line 3, in forward\n    ", c.line));
    ExpectFigures(c.line, make, {{"ptflops", c.compared}, {"deepspeed", c.results}});
    EXPECT_EQ(FigureAs(make, "deepspeed@0.19.6"), c.compared) << c.line;
  }
}

// NumPy counts the products twice, and one more, and prints four digits: 12345 lies between 12340
// and 12350, of which the last digit is even.
TEST(TorchUnknownTest, FlopsOfAnEinsumHaveFourDigits) {
  const struct {
    const char *i, *j, *k, *flops;
  } cases[] = {{"4", "1543", "1", "12340"},  {"87", "71", "1", "12360"},
               {"3", "5", "7", "211"},       {"5", "999", "1", "9991"},
               {"5", "1000", "1", "10000"},  {"5", "1001", "1", "10010"},
               {"10", "5000", "1", "100000"}};
  for (const auto& c : cases) {
    TorchMaker make;
    make.Input("a", {c.i, c.j}).Input("b", {c.j, c.k}).Weight("w", {1});
    make.Node("n", "Einsum", {"a", "b"}, {"y"}).Output("y");
    make.Text("equation", "ij,jk->ik");
    make.From(kNet, "einsum", "ij,jk->ik, [%a, %b]");
    EXPECT_EQ(FigureAs(make, "deepspeed"), c.flops) << c.i << c.j;
  }
}

// ---- ultralytics-thop: classes by their names

TEST(TorchUnknownTest, LayersOfClassesByTheirNames) {
  const struct {
    std::string class_name;
    const char* figure;
  } cases[] = {{Nn("conv.Conv2d"), "144"},
               {"net.MyConv", "144"},
               {"net.Block", "0"},
               {"Conv.Block", "0"},
               {"net.MyNorm", "0"}};
  for (const auto& c : cases) {
    TorchMaker make;
    make.Input("x", {"1", "4", "3", "3"}).Weight("m.weight", {4, 4, 1, 1});
    make.Node("n", "Conv", {"x", "m.weight"}, {"y"}).Output("y");
    make.From(c.class_name, "conv2d", "%x, %p_w");
    EXPECT_EQ(FigureAs(make, "thop@ultralytics-2.2.3"), c.figure) << c.class_name;
  }
}

TEST(TorchUnknownTest, NormsOfClassesByTheirNames) {
  const struct {
    std::string class_name;
    const char* args;
    const char* figure;
  } cases[] = {{Nn("normalization.LayerNorm"), "%x, [4], %p_w", "48"},
               {Nn("normalization.LayerNorm"), "%x, [4]", "24"},
               {"net.MyNorm", "%x, [4], %p_w", "48"},
               {"net.MyConv", "%x, [4], %p_w", "0"},
               {"net.Block", "%x, [4], %p_w", "0"}};
  for (const auto& c : cases) {
    TorchMaker make;
    make.Input("x", {"3", "4"})
        .Weight("m.weight", {4})
        .Node("n", "LayerNormalization", {"x", "m.weight"}, {"y"});
    make.Output("y");
    make.From(c.class_name, "layer_norm", c.args);
    EXPECT_EQ(FigureAs(make, "thop@ultralytics-2.2.3"), c.figure) << c.class_name;
  }
}

}  // namespace
}  // namespace onnxflops::convention::torch_unknown_test
