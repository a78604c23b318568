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

// As CountAs, or as Count if `convention` is "". A name in CountOptions::bindings that no symbol of
// the model has is left out and added to `missing`. `fill`, if it is given, is the size of every
// symbol that is open then: first of inputs; if others are still open, of these too, but not above
// what they are at most. Errors: as of Count.
absl::StatusOr<Report> CountKnownSizes(const Model& model, const CountOptions& options,
                                       const std::string& convention, std::optional<int64_t> fill,
                                       std::vector<std::string>* missing);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_KNOWN_SIZES_H_
