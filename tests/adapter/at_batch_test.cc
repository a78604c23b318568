// Models at another batch than the file's. The truth of whole models is in at_batch_truth_test.cc:
// exports at several batches. Here every rule has a model by hand, made twice: at the batch that is
// counted from, and at the one that is asked for.
#include "src/adapter/at_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "src/onnxflops.h"
#include "tests/adapter/model_parts.h"
#include "tests/model_maker.h"

namespace onnxflops::at_batch_test {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CountOptions At(const Expr& batch, const absl::btree_map<std::string, int>& axes = {}) {
  CountOptions options;
  options.batch = BatchSize{batch, axes};
  return options;
}

void AddText(onnx::NodeProto* node, const std::string& name, const std::string& text) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::STRING);
  attribute->set_s(text);
}

ModelMaker WithInput(int64_t batch, const Sizes& sizes) {
  std::vector<std::string> dims = {absl::StrCat(batch)};
  for (const int64_t size : sizes) dims.push_back(absl::StrCat(size));
  ModelMaker make;
  make.Input("x", dims);
  return make;
}

using Maker = std::function<ModelMaker(int64_t batch)>;

// All but names of values and warnings.
Json FiguresOf(const Report& report) {
  Json json = Json::parse(ToJson(report));
  for (const char* key : {"model", "warnings", "inputs", "outputs"}) json.erase(key);
  return json;
}

// From batches of 1 and 3, at 8 and at a symbol that is 8.
void RequireEqual(const Maker& make) {
  const Report truth = make(8).Count().value();
  for (const int64_t from : {1, 3}) {
    SCOPED_TRACE(from);
    const absl::StatusOr<Report> report = make(from).Count(At(8));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(FiguresOf(*report), FiguresOf(truth));
    EXPECT_THAT(report->warnings, IsEmpty());
    CountOptions symbol = At(Expr::Symbol("batch", 1));
    symbol.bindings["batch"] = 8;
    const absl::StatusOr<Report> bound = make(from).Count(symbol);
    ASSERT_TRUE(bound.ok()) << bound.status();
    EXPECT_EQ(bound->totals.flops, truth.totals.flops);
    EXPECT_EQ(bound->totals.bytes_written, truth.totals.bytes_written);
    symbol.bindings.clear();
    const absl::StatusOr<Report> open = make(from).Count(symbol);
    ASSERT_TRUE(open.ok()) << open.status();
    EXPECT_EQ(open->totals.flops.Substitute({{"batch", 8}}), truth.totals.flops);
  }
}

std::string ErrorOf(const Maker& make, int64_t from = 1) {
  return std::string(make(from).Count(At(8)).status().message());
}

// A node "/n" with these inputs, "x" first, and constants of int64.
struct Step {
  std::string op;
  Sizes in;
  std::vector<std::pair<std::string, Sizes>> constants;
  std::function<void(onnx::NodeProto*)> attributes;
};
Maker One(const Step& step) {
  return [step](int64_t batch) {
    ModelMaker make = WithInput(batch, step.in);
    std::vector<std::string> inputs = {"x"};
    for (const auto& [name, ints] : step.constants) {
      inputs.push_back(name);
      if (!name.empty()) AddConstant(&make, name, ints);
    }
    make.Node("/n", step.op, inputs, {"y"});
    if (step.attributes) step.attributes(make.node);
    make.Node("/relu", "Relu", {"y"}, {"z"}).Output("z");
    return make;
  };
}

TEST(AtBatchTest, CostsEightTimesAtBatchEight) {
  const Maker make = [](int64_t batch) {
    ModelMaker made = WithInput(batch, {16});
    made.Weight("w", {16, 4}).Node("/fc", "MatMul", {"x", "w"}, {"y"}).Output("y");
    return made;
  };
  const Report report = make(1).Count(At(8)).value();
  EXPECT_EQ(report.totals.macs, Expr(8 * 16 * 4));
  EXPECT_EQ(report.totals.params, Expr(16 * 4));
  EXPECT_EQ(report.outputs[0].shape.ToString(), "[8, 4]");
  EXPECT_EQ(make(1).Count(At(Expr::Symbol("batch", 1)))->totals.macs,
            16 * 4 * Expr::Symbol("batch", 1));
  EXPECT_EQ(ToJson(make(3).Count(At(3)).value()), ToJson(make(3).Count().value()));
}

// [batch, 6, 4] -> [batch, 24], as torch.flatten is exported; shared by a second Reshape.
TEST(AtBatchTest, ReshapesFollow) {
  RequireEqual([](int64_t batch) {
    ModelMaker make = WithInput(batch, {6, 4});
    AddConstant(&make, "flat", {batch, 24});
    AddConstant(&make, "rows", {-1, 4});
    AddConstant(&make, "images", {batch, -1, 2, 4});
    make.Node("/a", "Reshape", {"x", "flat"}, {"a"}).Node("/b", "Reshape", {"a", "flat"}, {"b"});
    make.Node("/c", "Reshape", {"b", "rows"}, {"c"}).Weight("w", {4, 4});
    make.Node("/fc", "MatMul", {"c", "w"}, {"d"});
    make.Node("/e", "Reshape", {"d", "images"}, {"e"}).Node("/f", "Flatten", {"e"}, {"f"});
    make.Weight("v", {24, 3}).Node("/g", "MatMul", {"f", "v"}, {"g"}).Output("g");
    return make;
  });
}

// A target of parts, as TorchScript traces it: one of them is the batch, and -1 is shared.
TEST(AtBatchTest, ComputedTargetsFollow) {
  RequireEqual([](int64_t batch) {
    ModelMaker make = WithInput(batch, {6, 4});
    AddConstant(&make, "batch", {batch}, true);
    AddConstant(&make, "zero", {0});
    AddConstant(&make, "rest", {-1});
    AddConstant(&make, "two", {2});
    AddConstant(&make, "four", {4});
    make.Node("/n", "Unsqueeze", {"batch", "zero"}, {"n"});
    make.Node("/a", "Concat", {"n", "two", "rest"}, {"a"}, {{"axis", 0}});
    make.Node("/b", "Concat", {"n", "rest", "four"}, {"b"}, {{"axis", 0}});
    make.Node("/x", "Reshape", {"x", "a"}, {"x2"}).Node("/y", "Reshape", {"x2", "b"}, {"y"});
    make.Node("/relu", "Relu", {"y"}, {"z"}).Output("z");
    return make;
  });
}

// nn.MultiheadAttention has [tokens, batch * heads, width]: which size of [5, 8] is that of the
// samples shows only at the products.
Maker Attention() {
  return [](int64_t batch) {
    ModelMaker make = WithInput(batch, {5, 8});
    AddConstant(&make, "heads", {5, batch * 2, 4});
    AddConstant(&make, "rows", {5 * batch, 8});
    AddConstant(&make, "tokens", {5, batch, 8});
    make.Weight("w", {8, 8});
    make.Node("/t", "Transpose", {"x"}, {"t"});
    AddInts(make.node, "perm", {1, 0, 2});
    make.Node("/h", "Reshape", {"t", "heads"}, {"h"});
    make.Node("/q", "Transpose", {"h"}, {"q"});
    AddInts(make.node, "perm", {1, 0, 2});
    make.Node("/k", "Transpose", {"h"}, {"k"});
    AddInts(make.node, "perm", {1, 2, 0});
    make.Node("/qk", "MatMul", {"q", "k"}, {"qk"}).Node("/s", "Softmax", {"qk"}, {"s"});
    make.Node("/sv", "MatMul", {"s", "q"}, {"sv"}).Node("/o", "Transpose", {"sv"}, {"o"});
    AddInts(make.node, "perm", {1, 0, 2});
    make.Node("/r", "Reshape", {"o", "rows"}, {"r"}).Node("/fc", "MatMul", {"r", "w"}, {"f"});
    make.Node("/u", "Reshape", {"f", "tokens"}, {"u"}).Output("u");
    return make;
  };
}
TEST(AtBatchTest, FindsSamplesBetweenTokensAndHeads) { RequireEqual(Attention()); }

TEST(AtBatchTest, RefusesAReshapeThatTwoBatchesCouldMean) {
  const Maker make = [](int64_t batch) {
    ModelMaker made = WithInput(batch, {5, 8});
    AddConstant(&made, "rows", {5, 8 * batch});
    made.Node("/t", "Transpose", {"x"}, {"t"});
    AddInts(made.node, "perm", {1, 0, 2});
    made.Node("/r", "Reshape", {"t", "rows"}, {"r"}).Node("/s", "Relu", {"r"}, {"s"}).Output("s");
    return made;
  };
  EXPECT_EQ(ErrorOf(make),
            "test.onnx: the graph at batch 8 cannot be told from this one of batch 1; export the "
            "model at that batch, or with an open one:\n  node '/r' (Reshape): which of its sizes "
            "follows the batch is not plain");
  EXPECT_EQ(ErrorOf(make, 3), "");  // of 15 and 8 only 24 can be three times something
}

// A class token, by Expand as TorchScript writes it, and as one value for all samples.
TEST(AtBatchTest, ExpandsTokens) {
  const auto with = [](bool expand) -> Maker {
    return [expand](int64_t batch) {
      ModelMaker make = WithInput(batch, {6, 4});
      make.Weight("token", {1, 1, 4});
      AddConstant(&make, "each", {batch, 1, 4});
      if (expand) make.Node("token/Expand", "Expand", {"token", "each"}, {"tokens"});
      make.Node("/cat", "Concat", {expand ? "tokens" : "token", "x"}, {"y"}, {{"axis", 1}});
      make.Output("y");
      return make;
    };
  };
  RequireEqual(with(true));
  const Report report = with(false)(1).Count(At(8)).value();
  EXPECT_EQ(report.totals.params, Expr(4));
  EXPECT_EQ(report.outputs[0].shape.ToString(), "[8, 7, 4]");
  EXPECT_THAT(report.warnings, ElementsAre("'token' is taken as [8, 1, 4]: the file has one for "
                                           "all samples"));
}

TEST(AtBatchTest, ExpandsStatesOfAnLstm) {
  const Maker make = [](int64_t batch) {
    ModelMaker made = WithInput(batch, {6, 4});
    made.Weight("w", {1, 32, 4}).Weight("r", {1, 32, 8}).Weight("h", {1, 1, 8});
    made.Node("/t", "Transpose", {"x"}, {"t"});
    AddInts(made.node, "perm", {1, 0, 2});
    made.Node("/lstm", "LSTM", {"t", "w", "r", "", "", "h", "h"}, {"y"}, {{"hidden_size", 8}});
    made.Output("y");
    return made;
  };
  const Report report = make(1).Count(At(8)).value();
  EXPECT_EQ(report.totals.macs, 8 * make(1).Count()->totals.macs);
  EXPECT_EQ(report.outputs[0].shape.ToString(), "[6, 1, 8, 8]");
  EXPECT_THAT(report.warnings, ElementsAre(HasSubstr("'h' is taken as [1, 8, 8]")));
}

// [tokens, batch, width], as nn.GRU has it by default.
TEST(AtBatchTest, TakesTheDimensionThatIsNamed) {
  ModelMaker make;
  make.Input("x", {"6", "1", "4"}).Input("table", {"5", "4"});
  make.Weight("w", {1, 24, 4}).Weight("r", {1, 24, 8});
  make.Node("/gru", "GRU", {"x", "w", "r"}, {"y"}, {{"hidden_size", 8}});
  make.Node("/relu", "Relu", {"table"}, {"t"}).Output("y").Output("t");
  const Report report = make.Count(At(8, {{"x", 1}})).value();
  EXPECT_EQ(report.totals.macs, 8 * make.Count()->totals.macs);
  EXPECT_EQ(report.outputs[0].shape.ToString(), "[6, 1, 8, 8]");
  EXPECT_EQ(report.outputs[1].shape.ToString(), "[5, 4]");
  EXPECT_THAT(make.Count(At(8, {{"x", 0}})).status().message(),
              HasSubstr("node '/gru' (GRU): its samples are not along the axis of the batch"));
}

// Ones of the input's own shape, as a mask of transformers is made.
TEST(AtBatchTest, FollowsSizesThatTheGraphComputes) {
  RequireEqual([](int64_t batch) {
    ModelMaker make = WithInput(batch, {6});
    make.Node("/shape", "Shape", {"x"}, {"s"}).Node("/ones", "ConstantOfShape", {"s"}, {"o"});
    make.Node("/relu", "Relu", {"o"}, {"r"}).Node("/mul", "Mul", {"x", "r"}, {"y"}).Output("y");
    return make;
  });
}

TEST(AtBatchTest, OperatorsMoveSamples) {
  const auto ints = [](const std::string& name, const Sizes& values) {
    return [=](onnx::NodeProto* node) { AddInts(node, name, values); };
  };
  const Step steps[] = {
      {"Transpose", {2, 3}, {}, ints("perm", {2, 0, 1})},
      {"Unsqueeze", {2, 3}, {{"axes", {0, 2}}}, {}},
      {"Squeeze", {1, 3}, {{"axes", {1}}}, {}},
      {"ReduceMean", {2, 3}, {}, ints("axes", {2})},
      {"ReduceMean", {2, 3}, {}, ints("axes", {0})},
      {"Tile", {2, 3}, {{"repeats", {2, 1, 3}}}, {}},
      {"Slice", {4, 3}, {{"starts", {1}}, {"ends", {3}}, {"axes", {1}}}, {}},
      {"Slice", {4, 3}, {{"starts", {0}}, {"ends", {INT64_MAX}}, {"axes", {0}}}, {}},
      {"Pad", {4, 3}, {{"pads", {0, 1, 0, 0, 0, 2}}}, {}},
      {"Softmax", {4, 3}, {}, {}},
      {"GlobalAveragePool", {4, 3, 3}, {}, {}},
      {"Flatten", {4, 3}, {}, {}},
  };
  for (const Step& step : steps) {
    SCOPED_TRACE(step.op);
    RequireEqual(One(step));
  }
}

TEST(AtBatchTest, OperatorsWithSizesOfTheBatchFollow) {
  RequireEqual([](int64_t batch) {
    return One({"Expand", {1, 3}, {{"shape", {batch, 5, 3}}}, {}})(batch);
  });
  RequireEqual([](int64_t batch) {
    return One({"Resize", {4, 3, 3}, {{"", {}}, {"", {}}, {"sizes", {batch, 4, 6, 6}}}, {}})(batch);
  });
}

// cat([x, x]) and chunk(2), as classifier-free guidance runs.
TEST(AtBatchTest, TakesTheBatchTwice) {
  RequireEqual([](int64_t batch) {
    ModelMaker make = WithInput(batch, {6});
    AddConstant(&make, "halves", {batch, batch});
    make.Node("/cat", "Concat", {"x", "x"}, {"c"}, {{"axis", 0}}).Node("/r", "Relu", {"c"}, {"r"});
    make.Node("/split", "Split", {"r", "halves"}, {"a", "b"}, {{"axis", 0}});
    make.Node("/sub", "Sub", {"a", "b"}, {"y"}).Output("y");
    return make;
  });
}

TEST(AtBatchTest, EinsumKeepsTheLetterOfTheBatch) {
  RequireEqual([](int64_t batch) {
    ModelMaker make = WithInput(batch, {6, 4});
    make.Weight("w", {4, 2, 3}).Node("/e", "Einsum", {"x", "w"}, {"y"}).Output("y");
    AddText(make.node, "equation", "btd,dhk->bhtk");
    return make;
  });
}

TEST(AtBatchTest, RefusesWhatMayHoldTheBatch) {
  const auto axis = [](int64_t value) {
    return [value](onnx::NodeProto* node) {
      onnx::AttributeProto* attribute = node->add_attribute();
      attribute->set_name("axis");
      attribute->set_type(onnx::AttributeProto::INT);
      attribute->set_i(value);
    };
  };
  EXPECT_THAT(ErrorOf(One({"Squeeze", {4, 3}, {}, {}})),
              HasSubstr("node '/n' (Squeeze): it removes sizes of 1, and so the batch"));
  EXPECT_THAT(ErrorOf(One({"Squeeze", {4, 3}, {{"axes", {0}}}, {}})),
              HasSubstr("it removes the batch"));
  EXPECT_THAT(ErrorOf(One({"Slice", {4}, {{"starts", {0}}, {"ends", {1}}, {"axes", {0}}}, {}})),
              HasSubstr("it takes some of the samples"));
  EXPECT_THAT(ErrorOf(One({"Pad", {3}, {{"pads", {1, 0, 0, 0}}}, {}})),
              HasSubstr("it adds samples"));
  EXPECT_THAT(ErrorOf(One({"Softmax", {3}, {}, axis(0)})), HasSubstr("it runs along the samples"));
  EXPECT_THAT(ErrorOf(One({"NonZero", {3}, {}, {}})),
              HasSubstr("node '/n' (NonZero): what it does with samples is not known"));
  EXPECT_THAT(ErrorOf(One({"Expand", {3}, {{"shape", {5, 3}}}, {}})),
              HasSubstr("it has one sample for many"));
  EXPECT_THAT(ErrorOf(One({"Reshape", {4, 3}, {{"to", {2, -1}}}, {}}), 3),
              HasSubstr("no size of it can be that of the samples"));
}

TEST(AtBatchTest, RefusesSamplesInTwoInputs) {
  const auto with = [](const std::string& op, const std::vector<std::string>& inputs) -> Maker {
    return [=](int64_t batch) {
      ModelMaker make = WithInput(batch, {6});
      make.Weight("table", {5, 1}).Node("/t", "Transpose", {"x"}, {"t"});
      make.Node("/n", op, inputs, {"y"}).Output("y");
      return make;
    };
  };
  EXPECT_THAT(ErrorOf(with("MatMul", {"t", "x"})), HasSubstr("it sums over samples"));
  EXPECT_THAT(ErrorOf(with("MatMul", {"table", "x"})), HasSubstr("it sums over samples"));
  EXPECT_THAT(ErrorOf(with("Add", {"x", "t"})), HasSubstr("at different places"));
}

// Each image with each text, as CLIP compares them.
TEST(AtBatchTest, ComparesEachSampleWithEach) {
  const auto with = [](bool reshape) -> Maker {
    return [reshape](int64_t batch) {
      ModelMaker make = WithInput(batch, {6});
      AddConstant(&make, "flat", {-1});
      make.Weight("scale", {}).Node("/t", "Transpose", {"x"}, {"t"});
      make.Node("/logits", "MatMul", {"x", "t"}, {"l"});
      make.Node("/scale", "Mul", {"l", "scale"}, {"s"}).Node("/text", "Transpose", {"s"}, {"y"});
      make.Output("s").Output("y");
      if (reshape) make.Node("/n", "Reshape", {"s", "flat"}, {"f"}).Output("f");
      return make;
    };
  };
  RequireEqual(with(false));
  EXPECT_EQ(with(false)(1).Count(At(8))->totals.macs, Expr(8 * 8 * 6));
  EXPECT_THAT(ErrorOf(with(true)), HasSubstr("node '/n' (Reshape): two of its sizes are those of"));
}

// A convolution whose weights come from the sample: at batch 1 it is an ordinary one.
TEST(AtBatchTest, RefusesWeightsOfEachSample) {
  const Maker make = [](int64_t batch) {
    ModelMaker made = WithInput(batch, {3, 8, 8});
    made.Weight("r", {192, 216});
    AddConstant(&made, "flat", {batch, 192});
    AddConstant(&made, "kernel", {8, 3, 3, 3});
    made.Node("/flat", "Reshape", {"x", "flat"}, {"f"}).Node("/r", "MatMul", {"f", "r"}, {"k"});
    made.Node("/kernel", "Reshape", {"k", "kernel"}, {"w"});
    made.Node("/conv", "Conv", {"x", "w"}, {"y"}).Output("y");
    return made;
  };
  EXPECT_THAT(ErrorOf(make), HasSubstr("node '/conv' (Conv): its input 1 differs from sample to"));
}

// A constant that an exporter stored for each sample, and one that is computed.
TEST(AtBatchTest, TakesAConstantOfEachSampleFromTheFileOnly) {
  const auto with = [](bool stored) -> Maker {
    return [stored](int64_t batch) {
      ModelMaker make = WithInput(batch, {6});
      make.Weight("each", {batch, stored ? 6 : 2}).Weight("w", {2, 6});
      if (!stored) make.Node("/fc", "MatMul", {"each", "w"}, {"fc"});
      make.Node("/add", "Add", {"x", stored ? "each" : "fc"}, {"y"}).Output("y");
      return make;
    };
  };
  const Report report = with(true)(3).Count(At(8)).value();
  EXPECT_EQ(report.totals.flops, with(true)(8).Count()->totals.flops);
  EXPECT_THAT(report.warnings, ElementsAre("'each' is taken as [8, 6]: the file has one for each "
                                           "sample of its batch"));
  EXPECT_EQ(with(true)(3).Count(At(1))->totals.bytes_read,
            with(true)(1).Count()->totals.bytes_read);
  EXPECT_THAT(ErrorOf(with(false), 3), HasSubstr("node '/add' (Add): the constant 'fc' is one for "
                                                 "the batch of the export"));
  EXPECT_EQ(ErrorOf(with(true), 1), "");  // it is broadcast
}

TEST(AtBatchTest, NeedsOneFixedBatch) {
  const auto error = [](const ModelMaker& make, const CountOptions& options) {
    return std::string(make.Count(options).status().message());
  };
  ModelMaker open;
  open.Input("x", {"N", "3"}).Node("/r", "Relu", {"x"}, {"y"}).Output("y");
  EXPECT_EQ(error(open, At(8)), "test.onnx: dimension 0 of input 'x' is open: dim N=8 sets it");
  ModelMaker two;
  two.Input("x", {"1", "3"}).Input("sizes", {"2"}).Node("/r", "Relu", {"x"}, {"y"}).Output("y");
  EXPECT_EQ(
      error(two, At(8)),
      "test.onnx: which dimension is the batch is not plain: the sizes of these inputs differ "
      "or are 0: 'x' [1, 3], 'sizes' [2]; at-batch INPUT=8 takes the first dimension of one "
      "input, and at-batch INPUT:1=8 dimension 1");
  EXPECT_EQ(two.Count(At(8, {{"x", 0}}))->outputs[0].shape.ToString(), "[8, 3]");
  EXPECT_THAT(error(two, At(8, {{"image", 0}})), HasSubstr("no input is named 'image'"));
  EXPECT_EQ(error(two, At(8, {{"x", 2}})), "test.onnx: input 'x' has no dimension 2");
  ModelMaker named;
  named.Input("x", {"1", "seq"}).Node("/r", "Relu", {"x"}, {"y"}).Output("y");
  EXPECT_THAT(error(named, At(Expr::Symbol("seq", 1))),
              HasSubstr("is named 'seq'; give the batch"));
  EXPECT_THAT(error(named, At(0)), HasSubstr("a batch of 0 has no samples"));
  CountOptions twice = At(8);
  twice.input_shapes["x"] = {8, 3};
  EXPECT_THAT(error(named, twice), HasSubstr("input and at-batch both give the size of 'x'"));
}

}  // namespace
}  // namespace onnxflops::at_batch_test
