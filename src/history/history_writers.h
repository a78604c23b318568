// A history as text, one function per format. Nothing of a file becomes markup or a command.
#ifndef ONNXFLOPS_SRC_HISTORY_HISTORY_WRITERS_H_
#define ONNXFLOPS_SRC_HISTORY_HISTORY_WRITERS_H_

#include <string>

#include "src/history/history.h"
#include "src/render/document.h"
#include "src/report/view_options.h"

namespace onnxflops {

// A row for each figure that is another than in the line before of the same model at the same
// sizes, in the order of the lines; then how many commits and models there are.
Document ToDocument(const HistoryReport& report);
// The same rows with exact digits.
std::string ToCsv(const HistoryReport& report);
// JSON: "onnxflops.history/1" (tools/schema/history.v1.schema.json).
std::string ToJson(const HistoryReport& report);
// A page that needs nothing else: a chart for each model and quantity.
std::string ToHtml(const HistoryReport& report);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_HISTORY_HISTORY_WRITERS_H_
