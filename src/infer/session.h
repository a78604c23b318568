// The state that all parts of one inference share.
#ifndef ONNXFLOPS_SRC_INFER_SESSION_H_
#define ONNXFLOPS_SRC_INFER_SESSION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ops/op_def.h"
#include "src/graph/fact.h"
#include "src/graph/model.h"
#include "src/infer/budget.h"
#include "src/infer/fact_table.h"
#include "src/infer/infer.h"
#include "src/infer/symbol_table.h"

namespace onnxflops::infer {

using FactIds = absl::InlinedVector<FactId, 4>;

// One inference in progress. It holds the facts found so far (each fact once, and for each value
// its fact, for a value in a body that of the last run), the symbols, the remaining budget, and the
// Inference that is being made. Calls, instances and warnings are only ever added to it. Other
// classes decide what runs, and in which order.
class Session {
 public:
  Session(const Model& model, const InferOptions& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const ModelData& model() const { return model_; }
  const InferOptions& options() const { return options_; }
  FactTable& facts() { return facts_; }
  SymbolTable& symbols() { return symbols_; }
  Budget& budget() { return budget_; }
  Inference& result() { return result_; }
  // How many loops whose sizes change from trip to trip are being run.
  int& growing_loops() { return growing_loops_; }
  // How often it was not known which branch of an If runs.
  int64_t& undecided_branches() { return undecided_branches_; }
  // kNone where not reached.
  OptionalFactId& fact_of(ValueId value) { return values_[static_cast<size_t>(value)]; }

  absl::Status CheckWork() const { return budget_.CheckWork(symbols_.size()); }
  Facts FactsOf(absl::Span<const FactId> ids) const;
  CallId AddCall(Call call);
  void Warn(std::string warning);  // once
  // Limits the total content of facts; beyond it, this one loses its content, with a warning.
  void DropContentBeyondLimit(Fact* fact);
  // Adds file, node and inputs to an error of a rule, unless it already has them.
  absl::Status Explain(const absl::Status& local, NodeId node, int64_t opset,
                       const FactIds& inputs) const;
  // The facts, values, symbols and all that was added. This is over then.
  Inference Finish() &&;

 private:
  const ModelData& model_;
  const InferOptions& options_;
  Inference result_;
  FactTable facts_;
  SymbolTable symbols_;
  std::vector<OptionalFactId> values_;
  absl::flat_hash_set<std::string> warned_;
  int growing_loops_ = 0;
  int64_t undecided_branches_ = 0;
  Budget budget_;
};

// True for an error that already names its node.
bool IsExplained(const absl::Status& status);

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_SESSION_H_
