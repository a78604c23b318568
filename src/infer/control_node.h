// A node whose operator runs bodies: the common part of If, Loop, Scan and SequenceMap.
#ifndef ONNXFLOPS_SRC_INFER_CONTROL_NODE_H_
#define ONNXFLOPS_SRC_INFER_CONTROL_NODE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/op_def.h"
#include "src/graph/fact.h"
#include "src/graph/model.h"
#include "src/infer/body_runner.h"
#include "src/infer/frame.h"
#include "src/infer/infer.h"
#include "src/infer/session.h"

namespace onnxflops::infer {

// The node as its rule sees it, and the Call that is being made from it. It owns nothing and lives
// for one call of a rule. The operator's function runs bodies through it, joins the results of
// several runs, and leaves the runs that count in call().bodies.
class ControlNode {
 public:
  ControlNode(Session* session, BodyRunner* runner, const NodeView& view, const Frame& frame,
              Call* call)
      : session_(*session), runner_(*runner), view_(view), frame_(frame), call_(*call) {}

  const NodeView& view() const { return view_; }
  Call& call() const { return call_; }
  Session& session() const { return session_; }
  FactTable& facts() const { return session_.facts(); }
  const Graph& graph(GraphId id) const { return session_.model().graph(id); }
  Place place() const { return PlaceIn(session_.model(), frame_, call_.node); }

  // The graph that an attribute holds.
  absl::StatusOr<GraphId> BodyOf(absl::string_view attribute) const;
  absl::StatusOr<BodyResult> Run(GraphId body, absl::Span<const FactId> inputs) const;
  // One trip of a loop, with its own symbols.
  absl::StatusOr<BodyResult> RunTrip(GraphId body, absl::Span<const FactId> inputs,
                                     int64_t trip) const;
  // The facts that hold for both of two values. A dimension in which they differ becomes a symbol
  // `hint` of the node's output.
  FactId Join(FactId a, FactId b, int output, absl::string_view hint) const;

 private:
  Fact Joined(const Fact& a, const Fact& b, int output, absl::string_view hint) const;

  Session& session_;
  BodyRunner& runner_;
  const NodeView& view_;
  const Frame& frame_;
  Call& call_;
};

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_CONTROL_NODE_H_
