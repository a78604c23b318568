// Fuzz target: whatever is typed on the command line, or stands in a log or a history, is
// understood or refused in one line. The first byte chooses the option.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "src/api/count.h"
#include "src/api/requests.h"
#include "src/api/samples.h"
#include "src/base/glob.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/base/utf8.h"
#include "src/compare/audit.h"
#include "src/hardware/utilisation.h"
#include "src/history/history.h"
#include "src/history/history_writers.h"
#include "src/monitor/event_file.h"
#include "src/monitor/monitor.h"
#include "src/monitor/step_log.h"
#include "src/settings/device_arguments.h"
#include "src/settings/memory_arguments.h"
#include "src/settings/published.h"
#include "src/settings/size_arguments.h"
#include "src/settings/training_arguments.h"
#include "src/settings/view_arguments.h"
#include "src/settings/zoo.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/symbol_name.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/require_text.h"
#include "tools/cli/output_arguments.h"

namespace onnxflops::tools {
namespace {

// What is written of adapters is read again as the same.
void RequireSameLora(const LoraOptions& lora) {
  Require(lora.r > 0 && !lora.targets.empty(), "adapters without a rank or a module");
  const absl::StatusOr<LoraOptions> again = ParseLora(LoraText(lora));
  Require(again.ok() && LoraText(*again) == LoraText(lora), "adapters are not what they print");
}

// What a line says of training, memory, serving and the device.
struct ModelingLine {
  settings::CausalArgument causal;
  settings::TrainingArguments training;
  settings::MemoryArguments memory;
  settings::ServingArguments serving;
  settings::RateArguments rate;
  settings::RooflineArguments roofline;

  void AddTo(settings::Table* list) {
    causal.AddTo(list);
    training.AddTo(list);
    memory.AddTo(list);
    serving.AddTo(list);
    rate.AddTo(list);
    roofline.AddTo(list);
  }

  absl::Status Parse() {
    RETURN_IF_ERROR(causal.Parse().status());
    ASSIGN_OR_RETURN(const TrainingOptions options, training.ParseOptions());
    RETURN_IF_ERROR(training.Parse().status());
    ASSIGN_OR_RETURN(const std::optional<LoraOptions> lora, training.ParseLoraOptions());
    if (lora) RequireSameLora(*lora);
    ASSIGN_OR_RETURN(const std::optional<MemoryOptions> kept, memory.Parse(options, {}));
    Require(!kept || !kept->fit || kept->fit->bytes > 0, "--fit into nothing");
    ASSIGN_OR_RETURN(const std::optional<ServingRequest> request, serving.Parse());
    Require(!request || request->prefill.value_or(1) > 0, "--prefill of no token");
    StepRate given;
    int64_t devices = 0;
    RETURN_IF_ERROR(rate.Parse(&given, &devices));
    Require(devices > 0, "no devices share a step");
    if (rate.given()) RETURN_IF_ERROR(StepSeconds(given, 1, 1).status());
    roofline.devices_file.file.clear();  // opens no file
    return roofline.Parse().status();
  }
};

// The whole line, words apart by newlines.
absl::Status ParseLine(absl::string_view text) {
  OptionList list;
  settings::SizeArguments sizes;
  settings::ViewArguments view;
  OutputArguments output;
  std::vector<std::string> models;
  ModelingLine modeling;
  list.AddPositional("MODEL", &models, 1);
  sizes.AddTo(&list);
  modeling.AddTo(&list);
  view.AddTo(&list);
  output.AddTo(&list);
  std::string help;
  const absl::StatusOr<bool> run =
      list.Parse({"onnxflops count MODEL", "Counts.\n", ""}, absl::StrSplit(text, '\n'), &help);
  if (!run.ok() || !*run) return run.status();
  const absl::StatusOr<CountOptions> options = sizes.Parse();
  RETURN_IF_ERROR(options.status());
  RETURN_IF_ERROR(modeling.Parse());
  RETURN_IF_ERROR(output.ParseFormat().status());
  return view.Parse().status();
}

absl::Status ParseSweep(absl::string_view text) {
  std::vector<settings::DimSizes> dims;
  const absl::Status status = settings::ParseDims(text, &dims);
  for (const settings::DimSizes& dim : dims) {
    Require(dim.sizes.size() <= kMaxSweepPoints, "a sweep has more points than its limit");
  }
  return status;
}

// Sizes of samples are whole numbers, lengths of 1 or more.
absl::Status ParseSamples(absl::string_view text) {
  if (text.empty()) return absl::OkStatus();
  Samples samples;
  const absl::string_view rest = text.substr(1);
  constexpr absl::Status (*kDoors[])(absl::string_view, Samples*) = {
      AddLengths, AddCuSeqlens, AddImages, AddGridThw, AddAudio};
  const size_t door = static_cast<unsigned char>(text[0] - '0') % std::size(kDoors);
  const absl::Status status = kDoors[door](rest, &samples);
  const bool is_grid = door == 3;
  for (const auto& [symbol, sizes] : samples.sizes) {
    const int64_t least = symbol.empty() || is_grid ? 1 : 0;
    Require(!sizes.empty() && *std::min_element(sizes.begin(), sizes.end()) >= least,
            "a sample has a size below its least");
  }
  return status;
}

// A request has new tokens, and no more than are left of its prompt.
absl::Status ParseStep(absl::string_view text) {
  const absl::StatusOr<std::vector<StepRequest>> requests = ParseRequests(text);
  if (!requests.ok()) return requests.status();
  for (const StepRequest& request : *requests) {
    Require(request.tokens() > 0 && request.past() >= 0, "a request has no new tokens");
    Require(request.is_decode() || request.past() + request.tokens() <= request.prompt,
            "a request has more tokens than its prompt");
  }
  return absl::OkStatus();
}

absl::Status ParsePublished(absl::string_view text) {
  const absl::StatusOr<PublishedFigure> figure = ParsePublishedFigure(text);
  if (figure.ok()) RequirePrintable(figure->text);
  return figure.status();
}

// What is printed of an expression is read again as the same.
absl::Status ParseFormula(absl::string_view text) {
  const absl::StatusOr<Expr> expr = ParseExpr(text);
  if (!expr.ok()) return expr.status();
  if (expr->error() != nullptr) return absl::OkStatus();
  const absl::StatusOr<Expr> again = ParseExpr(expr->ToString());
  Require(again.ok() && *again == *expr, "an expression is not what it prints");
  return absl::OkStatus();
}

// Whatever a dimension is called: it is written as one symbol, typed as it is written or as the
// file has it, and never taken for a size that depends on data or for an axis.
void RequireSymbol(absl::string_view name) {
  const std::string symbol = FileSymbol(name);
  RequirePrintable(symbol);
  Require(SymbolLength(symbol) == symbol.size(), "a symbol is not all of its name");
  Require(TypedSymbol(symbol) == symbol, "a symbol is not what is typed for it");
  Require(BareName(symbol) == name, "a symbol has another name than the file");
  for (const std::string& ours : {AxisSymbol(name, 1), DataSymbol("nonzero", name)}) {
    RequirePrintable(ours);
    Require(TypedSymbol(ours) == ours, "a symbol of ours is not what is typed for it");
    Require(FileSymbol(ours) != ours && symbol != ours, "a symbol of ours is one of the file");
    Require(ParseExpr(ours).value() == Expr::Symbol(ours), "a symbol is not what it prints");
  }
  Require(ParseExpr(symbol).value() == Expr::Symbol(symbol), "a symbol is not what it prints");
}

absl::Status ParseBinding(absl::string_view text) {
  Bindings bindings;
  const absl::Status status = settings::ParseDim(text, &bindings);
  for (const auto& [name, size] : bindings) {
    Require(TypedSymbol(name) == name, "a symbol is not what is typed for it");
  }
  if (text.size() <= kMaxSymbolName) RequireSymbol(text);
  return status;
}

// A file of published figures; its first line is --titles.
absl::Status ParsePublishedFile(absl::string_view text) {
  settings::PublishedLayout layout;
  const size_t end = text.find('\n');
  RETURN_IF_ERROR(settings::ParseTitles(text.substr(0, end), &layout));
  if (end == absl::string_view::npos) return absl::OkStatus();
  layout.unit = "MACs";
  layout.pattern = "{name}.onnx";
  const absl::StatusOr<std::vector<settings::Published>> figures =
      settings::ParsePublished(text.substr(end + 1), layout, "");
  if (!figures.ok()) return figures.status();
  for (const settings::Published& figure : *figures) {
    if (figure.fault.ok()) {
      Require(figure.figure.is_known, "a line without fault has no figure");
    } else {
      RequireOneLine(figure.fault, "");
    }
  }
  return absl::OkStatus();
}

// What a zoo publishes of a file: --zoo, a line end, and the path.
absl::Status ParseZoo(absl::string_view text) {
  const size_t end = text.find('\n');
  if (end == absl::string_view::npos) return absl::OkStatus();
  const absl::StatusOr<std::vector<settings::Published>> figures =
      settings::ZooFigures(text.substr(0, end), {std::string(text.substr(end + 1))});
  if (!figures.ok()) return figures.status();
  Require(!figures->empty(), "a file of a zoo has neither a figure nor a fault");
  for (const settings::Published& figure : *figures) {
    if (!figure.fault.ok()) RequireOneLine(figure.fault, "");
  }
  return absl::OkStatus();
}

bool IsText(absl::string_view text) {
  uint32_t code = 0;
  while (!text.empty()) {
    const size_t bytes = DecodeUtf8(text, &code);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

// Where signs of a text begin, and its end.
std::vector<size_t> SignsOf(absl::string_view text) {
  std::vector<size_t> begins;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == 0 || (static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) begins.push_back(i);
  }
  begins.push_back(text.size());
  return begins;
}

// The same by trying everything: matches[i] is whether the glob so far is all of the first i signs.
bool MatchesSlowly(absl::string_view glob, absl::string_view text) {
  const std::vector<size_t> glob_signs = SignsOf(glob), signs = SignsOf(text);
  std::vector<bool> matches(signs.size(), false);
  matches[0] = true;
  for (size_t g = 0; g + 1 < glob_signs.size(); ++g) {
    const absl::string_view sign = glob.substr(glob_signs[g], glob_signs[g + 1] - glob_signs[g]);
    std::vector<bool> longer(signs.size(), false);
    for (size_t i = 0; i < signs.size(); ++i) {
      const bool before = i > 0 && matches[i - 1];
      if (sign == "*") {
        longer[i] = matches[i] || (i > 0 && longer[i - 1]);
      } else {
        longer[i] =
            before && (sign == "?" || sign == text.substr(signs[i - 1], signs[i] - signs[i - 1]));
      }
    }
    matches = std::move(longer);
  }
  return matches.back();
}

// A glob, and in the next line what it is to match.
absl::Status ParseGlob(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('\n', 1));
  constexpr size_t kMost = 300;  // MatchesSlowly takes the product of both
  if (parts.first.size() > kMost || parts.second.size() > kMost) return absl::OkStatus();
  // Of bytes that are no text, what a sign is has no meaning.
  const bool matches = MatchesGlob(parts.first, parts.second);
  if (!IsText(parts.first) || !IsText(parts.second)) return absl::OkStatus();
  Require(matches == MatchesSlowly(parts.first, parts.second),
          "a glob matches what it should not, or does not what it should");
  return absl::OkStatus();
}

// Figures of a training are numbers, in every format.
void RequirePoint(const MonitorPoint& point, const MonitorTotals& totals) {
  for (const auto& [name, figure] : Figures(point)) {
    Require(std::isfinite(figure) && figure >= 0, "a figure of a step is no number", name);
  }
  Require(!point.mfu || point.mfu_age.has_value(), "a utilisation has no age");
  RequireJson(ToJsonLine(point));
  RequirePrintable(ToPrometheus(point, totals, "model.onnx"));
  Require(!EventRecord(point.step, 0, Figures(point)).empty(), "an event is nothing");
}

// A log of a training.
absl::Status ParseLog(uint8_t choice, absl::string_view text) {
  StepWork work;
  work.flops = *ParseExpr("10*batch*seq + batch^2");
  work.sequences = {"seq"};
  work.batch = "batch";
  Monitor monitor(work, {.every = 1 + choice % 4, .devices = 2, .peak = 5});
  StepLog log;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::StatusOr<std::vector<StepRecord>> records = log.ReadAll(line);
    if (!records.ok()) RequireOneLine(records.status(), "");
    if (!records.ok()) continue;
    for (const StepRecord& record : *records) {
      std::vector<std::string> problems;
      const std::optional<MonitorPoint> point = monitor.Take(record, &problems).value();
      for (const std::string& problem : problems) {
        RequireOneLine(absl::InvalidArgumentError(problem), "");
      }
      if (point) RequirePoint(*point, monitor.totals());
    }
  }
  std::vector<std::string> left;
  const std::optional<MonitorPoint> rest = monitor.Finish(&left);
  for (const std::string& problem : left) RequireOneLine(absl::InvalidArgumentError(problem), "");
  if (rest) RequirePoint(*rest, monitor.totals());
  return absl::OkStatus();
}

// A history of models.
absl::Status ParseHistory(absl::string_view text) {
  ASSIGN_OR_RETURN(History history, ReadHistory(text, "h.jsonl"));
  const HistoryReport report = MakeHistory(std::move(history), {});
  RequireJson(ToJson(report));
  const Document document = ToDocument(report);
  for (const DocumentFormat& format : DocumentFormats()) {
    RequirePrintable(format.draw(document, {}));
  }
  RequireCsv(ToCsv(report));
  Require(ToHtml(report).size() <= kMaxPageBytes, "a page is too large");
  return absl::OkStatus();
}

// First bytes that no seed of the other forms has.
constexpr uint8_t kRequests = 0xb4;
constexpr uint8_t kSamples = 0xb8;
constexpr uint8_t kHistory = 0xc0;
constexpr uint8_t kLog = 0xd0;
constexpr uint8_t kGlob = 0xe0;
constexpr uint8_t kPublishedFile = 0xf0;
constexpr uint8_t kZoo = 0xf8;

absl::Status Parse(uint8_t option, absl::string_view text) {
  if (option >= kZoo) return ParseZoo(text);
  if (option >= kPublishedFile) return ParsePublishedFile(text);
  if (option >= kGlob) return ParseGlob(text);
  if (option >= kLog) return ParseLog(option, text);
  if (option >= kHistory) return ParseHistory(text);
  if (option >= kSamples) return ParseSamples(text);
  if (option >= kRequests) return ParseStep(text);
  absl::btree_map<std::string, Dims> shapes;
  absl::btree_map<std::string, Content> values;
  switch (option % 7) {
    case 0:
      return ParseBinding(text);
    case 1:
      return settings::ParseInput(text, &shapes);
    case 2:
      return settings::ParseValue(text, &values, &shapes);
    case 3:
      return ParseFormula(text);
    case 4:
      return ParseLine(text);
    case 5:
      return ParseSweep(text);
    default:
      return ParsePublished(text);
  }
}

}  // namespace
}  // namespace onnxflops::tools

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::Status status = onnxflops::tools::Parse(
      data[0], absl::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  if (!status.ok()) onnxflops::RequireOneLine(status, "");
  return 0;
}
