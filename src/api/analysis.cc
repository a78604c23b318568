// How it works. Every count starts here. The order matters. First the sizes that the user gives are
// collected and checked against what the configuration allows. Then sizes that the model states
// itself are added, but only for symbols of its inputs that the user left open. Then functions are
// put in the place of their calls (unless the caller needs the nodes as the file has them), and
// adapters are inserted, which takes a first inference and count to find the modules that get one,
// and operators without a rule get their official bodies. Then come inference, tied weights, and
// the count. If official bodies do not fit the model, inference runs again without them, and their
// nodes are unknown.
//
// For upper bounds it runs twice: the first analysis finds the sizes inside the model and their
// largest values, the second one has them bound.
#include "src/api/analysis.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/adapter/add_adapters.h"
#include "src/adapter/at_batch.h"
#include "src/adapter/at_image.h"
#include "src/api/export_notes.h"
#include "src/api/joint_rows.h"
#include "src/api/official_bodies.h"
#include "src/api/samples.h"
#include "src/api/sequence.h"
#include "src/api/table_rows.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/graph/image_inputs.h"
#include "src/hardware/time_bound.h"
#include "src/module/attribution.h"
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

// Takes out of `dims` a batch that the file fixes at this very size, where no symbol has its name:
// the figures are those of that batch anyway. Returns a warning, or "".
std::string TakeFixedBatch(const ModelData& model, Bindings* dims) {
  constexpr absl::string_view kNames[] = {"batch", "batch_size"};
  for (const absl::string_view name : kNames) {
    const auto given = dims->find(std::string(name));
    if (given == dims->end()) continue;
    for (const ValueId input : model.graph(0).inputs) {
      const Value& value = model.value(input);
      if (!value.declared) continue;
      for (const DeclaredDim& dim : value.declared->dims) {
        if (dim.name == name) return "";
      }
    }
    const absl::StatusOr<BatchInputs> batch = FindBatch(model, BatchSize());
    if (!batch.ok() || batch->size != given->second) return "";
    dims->erase(given);
    return absl::StrCat("the file fixes a batch of ", batch->size, ": ",
                        Setting("dim", absl::StrCat(name, "=", batch->size)), " changes nothing");
  }
  return "";
}

// `dims`, and the sizes that given shapes of inputs have for their declared symbols.
Bindings WithShapes(const ModelData& model, const CountOptions& options, Bindings dims) {
  for (const ValueId id : model.graphs[0].inputs) {
    const Value& value = model.value(id);
    const auto shape = options.input_shapes.find(value.name);
    if (value.declared == nullptr || shape == options.input_shapes.end()) continue;
    const size_t rank = std::min(value.declared->dims.size(), shape->second.size());
    for (size_t i = 0; i < rank; ++i) {
      const auto size = shape->second[i].AsInt64();
      const absl::string_view name = value.declared->dims[i].name;
      if (size && !name.empty()) dims.emplace(name, *size);
    }
  }
  return dims;
}

// An error if a size in `dims`, which the user set, is a batch of nothing, is beyond the learned
// positions, if patches of an image cannot be merged, or if the graph does not hold there.
absl::Status CheckDims(const ModelData& model, const Bindings& dims) {
  const auto batch = dims.find("batch");
  if (batch != dims.end() && batch->second == 0 && !ConfigOf(model).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(model.path),
                     ": batch = 0 does not fit this model, which runs on one sample or more"));
  }
  for (const auto& [symbol, most] : MostDims(model)) {
    const auto it = dims.find(symbol);
    if (it == dims.end() || it->second <= most) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(model.path), ": ", Escaped(symbol), " = ", it->second,
                     ": the configuration has positions for at most ", most));
  }
  for (const auto& [symbol, of] : MultipleDims(model)) {
    const auto it = dims.find(symbol);
    if (it == dims.end() || of == 0 || it->second % of == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(model.path), ": ", Escaped(symbol), " = ", it->second,
                     ": it should be a multiple of ", of, ", the side of a token"));
  }
  return CheckNotedSizes(model, dims);
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

// Binds the sizes that the model states for unbound symbols, except those in `open`. Metadata is
// untrusted: entries for symbols that no input has are ignored.
void BindStated(const ModelData& model, const std::vector<std::string>& open, Bindings* dims) {
  const auto assumed = AssumedDims(model);
  const auto followed = FollowedDims(model);
  if (assumed.empty() && followed.empty()) return;
  absl::flat_hash_set<std::string> symbols = InputSymbols(model);
  for (const std::string& symbol : open) symbols.erase(symbol);
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

// Binds dimensions that the file declares as open although it takes one size only, except those in
// `open`. A formula would be of sizes at which the model fails. True if it binds any.
bool BindOnlySizes(const Inference& inference, const std::vector<std::string>& open, Bindings* dims,
                   std::vector<std::string>* warnings) {
  bool any = false;
  for (const OnlySize& only : inference.only_sizes) {
    if (absl::c_linear_search(open, only.symbol)) continue;
    if (!dims->try_emplace(only.symbol, only.size).second) continue;
    any = true;
    warnings->push_back(absl::StrCat(Escaped(only.symbol), " = ", only.size, ": ",
                                     DescribeNode(*inference.model, only.node),
                                     " takes no other size"));
  }
  return any;
}

// Finds the weights that CountOptions::tied names; its errors name the model.
absl::Status Tie(const CountOptions& options, Inference* inference) {
  if (options.tied.empty()) return absl::OkStatus();
  absl::StatusOr<resolve::Ties> ties = resolve::FindTies(*inference->model, options.tied);
  if (!ties.ok()) {
    return WithMessage(ties.status(), absl::StrCat(Escaped(inference->model->path), ": ",
                                                   ties.status().message()));
  }
  inference->ties = *std::move(ties);
  return absl::OkStatus();
}

// Runs inference, and once more if sizes turn out to have one value only. `stated_but` as in
// AnalyzeOpen.
absl::StatusOr<Inference> InferAtOnlySizes(
    const Model& model, const ResolveOptions& resolve,
    const std::optional<std::vector<std::string>>& stated_but, InferOptions* infer,
    std::vector<std::string>* warnings) {
  ASSIGN_OR_RETURN(Inference inference, InferResolved(model, Resolve(model, resolve), *infer));
  if (!stated_but || !BindOnlySizes(inference, *stated_but, &infer->dims, warnings)) {
    return inference;
  }
  return InferResolved(model, Resolve(model, resolve), *infer);
}

// The model with adapters, whose errors name it.
absl::StatusOr<Adapted> Adapt(const Model& model, const CountOptions& options,
                              const ResolveOptions& resolve, const InferOptions& infer) {
  ASSIGN_OR_RETURN(const Inference inference, InferResolved(model, Resolve(model, resolve), infer));
  ASSIGN_OR_RETURN(const Counts counts, Count(inference, CausalCounting::kFull, std::nullopt));
  const modules::Attribution attribution = modules::AttributeNodes(inference, counts);
  absl::StatusOr<Adapted> adapted = AddAdapters(model, inference, attribution, *options.lora);
  if (adapted.ok()) return adapted;
  return WithMessage(adapted.status(),
                     absl::StrCat(Escaped(model->path), ": ", adapted.status().message()));
}

absl::StatusOr<AtImage> SetImageSize(const Model& model, const CountOptions& options,
                                     const ResolveOptions& resolve, const InferOptions& infer) {
  for (const ImageInput& image : ImageInputs(*model)) {
    const absl::string_view name = model->value(image.value).name;
    if (!options.input_shapes.contains(std::string(name))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(model->path), ": ", Setting("input"), " and ", Setting("at-image"),
                     " both give the size of ", Quoted(name), "; leave one of them out"));
  }
  return ModelAtImage(model, *options.image_size,
                      [&](const Model& sized, const Inference* exported) {
                        InferOptions as = infer;
                        as.exported = exported;
                        return InferResolved(sized, Resolve(sized, resolve), as);
                      });
}

// Options for the file itself, which has no symbol that is the new batch.
InferOptions WithoutBatch(const CountOptions& options, InferOptions infer) {
  if (!options.batch) return infer;
  for (const std::string& symbol : options.batch->size.Symbols()) infer.dims.erase(symbol);
  return infer;
}

absl::StatusOr<AtBatch> SetBatch(const Model& model, const CountOptions& options,
                                 const ResolveOptions& resolve, const InferOptions& infer) {
  ASSIGN_OR_RETURN(const BatchInputs batch, FindBatch(*model, *options.batch));
  for (const BatchInput& input : batch.inputs) {
    const absl::string_view name = model->value(input.input).name;
    if (!options.input_shapes.contains(std::string(name))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(model->path), ": ", Setting("input"), " and ", Setting("at-batch"),
                     " both give the size of ", Quoted(name), "; leave one of them out"));
  }
  return ModelAtBatch(model, *options.batch, infer.dims, [&](const Model& sized) {
    const bool is_export = &*sized == &*model;
    return InferResolved(sized, Resolve(sized, resolve),
                         is_export ? WithoutBatch(options, infer) : infer);
  });
}

// Binds the sizes that the model states, except these symbols; nullopt binds none of them.
absl::StatusOr<Analysis> AnalyzeOpen(const Model& model, const CountOptions& options,
                                     CausalCounting causal,
                                     const std::optional<std::vector<std::string>>& stated_but,
                                     Calls calls) {
  std::vector<std::string> warnings;
  ASSIGN_OR_RETURN(Bindings dims, BindSequence(*model, options, &warnings));
  dims.insert(options.bindings.begin(), options.bindings.end());
  RETURN_IF_ERROR(CheckDims(*model, WithShapes(*model, options, dims)));
  RETURN_IF_ERROR(TakeNotedSizes(*model, &dims));
  ResolveOptions resolve;
  resolve.operators.rules = options.rules;
  resolve.bodies = options.bodies;
  InferOptions infer;
  infer.dims = std::move(dims);
  if (stated_but) BindStated(*model, *stated_but, &infer.dims);
  infer.input_shapes = options.input_shapes;
  infer.input_values = options.input_values;
  infer.operators = resolve.operators;
  infer.limits = options.limits;
  Model inlined = calls == Calls::kInlined ? InlineCalls(model) : model;
  if (options.image_size) {
    ASSIGN_OR_RETURN(AtImage at_image,
                     SetImageSize(inlined, options, resolve, WithoutBatch(options, infer)));
    inlined = std::move(at_image.model);
    warnings.insert(warnings.end(), at_image.warnings.begin(), at_image.warnings.end());
  }
  if (options.batch) {
    ASSIGN_OR_RETURN(AtBatch at_batch, SetBatch(inlined, options, resolve, infer));
    inlined = std::move(at_batch.model);
    warnings.insert(warnings.end(), at_batch.warnings.begin(), at_batch.warnings.end());
  } else if (std::string fixed = TakeFixedBatch(*inlined, &infer.dims); !fixed.empty()) {
    warnings.push_back(std::move(fixed));
  }
  std::optional<LoraSummary> lora;
  if (options.lora) {
    ASSIGN_OR_RETURN(Adapted adapted, Adapt(inlined, options, resolve, infer));
    inlined = std::move(adapted.model);
    lora = std::move(adapted.summary);
    warnings.insert(warnings.end(), adapted.warnings.begin(), adapted.warnings.end());
  }
  ASSIGN_OR_RETURN(Inference inference,
                   InferAtOnlySizes(inlined, resolve, stated_but, &infer, &warnings));
  NoteMostDims(&inference);
  NoteTableRows(&inference);
  RETURN_IF_ERROR(Tie(options, &inference));
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
  return Analysis{std::move(inference), std::move(counts), std::move(lora)};
}

}  // namespace

void NoteAdapters(const CountOptions& options, Report* report) {
  const TrainingOptions* training = options.training ? &*options.training
                                    : options.memory ? &options.memory->training
                                                     : nullptr;
  const bool is_told =
      training != nullptr && !(training->trained.empty() && training->frozen.empty());
  if (options.lora || is_told) return;
  const bool has_adapters = absl::c_any_of(report->modules, [](const Module& module) {
    return absl::StrContains(module.path, ".lora_A");
  });
  if (!has_adapters) return;
  report->warnings.push_back(absl::StrCat(
      "the model has adapters (lora_A, lora_B), and training counts all parameters as trained: ",
      Setting("trained", "'*lora_*'"), " counts the adapters alone"));
}

CountOptions WithLoraTraining(const CountOptions& options) {
  if (!options.lora) return options;
  CountOptions result = options;
  if (!result.training) {
    result.training = result.memory ? result.memory->training : TrainingOptions();
  }
  std::vector<std::vector<std::string>*> lists = {&result.training->trained};
  if (result.memory) lists.push_back(&result.memory->training.trained);
  std::vector<absl::string_view> patterns(std::begin(kAdapterPatterns), std::end(kAdapterPatterns));
  const bool dora =
      absl::c_any_of(LoraLists(*options.lora), [](const LoraOptions* list) { return list->dora; });
  if (dora) patterns.push_back(kMagnitudePattern);
  for (std::vector<std::string>* trained : lists) {
    for (const absl::string_view pattern : patterns) {
      if (!absl::c_linear_search(*trained, pattern)) trained->emplace_back(pattern);
    }
  }
  return result;
}

namespace {

absl::Status CheckNoSamples(const ModelData& model, const CountOptions& options) {
  if (!options.samples) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      Escaped(model.path),
      ": samples of different sizes are summed in counts and utilisation, not here; name one "
      "size of each dimension"));
}

}  // namespace

absl::StatusOr<Analysis> Analyze(const Model& model, const CountOptions& options,
                                 CausalCounting causal, bool assume, Calls calls) {
  RETURN_IF_ERROR(CheckNoSamples(*model, options));
  using Names = std::vector<std::string>;
  return AnalyzeOpen(model, options, causal, assume ? std::make_optional(Names()) : std::nullopt,
                     calls);
}

namespace {

// Samples at which a formula is checked: the first, the middle and the last one in order, and those
// with the largest of each size.
std::vector<size_t> CheckedRows(const SampleSizes& samples) {
  constexpr size_t kMostColumns = 4;
  std::vector<size_t> rows = {0, samples.rows.size() / 2, samples.rows.size() - 1};
  for (size_t c = 0; c < std::min(samples.symbols.size(), kMostColumns); ++c) {
    const auto largest =
        std::max_element(samples.rows.begin(), samples.rows.end(),
                         [c](const auto& a, const auto& b) { return a.sizes[c] < b.sizes[c]; });
    rows.push_back(static_cast<size_t>(largest - samples.rows.begin()));
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

int64_t UndecidedBranches(const Inference& inference) {
  return std::count_if(inference.calls.begin(), inference.calls.end(),
                       [](const Call& call) { return call.choose_larger; });
}

// The error of a model at a sample, with its place in the list.
absl::Status InFile(const ModelData& model, absl::string_view place, const absl::Status& error) {
  const std::string path = absl::StrCat(Escaped(model.path), ": ");
  absl::string_view what = error.message();
  if (place.empty() || !absl::ConsumePrefix(&what, path)) return error;
  return WithMessage(error, absl::StrCat(path, place, what));
}

// A formula holds for all sizes unless a size decides which nodes run. So counts of some samples
// must agree with it, and must leave no branch open that is closed at other sizes. These counts
// also find sizes that the model refuses.
absl::Status CheckFormula(const Model& model, const CountOptions& options, const Samples& given,
                          const SampleSizes& samples, const Analysis& open) {
  CountOptions at = options;
  for (const size_t row : CheckedRows(samples)) {
    for (size_t i = 0; i < samples.symbols.size(); ++i) {
      at.bindings[samples.symbols[i]] = samples.rows[row].sizes[i];
    }
    if (!samples.count.empty()) {
      at.bindings[samples.count] = samples.packed ? 1 : samples.samples();
    }
    const absl::StatusOr<Analysis> analysis = Analyze(model, at, at.causal);
    if (!analysis.ok()) {
      // Lists of all tokens do not have the texts that remain.
      const std::string place = given.with_images ? "" : PlaceOfRow(given, samples, row);
      return InFile(*model, place, analysis.status());
    }
    const auto agrees = [&](const Quantity& q) {
      return analysis->counts.total.amounts.*q.value ==
             (open.counts.total.amounts.*q.value).Substitute(at.bindings);
    };
    const bool all_agree =
        std::all_of(std::begin(kQuantities), std::end(kQuantities),
                    [&](const Quantity& q) { return q.value == nullptr || agrees(q); });
    if (all_agree && UndecidedBranches(analysis->inference) == UndecidedBranches(open.inference)) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        Escaped(model->path),
        ": a size decides what the model runs, so samples of different sizes have no sum; name "
        "one size of each dimension"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SampledAnalysis> AnalyzeSamples(const Model& model, const CountOptions& options) {
  CountOptions open = options;
  open.samples.reset();
  std::optional<SampleSizes> sizes;
  if (options.samples) {
    if (options.tokens || options.mask_sum) {
      return absl::InvalidArgumentError(
          absl::StrCat(Escaped(model->path),
                       ": the samples have their lengths, so there is no "
                       "other number of tokens"));
    }
    ASSIGN_OR_RETURN(sizes, FindSamples(*model, *options.samples, &open.bindings));
    if (options.samples->layout == Samples::Layout::kOneRow) {
      open.bindings.merge(sizes->Rectangle());
      sizes.reset();
    }
  }
  ASSIGN_OR_RETURN(Analysis analysis,
                   AnalyzeOpen(model, open, options.causal, sizes ? sizes->symbols : options.open,
                               Calls::kInlined));
  if (sizes) {
    RETURN_IF_ERROR(FindJointRows(analysis.inference, *options.samples, &*sizes));
    RETURN_IF_ERROR(CheckFormula(model, open, *options.samples, *sizes, analysis));
  }
  return SampledAnalysis{std::move(analysis), std::move(sizes)};
}

absl::StatusOr<RaisedAnalysis> AnalyzeAtBounds(const Model& model, const CountOptions& options,
                                               CausalCounting causal) {
  RETURN_IF_ERROR(CheckNoSamples(*model, options));
  const auto analyze = [&](const CountOptions& at) {
    return AnalyzeOpen(model, at, causal, options.open, Calls::kInlined);
  };
  ASSIGN_OR_RETURN(Analysis open, analyze(options));
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
  absl::StatusOr<Analysis> at_bounds = analyze(bound);
  if (!at_bounds.ok()) {
    return WithMessage(at_bounds.status(), absl::StrCat(at_bounds.status().message(),
                                                        "\n  at sizes that are upper bounds"));
  }
  return RaisedAnalysis{*std::move(at_bounds), std::move(result.raised)};
}

}  // namespace onnxflops
