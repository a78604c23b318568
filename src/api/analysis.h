// The stages that every command needs: a model, its facts and its costs.
#ifndef ONNXFLOPS_SRC_API_ANALYSIS_H_
#define ONNXFLOPS_SRC_API_ANALYSIS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "src/adapter/lora_options.h"
#include "src/api/count.h"
#include "src/count/count_model.h"
#include "src/graph/symbol_origin.h"
#include "src/infer/infer.h"
#include "src/symbolic/sample_sum.h"

namespace onnxflops {

struct Analysis {
  Inference inference;
  Counts counts;
  std::optional<LoraSummary> lora;  // CountOptions::lora
};

// Adds what CountOptions::lora implies for training: of the file's weights only the named ones are
// trained, and the backward pass is exact.
CountOptions WithLoraTraining(const CountOptions& options);
// Warns of adapters in the model if nothing says what is trained: training then counts as that of
// all parameters, and adapters are made for training little.
void NoteAdapters(const CountOptions& options, Report* report);

// Whether calls of local functions are inlined or kept, for callers that need the file's own nodes.
enum class Calls : uint8_t { kInlined, kKept };

// `assume`: also binds the sizes that the model states for unbound symbols (AssumedDims).
// Unimplemented with CountOptions::samples.
absl::StatusOr<Analysis> Analyze(const Model& model, const CountOptions& options,
                                 CausalCounting causal, bool assume = true,
                                 Calls calls = Calls::kInlined);

// The same, with the sizes open that CountOptions::samples have, and these by the model's symbols.
struct SampledAnalysis : Analysis {
  std::optional<SampleSizes> samples;
};
absl::StatusOr<SampledAnalysis> AnalyzeSamples(const Model& model, const CountOptions& options);

// The same as Analyze. With CountOptions::upper_bounds, sizes inside the model are set to their
// upper bounds as if they were bound: `raised` lists those with a number as bound. The others stay
// open.
struct RaisedAnalysis : Analysis {
  std::vector<SymbolOrigin> raised;
};
absl::StatusOr<RaisedAnalysis> AnalyzeAtBounds(const Model& model, const CountOptions& options,
                                               CausalCounting causal);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_ANALYSIS_H_
