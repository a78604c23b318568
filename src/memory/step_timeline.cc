// How it works. One training step is simulated on the main graph: forward node by node, then the
// loss, then backward in reverse order. `live_` is the sum of bytes allocated at this moment; it
// grows when a tensor is made and shrinks at its last use. After every event the sum is compared
// with the largest so far (Mark).
//
// A storage stays alive while it is needed: by later nodes, or by the backward pass, as found in
// saved.cc. A gradient is a view into a buffer with a user count, since views and passed-on
// gradients take no memory of their own; a value with two gradients needs a new buffer for the sum.
// The nodes of one PyTorch call go backwards together, at the place of the last one. A block that
// is recomputed keeps only its inputs; it runs forward again just before the first of its nodes
// goes backwards.
//
// Sizes are formulas, so "the largest" is a set of sums of which none is provably below another. If
// that takes too many steps, the timeline runs a second time with numbers at the sizes of `at`.
#include "src/memory/step_timeline.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/op_def.h"
#include "ops/rules.h"
#include "src/base/limit_error.h"
#include "src/exporter/node_metadata.h"
#include "src/memory/kv_cache.h"
#include "src/memory/largest.h"
#include "src/memory/storage.h"
#include "src/memory/temporaries.h"
#include "src/memory/tensor_bytes.h"
#include "src/symbolic/work.h"

namespace onnxflops {

absl::string_view PhaseName(StepPhase phase) {
  constexpr absl::string_view kNames[] = {"forward", "loss", "backward", "optimizer"};
  return kNames[static_cast<size_t>(phase)];
}

namespace memory {
namespace {

constexpr size_t kStepsPerStepNode = 60;  // of a WorkLimit
constexpr int kScalarBytes = 4;           // of a loss, and of its gradient
constexpr int64_t kStepFormulaShare = 2;  // the run with formulas may take 1/2 of the steps
constexpr int kNoGroup = -1;
constexpr size_t kMaxSumsAside = 16;  // additional sums until dominated ones are dropped

// Memory that several gradients may share.
struct Buffer {
  Bytes bytes;
  int users = 0;
};

// Without overflow; used only for comparisons.
absl::int128 CappedSum(absl::int128 a, absl::int128 b) {
  const absl::int128 most = std::numeric_limits<absl::int128>::max() / 2;
  return std::min(a, most) + std::min(b, most);
}

// The gradient of a value.
struct Gradient {
  std::shared_ptr<Buffer> buffer;
  bool in_order = true;  // the elements follow each other
};

class Timeline {
 public:
  Timeline(const Inference& inference, const NeededGradients& nodes, const StepFacts& facts,
           Loss loss, bool numbers)
      : in_(inference),
        model_(*inference.model),
        instance_(inference.instance(0)),
        graph_(model_.graph(0)),
        nodes_(nodes),
        facts_(facts),
        loss_(loss),
        numbers_(numbers),
        sizes_(numbers ? &facts.at : nullptr),
        needs_(facts.trained),
        users_(model_.values.size(), 0) {}

  absl::StatusOr<StepPeak> Run() {
    const WorkLimit work(MaxSteps(model_, in_.limits) / (numbers_ ? 1 : kStepFormulaShare));
    FindNeeds();
    FindGroups();
    live_.Add(MakeBytes(facts_.fixed));
    RunForward();
    RunLoss();
    RunBackward();
    Mark(StepPhase::kOptimizer, kNone);
    if (work.exceeded()) {
      return LimitError("steps-per-node", absl::StrCat("the timeline of a step takes more than ",
                                                       MaxSteps(model_, in_.limits),
                                                       " steps of arithmetic (steps-per-node)"));
    }
    for (const auto& [holder, held] : held_) {
      peak_.held_may_be_more |= peak_.value && CappedSum(held.alive, held.made) > *peak_.value;
    }
    largest_.DropMiddle();
    if (!largest_.too_many() && !numbers_) peak_.sums = largest_.sums();
    if (!numbers_) peak_.bytes = largest_.AsOne();
    for (const Expr& sum : peak_.sums) {
      if (const char* error = sum.error()) {
        return LimitError(LimitOf(error), absl::StrCat("the peak of a training step ", error));
      }
    }
    return std::move(peak_);
  }

 private:
  // For a module without gradients: the most that was alive in it, and all that it made.
  struct Held {
    absl::int128 alive = 0, made = 0;
  };

  // The calls that checkpointing runs again together.
  struct Block {
    absl::btree_set<ValueId> made, inputs;
    size_t first = 0, last = 0;
    bool ran = false;
    bool goes_back = false;  // something in it gets a gradient
  };

  // ---- facts

  const Node& NodeAt(size_t place) const { return model_.node(graph_.nodes[place]); }
  const Call& CallAt(size_t place) const { return in_.call(instance_.calls[place]); }
  bool IsShapeWork(size_t place) const {
    return !instance_.shape_work.empty() && instance_.shape_work[place];
  }
  ValueId Root(ValueId value) const { return facts_.root[static_cast<size_t>(value)]; }
  bool Needs(ValueId value) const { return needs_[static_cast<size_t>(value)]; }

  // A value without a size counts as 0: the peak is then a lower bound.
  const Bytes& BytesOfValue(ValueId value) {
    static const Bytes none;
    const Fact* fact = in_.FactOf(value);
    const Bytes* bytes = fact == nullptr ? nullptr : sizes_.Of(*fact);
    return bytes == nullptr ? none : *bytes;
  }
  Bytes MakeBytes(const Expr& bytes) { return sizes_.Make(bytes).value_or(Bytes()); }
  const Shape* ShapeOf(ValueId value) const {
    const Fact* fact = in_.FactOf(value);
    return fact != nullptr && fact->is_tensor() && fact->shape.ranked() ? &fact->shape : nullptr;
  }
  bool IsFloatValue(ValueId value) const {
    const Fact* fact = in_.FactOf(value);
    return fact != nullptr && fact->is_tensor() && IsFloat(fact->dtype);
  }

  // Whether the i-th input of a node gets a gradient. Nodes that only run bodies have no record.
  bool NeedsInput(size_t place, size_t i) const {
    const Node& node = NodeAt(place);
    if (!node.inputs[i]) return false;
    const auto known = nodes_.needed.find({0, static_cast<int32_t>(place)});
    if (known != nodes_.needed.end()) return i < known->second.size() && known->second[i] != 0;
    return !CallAt(place).bodies.empty() && Needs(*node.inputs[i]) && IsFloatValue(*node.inputs[i]);
  }

  bool NeedsAny(size_t place) const {
    for (size_t i = 0; i < NodeAt(place).inputs.size(); ++i) {
      if (NeedsInput(place, i)) return true;
    }
    return false;
  }

  void FindNeeds() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (IsShapeWork(i)) continue;
      const Node& node = NodeAt(i);
      const bool any = NeedsAny(i);
      for (OptionalValueId value : node.outputs) {
        if (value && any) needs_[static_cast<size_t>(*value)] = IsFloatValue(*value);
      }
    }
  }

  // Calls of PyTorch by their last place, and which places run again together.
  void FindGroups() {
    const size_t count = graph_.nodes.size();
    members_.assign(count, {});
    absl::flat_hash_map<int32_t, size_t> last;
    for (size_t i = 0; i < count; ++i) {
      if (facts_.group[i] != kNoGroup) last[facts_.group[i]] = i;
    }
    for (size_t i = 0; i < count; ++i) {
      members_[facts_.group[i] == kNoGroup ? i : last[facts_.group[i]]].push_back(i);
    }
    block_of_.assign(count, kNoGroup);
    blocks_.resize(facts_.recomputed.size());
    for (size_t b = 0; b < blocks_.size(); ++b) {
      blocks_[b].first = count;
      for (size_t place : facts_.recomputed[b]) {
        block_of_[place] = static_cast<int>(b);
        for (size_t j = 0; j < NodeAt(place).inputs.size(); ++j) {
          blocks_[b].goes_back |= NeedsInput(place, j);
        }
        for (OptionalValueId value : NodeAt(place).outputs) {
          if (value && Root(*value) == *value) blocks_[b].made.insert(*value);
        }
      }
    }
  }

  // ---- the bytes that are alive

  std::optional<absl::int128> ValueOf(const Expr& e) const {
    if (e.is_literal()) return e.literal();
    const absl::StatusOr<absl::int128> value = e.Evaluate(facts_.at);
    return value.ok() ? std::optional<absl::int128>(*value) : std::nullopt;
  }

  void Mark(StepPhase phase, OptionalNodeId node) {
    largest_.Add(live_, 0);
    if (largest_.size() >= drop_at_) {
      largest_.DropMiddle();
      drop_at_ = largest_.size() + kMaxSumsAside;
    }
    const std::optional<absl::int128> value = ValueOf(live_.expr());
    if (!value || (peak_.value && *value <= *peak_.value)) return;
    peak_.value = value;
    peak_.phase = phase;
    peak_.node = node;
  }

  // A storage is alive while it is held: each Hold() needs a Drop().
  void Hold(ValueId root) {
    if (!IsOwn(root)) return;
    if (users_[static_cast<size_t>(root)]++ == 0) live_.Add(BytesOfValue(root));
  }
  void Drop(ValueId root) {
    if (!IsOwn(root) || users_[static_cast<size_t>(root)] == 0) return;
    if (--users_[static_cast<size_t>(root)] == 0) live_.Take(BytesOfValue(root));
  }
  bool IsOwn(ValueId root) const {
    return model_.value(root).producer && !facts_.inner[static_cast<size_t>(root)];
  }
  // Numbers for computing shapes are not tensors in PyTorch, unless the backward pass reads them.
  bool IsTensor(ValueId root) const {
    const Fact* fact = in_.FactOf(root);
    return fact != nullptr && !fact->constant && !fact->from_shapes;
  }

  // ---- forward

  // By place: storages that no later place of the list uses.
  std::vector<std::vector<ValueId>> FindEnds(const std::vector<size_t>& places) const {
    absl::flat_hash_map<ValueId, size_t> last;
    for (size_t step = 0; step < places.size(); ++step) {
      const Node& node = NodeAt(places[step]);
      for (OptionalValueId value : node.inputs) {
        if (value) last[Root(*value)] = step;
      }
      for (OptionalValueId value : node.outputs) {
        if (value) last[Root(*value)] = step;
      }
    }
    std::vector<std::vector<ValueId>> ends(places.size());
    for (const auto& [root, step] : last) ends[step].push_back(root);
    return ends;
  }

  // Training runs without a cache for the next token (use_cache=False): the model's caches are
  // outputs only if there is nothing else.
  std::vector<ValueId> OutputsOfStep() const {
    const std::vector<ValueId>& all = graph_.outputs;
    std::vector<ValueId> without_cache;
    std::copy_if(all.begin(), all.end(), std::back_inserter(without_cache),
                 [&](ValueId value) { return !IsCacheOutput(model_.value(value).name); });
    return without_cache.empty() ? all : without_cache;
  }

  void RunForward() {
    std::vector<size_t> places(graph_.nodes.size());
    for (size_t i = 0; i < places.size(); ++i) places[i] = i;
    const std::vector<std::vector<ValueId>> ends = FindEnds(places);
    for (ValueId value : OutputsOfStep()) outputs_.insert(Root(value));
    for (size_t i : places) {
      Make(i);
      if (block_of_[i] == kNoGroup) {
        Keep(i);
      } else {
        KeepInputs(i);
      }
      Mark(StepPhase::kForward, graph_.nodes[i]);
      NoteHeld(i);
      for (ValueId root : ends[i]) {
        if (!outputs_.contains(root) && IsTensor(root)) Drop(root);
      }
    }
  }

  // Without gradients nothing is saved for a backward pass. Results that Python's variables keep
  // until a module returns then take more memory.
  void NoteHeld(size_t place) {
    if (IsShapeWork(place)) return;
    for (OptionalValueId value : NodeAt(place).outputs) {
      if (!value || Needs(*value) || Root(*value) != *value || !IsOwn(*value)) continue;
      if (!IsTensor(*value)) continue;
      Held& held = held_[facts_.holder[place]];
      held.made = CappedSum(held.made, ValueOf(BytesOfValue(*value).expr).value_or(0));
      held.alive = std::max(held.alive, ValueOf(live_.expr()).value_or(0));
    }
  }

  // The node's outputs, held until their last use.
  void Make(size_t place) {
    SpendSteps(kStepsPerStepNode);
    if (IsShapeWork(place)) return;
    for (OptionalValueId value : NodeAt(place).outputs) {
      if (value && Root(*value) == *value && IsTensor(*value)) Hold(*value);
    }
  }

  void Keep(size_t place) {
    const KeptByNode& kept = facts_.kept[place];
    for (ValueId root : kept.roots) Hold(root);
    if (!kept.more.is_zero()) live_.Add(MakeBytes(kept.more));
  }

  // A recomputed block keeps its inputs until its backward pass is done.
  void KeepInputs(size_t place) {
    Block& block = blocks_[static_cast<size_t>(block_of_[place])];
    block.first = std::min(block.first, place);
    if (!block.goes_back) return;
    const auto hold = [&](ValueId root) {
      if (!block.made.contains(root) && block.inputs.insert(root).second) Hold(root);
    };
    for (ValueId root : facts_.kept[place].roots) hold(root);
    for (OptionalValueId value : NodeAt(place).inputs) {
      if (value && IsFloatValue(*value) && IsTensor(Root(*value))) hold(Root(*value));
    }
    if (!facts_.kept[place].roots.empty() || !facts_.kept[place].more.is_zero()) {
      block.last = std::max(block.last, place);
    }
  }

  // ---- loss

  // Outputs with a gradient.
  std::vector<ValueId> OutputsOfLoss() {
    std::vector<ValueId> outputs = OutputsOfStep();
    std::erase_if(outputs, [&](ValueId value) { return !Needs(value) || !IsFloatValue(value); });
    return outputs;
  }

  // The first that is called logits, else the first.
  ValueId EntropyOutput(const std::vector<ValueId>& outputs) const {
    const auto named = std::find_if(outputs.begin(), outputs.end(), [&](ValueId value) {
      return absl::StrContains(absl::AsciiStrToLower(model_.value(value).name), "logits");
    });
    return named == outputs.end() ? outputs[0] : *named;
  }

  void RunLoss() {
    if (loss_ != Loss::kNone) {  // the loss, and the 1 that is its gradient
      live_.Add(MakeBytes(2 * kScalarBytes));
      peak_.loss_bytes += 2 * kScalarBytes;
    }
    const std::vector<ValueId> outputs = OutputsOfLoss();
    if (!outputs.empty()) {
      peak_.loss_output = EntropyOutput(outputs);
      peak_.cross_entropy_bytes =
          BytesOfValue(*peak_.loss_output).expr * 3 + Expr(2 * kScalarBytes);
    }
    for (ValueId value : outputs) {
      if (gradients_.contains(value)) continue;
      const Bytes& bytes = BytesOfValue(value);
      const bool entropy = loss_ == Loss::kCrossEntropy && value == *peak_.loss_output;
      auto buffer = std::make_shared<Buffer>();
      if (entropy) {  // log-probabilities, which backward reads, and their gradient
        live_.Add(bytes, 2);
        peak_.loss_bytes += bytes.expr * 3;
      }
      if (loss_ == Loss::kNone || entropy) buffer->bytes = bytes;
      if (loss_ == Loss::kNone) peak_.loss_bytes += bytes.expr;
      live_.Add(buffer->bytes);
      if (entropy) {
        Mark(StepPhase::kLoss, kNone);
        live_.Add(bytes, -2);
      }
      buffer->users = 1;
      gradients_[value] = {std::move(buffer), true};
    }
    Mark(StepPhase::kLoss, kNone);
  }

  // ---- backward

  void RunBackward() {
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      SpendSteps(kStepsPerStepNode);
      for (size_t place : members_[i]) {
        if (block_of_[place] != kNoGroup) RunAgain(&blocks_[static_cast<size_t>(block_of_[place])]);
      }
      if (!members_[i].empty()) TakeBack(i);
      if (block_of_[i] == kNoGroup) continue;
      Block& block = blocks_[static_cast<size_t>(block_of_[i])];
      if (block.first != i) continue;
      for (ValueId root : block.inputs) Drop(root);
    }
  }

  // Runs up to the last node that keeps something. If that is a product, it does not run itself,
  // since it only keeps its inputs.
  void RunAgain(Block* block) {
    if (block->ran) return;
    block->ran = true;
    std::vector<size_t> places;
    const int id = static_cast<int>(block - blocks_.data());
    for (size_t place = block->first; place <= block->last; ++place) {
      if (block_of_[place] == id) places.push_back(place);
    }
    const std::vector<std::vector<ValueId>> ends = FindEnds(places);
    for (size_t step = 0; step < places.size(); ++step) {
      const size_t place = places[step];
      const OpDef* def = CallAt(place).def;
      const bool stops = place == block->last && def != nullptr && def->gradient.products != 0;
      if (!stops) Make(place);
      Keep(place);
      Mark(StepPhase::kBackward, graph_.nodes[place]);
      for (ValueId root : ends[step]) {
        if (block->made.contains(root) && IsTensor(root)) Drop(root);
      }
    }
  }

  void TakeBack(size_t last) {
    std::vector<Gradient> given;
    for (size_t place : members_[last]) TakeGradients(place, &given);
    if (!given.empty()) GiveGradients(last, &given);
    for (size_t place : members_[last]) {
      for (ValueId root : facts_.kept[place].roots) Drop(root);
      const Expr& more = facts_.kept[place].more;
      if (!more.is_zero()) live_.Take(MakeBytes(more));
    }
    for (Gradient& gradient : given) Release(&gradient);
    for (auto& [value, gradient] : made_) Accumulate(last, value, std::move(gradient));
    made_.clear();
  }

  // Takes the gradients of the node's outputs: the node now owns them.
  void TakeGradients(size_t place, std::vector<Gradient>* given) {
    for (OptionalValueId value : NodeAt(place).outputs) {
      const auto found = value ? gradients_.find(*value) : gradients_.end();
      if (found == gradients_.end()) continue;
      given->push_back(std::move(found->second));
      gradients_.erase(found);
    }
  }

  void Release(Gradient* gradient) {
    if (gradient->buffer != nullptr && --gradient->buffer->users == 0) {
      live_.Take(gradient->buffer->bytes);
    }
    gradient->buffer = nullptr;
  }

  Gradient Allocate(const Bytes& bytes) {
    live_.Add(bytes);
    return {std::make_shared<Buffer>(Buffer{bytes, 1}), true};
  }

  // Makes the gradients of inputs from outside the call.
  void GiveGradients(size_t last, std::vector<Gradient>* given) {
    const std::vector<size_t>& members = members_[last];
    absl::btree_set<ValueId> inside;
    for (size_t place : members) {
      for (OptionalValueId value : NodeAt(place).outputs) {
        if (value) inside.insert(*value);
      }
    }
    absl::btree_set<ValueId> done;
    for (size_t m = members.size(); m-- > 0;) {
      const size_t place = members[m];
      const Node& node = NodeAt(place);
      if (!CallAt(place).bodies.empty()) ++peak_.unknown;
      if (NeedsInOrder(place, *given)) PutInOrder(node, &given->front());
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!NeedsInput(place, i) || inside.contains(*node.inputs[i])) continue;
        if (members.size() > 1 && !done.insert(*node.inputs[i]).second) continue;
        made_.emplace_back(*node.inputs[i], members.size() > 1
                                                ? Allocate(BytesOfValue(*node.inputs[i]))
                                                : GradientOf(place, i, &given->front()));
      }
    }
    if (members.size() > 1) SumInside(last, inside);
    const std::vector<std::pair<Bytes, int>> made = TemporariesOf(last);
    for (const auto& [bytes, count] : made) live_.Add(bytes, count);
    Mark(StepPhase::kBackward, graph_.nodes[last]);
    for (const auto& [bytes, count] : made) live_.Add(bytes, -count);
    SumUp(last);
  }

  // autograd sums a broadcast input's gradient after the derivative has made all gradients.
  void SumUp(size_t last) {
    for (const auto& [product, sum] : unsummed_) {
      live_.Add(sum);
      Mark(StepPhase::kBackward, graph_.nodes[last]);
      live_.Take(product);
    }
    unsummed_.clear();
  }

  // A call may first reshape an operand that it broadcasts, as prelu does its slope. The sum for it
  // is its gradient, which is there already.
  void SumInside(size_t last, const absl::btree_set<ValueId>& inside) {
    const std::optional<size_t> place = WorkingPlace(last);
    if (!place || !CallAt(*place).def->gradient.broadcast) return;
    const Node& node = NodeAt(*place);
    const uint32_t passes = CallAt(*place).def->gradient.passes;
    if (!node.output(0)) return;
    const Bytes& made = BytesOfValue(*node.output(0));
    for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
      if (!NeedsInput(*place, i) || !inside.contains(*node.inputs[i])) continue;
      if ((passes >> i & 1) != 0 || BytesOfValue(*node.inputs[i]).expr == made.expr) continue;
      live_.Add(made);
      unsummed_.push_back({made, Bytes()});
    }
  }

  // The node of a call that does its work, if one alone does.
  std::optional<size_t> WorkingPlace(size_t last) const {
    std::optional<size_t> working;
    for (size_t member : members_[last]) {
      const OpDef* def = CallAt(member).def;
      if (def == nullptr || IsShapeWork(member) || !HasWork(def->gradient)) continue;
      if (!NeedsAny(member)) continue;
      if (working) return std::nullopt;
      working = member;
    }
    return working;
  }

  // Temporary tensors of the call's derivative: by the call's name, or by the one node that does
  // its work. A call with several such nodes has its own derivative, which may need none.
  std::vector<std::pair<Bytes, int>> TemporariesOf(size_t last) {
    size_t place = last;
    const auto text = exporter::NodeMetadata(NodeAt(last).metadata).fx_node;
    std::optional<Temporaries> made = text ? TemporariesOfCall(*text, Casts(last)) : std::nullopt;
    if (!made) {
      const std::optional<size_t> working = WorkingPlace(last);
      if (working) made = CallAt(*working).def->gradient.temporaries;
      place = working.value_or(place);
    }
    const Node& node = NodeAt(place);
    if (!made || !node.output(0) || !node.input(0)) return {};
    bool others = false;
    for (size_t i = 1; i < node.inputs.size(); ++i) others = others || NeedsInput(place, i);
    std::vector<std::pair<Bytes, int>> tensors;
    const auto add = [&](ValueId like, int count, int masks) {
      if (count != 0) tensors.emplace_back(BytesOfValue(like), count);
      const Shape* shape = masks > 0 ? ShapeOf(like) : nullptr;
      if (shape != nullptr) tensors.emplace_back(MakeBytes(shape->NumElements()), masks);
    };
    add(*node.output(0), made->outputs + (others ? made->other_outputs : 0),
        made->masks + (others ? made->other_masks : 0));
    add(*node.input(0), made->inputs + (made->by_places && IsTakenByPlaces(node) ? 1 : 0),
        made->input_masks);
    return tensors;
  }
  // To another type.
  bool Casts(size_t place) const {
    const Call& call = CallAt(place);
    return call.def != nullptr && Has(call.def->traits, Traits::kCasts) &&
           !CastsToItself(in_, call);
  }
  static bool HasWork(const onnxflops::Gradient& gradient) {
    const Temporaries& made = gradient.temporaries;
    return gradient.products != 0 || gradient.HasArithmetic() || made.outputs > 0 ||
           made.inputs > 0 || made.by_places;
  }
  // True if several elements of a non-parameter are gathered.
  bool IsTakenByPlaces(const Node& node) const {
    const Shape* places = node.input(1) ? ShapeOf(*node.input(1)) : nullptr;
    return places != nullptr && places->rank() > 0 &&
           !facts_.trained[static_cast<size_t>(*node.input(0))];
  }

  static bool IsView(const OpDef& def) {
    return Has(def.traits, Traits::kView) && !Has(def.traits, Traits::kShapeOnly) &&
           !Has(def.traits, Traits::kStored);
  }

  // The buffer of an input's gradient: the node's own dY, a view of it, or new memory.
  Gradient GradientOf(size_t place, size_t i, Gradient* given) {
    const Node& node = NodeAt(place);
    const OpDef* def = CallAt(place).def;
    const bool is_view =
        def != nullptr && i == 0 && (IsView(*def) || CastsToItself(in_, CallAt(place)));
    const bool passes = def != nullptr && i < 32 && (def->gradient.passes >> i & 1) != 0;
    const Bytes& bytes = BytesOfValue(*node.inputs[i]);
    const Bytes made = node.output(0) ? BytesOfValue(*node.output(0)) : Bytes();
    const bool sums_up = def != nullptr && def->gradient.broadcast && bytes.expr != made.expr;
    if (sums_up && !passes) {
      live_.Add(made);
      unsummed_.push_back({made, bytes});
      return {std::make_shared<Buffer>(Buffer{bytes, 1}), true};
    }
    if (sums_up || (!is_view && !passes)) return Allocate(bytes);
    Gradient view = *given;
    ++view.buffer->users;
    if (Has(def->traits, Traits::kStrided)) view.in_order = !view.in_order;
    return view;
  }

  // A Reshape and a batched product copy a gradient that lies in another order.
  bool NeedsInOrder(size_t place, const std::vector<Gradient>& given) const {
    const OpDef* def = CallAt(place).def;
    if (given.size() != 1 || given[0].in_order || def == nullptr) return false;
    const Node& node = NodeAt(place);
    const Shape* made = node.output(0) ? ShapeOf(*node.output(0)) : nullptr;
    const Shape* from = node.input(0) ? ShapeOf(*node.input(0)) : nullptr;
    if (made == nullptr || from == nullptr) return false;
    if (IsView(*def)) return !SameButOnes(*made, *from);
    return def->gradient.products != 0 && made->rank() > 2;
  }

  void PutInOrder(const Node& node, Gradient* given) {
    Gradient copy = Allocate(BytesOfValue(*node.output(0)));
    Mark(StepPhase::kBackward, static_cast<NodeId>(&node - model_.nodes.data()));
    Release(given);
    *given = std::move(copy);
  }

  // Adds the gradient to an existing one of the value, in new memory. For the first gradient of a
  // parameter, the buffer is taken over only if it has no other user.
  void Accumulate(size_t last, ValueId value, Gradient gradient) {
    const auto tie = in_.ties.find(value);
    if (tie != in_.ties.end()) value = tie->second;
    const Bytes& bytes = BytesOfValue(value);
    const auto [place, is_new] = gradients_.try_emplace(value);
    const bool is_parameter = facts_.trained[static_cast<size_t>(value)];
    const bool is_own = gradient.buffer->users == 1 && gradient.buffer->bytes.expr == bytes.expr;
    if (is_new && (!is_parameter || is_own)) {
      place->second = std::move(gradient);
      return;
    }
    Gradient sum = Allocate(bytes);
    Mark(StepPhase::kBackward, graph_.nodes[last]);
    Release(&gradient);
    Release(&place->second);
    place->second = std::move(sum);
  }

  const Inference& in_;
  const ModelData& model_;
  const Instance& instance_;
  const Graph& graph_;
  const NeededGradients& nodes_;
  const StepFacts& facts_;
  const Loss loss_;
  const bool numbers_;  // sizes are numbers: StepFacts::at
  TensorBytes sizes_;
  std::vector<bool> needs_;  // by value
  std::vector<int> users_;   // by value: who needs its storage
  std::vector<std::vector<size_t>> members_;
  std::vector<int> block_of_;  // by place
  std::vector<Block> blocks_;
  absl::flat_hash_map<int32_t, Held> held_;
  absl::btree_set<ValueId> outputs_;  // storages
  absl::flat_hash_map<ValueId, Gradient> gradients_;
  std::vector<std::pair<ValueId, Gradient>> made_;  // by the node in its backward pass
  std::vector<std::pair<Bytes, Bytes>> unsummed_;   // of the output's size, and sums of them
  BytesSum live_;
  Comparisons comparisons_;
  Largest largest_{&comparisons_};
  size_t drop_at_ = kMaxSumsAside;
  StepPeak peak_;
};

}  // namespace

absl::StatusOr<StepPeak> FindStepPeak(const Inference& inference, const NeededGradients& nodes,
                                      const StepFacts& facts, Loss loss) {
  absl::StatusOr<StepPeak> peak = Timeline(inference, nodes, facts, loss, false).Run();
  if (peak.ok() || LimitOf(peak.status()) != "steps-per-node") return peak;
  return Timeline(inference, nodes, facts, loss, true).Run();
}

}  // namespace memory
}  // namespace onnxflops
