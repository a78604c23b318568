#include "src/settings/pipeline_arguments.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "src/api/pipeline_layouts.h"
#include "src/api/recognise_pipeline.h"
#include "src/base/limit_error.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/settings/value.h"

namespace onnxflops::settings {

void PipelineArguments::AddTo(Table* list) {
  list->BeginGroup("sizes", "Sizes of the models, and what is counted");
  list->AddValues("dim", "NAME=N", &dims,
                  "The number of a parameter, or of a size that no stage sets. Several numbers, as "
                  "steps=10,25,50 or 1..64*2, are a row each.");
  causal.AddTo(list);
  rules.AddTo(list);
  list->BeginGroup("devices", "Time on a device");
  device.AddTo(list);
}

absl::StatusOr<CountOptions> PipelineArguments::Options(std::vector<DimSizes>* sweep) const {
  CountOptions options;
  RETURN_IF_ERROR(ParseDims(dims, &options.bindings, sweep));
  ASSIGN_OR_RETURN(options.causal, causal.Parse());
  ASSIGN_OR_RETURN(options.rules, rules.Parse());
  ASSIGN_OR_RETURN(options.on_device, device.Parse());
  return options;
}

std::string PipelineFileIn(const std::string& folder) {
  const std::string path(absl::StripSuffix(folder, "/"));
  const bool has_file = !platform::MatchingIn(path, kPipelineFile).empty();
  return has_file ? absl::StrCat(path, "/", kPipelineFile) : "";
}

bool IsPipelineFile(absl::string_view path) { return absl::EndsWith(path, ".toml"); }

// Whether the export of a stage says what number a parameter has.
static bool IsFixed(const Pipeline& pipeline, const std::string& name) {
  return absl::c_any_of(pipeline.stages, [&](const PipelineStage& stage) {
    return absl::c_any_of(stage.fixed, [&](const auto& fixed) {
      return absl::c_linear_search((fixed.first.value - fixed.second.value).Symbols(), name);
    });
  });
}

bool IsPipelineFolder(const std::string& path) {
  if (platform::MatchingIn(path, "*").empty()) return false;
  if (!PipelineFileIn(path).empty()) return true;
  return IsExportedPipeline(path);
}

// A folder with a configuration and no export is that model, as everywhere, unless a file says
// otherwise.
static bool IsConfiguration(const std::string& folder) {
  return PipelineFileIn(folder).empty() && !platform::MatchingIn(folder, "config.json").empty() &&
         platform::MatchingIn(folder, "*.onnx").empty() &&
         platform::MatchingIn(folder, "onnx/*.onnx").empty();
}

bool IsPipeline(const std::string& path) {
  return IsPipelineFile(path) || (!IsConfiguration(path) && IsPipelineFolder(path));
}

bool IsNamedPipeline(const std::string& folder) {
  if (IsConfiguration(folder)) return false;
  if (!PipelineFileIn(folder).empty()) return true;
  return absl::c_any_of(PipelineLayouts(), [&](const Layout& layout) {
    return layout.marker[0] != '\0' && !platform::MatchingIn(folder, layout.marker).empty();
  });
}

absl::Status RequirePipelineSizes(const SizeArguments& sizes) {
  const std::pair<const char*, bool> others[] = {
      {"input", !sizes.inputs.empty()},      {"value", !sizes.values.empty()},
      {"tokens", !sizes.tokens.empty()},     {"mask-sum", !sizes.mask_sum.empty()},
      {"at-image", !sizes.at_image.empty()}, {"at-batch", !sizes.at_batch.empty()}};
  for (const auto& [name, is_given] : others) {
    if (!is_given) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Setting(name), ": a pipeline sets the sizes of its stages in its file; ",
                     WithSettings("{dim} gives its parameters numbers")));
  }
  return absl::OkStatus();
}

absl::StatusOr<PipelineText> ReadPipelineText(const std::string& file) {
  if (!platform::MatchingIn(file, "*").empty()) {
    if (const std::string own = PipelineFileIn(file); !own.empty()) return ReadPipelineText(own);
    ASSIGN_OR_RETURN(std::string text, PipelineOfFolder(file));
    return PipelineText{std::move(text), std::string(absl::StripSuffix(file, "/")), true};
  }
  if (absl::EndsWith(file, ".json")) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(file), ": a pipeline is a folder or a TOML file of stages: name the folder of it"));
  }
  if (absl::EndsWith(file, ".onnx")) {
    return absl::InvalidArgumentError(absl::StrCat(
        Escaped(file), ": one model, and a pipeline is a folder or a TOML file of stages"));
  }
  absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (text.ok()) return PipelineText{*std::move(text), file, false};
  return WithMessage(text.status(), absl::StrCat(Escaped(file), ": ", text.status().message()));
}

absl::StatusOr<Pipeline> ReadPipeline(const PipelineText& read, const Bindings& given) {
  if (!read.is_recognised) {
    absl::StatusOr<Pipeline> pipeline = LoadPipeline(read.text, read.file, given);
    if (pipeline.ok() || IsPipelineFile(read.file)) return pipeline;
    return WithMessage(pipeline.status(),
                       absl::StrCat(pipeline.status().message(), "; a pipeline is a TOML file"));
  }
  const std::string file = absl::StrCat(read.file, "/pipeline.toml");
  absl::StatusOr<Pipeline> recognised = LoadPipeline(read.text, file, given);
  if (!recognised.ok()) {  // there is no such file
    const absl::Status& status = recognised.status();
    return WithMessage(status,
                       absl::StrReplaceAll(status.message(), {{file + ": ", read.file + ": "}}));
  }
  Pipeline pipeline = *std::move(recognised);
  pipeline.file = read.file;
  for (PipelineStage& stage : pipeline.stages) stage.place = stage.model_place = read.file;
  for (PipelineParameter& parameter : pipeline.parameters) {
    parameter.assumed =
        parameter.value && !given.contains(parameter.name) && !IsFixed(pipeline, parameter.name);
  }
  return pipeline;
}

absl::StatusOr<Pipeline> ReadPipeline(const std::string& file, const Bindings& given) {
  ASSIGN_OR_RETURN(const PipelineText read, ReadPipelineText(file));
  return ReadPipeline(read, given);
}

std::vector<std::string> FilesOfPipeline(const std::string& path) {
  std::vector<std::string> files = FilesOfFolder(path);
  files.push_back(path);
  const absl::StatusOr<Pipeline> pipeline = ReadPipeline(path, {});
  if (!pipeline.ok()) return files;
  for (const PipelineStage& stage : pipeline->stages) {
    files.push_back(stage.path);
    files.push_back(absl::StrCat(stage.path, "/config.json"));
  }
  return files;
}

}  // namespace onnxflops::settings
