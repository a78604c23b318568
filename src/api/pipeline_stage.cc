// How it works. Each model is counted once with its sizes open, so that its cost is a formula. The
// sizes of a stage, formulas over the parameters, replace its symbols. The runs of a loop are the
// closed sum over its index. A formula holds for all sizes unless a size decides which nodes run.
// So the stage is also counted at the values of the parameters, in the first and the last run of
// its loop, and must agree. If it does not, a stage without a loop has the figures of that count.
// Where sizes decide between branches of a model, these two do not stand for the others: all runs
// must agree, and the figures hold at these numbers only.
// Counts of one model at the same sizes are made once.
//
// The bound on the time of a loop is the larger one of two sums, arithmetic and memory, which is at
// most the sum of the larger ones. Of a decoder with a cache the outputs that return the cache are
// left out, since a server appends in place.
//
// Figures of other tools go the same way: a comparison of the model holds our count and theirs as
// formulas, and each tool is checked at the values by itself. Of a tool that fails in a loop, the
// stage has no figure.
#include "src/api/pipeline_stage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/api/analysis.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/hardware/time_bound.h"
#include "src/memory/kv_cache.h"
#include "src/report/reference_sizes.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

// `change` of every formula.
template <typename Change>
void ChangeTool(const Change& change, ToolRow* tool) {
  tool->start = change(tool->start);
  for (TermRow& term : tool->terms) term.amount = change(term.amount);
  if (tool->headline) tool->headline = change(*tool->headline);
}
template <typename Change>
void ChangeAll(const Change& change, RunCost* cost) {
  for (const Quantity& q : kQuantities) cost->totals.*q.value = change(cost->totals.*q.value);
  cost->arithmetic = change(cost->arithmetic);
  cost->memory = change(cost->memory);
  if (cost->peak) cost->peak = change(*cost->peak);
  for (ToolRow& tool : cost->tools) ChangeTool(change, &tool);
}

constexpr char kNoSumOfRuns[] =
    "no one formula holds in all runs of the loop; a loop of one run has a figure";

void LeaveOut(absl::string_view reason, ToolRow* tool) {
  tool->standing = Standing::kNotApplicable;
  tool->assumptions = {std::string(reason)};
  tool->params.reset();
  tool->terms.clear();
  tool->headline.reset();
}

// Whether the formulas of a tool at these values are its comparison there.
bool Agrees(const ToolRow& formula, const ToolRow& counted, const Bindings& values) {
  if (formula.headline.has_value() != counted.headline.has_value()) return false;
  if (!counted.headline) return true;
  absl::btree_map<std::string, Expr> terms;
  for (const TermRow& term : formula.terms) terms[term.name] += term.amount.Substitute(values);
  for (const TermRow& term : counted.terms) terms[term.name] -= term.amount;
  return formula.start.Substitute(values) == counted.start &&
         formula.headline->Substitute(values) == *counted.headline &&
         absl::c_all_of(terms, [](const auto& term) { return term.second.is_zero(); });
}

// The symbol that a size of a decoder is, if it is one.
std::optional<std::string> OnlySymbol(const Expr& dim) {
  std::vector<std::string> symbols = dim.Symbols();
  if (symbols.size() != 1 || dim != Expr::Symbol(symbols[0], 1)) return std::nullopt;
  return std::move(symbols[0]);
}

class StageCounter {
 public:
  StageCounter(const Pipeline& pipeline, const PipelineStage& stage, const CountOptions& options,
               const CompareRequest* request, CountedRuns* counted)
      : pipeline_(pipeline),
        stage_(stage),
        options_(options),
        request_(request),
        counted_(*counted) {}

  absl::StatusOr<CountedStage> Count(const Model& model) {
    model_ = model;
    RETURN_IF_ERROR(FindSizes());
    RETURN_IF_ERROR(FindContents());
    ASSIGN_OR_RETURN(const CountOptions as_open, CountedOpen());
    ASSIGN_OR_RETURN(const CountedRun open, CountRun(as_open));
    RETURN_IF_ERROR(CheckNames(open));
    RunCost cost = open.cost;
    uncounted_ = open.uncounted;
    most_ = open.most;
    RETURN_IF_ERROR(CheckValues(open.unequal_branches, &cost));
    CountedStage result;
    ASSIGN_OR_RETURN(result.cost, Summed(cost));
    ASSIGN_OR_RETURN(result.tools, SummedTools(std::move(cost.tools)));
    result.used = std::move(used_);
    result.open = std::move(open_);
    return result;
  }

 private:
  // ---- sizes
  // sizes_: what each symbol of the model is, over the parameters.
  absl::Status FindSizes() {
    for (const auto& [name, size] : stage_.sizes) sizes_.emplace(name, size.value);
    if (!stage_.past && !stage_.new_tokens) return absl::OkStatus();
    absl::StatusOr<Decoder> decoder = DecoderOf(model_);
    if (absl::IsNotFound(decoder.status()) && stage_.past) {
      ASSIGN_OR_RETURN(const std::optional<Model> step, DecodingStepOf(*model_));
      if (step) {
        model_ = *step;
        is_step_ = true;
        decoder = DecoderOf(model_);
      }
    }
    if (absl::IsNotFound(decoder.status())) {
      return absl::FailedPreconditionError(
          absl::StrCat("new and past are of a decoder with a cache, but ",
                       decoder.status().message(), "; set its sizes in sizes"));
    }
    RETURN_IF_ERROR(decoder.status());
    decoder_ = *std::move(decoder);
    return BindDecoder();
  }

  // The contents of inputs. Sizes inside the model may follow from those that are formulas, so the
  // stage is then counted at the numbers of the parameters only.
  absl::Status FindContents() {
    const Bindings values = ValuesAt(0);
    for (const auto& [name, elements] : stage_.values) {
      for (const PlacedExpr& element : elements) {
        has_formula_ = has_formula_ && element.value.is_literal();
        const std::string what = absl::StrCat("the value of ", Escaped(name));
        RETURN_IF_ERROR(CheckGiven(element.value, absl::StrCat(what, " needs numbers")));
        const std::optional<int64_t> literal = element.value.AsInt64();
        ASSIGN_OR_RETURN(const int64_t number, literal ? absl::StatusOr<int64_t>(*literal)
                                                       : NumberOf(element.value, what, values));
        contents_[name].push_back(number);
      }
    }
    return absl::OkStatus();
  }

  // `what` needs numbers.
  absl::Status CheckGiven(const Expr& value, absl::string_view what) const {
    for (const std::string& name : value.Symbols()) {
      const PipelineParameter* parameter = pipeline_.Find(name);
      if (parameter == nullptr || parameter->value || !parameter->formula.empty()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(what, ", so ", Escaped(name), " cannot be open: give it a number"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Decoder> DecoderOf(const Model& model) const {
    CountOptions open = options_;
    open.bindings.clear();
    open.on_device.reset();
    ASSIGN_OR_RETURN(const Analysis analysis, Analyze(model, open, options_.causal, false));
    return FindDecoder(analysis.inference);
  }

  // As BindStep, with formulas for the numbers of tokens.
  absl::Status BindDecoder() {
    const Expr tokens = stage_.new_tokens ? stage_.new_tokens->value : Expr(1);
    const Expr past = stage_.past ? stage_.past->value : Expr(0);
    std::vector<std::pair<Expr, Expr>> of_step = {{decoder_->tokens, tokens}};
    if (decoder_->tensors > 0) of_step.emplace_back(decoder_->length, past);  // else it has states
    for (const auto& [dim, size] : of_step) {
      if (const std::optional<std::string> symbol = OnlySymbol(dim)) {
        RETURN_IF_ERROR(SetSize(*symbol, size));
      } else if (dim != size) {
        return absl::FailedPreconditionError(absl::StrCat(
            "the export fixed ", Escaped(dim.Shortened(40)), " tokens, so ", Shown(size),
            " is not possible; export it with open sizes (dynamic_shapes=)"));
      }
    }
    for (const std::string& symbol : decoder_->total) {
      RETURN_IF_ERROR(SetSize(symbol, tokens + past));
    }
    for (const std::string& symbol : decoder_->equal) RETURN_IF_ERROR(SetSize(symbol, tokens));
    for (const auto& [symbol, size] : decoder_->known) sizes_.emplace(symbol, size);
    if (!decoder_->use_cache.empty()) use_cache_ = past.is_zero() ? 0 : 1;
    return absl::OkStatus();
  }

  // A size that follows from new and past.
  absl::Status SetSize(const std::string& symbol, const Expr& size) {
    const auto [found, is_new] = sizes_.emplace(symbol, size);
    if (is_new || found->second == size) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("sizes sets ", QuotedSymbol(symbol), " to ", Shown(found->second),
                     ", and by new and past it is ", Shown(size), ": leave it out of sizes"));
  }

  static std::string Shown(const Expr& size) { return size.Shortened(100); }

  CountOptions WithValues() const {
    CountOptions options = options_;
    options.bindings.clear();
    const auto add = [&](const std::string& name, const std::vector<int64_t>& elements) {
      Content content;
      for (const int64_t element : elements) content.push_back(Scalar::Int(element));
      options.input_values.emplace(name, std::move(content));
      if (elements.size() == 1 && !IsScalar(name)) options.input_shapes.emplace(name, Dims{1});
    };
    for (const auto& [name, elements] : contents_) add(name, elements);
    if (use_cache_ && !contents_.contains(decoder_->use_cache)) {
      add(decoder_->use_cache, {*use_cache_});
    }
    options.activation_peak = true;
    return options;
  }

  bool IsScalar(absl::string_view input) const {
    return absl::c_any_of(model_->graph(0).inputs, [&](ValueId id) {
      const Value& value = model_->value(id);
      return value.name == input && value.declared != nullptr && value.declared->has_shape &&
             value.declared->dims.empty();
    });
  }

  // Sizes that are numbers are bound, so that inference knows them; others stay open.
  absl::StatusOr<CountOptions> CountedOpen() const {
    CountOptions options = WithValues();
    const Bindings values = ValuesAt(0);
    for (const auto& [name, size] : sizes_) {
      if (!has_formula_) {
        ASSIGN_OR_RETURN(options.bindings[name], NumberOf(size, Escaped(name), values));
      } else if (const std::optional<int64_t> number = size.AsInt64()) {
        options.bindings.emplace(name, *number);
      } else {
        options.open.push_back(name);
      }
    }
    return options;
  }

  // ---- counts
  // Stages of one model at the same sizes are one count.
  absl::StatusOr<CountedRun> CountRun(const CountOptions& options) const {
    RunKey key = {stage_.path, is_step_,  decoder_.has_value(), options.bindings, options.open,
                  contents_,   use_cache_};
    if (const auto found = counted_.find(key); found != counted_.end()) return found->second;
    CompareReport compared;
    if (request_ == nullptr) {
      ASSIGN_OR_RETURN(compared.ours, onnxflops::Count(model_, options));
    } else {
      ASSIGN_OR_RETURN(compared, CompareTools(model_, options, *request_));
    }
    const Report& report = compared.ours;
    CountedRun run;
    ASSIGN_OR_RETURN(run.cost, CostOf(report, options));
    run.cost.tools = std::move(compared.tools);
    for (const SymbolOrigin& symbol : report.symbols) {
      run.symbols.push_back(symbol.name);
      const auto most = symbol.at_most ? symbol.at_most->AsInt64() : std::nullopt;
      if (most) run.most.emplace(symbol.name, *most);
    }
    run.reference = report::ReferenceSizes(report);
    run.uncounted = report.coverage.unknown;
    run.unequal_branches = report.unequal_branches;
    run.warnings = report.warnings;
    return counted_.emplace(std::move(key), std::move(run)).first->second;
  }

  absl::StatusOr<RunCost> CostOf(const Report& report, const CountOptions& options) const {
    RunCost cost;
    cost.totals = report.totals;
    if (report.activation_peak) cost.peak = report.activation_peak->bytes;
    if (!report.roofline) return cost;
    const RooflineReport& device = *report.roofline;
    cost.arithmetic = device.arithmetic_time.value_or(0);
    std::optional<Expr> bytes = device.compulsory_bytes;
    if (decoder_) {
      ASSIGN_OR_RETURN(const SampledAnalysis analysis, AnalyzeSamples(model_, options));
      std::vector<ValueId> kept;
      for (const ValueId id : analysis.inference.model->graphs[0].outputs) {
        if (IsCacheOutput(analysis.inference.model->value(id).name)) kept.push_back(id);
      }
      const Traffic moved =
          LeastTraffic(analysis.inference, analysis.counts, device.precision, kept);
      bytes = moved.parameters + moved.inputs + moved.outputs;
    }
    cost.memory_known = device.cache_bytes.has_value();
    if (bytes && device.cache_bytes) {
      cost.memory = device.rates.MemoryTime(*bytes - Expr(*device.cache_bytes));
    }
    return cost;
  }

  // Every open size becomes what the stage or the call sets, or is shown at a size of ours.
  absl::Status CheckNames(const CountedRun& run) {
    const std::vector<std::string>& names = run.symbols;
    for (const auto& [name, size] : sizes_) {
      if (!has_formula_ || size.is_literal() || absl::c_linear_search(names, name)) continue;
      const auto own = stage_.sizes.find(name);
      if (own == stage_.sizes.end()) continue;  // a size of the decoder that no figure depends on
      const std::string similar = DidYouMean(name, names);
      return absl::NotFoundError(
          absl::StrCat("the model has no size ", QuotedSymbol(name),
                       !similar.empty() ? similar
                       : names.empty()  ? "; it leaves none open"
                                        : absl::StrCat("; open: ", absl::StrJoin(names, ", "))));
    }
    for (const std::string& name : names) {
      if (sizes_.contains(name)) continue;
      const auto given = options_.bindings.find(name);
      // A size and a parameter of one name need not be the same: Optimum calls an axis "steps".
      if (pipeline_.Find(name) != nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("the model has a size ", QuotedSymbol(name),
                         ", which is also the name of a parameter: set it in sizes, as sizes = { ",
                         name, " = ... }"));
      }
      if (given != options_.bindings.end()) {
        sizes_.emplace(name, given->second);
        used_.push_back(name);
      } else if (name == stage_.index) {
        return absl::InvalidArgumentError(absl::StrCat("the model has a size ", QuotedSymbol(name),
                                                       ": take another name in for"));
      } else {
        open_.emplace(name, run.reference.at(name));
      }
    }
    return absl::OkStatus();
  }

  // The parameters' numbers with 1 for those without.
  Bindings ValuesAt(int64_t index) const {
    Bindings values;
    for (const PipelineParameter& parameter : pipeline_.parameters) {
      values[parameter.name] = parameter.value.value_or(parameter.shown_at);
    }
    for (const auto& [name, size] : open_) values.emplace(name, size);
    if (!stage_.index.empty()) values[stage_.index] = index;
    return values;
  }

  // A number of 0 or more. `what`: "batch".
  absl::StatusOr<int64_t> NumberOf(const Expr& expr, absl::string_view what,
                                   const Bindings& values) const {
    const absl::StatusOr<absl::int128> value = expr.Evaluate(values);
    if (!value.ok()) {
      return WithMessage(value.status(),
                         absl::StrCat(what, " = ", Shown(expr), ": ", value.status().message()));
    }
    constexpr int64_t kMost = (int64_t{1} << 62) - 1;
    if (*value >= 0 && *value <= kMost) return static_cast<int64_t>(*value);
    return absl::InvalidArgumentError(
        absl::StrCat(what, " = ", Shown(expr), " is ", Int128ToString(*value),
                     *value < 0 ? ", below 0" : absl::StrCat(", above ", kMost)));
  }

  // Learned positions end somewhere, for the past and the new tokens together.
  absl::Status CheckPositions(const Bindings& values) const {
    if (!decoder_ || !decoder_->positions) return absl::OkStatus();
    const Expr tokens = stage_.new_tokens ? stage_.new_tokens->value : Expr(1);
    const Expr all = tokens + (stage_.past ? stage_.past->value : Expr(0));
    ASSIGN_OR_RETURN(const int64_t number, NumberOf(all, "new + past", values));
    const auto& [most, where] = *decoder_->positions;
    if (number <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("new + past = ", all.Shortened(100), " is ",
                                                   number, ": ", where,
                                                   " has positions for at most ", most));
  }

  // The first and the last run bound the sizes of the others if they grow by equal steps, also up
  // to a cap.
  absl::Status CheckSteps() const {
    std::map<std::string, Expr> sizes;
    for (const auto& [name, size] : stage_.sizes) sizes.emplace(name, size.value);
    if (stage_.past) sizes.emplace("past", stage_.past->value);
    if (stage_.new_tokens) sizes.emplace("new", stage_.new_tokens->value);
    for (const auto& [name, size] : sizes) {
      const auto operands = OperandsOfMin(size);
      if (HasSteps(size)) continue;
      if (operands && HasSteps(operands->first) && HasSteps(operands->second)) continue;
      const std::string& t = stage_.index;
      return absl::InvalidArgumentError(absl::StrCat(
          Escaped(name), " = ", Shown(size), ": it may only grow or shrink by equal steps of ", t,
          ", as a + b*", t, ", also up to a cap, as min(a + b*", t, ", c)"));
    }
    return absl::OkStatus();
  }
  bool HasSteps(const Expr& size) const {
    const std::optional<Expr> step =
        DivideExactly(size - size.Replace({{stage_.index, Expr(0)}}), Expr::Symbol(stage_.index));
    return step && !absl::c_linear_search(step->Symbols(), stage_.index);
  }

  // What the export fixed has that number. If parameters are in it, figures are of these alone.
  absl::Status CheckFixed(const Bindings& values) {
    for (const auto& [formula, fixed] : stage_.fixed) {
      has_formula_ = has_formula_ && (formula.value - fixed.value).is_literal();
      const std::string text = Escaped(formula.text), at = Escaped(fixed.text);
      RETURN_IF_ERROR(
          CheckGiven(formula.value, absl::StrCat("the export fixed ", text, " at ", at)));
      ASSIGN_OR_RETURN(const int64_t number, NumberOf(formula.value, text, values));
      ASSIGN_OR_RETURN(const int64_t required, NumberOf(fixed.value, at, values));
      if (number == required) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the export fixed ", text, " at ", at, ", and it is ", number,
                       " here; export it at these sizes or with open ones (dynamic_shapes=), or "
                       "give parameters other numbers"));
    }
    return absl::OkStatus();
  }

  // Compares the formula with counts at the values of the parameters. `branches`: of which the
  // formula has the larger ones. If fewer are left there, sizes decide which runs, and the formula
  // is not right at all numbers, even if it is at these.
  absl::Status CheckValues(int64_t branches, RunCost* cost) {
    for (const auto& [name, size] : sizes_) {
      if (size.NumTerms() <= kMaxStageSizeTerms) continue;
      return LimitError("stage-size-terms",
                        absl::StrCat(Escaped(name), " = ", size.Shortened(60), ": it has ",
                                     size.NumTerms(), " terms, more than ", kMaxStageSizeTerms,
                                     " (stage-size-terms); make a part of it one parameter"));
    }
    RunCost formula = *cost;
    ChangeAll([&](const Expr& e) { return e.Replace(sizes_); }, &formula);
    const Bindings at_first = ValuesAt(0);
    RETURN_IF_ERROR(CheckFixed(at_first));
    ASSIGN_OR_RETURN(const int64_t times, NumberOf(stage_.times.value, "times", at_first));
    int64_t trips = 1;
    if (!stage_.index.empty()) {
      ASSIGN_OR_RETURN(trips, NumberOf(stage_.trips.value, "the number of runs", at_first));
    }
    if (trips > 2) RETURN_IF_ERROR(CheckSteps());
    bool is_decided = false;
    for (const int64_t index : std::set<int64_t>{0, trips - 1}) {
      if (times == 0 || index < 0 || (index == 0 && trips == 0)) continue;
      ASSIGN_OR_RETURN(const CountedRun run, RunAt(index));
      NotePeak(run.cost.peak);
      NoteWarnings(run.warnings);
      is_decided = is_decided || run.unequal_branches != branches;
      const bool agrees = IsFormulaOf(run, formula, index);
      if (!stage_.index.empty() && !agrees) return NoSum();
      if (agrees && (!is_decided || !stage_.index.empty())) {
        CheckTools(run.cost.tools, ValuesAt(index), trips > 1, &formula.tools);
        continue;
      }
      has_formula_ = false;
      formula = run.cost;
    }
    if (is_decided) RETURN_IF_ERROR(CheckRuns(formula, trips));
    *cost = std::move(formula);
    return absl::OkStatus();
  }

  static absl::Status NoSum() {
    return absl::FailedPreconditionError(
        "a size decides what the model runs, so its runs have no sum; give it as a number");
  }

  // A run with the sizes as numbers.
  absl::StatusOr<CountedRun> RunAt(int64_t index) const {
    const Bindings values = ValuesAt(index);
    RETURN_IF_ERROR(CheckPositions(values));
    CountOptions options = WithValues();
    for (const auto& [name, size] : sizes_) {
      ASSIGN_OR_RETURN(const int64_t number, NumberOf(size, Escaped(name), values));
      options.bindings.emplace(name, number);
    }
    for (const auto& [name, size] : open_) options.bindings.emplace(name, size);
    return CountRun(options);
  }

  bool IsFormulaOf(const CountedRun& run, const RunCost& formula, int64_t index) const {
    const Bindings values = ValuesAt(index);
    return absl::c_all_of(kQuantities, [&](const Quantity& q) {
      return q.needs != Quantity::Needs::kNothing ||
             run.cost.totals.*q.value == (formula.totals.*q.value).Substitute(values);
    });
  }

  // A size that decides between branches may do so otherwise in another run of a loop, and at other
  // numbers.
  absl::Status CheckRuns(const RunCost& formula, int64_t trips) {
    constexpr int64_t kMostRuns = 256;  // that are counted one by one
    has_formula_ = false;
    if (trips > kMostRuns) return NoSum();
    for (int64_t index = 1; index + 1 < trips; ++index) {
      ASSIGN_OR_RETURN(const CountedRun run, RunAt(index));
      if (!IsFormulaOf(run, formula, index)) return NoSum();
    }
    return absl::OkStatus();
  }

  void NoteWarnings(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
      if (!absl::c_linear_search(warnings_, warning)) warnings_.push_back(warning);
    }
  }

  // Of the first and the last run, which hold the least and the most.
  void NotePeak(const std::optional<Expr>& peak) {
    const auto value = peak ? peak->Evaluate({}) : absl::StatusOr<absl::int128>(-1);
    if (!value.ok() || *value < 0) {
      has_peak_ = false;
    } else {
      peak_here_ = std::max(peak_here_, *value);
    }
  }

  // The same of each tool. What a figure rests on is known best at the values.
  void CheckTools(const std::vector<ToolRow>& counted, const Bindings& values, bool is_loop,
                  std::vector<ToolRow>* tools) const {
    for (size_t i = 0; i < tools->size(); ++i) {
      ToolRow& tool = (*tools)[i];
      const ToolRow& here = counted[i];
      if (Agrees(tool, here, values)) {
        if (is_loop && here.standing < tool.standing) continue;
        tool.standing = here.standing;
        tool.assumptions = here.assumptions;
      } else if (!is_loop) {
        tool = here;
      } else if (tool.headline) {
        LeaveOut(here.headline ? kNoSumOfRuns : here.assumptions[0], &tool);
      }
    }
  }

  // ---- all runs
  absl::StatusOr<PipelineStageCost> Summed(const RunCost& cost) const {
    PipelineStageCost result;
    result.name = stage_.name;
    result.path = stage_.path;
    result.probability = stage_.probability;
    result.policy = stage_.policy;
    result.has_formula = has_formula_;
    for (const auto& [formula, fixed] : stage_.fixed) {
      result.fixed.push_back(absl::StrCat(formula.text, " = ", fixed.text));
    }
    result.is_step = is_step_;
    result.uncounted = uncounted_;
    result.totals.lower_bound = cost.totals.lower_bound;
    result.runs = stage_.times.value;
    for (const auto& [name, size] : sizes_) {
      const auto own = stage_.sizes.find(name);
      result.sizes.emplace_back(name,
                                own == stage_.sizes.end() ? size.ToString() : own->second.text);
    }
    for (const auto& [name, size] : open_)
      result.assumed.push_back(absl::StrCat(name, " = ", size));
    const std::string& times = stage_.times.text;
    result.runs_text = times == "1" ? "once" : absl::StrCat(times, " times");
    if (!stage_.index.empty()) {
      result.runs *= stage_.trips.value;
      absl::StrAppend(&result.runs_text, " for each ", stage_.trips.text);
    }
    for (const Quantity& q : kQuantities) {
      const Expr& once = cost.totals.*q.value;
      if (q.of == Quantity::Of::kWeights) {
        result.totals.*q.value = once;
        continue;
      }
      if (q.needs == Quantity::Needs::kDevice) continue;
      ASSIGN_OR_RETURN(result.totals.*q.value, AllRuns(once, q.title));
    }
    result.totals.SetBackward(/*exact_backward=*/false);
    if (options_.on_device) RETURN_IF_ERROR(AddTime(cost, &result));
    result.warnings = warnings_;
    result.certain_flops = result.totals.flops;
    AddLimits(&result);
    result.peak_activations = PeakOf(cost.peak);
    if (has_peak_) result.peak_here = peak_here_;
    return result;
  }

  // What CheckPositions and CheckDims hold the numbers of the parameters to, for others. Sizes grow
  // or shrink from run to run, so the first and the last bound them.
  void AddLimits(PipelineStageCost* result) const {
    const auto add = [&](const Expr& value, int64_t most, absl::string_view what) {
      if (stage_.index.empty() && value.is_literal()) return;
      result->limits.push_back({value.Replace({{stage_.index, Expr(0)}}), most, std::string(what)});
      if (stage_.index.empty() || !absl::c_linear_search(value.Symbols(), stage_.index)) return;
      const Expr last = Max(0, stage_.trips.value - 1);
      result->limits.push_back({value.Replace({{stage_.index, last}}), most, std::string(what)});
    };
    for (const auto& [name, most] : most_) {
      if (const auto size = sizes_.find(name); size != sizes_.end()) add(size->second, most, name);
    }
    if (decoder_ && decoder_->positions) {
      const Expr tokens = stage_.new_tokens ? stage_.new_tokens->value : Expr(1);
      add(tokens + (stage_.past ? stage_.past->value : Expr(0)), decoder_->positions->most,
          "new + past");
    }
  }

  absl::StatusOr<Expr> AllRuns(const Expr& once, absl::string_view what) const {
    std::optional<Expr> sum = once;
    if (!stage_.index.empty()) {
      sum = SumOver(once, stage_.index, stage_.trips.value);
    }
    if (!sum) {
      return absl::FailedPreconditionError(absl::StrCat("no closed sum over ", stage_.index,
                                                        " for ", what, ": ", once.Shortened(200)));
    }
    const Expr all = *sum * stage_.times.value;
    if (all.error() == nullptr) return all;
    return LimitError(LimitOf(all.error()), absl::StrCat(what, " ", all.error()));
  }

  absl::StatusOr<std::vector<ToolRow>> SummedTools(std::vector<ToolRow> tools) const {
    for (ToolRow& tool : tools) {
      absl::Status fault;
      const auto all_runs = [&](const Expr& once) {
        absl::StatusOr<Expr> sum =
            AllRuns(once, absl::StrCat("the figure of ", tool.convention->name));
        fault.Update(sum.status());
        return sum.ok() ? *std::move(sum) : Expr(0);
      };
      ChangeTool(all_runs, &tool);
      if (absl::IsFailedPrecondition(fault)) {
        LeaveOut(kNoSumOfRuns, &tool);
      } else {
        RETURN_IF_ERROR(fault);
      }
    }
    return tools;
  }

  absl::Status AddTime(const RunCost& cost, PipelineStageCost* result) const {
    PipelineTime& time = result->time.emplace();
    ASSIGN_OR_RETURN(time.arithmetic, AllRuns(cost.arithmetic, "time"));
    // Below 0 where the cache holds more than is moved.
    ASSIGN_OR_RETURN(const Expr memory, AllRuns(cost.memory, "time"));
    time.memory = Max(0, memory);
    time.memory_known = cost.memory_known;
    time.bound = Max(time.arithmetic, time.memory);
    return absl::OkStatus();
  }

  std::optional<Expr> PeakOf(const std::optional<Expr>& once) const {
    if (!once || stage_.index.empty()) return once;
    return Max(once->Substitute({{stage_.index, 0}}),
               once->Replace({{stage_.index, Max(0, stage_.trips.value - 1)}}));
  }

  const Pipeline& pipeline_;
  const PipelineStage& stage_;
  const CountOptions& options_;
  const CompareRequest* const request_;
  CountedRuns& counted_;
  Model model_;
  absl::btree_map<std::string, std::vector<int64_t>> contents_;  // of inputs
  bool is_step_ = false, has_formula_ = true;
  bool has_peak_ = true;
  absl::int128 peak_here_ = 0;
  std::optional<Decoder> decoder_;
  std::optional<int64_t> use_cache_;
  Replacements sizes_;
  Bindings most_;  // of sizes of the model
  Bindings open_;  // sizes that nothing sets, and the sizes at which they are shown
  std::vector<std::string> used_, warnings_;
  int64_t uncounted_ = 0;
};

}  // namespace

absl::StatusOr<CountedStage> CountStage(const Pipeline& pipeline, const PipelineStage& stage,
                                        const Model& model, const CountOptions& options,
                                        const CompareRequest* request, CountedRuns* counted) {
  return StageCounter(pipeline, stage, options, request, counted).Count(model);
}

}  // namespace onnxflops
