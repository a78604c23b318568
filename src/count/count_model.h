// count: facts become costs. Every distinct Call is counted once; control flow multiplies its
// bodies in.
//
//   Counts counts = Count(inference).value();
//   counts.total.amounts.flops   // FLOPs of one run, an Expr
//
// Errors: OutOfRange when a cost overflows 128 bits (names the node); InvalidArgument when a cost
// rule finds the model contradicting itself.
#ifndef ONNXFLOPS_SRC_COUNT_COUNT_MODEL_H_
#define ONNXFLOPS_SRC_COUNT_COUNT_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/cost/amounts.h"
#include "src/cost/cost.h"
#include "src/cost/coverage.h"
#include "src/cost/roofline.h"
#include "src/infer/infer.h"

namespace onnxflops {

// The summed work of a node with its bodies, a graph or a module.
struct Tally {
  Census flops;
  Census int_ops;
  Amounts amounts;            // of the work; without weights
  MacsByDType macs_by_dtype;  // sums to amounts.macs
  bool lower_bound = false;   // something in it is unknown

  // For a node that is shape arithmetic: contractions and bytes only.
  Tally AsShapeWork() const;
  Amounts ShapeWorkAmounts() const;
  // this += other * times.
  void Add(const Tally& other, const Expr& times = 1);

  // No work; part of it may be unknown.
  static const Tally& Nothing(bool lower_bound);
};

// The cost of one execution of a Call, including its bodies.
struct CallCost {
  std::shared_ptr<const Tally> work;         // without bodies; nullptr for no work
  std::shared_ptr<const Tally> with_bodies;  // nullptr without bodies
  Coverage coverage = Coverage::kCounted;
  bool causal = false;   // an operator that says so
  absl::Status problem;  // of kUnknown
  // How often each body of the Call runs. Of an If with an unknown condition the costlier branch
  // runs; if that depends on symbols, these are expressions of value 0 or 1.
  std::vector<Expr> body_times;

  // Without bodies.
  const Tally& own() const {
    return work != nullptr ? *work : Tally::Nothing(coverage == Coverage::kUnknown);
  }
  const Tally& tally() const { return with_bodies != nullptr ? *with_bodies : own(); }
};

// Work by operator, control flow and functions opened.
struct OpTally {
  Expr nodes;  // executions in one run
  Amounts amounts;
  bool lower_bound = false;  // some of them are unknown
};
using OpKey = std::pair<std::string, std::string>;  // domain, operator

struct UnknownItem {
  NodeId node = 0;
  absl::string_view op, domain;  // of the model
  std::string reason;
};

// The work of a call that takes time on a device. Operations are FLOPs, plus integer operations if
// integers are multiplied. Runtimes fuse what a QDQ graph writes separately: DequantizeLinear takes
// no time, and nodes that read its output read the stored type; QuantizeLinear does not read its
// input.
struct TimedWork {
  Expr operations, bytes_read, bytes_written;
};
TimedWork TimedWorkOf(const Inference& inference, const Call& call, const Tally& own);

// Bytes of a tensor in its type before dequantisation. 0 if unknown.
Expr StoredBytes(const Fact& fact);

struct Counts {
  std::vector<CallCost> calls;   // by CallId
  std::vector<Tally> instances;  // by InstanceId, one run each
  Tally total;                   // of the main graph
  absl::btree_map<OpKey, OpTally> by_op;
  // Nodes of the main graph, of bodies, and of functions once per call; the calls themselves do not
  // count. So the numbers do not depend on which nodes a file puts into functions.
  int64_t nodes = 0, counted = 0, free = 0, unknown = 0;
  // By InstanceId: how often its graph runs in the model. At most INT64_MAX, like the sums.
  std::vector<int64_t> copies;
  int64_t causal = 0;  // of `counted`: attention whose operator is causal
  std::vector<UnknownItem> unknown_items;
  int64_t unequal_branches = 0;  // If nodes whose larger branch is counted, where one costs more
  std::vector<std::string> warnings;  // choices that another binding might make otherwise

  const CallCost& cost(CallId id) const { return calls[static_cast<size_t>(id)]; }
  const Tally& run_of(InstanceId id) const { return instances[static_cast<size_t>(id)]; }
};

// With a roofline, Amounts::time_bound is the multiply-accumulates of all nodes that no program can
// leave out (NodeView::least), at the peak, and
// time_estimate the sum of max(arithmetic, bytes) over the nodes. Work on constants, which a
// runtime does once, and shape arithmetic take no time. Unimplemented for a loop of growing sizes
// whose estimate has no closed form.
absl::StatusOr<Counts> Count(const Inference& inference,
                             CausalCounting causal = CausalCounting::kFull,
                             const std::optional<Roofline>& roofline = std::nullopt);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_COUNT_COUNT_MODEL_H_
