#include "src/api/analysis.h"

#include <string>
#include <utility>
#include <vector>

#include "src/api/official_bodies.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/resolve/resolve.h"

namespace onnxflops {
namespace {

// Official bodies that do not fit leave their nodes unknown, which they are without.
absl::StatusOr<Inference> InferResolved(const Model& model, const Resolution& resolution,
                                        const InferOptions& options) {
  absl::StatusOr<Inference> inference = Infer(resolution.model, options);
  std::vector<std::string> warnings = resolution.warnings;
  if (!inference.ok() && resolution.has_bodies) {
    warnings.push_back(BodiesDoNotFit(inference.status()));
    inference = Infer(model, options);
  }
  if (inference.ok()) {
    inference->warnings.insert(inference->warnings.end(), warnings.begin(), warnings.end());
  }
  return inference;
}

}  // namespace

absl::StatusOr<Analysis> Analyze(const Model& model, const CountOptions& options,
                                 CausalCounting causal) {
  ResolveOptions resolve;
  resolve.operators.rules = options.rules;
  resolve.bodies = options.bodies;
  InferOptions infer;
  infer.dims = options.bindings;
  for (const auto& [symbol, size] : AssumedDims(*model)) infer.dims.try_emplace(symbol, size);
  infer.input_shapes = options.input_shapes;
  infer.input_values = options.input_values;
  infer.operators = resolve.operators;
  infer.limits = options.limits;
  ASSIGN_OR_RETURN(Inference inference, InferResolved(model, Resolve(model, resolve), infer));
  ASSIGN_OR_RETURN(Counts counts, Count(inference, causal));
  return Analysis{std::move(inference), std::move(counts)};
}

}  // namespace onnxflops
