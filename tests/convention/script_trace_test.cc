// The calls of PyTorch behind a TorchScript export: which nodes are one call, of which operator and
// class. Each case is a few nodes as the exporter writes them; what they came from is known by
// hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "src/convention/torch/functions.h"
#include "src/convention/torch/trace.h"
#include "tests/convention/torch_maker.h"

namespace onnxflops::convention::script_trace_test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

// An export by nodes: "x:2,8" is an input, "w=8,4" a weight, and "/fc/Gemm{transB=1} x w > y" a
// node; parts stand between "|".
class Script : public TorchMaker {
 public:
  explicit Script(absl::string_view text, int opset = 17) {
    proto.mutable_opset_import(0)->set_version(opset);
    for (absl::string_view part : absl::StrSplit(text, '|')) {
      const std::vector<std::string> words = absl::StrSplit(part, ' ', absl::SkipEmpty());
      if (absl::StartsWith(words[0], "/")) {
        AddCall(words);
      } else {
        for (const std::string& word : words) AddValue(word);
      }
    }
  }

 private:
  static Strings Dims(const std::string& text) {
    return text.empty() ? Strings() : Strings(absl::StrSplit(text, ','));
  }
  void AddValue(const std::string& word) {
    const size_t at =
        word.find_first_of("=@") == std::string::npos ? word.rfind(':') : word.find_first_of("=@");
    const std::string name = word.substr(0, at);
    const Strings dims = Dims(word.substr(at + 1));
    if (word[at] == ':') {
      Input(name, dims);
      return;
    }
    std::vector<int64_t> sizes;
    for (const std::string& dim : dims) sizes.push_back(std::stoll(dim));
    Weight(name, sizes, word[at] == '@' ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT);
  }
  void AddCall(const std::vector<std::string>& words) {
    const std::string name = words[0].substr(0, words[0].find('{'));
    std::string op = name.substr(name.rfind('/') + 1);
    op = op.substr(0, op.find('_'));
    Strings inputs, outputs;
    bool results = false;
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i] == ">") {
        results = true;
      } else {
        (results ? outputs : inputs).push_back(words[i] == "-" ? "" : words[i]);
      }
    }
    Node(name, op, inputs, outputs);
    if (words[0].back() != '}') return;
    const std::string list = words[0].substr(name.size() + 1, words[0].size() - name.size() - 2);
    for (const absl::string_view text : absl::StrSplit(list, ';')) {
      const std::pair<std::string, std::string> attribute =
          absl::StrSplit(text, absl::MaxSplits('=', 1));
      AddAttribute(attribute.first, attribute.second);
    }
  }
  // "8" is a number, "3,3" and "3," are numbers, all else is text.
  void AddAttribute(const std::string& key, const std::string& value) {
    int64_t number = 0;
    if (absl::StrContains(value, ',') && absl::ascii_isdigit(value[0])) {
      std::vector<int64_t> numbers;
      for (const absl::string_view item : absl::StrSplit(value, ',', absl::SkipEmpty())) {
        numbers.push_back(std::stoll(std::string(item)));
      }
      Ints(key, numbers);
    } else if (absl::SimpleAtoi(value, &number)) {
      onnx::AttributeProto* attribute = node->add_attribute();
      attribute->set_name(key);
      attribute->set_type(onnx::AttributeProto::INT);
      attribute->set_i(number);
    } else {
      Text(key, value);
    }
  }
};

constexpr char kClasses[] =
    "linear.Linear conv.Conv1d conv.Conv2d conv.Conv3d conv.ConvTranspose1d "
    "conv.ConvTranspose2d conv.ConvTranspose3d batchnorm.BatchNorm1d "
    "batchnorm.BatchNorm2d batchnorm.BatchNorm3d normalization.LayerNorm "
    "normalization.GroupNorm instancenorm.InstanceNorm1d instancenorm.InstanceNorm2d "
    "instancenorm.InstanceNorm3d activation.PReLU activation.Softmax activation.ReLU "
    "activation.ReLU6 activation.LeakyReLU activation.ELU activation.GELU "
    "pooling.MaxPool1d pooling.MaxPool2d pooling.MaxPool3d pooling.AvgPool1d "
    "pooling.AvgPool2d pooling.AvgPool3d pooling.AdaptiveAvgPool1d "
    "pooling.AdaptiveAvgPool2d pooling.AdaptiveAvgPool3d upsampling.Upsample rnn.LSTM "
    "rnn.GRU rnn.RNN activation.MultiheadAttention";

// The class of torch.nn: "Linear"; "-" for none.
std::string ClassName(NnClass c) {
  for (const absl::string_view name : absl::StrSplit(kClasses, ' ')) {
    if (NnClassOf(absl::StrCat("torch.nn.modules.", name)) == c) {
      return std::string(name.substr(name.find('.') + 1));
    }
  }
  return "-";
}

// "linear Linear in fc: MatMul Add, bias", one line for each call.
std::vector<std::string> Lines(const ModelMaker& make) {
  Traced traced(make);
  const Evidence& evidence = traced.evidence;
  const TorchTrace& trace = traced.trace();
  std::vector<std::string> lines;
  for (const TorchCall& call : trace.calls) {
    const TorchScope& scope = trace.scope(call);
    std::string line =
        absl::StrCat(call.op == Aten::kOther ? "other" : AtenLabel(call.op), " ",
                     ClassName(scope.nn_class), " in ", evidence.paths().path(scope.module), ":");
    for (EntryId id : trace.entries_of(call)) {
      absl::StrAppend(&line, " ", evidence.node(evidence.entry(id)).op_type);
    }
    if (call.has_bias) line += ", bias";
    if (call.is_affine) line += ", affine";
    lines.push_back(std::move(line));
  }
  return lines;
}

struct Case {
  std::string nodes;
  std::vector<std::string> calls;
};

void ExpectCalls(absl::Span<const Case> cases, int opset = 17) {
  for (const Case& c : cases) {
    EXPECT_THAT(Lines(Script(c.nodes, opset)), ElementsAreArray(c.calls)) << c.nodes;
  }
}

// Products with weights, and what stands around them.
const Case kProducts[] = {
    // nn.Linear: a transposed weight under a new name, and the bias on either side.
    {"x:2,8 onnx::MatMul_1=8,4 fc.bias=4|/fc/MatMul x onnx::MatMul_1 > a|/fc/Add a fc.bias > y",
     {"linear Linear in fc: MatMul Add, bias"}},
    {"x:2,8 onnx::MatMul_1=8,4 fc.bias=4|/fc/MatMul x onnx::MatMul_1 > a|/fc/Add fc.bias a > y",
     {"linear Linear in fc: MatMul Add, bias"}},
    {"x:2,8 onnx::MatMul_1=8,4|/fc/MatMul x onnx::MatMul_1 > y", {"linear Linear in fc: MatMul"}},
    // A parameter as it is has no linear layer, unless a vector is added.
    {"x:2,8 proj=8,4|/fc/MatMul x proj > y", {"matmul - in fc: MatMul"}},
    {"x:2,8 proj=8,4 b=4|/fc/MatMul x proj > a|/fc/Add a b > y",
     {"linear Linear in fc: MatMul Add, bias"}},
    // What is added elsewhere, or is no vector, or no parameter, is no bias.
    {"x:2,8 onnx::MatMul_1=8,4 b=4|/fc/MatMul x onnx::MatMul_1 > a|/else/Add a b > y",
     {"linear Linear in fc: MatMul", "add - in else: Add, affine"}},
    {"x:2,8 onnx::MatMul_1=8,4 b=1,4|/fc/MatMul x onnx::MatMul_1 > a|/fc/Add a b > y",
     {"linear Linear in fc: MatMul", "add - in fc: Add, affine"}},
    {"x:2,8 onnx::MatMul_1=8,4 b:4|/fc/MatMul x onnx::MatMul_1 > a|/fc/Add a b > y",
     {"linear Linear in fc: MatMul", "add - in fc: Add, affine"}},
    {"x:2,8 onnx::MatMul_1=8,4 b=4|/fc/MatMul x onnx::MatMul_1 > a|/fc/Sub a b > y",
     {"linear - in fc: MatMul", "other - in fc: Sub"}},
    // A weight that is no matrix, or no parameter.
    {"x:3,2,8 onnx::MatMul_1=3,8,4|/fc/MatMul x onnx::MatMul_1 > y", {"matmul - in fc: MatMul"}},
    {"x:2,8 w:8,4|/fc/MatMul x w > y", {"matmul - in fc: MatMul"}},
    {"x:2,8 w:8,4 b=4|/fc/MatMul x w > a|/fc/Add a b > y",
     {"matmul - in fc: MatMul", "add - in fc: Add, affine"}},
    // The transposition is a node.
    {"x:2,8 fc.weight=4,8|/fc/Transpose fc.weight > t|/fc/MatMul x t > y",
     {"other - in fc: Transpose", "linear Linear in fc: MatMul"}},
    // F.linear beside others; a product of the model itself.
    {"x:2,8 onnx::MatMul_1=8,4|/m/MatMul x onnx::MatMul_1 > a|/m/Relu a > y",
     {"linear - in m: MatMul", "relu - in m: Relu, affine"}},
    {"x:2,8 onnx::MatMul_1=8,4|/MatMul x onnx::MatMul_1 > y", {"linear - in : MatMul"}},
    // In a module with a child, which is no nn.Linear.
    {"x:2,8 onnx::MatMul_1=8,4|/m/MatMul x onnx::MatMul_1 > a|/m/act/Relu a > y",
     {"linear - in m: MatMul", "relu ReLU in m.act: Relu, affine"}},
    {"x:2,8 onnx::MatMul_1=8,4|/m/MatMul x onnx::MatMul_1 > a|/m/s/act/Relu a > y",
     {"linear - in m: MatMul", "relu ReLU in m.s.act: Relu, affine"}},
};

TEST(ScriptTraceTest, Products) { ExpectCalls(kProducts); }

TEST(ScriptTraceTest, GemmIsALinearLayerIfItTransposesItsWeight) {
  ExpectCalls({
      {"x:2,8 w=4,8 b=4|/fc/Gemm{transB=1} x w b > y", {"linear Linear in fc: Gemm, bias"}},
      {"x:2,8 w=4,8|/fc/Gemm{transB=1} x w > y", {"linear Linear in fc: Gemm"}},
      {"x:2,8 w=8,4 b=4|/fc/Gemm{transB=0} x w b > y", {"addmm - in fc: Gemm, bias"}},
      {"x:2,8 w=8,4 b=4|/fc/Gemm x w b > y", {"addmm - in fc: Gemm, bias"}},
      {"x:2,8 onnx::Gemm_3=8,4 b=4|/fc/Gemm x onnx::Gemm_3 b > y",
       {"linear Linear in fc: Gemm, bias"}},
      {"x:2,8 onnx::Gemm_3=8,4|/fc/Gemm x onnx::Gemm_3 > y", {"linear Linear in fc: Gemm"}},
      // What stands after a Gemm is no part of it.
      {"x:2,8 w=4,8 c=4|/fc/Gemm{transB=1} x w > a|/fc/Add a c > y",
       {"linear Linear in fc: Gemm", "add - in fc: Add, affine"}},
      {"x:2,8 w=4,8 c=4|/fc/Gemm{transB=1} x w > a|/fc/Relu a > y",
       {"linear - in fc: Gemm", "relu - in fc: Relu, affine"}},
  });
}

TEST(ScriptTraceTest, AModuleWithInProjectionsIsMultiheadAttention) {
  for (const char* name : {"attn.in_proj_bias", "attn.in_proj_weight", "attn.in_proj"}) {
    const bool is_attention = std::string(name) != "attn.in_proj";
    const Script make(absl::StrCat("x:2,8 onnx::MatMul_1=8,4 ", name,
                                   "=4|/attn/MatMul x onnx::MatMul_1 > a|", "/attn/Add a ", name,
                                   " > b|/attn/Softmax b > y"));
    const std::string c = is_attention ? "MultiheadAttention" : "-";
    EXPECT_THAT(Lines(make), ElementsAre(absl::StrCat("linear ", c, " in attn: MatMul Add, bias"),
                                         absl::StrCat("softmax ", c, " in attn: Softmax, affine")))
        << name;
  }
}

TEST(ScriptTraceTest, Convolutions) {
  ExpectCalls({
      {"x:1,3,8 w=4,3,3|/c/Conv x w > y", {"convolution Conv1d in c: Conv"}},
      {"x:1,3,8,8 w=4,3,3,3 b=4|/c/Conv x w b > y", {"convolution Conv2d in c: Conv, bias"}},
      {"x:1,3,8,8,8 w=4,3,3,3,3|/c/Conv x w > y", {"convolution Conv3d in c: Conv"}},
      {"x:1,3,8,8,8,8 w=4,3,3,3,3,3|/c/Conv x w > y", {"convolution - in c: Conv"}},
      {"x:1,3,8 w=3,4,3|/c/ConvTranspose x w > y",
       {"conv_transpose1d ConvTranspose1d in c: ConvTranspose"}},
      {"x:1,3,8,8 w=3,4,3,3 b=4|/c/ConvTranspose x w b > y",
       {"conv_transpose1d ConvTranspose2d in c: ConvTranspose, bias"}},
      {"x:1,3,8,8,8 w=3,4,3,3,3|/c/ConvTranspose x w > y",
       {"conv_transpose1d ConvTranspose3d in c: ConvTranspose"}},
      // Both tensors are new: a BatchNorm went into it.
      {"x:1,3,8,8 onnx::Conv_5=4,3,3,3 onnx::Conv_6=4|/c/Conv x onnx::Conv_5 onnx::Conv_6 > y",
       {"convolution Conv2d in c: Conv", "batch_norm BatchNorm2d in c: Conv, affine"}},
      {"x:1,3,8 onnx::Conv_5=4,3,3 onnx::Conv_6=4|/c/Conv x onnx::Conv_5 onnx::Conv_6 > y",
       {"convolution Conv1d in c: Conv", "batch_norm BatchNorm1d in c: Conv, affine"}},
      {"x:1,3,8,8 c.weight=4,3,3,3 onnx::Conv_6=4|/c/Conv x c.weight onnx::Conv_6 > y",
       {"convolution Conv2d in c: Conv, bias"}},
      {"x:1,3,8,8 onnx::Conv_5=4,3,3,3 c.bias=4|/c/Conv x onnx::Conv_5 c.bias > y",
       {"convolution Conv2d in c: Conv, bias"}},
      {"x:1,3,8,8 onnx::Conv_5=4,3,3,3|/c/Conv x onnx::Conv_5 > y",
       {"convolution Conv2d in c: Conv"}},
  });
  Traced fused(
      Script("x:1,3,8,8 onnx::Conv_5=4,3,3,3 onnx::Conv_6=4|"
             "/c/Conv x onnx::Conv_5 onnx::Conv_6 > a|/c/Conv_1 x onnx::Conv_5 onnx::Conv_6 > b"));
  EXPECT_EQ(fused.trace().assumed_convs, 2);
}

TEST(ScriptTraceTest, Resizings) {
  const struct {
    const char *dims, *mode;
    Aten op;
  } cases[] = {{"1,3,8", "nearest", Aten::kUpsampleNearest},
               {"1,3,8,8", "cubic", Aten::kUpsampleBicubic},
               {"1,3,8", "linear", Aten::kUpsampleLinear},
               {"1,3,8,8", "linear", Aten::kUpsampleBilinear},
               {"1,3,8,8,8", "linear", Aten::kUpsampleTrilinear},
               {"1,3,8,8,8", "nearest", Aten::kUpsampleNearest},
               {"1,3,8,8", "", Aten::kUpsampleNearest}};
  for (const auto& c : cases) {
    for (const char* module : {"/up", "/m", ""}) {
      const std::string mode = *c.mode == '\0' ? "" : absl::StrCat("{mode=", c.mode, "}");
      const size_t rank = std::vector<std::string>(absl::StrSplit(c.dims, ',')).size();
      // A child of /m makes it more than a resizing.
      Script make(absl::StrCat("x:", c.dims, " s=", rank, "|", module, "/Resize", mode,
                               " x - s > y|/m/child/Relu x > z"));
      Traced traced(make);
      const TorchCall& call = traced.trace().calls[0];
      EXPECT_EQ(call.op, c.op) << c.dims << c.mode;
      EXPECT_EQ(ClassName(traced.trace().nn_class(call)),
                *module == '/' && module[1] == 'u' ? "Upsample" : "-");
    }
  }
}

// Layers of one module are one call, unless something that costs stands between.
TEST(ScriptTraceTest, RecurrentLayers) {
  const std::string values = "x:3,2,4 w=1,16,4 r=1,16,4 g=1,12,4 q=1,4,4|";
  const std::string first = "/l/LSTM{hidden_size=4} x w r > a|/l/Squeeze a s > b|";
  const std::string second = "/l/LSTM_1{hidden_size=4} b w r > c";
  const std::string with_axes = "s@1 " + values;
  const std::string one = "lstm LSTM in l: LSTM", squeeze = "other - in l: Squeeze";
  const auto calls = [&](const std::string& nodes) {
    Script make(with_axes + nodes);
    make.proto.mutable_graph()->mutable_initializer(0)->set_data_location(
        onnx::TensorProto::DEFAULT);
    make.proto.mutable_graph()->mutable_initializer(0)->add_int64_data(1);
    return Lines(make);
  };
  EXPECT_THAT(calls(first + second), ElementsAre("lstm LSTM in l: LSTM LSTM", squeeze));
  // Work of the module itself, or free work elsewhere, does not part them.
  EXPECT_THAT(calls(first + "/l/Relu b > d|" + second),
              ElementsAre("lstm LSTM in l: LSTM LSTM", squeeze, "relu - in l: Relu, affine"));
  EXPECT_THAT(calls(first + "/m/Identity b > d|" + second),
              ElementsAre("lstm LSTM in l: LSTM LSTM", squeeze, "other - in m: Identity"));
  EXPECT_THAT(calls(first + "/m/Relu b > d|" + second),
              ElementsAre(one, squeeze, "relu ReLU in m: Relu, affine", one));
  EXPECT_THAT(calls("/m/Relu x > d|" + first + "/m/Relu_1 b > e|" + second),
              ElementsAre("relu ReLU in m: Relu, affine", one, squeeze,
                          "relu ReLU in m: Relu, affine", one));
  // Another module, another operator.
  EXPECT_THAT(calls(first + "/k/LSTM{hidden_size=4} b w r > c"),
              ElementsAre(one, squeeze, "lstm LSTM in k: LSTM"));
  EXPECT_THAT(calls(first + "/l/GRU{hidden_size=4} b g g > c|/l/RNN{hidden_size=4} b q q > d"),
              ElementsAre(one, squeeze, "gru GRU in l: GRU", "rnn_tanh RNN in l: RNN"));
}

// All of a formula, in any module; of nn.GELU it is the whole of one.
TEST(ScriptTraceTest, ActivationsOfSeveralNodes) {
  const std::string gelu =
      "/g/Div x s > a|/g/Erf a > b|/g/Add b s > c|/g/Mul x c > d|/g/Mul_1 d s > y";
  ExpectCalls({
      {("x:2,8 s=|" + gelu), {"gelu GELU in g: Div Erf Add Mul Mul"}},
      {("x:2,8 s=|" + gelu + "|/g/Constant{value_int=1} > one"),
       {"gelu GELU in g: Div Erf Add Mul Mul", "other - in g: Constant"}},
      {("x:2,8 s=|" + gelu + "|/g/Neg y > z"),
       {"gelu - in g: Div Erf Add Mul Mul", "other - in g: Neg"}},
      {("x:2,8 s=|" + gelu + "|/g/h/Neg y > z"),
       {"gelu - in g: Div Erf Add Mul Mul", "other - in g.h: Neg"}},
      {"x:2,8 s=|/Div x s > a|/Erf a > b|/Add b s > c|/Mul x c > d|/Mul_1 d s > y",
       {"gelu - in : Div Erf Add Mul Mul"}},
      {"x:2,8 s=|/g/Div x s > a|/g/Erf a > b|/g/Add b s > c|/g/Mul x c > y",
       {"other - in g: Div", "other - in g: Erf", "add - in g: Add, affine",
        "mul - in g: Mul, affine"}},
      {"x:2,8 s=|/g/Div x s > a|/g/Tanh a > b|/g/Add b s > c|/g/Mul x c > d|/g/Mul_1 d s > y",
       {"other - in g: Div", "other - in g: Tanh", "add - in g: Add, affine",
        "mul - in g: Mul, affine", "mul - in g: Mul, affine"}},
      {"x:2,8|/s/Sigmoid x > a|/s/Mul x a > y", {"silu - in s: Sigmoid Mul"}},
      {"x:2,8|/s/Sigmoid x > a|/s/Mul a x > y", {"silu - in s: Sigmoid Mul"}},
      {"x:2,8 z:2,8|/s/Sigmoid x > a|/s/Mul a z > y",
       {"other - in s: Sigmoid", "mul - in s: Mul, affine"}},
      {"x:2,8|/s/Sigmoid x > a|/s/Add a x > y",
       {"other - in s: Sigmoid", "add - in s: Add, affine"}},
      {"x:2,8|/s/Sigmoid x > y", {"other - in s: Sigmoid"}},
      // ReLU6 is a module of its own; else it is torch.clamp.
      {"x:2,8 s=|/r/Clip x s s > y", {"hardtanh ReLU6 in r: Clip"}},
      {"x:2,8 s=|/r/Clip x s s > a|/r/Clip_1 a s s > y",
       {"hardtanh ReLU6 in r: Clip", "hardtanh ReLU6 in r: Clip"}},
      {"x:2,8 s=|/r/Clip x s s > a|/r/Neg a > y", {"other - in r: Clip", "other - in r: Neg"}},
      {"x:2,8 s=|/Clip x s s > y", {"other - in : Clip"}},
  });
}

TEST(ScriptTraceTest, VarianceMultipliesNoTensors) {
  const std::string mean = "x:2,8|/v/ReduceMean x > m|/v/Sub x m > d|";
  ExpectCalls(
      {
          {(mean + "/v/Mul d d > q|/v/ReduceMean_1 q > y"),
           {"other - in v: ReduceMean", "other - in v: Sub", "other - in v: Mul",
            "other - in v: ReduceMean"}},
          {(mean + "/v/Mul d x > q|/v/ReduceMean_1 q > y"),
           {"other - in v: ReduceMean", "other - in v: Sub", "mul - in v: Mul, affine",
            "other - in v: ReduceMean"}},
          {(mean + "/v/Mul d d > q|/v/ReduceSum q > y"),
           {"other - in v: ReduceMean", "other - in v: Sub", "mul - in v: Mul, affine",
            "other - in v: ReduceSum"}},
          {"x:2,8|/v/ReduceMax x > m|/v/Sub x m > d|/v/Mul d d > q|/v/ReduceMean q > y",
           {"other - in v: ReduceMax", "other - in v: Sub", "mul - in v: Mul, affine",
            "other - in v: ReduceMean"}},
          {"x:2,8|/v/ReduceMean x > m|/v/Add x m > d|/v/Mul d d > q|/v/ReduceMean_1 q > y",
           {"other - in v: ReduceMean", "add - in v: Add, affine", "mul - in v: Mul, affine",
            "other - in v: ReduceMean"}},
          {"x:2,8|/v/Mul x x > q|/v/ReduceMean q > y",
           {"mul - in v: Mul, affine", "other - in v: ReduceMean"}},
      },
      13);
}

// A module of one operator is of the class that calls it, by the rank of its input.
TEST(ScriptTraceTest, ModulesOfOneOperator) {
  const std::string four = " s=3 b=3 m=3 v=3|/n/BatchNormalization x s b m v > y";
  ExpectCalls({
      {("x:2,3" + four), {"batch_norm BatchNorm1d in n: BatchNormalization, affine"}},
      {("x:2,3,5" + four), {"batch_norm BatchNorm1d in n: BatchNormalization, affine"}},
      {("x:2,3,5,5" + four), {"batch_norm BatchNorm2d in n: BatchNormalization, affine"}},
      {("x:2,3,5,5,5" + four), {"batch_norm BatchNorm3d in n: BatchNormalization, affine"}},
      {"x:2,3,5 s=3|/n/InstanceNormalization x s s > y",
       {"instance_norm InstanceNorm1d in n: InstanceNormalization, affine"}},
      {"x:2,3,5,5 s=3|/n/InstanceNormalization x s s > y",
       {"instance_norm InstanceNorm2d in n: InstanceNormalization, affine"}},
      {"x:2,3 s=3|/n/LayerNormalization x s s > y",
       {"layer_norm LayerNorm in n: LayerNormalization, affine"}},
      {"x:2,3|/a/Softmax x > y", {"softmax Softmax in a: Softmax, affine"}},
      {"x:2,3|/a/LeakyRelu x > y", {"leaky_relu LeakyReLU in a: LeakyRelu, affine"}},
      {"x:2,3|/a/Elu x > y", {"elu ELU in a: Elu, affine"}},
      {"x:2,3 s=3|/a/PRelu x s > y", {"prelu PReLU in a: PRelu, affine"}},
      {"x:2,3|/a/Tanh x > y", {"other - in a: Tanh"}},
      {"x:2,3,8|/p/MaxPool{kernel_shape=2,} x > y", {"max_pool1d MaxPool1d in p: MaxPool, affine"}},
      {"x:2,3,8,8|/p/AveragePool{kernel_shape=2,2} x > y",
       {"avg_pool1d AvgPool2d in p: AveragePool, affine"}},
      {"x:2,3,8,8,8|/p/GlobalAveragePool x > y",
       {"adaptive_avg_pool1d AdaptiveAvgPool3d in p: GlobalAveragePool, affine"}},
      {"x:2,3 z:2,3|/a/Add x z > y", {"add - in a: Add, affine"}},
      // Called twice it is still that class; with another operator beside it is none.
      {"x:2,3|/a/Relu x > b|/a/Relu_1 b > y",
       {"relu ReLU in a: Relu, affine", "relu ReLU in a: Relu, affine"}},
      {"x:2,3|/a/Relu x > b|/a/Softmax b > y",
       {"relu - in a: Relu, affine", "softmax - in a: Softmax, affine"}},
      {"x:2,3|/a/Relu x > b|/a/Identity b > y",
       {"relu ReLU in a: Relu, affine", "other - in a: Identity"}},
      {"x:2,3|/Relu x > y", {"relu - in : Relu, affine"}},
  });
  ExpectCalls({{"x:2,6,5 s=2|/n/GroupNormalization{num_groups=2} x s s > y",
                {"group_norm GroupNorm in n: GroupNormalization, affine"}},
               {"x:2,3|/a/Gelu x > y", {"gelu GELU in a: Gelu, affine"}}},
              20);
}

// ---- attention

// Mul(q, s), Mul(k, t), MatMul, what is between, MatMul.
std::string Attention(const std::string& values, const std::string& between,
                      const std::string& left = "q s", const std::string& right = "k s") {
  return absl::StrCat("q:2,4,7,4 k:2,4,4,7 v:2,4,7,4 ", values, "|/a/Mul ", left, " > l|/a/Mul_1 ",
                      right, " > r|/a/MatMul l r > w|", between, "|/a/MatMul_1 p v > y");
}

constexpr char kWhole[] = "scaled_dot_product_attention - in a:";

TEST(ScriptTraceTest, AttentionIsWhatScalesBothOperands) {
  const std::string softmax = "/a/Softmax w > p", mask = "/a/Add w m > n|/a/Softmax n > p";
  ExpectCalls({
      {Attention("s=", softmax), {absl::StrCat(kWhole, " Mul Mul MatMul Softmax MatMul")}},
      {Attention("s= m=7,7", mask), {absl::StrCat(kWhole, " Mul Mul MatMul Add Softmax MatMul")}},
      {Attention("s=1,1", softmax, "s q", "k s"),
       {absl::StrCat(kWhole, " Mul Mul MatMul Softmax MatMul")}},
      {Attention("s=", "/a/Softmax w > n|/a/Cast{to=1} n > p"),
       {absl::StrCat(kWhole, " Mul Mul MatMul Softmax Cast MatMul")}},
  });
}

// A scale of several elements, one side without, no softmax, or something else between.
TEST(ScriptTraceTest, OtherProductsAreNoAttention) {
  const std::string softmax = "/a/Softmax w > p";
  for (const std::string& nodes :
       {Attention("s= t=4", softmax, "q t", "k s"), Attention("s= t=7", softmax, "q s", "k t"),
        Attention("s= m=7,7", "/a/Add w m > p"), Attention("s=", "/a/Relu w > o|/a/Softmax o > p"),
        Attention("s=", "/a/Softmax w > o|/a/Relu o > p")}) {
    const std::vector<std::string> lines = Lines(Script(nodes));
    EXPECT_THAT(lines, testing::Contains("matmul - in a: MatMul").Times(2)) << nodes;
  }
  // Both operands are one value.
  EXPECT_THAT(Lines(Script("q:4,4 v:4,4 s=|/a/Mul q s > l|/a/MatMul l l > w|/a/Softmax w > p|"
                           "/a/MatMul_1 p v > y")),
              testing::Contains("matmul - in a: MatMul").Times(2));
}

// At most 32 nodes, which exports are far below.
TEST(ScriptTraceTest, AttentionOfVeryManyNodesIsNotFollowed) {
  for (const int adds : {27, 28, 29}) {
    std::string between = "/a/Softmax w > n0";
    for (int i = 0; i < adds; ++i) {
      absl::StrAppend(&between, "|/a/Add_", i, " n", i, " s > ",
                      i + 1 < adds ? absl::StrCat("n", i + 1) : "p");
    }
    const std::vector<std::string> lines = Lines(Script(Attention("s=", between)));
    EXPECT_EQ(lines[0].substr(0, lines[0].find(':') + 1) == kWhole, adds < 29) << adds;
  }
}

// ---- layer norms

TEST(ScriptTraceTest, LayerNorms) {
  const std::string norm =
      "x:2,8 e= w=8 b=8 v:8 one=|/n/ReduceMean x > m|/n/Sub x m > d|/n/Pow d e > p|"
      "/n/ReduceMean_1 p > v0|/n/Add v0 e > a|/n/Sqrt a > r|/n/Div d r > y";
  const std::string seven = ": ReduceMean Sub Pow ReduceMean Add Sqrt Div";
  ExpectCalls(
      {
          {norm, {absl::StrCat("layer_norm LayerNorm in n", seven)}},
          {norm + "|/n/Mul y w > z|/n/Add_1 z b > o",
           {absl::StrCat("layer_norm LayerNorm in n", seven, " Mul Add, affine")}},
          {norm + "|/n/Mul w y > z|/n/Add_1 b z > o",
           {absl::StrCat("layer_norm LayerNorm in n", seven, " Mul Add, affine")}},
          {norm + "|/n/Mul y w > z",
           {absl::StrCat("layer_norm LayerNorm in n", seven, " Mul, affine")}},
          // What is no vector, or no parameter, is no part of it, and the class is none.
          {norm + "|/n/Mul y one > z",
           {absl::StrCat("layer_norm - in n", seven), "mul - in n: Mul, affine"}},
          {norm + "|/n/Mul y v > z",
           {absl::StrCat("layer_norm - in n", seven), "mul - in n: Mul, affine"}},
          {norm + "|/n/Sub_1 y w > z",
           {absl::StrCat("layer_norm - in n", seven), "other - in n: Sub"}},
          {norm + "|/n/Add_1 y b > z",
           {absl::StrCat("layer_norm - in n", seven), "add - in n: Add, affine"}},
          {norm + "|/n/c/Neg y > z",
           {absl::StrCat("layer_norm - in n", seven), "other - in n.c: Neg"}},
      },
      13);
  // The module is called twice, on other values.
  const Script twice(
      norm +
          "|/n/ReduceMean_2 y > m2|/n/Sub_2 y m2 > d2|/n/Pow_2 d2 e > p2|"
          "/n/ReduceMean_3 p2 > v2|/n/Add_2 v2 e > a2|/n/Sqrt_2 a2 > r2|/n/Div_2 d2 r2 > y2",
      13);
  EXPECT_THAT(Lines(twice), ElementsAre(absl::StrCat("layer_norm LayerNorm in n", seven),
                                        absl::StrCat("layer_norm LayerNorm in n", seven)));
}

// ---- what it makes of a file

// Arithmetic of sizes is no operator of PyTorch.
TEST(ScriptTraceTest, SizesAreNoTensors) {
  ExpectCalls({
      {"x:2,8|/Shape x > s|/Add s s > t|/ConstantOfShape t > y",
       {"other - in : Shape", "other - in : Add", "other - in : ConstantOfShape"}},
      {"i@4 x:2,8|/Add i i > t|/Mul t i > u|/Relu x > y",
       {"other - in : Add", "other - in : Mul", "relu - in : Relu, affine"}},
  });
}

TEST(ScriptTraceTest, WhatItCannotRead) {
  Traced changed(Script("x:2,8 w=8,4 b=4|/m/FusedMatMul x w > y"));
  EXPECT_EQ(changed.trace().origin, TorchTrace::Origin::kTorchScript);
  Traced readable(Script("x:2,8|/m/Relu x > y"));
  EXPECT_THAT(readable.trace().assumptions,
              ElementsAre("calls and classes are recognised from structure: a TorchScript export "
                          "states paths only"));
  Script functions("x:2,8|/m/Relu x > y");
  onnx::FunctionProto* function = functions.proto.add_functions();
  function->set_name("f");
  function->set_domain("local");
  function->add_opset_import()->set_version(17);
  EXPECT_EQ(Traced(functions).trace().problem, "modules were exported as functions");
}

// The first node as of another domain of operators.
Script InDomain(Script script, const std::string& domain) {
  script.proto.mutable_graph()->mutable_node(0)->set_domain(domain);
  auto* contrib = script.proto.add_opset_import();
  contrib->set_domain(domain);
  contrib->set_version(1);
  return script;
}

// ONNX Runtime pads the channels of a blocked convolution, here from 3 and 5 to 16 and 16. Its own
// additions to PyTorch's exporter write a few of its operators, such as Gelu.
TEST(ScriptTraceTest, WhatOnnxRuntimeChanged) {
  const struct {
    const char *nodes, *domain, *problem;
  } cases[] = {
      {"x:2,8 w=8,4|/m/FusedMatMul x w > y", "com.microsoft", "com.microsoft.FusedMatMul"},
      {"x:1,16,9,9 w=16,16,3,3|/m/Conv{kernel_shape=3,3} x w > y", "com.microsoft.nchwc",
       "com.microsoft.nchwc.Conv"},
      {"x:2,8 s:2,8 w=8|/m/SkipLayerNormalization x s w > y", "com.microsoft",
       "com.microsoft.SkipLayerNormalization"},
      {"x:2,8|/m/Gelu x > y", "com.microsoft", nullptr},
  };
  for (const auto& c : cases) {
    Traced traced(InDomain(Script(c.nodes), c.domain));
    const std::string end = " is no operator of an export: the graph was changed after it";
    EXPECT_EQ(traced.trace().problem, c.problem == nullptr ? "" : absl::StrCat(c.problem, end));
  }
}

// A model of transformers, by the name of one of its modules.
TEST(ScriptTraceTest, ModelsOfTransformers) {
  for (const char* part : {"SelfAttention", "text_model", "attn"}) {
    Traced traced(Script(absl::StrCat("x:4,4|/m/", part,
                                      "/MatMul x x > a|/m/rotary_emb/MatMul a a > b|/Relu b > y")));
    const bool of_transformers = std::string(part) != "attn";
    const TorchTrace& trace = traced.trace();
    EXPECT_EQ(trace.scope(trace.calls[0]).of_transformers, of_transformers) << part;
    EXPECT_FALSE(trace.scope(trace.calls[1]).of_transformers) << part;
    EXPECT_EQ(trace.scope(trace.calls[2]).of_transformers, of_transformers) << part;
    EXPECT_TRUE(trace.scope(trace.calls[0]).is_assumed);
  }
}

// Its GELU keeps F.gelu from before a tool wraps it; other activations are torch.nn's.
TEST(ScriptTraceTest, ActivationsOfTransformers) {
  const struct {
    const char *module, *op;
    bool kept;
  } cases[] = {{"/text_model/act_fn", "Gelu", true},
               {"/text_model/mlp/intermediate_act_fn", "Gelu", true},
               {"/text_model/gelu", "Gelu", false},
               {"/text_model/act_fn", "Relu", false},
               {"/model/act_fn", "Gelu", false}};
  for (const auto& c : cases) {
    Traced traced(Script(absl::StrCat("x:2,8|", c.module, "/", c.op, " x > y"), 20));
    const TorchTrace& trace = traced.trace();
    const TorchScope& scope = trace.scope(trace.calls[0]);
    EXPECT_EQ(scope.class_name == kGeluOfTransformers, c.kept) << c.module << c.op;
    EXPECT_EQ(scope.nn_class == NnClass::kNone, c.kept) << c.module << c.op;
    const OpenFact<Spelling> spelling = c.kept ? OpenFact<Spelling>(Spelling::kNone)
                                               : OpenFact<Spelling>::Stated(Spelling::kFunctional);
    EXPECT_EQ(trace.calls[0].spelling.key(), spelling.key()) << c.module << c.op;
  }
}

// How the source most likely wrote what stands outside of torch.nn.
TEST(ScriptTraceTest, LikelySpellings) {
  const std::string conv = "x:1,3,8,8 w=3,3,1,1 b=3 z:1,3,8,8|/c/Conv x w > k|";
  const struct {
    std::string nodes;
    Spelling spelling;  // of the last call
    bool stated = false;
  } cases[] = {
      {"x:4,4|/m/MatMul x x > y", Spelling::kSymbol},
      {"x:4,4|/text_model/MatMul x x > y", Spelling::kTorch},
      {"x:4,4|/Softmax x > y", Spelling::kTorch},
      {"x:4,4|/text_model/c/Relu x > z|/text_model/Softmax z > y", Spelling::kFunctional},
      {"x:4,4|/s/Softmax x > y", Spelling::kFunctional, true},
      {"x:4,4|/Add x x > y", Spelling::kSymbol},
      {"x:4,4|/Mul x x > y", Spelling::kSymbol},
      {conv + "/Add k z > y", Spelling::kInPlace},
      {conv + "/Add z k > y", Spelling::kInPlace},
      {conv + "/Mul z k > y", Spelling::kSymbol},
      {conv + "/bn/BatchNormalization k b b b b > n|/Add n z > y", Spelling::kInPlace},
      {conv + "/r/Relu k > n|/Add n z > y", Spelling::kSymbol},
      {"x:4,4 w=4,4|/Gemm x w w > y", Spelling::kTorch},
      {"x:4,4|/Einsum{equation=ij,jk->ik} x x > y", Spelling::kTorch},
      {"x:4,4 onnx::MatMul_1=4,4|/MatMul x onnx::MatMul_1 > y", Spelling::kFunctional},
      {"x:4,4|/Relu x > y", Spelling::kFunctional},
  };
  for (const auto& c : cases) {
    Traced traced(Script(c.nodes));
    const auto want =
        c.stated ? OpenFact<Spelling>::Stated(c.spelling) : OpenFact<Spelling>(c.spelling);
    EXPECT_EQ(traced.trace().calls.back().spelling.key(), want.key()) << c.nodes;
  }
}

}  // namespace
}  // namespace onnxflops::convention::script_trace_test
