// onnxflops audit: which convention gives each of a list of published figures.
//
// How it works. A CSV file has a line per model with the published figure (published.h). Each model
// is counted with all conventions, and those whose result is near enough to the figure explain it.
// Lines are independent, so they run in parallel and are shown in the file's order. A line that
// cannot be read or counted has its own error, and the others go on.
#include "tools/commands/audit.h"

#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/api/count.h"
#include "src/api/load.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "tools/cli/output.h"
#include "tools/cli/render.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandAuditHelp = {
    "onnxflops audit FILE.csv [options]",
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
)",
    R"(  All figures of a table:
    onnxflops audit zoo.csv
  A table with the titles weights,gmacs_published, of models exported/NAME.onnx:
    onnxflops audit zoo.csv --titles name=weights,figure=gmacs_published \
      --unit GMACs --models 'exported/{weights}.onnx'
  For a spreadsheet:
    onnxflops audit zoo.csv -o audit.csv

Exit codes: 0 success, 2 if a row has no figure, or for another error.
)"};

absl::StatusOr<std::vector<Published>> ReadFigures(const std::string& file,
                                                   const PublishedLayout& layout) {
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
  absl::StatusOr<std::vector<Published>> figures = ParsePublished(*text, layout, folder);
  if (!figures.ok()) return about(figures.status());
  return figures;
}

absl::StatusOr<AuditRow> AuditOne(const Published& published, const CountOptions& options) {
  RETURN_IF_ERROR(published.fault);
  ASSIGN_OR_RETURN(const Model model, LoadFor(published.model, options));
  CountOptions with_sizes = options;
  for (const auto& [name, size] : published.sizes) with_sizes.bindings[name] = size;
  with_sizes.module = published.module;
  ASSIGN_OR_RETURN(const CompareReport comparison, CompareTools(model, with_sizes, {}));
  return Audit(published.name, published.figure, comparison);
}

AuditRow RowOf(const Published& published, const CountOptions& options) {
  AuditRow row;
  try {
    absl::StatusOr<AuditRow> audited = AuditOne(published, options);
    if (audited.ok()) return *std::move(audited);
    row.fault = std::string(audited.status().message());
  } catch (const std::bad_alloc&) {
    row.fault = "there is not enough memory";
  }
  row.name = published.name;
  row.model = published.model;
  row.published = published.figure;
  return row;
}

}  // namespace

void AuditArguments::AddTo(OptionList* list) {
  list->AddPositional("FILE.csv", &file, 1, 1);
  list->AddValue("--titles", "KEY=TITLE,..", &titles,
                 "The titles of FILE's columns, where they are others: "
                 "name=weights,figure=gmacs.");
  list->AddValue("--unit", "UNIT", &layout.unit,
                 "The unit of figures that are written without one, as GMACs or GFLOPs.");
  list->AddValue("--models", "PATTERN", &layout.pattern,
                 "The path of each model, with {TITLE} for a field of its line.");
  sizes.AddTo(list);
  no_grad.AddTo(list);
  jobs.AddTo(list);
  output.AddTo(list);
}

absl::StatusOr<AuditedTable> AuditTable(const AuditArguments& args) {
  ASSIGN_OR_RETURN(CountOptions options, args.sizes.Parse());
  options.no_grad = args.no_grad.given;
  ASSIGN_OR_RETURN(const int threads, args.jobs.Parse());
  PublishedLayout layout = args.layout;
  RETURN_IF_ERROR(ParseTitles(args.titles, &layout));
  ASSIGN_OR_RETURN(const std::vector<Published> figures, ReadFigures(args.file[0], layout));
  AuditedTable table;
  table.rows.resize(figures.size());
  ForEach(figures.size(), threads, [&](size_t i) { table.rows[i] = RowOf(figures[i], options); });
  for (const Published& published : figures) table.lines.push_back(published.line);
  return table;
}

void DescribeAudit(const UseCommand& use) {
  OptionList list;
  AuditArguments args;
  args.AddTo(&list);
  use(kCommandAuditHelp, list);
}

absl::StatusOr<ExitCode> RunAudit(const Arguments& arguments) {
  OptionList list;
  AuditArguments args;
  args.AddTo(&list);
  std::string help;
  ASSIGN_OR_RETURN(const bool run, list.Parse(kCommandAuditHelp, arguments, &help));
  if (!run) {
    RETURN_IF_ERROR(WriteOutput(help, "-", {}));
    return kFine;
  }
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const AuditedTable table, AuditTable(args));
  std::vector<std::string> inputs = {args.file[0], args.sizes.rules.file};
  for (const AuditRow& row : table.rows) inputs.push_back(row.model);
  RETURN_IF_ERROR(WriteOutput(Render(absl::MakeConstSpan(table.rows), format, style),
                              args.output.file, inputs));
  ExitCode code = kFine;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const AuditRow& row = table.rows[i];
    if (row.fault.empty()) continue;
    // A line that could not be read has no other name than its number.
    const bool named = row.name != absl::StrCat("line ", table.lines[i]);
    WriteError(absl::StrCat(Escaped(args.file[0]), ":", table.lines[i], ": ",
                            named ? absl::StrCat(Quoted(row.name), ": ") : "", row.fault));
    code = kTrouble;
  }
  return code;
}

}  // namespace onnxflops::tools
