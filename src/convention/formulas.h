// The formulas that others compute the FLOPs of a training step by: parameters times tokens, with
// or without attention.
//
//   FormulaParameters p;
//   p.n = 124439808; p.l = 12; p.h = 12; p.q = 64; p.t = 1024; p.tokens = 16 * 1024;
//   FlopsByFormula(Formula::kPalm, p)   // (6 N + 12 L H Q T) * tokens
//
// `mfu` and `compare` both take them from here.
#ifndef ONNXFLOPS_SRC_CONVENTION_FORMULAS_H_
#define ONNXFLOPS_SRC_CONVENTION_FORMULAS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// The parameters of the formulas. A parameter is nullopt if the model does not show it.
struct FormulaParameters {
  std::optional<Expr> n;       // parameters, including embeddings
  std::optional<Expr> a;       // of n, those that a token reaches: without other experts
  std::optional<Expr> l;       // layers with attention
  std::optional<Expr> h;       // heads
  std::optional<Expr> q;       // size of a head
  std::optional<Expr> t;       // tokens of a sequence
  std::optional<Expr> v;       // size of the vocabulary
  std::optional<Expr> p;       // parameters of the position embedding
  std::optional<Expr> d;       // width of a token
  std::optional<Expr> f;       // width inside the MLP
  std::optional<Expr> k;       // heads of keys and values
  std::optional<Expr> x;       // matrices [d, f] of an MLP: 2, or 3 if it has a gate
  std::optional<Expr> m;       // layers with experts
  std::optional<Expr> r;       // experts that a token is routed to
  std::optional<Expr> w;       // width inside an expert
  std::optional<Expr> s;       // width inside the experts that every token takes, together
  std::optional<Expr> y;       // layers that predict further tokens in training
  std::optional<Expr> c;       // latent attention: size of a token's query, 0 if it has none
  std::optional<Expr> u;       // latent attention: size of a token's keys and values
  std::optional<Expr> g;       // latent attention: of q, the part with positions
  std::optional<Expr> o;       // latent attention: size of a value
  std::optional<Expr> tokens;  // of a step, over all devices
  std::optional<Expr> s2;      // sum of the squares of the samples' tokens, over all devices
  // The E of formulas: of n, those that are only looked up and multiply nothing.
  std::optional<Expr> embeddings;
};

struct FormulaParameter {
  absl::string_view name;
  std::optional<Expr> FormulaParameters::*value;
};
inline constexpr FormulaParameter kFormulaParameters[] = {
    {"n", &FormulaParameters::n},           {"a", &FormulaParameters::a},
    {"e", &FormulaParameters::embeddings},  {"l", &FormulaParameters::l},
    {"h", &FormulaParameters::h},           {"q", &FormulaParameters::q},
    {"t", &FormulaParameters::t},           {"v", &FormulaParameters::v},
    {"p", &FormulaParameters::p},           {"d", &FormulaParameters::d},
    {"f", &FormulaParameters::f},           {"k", &FormulaParameters::k},
    {"x", &FormulaParameters::x},           {"m", &FormulaParameters::m},
    {"r", &FormulaParameters::r},           {"w", &FormulaParameters::w},
    {"s", &FormulaParameters::s},           {"y", &FormulaParameters::y},
    {"c", &FormulaParameters::c},           {"u", &FormulaParameters::u},
    {"g", &FormulaParameters::g},           {"o", &FormulaParameters::o},
    {"tokens", &FormulaParameters::tokens}, {"s2", &FormulaParameters::s2},
};
// "n=124439808", "tokens=16384". InvalidArgument, with the names.
absl::Status SetFormulaParameter(absl::string_view text, FormulaParameters* parameters);

enum class Formula : uint8_t {
  k6n,
  k6nActive,
  k25n,
  kPalm,
  kPalmActive,
  kPalmCausalHalf,
  kMegatron,
  kNanoGpt,
  kChinchilla,
  kLlmFoundry,
  kTorchtitan,
  kMaxText,
  kMegatronBridge,
};

struct FormulaInfo {
  Formula formula;
  absl::string_view name;
  absl::string_view text;    // FLOPs of a step
  absl::string_view source;  // who uses it
  absl::string_view reads;   // its parameters, separated by blanks
  // What a program takes for T: a length that it is configured to, whatever the samples are. Empty
  // for a formula of one sequence, whose T is that of each sample.
  absl::string_view length = {};
};
inline constexpr FormulaInfo kFormulas[] = {
    {Formula::k6n, "6n", "6 N tokens", "Kaplan et al., arXiv 2001.08361", "n tokens"},
    {Formula::k6nActive, "6n_active", "6 A tokens",
     "mixtures of experts: parameters that a token meets", "a tokens"},
    {Formula::k25n, "2.5n", "7.5 N tokens: 2.5 forward, twice that backward",
     "an estimate in use for models of vision and text", "n tokens"},
    {Formula::kPalm, "palm", "(6 N + 12 L H Q T) tokens", "PaLM, arXiv 2204.02311, appendix B",
     "n l h q t tokens"},
    {Formula::kPalmActive, "palm_active", "(6 A + 12 L H Q T) tokens",
     "palm with the parameters that a token meets", "a l h q t tokens"},
    {Formula::kPalmCausalHalf, "palm_causal_half", "(6 N + 6 L H Q T) tokens",
     "palm with half of the scores", "n l h q t tokens"},
    {Formula::kMegatron, "megatron", "72 L (HQ)^2 (1 + T / (6 HQ) + V / (12 HQ L)) tokens",
     "Megatron, arXiv 2205.05198", "l h q t v tokens"},
    {Formula::kNanoGpt, "nanogpt", "(6 (N - P) + 12 L H Q T) tokens",
     "nanoGPT, estimate_mfu: without the position embedding", "n p l h q t tokens", "block_size"},
    {Formula::kChinchilla, "chinchilla", "3 (L (8 D HQ + 4 HQ T + 3 H T + 4 D F) + 4 V D) tokens",
     "Chinchilla, arXiv 2203.15556, appendix F: embeddings as products, softmax 3 a score",
     "l h q t v d f tokens"},
    {Formula::kLlmFoundry, "llm-foundry", "(6 N + 12 L D T) tokens",
     "llm-foundry, scripts/train/benchmarking: by the width, not by heads", "n l d t tokens",
     "max_seq_len"},
    {Formula::kTorchtitan, "torchtitan", "(6 (N - E) + 12 L H Q T) tokens",
     "torchtitan, get_dense_model_nparams_and_flops and get_moe_model_nparams_and_flops: without "
     "tables that are only looked up, of experts those that a token meets",
     "n e l h q t tokens", "seq_len"},
    {Formula::kMaxText, "maxtext", "3 (L (2 X D F + 4 D (H + K) Q + 2 H Q T) + 2 V D) tokens",
     "MaxText, maxtext_utils.py, calculate_tflops_training_per_device: half of the scores",
     "l h q t v d f k x tokens", "max_target_length"},
    {Formula::kMegatronBridge, "megatron-bridge",
     "3 (L (2 X D F + 4 D (H + K) Q) + 2 V D) tokens + 6 L H Q S2",
     "Megatron-Bridge, flop_utils.py, num_floating_point_operations: half of the scores of each "
     "sample",
     "l h q v d f k x tokens s2"},
};

// What Megatron-Bridge's formula is for layers of other kinds. A layer that predicts further tokens
// is one more layer like the last one, with norms, a projection and logits of its own.
inline constexpr absl::string_view kBridgeOfExperts =
    "3 (2 X D ((L - M) F + (M + Y) (R W + S)) + 4 (L + Y) D (H + K) Q + 2 (1 + Y) V D + Y (6 D + 4 "
    "D^2)) tokens + 6 (L + Y) H Q S2";
inline constexpr absl::string_view kBridgeOfLatent =
    "6 (X D ((L - M) F + (M + Y) (R W + S)) + (L + Y) (C (D + H Q + 1) or D H Q if C = 0, + U (D + "
    "H (Q - G + O) + 1) + D G + H O D) + (1 + Y) V D + Y (3 D + 2 D^2)) tokens + 3 (L + Y) H (Q + "
    "O) S2";

// The formula's row of kFormulas, as it is for these layers: the text and parameters of
// Megatron-Bridge's differ.
FormulaInfo InfoOfLayers(Formula formula, bool experts, bool latent);
// FailedPrecondition, with the parameters that are missing.
absl::Status CheckParameters(const FormulaInfo& info, const FormulaParameters& parameters);

// FLOPs of a training step, by the kind of work that a formula assigns them to.
struct FormulaFlops {
  Expr linear, embeddings, scores, others;
  Expr Total() const { return linear + embeddings + scores + others; }
};

// FailedPrecondition, with the parameters that are missing; OutOfRange for an overflow of 128 bits.
absl::StatusOr<FormulaFlops> PartsOfFormula(Formula formula, const FormulaParameters& parameters);
// Their sum, a number. Expects parameters that are numbers.
absl::StatusOr<absl::int128> FlopsByFormula(Formula formula, const FormulaParameters& parameters);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CONVENTION_FORMULAS_H_
