// What values are made of: which others hold their elements in another form or place, or are
// computed from them.
//
//   Cast(w16) -> w      Concat(q, k, v) -> w      v / |v| * g -> w      If (c) {w1} else {w2} -> w
//
// One rule for all operators, from their rows: one without arithmetic moves its inputs to its
// outputs; one that a gradient passes computes its outputs from them. Inputs that decide shapes or
// have a role of their own (weights, scales) go nowhere.
#ifndef ONNXFLOPS_SRC_RESOLVE_VALUE_FLOW_H_
#define ONNXFLOPS_SRC_RESOLVE_VALUE_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ops/op_def.h"
#include "src/graph/model.h"
#include "src/resolve/operators.h"

namespace onnxflops::resolve {

// Elements of one value that go to another.
struct Flow {
  enum class Kind : uint8_t {
    kMoved,     // as they are, or as another type
    kComputed,  // computed with others
    kGiven,     // to an input of a function, from what a call gives
  };
  ValueId from = 0, to = 0;
  Kind kind = Kind::kMoved;
  NodeId node = 0;  // by which
};

class ValueFlow {
 public:
  // Takes time and memory of the order of the model's size.
  ValueFlow(const ModelData& model, RowFinder* rows);

  // To this value, except where several inputs go to a value and one of them depends on what the
  // model is given: then it is no constant.
  absl::Span<const Flow> Into(ValueId value) const;
  // Whether all that becomes of a node's input is what becomes of its outputs.
  bool Moves(const Node& node, size_t place) const;
  // Whether a value depends on what the model is given, or on chance.
  bool Varies(ValueId value) const { return varies_[static_cast<size_t>(value)]; }

 private:
  // How the elements of a node's inputs go to its outputs.
  struct Passing {
    bool any = false, moves = false;
    uint32_t not_inputs = 0;  // those that go nowhere

    bool Takes(size_t place) const {
      return any && (place >= 32 || (not_inputs >> place & 1) == 0);
    }
  };
  static Passing PassingOf(const OpDef* def);
  const OpDef* DefOf(const Node& node) const;
  bool IsLive(const Node& node, const Passing& passing) const;

  // What a stored tensor, or a constant made of some, holds.
  struct Made {
    bool of_integers = false;  // quantised weights
    int64_t elements = 0;      // of the largest tensor
  };
  class VariesFinder;
  void LinkCall(const Node& node, NodeId id);
  void LinkBodies(const Node& node, NodeId id, const OpDef* def);
  void LinkBody(const Node& node, NodeId id, const OpDef* def, const Graph& body);
  void Link(OptionalValueId from, OptionalValueId to, Flow::Kind kind, NodeId id);
  void AddFlows(const std::vector<NodeId>& nodes);
  void AddFlowsOf(const Node& node, NodeId id);
  void FindMade();
  Made JoinMade(const Node& node, const Passing& passing) const;
  void SortFlows();

  Made& MadeOf(ValueId value) { return made_[static_cast<size_t>(value)]; }
  const Made& MadeOf(ValueId value) const { return made_[static_cast<size_t>(value)]; }

  const ModelData& model_;
  RowFinder& rows_;
  std::vector<Flow> flows_;          // by `to`
  std::vector<size_t> first_;        // by ValueId: of flows_
  std::vector<bool> varies_, read_;  // by ValueId
  std::vector<Made> made_;           // by ValueId
};

}  // namespace onnxflops::resolve

#endif  // ONNXFLOPS_SRC_RESOLVE_VALUE_FLOW_H_
