// Models at images of another size than the file's. The truth of whole models is in
// at_image_truth_test.cc: exports at both sizes. Here every rule has a model by hand.
#include "src/adapter/at_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/image_inputs.h"
#include "src/onnxflops.h"
#include "tests/adapter/model_parts.h"
#include "tests/model_maker.h"

namespace onnxflops::at_image_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

CountOptions At(int64_t height, int64_t width) {
  CountOptions options;
  options.image_size = ImageSize{height, width};
  return options;
}

// A convolution of patches of 16 x 16 pixels to 8 channels: [1, 8, height / 16, width / 16].
ModelMaker Patches(const std::string& height = "224", const std::string& width = "224") {
  ModelMaker make;
  make.Input("image", {"1", "3", height, width}).Weight("w", {8, 3, 16, 16});
  make.Node("/patch", "Conv", {"image", "w"}, {"p"});
  AddInts(make.node, "strides", {16, 16});
  return make;
}

// Then a node "/n" of that operator, and the mean of what it makes.
ModelMaker AfterPatches(const std::string& op, const std::vector<std::string>& inputs = {}) {
  ModelMaker make = Patches();
  std::vector<std::string> all = {"p"};
  all.insert(all.end(), inputs.begin(), inputs.end());
  make.Node("/mean", "ReduceMean", {"y"}, {"z"}).Output("z");
  auto* nodes = make.proto.mutable_graph()->mutable_node();
  make.Node("/n", op, all, {"y"});
  nodes->SwapElements(nodes->size() - 1, nodes->size() - 2);
  make.node = nodes->Mutable(nodes->size() - 2);
  return make;
}

std::string ErrorAt(const ModelMaker& make, int64_t height, int64_t width) {
  const absl::StatusOr<Report> report = make.Count(At(height, width));
  return std::string(report.status().message());
}

TEST(AtImageTest, CostsFourTimesAtTwiceTheSize) {
  ModelMaker make = Patches();
  make.Output("p");
  const Report before = make.Count().value();
  const Report after = make.Count(At(448, 448)).value();
  EXPECT_EQ(after.totals.macs, 4 * before.totals.macs);
  EXPECT_EQ(after.totals.macs, Expr(28 * 28 * 8 * 3 * 16 * 16));
  EXPECT_EQ(make.Count(At(448, 224))->totals.macs, 2 * before.totals.macs);
  EXPECT_EQ(after.totals.params, before.totals.params);
  EXPECT_THAT(after.warnings, IsEmpty());
}

TEST(AtImageTest, ReportsTheSameAtTheSizeOfTheFile) {
  ModelMaker make = Patches();
  make.Output("p");
  EXPECT_EQ(ToJson(make.Count(At(224, 224)).value()), ToJson(make.Count().value()));
}

// Tokens with learned positions: [1, 8, 14, 14] -> [1, 8, 196] -> + [1, 8, 196].
ModelMaker Tokens() {
  ModelMaker make = Patches();
  AddConstant(&make, "target", {1, 8, 196});
  make.Weight("positions", {1, 8, 196});
  make.Node("/flatten", "Reshape", {"p", "target"}, {"t"});
  make.Node("/add", "Add", {"t", "positions"}, {"y"}).Output("y");
  return make;
}

TEST(AtImageTest, ResizesPositionsAsAModelOfThatSizeHasThem) {
  const Report report = Tokens().Count(At(336, 320)).value();
  EXPECT_EQ(report.totals.params, 8 * 3 * 16 * 16 + 8 * 21 * 20);
  EXPECT_EQ(report.totals.other_flops, Expr(8 * 21 * 20));
  ASSERT_THAT(report.warnings, SizeIs(1));
  EXPECT_EQ(report.warnings[0],
            "'positions' is taken as [1, 8, 420] instead of [1, 8, 196], as in a model built for "
            "that size; interpolating it in the run is not counted");
}

// 230 x 225 has 14 x 14 patches of 16 x 16, which cover 224 x 224.
TEST(AtImageTest, SaysWhichPixelsNoPatchReads) {
  ModelMaker make = Patches();
  make.Output("p");
  EXPECT_THAT(make.Count(At(230, 225))->warnings,
              testing::ElementsAre("node '/patch' (Conv): windows of 16x16 leave out 6 rows and 1 "
                                   "column at the end of 230x225"));
  EXPECT_THAT(make.Count(At(240, 225))->warnings,
              testing::ElementsAre(HasSubstr("leave out 1 column at the end of 240x225")));
  EXPECT_THAT(make.Count(At(240, 256))->warnings, testing::IsEmpty());
}

TEST(AtImageTest, SaysNothingOfPixelsThatAreReadWithPadding) {
  ModelMaker make = Patches();
  make.Output("p");
  AddInts(make.node, "pads", {1, 1, 1, 1});
  EXPECT_THAT(make.Count(At(240, 240))->warnings, testing::IsEmpty());
  EXPECT_THAT(make.Count(At(241, 241))->warnings, testing::IsEmpty());
}

TEST(AtImageTest, RefusesPositionsThatAreUsedTwice) {
  ModelMaker make = Tokens();
  make.Node("/other", "ReduceMean", {"positions"}, {"m"}).Output("m");
  EXPECT_THAT(ErrorAt(make, 336, 336), HasSubstr("'positions', which is one for each token or "
                                                 "pixel, is used elsewhere, too"));
}

TEST(AtImageTest, RefusesWeightsOfTheSizeOfTheImage) {
  ModelMaker make = Patches();
  make.Node("/flatten", "Flatten", {"p"}, {"f"}).Weight("fc", {8 * 196, 10});
  make.Node("/fc", "MatMul", {"f", "fc"}, {"y"}).Output("y");
  EXPECT_THAT(ErrorAt(make, 336, 336),
              AllOf(HasSubstr("test.onnx: images of 336x336 need another graph than this one; "
                              "export the model for images of that size:\n  node '/fc' (MatMul"),
                    HasSubstr("K differs: 3528 vs 1568")));
}

// Of equal elements, but as rows of another length: only at twice the size it shows.
TEST(AtImageTest, RefusesAMapOfTheExportsHeightAndWidth) {
  ModelMaker make = Patches("224", "336");
  AddConstant(&make, "tokens", {1, 8, 294});
  AddConstant(&make, "map", {1, 8, 14, 21});
  make.Node("/tokens", "Reshape", {"p", "tokens"}, {"t"});
  make.Node("/map", "Reshape", {"t", "map"}, {"y"}).Output("y");
  EXPECT_THAT(ErrorAt(make, 336, 224), HasSubstr("node '/map' (Reshape"));
}

// 448 x 448 is 4 x 196 patches: a -1 must not make four samples of one.
TEST(AtImageTest, MakesNoSamplesOfLargerImages) {
  ModelMaker make = Patches("224", "224");
  AddConstant(&make, "target", {-1, 8, 196});
  make.Node("/tokens", "Reshape", {"p", "target"}, {"t"}).Output("t");
  EXPECT_EQ(make.Count(At(448, 448))->outputs[0].shape.ToString(), "[1, 8, 784]");
  AddConstant(&make, "flat", {-1, 1568});
  make.Node("/flat", "Reshape", {"p", "flat"}, {"f"}).Weight("fc", {1568, 10});
  make.Node("/fc", "MatMul", {"f", "fc"}, {"y"}).Output("y");
  EXPECT_THAT(ErrorAt(make, 448, 448), HasSubstr("K differs: 6272 vs 1568"));
}

// Half of the places are samples by now, whatever the -1 stands for.
TEST(AtImageTest, RefusesAReshapeThatIsNotPlain) {
  ModelMaker make = Patches();
  AddConstant(&make, "target", {-1, 16, 98});
  make.Node("/view", "Reshape", {"p", "target"}, {"y"}).Output("y");
  EXPECT_THAT(ErrorAt(make, 448, 448), HasSubstr("which sizes follow the image is not plain"));
}

TEST(AtImageTest, RefusesPlacesOfTheExportsSize) {
  ModelMaker make = AfterPatches("Gather", {"rows"});
  AddConstant(&make, "rows", {0, 2, 4, 6, 8, 10, 12});
  make.node->add_attribute()->set_name("axis");
  make.node->mutable_attribute(0)->set_type(onnx::AttributeProto::INT);
  make.node->mutable_attribute(0)->set_i(2);
  EXPECT_THAT(ErrorAt(make, 336, 336), HasSubstr("node '/n' (Gather): the places"));
  // Its rows stay, but the columns follow.
  EXPECT_EQ(make.Count(At(224, 336)).status(), absl::OkStatus());
}

TEST(AtImageTest, TakesSlicesFromTheBeginningOnly) {
  const auto with = [](int64_t start, int64_t end) {
    ModelMaker make = AfterPatches("Slice", {"starts", "ends", "axes"});
    AddConstant(&make, "starts", {start});
    AddConstant(&make, "ends", {end});
    AddConstant(&make, "axes", {2});
    return ErrorAt(make, 336, 336);
  };
  EXPECT_EQ(with(1, INT64_MAX), "");
  EXPECT_EQ(with(0, 1), "");
  EXPECT_EQ(with(0, -1), "");
  EXPECT_THAT(with(0, 7), HasSubstr("it takes 0 to 7 of 14, which the size of the export"));
  EXPECT_THAT(with(7, INT64_MAX), HasSubstr("it takes 7 to "));
  EXPECT_THAT(with(1, 14), HasSubstr("it takes 1 to 14 of 14"));
}

TEST(AtImageTest, RefusesWindowsThatMayBeOfAnAdaptivePooling) {
  const auto with = [](int64_t window, int64_t height) {
    ModelMaker make = AfterPatches("AveragePool");
    AddInts(make.node, "kernel_shape", {window, window});
    AddInts(make.node, "strides", {window, window});
    return make.Count(At(height, height));
  };
  EXPECT_THAT(with(14, 336).status().message(), HasSubstr("its window of 14 covers"));
  EXPECT_THAT(with(7, 336).status().message(), HasSubstr("it may be an adaptive pooling"));
  EXPECT_THAT(with(1, 336).status().message(), HasSubstr("it may be an adaptive pooling"));
  EXPECT_EQ(with(3, 336).status(), absl::OkStatus());  // 14 is no multiple of 3
  EXPECT_THAT(with(2, 336)->warnings,                  // of 21 x 21
              testing::ElementsAre(HasSubstr("taken as fixed"),
                                   HasSubstr("windows of 2x2 leave out 1 row and 1 column")));
}

TEST(AtImageTest, RefusesAResizeToTheExportsSize) {
  ModelMaker make = AfterPatches("Resize", {"", "", "sizes"});
  AddConstant(&make, "sizes", {1, 8, 28, 28});
  EXPECT_THAT(ErrorAt(make, 336, 336), HasSubstr("node '/n' (Resize): it makes [1, 8, 28, 28]"));
}

TEST(AtImageTest, RefusesPadsThatMayFollowFromTheSize) {
  const auto with = [](const Sizes& pads) {
    ModelMaker make = AfterPatches("Pad", {"pads"});
    AddConstant(&make, "pads", pads);
    return ErrorAt(make, 336, 336);
  };
  EXPECT_EQ(with({0, 0, 1, 1, 0, 0, 1, 1}), "");
  EXPECT_THAT(with({0, 0, 0, 0, 0, 0, 2, 2}), HasSubstr("it pads by 0 and 2, which the size"));
  EXPECT_THAT(with({0, 0, 0, 0, 0, 0, 0, 0}), HasSubstr("it pads by 0, which the size"));
}

// [0, 1] of a window of 3 and a stride of 2 is "same" at 14, which takes [1, 1] at 21.
TEST(AtImageTest, RefusesConvolutionsPaddedAsSame) {
  ModelMaker make = AfterPatches("Conv", {"w2"});
  make.Weight("w2", {8, 8, 3, 3});
  AddInts(make.node, "strides", {2, 2});
  AddInts(make.node, "pads", {0, 0, 1, 1});
  EXPECT_THAT(ErrorAt(make, 336, 336), HasSubstr("it pads by 0 and 1, which the size"));
  EXPECT_EQ(ErrorAt(make, 448, 448), "");
}

// [1, 1] at 225 may be "same", which takes [0, 1] at 224: unless another layer pads by numbers.
TEST(AtImageTest, RefusesEqualPadsThatAreSameEverywhere) {
  ModelMaker make;
  make.Input("image", {"1", "3", "225", "225"}).Weight("w", {8, 3, 3, 3});
  make.Node("/a", "Conv", {"image", "w"}, {"a"}).Output("a");
  AddInts(make.node, "strides", {2, 2});
  AddInts(make.node, "pads", {1, 1, 1, 1});
  EXPECT_THAT(ErrorAt(make, 224, 224), HasSubstr("it pads by 1 and 1, which the size"));
  EXPECT_EQ(ErrorAt(make, 227, 227), "");
  make.Weight("v", {8, 8, 5, 5}).Node("/b", "Conv", {"a", "v"}, {"b"}).Output("b");
  AddInts(make.node, "strides", {2, 2});
  AddInts(make.node, "pads", {1, 1, 1, 1});
  EXPECT_EQ(ErrorAt(make, 224, 224), "");
}

TEST(AtImageTest, RefusesOperatorsWithoutARule) {
  ModelMaker make = AfterPatches("Gelee");
  make.node->set_domain("my");
  make.Import("my");
  EXPECT_THAT(ErrorAt(make, 336, 336),
              HasSubstr("node '/n' (Gelee): the shape of its output is not known"));
}

TEST(AtImageTest, NeedsAnImageOfAFixedSize) {
  ModelMaker text;
  text.Input("ids", {"1", "77"}).Node("n", "Relu", {"ids"}, {"y"}).Output("y");
  EXPECT_THAT(ErrorAt(text, 336, 336), HasSubstr("test.onnx: no input is an image: none has"));
  ModelMaker open = Patches("height", "width");
  open.Output("p");
  EXPECT_EQ(ErrorAt(open, 336, 336),
            "test.onnx: input 'image' leaves the size of its images open; dim NAME=N sets it");
  ModelMaker two = Patches();
  two.Input("mask", {"1", "1", "56", "56"}).Output("p").Output("mask");
  EXPECT_THAT(ErrorAt(two, 336, 336), HasSubstr("its inputs are images of several sizes"));
  EXPECT_THAT(ErrorAt(Patches(), 0, 336), HasSubstr("an image of 0x336 has no pixels"));
  EXPECT_THAT(ErrorAt(Patches(), -1, 336), HasSubstr("an image of -1x336 has no pixels"));
}

TEST(AtImageTest, TakesTheSizeFromOneOption) {
  ModelMaker make = Patches();
  make.Output("p");
  CountOptions options = At(336, 336);
  options.input_shapes["image"] = {1, 3, 336, 336};
  EXPECT_EQ(make.Count(options).status().message(),
            "test.onnx: input and at-image both give the size of 'image'; leave one of them out");
}

TEST(AtImageTest, FindsChannelsFirstAndLast) {
  ModelMaker make;
  make.Input("first", {"1", "3", "8", "8"}).Input("last", {"N", "8", "8", "1"});
  make.Input("tokens", {"1", "12", "77", "64"}).Input("open", {"N", "C", "8", "8"});
  const Model model = make.Load().value();
  const std::vector<ImageInput> images = ImageInputs(*model);
  ASSERT_THAT(images, SizeIs(2));
  EXPECT_EQ(model->value(images[0].value).name, "first");
  EXPECT_EQ(images[0].axis, 2);
  EXPECT_EQ(model->value(images[1].value).name, "last");
  EXPECT_EQ(images[1].axis, 1);
}

}  // namespace
}  // namespace onnxflops::at_image_test
