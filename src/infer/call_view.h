// A call as rules see it, after inference: with the facts of its inputs and outputs.
#ifndef ONNXFLOPS_SRC_INFER_CALL_VIEW_H_
#define ONNXFLOPS_SRC_INFER_CALL_VIEW_H_

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "ops/op_def.h"
#include "src/infer/infer.h"

namespace onnxflops {

// REQUIRES: call.def is not null; the inference outlives it.
class CallView {
 public:
  CallView(const Inference& inference, const Call& call)
      : inputs_(FactsOf(inference, call.inputs)),
        outputs_(FactsOf(inference, call.outputs)),
        view_(*inference.model, inference.model->node(call.node), *call.def, call.opset, inputs_,
              outputs_, nullptr, call.call_attributes) {}
  CallView(const CallView&) = delete;
  CallView& operator=(const CallView&) = delete;

  const NodeView& view() const { return view_; }

 private:
  using Facts = absl::InlinedVector<const Fact*, 8>;
  static Facts FactsOf(const Inference& inference, absl::Span<const FactId> ids) {
    Facts facts;
    for (FactId id : ids) facts.push_back(&inference.fact(id));
    return facts;
  }

  Facts inputs_, outputs_;
  NodeView view_;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_INFER_CALL_VIEW_H_
