// onnxflops count: cost by module, operator or node.
//
// How it works. Options are read and checked against each other first, so that nothing is counted
// for an output that cannot be written. Then one of three ways is taken: serving, a sweep over
// sizes, or the plain count here. Models are counted in parallel. Only the text and the row of
// figures of each are kept, so memory does not grow with the number of models.
//
// With several models, a fault of one is reported and the others are written; the exit code shows
// the fault. A --dim that only some models have is skipped for the others, with a message; one that
// no model has is an error. All outputs are joined in the order of the models, whatever the number
// of threads.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/api/known_sizes.h"
#include "src/api/load.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/convention/conventions.h"
#include "src/load/input_file.h"
#include "src/onnxflops.h"
#include "src/render/format.h"
#include "src/report/memory_rows.h"
#include "src/report/model_rows.h"
#include "src/report/redact.h"
#include "src/report/viewer_formats.h"
#include "src/settings/pipeline_arguments.h"
#include "src/settings/size_arguments.h"
#include "tools/cli/output.h"
#include "tools/cli/output_arguments.h"
#include "tools/cli/render.h"
#include "tools/cli/write_file.h"
#include "tools/commands/commands.h"
#include "tools/commands/count_sweep.h"
#include "tools/commands/each_model.h"
#include "tools/commands/memory_sweep.h"
#include "tools/commands/model_files.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandCountHelp = {
    "onnxflops count MODEL... [options]",
    R"(Counts the arithmetic of ONNX models, exactly, from their graphs alone. Weights
are not read. MODEL is a file, a folder (all *.onnx and *.onnxtxt in it, at any
depth), a pattern such as 'exported/**/*.onnx', or "-" for standard input. A
file may be written as text: .onnxtxt (ONNX's own), .textproto, .json. Several
models are one table with a row each. The command may be left out.

A config.json of a known model family is counted as the graph that it describes,
with batch, seq and past as sizes; a folder without *.onnx may hold such files.
)",
    R"(  The cost of every module of CLIP, at the sizes in the file:
    onnxflops clip-vit-l-14-336.onnx
  At batch 8, deeper, with every digit:
    onnxflops clip-vit-l-14-336.onnx --dim batch=8 --depth 4 --exact
  One part of a model:
    onnxflops clip-vit-l-14-336.onnx --module visual
  The ten costliest nodes, and the costliest modules by bytes that they read:
    onnxflops resnet50.onnx --top 10
    onnxflops resnet50.onnx --top 10 --by module --sort bytes_read
  Fifty models in one table, and all that is known of them:
    onnxflops exported/
    onnxflops exported/ --format jsonl -o exported.jsonl
  An input without a declared shape:
    onnxflops detector.onnx --input image=1x3x800x1200
  Which operators do the work:
    onnxflops resnet50.onnx --by op
  A training step with a frozen image tower and flash attention:
    onnxflops clip.onnx --backward exact --frozen visual --attention flash
  What bounds the time of a run on a device, node by node:
    onnxflops resnet50.onnx --device h100-sxm --dtype bf16 --top 10
  What it holds in memory, and the largest batch that trains in 80 GiB:
    onnxflops clip.onnx --fit 80GiB --optimizer adamw
  A batch of texts of these lengths, without padding, and a packed row:
    onnxflops gpt2.onnx --lengths 512,300,17
    onnxflops gpt2.onnx --cu-seqlens 0,512,812,829
  A prompt of 512 tokens, and the token after it:
    onnxflops llama-with-past.onnx --prefill 512 --decode 1@512 --dim batch=1
  Every node with its shapes, for a script:
    onnxflops resnet50.onnx --by node --format json -o resnet50.json
  As thop counts, module by module:
    onnxflops resnet50.onnx --convention thop
  A detector, at as many boxes as it may keep:
    onnxflops maskrcnn.onnx --upper
  One model at several sizes:
    onnxflops gpt2.onnx --dim batch=1,seq=128,512,2048
    onnxflops gpt2.onnx --dim batch=1,seq=1..1024*2 --by module --plot
  A copy whose nodes say what they cost, for Netron:
    onnxflops resnet50.onnx --annotate resnet50.costs.onnx
  For Model Explorer, for Perfetto, and for flamegraph.pl and speedscope:
    onnxflops resnet50.onnx --format model-explorer -o resnet50.flops.json
    onnxflops resnet50.onnx --format perfetto -o resnet50.trace.json
    onnxflops resnet50.onnx --format folded --sort macs -o resnet50.folded
  A configuration, without a model; one step of decoding after 1,000 tokens:
    onnxflops config.json --dim batch=1,seq=1,past=1000
  Fail in CI if anything is not counted:
    onnxflops exported/*.onnx --strict

--format text is a stable form for comparing two texts: no color, no path, every
digit, columns of one width, rows in the order of the model. A row changes only
if its own figures do.

Exit codes: 0 success, 1 --strict failed, 2 error.
)"};

// A form whose texts can be compared line by line: see ViewOptions::stable.
void MakeStable(size_t models, ViewOptions* view) {
  view->stable = true;
  view->exact = true;
  view->title = models > 1 ? ViewOptions::Title::kFileName : ViewOptions::Title::kNone;
}

// The result of counting a model. The model itself is not kept, to save memory.
struct Outcome {
  absl::Status fault;
  std::string text;  // the report in the format, or a part of it
  ModelRow row;      // of a table of models
  std::optional<MemoryRow> memory;
  std::string objection;
  std::vector<std::string> missing;  // symbols of --dim that the model does not have
};

// What each counted model lacks of the sizes of --dim.
std::vector<MissingSizes> MissingOf(const ModelFiles& models,
                                    const std::vector<Outcome>& outcomes) {
  std::vector<MissingSizes> missing;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].fault.ok()) missing.push_back({models.files[i].path, outcomes[i].missing});
  }
  return missing;
}

// The folder that a file is in, if there is one.
std::optional<platform::FileId> FolderId(const std::string& file) {
  const std::string folder = file.substr(0, platform::NameBegin(file));
  return platform::IdOf(folder.empty() ? "." : folder);
}

// External data is looked for in the model's folder, so a copy elsewhere would not find it.
void WarnOfOtherFolder(const Model& model, const std::string& copy) {
  const bool external = std::any_of(model->tensors.begin(), model->tensors.end(),
                                    [](const Tensor& tensor) { return tensor.external; });
  const std::optional<platform::FileId> from = FolderId(model->path), to = FolderId(copy);
  if (!external || !from || !to || from == to) return;
  WriteError(absl::StrCat(Escaped(copy), ": its weights are in files beside ", Escaped(model->path),
                          ", and programs look for them beside the copy"));
}

absl::Status WriteAnnotated(const CountCall& args, const Model& model,
                            const CountOptions& options) {
  const auto fill = [&](int fd) {
    return Annotate(model, options, [fd](absl::string_view piece) { return WriteAll(fd, piece); });
  };
  RETURN_IF_ERROR(WriteModelCopy(fill, args.annotate, {model->path, args.sizes.rules.file}));
  WarnOfOtherFolder(model, args.annotate);
  return absl::OkStatus();
}

// The format of --format: one of the usual ones, or a viewer's.
struct CountFormat {
  Format plain = Format::kTable;
  const ViewerFormat* viewer = nullptr;
};

absl::StatusOr<CountFormat> CountFormatOf(const OutputArguments& output) {
  for (const ViewerFormat& viewer : kViewerFormats) {
    if (viewer.name == output.format) return CountFormat{Format::kTable, &viewer};
  }
  ASSIGN_OR_RETURN(const Format plain, output.ParseFormat());
  return CountFormat{plain};
}

// Counts the models of a call and writes their reports.
class Counter {
 public:
  Counter(const CountCall& args, const CountOptions& options, const ViewOptions& view,
          CountFormat format, const TableStyle& style)
      : args_(args),
        options_(options),
        view_(view),
        format_(format.plain),
        viewer_(format.viewer),
        style_(style) {}

  absl::StatusOr<ExitCode> Run(const ModelFiles& models, int threads);

 private:
  // A row of memory for each model, instead of a report.
  bool has_memory_rows() const {
    return options_.memory && (format_ == Format::kCsv || (!one_file_ && !args_.rows()));
  }
  std::string RenderMemory(const std::vector<MemoryRow>& rows) const;
  // A report, or a row for each of several models.
  bool has_rows() const {
    const bool asked = options_.memory ? args_.rows() : args_.view.rows_of_each();
    return one_file_ || asked || view_.shapes || format_ == Format::kText;
  }
  Outcome CountFile(const ModelFile& file, size_t number) const;
  // If there are several models, one may lack symbols of --dim: it is counted without these.
  absl::StatusOr<Report> CountModel(const Model& model, std::vector<std::string>* missing) const;
  absl::StatusOr<Outcome> TryCountFile(const std::string& path, size_t number) const;
  std::string Render(const Report& report) const;
  std::string Join(std::vector<Outcome> outcomes) const;

  const CountCall& args_;
  const CountOptions& options_;
  const ViewOptions& view_;
  const Format format_;
  const ViewerFormat* const viewer_;  // instead of `format_`, if there is one
  const TableStyle style_;
  bool one_file_ = false;
};

std::string Counter::Render(const Report& report) const {
  if (viewer_ != nullptr) return viewer_->write(report, view_);
  switch (format_) {
    case Format::kJson:
      return one_file_ ? ToJson(report) : ToJsonElement(report);
    case Format::kJsonLines:
      return ToJsonLine(report);
    case Format::kCsv:
      return has_rows() ? ToCsv({&report, 1}, view_) : "";
    case Format::kHtml:
      return ToHtml(report, view_);
    default:
      return has_rows() ? onnxflops::tools::Render(report, format_, style_, view_) : "";
  }
}

absl::StatusOr<Report> Counter::CountModel(const Model& model,
                                           std::vector<std::string>* missing) const {
  if (!one_file_) {
    return CountKnownSizes(model, options_, args_.convention, std::nullopt, missing);
  }
  return args_.convention.empty() ? Count(model, options_)
                                  : CountAs(model, options_, args_.convention);
}

absl::StatusOr<Outcome> Counter::TryCountFile(const std::string& path, size_t number) const {
  ASSIGN_OR_RETURN(const Model model, LoadFor(path, options_));
  std::vector<std::string> missing;
  ASSIGN_OR_RETURN(Report report, CountModel(model, &missing));
  if (!args_.annotate.empty()) RETURN_IF_ERROR(WriteAnnotated(args_, model, options_));
  if (args_.redact) {
    RETURN_IF_ERROR(Redactor(one_file_ ? "model" : absl::StrCat("model", number)).Redact(&report));
  }
  std::optional<MemoryRow> memory;
  if (has_memory_rows()) memory = MakeMemoryRow(report);
  return Outcome{absl::OkStatus(),
                 Render(report),
                 MakeModelRow(report),
                 std::move(memory),
                 args_.strict ? Objection(report) : "",
                 std::move(missing)};
}

Outcome Counter::CountFile(const ModelFile& file, size_t number) const {
  if (!file.fault.ok()) return {file.fault};
  try {
    absl::StatusOr<Outcome> outcome = TryCountFile(file.path, number);
    if (outcome.ok()) return *std::move(outcome);
    return {outcome.status()};
  } catch (const std::bad_alloc&) {
    return {absl::ResourceExhaustedError(
        absl::StrCat(Escaped(file.path), ": there is not enough memory"))};
  }
}

std::string Counter::Join(std::vector<Outcome> outcomes) const {
  std::vector<ModelRow> rows;
  std::vector<MemoryRow> memory;
  std::vector<std::string> texts;
  for (Outcome& outcome : outcomes) {
    if (!outcome.fault.ok()) continue;
    // Only the first model's CSV writes the header.
    const bool titles = format_ == Format::kCsv && has_rows() && !texts.empty();
    texts.push_back(titles ? outcome.text.substr(outcome.text.find('\n') + 1)
                           : std::move(outcome.text));
    rows.push_back(std::move(outcome.row));
    if (outcome.memory) memory.push_back(*std::move(outcome.memory));
  }
  const bool json = format_ == Format::kJson || format_ == Format::kJsonLines;
  if (has_memory_rows() && !json) return RenderMemory(memory);
  if (one_file_ || format_ == Format::kJsonLines) return absl::StrJoin(texts, "");
  if (format_ == Format::kJson) return JoinJson(texts);
  if (has_rows()) return absl::StrJoin(texts, format_ == Format::kCsv ? "" : "\n");
  SortRows(view_, &rows);
  if (format_ == Format::kCsv) return ToCsv(rows, view_);
  return RowOf(format_).draw(ToDocument(absl::MakeConstSpan(rows), view_), style_);
}

std::string Counter::RenderMemory(const std::vector<MemoryRow>& rows) const {
  return RenderMemoryRows(rows, format_, view_, style_);
}

absl::StatusOr<ExitCode> Counter::Run(const ModelFiles& models, int threads) {
  one_file_ = models.one_file;
  const size_t count = models.files.size();
  std::vector<Outcome> outcomes(count);
  ForEach(count, threads, [&](size_t i) { outcomes[i] = CountFile(models.files[i], i + 1); });
  if (one_file_ && !outcomes[0].fault.ok()) return outcomes[0].fault;
  RETURN_IF_ERROR(TellMissing(MissingOf(models, outcomes), "counted"));
  std::vector<std::string> objections;
  std::vector<absl::Status> faults;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.objection.empty()) objections.push_back(outcome.objection);
    if (!outcome.fault.ok()) faults.push_back(outcome.fault);
  }
  if (faults.size() < count) {
    std::vector<std::string> inputs = models.paths();
    inputs.insert(inputs.end(), args_.models.begin(), args_.models.end());
    inputs.push_back(args_.sizes.rules.file);
    inputs.push_back(args_.roofline.devices_file.file);
    for (std::string& file : args_.samples.Files()) inputs.push_back(std::move(file));
    RETURN_IF_ERROR(WriteOutput(Join(std::move(outcomes)), args_.output.file, inputs));
  }
  for (const absl::Status& fault : faults) {
    WriteError(absl::StrCat(fault.message(), settings::LimitHint(fault)));
  }
  for (const std::string& objection : objections) {
    WriteError(absl::StrCat("--strict: ", objection));
  }
  if (faults.empty()) return objections.empty() ? kFine : kFailed;
  if (count == 1) return kTrouble;
  WriteError(absl::StrCat(faults.size(), " of ", Plural(static_cast<int64_t>(count), "model"),
                          " could not be counted"));
  return kTrouble;
}

// A viewer shows one model at a time.
absl::Status CheckViewer(const CountCall& args, const ViewerFormat* viewer, bool one_file,
                         bool is_sweep) {
  if (viewer == nullptr) return absl::OkStatus();
  if (!one_file || is_sweep) {
    return absl::InvalidArgumentError(
        absl::StrCat("--format ", viewer->name,
                     " is of one model, named as a file, at one size of each dimension"));
  }
  if (!args.view.top.empty() || !args.view.columns.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--format ", viewer->name, " shows the quantity of --sort, of all: not --top ",
                     "or --columns"));
  }
  return absl::OkStatus();
}

// A page shows one model: all of its tree, with whatever columns the reader chooses.
absl::Status CheckPage(const CountCall& args, Format format, bool one_file) {
  if (format != Format::kHtml) return absl::OkStatus();
  if (!one_file) {
    return absl::InvalidArgumentError(
        "a page (--format html) shows one model, named as a file; several models are written in "
        "the other formats");
  }
  const bool part = !args.view.by.empty() || !args.view.depth.empty() || !args.view.top.empty() ||
                    !args.view.columns.empty();
  if (!part) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a page (--format html) holds all modules, operators and quantities: leave out --by, "
      "--depth, --top and --columns");
}

// Rows of memory have nothing else.
absl::Status CheckMemoryRows(const CountCall& args, const CountOptions& options, Format format,
                             bool one_report) {
  const bool json = format == Format::kJson || format == Format::kJsonLines;
  if (!options.memory || json || (one_report && format != Format::kCsv)) return absl::OkStatus();
  if (format == Format::kCsv && args.rows()) {
    return absl::InvalidArgumentError(
        "--memory --format csv has a row for each model: leave out --by, --depth and --top");
  }
  if ((!options.on_device && !options.training) || args.rows()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a row of --memory has neither time nor FLOPs: leave out --device and --backward exact, or "
      "write --format json");
}

// Columns and orders that only a device or an exact backward pass has.
absl::Status RequireGiven(const ViewOptions& view, const CountOptions& options) {
  std::vector<Figure> figures = view.columns;
  if (view.sort) figures.push_back(*view.sort);
  for (const Figure& figure : figures) {
    const Quantity::Needs needs = figure.quantity != nullptr            ? figure.quantity->needs
                                  : figure.kind == Figure::Kind::kBound ? Quantity::Needs::kDevice
                                                                        : Quantity::Needs::kNothing;
    if (needs == Quantity::Needs::kDevice && !options.on_device) {
      return absl::InvalidArgumentError(
          absl::StrCat(figure.key(), " needs a device: --device NAME --dtype D"));
    }
    if (needs == Quantity::Needs::kTraining && !options.training) {
      return absl::InvalidArgumentError(absl::StrCat(figure.key(), " needs --backward exact"));
    }
  }
  return absl::OkStatus();
}

// A row of a whole model has quantities.
absl::Status CheckModelColumns(const CountCall& args, const ViewOptions& view, bool one_file) {
  if (one_file || args.view.rows_of_each() || view.shapes) return absl::OkStatus();
  const auto refused = [](absl::string_view option, const Figure& figure) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", option, " ", figure.key(), ": several models are one table of ",
        "quantities; --depth 0 or another of --by, --depth and --top writes a table ", "for each"));
  };
  for (const Figure& figure : view.columns) {
    if (figure.quantity == nullptr) return refused("columns", figure);
  }
  if (view.sort && view.sort->quantity == nullptr) return refused("sort", *view.sort);
  return absl::OkStatus();
}

// `exported`: the models are graphs already.
absl::Status SaveConfig(const std::string& file, const ModelFiles& models, bool exported) {
  if (models.files.size() != 1 || models.files[0].path == "-") {
    return absl::InvalidArgumentError("--save writes the graph of one configuration, from a file");
  }
  RETURN_IF_ERROR(models.files[0].fault);
  const std::string& path = models.files[0].path;
  ASSIGN_OR_RETURN(const std::string bytes,
                   exported ? ReadTextFile(path, kMaxTextBytes) : ConfigFileToOnnx(path, file));
  return WriteOutput(bytes, file, models.paths());
}

// A sum over the parts of a pipeline is no answer's: each runs at its own sizes, some often.
void TellOfPipelines(const std::vector<std::string>& arguments) {
  for (const std::string& path : arguments) {
    if (!IsFolder(path) || !settings::IsPipeline(path)) continue;
    WriteError(absl::StrCat(Escaped(path), " is one pipeline of these models: onnxflops pipeline ",
                            Escaped(path), " counts an answer of it"));
  }
}

absl::StatusOr<ExitCode> RunCount(const CountCall& args) {
  std::vector<settings::DimSizes> sweep;
  ASSIGN_OR_RETURN(CountOptions options, args.Options(&sweep));
  ASSIGN_OR_RETURN(const std::optional<ServingRequest> serving, args.serving.Parse());
  ASSIGN_OR_RETURN(const CountFormat chosen, CountFormatOf(args.output));
  const Format format = chosen.plain;
  ASSIGN_OR_RETURN(ViewOptions view, args.ParseView(format));
  RETURN_IF_ERROR(RequireGiven(view, options));
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const int threads, args.jobs.Parse());
  options.node_rows = view.by == GroupBy::kNode || view.shapes ||
                      (chosen.viewer != nullptr && chosen.viewer->nodes) ||
                      (format == Format::kHtml && sweep.empty());
  ASSIGN_OR_RETURN(const Arguments graphs, args.by_class.Graphs(args.models, options.bindings));
  ASSIGN_OR_RETURN(const ModelFiles models, FindModelFiles(graphs));
  RETURN_IF_ERROR(RequireDistinct({args.save, args.annotate, args.output.file}));
  RETURN_IF_ERROR(args.CheckAnnotate(models.one_file, !sweep.empty()));
  RETURN_IF_ERROR(CheckViewer(args, chosen.viewer, models.one_file, !sweep.empty()));
  RETURN_IF_ERROR(CheckPage(args, format, models.one_file));
  if (sweep.empty()) RETURN_IF_ERROR(CheckModelColumns(args, view, models.one_file));
  if (!args.save.empty()) RETURN_IF_ERROR(SaveConfig(args.save, models, args.by_class.given));
  RETURN_IF_ERROR(CheckMemoryRows(args, options, format, models.one_file && sweep.empty()));
  if (serving) return RunServing(args, options, view, format, style, sweep, *serving, models);
  if (!sweep.empty()) return RunSweep(args, options, view, format, style, sweep, models);
  if (format == Format::kText) MakeStable(models.files.size(), &view);
  if (format == Format::kTable) view.screen = style;
  if (args.view.plot) {
    return absl::InvalidArgumentError("--plot draws a sweep, as --dim seq=128,512,2048 asks for");
  }
  if (format == Format::kTable) TellOfPipelines(args.models);
  return Counter(args, options, view, chosen, style).Run(models, threads);
}

}  // namespace

Command CountCommand() {
  return CommandOf<CountCall, kCommandCountHelp, RunCount>(
      "count", "MODEL...", "cost by module, operator or node (the default)");
}

}  // namespace onnxflops::tools
