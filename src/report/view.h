// A report as rows of text, for the writers that people read: what is shown, not how.
#ifndef ONNXFLOPS_SRC_REPORT_VIEW_H_
#define ONNXFLOPS_SRC_REPORT_VIEW_H_

#include <string>
#include <vector>

#include "src/report/report.h"
#include "src/report/text_table.h"
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
std::vector<ModuleRow> ModuleRows(const Report& report, const ViewOptions& options);

// The table of a report.
TextTable MakeTable(const Report& report, const ViewOptions& options);

// What stands above and below the table, as lists of short texts that may share a line.
struct Summary {
  std::string title;                                    // the file
  std::vector<std::string> model;                       // opset, producer, nodes, parameters
  std::vector<std::string> inputs;                      // shapes, then bindings
  std::vector<std::vector<std::string>> totals;         // a line each
  std::vector<std::string> symbols, unknown, warnings;  // a line each
};
Summary Summarize(const Report& report, const ViewOptions& options);
// The lines above a table: the file, and what goes in.
std::string DrawHead(const Summary& summary, int width);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_VIEW_H_
