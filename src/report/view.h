// The rows of a report for the writers that people read, independent of the format.
#ifndef ONNXFLOPS_SRC_REPORT_VIEW_H_
#define ONNXFLOPS_SRC_REPORT_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/render/text_table.h"
#include "src/report/report.h"
#include "src/report/view_options.h"

namespace onnxflops::report {

// Modules of a module tree as shown: a tree in the order of reading.
struct ModuleRow : Amounts {  // of all of them
  std::string label;          // "transformer.resblocks.0-23"
  int indent = 0;             // of the model: 0
  int64_t repeated = 1;       // equal modules in this row
  std::string type;
  int32_t module = 0;  // index in Report::modules; -1: others that are not shown one by one
  bool lower_bound = false;
};
struct ModuleView {
  std::vector<ModuleRow> rows;
  bool joined = false;   // some rows hold several small modules
  bool crowded = false;  // some rows are joined for lack of space
  int64_t closed = 0;    // rows left closed for lack of space
};
// The rows below a row add up to it, in everything that is shown but a bound on the time of a run.
ModuleView ModuleRows(const Report& report, const ViewOptions& options);

// "submodules of 5 rows not shown": of ModuleView::closed.
std::string ClosedText(int64_t rows);

// The table of a report, with a column that draws the share.
TextTable MakeTable(const Report& report, const ViewOptions& options);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_VIEW_H_
