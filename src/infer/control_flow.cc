// Bodies: If, Loop, Scan, SequenceMap, and calls of the file's own functions.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/infer/body_facts.h"
#include "src/infer/evaluator.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops {

namespace {

Fact IterationFact(std::optional<int64_t> number) {
  if (!number.has_value()) return Fact::Tensor(DType::kInt64, {});
  return Fact::ScalarOf(Scalar::Int(*number), DType::kInt64);
}

}  // namespace

// ---- host

Expr Host::FreshDim(int output, int axis, absl::string_view hint) {
  const ModelData& data = evaluator_->data_;
  const Node& node = data.node(call_->node);
  absl::string_view tensor;
  if (const OptionalValueId v = node.output(static_cast<size_t>(output))) {
    tensor = data.value(*v).name;
  }
  return evaluator_->symbols_.Fresh(SymbolOrigin::Kind::kData, hint,
                                    evaluator_->PlaceIn(frame_, call_->node), output, tensor, axis,
                                    frame_.depth > 0);
}

Expr Host::FreshTripCount(absl::string_view hint) {
  const ModelData& data = evaluator_->data_;
  const Node& node = data.node(call_->node);
  absl::string_view tensor;
  for (OptionalValueId v : node.outputs) {
    if (v && tensor.empty()) tensor = data.value(*v).name;
  }
  constexpr int kNoOutput = -1;
  return evaluator_->symbols_.Fresh(SymbolOrigin::Kind::kTripCount, hint,
                                    evaluator_->PlaceIn(frame_, call_->node), kNoOutput, tensor, 0,
                                    frame_.depth > 0);
}

absl::StatusOr<BodyFacts> Host::InferBody(absl::string_view attribute,
                                          absl::Span<const Fact> inputs, const Expr& times) {
  const ModelData& data = evaluator_->data_;
  const Attribute* body = data.node(call_->node).FindAttribute(attribute);
  if (body == nullptr || body->graphs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", attribute, " holds no graph"));
  }
  FactIds ids;
  for (const Fact& input : inputs) ids.push_back(evaluator_->facts_.Intern(input));
  auto run = evaluator_->RunBody(body->graphs[0], ids, frame_);
  if (!run.ok()) return run.status();
  call_->bodies.push_back({run->first, times, true, body->name});
  return BodyFacts{evaluator_->FactsOf(run->second)};
}

// ---- bodies

absl::StatusOr<GraphId> Evaluator::BodyOf(const NodeView& view, absl::string_view attribute) const {
  const Attribute* body = view.FindAttr(attribute);
  if (body == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", attribute, " is missing"));
  }
  if (body->type != AttributeType::kGraph || body->graphs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", attribute, " is not a graph"));
  }
  return body->graphs[0];
}

Facts Evaluator::FactsOf(absl::Span<const FactId> ids) const {
  Facts facts;
  facts.reserve(ids.size());
  for (FactId id : ids) facts.push_back(facts_[id]);
  return facts;
}

absl::StatusOr<std::pair<InstanceId, FactIds>> Evaluator::RunBody(GraphId body,
                                                                  absl::Span<const FactId> inputs,
                                                                  const Frame& frame) {
  if (frame.depth >= kMaxCallDepth) {
    return LimitError(
        "call-depth",
        absl::StrCat("bodies and functions are nested deeper than the limit call-depth = ",
                     kMaxCallDepth));
  }
  const Graph& graph = data_.graph(body);
  RETURN_IF_ERROR(Spend((graph.inputs.size() + graph.outputs.size()) / kValuesPerEvaluation));
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    FactIdOf(graph.inputs[i]) = i < inputs.size() ? inputs[i] : FactTable::kUnknown;
  }
  Frame inner = frame;
  ++inner.depth;
  ASSIGN_OR_RETURN(const InstanceId instance, RunGraph(body, inner));
  FactIds outputs;
  for (ValueId v : graph.outputs) outputs.push_back(FactIdOf(v).value_or(FactTable::kUnknown));
  return std::make_pair(instance, std::move(outputs));
}

FactId Evaluator::Join(const NodeView& view, FactId a, FactId b, int output,
                       absl::string_view hint) {
  return a == b ? a : facts_.Intern(Joined(view, facts_[a], facts_[b], output, hint));
}

// What holds of a value that is either of two.
Fact Evaluator::Joined(const NodeView& view, const Fact& a, const Fact& b, int output,
                       absl::string_view hint) {
  if (a == b) return a;
  if (a.absent() || b.absent()) return a.absent() ? b : a;
  if (a.kind != b.kind) return Fact::Unknown();
  if (a.kind == Fact::Kind::kSequence || a.kind == Fact::Kind::kOptional) {
    Fact joined = a;
    joined.items = nullptr;
    if (a.length != b.length) joined.length = std::nullopt;
    if (a.element != nullptr && b.element != nullptr) {
      joined.element =
          std::make_shared<const Fact>(Joined(view, *a.element, *b.element, output, hint));
    }
    return joined;
  }
  if (!a.is_tensor() || a.dtype != b.dtype) return Fact::Unknown();
  Fact joined = Fact::Tensor(a.dtype, Shape::UnknownRank());
  joined.constant = a.constant && b.constant;
  joined.from_shapes = a.from_shapes && b.from_shapes;
  if (!a.shape.ranked() || !b.shape.ranked() || a.shape.rank() != b.shape.rank()) return joined;
  joined.shape = a.shape;
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (a.shape[i] != b.shape[i]) joined.shape[i] = view.FreshDim(output, i, hint);
  }
  return joined;
}

absl::StatusOr<Facts> Evaluator::InferControlFlow(const NodeView& view, const Frame& frame,
                                                  Call* call) {
  if (view.op_type() == "If") return InferIf(view, frame, call);
  if (view.op_type() == "Loop") return InferLoop(view, frame, call);
  if (view.op_type() == "Scan") return InferScan(view, frame, call);
  if (view.op_type() == "SequenceMap") return InferSequenceMap(view, frame, call);
  return absl::UnimplementedError(absl::StrCat("bodies of ", view.op_type(), " are not followed"));
}

// A dimension that is open here, but was bound under the name that it has when the condition is
// open: takes that value. True when a symbol of the branch got its value by that, so that the
// branch has to be evaluated again.
bool Evaluator::UseBindings(const std::string& place, Facts* outputs) {
  bool again = false;
  const std::string symbol = DataSymbol("if", place);
  for (Fact& fact : *outputs) {
    if (!fact.is_tensor() || !fact.shape.ranked()) continue;
    for (int axis = 0; axis < fact.shape.rank(); ++axis) {
      Expr& dim = fact.shape[axis];
      if (dim.is_literal()) continue;
      std::optional<int64_t> bound = symbols_.BoundTo(absl::StrCat(symbol, ".", axis));
      if (!bound.has_value()) bound = symbols_.BoundTo(symbol);
      if (!bound.has_value()) continue;
      const std::vector<std::string> symbols = dim.Symbols();
      if (symbols.size() == 1 && symbols[0] == dim.ToString()) {
        symbols_.Bind(symbols[0], *bound);
        again = true;
      }
      dim = *bound;
    }
  }
  return again;
}

// An If whose condition is known: only the branch that is taken exists.
absl::StatusOr<Facts> Evaluator::InferBranch(const NodeView& view, const Frame& frame, bool taken,
                                             Call* call) {
  const absl::string_view branch = taken ? "then_branch" : "else_branch";
  ASSIGN_OR_RETURN(const GraphId graph, BodyOf(view, branch));
  ASSIGN_OR_RETURN(auto run, RunBody(graph, {}, frame));
  const std::string place = PlaceIn(frame, call->node).text;
  Facts outputs = FactsOf(run.second);
  if (UseBindings(place, &outputs)) {
    ASSIGN_OR_RETURN(run, RunBody(graph, {}, frame));
    outputs = FactsOf(run.second);
    UseBindings(place, &outputs);
  }
  call->bodies = {{run.first, 1, true, branch}};
  return outputs;
}

absl::StatusOr<Facts> Evaluator::InferIf(const NodeView& view, const Frame& frame, Call* call) {
  ASSIGN_OR_RETURN(const GraphId then_graph, BodyOf(view, "then_branch"));
  ASSIGN_OR_RETURN(const GraphId else_graph, BodyOf(view, "else_branch"));
  const std::optional<bool> condition = KnownBool(view.input(0));
  if (condition.has_value()) return InferBranch(view, frame, *condition, call);
  ASSIGN_OR_RETURN(auto then_run, RunBody(then_graph, {}, frame));
  ASSIGN_OR_RETURN(auto else_run, RunBody(else_graph, {}, frame));
  call->bodies = {{then_run.first, 1, true, "then_branch"},
                  {else_run.first, 1, true, "else_branch"}};
  call->choose_larger = true;
  Facts outputs;
  for (size_t i = 0; i < std::min(then_run.second.size(), else_run.second.size()); ++i) {
    outputs.push_back(
        facts_[Join(view, then_run.second[i], else_run.second[i], static_cast<int>(i), "if")]);
  }
  return outputs;
}

// ---- Loop

struct Evaluator::LoopState {
  GraphId body = 0;
  std::optional<Expr> max_trips;  // M, where it is given and known
  std::optional<bool> enters;     // whether the condition holds before the first trip
  FactIds initial;                // loop-carried values before the first trip
  FactIds carried;                // and after the last
  FactIds scan_elements;          // what one trip adds to each scan output
  Expr trips;
  std::vector<BodyRun> runs;
  std::string limit;  // why it was not followed trip by trip, if a limit is why
};

// The inputs of a body: the trip's number, the condition, and what is carried.
FactIds Evaluator::TripInputs(std::optional<int64_t> trip, const FactIds& carried) {
  FactIds inputs;
  inputs.reserve(carried.size() + 2);
  inputs.push_back(facts_.Intern(IterationFact(trip)));
  inputs.push_back(facts_.Intern(Fact::ScalarOf(Scalar::Int(1), DType::kBool)));
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  return inputs;
}

// Follows the loop trip by trip, with contents. Fails with Unimplemented where that cannot be done,
// or not within the limits.
absl::Status Evaluator::UnrollLoop(const NodeView& view, const Frame& frame, LoopState* state) {
  if (state->enters != true) return absl::UnimplementedError("condition unknown");
  const int64_t most = options_.limits.unrolled_trips;
  const std::optional<int64_t> bound =
      state->max_trips.has_value() ? state->max_trips->AsInt64() : most + 1;
  if (!bound.has_value()) return absl::UnimplementedError("trip count unknown");
  if (state->max_trips.has_value() && *bound > most) {
    state->limit = absl::StrCat(*bound, " trips are more than unrolled-trips = ", most);
    return absl::UnimplementedError("too many trips");
  }
  const int64_t budget = evaluations_left_ / 2;
  FactIds carried = state->initial;
  FactIds elements;
  std::vector<BodyRun> runs;
  bool running = true;
  for (int64_t trip = 0; running && trip < *bound; ++trip) {
    if (trip == most || evaluations_left_ < budget) {
      state->limit = trip == most ? absl::StrCat("it makes more trips than unrolled-trips = ", most)
                                  : absl::StrCat(
                                        "its trips would take more than half of what is left of "
                                        "evaluations-per-node = ",
                                        options_.limits.evaluations_per_node);
      return absl::UnimplementedError("too many trips");
    }
    Frame inner = frame;
    inner.caller = &frame;
    inner.via = kNone;
    inner.trip = trip;
    ASSIGN_OR_RETURN(auto run, RunBody(state->body, TripInputs(trip, carried), inner));
    runs.push_back({run.first, 1, true, "body"});
    const std::optional<bool> goes_on = KnownBool(facts_[run.second[0]]);
    if (!goes_on.has_value()) return absl::UnimplementedError("condition unknown");
    running = *goes_on;
    carried.assign(run.second.begin() + 1,
                   run.second.begin() + 1 + static_cast<int64_t>(carried.size()));
    for (size_t i = 0; i + 1 + carried.size() < run.second.size(); ++i) {
      const FactId element = run.second[i + 1 + carried.size()];
      if (trip == 0) {
        elements.push_back(element);
      } else {
        elements[i] =
            Join(view, elements[i], element, static_cast<int>(i + carried.size()), "loop");
      }
    }
  }
  state->carried = std::move(carried);
  state->scan_elements = std::move(elements);
  state->trips = static_cast<int64_t>(runs.size());
  state->runs = std::move(runs);
  return absl::OkStatus();
}

// One body for all trips: what changes from trip to trip becomes unknown content, or a symbol for a
// dimension.
absl::Status Evaluator::GeneralizeLoop(const NodeView& view, const Frame& frame, LoopState* state) {
  constexpr int kMaxPasses = 6;  // each pass loses something of some value; then ranks are given up
  FactIds carried = state->initial;
  for (int pass = 0;; ++pass) {
    ASSIGN_OR_RETURN(auto run, RunBody(state->body, TripInputs(std::nullopt, carried), frame));
    bool stable = true;
    for (size_t i = 0; i < carried.size(); ++i) {
      const FactId after = run.second[i + 1];
      const int output = static_cast<int>(i);
      if (SameKnowledge(facts_[carried[i]], facts_[after]) ||
          SameKnowledge(facts_[carried[i]],
                        facts_[Join(view, carried[i], after, output, "loop")])) {
        continue;
      }
      stable = false;
      const FactId joined = Join(view, facts_.WithoutContent(carried[i]),
                                 facts_.WithoutContent(after), output, "loop");
      carried[i] = pass < kMaxPasses ? joined : FactTable::kUnknown;
    }
    if (!stable) continue;
    const bool always = KnownBool(facts_[run.second[0]]).value_or(false);
    if (state->enters == false) {
      state->trips = 0;
    } else if (state->max_trips.has_value() && always && state->enters.value_or(false)) {
      state->trips = Max(*state->max_trips, 0);
    } else {
      state->trips = view.FreshTripCount("trips");
    }
    state->carried = std::move(carried);
    state->scan_elements.assign(
        run.second.begin() + 1 + static_cast<int64_t>(state->carried.size()), run.second.end());
    state->runs = {{run.first, state->trips, true, "body"}};
    return absl::OkStatus();
  }
}

absl::StatusOr<Facts> Evaluator::InferLoop(const NodeView& view, const Frame& frame, Call* call) {
  LoopState state;
  ASSIGN_OR_RETURN(state.body, BodyOf(view, "body"));
  const Graph& graph = data_.graph(state.body);
  if (graph.inputs.size() < 2 || graph.outputs.size() + 1 < graph.inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the body has ", graph.inputs.size(), " inputs and ", graph.outputs.size(), " outputs"));
  }
  for (size_t i = 2; i < graph.inputs.size(); ++i) {
    state.initial.push_back(i < call->inputs.size() ? call->inputs[i] : FactTable::kAbsent);
  }
  if (view.HasInput(0)) state.max_trips = view.KnownInt(0);
  state.enters = view.HasInput(1) ? KnownBool(view.input(1)) : true;
  if (state.max_trips.has_value() && ProvablyLess(*state.max_trips, 1).value_or(false)) {
    state.enters = false;
  }
  // A bound that is given but unknown, or none at all, leaves the trip count open unless the
  // condition decides it.
  const bool unrollable = !view.HasInput(0) || state.max_trips.has_value();
  absl::Status followed = absl::UnimplementedError("");
  if (unrollable && state.enters == true) followed = UnrollLoop(view, frame, &state);
  if (!followed.ok() && !absl::IsUnimplemented(followed)) return followed;
  if (!followed.ok()) {
    const int64_t symbols_before = symbols_.fresh_uses();
    RETURN_IF_ERROR(GeneralizeLoop(view, frame, &state));
    if (!state.limit.empty() && symbols_.fresh_uses() > symbols_before) {
      Warn(absl::StrCat(DescribeNode(data_, call->node), ": ", state.limit,
                        ", so sizes that change from trip to trip are symbols"));
    }
  }
  if (state.enters == false) state.carried = state.initial;
  call->bodies = state.runs;
  Facts outputs;
  for (size_t i = 0; i < state.carried.size(); ++i) {
    // With no trip at all the initial value comes out.
    const bool runs_once = state.trips.AtLeast(1) || state.enters == false;
    outputs.push_back(facts_[runs_once ? state.carried[i]
                                       : Join(view, facts_.WithoutContent(state.initial[i]),
                                              facts_.WithoutContent(state.carried[i]),
                                              static_cast<int>(i), "loop")]);
  }
  for (FactId element : state.scan_elements) {
    outputs.push_back(Stack(facts_[element], state.trips, 0));
  }
  return outputs;
}

// ---- SequenceMap

absl::StatusOr<Facts> Evaluator::InferSequenceMap(const NodeView& view, const Frame& frame,
                                                  Call* call) {
  ASSIGN_OR_RETURN(const GraphId body, BodyOf(view, "body"));
  const Fact& first = view.input(0);
  if (first.kind != Fact::Kind::kSequence) {
    return absl::FailedPreconditionError("input 0 is not known as a sequence");
  }
  const bool by_item = first.items != nullptr;
  const size_t trips = by_item ? first.items->size() : 1;
  const Expr length = first.length.has_value() ? *first.length : view.FreshTripCount("length");
  std::vector<std::vector<FactId>> items(static_cast<size_t>(view.num_outputs()));
  for (size_t trip = 0; trip < trips; ++trip) {
    FactIds inputs;
    for (FactId id : call->inputs) {
      const Fact& input = facts_[id];
      if (input.kind != Fact::Kind::kSequence) {
        inputs.push_back(id);
      } else if (by_item && input.items != nullptr && trip < input.items->size()) {
        inputs.push_back(facts_.Intern((*input.items)[trip]));
      } else {
        inputs.push_back(input.element == nullptr ? FactTable::kUnknown
                                                  : facts_.Intern(*input.element));
      }
    }
    ASSIGN_OR_RETURN(auto run, RunBody(body, inputs, frame));
    call->bodies.push_back({run.first, by_item ? Expr(1) : length, true, "body"});
    for (size_t k = 0; k < items.size() && k < run.second.size(); ++k) {
      items[k].push_back(run.second[k]);
    }
  }
  Facts outputs;
  for (size_t k = 0; k < items.size(); ++k) {
    FactId element = items[k].empty() ? FactTable::kUnknown : items[k].front();
    for (FactId item : items[k]) {
      element = Join(view, element, item, static_cast<int>(k), "sequencemap");
    }
    Fact sequence = Fact::Sequence(facts_[element], length);
    if (by_item) {
      const Facts all = FactsOf(items[k]);
      sequence.items = std::make_shared<const std::vector<Fact>>(all.begin(), all.end());
    }
    outputs.push_back(std::move(sequence));
  }
  return outputs;
}

}  // namespace onnxflops
