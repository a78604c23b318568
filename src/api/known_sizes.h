// Counts one of many models with the sizes of a call: a model may lack some of the symbols.
//
//   std::vector<std::string> missing;
//   CountKnownSizes(model, {.bindings = {{"batch", 8}}}, "", std::nullopt, &missing)
#ifndef ONNXFLOPS_SRC_API_KNOWN_SIZES_H_
#define ONNXFLOPS_SRC_API_KNOWN_SIZES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/graph/model.h"
#include "src/report/report.h"

namespace onnxflops {

// Like CountAs, or like Count if `convention` is "". A name in CountOptions::bindings for which the
// model has no symbol is skipped and added to `missing`. `fill`, if given, is the size of every
// symbol that is still open: first of those of the inputs, then of any others, but at most their
// upper bound. A size that follows from others gets the size that follows: a decoder's mask that of
// its past and new tokens. What depends on the processor, or does not fit the model, stays open,
// and a warning names it. Errors: those of Count.
absl::StatusOr<Report> CountKnownSizes(const Model& model, const CountOptions& options,
                                       const std::string& convention, std::optional<int64_t> fill,
                                       std::vector<std::string>* missing);

// Like CompareTools, with the same names skipped.
absl::StatusOr<CompareReport> CompareKnownSizes(const Model& model, const CountOptions& options,
                                                const CompareRequest& request,
                                                std::vector<std::string>* missing);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_KNOWN_SIZES_H_
