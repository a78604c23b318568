// How it works. A report is made in parts: inference and count first, then the report with bounds
// on time if a device is given, then, if asked for, memory, the peak of activations, and the
// backward pass. Combinations without a meaning are refused: a part of a model has no backward pass
// of its own, and another tool's count has no memory and no bound on time.
//
// The answer of --fit comes from formulas of memory and is corrected twice. At size 1 PyTorch may
// view what it copies at larger sizes, so an answer of 1 or none is checked by a count at 1. A file
// may refuse sizes that would fit, so the largest size that it takes is found by halving.
#include "src/api/count.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/api/analysis.h"
#include "src/api/memory.h"
#include "src/api/samples_of_row.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/compare/make_comparison.h"
#include "src/convention/conventions.h"
#include "src/explain/make_explanation.h"
#include "src/hardware/time_bound.h"
#include "src/report/make_report.h"
#include "src/report/samples_report.h"
#include "src/training/backward.h"

namespace onnxflops {
namespace {

ReportOptions ReportOptionsOf(const CountOptions& options) {
  ReportOptions report;
  report.causal = options.causal;
  report.node_rows = options.node_rows;
  report.module = options.module;
  report.upper_bounds = options.upper_bounds;
  report.no_grad = options.no_grad;
  return report;
}

// REQUIRES: RooflineOf(device, precision) is known.
RooflineReport DescribeRoofline(const DeviceChoice& on, const Roofline& rates) {
  RooflineReport report;
  report.device = on.device.name;
  report.device_title = on.device.title;
  report.precision = on.precision;
  report.peak = *on.device.PeakOf(on.precision);
  report.bytes_per_second = *on.device.bytes_per_second;
  report.memory_source = on.device.memory_source;
  report.memory_bytes = on.device.memory_bytes;
  report.cache_bytes = on.device.cache_bytes;
  report.cache_source = on.device.cache_source;
  report.rates = rates;
  return report;
}

absl::StatusOr<Report> MakeOwnReport(const Analysis& analysis, const CountOptions& options) {
  ReportOptions how = ReportOptionsOf(options);
  if (options.on_device) {
    ASSIGN_OR_RETURN(const Roofline rates,
                     RooflineOf(options.on_device->device, options.on_device->precision));
    how.roofline = DescribeRoofline(*options.on_device, rates);
    if (options.module.empty()) {
      how.roofline->compulsory_bytes =
          CompulsoryBytes(analysis.inference, analysis.counts, options.on_device->precision);
      ASSIGN_OR_RETURN(how.roofline->arithmetic_time,
                       LeastArithmeticTime(analysis.inference, analysis.counts));
      ASSIGN_OR_RETURN(how.roofline->fused_time_estimate,
                       FusedTimeEstimate(analysis.inference, analysis.counts, rates));
    }
  }
  return MakeReport(analysis.inference, analysis.counts, how);
}

// Adds memory; with CountOptions::upper_bounds, that at the upper bounds of sizes inside the model.
absl::Status AddMemoryAtBounds(const Model& model, const Analysis& analysis,
                               const CountOptions& options, Report* report) {
  if (!options.upper_bounds) return AddMemory(analysis, options, report);
  ASSIGN_OR_RETURN(const RaisedAnalysis raised, AnalyzeAtBounds(model, options, options.causal));
  return AddMemory(raised, options, report);
}

// Figures at open sizes of inputs that the formulas of training do not hold at are counted there.
// Sizes inside the model have a range, and 1 only stands for them.
absl::Status CountBelowFormulas(const Model& model, const CountOptions& options, Report* report) {
  const Bindings below = SizesBelowFormulas(*report->memory);
  CountOptions at_sizes = options;
  bool any = false;
  for (const SymbolOrigin& symbol : report->symbols) {
    const auto size = below.find(symbol.name);
    if (symbol.kind != SymbolOrigin::Kind::kInput || size == below.end()) continue;
    at_sizes.bindings[symbol.name] = size->second;
    any = true;
  }
  if (!any) return absl::OkStatus();
  const absl::StatusOr<RaisedAnalysis> analysis = AnalyzeAtBounds(model, at_sizes, options.causal);
  // The model may take no other size than the example's.
  if (absl::IsInvalidArgument(analysis.status())) return absl::OkStatus();
  RETURN_IF_ERROR(analysis.status());
  return SetTrainingValues(*analysis, options, &*report->memory);
}

// At size 1 PyTorch may make views of tensors that it copies at larger sizes, so formulas of memory
// need not hold there. If --fit answers 1 or nothing, a count at size 1 decides.
absl::Status CheckFitAtOne(const Model& model, const CountOptions& options, Report* report) {
  FitReport& fit = *report->memory->fit;
  const auto is_at_edge = [](const FitRow& row) { return row.largest && *row.largest <= 1; };
  if (std::none_of(fit.rows.begin(), fit.rows.end(), is_at_edge)) return absl::OkStatus();
  CountOptions at_one = options;
  at_one.memory->fit.reset();
  at_one.bindings[fit.symbol] = 1;
  ASSIGN_OR_RETURN(const Report counted, Count(model, at_one));
  const MemoryReport& memory = *counted.memory;
  const std::optional<absl::int128> held[] = {memory.peak.value, memory.step.value};
  for (size_t i = 0; i < fit.rows.size() && i < std::size(held); ++i) {
    if (!is_at_edge(fit.rows[i]) || !held[i]) continue;
    const absl::int128 bytes = *held[i] + (i == 0 ? memory.param_bytes : 0);
    fit.rows[i].largest = bytes <= fit.bytes ? 1 : 0;
  }
  return absl::OkStatus();
}

// The largest size up to `size` that the model accepts. A file may fix an inner size that its
// inputs leave open, and learned positions are limited in number.
absl::StatusOr<int64_t> LargestTaken(const Model& model, const CountOptions& options,
                                     const std::string& symbol, int64_t size) {
  constexpr int64_t kMostFixed = 8;
  constexpr int kMostHalvings = 24;
  const auto check = [&](int64_t n) {
    CountOptions at = options;
    at.bindings[symbol] = n;
    const absl::Status status = Analyze(model, at, options.causal).status();
    return absl::IsInvalidArgument(status) ? status : absl::OkStatus();
  };
  const absl::Status at_size = check(size);
  if (at_size.ok()) return size;
  int64_t taken = 1;
  while (taken < std::min(size, kMostFixed) && !check(taken).ok()) ++taken;
  if (taken == std::min(size, kMostFixed)) return at_size;
  int64_t refused = size;
  for (int i = 0; i < kMostHalvings && refused - taken > 1; ++i) {
    const int64_t middle = taken + (refused - taken) / 2;
    (check(middle).ok() ? taken : refused) = middle;
  }
  return refused - taken > 1 ? at_size : absl::StatusOr<int64_t>(taken);
}

absl::Status CapFit(const Model& model, const CountOptions& options, FitReport* fit) {
  for (FitRow& row : fit->rows) {
    if (!row.largest || *row.largest == 0) continue;
    ASSIGN_OR_RETURN(const int64_t taken, LargestTaken(model, options, fit->symbol, *row.largest));
    row.of_model = taken < *row.largest;
    row.largest = taken;
  }
  return absl::OkStatus();
}

// Sizes bound to their upper bounds are not bindings that the user gave.
void SetRaised(const std::vector<SymbolOrigin>& raised, Report* report) {
  report->upper_bounds = true;
  report->raised = raised;
  for (const SymbolOrigin& symbol : raised) report->bindings.erase(symbol.name);
}

absl::Status AddSamples(const Model& model, const SampleSizes& samples, Report* report) {
  report::SumOverSamples(SampleSum(samples), report);
  const char* const error = report->totals.error();
  if (error == nullptr) return absl::OkStatus();
  return LimitError(LimitOf(error),
                    absl::StrCat(Escaped(model->path), ": a sum over the samples ", error));
}

// Refuses options that need one size per dimension.
absl::Status RefuseWithSamples(const Model& model, const CountOptions& options) {
  const Samples::Layout layout = options.samples->layout;
  if (layout == Samples::Layout::kOneRow) return absl::OkStatus();
  if (options.upper_bounds) {
    return absl::UnimplementedError(
        absl::StrCat(Escaped(model->path),
                     WithSettings(": {upper on} needs one size of each dimension, and samples have "
                                  "different ones: leave out one of both")));
  }
  if (!options.memory) return absl::OkStatus();
  if (options.memory->fit) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(model->path),
        WithSettings(
            ": {fit} looks for a size, and the samples have theirs: leave out one of both")));
  }
  if (layout == Samples::Layout::kRows) return absl::OkStatus();
  const std::string why =
      absl::StrCat(Escaped(model->path),
                   ": what packed samples hold in memory depends on the kernel of their attention");
  return absl::UnimplementedError(
      TakesTextAlone(*model)
          ? absl::StrCat(why, "; that of one row of all tokens, ", Setting("packed-as-row", kOn),
                         ", is at least as much, if the model has positions for so many")
          : why);
}

bool HasDifferentImages(const SampleSizes& samples) {
  return absl::c_any_of(samples.rows, [&](const SampleSizes::Row& row) {
    for (size_t i = 0; i < row.sizes.size(); ++i) {
      if (i != samples.joint->text && row.sizes[i] != samples.rows[0].sizes[i]) return true;
    }
    return false;
  });
}

// Rows of a batch are padded, so in memory it is the rectangle.
absl::Status AddMemoryOfRectangle(const Model& model, const SampleSizes& samples,
                                  const CountOptions& options, Report* report) {
  CountOptions padded = options;
  padded.samples.reset();
  padded.on_device.reset();
  padded.node_rows = false;
  for (const auto& [name, size] : samples.Rectangle()) padded.bindings[name] = size;
  ASSIGN_OR_RETURN(Report counted, Count(model, padded));
  report->memory = std::move(counted.memory);
  report->memory->at = samples.Rectangle();
  if (samples.joint && HasDifferentImages(samples)) {
    report->warnings.emplace_back(
        "memory is that of rows with an image of the most tokens each; one of another shape may "
        "hold more");
  }
  report->activation_peak = std::move(counted.activation_peak);
  for (std::string& warning : counted.warnings) {
    if (!absl::c_linear_search(report->warnings, warning)) {
      report->warnings.push_back(std::move(warning));
    }
  }
  return absl::OkStatus();
}

// The options of training for FLOPs if given, else those for memory if they change the backward
// pass.
const TrainingOptions* TrainingOf(const CountOptions& options) {
  if (options.training) return &*options.training;
  if (!options.memory || !HasOwnBackward(options.memory->training)) return nullptr;
  return &options.memory->training;
}

// Memory, the peak of activations and an exact backward pass, as far as they are asked for.
absl::Status AddParts(const Model& model, const SampledAnalysis& analysis,
                      const CountOptions& options, Report* report) {
  if (options.memory && analysis.samples) {
    RETURN_IF_ERROR(AddMemoryOfRectangle(model, *analysis.samples, options, report));
  } else if (options.memory) {
    if (const absl::Status added = AddMemoryAtBounds(model, analysis, options, report);
        !added.ok()) {
      return WithMessage(added, absl::StrCat(Escaped(model->path), ": ", added.message()));
    }
    RETURN_IF_ERROR(CountBelowFormulas(model, options, report));
    if (report->memory->fit) {
      RETURN_IF_ERROR(CheckFitAtOne(model, options, report));
      RETURN_IF_ERROR(CapFit(model, options, &*report->memory->fit));
    }
  }
  if (options.activation_peak && !options.memory && options.module.empty() &&
      !options.upper_bounds && !analysis.samples) {
    AddActivationPeak(analysis, report);
  }
  const TrainingOptions* const training = TrainingOf(options);
  if (training == nullptr) return absl::OkStatus();
  const absl::StatusOr<Backward> backward =
      CountBackward(analysis.inference, analysis.counts, options.causal, *training);
  if (!backward.ok()) {
    return WithMessage(backward.status(),
                       absl::StrCat(Escaped(model->path), ": ", backward.status().message()));
  }
  if (!options.memory) {  // memory has added them already
    report->warnings.insert(report->warnings.end(), backward->warnings.begin(),
                            backward->warnings.end());
  }
  return SetTraining(analysis.inference, analysis.counts, *backward, *training, report);
}

}  // namespace

absl::StatusOr<Report> Count(const Model& model, const CountOptions& given) {
  const CountOptions options = WithLoraTraining(given);
  if ((options.training || options.memory) && !options.module.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(Escaped(model->path), ": ",
                     options.training ? "what needs a gradient depends on the whole model"
                                      : "what is alive depends on the whole model",
                     ", so a part has no ", options.training ? "backward pass" : "memory",
                     " of its own; leave out ", Setting("module"), " ", Quoted(options.module),
                     options.training ? ", and rows by module have its share" : ""));
  }
  if (options.samples) RETURN_IF_ERROR(RefuseWithSamples(model, options));
  ASSIGN_OR_RETURN(const SampledAnalysis analysis, AnalyzeSamples(model, options));
  ASSIGN_OR_RETURN(Report report, MakeOwnReport(analysis, options));
  report.lora = analysis.lora;
  NoteAdapters(options, &report);
  RETURN_IF_ERROR(AddParts(model, analysis, options, &report));
  if (analysis.samples) RETURN_IF_ERROR(AddSamples(model, *analysis.samples, &report));
  if (options.samples && !analysis.samples) report.samples = SamplesOfRow(model, options);
  return report;
}

absl::StatusOr<Report> CountAs(const Model& model, const CountOptions& options,
                               absl::string_view name) {
  ASSIGN_OR_RETURN(const convention::Convention* convention, convention::RequireConvention(name));
  if (!options.module.empty()) {
    return absl::UnimplementedError(absl::StrCat(Escaped(model->path), ": a part of a model (",
                                                 Setting("module"), " ", Quoted(options.module),
                                                 ") is only there as we count, not as ", name));
  }
  if (options.training) {
    return absl::InvalidArgumentError(
        absl::StrCat("the exact backward pass has our figures only, not those of ", name));
  }
  if (options.on_device) {
    return absl::InvalidArgumentError(
        absl::StrCat("the bound on time follows from our count, not from that of ", name,
                     WithSettings(": leave out {device} or {convention}")));
  }
  if (options.memory) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory has our figures only, not those of ", name));
  }
  if (options.causal != CausalCounting::kFull) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " counts causal attention in its own way: half of it is only there as we count"));
  }
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(model, options, options.causal));
  const std::vector<Function>& functions = analysis.inference.model->functions;
  if (options.node_rows && std::any_of(functions.begin(), functions.end(),
                                       [](const Function& f) { return !f.official; })) {
    return absl::UnimplementedError(
        absl::StrCat(Escaped(model->path),
                     ": rows by node of a model with functions are only there as we count"));
  }
  return MakeReportAs(analysis.inference, analysis.counts, ReportOptionsOf(options), *convention);
}

namespace {

const char* ErrorOf(const CompareReport& report) {
  for (const ToolRow& tool : report.tools) {
    if (const char* error = ErrorOf(tool)) return error;
  }
  return report.ours.totals.error();
}

// A tool whose count follows no one formula, as of a file with open sizes that it takes for other
// ones, has no sum: its figure at the first and the last sizes says so.
absl::Status DropOtherFormulas(const Model& model, const CountOptions& given,
                               const CompareRequest& request, const SampleSizes& samples,
                               std::vector<ToolRow>* tools) {
  CountOptions options = given;
  options.samples.reset();
  for (const SampleSizes::Row* row : {&samples.rows.front(), &samples.rows.back()}) {
    for (size_t i = 0; i < samples.symbols.size(); ++i) {
      options.bindings[samples.symbols[i]] = row->sizes[i];
    }
    if (!samples.count.empty()) options.bindings[samples.count] = 1;
    ASSIGN_OR_RETURN(const CompareReport one, CompareTools(model, options, request));
    for (size_t i = 0; i < tools->size(); ++i) {
      ToolRow& tool = (*tools)[i];
      const std::optional<Expr>& there = one.tools[i].headline;
      if (!tool.headline && !there) continue;
      if (tool.headline && there && tool.headline->Substitute(options.bindings) == *there) continue;
      tool.standing = Standing::kNotApplicable;
      tool.headline.reset();
      tool.terms.clear();
      tool.assumptions = {there ? "its count follows no one formula of the samples' sizes"
                                : one.tools[i].assumptions[0]};
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CompareReport> CompareSamples(const Model& model, const CountOptions& options,
                                             const CompareRequest& request,
                                             const ReportOptions& part) {
  RETURN_IF_ERROR(RefuseWithSamples(model, options));
  ASSIGN_OR_RETURN(const SampledAnalysis analysis, AnalyzeSamples(model, options));
  ASSIGN_OR_RETURN(CompareReport report,
                   MakeComparison(analysis.inference, analysis.counts, request, part));
  if (!analysis.samples) {
    report.ours.samples = SamplesOfRow(model, options);
    return report;
  }
  RETURN_IF_ERROR(DropOtherFormulas(model, options, request, *analysis.samples, &report.tools));
  SumOverSamples(SampleSum(*analysis.samples), &report);
  const char* const error = ErrorOf(report);
  if (error == nullptr) return report;
  return LimitError(LimitOf(error),
                    absl::StrCat(Escaped(model->path), ": a sum over the samples ", error));
}

}  // namespace

absl::StatusOr<CompareReport> CompareTools(const Model& model, const CountOptions& options,
                                           const CompareRequest& request) {
  ReportOptions part;
  part.module = options.module;
  part.no_grad = options.no_grad;
  if (options.samples) return CompareSamples(model, options, request, part);
  ASSIGN_OR_RETURN(const RaisedAnalysis analysis,
                   AnalyzeAtBounds(model, options, CausalCounting::kFull));
  ASSIGN_OR_RETURN(CompareReport report,
                   MakeComparison(analysis.inference, analysis.counts, request, part));
  if (options.upper_bounds) SetRaised(analysis.raised, &report.ours);
  return report;
}

absl::StatusOr<Explanation> Explain(const Model& model, const CountOptions& options,
                                    absl::string_view node) {
  ASSIGN_OR_RETURN(const RaisedAnalysis analysis, AnalyzeAtBounds(model, options, options.causal));
  ASSIGN_OR_RETURN(Explanation explanation,
                   MakeExplanation(analysis.inference, analysis.counts, node));
  explanation.raised = analysis.raised;
  return explanation;
}

}  // namespace onnxflops
