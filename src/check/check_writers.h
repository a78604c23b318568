// Verdicts as text, one function per format. Nothing of a file becomes markup or a command.
#ifndef ONNXFLOPS_SRC_CHECK_CHECK_WRITERS_H_
#define ONNXFLOPS_SRC_CHECK_CHECK_WRITERS_H_

#include <string>

#include "src/check/judge.h"
#include "src/render/document.h"
#include "src/render/table_style.h"

namespace onnxflops {

// Failures first; then every rule with its limit, figure and margin.
Document ToDocument(const CheckReport& report);
std::string ToTable(const CheckReport& report, const TableStyle& style = {});
std::string ToMarkdown(const CheckReport& report);
std::string ToCsv(const CheckReport& report);
// A page that needs nothing else.
std::string ToHtml(const CheckReport& report);
// JSON: "onnxflops.check/1" (tools/schema/check.v1.schema.json).
std::string ToJson(const CheckReport& report);

// "failed: 2 of 7 rules", "passed: 7 rules, 1 warning".
std::string CheckInWords(const CheckReport& report);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CHECK_CHECK_WRITERS_H_
