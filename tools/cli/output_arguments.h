// Options of how results are written, and in which format.
#ifndef ONNXFLOPS_TOOLS_CLI_OUTPUT_ARGUMENTS_H_
#define ONNXFLOPS_TOOLS_CLI_OUTPUT_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/render/document.h"
#include "src/render/table_style.h"
#include "tools/cli/option_list.h"

namespace onnxflops::tools {

// The place of a row of Formats(). Rows without a name here are those of DocumentFormats().
enum class Format : uint8_t { kTable, kText, kJson, kJsonLines, kCsv, kHtml };

// A format of --format. One that draws documents is written wherever tables are.
struct FormatRow {
  absl::string_view name;
  Format format;
  absl::string_view extension;  // of files that are written in it, or ""
  std::string (*draw)(const Document&, const TableStyle&);  // nullptr: reports have writers for it
};
absl::Span<const FormatRow> Formats();
const FormatRow& RowOf(Format format);
// "table, json or csv".
std::string OneOf(absl::Span<const std::string> names);

// --format, -o and --color.
struct OutputArguments {
  std::string format;      // "" if not given: as the name of the file says, or else a table
  std::string file = "-";  // standard output
  std::string color = "auto";
  std::vector<std::string> formats;  // that the command writes
  // `more`: what the command writes beside formats of documents.
  void AddTo(OptionList* list, std::vector<std::string> more = {"json", "csv"});
  // Only what is named.
  void AddOnly(OptionList* list, std::vector<std::string> names);
  absl::StatusOr<Format> ParseFormat() const;
  // How wide and in what color tables are.
  absl::StatusOr<TableStyle> Style() const;
};

// `what`: "a sweep is". InvalidArgument names the formats of `args` that are left without `but`.
absl::Status RequireFormat(const OutputArguments& args, Format format, absl::string_view what,
                           absl::Span<const Format> but);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_OUTPUT_ARGUMENTS_H_
