// How bodies are run, whatever they are bodies of.
#ifndef ONNXFLOPS_SRC_INFER_BODY_RUNNER_H_
#define ONNXFLOPS_SRC_INFER_BODY_RUNNER_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/graph/model.h"
#include "src/infer/frame.h"
#include "src/infer/infer.h"
#include "src/infer/session.h"

namespace onnxflops::infer {

// One run of a body: the instance for a BodyRun of a Call, and the resulting facts.
struct BodyResult {
  InstanceId instance = 0;
  FactIds outputs;
};

// The interface to the engine for code with bodies (control flow, functions of the file and
// official ones, rules with graphs).
class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  // Runs `body` once, in its own frame, with facts of its first inputs; the others are `missing`.
  // The caller decides how often the run counts. OutOfRange if bodies are nested too deep.
  virtual absl::StatusOr<BodyResult> Run(GraphId body, absl::Span<const FactId> inputs,
                                         FactId missing, const Frame& frame) = 0;
};

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_BODY_RUNNER_H_
