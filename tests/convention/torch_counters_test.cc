// torchinfo, torchprofile, mmengine and pytorchcv on single layers. The digits are what the tools
// printed for the same modules (tool_figures_test has some 490 more), or what their source says, by
// hand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/convention/torch_figures.h"
#include "tests/convention/torch_maker.h"

namespace onnxflops::convention::torch_counters_test {
namespace {

// [3, 8] by [4, 8]': 96 multiply-accumulates, 36 parameters.
TorchMaker LinearIn(const std::string& class_name) {
  TorchMaker make;
  make.Input("x", {"3", "8"}).Weight("m.weight", {4, 8}).Weight("m.bias", {4});
  make.Node("n", "Gemm", {"x", "m.weight", "m.bias"}, {"y"}, {{"transB", 1}});
  make.From(class_name, "linear", "%x, %p_m_weight, %p_m_bias").Output("y");
  return make;
}

TorchMaker Norm(const std::string& class_name) {
  TorchMaker make;
  make.Input("x", {"2", "5", "8"}).Weight("m.weight", {8});
  make.Weight("m.bias", {8});
  make.Node("n", "LayerNormalization", {"x", "m.weight", "m.bias"}, {"y"});
  make.From(class_name, "layer_norm", "%x, [8], %w, %b").Output("y");
  return make;
}

TorchMaker Matmul(const ModelMaker::Strings& a, const ModelMaker::Strings& b) {
  TorchMaker make;
  make.Input("a", a).Input("b", b);
  make.Node("n", "MatMul", {"a", "b"}, {"y"});
  make.From(kNet, "matmul", "%a, %b").Output("y");
  return make;
}

TEST(TorchCountersTest, ParametersCountOncePerSample) {
  const Figures linear = {
      {"torchinfo", "108"}, {"torchprofile", "96"}, {"mmengine", "96"}, {"pytorchcv", "96"}};
  ExpectFigures("nn.Linear", LinearIn(Nn("linear.Linear")), linear);
  ExpectFigures(
      "nn.LayerNorm", Norm(Nn("normalization.LayerNorm")),
      {{"torchinfo", "32"}, {"torchprofile", "80"}, {"mmengine", "400"}, {"pytorchcv", "-"}});
}

// The parameters of m are found by name, if the file has no module below it.
TEST(TorchCountersTest, OtherModulesAreTakenForOnesWithoutChildren) {
  const ToolRow row = RowAs(LinearIn("net.MyLinear"), "torchinfo");
  EXPECT_EQ(FigureOf(row), "108");
  EXPECT_EQ(row.standing, Standing::kAssumed);
  EXPECT_EQ(RowAs(LinearIn(Nn("linear.Linear")), "torchinfo").standing, Standing::kExact);
}

TEST(TorchCountersTest, AModuleWithAChildCountsNothingItself) {
  TorchMaker make = LinearIn("net.MyLinear");
  make.Weight("m.act.weight", {1});
  const ToolRow row = RowAs(make, "torchinfo");
  EXPECT_EQ(FigureOf(row), "0");
  EXPECT_EQ(row.standing, Standing::kExact);
}

TEST(TorchCountersTest, ProductsWithVectorsAndBroadcasts) {
  ExpectFigures("[3,5] @ [2,5,7]", Matmul({"3", "5"}, {"2", "5", "7"}),
                {{"torchinfo", "0"}, {"torchprofile", "210"}, {"mmengine", "105"}});
  ExpectFigures("[3,5] @ [5]", Matmul({"3", "5"}, {"5"}),
                {{"fvcore", "-"}, {"torchprofile", "15"}, {"mmengine", "15"}});
}

// A convolution of 2 x 9 - 1 operations and a ReLU of 9: half of the sum, not the sum of halves.
TEST(TorchCountersTest, HalvesOfOddCountsAddUp) {
  TorchMaker make;
  make.Input("x", {"1", "1", "3", "3"}).Weight("m.weight", {1, 1, 1, 1});
  make.Node("c", "Conv", {"x", "m.weight"}, {"c"});
  make.From(Nn("conv.Conv2d"), "conv2d", "%x, %p_m_weight");
  make.Node("r", "Relu", {"c"}, {"y"});
  make.From(Nn("activation.ReLU"), "relu", "%conv2d");
  make.Output("y");
  EXPECT_EQ(FigureAs(make, "pytorchcv"), "13");
}

// 5 for an element, however many operators; a module that leaves no node may stop other models.
TEST(TorchCountersTest, BlocksOfTheZooCountAsAWhole) {
  const std::string swish = "pytorchcv.models.common.activ.Swish";
  TorchMaker make;
  make.Input("x", {"2", "3"});
  make.Node("s", "Sigmoid", {"x"}, {"s"});
  make.From(swish, "sigmoid", "%x");
  make.Node("m", "Mul", {"x", "s"}, {"y"});
  make.From(swish, "mul", "%x, %sigmoid");
  make.Output("y");
  const ToolRow row = RowAs(make, "pytorchcv");
  EXPECT_EQ(FigureOf(row), "15");
  EXPECT_EQ(row.standing, Standing::kExact);
  EXPECT_EQ(RowAs(LinearIn(Nn("linear.Linear")), "pytorchcv").standing, Standing::kAssumed);
}

TEST(TorchCountersTest, MeasureModelStopsAtClassesThatItDoesNotKnow) {
  const ToolRow row = RowAs(LinearIn("net.MyLinear"), "pytorchcv");
  ASSERT_EQ(FigureOf(row), "-");
  EXPECT_EQ(row.assumptions[0],
            "measure_model stops with TypeError at a class that it does not know: net.MyLinear "
            "(m)");
}

// Elements that are written, also by a product whose first operand is broadcast; not by mm.
TEST(TorchCountersTest, Activations) {
  EXPECT_EQ(FigureAs(LinearIn(Nn("linear.Linear")), "fvcore-activations"), "12");
  EXPECT_EQ(FigureAs(Norm(Nn("normalization.LayerNorm")), "fvcore-activations"), "0");
  EXPECT_EQ(FigureAs(Matmul({"3", "5"}, {"2", "5", "7"}), "fvcore-activations"), "42");
  TorchMaker make;
  make.Input("a", {"3", "5"}).Input("b", {"5", "7"});
  make.Node("n", "MatMul", {"a", "b"}, {"y"});
  make.From(kNet, "mm", "%a, %b").Output("y");
  const ToolRow row = RowAs(make, "fvcore-activations");
  EXPECT_EQ(FigureOf(row), "0");
  EXPECT_EQ(row.start.ToString(), "21");
}

}  // namespace
}  // namespace onnxflops::convention::torch_counters_test
