// How it works. The peak of a run is found four times, under different rules: whether views share
// memory, whether a result may overwrite an input, whether the model's inputs count. The report
// uses the first; the others show the effect of each rule. Then comes the training step (what
// autograd saves, gradients, the optimizer and their peak), and the cache of a decoder. The peak is
// the largest of several sums, and the sizes decide which is the largest. --fit therefore solves
// for the largest size at which all the sums fit. If the file leaves something open, a figure is a
// lower bound, or a guess that may be off in either direction; a warning names the first such node.
#include "src/api/memory.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/infer/require_symbols.h"
#include "src/memory/fit.h"
#include "src/memory/kv_cache.h"
#include "src/memory/liveness.h"
#include "src/memory/saved.h"
#include "src/render/format.h"
#include "src/report/formula_text.h"
#include "src/report/memory_lines.h"
#include "src/report/reference_sizes.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

struct SharingRule {
  bool views, in_place, inputs;
};
// The report uses the first rule.
constexpr SharingRule kSharingRules[] = {
    {true, false, false}, {false, false, false}, {true, true, false}, {true, true, true}};

// The size that --fit solves for if the user names none: "batch..." on a first axis, else the first
// open first axis.
absl::StatusOr<std::string> FitSymbol(const Report& report) {
  const SymbolOrigin* first = nullptr;
  std::vector<std::string> names;
  for (const SymbolOrigin& symbol : report.symbols) {
    if (symbol.kind != SymbolOrigin::Kind::kInput) continue;
    names.push_back(Escaped(symbol.name));
    if (symbol.axis != 0) continue;
    if (absl::StartsWithIgnoreCase(symbol.name, "batch")) return symbol.name;
    if (first == nullptr) first = &symbol;
  }
  if (first != nullptr) return first->name;
  const std::string what =
      absl::StrCat(Setting("fit"), ": no input has an open size on its first axis");
  for (const auto& [name, size] : report.bindings) {
    if (!absl::StartsWithIgnoreCase(name, "batch")) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", Escaped(QuotedSymbol(name)), " is given as ", size,
                     WithSettings("; without it {fit} finds the largest")));
  }
  if (names.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, WithSettings("; {at-batch batch} opens that of a file that fixes it")));
  }
  return absl::InvalidArgumentError(absl::StrCat(what, "; name one, as ",
                                                 Setting("fit", absl::StrCat("80GiB:", names[0])),
                                                 ". Open sizes: ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<FitRow> FitInto(const FitReport& fit, const char* name,
                               const std::vector<Expr>& sums) {
  absl::StatusOr<std::optional<int64_t>> largest = LargestThatFits(sums, fit.bytes, fit.symbol);
  if (largest.ok()) return FitRow{name, *largest};
  if (!absl::IsFailedPrecondition(largest.status())) return largest.status();
  return absl::InvalidArgumentError(
      absl::StrCat(Setting("fit"), ": ", largest.status().message(),
                   WithSettings("; bind every other size with {dim}")));
}

absl::Status PeakIsOpen() {
  return absl::InvalidArgumentError(WithSettings(
      "{fit}: which step is the peak depends on too many sizes, or takes too long to find; bind "
      "other sizes with {dim}, or raise {limit steps-per-node=N}"));
}

// What fits with a cross entropy, for a model whose output is named logits: its log-probabilities
// may be most of a step, and the sum of outputs, the default loss, has none.
absl::StatusOr<std::optional<FitRow>> FitEntropy(const Analysis& analysis,
                                                 const CountOptions& options,
                                                 const MemoryReport& memory, const FitReport& fit) {
  TrainingOptions training = options.memory->training;
  if (training.loss != Loss::kSum ||
      !absl::StrContains(absl::AsciiStrToLower(memory.step.loss_output), "logits")) {
    return std::nullopt;
  }
  training.loss = Loss::kCrossEntropy;
  ASSIGN_OR_RETURN(
      const TrainingMemory found,
      FindTrainingMemory(analysis.inference, analysis.counts, options.causal, training, memory.at));
  if (found.step.sums.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(FitRow row, FitInto(fit, kFitEntropy, found.step.sums));
  return row;
}

absl::StatusOr<FitReport> FindFit(const Analysis& analysis, const CountOptions& options,
                                  const Report& report) {
  const FitRequest& request = *options.memory->fit;
  const MemoryReport& memory = *report.memory;
  FitReport fit;
  fit.bytes = request.bytes;
  if (request.symbol.empty()) {
    ASSIGN_OR_RETURN(fit.symbol, FitSymbol(report));
  } else {
    ASSIGN_OR_RETURN(const Bindings named, ResolveSymbols({{request.symbol, 1}}, report.symbols));
    fit.symbol = named.begin()->first;
  }
  std::vector<Expr> sums = memory.peak.sums;
  if (sums.empty()) return PeakIsOpen();
  for (Expr& sum : sums) sum += memory.param_bytes;
  ASSIGN_OR_RETURN(FitRow inference, FitInto(fit, kFitInference, sums));
  if (memory.step.sums.empty()) return PeakIsOpen();
  ASSIGN_OR_RETURN(FitRow training, FitInto(fit, kFitTraining, memory.step.sums));
  inference.at_most = memory.unknown_sizes > 0;
  training.at_most = memory.step.lower_bound;
  training.guessed = memory.step.guessed;
  ASSIGN_OR_RETURN(std::optional<FitRow> entropy, FitEntropy(analysis, options, memory, fit));
  if (entropy) {
    entropy->at_most = training.at_most;
    entropy->guessed = training.guessed;
  }
  fit.rows = {std::move(inference), std::move(training)};
  if (entropy) fit.rows.push_back(*std::move(entropy));
  return fit;
}

absl::Status AddPeaks(const Inference& inference, const MemoryOptions& options,
                      MemoryReport* memory) {
  std::vector<PeakOptions> rules;
  for (const SharingRule& rule : kSharingRules) {
    rules.push_back({options.order, rule.views, rule.in_place, rule.inputs, memory->at});
  }
  ASSIGN_OR_RETURN(const std::vector<MemoryPeak> peaks, FindPeaks(inference, rules));
  memory->peak = report::DescribePeak(inference, rules[0], peaks[0]);
  report::DescribeAlive(inference, peaks[0], memory);
  for (size_t i = 1; i < rules.size(); ++i) {
    memory->other.push_back(report::DescribePeak(inference, rules[i], peaks[i]));
  }
  return absl::OkStatus();
}

absl::Status AddTraining(const Analysis& analysis, const CountOptions& options, Report* report) {
  MemoryReport* memory = &*report->memory;
  ASSIGN_OR_RETURN(const TrainingMemory training,
                   FindTrainingMemory(analysis.inference, analysis.counts, options.causal,
                                      options.memory->training, memory->at));
  memory->trained_params = training.trained_params;
  memory->gradient_bytes = training.gradient_bytes;
  memory->optimizer_bytes = training.optimizer_bytes;
  memory->saved_bytes = training.saved_bytes;
  const absl::StatusOr<absl::int128> saved = training.saved_bytes.Evaluate(memory->at);
  if (saved.ok()) memory->saved_value = *saved;
  memory->saved_input_bytes = training.saved_input_bytes;
  memory->unknown_saved = training.unknown;
  memory->unknown_saved_op = std::string(training.unknown_op);
  memory->master_bytes = training.master_bytes;
  memory->step = report::DescribeStep(analysis.inference, training.step);
  memory->saved_guessed = memory->step.guessed = training.guessed;
  memory->step.lower_bound =
      !training.guessed && (training.unknown > 0 || training.step.unknown > 0 ||
                            training.step.held_may_be_more || memory->unknown_sizes > 0);
  if (training.unknown > 0 && training.unknown_node) {
    report->warnings.push_back(absl::StrCat(
        "what autograd keeps is not known of ", Plural(training.unknown, "node"), ", such as ",
        DescribeNode(*analysis.inference.model, *training.unknown_node),
        training.unknown_why == nullptr ? "" : absl::StrCat(" (", training.unknown_why, ")"),
        ": kept bytes and the peak of a training step ",
        training.guessed ? "may be more or less" : "are lower bounds"));
  }
  if (training.step.held_may_be_more && !training.guessed) {
    report->warnings.push_back(
        "the peak of a training step is a lower bound: it may be in the forward pass of layers "
        "without gradients, where variables of a module keep what the file does not tell");
  }
  report->warnings.insert(report->warnings.end(), training.warnings.begin(),
                          training.warnings.end());
  return absl::OkStatus();
}

void AddCache(const Inference& inference, MemoryReport* memory) {
  const absl::StatusOr<Decoder> decoder = FindDecoder(inference);
  if (!decoder.ok() || decoder->tensors == 0) return;
  CacheReport cache;
  cache.tensors = decoder->tensors;
  cache.length = decoder->length;
  cache.bytes = decoder->bytes;
  cache.fixed_bytes = decoder->fixed_bytes;
  cache.bytes_per_token = CacheBytesPerToken(*decoder);
  cache.length_after = decoder->length + decoder->tokens;
  // An empty cache tells nothing of a longer one: the declared sizes do.
  const absl::StatusOr<Decoder> declared = FindDeclaredDecoder(inference);
  if (declared.ok()) cache.bytes_after = CacheBytesAt(*declared, cache.length_after);
  if (cache.bytes_after) {
    Bindings sizes = declared->known;
    for (const auto& [name, size] : inference.bindings) sizes[name] = size;
    cache.bytes_after = cache.bytes_after->Substitute(sizes);
    if (cache.bytes_after->error() != nullptr) cache.bytes_after.reset();
  }
  memory->cache = std::move(cache);
}

// nullopt if the formula is missing or too long for a report.
std::optional<ActivationPeak> PeakOf(const ModelData& model, const std::optional<Expr>& bytes,
                                     int64_t unknown) {
  if (!bytes || bytes->error() != nullptr) return std::nullopt;
  report::FormulaText formula(model);
  formula.Add(*bytes);
  if (!formula.Check().ok()) return std::nullopt;
  return ActivationPeak{*bytes, unknown > 0};
}

}  // namespace

Bindings SizesBelowFormulas(const MemoryReport& memory) {
  std::vector<Expr> formulas = memory.step.sums;
  formulas.push_back(memory.saved_bytes);
  formulas.push_back(memory.step.bytes.value_or(0));
  Bindings below;
  for (const Expr& formula : formulas) {
    for (const std::string& name : formula.Symbols()) {
      const auto size = memory.at.find(name);
      if (size != memory.at.end() && size->second < kMinTrainingSize) below.insert(*size);
    }
  }
  return below;
}

absl::Status SetTrainingValues(const Analysis& at_sizes, const CountOptions& options,
                               MemoryReport* memory) {
  ASSIGN_OR_RETURN(const TrainingMemory training,
                   FindTrainingMemory(at_sizes.inference, at_sizes.counts, options.causal,
                                      options.memory->training, memory->at));
  const absl::StatusOr<absl::int128> saved = training.saved_bytes.Evaluate(memory->at);
  if (!saved.ok() || !training.step.value) return absl::OkStatus();
  const StepRow step = report::DescribeStep(at_sizes.inference, training.step);
  memory->saved_value = *saved;
  memory->step.value = step.value;
  memory->step.phase = step.phase;
  memory->step.node = step.node;
  memory->step.op = step.op;
  memory->step.domain = step.domain;
  return absl::OkStatus();
}

void AddActivationPeak(const Analysis& analysis, Report* report) {
  PeakOptions rule;
  rule.at = report::ReferenceSizes(*report);
  const absl::StatusOr<MemoryPeak> peak = FindPeak(analysis.inference, rule);
  if (!peak.ok()) return;
  report->activation_peak = PeakOf(*analysis.inference.model, peak->bytes, peak->unknown);
}

absl::Status AddMemory(const Analysis& analysis, const CountOptions& options, Report* report) {
  const ModelData& model = *analysis.inference.model;
  MemoryReport& memory = report->memory.emplace();
  memory.options = *options.memory;
  memory.at = report::ReferenceSizes(*report);
  memory.param_bytes = report->totals.param_bytes.literal();
  RETURN_IF_ERROR(AddPeaks(analysis.inference, *options.memory, &memory));
  if (memory.options.order == ExecutionOrder::kFile) {
    report->activation_peak = PeakOf(model, memory.peak.bytes, memory.unknown_sizes);
  }
  RETURN_IF_ERROR(AddTraining(analysis, options, report));
  AddCache(analysis.inference, &memory);
  if (options.memory->fit) {
    ASSIGN_OR_RETURN(memory.fit, FindFit(analysis, options, *report));
  }
  report::FormulaText formulas(model);
  for (const PeakRow& row : memory.other) formulas.Add(row.bytes.value_or(0));
  formulas.Add(memory.peak.bytes.value_or(0));
  formulas.Add(memory.saved_bytes);
  formulas.Add(memory.step.bytes.value_or(0));
  return formulas.Check();
}

}  // namespace onnxflops
