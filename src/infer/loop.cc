// Loop: followed trip by trip if possible; otherwise one body stands for all trips.
//
// How it works. Three methods are tried, from the most to the least exact:
//
//   1. Unroll. Every trip runs with its real contents. This needs a known trip count or known
//      conditions within the limits, and may take half of the steps that are left.
//   2. Generalize. One body runs on facts that hold for every trip. A value that differs between
//      trips loses its content, or a dimension becomes a symbol, and the body runs again until
//      nothing changes.
//   3. Grow. If sizes change from trip to trip as polynomials of the trip's number t of degree 2 or
//      less, three runs give the polynomials, and a run at symbolic t proves them for every trip.
//      The cost of all trips is then a sum over t, for which the trips 0 to 3 run with the weights
//      of Newton's form. It is given up if a size depends on data or a branch is open, since these
//      may differ in every trip under one name.
//
// Otherwise the symbols stay, and a warning says that the count holds only if all trips are alike.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/infer/body_facts.h"
#include "src/infer/control_flow.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::infer {

namespace {

Fact IterationFact(const std::optional<Expr>& number) {
  if (!number.has_value()) return Fact::Tensor(DType::kInt64, {});
  return Fact::ScalarOf(Scalar::Int(*number), DType::kInt64);
}

// ---- Values that change from trip to trip, as polynomials in the trip's number

// The polynomial of t with these values at 0, 1 and 2; nullopt if its coefficients are not whole.
std::optional<Expr> Extrapolated(const Expr& at0, const Expr& at1, const Expr& at2, const Expr& t) {
  const std::optional<Expr> bend = DivideExactly(at2 - 2 * at1 + at0, 2);
  if (!bend.has_value()) return std::nullopt;
  return at0 + (at1 - at0) * t + *bend * t * (t - 1);
}

// The same for the list of an integer tensor, element by element; nullptr if it has none.
std::shared_ptr<const Content> ExtrapolatedContent(const Fact& at0, const Fact& at1,
                                                   const Fact& at2, const Expr& t) {
  if (!at0.has_content() || !at1.has_content() || !at2.has_content()) return nullptr;
  const Content &a = *at0.content, &b = *at1.content, &c = *at2.content;
  if (a.size() != b.size() || b.size() != c.size()) return nullptr;
  Content content;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] && b[i] == c[i]) {
      content.push_back(a[i]);
      continue;
    }
    if (!a[i].is_int() || !b[i].is_int() || !c[i].is_int()) return nullptr;
    std::optional<Expr> element = Extrapolated(a[i].i, b[i].i, c[i].i, t);
    if (!element.has_value()) return nullptr;
    content.push_back(Scalar::Int(*std::move(element)));
  }
  return std::make_shared<const Content>(std::move(content));
}

// The same of a sequence of equal items, which gets longer, and may be empty at first.
std::optional<Fact> ExtrapolatedSequence(const Fact& at0, const Fact& at1, const Fact& at2,
                                         const Expr& t) {
  if (at1.kind != at0.kind || at2.kind != at0.kind || at1.element == nullptr ||
      at2.element == nullptr || at0.element == nullptr) {
    return std::nullopt;
  }
  const bool begins_empty = at0.length == Expr(0);
  if (!SameKnowledge(*at1.element, *at2.element)) return std::nullopt;
  if (!begins_empty && !SameKnowledge(*at0.element, *at1.element)) return std::nullopt;
  if (!at0.length.has_value() || !at1.length.has_value() || !at2.length.has_value()) {
    return std::nullopt;
  }
  std::optional<Expr> length = Extrapolated(*at0.length, *at1.length, *at2.length, t);
  if (!length.has_value()) return std::nullopt;
  return Fact::Sequence(*at1.element, std::move(length));
}

// The fact at trip t, from those before trips 0, 1 and 2, without its origin; nullopt if no
// polynomial fits.
std::optional<Fact> ExtrapolatedFact(const Fact& at0, const Fact& at1, const Fact& at2,
                                     const Expr& t) {
  if (SameKnowledge(at0, at1) && SameKnowledge(at1, at2)) return at0;
  if (at0.kind == Fact::Kind::kSequence) return ExtrapolatedSequence(at0, at1, at2, t);
  for (const Fact* fact : {&at0, &at1, &at2}) {
    if (!fact->is_tensor() || !fact->shape.ranked()) return std::nullopt;
    if (fact->dtype != at0.dtype || fact->shape.rank() != at0.shape.rank()) return std::nullopt;
  }
  Fact fact = WithoutContent(at0);
  if (at1.stored != at0.stored || at2.stored != at0.stored) fact.stored = DType::kUndefined;
  for (int i = 0; i < fact.shape.rank(); ++i) {
    std::optional<Expr> size = Extrapolated(at0.shape[i], at1.shape[i], at2.shape[i], t);
    if (!size.has_value()) return std::nullopt;
    fact.shape[i] = *std::move(size);
  }
  fact.content = ExtrapolatedContent(at0, at1, at2, t);
  return fact;
}

// Only the type and sizes are kept of a state that is handed on from too many others.
Fact TypeAndSizes(Fact fact) {
  fact.DropContent();
  fact.items = nullptr;
  fact.stored = DType::kUndefined;
  return WithoutOrigin(std::move(fact));
}

// The fact with `value` for the trip's symbol.
Fact AtTrip(Fact fact, const std::string& symbol, const Expr& value) {
  const Replacements trip = {{symbol, value}};
  for (Expr& dim : fact.shape.dims()) dim = dim.Replace(trip);
  if (fact.length.has_value()) fact.length = fact.length->Replace(trip);
  if (fact.content != nullptr) {
    Content content = *fact.content;
    for (Scalar& element : content) element.i = element.i.Replace(trip);
    fact.content = std::make_shared<const Content>(std::move(content));
  }
  return fact;
}

// ---- The loop

// One Loop. Holds the carried values while it is followed, and the runs.
class LoopRun {
 public:
  LoopRun(const ControlNode& node, GraphId body) : node_(node), body_(body) {}

  // InvalidArgument if the body's inputs and outputs do not fit a Loop.
  absl::Status ReadInputs();
  absl::Status Follow();
  Facts TakeOutputs();

 private:
  // Follows the loop trip by trip, with contents. Unimplemented if that is impossible, or exceeds
  // the limits. REQUIRES: the loop runs at least once.
  absl::Status Unroll();
  // True if everything that changes from trip to trip is a polynomial of the trip's number, and the
  // trips could be evaluated in this way. `first` is the run on the loop's initial values.
  absl::StatusOr<bool> Grow(const BodyResult& first, int64_t evaluations);
  // The values carried into trip `symbol`, extrapolated from the first three trips' values. nullopt
  // if they grow in no known way.
  absl::StatusOr<std::optional<FactIds>> Extrapolate(const BodyResult& first,
                                                     const std::string& symbol);
  // The run at trip `symbol`, with the origins in `carried` widened until no trip adds another.
  // nullopt if it does not carry on as extrapolated.
  absl::StatusOr<std::optional<BodyResult>> RunAnyTrip(const std::string& symbol, FactIds* carried);
  // The runs at trips `symbol`, 0, 1, 2 and 3. False if they do not carry on as extrapolated.
  absl::StatusOr<bool> RunSamples(const std::string& symbol, FactIds* carried);
  FactIds CarriedAt(const FactIds& carried, const std::string& symbol, const Expr& trip) const;
  // Uses one body for all trips: changing content becomes unknown, and changing dimensions become
  // symbols.
  absl::Status Generalize();
  // Why `trip` is not followed any more, if a limit is why.
  std::string LimitAt(int64_t trip, int64_t budget) const;
  FactIds TripInputs(const std::optional<Expr>& trip, const FactIds& carried) const;
  // Joins the values that a trip carries on with those that it began with. False if nothing is new.
  bool TakeCarried(const BodyResult& run, int pass, FactIds* carried) const;
  // True if a loop-carried value changes its shape within one trip.
  bool ChangesSizes(const BodyResult& run) const;
  // True if a loop-carried value changes its content within one trip: sizes may follow from it.
  bool ChangesContents(const BodyResult& run) const;
  // Grow() for a loop whose sizes in a trip follow from contents. Changes nothing if that fails.
  absl::StatusOr<bool> GrowByContents();
  void SetTrips(const BodyResult& run);
  void AddElements(const BodyResult& run, bool is_first, FactIds* elements) const;

  FactTable& facts() const { return node_.facts(); }
  const Limits& limits() const { return node_.session().options().limits; }
  int64_t evaluations_left() const { return node_.session().budget().evaluations_left(); }

  const ControlNode& node_;
  const GraphId body_;
  std::optional<Expr> max_trips_;    // M, if it is given and known
  std::optional<bool> enters_;       // whether the condition holds before the first trip
  FactIds initial_;                  // loop-carried values before the first trip
  FactIds carried_;                  // and after the last
  FactIds scan_elements_;            // what one trip appends to each scan output
  std::optional<FactId> condition_;  // after a trip, if it decides the number of trips
  Expr trips_;
  std::vector<BodyRun> runs_;
  std::optional<GrowingTrips> growing_;
  std::optional<BodyResult> first_;  // the run on the initial values
  int64_t first_evaluations_ = 0;    // evaluations that it took
  bool changes_sizes_ = false;       // from trip to trip, in a way that has no closed form
  std::string limit_;                // why it was not followed trip by trip, if a limit is why
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

// The inputs of a body: the trip's number, the condition, and the carried values.
FactIds LoopRun::TripInputs(const std::optional<Expr>& trip, const FactIds& carried) const {
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
    ASSIGN_OR_RETURN(const BodyResult run,
                     node_.RunTrip(body_, TripInputs(Expr(trip), carried), trip));
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
  bool changed = false, changes_knowledge = false;
  for (size_t i = 0; i < carried->size(); ++i) {
    const FactId before = (*carried)[i], after = run.outputs[i + 1];
    const int output = static_cast<int>(i);
    if (SameKnowledge(facts()[before], facts()[after]) ||
        SameKnowledge(facts()[before], facts()[node_.Join(before, after, output, "loop")])) {
      (*carried)[i] = facts().Intern(WithOriginOfBoth(facts()[before], facts()[after]));
      changed = changed || (*carried)[i] != before;
      continue;
    }
    changed = changes_knowledge = true;
    const FactId joined =
        node_.Join(facts().WithoutContent(before), facts().WithoutContent(after), output, "loop");
    (*carried)[i] = pass <= kMaxBodyPasses ? joined : FactTable::kUnknown;
  }
  if (!changed || pass != kMaxBodyPasses) return changed;
  // In a chain of states, each loses its content a pass after the one before. After kMaxBodyPasses
  // all lose it at once.
  for (FactId& id : *carried) {
    id = facts().Intern(changes_knowledge ? TypeAndSizes(facts()[id]) : WithoutOrigin(facts()[id]));
  }
  return true;
}

bool LoopRun::ChangesSizes(const BodyResult& run) const {
  for (size_t i = 0; i < initial_.size(); ++i) {
    const Fact &before = facts()[initial_[i]], &after = facts()[run.outputs[i + 1]];
    if (before.shape != after.shape || before.length != after.length) return true;
  }
  return false;
}

bool LoopRun::ChangesContents(const BodyResult& run) const {
  for (size_t i = 0; i < initial_.size(); ++i) {
    const FactId before = initial_[i], after = run.outputs[i + 1];
    if (facts().HasContent(before) && !SameKnowledge(facts()[before], facts()[after])) return true;
  }
  return false;
}

void LoopRun::SetTrips(const BodyResult& run) {
  const bool always = KnownBool(facts()[run.outputs[0]]).value_or(false);
  if (enters_ == false) {
    trips_ = 0;
  } else if (max_trips_.has_value() && always && enters_.value_or(false)) {
    trips_ = Max(*max_trips_, 0);
  } else {
    if (!always) condition_ = run.outputs[0];
    const Expr most = max_trips_.has_value() ? Max(*max_trips_, 0) : Expr(0);
    trips_ = node_.view().FreshTripCount("trips", {&most, max_trips_.has_value() ? 1U : 0U});
  }
}

FactIds LoopRun::CarriedAt(const FactIds& carried, const std::string& symbol,
                           const Expr& trip) const {
  FactIds at;
  for (FactId id : carried) at.push_back(facts().Intern(AtTrip(facts()[id], symbol, trip)));
  return at;
}

absl::StatusOr<std::optional<FactIds>> LoopRun::Extrapolate(const BodyResult& first,
                                                            const std::string& symbol) {
  const size_t count = initial_.size();
  const auto carried_by = [&](const BodyResult& run) {
    const auto begin = run.outputs.begin() + 1;
    return FactIds(begin, begin + static_cast<int64_t>(count));
  };
  const FactIds after_one = carried_by(first);
  ASSIGN_OR_RETURN(const BodyResult second, node_.Run(body_, TripInputs(Expr(1), after_one)));
  const FactIds after_two = carried_by(second);
  const Expr t = Expr::Symbol(symbol);
  FactIds carried;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Fact> fact =
        ExtrapolatedFact(facts()[initial_[i]], facts()[after_one[i]], facts()[after_two[i]], t);
    if (!fact.has_value()) return std::nullopt;
    Fact at = WithOriginOfBoth(WithOrigin(*fact, facts()[initial_[i]]), facts()[after_one[i]]);
    carried.push_back(facts().Intern(WithOriginOfBoth(std::move(at), facts()[after_two[i]])));
  }
  return carried;
}

absl::StatusOr<std::optional<BodyResult>> LoopRun::RunAnyTrip(const std::string& symbol,
                                                              FactIds* carried) {
  const Expr t = Expr::Symbol(symbol);
  for (int pass = 0;; ++pass) {
    const FactIds next = CarriedAt(*carried, symbol, t + 1);
    ASSIGN_OR_RETURN(const BodyResult run, node_.Run(body_, TripInputs(t, *carried)));
    if (KnownBool(facts()[run.outputs[0]]) != true) return std::nullopt;
    bool changed = false;
    // An induction: the knowledge holds for the first trip, and if it holds for a trip then for the
    // next one.
    for (size_t k = 0; k < next.size(); ++k) {
      const FactId after = run.outputs[k + 1];
      const FactId known = facts().HasContent(next[k]) ? after : facts().WithoutContent(after);
      if (!SameKnowledge(facts()[known], facts()[next[k]])) return std::nullopt;
      // An origin that one state hands to the next may take many passes to arrive.
      const Fact& other = pass < kMaxBodyPasses ? facts()[after] : Fact::Unknown();
      const FactId kept = facts().Intern(WithOriginOfBoth(facts()[(*carried)[k]], other));
      changed = changed || kept != (*carried)[k];
      (*carried)[k] = kept;
    }
    if (!changed) return run;
  }
}

absl::StatusOr<bool> LoopRun::RunSamples(const std::string& symbol, FactIds* carried) {
  ASSIGN_OR_RETURN(const std::optional<BodyResult> any, RunAnyTrip(symbol, carried));
  if (!any.has_value()) return false;
  runs_ = {{any->instance, trips_, false, "body"}};
  scan_elements_.clear();
  const std::vector<Expr> weights = SumWeights(trips_);
  for (size_t i = 0; i < weights.size(); ++i) {
    const Expr trip = static_cast<int64_t>(i);
    const FactIds inputs = CarriedAt(*carried, symbol, trip);
    ASSIGN_OR_RETURN(const BodyResult run, node_.Run(body_, TripInputs(trip, inputs)));
    if (KnownBool(facts()[run.outputs[0]]) != true) return false;
    runs_.push_back({run.instance, weights[i], true, "body"});
    AddElements(run, i == 0, &scan_elements_);
  }
  return true;
}

absl::StatusOr<bool> LoopRun::Grow(const BodyResult& first, int64_t evaluations) {
  constexpr int64_t kRuns = 8 + kMaxBodyPasses;  // at most, each about as long as the first
  if (enters_ != true || !max_trips_.has_value()) return false;
  if (kRuns * evaluations > evaluations_left() / 2) return false;
  int& growing = node_.session().growing_loops();
  if (growing == kMaxGrowingLoops) return false;
  ++growing;
  const absl::Cleanup done = [&] { --growing; };
  // Nested loops have different symbols, since a node does not run within itself.
  const std::string symbol = DataSymbol("trip", absl::StrCat(node_.call().node));
  trips_ = Max(*max_trips_, 0);
  // A data-dependent size has one name in all runs, but may have another value in every trip; and
  // an open branch may depend on the trip. Both make the sum wrong.
  Session& session = node_.session();
  const auto unknowns = [&session] {
    return session.symbols().fresh_uses() + session.undecided_branches();
  };
  const int64_t unknowns_before = unknowns();
  // Trips are tried that the loop may never make: an error in one only means that it cannot grow.
  absl::StatusOr<std::optional<FactIds>> carried = Extrapolate(first, symbol);
  if (absl::IsInvalidArgument(carried.status())) return false;
  if (!carried.ok()) return carried.status();
  if (!carried->has_value()) return false;
  absl::StatusOr<bool> grows = RunSamples(symbol, &**carried);
  if (absl::IsInvalidArgument(grows.status())) return false;
  if (!grows.ok() || !*grows) return grows;
  if (unknowns() != unknowns_before) return false;
  carried_ = CarriedAt(**carried, symbol, trips_);
  growing_ = GrowingTrips{symbol, trips_};
  condition_.reset();  // it holds after every trip
  return true;
}

absl::Status LoopRun::Generalize() {
  FactIds carried = initial_;
  for (int pass = 0;; ++pass) {
    const int64_t before = evaluations_left();
    ASSIGN_OR_RETURN(const BodyResult run, node_.Run(body_, TripInputs(std::nullopt, carried)));
    if (pass == 0) {
      first_ = run;
      first_evaluations_ = before - evaluations_left();
      if (ChangesSizes(run)) {
        ASSIGN_OR_RETURN(const bool grows, Grow(run, first_evaluations_));
        if (grows) return absl::OkStatus();
        changes_sizes_ = true;
      }
    }
    if (TakeCarried(run, pass, &carried)) continue;
    SetTrips(run);
    carried_ = std::move(carried);
    scan_elements_.assign(run.outputs.begin() + 1 + static_cast<int64_t>(carried_.size()),
                          run.outputs.end());
    runs_ = {{run.instance, trips_, true, "body"}};
    return absl::OkStatus();
  }
}

absl::StatusOr<bool> LoopRun::GrowByContents() {
  const std::vector<BodyRun> runs = runs_;
  const FactIds elements = scan_elements_;
  const Expr trips = trips_;
  ASSIGN_OR_RETURN(const bool grows, Grow(*first_, first_evaluations_));
  if (grows) return true;
  runs_ = runs;
  scan_elements_ = elements;
  trips_ = trips;
  return false;
}

absl::Status LoopRun::Follow() {
  // A bound that is unknown or missing leaves the trip count open unless the condition decides it.
  const bool unrollable = !node_.view().HasInput(0) || max_trips_.has_value();
  absl::Status followed = absl::UnimplementedError("");
  if (unrollable && enters_ == true) followed = Unroll();
  if (!absl::IsUnimplemented(followed)) return followed;
  Session& session = node_.session();
  const int64_t symbols_before = session.symbols().fresh_uses();
  RETURN_IF_ERROR(Generalize());
  if (session.symbols().fresh_uses() == symbols_before) return absl::OkStatus();
  if (!changes_sizes_ && !growing_.has_value() && ChangesContents(*first_)) {
    ASSIGN_OR_RETURN(const bool grows, GrowByContents());
    if (grows) return absl::OkStatus();
    changes_sizes_ = true;
  }
  const std::string place = DescribeNode(session.model(), node_.call().node);
  if (changes_sizes_) {
    session.Warn(absl::StrCat(place,
                              ": its sizes change from trip to trip, and their sum has no closed "
                              "form; each is one symbol for all trips and for what comes out, so ",
                              kAlikeTrips));
  }
  if (!limit_.empty()) {
    session.Warn(
        absl::StrCat(place, ": ", limit_, ", so sizes that change from trip to trip are symbols"));
  }
  return absl::OkStatus();
}

Facts LoopRun::TakeOutputs() {
  if (enters_ == false) carried_ = initial_;
  node_.call().bodies = std::move(runs_);
  node_.call().growing = growing_;
  Facts outputs;
  for (size_t i = 0; i < carried_.size(); ++i) {
    // Without any trip the output is the initial value.
    const bool runs_once = trips_.AtLeast(1) || enters_ == false || growing_.has_value();
    outputs.push_back(facts()[runs_once ? carried_[i]
                                        : node_.Join(facts().WithoutContent(initial_[i]),
                                                     facts().WithoutContent(carried_[i]),
                                                     static_cast<int>(i), "loop")]);
  }
  for (FactId element : scan_elements_) {
    outputs.push_back(Stack(facts()[element], trips_, 0));
  }
  for (Fact& output : outputs) {
    if (condition_) output = WithOriginOfBoth(std::move(output), facts()[*condition_]);
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
