// A report that has a writer for each format, as text.
#ifndef ONNXFLOPS_TOOLS_CLI_RENDER_H_
#define ONNXFLOPS_TOOLS_CLI_RENDER_H_

#include <string>

#include "src/report/view_options.h"
#include "tools/cli/options.h"

namespace onnxflops::tools {

// One document has no lines of its own: of it, kJsonLines is kJson. A verb whose document has no
// page does not list html among its formats.
template <typename Document>
std::string Render(const Document& document, Format format, const TableStyle& style) {
  switch (format) {
    case Format::kJson:
    case Format::kJsonLines:
      return ToJson(document);
    case Format::kCsv:
      return ToCsv(document);
    case Format::kMarkdown:
      return ToMarkdown(document);
    case Format::kHtml:
      if constexpr (requires { ToHtml(document); }) return ToHtml(document);
      break;
    case Format::kTable:
    case Format::kText:
      break;
  }
  return ToTable(document, style);
}

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_RENDER_H_
