#include "src/memory/saved.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/op_def.h"
#include "ops/rules.h"
#include "src/base/limit_error.h"
#include "src/base/status_macros.h"
#include "src/exporter/causal_mask.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/packed_projection.h"
#include "src/exporter/tensor_name.h"
#include "src/memory/call_groups.h"
#include "src/memory/einsum.h"
#include "src/memory/look_through.h"
#include "src/memory/step_timeline.h"
#include "src/memory/storage.h"
#include "src/memory/unsure.h"
#include "src/module/attribution.h"
#include "src/resolve/parameters.h"
#include "src/symbolic/expr_sum.h"
#include "src/symbolic/work.h"
#include "src/training/attention_pattern.h"
#include "src/training/backward.h"
#include "src/training/gradient_cost.h"
#include "src/training/recompute.h"
#include "src/training/trained.h"

namespace onnxflops {
namespace memory {
namespace {

constexpr size_t kStepsPerSavedNode = 40;
constexpr int kStatisticBytes = 4;  // of a normalization: float32 at least
constexpr int kPlaceBytes = 8;      // int64

Expr SizeOf(const Fact& fact) {
  absl::StatusOr<Expr> bytes = fact.is_tensor() ? BytesOf(fact) : absl::StatusOr<Expr>(Expr(0));
  return bytes.ok() ? *std::move(bytes) : Expr(0);
}

// What a run of a graph keeps.
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
            std::vector<std::vector<size_t>> recomputed)
      : in_(inference),
        model_(*inference.model),
        counts_(counts),
        nodes_(nodes),
        patterns_(patterns),
        flash_(options.attention == AttentionBackward::kFlash),
        recomputed_(std::move(recomputed)),
        storages_(inference),
        roles_(resolve::FindRoles(model_)),
        kept_(inference.instances.size()),
        bytes_(model_.values.size()) {
    for (const training::AttentionPattern& pattern : patterns_.patterns) {
      if (!nodes_.flash.contains(pattern.output)) continue;
      flash_inside_[pattern.scores] = flash_inside_[pattern.output] = &pattern;
      for (NodeId node : pattern.between) flash_inside_[node] = &pattern;
    }
  }

  absl::Status Run(TrainingMemory* memory) {
    const WorkLimit work(MaxSteps(model_, in_.limits));
    for (InstanceId id : in_.callees_first) {
      kept_[static_cast<size_t>(id)] = Walk(id);
      if (work.exceeded()) {
        return LimitError("steps-per-node", absl::StrCat("what backward keeps takes more than ",
                                                         MaxSteps(model_, in_.limits),
                                                         " steps of arithmetic (steps-per-node)"));
      }
    }
    memory->saved_bytes = kept_[0].bytes + constants_.Total();
    facts_.fixed = constants_.Total();
    memory->unknown = kept_[0].unknown;
    memory->unknown_op = unknown_op_;
    memory->unknown_node = unknown_node_;
    memory->unknown_why = unknown_why_;
    WarnOfInPlace(memory);
    WarnOfWritten(memory);
    ExprSum inputs;
    const Graph& graph = model_.graph(0);
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      if (!kept_[0].inputs[i] || model_.value(graph.inputs[i]).initializer) continue;
      if (const Fact* fact = in_.FactOf(graph.inputs[i])) inputs.Add(SizeOf(*fact));
    }
    memory->saved_input_bytes = inputs.Total();
    return absl::OkStatus();
  }

  // A class of the model's own that writes SiLU out has the nodes that nn.SiLU has.
  void WarnOfWritten(TrainingMemory* memory) const {
    ExprSum more;
    for (NodeId id : may_be_written_) {
      more.Add(bytes_[static_cast<size_t>(*model_.node(id).outputs[0])]);
    }
    const Expr bytes = more.Total();
    if (bytes.is_zero() || bytes.error() != nullptr) return;
    memory->warnings.push_back(
        WarningOf(bytes, "more", may_be_written_,
                  "are of a module that writes its activation out, as x * torch.sigmoid(x)"));
  }

  // "kept bytes are 768 less if 1 node, such as node '/a/LeakyRelu' (LeakyRelu), ..."
  std::string WarningOf(const Expr& bytes, absl::string_view what, const std::vector<NodeId>& nodes,
                        absl::string_view condition) const {
    return absl::StrCat(
        "kept bytes are ", bytes.is_literal() ? absl::StrCat(bytes.ToString(), " ") : "", what,
        " if ", nodes.size(), nodes.size() == 1 ? " node" : " nodes", ", such as ",
        DescribeNode(model_, nodes.front()), ", ", condition, ", which no file tells");
  }

  // nn.LeakyReLU(inplace=True) and the like keep what they give, which what follows keeps anyway.
  void WarnOfInPlace(TrainingMemory* memory) const {
    absl::flat_hash_map<ValueId, int> readers;
    for (NodeId id : model_.graph(0).nodes) {
      for (OptionalValueId value : model_.node(id).inputs) {
        if (value) ++readers[*value];
      }
    }
    ExprSum less;
    std::vector<NodeId> nodes;
    for (NodeId id : may_run_in_place_) {
      const ValueId x = *model_.node(id).inputs[0], y = *model_.node(id).outputs[0];
      const bool is_own = storages_.Of(x).root == x && model_.value(x).producer;
      const auto keepers = keepers_.find(x);
      const bool alone = readers[x] == 1 && keepers != keepers_.end() && keepers->second == 1;
      if (!is_own || !alone || !keepers_.contains(storages_.Of(y).root)) continue;
      less.Add(bytes_[static_cast<size_t>(x)]);
      nodes.push_back(id);
    }
    const Expr bytes = less.Total();
    if (nodes.empty() || bytes.is_zero() || bytes.error() != nullptr) return;
    memory->warnings.push_back(WarningOf(bytes, "less", nodes, "run in place (inplace=True)"));
  }

  // Of the main graph. REQUIRES: Run(); nothing runs again.
  StepFacts TakeFacts() {
    facts_.root.resize(model_.values.size());
    for (size_t v = 0; v < facts_.root.size(); ++v) {
      facts_.root[v] = storages_.Of(static_cast<ValueId>(v)).root;
    }
    return std::move(facts_);
  }

 private:
  Kept Walk(InstanceId id) {
    const Instance& instance = in_.instance(id);
    const Graph& graph = model_.graph(instance.graph);
    const CallGroups groups(in_, instance);
    groups_ = &groups;
    instance_ = &instance;
    graph_ = &graph;
    calls_.clear();
    places_.clear();
    roots_.clear();
    copies_.clear();
    names_.clear();
    left_out_.clear();
    dropped_.clear();
    counted_inside_.clear();
    merged_.clear();
    more_ = ExprSum();
    unknown_ = 0;
    storages_.Enter(graph);
    if (id == 0) StartFacts(groups);
    noted_.clear();
    trained_.clear();
    numbers_.clear();
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (nodes_.needed.contains({id, static_cast<int32_t>(i)})) trained_.insert(graph.nodes[i]);
    }
    RunNodes();
    if (groups.StateCalls()) {
      for (ValueId value : graph.inputs) names_[model_.value(value).name] = value;
    }
    const std::vector<bool> skipped = id == 0 ? KeepGroups() : std::vector<bool>();
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = model_.node(graph.nodes[i]);
      SpendSteps(kStepsPerSavedNode + node.inputs.size() + node.outputs.size());
      if (!skipped.empty() && skipped[i]) continue;
      kept_here_ = id == 0 ? &facts_.kept[i] : nullptr;
      KeepNode(id, i);
    }
    KeepOfDroppedGroups(id);
    for (const auto& [value, node] : merged_) {
      const bool is_kept =
          roots_.contains(value) || trained_.contains(*model_.value(value).producer);
      if (is_kept) NoteUnknown(node, kMerged);
    }
    return Result();
  }

  void StartFacts(const CallGroups& groups) {
    facts_.kept.assign(graph_->nodes.size(), {});
    facts_.inner.assign(model_.values.size(), false);
    for (size_t i = 0; i < graph_->nodes.size(); ++i) {
      facts_.group.push_back(groups.Of(i));
      for (OptionalValueId value : model_.node(graph_->nodes[i]).outputs) {
        if (value) facts_.inner[static_cast<size_t>(*value)] = groups.IsInner(*value);
      }
    }
  }

  void More(const Expr& bytes) {
    more_.Add(bytes);
    if (kept_here_ != nullptr) kept_here_->more += bytes;
  }

  void RunNodes() {
    for (size_t i = 0; i < graph_->nodes.size(); ++i) {
      const NodeId id = graph_->nodes[i];
      const Call& call = in_.call(instance_->calls[i]);
      calls_[id] = instance_->calls[i];
      places_[id] = i;
      storages_.Run(model_.node(id), call, FlashQueries(id, call));
      OwnWhatIsRepeated(model_.node(id));
      const CallPattern* pattern = groups_->PatternOf(i);
      if (pattern != nullptr && pattern->keeps == CallPattern::Keeps::kGuard &&
          groups_->IsLast(i)) {
        storages_.Alias(*model_.node(id).outputs[0], groups_->InputOf(i));
      }
      const Node& node = model_.node(id);
      for (size_t j = 0; j < node.inputs.size() && j < call.inputs.size(); ++j) {
        if (node.inputs[j] && !model_.value(*node.inputs[j]).producer) {
          Bytes(*node.inputs[j]) = SizeOf(in_.fact(call.inputs[j]));
        }
      }
      for (size_t j = 0; j < node.outputs.size() && j < call.outputs.size(); ++j) {
        if (!node.outputs[j]) continue;
        if (groups_->StateCalls()) names_[model_.value(*node.outputs[j]).name] = *node.outputs[j];
        const Fact& fact = in_.fact(call.outputs[j]);
        Bytes(*node.outputs[j]) = SizeOf(fact);
        if (!fact.is_tensor() || !BytesOf(fact).ok()) unsized_.insert(*node.outputs[j]);
      }
    }
  }

  void OwnWhatIsRepeated(const Node& node) {
    const auto text = exporter::NodeMetadata(node.metadata).fx_node;
    if (!text || !node.output(0) || !exporter::Repeats(*text)) return;
    if (!groups_->IsInner(*node.outputs[0])) storages_.Own(*node.outputs[0]);
  }

  // Of a node that gives the output of attention taken as flash.
  OptionalValueId FlashQueries(NodeId id, const Call& call) const {
    const auto flash = flash_inside_.find(id);
    if (flash == flash_inside_.end()) {
      const bool is_attention = call.def != nullptr && call.def->gradient.keeps.scores;
      return flash_ && is_attention ? model_.node(id).input(0) : kNone;
    }
    if (flash->second->output != id) return kNone;
    const Node& scores = model_.node(flash->second->scores);
    const OptionalNodeId maker = model_.value(*scores.inputs[0]).producer;
    if (!maker || !IsOwn(*scores.inputs[0])) return scores.inputs[0];
    const Node& last = model_.node(*maker);
    const std::optional<size_t> scaled = ScaledInput(last, in_.call(calls_.at(*maker)));
    return scaled ? last.inputs[*scaled] : scores.inputs[0];
  }

  Expr& Bytes(ValueId value) { return bytes_[static_cast<size_t>(value)]; }

  // ---- values

  bool IsOwn(ValueId value) const {
    const OptionalNodeId producer = model_.value(value).producer;
    return producer && &model_.graph(model_.node(*producer).graph) == graph_;
  }

  void Keep(ValueId value) {
    if (KeepLeftOut(value)) return;
    const ValueId root = storages_.Of(value).root;
    if (IsNumber(in_.FactOf(root))) return KeepNumber(root);
    if (model_.value(root).initializer) {
      KeepConstant(root);
    } else if (!groups_->StateCalls() && IsStored(root)) {
      NoteUnknown(node_id_, kBufferOrMade);
    } else {
      if (roots_.insert(root).second && unsized_.contains(root)) NoteUnknown(node_id_);
      if (kept_here_ != nullptr) kept_here_->roots.push_back(root);
      ++keepers_[root];
    }
  }

  // What a call names and no node makes: a product or sum that the exporter left out, as one
  // with 1. Empty if all is there, and of what its optimizer made of several calls.
  absl::string_view LeftOutBefore(const Node& node) const {
    const exporter::NodeMetadata metadata(node.metadata);
    if (!metadata.fx_node || metadata.rewriter_rule) return {};
    absl::string_view left_out;
    int unnamed = 0;
    const std::vector<absl::string_view> names = exporter::FxNames(*metadata.fx_node);
    for (absl::string_view name : names) {
      if (names_.contains(name) || !exporter::IsArithmeticName(name)) continue;
      if (!left_out.empty()) return {};
      left_out = name;
    }
    for (OptionalValueId input : node.inputs) {
      if (!input || !IsOwn(*input) || left_out.empty()) continue;
      const absl::string_view name = model_.value(*input).name;
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      ++unnamed;
      // Equal calls, of which one is left, or another node of the same call.
      const auto maker =
          exporter::NodeMetadata(model_.node(*model_.value(*input).producer).metadata).fx_node;
      const bool is_alike =
          exporter::SplitFxName(name).first == exporter::SplitFxName(left_out).first;
      if (is_alike || maker == metadata.fx_node) return {};
    }
    return unnamed == 1 ? left_out : absl::string_view();
  }

  // Such a value is in its own memory.
  bool KeepLeftOut(ValueId value) {
    if (!groups_->StateCalls() || !IsOwn(value) || IsNamed(model_.value(value).name)) return false;
    const absl::string_view left_out = LeftOutBefore(model_.node(node_id_));
    if (left_out.empty()) return false;
    const Fact* fact = in_.FactOf(value);
    if (fact != nullptr && left_out_.insert(left_out).second) More(SizeOf(*fact));
    return true;
  }

  // Python's numbers are constants of one element in a file, or made of shapes, and no tensors in
  // PyTorch.
  static bool IsNumber(const Fact* fact) {
    return fact != nullptr && (fact->constant || fact->from_shapes) && fact->is_tensor() &&
           fact->shape.ranked() && Expr(1).AtLeast(fact->shape.NumElements());
  }

  // A constant, where the exporter writes those as nodes.
  bool IsStored(ValueId root) const {
    if (!IsOwn(root)) return false;
    const OpDef* def = in_.call(calls_.at(*model_.value(root).producer)).def;
    return def != nullptr && Has(def->traits, Traits::kStored);
  }

  // Of a parameter of one number, what an operator made of it is a tensor.
  void KeepNumber(ValueId root) {
    const Value& value = model_.value(root);
    const bool is_folded = value.initializer && exporter::IsScalarParameter(value.name) &&
                           exporter::IsFoldedName(value.name);
    const bool is_tensor = call_->def != nullptr && call_->def->gradient.keeps.numbers &&
                           IsNamed(value.name) && !groups_->IsJoined(PlaceOf(node_id_));
    if (is_folded || is_tensor || (IsOwn(root) && trained_.contains(*value.producer))) {
      if (numbers_.insert(root).second) More(SizeOf(*in_.FactOf(root)));
    }
  }

  // By the call that is looked at, where the file states calls.
  bool IsNamed(absl::string_view name) const {
    const auto text = exporter::NodeMetadata(model_.node(node_id_).metadata).fx_node;
    if (!text) return true;
    const std::vector<absl::string_view> names = exporter::FxNames(*text);
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  // What PyTorch computed and the exporter folded: tables of angles, masks. Numbers are no tensors.
  // What a call of several nodes reads, or a call that names a buffer, was a parameter or buffer.
  void KeepConstant(ValueId value) {
    const TensorId id = *model_.value(value).initializer;
    const Tensor& tensor = model_.tensor(id);
    if (roles_[static_cast<size_t>(id)] != resolve::TensorRole::kConstant) return;
    if (!IsFloat(tensor.dtype) && tensor.dtype != DType::kBool) return;
    if (tensor.elements <= 1 || is_of_parameters_) return;
    if (!groups_->StateCalls() || exporter::IsFoldedView(tensor.name)) {
      return NoteUnknown(node_id_, kBufferOrMade);
    }
    if (constants_kept_.insert(id).second) {
      constants_.Add(CeilDiv(Expr(tensor.elements) * BitsPerElement(tensor.dtype), 8));
    }
  }

  // A factor of a contraction. One that PyTorch cannot look at as it needs it is copied.
  void KeepFactor(const Node& node, size_t i, const std::vector<int>& ranks) {
    const ValueId value = *node.inputs[i];
    const Fact* fact = FactOfInput(node, i);
    const ValueId root = storages_.Of(value).root;
    if (fact == nullptr || ranks[i] < 3) return Keep(value);
    const int least = *std::min_element(ranks.begin(), ranks.end());
    if (call_->def->gradient.keeps.batched && least > 2) return KeepOfBatch(value, *fact, ranks[i]);
    if (model_.value(root).initializer) return Keep(value);
    if (HasWeight(node) && least > 2) return Keep(value);  // a convolution
    Shape shape = fact->shape;
    std::vector<Expr> strides = storages_.Of(value).strides;
    if (least <= 2 && i == 1) {  // a matrix times it: its lines are its columns
      if (strides.empty()) strides = StridesInOrder(shape);
      std::swap(shape[shape.rank() - 2], shape[shape.rank() - 1]);
      std::swap(strides[strides.size() - 2], strides[strides.size() - 1]);
    }
    KeepAs(value, std::move(shape), strides, ranks[i] - (least <= 2 ? 1 : 2));
  }

  // torch.matmul spreads both factors to the sizes of the batch, and has them as one list of
  // matrices.
  void KeepOfBatch(ValueId value, const Fact& fact, int rank) {
    const Fact& made = in_.fact(call_->outputs[0]);
    if (!made.is_tensor() || !made.shape.ranked() || made.shape.rank() < rank) return Keep(value);
    const int more = made.shape.rank() - rank;
    std::vector<Expr> strides = storages_.Of(value).strides;
    if (strides.empty()) strides = StridesInOrder(fact.shape);
    Shape shape;
    std::vector<Expr> spread;
    for (int d = 0; d < made.shape.rank(); ++d) {
      const bool in_batch = d < made.shape.rank() - 2;
      const bool is_new =
          d < more || (in_batch && fact.shape[d - more] == Expr(1) && made.shape[d] != Expr(1));
      shape.push_back(in_batch ? made.shape[d] : fact.shape[d - more]);
      spread.push_back(is_new ? Expr(0) : strides[static_cast<size_t>(d - more)]);
    }
    const int batch = shape.rank() - 2;
    KeepAs(value, std::move(shape), spread, batch);
  }

  // With the first axes as one.
  void KeepAs(ValueId value, Shape shape, const std::vector<Expr>& strides, int axes) {
    Shape as_needed = {shape.Product(0, axes)};
    for (int d = axes; d < shape.rank(); ++d) as_needed.push_back(shape[d]);
    if (strides.empty() || ViewStrides(shape, strides, as_needed)) return Keep(value);
    const DType type = in_.FactOf(value) == nullptr ? DType::kFloat32 : in_.FactOf(value)->dtype;
    KeepCopy(value, SizeOf(Fact::Tensor(type, std::move(shape))));
  }

  // Each call copies for itself.
  void KeepCopy(ValueId value, const Expr& bytes) {
    if (copies_.insert({node_id_, value}).second) More(bytes);
  }

  bool HasWeight(const Node& node) const {
    const uint32_t products = call_->def->gradient.products;
    for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
      if ((products >> i & 1) != 0 && node.inputs[i] && IsWeight(*node.inputs[i])) return true;
    }
    return false;
  }

  const Fact* FactOfInput(const Node&, size_t i) const {
    return i < call_->inputs.size() ? &in_.fact(call_->inputs[i]) : nullptr;
  }

  // ---- nodes

  void KeepNode(InstanceId id, size_t i) {
    const NodeId node_id = node_id_ = graph_->nodes[i];
    const Node& node = model_.node(node_id);
    call_ = &in_.call(instance_->calls[i]);
    if (!call_->bodies.empty()) {
      KeepBodies(node, instance_->calls[i]);
      if (call_->def == nullptr || call_->def->control_flow != ControlFlow::kNone) return;
    }
    const auto needed = nodes_.needed.find({id, static_cast<int32_t>(i)});
    if (call_->def != nullptr && call_->def->gradient.keeps.noise) NoteDropoutThatIsOff(node);
    if (needed == nodes_.needed.end()) return;
    if (const auto flash = flash_inside_.find(node_id); flash != flash_inside_.end()) {
      if (flash->second->output == node_id) KeepFlash(*flash->second);
      return;
    }
    const CallPattern* pattern = groups_->PatternOf(i);
    if (pattern != nullptr && KeepOfPattern(*pattern, node, i)) return;
    if (KeepOfCall(node)) return;
    if (call_->def == nullptr || !training::GradientCosts::SavesKnown(*call_->def)) {
      return NoteUnknown(node_id);
    }
    NoteWhatIsOpen(node, i);
    const exporter::NodeMetadata metadata(node.metadata);
    is_of_parameters_ =
        groups_->IsJoined(i) ||
        (metadata.fx_node && absl::StrContains(*metadata.fx_node, exporter::kFxBuffer));
    if (!KeepPadded(node, needed->second)) KeepFactors(node, needed->second);
    KeepByRow(node, needed->second, i);
    is_of_parameters_ = false;
  }

  void NoteUnknown(NodeId node, const char* why = nullptr) {
    if (noted_.insert(node).second) ++unknown_;
    const OpDef* def = in_.call(calls_.at(node)).def;
    if (def == nullptr || def->user_rule != nullptr) return;
    unknown_op_ = def->name;
    unknown_node_ = node;
    unknown_why_ = why;
  }

  // What the exporter folded or merged.
  void NoteWhatIsOpen(const Node& node, size_t place) {
    const char* why =
        groups_->IsJoined(place) ? nullptr : WhyFoldedKeepsMore(in_, storages_, node, *call_);
    if (why != nullptr) NoteUnknown(node_id_, why);
    if (!groups_->StateCalls()) return;
    if (exporter::IsProductName(LeftOutBefore(node))) NoteUnknown(node_id_, kLeftOut);
    for (OptionalValueId value : node.inputs) {
      if (!value || storages_.Of(*value).root != *value) continue;
      if (ReadsMergedCall(model_, node, *value)) merged_.emplace(*value, node_id_);
    }
  }

  // Whether that is all that the node keeps.
  bool KeepOfPattern(const CallPattern& pattern, const Node& node, size_t place) {
    if (groups_->IsLast(place)) {
      if (pattern.more != nullptr) NoteUnknown(node_id_, pattern.more);
      const bool by_hand = pattern.by_hand != nullptr && !groups_->IsModule(place);
      if (by_hand) NoteUnknown(node_id_, pattern.by_hand);
      const bool may_be = pattern.by_hand != nullptr && !by_hand && kept_here_ != nullptr;
      if (may_be) may_be_written_.push_back(node_id_);
    }
    switch (pattern.keeps) {
      case CallPattern::Keeps::kInputs:
      case CallPattern::Keeps::kWritten:
        return false;
      case CallPattern::Keeps::kBoth:
        if (groups_->IsLast(place)) {
          Keep(groups_->InputOf(place));
          Keep(*node.outputs[0]);
        }
        return true;
      case CallPattern::Keeps::kNothing:
      case CallPattern::Keeps::kGuard:
        return true;
      case CallPattern::Keeps::kResult:
        if (groups_->IsLast(place)) Keep(*node.outputs[0]);
        return true;
      case CallPattern::Keeps::kRows:
        if (groups_->IsLast(place)) {
          Keep(groups_->InputOf(place));
          More(Bytes(groups_->RowsOf(place)) * 2);
        }
        return true;
    }
    return false;
  }

  // The same by the call that the node states, if it is one of those that the exporter makes of
  // operators which keep something else.
  bool KeepOfCall(const Node& node) {
    const auto text = exporter::NodeMetadata(node.metadata).fx_node;
    if (!text) return false;
    const bool is_result = node.output(0) && !groups_->IsInner(*node.outputs[0]);
    if (exporter::KeepsItsResult(*text)) {
      if (is_result) Keep(*node.outputs[0]);
      return true;
    }
    if (exporter::KeepsFirstArgument(*text)) {
      const auto value = names_.find(exporter::FxValueName(exporter::ParseFxArgs(*text).Arg(0)));
      if (value == names_.end()) return false;
      if (is_result) Keep(value->second);
      return true;
    }
    if (const auto places = exporter::PlacesOfIndex(*text); !places.empty()) {
      if (is_result) KeepPlacesOfIndex(places);
      return true;
    }
    if (const auto places = exporter::PlacesOfAddition(*text); !places.empty()) {
      const auto added = names_.find(exporter::FxValueName(exporter::ParseFxArgs(*text).Arg(2)));
      constexpr size_t kUpdates = 2;
      if (is_result) KeepPlacesOfIndex(places);
      if (added != names_.end()) {
        if (is_result) Keep(added->second);
      } else if (node.input(kUpdates)) {  // without a name of its own
        Keep(*node.inputs[kUpdates]);
      }
      return true;
    }
    if (!exporter::KeepsItsInputs(*text)) return false;
    for (OptionalValueId value : node.inputs) {
      if (!value || model_.value(storages_.Of(*value).root).initializer) continue;
      const OptionalNodeId maker = model_.value(*value).producer;
      const auto other = maker ? exporter::NodeMetadata(model_.node(*maker).metadata).fx_node
                               : std::optional<absl::string_view>();
      if (other != text) Keep(*value);
    }
    return true;
  }

  // Of those that the exporter computed, an arange is known by its rows.
  void KeepPlacesOfIndex(const std::vector<absl::string_view>& places) {
    const CallGroups& groups = *groups_;
    const int32_t group = groups.Of(PlaceOf(node_id_));
    bool is_open = false, has_arange = false;
    for (absl::string_view name : places) {
      const auto value = names_.find(name);
      if (value != names_.end()) {
        Keep(value->second);
        is_open |= in_.FactOf(value->second) != nullptr &&
                   in_.FactOf(value->second)->dtype == DType::kBool;
      } else if (exporter::SplitFxName(name).first == "arange" && !has_arange) {
        has_arange = true;
      } else {
        is_open |= !exporter::IsFxPlaceholder(name);
      }
    }
    for (size_t i = 0; has_arange && i < graph_->nodes.size(); ++i) {
      if (groups.Of(i) != group) continue;
      for (FactId id : in_.call(instance_->calls[i]).inputs) {
        const Fact& fact = in_.fact(id);
        const bool is_part = fact.constant && fact.is_tensor() && fact.dtype == DType::kInt64 &&
                             fact.shape.ranked() && fact.shape.rank() >= 2;
        if (is_part) More(SizeOf(fact));
      }
    }
    if (is_open) NoteUnknown(node_id_, kPlaces);
  }

  // A convolution keeps what was padded before it, where the exporter made one of both.
  bool KeepPadded(const Node& node, const std::string& needed) {
    const auto text = exporter::NodeMetadata(node.metadata).fx_node;
    if (!text || !exporter::ReadsPadded(*text) || needed.size() < 2 || needed[1] == 0) return false;
    constexpr size_t kOwnPadding = 4;
    const Fact& x = in_.fact(call_->inputs[0]);
    const Attribute* pads = node.FindAttribute("pads");
    const bool has_own = !exporter::ParseFxArgs(*text).Arg(kOwnPadding).empty();
    const int axes = x.is_tensor() && x.shape.ranked() ? x.shape.rank() - 2 : 0;
    const bool fits = pads != nullptr && static_cast<int>(pads->ints.size()) == 2 * axes;
    if (has_own || axes < 1 || !fits) {
      NoteUnknown(node_id_, kPadded);
      return false;
    }
    Shape padded = {x.shape[0], x.shape[1]};
    for (int d = 0; d < axes; ++d) {
      const auto i = static_cast<size_t>(d);
      padded.push_back(x.shape[d + 2] + pads->ints[i] + pads->ints[i + static_cast<size_t>(axes)]);
    }
    KeepCopy(*node.inputs[0], SizeOf(Fact::Tensor(x.dtype, std::move(padded))));
    return true;
  }

  void KeepFactors(const Node& node, const std::string& needed) {
    const uint32_t products = call_->def->gradient.products;
    std::vector<int> ranks(node.inputs.size(), kMaxRank);
    for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
      const Fact* fact = FactOfInput(node, i);
      const bool ranked = fact != nullptr && fact->is_tensor() && fact->shape.ranked();
      if ((products >> i & 1) != 0) ranks[i] = ranked ? fact->shape.rank() : 0;
    }
    for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
      if ((products >> i & 1) == 0 || needed[i] == 0) continue;
      for (size_t j = 0; j < node.inputs.size() && j < 32; ++j) {
        if (j != i && (products >> j & 1) != 0 && node.inputs[j]) KeepFactor(node, j, ranks);
      }
    }
  }

  bool IsWeight(ValueId value) const {
    return model_.value(storages_.Of(value).root).initializer.has_value();
  }

  // A value that is only inside of a call of PyTorch is not kept.
  void KeepOf(size_t place, ValueId value) {
    const int32_t group = groups_->Of(place);
    const ValueId root = storages_.Of(value).root;
    if (!groups_->IsInner(root)) {
      const bool is_activation = !model_.value(root).initializer && !IsNumber(in_.FactOf(root));
      if (group >= 0 && is_activation) dropped_[group].second = true;
      return Keep(value);
    }
    dropped_[group].first = true;
  }

  void KeepByRow(const Node& node, const std::string& needed, size_t place) {
    Keeps keeps = call_->def->gradient.keeps;
    const exporter::NodeMetadata metadata(node.metadata);
    if (metadata.fx_node && exporter::GivesPlaces(*metadata.fx_node)) keeps = {.places = true};
    if (keeps.extreme && !metadata.fx_node) {
      keeps = {};
      NoteUnknown(node_id_, kMaxOrAmax);
    } else if (keeps.extreme && exporter::MayBePool(*metadata.fx_node)) {
      NoteUnknown(node_id_, kMayBePool);
    }
    const bool gives_result = node.output(0) && !groups_->IsInner(*node.outputs[0]);
    if (gives_result && metadata.fx_node && exporter::KeepsOfItsOwn(*metadata.fx_node)) {
      NoteUnknown(node_id_, kOwnKernel);
    }
    if (keeps.composed) {
      const Fact& made = in_.fact(call_->outputs[0]);
      if (needed.size() > 1 && needed[1] != 0) More(SizeOf(made));
      if (needed[0] == 0) return;
    }
    if (keeps.scores && !flash_ && KeepMathAttention(node)) keeps = {.scores = true};
    const bool contracts_more = node.FindAttribute("equation") != nullptr && needed.size() > 2;
    if (contracts_more) NoteUnknown(node_id_, kContraction);
    if (keeps.at_least) NoteUnknown(node_id_);
    for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
      if (!node.inputs[i]) continue;
      bool others_need = false;
      for (size_t j = 0; j < needed.size(); ++j) others_need |= j != i && needed[j] != 0;
      if ((keeps.inputs >> i & 1) != 0 || (keeps.crosswise && others_need)) {
        if (KeepSumOfPlaces(*node.inputs[i]) || KeepOfEinsum(node, i)) continue;
        KeepOf(place, BeforePromotion(*node.inputs[i]));
        if (metadata.fx_node && exporter::ReadsArange(*metadata.fx_node)) KeepPlaces(i);
      }
    }
    for (size_t j = 0; j < node.outputs.size() && j < 32; ++j) {
      if ((keeps.outputs >> j & 1) != 0 && node.outputs[j]) KeepOf(place, *node.outputs[j]);
    }
    const Attribute* mode = keeps.other_modes ? node.FindAttribute("mode") : nullptr;
    if (mode != nullptr && (mode->s == "reflect" || mode->s == "edge")) {
      KeepOf(place, *node.inputs[0]);
    }
    if (keeps.exponent && needed.size() > 1 && needed[1] != 0) {
      KeepOf(place, *node.inputs[1]);
      if (node.outputs[0]) KeepOf(place, *node.outputs[0]);
    }
    if (keeps.steps) KeepSteps(node);
    if (keeps.in_place && kept_here_ != nullptr) may_run_in_place_.push_back(node_id_);
    KeepMore(node, keeps);
    KeepFoldedNorm(node);
  }

  // A factor of an einsum that is one product: copied where its axes cannot be joined as they lie.
  bool KeepOfEinsum(const Node& node, size_t i) {
    const Attribute* equation = node.FindAttribute("equation");
    if (equation == nullptr || call_->inputs.size() != 2) return false;
    const Fact& a = in_.fact(call_->inputs[0]);
    const Fact& b = in_.fact(call_->inputs[1]);
    if (!a.is_tensor() || !b.is_tensor() || !a.shape.ranked() || !b.shape.ranked()) return false;
    const auto product = ProductOfEinsum(equation->s, a.shape, b.shape);
    if (!product) return false;
    const Shape& from = i == 0 ? a.shape : b.shape;
    std::vector<Expr> strides = storages_.Of(*node.inputs[i]).strides;
    if (strides.empty()) strides = StridesInOrder(from);
    Shape shape, as_needed;
    std::vector<Expr> moved;
    for (const std::vector<int>& axes : product->factors[i]) {
      Expr size = 1;
      for (int axis : axes) {
        size *= from[axis];
        shape.push_back(from[axis]);
        moved.push_back(strides[static_cast<size_t>(axis)]);
      }
      as_needed.push_back(std::move(size));
    }
    if (moved.empty() || ViewStrides(shape, moved, as_needed)) {
      Keep(*node.inputs[i]);
    } else {
      KeepCopy(*node.inputs[i], SizeOf(i == 0 ? a : b));
    }
    return true;
  }

  // TorchScript takes elements by several tensors of places as by one, of sums of their products
  // with sizes. PyTorch keeps each.
  bool KeepSumOfPlaces(ValueId value) {
    if (groups_->StateCalls() || !IsSumOfPlaces(value)) return false;
    std::vector<ValueId> open = {value};
    while (!open.empty()) {
      const ValueId at = open.back();
      open.pop_back();
      const Fact* fact = in_.FactOf(at);
      if (IsSumOfPlaces(at)) {
        for (OptionalValueId input : model_.node(*model_.value(at).producer).inputs) {
          if (input) open.push_back(*input);
        }
      } else if (fact != nullptr && fact->is_tensor() && !IsNumber(fact)) {
        if (fact->constant || fact->from_shapes) {
          More(SizeOf(*fact));
        } else {
          Keep(at);
        }
      }
    }
    return true;
  }

  bool IsSumOfPlaces(ValueId value) const {
    if (!IsOwn(value)) return false;
    const Call& run = in_.call(calls_.at(*model_.value(value).producer));
    const bool is_sum = run.def != nullptr && run.def->gradient.broadcast &&
                        run.def->count != nullptr && !run.outputs.empty();
    if (!is_sum) return false;
    const Fact& made = in_.fact(run.outputs[0]);
    return made.is_tensor() && made.dtype == DType::kInt64 && made.shape.ranked() &&
           made.shape.rank() > 0;
  }

  // Exported as it runs in evaluation.
  void NoteDropoutThatIsOff(const Node& node) {
    constexpr size_t kRatio = 1, kMode = 2;
    if (node.input(kMode) || !node.input(kRatio) || !node.input(0)) return;
    const OptionalNodeId maker = model_.value(*node.inputs[0]).producer;
    if (!maker || !trained_.contains(*maker)) return;
    const Fact& ratio = in_.fact(call_->inputs[kRatio]);
    const bool is_zero = ratio.has_content() && !ratio.content->empty() &&
                         (*ratio.content)[0].is_float() && (*ratio.content)[0].f == 0;
    if (!is_zero) NoteUnknown(node_id_, kDropoutOff);
  }

  // Operands that PyTorch itself casts are kept as they were. TorchScript does not tell such casts
  // of a mask from those of the module.
  ValueId BeforePromotion(ValueId value) {
    if (!IsOwn(value)) return value;
    const NodeId maker = *model_.value(value).producer;
    const Node& node = model_.node(maker);
    const Call& run = in_.call(calls_.at(maker));
    if (run.def == nullptr || !Has(run.def->traits, Traits::kCasts) || !node.input(0)) return value;
    const bool to_float = IsFloat(in_.fact(run.outputs[0]).dtype);
    if (!to_float || in_.fact(run.inputs[0]).dtype != DType::kBool) return value;
    const std::optional<absl::string_view> text = exporter::NodeMetadata(node.metadata).fx_node;
    if (!text) NoteUnknown(node_id_, kMaskOrCast);
    return !text || exporter::IsPromotion(*text) ? *node.inputs[0] : value;
  }

  // Places that the exporter folded.
  void KeepPlaces(size_t i) {
    const Fact& places = in_.fact(call_->inputs[i]);
    if (places.constant && places.is_tensor() && !IsFloat(places.dtype)) More(SizeOf(places));
  }

  // The exporter folded a BatchNorm into the convolution. It is there in training: it keeps what
  // the convolution gives, and mean and deviation of each channel. TorchScript then names weight
  // and bias anew.
  void KeepFoldedNorm(const Node& node) {
    const auto is_renamed = [&](size_t i) {
      return node.input(i) &&
             exporter::IsRenamedFor(node.op_type, model_.value(*node.input(i)).name);
    };
    const bool is_fused = exporter::NodeMetadata(node.metadata).IsFusedBatchNorm();
    if (call_->def->gradient.products == 0 || call_->def->gradient.keeps.batched) return;
    if (is_renamed(1) && !is_renamed(2)) NoteUnknown(node_id_, kComputedWeight);
    if (!is_fused && !(is_renamed(1) && is_renamed(2))) return;
    const Fact& made = in_.fact(call_->outputs[0]);
    if (!made.is_tensor() || !made.shape.ranked() || made.shape.rank() < 2) return;
    More(SizeOf(made) + made.shape[1] * (2 * kStatisticBytes));
  }

  // As PyTorch's CPU runs a plain recurrent layer: the input as one matrix, and states.
  void KeepSteps(const Node& node) {
    constexpr size_t kState = 5;
    const Fact& x = in_.fact(call_->inputs[0]);
    if (x.is_tensor() && x.shape.ranked() && x.shape.rank() == 3) {
      KeepAs(*node.inputs[0], x.shape, storages_.Of(*node.inputs[0]).strides, 2);
    }
    More(SizeOf(in_.fact(call_->outputs[0])));
    if (node.input(kState)) {
      More(SizeOf(in_.fact(call_->inputs[kState])));
    } else if (call_->outputs.size() > 1) {
      More(SizeOf(in_.fact(call_->outputs[1])));
    }
  }

  // What stands in no tensor of the graph.
  // All of attention, also of pairs that a causal mask hides and --causal half leaves out.
  Expr ScoresOf(const Node& node, const Census& forward) const {
    if (!counts_.cost(CallIdOf(node)).causal) return forward[Kind::kExp];
    absl::InlinedVector<const Fact*, 8> inputs, outputs;
    for (FactId fact : call_->inputs) inputs.push_back(&in_.fact(fact));
    for (FactId fact : call_->outputs) outputs.push_back(&in_.fact(fact));
    const NodeView view(model_, node, *call_->def, call_->opset, inputs, outputs, nullptr,
                        call_->call_attributes, CausalCounting::kFull);
    const absl::StatusOr<Cost> cost = call_->def->count(view);
    return cost.ok() ? cost->flops[Kind::kExp] : forward[Kind::kExp];
  }

  void KeepMore(const Node& node, const Keeps& keeps) {
    const Census& forward = counts_.cost(CallIdOf(node)).own().flops;
    const Fact& first = in_.fact(call_->outputs[0]);
    const int size = BitsPerElement(first.dtype) / 8;
    if (keeps.per_root > 0) {
      More(forward[Kind::kSqrt] * (keeps.per_root * std::max(size, kStatisticBytes)));
    }
    if (keeps.places && first.is_tensor() && first.shape.ranked()) {
      More(first.shape.NumElements() * kPlaceBytes);
    }
    if (keeps.spread_scale && node.input(1) && IsWeight(*node.inputs[1]) &&
        !exporter::IsFoldedName(model_.value(storages_.Of(*node.inputs[1]).root).name)) {
      More(forward[Kind::kSqrt] * size);
    }
    if (keeps.noise && !forward[Kind::kMul].is_zero()) More(SizeOf(first));
    if (keeps.gates) More((forward[Kind::kExp] + forward[Kind::kTanh]) * size);
    if (!keeps.scores) return;
    const Expr scores = ScoresOf(node, forward);
    if (!flash_) {
      More(scores * size);
      return;
    }
    KeepMask(node);
    const Fact& keys = in_.fact(call_->inputs[1]);
    const bool ranked = keys.is_tensor() && keys.shape.ranked() && keys.shape.rank() >= 2;
    const std::optional<Expr> rows =
        ranked ? DivideExactly(scores, keys.shape[keys.shape.rank() - 2]) : std::nullopt;
    if (rows) {
      More(*rows * kStatisticBytes);
    } else {
      NoteUnknown(node_id_);
    }
  }

  // A mask of the sizes of the scores: flash attention keeps it as numbers.
  void KeepMask(const Node& node) {
    constexpr size_t kMask = 3;
    const Fact* mask = node.input(kMask) ? FactOfInput(node, kMask) : nullptr;
    if (mask == nullptr || !mask->is_tensor() || !mask->shape.ranked()) return;
    if (mask->shape.rank() >= 2) More(mask->shape.NumElements() * kStatisticBytes);
  }

  // As PyTorch composes it: queries and keys times the square root of the scale, which is new
  // memory, and values, repeated for groups of heads. False where they do not stand apart.
  bool KeepMathAttention(const Node& node) {
    if (!node.input(0) || !node.input(1) || !node.input(2)) return false;
    const Fact& queries = in_.fact(call_->inputs[0]);
    const Fact& keys = in_.fact(call_->inputs[1]);
    const Fact& values = in_.fact(call_->inputs[2]);
    if (!queries.shape.ranked() || !keys.shape.ranked() || !values.shape.ranked()) return false;
    const int rank = queries.shape.rank();
    if (rank < 3 || keys.shape.rank() != rank || values.shape.rank() != rank) return false;
    const int heads = rank == 4 ? 1 : 2;
    const auto groups = DivideExactly(queries.shape[heads], keys.shape[heads]);
    if (!groups) return false;
    More(SizeOf(queries) + SizeOf(keys) * *groups);
    if (*groups == Expr(1) && rank == 4) {
      const Shape batch({values.shape[0] * values.shape[1], values.shape[2], values.shape[3]});
      if (storages_.CanView(*node.inputs[2], values.shape, batch)) {
        Keep(*node.inputs[2]);
        return true;
      }
    }
    More(SizeOf(values) * *groups);
    return true;
  }

  size_t PlaceOf(NodeId node) const { return places_.at(node); }
  CallId CallIdOf(const Node&) const { return static_cast<CallId>(call_ - in_.calls.data()); }

  // Written-out attention as one operator: queries, keys and values as they are before they are
  // repeated for groups of heads, the output, and a number per row.
  void KeepFlash(const training::AttentionPattern& pattern) {
    const Node& scores = model_.node(pattern.scores);
    const Node& output = model_.node(pattern.output);
    const absl::string_view call = AttentionCall(scores);
    KeepArgument(BeforeCall(*scores.inputs[0], scores), call, 0);
    KeepArgument(BeforeCall(*scores.inputs[1], scores), call, 1);
    KeepArgument(BeforeCall(*output.inputs[1], scores), call, 2);
    const absl::string_view queries = exporter::ParseFxArgs(call).Arg(0);
    if (exporter::IsOfWrittenRmsNorm(exporter::FxValueName(queries))) {
      NoteUnknown(pattern.output, kOrderOfNorm);
    }
    Keep(*output.outputs[0]);
    const Shape& query = in_.fact(in_.call(pattern.scores_call).inputs[0]).shape;
    More(query.Product(0, query.rank() - 1) * kStatisticBytes);
    KeepMaskBeside(pattern, scores);
  }

  // The text of the call, if the file states that it is attention as one operator.
  static absl::string_view AttentionCall(const Node& node) {
    const std::optional<absl::string_view> call = exporter::NodeMetadata(node.metadata).fx_node;
    return call && exporter::IsFxAttention(*call) ? *call : absl::string_view();
  }

  // One that a caller gave. TorchScript does not say who made a constant: the causal mask of the
  // operator itself, more often than not.
  void KeepMaskBeside(const training::AttentionPattern& pattern, const Node& scores) {
    constexpr size_t kMask = 3;
    const absl::string_view call = AttentionCall(scores);
    const bool given = exporter::ParseFxArgs(call).Has(kMask, "attn_mask");
    if (exporter::NodeMetadata(scores.metadata).fx_node && !given) return;
    for (ValueId value : pattern.beside) {
      const Fact* fact = in_.FactOf(value);
      if (fact == nullptr || !fact->is_tensor() || !IsFloat(fact->dtype) || IsNumber(fact))
        continue;
      if (!given && (model_.value(value).initializer || IsStored(value))) {
        return NoteUnknown(pattern.output, kMaskOfFlash);
      }
      const bool is_made = !given && (fact->constant || fact->from_shapes);
      if (is_made && exporter::IsCausalMask(model_, value)) continue;
      if (!fact->shape.ranked() || fact->shape.rank() < 2) continue;
      if (is_made) return NoteUnknown(pattern.output, kMaskOfFlash);
      if (!model_.value(value).initializer) return KeepArgument(value, call, kMask);
      if (exporter::IsFoldedName(model_.value(value).name)) More(SizeOf(*fact));  // no buffer
      return;
    }
  }

  // What was spread, as over heads, and is another value in the call: its shape is another, for
  // which PyTorch copies it.
  void KeepArgument(ValueId value, absl::string_view call, size_t i) {
    constexpr absl::string_view kNames[] = {"query", "key", "value", "attn_mask"};
    const std::vector<Expr>& strides = storages_.Of(value).strides;
    const Fact* fact = in_.FactOf(value);
    const bool is_spread = std::find(strides.begin(), strides.end(), Expr(0)) != strides.end();
    const absl::string_view name =
        exporter::FxValueName(exporter::ParseFxArgs(call).Get(i, kNames[i]));
    if (!is_spread || fact == nullptr || name == model_.value(value).name) return Keep(value);
    KeepCopy(value, SizeOf(*fact));
  }

  // The value as it was before the call of PyTorch that the node is of: without what the call
  // scales and repeats. Where the file states no calls, without what scales it. Attention that the
  // file states as products is run as one call here, which repeats by itself (enable_gqa).
  ValueId BeforeCall(ValueId value, const Node& of) const {
    const absl::string_view call = AttentionCall(of);
    while (IsOwn(value)) {
      const NodeId maker = *model_.value(value).producer;
      const Node& node = model_.node(maker);
      const Call& run = in_.call(calls_.at(maker));
      if (run.def == nullptr || !node.input(0) || exporter::IsPackedProjection(node)) break;
      if (!call.empty() && AttentionCall(node) != call) break;
      if (Has(run.def->traits, Traits::kView) || Has(run.def->traits, Traits::kStrided)) {
        const bool is_copy = storages_.Of(value).root == value;
        if (is_copy && call.empty() && !groups_->StateCalls()) break;
        value = *node.inputs[0];
        continue;
      }
      const std::optional<size_t> scaled = ScaledInput(node, run);
      if (!scaled) break;
      value = *node.inputs[*scaled];
    }
    return value;
  }

  // Of a product or quotient with a number: the other factor.
  std::optional<size_t> ScaledInput(const Node& node, const Call& call) const {
    if (call.def == nullptr) return std::nullopt;
    const Gradient& gradient = call.def->gradient;
    if (!gradient.broadcast || !gradient.keeps.crosswise || node.inputs.size() != 2) {
      return std::nullopt;
    }
    for (size_t i : {size_t{0}, size_t{1}}) {
      if (node.inputs[i] && node.inputs[1 - i] && IsNumber(&in_.fact(call.inputs[1 - i]))) return i;
    }
    return std::nullopt;
  }

  // ---- bodies

  void KeepBodies(const Node& node, CallId id) {
    const std::vector<Expr>& times = counts_.cost(id).body_times;
    for (size_t b = 0; b < call_->bodies.size() && b < times.size(); ++b) {
      if (times[b] == Expr(0)) continue;
      const BodyRun& run = call_->bodies[b];
      const Kept& kept = kept_[static_cast<size_t>(run.instance)];
      More(kept.bytes * times[b]);
      unknown_ += kept.unknown;
      const bool loops = call_->def != nullptr && call_->def->control_flow == ControlFlow::kLoop;
      if (loops && LooksUpRows(in_, in_.instance(run.instance))) NoteUnknown(node_id_, kBagAsLoop);
      for (ValueId value : kept.captured) Keep(value);
      if (!node.function) {
        KeepOfTrips(node, kept, times[b], /*first=*/b == 0);
        continue;
      }
      for (size_t i = 0; i < node.inputs.size() && i < kept.inputs.size(); ++i) {
        if (node.inputs[i] && kept.inputs[i]) Keep(*node.inputs[i]);
      }
      for (size_t j = 0; j < node.outputs.size() && j < kept.outputs.size(); ++j) {
        if (node.outputs[j] && kept.outputs[j]) counted_inside_.insert(*node.outputs[j]);
      }
    }
  }

  // What trips keep of their inputs: of a carried value, that of the node in the first trip and
  // what the trip before gave in the others; and their items.
  void KeepOfTrips(const Node& node, const Kept& kept, const Expr& trips, bool first) {
    const ControlFlow flow = call_->def == nullptr ? ControlFlow::kNone : call_->def->control_flow;
    const bool loop = flow == ControlFlow::kLoop;
    if (!loop && flow != ControlFlow::kScan && flow != ControlFlow::kSequence) return;
    const Attribute* scans = node.FindAttribute("num_scan_inputs");
    const size_t items = scans == nullptr || scans->i < 0 ? 0 : static_cast<size_t>(scans->i);
    const size_t in_node = flow == ControlFlow::kScan && call_->opset < 9 ? 1 : 0;
    for (size_t i = 0; i < kept.inputs.size(); ++i) {
      if (!kept.inputs[i]) continue;
      const bool carried =
          loop ? i >= 2 : flow == ControlFlow::kScan && i + items < kept.inputs.size();
      const size_t given = i + in_node, made = loop ? i - 1 : i;
      const bool first_is_known = carried && first && !call_->growing && given < node.inputs.size();
      if (first_is_known && node.inputs[given]) Keep(*node.inputs[given]);
      const bool counted = carried && made < kept.outputs.size() && kept.outputs[made];
      if (!counted) More(kept.input_bytes[i] * (first_is_known ? trips - 1 : trips));
    }
  }

  // ---- groups

  // Groups that are computed again keep what goes into them.
  std::vector<bool> KeepGroups() {
    std::vector<bool> skipped(graph_->nodes.size(), false);
    for (const std::vector<size_t>& group : recomputed_) {
      bool runs_back = false;
      for (size_t i : group) {
        runs_back |= nodes_.needed.contains({0, static_cast<int32_t>(i)});
      }
      if (!runs_back) continue;
      absl::btree_set<ValueId> made;
      for (size_t i : group) {
        skipped[i] = true;
        AddOutputs(i, &made);
      }
      AddMoves(group, &made);
      for (size_t i : group) {
        node_id_ = graph_->nodes[i];
        call_ = &in_.call(instance_->calls[i]);
        KeepInputs(model_.node(graph_->nodes[i]), made);
      }
    }
    return skipped;
  }

  void AddOutputs(size_t place, absl::btree_set<ValueId>* made) const {
    for (OptionalValueId value : model_.node(graph_->nodes[place]).outputs) {
      if (value) made->insert(*value);
    }
  }

  // Exporters leave nodes that only move data without a module: those that look into what the group
  // made belong to it.
  void AddMoves(const std::vector<size_t>& group, absl::btree_set<ValueId>* made) const {
    for (size_t i = group.front(); i <= group.back(); ++i) {
      const Node& node = model_.node(graph_->nodes[i]);
      const OpDef* def = in_.call(instance_->calls[i]).def;
      const bool moves =
          def != nullptr && (Has(def->traits, Traits::kView) || Has(def->traits, Traits::kStrided));
      if (moves && node.input(0) && made->contains(*node.input(0))) AddOutputs(i, made);
    }
  }

  // Floating-point activations from outside.
  void KeepInputs(const Node& node, const absl::btree_set<ValueId>& made) {
    for (size_t i = 0; i < node.inputs.size() && i < call_->inputs.size(); ++i) {
      if (!node.inputs[i] || made.contains(*node.inputs[i])) continue;
      const Fact& fact = in_.fact(call_->inputs[i]);
      if (!fact.is_tensor() || fact.constant || fact.from_shapes || !IsFloat(fact.dtype)) continue;
      if (!model_.value(storages_.Of(*node.inputs[i]).root).initializer) Keep(*node.inputs[i]);
    }
  }

  // A call of PyTorch of which nothing was kept but what is inside keeps what goes into it.
  void KeepOfDroppedGroups(InstanceId id) {
    for (size_t i = 0; i < graph_->nodes.size(); ++i) {
      kept_here_ = id == 0 ? &facts_.kept[i] : nullptr;
      const auto dropped = dropped_.find(groups_->Of(i));
      if (dropped == dropped_.end() || !dropped->second.first) continue;
      const CallPattern* pattern = groups_->PatternOf(i);
      const bool keeps_inputs = pattern != nullptr && pattern->keeps == CallPattern::Keeps::kInputs;
      if (dropped->second.second && !keeps_inputs) continue;
      node_id_ = graph_->nodes[i];
      call_ = &in_.call(instance_->calls[i]);
      absl::btree_set<ValueId> inner;
      for (OptionalValueId value : model_.node(graph_->nodes[i]).inputs) {
        if (value && groups_->IsInner(*value)) inner.insert(*value);
      }
      KeepInputs(model_.node(graph_->nodes[i]), inner);
    }
  }

  Kept Result() {
    Kept kept;
    kept.unknown = unknown_;
    kept.inputs.assign(graph_->inputs.size(), false);
    for (size_t i = 0; i < graph_->inputs.size(); ++i) {
      kept.inputs[i] = roots_.erase(graph_->inputs[i]) > 0;
      kept.input_bytes.push_back(kept.inputs[i] ? Bytes(graph_->inputs[i]) : Expr(0));
    }
    for (ValueId value : graph_->outputs) {
      kept.outputs.push_back(roots_.contains(storages_.Of(value).root));
    }
    for (ValueId root : roots_) {
      if (!IsOwn(root)) {
        kept.captured.push_back(root);
      } else if (!counted_inside_.contains(root)) {
        more_.Add(Bytes(root));
      }
    }
    kept.bytes = more_.Total();
    return kept;
  }

  const Inference& in_;
  const ModelData& model_;
  const Counts& counts_;
  const NeededGradients& nodes_;
  const training::AttentionPatterns& patterns_;
  const bool flash_;
  const std::vector<std::vector<size_t>> recomputed_;
  Storages storages_;
  const std::vector<resolve::TensorRole> roles_;
  std::vector<Kept> kept_;   // by instance
  std::vector<Expr> bytes_;  // by value
  absl::flat_hash_map<NodeId, const training::AttentionPattern*> flash_inside_;
  absl::btree_set<NodeId> trained_;  // nodes through which gradients run
  absl::btree_set<NodeId> noted_;    // of which is not known what they keep
  absl::btree_set<TensorId> constants_kept_;
  ExprSum constants_;
  // Of the instance that is walked.
  const Instance* instance_ = nullptr;
  const Graph* graph_ = nullptr;
  const CallGroups* groups_ = nullptr;
  const Call* call_ = nullptr;
  absl::flat_hash_map<NodeId, CallId> calls_;
  absl::flat_hash_map<NodeId, size_t> places_;
  absl::btree_set<absl::string_view> left_out_;
  absl::flat_hash_map<absl::string_view, ValueId> names_;  // where the file states calls
  absl::btree_set<ValueId> roots_, counted_inside_, unsized_, numbers_;
  absl::btree_set<std::pair<NodeId, ValueId>> copies_;
  absl::btree_map<ValueId, NodeId> merged_;  // what stands for several equal calls: a reader
  absl::btree_map<int32_t, std::pair<bool, bool>> dropped_;  // by group: inside, outside kept
  ExprSum more_;
  int64_t unknown_ = 0;
  absl::string_view unknown_op_;
  OptionalNodeId unknown_node_;
  const char* unknown_why_ = nullptr;
  NodeId node_id_ = 0;                         // that is looked at
  bool is_of_parameters_ = false;              // constants of the node were parameters or buffers
  absl::flat_hash_map<ValueId, int> keepers_;  // by storage
  std::vector<NodeId> may_run_in_place_, may_be_written_;  // of the main graph
  StepFacts facts_;
  KeptByNode* kept_here_ = nullptr;  // of the node that is looked at
};

absl::int128 BytesOfTensor(const Tensor& tensor) {
  return (absl::int128(tensor.elements) * BitsPerElement(tensor.dtype) + 7) / 8;
}

// What is there from before the step to its end.
Expr FixedBytes(const Inference& inference, const TrainingMemory& memory) {
  const ModelData& model = *inference.model;
  absl::int128 tensors = 0;
  for (const resolve::Parameter& parameter : resolve::FindParameters(model, inference.ties)) {
    tensors += parameter.bytes;
  }
  const std::vector<resolve::TensorRole> roles = resolve::FindRoles(model);
  for (size_t t = 0; t < roles.size(); ++t) {
    if (roles[t] != resolve::TensorRole::kBuffer) continue;
    const Tensor& tensor = model.tensor(static_cast<TensorId>(t));
    tensors += BytesOfTensor(tensor);
    // torch's BatchNorm counts its batches: an int64 beside mean and variance.
    if (exporter::IsRunningStatistic(tensor.name)) tensors += kPlaceBytes / 2;
  }
  ExprSum sum;
  sum.Add(Expr(tensors + memory.optimizer_bytes + memory.master_bytes));
  for (ValueId value : model.graph(0).inputs) {
    const Fact* fact = model.value(value).initializer ? nullptr : inference.FactOf(value);
    if (fact != nullptr) sum.Add(SizeOf(*fact));
  }
  return sum.Total();
}

// Gradients, and what the optimizer keeps.
void AddOptimizer(const Inference& inference, const training::TrainedParameters& trained,
                  const TrainingOptions& options, TrainingMemory* memory) {
  constexpr int kMasterBytes = 4;  // float32
  const OptimizerInfo& info = InfoOf(options.optimizer);
  memory->trained_params = trained.elements;
  memory->gradient_bytes = trained.bytes;
  memory->optimizer_bytes = absl::int128(trained.tensors) * info.step_bytes;
  for (const resolve::Parameter& parameter :
       resolve::FindParameters(*inference.model, inference.ties)) {
    if (!trained.value[static_cast<size_t>(parameter.value)]) continue;
    const absl::int128 wide = parameter.elements * kMasterBytes;
    const bool has_master = options.float32_masters && parameter.bytes < wide;
    if (has_master) memory->master_bytes += wide;
    memory->optimizer_bytes += (has_master ? wide : parameter.bytes) * info.states;
  }
}

}  // namespace
}  // namespace memory

absl::StatusOr<TrainingMemory> FindTrainingMemory(const Inference& given, const Counts& counts,
                                                  CausalCounting causal,
                                                  const TrainingOptions& options,
                                                  const Bindings& at) {
  const std::optional<Inference> changed = memory::LookThrough(given, counts);
  const Inference& inference = changed ? *changed : given;
  ASSIGN_OR_RETURN(const Backward backward, CountBackward(inference, counts, causal, options));
  const modules::Attribution attribution =
      modules::AttributeNodes(inference, counts, modules::ExecutionFilter::kAll);
  ASSIGN_OR_RETURN(const training::TrainedParameters trained,
                   training::FindTrained(*inference.model, attribution, inference.ties, options));
  const training::AttentionPatterns patterns = training::FindAttentionPatterns(inference);
  TrainingMemory result;
  const auto walk_with = [&](const std::vector<std::vector<size_t>>& recomputed) {
    return memory::SavedWalk(inference, counts, options, backward.nodes, patterns, recomputed);
  };
  std::vector<std::vector<size_t>> recomputed =
      training::RecomputedGroups(inference, attribution, patterns, options.recompute);
  memory::SavedWalk walk = walk_with({});
  RETURN_IF_ERROR(walk.Run(&result));
  memory::StepFacts facts = walk.TakeFacts();
  if (!recomputed.empty()) {
    result.warnings.clear();
    RETURN_IF_ERROR(walk_with(recomputed).Run(&result));
  }
  memory::AddOptimizer(inference, trained, options, &result);
  result.warnings.insert(result.warnings.end(), trained.warnings.begin(), trained.warnings.end());
  if (const char* error = result.saved_bytes.error()) {
    return LimitError(LimitOf(error), absl::StrCat("what backward keeps ", error));
  }
  facts.recomputed = std::move(recomputed);
  facts.trained = trained.value;
  facts.fixed += memory::FixedBytes(inference, result);
  facts.at = at;
  ASSIGN_OR_RETURN(result.step,
                   memory::FindStepPeak(inference, backward.nodes, facts, options.loss));
  return result;
}

}  // namespace onnxflops
