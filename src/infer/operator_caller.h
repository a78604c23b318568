// Runs the rule of a node's operator on its inputs.
#ifndef ONNXFLOPS_SRC_INFER_OPERATOR_CALLER_H_
#define ONNXFLOPS_SRC_INFER_OPERATOR_CALLER_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/op_def.h"
#include "src/graph/fact.h"
#include "src/graph/model.h"
#include "src/infer/body_runner.h"
#include "src/infer/call_memo.h"
#include "src/infer/frame.h"
#include "src/infer/infer.h"
#include "src/infer/session.h"
#include "src/resolve/operator_rows.h"

namespace onnxflops::infer {

// Applies operators to facts. The Call has a fact for every output, within the limits, even if the
// rule gives none. Remembers earlier calls, so that equal nodes run a rule once.
class OperatorCaller {
 public:
  OperatorCaller(Session* session, BodyRunner* runner);

  // The call of the node's operator on `inputs`, in `frame`.
  absl::StatusOr<CallId> CallOperator(NodeId id, const Frame& frame, const FactIds& inputs);

 private:
  absl::StatusOr<CallId> CallUnknown(Call call, const resolve::OperatorRow& row);
  // `fresh` becomes true if the rule made its own symbols.
  absl::Status RunRule(Call* call, const Frame& frame, const FactIds& inputs, bool* fresh);
  absl::StatusOr<Facts> InferOutputs(Call* call, const Frame& frame,
                                     absl::Span<const Fact* const> facts);
  // With InferOptions::exported: runs again on adjusted inputs, if there are any; otherwise returns
  // the rule's earlier result.
  absl::StatusOr<Facts> InferFitted(Call* call, const Frame& frame,
                                    absl::Span<const Fact* const> facts,
                                    absl::StatusOr<Facts> unfitted);
  absl::Status TakeOutputs(absl::StatusOr<Facts> facts, Call* call);
  absl::Status CheckFact(const Fact& fact, size_t output) const;
  // The file's declaration of an output that no rule could infer.
  Fact FallbackFact(ValueId output);

  Session& session_;
  BodyRunner& runner_;
  resolve::RowFinder rows_;
  CallMemo memo_;
  // An output of the last call is taken from its declaration, which holds for no other node.
  bool as_declared_ = false;
  const int64_t max_terms_;  // of the polynomials in all facts
};

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_OPERATOR_CALLER_H_
