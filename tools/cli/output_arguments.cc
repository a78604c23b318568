#include "tools/cli/output_arguments.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/similar.h"
#include "src/settings/value.h"
#include "tools/cli/output.h"

namespace onnxflops::tools {
namespace {

using settings::BadValue;

// Those with a name in Format, in its order, then further ones that draw documents.
const std::vector<FormatRow>& Rows() {
  static const auto& rows = *new std::vector<FormatRow>([] {
    const absl::Span<const DocumentFormat> documents = DocumentFormats();
    const DocumentFormat& table = documents.front();
    std::vector<FormatRow> all = {
        {table.name, Format::kTable, table.extension, table.draw},
        {"text", Format::kText, "", table.draw},  // of count: see ViewOptions::stable
        {"json", Format::kJson, ".json", nullptr},
        {"jsonl", Format::kJsonLines, ".jsonl", nullptr},
        {"csv", Format::kCsv, ".csv", nullptr},
        {"html", Format::kHtml, ".html", nullptr},
    };
    for (const DocumentFormat& format : documents.subspan(1)) {
      const auto place = static_cast<Format>(all.size());
      all.push_back({format.name, place, format.extension, format.draw});
    }
    return all;
  }());
  return rows;
}

// The format that a file name implies, or "".
std::string FormatOfFile(absl::string_view file) {
  for (const FormatRow& row : Rows()) {
    if (!row.extension.empty() && absl::EndsWith(file, row.extension)) return std::string(row.name);
  }
  if (absl::EndsWith(file, ".txt") || absl::EndsWith(file, ".text")) return "table";
  // Endings of formats that nothing here writes: returned so that they become an error, not a table
  // under a wrong name.
  constexpr absl::string_view kOthers[] = {".xlsx", ".xls",     ".ods",  ".pdf", ".docx",
                                           ".doc",  ".odt",     ".pptx", ".png", ".svg",
                                           ".tsv",  ".parquet", ".yaml", ".yml", ".xml"};
  for (const absl::string_view extension : kOthers) {
    if (absl::EndsWithIgnoreCase(file, extension)) return std::string(extension.substr(1));
  }
  return "";
}

// "; did you mean .json?" for a name that ends nearly as one of a format does, else "".
std::string MeantExtension(absl::string_view file) {
  const size_t dot = file.rfind('.');
  if (dot == absl::string_view::npos || absl::StrContains(file.substr(dot), '/')) return "";
  std::vector<std::string> known;
  for (const FormatRow& row : Rows()) {
    if (!row.extension.empty()) known.emplace_back(row.extension);
  }
  return DidYouMean(file.substr(dot), known);
}

}  // namespace

std::string OneOf(absl::Span<const std::string> names) {
  if (names.size() == 1) return names[0];
  return absl::StrCat(absl::StrJoin(names.first(names.size() - 1), ", "), " or ", names.back());
}

absl::Span<const FormatRow> Formats() { return Rows(); }

const FormatRow& RowOf(Format format) { return Rows()[static_cast<size_t>(format)]; }

void OutputArguments::AddTo(OptionList* list, std::vector<std::string> more) {
  std::vector<std::string> names;
  for (const FormatRow& row : Rows()) {
    if (row.draw != nullptr && row.format != Format::kText) names.emplace_back(row.name);
  }
  std::move(more.begin(), more.end(), std::back_inserter(names));
  AddOnly(list, std::move(names));
}

void OutputArguments::AddOnly(OptionList* list, std::vector<std::string> names) {
  formats = std::move(names);
  list->AddValue("format", "FORMAT", &format,
                 absl::StrCat(OneOf(formats), ". Default: as the name of -o says, else table."),
                 formats);
  list->AddValue("o", "FILE", &file,
                 "Write to FILE. It is complete or not there. Default: standard output.");
  list->AddValue(
      "color", "WHEN", &color,
      "Use color: always, never, or auto: on a terminal, unless NO_COLOR is set. Default: "
      "auto.",
      {"auto", "always", "never"});
}

absl::StatusOr<TableStyle> OutputArguments::Style() const {
  if (color == "auto") return StyleFor(file, ColorWhen::kAuto);
  if (color == "always") return StyleFor(file, ColorWhen::kAlways);
  if (color == "never") return StyleFor(file, ColorWhen::kNever);
  return BadValue("color", color, "it should be auto, always or never");
}

absl::Status RequireFormat(const OutputArguments& args, Format format, absl::string_view what,
                           absl::Span<const Format> but) {
  if (std::find(but.begin(), but.end(), format) == but.end()) return absl::OkStatus();
  std::vector<std::string> written;
  for (const FormatRow& row : Rows()) {
    const bool known =
        std::find(args.formats.begin(), args.formats.end(), row.name) != args.formats.end();
    const bool has = std::find(but.begin(), but.end(), row.format) == but.end();
    if (known && has) written.emplace_back(row.name);
  }
  const bool by_file = args.format.empty();
  return BadValue(
      by_file ? "o" : "format", by_file ? args.file : args.format,
      absl::StrCat(what, " written as ", OneOf(written), ", not as ", RowOf(format).name));
}

absl::StatusOr<Format> OutputArguments::ParseFormat() const {
  std::string name = format.empty() ? FormatOfFile(file) : format;
  const auto is_known = [&] {
    return std::find(formats.begin(), formats.end(), name) != formats.end();
  };
  if (const std::string meant = name.empty() ? MeantExtension(file) : ""; !meant.empty()) {
    return BadValue("o", file, absl::StrCat("no format has this ending", meant));
  }
  if (name.empty() || (name == "text" && !is_known())) name = "table";
  if (name == "md") name = "markdown";
  for (const FormatRow& row : Rows()) {
    if (is_known() && name == row.name) return row.format;
  }
  if (format.empty()) {
    return BadValue("o", file,
                    absl::StrCat("this command writes ", OneOf(formats), ", not ", name,
                                 "; --format says which"));
  }
  return BadValue("format", format,
                  absl::StrCat("it should be ", OneOf(formats), DidYouMean(format, formats)));
}

}  // namespace onnxflops::tools
