#include "tools/commands/count_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status_macros.h"
#include "src/report/viewer_formats.h"
#include "src/settings/value.h"

namespace onnxflops::tools {
namespace {

// Beside formats of documents.
std::vector<std::string> CountFormatNames() {
  std::vector<std::string> names = {"text", "json", "jsonl", "csv", "html"};
  for (const ViewerFormat& format : kViewerFormats) names.emplace_back(format.name);
  return names;
}

}  // namespace

void CountCall::AddTo(OptionList* list) {
  list->AddPositional("MODEL", &models, 1);
  settings::CountArguments::AddTo(list);
  list->BeginGroup("transformers", "A configuration by the class of transformers");
  by_class.AddTo(list);
  list->BeginGroup("output", "Output");
  output.AddTo(list, CountFormatNames());
  list->AddFlag("strict", &strict,
                "Exit with 1 if a node is not counted, if a size that depends on data is open, "
                "or if there is a warning.");
  list->AddFlag("redact-names", &redact,
                "Replace every name of the model, to share structure and figures without them.");
  list->AddValue("annotate", "FILE", &annotate,
                 "Also write a copy of the model in which every node says what it costs "
                 "(metadata_props), as Netron shows. Weights are copied, not read into memory.");
  list->AddValue("save", "FILE", &save,
                 "Write the graph of a configuration as an ONNX model, without weights.");
  jobs.AddTo(list);
}

absl::StatusOr<ViewOptions> CountCall::ParseView(Format format) const {
  ASSIGN_OR_RETURN(ViewOptions options, view.Parse());
  if (options.shapes && format == Format::kCsv) {
    return settings::BadValue("columns", view.columns,
                              "CSV has no shapes: --format json --by node has all of them");
  }
  const bool is_json = format == Format::kJson || format == Format::kJsonLines;
  if (is_json && (!view.top.empty() || !view.sort.empty() || !view.columns.empty())) {
    return absl::InvalidArgumentError(
        "--top, --sort and --columns choose what a table shows; JSON always holds all of it");
  }
  return options;
}

absl::Status CountCall::CheckAnnotate(bool one_file, bool is_sweep) const {
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

}  // namespace onnxflops::tools
