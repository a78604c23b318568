#include "src/api/mfu.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/api/analysis.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/convention/convention.h"
#include "src/convention/conventions.h"
#include "src/resolve/parameters.h"
#include "src/training/attention_summary.h"
#include "src/training/backward.h"

namespace onnxflops {
namespace {

constexpr double kGiga = 1e9;
constexpr int kForwardAndBackward = 3;

// The first two sizes of the first input that may be tokens: integers, [batch, tokens].
struct StepSizes {
  std::optional<Expr> batch, tokens;
};

StepSizes SizesOfStep(const Report& report) {
  StepSizes sizes;
  for (const InputInfo& input : report.inputs) {
    if (!input.shape.ranked() || input.shape.rank() == 0) continue;
    if (!sizes.batch) sizes.batch = input.shape[0];
    const std::optional<DType> type = ParseDType(input.type);
    if (sizes.tokens || input.shape.rank() != 2 || !type || !IsInteger(*type)) continue;
    sizes.batch = input.shape[0];
    sizes.tokens = input.shape[0] * input.shape[1];
  }
  return sizes;
}

std::optional<int64_t> KnownSize(const std::optional<Expr>& size) {
  return size ? size->AsInt64() : std::nullopt;
}

// A total as a number. FailedPrecondition where it depends on sizes.
absl::StatusOr<absl::int128> Number(const Report& report, const Expr& amount) {
  if (amount.is_literal()) return amount.literal();
  return absl::FailedPreconditionError(absl::StrCat(
      Escaped(report.model.path), ": sizes are open, --dim sets them: ",
      absl::StrJoin(amount.Symbols(), ", ", [](std::string* out, const std::string& s) {
        absl::StrAppend(out, Escaped(s));
      })));
}

// Elements of the tables that places of tokens are looked up in: what a Gather takes by indices
// that depend on shapes alone. nullopt where there is none.
std::optional<int64_t> PositionParameters(const Inference& inference) {
  const ModelData& model = *inference.model;
  const Instance& main = inference.instance(0);
  const Graph& graph = model.graph(main.graph);
  absl::flat_hash_set<ValueId> tables;
  Expr elements = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = model.node(graph.nodes[i]);
    const Call& call = inference.call(main.calls[i]);
    if (node.op_type != "Gather" || !node.domain.empty() || node.inputs.empty()) continue;
    if ((!call.constant && !call.from_shapes) || !node.inputs[0] || call.inputs.empty()) continue;
    const Fact& table = inference.fact(call.inputs[0]);
    const bool is_table = model.value(*node.inputs[0]).initializer.has_value() &&
                          table.is_tensor() && IsFloat(table.dtype) && table.shape.ranked() &&
                          table.shape.rank() == 2;
    if (is_table && tables.insert(*node.inputs[0]).second) elements += table.shape.NumElements();
  }
  return tables.empty() ? std::nullopt : elements.AsInt64();
}

// Parameters of experts that a token is not routed to, each tensor once; nullopt where no operator
// is a mixture of experts.
class IdleExperts {
 public:
  explicit IdleExperts(const Inference& inference) : in_(inference), model_(*inference.model) {
    for (const resolve::Parameter& p : resolve::FindParameters(model_)) {
      elements_.emplace(p.value, Expr(p.elements));
    }
  }

  std::optional<Expr> Find() {
    for (InstanceId id : in_.callees_first) {
      const Instance& instance = in_.instance(id);
      const std::vector<NodeId>& nodes = model_.graph(instance.graph).nodes;
      for (size_t i = 0; i < nodes.size(); ++i) {
        Add(model_.node(nodes[i]), in_.call(instance.calls[i]));
      }
    }
    return any_ ? std::optional<Expr>(idle_) : std::nullopt;
  }

 private:
  void Add(const Node& node, const Call& call) {
    const uint32_t experts = call.def == nullptr ? 0 : call.def->operands.experts;
    if (experts == 0) return;
    any_ = true;
    const Attribute* k = node.FindAttribute("k");
    for (size_t i = 0; i < node.inputs.size() && i < call.inputs.size() && i < 32; ++i) {
      if ((experts >> i & 1) == 0 || !node.inputs[i]) continue;
      const auto weight = elements_.find(*node.inputs[i]);
      const Fact& fact = in_.fact(call.inputs[i]);
      if (weight == elements_.end() || !fact.shape.ranked() || fact.shape.rank() == 0) continue;
      if (fact.shape[0] == Expr(0)) continue;
      const Expr unused = Max(fact.shape[0] - (k == nullptr ? 1 : k->i), 0);
      idle_ += FloorDiv(weight->second * unused, fact.shape[0]);
      elements_.erase(weight);
    }
  }

  const Inference& in_;
  const ModelData& model_;
  absl::flat_hash_map<ValueId, Expr> elements_;
  Expr idle_ = 0;
  bool any_ = false;
};

class MfuMaker {
 public:
  MfuMaker(const Analysis& analysis, const MfuOptions& options)
      : analysis_(analysis), options_(options) {}

  absl::StatusOr<MfuReport> Make() {
    ASSIGN_OR_RETURN(report_, MakeReport(analysis_.inference, analysis_.counts,
                                         {.causal = options_.count.causal}));
    const TrainingOptions training = options_.count.training.value_or(TrainingOptions());
    ASSIGN_OR_RETURN(backward_, CountBackward(analysis_.inference, analysis_.counts,
                                              options_.count.causal, training));
    RETURN_IF_ERROR(FindStep());
    RETURN_IF_ERROR(FindPeakOfDevice());
    RETURN_IF_ERROR(CountStep());
    AddFormulas();
    Finish();
    return std::move(out_);
  }

 private:
  absl::Status FindStep() {
    out_.model = report_.model.path;
    out_.bindings.assign(report_.bindings.begin(), report_.bindings.end());
    out_.grad_accumulation = options_.grad_accumulation;
    out_.devices = options_.devices;
    if (options_.grad_accumulation < 1 || options_.devices < 1) {
      return absl::InvalidArgumentError("--devices and --grad-accumulation are 1 or more");
    }
    const StepSizes sizes = SizesOfStep(report_);
    parameters_ = options_.parameters;
    const auto times = [&](std::optional<int64_t> n) -> std::optional<int64_t> {
      const Expr product = Expr(n.value_or(0)) * options_.grad_accumulation;
      return n ? product.AsInt64() : std::nullopt;
    };
    FillParameters(sizes, times(KnownSize(sizes.tokens)));
    ASSIGN_OR_RETURN(out_.step_seconds,
                     StepSeconds(options_.rate, times(KnownSize(sizes.batch)), parameters_.tokens));
    return absl::OkStatus();
  }

  // What the model tells of the formulas' parameters.
  void FillParameters(const StepSizes& sizes, std::optional<int64_t> tokens) {
    attention_ = SummarizeAttention(analysis_.inference, analysis_.counts, sizes.batch);
    const auto fill = [](std::optional<int64_t> value, std::optional<int64_t>* parameter) {
      if (!parameter->has_value()) *parameter = value;
    };
    fill(report_.totals.params.AsInt64(), &parameters_.n);
    const std::optional<Expr> idle = IdleExperts(analysis_.inference).Find();
    if (idle) fill((report_.totals.params - *idle).AsInt64(), &parameters_.a);
    if (attention_.layers > 0) fill(attention_.layers, &parameters_.l);
    fill(KnownSize(attention_.heads), &parameters_.h);
    fill(KnownSize(attention_.head_size), &parameters_.q);
    fill(KnownSize(attention_.tokens), &parameters_.t);
    fill(tokens, &parameters_.tokens);
    fill(PositionParameters(analysis_.inference), &parameters_.p);
    constexpr int kLogitsRank = 3;
    for (const TensorInfo& output : report_.outputs) {
      if (!output.shape.ranked() || output.shape.rank() != kLogitsRank) continue;
      fill(output.shape[kLogitsRank - 1].AsInt64(), &parameters_.v);
      break;
    }
  }

  absl::Status FindPeakOfDevice() {
    if (options_.precision) out_.dtype = std::string(PrecisionName(*options_.precision));
    if (options_.peak > 0) {
      out_.peak_flops_per_second = options_.peak;
      out_.peak_source = "given";
      return absl::OkStatus();
    }
    if (!options_.device || !options_.precision) {
      return absl::InvalidArgumentError(
          "--device NAME with --dtype, or --peak FLOP/s, is needed: there is no default device");
    }
    const Device& device = *options_.device;
    ASSIGN_OR_RETURN(const PeakFigure peak, FindPeak(device, *options_.precision));
    out_.device = device.name;
    out_.peak_flops_per_second = static_cast<double>(peak.giga) * kGiga;
    out_.peak_source = peak.source;
    for (const PeakFigure& other : device.peaks) {
      if (other.precision != peak.precision || other.giga == peak.giga) continue;
      out_.other_peaks.push_back(absl::StrCat(
          "another source: ", static_cast<double>(other.giga) / 1000, " TFLOP/s",
          other.accumulate.empty() ? "" : absl::StrCat(" with sums in ", other.accumulate), " (",
          other.source, ")"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<absl::int128> PerStep(const Expr& amount) const {
    return Number(report_, amount * options_.grad_accumulation);
  }

  absl::Status CountStep() {
    const bool exact = options_.count.training.has_value();
    const Expr backward = exact ? backward_.flops : report_.totals.backward_flops;
    out_.counted = exact ? "exact" : "2x";
    out_.lower_bound = report_.totals.lower_bound || (exact && !backward_.unknown.empty());
    ASSIGN_OR_RETURN(out_.forward_flops, PerStep(report_.totals.flops));
    ASSIGN_OR_RETURN(out_.backward_flops, PerStep(backward));
    ASSIGN_OR_RETURN(out_.recompute_flops, PerStep(backward_.recomputed_flops));
    ASSIGN_OR_RETURN(out_.optimizer_flops, Number(report_, backward_.optimizer_flops));
    if (!options_.convention.empty()) {
      ASSIGN_OR_RETURN(out_.forward_flops, ByTool(options_.convention));
      out_.backward_flops = (kForwardAndBackward - 1) * out_.forward_flops;
      out_.counted = absl::StrCat(options_.convention, " x 3");
      out_.lower_bound = false;
    }
    out_.training_flops = out_.forward_flops + out_.backward_flops;
    return absl::OkStatus();
  }

  // FLOPs of the forward pass as another tool counts them, a MAC being two.
  absl::StatusOr<absl::int128> ByTool(absl::string_view name) {
    ASSIGN_OR_RETURN(const convention::Convention* convention, convention::RequireConvention(name));
    const absl::StatusOr<Report> report =
        MakeReportAs(analysis_.inference, analysis_.counts, {}, *convention);
    if (!report.ok()) return report.status();
    const ToolFigure& tool = *report->tool;
    return PerStep(tool.counts_macs ? 2 * tool.headline : tool.headline);
  }

  void Add(MfuFormula formula, const absl::StatusOr<absl::int128>& flops) {
    if (flops.ok()) {
      formula.flops_per_step = *flops;
      formula.mfu = Share(*flops);
      formula.hfu = Share(*flops + out_.recompute_flops);
    } else {
      absl::string_view why = flops.status().message();
      absl::ConsumePrefix(&why, absl::StrCat(Escaped(report_.model.path), ": "));
      formula.missing = std::string(why);
    }
    out_.formulas.push_back(std::move(formula));
  }

  double Share(absl::int128 flops) const {
    return Utilisation(flops, out_.step_seconds, out_.devices, out_.peak_flops_per_second);
  }

  void AddFormulas() {
    const bool exact = options_.count.training.has_value();
    const bool ours = options_.convention.empty();
    const Expr& forward = report_.totals.flops;
    const absl::StatusOr<absl::int128> exactly =
        backward_.unknown.empty()
            ? PerStep(forward + backward_.flops)
            : absl::StatusOr<absl::int128>(absl::FailedPreconditionError(
                  absl::StrCat("the gradient of ", backward_.unknown[0].op, " is not known")));
    Add({.name = "exact",
         .text = "forward + what autograd executes",
         .source = "count --backward exact",
         .chosen = ours && exact},
        exactly);
    Add({.name = "2x",
         .text = "3 x forward",
         .source = "PaLM, arXiv 2204.02311, appendix B",
         .chosen = ours && !exact},
        PerStep(kForwardAndBackward * forward));
    Add({.name = "contractions",
         .text = "3 x 2 x MACs: matrix products and convolutions alone",
         .source = "torch.utils.flop_counter"},
        PerStep(2 * kForwardAndBackward * report_.census[Kind::kMac]));
    // With --causal half the forward pass of causal operators is without them already.
    const bool halved = options_.count.causal == CausalCounting::kHalf && report_.causal_nodes > 0;
    if (attention_.layers > 0 && !halved) {
      Add({.name = "2x_causal_half",
           .text = "3 x forward, half of the products with scores left out",
           .source = "attention found in the graph"},
          PerStep(kForwardAndBackward * (forward - FloorDiv(attention_.flops, 2))));
    }
    for (const FormulaInfo& info : kFormulas) {
      const bool of_experts =
          info.formula == Formula::k6nActive || info.formula == Formula::kPalmActive;
      if (!of_experts || parameters_.a) AddKnownFormula(info);
    }
    Add({.name = "thop",
         .text = "3 x 2 x the MACs that thop reports",
         .source = "thop",
         .chosen = options_.convention == "thop"},
        TimesThree(ByTool("thop")));
    if (ours || options_.convention == "thop") return;
    Add({.name = options_.convention,
         .text = "3 x what the tool reports",
         .source = options_.convention,
         .chosen = true},
        out_.training_flops);
  }

  static absl::StatusOr<absl::int128> TimesThree(absl::StatusOr<absl::int128> flops) {
    if (flops.ok()) *flops *= kForwardAndBackward;
    return flops;
  }

  void AddKnownFormula(const FormulaInfo& info) {
    MfuFormula formula;
    formula.name = std::string(info.name);
    formula.text = std::string(info.text);
    formula.source = std::string(info.source);
    const std::vector<absl::string_view> reads = absl::StrSplit(info.reads, ' ');
    for (const FormulaParameter& parameter : kFormulaParameters) {
      const std::optional<int64_t>& value = parameters_.*parameter.value;
      if (!value || std::find(reads.begin(), reads.end(), parameter.name) == reads.end()) continue;
      formula.parameters.emplace_back(parameter.name, *value);
    }
    Add(std::move(formula), FlopsByFormula(info.formula, parameters_));
  }

  void Finish() {
    out_.mfu = Share(out_.training_flops);
    out_.hfu = Share(out_.training_flops + out_.recompute_flops);
    out_.achieved_flops_per_second = out_.mfu * out_.peak_flops_per_second;
    if (options_.measured_flops && out_.training_flops > 0) {
      out_.measured_flops = options_.measured_flops;
      out_.measured_to_counted =
          static_cast<double>(*options_.measured_flops) / static_cast<double>(out_.training_flops);
      out_.measured_hfu = Share(*options_.measured_flops);
      out_.notes = ReasonsOfRatio(out_.measured_to_counted);
    }
    if (options_.count.causal == CausalCounting::kHalf && report_.causal_nodes == 0) {
      out_.notes.emplace_back(kNothingCausal);
    }
    if (out_.mfu <= 1 && out_.hfu <= 1) return;
    out_.notes.push_back("a utilisation above 1 cannot be; likely reasons:");
    for (std::string& reason : ReasonsAboveOne()) out_.notes.push_back(std::move(reason));
  }

  const Analysis& analysis_;
  const MfuOptions& options_;
  Report report_;
  Backward backward_;
  AttentionSummary attention_;
  FormulaParameters parameters_;
  MfuReport out_;
};

}  // namespace

absl::StatusOr<MfuReport> CountMfu(const Model& model, const MfuOptions& options) {
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(model, options.count, options.count.causal));
  return MfuMaker(analysis, options).Make();
}

}  // namespace onnxflops
