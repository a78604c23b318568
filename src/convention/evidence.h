// The input of a convention: the model, its facts and costs, which node runs in which module, and
// amounts, which are interned so that equal layers share them.
//
//   Evidence evidence(inference, counts);
//   for (const Entry& e : evidence.entries()) ...           // every node that runs, once per place
//   evidence.amount(evidence.Ours(Unit::kMac, {12}))        // what we count for entry 12
//
// An Evidence keeps references to the inference and the counts. Its non-const methods fill caches,
// so only one thread at a time may call them.
//
// The number of amounts is limited by kMaxAmountTerms and a limit per node. Beyond it status() is
// OutOfRange and new amounts are wrong: loops that make many must stop, and the results must not be
// used.
#ifndef ONNXFLOPS_SRC_CONVENTION_EVIDENCE_H_
#define ONNXFLOPS_SRC_CONVENTION_EVIDENCE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "src/convention/convention_info.h"
#include "src/convention/formula_facts.h"
#include "src/count/count_model.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/module/attribution.h"

namespace onnxflops::convention {

struct TorchTrace;

using Entry = modules::Execution;  // a line of a ledger covers some of these
using EntryId = int32_t;           // index in Evidence::entries()
using OptionalEntryId = OptionalId<struct EntryTag>;
using AmountId = int32_t;  // equal ids are equal amounts
inline constexpr AmountId kZero = 0;

// True for a FusedMatMul of a configuration: see Evidence::exported_node.
bool IsTiedProduct(const ModelData& model, const Node& node);

class Evidence {
 public:
  // `no_grad`: tools run under torch.no_grad(), not as their documents call them.
  Evidence(const Inference& inference, const Counts& counts, bool no_grad = false);

  // OutOfRange names the file and the limit.
  absl::Status status() const;
  bool exhausted() const { return terms_ > most_terms_; }

  bool no_grad() const { return no_grad_; }
  const Inference& inference() const { return inference_; }
  const Counts& counts() const { return counts_; }
  const ModelData& model() const { return *inference_.model; }
  const modules::ModulePaths& paths() const { return attribution_.paths; }

  // Every executed node, in order; bodies and functions are opened as far as the limits allow. An
  // entry with part kWhole includes its bodies.
  const std::vector<Entry>& entries() const { return attribution_.executions; }
  const Entry& entry(EntryId id) const { return entries()[static_cast<size_t>(id)]; }
  const Node& node(const Entry& entry) const { return model().node(entry.node); }
  // The same as an exporter writes it. The graph of a configuration has a FusedMatMul where the
  // output layer reads the table of tokens as it lies; files have a MatMul of the transposed table.
  Node exported_node(const Entry& entry) const;
  const Call& call(const Entry& entry) const { return inference_.call(entry.call()); }
  // True if nodes are in modules that the exporter made into functions.
  bool functions_are_modules() const { return attribution_.functions_are_modules; }
  // The call that a limit left closed; with its body it is one entry. kNone if there is none.
  OptionalNodeId not_opened() const { return attribution_.not_opened; }
  const std::string& not_opened_limit() const { return attribution_.not_opened_limit; }
  // How often the entry runs in one run of the model.
  const Expr& times(const Entry& entry) const {
    return attribution_.times[static_cast<size_t>(entry.times)];
  }
  // Fact of an input or output of an entry's call; Absent beyond the last.
  const Fact& Input(const Entry& entry, size_t i) const;
  const Fact& Output(const Entry& entry, size_t i) const;

  AmountId Intern(const Expr& amount);
  AmountId Scaled(AmountId id, int64_t factor);
  AmountId Doubled(AmountId id) { return Scaled(id, 2); }
  // Elements of a tensor in all runs of an entry; nullopt if its rank is unknown.
  std::optional<AmountId> Elements(const Fact& fact, const Entry& entry);
  const Expr& amount(AmountId id) const { return amounts_[static_cast<size_t>(id)]; }

  // Our count for all runs of an entry, or the sum over several entries.
  AmountId Ours(Unit unit, EntryId entry) const {
    return ours_[static_cast<size_t>(unit)][static_cast<size_t>(entry)];
  }
  AmountId Ours(Unit unit, absl::Span<const EntryId> entries);

  // The PyTorch calls that produced the nodes; made on first use.
  const TorchTrace& torch_trace();
  // Parameters for formulas over the whole model; made on first use.
  const FormulaFacts& formula_facts();

 private:
  void FindOurs();

  const Inference& inference_;
  const Counts& counts_;
  const bool no_grad_;
  const modules::Attribution attribution_;
  std::deque<Expr> amounts_;
  absl::flat_hash_map<Expr, AmountId> amount_ids_;
  const int64_t most_terms_;
  int64_t terms_ = 0;  // of all amounts that were made
  absl::flat_hash_map<std::pair<AmountId, int64_t>, AmountId> scaled_;
  absl::flat_hash_map<std::pair<const Fact*, int32_t>, AmountId> elements_;  // by fact and times
  std::array<std::vector<AmountId>, kNumUnits> ours_;                        // by EntryId
  absl::flat_hash_map<std::vector<AmountId>, AmountId> sums_;
  std::shared_ptr<const TorchTrace> torch_trace_;
  std::optional<FormulaFacts> formula_facts_;
};

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_EVIDENCE_H_
