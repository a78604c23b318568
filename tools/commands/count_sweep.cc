#include "tools/commands/count_sweep.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/api/load.h"
#include "src/api/sweep.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/render/format.h"
#include "src/report/summary.h"
#include "src/report/writers.h"
#include "src/settings/value.h"
#include "src/sweep/sweep_report.h"
#include "tools/cli/output.h"
#include "tools/cli/render.h"
#include "tools/commands/memory_sweep.h"

namespace onnxflops::tools {

std::string Objection(const Report& report) {
  const std::string path = Escaped(report.model.path);
  if (report.coverage.unknown > 0) {
    return absl::StrCat(path, ": not counted: ", Plural(report.coverage.unknown, "node"));
  }
  if (report.totals.lower_bound) return absl::StrCat(path, ": a part is unknown");
  if (!report.warnings.empty()) {
    return absl::StrCat(path, ": warning: ", Printable(report.warnings[0]));
  }
  if (const std::string open = report::SizesInsideText(report); !open.empty()) {
    return absl::StrCat(path, ": open: ", open, "; --dim sets sizes",
                        report.upper_bounds ? "" : ", --upper counts at their upper bounds");
  }
  return "";
}

namespace {

absl::StatusOr<std::string> RenderSweep(const SweepReport& sweep, Format format,
                                        const ViewOptions& view, const TableStyle& style,
                                        bool plot) {
  std::string text = Render(sweep, format, style, view);
  if (!plot) return text;
  ASSIGN_OR_RETURN(const std::string bars, DrawPlot(sweep, style));
  return text + bars;
}

// The memory of a model at every point of a sweep.
absl::StatusOr<ExitCode> RunMemorySweep(const CountCall& args, const CountOptions& options,
                                        const ViewOptions& view, Format format,
                                        const TableStyle& style,
                                        const std::vector<SweptSymbol>& swept,
                                        const std::string& path) {
  if (args.rows() || args.view.plot || !args.convention.empty()) {
    return absl::InvalidArgumentError(
        "--memory over several sizes has a row for each: leave out --by, --depth, --top, --plot "
        "and --convention");
  }
  RETURN_IF_ERROR(
      RequireFormat(args.output, format, "memory at several sizes is", {Format::kHtml}));
  ASSIGN_OR_RETURN(const Model model, LoadFor(path, options));
  std::string objection;
  ASSIGN_OR_RETURN(const std::string text,
                   RenderMemorySweep(model, options, swept, args.redact, format, view, style,
                                     args.strict ? &objection : nullptr));
  RETURN_IF_ERROR(WriteOutput(text, args.output.file,
                              {path, args.sizes.rules.file, args.roofline.devices_file.file}));
  if (objection.empty()) return kFine;
  WriteError(absl::StrCat("--strict: ", objection));
  return kFailed;
}

}  // namespace

absl::StatusOr<ExitCode> RunSweep(const CountCall& args, const CountOptions& options,
                                  const ViewOptions& view, Format format, const TableStyle& style,
                                  const std::vector<settings::DimSizes>& dims,
                                  const ModelFiles& models) {
  if (!models.one_file) {
    return absl::InvalidArgumentError(
        "--dim gives a dimension several sizes: a sweep is of one model, named as a file");
  }
  std::vector<SweptSymbol> swept;
  swept.reserve(dims.size());
  for (const settings::DimSizes& dim : dims) swept.emplace_back(dim.name, dim.sizes);
  const std::string& path = models.files[0].path;
  if (options.memory) return RunMemorySweep(args, options, view, format, style, swept, path);
  RETURN_IF_ERROR(
      RequireFormat(args.output, format, "a sweep is", {Format::kText, Format::kJsonLines}));
  if (view.by == GroupBy::kNode) {
    return absl::InvalidArgumentError("--by node: a sweep has rows by module or op");
  }
  if (!args.view.columns.empty()) {
    return absl::InvalidArgumentError(
        "--columns: a sweep has a column for each point; --format csv has MACs as well");
  }
  if (view.by == GroupBy::kOp && (view.top > 0 || view.sort)) {
    return absl::InvalidArgumentError(
        "--top and --sort: a sweep by op has a row for every operator, in the order of names");
  }
  if (view.sort && view.sort->quantity == nullptr && view.sort->kind != Figure::Kind::kShare) {
    return settings::BadValue("sort", args.view.sort, "a sweep shows a quantity of each row");
  }
  if (args.view.plot && format != Format::kTable) {
    return absl::InvalidArgumentError("--plot draws below a table; leave out --format");
  }
  ASSIGN_OR_RETURN(const Model model, LoadFor(path, options));
  const std::optional<ViewOptions> rows =
      args.rows() ? std::optional<ViewOptions>(view) : std::nullopt;
  ASSIGN_OR_RETURN(const SweepReport sweep,
                   CountSweep(model, options, args.convention, swept, rows, args.redact));
  ASSIGN_OR_RETURN(const std::string text, RenderSweep(sweep, format, view, style, args.view.plot));
  RETURN_IF_ERROR(WriteOutput(text, args.output.file,
                              {path, args.sizes.rules.file, args.roofline.devices_file.file}));
  const std::string objection = args.strict ? Objection(sweep.report) : "";
  if (objection.empty()) return kFine;
  WriteError(absl::StrCat("--strict: ", objection));
  return kFailed;
}

absl::StatusOr<ExitCode> RunServing(const CountCall& args, const CountOptions& options,
                                    const ViewOptions& view, Format format, const TableStyle& style,
                                    const std::vector<settings::DimSizes>& sweep,
                                    const ServingRequest& request, const ModelFiles& models) {
  constexpr absl::string_view kSteps = "--prefill, --decode and --requests ";
  if (!models.one_file || !sweep.empty() || options.training || !options.module.empty() ||
      !args.convention.empty() || args.redact || options.samples) {
    return absl::InvalidArgumentError(absl::StrCat(
        kSteps, "count the forward pass of one model, at sizes of their own: leave out several ",
        "models and sizes, --lengths, --backward, --module, --convention and --redact-names"));
  }
  const bool trains = args.memory.asks_for_training() || args.training.FirstOfExact() != nullptr;
  if (options.memory && options.memory->fit) {
    return absl::InvalidArgumentError(absl::StrCat(
        kSteps, "are steps of given sizes, and --fit looks for the largest batch: in their place, ",
        "--dim can give the new tokens and those of the cache (seq=1,past=4096), beside --fit"));
  }
  if (trains) {
    return absl::InvalidArgumentError(absl::StrCat(
        kSteps, "hold no training step: leave out --loss and what else is about training"));
  }
  if (args.view.rows()) {
    return absl::InvalidArgumentError(absl::StrCat(
        kSteps, "show whole steps: leave out --by, --depth, --top, --sort and --columns"));
  }
  RETURN_IF_ERROR(RequireFormat(args.output, format,
                                "steps of --prefill, --decode and --requests are",
                                {Format::kText, Format::kJsonLines, Format::kHtml}));
  const std::string& path = models.files[0].path;
  ASSIGN_OR_RETURN(const Model model, LoadFor(path, options));
  ASSIGN_OR_RETURN(const ServingReport report, CountServing(model, options, request));
  const std::string text = Render(report, format, style, view);
  RETURN_IF_ERROR(WriteOutput(
      text, args.output.file,
      {path, args.sizes.rules.file, args.roofline.devices_file.file, args.serving.requests}));
  return kFine;
}

}  // namespace onnxflops::tools
