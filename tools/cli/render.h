// A report as text, in the format that the user asked for.
#ifndef ONNXFLOPS_TOOLS_CLI_RENDER_H_
#define ONNXFLOPS_TOOLS_CLI_RENDER_H_

#include <string>

#include "src/render/document.h"
#include "tools/cli/output_arguments.h"

namespace onnxflops::tools {

// `view`: how the report is viewed, where there are ways. Of one report, kJsonLines is kJson. A
// format that a report has no writer for is refused before, by the list of --format or by
// RequireFormat.
template <typename R, typename... View>
std::string Render(const R& report, Format format, const TableStyle& style, const View&... view) {
  switch (format) {
    case Format::kJson:
    case Format::kJsonLines:
      return ToJson(report);
    case Format::kCsv:
      if constexpr (requires { ToCsv(report, view...); }) return ToCsv(report, view...);
      if constexpr (requires { ToCsv(report); }) return ToCsv(report);
      break;
    case Format::kHtml:
      if constexpr (requires { ToHtml(report, view...); }) return ToHtml(report, view...);
      if constexpr (requires { ToHtml(report); }) return ToHtml(report);
      break;
    default:
      break;
  }
  const FormatRow& row = RowOf(format);
  return (row.draw != nullptr ? row.draw : RowOf(Format::kTable).draw)(ToDocument(report, view...),
                                                                       style);
}

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_RENDER_H_
