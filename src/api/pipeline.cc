// How it works. Models are loaded once, and each stage is counted by itself (pipeline_stage.h).
// Figures of all stages are the sums of theirs, weighted by the probability that a stage runs;
// weights count once.
#include "src/api/pipeline.h"

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

class PipelineCounter {
 public:
  PipelineCounter(const Pipeline& pipeline, const CountOptions& options,
                  const CompareRequest* request, std::vector<std::string>* unknown)
      : pipeline_(pipeline), options_(options), request_(request), unknown_(unknown) {}

  absl::StatusOr<PipelineReport> Count() {
    report_.file = pipeline_.file;
    report_.title = pipeline_.title;
    report_.parameters = pipeline_.parameters;
    report_.bindings = pipeline_.Values();
    report_.per = pipeline_.per;
    report_.in_turn = pipeline_.in_turn;
    for (const PipelineParameter& parameter : pipeline_.parameters) {
      if (!parameter.value && parameter.formula.empty()) report_.at.emplace(parameter.name, 1);
    }
    for (const PipelineStage& stage : pipeline_.stages) RETURN_IF_ERROR(AddStage(stage));
    RETURN_IF_ERROR(CheckGiven());
    if (options_.on_device) {
      report_.device = options_.on_device->device.name;
      report_.dtype = std::string(PrecisionName(options_.on_device->precision));
    }
    RETURN_IF_ERROR(AddUp());
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
    if (const auto found = models_.find(stage.path); found != models_.end()) return found->second;
    ASSIGN_OR_RETURN(const Model model, LoadFor(stage.path, options_));
    models_.emplace(stage.path, model);
    return model;
  }

  absl::Status AddStage(const PipelineStage& stage) {
    const absl::StatusOr<Model> model = ModelOf(stage);
    if (!model.ok()) return AtPlace(stage.model_place, stage.name, model.status());
    absl::StatusOr<CountedStage> counted =
        CountStage(pipeline_, stage, *model, options_, request_, &counted_);
    if (!counted.ok()) return AtPlace(stage.place, stage.name, counted.status());
    PipelineStageCost& cost = counted->cost;
    for (const PipelineStage& other : pipeline_.stages) {
      if (&other == &stage) break;
      const bool same = other.name == stage.weights || other.path == stage.path;
      if (same && cost.weights_of.empty()) cost.weights_of = other.name;
    }
    for (const std::string& name : counted->used) {
      report_.bindings.emplace(name, options_.bindings.at(name));
    }
    report_.at.insert(counted->open.begin(), counted->open.end());
    report_.expected = report_.expected || stage.probability.whole > 1;
    report_.stages.push_back(std::move(cost));
    tools_.push_back(std::move(counted->tools));
    return absl::OkStatus();
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
          Escaped(pipeline_.file), ": the probabilities have no common denominator below 2^60"));
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
    absl::btree_map<std::string, std::pair<Expr, Expr>> weights;  // by the stage that has them
    for (PipelineStageCost& stage : report_.stages) {
      report_.totals.lower_bound = report_.totals.lower_bound || stage.totals.lower_bound;
      stage.totals.SetBackward(/*exact_backward=*/false);
      auto& [params, bytes] = weights[stage.weights_of.empty() ? stage.name : stage.weights_of];
      params = Max(params, stage.totals.params);
      bytes = Max(bytes, stage.totals.param_bytes);
      known = known && stage.peak_activations;
      if (!known) continue;
      activations = Max(activations, *stage.peak_activations);
      in_turn = Max(in_turn, stage.totals.param_bytes + *stage.peak_activations);
    }
    for (const auto& [name, of] : weights) {
      report_.totals.params += of.first;
      report_.totals.param_bytes += of.second;
    }
    report_.totals.SetBackward(/*exact_backward=*/false);
    if (known) {
      report_.memory_bytes = report_.in_turn ? in_turn : report_.totals.param_bytes + activations;
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
  absl::btree_map<std::string, Model> models_;
  CountedRuns counted_;
  PipelineReport report_;
  std::vector<std::vector<ToolRow>> tools_;
};

}  // namespace

absl::StatusOr<PipelineReport> CountPipeline(const Pipeline& pipeline, const CountOptions& options,
                                             std::vector<std::string>* unknown) {
  return PipelineCounter(pipeline, options, nullptr, unknown).Count();
}

absl::StatusOr<PipelineComparison> ComparePipeline(const Pipeline& pipeline,
                                                   const CountOptions& options,
                                                   const CompareRequest& request) {
  PipelineCounter counter(pipeline, options, &request, nullptr);
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
    ASSIGN_OR_RETURN(PipelineReport report, CountPipeline(pipeline, own));
    sweep.points.push_back({at, std::move(report)});
  }
  return sweep;
}

}  // namespace onnxflops
