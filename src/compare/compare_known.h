// How far the figures of a comparison are known, for all of its writers of text.
#ifndef ONNXFLOPS_SRC_COMPARE_COMPARE_KNOWN_H_
#define ONNXFLOPS_SRC_COMPARE_COMPARE_KNOWN_H_

#include "src/compare/compare_report.h"
#include "src/render/known.h"
#include "src/report/summary.h"

namespace onnxflops::compare {

// Our figure is a lower bound if a part is not counted, and assumed if it depends on a size inside
// the model, which is then set to 1.
inline report::Known KnownOfOurs(const Report& ours, const Expr& amount) {
  if (ours.totals.lower_bound) return report::LowerBound(amount);
  return report::RestsOnSizesInside(ours, amount) ? report::Known::kAssumed : report::Known::kExact;
}

// The standing of a tool's figure. REQUIRES: it has a headline.
inline report::Known KnownOfTool(const Report& ours, const ToolRow& tool) {
  const report::Known known = report::KnownOf(tool.standing);
  const bool rests =
      known == report::Known::kExact && report::RestsOnSizesInside(ours, *tool.headline);
  return rests ? report::Known::kAssumed : known;
}

// The standing of the figure that the tool prints. For uncounted nodes it counts nothing, or more.
inline report::Known KnownOfFigure(const Report& ours, const ToolRow& tool) {
  return ours.totals.lower_bound ? report::Known::kAtLeast : KnownOfTool(ours, tool);
}

}  // namespace onnxflops::compare

#endif  // ONNXFLOPS_SRC_COMPARE_COMPARE_KNOWN_H_
