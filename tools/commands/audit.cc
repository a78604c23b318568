// onnxflops audit: which convention gives each of a list of published figures.
//
// How it works. A CSV file has a line per model with the published figure (published.h). Each model
// is counted with all conventions, and those whose result is near enough to the figure explain it.
// Lines of one model at the same sizes share its comparison, others run in parallel. All are shown
// in the file's order. A line that
// cannot be read or counted has its own error, and the others go on.
#include "src/compare/audit.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "src/api/count.h"
#include "src/api/recognise_pipeline.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/settings/audit_arguments.h"
#include "src/settings/pipeline_arguments.h"
#include "src/settings/zoo.h"
#include "tools/cli/output.h"
#include "tools/cli/render.h"
#include "tools/commands/commands.h"
#include "tools/commands/each_model.h"
#include "tools/commands/model_files.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandAuditHelp = {
    "onnxflops audit FILE.csv | --zoo NAME MODEL.. [options]",
    R"(Tells for published figures which convention gives them, to the last digit
that is written, or else which comes nearest. FILE has a line of titles and a
line per figure:

  name,model,figure
  ResNet-50,resnet50.onnx,4.089 GFLOPs

A model's path is relative to the folder of FILE. A column dim gives sizes that
a model leaves open, as batch=1, and a column module names a part that the
figure is of, as visual of a CLIP. Further columns are ignored. Many published
"FLOPs" are MACs, so figures of both units are compared, and a star marks those
that are called what they are not. A file with other titles is read with
--titles, --unit and --models. A line that cannot be read is listed.

--zoo looks models up in the tables of zoos that are known here, by the names
of their files: docs/published.md has them.

A model may also be a pipeline, as `onnxflops pipeline` takes it: a file of
stages or a folder. Its figures are of all stages, of one, of a run, and of each
answer; dim gives parameters, and module names a stage.
)",
    R"(  All figures of a table:
    onnxflops audit zoo.csv
  A table with the titles weights,gmacs_published, of models exported/NAME.onnx:
    onnxflops audit zoo.csv --titles name=weights,figure=gmacs_published \
      --unit GMACs --models 'exported/{weights}.onnx'
  What timm publishes of this model, and of one whose file has another name:
    onnxflops audit --zoo timm resnet50.onnx
    onnxflops audit --zoo timm:vit_base_patch16_224 exported.onnx
  For a spreadsheet:
    onnxflops audit zoo.csv -o audit.csv

Exit codes: 0 success, 2 if a row has no figure, or for another error.
)"};

struct AuditCall : settings::AuditArguments {
  std::vector<std::string> files;
  OutputArguments output;
  JobsArgument jobs;

  void AddTo(OptionList* list) {
    list->AddPositional("FILE", &files, 1);
    settings::AuditArguments::AddTo(list);
    jobs.AddTo(list);
    output.AddTo(list);
  }
};

// "zoo.csv:7: 'ResNet-50': ". A line that could not be read has no other name than its number.
std::string PlaceOf(const settings::Published& figure, const AuditCall& args) {
  if (!args.zoo.empty()) return absl::StrCat(Quoted(figure.name), ": ");
  const bool named = figure.name != absl::StrCat("line ", figure.line);
  return absl::StrCat(Escaped(args.files[0]), ":", figure.line, ": ",
                      named ? absl::StrCat(Quoted(figure.name), ": ") : "");
}

absl::StatusOr<ExitCode> RunAudit(const AuditCall& args) {
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const CountOptions options, args.Options());
  ASSIGN_OR_RETURN(const int threads, args.jobs.Parse());
  ASSIGN_OR_RETURN(const std::vector<settings::Published> figures, args.ReadFigures(args.files));
  std::vector<AuditRow> rows(figures.size());
  const std::vector<std::vector<size_t>> groups = settings::GroupAudits(figures);
  ForEach(groups.size(), threads,
          [&](size_t i) { settings::AuditGroup(figures, groups[i], options, &rows); });
  std::vector<std::string> inputs = {args.files[0], args.sizes.rules.file}, faults;
  for (size_t i = 0; i < rows.size(); ++i) {
    inputs.push_back(rows[i].model);
    if (IsFolder(rows[i].model) || settings::IsPipelineFile(rows[i].model)) {
      for (std::string& file : settings::FilesOfPipeline(rows[i].model)) {
        inputs.push_back(std::move(file));
      }
    }
    if (!rows[i].fault.empty()) faults.push_back(PlaceOf(figures[i], args) + rows[i].fault);
  }
  if (!args.zoo.empty()) settings::LeaveOutOtherSizes(&rows);
  RETURN_IF_ERROR(
      WriteOutput(Render(absl::MakeConstSpan(rows), format, style), args.output.file, inputs));
  for (const std::string& fault : faults) WriteError(fault);
  return faults.empty() ? kFine : kTrouble;
}

}  // namespace

Command AuditCommand() {
  return CommandOf<AuditCall, kCommandAuditHelp, RunAudit>(
      "audit", "FILE.csv", "which convention gives each published figure");
}

}  // namespace onnxflops::tools
