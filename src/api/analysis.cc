// How it works. Every count starts here. The order matters. First the sizes that the user gives are
// collected and checked against what the configuration allows. Then sizes that the model states
// itself are added, but only for symbols of its inputs that the user left open. Then functions are
// put in the place of their calls (unless the caller needs the nodes as the file has them), and
// operators without a rule get their official bodies. Then come inference, tied weights, and the
// count. If official bodies do not fit the model, inference runs again without them, and their
// nodes are unknown.
//
// For upper bounds it runs twice: the first analysis finds the sizes inside the model and their
// largest values, the second one has them bound.
#include "src/api/analysis.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/api/official_bodies.h"
#include "src/api/sequence.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/hardware/roofline.h"
#include "src/resolve/inline_calls.h"
#include "src/resolve/resolve.h"
#include "src/resolve/ties.h"
#include "src/symbolic/parse.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

// If official bodies do not fit, the model is inferred without them. Their nodes are then unknown.
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

// An error if a size in `dims`, which the user set, is beyond the learned positions.
absl::Status CheckMostDims(const ModelData& model, const Bindings& dims) {
  for (const auto& [symbol, most] : MostDims(model)) {
    const auto it = dims.find(symbol);
    if (it == dims.end() || it->second <= most) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(model.path), ": ", Escaped(symbol), " = ", it->second,
                     ": the configuration has positions for at most ", most));
  }
  return absl::OkStatus();
}

void NoteMostDims(Inference* inference) {
  for (const auto& [name, most] : MostDims(*inference->model)) {
    for (SymbolOrigin& symbol : inference->symbols) {
      if (symbol.name == name) symbol.at_most = Expr(most);
    }
  }
}

// The symbols in the dimensions of the model's inputs, also those in formulas: "min(past, 63)".
absl::flat_hash_set<std::string> InputSymbols(const ModelData& model) {
  absl::flat_hash_set<std::string> symbols;
  for (ValueId id : model.graphs[0].inputs) {
    const DeclaredType* type = model.value(id).declared;
    if (type == nullptr) continue;
    for (const DeclaredDim& dim : type->dims) {
      if (dim.size >= 0) continue;
      symbols.insert(FileSymbol(dim.name));
      const absl::StatusOr<Expr> formula = ParseExpr(dim.name);
      if (!formula.ok()) continue;
      for (std::string& symbol : formula->Symbols()) symbols.insert(std::move(symbol));
    }
  }
  return symbols;
}

// Adds the sizes that the model states for symbols that nobody binds. Metadata is untrusted:
// entries for symbols that no input has are ignored.
void BindStated(const ModelData& model, Bindings* dims) {
  const auto assumed = AssumedDims(model);
  const auto followed = FollowedDims(model);
  if (assumed.empty() && followed.empty()) return;
  const absl::flat_hash_set<std::string> symbols = InputSymbols(model);
  for (const auto& [symbol, size] : assumed) {
    if (symbols.contains(symbol)) dims->try_emplace(symbol, size);
  }
  for (const auto& [symbol, other] : followed) {
    const auto set = dims->find(other);
    if (set == dims->end() || !symbols.contains(symbol)) continue;
    const int64_t size = set->second;  // which inserting may move
    dims->try_emplace(symbol, size);
  }
}

}  // namespace

absl::StatusOr<Analysis> Analyze(const Model& model, const CountOptions& options,
                                 CausalCounting causal, bool assume, Calls calls) {
  std::vector<std::string> warnings;
  ASSIGN_OR_RETURN(Bindings dims, BindSequence(*model, options, &warnings));
  dims.insert(options.bindings.begin(), options.bindings.end());
  RETURN_IF_ERROR(CheckMostDims(*model, dims));
  ResolveOptions resolve;
  resolve.operators.rules = options.rules;
  resolve.bodies = options.bodies;
  InferOptions infer;
  infer.dims = std::move(dims);
  if (assume) BindStated(*model, &infer.dims);
  infer.input_shapes = options.input_shapes;
  infer.input_values = options.input_values;
  infer.operators = resolve.operators;
  infer.limits = options.limits;
  const Model inlined = calls == Calls::kInlined ? InlineCalls(model) : model;
  ASSIGN_OR_RETURN(Inference inference, InferResolved(inlined, Resolve(inlined, resolve), infer));
  NoteMostDims(&inference);
  if (!options.tied.empty()) {
    absl::StatusOr<resolve::Ties> ties = resolve::FindTies(*inference.model, options.tied);
    if (!ties.ok()) {
      return WithMessage(ties.status(),
                         absl::StrCat(Escaped(model->path), ": ", ties.status().message()));
    }
    inference.ties = *std::move(ties);
  }
  if (calls == Calls::kInlined && HasCalls(*inlined)) {
    warnings.emplace_back(
        "calls of local functions are counted as calls: with functions in their place the model "
        "would be too large. Memory, recomputation, the backward pass of flash attention and "
        "bytes of a run may differ from those of the same graph without functions");
  }
  inference.warnings.insert(inference.warnings.end(), warnings.begin(), warnings.end());
  std::optional<Roofline> roofline;
  if (options.on_device) {
    ASSIGN_OR_RETURN(roofline, RooflineOf(options.on_device->device, options.on_device->precision));
  }
  ASSIGN_OR_RETURN(Counts counts, Count(inference, causal, roofline));
  return Analysis{std::move(inference), std::move(counts)};
}

absl::StatusOr<RaisedAnalysis> AnalyzeAtBounds(const Model& model, const CountOptions& options,
                                               CausalCounting causal) {
  ASSIGN_OR_RETURN(Analysis open, Analyze(model, options, causal));
  RaisedAnalysis result{std::move(open), {}};
  if (!options.upper_bounds) return result;
  CountOptions bound = options;
  for (const SymbolOrigin& symbol : result.inference.symbols) {
    if (symbol.kind == SymbolOrigin::Kind::kInput || !symbol.at_most) continue;
    const std::optional<int64_t> most = symbol.at_most->AsInt64();
    if (!most || *most < 0) continue;
    bound.bindings.emplace(symbol.name, *most);
    result.raised.push_back(symbol);
  }
  if (result.raised.empty()) return result;
  absl::StatusOr<Analysis> at_bounds = Analyze(model, bound, causal);
  if (!at_bounds.ok()) {
    return WithMessage(at_bounds.status(), absl::StrCat(at_bounds.status().message(),
                                                        "\n  at sizes that are upper bounds"));
  }
  return RaisedAnalysis{*std::move(at_bounds), std::move(result.raised)};
}

}  // namespace onnxflops
