// Verdicts as text, one function per format. Nothing of a file becomes markup or a command.
#ifndef ONNXFLOPS_SRC_CHECK_CHECK_WRITERS_H_
#define ONNXFLOPS_SRC_CHECK_CHECK_WRITERS_H_

#include <string>
#include <vector>

#include "src/check/judge.h"
#include "src/render/json_writer.h"
#include "src/report/view_options.h"

namespace onnxflops {

// What failed first; then every rule with its limit, the figure and what is left.
std::string ToTable(const CheckReport& report, const TableStyle& style = {});
std::string ToMarkdown(const CheckReport& report);
std::string ToCsv(const CheckReport& report);
// A page that needs nothing else.
std::string ToHtml(const CheckReport& report);
// JSON: "onnxflops.check/1" (tools/schema/check.v1.schema.json).
std::string ToJson(const CheckReport& report);

namespace check {
// "rules": every rule and its verdict, in documents of a check.
void WriteRules(const CheckReport& report, report::JsonWriter* json);
// "budget.flops of visual at batch = 1"; of several models, "a.onnx: budget.flops".
std::string SubjectOf(const Judgement& j);
// "16.5 GFLOP, limit 16 GFLOP (-3.13 %): failed; why".
std::string MessageOf(const Judgement& j);
// What a reader has to look at comes first; otherwise the order of the file.
std::vector<const Judgement*> WorstFirst(const CheckReport& report);
// All rules as a table in Markdown, what failed first.
std::string RulesInMarkdown(const CheckReport& report);
}  // namespace check

// "failed: 2 of 7 rules", "passed: 7 rules, 1 warning".
std::string CheckInWords(const CheckReport& report);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_CHECK_CHECK_WRITERS_H_
