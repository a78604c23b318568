// Calls of functions: those defined in the file, and official ones.
#ifndef ONNXFLOPS_SRC_INFER_FUNCTION_CALLER_H_
#define ONNXFLOPS_SRC_INFER_FUNCTION_CALLER_H_

#include <deque>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "src/graph/model.h"
#include "src/infer/body_runner.h"
#include "src/infer/call_memo.h"
#include "src/infer/frame.h"
#include "src/infer/infer.h"
#include "src/infer/session.h"

namespace onnxflops::infer {

// A function's body runs once for every distinct call, so that 2^30 calls that are alike take no
// longer than one. Owns the attributes that calls give their bodies, which frames and Calls point
// into, and which calls there have been.
class FunctionCaller {
 public:
  FunctionCaller(Session* session, BodyRunner* runner);

  // The call of the node's function on `inputs`, in `frame`.
  absl::StatusOr<CallId> CallFunction(NodeId id, const Frame& frame, const FactIds& inputs);
  // Owns the data of Call::call_attributes.
  std::shared_ptr<const std::deque<std::vector<Attribute>>> attributes() const {
    return attributes_;
  }

 private:
  Frame FrameInside(NodeId id, const Function& function, const Frame& frame);

  Session& session_;
  BodyRunner& runner_;
  CallMemo memo_;
  std::shared_ptr<std::deque<std::vector<Attribute>>> attributes_;
};

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_FUNCTION_CALLER_H_
