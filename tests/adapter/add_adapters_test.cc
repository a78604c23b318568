// Adapters in models of all forms: where they are inserted, what they are named, and what has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/family.h"
#include "src/onnxflops.h"
#include "tests/model_maker.h"

namespace onnxflops::add_adapters_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kLlama[] =
    R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64,
        "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 4,
        "vocab_size": 1000, "torch_dtype": ")";

Model Llama(const std::string& type) {
  return LoadConfig(kLlama + type + "\"}", "config.json", std::nullopt).value();
}

Model Made(const ModelMaker& make) {
  return LoadFromBytes(make.proto.SerializeAsString(), "test.onnx").value();
}

absl::StatusOr<Report> CountWith(const Model& model, const std::string& lora) {
  CountOptions options;
  options.lora = ParseLora(lora).value();
  options.node_rows = true;
  return Count(model, options);
}

std::string ErrorOf(const Model& model, const std::string& lora) {
  return std::string(CountWith(model, lora).status().message());
}

// The rows of nodes that the file does not have.
std::vector<std::string> AddedNodes(const Model& model, const Report& report) {
  std::vector<std::string> added;
  for (const NodeRow& row : report.nodes) {
    if (static_cast<size_t>(row.node) < model->nodes.size()) continue;
    added.push_back(
        absl::StrCat(row.op, " of ", report.modules[static_cast<size_t>(row.module)].path));
  }
  return added;
}

const Module* FindModule(const Report& report, const std::string& path) {
  const auto found = std::find_if(report.modules.begin(), report.modules.end(),
                                  [&](const Module& m) { return m.path == path && !m.own; });
  return found == report.modules.end() ? nullptr : &*found;
}

TEST(AddAdaptersTest, NamesModulesAsPeftDoes) {
  const Model model = Llama("float32");
  const Report report = CountWith(model, "r=4:v_proj").value();
  const std::string path = "model.layers.0.self_attn.v_proj";
  EXPECT_THAT(AddedNodes(model, report), ElementsAre("MatMul of " + path + ".lora_A.default",
                                                     "MatMul of " + path + ".lora_B.default",
                                                     "Mul of " + path, "Add of " + path));
  EXPECT_EQ(FindModule(report, path + ".lora_A.default")->type, "Linear");
  EXPECT_EQ(report.lora->layers, 1);
  EXPECT_EQ(report.lora->params, 2 * 4 * 64);
  EXPECT_EQ(report.training->trained_params, 2 * 4 * 64);
}

// peft runs A and B on an identity matrix of 64 x 64, for norms without a gradient.
TEST(AddAdaptersTest, DoraHasAMagnitudeAndNorms) {
  const Model model = Llama("float32");
  const Report plain = CountWith(model, "r=4:v_proj").value();
  const Report report = CountWith(model, "r=4,dora:v_proj").value();
  const std::string path = "model.layers.0.self_attn.v_proj";
  const std::string magnitude = " of " + path + ".lora_magnitude_vector.default";
  EXPECT_THAT(
      AddedNodes(model, report),
      ElementsAre("MatMul of " + path + ".lora_A.default", "MatMul of " + path + ".lora_B.default",
                  "ConstantOfShape" + magnitude, "MatMul of " + path + ".lora_A.default",
                  "MatMul of " + path + ".lora_B.default", "Mul" + magnitude, "Add of " + path,
                  "ReduceL2" + magnitude, "Div" + magnitude, "Sub" + magnitude, "Mul" + magnitude,
                  "Mul" + magnitude, "Mul" + magnitude, "Add" + magnitude, "Add of " + path));
  EXPECT_EQ(FindModule(report, path + ".lora_magnitude_vector.default")->type, "DoraLinearLayer");
  EXPECT_EQ(report.lora->params, 2 * 4 * 64 + 64);
  EXPECT_EQ(report.training->trained_params, report.lora->params);
  EXPECT_EQ(report.totals.macs - plain.totals.macs, Expr(64 * 64 * 4 + 64 * 4 * 64));
  EXPECT_EQ(report.totals.backward_macs, plain.totals.backward_macs);
}

absl::Status StatusOf(const Model& model, const std::vector<std::string>& lists) {
  CountOptions options;
  options.lora = ParseLora(lists[0]).value();
  for (size_t i = 1; i < lists.size(); ++i) {
    options.lora->more.push_back(ParseLora(lists[i]).value());
  }
  return Count(model, options).status();
}

TEST(AddAdaptersTest, ListsThatDoNotGoTogetherAreErrors) {
  const Model model = Llama("float32");
  EXPECT_THAT(std::string(StatusOf(model, {"r=4:q_proj", "r=8:all-linear"}).message()),
              HasSubstr("'r=4,alpha=8:q_proj': a later one names all of its layers"));
  EXPECT_THAT(std::string(StatusOf(model, {"r=4,base=nf4:q_proj", "r=8,dora:v_proj"}).message()),
              HasSubstr("v_proj' has a weight in few bits: DoRA's norms dequantise it again"));
  EXPECT_THAT(std::string(StatusOf(model, {"r=4:q_proj", "r=8:nothing"}).message()),
              HasSubstr("nothing"));
  EXPECT_TRUE(StatusOf(model, {"r=4:all-linear", "r=8,dora:v_proj", "r=2:q_proj"}).ok());
}

// peft keeps adapters of narrow models in float32.
TEST(AddAdaptersTest, CastsAroundAdaptersOfNarrowTypes) {
  const Model model = Llama("bfloat16");
  const Report report = CountWith(model, "r=4:o_proj").value();
  const std::string path = "model.layers.0.self_attn.o_proj";
  EXPECT_THAT(AddedNodes(model, report),
              ElementsAre("Cast of " + path, "MatMul of " + path + ".lora_A.default",
                          "MatMul of " + path + ".lora_B.default", "Mul of " + path,
                          "Cast of " + path, "Add of " + path));
  for (const NodeRow& row : report.nodes) {
    if (row.op == "Add" && row.name.find("lora") != std::string::npos) {
      EXPECT_EQ(row.outputs[0].type, "bfloat16");
    }
  }
}

TEST(AddAdaptersTest, TrainsNothingElseButWhatIsNamed) {
  CountOptions options;
  options.lora = ParseLora("r=4:v_proj").value();
  options.training.emplace().trained = {"lm_head"};
  const Report with_head = Count(Llama("float32"), options).value();
  EXPECT_EQ(with_head.training->trained_params, 2 * 4 * 64 + 64 * 1000);
  options.training->trained.clear();
  options.training->frozen = {"*.lora_A.*"};
  EXPECT_EQ(Count(Llama("float32"), options)->training->trained_params, 4 * 64);
}

TEST(AddAdaptersTest, SaysWhatIsNoLinearLayer) {
  const Model model = Llama("float32");
  EXPECT_THAT(ErrorOf(model, "r=4:v_porj"),
              HasSubstr("lora 'v_porj' names no linear layer; did you mean v_proj"));
  EXPECT_THAT(ErrorOf(model, "r=4:zzz*"), HasSubstr("linear layers are called down_proj, "));
  EXPECT_EQ(ErrorOf(model, "r=4:embed_tokens"),
            "config.json: lora 'embed_tokens': 'model.embed_tokens' is an embedding: adapters of "
            "embeddings are not counted");
  EXPECT_EQ(ErrorOf(model, "r=4:v_proj,mlp"),
            "config.json: lora 'mlp': 'model.layers.0.mlp' is of class LlamaMLP: no linear "
            "layer");
  // A pattern is for the layers below, and leaves out what is around them.
  EXPECT_EQ(CountWith(model, "r=4:*mlp*")->lora->layers, 3);
  EXPECT_EQ(CountWith(model, "r=4:layers.?.mlp.up_proj")->lora->layers, 1);
  EXPECT_THAT(ErrorOf(model, "r=4:yers.0.mlp.up_proj"), HasSubstr("names no linear layer"));
}

// peft takes a list if any of its names matches.
TEST(AddAdaptersTest, TellsNamesOfAListThatMatchNothing) {
  const Model model = Llama("float32");
  const Report report = CountWith(model, "r=4:v_proj,c_attn,zz*").value();
  EXPECT_EQ(report.lora->layers, 1);
  EXPECT_EQ(report.totals.flops, CountWith(model, "r=4:v_proj")->totals.flops);
  EXPECT_THAT(report.warnings, AllOf(Contains(HasSubstr("lora 'c_attn' names no linear layer")),
                                     Contains(HasSubstr("lora 'zz*' names no linear layer"))));
  EXPECT_THAT(ErrorOf(model, "r=4:c_attn,zz*"), HasSubstr("'c_attn' names no linear layer"));
}

TEST(AddAdaptersTest, LeavesOutTheLayerOverTheVocabulary) {
  EXPECT_EQ(CountWith(Llama("float32"), "r=4:all-linear")->lora->layers, 7);
  EXPECT_EQ(CountWith(Llama("float32"), "r=4:*")->lora->layers, 8);
}

// The same as a list of those that are left.
TEST(AddAdaptersTest, LeavesOutWhatIsNamed) {
  const Model model = Llama("float32");
  const Report listed = CountWith(model, "r=4:q_proj,k_proj,o_proj").value();
  for (const char* lora : {"r=4:all-linear,!v_proj,!*mlp*", "r=4:!*.v_proj,*self_attn*"}) {
    const Report report = CountWith(model, lora).value();
    EXPECT_EQ(report.lora->layers, 3) << lora;
    EXPECT_EQ(report.totals.flops, listed.totals.flops) << lora;
  }
  EXPECT_THAT(CountWith(model, "r=4:v_proj,!c_attn")->warnings,
              Contains(HasSubstr("lora '!c_attn' names no linear layer")));
  EXPECT_THAT(ErrorOf(model, "r=4:v_proj,! v_proj"), HasSubstr("leaves out all modules"));
}

TEST(AddAdaptersTest, SaysThatOnlyTheLayerOverTheVocabularyIsThere) {
  ModelMaker make;
  make.Input("ids", {"batch", "seq"}).Weight("table", {1000, 8}).Weight("head", {8, 1000});
  make.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->set_elem_type(onnx::TensorProto::INT64);
  make.Node("/embed/Gather", "Gather", {"table", "ids"}, {"x"});
  make.Node("/head/MatMul", "MatMul", {"x", "head"}, {"logits"}).Output("logits");
  EXPECT_THAT(ErrorOf(Made(make), "r=2:all-linear"),
              HasSubstr("there is no linear layer but those over the vocabulary"));
}

// peft leaves out the output layer alone, also where others have its shape.
TEST(AddAdaptersTest, TakesAnMlpAsWideAsTheVocabulary) {
  for (const char* tied : {"true", "false"}) {
    const std::string text = absl::StrCat(
        R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64,
            "intermediate_size": 1000, "num_hidden_layers": 2, "num_attention_heads": 4,
            "vocab_size": 1000, "tie_word_embeddings": )",
        tied, "}");
    const Model model = LoadConfig(text, "config.json", std::nullopt).value();
    const Report report = CountWith(model, "r=4:all-linear").value();
    EXPECT_EQ(report.lora->layers, 2 * 7);
    EXPECT_EQ(report.lora->params, 2 * 4 * (4 * (64 + 64) + 3 * (64 + 1000)));
    EXPECT_EQ(CountWith(model, "r=4,base=nf4:all-linear")->lora->nf4_layers, 2 * 7);
  }
}

// peft adapts these, too.
TEST(AddAdaptersTest, NamesPackedExperts) {
  constexpr char kMixtral[] =
      R"({"model_type": "mixtral", "hidden_size": 64, "intermediate_size": 128,
          "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
          "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 320})";
  const Model model = LoadConfig(kMixtral, "config.json", std::nullopt).value();
  EXPECT_THAT(CountWith(model, "r=4:all-linear")->warnings,
              Contains(HasSubstr("get no adapter (peft 0.21 adapts those of "
                                 "Mixtral, not of Qwen2-MoE): 16, in 2 layers")));
  EXPECT_THAT(CountWith(model, "r=4:q_proj")->warnings,
              testing::Not(Contains(HasSubstr("get no adapter"))));
}

// The products of a layer that runs twice have one adapter; a bias stays with the base.
TEST(AddAdaptersTest, SharesTheAdapterOfALayerThatRunsTwice) {
  ModelMaker make;
  make.Input("x", {"N", "6"}).Weight("a.l.weight", {6, 6}).Weight("a.l.bias", {6}).Output("z");
  make.Node("n0", "MatMul", {"x", "a.l.weight"}, {"h"}).Node("n1", "Add", {"h", "a.l.bias"}, {"y"});
  make.Node("n2", "MatMul", {"y", "a.l.weight"}, {"z"});
  const Report report = CountWith(Made(make), "r=2:l").value();
  EXPECT_EQ(report.lora->params, 2 * 2 * 6);
  EXPECT_EQ(report.totals.macs.ToString(), "120*N");  // 2 x (36 + 12 + 12)
  EXPECT_EQ(report.census[Kind::kMul].ToString(), "12*N");
  EXPECT_EQ(report.census[Kind::kAdd].ToString(), "18*N");  // the bias as well
  EXPECT_EQ(report.outputs[0].name, "z");
}

TEST(AddAdaptersTest, TakesGemms) {
  ModelMaker make;
  make.Input("x", {"N", "32"}).Weight("a.l.weight", {24, 32}).Weight("b", {24}).Output("y");
  make.Node("n", "Gemm", {"x", "a.l.weight", "b"}, {"y"}, {{"transB", 1}});
  EXPECT_EQ(CountWith(Made(make), "r=4:l")->totals.macs.ToString(), "992*N");  // 768 + 128 + 96
}

TEST(AddAdaptersTest, TakesQuantisedWeights) {
  ModelMaker stored;
  stored.Input("x", {"N", "32"}).Weight("a.l.weight", {24, 32}, onnx::TensorProto::INT8);
  stored.Weight("s", {}).Output("y").Node("d", "DequantizeLinear", {"a.l.weight", "s"}, {"q"});
  stored.Node("t", "Transpose", {"q"}, {"w"}).Node("/a/l/MatMul", "MatMul", {"x", "w"}, {"y"});
  EXPECT_EQ(CountWith(Made(stored), "r=4:l")->totals.macs.ToString(), "992*N");
  ModelMaker packed;
  packed.Import("com.microsoft").Input("x", {"N", "32"}).Weight("s", {24}).Output("y");
  packed.Weight("a.l.weight", {24, 1, 16}, onnx::TensorProto::UINT8);
  packed.Node("n", "MatMulNBits", {"x", "a.l.weight", "s"}, {"y"},
              {{"K", 32}, {"N", 24}, {"block_size", 32}});
  packed.node->set_domain("com.microsoft");
  const Report report = CountWith(Made(packed), "r=4,base=nf4:l").value();
  EXPECT_EQ(report.totals.macs.ToString(), "992*N");
  EXPECT_EQ(report.lora->nf4_layers, 0);  // it is in few bits already
}

// A convolution of 6 to 8 channels in two groups, 4 x 4 pixels of output.
ModelMaker Convolution() {
  ModelMaker make;
  make.Input("x", {"1", "6", "9", "9"}).Weight("a.c.weight", {8, 3, 3, 3}).Output("y");
  make.Node("n", "Conv", {"x", "a.c.weight"}, {"y"}, {{"group", 2}});
  onnx::AttributeProto* strides = make.node->add_attribute();
  strides->set_name("strides");
  strides->set_type(onnx::AttributeProto::INTS);
  for (int i = 0; i < 2; ++i) strides->add_ints(2);
  return make;
}

TEST(AddAdaptersTest, TakesConvolutions) {
  ModelMaker make = Convolution();
  const Report report = CountWith(Made(make), "r=4:c").value();
  EXPECT_EQ(report.lora->params, 4 * 6 * 9 + 8 * 2);
  EXPECT_EQ(report.totals.macs, Expr(16 * (8 * 3 * 9 + 4 * 6 * 9 + 8 * 2)));
  EXPECT_EQ(ErrorOf(Made(make), "r=3:c"),
            "test.onnx: lora r=3: 'a.c' has 2 groups, which must divide r");
  make.node->mutable_attribute(1)->set_name("dilations");
  EXPECT_THAT(ErrorOf(Made(make), "r=4:c"), HasSubstr("is dilated"));
}

TEST(AddAdaptersTest, SaysWhatNoModuleNames) {
  ModelMaker make;
  make.Input("x", {"N", "6"}).Output("z").Weight("b.weight", {6, 6});
  make.Weight("a.l.weight", {6, 6}).Weight("a.l.other", {6, 6});
  make.Node("n0", "MatMul", {"x", "a.l.weight"}, {"h"});
  make.Node("n1", "MatMul", {"h", "a.l.other"}, {"y"})
      .Node("n2", "MatMul", {"y", "b.weight"}, {"z"});
  EXPECT_EQ(ErrorOf(Made(make), "r=2:l"),
            "test.onnx: lora 'l': 'a.l' is no linear layer: its products have different weights");
  const Report report = CountWith(Made(make), "r=2:all-linear").value();
  EXPECT_EQ(report.lora->layers, 1);
  EXPECT_THAT(report.warnings, Contains(HasSubstr("get no adapter: 2")));
}

// ---- QLoRA: 4 bits, and a float32 scale for 64 of them

TEST(AddAdaptersTest, PutsTheBaseIntoFourBits) {
  const Report plain = CountWith(Llama("float32"), "r=4:v_proj").value();
  const Report report = CountWith(Llama("float32"), "r=4,base=nf4:v_proj").value();
  const int64_t weights = 4 * 64 * 64 + 3 * 64 * 96;  // all but the output layer
  EXPECT_EQ(report.lora->nf4_layers, 7);
  EXPECT_EQ(report.training->params, plain.training->params);
  EXPECT_EQ(report.totals.param_bytes,
            plain.totals.param_bytes - Expr(weights * 4) + Expr(weights / 2 + weights / 64 * 4));
  EXPECT_EQ(report.totals.bytes_read,
            plain.totals.bytes_read - Expr(weights * 4) + Expr(weights / 2 + weights / 64 * 4));
  EXPECT_EQ(report.totals.macs, plain.totals.macs);
  EXPECT_EQ(report.totals.backward_macs, plain.totals.backward_macs);
  EXPECT_EQ(report.census[Kind::kMul], plain.census[Kind::kMul] + Expr(weights));
}

// l is a Gemm with a bias and a transposed weight; the weight of m is used elsewhere as well.
TEST(AddAdaptersTest, LeavesTiedWeightsAsTheyAre) {
  ModelMaker make;
  make.Input("x", {"N", "64"}).Output("z").Weight("a.l.weight", {64, 64});
  make.Weight("a.l.bias", {64}).Weight("a.m.weight", {64, 64});
  make.Node("t", "Transpose", {"a.l.weight"}, {"w"});
  make.Node("/a/l/Gemm", "Gemm", {"x", "w", "a.l.bias"}, {"h"});
  make.Node("n1", "MatMul", {"h", "a.m.weight"}, {"y"});
  make.Node("n2", "Relu", {"y"}, {"z"}).Node("n3", "Neg", {"a.m.weight"}, {"other"});
  make.Output("other");
  const Report report = CountWith(Made(make), "r=2,base=nf4:l").value();
  EXPECT_EQ(report.lora->nf4_layers, 1);
  EXPECT_EQ(report.totals.macs.ToString(), "8448*N");        // 2 x 4096 + 2 x 128
  EXPECT_EQ(report.census[Kind::kAdd].ToString(), "128*N");  // the bias and the adapter
  EXPECT_EQ(report.training->trained_params, 256);
}

}  // namespace
}  // namespace onnxflops::add_adapters_test
