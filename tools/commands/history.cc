// onnxflops history: what models cost over commits.
#include "src/history/history.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/base/status_macros.h"
#include "src/history/history_writers.h"
#include "src/settings/history_arguments.h"
#include "tools/cli/output.h"
#include "tools/cli/output_arguments.h"
#include "tools/cli/render.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandHistoryHelp = {
    "onnxflops history HISTORY.jsonl [options]",
    R"(What models cost over commits. The file is what `onnxflops check --record FILE`
writes: a line per model and call, with date, commit, sizes, figures and limits.
A figure is compared with the line before it of the same model that has it: one
that a line lacks is a gap, not 0. Where the sizes are others, a note says so in
the place of a percentage. The order is that of the file, whatever the dates
are. Of two lines for the same model and commit the last one is read. What
follows from other figures, as training_flops, is shown where --quantity names
it.
)",
    R"(  What changed, and at which commit:
    onnxflops history history.jsonl
  A page with a chart for each quantity, and its budget:
    onnxflops history history.jsonl -o history.html
  One model, two quantities:
    onnxflops history history.jsonl --model 'clip*' --quantity flops \
      --quantity params

Exit codes: 0 success, 2 error.
)"};

struct HistoryCall : settings::HistoryArguments {
  std::vector<std::string> file;
  OutputArguments output;

  void AddTo(OptionList* list) {
    list->AddPositional("HISTORY.jsonl", &file, 1, 1);
    HistoryArguments::AddTo(list);
    output.AddTo(list, {"json", "csv", "html"});
  }
};

absl::StatusOr<ExitCode> RunHistory(const HistoryCall& args) {
  const std::string& file = args.file[0];
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const HistoryReport report, args.Read(file));
  RETURN_IF_ERROR(WriteOutput(Render(report, format, style), args.output.file, {file}));
  return kFine;
}

}  // namespace

Command HistoryCommand() {
  return CommandOf<HistoryCall, kCommandHistoryHelp, RunHistory>(
      "history", "HISTORY.jsonl", "what models cost over commits, as check recorded it");
}

}  // namespace onnxflops::tools
