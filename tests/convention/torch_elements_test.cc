// What the tools that watch PyTorch say of operators that work element by element, of norms,
// pooling and upsampling: what they printed or, of sizes that were not run, what their source says,
// worked out by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/compare/make_comparison.h"
#include "tests/convention/torch_figures.h"
#include "tests/convention/torch_maker.h"

namespace onnxflops::convention::torch_elements_test {
namespace {

struct ElementCase {
  std::string what, op_type;
  ModelMaker::Strings dims;
  std::string class_name, call, args;
  Figures want;
  std::vector<std::string> weights;  // vectors of dims[1] elements
};

TorchMaker Elementwise(const ElementCase& c) {
  TorchMaker make;
  make.Input("x", c.dims);
  ModelMaker::Strings inputs = {"x"};
  for (const std::string& name : c.weights) {
    make.Weight(name, {std::stoll(c.dims[c.op_type == "LayerNormalization" ? 2 : 1])});
    inputs.push_back(name);
  }
  make.Node("n", c.op_type, inputs, {"y"}).Output("y");
  if (c.op_type == "MaxPool" || c.op_type == "AveragePool") {
    make.Ints("kernel_shape", {2, 2}).Ints("strides", {2, 2});
  }
  if (c.op_type == "ReduceMean") {
    make.Weight("axes", {2}, onnx::TensorProto::INT64);
    onnx::TensorProto* axes =
        make.proto.mutable_graph()->mutable_initializer(make.proto.graph().initializer_size() - 1);
    axes->set_data_location(onnx::TensorProto::DEFAULT);
    axes->add_int64_data(-1);
    axes->add_int64_data(-2);
    make.node->add_input("axes");
  }
  make.From(c.class_name, c.call, c.args);
  return make;
}

const ElementCase kElementCases[] = {
    {"nn.BatchNorm2d",
     "BatchNormalization",
     {"1", "6", "8", "8"},
     Nn("batchnorm.BatchNorm2d"),
     "_native_batch_norm_legit_no_training",
     "%x, %p_w, %p_b, %b_m, %b_v",
     {{"thop", "1536"},
      {"fvcore", "768"},
      {"ptflops", "768"},
      {"calflops", "768"},
      {"torchstat", "768"},
      {"flop-counter-mode", "0"}},
     {"w", "b", "m", "v"}},
    {"nn.LayerNorm",
     "LayerNormalization",
     {"2", "3", "4"},
     Nn("normalization.LayerNorm"),
     "layer_norm",
     "%x, [4], %p_w, %p_b",
     {{"thop", "96"},
      {"fvcore", "120"},
      {"ptflops", "24"},
      {"calflops", "120"},
      {"ptflops-aten", "0"},
      {"torch-profiler", "0"}},
     {"w", "b"}},
    {"a subclass of it",
     "LayerNormalization",
     {"2", "3", "4"},
     "open_clip.transformer.LayerNorm",
     "layer_norm",
     "%x, [4], %p_w, %p_b",
     {{"thop", "0"}, {"fvcore", "120"}, {"ptflops", "0"}, {"calflops", "120"}},
     {"w", "b"}},
    {"without weight",
     "LayerNormalization",
     {"2", "3", "4"},
     Nn("normalization.LayerNorm"),
     "layer_norm",
     "%x, [4]",
     {{"thop", "48"}, {"fvcore", "96"}, {"calflops", "96"}},
     {"w"}},
    {"nn.Softmax",
     "Softmax",
     {"2", "3", "4"},
     Nn("activation.Softmax"),
     "softmax",
     "%x, -1",
     {{"thop", "66"}, {"fvcore", "0"}, {"ptflops", "24"}, {"calflops", "24"}},
     {}},
    {"torch.softmax",
     "Softmax",
     {"2", "3", "4"},
     kNet,
     "softmax",
     "%x, -1",
     {{"thop", "0"}, {"ptflops", "0"}, {"calflops", "0"}},
     {}},
    {"nn.ReLU",
     "Relu",
     {"3", "5"},
     Nn("activation.ReLU"),
     "relu",
     "%x",
     {{"thop", "0"}, {"fvcore", "0"}, {"ptflops", "30"}, {"calflops", "15"}, {"torchstat", "15"}},
     {}},
    {"F.relu",
     "Relu",
     {"3", "5"},
     kNet,
     "relu",
     "%x",
     {{"ptflops", "15"}, {"calflops", "15"}, {"torchstat", "0"}},
     {}},
    {"nn.GELU",
     "Gelu",
     {"3", "5"},
     Nn("activation.GELU"),
     "gelu",
     "%x",
     {{"ptflops", "30"}, {"calflops", "15"}, {"deepspeed", "15"}},
     {}},
    {"a GELU that keeps F.gelu",
     "Gelu",
     {"3", "5"},
     "transformers.activations.GELUActivation",
     "gelu",
     "%x",
     {{"ptflops", "0"}, {"calflops", "0"}},
     {}},
    {"nn.MaxPool2d",
     "MaxPool",
     {"1", "4", "6", "6"},
     Nn("pooling.MaxPool2d"),
     "max_pool2d",
     "%x, [2, 2]",
     {{"thop", "0"}, {"ptflops", "288"}, {"calflops", "144"}, {"torchstat", "144"}},
     {}},
    {"nn.AvgPool2d",
     "AveragePool",
     {"1", "4", "6", "6"},
     Nn("pooling.AvgPool2d"),
     "avg_pool2d",
     "%x, [2, 2]",
     {{"thop", "36"}, {"fvcore", "0"}, {"ptflops", "288"}, {"calflops", "144"}},
     {}},
    {"nn.AdaptiveAvgPool2d(1)",
     "ReduceMean",
     {"1", "4", "6", "6"},
     Nn("pooling.AdaptiveAvgPool2d"),
     "mean",
     "%x, [-1, -2], True",
     {{"thop", "148"}, {"fvcore", "144"}, {"ptflops", "288"}, {"calflops", "144"}},
     {}},
    {"mean",
     "ReduceMean",
     {"1", "4", "6", "6"},
     kNet,
     "mean",
     "%x, [2, 3]",
     {{"thop", "0"}, {"fvcore", "0"}, {"ptflops", "0"}, {"calflops", "0"}},
     {}},
};

TEST(TorchElementsTest, ElementByElement) {
  for (const ElementCase& c : kElementCases) ExpectFigures(c.what, Elementwise(c), c.want);
}

// The first operand counts, also where it is the smaller one.
TEST(TorchElementsTest, AdditionsAndMultiplications) {
  for (const auto& [op_type, call] : {std::pair("Add", "add"), std::pair("Mul", "mul")}) {
    TorchMaker make;
    make.Input("x", {"2", "3"}).Weight("w", {3});
    make.Node("n", op_type, {"w", "x"}, {"y"}).Output("y");
    make.From(kNet, call, "%p_w, %x");
    ExpectFigures(call, make, {{"torch-profiler", "3"}, {"calflops", "0"}, {"fvcore", "0"}});
  }
}

TEST(TorchElementsTest, CalflopsNeedsAParameter) {
  TorchMaker make;
  make.Input("x", {"2", "3"}).Node("n", "Relu", {"x"}, {"y"}).Output("y");
  make.From(Nn("activation.ReLU"), "relu", "%x");
  EXPECT_EQ(FigureAs(make, "calflops"), "-");
}

// Twice as long along each of so many axes, 4 channels of 4 elements along each.
TEST(TorchElementsTest, Upsampling) {
  const struct {
    int axes;
    const char *op, *mode;
    Figures figures;
  } cases[] = {
      {1, "upsample_nearest1d", "nearest", {{"thop", "32"}}},
      {1, "upsample_linear1d", "linear", {{"thop", "160"}}},
      {2,
       "upsample_nearest2d",
       "nearest",
       {{"thop", "256"},
        {"fvcore", "256"},
        {"ptflops", "512"},
        {"calflops", "64"},
        {"torchstat", "64"}}},
      {2,
       "upsample_bilinear2d",
       "linear",
       {{"thop", "2816"},
        {"fvcore", "1024"},
        {"ptflops", "512"},
        {"calflops", "64"},
        {"torchstat", "64"}}},
      {2, "upsample_bicubic2d", "cubic", {{"thop", "66304"}}},
      {3, "upsample_nearest3d", "nearest", {{"thop", "2048"}}},
  };
  for (const auto& c : cases) {
    TorchMaker make;
    ModelMaker::Strings from = {"1", "4"};
    from.resize(2 + static_cast<size_t>(c.axes), "4");
    make.Input("x", from).Weight("sizes", {2 + c.axes}, onnx::TensorProto::INT64);
    onnx::TensorProto* sizes = make.proto.mutable_graph()->mutable_initializer(0);
    sizes->set_data_location(onnx::TensorProto::DEFAULT);
    for (const int64_t size : {1, 4}) sizes->add_int64_data(size);
    for (int i = 0; i < c.axes; ++i) sizes->add_int64_data(8);
    make.Node("n", "Resize", {"x", "", "", "sizes"}, {"y"}).Output("y");
    make.Text("mode", c.mode).From(Nn("upsampling.Upsample"), c.op, "%x, None, [2.0, 2.0]");
    ExpectFigures(c.op, make, c.figures);
  }
}

// ptflops has no hook for the norm of several devices.
TEST(TorchElementsTest, BatchNormOfSeveralDevices) {
  for (const bool several : {false, true}) {
    TorchMaker make;
    make.Input("x", {"2", "3", "4", "4"});
    for (const char* name : {"m.weight", "m.bias", "m.mean", "m.var"}) make.Weight(name, {3});
    make.Node("n", "BatchNormalization", {"x", "m.weight", "m.bias", "m.mean", "m.var"}, {"y"});
    make.From(Nn(several ? "batchnorm.SyncBatchNorm" : "batchnorm.BatchNorm2d"), "batch_norm",
              "%x, %p_m_weight, %p_m_bias, %b_m_mean, %b_m_var, False, 0.1, 1e-05, True");
    make.Output("y");
    ExpectFigures(several ? "several" : "one", make,
                  {{"ptflops", several ? "0" : "192"}, {"fvcore", "192"}});
  }
}

// Statistics of each instance: torch.export writes it as a batch norm without running ones.
TEST(TorchElementsTest, InstanceNorm) {
  for (const bool is_class : {false, true}) {
    TorchMaker make;
    make.Input("x", {"2", "3", "4", "4"}).Weight("m.weight", {3}).Weight("m.bias", {3});
    make.Node("n", "InstanceNormalization", {"x", "m.weight", "m.bias"}, {"y"}).Output("y");
    const std::string target =
        absl::StrCat("aten._native_batch_norm_legit.", is_class ? "default" : "no_stats");
    const std::string name = is_class ? Nn("instancenorm.InstanceNorm2d") : std::string(kNet);
    make.Scopes("['', 'm', 'norm']", absl::StrCat("['net.Net', '", name, "', '", target, "']"));
    make.Metadata("pkg.torch.onnx.fx_node",
                  absl::StrCat("%norm : [num_users=1] = call_function[target=torch.ops.", target,
                               "](args = (%x, %p_m_weight, %p_m_bias, True, 0.1, 1e-05), kwargs = "
                               "{})"));
    ExpectFigures(name, make,
                  {{"thop", is_class ? "384" : "0"},
                   {"fvcore", "480"},
                   {"ptflops", is_class ? "192" : "0"},
                   {"calflops", "480"}});
  }
}

}  // namespace
}  // namespace onnxflops::convention::torch_elements_test
