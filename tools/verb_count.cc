// onnxflops count: cost by module, operator or node.
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/api/load.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/onnxflops.h"
#include "src/report/format.h"
#include "tools/output.h"
#include "tools/verbs.h"
#include "tools/view_arguments.h"

namespace onnxflops::tools {
namespace {

constexpr VerbHelp kVerbCountHelp = {
    "onnxflops count MODEL... [options]",
    R"(Counts the arithmetic of ONNX models, exactly, from their graphs alone. Weights
are not read. MODEL may be "-" for standard input, or written as text: .onnxtxt
(ONNX's own), .textproto, .json. The verb may be left out.
)",
    R"(  The cost of every module of CLIP, at the sizes in the file:
    onnxflops clip-vit-l-14-336.onnx
  At batch 8, deeper, with every digit:
    onnxflops clip-vit-l-14-336.onnx --dim batch=8 --depth 4 --exact
  An input without a declared shape:
    onnxflops detector.onnx --input image=1x3x800x1200
  Which operators do the work:
    onnxflops resnet50.onnx --by op
  The ten dearest nodes, and the dearest modules by bytes that they read:
    onnxflops resnet50.onnx --top 10
    onnxflops resnet50.onnx --top 10 --by module --sort bytes_read
  One part of a model:
    onnxflops clip-vit-l-14-336.onnx --module visual
  Every node with its shapes, for a script:
    onnxflops resnet50.onnx --by node --format json -o resnet50.json
  As thop counts, module by module:
    onnxflops resnet50.onnx --convention thop
  Fail in CI if anything is not counted:
    onnxflops exported/*.onnx --strict

--format text is a stable form for comparing two texts: no color, no path, every
digit, columns of one width, rows in the order of the model. A row changes only
if its own figures do.

Exit codes: 0 success, 1 --strict failed, 2 error.
)"};

struct CountArguments {
  std::vector<std::string> models;
  SizeArguments sizes;
  CausalArgument causal;
  OutputArguments output;
  ViewArguments view;
  std::string convention;
  bool strict = false;

  void AddTo(OptionList* list) {
    list->AddPositional("MODEL", &models, 1);
    sizes.AddTo(list);
    causal.AddTo(list);
    view.AddTo(list);
    list->AddValue("--convention", "NAME", &convention,
                   "Count as another tool does. `onnxflops compare --list` has the names.");
    list->AddFlag("--strict", &strict,
                  "Exit with 1 if a node is not counted, or if there is a warning.");
    output.AddWithTextTo(list);
  }
};

std::string Render(const std::vector<Report>& reports, Format format, const ViewOptions& view,
                   const TableStyle& style) {
  switch (format) {
    case Format::kJson:
      return reports.size() == 1 ? ToJson(reports[0]) : ToJson(reports);
    case Format::kCsv:
      return ToCsv(reports, view);
    case Format::kTable:
    case Format::kText:
    case Format::kMarkdown:
      break;
  }
  std::string text;
  for (const Report& report : reports) {
    absl::StrAppend(
        &text, text.empty() ? "" : "\n",
        format == Format::kMarkdown ? ToMarkdown(report, view) : ToTable(report, view, style));
  }
  return text;
}

// A form for comparing texts: see ViewOptions::stable.
void MakeStable(size_t models, ViewOptions* view) {
  view->stable = true;
  view->exact = true;
  view->title = models > 1 ? ViewOptions::Title::kFileName : ViewOptions::Title::kNone;
}

// What --strict objects to, or nothing.
std::string Objection(const Report& report) {
  const std::string path = Escaped(report.model.path);
  if (report.coverage.unknown > 0) {
    return absl::StrCat(path, ": not counted: ", Plural(report.coverage.unknown, "node"));
  }
  if (report.totals.lower_bound) return absl::StrCat(path, ": a part is unknown");
  if (!report.warnings.empty()) {
    return absl::StrCat(path, ": warning: ", Printable(report.warnings[0]));
  }
  return "";
}

}  // namespace

absl::StatusOr<ExitCode> RunCount(const Arguments& arguments) {
  OptionList list;
  CountArguments args;
  args.AddTo(&list);
  std::string help;
  ASSIGN_OR_RETURN(const bool run, list.Parse(kVerbCountHelp, arguments, &help));
  if (!run) {
    RETURN_IF_ERROR(WriteOutput(help, "-", {}));
    return kFine;
  }
  ASSIGN_OR_RETURN(CountOptions options, args.sizes.Parse());
  ASSIGN_OR_RETURN(options.causal, args.causal.Parse());
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  ASSIGN_OR_RETURN(ViewOptions view, args.view.Parse(format));
  if (format == Format::kText) MakeStable(args.models.size(), &view);
  options.module = args.view.module;
  options.node_rows = view.by == GroupBy::kNode;
  std::vector<Report> reports;
  for (const std::string& path : args.models) {
    ASSIGN_OR_RETURN(const Model model, Load(path, options.limits));
    ASSIGN_OR_RETURN(Report report, args.convention.empty()
                                        ? Count(model, options)
                                        : CountAs(model, options, args.convention));
    reports.push_back(std::move(report));
  }
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  std::vector<std::string> inputs = args.models;
  inputs.push_back(args.sizes.rules.file);
  RETURN_IF_ERROR(WriteOutput(Render(reports, format, view, style), args.output.file, inputs));
  ExitCode code = kFine;
  for (const Report& report : reports) {
    const std::string objection = args.strict ? Objection(report) : "";
    if (objection.empty()) continue;
    WriteError(absl::StrCat("--strict: ", objection));
    code = kFailed;
  }
  return code;
}

}  // namespace onnxflops::tools
