// The products of a backward pass, by a tape: textbook loops over a number that remembers what it
// was made of. Walking back, each multiply-accumulate takes one for each factor that needs a
// gradient. The rules in ops/ must give as many, for every choice of inputs that need one. Where
// tests/data/gradient_truth.json has a case of the name, PyTorch executed as many as well.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/registry.h"
#include "tests/model_maker.h"
#include "tests/training/tape.h"
#include "tests/training/tape_loops.h"

namespace onnxflops::gradient_tape_test {
namespace {

using Json = nlohmann::json;
using Ints = std::map<std::string, int64_t>;
using Strings = std::map<std::string, std::string>;

// An input that the file holds otherwise, and that never needs a gradient.
struct Stored {
  Sizes dims;
  int type;
};

// score_mod of FlexAttention, on scores `s`.
enum class Modifier { kNone, kTanh, kProduct };

struct TapeCase {
  std::string what, op, domain;
  int opset;
  std::vector<Sizes> inputs;  // {}: left out
  Ints ints;
  Strings strings;
  Loop loop;
  std::map<std::string, float> floats = {};
  std::map<size_t, Stored> stored = {};
  Modifier modifier = Modifier::kNone;  // kProduct: with the last input
};

constexpr char kMs[] = "com.microsoft";
constexpr char kPreview[] = "ai.onnx.preview";

// `what` is "Attention with a cap of com.microsoft": the operator first, its domain last.
TapeCase CaseOf(const std::string& what, int opset, const std::vector<Sizes>& inputs,
                const Ints& ints, const Loop& loop, const Strings& strings = {}) {
  TapeCase c = {what, what.substr(0, what.find_first_of(" ,")), "", opset, inputs, ints, strings,
                loop};
  for (const char* domain : {kMs, kPreview}) {
    if (absl::EndsWith(what, domain)) c.domain = domain;
  }
  return c;
}

// ---- the cases: all sizes of one differ

std::vector<TapeCase> Products() {
  const Strings leaky = {{"activation", "LeakyRelu"}};
  return {
      CaseOf("MatMul", 13, {{3, 5}, {5, 7}}, {}, Product(false, false)),
      CaseOf("Einsum", 12, {{2, 3, 5}, {5, 4, 2}}, {}, BatchedSum, {{"equation", "bij,jkb->bik"}}),
      CaseOf("Gemm", 13, {{5, 3}, {7, 5}, {7}}, {{"transA", 1}, {"transB", 1}},
             Product(true, true)),
      CaseOf("FusedMatMul of com.microsoft", 17, {{5, 3}, {5, 7}}, {{"transA", 1}},
             Product(true, false)),
      CaseOf("FusedMatMul transposed, of com.microsoft", 17, {{3, 5}, {2, 5}}, {{"transB", 1}},
             Product(false, true)),
      CaseOf("FusedMatMulActivation of com.microsoft", 17, {{4, 3}, {3, 2}}, {},
             Product(false, false), {{"activation", "Relu"}}),
      CaseOf("FusedGemm of com.microsoft", 17, {{2, 5}, {7, 5}, {7}}, {{"transB", 1}},
             Product(false, true), leaky),
      CaseOf("GemmFastGelu of com.microsoft", 17, {{4, 5}, {5, 3}, {3}}, {}, Product(false, false)),
  };
}

std::vector<TapeCase> Convolutions() {
  const Sizes offset = {2, 12, 5, 3}, mask = {2, 6, 5, 3};
  const Strings silu = {{"activation", "silu"}};
  TapeCase packed =
      CaseOf("VarlenCausalConvWithState of com.microsoft", 17,
             {{7, 3}, {3, 1, 4}, {3}, {3}, {2, 3, 3}}, {}, PackedConvolution({3, 4}), silu);
  packed.stored[2] = {{3}, onnx::TensorProto::INT32};
  return {
      CaseOf("Conv", 17, {{2, 4, 7, 6}, {6, 2, 3, 2}, {6}}, {{"group", 2}}, Convolution(2, 1)),
      CaseOf("ConvTranspose", 17, {{2, 4, 5}, {4, 3, 3}}, {{"group", 2}}, TransposedConvolution(2)),
      CaseOf("FusedConv of com.microsoft", 17, {{2, 3, 7, 5}, {4, 3, 3, 2}, {4}}, {},
             Convolution(1, 1), {{"activation", "Relu"}}),
      CaseOf("FusedConv with Z, of com.microsoft", 17,
             {{2, 3, 7, 5}, {4, 3, 3, 2}, {4}, {2, 4, 5, 4}}, {}, Convolution(1, 1),
             {{"activation", "Sigmoid"}}),
      CaseOf("DeformConv", 19, {{2, 3, 6, 5}, {4, 3, 2, 3}, offset, {4}, mask}, {},
             DeformableConvolution),
      CaseOf("CausalConvWithState", 27, {{2, 3, 7}, {3, 1, 4}, {3}, {2, 3, 3}}, {},
             CausalConvolution, silu),
      CaseOf("CausalConvWithState of com.microsoft", 17, {{2, 3, 7}, {3, 1, 4}, {3}, {2, 3, 3}}, {},
             CausalConvolution, silu),
      packed,
  };
}

std::vector<TapeCase> Attentions() {
  const auto shared = [](int64_t heads, int64_t kv_heads) {
    return [=](Tape* tape, std::vector<Taped>* in) {
      return SharedAttention(tape, in, heads, kv_heads);
    };
  };
  const auto projected = [](Tape* tape, std::vector<Taped>* in) {
    return ProjectedAttention(tape, in, 2);
  };
  const Ints two = {{"num_heads", 2}}, four = {{"q_num_heads", 4}, {"kv_num_heads", 2}};
  const Ints grouped = {{"num_heads", 4}, {"kv_num_heads", 2}};
  const std::vector<Sizes> qkv = {{2, 3, 20}, {2, 5, 10}, {2, 5, 6}};
  TapeCase capped = CaseOf("Attention with a softcap", 23, qkv, four, shared(4, 2));
  TapeCase capped_ms = CaseOf("GroupQueryAttention with a softcap, of com.microsoft", 17,
                              {{2, 3, 20}, {2, 3, 10}, {2, 3, 10}}, grouped, shared(4, 2));
  capped.floats = capped_ms.floats = {{"softcap", 2.5f}};
  const std::vector<Sizes> apart = {{2, 4, 3, 5}, {2, 2, 7, 5}, {2, 2, 7, 6}};
  TapeCase bent =
      CaseOf("FlexAttention with score_mod, of ai.onnx.preview", 26, apart, {}, HeadsApart);
  bent.modifier = Modifier::kTanh;
  TapeCase mixed = CaseOf("FlexAttention with a product in score_mod, of ai.onnx.preview", 26,
                          apart, {}, HeadsApart);
  mixed.inputs.push_back({7, 7});
  mixed.modifier = Modifier::kProduct;
  return {
      bent,
      mixed,
      capped,
      capped_ms,
      CaseOf("Attention", 23, qkv, four, shared(4, 2)),
      CaseOf("Attention of com.microsoft", 17, {{2, 3, 5}, {5, 24}, {24}}, two, projected),
      CaseOf("MultiHeadAttention of com.microsoft", 17, {{2, 3, 10}, {2, 7, 10}, {2, 7, 6}}, two,
             shared(2, 2)),
      CaseOf("GroupQueryAttention of com.microsoft", 17, {{2, 3, 20}, {2, 3, 10}, {2, 3, 10}},
             grouped, shared(4, 2)),
      CaseOf("FlexAttention of ai.onnx.preview", 26, apart, {}, HeadsApart),
  };
}

std::vector<TapeCase> Recurrences() {
  const auto rnn = [](Tape* tape, const std::vector<size_t>& sums, size_t) {
    return tape->Make({sums[0]});
  };
  const auto gru = [](Tape* tape, const std::vector<size_t>& sums, size_t h) {
    return tape->Make({sums[0], sums[1], sums[2], h});
  };
  const auto lstm = [](bool coupled) {
    return
        [=](Tape* tape, std::vector<Taped>* in) { return LongShortTermMemory(tape, in, coupled); };
  };
  const Ints four = {{"hidden_size", 4}};
  const Ints coupled = {{"hidden_size", 4}, {"input_forget", 1}};
  const Ints after = {{"hidden_size", 4}, {"linear_before_reset", 1}};
  const std::vector<Sizes> three_gates = {{3, 2, 5}, {1, 12, 5}, {1, 12, 4}};
  const std::vector<Sizes> peepholes = {{3, 2, 5}, {1, 16, 5}, {1, 16, 4}, {}, {}, {}, {}, {1, 12}};
  return {
      CaseOf("RNN", 14, {{3, 2, 5}, {1, 4, 5}, {1, 4, 4}}, four, Recurrent(1, rnn)),
      CaseOf("GRU", 14, three_gates, after, Recurrent(3, gru)),
      CaseOf("GRU, reset before", 14, three_gates, four, ResetBefore),
      CaseOf("LSTM", 14, {{3, 2, 5}, {1, 16, 5}, {1, 16, 4}}, four, lstm(false)),
      CaseOf("LSTM with peepholes", 14, peepholes, four, lstm(false)),
      CaseOf("LSTM, coupled", 14, {{3, 2, 5}, {1, 16, 5}, {1, 16, 4}}, coupled, lstm(true)),
  };
}

std::vector<TapeCase> LinearAttentions() {
  const Ints heads = {{"q_num_heads", 4}, {"kv_num_heads", 2}};
  const auto rule = [](const char* name) { return Strings{{"update_rule", name}}; };
  const Sizes q = {2, 3, 12}, k = {2, 3, 6}, v = {2, 3, 10}, past = {2, 2, 3, 5}, gate = {2, 3, 2};
  std::vector<TapeCase> cases;
  for (const char* domain : {"", ", of com.microsoft"}) {
    const auto add = [&](const char* name, const std::vector<Sizes>& inputs, bool gated,
                         bool delta) {
      const bool has_past = inputs.size() > 3 && !inputs[3].empty();
      cases.push_back(
          CaseOf(absl::StrCat("LinearAttention ", name, has_past ? ", past" : "", domain), 27,
                 inputs, heads, StateOverSteps(4, 2, gated, delta), rule(name)));
    };
    add("linear", {q, k, v}, false, false);
    add("linear", {q, k, v, past}, false, false);
    add("gated", {q, k, v, {}, gate}, true, false);
    add("delta", {q, k, v, {}, {}, gate}, false, true);
    add("gated_delta", {q, k, v, {}, gate, gate}, true, true);
    add("gated_delta", {q, k, v, past, gate, gate}, true, true);
  }
  cases.push_back(CaseOf("GatedDeltaNet of com.microsoft", 17,
                         {{2, 3, 2, 5}, {2, 3, 2, 5}, {2, 3, 2, 4}, {}, gate, gate}, {},
                         StateOverSteps(2, 2, true, true)));
  return cases;
}

std::vector<TapeCase> Mixtures() {
  // Two weights in a byte; the scales are per row.
  TapeCase quantised =
      CaseOf("QMoE of com.microsoft", 17,
             {{5, 4}, {5, 4}, {4, 6, 4}, {4, 6}, {}, {4, 4, 6}, {4, 4}}, {{"k", 2}},
             [](Tape* tape, std::vector<Taped>* in) {
               std::vector<Taped> plain = {(*in)[0], (*in)[1], (*in)[2], (*in)[3], (*in)[5]};
               return Mixture(2, false)(tape, &plain);
             },
             {{"activation_type", "silu"}});
  quantised.stored = {{2, {{4, 6, 2}, onnx::TensorProto::UINT8}},
                      {3, {{4, 6}, onnx::TensorProto::FLOAT}},
                      {5, {{4, 4, 3}, onnx::TensorProto::UINT8}},
                      {6, {{4, 4}, onnx::TensorProto::FLOAT}}};
  const Sizes x = {5, 3}, router = {5, 4}, fc1 = {4, 6, 3}, fc2 = {4, 3, 6};
  const Ints two = {{"k", 2}}, fused = {{"k", 1}, {"swiglu_fusion", 1}};
  return {
      quantised,
      CaseOf("MoE of com.microsoft", 17, {x, router, fc1, {}, fc2}, two, Mixture(2, false)),
      CaseOf("MoE with a gate, of com.microsoft", 17, {x, router, fc1, {}, fc2, {}, fc1}, two,
             Mixture(2, false), {{"activation_type", "silu"}}),
      CaseOf("MoE with SwiGLU, of com.microsoft", 17, {x, router, {4, 12, 3}, {}, fc2}, fused,
             Mixture(1, true), {{"activation_type", "swiglu"}}),
  };
}

// ---- both

std::string NameOf(size_t input) { return absl::StrCat("i", input); }

int64_t ByTape(const TapeCase& c, size_t needed) {
  Tape tape;
  std::vector<Taped> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    Taped& input = inputs.emplace_back(c.inputs[i]);
    for (size_t& element : input.elements) element = tape.Leaf((needed >> i & 1) != 0);
  }
  return tape.Backward(c.loop(&tape, &inputs));
}

// The body of score_mod; the product is with a value of the graph around it.
void AddModifier(const TapeCase& c, onnx::NodeProto* node) {
  if (c.modifier == Modifier::kNone) return;
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name("score_mod");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto* body = attribute->mutable_g();
  body->set_name("mod");
  ModelMaker::Declare(body->add_input(), "s", {"B", "H", "L", "S"});
  const bool product = c.modifier == Modifier::kProduct;
  ModelMaker::AddNode(
      body, "m", product ? "MatMul" : "Tanh",
      product ? ModelMaker::Strings{"s", NameOf(c.inputs.size() - 1)} : ModelMaker::Strings{"s"},
      {"t"});
  body->add_output()->set_name("t");
}

// Inputs that need a gradient are inputs of the graph, others frozen weights, or a state that is
// stored, which nothing trains.
absl::StatusOr<Report> ByRule(const TapeCase& c, size_t needed) {
  ModelMaker make(c.opset);
  onnx::OperatorSetIdProto* contrib = make.proto.add_opset_import();
  contrib->set_domain(kMs);
  contrib->set_version(1);
  CountOptions options;
  options.training.emplace().input_gradients = true;
  const FoundOp found = FindOp(c.domain, c.op, c.domain.empty() ? c.opset : 1);
  const uint32_t states = found.def == nullptr ? 0 : found.def->operands.states;
  ModelMaker::Strings names;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    names.push_back(c.inputs[i].empty() ? "" : NameOf(i));
    if (c.inputs[i].empty()) continue;
    if (const auto stored = c.stored.find(i); stored != c.stored.end()) {
      make.Weight(names.back(), stored->second.dims, stored->second.type);
      if (stored->second.type == onnx::TensorProto::UINT8) options.training->frozen = {"*"};
      continue;
    }
    ModelMaker::Strings sizes;
    for (int64_t size : c.inputs[i]) sizes.push_back(absl::StrCat(size));
    if ((needed >> i & 1) != 0) {
      make.Input(names.back(), sizes);
    } else {
      make.Weight(names.back(), c.inputs[i]);
      if ((states >> i & 1) == 0) options.training->frozen = {"*"};
    }
  }
  if (c.domain == kPreview) {
    onnx::OperatorSetIdProto* preview = make.proto.add_opset_import();
    preview->set_domain(kPreview);
    preview->set_version(1);
  }
  if (c.modifier == Modifier::kProduct) names.pop_back();
  make.Node("n", c.op, names, {"y"}, c.ints).Output("y");
  make.node->set_domain(c.domain);
  AddModifier(c, make.node);
  for (const auto& [name, value] : c.strings) {
    onnx::AttributeProto* attribute = make.node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(value);
  }
  for (const auto& [name, value] : c.floats) {
    onnx::AttributeProto* attribute = make.node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::FLOAT);
    attribute->set_f(value);
  }
  return make.Count(options);
}

void ExpectEqualProducts(const TapeCase& c, const Json& torch) {
  SCOPED_TRACE(c.what);
  size_t checked = 0;
  for (size_t needed = 1; needed < size_t{1} << c.inputs.size(); ++needed) {
    bool may_need = true;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const bool never = c.inputs[i].empty() || c.stored.contains(i);
      may_need = may_need && !(never && (needed >> i & 1) != 0);
    }
    if (!may_need) continue;
    SCOPED_TRACE(needed);
    const absl::StatusOr<Report> report = ByRule(c, needed);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->training->unknown.empty()) << report->training->unknown[0].reason;
    EXPECT_EQ(report->totals.backward_macs, Expr(ByTape(c, needed)));
    const std::string key = std::to_string(needed);
    if (torch.contains(key)) {
      EXPECT_EQ(report->totals.backward_macs, Expr(torch[key].get<int64_t>()));
      ++checked;
    }
  }
  EXPECT_EQ(checked, torch.size());
}

TEST(GradientTapeTest, EveryProductIsCounted) {
  std::map<std::string, Json> torch;
  const Json truth =
      Json::parse(std::ifstream(ONNXFLOPS_SOURCE_DIR "/tests/data/gradient_truth.json"));
  for (const Json& row : truth["cases"]) torch[row["case"]] = row["macs"];
  for (const auto& cases :
       {Products(), Convolutions(), Attentions(), Recurrences(), LinearAttentions(), Mixtures()}) {
    for (const TapeCase& c : cases) {
      const auto known = torch.extract(c.what);
      ExpectEqualProducts(c, known.empty() ? Json::object() : known.mapped());
    }
  }
  EXPECT_TRUE(torch.empty()) << "no case here: " << torch.begin()->first;
}

}  // namespace
}  // namespace onnxflops::gradient_tape_test
