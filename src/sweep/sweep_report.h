// The cost of one model at many sizes.
#ifndef ONNXFLOPS_SRC_SWEEP_SWEEP_REPORT_H_
#define ONNXFLOPS_SRC_SWEEP_SWEEP_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/cost/amounts.h"
#include "src/render/document.h"
#include "src/report/report.h"
#include "src/report/view_options.h"

namespace onnxflops {

// A module (equal ones merged), or an operator.
struct SweepRow {
  std::string label;     // "resblocks.0-23"
  std::string path;      // in the model, "m.transformer.resblocks.0-23"; "" of the model
  std::string type;      // class of the module
  int indent = 0;        // of the model: 0
  int64_t repeated = 1;  // modules in the row
  Expr flops, macs;      // as far as the report has them
  bool lower_bound = false;
  Expr sorted;  // SweepReport::sorted
};

struct SweepPoint {
  Bindings at;  // the swept symbols
  Totals totals;
  std::vector<Expr> flops, macs, sorted;  // of each row
};

struct SweepReport {
  Report report;                     // whose figures the points share; sizes are open in it
  std::vector<std::string> symbols;  // that are swept, in the order of the call
  std::vector<SweepRow> rows;        // with GroupBy::kModule or kOp
  std::vector<SweepPoint> points;
  const Quantity* sorted = nullptr;  // of --sort, shown instead of FLOPs; nullptr: FLOPs, else MACs
};

// Every total of `report` at every point, and every module or operator if `by` asks for them.
// Errors: those of Report::At. REQUIRES: `report` has the quantity of ViewOptions::sort.
absl::StatusOr<SweepReport> MakeSweep(Report report, std::vector<std::string> symbols,
                                      absl::Span<const Bindings> points,
                                      const std::optional<ViewOptions>& rows);

// A column per point. If these are wider than the terminal, a row per point; with rows of modules
// or operators, several tables.
Document ToDocument(const SweepReport& sweep, const ViewOptions& options);
std::string ToTable(const SweepReport& sweep, const ViewOptions& options,
                    const TableStyle& style = {});
// A page that needs nothing else: the cost against the sizes.
std::string ToHtml(const SweepReport& sweep);
// A line per point, or per point and row, with exact digits. The model and fixed sizes come last.
std::string ToCsv(const SweepReport& sweep);
// JSON: "onnxflops.sweep/1" (tools/schema/sweep.v1.schema.json).
std::string ToJson(const SweepReport& sweep);

// A bar per point, for terminals. FailedPrecondition if a size is open, since bars need numbers.
absl::StatusOr<std::string> DrawPlot(const SweepReport& sweep, const TableStyle& style = {});

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_SWEEP_SWEEP_REPORT_H_
