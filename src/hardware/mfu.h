// Model FLOPs utilisation, and the formulas that others compute it by.
//
//   FormulaParameters p;
//   p.n = 124439808; p.l = 12; p.h = 12; p.q = 64; p.t = 1024; p.tokens = 16 * 1024;
//   FlopsByFormula(Formula::kPalm, p)   // (6 N + 12 L H Q T) * tokens
//   Utilisation(flops, seconds, devices, peak)
//
// MFU = FLOPs of the model per step / (seconds per step x devices x peak). It counts forward and
// backward once: no recomputation, no optimizer. HFU counts recomputation, too.
#ifndef ONNXFLOPS_SRC_HARDWARE_MFU_H_
#define ONNXFLOPS_SRC_HARDWARE_MFU_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

// What the formulas read. Where the model does not tell, a parameter is not there.
struct FormulaParameters {
  std::optional<int64_t> n;       // parameters, those of embeddings included
  std::optional<int64_t> a;       // of n, those that a token meets: not experts it is not routed to
  std::optional<int64_t> l;       // layers with attention
  std::optional<int64_t> h;       // heads
  std::optional<int64_t> q;       // size of a head
  std::optional<int64_t> t;       // tokens of a sequence
  std::optional<int64_t> v;       // size of the vocabulary
  std::optional<int64_t> p;       // parameters of the position embedding
  std::optional<int64_t> tokens;  // of a step, over all devices
};

struct FormulaParameter {
  absl::string_view name;
  std::optional<int64_t> FormulaParameters::*value;
};
inline constexpr FormulaParameter kFormulaParameters[] = {
    {"n", &FormulaParameters::n},           {"a", &FormulaParameters::a},
    {"l", &FormulaParameters::l},           {"h", &FormulaParameters::h},
    {"q", &FormulaParameters::q},           {"t", &FormulaParameters::t},
    {"v", &FormulaParameters::v},           {"p", &FormulaParameters::p},
    {"tokens", &FormulaParameters::tokens},
};
// "n=124439808", "tokens=16384". InvalidArgument, with the names.
absl::Status SetFormulaParameter(absl::string_view text, FormulaParameters* parameters);

enum class Formula : uint8_t {
  k6n,
  k6nActive,
  kPalm,
  kPalmActive,
  kPalmCausalHalf,
  kMegatron,
  kNanoGpt
};

struct FormulaInfo {
  Formula formula;
  absl::string_view name;
  absl::string_view text;    // FLOPs of a step
  absl::string_view source;  // who uses it
  absl::string_view reads;   // its parameters, separated by blanks
};
inline constexpr FormulaInfo kFormulas[] = {
    {Formula::k6n, "6n", "6 N tokens", "Kaplan et al., arXiv 2001.08361", "n tokens"},
    {Formula::k6nActive, "6n_active", "6 A tokens",
     "mixtures of experts: parameters that a token meets", "a tokens"},
    {Formula::kPalm, "palm", "(6 N + 12 L H Q T) tokens",
     "PaLM, arXiv 2204.02311, appendix B; llm-foundry", "n l h q t tokens"},
    {Formula::kPalmActive, "palm_active", "(6 A + 12 L H Q T) tokens",
     "palm with the parameters that a token meets", "a l h q t tokens"},
    {Formula::kPalmCausalHalf, "palm_causal_half", "(6 N + 6 L H Q T) tokens",
     "palm with half of the scores", "n l h q t tokens"},
    {Formula::kMegatron, "megatron", "72 L (HQ)^2 (1 + T / (6 HQ) + V / (12 HQ L)) tokens",
     "Megatron, arXiv 2205.05198", "l h q t v tokens"},
    {Formula::kNanoGpt, "nanogpt", "(6 (N - P) + 12 L H Q T) tokens",
     "nanoGPT, estimate_mfu: without the position embedding", "n p l h q t tokens"},
};

// FLOPs of a training step. FailedPrecondition, with the parameters that are missing; OutOfRange
// for an overflow of 128 bits.
absl::StatusOr<absl::int128> FlopsByFormula(Formula formula, const FormulaParameters& parameters);

// How fast training goes: exactly one of the four is given.
struct StepRate {
  double step_seconds = 0, steps_per_second = 0, samples_per_second = 0, tokens_per_second = 0;
};
// Seconds of a step that has so many samples and tokens. InvalidArgument unless one rate is given,
// above 0; FailedPrecondition where the number of samples or tokens is needed and not known.
absl::StatusOr<double> StepSeconds(const StepRate& rate, std::optional<int64_t> samples,
                                   std::optional<int64_t> tokens);

// flops / (seconds * devices * peak). Not clamped. `peak` in FLOP/s of one device.
double Utilisation(absl::int128 flops, double seconds, int64_t devices, double peak);

// Why a utilisation may be above 1, the likeliest first.
std::vector<std::string> ReasonsAboveOne();
// Why hardware counters may have measured so many times the counted FLOPs.
std::vector<std::string> ReasonsOfRatio(double executed_to_counted);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_HARDWARE_MFU_H_
