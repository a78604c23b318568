// What the line of `onnxflops count` says.
#ifndef ONNXFLOPS_TOOLS_CLI_COUNT_ARGUMENTS_H_
#define ONNXFLOPS_TOOLS_CLI_COUNT_ARGUMENTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "src/api/count.h"
#include "src/convention/conventions.h"
#include "src/report/viewer_formats.h"
#include "tools/cli/device_arguments.h"
#include "tools/cli/memory_arguments.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"
#include "tools/cli/sample_arguments.h"
#include "tools/cli/training_arguments.h"
#include "tools/cli/view_arguments.h"
#include "tools/commands/each_model.h"

namespace onnxflops::tools {

struct CountArguments {
  std::vector<std::string> models;
  SizeArguments sizes;
  SampleArguments samples;
  CausalArgument causal;
  TrainingArguments training;
  RooflineArguments roofline;
  MemoryArguments memory;
  ServingArguments serving;
  OutputArguments output;
  JobsArgument jobs;
  ViewArguments view;
  std::string convention, annotate, save;
  UpperArgument upper;
  NoGradArgument no_grad;
  bool strict = false, plot = false, redact = false;

  void AddTo(OptionList* list) {
    list->AddPositional("MODEL", &models, 1);
    list->BeginGroup("sizes", "Sizes of the model, and what is counted");
    sizes.AddTo(list, /*sweeps=*/true);
    upper.AddTo(list);
    causal.AddTo(list);
    serving.AddTo(list);
    list->BeginGroup("samples", "The batch that ran");
    samples.AddTo(list);
    list->BeginGroup("view", "What is shown");
    view.AddTo(list);
    list->AddFlag("--plot", &plot, "Draw a bar for every point of a sweep.");
    list->AddValue("--convention", "NAME", &convention,
                   "Count as another tool does. `onnxflops compare --list` has the names.",
                   convention::ConventionNames());
    no_grad.AddTo(list);
    list->BeginGroup("training", "Training");
    training.AddTo(list);
    list->BeginGroup("memory", "Memory");
    memory.AddTo(list);
    list->BeginGroup("devices", "Time on a device");
    roofline.AddTo(list);
    list->BeginGroup("output", "Output");
    output.AddTo(list, FormatNames());
    list->AddFlag("--strict", &strict,
                  "Exit with 1 if a node is not counted, if a size that depends on data is open, "
                  "or if there is a warning.");
    list->AddFlag("--redact-names", &redact,
                  "Replace every name of the model, to share structure and figures without them.");
    list->AddValue("--annotate", "FILE", &annotate,
                   "Also write a copy of the model in which every node says what it costs "
                   "(metadata_props), as Netron shows. Weights are copied, not read into memory.");
    list->AddValue("--save", "FILE", &save,
                   "Write the graph of a configuration as an ONNX model, without weights.");
    jobs.AddTo(list);
  }

  // Beside formats of documents.
  static std::vector<std::string> FormatNames() {
    std::vector<std::string> names = {"text", "json", "jsonl", "csv", "html"};
    for (const ViewerFormat& format : kViewerFormats) names.emplace_back(format.name);
    return names;
  }

  // What is counted, without what shows it. Dimensions with several sizes go to `sweep`.
  absl::StatusOr<CountOptions> Options(std::vector<DimSizes>* sweep) const;

  // What --annotate does not go together with.
  absl::Status CheckAnnotate(bool one_file, bool is_sweep) const {
    if (annotate.empty()) return absl::OkStatus();
    const std::pair<bool, const char*> others[] = {
        {!one_file, "several models"},      {is_sweep, "several sizes of a dimension"},
        {!save.empty(), "--save"},          {!convention.empty(), "--convention"},
        {!view.module.empty(), "--module"}, {upper.given, "--upper"},
        {redact, "--redact-names"},         {!training.lora.empty(), "--lora"},
    };
    for (const auto& [given, name] : others) {
      if (given) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--annotate writes a copy of one model with our costs of its nodes: not with ", name));
      }
    }
    if (models[0] == "-") {
      return absl::InvalidArgumentError("--annotate copies a file; standard input is read once");
    }
    return absl::OkStatus();
  }

  // Whether rows are asked for: without, several models are a row each.
  bool rows() const { return view.rows(); }
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_COUNT_ARGUMENTS_H_
