// The lines above and below the table of a report, as short texts that may share a line.
#ifndef ONNXFLOPS_SRC_REPORT_SUMMARY_H_
#define ONNXFLOPS_SRC_REPORT_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/cost/cost.h"
#include "src/render/text_table.h"
#include "src/report/report.h"
#include "src/report/view_options.h"
#include "src/symbolic/expr.h"

namespace onnxflops::report {

struct Summary {
  std::string title;  // the file; empty if it is not to be named
  // The model with the sizes at which figures are shown, its inputs; then the totals.
  std::vector<LabelledLine> head, totals;
  std::vector<std::string> symbols, unknown, warnings;  // a line each
};
Summary Summarize(const Report& report, const ViewOptions& options);

// "3 nodes are not counted (Add, com.example.FusedMlp and 2 more): figures are lower bounds".
// REQUIRES: totals.lower_bound.
std::string NotCountedText(const Report& report);
// That, Report::warnings, and likely copies of weights: for writers without the lines of totals.
std::vector<std::string> AllWarnings(const Report& report);
// Advice on nodes without a rule: a sentence, or nothing.
std::vector<std::string> HintsOnUnknown(const Report& report);
// "batch = 8, seq = 128 (assumed)": the sizes at which figures are shown.
std::string ShownSizes(const Report& report);
// Warnings for outputs without the lines of totals: uncounted work, and assumptions of another
// tool's figure.
std::vector<std::string> CaveatsOfFigures(const Report& report);
// "params hold 38.60 M of a, maybe a copy of b; if so: --tied a=b". `holder`: "params hold";
// `effect`: what would change without them, or "".
std::string LikelyCopyText(const WeightCopy& likely, absl::string_view holder,
                           absl::string_view effect = "");
// "(Softmax, Gelu, ...)": the operators whose FLOPs are not multiply-accumulates; or "".
std::string OthersText(const Report& report);
// True if a training step has a figure to show; a model that multiplies integers is quantised for
// inference and has none.
bool HasTraining(const Report& report);
// "image float32[batch, 3, 224, 224]": the inputs that are counted, with their declared shapes.
std::vector<std::string> InputTexts(const Report& report);
// Lines of the totals that hold at all sizes: adapters, tied weights, causal attention.
std::vector<LabelledLine> FixedLines(const Report& report);

// The number of sizes in the totals that no input has: they follow from the content of tensors,
// from trips of loops, or from sizes by no formula.
int64_t SizesInside(const Report& report);
// How attention with a causal mask is counted. REQUIRES: there is some.
std::string CausalText(const Report& report);
// True if a figure depends on one of these unknown sizes.
bool RestsOnSizesInside(const Report& report, const Expr& figure);
// True if the figures hold only where all trips of some loop are alike: a warning says so.
bool RestsOnAlikeTrips(const Report& report);
// "20 sizes that depend on data, 1 loop count"; or "".
std::string SizesInsideText(const Report& report);

// The lines above a comparison: the file, its sizes, and its inputs.
std::vector<LabelledLine> HeadOf(const Report& report);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_SUMMARY_H_
