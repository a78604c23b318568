// Makes an explanation from the results of earlier stages. Other code uses the driver (src/api/).
#ifndef ONNXFLOPS_SRC_EXPLAIN_MAKE_EXPLANATION_H_
#define ONNXFLOPS_SRC_EXPLAIN_MAKE_EXPLANATION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/explain/explain.h"

namespace onnxflops {

struct Counts;     // of src/count/count_model.h
struct Inference;  // of src/infer/infer.h

// The result of Explain. NotFound, with similar names.
absl::StatusOr<Explanation> MakeExplanation(const Inference& inference, const Counts& counts,
                                            absl::string_view node);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_EXPLAIN_MAKE_EXPLANATION_H_
