// One page of HTML that needs nothing else: it opens from a file and without a network.
//
//   HtmlPage("clip.onnx", "count", json)   // "<!DOCTYPE html>..."
//
// The page holds a document in JSON, a style and a script, which draws the document. Names of a
// model are data: every "<" of the document is escaped, the script writes text only, and a Content
// Security Policy lets nothing run or load but this style and this script, by their hashes.
//
// The style and the script are in src/render/html/, compiled in.
#ifndef ONNXFLOPS_SRC_RENDER_HTML_PAGE_H_
#define ONNXFLOPS_SRC_RENDER_HTML_PAGE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace onnxflops::report {

extern const absl::string_view kReportScript;
extern const absl::string_view kReportStyle;
extern const absl::string_view kReportVersion;  // of the program that made the page

// `kind`: which document it is, "count". `json`: whole, in UTF-8. A document that has no room is
// replaced by a sentence that says so.
std::string HtmlPage(absl::string_view title, absl::string_view kind, absl::string_view json);
// The same; a document that does not fit is folded.
std::string FoldedHtmlPage(absl::string_view title, absl::string_view kind, absl::string_view json);

// An object in JSON in at most so many bytes: without blanks between its parts and, if that is not
// enough, with the first elements of each array and the beginning of each string only. A first
// member "left_out" is the number of the elements that are gone.
std::string FoldJson(absl::string_view json, size_t most_bytes);

// Its last part: "clip.onnx".
absl::string_view FileNameOf(absl::string_view path);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_RENDER_HTML_PAGE_H_
