// onnxflops history: what models cost over commits.
#include "src/history/history.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/cost/amounts.h"
#include "src/history/history_writers.h"
#include "src/history/record.h"
#include "src/load/input_file.h"
#include "src/settings/value.h"
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

struct HistoryArguments {
  std::vector<std::string> file;
  std::string models;
  std::vector<std::string> quantities;
  OutputArguments output;

  void AddTo(OptionList* list) {
    list->AddPositional("HISTORY.jsonl", &file, 1, 1);
    list->AddValue("model", "GLOB", &models,
                   "Only models whose path, or the end of it from a folder on, is GLOB.");
    list->AddValues("quantity", "NAME", &quantities,
                    "Only this quantity, as totals of JSON name it: flops, params, ... May be "
                    "given again.");
    output.AddTo(list, {"json", "csv", "html"});
  }
};

absl::StatusOr<HistoryView> ViewOf(const HistoryArguments& args) {
  HistoryView view;
  view.models = args.models;
  for (const std::string& name : args.quantities) {
    const Quantity* const quantity = FindRecordedQuantity(name);
    if (quantity == nullptr) {
      std::vector<std::string> names;
      for (const Quantity* q : RecordedQuantities()) names.emplace_back(q->key);
      return settings::BadValue("quantity", name,
                                absl::StrCat("unknown quantity", DidYouMean(name, names)));
    }
    view.quantities.push_back(quantity);
  }
  return view;
}

// A pattern or a quantity that matches nothing is a mistake.
absl::Status RequireFigures(const HistoryArguments& args, const HistoryReport& report) {
  if (report.series.empty()) {
    return absl::NotFoundError(
        absl::StrCat(Escaped(args.file[0]), ": no model matches --model ", Quoted(args.models)));
  }
  for (const std::string& name : args.quantities) {
    bool has = false;
    for (const Quantity* q : report.quantities) has = has || q->key == name;
    if (has) continue;
    return absl::NotFoundError(
        absl::StrCat(Escaped(args.file[0]), ": no line has the quantity ", Quoted(name)));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunHistory(const HistoryArguments& args) {
  const std::string& file = args.file[0];
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const HistoryView view, ViewOf(args));
  const absl::StatusOr<std::string> text = ReadTextFile(file, kMaxHistoryBytes);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat(Escaped(file), ": ", text.status().message()));
  }
  ASSIGN_OR_RETURN(History history, ReadHistory(*text, file));
  const HistoryReport report = MakeHistory(std::move(history), view);
  RETURN_IF_ERROR(RequireFigures(args, report));
  RETURN_IF_ERROR(WriteOutput(Render(report, format, style), args.output.file, {file}));
  return kFine;
}

}  // namespace

Command HistoryCommand() {
  return CommandOf<HistoryArguments, kCommandHistoryHelp, RunHistory>(
      "history", "HISTORY.jsonl", "what models cost over commits, as check recorded it");
}

}  // namespace onnxflops::tools
