// How it works. Nodes are visited in order, and batch_step.cc says what each does. Two things lead
// back to an earlier node:
//
// - A node needs a value for each sample where the graph has one for all. If a node such as Expand
//   makes it, that node's sizes follow the batch, and all is visited again from there. Otherwise an
//   Expand is put before the node that needs it.
// - A Reshape has several readings, and a later node refuses the one that was taken. Then the next
//   is tried, the last Reshape first.
//
// A reading without a size of 1 for the batch must be the only one that works: all others are
// tried, too. So a file that two batches could mean is refused and not guessed.
#include "src/adapter/batch_flow.h"

#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "src/adapter/batch_step.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops::adapter {
namespace {

// Visits of nodes, as a multiple of their number, until a file is refused.
constexpr size_t kMostRounds = 200;
constexpr size_t kFreeVisits = 100'000;

class Follower {
 public:
  Follower(const Inference& exported, KnownPlaces known, const BatchSizes& batch)
      : exported_(exported), model_(*exported.model), batch_(batch), known_{std::move(known), {}} {
    flow_.places.resize(model_.values.size());
    for (size_t i = 0; i < nodes().size(); ++i) position_[nodes()[i]] = i;
    for (const Node& node : model_.nodes) {
      if (node.graph == 0) continue;
      for (const OptionalValueId input : node.inputs) {
        if (input) read_inside_.insert(*input);
      }
    }
    visits_left_ = kFreeVisits + kMostRounds * nodes().size();
  }

  absl::StatusOr<BatchFlow> Run() {
    for (const ValueId input : model_.graph(0).inputs) {
      const auto known = known_.values.find(input);
      if (known != known_.values.end()) flow_.places[static_cast<size_t>(input)] = known->second;
    }
    RETURN_IF_ERROR(Search(0, 0));
    const Known known = known_;
    RETURN_IF_ERROR(ProveReadings());
    flow_.expanded = known.inputs;
    return std::move(flow_);
  }

 private:
  // What has the samples though the rules of the nodes before do not say so.
  struct Known {
    KnownPlaces values;
    ExpandedInputs inputs;
  };
  // A node with several readings, and what was known when it was reached.
  struct Choice {
    size_t position = 0, reading = 0, readings = 1;
    bool plain = true;
    Known known;
  };

  const std::vector<NodeId>& nodes() const { return model_.graph(0).nodes; }

  // Visits all nodes from `position` on. Choices below `fixed` stay.
  absl::Status Search(size_t position, size_t fixed) {
    absl::Status first;
    while (position < nodes().size()) {
      if (visits_left_ == 0) return TooMany(position);
      --visits_left_;
      size_t next = position + 1;
      const absl::Status visited = Visit(position, &next);
      if (visited.ok()) {
        position = next;
        while (!choices_.empty() && choices_.back().position >= position) choices_.pop_back();
        continue;
      }
      if (first.ok()) first = visited;
      if (!NextReading(fixed, &position)) return first;
    }
    return absl::OkStatus();
  }

  absl::Status TooMany(size_t position) const {
    return Refuse(nodes()[position], "its sizes can follow the batch in too many ways");
  }

  // The next reading of the last choice that has one; false if there is none.
  bool NextReading(size_t fixed, size_t* position) {
    while (choices_.size() > fixed) {
      Choice& last = choices_.back();
      if (last.reading + 1 < last.readings) {
        ++last.reading;
        known_ = last.known;
        *position = last.position;
        return true;
      }
      choices_.pop_back();
    }
    return false;
  }

  // `next` is the position that follows.
  absl::Status Visit(size_t position, size_t* next) {
    const NodeId id = nodes()[position];
    const Node& node = model_.node(id);
    Forget(id);
    const bool forced = forced_ && forced_->first == position;
    const bool chosen = !choices_.empty() && choices_.back().position == position;
    const size_t reading = chosen ? choices_.back().reading : 0;
    BatchStep step(exported_, batch_, id, flow_.places, known_.inputs,
                   forced ? forced_->second : reading);
    RETURN_IF_ERROR(step.Run());
    if (step.readings > 1 && !chosen && !forced) {
      choices_.push_back({position, 0, step.readings, step.plain, known_});
    } else if (chosen) {
      choices_.back().plain = step.plain;
    }
    for (const auto& [input, place] : step.wanted) {
      RETURN_IF_ERROR(Make(id, input, place, next));
      if (*next <= position) return absl::OkStatus();
    }
    for (auto& [input, sizes] : step.sizes) flow_.sizes[{id, input}] = std::move(sizes);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i]) RETURN_IF_ERROR(SetOutput(id, i, &step));
    }
    return absl::OkStatus();
  }

  void Forget(NodeId id) {
    flow_.sizes.erase(flow_.sizes.lower_bound({id, 0}), flow_.sizes.lower_bound({id + 1, 0}));
  }

  absl::Status SetOutput(NodeId id, size_t i, BatchStep* step) {
    const ValueId value = *model_.node(id).outputs[i];
    std::optional<BatchPlace>& place = step->outputs[i];
    const auto known = known_.values.find(value);
    const bool is_known = known != known_.values.end();
    if (is_known && !place) {
      if (step->MakeOutput(known->second)) {
        for (auto& [input, sizes] : step->sizes) flow_.sizes[{id, input}] = std::move(sizes);
      }
      place = known->second;
    }
    if (is_known && !(*place == known->second)) {
      return Refuse(id, "its samples are needed at another place");
    }
    if (place && read_inside_.contains(value)) {
      return Refuse(id, "a subgraph reads its output: what it does with samples is not known");
    }
    flow_.places[static_cast<size_t>(value)] = place;
    return absl::OkStatus();
  }

  absl::Status Refuse(NodeId id, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(DescribeNode(model_, id), ": ", what));
  }

  // Gives the node a value for each sample where it has one for all. Constants are expanded before
  // what works on them by element, as an exporter has them. `next`: visits go on from there.
  absl::Status Make(NodeId id, size_t input, BatchPlace place, size_t* next) {
    const OptionalValueId wanted = model_.node(id).inputs[input];
    while (true) {
      const ValueId value = *model_.node(id).inputs[input];
      const OptionalNodeId producer = model_.value(value).producer;
      if (!producer || !position_.contains(*producer)) break;
      BatchStep step(exported_, batch_, *producer, flow_.places, known_.inputs, 0);
      if (step.MakeOutput(place)) {
        if (!known_.values.emplace(value, place).second) break;
        *next = position_.at(*producer);
        return absl::OkStatus();
      }
      const auto before = step.InputOf(place);
      if (!before) break;
      id = *producer;
      std::tie(input, place) = *before;
    }
    const OptionalValueId value = model_.node(id).inputs[input];
    const Fact* fact = exported_.FactOf(value);
    const bool has_axis = fact != nullptr && fact->is_tensor() && place.alone() &&
                          place.second < 0 && place.axis < fact->shape.rank();
    const bool is_one = has_axis && fact->shape[place.axis] == Expr(1);
    const bool is_each = has_axis && fact->shape[place.axis] == Expr(batch_.old) && Written(*value);
    if ((!is_one && !is_each) || !known_.inputs.emplace(InputPlace{id, input}, place).second) {
      return Refuse(id, absl::StrCat("the constant ", Quoted(model_.value(*wanted).name),
                                     " is one for the batch of the export"));
    }
    *next = position_.at(id);
    return absl::OkStatus();
  }

  // True if an initializer or a Constant holds it.
  bool Written(ValueId id) const {
    const Value& value = model_.value(id);
    if (value.initializer) return !value.is_graph_input;
    return value.producer && model_.node(*value.producer).op_type == "Constant";
  }

  // Every reading that is not plain must be the only one.
  absl::Status ProveReadings() {
    const BatchFlow found = flow_;
    const std::vector<Choice> taken = choices_;
    for (size_t i = 0; i < taken.size(); ++i) {
      for (size_t reading = 0; !taken[i].plain && reading < taken[i].readings; ++reading) {
        if (reading == taken[i].reading) continue;
        flow_ = found;
        choices_.assign(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(i));
        known_ = taken[i].known;
        forced_ = {taken[i].position, reading};
        const bool also = Search(taken[i].position, i).ok();
        const NodeId id = nodes()[taken[i].position];
        if (also) return Refuse(id, "which of its sizes follows the batch is not plain");
        if (visits_left_ == 0) return TooMany(taken[i].position);
      }
    }
    flow_ = found;
    return absl::OkStatus();
  }

  const Inference& exported_;
  const ModelData& model_;
  const BatchSizes batch_;
  Known known_;
  BatchFlow flow_;
  std::vector<Choice> choices_;                      // by rising positions
  std::optional<std::pair<size_t, size_t>> forced_;  // a position and its reading
  absl::flat_hash_map<NodeId, size_t> position_;
  absl::flat_hash_set<ValueId> read_inside_;
  size_t visits_left_ = 0;
};

}  // namespace

absl::StatusOr<BatchFlow> FollowBatch(const Inference& exported, const KnownPlaces& known,
                                      const BatchSizes& batch) {
  return Follower(exported, known, batch).Run();
}

}  // namespace onnxflops::adapter
