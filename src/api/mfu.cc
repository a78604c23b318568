// How it works. The FLOPs of a step are those of one run times the number of runs whose gradients
// are summed. FLOPs of the optimizer are reported separately. The backward pass is counted twice:
// without recomputation, which is the model's own work and gives MFU, and as executed. The
// difference is recomputation and is added for HFU. Flash attention recomputes its scores, so it
// has a difference too. Utilisation is these FLOPs divided by time, number of devices and peak.
//
// The same is done with every other common formula for a step (3 x forward, 6 N, PaLM's, another
// tool's count), so that a reader can see which of them gives a published figure. Their parameters
// come from the options, else from the model. A formula that lacks a parameter is listed with its
// name. Notes at the end give reasons why a figure may be wrong, above all if it exceeds 1.
#include "src/api/mfu.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"
#include "src/api/analysis.h"
#include "src/api/samples_of_row.h"
#include "src/api/sequence.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/compare/make_comparison.h"
#include "src/convention/comparison.h"
#include "src/convention/convention.h"
#include "src/convention/conventions.h"
#include "src/convention/formula_facts.h"
#include "src/convention/vision_formula.h"
#include "src/render/format.h"
#include "src/report/make_report.h"
#include "src/report/samples_report.h"
#include "src/report/summary.h"
#include "src/symbolic/sample_sum.h"
#include "src/symbolic/symbol_name.h"
#include "src/training/backward.h"

namespace onnxflops {
namespace {

constexpr double kGiga = 1e9;
constexpr int kForwardAndBackward = 3;

std::optional<int64_t> KnownSize(const std::optional<Expr>& size) {
  return size ? size->AsInt64() : std::nullopt;
}

// A total as a number. FailedPrecondition if it depends on sizes.
absl::StatusOr<absl::int128> Number(const Report& report, const Expr& amount) {
  if (amount.is_literal()) return amount.literal();
  if (const char* error = amount.error()) {
    return absl::OutOfRangeError(
        absl::StrCat(Escaped(report.model.path), ": the FLOPs of a step: ", error));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      Escaped(report.model.path), WithSettings(": sizes are open, {dim} sets them: "),
      absl::StrJoin(amount.Symbols(), ", ", [](std::string* out, const std::string& s) {
        absl::StrAppend(out, Escaped(s));
      })));
}

std::string NoteOnLora(const LoraSummary& lora) {
  return absl::StrCat(
      Setting("lora"), " ", Printable(absl::StrJoin(LoraTexts(lora.options), ", ")), ": ",
      Plural(lora.layers, "layer"), " with ", report::SiNumber(lora.params),
      WithSettings(" params, which alone are trained unless {trained} names others; only "
                   "the row exact knows that, all others train everything"));
}

// Of a forward pass; nullopt if a size is open, something is not counted, or nothing is moved.
std::optional<double> FlopsPerByte(const Totals& totals) {
  const Expr bytes = kBytesMoved.In(totals);
  if (totals.lower_bound || !totals.flops.is_literal() || !bytes.is_literal()) return std::nullopt;
  if (bytes.literal() <= 0) return std::nullopt;
  return static_cast<double>(totals.flops.literal()) / static_cast<double>(bytes.literal());
}

// The same of one of several devices: each runs its own part of the batch, and reads all
// parameters. nullopt if they share samples, or the batch is not given by its name.
std::optional<double> FlopsPerByteOfDevice(const Model& model, const MfuOptions& options) {
  CountOptions one = options.count;
  const InputSizes sizes = FindInputSizes(*model);
  if (one.samples || one.batch || sizes.batch.empty()) return std::nullopt;
  std::vector<std::string> batches = sizes.other_batches;
  batches.push_back(sizes.batch);
  for (const std::string& name : batches) {
    const auto batch = one.bindings.find(name);
    if (batch == one.bindings.end() || batch->second % options.devices != 0) return std::nullopt;
    batch->second /= options.devices;
  }
  one.training.reset();
  const absl::StatusOr<Report> report = Count(model, one);
  return report.ok() ? FlopsPerByte(report->totals) : std::nullopt;
}

class MfuMaker {
 public:
  MfuMaker(const SampledAnalysis& analysis, const MfuOptions& options)
      : analysis_(analysis), options_(options) {
    if (analysis.samples) sum_.emplace(*analysis.samples);
  }

  absl::StatusOr<MfuReport> Make() {
    ASSIGN_OR_RETURN(report_, MakeReport(analysis_.inference, analysis_.counts,
                                         {.causal = options_.count.causal}));
    NoteAdapters(options_.count, &report_);
    RETURN_IF_ERROR(CountBackwardPass());
    facts_ = ReadFormulaFacts(analysis_.inference, analysis_.counts);
    if (sum_) SumOverSamples();
    RETURN_IF_ERROR(FindStep());
    RETURN_IF_ERROR(FindPeakOfDevice());
    RETURN_IF_ERROR(CountStep());
    AddFormulas();
    Finish();
    return std::move(out_);
  }

 private:
  // MFU counts the model's own work, so flash attention counts as if it saved its scores. All
  // further executed work is recomputation.
  absl::Status CountBackwardPass() {
    const TrainingOptions executed = options_.count.training.value_or(TrainingOptions());
    const TrainingOptions kept = WithoutRecomputation(executed);
    const auto count = [&](const TrainingOptions& training) {
      return CountBackward(analysis_.inference, analysis_.counts, options_.count.causal, training);
    };
    ASSIGN_OR_RETURN(backward_, count(kept));
    ASSIGN_OR_RETURN(const Backward run, count(executed));
    recomputed_ = run.recomputed_flops + run.flops - backward_.flops;
    return absl::OkStatus();
  }

  // From here on all figures are sums over the samples. The formulas of others get the real number
  // of tokens, and the length that their programs would use: the longest sample, or the row.
  void SumOverSamples() {
    of_each_ = facts_;
    const Expr training =
        report_.totals.flops +
        (options_.count.training ? backward_.flops : report_.totals.backward_flops);
    rectangle_ = sum_->Padded(training);
    report::SumOverSamples(*sum_, &report_);
    // The report takes the 2x rule, and this may count the exact backward pass.
    report_.samples->rectangle.training_flops = *rectangle_;
    report_.samples->one_by_one.training_flops = sum_->OneByOne(training);
    if (report_.samples->chunks) {
      report_.samples->chunks->padding.training_flops = sum_->PaddingOfChunks(training);
    }
    out_.samples = report_.samples;
    backward_.flops = sum_->Of(backward_.flops);
    recomputed_ = sum_->Of(recomputed_);
    facts_.attention.flops = sum_->Of(facts_.attention.flops);
    if (facts_.batch) facts_.batch = sum_->Of(*facts_.batch);
    for (const FormulaParameter& parameter : kFormulaParameters) {
      std::optional<Expr>& value = facts_.parameters.*parameter.value;
      if (value) value = sum_->Of(*value);
    }
  }

  absl::Status FindStep() {
    // Samples and tokens of a step follow from the sizes.
    if (options_.rate.samples_per_second > 0 || options_.rate.tokens_per_second > 0) {
      RETURN_IF_ERROR(Number(report_, report_.totals.flops).status());
    }
    out_.model = report_.model.path;
    out_.bindings.assign(report_.bindings.begin(), report_.bindings.end());
    out_.grad_accumulation = options_.grad_accumulation;
    out_.devices = options_.devices;
    if (options_.grad_accumulation < 1 || options_.devices < 1) {
      return absl::InvalidArgumentError(
          WithSettings("{devices} and {grad-accumulation} are 1 or more"));
    }
    out_.batch = KnownSize(facts_.batch);
    const InputSizes sizes = FindInputSizes(*analysis_.inference.model);
    out_.batch_is_fixed = out_.batch && sizes.batch.empty() && sizes.batch_size;
    out_.batch_is_other = out_.batch_is_fixed && options_.count.batch;
    FillParameters();
    ASSIGN_OR_RETURN(out_.step_seconds, StepSeconds(options_.rate, SamplesOfStep(),
                                                    KnownSize(facts_.parameters.tokens)));
    return absl::OkStatus();
  }

  // A row that counts as one sequence still holds its samples.
  std::optional<int64_t> SamplesOfStep() const {
    const std::optional<Samples>& given = options_.count.samples;
    const bool is_row = given && given->layout == Samples::Layout::kOneRow && !given->sizes.empty();
    if (!is_row) return KnownSize(OfStep(facts_.batch));
    const auto samples = static_cast<int64_t>(given->sizes.begin()->second.size());
    return KnownSize(Expr(samples) * options_.grad_accumulation);
  }

  std::optional<Expr> OfStep(const std::optional<Expr>& of_run) const {
    if (!of_run) return std::nullopt;
    return *of_run * options_.grad_accumulation;
  }

  // Options override the model's parameters. A parameter that depends on an open size is unknown.
  void FillParameters() {
    FormulaParameters& of_step = facts_.parameters;
    of_step.tokens = OfStep(of_step.tokens);
    of_step.s2 = OfStep(of_step.s2);
    length_ = of_step.t;
    for (const FormulaParameter& parameter : kFormulaParameters) {
      std::optional<Expr>& value = of_step.*parameter.value;
      const std::optional<Expr>& given = options_.parameters.*parameter.value;
      if (given) value = given;
      if (!KnownSize(value)) value.reset();
    }
    if (options_.parameters.tokens) facts_.no_tokens.clear();
    // A number of tokens given by the user assumes samples of one length. A length beside samples
    // is that which a program is configured to.
    const bool other =
        options_.parameters.tokens || (options_.parameters.t && !options_.count.samples);
    if (!other || options_.parameters.s2) return;
    of_step.s2.reset();
    if (of_step.tokens && of_step.t) of_step.s2 = *of_step.tokens * *of_step.t;
  }

  absl::Status FindPeakOfDevice() {
    if (options_.precision) out_.dtype = std::string(PrecisionName(*options_.precision));
    if (options_.peak > 0) {
      out_.peak_flops_per_second = options_.peak;
      out_.peak_source = "given";
      return absl::OkStatus();
    }
    if (options_.device && !options_.precision) {
      return absl::InvalidArgumentError(
          absl::StrCat(Setting("device", options_.device->name),
                       WithSettings(" needs {dtype}: what it computes in, such as bf16")));
    }
    if (!options_.device) {
      return absl::InvalidArgumentError(WithSettings(
          "{device NAME} with {dtype}, or {peak FLOP/s}, is needed: there is no default device"));
    }
    const Device& device = *options_.device;
    ASSIGN_OR_RETURN(const PeakFigure peak, FindPeak(device, *options_.precision));
    out_.device = device.name;
    out_.peak_flops_per_second = static_cast<double>(peak.giga) * kGiga;
    out_.peak_source = peak.source;
    if (device.bytes_per_second) {
      out_.bytes_per_second = static_cast<double>(*device.bytes_per_second);
    }
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
    if (options_.devices == 1) out_.flops_per_byte = FlopsPerByte(report_.totals);
    ASSIGN_OR_RETURN(out_.backward_flops, PerStep(backward));
    ASSIGN_OR_RETURN(out_.recompute_flops, PerStep(recomputed_));
    ASSIGN_OR_RETURN(out_.optimizer_flops, Number(report_, backward_.optimizer_flops));
    if (!options_.convention.empty()) {
      ASSIGN_OR_RETURN(out_.forward_flops, ByTool(options_.convention));
      ASSIGN_OR_RETURN(out_.backward_flops,
                       Number(report_, (kForwardAndBackward - 1) * Expr(out_.forward_flops)));
      out_.counted = absl::StrCat(options_.convention, " x 3");
      out_.lower_bound = report_.totals.lower_bound;
    }
    return AddUp();
  }

  absl::Status AddUp() {
    const Expr sum = Expr(out_.forward_flops) + Expr(out_.backward_flops);
    ASSIGN_OR_RETURN(out_.training_flops, Number(report_, sum));
    return absl::OkStatus();
  }

  // FLOPs of the forward pass as another tool counts them, a MAC being two.
  absl::StatusOr<absl::int128> ByTool(absl::string_view name) {
    ASSIGN_OR_RETURN(const convention::Convention* convention, convention::RequireConvention(name));
    ASSIGN_OR_RETURN(const ToolFigure tool,
                     FigureAs(analysis_.inference, analysis_.counts, *convention));
    return PerStep(Summed(tool.counts_macs ? 2 * tool.headline : tool.headline));
  }

  Expr Summed(const Expr& amount) const { return sum_ ? sum_->Of(amount) : amount; }

  // Adds one of our own figures.
  void AddOurs(MfuFormula formula, const absl::StatusOr<absl::int128>& flops) {
    formula.lower_bound = report_.totals.lower_bound;
    Add(std::move(formula), flops);
  }

  void Add(MfuFormula formula, const absl::StatusOr<absl::int128>& flops) {
    if (flops.ok()) {
      formula.flops_per_step = *flops;
      formula.mfu = Share(*flops);
      formula.hfu = Share(*flops) + Share(out_.recompute_flops);
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
    AddOurs({.name = "exact",
             .text = "forward + what autograd executes",
             .source = "a count of the exact backward pass",
             .chosen = ours && exact},
            exactly);
    AddOurs({.name = "2x",
             .text = "3 x forward",
             .source = "PaLM, arXiv 2204.02311, appendix B",
             .chosen = ours && !exact},
            PerStep(kForwardAndBackward * forward));
    if (sum_) {
      const bool packed = sum_->sizes().packed;
      if (report_.samples->has_rectangle) {
        AddOurs({.name = packed ? "one_row" : "rectangle",
                 .text = packed ? "attention takes the row as one sequence"
                                : "every row padded to the longest",
                 .source = packed ? "a kernel without cu_seqlens" : "a padded batch"},
                PerStep(*rectangle_));
      }
    }
    AddOurs({.name = "contractions",
             .text = "3 x 2 x MACs: matrix products and convolutions alone",
             .source = "torch.utils.flop_counter"},
            PerStep(2 * kForwardAndBackward * report_.census[Kind::kMac]));
    // With --causal half, the forward pass of causal operators leaves out half of the scores
    // already.
    const bool halved = options_.count.causal == CausalCounting::kHalf && report_.causal_nodes > 0;
    if (facts_.attention.layers > 0 && !halved) {
      AddOurs({.name = "2x_causal_half",
               .text = "3 x forward, half of all products with scores left out, causal or not",
               .source = "attention found in the graph"},
              PerStep(kForwardAndBackward * (forward - FloorDiv(facts_.attention.flops, 2))));
    }
    for (const FormulaInfo& info : kFormulas) {
      const bool of_experts =
          info.formula == Formula::k6nActive || info.formula == Formula::kPalmActive;
      if (!of_experts || facts_.parameters.a) AddKnownFormula(info.formula);
    }
    AddVisionFormula();
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

  // Of a tower whose images are patches. Its terms are those of `compare`, from the work of the
  // tower on.
  void AddVisionFormula() {
    const std::optional<VisionFormula> vision = ReadVisionFormula(analysis_.inference);
    if (!vision) return;
    const convention::Convention& convention = convention::kMegatronBridgeVision;
    convention::Evidence evidence(analysis_.inference, analysis_.counts);
    const convention::Ledger ledger = convention.apply(&evidence);
    if (ledger.standing == Standing::kNotApplicable) return;
    const convention::Comparison found = convention::Compare(&evidence, convention, ledger);
    MfuFormula formula;
    formula.name = convention.name;
    formula.text = absl::StrCat("3 (D ((8 H^2 + 4 H F) P + 4 H P2) + C M (2 (", vision->merged,
                                " H)^2 + ", 2 * vision->merged, " H O)): the image tower alone");
    formula.source = "Megatron-Bridge, flop_utils.py, vit_flops_from_patch_stats";
    Expr tower = found.start;
    std::vector<std::pair<std::string, Expr>> terms;
    for (const convention::ComparedTerm& term : found.terms) {
      if (term.name == convention::kBackwardPass || term.name == kRestOfModel) {
        tower += term.amount;
      } else {
        terms.emplace_back(absl::StrCat(term.name, " (", term.reason, ")"), term.amount);
      }
    }
    terms.emplace(terms.begin(), "3 x forward of module visual", tower);
    for (const auto& [name, amount] : terms) {
      const absl::StatusOr<absl::int128> flops = PerStep(Summed(amount));
      if (flops.ok() && *flops != 0) formula.terms.emplace_back(name, *flops);
    }
    for (const auto& [name, amount] : {std::pair<const char*, Expr>("d", vision->layers),
                                       {"h", vision->width},
                                       {"f", vision->inner},
                                       {"o", vision->output},
                                       {"c", vision->mergers},
                                       {"p", Summed(vision->patches)},
                                       {"p2", Summed(vision->squares)},
                                       {"m", Summed(vision->tokens)}}) {
      const std::optional<int64_t> value = KnownSize(amount);
      if (value) formula.parameters.emplace_back(name, *value);
    }
    Add(std::move(formula), PerStep(Summed(found.headline)));
  }

  // "of visual, 8.0 T here: ...": the terms of formulas of a part.
  void NoteTerms() {
    for (const MfuFormula& formula : out_.formulas) {
      if (formula.terms.empty() || !formula.flops_per_step) continue;
      std::vector<std::string> texts;
      for (const auto& [name, flops] : formula.terms) {
        texts.push_back(absl::StrCat(name, " ", report::SiExpr(Expr(flops))));
      }
      out_.notes.push_back(
          absl::StrCat(formula.name, " is of a part of the model: ", absl::StrJoin(texts, "; ")));
    }
  }

  absl::StatusOr<absl::int128> TimesThree(const absl::StatusOr<absl::int128>& flops) const {
    if (!flops.ok()) return flops;
    return Number(report_, kForwardAndBackward * Expr(*flops));
  }

  void AddKnownFormula(Formula known) {
    const FormulaInfo info = InfoOfFormula(known, facts_);
    MfuFormula formula;
    formula.name = std::string(info.name);
    formula.text = std::string(info.text);
    formula.source = std::string(info.source);
    const std::vector<absl::string_view> reads = absl::StrSplit(info.reads, ' ');
    const auto has = [&](absl::string_view name) {
      return std::find(reads.begin(), reads.end(), name) != reads.end();
    };
    FormulaFacts facts = facts_;
    const bool has_given_length =
        options_.parameters.t && !(options_.count.samples && info.length.empty());
    if (!has_given_length && KnownSize(length_)) facts.parameters.t = length_;
    for (const FormulaParameter& parameter : kFormulaParameters) {
      const std::optional<int64_t> value = KnownSize(facts.parameters.*parameter.value);
      if (!value || !has(parameter.name)) continue;
      formula.parameters.emplace_back(parameter.name, *value);
    }
    absl::StatusOr<absl::int128> flops = ByFormula(info.formula, facts);
    if (absl::IsFailedPrecondition(flops.status())) {
      flops = absl::FailedPreconditionError(absl::StrCat(
          flops.status().message(),
          WithSettings(facts_.no_tokens.empty() ? " ({parameter NAME=N} gives it)"
                                                : " ({parameter tokens=N} gives their number)")));
    }
    if (sum_ && flops.ok() && !has_given_length) {
      if (has("t")) formula.length_of = sum_->sizes().packed ? "row" : "longest sample";
      if (has("s2") && !options_.parameters.s2) formula.length_of = "each sample";
      formula.length_setting = std::string(info.length);
    }
    Add(formula, flops);
    if (flops.ok() && has("t") && info.length.empty()) AddSummed(info, formula, *flops);
  }

  // The formula of one sequence, summed over the samples at their own lengths.
  void AddSummed(const FormulaInfo& info, MfuFormula formula, absl::int128 at_one_length) {
    if (!of_each_ || options_.parameters.tokens) return;
    FormulaFacts facts = *of_each_;
    for (const FormulaParameter& parameter : kFormulaParameters) {
      const std::optional<Expr>& given = options_.parameters.*parameter.value;
      if (given && parameter.name != "t") facts.parameters.*parameter.value = given;
    }
    const absl::StatusOr<FormulaFlops> parts = PartsOfFormula(info.formula, facts);
    if (!parts.ok()) return;
    const absl::StatusOr<absl::int128> flops = PerStep(sum_->Of(parts->Total()));
    if (!flops.ok() || *flops == at_one_length) return;
    absl::StrAppend(&formula.name, "_summed");
    formula.text = "the same, with the length of each sample as its T";
    formula.length_of = "each sample";
    std::erase_if(formula.parameters, [](const auto& p) { return p.first == "t"; });
    Add(std::move(formula), flops);
  }

  static absl::StatusOr<absl::int128> ByFormula(Formula formula, const FormulaFacts& facts) {
    ASSIGN_OR_RETURN(const FormulaFlops flops, PartsOfFormula(formula, facts));
    return flops.Total().literal();
  }

  void Finish() {
    out_.mfu = Share(out_.training_flops);
    out_.hfu = out_.mfu + Share(out_.recompute_flops);
    out_.achieved_flops_per_second = out_.mfu * out_.peak_flops_per_second;
    if (options_.measured_flops && out_.training_flops > 0) {
      out_.measured_flops = options_.measured_flops;
      out_.measured_to_counted =
          static_cast<double>(*options_.measured_flops) / static_cast<double>(out_.training_flops);
      out_.measured_hfu = Share(*options_.measured_flops);
      out_.notes = ReasonsOfRatio(out_.measured_to_counted);
    }
    out_.notes.insert(out_.notes.end(), report_.warnings.begin(), report_.warnings.end());
    if (analysis_.lora) out_.notes.push_back(NoteOnLora(*analysis_.lora));
    NoteTerms();
    NoteCopies();
    NoteDivision();
    NoteOtherBatches();
    NoteUnitOfTime();
    NoteChunks();
    if (out_.mfu <= 1 && out_.hfu <= 1) return;
    out_.notes.push_back("a utilisation above 1 cannot be; likely reasons:");
    for (std::string& reason : ReasonsAboveOne(out_.mfu, out_.peak_flops_per_second)) {
      out_.notes.push_back(std::move(reason));
    }
  }

  // Samples are indivisible: a device cannot have a part of one, unless devices share the samples.
  void NoteDivision() {
    if (!out_.batch || *out_.batch % out_.devices == 0 || sum_) return;
    out_.notes.push_back(absl::StrCat(
        "a batch of ", *out_.batch, " does not divide among ", out_.devices,
        " devices: right only if devices share samples, as tensor-parallel ones do; else ",
        out_.batch_is_fixed ? WithSettings("{at-batch N} gives the batch of all")
                            : WithSettings("{batch-per-device} gives the batch of one")));
  }

  // CLIP may have other numbers of images and texts: which of them are samples is the user's
  // choice.
  void NoteOtherBatches() {
    const InputSizes sizes = FindInputSizes(*analysis_.inference.model);
    for (const std::string& other : sizes.other_batches) {
      const auto found = report_.bindings.find(other);
      if (!out_.batch || found == report_.bindings.end() || found->second == *out_.batch) continue;
      out_.notes.push_back(absl::StrCat("samples are counted by ", Escaped(BareName(sizes.batch)),
                                        " = ", *out_.batch, "; ", Escaped(BareName(other)), " = ",
                                        found->second));
    }
  }

  // Milliseconds that were given as seconds make the utilisation a thousandth.
  void NoteUnitOfTime() {
    constexpr double kLeast = 0.001;
    const double seconds = options_.rate.step_seconds;
    if (seconds <= 0) return;
    if (out_.mfu > 1) {
      out_.notes.push_back(fmt::format("a step of {:.6g} s: ", seconds) +
                           WithSettings("{step-time} is in seconds if it has no unit"));
    } else if (out_.mfu < kLeast && seconds >= 1) {
      out_.notes.push_back(
          fmt::format("MFU is below 0.1 %: a step took {:.6g} s; for milliseconds write {}",
                      seconds, Setting("step-time", fmt::format("{:.6g}ms", seconds))));
    }
  }

  // A loop may count clips, of which each makes one chunk or more.
  void NoteChunks() {
    const std::optional<SamplesReport>& samples = report_.samples;
    if (options_.rate.samples_per_second <= 0 || !samples || !samples->chunks) return;
    if (samples->chunks->samples == samples->samples) return;
    out_.notes.push_back(
        fmt::format("{} are of chunks: the audio of {} makes {}", Setting("samples-per-second"),
                    Plural(samples->chunks->samples, "sample"), Plural(samples->samples, "chunk")));
  }

  // A transposed copy of a tied weight makes formulas of the parameters too large.
  void NoteCopies() {
    if (options_.parameters.n || !facts_.parameters.n) return;
    for (const WeightCopy& likely : report_.likely_copies) {
      FormulaFacts without = facts_;
      without.parameters.n = *without.parameters.n - Expr(likely.params);
      out_.notes.push_back(report::LikelyCopyText(likely, "n holds", FiguresWith(without)));
    }
  }

  // "; without them MFU is 0.77 % by 6n, 0.83 % by palm": formulas that read n.
  std::string FiguresWith(const FormulaFacts& facts) const {
    constexpr double kPercent = 100;
    std::vector<std::string> figures;
    for (const FormulaInfo& info : kFormulas) {
      const std::vector<absl::string_view> reads = absl::StrSplit(info.reads, ' ');
      const auto has = [&](absl::string_view name) {
        return std::find(reads.begin(), reads.end(), name) != reads.end();
      };
      // A tied table multiplies, so parameters removed from n are also removed from e.
      if (!has("n") || has("e")) continue;
      const absl::StatusOr<absl::int128> flops = ByFormula(info.formula, facts);
      if (!flops.ok()) continue;
      figures.push_back(
          absl::StrCat(fmt::format("{:.2f} % by ", kPercent * Share(*flops)), info.name));
    }
    return figures.empty() ? ""
                           : absl::StrCat("; without them MFU is ", absl::StrJoin(figures, ", "));
  }

  const SampledAnalysis& analysis_;
  const MfuOptions& options_;
  std::optional<SampleSum> sum_;
  std::optional<FormulaFacts> of_each_;  // the formulas' facts at the sizes of a sample
  std::optional<Expr> rectangle_;        // FLOPs of a training step including padding
  Report report_;
  Backward backward_;           // without recomputation
  Expr recomputed_ = 0;         // FLOPs executed in addition
  FormulaFacts facts_;          // from FillParameters() on, the parameters are those of a step
  std::optional<Expr> length_;  // T as the model or its samples have it, whatever is given
  MfuReport out_;
};

// The options with the batch that batch_per_device gives to all devices.
absl::StatusOr<MfuOptions> WithBatch(const ModelData& model, MfuOptions options) {
  if (!options.batch_per_device) return options;
  if (options.count.samples) {
    return absl::InvalidArgumentError(WithSettings(
        "{batch-per-device}: the samples are those of all devices, so the batch is known"));
  }
  const int64_t batch = *options.batch_per_device * options.devices;
  const InputSizes sizes = FindInputSizes(model, options.count.batch);
  if (sizes.batch.empty() && sizes.batch_size == batch) return options;
  const std::string asked =
      absl::StrCat(Setting("batch-per-device"), " ", *options.batch_per_device, ": on ",
                   options.devices, " devices it is a batch of ", batch);
  if (sizes.batch.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        Escaped(model.path), ": ", asked, ", and ",
        options.count.batch ? absl::StrCat("another is given: ", *sizes.batch_size)
        : sizes.batch_size
            ? absl::StrCat("the file fixes it at ", *sizes.batch_size, ": ",
                           Setting("at-batch", absl::StrCat(batch)), " counts it at that")
            : "no input has a batch with a name: export the model with an open batch"));
  }
  if (!options.count.bindings.emplace(sizes.batch, batch).second) {
    return absl::InvalidArgumentError(absl::StrCat(WithSettings("{batch-per-device} and {dim} "),
                                                   Escaped(BareName(sizes.batch)),
                                                   ": one of them gives the batch"));
  }
  for (const std::string& other : sizes.other_batches) {
    const int64_t given = options.count.bindings.emplace(other, batch).first->second;
    if (given == batch) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        asked, ", and ", Escaped(BareName(other)), " = ", given,
        " is that of all devices as well: leave it out, or give all batches by ", Setting("dim")));
  }
  return options;
}

// The symbol of the batch if it is the only open size, a rate of samples or tokens is given, and
// FLOPs grow by the same for each sample: at a rate, MFU is then that of any batch. Else "".
std::string FreeBatch(const ModelData& model, const SampledAnalysis& analysis,
                      const MfuOptions& options) {
  const std::string batch = FindInputSizes(model, options.count.batch).batch;
  const bool has_rate = options.rate.samples_per_second > 0 || options.rate.tokens_per_second > 0;
  if (!has_rate || batch.empty() || analysis.samples) return "";
  const Expr& flops = analysis.counts.total.amounts.flops;
  if (flops.Symbols() != std::vector<std::string>{batch}) return "";
  const auto between = [&](int64_t from, int64_t to) {
    return flops.Substitute({{batch, to}}) - flops.Substitute({{batch, from}});
  };
  const Expr one = between(1, 2);
  const bool is_linear = between(2, 3) == one && between(3, 1000) == 997 * one;
  return is_linear ? batch : "";
}

}  // namespace

absl::StatusOr<MfuReport> CountMfu(const Model& model, const MfuOptions& given) {
  ASSIGN_OR_RETURN(MfuOptions options, WithBatch(*model, given));
  options.count = WithLoraTraining(options.count);
  ASSIGN_OR_RETURN(SampledAnalysis analysis, AnalyzeSamples(model, options.count));
  const std::string free_batch = FreeBatch(*model, analysis, options);
  if (!free_batch.empty()) {
    options.count.bindings[free_batch] = std::max<int64_t>(1, options.devices);
    ASSIGN_OR_RETURN(analysis, AnalyzeSamples(model, options.count));
  }
  ASSIGN_OR_RETURN(MfuReport report, MfuMaker(analysis, options).Make());
  if (options.devices > 1) report.flops_per_byte = FlopsPerByteOfDevice(model, options);
  if (!free_batch.empty()) {
    report.flops_per_byte.reset();  // it depends on the batch
    report.batch.reset();
    report.notes.insert(report.notes.begin(),
                        absl::StrCat("no ", Escaped(BareName(free_batch)),
                                     " is given: at a rate, MFU is that of any; this step has one "
                                     "sample for each device"));
  }
  if (!report.samples) report.samples = SamplesOfRow(model, options.count);
  return report;
}

}  // namespace onnxflops
