// How far the figures of a comparison are known, for all of its writers of text.
#ifndef ONNXFLOPS_SRC_COMPARE_COMPARE_KNOWN_H_
#define ONNXFLOPS_SRC_COMPARE_COMPARE_KNOWN_H_

#include "src/compare/compare_report.h"
#include "src/render/known.h"
#include "src/report/summary.h"

namespace onnxflops::compare {

// Of ours: a lower bound where a part is not counted; assumed where it rests on a size inside of
// the model, which is taken as 1.
inline report::Known KnownOfOurs(const Report& ours, const Expr& amount) {
  if (ours.totals.lower_bound) return report::LowerBound(amount);
  return report::RestsOnSizesInside(ours, amount) ? report::Known::kAssumed : report::Known::kExact;
}

// Of a tool's. REQUIRES: it has a headline.
inline report::Known KnownOfTool(const Report& ours, const ToolRow& tool) {
  const report::Known known = report::KnownOf(tool.standing);
  const bool rests =
      known == report::Known::kExact && report::RestsOnSizesInside(ours, *tool.headline);
  return rests ? report::Known::kAssumed : known;
}

// Of the figure that it prints. Of nodes that are not counted it counts nothing, or more.
inline report::Known KnownOfFigure(const Report& ours, const ToolRow& tool) {
  return ours.totals.lower_bound ? report::Known::kAtLeast : KnownOfTool(ours, tool);
}

}  // namespace onnxflops::compare

#endif  // ONNXFLOPS_SRC_COMPARE_COMPARE_KNOWN_H_
