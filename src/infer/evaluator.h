// The engine behind Infer(): evaluates graphs node by node, and shares the result between nodes
// that are alike. Internal to src/infer.
#ifndef ONNXFLOPS_SRC_INFER_EVALUATOR_H_
#define ONNXFLOPS_SRC_INFER_EVALUATOR_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/op_def.h"
#include "src/infer/fact_table.h"
#include "src/infer/infer.h"
#include "src/symbolic/work.h"

namespace onnxflops {

using FactIds = absl::InlinedVector<FactId, 4>;

// Where a graph is evaluated: whose opsets and attributes are in force, and on which chain of
// calls.
struct Frame {
  const std::vector<std::pair<absl::string_view, int64_t>>* opsets = nullptr;
  absl::Span<const Attribute> call_attributes;
  int32_t attributes_id = -1;  // tells frames with different call attributes apart
  int64_t default_opset = 0;   // of domain ""
  int depth = 0;               // bodies and functions around
  // Where it stands, for the names of symbols: inside the call `via` of the caller's frame, or in
  // one trip of a loop there.
  const Frame* caller = nullptr;
  OptionalNodeId via;
  int64_t trip = -1;
};

// A node with the calls and trips around it: what tells it from others, and "block.0/trip 3/name",
// which is cut at kMaxSymbolName bytes as written.
struct Place {
  std::string key, text;
};

// Makes and remembers symbols that depend on data, and substitutes what the user bound. Symbols go
// by their written names (symbol_name.h).
class SymbolTable {
 public:
  // What the user bound, by names as typed: InvalidArgument if one is bound to two sizes, or to a
  // negative one. A name that no symbol is written as also binds the one whose name in the file it
  // is, and the one that would be so written without quotes.
  absl::Status Take(const Bindings& typed);
  // What an input's dimension is called, the same every time. A name that is too long is cut.
  std::string NameOf(const DeclaredDim& dim, absl::string_view input, int axis);
  // REQUIRES: called for the names of all inputs' dimensions before others are asked for.
  void Announce(const std::string& name);
  // The symbol of an input's dimension, also if it is bound; the same name again is the same
  // symbol.
  Expr InputDim(const std::string& name, absl::string_view input, int axis);
  // A new symbol `hint(place)`, or the one made before for this place, output and axis.
  // `tensor` is the output's name, `inner`: made inside a body or a function.
  Expr Fresh(SymbolOrigin::Kind kind, absl::string_view hint, const Place& place, int output,
             absl::string_view tensor, int axis, bool inner);
  // A value of the main graph has this dimension: that is where a symbol made inside comes out, and
  // a user can look it up.
  void ComesOut(const Expr& dim, absl::string_view tensor, int axis);
  bool Knows(const std::string& name) const { return origins_.contains(name); }
  // What the user bound the name to.
  std::optional<int64_t> BoundTo(const std::string& name);
  // What the user bound of the symbols asked for so far, and what was typed for none of them.
  const Bindings& bound() const { return bound_; }
  Bindings Unmet() const;
  // Binds a symbol whose value follows from another binding.
  void Bind(const std::string& name, int64_t value) { derived_[name] = value; }
  int64_t fresh_uses() const { return fresh_uses_; }
  size_t size() const { return order_.size(); }
  // All symbols that are left open, in order of appearance.
  std::vector<SymbolOrigin> Open() const;

 private:
  Expr BoundOr(const std::string& name, int64_t at_least);
  bool IsTaken(const std::string& name) const {
    return origins_.contains(name) || bare_.contains(name);
  }

  Bindings typed_;                        // by the user
  absl::flat_hash_set<std::string> met_;  // of typed_, those that a symbol was found for
  Bindings bound_;
  Bindings derived_;
  absl::flat_hash_set<std::string> announced_;
  absl::flat_hash_set<std::string> bare_;  // of announced names, as they may be typed
  int64_t fresh_uses_ = 0;                 // how often a data-dependent symbol was asked for
  std::vector<std::string> order_;
  absl::flat_hash_map<std::string, SymbolOrigin> origins_;
  absl::flat_hash_set<std::string> inner_;  // those whose origin is inside a body so far
  absl::flat_hash_map<std::string, std::string> by_place_;
  absl::flat_hash_map<std::string, int> last_number_;  // of names that were made before
  absl::flat_hash_map<std::string, std::string> cut_;
};

class Evaluator {
 public:
  Evaluator(const Model& model, const InferOptions& options);

  absl::StatusOr<Inference> Run();

 private:
  friend class Host;

  OptionalFactId& FactIdOf(ValueId value) { return values_[static_cast<size_t>(value)]; }

  // ---- inputs.cc
  absl::Status BindInputs();
  absl::StatusOr<Fact> FactOfInput(const Value& value);
  absl::StatusOr<Fact> FactOfDeclared(const DeclaredType& type, absl::string_view name);
  Expr DimOfDeclared(const DeclaredDim& dim, absl::string_view name, int axis);
  // As the file says, whatever is bound.
  Shape DeclaredShape(const Value& value);
  void NameDims();
  absl::Status ApplyShapeOption(const std::string& name, const Dims& dims, const Value& value);
  absl::Status ApplyValueOption(const std::string& name, const Content& content, Fact* fact) const;
  absl::Status CheckOptions();

  // ---- evaluator.cc
  // Evaluates the nodes of a graph whose inputs have their facts in values_. Adds an instance.
  absl::StatusOr<InstanceId> RunGraph(GraphId graph, const Frame& frame);
  absl::StatusOr<CallId> EvalNode(NodeId id, const Frame& frame);
  absl::StatusOr<CallId> ApplyOperator(NodeId id, const Frame& frame, const FactIds& inputs);
  absl::Status RunRule(Call* call, const Frame& frame, const FactIds& inputs, bool* fresh);
  absl::Status TakeOutputs(const Frame& frame, absl::StatusOr<Facts> facts, Call* call);
  absl::Status CheckFact(const Fact& fact, size_t output) const;
  void DropContentBeyondLimit(Fact* fact);
  Fact FallbackFact(ValueId output) const;
  FactIds GatherInputs(const Node& node);
  CallId AddCall(Call call);
  void Warn(std::string warning);  // once
  void WarnOfOfficialBodies();
  // OutOfRange once the work on expressions, or the symbols, are more than the limits allow.
  absl::Status CheckWork() const;
  void SetOutputs(const Node& node, const Call& call);
  void NameInnerSymbols(const Node& node, const Call& call);
  Place PlaceIn(const Frame& frame, NodeId node) const;
  absl::Status Spend(size_t evaluations = 1);
  absl::Status Explain(const absl::Status& local, NodeId node, int64_t opset,
                       const FactIds& inputs) const;

  // ---- functions.cc
  absl::StatusOr<CallId> CallFunction(NodeId id, const Frame& frame, const FactIds& inputs);
  std::vector<Attribute> CallAttributes(const Node& node, const Function& function,
                                        const Frame& frame) const;
  Frame FrameInside(NodeId id, const Function& function, const Frame& frame);

  // ---- scan.cc
  struct ScanForm;
  absl::StatusOr<Facts> InferScan(const NodeView& view, const Frame& frame, Call* call);
  absl::Status ReadScan(const NodeView& view, const Graph& graph, ScanForm* form) const;
  absl::Status ReadSlices(const NodeView& view, ScanForm* form) const;

  // ---- control_flow.cc
  absl::StatusOr<Facts> InferControlFlow(const NodeView& view, const Frame& frame, Call* call);
  absl::StatusOr<Facts> InferIf(const NodeView& view, const Frame& frame, Call* call);
  absl::StatusOr<Facts> InferBranch(const NodeView& view, const Frame& frame, bool taken,
                                    Call* call);
  bool UseBindings(const std::string& place, Facts* outputs);
  absl::StatusOr<Facts> InferLoop(const NodeView& view, const Frame& frame, Call* call);
  absl::StatusOr<Facts> InferSequenceMap(const NodeView& view, const Frame& frame, Call* call);
  absl::StatusOr<std::pair<InstanceId, FactIds>> RunBody(GraphId body,
                                                         absl::Span<const FactId> inputs,
                                                         const Frame& frame);
  Facts FactsOf(absl::Span<const FactId> ids) const;
  absl::StatusOr<GraphId> BodyOf(const NodeView& view, absl::string_view attribute) const;
  struct LoopState;
  absl::Status UnrollLoop(const NodeView& view, const Frame& frame, LoopState* state);
  absl::Status GeneralizeLoop(const NodeView& view, const Frame& frame, LoopState* state);
  FactIds TripInputs(std::optional<int64_t> trip, const FactIds& carried);
  FactId Join(const NodeView& view, FactId a, FactId b, int output, absl::string_view hint);
  Fact Joined(const NodeView& view, const Fact& a, const Fact& b, int output,
              absl::string_view hint);

  // A distinct application, as the key under which its Call is found again.
  struct Key {
    const void* what;  // OpDef or Function
    int64_t opset;
    int32_t attributes_id;
    size_t outputs;
    absl::string_view attribute_bytes;
    FactIds inputs;
    friend bool operator==(const Key& a, const Key& b) {
      return a.what == b.what && a.opset == b.opset && a.attributes_id == b.attributes_id &&
             a.outputs == b.outputs && a.inputs == b.inputs &&
             a.attribute_bytes == b.attribute_bytes;
    }
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.what, k.opset, k.attributes_id, k.outputs,
                        k.attribute_bytes, k.inputs);
    }
  };

  const Model model_;
  const ModelData& data_;
  const InferOptions& options_;
  RowFinder rows_;
  Inference result_;
  FactTable facts_;
  SymbolTable symbols_;
  std::vector<OptionalFactId> values_;
  std::vector<OptionalFactId> tensor_facts_;  // by TensorId; kNone: not asked yet
  absl::flat_hash_map<Key, CallId> memo_;
  std::shared_ptr<std::deque<std::vector<Attribute>>> attributes_;
  Bindings from_input_shapes_;  // what --input says of symbols
  int64_t evaluations_left_ = 0;
  absl::flat_hash_set<std::string> warned_;
  const WorkLimit work_;
};

// control_flow.cc: the host that rules see. Also records the bodies that a rule ran.
class Host : public RuleHost {
 public:
  Host(Evaluator* evaluator, const Frame& frame, Call* call)
      : evaluator_(evaluator), frame_(frame), call_(call) {}
  Expr FreshDim(int output, int axis, absl::string_view hint) override;
  Expr FreshTripCount(absl::string_view hint) override;
  absl::StatusOr<BodyFacts> InferBody(absl::string_view attribute, absl::Span<const Fact> inputs,
                                      const Expr& times) override;

 private:
  Evaluator* evaluator_;
  const Frame& frame_;
  Call* call_;
};

// shape_work.cc: marks, in every instance, the nodes that only make shapes.
void MarkShapeWork(Inference* inference);

// True for an error that already names its node.
bool IsExplained(const absl::Status& status);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_INFER_EVALUATOR_H_
