// Low-rank adapters (LoRA) that a model is to have: their rank, and the layers that get one.
//
//   ParseLora("r=16:q_proj,v_proj")                  // peft's LoraConfig(r=16, target_modules=...)
//   ParseLora("r=16,alpha=32,rslora:all-linear")
//   ParseLora("r=16,base=nf4:*.self_attn.?_proj")    // QLoRA: the other weights in 4 bits
//   ParseLora("r=16,dora:q_proj")                    // DoRA: a trained magnitude of each output
#ifndef ONNXFLOPS_SRC_ADAPTER_LORA_OPTIONS_H_
#define ONNXFLOPS_SRC_ADAPTER_LORA_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

// How the frozen weights are stored.
enum class LoraBase : uint8_t {
  kAsStored,  // as the file or the configuration has them
  kNf4,       // linear layers in 4 bits, as bitsandbytes keeps them: blocks of 64, a scale each
};

struct LoraOptions {
  int64_t r = 8;
  double alpha = 8;     // the adapter's output is multiplied by alpha / r
  bool rslora = false;  // by alpha / sqrt(r) instead, which costs the same
  LoraBase base = LoraBase::kAsStored;
  // Paths of modules, or their ends after a dot: "q_proj" matches this name in every layer. *
  // matches any characters and ? matches one. kAllLinear stands for all linear layers except the
  // one over the vocabulary. "!v_proj" gets none, as exclude_modules of peft.
  std::vector<std::string> targets;
  // DoRA: outputs are scaled to a trained magnitude, for which each run computes the norms of
  // W + scaling * B A. Not together with a base in 4 bits.
  bool dora = false;
  // Further lists of modules, with settings of their own. A layer takes the last one that names it,
  // as rank_pattern of peft changes the rank of some of target_modules. One base=nf4 is for all.
  std::vector<LoraOptions> more;
};
inline constexpr char kAllLinear[] = "all-linear";

// Parses "SETTINGS:TARGETS"; each part is a list separated by commas. Settings: r=N (required),
// alpha=X, rslora, dora, base=nf4. Errors: InvalidArgument with the fault; Unimplemented for DoRA
// of weights in 4 bits.
absl::StatusOr<LoraOptions> ParseLora(absl::string_view text);
// Writes options in the form that ParseLora reads, without LoraOptions::more.
std::string LoraText(const LoraOptions& options);
// The options themselves, then LoraOptions::more.
std::vector<const LoraOptions*> LoraLists(const LoraOptions& options);
// LoraText() of each.
std::vector<std::string> LoraTexts(const LoraOptions& options);
// True if one of them has it.
bool HasNf4Base(const LoraOptions& options);
// The factor of the adapter's output.
double LoraScale(const LoraOptions& options);

// What was inserted into a model, for the report.
struct LoraSummary {
  LoraOptions options;
  int64_t layers = 0;       // with an adapter
  absl::int128 params = 0;  // of all adapters
  int64_t nf4_layers = 0;   // whose weights were put into 4 bits
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_ADAPTER_LORA_OPTIONS_H_
