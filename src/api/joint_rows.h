// Rows in which text and images share a sequence, as in Qwen-VL, LLaVA and Gemma 3.
#ifndef ONNXFLOPS_SRC_API_JOINT_ROWS_H_
#define ONNXFLOPS_SRC_API_JOINT_ROWS_H_

#include "absl/status/status.h"
#include "src/api/samples.h"
#include "src/infer/infer.h"
#include "src/symbolic/sample_sum.h"

namespace onnxflops {

// Sets SampleSizes::joint of such rows. Lengths of all tokens (Samples::with_images) become those
// of the texts. `inference`: with the samples' sizes open. Errors: InvalidArgument if a sample has
// fewer tokens than its image; FailedPrecondition if their number is needed and not known.
absl::Status FindJointRows(const Inference& inference, const Samples& samples, SampleSizes* sizes);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_JOINT_ROWS_H_
