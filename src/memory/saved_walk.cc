// How it works. Walks the instances of graphs, callees first, and sums what each run saves. A first
// pass over a graph's nodes finds the storage and the bytes of every value. A second asks each node
// on the path of a gradient what it saves, and adds the bodies of loops and functions times their
// trips. A storage is counted once per run, however many nodes save it.
//
// For the main graph it also records which node saves what, for the timeline of a step. With
// recomputation, the groups that run again save only their inputs. At the end come the warnings
// about facts that no file shows, such as whether an activation runs in place: the figure is then
// given for one case and the warning has the difference.
#include "src/memory/saved_walk.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/call_patterns.h"
#include "ops/op_def.h"
#include "ops/rules.h"
#include "src/base/limit_error.h"
#include "src/count/count_model.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"
#include "src/memory/call_groups.h"
#include "src/memory/saved.h"
#include "src/memory/step_timeline.h"
#include "src/memory/unsure.h"
#include "src/resolve/parameters.h"
#include "src/symbolic/expr.h"
#include "src/symbolic/expr_sum.h"
#include "src/symbolic/work.h"
#include "src/training/attention_pattern.h"
#include "src/training/backward.h"
#include "src/training/training_options.h"

namespace onnxflops::memory {

namespace {

constexpr size_t kStepsPerSavedNode = 40;

}  // namespace

Expr SizeOf(const Fact& fact) {
  absl::StatusOr<Expr> bytes = fact.is_tensor() ? BytesOf(fact) : absl::StatusOr<Expr>(Expr(0));
  return bytes.ok() ? *std::move(bytes) : Expr(0);
}

SavedWalk::SavedWalk(const Inference& inference, const Counts& counts,
                     const TrainingOptions& options, const NeededGradients& nodes,
                     const training::AttentionPatterns& patterns,
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
      signature_(model_),
      kept_(inference.instances.size()),
      bytes_(model_.values.size()) {
  for (const training::AttentionPattern& pattern : patterns_.patterns) {
    if (!nodes_.flash.contains(pattern.output)) continue;
    flash_inside_[pattern.scores] = flash_inside_[pattern.output] = &pattern;
    for (NodeId node : pattern.between) flash_inside_[node] = &pattern;
  }
}

absl::Status SavedWalk::Run(TrainingMemory* memory) {
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
  memory->guessed = guesses_ && memory->unknown > 0;
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

// A class of the model's own that writes out SiLU has the same nodes as nn.SiLU, but keeps more.
void SavedWalk::WarnOfWritten(TrainingMemory* memory) const {
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
std::string SavedWalk::WarningOf(const Expr& bytes, absl::string_view what,
                                 const std::vector<NodeId>& nodes,
                                 absl::string_view condition) const {
  return absl::StrCat(
      "kept bytes are ", bytes.is_literal() ? absl::StrCat(bytes.ToString(), " ") : "", what,
      " if ", nodes.size(), nodes.size() == 1 ? " node" : " nodes", ", such as ",
      DescribeNode(model_, nodes.front()), ", ", condition, ", which no file tells");
}

// nn.LeakyReLU(inplace=True) and similar modules save their output, which the next layer saves
// anyway.
void SavedWalk::WarnOfInPlace(TrainingMemory* memory) const {
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

// The result of a call is a new tensor, even if its last node only views an inner value.
void SavedWalk::NoteResult(ValueId value, size_t place) {
  const ValueId root = facts_.root[static_cast<size_t>(value)];
  const bool views_inner =
      !facts_.inner[static_cast<size_t>(value)] && facts_.inner[static_cast<size_t>(root)];
  if (!views_inner) return;
  const auto maker = places_.find(*model_.value(root).producer);
  const bool is_same_call =
      maker != places_.end() && facts_.group[maker->second] == facts_.group[place];
  if (is_same_call) facts_.inner[static_cast<size_t>(root)] = false;
}

// The facts of the main graph. REQUIRES: Run() was called, without recomputation.
StepFacts SavedWalk::TakeFacts() {
  facts_.root.resize(model_.values.size());
  for (size_t v = 0; v < facts_.root.size(); ++v) {
    facts_.root[v] = storages_.Of(static_cast<ValueId>(v)).root;
  }
  for (const auto& [id, place] : places_) {
    for (OptionalValueId value : model_.node(id).outputs) {
      if (value) NoteResult(*value, place);
    }
  }
  return std::move(facts_);
}

Kept SavedWalk::Walk(InstanceId id) {
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
  summed_.clear();
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
  merged_names_.clear();
  KeepOfDroppedGroups(id);
  if (id == 0 && groups.StateCalls()) KeepLookups();
  if (!groups.StateCalls()) NoteMergedCalls();
  for (const auto& [value, node] : merged_) {
    const bool is_kept = roots_.contains(value) || trained_.contains(*model_.value(value).producer);
    if (is_kept) NoteUnknown(node, kMerged);
  }
  return Result();
}

void SavedWalk::StartFacts(const CallGroups& groups) {
  facts_.kept.assign(graph_->nodes.size(), {});
  facts_.inner.assign(model_.values.size(), false);
  for (size_t i = 0; i < graph_->nodes.size(); ++i) {
    facts_.group.push_back(groups.Of(i));
    for (OptionalValueId value : model_.node(graph_->nodes[i]).outputs) {
      if (value) facts_.inner[static_cast<size_t>(*value)] = groups.IsInner(*value);
    }
  }
}

void SavedWalk::RunNodes() {
  for (size_t i = 0; i < graph_->nodes.size(); ++i) {
    const NodeId id = graph_->nodes[i];
    const Call& call = in_.call(instance_->calls[i]);
    calls_[id] = instance_->calls[i];
    places_[id] = i;
    storages_.Run(model_.node(id), call, FlashQueries(id, call));
    OwnWhatIsRepeated(model_.node(id));
    const CallPattern* pattern = groups_->PatternOf(i);
    if (pattern != nullptr && pattern->keeps == CallPattern::Keeps::kGuard && groups_->IsLast(i)) {
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

void SavedWalk::OwnWhatIsRepeated(const Node& node) {
  const auto text = exporter::NodeMetadata(node.metadata).fx_node;
  if (!text || !node.output(0) || !exporter::Repeats(*text)) return;
  if (!groups_->IsInner(*node.outputs[0])) storages_.Own(*node.outputs[0]);
}

void SavedWalk::KeepBodies(const Node& node, CallId id) {
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

// The inputs that trips keep: a carried value is the node's input in the first trip and the output
// of the trip before in the others; and the items of scans.
void SavedWalk::KeepOfTrips(const Node& node, const Kept& kept, const Expr& trips, bool first) {
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

Kept SavedWalk::Result() {
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

}  // namespace onnxflops::memory
