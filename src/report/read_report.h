// Reads a report back that ToJson wrote: the base of a comparison needs no model file then.
#ifndef ONNXFLOPS_SRC_REPORT_READ_REPORT_H_
#define ONNXFLOPS_SRC_REPORT_READ_REPORT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/report/report.h"

namespace onnxflops {

// True if a text begins like our JSON documents: an object whose first key is "schema".
bool LooksLikeReport(absl::string_view beginning);
inline constexpr size_t kReportPrefix = 256;

// Reads "onnxflops.report/1", or "onnxflops.reports/1" with one report. Parts that the document
// lacks are missing in the Report too: Module::kind, the census, declared shapes of inputs.
// Quantities that an older version of the program did not count are in Report::absent. Every node
// row has `node` 0.
//
// `file` is the name in errors. Errors: InvalidArgument with the field, as "old.json: totals.flops:
// ..."; OutOfRange for more than kMaxReportBytes.
absl::StatusOr<Report> ReadReport(absl::string_view json, absl::string_view file);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_READ_REPORT_H_
