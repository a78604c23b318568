// The walk of saved.cc over a model, which finds what autograd saves for each node. Its parts:
//   saved_walk.cc       the order: graphs from the inside out, nodes in order, bodies
//   saved_value.cc      one value: its storage, constants, numbers, copies
//   saved_operator.cc   a node by the row of its operator (Gradient::keeps)
//   saved_call.cc       a node by its call of PyTorch, if a file names it
//   saved_attention.cc  attention: as PyTorch composes it, and as flash
//   saved_group.cc      several nodes: recomputed modules, calls of PyTorch
#ifndef ONNXFLOPS_SRC_MEMORY_SAVED_WALK_H_
#define ONNXFLOPS_SRC_MEMORY_SAVED_WALK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/call_patterns.h"
#include "ops/op_def.h"
#include "src/count/count_model.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/signature.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/memory/call_groups.h"
#include "src/memory/saved.h"
#include "src/memory/step_timeline.h"
#include "src/memory/storage.h"
#include "src/resolve/parameters.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/expr_sum.h"
#include "src/training/attention_pattern.h"
#include "src/training/backward.h"
#include "src/training/training_options.h"

namespace onnxflops::memory {

inline constexpr int kStatisticBytes = 4;  // of a normalization: float32 at least
inline constexpr int kPlaceBytes = 8;      // int64

// 0 if it is not a tensor of known size.
Expr SizeOf(const Fact& fact);

// What a run of a graph saves.
struct Kept {
  Expr bytes;
  std::vector<bool> inputs;       // by input of the graph: its caller's value is kept
  std::vector<Expr> input_bytes;  // the same: of those that are kept
  std::vector<bool> outputs;      // by output of the graph: `bytes` holds its storage
  std::vector<ValueId> captured;  // values of graphs around it
  int64_t unknown = 0;
};

class SavedWalk {
 public:
  SavedWalk(const Inference& inference, const Counts& counts, const TrainingOptions& options,
            const NeededGradients& nodes, const training::AttentionPatterns& patterns,
            std::vector<std::vector<size_t>> recomputed);
  absl::Status Run(TrainingMemory* memory);
  StepFacts TakeFacts();

 private:
  void WarnOfWritten(TrainingMemory* memory) const;
  std::string WarningOf(const Expr& bytes, absl::string_view what, const std::vector<NodeId>& nodes,
                        absl::string_view condition) const;
  void WarnOfInPlace(TrainingMemory* memory) const;
  Kept Walk(InstanceId id);
  void StartFacts(const CallGroups& groups);
  void NoteResult(ValueId value, size_t place);
  void More(const Expr& bytes) {
    more_.Add(bytes);
    if (kept_here_ != nullptr) kept_here_->more += bytes;
  }
  void RunNodes();
  void OwnWhatIsRepeated(const Node& node);
  Expr& Bytes(ValueId value) { return bytes_[static_cast<size_t>(value)]; }
  size_t PlaceOf(NodeId node) const { return places_.at(node); }
  CallId CallIdOf(const Node&) const { return static_cast<CallId>(call_ - in_.calls.data()); }
  void KeepBodies(const Node& node, CallId id);
  void KeepOfTrips(const Node& node, const Kept& kept, const Expr& trips, bool first);
  Kept Result();

  // ---- values
  bool IsOwn(ValueId value) const {
    const OptionalNodeId producer = model_.value(value).producer;
    return producer && &model_.graph(model_.node(*producer).graph) == graph_;
  }
  void Keep(ValueId value);
  absl::string_view LeftOutBefore(const Node& node) const;
  bool KeepMerged(ValueId value);
  bool KeepLeftOut(ValueId value);
  static bool IsNumber(const Fact* fact);
  bool IsStored(ValueId root) const;
  void KeepStoredPlaces(ValueId root);
  void KeepStoredMask(ValueId root);
  void KeepNumber(ValueId root);
  bool IsNamed(absl::string_view name) const;
  const absl::flat_hash_set<absl::string_view>& NamesOfCall() const;
  void KeepConstant(ValueId value);
  absl::string_view EqualConstant(absl::string_view name) const;
  void KeepAs(ValueId value, Shape shape, const std::vector<Expr>& strides, int axes);
  void KeepCopy(ValueId value, const Expr& bytes);
  bool IsWeight(ValueId value) const {
    return model_.value(storages_.Of(value).root).initializer.has_value();
  }
  void KeepOf(size_t place, ValueId value);
  ValueId BeforePromotion(ValueId value);

  // ---- nodes, by the rows of their operators
  void KeepFactor(const Node& node, size_t i, const std::vector<int>& ranks);
  void KeepOfBatch(ValueId value, const Fact& fact, int rank);
  bool HasWeight(const Node& node) const;
  const Fact* FactOfInput(const Node&, size_t i) const {
    return i < call_->inputs.size() ? &in_.fact(call_->inputs[i]) : nullptr;
  }
  void KeepNode(InstanceId id, size_t i);
  void NoteUnknown(NodeId node, const char* why = nullptr);
  bool IsConvolution(const Node& node) const;
  void KeepFactors(const Node& node, const std::string& needed);
  void KeepByRow(const Node& node, const std::string& needed, size_t place);
  Keeps KeepsOfExtreme(const Node& node, const Keeps& keeps);
  bool KeepOfEinsum(const Node& node, size_t i);
  bool AssignsToSlice(size_t i);
  bool KeepSumOfPlaces(const Node& node, ValueId value);
  bool IsSumOfPlaces(ValueId value) const;
  void KeepPlaces(size_t i);
  void KeepSteps(const Node& node);
  void KeepOfLikelihood(const Node& node, int size);
  void KeepMore(const Node& node, const Keeps& keeps);

  // ---- nodes, by their calls of PyTorch
  void NoteWhatIsOpen(const Node& node, size_t place);
  bool NoteLookup(const Node& node);
  bool KeepFirstState(const Node& node);
  void KeepLookups();
  void NoteMergedCalls();
  bool KeepOfPattern(const CallPattern& pattern, const Node& node, size_t place);
  bool NeedsGradient(ValueId value) const;
  void KeepCosine(const Node& node, size_t place);
  static bool IsOfClass(const Node& node, absl::string_view name);
  bool KeepOfAdaptivePool(const Node& node, absl::string_view call);
  bool KeepOfCall(const Node& node);
  std::optional<std::vector<ValueId>> ArgumentsOf(const exporter::FxKept& kept,
                                                  absl::string_view call) const;
  void KeepPlacesOfIndex(const std::vector<absl::string_view>& places);
  bool KeepPadded(const Node& node);
  bool KeepPaddedToSame(const Node& node);
  void NoteDropoutThatIsOff(const Node& node);
  void KeepFoldedNorm(const Node& node);
  void KeepComputedWeight(const Node& node, const std::string& needed);
  void KeepComputedScale(const Node& node);
  OptionalTensorId InitializerOf(OptionalValueId value) const;
  Expr NormsOf(const Node& node, const Tensor& weight) const;
  void KeepWeight(TensorId weight, bool is_kept, const Expr& numbers);

  // ---- attention
  OptionalValueId FlashQueries(NodeId id, const Call& call) const;
  Expr ScoresOf(const Node& node, const Census& forward) const;
  void KeepMask(const Node& node);
  bool KeepMathAttention(const Node& node);
  void KeepFlash(const training::AttentionPattern& pattern);
  static absl::string_view AttentionCall(const Node& node);
  void KeepMaskBeside(const training::AttentionPattern& pattern, const Node& scores);
  static bool HasMaskOfExport(absl::string_view call);
  ValueId BeforeRepeat(ValueId value) const;
  void KeepArgument(ValueId value, absl::string_view call, size_t i);
  ValueId BeforeCall(ValueId value, const Node& of) const;
  std::optional<size_t> ScaledInput(const Node& node, const Call& call) const;

  // ---- groups
  std::vector<bool> KeepGroups();
  void AddOutputs(size_t place, absl::btree_set<ValueId>* made) const;
  void AddMoves(const std::vector<size_t>& group, absl::btree_set<ValueId>* made) const;
  void KeepInputs(const Node& node, const absl::btree_set<ValueId>& made);
  void KeepOfDroppedGroups(InstanceId id);

  struct CallNames {
    NodeId node = -1;
    absl::flat_hash_set<absl::string_view> names;
    std::optional<absl::string_view> left_out;  // LeftOutBefore()
  };

  const Inference& in_;
  const ModelData& model_;
  const Counts& counts_;
  const NeededGradients& nodes_;
  const training::AttentionPatterns& patterns_;
  const bool flash_;
  const std::vector<std::vector<size_t>> recomputed_;
  Storages storages_;
  const std::vector<resolve::TensorRole> roles_;
  const exporter::Signature signature_;
  std::vector<Kept> kept_;   // by instance
  std::vector<Expr> bytes_;  // by value
  absl::flat_hash_map<NodeId, const training::AttentionPattern*> flash_inside_;
  absl::btree_set<NodeId> trained_;  // nodes through which gradients run
  absl::btree_set<NodeId> noted_;    // nodes whose saved tensors are unknown
  absl::btree_set<TensorId> constants_kept_, weights_kept_;
  ExprSum constants_;
  // The instance being walked.
  const Instance* instance_ = nullptr;
  const Graph* graph_ = nullptr;
  const CallGroups* groups_ = nullptr;
  const Call* call_ = nullptr;
  absl::flat_hash_map<NodeId, CallId> calls_;
  absl::flat_hash_map<NodeId, size_t> places_;
  absl::btree_set<absl::string_view> left_out_;
  absl::flat_hash_map<absl::string_view, ValueId> names_;  // if the file names calls
  absl::btree_set<ValueId> roots_, counted_inside_, unsized_, numbers_, summed_;
  absl::btree_set<std::pair<NodeId, ValueId>> copies_;
  absl::btree_map<ValueId, NodeId> merged_;  // results of merged equal calls, each with a reader
  // The current node's inputs that come from merged equal calls, with their names.
  absl::flat_hash_map<ValueId, absl::string_view> merged_names_;
  absl::btree_map<int32_t, std::pair<bool, bool>> dropped_;  // by group: inside, outside kept
  ExprSum more_;
  int64_t unknown_ = 0;
  bool guesses_ = false;  // some of the nodes that are not known are counted by a guess
  absl::string_view unknown_op_;
  OptionalNodeId unknown_node_;
  const char* unknown_why_ = nullptr;
  NodeId node_id_ = 0;                         // that is looked at
  mutable CallNames call_names_;               // of a node that was looked at
  bool is_of_parameters_ = false;              // constants of the node were parameters or buffers
  absl::flat_hash_map<ValueId, int> keepers_;  // by storage
  std::vector<NodeId> may_run_in_place_, may_be_written_;  // of the main graph
  // Folded rows of embeddings, by the module that reads them first.
  absl::btree_map<absl::string_view, std::vector<ValueId>> lookups_;
  absl::btree_set<ValueId> looked_up_;
  StepFacts facts_;
  KeptByNode* kept_here_ = nullptr;  // of the node that is looked at
};

}  // namespace onnxflops::memory

#endif  // ONNXFLOPS_SRC_MEMORY_SAVED_WALK_H_
