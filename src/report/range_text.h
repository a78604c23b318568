// The range of a report's totals in words.
//
//   RangeTexts(report, false)   // {"at least 98.31 k FLOPs, no upper bound is known", ...}
#ifndef ONNXFLOPS_SRC_REPORT_RANGE_TEXT_H_
#define ONNXFLOPS_SRC_REPORT_RANGE_TEXT_H_

#include <string>
#include <vector>

#include "src/report/report.h"

namespace onnxflops::report {

// The least and the most work that sizes inside the model allow, at the inputs' sizes of the title.
// Nothing if no total depends on such sizes.
std::vector<std::string> RangeTexts(const Report& report, bool exact);
// Its notes alone: "no operator bounds slice(Slice_3193)", "with the larger branch of 1 If node".
std::vector<std::string> RangeNotes(const Report& report);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_RANGE_TEXT_H_
