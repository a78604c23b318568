// What XLA's cost analysis counts: operators by the HLO of their formulas, by hand, and the windows
// of convolutions by loops over all of their positions. What XLA itself says is in xla_truth_test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/compare/compare_report.h"
#include "src/load/load_file.h"
#include "tests/model_maker.h"
#include "tests/model_text.h"

namespace onnxflops::convention::xla_test {
namespace {

using testing::ElementsAreArray;

ToolRow Ask(const Model& model) {
  return CompareTools(model, {}, {.with = {"xla"}}).value().tools[0];
}

// "12+3": flops, and transcendentals beside.
std::string Counted(const ToolRow& row) {
  constexpr absl::string_view kApart = "transcendentals, which XLA counts apart: ";
  for (const std::string& assumption : row.assumptions) {
    if (absl::StartsWith(assumption, kApart)) {
      return absl::StrCat(row.headline->ToString(), "+", assumption.substr(kApart.size()));
    }
  }
  return "?";
}

struct Case {
  const char* text;
  int64_t flops, transcendentals;
  int opset = 18;
};

void ExpectCounts(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(Counted(Ask(ModelFromText(c.text, c.opset))),
              absl::StrCat(c.flops, "+", c.transcendentals))
        << c.text;
  }
}

TEST(XlaTest, ElementsOfTen) {
  ExpectCounts({
      {"g (float[2,5] x) => (float[2,5] y) { y = Sum(x, x, x) }", 20, 0},
      {"g (float[2,5] x) => (float[2,5] y) { y = Mean(x, x, x) }", 30, 0},
      {"g (float[2,5] x, float[2,5] z) => (float[2,5] y) { y = Max(x, z) }", 10, 0},
      {"g (float[2,5] x) => (double[2,5] y) { y = Cast<to=11>(x) }", 10, 0},
      {"g (float[2,5] x) => (float[2,5] y) { y = Cast<to=1>(x) }", 0, 0},
      {"g (float[2,5] x, float a) => (float[2,5] y) { y = Clip(x, a) }", 10, 0},
      {"g (float[2,5] x, float a) => (float[2,5] y) { y = Clip(x, \"\", a) }", 10, 0},
      {"g (float[2,5] x) => (float[2,5] y) { y = Clip(x) }", 0, 0},
      {"g (float[2,5] x) => (float[2,5] y) { y = Clip<min=0.5>(x) }", 10, 0, 6},
      {"g (float[2,5] x) => (float[2,5] y) { y = Clip<max=0.5>(x) }", 10, 0, 6},
      {"g (int32[2,5] x) => (int32[2,5] y) { y = Mod(x, x) }", 100, 0},
      {"g (float[2,5] x) => (float[2,5] y) { y = Mod<fmod=1>(x, x) }", 10, 0},
      {"g (float[2,5] x) => (float[2,5] y) { y = Gelu(x) }", 40, 10, 20},
      {"g (float[2,5] x) => (float[2,5] y) { y = Gelu<approximate=\"tanh\">(x) }", 80, 10, 20},
      {"g (float[2,5] x) => (float[2,5] y) { y = Swish(x) }", 40, 10, 24},
      {"g (float[2,5] x) => (float[2,5] y) { y = Swish<alpha=2.0>(x) }", 50, 10, 24},
      {"g (uint8[2,5] x, float s) => (float[2,5] y) { y = DequantizeLinear(x, s) }", 20, 0},
      {"g (uint8[2,5] x, float s, uint8 z) => (float[2,5] y) { y = DequantizeLinear(x, s, z) }", 30,
       0},
      {"g (float[3,2,5] x) => (float[3,2,5] y) { y = Trilu(x) }", 30 + 10, 0},
      {"g (float[2,5] x) => (float[2,5] y) { y = Sinh(x) }", 100, 30},
  });
}

TEST(XlaTest, ReductionsOfFiveToOne) {
  ExpectCounts({
      {"g (float[2,5] x) => (float[2,1] y) { y = ReduceSum<axes=[1]>(x) }", 8, 0, 11},
      {"g (float[2,5] x) => (float[2,1] y) { y = ReduceMean<axes=[1]>(x) }", 8 + 2, 0, 13},
      {"g (float[2,5] x) => (float[2,1] y) { y = ReduceMax<axes=[1]>(x) }", 8, 0, 13},
      {"g (float[2,5] x) => (float[2,1] y) { y = ReduceL1<axes=[1]>(x) }", 8 + 10, 0, 13},
      {"g (float[2,5] x) => (float[2,1] y) { y = ReduceL2<axes=[1]>(x) }", 8 + 10, 2, 13},
      {"g (float[2,5] x) => (float[2,1] y) { y = ReduceSumSquare<axes=[1]>(x) }", 8 + 10, 0, 13},
      {"g (float[2,5] x) => (float[2,1] y) { y = ReduceLogSum<axes=[1]>(x) }", 8, 2, 13},
      {"g (float[2,5] x) => (float[2,1] y) { y = ReduceLogSumExp<axes=[1]>(x) }", 8, 2 + 10, 13},
      {"g (float[1,2,5] x) => (float[1,2,1] y) { y = GlobalAveragePool(x) }", 8 + 2, 0},
      {"g (float[1,2,5] x) => (float[1,2,1] y) { y = GlobalMaxPool(x) }", 8, 0},
      {"g (float[2,5] x) => (int64[2,1] y) { y = ArgMax<axis=1>(x) }", 8 * 9, 0},
      {"g (int32[2,5] x) => (int64[2,1] y) { y = ArgMin<axis=1>(x) }", 8 * 7, 0},
      {"g (float[2,5] x) => (float[2,5] y) { a = Constant<value = int64 {1}>() y = CumSum(x, a) }",
       10 * 4, 0},
      {"g (float[2,5] x) => (float[2,5] y) { a = Constant<value = int64 {-2}>() y = CumSum(x, a) }",
       10, 0},
      {"g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }", 24 * 4 - 2 * 6, 24},
      {"g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis=1>(x) }", 24 * 4 - 2 * 8, 24},
      {"g (float[2,3,4] x) => (float[2,3,4] y) { y = LogSoftmax(x) }", 24 * 4 - 2 * 6, 24 + 6},
      {"g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }", 24 * 4 - 2 * 2, 24, 12},
      {"g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis=2>(x) }", 24 * 4 - 2 * 6, 24, 12},
      {"g (float[2,3,4] x, float[4] s) => (float[2,3,4] y) { y = LayerNormalization(x, s) }",
       24 * 6 + 6, 6},
      {"g (float[2,3,4] x, float[4] s) => (float[2,3,4] y) { y = LayerNormalization(x, s, s) }",
       24 * 7 + 6, 6},
      {"g (float[2,3,4] x, float[3,4] s) => (float[2,3,4] y) { y = LayerNormalization<axis=1>(x, "
       "s) }",
       24 * 6 + 2, 2},
      {"g (float[2,3,4] x, float[3] s) => (float[2,3,4] y) { y = InstanceNormalization(x, s, s) }",
       24 * 7 + 6, 6},
      {"g (float[2,6,4] x, float[6] s) => (float[2,6,4] y) { y = "
       "GroupNormalization<num_groups=3>(x, s, s) }",
       48 * 7 + 6, 6, 21},
      {"g (float[2,3,4] x, float[4] s) => (float[2,3,4] y) { y = RMSNormalization(x, s) }",
       24 * 4 + 6, 6, 23},
      {"g (float[2,3,4] x, float[3,4] s) => (float[2,3,4] y) { y = RMSNormalization<axis=1>(x, s) "
       "}",
       24 * 4 + 2, 2, 23},
  });
}

TEST(XlaTest, WindowsOfPools) {
  ExpectCounts({
      {"g (float[1,2,6] x) => (float[1,2,3] y) { y = MaxPool<kernel_shape=[2], strides=[2]>(x) }",
       6, 0},
      {"g (float[1,2,6] x) => (float[1,2,3] y) { y = AveragePool<kernel_shape=[2], strides=[2]>(x) "
       "}",
       6 + 6, 0},
      {"g (float[1,2,6,6] x) => (float[1,2,2,3] y) { y = MaxPool<kernel_shape=[3,2], "
       "strides=[3,2]>(x) }",
       12 * 5, 0},
      // A window that holds all of the input at each place is a reduce and a broadcast.
      {"g (float[1,2,4] x) => (float[1,2,4] y) { y = MaxPool<kernel_shape=[7], pads=[3,3]>(x) }",
       2 + 3, 0},
      {"g (float[1,2,4] x) => (float[1,2,4] y) { y = MaxPool<kernel_shape=[5], pads=[2,2]>(x) }",
       8 * 4, 0},
      {"g (float[1,2,4,3] x) => (float[1,2,4,3] y) { y = MaxPool<kernel_shape=[7,1], "
       "pads=[3,0,3,0]>(x) }",
       6 + 3, 0},
      {"g (float[1,2,4,3] x) => (float[1,2,4,2] y) { y = MaxPool<kernel_shape=[7,2], "
       "pads=[3,0,3,0]>(x) }",
       16 * 13, 0},
  });
}

// 2 x 3 x 4 elements and 5 hidden: of the steps one counts.
TEST(XlaTest, RecurrentLayersCountOneStep) {
  const auto text = [](const char* op, int gates, const char* layout) {
    return absl::StrCat("g (float[2,3,4] x, float[1,", gates * 5, ",4] w, float[1,", gates * 5,
                        ",5] r) => (float[a,b,c,d] y) { y = ", op, "<hidden_size=5", layout,
                        ">(x, w, r) }");
  };
  const auto flops = [](const std::string& model) {
    return Ask(ModelFromText(model, 17)).headline;
  };
  // Two products of each gate, their sum, and what is done by element: of LSTM and GRU two or three
  // sigmoids of three instructions and a negation.
  const int64_t rows = 3, products = 2 * rows * 5 * (4 + 5);
  EXPECT_EQ(flops(text("RNN", 1, "")), Expr(products + rows * 5));
  EXPECT_EQ(flops(text("RNN", 1, ", layout=1")), Expr((products + rows * 5) / 3 * 2));
}

std::vector<std::string> Terms(const ToolRow& row) {
  std::vector<std::string> terms;
  for (const TermRow& term : row.terms) {
    terms.push_back(absl::StrCat(term.name, " ", term.amount.ToString(), " of ", term.nodes));
  }
  return terms;
}

TEST(XlaTest, TermsSayWhatCountsOtherwise) {
  const struct {
    const char* text;
    std::vector<std::string> terms;
  } cases[] = {
      {"g (float[2,5] x) => (float[2,5] y) { y = Add(x, x) }", {}},
      {"g (float[2,5] x) => (float[2,5] y) { y = Neg(x) }",
       {"select, convert, negate, abs and the like 10 of 1"}},
      {"g (int32[2,5] x) => (int32[2,5] y) { y = Add(x, x) }", {"operations on integers 10 of 1"}},
      {"g (float[2,5] x) => (float[2,5] y) { y = Exp(x) }",
       {"exp, log, sqrt, pow, tanh, erf, sin, cos -10 of 1"}},
      {"g (float[2,5] x) => (float[2,1] y) { y = ReduceSum<axes=[1]>(x) }",
       {"first element of reductions -2 of 1"}},
      {"g (float[1,1,3] x, float[1,1,3] w) => (float[1,1,3] y) { y = Conv<pads=[1,1]>(x, w) }",
       {"padding of convolutions -4 of 1"}},
      {"g (bool p, float[4,8] x) => (float[4,8] y) { y = If(p) <then_branch = t () => (float[4,8] "
       "a) { a = Add(x, x) }, "
       "else_branch = e () => (float[4,8] c) { d = Add(x, x) c = Add(d, x) }> }",
       {}},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Terms(Ask(ModelFromText(c.text, 11))), ElementsAreArray(c.terms)) << c.text;
  }
}

// ---- convolutions

struct Axis {
  int64_t input, kernel, stride, dilation, begin, end;

  int64_t window() const { return (kernel - 1) * dilation + 1; }
  int64_t output() const { return (input + begin + end - window()) / stride + 1; }
  // Of a transposed convolution.
  int64_t grown() const { return (input - 1) * stride + window() - begin - end; }
};

// The places of a window that are on `size` elements, of `windows` many.
int64_t Places(const Axis& axis, int64_t size, int64_t windows) {
  int64_t places = 0;
  for (int64_t o = 0; o < windows; ++o) {
    for (int64_t k = 0; k < axis.kernel; ++k) {
      const int64_t at = o * axis.stride + k * axis.dilation - axis.begin;
      places += at >= 0 && at < size ? 1 : 0;
    }
  }
  return places;
}

Axis AnyAxis(std::mt19937* random, bool transposed) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>((*random)() % static_cast<uint64_t>(n));
  };
  while (true) {
    const Axis axis = {1 + below(7), 1 + below(4), 1 + below(3), 1 + below(3), below(4), below(4)};
    if (axis.begin + axis.end == 0) continue;  // nothing to look at
    if (transposed ? axis.grown() > 0 : axis.input + axis.begin + axis.end >= axis.window())
      return axis;
  }
}

void AddInts(onnx::NodeProto* node, const char* name, const std::vector<int64_t>& values) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) attribute->add_ints(value);
}

// [2, 4, ...] to 6 channels, in two groups.
ModelMaker Convolution(const std::vector<Axis>& axes, bool transposed) {
  ModelMaker make;
  ModelMaker::Strings dims = {"2", "4"};
  std::vector<int64_t> weight =
      transposed ? std::vector<int64_t>{4, 3} : std::vector<int64_t>{6, 2};
  std::vector<int64_t> strides, dilations, begins, ends;
  for (const Axis& axis : axes) {
    dims.push_back(std::to_string(axis.input));
    weight.push_back(axis.kernel);
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation);
    begins.push_back(axis.begin);
    ends.push_back(axis.end);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  make.Input("x", dims).Weight("w", weight);
  make.Node("n", transposed ? "ConvTranspose" : "Conv", {"x", "w"}, {"y"}, {{"group", 2}})
      .Output("y");
  AddInts(make.node, "strides", strides);
  AddInts(make.node, "dilations", dilations);
  AddInts(make.node, "pads", begins);
  return make;
}

TEST(XlaTest, ConvolutionsCountThePlacesOnTheInput) {
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    const bool transposed = random() % 2 == 0;
    std::vector<Axis> axes;
    for (size_t n = 1 + random() % 2; n > 0; --n) axes.push_back(AnyAxis(&random, transposed));
    int64_t macs = transposed ? 2 * 4 * 3 : 2 * 6 * 2;
    for (const Axis& axis : axes) {
      macs *= transposed ? Places(axis, axis.grown(), axis.input)
                         : Places(axis, axis.input, axis.output());
    }
    EXPECT_EQ(Ask(Convolution(axes, transposed).Load().value()).headline, Expr(2 * macs)) << i;
  }
}

// "SAME" pads so that the output has ceil(input / stride), one more at the end or at the begin.
TEST(XlaTest, ConvolutionsThatKeepTheSize) {
  for (const bool upper : {false, true}) {
    for (int64_t input = 1; input < 8; ++input) {
      for (int64_t kernel = 1; kernel < 5; ++kernel) {
        const int64_t stride = 1 + input % 2, outputs = (input + stride - 1) / stride;
        const int64_t pads = std::max<int64_t>((outputs - 1) * stride + kernel - input, 0);
        Axis axis = {input, kernel, stride, 1, upper ? pads / 2 : pads - pads / 2, 0};
        ModelMaker make;
        make.Input("x", {"1", "1", std::to_string(input)}).Weight("w", {1, 1, kernel});
        make.Node("n", "Conv", {"x", "w"}, {"y"}).Output("y");
        AddInts(make.node, "strides", {stride});
        onnx::AttributeProto* same = make.node->add_attribute();
        same->set_name("auto_pad");
        same->set_type(onnx::AttributeProto::STRING);
        same->set_s(upper ? "SAME_UPPER" : "SAME_LOWER");
        EXPECT_EQ(Ask(make.Load().value()).headline, Expr(2 * Places(axis, input, outputs)))
            << input << " " << kernel << upper;
      }
    }
  }
}

}  // namespace
}  // namespace onnxflops::convention::xla_test
