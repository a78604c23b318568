// Formulas of a training step, and what a model tells of their parameters: held to the formulas as
// their sources write them, on small models by hand.
#include "src/convention/formulas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/compare/compare_report.h"
#include "src/convention/formula_facts.h"
#include "src/count/count_model.h"
#include "src/family/family.h"
#include "src/family/graph_builder.h"
#include "src/infer/infer.h"
#include "src/load/load_file.h"
#include "src/resolve/ties.h"
#include "tests/model_maker.h"

namespace onnxflops::convention::formulas_test {
namespace {

using testing::ElementsAre;

// ---- formulas

struct FormulaCase {
  Formula formula;
  int64_t linear, embeddings, scores, others;  // of all tokens
};

// Of pairwise different parameters; HQ is 3 * 5, and of the 1009 parameters 44 are only looked up.
TEST(FormulasTest, PartsAreThoseOfTheirSources) {
  const int64_t n = 1009, a = 709, l = 2, h = 3, q = 5, t = 7, v = 11, p = 13, d = 17, f = 19,
                e = 44, k = 2, x = 3, s2 = 153;
  const int64_t tokens = 21, hq = h * q;
  FormulaParameters given;
  given.n = n, given.a = a, given.l = l, given.h = h, given.q = q, given.t = t, given.v = v;
  given.p = p, given.d = d, given.f = f, given.tokens = tokens, given.embeddings = e, given.k = k,
  given.x = x, given.s2 = s2;
  const int64_t scores = 12 * l * hq * t * tokens;
  // 7.5 a parameter: the sum is rounded down, and what is left of it is linear.
  const int64_t sum25 = 15 * n * tokens / 2, looked_up25 = 15 * e * tokens / 2;
  // Q, K, V and the output projection, an MLP of x matrices, logits.
  const int64_t by_heads =
      3 * (l * (2 * x * d * f + 2 * d * (h + 2 * k) * q + 2 * hq * d) + 2 * d * v);
  const FormulaCase cases[] = {
      {Formula::k6n, 6 * (n - e) * tokens, 6 * e * tokens, 0, 0},
      {Formula::k6nActive, 6 * (a - e) * tokens, 6 * e * tokens, 0, 0},
      {Formula::k25n, sum25 - looked_up25, looked_up25, 0, 0},
      {Formula::kPalm, 6 * (n - e) * tokens, 6 * e * tokens, scores, 0},
      {Formula::kPalmActive, 6 * (a - e) * tokens, 6 * e * tokens, scores, 0},
      {Formula::kPalmCausalHalf, 6 * (n - e) * tokens, 6 * e * tokens, scores / 2, 0},
      {Formula::kMegatron, (72 * l * hq * hq + 6 * v * hq) * tokens, 0, scores, 0},
      {Formula::kNanoGpt, 6 * (n - e) * tokens, 6 * (e - p) * tokens, scores, 0},
      {Formula::kChinchilla, 3 * (l * (8 * d * hq + 4 * d * f) + 2 * v * d) * tokens,
       3 * 2 * v * d * tokens, scores, 3 * 3 * l * h * t * tokens},
      {Formula::kLlmFoundry, 6 * (n - e) * tokens, 6 * e * tokens, 12 * l * d * t * tokens, 0},
      {Formula::kTorchtitan, 6 * (a - e) * tokens, 0, scores, 0},
      {Formula::kMaxText, by_heads * tokens, 0, scores / 2, 0},
      {Formula::kMegatronBridge, by_heads * tokens, 0, 6 * l * hq * s2, 0},
  };
  for (const FormulaCase& c : cases) {
    const FormulaFlops got = PartsOfFormula(c.formula, given).value();
    EXPECT_THAT((std::vector<Expr>{got.linear, got.embeddings, got.scores, got.others}),
                ElementsAre(Expr(c.linear), Expr(c.embeddings), Expr(c.scores), Expr(c.others)))
        << static_cast<int>(c.formula);
    EXPECT_EQ(*FlopsByFormula(c.formula, given), c.linear + c.embeddings + c.scores + c.others);
  }
}

// FLOPs of a token of Llama 3.1 8B at 8192, as torchtitan's own function prints them, and as the
// table of Megatron-Bridge 25.11 has them (5.147e10).
TEST(FormulasTest, OfLlamaArePublished) {
  FormulaParameters p;
  p.n = 8030261248, p.embeddings = int64_t{128256} * 4096, p.l = 32, p.h = 32, p.k = 8, p.q = 128;
  p.t = 8192, p.v = 128256, p.d = 4096, p.f = 14336, p.x = 3, p.tokens = 1, p.s2 = 8192;
  EXPECT_EQ(*FlopsByFormula(Formula::kTorchtitan, p), 57914449920);
  EXPECT_EQ(*FlopsByFormula(Formula::kMegatronBridge, p) / 10000000, 5147);
  EXPECT_EQ(*FlopsByFormula(Formula::kMaxText, p), *FlopsByFormula(Formula::kMegatronBridge, p));
}

TEST(FormulasTest, MissingParametersAreNamed) {
  FormulaParameters given;
  given.n = 5, given.h = 2;
  EXPECT_EQ(PartsOfFormula(Formula::kPalm, given).status().message(),
            "not found in the model: l, q, t, tokens");
  EXPECT_EQ(PartsOfFormula(Formula::k6n, given).status().message(),
            "not found in the model: tokens");
}

TEST(FormulasTest, TooLargeAFigureIsAnError) {
  FormulaParameters given;
  given.n = Expr(int64_t{1} << 62) * (int64_t{1} << 40), given.tokens = int64_t{1} << 62;
  EXPECT_EQ(PartsOfFormula(Formula::k6n, given).status().code(), absl::StatusCode::kOutOfRange);
}

// ---- what a model tells

// A model with all that facts point to.
struct Subject {
  explicit Subject(const ModelMaker& make)
      : model(make.Load().value()),
        inference(Infer(model).value()),
        counts(onnxflops::Count(inference).value()) {}
  FormulaFacts facts() const { return ReadFormulaFacts(inference, counts); }
  Model model;
  Inference inference;
  Counts counts;
};

ModelMaker& AddIds(ModelMaker& make, const std::string& name, const ModelMaker::Strings& dims,
                   int type = onnx::TensorProto::INT64) {
  make.Input(name, dims);
  auto* input = make.proto.mutable_graph()->mutable_input(make.proto.graph().input_size() - 1);
  input->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  return make;
}

// Tokens are looked up in [11, 6], positions, a constant list, in [5, 6].
ModelMaker Embeds() {
  ModelMaker make;
  AddIds(make, "ids", {"2", "5"});
  make.Weight("emb.weight", {11, 6}).Weight("pos.weight", {5, 6}).Weight("fc.weight", {6, 8});
  make.Weight("positions", {5}, onnx::TensorProto::INT64);
  make.Node("g", "Gather", {"emb.weight", "ids"}, {"text"});
  make.Node("p", "Gather", {"pos.weight", "positions"}, {"places"});
  make.Node("a", "Add", {"text", "places"}, {"x"});
  make.Node("m", "MatMul", {"x", "fc.weight"}, {"y"}).Output("y");
  return make;
}

TEST(FormulaFactsTest, OfTables) {
  const FormulaFacts facts = Subject(Embeds()).facts();
  const FormulaParameters& p = facts.parameters;
  EXPECT_EQ(p.n, Expr(11 * 6 + 5 * 6 + 6 * 8));
  EXPECT_EQ(p.embeddings, Expr(11 * 6 + 5 * 6));
  EXPECT_EQ(p.v, Expr(11));
  EXPECT_EQ(p.d, Expr(6));
  EXPECT_EQ(p.p, Expr(5 * 6));
  EXPECT_EQ(p.f, Expr(4 * 6));
  EXPECT_TRUE(facts.mlp_width_assumed);
  EXPECT_EQ(p.tokens, Expr(10));
  EXPECT_EQ(facts.batch, Expr(2));
  EXPECT_FALSE(p.l.has_value());
  EXPECT_FALSE(p.a.has_value());
}

// Heads of keys by the attribute, and matrices of the MLP by their shapes, of grouped heads and of
// as many as there are queries, with a gate and without.
TEST(FormulaFactsTest, OfHeadsAndMlps) {
  const struct {
    const char *config, *k, *x;
  } cases[] = {
      {R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 100, "vocab_size": 80,
           "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2})",
       "2", "3"},
      {R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 8, "vocab_size": 80})", "8",
       "2"},
      // Its queries, keys and values are as wide as two matrices of its MLP.
      {R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 8, "vocab_size": 80,
           "n_inner": 96})",
       "8", "0"},
  };
  for (const auto& c : cases) {
    const Model model = LoadConfig(c.config, "config.json", std::nullopt).value();
    const Inference inference = Infer(model).value();
    const Counts counts = onnxflops::Count(inference).value();
    const FormulaParameters p = ReadFormulaFacts(inference, counts).parameters;
    EXPECT_EQ(p.k.value_or(0).ToString(), c.k) << c.config;
    EXPECT_EQ(p.x.value_or(0).ToString(), c.x) << c.config;
    EXPECT_EQ(p.s2.value_or(0), *p.tokens * *p.t) << c.config;
  }
}

// An operator that projects queries, keys and values itself: X[2,5,7] W[7,24], two heads of four.
// The scores alone are attention: 2 x 2 sequences and heads x 25 pairs x (4 + 4). In QAttention the
// projection is of integers, and in PackedAttention the tokens of all sequences are one dimension.
TEST(FormulaFactsTest, OfAttentionWithItsProjection) {
  const struct {
    const char* op;
    ModelMaker::Strings x, inputs;
    int type;
    int heads, head_size;  // -1: not known
  } cases[] = {
      {"Attention", {"2", "5", "7"}, {"x", "w"}, onnx::TensorProto::FLOAT, 2, 4},
      {"QAttention", {"2", "5", "7"}, {"x", "w", "b", "s", "s"}, onnx::TensorProto::INT8, 2, 4},
      {"PackedAttention",
       {"10", "7"},
       {"x", "w", "b", "offsets", "sums"},
       onnx::TensorProto::FLOAT,
       -1,
       -1},
  };
  for (const auto& c : cases) {
    ModelMaker make;
    AddIds(make.Import("com.microsoft"), "x", c.x,
           c.type == onnx::TensorProto::FLOAT ? c.type : onnx::TensorProto::UINT8);
    make.Weight("w", {7, 24}, c.type).Weight("b", {24}).Weight("s", {});
    make.Weight("offsets", {2, 5}, onnx::TensorProto::INT32);
    make.Weight("sums", {3}, onnx::TensorProto::INT32);
    make.Node("a", c.op, c.inputs, {"y"}, {{"num_heads", 2}}).Output("y");
    make.node->set_domain("com.microsoft");
    const AttentionSummary attention = Subject(make).facts().attention;
    EXPECT_EQ(attention.layers, 1) << c.op;
    EXPECT_EQ(attention.flops, Expr(2 * 2 * 2 * 25 * (4 + 4))) << c.op;
    EXPECT_EQ(attention.heads.value_or(-1), Expr(c.heads)) << c.op;
    EXPECT_EQ(attention.head_size.value_or(-1), Expr(c.head_size)) << c.op;
  }
}

// A table that is multiplied as well, as a tied output layer, is not only looked up.
TEST(FormulaFactsTest, OfTablesThatAreTied) {
  ModelMaker make = Embeds();
  make.Node("t", "Transpose", {"emb.weight"}, {"tied"}).Node("o", "MatMul", {"x", "tied"}, {"z"});
  make.Output("z");
  EXPECT_EQ(Subject(make).facts().parameters.embeddings, Expr(5 * 6));
}

// So it is where the file holds the output layer as a copy of it.
TEST(FormulaFactsTest, OfTablesWhoseCopyIsMultiplied) {
  ModelMaker make = Embeds();
  make.Weight("copy", {6, 11}).Node("o", "MatMul", {"x", "copy"}, {"z"}).Output("z");
  const Model model = make.Load().value();
  for (const bool tied : {false, true}) {
    Inference inference = Infer(model).value();
    if (tied) inference.ties = resolve::FindTies(*model, {{"copy", "emb.weight"}}).value();
    const Counts counts = onnxflops::Count(inference).value();
    EXPECT_EQ(ReadFormulaFacts(inference, counts).parameters.embeddings,
              Expr(tied ? 5 * 6 : 11 * 6 + 5 * 6));
  }
}

// Without positions their parameters are 0; the larger table has the tokens, whichever comes first.
TEST(FormulaFactsTest, OfSeveralTables) {
  for (const bool larger_first : {false, true}) {
    ModelMaker make;
    AddIds(make, "ids", {"2", "5"});
    make.Weight("a", {larger_first ? 13 : 3, larger_first ? 6 : 4})
        .Weight("b", {larger_first ? 3 : 13, larger_first ? 4 : 6});
    make.Node("g", "Gather", {"a", "ids"}, {"x"}).Node("h", "Gather", {"b", "ids"}, {"y"});
    make.Output("x").Output("y");
    const FormulaParameters p = Subject(make).facts().parameters;
    EXPECT_EQ(p.v, Expr(13)) << larger_first;
    EXPECT_EQ(p.d, Expr(6)) << larger_first;
    EXPECT_EQ(p.p, Expr(0)) << larger_first;
    EXPECT_EQ(p.embeddings, Expr(13 * 6 + 3 * 4)) << larger_first;
  }
}

// Positions are named so, or follow from shapes; integers and vectors are no tables.
TEST(FormulaFactsTest, WhatIsNoTableOfTokens) {
  const struct {
    const char* input;
    std::vector<int64_t> table;
    int type;
    int vocabulary, positions;  // -1: not known
  } cases[] = {
      {"ids", {11, 6}, onnx::TensorProto::FLOAT, 11, 0},
      {"position_ids", {11, 6}, onnx::TensorProto::FLOAT, -1, 66},
      {"ids", {11}, onnx::TensorProto::FLOAT, -1, -1},
      {"ids", {11, 6, 2}, onnx::TensorProto::FLOAT, -1, -1},
      {"ids", {11, 6}, onnx::TensorProto::INT64, -1, -1},
  };
  for (const auto& c : cases) {
    ModelMaker make;
    AddIds(make, c.input, {"2", "5"}).Weight("emb.weight", c.table, c.type);
    make.Node("g", "Gather", {"emb.weight", c.input}, {"y"});
    make.Node("f", "Flatten", {"y"}, {"z"}).Output("z");  // which are no logits
    const FormulaParameters p = Subject(make).facts().parameters;
    EXPECT_EQ(p.v.value_or(-1), Expr(c.vocabulary)) << c.input << c.table.size();
    EXPECT_EQ(p.p.value_or(-1), Expr(c.positions)) << c.input << c.table.size();
  }
}

// Which inputs are tokens, or why there are none.
struct TokenCase {
  std::vector<std::pair<std::string, ModelMaker::Strings>> ids, floats;
  int64_t batch, tokens;  // -1: not known
  std::string why;
};

constexpr char kNoIds[] = "no input is token ids [batch, sequence]: the formula counts tokens";
constexpr char kHoldsNone[] = "the formula counts tokens, but input 'x' holds no tokens";

// Inputs of all ranks, masks, and several of token ids.
const TokenCase kTokens[] = {
    {{{"ids", {"2", "5"}}}, {}, 2, 10, ""},
    {{{"ids", {"2", "5"}}, {"attention_mask", {"2", "7"}}}, {}, 2, 10, ""},
    {{{"attention_mask", {"2", "7"}}}, {}, 2, -1, kNoIds},
    {{{"ids", {"2", "5"}}, {"types", {"2", "5"}}}, {}, 2, 10, ""},
    {{{"ids", {"2", "5"}}, {"types", {"2", "7"}}},
     {},
     2,
     10,
     "the inputs of token ids have different sizes: the formula has one"},
    {{{"ids", {"5"}}}, {}, 5, -1, kNoIds},
    {{{"ids", {"2", "5", "3"}}}, {}, 2, -1, kNoIds},
    {{}, {{"x", {"3", "4"}}}, 3, -1, kNoIds},
    {{}, {{"x", {"3", "4", "5"}}}, 3, -1, kHoldsNone},
    {{},
     {{"x", {"3", "4", "5", "6"}}},
     3,
     -1,
     "the formula counts tokens, but input 'x' is an image"},
    {{}, {{"x", {"3", "4", "5", "6", "7"}}}, 3, -1, kHoldsNone},
    {{{"ids", {"2", "5"}}}, {{"x", {"3", "4", "5"}}}, 2, 10, kHoldsNone},
    {{{"ids", {"2", "5"}}}, {{"x", {"3", "4"}}}, 2, 10, ""},
};

TEST(FormulaFactsTest, OfInputs) {
  for (const TokenCase& c : kTokens) {
    ModelMaker make;
    for (const auto& [name, dims] : c.floats)
      make.Input(name, dims).Node("", "Relu", {name}, {name + "y"}).Output(name + "y");
    for (const auto& [name, dims] : c.ids) {
      AddIds(make, name, dims).Node("", "Identity", {name}, {name + "y"}).Output(name + "y");
    }
    const FormulaFacts facts = Subject(make).facts();
    EXPECT_EQ(facts.batch.value_or(-1), Expr(c.batch)) << c.why;
    EXPECT_EQ(facts.parameters.tokens.value_or(-1), Expr(c.tokens)) << c.why;
    EXPECT_EQ(facts.no_tokens, c.why);
  }
}

// The vocabulary of a model without a table is that of its first output of three dimensions.
TEST(FormulaFactsTest, OfLogits) {
  ModelMaker make;
  AddIds(make, "ids", {"2", "5"})
      .Input("x", {"2", "9"})
      .Input("y", {"2", "5", "13"})
      .Input("z", {"2", "5", "17"});
  make.Node("a", "Relu", {"x"}, {"p"})
      .Node("b", "Relu", {"y"}, {"q"})
      .Node("c", "Relu", {"z"}, {"r"});
  make.Output("p").Output("q").Output("r");
  EXPECT_EQ(Subject(make).facts().parameters.v, Expr(13));
}

// Logits of more tokens than there are ids, for the same samples: those of an image are among them.
TEST(FormulaFactsTest, TokensOfAnImageAreThoseOfTheLogits) {
  const struct {
    ModelMaker::Strings logits;
    int64_t tokens;
    const char* why;
  } cases[] = {{{"2", "9", "13"}, 18, ""},
               {{"2", "5", "13"}, 10, kHoldsNone},
               {{"2", "1", "13"}, 10, kHoldsNone},
               {{"3", "9", "13"}, 10, kHoldsNone}};
  for (const auto& c : cases) {
    ModelMaker make;
    AddIds(make, "ids", {"2", "5"}).Input("x", c.logits);
    make.Node("a", "Relu", {"x"}, {"q"}).Output("q");
    const FormulaFacts facts = Subject(make).facts();
    EXPECT_EQ(facts.parameters.tokens, Expr(c.tokens));
    EXPECT_EQ(facts.no_tokens, c.why);
  }
}

ModelMaker WithConfig(ModelMaker make, const std::string& config) {
  onnx::StringStringEntryProto* entry = make.proto.add_metadata_props();
  entry->set_key(std::string(family::kConfigKey));
  entry->set_value(config);
  return make;
}

TEST(FormulaFactsTest, TheWidthOfTheMlpIsThatOfAConfiguration) {
  const struct {
    const char* config;
    int width;
    bool assumed;
  } cases[] = {
      {"{\"intermediate_size\": 31}", 31, false},
      {"{\"n_inner\": 32}", 32, false},
      {"{\"ffn_dim\": 33}", 33, false},
      {"{\"d_ff\": 34}", 34, false},
      {"{\"n_inner\": null, \"d_ff\": 35}", 35, false},
      {"{\"n_inner\": 36, \"intermediate_size\": 37}", 37, false},
      {"{\"d_ff\": \"38\"}", 24, true},
      {"[39]", 24, true},
      {"no JSON", 24, true},
      {"{}", 24, true},
      {"{\"d_ff\": -3}", 24, true},
  };
  for (const auto& c : cases) {
    const FormulaFacts facts = Subject(WithConfig(Embeds(), c.config)).facts();
    EXPECT_EQ(facts.parameters.f, Expr(c.width)) << c.config;
    EXPECT_EQ(facts.mlp_width_assumed, c.assumed) << c.config;
  }
}

// ---- config-clip

ToolRow Ask(const Model& model, const char* tool) {
  return CompareTools(model, {}, {.with = {tool}}).value().tools[0];
}

// As the function writes it: 4 h s^2 + 8 h (r h) s a layer.
double TowerOf(double h, double s, double r, double layers) {
  return (4 * h * s * s + 8 * h * (h * r) * s) * layers;
}

const double kDefaults = TowerOf(768, 77, 4, 12) + TowerOf(1024, 24. * 24, 4, 24);

struct TowersCase {
  const char *text, *vision;
  double flops;
};

// Its keys; the defaults are 768 wide, 77 tokens, 12 layers; 1024, 24 * 24, 24.
const TowersCase kTowers[] = {
    {"{}", "{}", kDefaults},
    {"{\"hidden_size\": 32}", "{}", TowerOf(32, 77, 4, 12) + TowerOf(1024, 576, 4, 24)},
    {"{\"width\": 32}", "{}", TowerOf(32, 77, 4, 12) + TowerOf(1024, 576, 4, 24)},
    {"{\"width\": 32, \"hidden_size\": 48}", "{}",
     TowerOf(48, 77, 4, 12) + TowerOf(1024, 576, 4, 24)},
    {"{\"context_length\": 9}", "{}", TowerOf(768, 9, 4, 12) + TowerOf(1024, 576, 4, 24)},
    {"{\"max_position_embeddings\": 9}", "{}", TowerOf(768, 9, 4, 12) + TowerOf(1024, 576, 4, 24)},
    {"{\"num_hidden_layers\": 3}", "{}", TowerOf(768, 77, 4, 3) + TowerOf(1024, 576, 4, 24)},
    {"{\"num_layers\": 3}", "{}", TowerOf(768, 77, 4, 3) + TowerOf(1024, 576, 4, 24)},
    {"{\"layers\": 3}", "{}", kDefaults},     // it does not look for this one
    {"{\"mlp_ratio\": 3}", "{}", kDefaults},  // nor for the text's
    {"{}", "{\"mlp_ratio\": 3}", TowerOf(768, 77, 3, 12) + TowerOf(1024, 576, 3, 24)},
    {"{}", "{\"hidden_size\": 32}", TowerOf(768, 77, 4, 12) + TowerOf(32, 576, 4, 24)},
    {"{}", "{\"width\": 32}", TowerOf(768, 77, 4, 12) + TowerOf(32, 576, 4, 24)},
    {"{}", "{\"layers\": 5}", TowerOf(768, 77, 4, 12) + TowerOf(1024, 576, 4, 5)},
    {"{}", "{\"num_hidden_layers\": 5}", TowerOf(768, 77, 4, 12) + TowerOf(1024, 576, 4, 5)},
    {"{}", "{\"image_size\": 28}", TowerOf(768, 77, 4, 12) + TowerOf(1024, 4, 4, 24)},
    {"{}", "{\"patch_size\": 28}", TowerOf(768, 77, 4, 12) + TowerOf(1024, 144, 4, 24)},
};

TEST(ConfigClipTest, ReadsTheKeysOfItsFunction) {
  ModelMaker make;
  make.Input("image", {"3", "3", "8", "8"}).Node("n", "Relu", {"image"}, {"y"}).Output("y");
  for (const TowersCase& c : kTowers) {
    for (const char* suffix : {"config", "cfg"}) {
      const std::string config = absl::StrCat("{\"text_", suffix, "\": ", c.text, ", \"vision_",
                                              suffix, "\": ", c.vision, "}");
      const ToolRow row = Ask(WithConfig(make, config).Load().value(), "config-clip");
      ASSERT_TRUE(row.headline.has_value()) << config;
      EXPECT_EQ(*row.headline, Expr(int64_t{3} * static_cast<int64_t>(std::llround(c.flops))))
          << config;
    }
  }
}

constexpr char kNot[] = "the configuration is not of a text and an image tower";
constexpr char kTwo[] = "{\"text_config\": {}, \"vision_config\": {}}";

struct NoTowersCase {
  const char* config;
  ModelMaker::Strings dims;
  const char* why;  // "": it is one
};

// What a configuration or an image lacks, after one that lacks nothing.
const NoTowersCase kNoTowers[] = {
    {kTwo, {"3", "3", "8", "8"}, ""},
    {kTwo, {"3", "3", "8"}, kNot},
    {kTwo, {"3", "3", "8", "8", "8"}, kNot},
    {"", {"3", "3", "8", "8"}, "the formula reads a config.json, and this is a model"},
    {"{\"text_config\": {}}", {"3", "3", "8", "8"}, kNot},
    {"{\"vision_config\": {}}", {"3", "3", "8", "8"}, kNot},
    {"{\"text_config\": {}, \"vision_cfg\": {}}", {"3", "3", "8", "8"}, kNot},
    {"{\"text_config\": 1, \"vision_config\": {}}", {"3", "3", "8", "8"}, kNot},
    {"[]", {"3", "3", "8", "8"}, kNot},
    {"{\"text_config\": {\"width\": 0}, \"vision_config\": {}}", {"3", "3", "8", "8"}, kNot},
    {"{\"text_config\": {\"width\": 1e15}, \"vision_config\": {}}", {"3", "3", "8", "8"}, kNot},
    {"{\"text_config\": {\"width\": -5}, \"vision_config\": {}}", {"3", "3", "8", "8"}, kNot},
};

TEST(ConfigClipTest, WhatIsNoConfigurationOfTwoTowers) {
  for (const NoTowersCase& c : kNoTowers) {
    ModelMaker make;
    make.Input("image", c.dims).Node("n", "Relu", {"image"}, {"y"}).Output("y");
    if (*c.config != '\0') make = WithConfig(make, c.config);
    const ToolRow row = Ask(make.Load().value(), "config-clip");
    EXPECT_EQ(row.standing == Standing::kNotApplicable, *c.why != '\0') << c.config;
    if (*c.why == '\0') continue;
    EXPECT_THAT(row.assumptions, ElementsAre(c.why)) << c.config;
  }
}

// "linear layers: 12" for each term that is there.
std::vector<std::string> Terms(const ToolRow& row) {
  std::vector<std::string> terms;
  for (const TermRow& term : row.terms) {
    terms.push_back(absl::StrCat(term.name, ": ", term.amount.ToString()));
  }
  return terms;
}

// A patch embedding of 4 patches, a layer and a projection, by the names of an image tower.
ModelMaker ImageTower() {
  ModelMaker make;
  make.proto.set_producer_name("pytorch");
  make.Input("image", {"3", "3", "8", "8"})
      .Weight("patch", {6, 3, 4, 4})
      .Weight("w", {4, 5})
      .Weight("v", {5, 7});
  make.Node("/visual/conv1/Conv", "Conv", {"image", "patch"}, {"a"});
  make.node->add_attribute()->CopyFrom([] {
    onnx::AttributeProto strides;
    strides.set_name("strides");
    strides.set_type(onnx::AttributeProto::INTS);
    strides.add_ints(4);
    strides.add_ints(4);
    return strides;
  }());
  make.Node("f", "Flatten", {"a"}, {"b"}, {{"axis", 2}});  // [18, 4]
  make.Node("/visual/layers.0/MatMul", "MatMul", {"b", "w"}, {"c"});
  make.Node("/visual/MatMul", "MatMul", {"c", "v"}, {"d"})
      .Node("/visual/Relu", "Relu", {"d"}, {"y"})
      .Output("y");
  return make;
}

// What the formula takes for each part of it.
TEST(ConfigClipTest, TermsStandBesideOurProducts) {
  const std::string config =
      "{\"text_config\": {\"width\": 2, \"context_length\": 3, \"layers\": 5, \"mlp_ratio\": 2},"
      " \"vision_config\": {\"width\": 6, \"image_size\": 8, \"patch_size\": 4, \"layers\": 1}}";
  const int64_t conv = 2 * 3 * 6 * 4 * 3 * 16, layer = 2 * 18 * 4 * 5, end = 2 * 18 * 5 * 7,
                relu = 18 * 7;
  const int64_t scores = 5 * 4 * 2 * 9 + 4 * 6 * 16, own = 5 * 8 * 2 * 4 * 3 + 8 * 6 * 24 * 4;
  EXPECT_THAT(Terms(Ask(WithConfig(ImageTower(), config).Load().value(), "config-clip")),
              testing::UnorderedElementsAre(
                  absl::StrCat("norms, activations and other operations: -", relu),
                  absl::StrCat("linear layers: ", 3 * own - layer),
                  absl::StrCat("attention products QK' and PV: ", 3 * scores),
                  absl::StrCat("patch embedding: -", conv),
                  absl::StrCat("projections and similarity: -", end),
                  absl::StrCat("layers of text: ", 3 * 7 * (4 * 2 * 9 + 8 * 2 * 8 * 3)),
                  absl::StrCat("the image's MLP ratio in the text: ", 3 * 5 * 8 * 2 * 4 * 3)));
}

}  // namespace
}  // namespace onnxflops::convention::formulas_test
