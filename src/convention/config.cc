// Formulas for a training step of a whole model, and what they leave out.
//
//   config-6n    6 * N * T: 2 for the forward pass, 4 for the backward pass
//   config-2.5n  7.5 * N * B * S: 2.5 for the forward pass, twice that for the backward pass
//   palm, megatron, nanogpt, chinchilla, llm-foundry, torchtitan, maxtext, megatron-bridge:
//   formulas.h
//
// N is the number of parameters in the file, T the number of tokens in a sequence. These formulas
// know no nodes, so all their amounts belong to the whole model. Our own count of the same kind of
// work (products of linear layers, of attention, all others) shows how far each part of a formula
// is off.
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/convention/conventions.h"
#include "src/convention/formulas.h"

namespace onnxflops::convention {
namespace config {
namespace {

constexpr int kForwardAndBackward = 3;
constexpr char kNoBackward[] = "a training step is counted: twice the forward pass more";

const char* ReasonOfLinear(Formula formula) {
  switch (formula) {
    case Formula::k25n:
      return "7.5 a parameter and token, where a product and its gradients are 6; biases and norms "
             "as well";
    case Formula::kMegatron:
      return "12 of the width squared a layer and the output layer, whatever layers there are";
    case Formula::kChinchilla:
      return "four projections as wide as all heads, an MLP of two matrices, and an output layer";
    case Formula::kTorchtitan:
      return "6 for every parameter and token: biases and norms as well";
    case Formula::kMaxText:
      return "the projections of all heads, the matrices of the MLP, and an output layer, whatever "
             "layers there are";
    case Formula::kMegatronBridge:
      return "projections of heads, matrices of MLPs and of a token's experts, and an output "
             "layer, "
             "whatever layers there are; layers that predict further tokens, and no router";
    default:
      return "6 for every parameter and token: biases and norms as well, an output layer only if "
             "the file holds it apart from the embedding";
  }
}

const char* ReasonOfScores(Formula formula) {
  switch (formula) {
    case Formula::k6n:
    case Formula::k25n:
      return "left out";
    case Formula::kLlmFoundry:
      return "by the width of a token, for heads of any size, and over the whole sequence";
    case Formula::kMaxText:
    case Formula::kMegatronBridge:
      return "half of a whole sequence, for a causal mask, however long the past or the window is";
    default:
      return "every layer looks at a whole sequence, however long the past or the window is";
  }
}

Ledger ApplyFormula(Evidence* evidence, Formula formula) {
  const FormulaFacts& facts = evidence->formula_facts();
  const absl::StatusOr<FormulaFlops> theirs = PartsOfFormula(formula, facts);
  if (!theirs.ok()) return LedgerBuilder::NotApplicable(std::string(theirs.status().message()));
  const Amounts& total = evidence->counts().total.amounts;
  const Expr products = kForwardAndBackward * (total.flops - total.other_flops);
  const Expr scores = kForwardAndBackward * facts.attention.flops;
  const Expr ours = kForwardAndBackward * total.flops;

  LedgerBuilder ledger(evidence, Unit::kFlop);
  const auto add = [&](const char* name, absl::string_view reason, const Expr& amount) {
    ledger.CountModel(evidence->Intern(amount), ledger.Term(name, reason));
  };
  add(kBackwardPass, kNoBackward, ours);
  add("linear layers", ReasonOfLinear(formula), theirs->linear - (products - scores));
  add("embeddings as products", "a table that is only looked up multiplies nothing",
      theirs->embeddings);
  add("attention products QK' and PV", ReasonOfScores(formula), theirs->scores - scores);
  add("norms, activations and other operations",
      theirs->others.is_zero() ? "left out" : "3 for every score of attention alone",
      theirs->others - (ours - products));
  ledger.Assume("N is what the file holds as parameters, tied or folded ones as exported");
  // Others that read it have found matrices of this width.
  if (formula == Formula::kChinchilla && facts.mlp_width_assumed) {
    ledger.Assume("the MLP is four times as wide as a token, as in all models of the paper");
  }
  ledger.SetParams(facts.parameters.n->literal());
  return ledger.Finish([](EntryId) { return kSame; });
}

template <Formula formula>
Ledger Apply(Evidence* evidence) {
  return ApplyFormula(evidence, formula);
}

constexpr Convention OfStep(ConventionInfo info, Ledger (*apply)(Evidence* evidence)) {
  info.passes = kForwardAndBackward;
  return {info, apply};
}

constexpr char kMissesAll[] = "attention products; that embeddings multiply nothing";
constexpr char kMissesEmbeddings[] = "that embeddings multiply nothing; norms and activations";

}  // namespace
}  // namespace config

const Convention kConfig6n = config::OfStep(
    {"config-6n", Unit::kFlop, "6 x parameters x tokens, of a training step",
     "the rule of thumb of arXiv:2001.08361, section 2.1, and arXiv:2204.02311, appendix B",
     "2 per parameter and token forward, 4 backward", config::kMissesAll},
    config::Apply<Formula::k6n>);

const Convention kConfig25n = config::OfStep(
    {"config-2.5n", Unit::kFlop, "2.5 x parameters x batch x sequence, and backward twice that",
     "an estimate in use for MFU: forward 2.5 per parameter and token \"for vision and text\"",
     "2.5 per parameter and token forward, 5 backward", config::kMissesAll},
    config::Apply<Formula::k25n>);

const Convention kPalm = config::OfStep(
    {"palm", Unit::kFlop, "(6 N + 12 L H Q T) x tokens, of a training step",
     "PaLM, arXiv:2204.02311, appendix B",
     "6 per parameter and token; attention products of L layers with H heads of size Q",
     config::kMissesEmbeddings},
    config::Apply<Formula::kPalm>);

const Convention kMegatron = config::OfStep(
    {"megatron", Unit::kFlop, "72 B L s h^2 (1 + s / 6h + V / 12hL), of a training step",
     "Megatron, arXiv:2205.05198, equation of the appendix, and Megatron-LM's README",
     "layers of 12 h^2 parameters, attention products, the output layer",
     "grouped heads, gated MLPs and experts; norms and activations"},
    config::Apply<Formula::kMegatron>);

const Convention kNanoGpt = config::OfStep(
    {"nanogpt", Unit::kFlop, "(6 (N - P) + 12 L H Q T) x tokens, of a training step",
     "karpathy/nanoGPT, model.py: estimate_mfu and get_num_params",
     "6 per parameter and token, without the P parameters of positions; attention products",
     "norms and activations; an embedding of tokens multiplies nothing where it is not tied"},
    config::Apply<Formula::kNanoGpt>);

const Convention kChinchilla = config::OfStep(
    {"chinchilla", Unit::kFlop, "3 x (embeddings + L (attention + dense block) + logits)",
     "Chinchilla, arXiv:2203.15556, appendix F",
     "products of layers, attention, embeddings and logits; 3 a score for softmax",
     "grouped heads, gated MLPs and experts; norms, activations and biases"},
    config::Apply<Formula::kChinchilla>);

const Convention kLlmFoundry =
    config::OfStep({"llm-foundry", Unit::kFlop, "(6 N + 12 L d T) x tokens, of a training step",
                    "mosaicml/llm-foundry, scripts/train/benchmarking/README.md",
                    "6 per parameter and token; attention products of L layers of width d",
                    "heads whose sizes do not add up to the width; norms and activations"},
                   config::Apply<Formula::kLlmFoundry>);

const Convention kTorchtitan = config::OfStep(
    {"torchtitan", Unit::kFlop, "(6 (N - E) + 12 L H Q T) x tokens, of a training step",
     "pytorch/torchtitan: get_dense_model_nparams_and_flops, get_moe_model_nparams_and_flops",
     "6 per parameter and token, without tables that are only looked up; attention products",
     "causal masks; norms and activations"},
    config::Apply<Formula::kTorchtitan>);

const Convention kMaxText = config::OfStep(
    {"maxtext", Unit::kFlop, "3 x (MLPs + projections + logits) + half of attention, of a step",
     "AI-Hypercomputer/maxtext, maxtext_utils.py: calculate_tflops_training_per_device",
     "products of layers with grouped heads and gated MLPs, half of attention, logits",
     "norms, activations and biases; windows"},
    config::Apply<Formula::kMaxText>);

const Convention kMegatronBridge = config::OfStep(
    {"megatron-bridge", Unit::kFlop, "as maxtext, attention by the squares of the samples' tokens",
     "NVIDIA-NeMo/Megatron-Bridge, flop_utils.py: num_floating_point_operations",
     "products of layers with grouped heads or latent attention, gated MLPs and experts, half of "
     "attention, logits, layers that predict further tokens",
     "norms, activations, biases and routers; the padding of its vocabulary is not here"},
    config::Apply<Formula::kMegatronBridge>);

}  // namespace onnxflops::convention
