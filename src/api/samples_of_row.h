// What stands in a row that attention takes as one sequence (Samples::Layout::kOneRow).
#ifndef ONNXFLOPS_SRC_API_SAMPLES_OF_ROW_H_
#define ONNXFLOPS_SRC_API_SAMPLES_OF_ROW_H_

#include <optional>

#include "src/api/count.h"
#include "src/graph/model.h"
#include "src/report/samples_report.h"

namespace onnxflops {

// Counts the samples of `options` packed, to tell what the row takes more than they do. nullopt if
// they are not in one row, or if packed samples cannot be counted.
std::optional<SamplesReport> SamplesOfRow(const Model& model, const CountOptions& options);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SAMPLES_OF_ROW_H_
