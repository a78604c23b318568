// How it works. Models are loaded once, and each stage is counted by itself (pipeline_stage.h).
// Figures of all stages are the sums of theirs, weighted by the probability that a stage runs;
// weights count once.
#include "src/api/pipeline.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/api/load.h"
#include "src/api/pipeline_stage.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/pipeline/pipeline_parts.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

absl::Status AtPlace(absl::string_view place, absl::string_view stage, const absl::Status& status) {
  return WithMessage(status,
                     absl::StrCat(place, ": stage ", Quoted(stage), ": ", status.message()));
}

// Models and counts that several pipelines of one call share: the points of a sweep.
struct SharedCounts {
  absl::btree_map<std::string, Model> models;
  CountedRuns counted;
};

class PipelineCounter {
 public:
  PipelineCounter(const Pipeline& pipeline, const CountOptions& options,
                  const CompareRequest* request, std::vector<std::string>* unknown,
                  SharedCounts* known)
      : pipeline_(pipeline),
        options_(options),
        request_(request),
        unknown_(unknown),
        known_(*known) {}

  absl::StatusOr<PipelineReport> Count() {
    report_.file = pipeline_.file;
    report_.title = pipeline_.title;
    report_.parameters = pipeline_.parameters;
    report_.bindings = pipeline_.Values();
    report_.per = pipeline_.per;
    report_.per_count = pipeline_.per_count;
    report_.in_turn = pipeline_.in_turn;
    for (const PipelineParameter& parameter : pipeline_.parameters) {
      if (!parameter.value && parameter.formula.empty())
        report_.at.emplace(parameter.name, parameter.shown_at);
    }
    for (const PipelineStage& stage : pipeline_.stages) RETURN_IF_ERROR(AddStage(stage));
    FindSharedWeights();
    RETURN_IF_ERROR(CheckGiven());
    if (options_.on_device) {
      report_.device = options_.on_device->device.name;
      report_.dtype = std::string(PrecisionName(options_.on_device->precision));
    }
    RETURN_IF_ERROR(AddUp());
    RETURN_IF_ERROR(CheckFigures());
    return std::move(report_);
  }

  // Of each stage, the figures of all runs in the tools of the request. REQUIRES: Count was called.
  std::vector<std::vector<ToolRow>> TakeTools() { return std::move(tools_); }

 private:
  absl::StatusOr<Model> ModelOf(const PipelineStage& stage) {
    if (absl::EndsWith(stage.path, ".toml")) {
      return absl::InvalidArgumentError(absl::StrCat(
          Escaped(stage.path), " is no model: a stage is an ONNX file or a config.json"));
    }
    const auto found = known_.models.find(stage.path);
    if (found != known_.models.end()) return found->second;
    ASSIGN_OR_RETURN(const Model model, LoadFor(stage.path, options_));
    known_.models.emplace(stage.path, model);
    return model;
  }

  // A size that nobody gave may be why a stage cannot be counted.
  absl::Status WithAssumed(const PipelineStage& stage, const absl::Status& status) const {
    std::vector<std::string> used, assumed;
    for (const auto& size : stage.sizes) {
      absl::c_move(size.second.value.Symbols(), std::back_inserter(used));
    }
    for (const PipelineParameter& parameter : pipeline_.parameters) {
      if (!parameter.assumed || !absl::c_linear_search(used, parameter.name)) continue;
      assumed.push_back(absl::StrCat(parameter.name, " = ", *parameter.value));
    }
    if (assumed.empty()) return status;
    return WithMessage(
        status, absl::StrCat(status.message(), "\n  assumed here: ", absl::StrJoin(assumed, ", "),
                             WithSettings("; {dim} sets them")));
  }

  absl::Status AddStage(const PipelineStage& stage) {
    const absl::StatusOr<Model> model = ModelOf(stage);
    if (!model.ok()) return AtPlace(stage.model_place, stage.name, model.status());
    absl::StatusOr<CountedStage> counted =
        CountStage(pipeline_, stage, *model, options_, request_, &known_.counted);
    if (!counted.ok()) {
      return AtPlace(stage.place, stage.name, WithAssumed(stage, counted.status()));
    }
    PipelineStageCost& cost = counted->cost;
    for (const std::string& name : counted->used) {
      report_.bindings.emplace(name, options_.bindings.at(name));
    }
    report_.at.insert(counted->open.begin(), counted->open.end());
    report_.expected = report_.expected || stage.probability.part != stage.probability.whole;
    report_.stages.push_back(std::move(cost));
    tools_.push_back(std::move(counted->tools));
    return absl::OkStatus();
  }

  // For each stage the first one with its weights: of one file, or as the stages say.
  std::vector<size_t> FirstOfWeights(bool with_copies) const {
    const std::vector<PipelineStage>& stages = pipeline_.stages;
    std::vector<size_t> first(stages.size());
    std::vector<std::optional<platform::FileId>> ids;  // a file may have several names
    ids.reserve(stages.size());
    for (const PipelineStage& stage : stages) ids.push_back(platform::IdOf(stage.path));
    for (size_t i = 0; i < stages.size(); ++i) {
      first[i] = i;
      for (size_t j = 0; j < i; ++j) {
        const bool is_same = stages[j].name == stages[i].weights ||
                             (with_copies && stages[j].name == stages[i].copy_of) ||
                             stages[j].path == stages[i].path || (ids[i] && ids[i] == ids[j]);
        if (!is_same || first[i] == first[j]) continue;
        const auto [from, to] = std::minmax(first[i], first[j]);
        std::replace(first.begin(), first.begin() + static_cast<long>(i) + 1, size_t{to},
                     size_t{from});
      }
    }
    return first;
  }
  void FindSharedWeights() {
    const std::vector<size_t> first = FirstOfWeights(/*with_copies=*/true);
    for (size_t i = 0; i < first.size(); ++i) {
      if (first[i] != i) report_.stages[i].weights_of = report_.stages[first[i]].name;
    }
  }
  // Of all files that are loaded: a copy has its own bytes.
  Expr LoadedBytes() const {
    const std::vector<size_t> first = FirstOfWeights(/*with_copies=*/false);
    std::vector<Expr> bytes(first.size(), Expr(0));
    for (size_t i = 0; i < first.size(); ++i) {
      bytes[first[i]] = Max(bytes[first[i]], report_.stages[i].totals.param_bytes);
    }
    Expr sum = 0;
    for (const Expr& of : bytes) sum += of;
    return sum;
  }

  // A stage that never runs has no activations. Fields of a page begin at 1.
  Expr IfItRuns(const PipelineStageCost& stage, const Expr& peak) const {
    if (stage.probability.part == 0) return 0;
    Replacements from_1;
    for (const std::string& name : stage.runs.Symbols()) {
      const PipelineParameter* parameter = pipeline_.Find(name);
      const bool may_be_0 = parameter != nullptr && parameter->least.value_or(1) == 0;
      if (!may_be_0) from_1.emplace(name, Expr::Symbol(name) + Expr(1));
    }
    const absl::StatusOr<absl::int128> here = stage.runs.Evaluate(report_.Sizes());
    const bool runs = stage.runs.Replace(from_1).AtLeast(1) && (!here.ok() || *here > 0);
    return runs ? peak : Min(1, stage.runs) * peak;
  }

  // Figures that have no digits at these sizes would be shown as "?".
  absl::Status CheckFigures() const {
    const Bindings at = report_.Sizes();
    for (const Quantity* q :
         {&QuantityOf(&Amounts::flops), &QuantityOf(&Amounts::macs), &kBytesMoved}) {
      const absl::StatusOr<absl::int128> value = q->In(report_.totals).Evaluate(at);
      if (value.ok()) continue;
      return WithMessage(value.status(), absl::StrCat(Escaped(pipeline_.file), ": ", q->title, ": ",
                                                      value.status().message()));
    }
    const absl::StatusOr<absl::int128> count = report_.per_count.Evaluate(at);
    if (count.ok() && *count >= 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(pipeline_.file), ": per: ", report_.per, " = ", report_.per_count.Shortened(100),
        count.ok() ? absl::StrCat(" is ", Int128ToString(*count), ", below 0")
                   : absl::StrCat(": ", count.status().message())));
  }

  // Each name of the call must be that of a parameter or of a size.
  absl::Status CheckGiven() const {
    for (const auto& [name, size] : options_.bindings) {
      if (report_.bindings.contains(name) || pipeline_.Find(name) != nullptr) continue;
      if (unknown_ != nullptr) {
        unknown_->push_back(name);
        continue;
      }
      std::vector<std::string> names;
      for (const PipelineParameter& parameter : pipeline_.parameters)
        names.push_back(parameter.name);
      for (const auto& [open, value] : report_.at) {
        if (pipeline_.Find(open) == nullptr) names.push_back(open);
      }
      const std::string similar = DidYouMean(name, names);
      return absl::NotFoundError(
          absl::StrCat(Setting("dim"), ": the pipeline has no parameter and no open size named ",
                       Escaped(QuotedSymbol(name)),
                       !similar.empty() || names.empty()
                           ? similar
                           : absl::StrCat("; known: ", absl::StrJoin(names, ", "))));
    }
    return absl::OkStatus();
  }

  // `parts` times their stages' probabilities, rounded down; then each stage's own.
  absl::StatusOr<Expr> Expected(Expr Amounts::*of, absl::string_view what) {
    const absl::int128 whole = pipeline::CommonWhole(report_.stages);
    if (whole == 0) {
      return absl::OutOfRangeError(absl::StrCat(
          Escaped(pipeline_.file),
          ": the probabilities have too many digits: their common denominator is above 2^60"));
    }
    Expr sum = 0;
    for (PipelineStageCost& stage : report_.stages) {
      const Share& share = stage.probability;
      Expr& own = stage.totals.*of;
      sum += own * Expr(share.part * (whole / share.whole));
      if (share.whole > 1 || share.part != 1) own = FloorDiv(own * Expr(share.part), share.whole);
    }
    const Expr total = FloorDiv(sum, whole);
    if (total.error() == nullptr) return total;
    return LimitError(LimitOf(total.error()),
                      absl::StrCat(Escaped(pipeline_.file), ": ", what, " ", total.error()));
  }

  absl::Status AddUp() {
    for (const Quantity& q : kQuantities) {
      if (q.of == Quantity::Of::kWeights || q.needs == Quantity::Needs::kDevice) continue;
      absl::StatusOr<Expr> total = Expected(q.value, q.title);
      if (!total.ok() && q.needs != Quantity::Needs::kTypes) return total.status();
      if (total.ok()) report_.totals.*q.value = *std::move(total);
    }
    Expr activations = 0, in_turn = 0;
    bool known = true;
    std::optional<absl::int128> most_activations = 0, most_in_turn = 0;  // at the sizes
    const Bindings at = report_.Sizes();
    absl::btree_map<std::string, std::pair<Expr, Expr>> weights;  // by the stage that has them
    for (PipelineStageCost& stage : report_.stages) {
      report_.totals.lower_bound = report_.totals.lower_bound || stage.totals.lower_bound;
      stage.totals.SetBackward(/*exact_backward=*/false);
      auto& [params, bytes] = weights[stage.weights_of.empty() ? stage.name : stage.weights_of];
      params = Max(params, stage.totals.params);
      bytes = Max(bytes, stage.totals.param_bytes);
      const absl::StatusOr<absl::int128> own = stage.totals.param_bytes.Evaluate(at);
      if (stage.peak_here && most_activations && own.ok()) {
        most_activations = std::max(*most_activations, *stage.peak_here);
        most_in_turn = std::max(*most_in_turn, *own + *stage.peak_here);
      } else {
        most_activations.reset();
      }
      known = known && stage.peak_activations;
      if (!stage.peak_activations && report_.at.empty() && stage.peak_here) {
        stage.peak_activations = Expr(*stage.peak_here);
      }
      if (!known) continue;
      const Expr peak = IfItRuns(stage, *stage.peak_activations);
      activations = Max(activations, peak);
      in_turn = Max(in_turn, stage.totals.param_bytes + peak);
    }
    for (const auto& [name, of] : weights) {
      report_.totals.params += of.first;
      report_.totals.param_bytes += of.second;
    }
    report_.totals.SetBackward(/*exact_backward=*/false);
    if (known) {
      report_.memory_bytes = report_.in_turn ? in_turn : LoadedBytes() + activations;
      if (report_.memory_bytes->error() != nullptr) report_.memory_bytes.reset();
    }
    const absl::StatusOr<absl::int128> all_weights = LoadedBytes().Evaluate(at);
    if (!report_.memory_bytes && report_.at.empty() && most_activations && all_weights.ok()) {
      report_.memory_bytes =
          Expr(report_.in_turn ? *most_in_turn : *all_weights + *most_activations);
      report_.memory_has_formula = false;
    }
    return options_.on_device ? AddTime() : absl::OkStatus();
  }

  absl::Status AddTime() {
    PipelineTime& time = report_.time.emplace();
    for (PipelineStageCost& stage : report_.stages) {
      time.memory_known = time.memory_known && stage.time->memory_known;
      const Share& share = stage.probability;
      for (Expr PipelineTime::*part :
           {&PipelineTime::bound, &PipelineTime::arithmetic, &PipelineTime::memory}) {
        Expr& own = (*stage.time).*part;
        if (share.part != share.whole) own = FloorDiv(own * Expr(share.part), share.whole);
        time.*part += own;
        if ((time.*part).error() == nullptr) continue;
        return LimitError(LimitOf((time.*part).error()),
                          absl::StrCat(Escaped(pipeline_.file), ": time ", (time.*part).error()));
      }
    }
    return absl::OkStatus();
  }

  const Pipeline& pipeline_;
  const CountOptions& options_;
  const CompareRequest* const request_;
  std::vector<std::string>* unknown_;
  SharedCounts& known_;
  PipelineReport report_;
  std::vector<std::vector<ToolRow>> tools_;
};

}  // namespace

absl::StatusOr<PipelineReport> CountPipeline(const Pipeline& pipeline, const CountOptions& options,
                                             std::vector<std::string>* unknown) {
  SharedCounts known;
  return PipelineCounter(pipeline, options, nullptr, unknown, &known).Count();
}

absl::StatusOr<PipelineComparison> ComparePipeline(const Pipeline& pipeline,
                                                   const CountOptions& options,
                                                   const CompareRequest& request,
                                                   std::vector<std::string>* unknown) {
  SharedCounts known;
  PipelineCounter counter(pipeline, options, &request, unknown, &known);
  ASSIGN_OR_RETURN(PipelineReport report, counter.Count());
  return MakePipelineComparison(std::move(report), request, counter.TakeTools());
}

absl::StatusOr<PipelineDiff> DiffPipelines(const Pipeline& base, const Pipeline& head,
                                           const CountOptions& options) {
  std::vector<std::string> not_in_base, not_in_head;
  ASSIGN_OR_RETURN(PipelineReport of_base, CountPipeline(base, options, &not_in_base));
  ASSIGN_OR_RETURN(PipelineReport of_head, CountPipeline(head, options, &not_in_head));
  const bool mistaken = absl::c_any_of(not_in_head, [&](const std::string& name) {
    return absl::c_linear_search(not_in_base, name);
  });
  if (mistaken) {
    CountOptions only = options;
    for (const std::string& name : not_in_head) {
      if (!absl::c_linear_search(not_in_base, name)) only.bindings.erase(name);
    }
    return CountPipeline(head, only).status();
  }
  return MakePipelineDiff(std::move(of_base), std::move(of_head));
}

absl::StatusOr<PipelineSweep> SweepPipeline(
    absl::FunctionRef<absl::StatusOr<Pipeline>(const Bindings&)> load, const CountOptions& options,
    absl::Span<const SweptSymbol> swept) {
  ASSIGN_OR_RETURN(const std::vector<Bindings> points, SweepPoints(swept));
  PipelineSweep sweep;
  SharedCounts known;
  for (const auto& [name, sizes] : swept) sweep.symbols.push_back(name);
  for (const Bindings& at : points) {
    CountOptions own = options;
    own.bindings.insert(at.begin(), at.end());
    ASSIGN_OR_RETURN(const Pipeline pipeline, load(own.bindings));
    if (points.size() * pipeline.stages.size() > kMaxPipelineSweepStages) {
      return LimitError("pipeline-sweep",
                        absl::StrCat("the points of the sweep times the stages "
                                     "are more than ",
                                     kMaxPipelineSweepStages, " (pipeline-sweep)"));
    }
    PipelineCounter counter(pipeline, own, nullptr, nullptr, &known);
    ASSIGN_OR_RETURN(PipelineReport report, counter.Count());
    sweep.points.push_back({at, std::move(report)});
  }
  return sweep;
}

}  // namespace onnxflops
