// infer: a Model and the user's bindings become facts: type, symbolic shape and small content of
// every value.
//
//   absl::StatusOr<Inference> inference = Infer(model, {.dims = {{"batch", 8}}});
//
// Nodes that are alike (same operator, attributes and facts of inputs) share one Call, which is
// inferred once and later counted once; that is why a model of equal layers costs little more than
// one layer, and a function called 2^30 times no more than once. Nothing is counted here.
//
// Errors: InvalidArgument when the model contradicts itself or the bindings (names file, node,
// operator, values); OutOfRange for a limit or an overflow. A node that cannot be inferred is not
// an error: its Call has a `problem` and its outputs are unknown.
#ifndef ONNXFLOPS_SRC_INFER_INFER_H_
#define ONNXFLOPS_SRC_INFER_INFER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/op_def.h"
#include "ops/user/user_rules.h"
#include "src/base/limits.h"
#include "src/graph/fact.h"
#include "src/graph/model.h"
#include "src/graph/symbol_origin.h"
#include "src/resolve/operator_rows.h"
#include "src/resolve/ties.h"

namespace onnxflops {

using FactId = int32_t;
using CallId = int32_t;
using InstanceId = int32_t;
using OptionalFactId = OptionalId<struct FactTag>;

struct Inference;

struct InferOptions {
  Bindings dims;  // symbol -> size; as it is written, or as the file names the dimension
  absl::btree_map<std::string, Dims> input_shapes;     // graph input -> its shape
  absl::btree_map<std::string, Content> input_values;  // graph input -> its content
  // The same nodes at the sizes of the export. Where one of the main graph fails, or is a Reshape,
  // sizes that the file fixes follow its inputs, if that helps: Call::inputs then differ from the
  // facts of the node's inputs (fit_sizes.h).
  const Inference* exported = nullptr;
  resolve::Operators operators;  // as Resolve() had them
  Limits limits;
};

// A run of a body or of a function, as part of a Call.
struct BodyRun {
  InstanceId instance = 0;
  Expr times = 1;               // trips of a Loop or Scan; 1 for a function or an If's branch
  bool counted = true;          // false for the branch of an If that is known not to be taken
  absl::string_view attribute;  // "then_branch", "body"; empty for a function
};

// The sizes in a Loop's body change from trip to trip, as polynomials in the trip's number. Then
// bodies[0] is the trip `symbol` and does not count; after it are trips 0, 1, 2 and 3, as often as
// SumWeights(count) says: the sum over all trips of whatever is a polynomial of the number, up to
// power 3. Whether a body's work is one, counting checks.
struct GrowingTrips {
  std::string symbol;
  Expr count;
};

// One distinct application of an operator.
struct Call {
  NodeId node = 0;             // the first node of this call
  const OpDef* def = nullptr;  // nullptr: a function call, or no row for the operator
  int opset = 0;
  absl::InlinedVector<FactId, 4> inputs;
  absl::InlinedVector<FactId, 2> outputs;
  absl::Status problem;                         // why its outputs are (partly) unknown
  bool constant = false;                        // depends on constants only
  bool from_shapes = false;                     // depends on shapes and constants only
  absl::Span<const Attribute> call_attributes;  // of the function call around it
  std::vector<BodyRun> bodies;
  std::optional<GrowingTrips> growing;
  // The bodies whose nodes represent all: of a loop with growing sizes, the first.
  absl::Span<const BodyRun> shown_bodies() const {
    return absl::MakeConstSpan(bodies).first(growing.has_value() ? 1 : bodies.size());
  }
  // An If with an unknown condition: the costlier of its two bodies counts.
  bool choose_larger = false;
};

// One evaluation of a graph (the main graph, a body, or a function's body) on given facts.
struct Instance {
  GraphId graph = 0;
  std::vector<CallId> calls;     // for graphs[graph].nodes, in that order
  std::vector<bool> shape_work;  // the same: arithmetic that only makes shapes, free
};

struct Inference {
  Model model;
  std::deque<Fact> facts;
  std::vector<Call> calls;
  std::vector<Instance> instances;        // [0] is the main graph
  std::vector<InstanceId> callees_first;  // all instances, each after those that it runs
  // By ValueId: facts of the main graph's values (bodies: of their last evaluation); kNone where
  // not reached.
  std::vector<OptionalFactId> values;
  std::vector<SymbolOrigin> symbols;  // those that are not bound
  std::vector<OnlySize> only_sizes;   // of symbols; the model fails at others
  Bindings bindings;                  // InferOptions::dims, by the symbols' written names
  // By the main graph's inputs: shapes as the file declares them, whatever is bound.
  std::vector<Shape> declared;
  std::vector<std::string> warnings;
  Rules rules;  // owns rows that Call::def may point to
  Limits limits;
  resolve::Ties ties;  // weights that are copies of others
  // Owns the data of Call::call_attributes.
  std::shared_ptr<const std::deque<std::vector<Attribute>>> attribute_storage;

  const Fact& fact(FactId id) const { return facts[static_cast<size_t>(id)]; }
  // The fact of a value of the main graph; nullptr for an omitted or unreached one.
  const Fact* FactOf(OptionalValueId value) const {
    if (!value) return nullptr;
    const OptionalFactId id = values[static_cast<size_t>(*value)];
    return id ? &fact(*id) : nullptr;
  }
  const Call& call(CallId id) const { return calls[static_cast<size_t>(id)]; }
  Call& call(CallId id) { return calls[static_cast<size_t>(id)]; }
  const Instance& instance(InstanceId id) const { return instances[static_cast<size_t>(id)]; }
  Instance& instance(InstanceId id) { return instances[static_cast<size_t>(id)]; }
};

// What a warning says of loops whose sizes change from trip to trip without a closed form.
inline constexpr char kAlikeTrips[] = "the count holds only where all trips are alike";

absl::StatusOr<Inference> Infer(const Model& model, const InferOptions& options = {});

// The steps that a stage may take on expressions of a model (src/symbolic/work.h).
int64_t MaxSteps(const ModelData& model, const Limits& limits);

// The part of an error or reason that names a node and its inputs: "node '/visual/proj/Gemm' (Gemm,
// opset 17)".
std::string DescribeCall(const Inference& inference, const Call& call, NodeId node);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_INFER_INFER_H_
