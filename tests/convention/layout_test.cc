// How tensors lie in memory, one operator at a time: what PyTorch's operators on a CPU do, by hand.
// Chains of views at random are in layout_random_test.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/convention/torch/trace.h"
#include "tests/convention/torch_figures.h"
#include "tests/convention/torch_maker.h"

namespace onnxflops::convention {
namespace {

// As OpenFact<bool>::key() has them.
constexpr int32_t kOtherwise = 0, kStatedOtherwise = 1, kTakenInOrder = 2, kStatedInOrder = 3;

// Small programs by hand: each step works on the result of the one before, and ends in a linear
// layer with a bias.
class Chain {
 public:
  explicit Chain(const ModelMaker::Strings& dims) { make_.Input("t0", dims); }

  Chain& Then(const char* aten, const char* type, const ModelMaker::Strings& more = {}) {
    ModelMaker::Strings inputs = {Value()};
    inputs.insert(inputs.end(), more.begin(), more.end());
    ++number_;
    make_.Node(Value(), type, inputs, {Value()});
    if (*aten != '\0') make_.From(kNet, absl::StrCat(aten, "_", number_), "%x");
    return *this;
  }
  Chain& Transpose(const std::vector<int64_t>& perm) {
    Then("permute", "Transpose");
    make_.Ints("perm", perm);
    return *this;
  }
  Chain& Reshape(const std::vector<int64_t>& sizes) {
    const std::string name = absl::StrCat("sizes", number_);
    make_.Weight(name, {static_cast<int64_t>(sizes.size())}, onnx::TensorProto::INT64);
    onnx::TensorProto* tensor = make_.proto.mutable_graph()->mutable_initializer(
        make_.proto.graph().initializer_size() - 1);
    tensor->set_data_location(onnx::TensorProto::DEFAULT);
    for (int64_t size : sizes) tensor->add_int64_data(size);
    return Then("reshape", "Reshape", {name});
  }
  // Attention to the same keys and values, whatever the queries are.
  Chain& Attend(const char* heads, const char* size = "8", const char* kwargs = "") {
    const std::string k = absl::StrCat("k", number_), v = absl::StrCat("v", number_);
    make_.Input(k, {"2", heads, "8", "5"}).Input(v, {"2", heads, "5", size});
    for (const auto& [type, second] :
         {std::pair("MatMul", k), std::pair("Softmax", std::string()), std::pair("MatMul", v)}) {
      Then("", type, second.empty() ? ModelMaker::Strings{} : ModelMaker::Strings{second});
      make_.From(kNet, "scaled_dot_product_attention", "%q, %k, %v", kwargs);
    }
    return *this;
  }
  Chain& SetAxis(int64_t axis) {
    onnx::AttributeProto* attribute = make_.node->add_attribute();
    attribute->set_name("axis");
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(axis);
    return *this;
  }
  std::string Value() const { return absl::StrCat("t", number_); }
  TorchMaker& maker() { return make_; }

  // Of what a linear layer of so many inputs works on.
  int32_t Layout(int64_t inputs) {
    make_.Weight("w", {inputs, 2}).Weight("b", {2});
    make_.Node("product", "MatMul", {Value(), "w"}, {"p"});
    make_.From(kNet, "linear", "%x, %p_w, %p_b");
    make_.Node("sum", "Add", {"p", "b"}, {"y"});
    make_.From(kNet, "linear", "%x, %p_w, %p_b");
    const Model model = make_.Load().value();
    const Inference inference = Infer(model).value();
    const Counts counts = Count(inference).value();
    Evidence evidence(inference, counts);
    return evidence.torch_trace().calls.back().is_contiguous.key();
  }

 private:
  TorchMaker make_;
  int number_ = 0;
};

TEST(LayoutTest, ImagesMayHaveTheirChannelsLast) {
  const struct {
    ModelMaker::Strings dims;
    int32_t layout;
  } cases[] = {
      {{"2", "3", "8"}, kStatedInOrder},          {{"2", "3", "4", "8"}, kTakenInOrder},
      {{"2", "3", "1", "4", "8"}, kTakenInOrder}, {{"2", "3", "1", "4", "5", "8"}, kStatedInOrder},
      {{"2", "1", "4", "8"}, kStatedInOrder},     {{"2", "1", "3", "4", "8"}, kStatedInOrder},
      {{"N", "3", "8"}, kStatedInOrder},          {{"N", "3", "4", "8"}, kTakenInOrder},
      {{"N", "1", "4", "8"}, kTakenInOrder},
  };
  for (const auto& c : cases) EXPECT_EQ(Chain(c.dims).Layout(8), c.layout) << c.dims.size();
  EXPECT_EQ(Chain({"2", "3", "1", "1"}).Layout(1), kStatedInOrder);
  EXPECT_EQ(Chain({"2", "3", "1", "1", "1"}).Layout(1), kStatedInOrder);
}

onnx::AttributeProto HiddenSize() {
  onnx::AttributeProto attribute;
  attribute.set_name("hidden_size");
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(4);
  return attribute;
}

// What is in order stays so; of what may not be, nothing is told.
TEST(LayoutTest, OperatorsOnImages) {
  const struct {
    const char *type, *aten;
    int more;        // vectors beside
    int32_t layout;  // of an image in order
  } cases[] = {
      {"MaxPool", "max_pool2d", 0, kStatedInOrder},
      {"AveragePool", "avg_pool2d", 0, kStatedInOrder},
      {"InstanceNormalization", "instance_norm", 2, kStatedInOrder},
      {"BatchNormalization", "batch_norm", 4, kStatedInOrder},
      {"Concat", "cat", 0, kStatedInOrder},
      {"Conv", "conv2d", -1, kTakenInOrder},  // the weight may have its channels last
      {"ConvTranspose", "conv_transpose2d", -1, kTakenInOrder},
      {"LpNormalization", "linalg_norm", 0, kTakenInOrder},
  };
  for (const auto& c : cases) {
    for (const char* from : {"an image", "in order", "turned"}) {
      Chain chain = *from == 'a' ? Chain({"2", "3", "4", "8"}) : Chain({"6", "4", "8"});
      if (*from == 'i') chain.Reshape({2, 3, 4, 8});
      if (*from == 't') chain.Transpose({2, 1, 0}).Reshape({2, 3, 4, 8}).Transpose({0, 1, 3, 2});
      ModelMaker::Strings more;
      for (int i = 0; i < c.more; ++i) more.push_back(absl::StrCat("v", i));
      for (const std::string& name : more) chain.maker().Weight(name, {3});
      if (c.more < 0) chain.maker().Weight(more.emplace_back("kernel"), {3, 3, 1, 1});
      chain.Then(c.aten, c.type, more);
      if (absl::StrContains(c.type, "Pool")) chain.maker().Ints("kernel_shape", {1, 1});
      if (absl::StrContains(c.type, "Concat")) chain.SetAxis(1);
      const int64_t inputs = *from == 't' ? 4 : 8;
      EXPECT_EQ(chain.Layout(inputs), *from == 'i' ? c.layout : kTakenInOrder) << c.type << from;
    }
  }
}

// One channel, or one element in each, lies in one way.
TEST(LayoutTest, ConvolutionsOfImagesThatLieInOneWay) {
  const struct {
    ModelMaker::Strings dims;
    std::vector<int64_t> kernel;
    int64_t inputs;
    int32_t layout;
  } cases[] = {
      {{"2", "3", "4", "8"}, {5, 3, 1, 1}, 8, kTakenInOrder},
      {{"2", "3", "4", "8"}, {1, 3, 1, 1}, 8, kStatedInOrder},
      {{"2", "3", "4", "8"}, {5, 3, 4, 8}, 1, kStatedInOrder},
      {{"2", "3", "4", "8"}, {5, 3, 4, 1}, 8, kTakenInOrder},
      {{"2", "3", "4", "8", "6"}, {1, 3, 1, 1, 1}, 6, kStatedInOrder},
      {{"2", "3", "4", "8", "6"}, {5, 3, 1, 1, 1}, 6, kTakenInOrder},
      {{"2", "3", "8"}, {5, 3, 1}, 8, kStatedInOrder},
      {{"N", "3", "4", "8"}, {1, 3, 1, 1}, 8, kTakenInOrder},
  };
  for (const auto& c : cases) {
    Chain chain(c.dims);
    chain.maker().Weight("kernel", c.kernel);
    chain.Then("convolution", "Conv", {"kernel"});
    EXPECT_EQ(chain.Layout(c.inputs), c.layout) << c.dims.size() << " " << c.kernel[0];
  }
  // A convolution of a vector lies as its input does, so of a turned one nothing is told.
  Chain chain({"2", "8", "3"});
  chain.Transpose({0, 2, 1}).maker().Weight("kernel", {5, 3, 1});
  chain.Then("convolution", "Conv", {"kernel"});
  EXPECT_EQ(chain.Layout(8), kTakenInOrder);
}

TEST(LayoutTest, OfOpenSizes) {
  EXPECT_EQ(Chain({"N", "3", "8"}).Then("relu", "Relu").Layout(8), kStatedInOrder);
  EXPECT_EQ(Chain({"N", "3", "8"}).Then("flip", "Relu").Layout(8), kStatedInOrder);
  EXPECT_EQ(Chain({"N", "8", "3"}).Transpose({0, 2, 1}).Layout(8), kTakenInOrder);
  EXPECT_EQ(Chain({"N", "8", "3"}).Transpose({0, 2, 1}).Then("relu", "Relu").Layout(8),
            kTakenInOrder);
  EXPECT_EQ(Chain({"N", "8", "3"}).Transpose({0, 2, 1}).Then("softmax", "Softmax").Layout(8),
            kStatedInOrder);
}

// Beyond eight dimensions, or 2^48 elements, nothing is known.
TEST(LayoutTest, OfVeryManyDimensionsOrElements) {
  const struct {
    ModelMaker::Strings dims;
    std::vector<int64_t> perm;
    int32_t layout;
  } cases[] = {
      {{"2", "1", "1", "1", "1", "1", "8", "1"}, {6, 1, 2, 3, 4, 5, 7, 0}, kStatedOtherwise},
      {{"2", "1", "1", "1", "1", "1", "8", "1", "1"}, {6, 1, 2, 3, 4, 5, 7, 8, 0}, kTakenInOrder},
      {{"2", "35184372088832", "4"}, {2, 1, 0}, kStatedOtherwise},  // 2^1 x 2^45 x 2^2
      {{"2", "35184372088833", "4"}, {2, 1, 0}, kTakenInOrder},
      {{"4", "35184372088832", "4"}, {2, 1, 0}, kTakenInOrder},
      {{"4", "0", "2"}, {2, 1, 0}, kStatedInOrder},  // of no elements, each order is one
      {{"0", "281474976710656", "2"}, {2, 1, 0}, kTakenInOrder},
      {{"0", "140737488355328", "2"}, {2, 1, 0}, kStatedInOrder},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Chain(c.dims).Transpose(c.perm).Layout(std::stoll(c.dims[0])), c.layout)
        << c.dims.size() << " " << c.dims[1];
  }
}

// The fused kernel makes what it gives as [batch, length, heads, size], of queries that lie so.
TEST(LayoutTest, OfAttention) {
  const auto merged = [](Chain chain) {  // heads again beside their sizes
    return chain.Transpose({0, 2, 1, 3}).Reshape({2, 7, 32});
  };
  const auto queries = [](bool by_reshape) {
    Chain chain({"2", "7", "32"});
    return by_reshape ? chain.Reshape({2, 4, 7, 8})
                      : chain.Reshape({2, 7, 4, 8}).Transpose({0, 2, 1, 3});
  };
  EXPECT_EQ(queries(false).Attend("4").Layout(8), kStatedOtherwise);
  EXPECT_EQ(merged(queries(false).Attend("4")).Layout(32), kStatedInOrder);
  // Queries in order, or in neither way: versions differ.
  EXPECT_EQ(queries(true).Attend("4").Layout(8), kTakenInOrder);
  EXPECT_EQ(merged(queries(true).Attend("4")).Layout(32), kTakenInOrder);
  EXPECT_EQ(
      Chain({"2", "8", "28"}).Reshape({2, 8, 4, 7}).Transpose({0, 2, 3, 1}).Attend("4").Layout(8),
      kOtherwise);
  // Queries that may be an image.
  EXPECT_EQ(Chain({"2", "7", "4", "8"}).Transpose({0, 2, 1, 3}).Attend("4").Layout(8), kOtherwise);
  // One head, or a length of one: both ways are the same.
  EXPECT_EQ(Chain({"2", "7", "8"}).Reshape({2, 1, 7, 8}).Attend("1").Layout(8), kStatedInOrder);
  EXPECT_EQ(Chain({"2", "4", "8"}).Reshape({2, 4, 1, 8}).Attend("4").Layout(8), kStatedInOrder);
  // What is not fused is a product.
  EXPECT_EQ(queries(true).Attend("4", "6").Layout(6), kStatedInOrder);
  EXPECT_EQ(queries(false).Attend("4", "6").Layout(6), kStatedInOrder);
  EXPECT_EQ(queries(false).Attend("1", "8", "enable_gqa: True").Layout(8), kStatedInOrder);
  // Open sizes.
  EXPECT_EQ(Chain({"2", "4", "N", "8"}).Attend("4").Layout(8), kTakenInOrder);
}

// batch_first: what is made by step is turned.
TEST(LayoutTest, OfRecurrentLayersWithTheBatchFirst) {
  for (const bool batch_first : {false, true}) {
    for (const bool turned : {false, true}) {
      Chain chain({"3", "2", "8"});
      const auto from = [&] {
        chain.maker().From(Nn("rnn.GRU"), "gru",
                           absl::StrCat("%x, %h, [%p_a, %p_b], False, 1, 0.0, False, False, ",
                                        batch_first ? "True" : "False"));
      };
      chain.maker().Weight("r", {1, 12, 8}).Weight("u", {1, 12, 4});
      chain.Then("", "GRU", {"r", "u"}).maker().node->add_attribute()->CopyFrom(HiddenSize());
      from();
      chain.Reshape({3, 2, 4});
      from();
      if (turned) chain.Transpose({1, 0, 2}), from();
      Chain back = chain;  // turned once more
      EXPECT_EQ(back.Transpose({1, 0, 2}).Layout(4),
                batch_first && turned ? kStatedInOrder : kOtherwise);
      EXPECT_EQ(chain.Layout(4), batch_first && turned ? kStatedOtherwise : kTakenInOrder);
    }
  }
}

// PyTorch runs it as one operator, whatever the exporter wrote for it.
TEST(LayoutTest, InsideOfAFunctionNothingIsTold) {
  for (const char* line : {"return F.rms_norm(x, (8,))", "return x.transpose(1, 2)"}) {
    Chain chain({"2", "8", "3"});
    chain.Transpose({0, 2, 1})
        .Then("relu", "Relu")
        .maker()
        .Metadata("pkg.torch.onnx.stack_trace",
                  absl::StrCat("File \"net.py\", line 3, in forward\n    ", line));
    const bool inside = absl::StrContains(line, "rms_norm");
    EXPECT_EQ(chain.Layout(8), inside ? kTakenInOrder : kStatedOtherwise);
  }
}

// Nothing asks where only layers without a bias are.
TEST(LayoutTest, IsLookedForBehindABiasOnly) {
  TorchMaker make;
  make.Input("x", {"2", "3", "8"}).Weight("w", {8, 2}).Node("n", "MatMul", {"x", "w"}, {"y"});
  make.From(kNet, "linear", "%x, %p_w").Output("y");
  const Model model = make.Load().value();
  const Inference inference = Infer(model).value();
  const Counts counts = Count(inference).value();
  Evidence evidence(inference, counts);
  EXPECT_FALSE(evidence.torch_trace().calls[0].is_contiguous.is_stated());
}

}  // namespace
}  // namespace onnxflops::convention
