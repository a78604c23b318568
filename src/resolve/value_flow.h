// Tells from which other values a value is made: moved into another form or place, or computed.
//
//   Cast(w16) -> w      Concat(q, k, v) -> w      v / |v| * g -> w      If (c) {w1} else {w2} -> w
//
// One rule covers all operators, from their rows: an operator without arithmetic moves its inputs
// to its outputs; an operator with a gradient computes its outputs from them. Inputs that decide
// shapes or have a role of their own (weights, scales) make no flow.
#ifndef ONNXFLOPS_SRC_RESOLVE_VALUE_FLOW_H_
#define ONNXFLOPS_SRC_RESOLVE_VALUE_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ops/op_def.h"
#include "src/graph/model.h"

namespace onnxflops::resolve {

// Elements that pass from one value to another.
struct Flow {
  enum class Kind : uint8_t {
    kMoved,     // as they are, or as another type
    kComputed,  // computed with others
    kGiven,     // from a call's argument to an input of a function
  };
  ValueId from = 0, to = 0;
  Kind kind = Kind::kMoved;
  NodeId node = 0;  // by which
};

class ValueFlow {
 public:
  // Takes time and memory of the order of the model's size.
  explicit ValueFlow(const ModelData& model);

  // The row of the node's operator, or nullptr. The weights of an operator are the same in every
  // version, and files contain operators that are newer than their declared opset.
  const OpDef* DefOf(const Node& node) const {
    return defs_[static_cast<size_t>(&node - model_.nodes.data())];
  }

  // The flows into this value. Empty if several inputs flow into it and one depends on the model's
  // inputs: then it is not a constant.
  absl::Span<const Flow> Into(ValueId value) const;
  // How the elements of a node's inputs go to its outputs.
  struct Passing {
    bool any = false, moves = false;
    uint32_t not_inputs = 0;  // those that go nowhere

    bool Takes(size_t place) const {
      return any && (place >= 32 || (not_inputs >> place & 1) == 0);
    }
  };
  // The inputs of a node that are only moved, so that uses of the outputs are all their uses.
  Passing MovedBy(const Node& node) const;
  // True if a value depends on the model's inputs, or on random numbers.
  bool Varies(ValueId value) const { return varies_[static_cast<size_t>(value)]; }

 private:
  static Passing PassingOf(const OpDef* def);
  bool IsLive(const Node& node, const Passing& passing) const;

  // The content of a stored tensor, or of a constant made from some.
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

  Made& MadeOf(ValueId value) { return made_[static_cast<size_t>(value)]; }
  const Made& MadeOf(ValueId value) const { return made_[static_cast<size_t>(value)]; }

  const ModelData& model_;
  std::vector<const OpDef*> defs_;   // by NodeId
  std::vector<Flow> flows_;          // by `to`
  std::vector<size_t> first_;        // by ValueId: of flows_
  std::vector<bool> varies_, read_;  // by ValueId
  std::vector<Made> made_;           // by ValueId
};

}  // namespace onnxflops::resolve

#endif  // ONNXFLOPS_SRC_RESOLVE_VALUE_FLOW_H_
