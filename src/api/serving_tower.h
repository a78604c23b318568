// What images and audio of a step's requests run through before the decoder: a tower with its
// projector, or an encoder with its keys and values.
//
//   ASSIGN_OR_RETURN(const ServingTower tower, CountTower(model, options, requests));
//   tower.inputs, tower.totals.flops   // 3 images; their FLOPs, without the decoder's
#ifndef ONNXFLOPS_SRC_API_SERVING_TOWER_H_
#define ONNXFLOPS_SRC_API_SERVING_TOWER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/api/requests.h"
#include "src/graph/model.h"
#include "src/serving/serving_report.h"

namespace onnxflops {

// `options`: of the decoder's step; its sizes and samples are not used. Errors: FailedPrecondition
// if the model has no tower; InvalidArgument for media that it does not take, and for a prompt with
// fewer tokens than its images have, with the request.
absl::StatusOr<ServingTower> CountTower(const Model& model, const CountOptions& options,
                                        const std::vector<StepRequest>& requests);

// "line 3: ...", or "request 2: ..." without a file.
std::string RequestText(const std::vector<StepRequest>& requests, size_t index,
                        absl::string_view what);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_SERVING_TOWER_H_
