// How it works. A model is compared with its base once for each set of sizes in [at], and all rules
// are judged on that diff. Fixed sizes are bound before counting. A range is not: the limit is
// checked on the formula over the whole range (judge.h). But a file may fix inside what its inputs
// leave open, so both ends of the ranges are counted too, only to find errors. If one model fixes a
// size that the other leaves open, a second diff at that size serves the relative rules. MFU and
// profiles are computed only if a rule asks, and a profile is joined once.
//
// The hard part is a size that the model has no symbol for. One file of budgets may be for many
// models, so it is left out for this model, and AskedSizes remembers it. When all models are done,
// ReportUnknownSizes decides: it is an error if no model knows the name, else a note. (A range in
// [at] is never an error, nor is any size in it if no model has a symbol.) With a single model it
// is an error at once, unless only [at] gives sizes and the model leaves none open.
#include "src/api/check.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/api/mfu.h"
#include "src/api/pipeline.h"
#include "src/api/profile.h"
#include "src/base/glob.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/graph/symbol_origin.h"
#include "src/infer/require_symbols.h"
#include "src/render/format.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {
namespace {

absl::StatusOr<ProfileReport> JoinRun(const CheckOptions& run, const CountOptions& count,
                                      const DiffSide& head) {
  RETURN_IF_ERROR(run.profile.status());
  if (head.model() == nullptr) {
    return absl::FailedPreconditionError("a report cannot be joined with a profile");
  }
  ProfileOptions options;
  options.count = count;
  ASSIGN_OR_RETURN(options.optimized, run.optimized);
  return JoinProfile(*head.model(), *run.profile, options);
}

// Why modules may have taken longer than the kernels that joined.
std::string OpenTimes(const ProfileReport& report) {
  ProfileWork missing;
  for (const ProfileGroup& group : report.groups) {
    if (!group.joined()) missing.Add(group.work);
  }
  if (missing.kernels == 0) return "";
  return absl::StrCat(Plural(missing.kernels, "kernel"),
                      " did not join, and may be of this module: the graph that ran joins them");
}

// What the whole run reached, or the modules that match the rule.
absl::StatusOr<std::vector<AchievedFigure>> AchievedOf(const std::vector<Device>& devices,
                                                       const ProfileReport& report,
                                                       const BudgetRule& rule) {
  constexpr double kNsPerSecond = 1e9, kGiga = 1e9;
  double peak = 0;
  if (!rule.device.empty()) {
    ASSIGN_OR_RETURN(const Device device, FindDevice(rule.device, devices));
    ASSIGN_OR_RETURN(const Precision precision, ParsePrecision(rule.dtype));
    ASSIGN_OR_RETURN(const PeakFigure figure, FindPeak(device, precision));
    peak = static_cast<double>(figure.giga) * kGiga;
  }
  std::vector<AchievedFigure> figures;
  const auto add = [&](const std::string& where, int64_t ns, double rate, std::string open) {
    AchievedFigure figure = {where, rate, std::nullopt, std::move(open)};
    if (!rule.device.empty()) figure.peak_share = rate / peak;
    if (rule.achieved == BudgetRule::Achieved::kPeakShare) figure.value = rate / peak;
    if (rule.achieved == BudgetRule::Achieved::kTime) {
      figure.value = static_cast<double>(ns) / kNsPerSecond;
    }
    figures.push_back(std::move(figure));
  };
  if (!rule.module) {
    const int64_t ns = report.wall ? report.wall->median_ns : report.run_ns();
    add("", ns, report.flops_per_second().value_or(0), "");
    return figures;
  }
  for (size_t i = 1; i < report.modules.size();) {
    const ProfileModule& m = report.modules[i];
    const bool found = m.work.kernels > 0 && MatchesGlob(*rule.module, m.path);
    if (found) {
      add(m.path, m.work.ns, m.work.flops_per_second().value_or(0), OpenTimes(report));
    }
    i = found ? static_cast<size_t>(m.end) : i + 1;
  }
  if (!figures.empty()) return figures;
  const std::string open = OpenTimes(report);
  return absl::NotFoundError(
      absl::StrCat("no module of the run matches", open.empty() ? "" : "; ", open));
}

absl::StatusOr<std::vector<AchievedFigure>> MfuOf(const CheckOptions& run, const BudgetSizes* sizes,
                                                  const DiffSide& head, const CountOptions& at,
                                                  const BudgetRule& rule) {
  if (!run.rate) return absl::FailedPreconditionError("the time of a step is not given");
  if (head.model() == nullptr)
    return absl::FailedPreconditionError("a report has no figures of training");
  if (sizes != nullptr && !sizes->ranges.empty()) {
    return absl::FailedPreconditionError("a step has one size of each dimension, and no range");
  }
  MfuOptions options;
  options.count = at;
  options.rate = *run.rate;
  options.devices = run.num_devices;
  ASSIGN_OR_RETURN(options.device, FindDevice(rule.device, run.devices));
  ASSIGN_OR_RETURN(options.precision, ParsePrecision(rule.dtype));
  ASSIGN_OR_RETURN(const MfuReport report, CountMfu(*head.model(), options));
  return std::vector<AchievedFigure>{{"", report.mfu, report.mfu, ""}};
}

// The symbols that the model itself, not its base, leaves open or has bound.
std::set<std::string> SymbolsOfHead(const Diff& diff) {
  std::set<std::string> symbols;
  for (const auto& [name, size] : diff.head_bindings) symbols.insert(name);
  for (const Quantity* q : diff.quantities) {
    for (const std::string& name : diff.modules[0].HeadOf(*q).Symbols()) symbols.insert(name);
  }
  for (const auto& [from, to] : diff.renamed_symbols) {
    if (symbols.contains(to)) symbols.insert(from);
  }
  return symbols;
}

// Sizes for which the model itself has no symbol. Its base does not matter: a model that fixes a
// size is judged at that size, and must not be labelled with the one that [at] gives.
std::vector<std::string> UnknownSizes(const std::vector<std::string>& names, const Diff& diff) {
  std::vector<SymbolOrigin> symbols;
  for (const std::string& name : SymbolsOfHead(diff)) symbols.push_back({name});
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    if (!ResolveSymbols({{name, 1}}, symbols).ok()) unknown.push_back(name);
  }
  return unknown;
}

absl::StatusOr<Diff> DiffOf(const CheckedModel& model, const CountOptions& options,
                            ComparedSizes sizes) {
  return model.base ? DiffModels(*model.base, model.head, options, sizes)
                    : DiffModels(model.head, options);
}

// A model at the sizes of a set, as far as it has symbols for them.
class SizedDiff {
 public:
  SizedDiff(const CheckedModel& model, const CountOptions& options, bool one_model,
            const BudgetSizes* sizes, bool with_peak)
      : model_(model), one_model_(one_model), asks_(!options.bindings.empty()), at_(options) {
    at_.activation_peak = with_peak;
    if (sizes == nullptr) return;
    sizes_ = *sizes;
    // Sizes given in the call override those of the file.
    for (const auto& [typed, size] : at_.bindings) {
      const std::string name = TypedSymbol(typed);
      const bool in_range = sizes_.ranges.erase(name) > 0;
      if (in_range || sizes_.fixed.contains(name)) sizes_.fixed[name] = size;
    }
    at_.bindings.insert(sizes_.fixed.begin(), sizes_.fixed.end());
  }

  const CountOptions& at() const { return at_; }
  const BudgetSizes& sizes() const { return sizes_; }

  absl::StatusOr<Diff> Make(AskedSizes* asked) {
    const std::string& path = model_.path;
    for (const auto& [name, size] : at_.bindings) asked->names[name].models.insert(path);
    for (const auto& [name, range] : sizes_.ranges) asked->names[name].models.insert(path);
    for (const auto& [name, size] : sizes_.fixed) asked->names[name].in_budgets = true;
    for (const auto& [name, range] : sizes_.ranges) {
      asked->names[name].in_budgets = asked->names[name].is_range = true;
    }
    absl::StatusOr<Diff> diff = Count(at_);
    if (absl::IsInvalidArgument(diff.status())) {
      CountOptions open = at_;
      open.bindings.clear();
      const absl::StatusOr<Diff> without = Count(open);
      if (!without.ok() || IsMistake(*without) || !LeaveOutUnknown(*without, asked)) {
        return diff;
      }
      diff = Count(at_);
    }
    if (!diff.ok()) return diff;
    LeaveOutUnknown(*diff, asked);
    RETURN_IF_ERROR(CheckEnds());
    return diff;
  }

 private:
  // The formula holds for all sizes that the inputs allow, but the model may fix a size inside.
  absl::Status CheckEnds() const {
    if (sizes_.ranges.empty() || model_.head.model() == nullptr) return absl::OkStatus();
    for (const bool last : {false, true}) {
      CountOptions end = at_;
      for (const auto& [name, range] : sizes_.ranges) {
        end.bindings[name] = last ? range.last : range.first;
      }
      absl::Status counted = onnxflops::Count(*model_.head.model(), end).status();
      if (absl::IsInvalidArgument(counted)) return counted;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Diff> Count(const CountOptions& options) const {
    return DiffOf(model_, options, ComparedSizes::kAsAsked);
  }

  // With a single model, an unknown size is a mistake in its name. The exception is a size of [at]
  // in a model that leaves no size open: the same file may be for other models.
  bool IsMistake(const Diff& open) const { return one_model_ && (!open.sizes.empty() || asks_); }

  // Leaves out the sizes that the model has no symbol for. Returns true if there was one.
  bool LeaveOutUnknown(const Diff& diff, AskedSizes* asked) {
    for (const std::string& name : SymbolsOfHead(diff)) asked->symbols.insert(name);
    for (const auto& [name, size] : diff.base_bindings) asked->symbols.insert(name);
    for (const auto& [name, size] : diff.sizes) asked->symbols.insert(name);  // of both
    std::vector<std::string> names;
    for (const auto& [name, size] : at_.bindings) names.push_back(name);
    for (const auto& [name, range] : sizes_.ranges) names.push_back(name);
    const std::vector<std::string> unknown = UnknownSizes(names, diff);
    for (const std::string& name : unknown) {
      asked->names[name].without.insert(model_.path);
      at_.bindings.erase(name);
      sizes_.fixed.erase(name);
      sizes_.ranges.erase(name);
    }
    return !unknown.empty();
  }

  const CheckedModel& model_;
  const bool one_model_;  // CheckOptions::one_model
  const bool asks_;       // the call gives sizes
  CountOptions at_;
  BudgetSizes sizes_;
};

// Called if no base is given: an error if a rule needs one.
absl::Status RequireNoBase(const Budgets& budgets, const std::string& path) {
  for (const BudgetRule& rule : budgets.rules) {
    if (!rule.NeedsBase()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        Escaped(budgets.file), ":", rule.place.line, ":", rule.place.column, ": ",
        Escaped(rule.name), " of ", Escaped(path), " is relative to a base, but no base is given"));
  }
  return absl::OkStatus();
}

// Ends the judgements that were added since `before`: at least one, with the path of the model.
void EndJudgements(const std::string& path, const Budgets& budgets, bool one_model, size_t before,
                   CheckReport* report) {
  if (report->judgements.size() == before) report->judgements.push_back(UnlistedModel(budgets));
  if (one_model) return;
  for (size_t i = before; i < report->judgements.size(); ++i) report->judgements[i].model = path;
  report->models.push_back(report->head);
}

// The rules and sizes for a model, by its path now or at the base: a renamed model keeps its
// budgets.
Budgets BudgetsOf(Budgets all, const std::string& path, const std::string& old_path) {
  const auto is_for_others = [&](const auto& part) {
    return !IsForModel(part.models, path) && !IsForModel(part.models, old_path);
  };
  std::erase_if(all.rules, is_for_others);
  std::erase_if(all.sizes, is_for_others);
  for (BudgetRule& rule : all.rules) rule.models.clear();
  for (BudgetSizes& sizes : all.sizes) sizes.models.clear();
  return all;
}

// An error with the place of the first rule that is not of `fits`.
absl::Status RequireEach(const Budgets& budgets, absl::Status (*fits)(const BudgetRule&)) {
  for (const BudgetRule& rule : budgets.rules) {
    const absl::Status status = fits(rule);
    if (status.ok()) continue;
    if (rule.place.line == 0) {
      return WithMessage(status, absl::StrCat(Setting("max"), ": ", status.message()));
    }
    return WithMessage(status, absl::StrCat(Escaped(budgets.file), ":", rule.place.line, ":",
                                            rule.place.column, ": ", status.message(),
                                            "; [models.\"GLOB\"] says which rules are for which"));
  }
  return absl::OkStatus();
}

}  // namespace

void AskedSizes::Add(const AskedSizes& other) {
  symbols.insert(other.symbols.begin(), other.symbols.end());
  for (const auto& [name, of] : other.names) {
    Name& mine = names[name];
    mine.in_budgets = mine.in_budgets || of.in_budgets;
    mine.is_range = mine.is_range || of.is_range;
    mine.models.insert(of.models.begin(), of.models.end());
    mine.without.insert(of.without.begin(), of.without.end());
  }
}

absl::StatusOr<std::vector<std::string>> ReportUnknownSizes(const std::string& budgets,
                                                            const AskedSizes& asked) {
  std::vector<std::string> without;
  const std::vector<std::string> symbols(asked.symbols.begin(), asked.symbols.end());
  for (const auto& [name, of] : asked.names) {
    // A name known to some model or base is not a mistake.
    const bool may_be_for_others =
        asked.symbols.contains(name) || (of.in_budgets && (of.is_range || symbols.empty()));
    if (of.without.size() < of.models.size() || may_be_for_others) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        of.in_budgets ? absl::StrCat(Escaped(budgets), ": [at]: ") : "",
        "no model has a symbol named ", Escaped(QuotedSymbol(name)), DidYouMean(name, symbols)));
  }
  for (const auto& [name, of] : asked.names) {
    for (const std::string& path : of.without) {
      without.push_back(absl::StrCat(Escaped(path), ": has no symbol named ",
                                     Escaped(QuotedSymbol(name)), ": checked without it"));
    }
  }
  return without;
}

absl::StatusOr<std::optional<DeviceChoice>> DeviceOf(const Budgets& budgets,
                                                     const std::vector<Device>& devices) {
  if (budgets.device.empty()) return std::nullopt;
  DeviceChoice choice;
  ASSIGN_OR_RETURN(choice.device, FindDevice(budgets.device, devices));
  ASSIGN_OR_RETURN(choice.precision, ParsePrecision(budgets.dtype));
  return choice;
}

absl::Status CheckModel(const CheckedModel& model, const Budgets& all, const CheckOptions& run,
                        AskedSizes* asked, CheckReport* report) {
  CountOptions options = run.count;
  if (!options.on_device) {
    ASSIGN_OR_RETURN(options.on_device, DeviceOf(all, run.devices));
  }
  const Budgets budgets =
      BudgetsOf(all, model.path, model.base_path.empty() ? model.path : model.base_path);
  RETURN_IF_ERROR(RequireEach(budgets, &RequireModelRule));
  if (!model.has_base) RETURN_IF_ERROR(RequireNoBase(budgets, model.path));
  std::vector<const BudgetSizes*> sets;
  for (const BudgetSizes& sizes : budgets.sizes) sets.push_back(&sizes);
  if (sets.empty()) sets.push_back(nullptr);
  const size_t before = report->judgements.size();
  for (const BudgetSizes* sizes : sets) {
    SizedDiff sized(model, options, run.one_model, sizes, budgets.NeedsPeak());
    const absl::StatusOr<Diff> made = sized.Make(asked);
    if (!made.ok()) {
      // If the model can be counted at the sizes given in the call, those in the budgets are wrong.
      const bool of_budgets =
          sizes != nullptr && DiffOf(model, options, ComparedSizes::kAsAsked).ok();
      if (!of_budgets) return made.status();
      return WithMessage(made.status(),
                         absl::StrCat(Escaped(budgets.file), ": [at]: ", made.status().message()));
    }
    const Diff& diff = *made;
    if (sizes != nullptr) sizes = &sized.sizes();
    const CountOptions& at = sized.at();
    report->has_base = diff.has_base;
    report->base = diff.base;
    report->head = diff.head;
    std::optional<absl::StatusOr<ProfileReport>> joined;  // once for all rules
    const auto figures =
        [&](const BudgetRule& rule) -> absl::StatusOr<std::vector<AchievedFigure>> {
      if (rule.kind != BudgetRule::Kind::kProfile) return MfuOf(run, sizes, model.head, at, rule);
      if (!joined) joined = JoinRun(run, options, model.head);
      RETURN_IF_ERROR(joined->status());
      return AchievedOf(run.devices, **joined, rule);
    };
    // Rules relative to the base are judged at the size that one of the models fixes.
    std::optional<Diff> equal;
    if (!diff.unequal_sizes.empty()) {
      ASSIGN_OR_RETURN(equal, DiffOf(model, at, ComparedSizes::kEqual));
      if (!equal->unequal_sizes.empty()) equal.reset();
    }
    RETURN_IF_ERROR(
        Judge(budgets, sizes, diff, run.today, figures, report, equal ? &*equal : nullptr));
  }
  EndJudgements(model.path, budgets, run.one_model, before, report);
  return absl::OkStatus();
}

namespace {

// A pipeline and its base at the sizes of a set. Those of the call come first, then `fixed`; what
// has a range stays open. Both ends of ranges are counted as well, to find errors.
class SizedPipelines {
 public:
  SizedPipelines(const CheckedPipeline& pipeline, const CountOptions& options,
                 const BudgetSizes* sizes)
      : pipeline_(pipeline), at_(options) {
    if (sizes == nullptr) return;
    sizes_ = *sizes;
    for (const auto& [name, size] : at_.bindings) {
      const bool in_range = sizes_.ranges.erase(name) > 0;
      if (in_range || sizes_.fixed.contains(name)) sizes_.fixed[name] = size;
    }
    at_.bindings.insert(sizes_.fixed.begin(), sizes_.fixed.end());
  }

  const BudgetSizes& sizes() const { return sizes_; }

  absl::StatusOr<Diff> Make(AskedSizes* asked) {
    for (const auto& [name, size] : at_.bindings) asked->names[name].models.insert(pipeline_.path);
    for (const auto& [name, size] : sizes_.fixed) asked->names[name].in_budgets = true;
    for (const auto& [name, range] : sizes_.ranges) {
      AskedSizes::Name& of = asked->names[name];
      of.models.insert(pipeline_.path);
      of.in_budgets = of.is_range = true;
    }
    std::vector<std::string> unknown, not_in_base;
    ASSIGN_OR_RETURN(PipelineReport head, CountSide(pipeline_.head, &unknown, asked));
    std::optional<PipelineReport> base;
    if (pipeline_.base) {
      ASSIGN_OR_RETURN(base, CountSide(pipeline_.base, &not_in_base, asked));
    }
    for (const std::string& name : unknown) {
      asked->names[name].without.insert(pipeline_.path);
      sizes_.fixed.erase(name);
      sizes_.ranges.erase(name);
    }
    if (!base) return FiguresOf(head);
    return MakePipelineDiff(*std::move(base), std::move(head)).figures;
  }

 private:
  absl::StatusOr<PipelineReport> CountSide(const PipelineLoader& load,
                                           std::vector<std::string>* unknown,
                                           AskedSizes* asked) const {
    // A number makes a symbol also of a parameter that follows from others.
    Bindings numbers = at_.bindings;
    for (const auto& [name, range] : sizes_.ranges) numbers[name] = range.first;
    ASSIGN_OR_RETURN(Pipeline pipeline, load(numbers));
    for (PipelineParameter& parameter : pipeline.parameters) {
      asked->symbols.insert(parameter.name);
      if (!sizes_.ranges.contains(parameter.name)) continue;
      if (parameter.expr.is_literal()) return NoRange(pipeline, parameter.name);
      parameter.shown_at = *std::exchange(parameter.value, std::nullopt);
    }
    ASSIGN_OR_RETURN(PipelineReport report, CountPipeline(pipeline, at_, unknown));
    for (const auto& [name, size] : report.at) asked->symbols.insert(name);
    for (const auto& [name, range] : sizes_.ranges) {
      if (!report.at.contains(name)) unknown->push_back(name);
    }
    if (sizes_.ranges.empty()) return report;
    RETURN_IF_ERROR(RequireFormulas(report));
    for (const bool last : {false, true}) {
      CountOptions end = at_;
      for (const auto& [name, range] : sizes_.ranges) {
        end.bindings[name] = last ? range.last : range.first;
      }
      ASSIGN_OR_RETURN(const Pipeline at_end, load(end.bindings));
      std::vector<std::string> ignored;
      ASSIGN_OR_RETURN(const PipelineReport counted, CountPipeline(at_end, end, &ignored));
      RETURN_IF_ERROR(RequireFormulas(counted));
    }
    return report;
  }

  static absl::Status NoRange(const Pipeline& pipeline, const std::string& name) {
    return absl::InvalidArgumentError(absl::StrCat(Escaped(pipeline.file),
                                                   ": a probability depends on ", Escaped(name),
                                                   ", so [at] takes a number, and no range"));
  }

  static absl::Status RequireFormulas(const PipelineReport& report) {
    for (const PipelineStageCost& stage : report.stages) {
      if (stage.has_formula) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          Escaped(report.file), ": stage ", Quoted(stage.name),
          ": a size decides what the model runs, so [at] takes a number, and no range"));
    }
    return absl::OkStatus();
  }

  const CheckedPipeline& pipeline_;
  CountOptions at_;
  BudgetSizes sizes_;
};

}  // namespace

absl::Status CheckPipeline(const CheckedPipeline& pipeline, const Budgets& all,
                           const CheckOptions& run, AskedSizes* asked, CheckReport* report) {
  CountOptions options = run.count;
  if (!options.on_device) {
    ASSIGN_OR_RETURN(options.on_device, DeviceOf(all, run.devices));
  }
  Budgets budgets = BudgetsOf(all, pipeline.path,
                              pipeline.base_path.empty() ? pipeline.path : pipeline.base_path);
  // A file for models as well has it for all of them, and a pipeline has no axes of its own.
  std::erase_if(budgets.rules,
                [](const BudgetRule& rule) { return rule.kind == BudgetRule::Kind::kFixed; });
  RETURN_IF_ERROR(RequireEach(budgets, &RequirePipelineRule));
  if (!pipeline.has_base) RETURN_IF_ERROR(RequireNoBase(budgets, pipeline.path));
  std::vector<const BudgetSizes*> sets;
  for (const BudgetSizes& sizes : budgets.sizes) sets.push_back(&sizes);
  if (sets.empty()) sets.push_back(nullptr);
  const size_t before = report->judgements.size();
  for (const BudgetSizes* sizes : sets) {
    SizedPipelines sized(pipeline, options, sizes);
    ASSIGN_OR_RETURN(const Diff diff, sized.Make(asked));
    report->has_base = diff.has_base;
    report->base = diff.base;
    report->head = diff.head;
    const auto figures = [](const BudgetRule&) -> absl::StatusOr<std::vector<AchievedFigure>> {
      return absl::FailedPreconditionError("a pipeline was not measured");
    };
    RETURN_IF_ERROR(Judge(budgets, sizes == nullptr ? nullptr : &sized.sizes(), diff, run.today,
                          figures, report));
  }
  EndJudgements(pipeline.path, budgets, run.one_model, before, report);
  return absl::OkStatus();
}

absl::Status AddLimit(absl::string_view text, bool has_base, Budgets* budgets) {
  RETURN_IF_ERROR(AddBudget(text, budgets));
  if (has_base || !budgets->rules.back().NeedsBase()) return absl::OkStatus();
  return absl::FailedPreconditionError("it is relative to a base, but no base is given");
}

absl::Status RequireMeasuresUsed(absl::Span<const Budgets* const> budgets,
                                 const CheckOptions& run) {
  const auto has = [&](BudgetRule::Kind kind) {
    return absl::c_any_of(budgets, [&](const Budgets* one) {
      return absl::c_any_of(one->rules, [&](const BudgetRule& rule) { return rule.kind == kind; });
    });
  };
  if (run.rate && !has(BudgetRule::Kind::kMfu)) {
    return absl::InvalidArgumentError(
        WithSettings("{step-time} and its like are for rules of [mfu], and the budgets have none"));
  }
  if (run.profile.ok() && !has(BudgetRule::Kind::kProfile)) {
    return absl::InvalidArgumentError(
        WithSettings("{profile} is for rules of [profile], and the budgets have none"));
  }
  return absl::OkStatus();
}

absl::Status RequireRules(const Budgets& budgets, const std::vector<Device>& devices) {
  const std::string file = Escaped(budgets.file);
  if (budgets.rules.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": it contains no rule"));
  }
  const absl::Status device = DeviceOf(budgets, devices).status();
  if (!device.ok()) {
    return absl::Status(device.code(), absl::StrCat(file, ": ", device.message()));
  }
  for (const BudgetRule& rule : budgets.rules) {
    const bool of_run = rule.kind == BudgetRule::Kind::kProfile;
    if ((rule.kind != BudgetRule::Kind::kMfu && !of_run) || rule.device.empty()) continue;
    absl::Status known = FindDevice(rule.device, devices).status();
    if (known.ok()) known = ParsePrecision(rule.dtype).status();
    if (!known.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          file, ":", rule.place.line, of_run ? ": [profile]: " : ": [mfu]: ", known.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace onnxflops
