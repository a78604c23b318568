// Loop: followed trip by trip where that can be done; else one body stands for all trips.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/infer/body_facts.h"
#include "src/infer/control_flow.h"

namespace onnxflops::infer {

namespace {

Fact IterationFact(std::optional<int64_t> number) {
  if (!number.has_value()) return Fact::Tensor(DType::kInt64, {});
  return Fact::ScalarOf(Scalar::Int(*number), DType::kInt64);
}

// One Loop. Owns what is carried from trip to trip while it is followed, and the runs.
class LoopRun {
 public:
  LoopRun(const ControlNode& node, GraphId body) : node_(node), body_(body) {}

  // InvalidArgument where the body's inputs and outputs are no Loop's.
  absl::Status ReadInputs();
  absl::Status Follow();
  Facts TakeOutputs();

 private:
  // Follows the loop trip by trip, with contents. Fails with Unimplemented where that cannot be
  // done, or not within the limits. REQUIRES: it enters.
  absl::Status Unroll();
  // One body for all trips: what changes from trip to trip becomes unknown content, or a symbol for
  // a dimension.
  absl::Status Generalize();
  // Why `trip` is not followed any more, if a limit is why.
  std::string LimitAt(int64_t trip, int64_t budget) const;
  FactIds TripInputs(std::optional<int64_t> trip, const FactIds& carried) const;
  // What a trip carries on with, and how that joins what it began with. False if nothing is new.
  bool TakeCarried(const BodyResult& run, int pass, FactIds* carried) const;
  void SetTrips(const BodyResult& run);
  void AddElements(const BodyResult& run, bool is_first, FactIds* elements) const;

  FactTable& facts() const { return node_.facts(); }
  const Limits& limits() const { return node_.session().options().limits; }
  int64_t evaluations_left() const { return node_.session().budget().evaluations_left(); }

  const ControlNode& node_;
  const GraphId body_;
  std::optional<Expr> max_trips_;  // M, where it is given and known
  std::optional<bool> enters_;     // whether the condition holds before the first trip
  FactIds initial_;                // loop-carried values before the first trip
  FactIds carried_;                // and after the last
  FactIds scan_elements_;          // what one trip adds to each scan output
  Expr trips_;
  std::vector<BodyRun> runs_;
  std::string limit_;  // why it was not followed trip by trip, if a limit is why
};

absl::Status LoopRun::ReadInputs() {
  const Graph& graph = node_.graph(body_);
  if (graph.inputs.size() < 2 || graph.outputs.size() + 1 < graph.inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the body has ", graph.inputs.size(), " inputs and ", graph.outputs.size(), " outputs"));
  }
  const auto& inputs = node_.call().inputs;
  for (size_t i = 2; i < graph.inputs.size(); ++i) {
    initial_.push_back(i < inputs.size() ? inputs[i] : FactTable::kAbsent);
  }
  const NodeView& view = node_.view();
  if (view.HasInput(0)) max_trips_ = view.KnownInt(0);
  enters_ = view.HasInput(1) ? KnownBool(view.input(1)) : true;
  if (max_trips_.has_value() && ProvablyLess(*max_trips_, 1).value_or(false)) enters_ = false;
  return absl::OkStatus();
}

// The inputs of a body: the trip's number, the condition, and what is carried.
FactIds LoopRun::TripInputs(std::optional<int64_t> trip, const FactIds& carried) const {
  FactIds inputs;
  inputs.reserve(carried.size() + 2);
  inputs.push_back(facts().Intern(IterationFact(trip)));
  inputs.push_back(facts().Intern(Fact::ScalarOf(Scalar::Int(1), DType::kBool)));
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  return inputs;
}

std::string LoopRun::LimitAt(int64_t trip, int64_t budget) const {
  if (trip == limits().unrolled_trips) {
    return absl::StrCat("it makes more trips than unrolled-trips = ", trip);
  }
  if (evaluations_left() >= budget) return "";
  return absl::StrCat(
      "its trips would take more than half of what is left of evaluations-per-node = ",
      limits().evaluations_per_node);
}

void LoopRun::AddElements(const BodyResult& run, bool is_first, FactIds* elements) const {
  const size_t carried = initial_.size();
  for (size_t i = 0; i + 1 + carried < run.outputs.size(); ++i) {
    const FactId element = run.outputs[i + 1 + carried];
    if (is_first) {
      elements->push_back(element);
    } else {
      (*elements)[i] = node_.Join((*elements)[i], element, static_cast<int>(i + carried), "loop");
    }
  }
}

absl::Status LoopRun::Unroll() {
  const int64_t most = limits().unrolled_trips;
  const std::optional<int64_t> bound = max_trips_.has_value() ? max_trips_->AsInt64() : most + 1;
  if (!bound.has_value()) return absl::UnimplementedError("trip count unknown");
  if (max_trips_.has_value() && *bound > most) {
    limit_ = absl::StrCat(*bound, " trips are more than unrolled-trips = ", most);
    return absl::UnimplementedError("too many trips");
  }
  const int64_t budget = evaluations_left() / 2;
  FactIds carried = initial_;
  FactIds elements;
  std::vector<BodyRun> runs;
  bool running = true;
  for (int64_t trip = 0; running && trip < *bound; ++trip) {
    limit_ = LimitAt(trip, budget);
    if (!limit_.empty()) return absl::UnimplementedError("too many trips");
    ASSIGN_OR_RETURN(const BodyResult run, node_.RunTrip(body_, TripInputs(trip, carried), trip));
    runs.push_back({run.instance, 1, true, "body"});
    const std::optional<bool> goes_on = KnownBool(facts()[run.outputs[0]]);
    if (!goes_on.has_value()) return absl::UnimplementedError("condition unknown");
    running = *goes_on;
    const auto first = run.outputs.begin() + 1;
    carried.assign(first, first + static_cast<int64_t>(carried.size()));
    AddElements(run, trip == 0, &elements);
  }
  carried_ = std::move(carried);
  scan_elements_ = std::move(elements);
  trips_ = static_cast<int64_t>(runs.size());
  runs_ = std::move(runs);
  return absl::OkStatus();
}

bool LoopRun::TakeCarried(const BodyResult& run, int pass, FactIds* carried) const {
  constexpr int kMaxPasses = 6;  // each pass loses something of some value; then ranks are given up
  bool changed = false;
  for (size_t i = 0; i < carried->size(); ++i) {
    const FactId before = (*carried)[i], after = run.outputs[i + 1];
    const int output = static_cast<int>(i);
    if (SameKnowledge(facts()[before], facts()[after]) ||
        SameKnowledge(facts()[before], facts()[node_.Join(before, after, output, "loop")])) {
      continue;
    }
    changed = true;
    const FactId joined =
        node_.Join(facts().WithoutContent(before), facts().WithoutContent(after), output, "loop");
    (*carried)[i] = pass < kMaxPasses ? joined : FactTable::kUnknown;
  }
  return changed;
}

void LoopRun::SetTrips(const BodyResult& run) {
  const bool always = KnownBool(facts()[run.outputs[0]]).value_or(false);
  if (enters_ == false) {
    trips_ = 0;
  } else if (max_trips_.has_value() && always && enters_.value_or(false)) {
    trips_ = Max(*max_trips_, 0);
  } else {
    trips_ = node_.view().FreshTripCount("trips");
  }
}

absl::Status LoopRun::Generalize() {
  FactIds carried = initial_;
  for (int pass = 0;; ++pass) {
    ASSIGN_OR_RETURN(const BodyResult run, node_.Run(body_, TripInputs(std::nullopt, carried)));
    if (TakeCarried(run, pass, &carried)) continue;
    SetTrips(run);
    carried_ = std::move(carried);
    scan_elements_.assign(run.outputs.begin() + 1 + static_cast<int64_t>(carried_.size()),
                          run.outputs.end());
    runs_ = {{run.instance, trips_, true, "body"}};
    return absl::OkStatus();
  }
}

absl::Status LoopRun::Follow() {
  // A bound that is given but unknown, or none at all, leaves the trip count open unless the
  // condition decides it.
  const bool unrollable = !node_.view().HasInput(0) || max_trips_.has_value();
  absl::Status followed = absl::UnimplementedError("");
  if (unrollable && enters_ == true) followed = Unroll();
  if (!absl::IsUnimplemented(followed)) return followed;
  Session& session = node_.session();
  const int64_t symbols_before = session.symbols().fresh_uses();
  RETURN_IF_ERROR(Generalize());
  if (!limit_.empty() && session.symbols().fresh_uses() > symbols_before) {
    session.Warn(absl::StrCat(DescribeNode(session.model(), node_.call().node), ": ", limit_,
                              ", so sizes that change from trip to trip are symbols"));
  }
  return absl::OkStatus();
}

Facts LoopRun::TakeOutputs() {
  if (enters_ == false) carried_ = initial_;
  node_.call().bodies = std::move(runs_);
  Facts outputs;
  for (size_t i = 0; i < carried_.size(); ++i) {
    // With no trip at all the initial value comes out.
    const bool runs_once = trips_.AtLeast(1) || enters_ == false;
    outputs.push_back(facts()[runs_once ? carried_[i]
                                        : node_.Join(facts().WithoutContent(initial_[i]),
                                                     facts().WithoutContent(carried_[i]),
                                                     static_cast<int>(i), "loop")]);
  }
  for (FactId element : scan_elements_) {
    outputs.push_back(Stack(facts()[element], trips_, 0));
  }
  return outputs;
}

}  // namespace

absl::StatusOr<Facts> InferLoop(const ControlNode& node) {
  ASSIGN_OR_RETURN(const GraphId body, node.BodyOf("body"));
  LoopRun loop(node, body);
  RETURN_IF_ERROR(loop.ReadInputs());
  RETURN_IF_ERROR(loop.Follow());
  return loop.TakeOutputs();
}

}  // namespace onnxflops::infer
