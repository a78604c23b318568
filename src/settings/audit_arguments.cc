#include "src/settings/audit_arguments.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/api/load.h"
#include "src/api/pipeline.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/graph/model.h"
#include "src/pipeline/pipeline_audit.h"
#include "src/settings/pipeline_arguments.h"
#include "src/settings/value.h"
#include "src/settings/zoo.h"

namespace onnxflops::settings {
namespace {

// Sets the batch to 1 where the file leaves it open.
void SetOneImage(const Report& report, Bindings* sizes) {
  for (const SymbolOrigin& symbol : report.symbols) {
    const bool is_batch = symbol.kind == SymbolOrigin::Kind::kInput && symbol.axis == 0;
    if (is_batch) sizes->emplace(symbol.name, 1);
  }
}

// A size of an input may be open. Only then it is worth a count to find which.
bool HasOpenInput(const ModelData& model) {
  return absl::c_any_of(model.graph(0).inputs, [&](const ValueId id) {
    const Value& value = model.value(id);
    return value.declared != nullptr &&
           absl::c_any_of(value.declared->dims,
                          [](const DeclaredDim& dim) { return dim.size < 0; });
  });
}

// The name that folders of exporters give to the samples of one image: with and without the text.
constexpr char kGuidance[] = "guidance";

absl::StatusOr<AuditRow> AuditPipeline(const Published& published, CountOptions options) {
  if (!options.input_shapes.empty() || !options.input_values.empty() || options.tokens ||
      options.mask_sum || options.image_size || options.batch) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(published.model), ": a pipeline sets the sizes of its stages in its file; ",
        WithSettings("{dim} gives its parameters numbers")));
  }
  if (published.figure.unit == Unit::kActivation) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(published.model), ": a pipeline is audited in MACs or FLOPs"));
  }
  for (const auto& [name, size] : published.sizes) options.bindings[name] = size;
  ASSIGN_OR_RETURN(const Pipeline pipeline, ReadPipeline(published.model, options.bindings));
  const auto is_stage = [&](const PipelineStage& stage) { return stage.name == published.module; };
  if (!published.module.empty() && absl::c_none_of(pipeline.stages, is_stage)) {
    std::vector<std::string> names;
    for (const PipelineStage& stage : pipeline.stages) names.push_back(stage.name);
    return absl::NotFoundError(absl::StrCat(Escaped(published.model), ": no stage is named ",
                                            Quoted(published.module),
                                            "; its stages: ", absl::StrJoin(names, ", ")));
  }
  std::vector<AuditedPipeline> pipelines(1);
  ASSIGN_OR_RETURN(pipelines[0].report, CountPipeline(pipeline, options));
  const PipelineParameter* const guidance = pipeline.Find(kGuidance);
  if (guidance != nullptr && guidance->value.value_or(1) != 1) {
    options.bindings[kGuidance] = 1;
    ASSIGN_OR_RETURN(const Pipeline without, ReadPipeline(published.model, options.bindings));
    absl::StatusOr<PipelineReport> report = CountPipeline(without, options);
    // An export may have fixed the batch of both.
    if (report.ok()) pipelines.push_back({*std::move(report), absl::StrCat(kGuidance, " = 1")});
  }
  return Audit(published.name, published.figure, pipelines, published.module);
}

// What figures of one model at the same sizes are held against, made when it is first asked for.
class ComparedModel {
 public:
  ComparedModel(const Published& published, const CountOptions& options)
      : path_(published.model), of_zoo_(published.of_zoo), options_(options) {
    for (const auto& [name, size] : published.sizes) options_.bindings[name] = size;
    options_.module = published.module;
  }

  absl::StatusOr<const CompareReport*> Of(Unit unit) {
    const bool activations = unit == Unit::kActivation;
    std::optional<absl::StatusOr<CompareReport>>& known = activations ? activations_ : work_;
    if (!known) {
      known = absl::ResourceExhaustedError("there is not enough memory");  // if Compare ends so
      known = Compare(activations);
    }
    if (!known->ok()) return known->status();
    return &**known;
  }

 private:
  absl::StatusOr<CompareReport> Compare(bool activations) {
    if (!model_) {
      ASSIGN_OR_RETURN(model_, LoadFor(path_, options_));
      if (of_zoo_ && HasOpenInput(**model_)) {
        ASSIGN_OR_RETURN(const Report open, Count(*model_, options_));
        SetOneImage(open, &options_.bindings);
      }
    }
    CompareRequest request;
    request.activations = activations;
    return CompareTools(*model_, options_, request);
  }

  const std::string path_;
  const bool of_zoo_;
  CountOptions options_;
  std::optional<Model> model_;
  std::optional<absl::StatusOr<CompareReport>> work_, activations_;
};

absl::StatusOr<AuditRow> AuditOne(const Published& published, const CountOptions& options,
                                  ComparedModel* compared) {
  RETURN_IF_ERROR(published.fault);
  if (IsPipeline(published.model)) return AuditPipeline(published, options);
  ASSIGN_OR_RETURN(const CompareReport* const comparison, compared->Of(published.figure.unit));
  AuditRow row = Audit(published.name, published.figure, *comparison);
  row.about = published.about;
  return row;
}

AuditRow AuditPublished(const Published& published, const CountOptions& options,
                        ComparedModel* compared) {
  absl::StatusOr<AuditRow> audited = absl::ResourceExhaustedError("there is not enough memory");
  platform::RunWithinMemory([&] { audited = AuditOne(published, options, compared); });
  if (audited.ok()) return *std::move(audited);
  AuditRow row;
  row.fault = std::string(audited.status().message());
  if (absl::IsNotFound(audited.status()) && !published.written.empty() &&
      absl::EndsWith(row.fault, "no such file")) {
    absl::StrAppend(&row.fault, " (", Quoted(published.written),
                    " starts at the folder of the table)");
  }
  row.name = published.name;
  row.model = published.model;
  row.published = published.figure;
  return row;
}

}  // namespace

void AuditArguments::AddTo(Table* list) {
  list->AddValue("titles", "KEY=TITLE,..", &titles,
                 "The titles of FILE's columns, where they are others: "
                 "name=weights,figure=gmacs.");
  list->AddValue("unit", "UNIT", &layout.unit,
                 "The unit of figures that are written without one, as GMACs or GFLOPs.");
  list->AddValue("models", "PATTERN", &layout.pattern,
                 "The path of each model, with {TITLE} for a field of its line.");
  list->AddValue("zoo", "NAME[:MODEL]", &zoo,
                 "Audit models against the figures of a zoo that are known here, by the names of "
                 "their files, or by MODEL.",
                 ZooNames());
  sizes.AddTo(list);
  no_grad.AddTo(list);
}

absl::StatusOr<CountOptions> AuditArguments::Options() const {
  ASSIGN_OR_RETURN(CountOptions options, sizes.Parse());
  options.no_grad = no_grad.given;
  return options;
}

absl::StatusOr<std::vector<Published>> AuditArguments::ReadFigures(
    absl::Span<const std::string> files) const {
  if (zoo.empty() && files.size() == 1) return ReadFile(files[0]);
  if (zoo.empty()) {
    return absl::InvalidArgumentError(
        WithSettings("an audit is of one file of figures; {zoo NAME} takes several models"));
  }
  for (const auto& [name, text] : {std::pair("titles", &titles), std::pair("unit", &layout.unit),
                                   std::pair("models", &layout.pattern)}) {
    if (text->empty()) continue;
    return BadValue(name, *text,
                    WithSettings("it is about a file of figures: {zoo NAME} has none"));
  }
  return ZooFigures(zoo, files);
}

absl::StatusOr<std::vector<Published>> AuditArguments::ReadFile(const std::string& file) const {
  PublishedLayout of_file = layout;
  // Also where every figure has its own unit.
  if (!layout.unit.empty() && !ParsePublishedFigure(absl::StrCat("1 ", layout.unit)).ok()) {
    return BadValue("unit", layout.unit, "it should be a unit of figures, as GMACs or GFLOPs");
  }
  RETURN_IF_ERROR(ParseTitles(titles, &of_file));
  const auto about = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(Escaped(file), ": ", status.message()));
  };
  const absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (!text.ok()) return about(text.status());
  if (text->size() > kMaxRulesBytes) {
    return LimitError("rules-bytes", absl::StrCat(Escaped(file), ": is larger than ",
                                                  kMaxRulesBytes, " bytes (rules-bytes)"));
  }
  const size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : file.substr(0, slash + 1);
  absl::StatusOr<std::vector<Published>> figures = ParsePublished(*text, of_file, folder);
  if (!figures.ok()) return about(figures.status());
  return figures;
}

std::vector<std::vector<size_t>> GroupAudits(absl::Span<const Published> figures) {
  std::map<std::tuple<std::string, std::string, Bindings, bool>, size_t> known;
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < figures.size(); ++i) {
    const Published& of = figures[i];
    const auto [group, is_new] =
        known.try_emplace({of.model, of.module, of.sizes, of.of_zoo}, groups.size());
    if (is_new) groups.emplace_back();
    groups[group->second].push_back(i);
  }
  return groups;
}

void AuditGroup(absl::Span<const Published> figures, absl::Span<const size_t> group,
                const CountOptions& options, std::vector<AuditRow>* rows) {
  ComparedModel compared(figures[group[0]], options);
  for (const size_t i : group) (*rows)[i] = AuditPublished(figures[i], options, &compared);
}

}  // namespace onnxflops::settings
