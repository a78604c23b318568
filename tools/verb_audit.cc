// onnxflops audit: which convention gives each of the figures that somebody published.
#include <cstddef>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/api/load.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/report/audit.h"
#include "tools/each_model.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/verbs.h"

namespace onnxflops::tools {
namespace {

constexpr VerbHelp kVerbAuditHelp = {
    "onnxflops audit FILE.csv [options]",
    R"(Tells for published figures which convention gives them, to the last digit that is
written, or else which comes nearest. FILE has a line of titles and a line per figure:

  name,model,figure
  ResNet-50,resnet50.onnx,4.089 GFLOPs

A model's path is relative to the folder of FILE. A column dim gives sizes that a model
leaves open, as batch=1. Further columns are ignored. Many published "FLOPs" are MACs, so
figures of both units are compared.
)",
    R"(  All figures of a table:
    onnxflops audit zoo.csv
  For a spreadsheet:
    onnxflops audit zoo.csv -o audit.csv

Exit codes: 0 success, 2 if a row has no figure, or for another error.
)"};

struct AuditArguments {
  std::vector<std::string> file;
  SizeArguments sizes;
  OutputArguments output;
  JobsArgument jobs;

  void AddTo(OptionList* list) {
    list->AddPositional("FILE.csv", &file, 1, 1);
    sizes.AddTo(list);
    jobs.AddTo(list);
    output.AddTo(list);
  }
};

// The fields of a text as RFC 4180 has them, by line.
std::vector<std::vector<std::string>> ParseCsv(absl::string_view text) {
  std::vector<std::vector<std::string>> lines = {{""}};
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& field = lines.back().back();
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      field += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      lines.back().emplace_back();
    } else if (c == '\n' && !quoted) {
      lines.push_back({""});
    } else if (c != '\r' || quoted) {
      field += c;
    }
  }
  if (lines.back() == std::vector<std::string>{""}) lines.pop_back();
  return lines;
}

struct Published {
  std::string name, model;
  Bindings sizes;  // of this row only
  PublishedFigure figure;
};

absl::StatusOr<std::vector<Published>> ReadFigures(const std::string& file) {
  const absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat(Escaped(file), ": ", text.status().message()));
  }
  if (text->size() > kMaxRulesBytes) {
    return LimitError("rules-bytes", absl::StrCat(Escaped(file), ": is larger than ",
                                                  kMaxRulesBytes, " bytes (rules-bytes)"));
  }
  const std::vector<std::vector<std::string>> lines = ParseCsv(*text);
  std::map<std::string, size_t> columns;
  for (size_t i = 0; !lines.empty() && i < lines[0].size(); ++i) columns.emplace(lines[0][i], i);
  for (const char* title : {"name", "model", "figure"}) {
    if (columns.contains(title)) continue;
    return absl::InvalidArgumentError(absl::StrCat(Escaped(file), ": has no column ", Quoted(title),
                                                   "; its first line should be name,model,figure"));
  }
  const size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : file.substr(0, slash + 1);
  std::vector<Published> figures;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string where = absl::StrCat(Escaped(file), ": line ", i + 1, ": ");
    if (lines[i].size() < lines[0].size()) {
      return absl::InvalidArgumentError(absl::StrCat(where, "it has fewer fields than the titles"));
    }
    const absl::StatusOr<PublishedFigure> figure = ParseFigure(lines[i][columns["figure"]]);
    if (!figure.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(where, figure.status().message()));
    }
    const std::string& model = lines[i][columns["model"]];
    Bindings sizes;
    const auto dim = columns.find("dim");
    if (dim != columns.end() && !lines[i][dim->second].empty()) {
      RETURN_IF_ERROR(ParseDim(lines[i][dim->second], &sizes));
    }
    const bool relative = model.empty() || model[0] != '/';
    figures.push_back(
        {lines[i][columns["name"]], absl::StrCat(relative ? folder : "", model), sizes, *figure});
  }
  if (figures.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(Escaped(file), ": has no figures"));
  }
  return figures;
}

absl::StatusOr<AuditRow> AuditOne(const Published& published, const CountOptions& options) {
  ASSIGN_OR_RETURN(const Model model, Load(published.model, options.limits));
  CountOptions with_sizes = options;
  for (const auto& [name, size] : published.sizes) with_sizes.bindings[name] = size;
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

std::string RenderAudit(const std::vector<AuditRow>& rows, Format format, const TableStyle& style) {
  switch (format) {
    case Format::kJson:
      return ToJson(rows);
    case Format::kCsv:
      return ToCsv(rows);
    case Format::kMarkdown:
      return ToMarkdown(rows);
    case Format::kTable:
    case Format::kText:
    case Format::kJsonLines:
      break;
  }
  return ToTable(rows, style);
}

}  // namespace

void DescribeAudit(const UseVerb& use) {
  OptionList list;
  AuditArguments args;
  args.AddTo(&list);
  use(kVerbAuditHelp, list);
}

absl::StatusOr<ExitCode> RunAudit(const Arguments& arguments) {
  OptionList list;
  AuditArguments args;
  args.AddTo(&list);
  std::string help;
  ASSIGN_OR_RETURN(const bool run, list.Parse(kVerbAuditHelp, arguments, &help));
  if (!run) {
    RETURN_IF_ERROR(WriteOutput(help, "-", {}));
    return kFine;
  }
  ASSIGN_OR_RETURN(const CountOptions options, args.sizes.Parse());
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  ASSIGN_OR_RETURN(const int threads, args.jobs.Parse());
  ASSIGN_OR_RETURN(const std::vector<Published> figures, ReadFigures(args.file[0]));
  std::vector<AuditRow> rows(figures.size());
  ForEach(rows.size(), threads, [&](size_t i) { rows[i] = RowOf(figures[i], options); });
  std::vector<std::string> inputs = {args.file[0], args.sizes.rules.file};
  for (const Published& published : figures) inputs.push_back(published.model);
  RETURN_IF_ERROR(
      WriteOutput(RenderAudit(rows, format, StyleFor(args.output.file)), args.output.file, inputs));
  ExitCode code = kFine;
  for (const AuditRow& row : rows) {
    if (row.fault.empty()) continue;
    WriteError(absl::StrCat(Quoted(row.name), ": ", row.fault));
    code = kTrouble;
  }
  return code;
}

}  // namespace onnxflops::tools
