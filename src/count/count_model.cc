// How it works. Inference has already reduced the model to distinct calls (an operator on given
// facts) and to instances (a graph evaluated on given inputs). Each call is costed once, however
// many nodes stand for it. Instances are taken callees first. So when a Loop, an If or a function
// call is reached, the totals of its bodies are there and are only multiplied by how often they
// run. If both branches of an If may run, the costlier one counts. The total of a graph is the sum
// of its distinct calls, each times its occurrences. The FLOPs by operator need the opposite order:
// a second walk, callers first, finds how often each instance runs in the whole model.
//
// Surprising cases. A node that is shape arithmetic counts only its contractions and bytes, so one
// call may count in two ways in a graph. A loop whose sizes change from trip to trip is given by
// trips 0 to 3 with weights. Their sum is exact only if every amount is a polynomial of the trip's
// number of power 3 at most. If not, the node is unknown. Terms and steps are checked after every
// call: a file can make formulas grow without end.
#include "src/count/count_model.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "ops/rules.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"
#include "src/cost/amounts_sum.h"
#include "src/count/tally_sum.h"
#include "src/symbolic/expr_sum.h"
#include "src/symbolic/work.h"

namespace onnxflops {

void Tally::Add(const Tally& other, const Expr& times) {
  const bool once = times == Expr(1);
  const auto add = [&](Expr* to, const Expr& amount) { *to += once ? amount : amount * times; };
  const auto add_census = [&](Census* to, const Census& census) {
    census.ForEach([&](Kind kind, const Expr& amount) { add(&(*to)[kind], amount); });
  };
  add_census(&flops, other.flops);
  add_census(&int_ops, other.int_ops);
  amounts.Add(other.amounts, times);
  for (const auto& [types, amount] : other.macs_by_dtype) add(&macs_by_dtype[types], amount);
  lower_bound = lower_bound || other.lower_bound;
}

Tally Tally::AsShapeWork() const {
  Tally kept = *this;
  kept.flops = kept.int_ops = Census();
  if (flops[Kind::kMac] != Expr(0)) kept.flops[Kind::kMac] = flops[Kind::kMac];
  if (int_ops[Kind::kMac] != Expr(0)) kept.int_ops[Kind::kMac] = int_ops[Kind::kMac];
  kept.amounts = ShapeWorkAmounts();
  return kept;
}

const Tally& Tally::Nothing(bool lower_bound) {
  static const Tally& nothing = *new Tally();
  static const Tally& unknown = *[] {
    auto* tally = new Tally();
    tally->lower_bound = true;
    return tally;
  }();
  return lower_bound ? unknown : nothing;
}

Amounts Tally::ShapeWorkAmounts() const {
  Amounts kept = amounts;
  kept.flops = 2 * flops[Kind::kMac];
  kept.other_flops = 0;
  kept.int_ops = 2 * int_ops[Kind::kMac];
  kept.time_bound = kept.time_estimate = 0;
  if (amounts.foldable_flops != Expr(0)) kept.foldable_flops = kept.flops;
  return kept;
}

Expr StoredBytes(const Fact& fact) {
  if (!fact.is_tensor()) return 0;
  if (fact.stored == DType::kUndefined) return BytesOf(fact).value_or(0);
  Fact stored = Fact::Tensor(fact.stored, fact.shape);
  return BytesOf(stored).value_or(0);
}

TimedWork TimedWorkOf(const Inference& inference, const Call& call, const Tally& own) {
  const Traits traits = call.def == nullptr ? Traits::kNone : call.def->traits;
  if (Has(traits, Traits::kDequantizes)) return {};
  const bool integers = !own.int_ops[Kind::kMac].is_zero();
  TimedWork work = {integers ? own.amounts.flops + own.amounts.int_ops : own.amounts.flops,
                    own.amounts.bytes_read, own.amounts.bytes_written};
  const auto as_stored = [&](absl::Span<const FactId> facts, Expr* bytes) {
    Expr whole, stored;
    for (FactId id : facts) {
      const Fact& fact = inference.fact(id);
      if (fact.is_tensor()) whole += BytesOf(fact).value_or(0);
      stored += StoredBytes(fact);
    }
    if (whole != stored && *bytes == whole) *bytes = stored;
  };
  as_stored(call.inputs, &work.bytes_read);
  as_stored(call.outputs, &work.bytes_written);
  if (Has(traits, Traits::kQuantizes) && !call.inputs.empty()) {
    const Fact& x = inference.fact(call.inputs[0]);
    work.bytes_read -= x.is_tensor() ? BytesOf(x).value_or(0) : Expr(0);
  }
  return work;
}

namespace {

// Steps of a WorkLimit that looking at one input or output takes.
constexpr size_t kStepsPerFact = 4;

// The first thing wrong with a tally's numbers, or nullptr.
const char* ErrorOf(const Tally& tally) {
  const char* error = nullptr;
  const auto look = [&](Kind, const Expr& amount) {
    if (error == nullptr) error = amount.error();
  };
  tally.flops.ForEach(look);
  tally.int_ops.ForEach(look);
  return error != nullptr ? error : tally.amounts.error();
}

// Every number of a tally, in one order.
std::vector<Expr> AmountsOf(const Tally& tally) {
  std::vector<Expr> amounts;
  for (int i = 0; i < kNumKinds; ++i) {
    amounts.push_back(tally.flops[static_cast<Kind>(i)]);
    amounts.push_back(tally.int_ops[static_cast<Kind>(i)]);
  }
  for (const Quantity& quantity : kQuantities) amounts.push_back(tally.amounts.*quantity.value);
  for (const auto& [types, amount] : tally.macs_by_dtype) amounts.push_back(amount);
  return amounts;
}

int64_t TermsOf(const Tally& tally) {
  int64_t terms = tally.amounts.bytes_read.NumTerms() + tally.amounts.bytes_written.NumTerms() +
                  tally.amounts.time_bound.NumTerms() + tally.amounts.time_estimate.NumTerms();
  const auto add = [&](Kind, const Expr& amount) { terms += amount.NumTerms(); };
  tally.flops.ForEach(add);
  tally.int_ops.ForEach(add);
  return terms;
}

class Counter {
 public:
  Counter(const Inference& inference, CausalCounting causal,
          const std::optional<Roofline>& roofline)
      : in_(inference), model_(*inference.model), causal_(causal), roofline_(roofline) {}

  absl::StatusOr<Counts> Run() {
    const WorkLimit work(MaxSteps(model_, in_.limits));
    work_ = &work;
    out_.calls.resize(in_.calls.size());
    counted_.resize(in_.calls.size());
    out_.instances.resize(in_.instances.size());
    occurrences_.resize(in_.instances.size());
    FindReached();
    for (InstanceId id : in_.callees_first) {
      if (reached_[static_cast<size_t>(id)]) RETURN_IF_ERROR(CountInstance(id));
    }
    WarnOfOpenBranches();
    out_.total = out_.instances[0];
    if (const char* error = ErrorOf(out_.total)) {
      return LimitError(LimitOf(error), absl::StrCat(Escaped(model_.path), ": the total ", error));
    }
    AddUpByOperator();
    if (work.exceeded()) {
      return LimitError(
          "steps-per-node",
          absl::StrCat(Escaped(model_.path),
                       ": with the sums of all operators the costs take more "
                       "than ",
                       MaxSteps(model_, in_.limits), " steps of arithmetic (steps-per-node)"));
    }
    return std::move(out_);
  }

 private:
  // How often a call occurs in an instance. Occurrences as shape arithmetic are counted separately.
  struct Occurrence {
    CallId call;
    bool shape_work;
    int64_t times;
  };

  // Finds the instances that count. Those that inference tried for a loop and dropped do not.
  void FindReached() {
    reached_.assign(in_.instances.size(), false);
    reached_[0] = true;
    out_.copies.assign(in_.instances.size(), 0);
    out_.copies[0] = 1;
    for (size_t i = in_.callees_first.size(); i-- > 0;) {
      const auto id = static_cast<size_t>(in_.callees_first[i]);
      if (!reached_[id]) continue;
      for (CallId call : in_.instances[id].calls) {
        for (const BodyRun& run : in_.call(call).bodies) {
          reached_[static_cast<size_t>(run.instance)] = true;
        }
        for (const BodyRun& run : in_.call(call).shown_bodies()) {
          AddUpTo64Bits(out_.copies[id], &out_.copies[static_cast<size_t>(run.instance)]);
        }
      }
    }
  }

  const std::vector<Occurrence>& OccurrencesIn(InstanceId id) {
    std::vector<Occurrence>& result = occurrences_[static_cast<size_t>(id)];
    const Instance& instance = in_.instance(id);
    if (!result.empty() || instance.calls.empty()) return result;
    times_.resize(in_.calls.size() * 2, 0);
    std::vector<size_t> touched;
    const bool marked = !instance.shape_work.empty();
    for (size_t i = 0; i < instance.calls.size(); ++i) {
      const size_t at =
          static_cast<size_t>(instance.calls[i]) * 2 + (marked && instance.shape_work[i] ? 1 : 0);
      if (times_[at]++ == 0) touched.push_back(at);
    }
    result.reserve(touched.size());
    for (size_t at : touched) {
      result.push_back({static_cast<CallId>(at / 2), at % 2 == 1, times_[at]});
      times_[at] = 0;
    }
    return result;
  }

  absl::Status CountInstance(InstanceId id) {
    TallySum sum;
    const std::vector<Occurrence>& occurrences = OccurrencesIn(id);
    for (const Occurrence& o : occurrences) {
      CallCost& cost = out_.calls[static_cast<size_t>(o.call)];
      if (!counted_[static_cast<size_t>(o.call)]) {
        counted_[static_cast<size_t>(o.call)] = true;
        RETURN_IF_ERROR(CountCall(o.call, &cost));
      }
      if (o.shape_work) {
        sum.Add(cost.tally().AsShapeWork(), o.times);
      } else {
        sum.Add(cost.tally(), o.times);
      }
      RETURN_IF_ERROR(CheckWork(in_.call(o.call)));
    }
    Tally& total = out_.instances[static_cast<size_t>(id)];
    total = sum.Total();
    terms_ += TermsOf(total);
    if (out_.copies[static_cast<size_t>(id)] > 0) CoverNodes(id, occurrences);
    return absl::OkStatus();
  }

  // Checks that the costs up to a call are within the limits.
  absl::Status CheckWork(const Call& call) const {
    const bool too_many_terms = terms_ > MaxTerms();
    if (!too_many_terms && !work_->exceeded()) return absl::OkStatus();
    return LimitError(
        too_many_terms ? "terms-per-node" : "steps-per-node",
        absl::StrCat(Escaped(model_.path), ": with ", DescribeCall(in_, call, call.node),
                     " the costs of all nodes ",
                     too_many_terms
                         ? absl::StrCat("have more than ", MaxTerms(), " terms (terms-per-node)")
                         : absl::StrCat("take more than ", MaxSteps(model_, in_.limits),
                                        " steps of arithmetic (steps-per-node)")));
  }

  int64_t MaxTerms() const {
    return kMaxExtraTerms + in_.limits.terms_per_node * static_cast<int64_t>(model_.nodes.size());
  }

  // Stops at the largest int64: a function may be called 2^70 times.
  static void AddUpTo64Bits(absl::int128 more, int64_t* sum) {
    constexpr absl::int128 kMost = std::numeric_limits<int64_t>::max();
    *sum = static_cast<int64_t>(std::min(kMost, *sum + more));
  }

  void CoverNodes(InstanceId id, const std::vector<Occurrence>& occurrences) {
    bool any_unknown = false;
    const absl::int128 copies = out_.copies[static_cast<size_t>(id)];
    for (const Occurrence& o : occurrences) {
      const CallCost& cost = out_.calls[static_cast<size_t>(o.call)];
      if (CallsFunction(in_.call(o.call))) continue;  // its nodes are counted themselves
      const absl::int128 times = copies * o.times;
      AddUpTo64Bits(times, &out_.nodes);
      if (cost.causal) AddUpTo64Bits(times, &out_.causal);
      if (cost.coverage == Coverage::kUnknown) {
        any_unknown = true;
        AddUpTo64Bits(times, &out_.unknown);
      } else if (cost.coverage == Coverage::kFree ||
                 (o.shape_work && cost.tally().amounts.macs.is_zero())) {
        AddUpTo64Bits(times, &out_.free);
      } else {
        AddUpTo64Bits(times, &out_.counted);
      }
    }
    if (any_unknown) ListUnknown(in_.instance(id));
  }

  bool CallsFunction(const Call& call) const {
    return model_.node(call.node).function.has_value() && !call.bodies.empty();
  }

  void ListUnknown(const Instance& instance) {
    const Graph& graph = model_.graph(instance.graph);
    for (size_t i = 0; i < instance.calls.size(); ++i) {
      const CallCost& cost = out_.calls[static_cast<size_t>(instance.calls[i])];
      if (cost.coverage != Coverage::kUnknown || CallsFunction(in_.call(instance.calls[i])))
        continue;
      const Node& node = model_.node(graph.nodes[i]);
      out_.unknown_items.push_back(
          {graph.nodes[i], node.op_type, node.domain, std::string(cost.problem.message())});
    }
  }

  absl::Status CountCall(CallId id, CallCost* result) {
    const Call& call = in_.call(id);
    if (spare_ == nullptr) spare_ = std::make_shared<Tally>();
    Tally& own = *spare_;
    result->coverage = Coverage::kFree;
    if (!call.problem.ok()) {
      result->coverage = Coverage::kUnknown;
      result->problem = call.problem;
    } else if (call.def != nullptr) {
      RETURN_IF_ERROR(CountOperator(call, result, &own));
    }
    if (roofline_ && !call.constant) AddTime(call, &own);
    if (!call.bodies.empty()) {
      CountBodies(call, result);
      RETURN_IF_ERROR(CheckTimeOfTrips(call, *result));
    }
    const bool unknown = result->coverage == Coverage::kUnknown;
    own.lower_bound = unknown || MayRunUnknown(call);
    std::shared_ptr<Tally> all = call.bodies.empty() ? spare_ : std::make_shared<Tally>(own);
    if (!call.bodies.empty()) AddBodies(call, *result, all.get());
    if (call.constant) all->amounts.foldable_flops = all->amounts.flops;
    terms_ += TermsOf(*all);
    const char* error = ErrorOf(*all);
    if (!IsNothing(own) || (own.lower_bound && !unknown)) {
      result->work = std::exchange(spare_, nullptr);
    }
    if (!call.bodies.empty()) result->with_bodies = std::move(all);
    RETURN_IF_ERROR(CheckWork(call));
    if (error == nullptr) return absl::OkStatus();
    return LimitError(LimitOf(error),
                      absl::StrCat(Escaped(model_.path), ": ", DescribeCall(in_, call, call.node),
                                   ": its cost ", error));
  }

  // If a branch has an unknown part, it is unknown which branch of an If costs more.
  bool MayRunUnknown(const Call& call) const {
    return call.choose_larger &&
           std::any_of(call.bodies.begin(), call.bodies.end(), [&](const BodyRun& run) {
             return out_.instances[static_cast<size_t>(run.instance)].lower_bound;
           });
  }

  static bool IsNothing(const Tally& tally) {
    return tally.flops.IsZero() && tally.int_ops.IsZero() && tally.amounts.IsZero();
  }

  // Finds how often the bodies count.
  void CountBodies(const Call& call, CallCost* result) {
    result->body_times = BodyTimes(call);
    if (!call.growing.has_value() || HasSumOfTrips(call, *result)) return;
    result->coverage = Coverage::kUnknown;
    result->problem = absl::UnimplementedError(
        "the work of its trips is no polynomial of the trip's number, and its sum has no closed "
        "form");
    result->body_times.assign(call.bodies.size(), 0);
  }

  void AddTime(const Call& call, Tally* own) const {
    const TimedWork work = TimedWorkOf(in_, call, *own);
    own->amounts.time_estimate =
        roofline_->TimeOf(work.operations, work.bytes_read + work.bytes_written);
  }

  // Times are maxima of other formulas. So they may be no polynomials of the trip's number even if
  // all other amounts are.
  absl::Status CheckTimeOfTrips(const Call& call, const CallCost& cost) const {
    if (!roofline_ || !call.growing.has_value() || cost.coverage == Coverage::kUnknown) {
      return absl::OkStatus();
    }
    Tally sum;
    AddBodies(call, cost, &sum);
    const Tally& trip = out_.instances[static_cast<size_t>(call.bodies[0].instance)];
    for (Expr Amounts::*time : {&Amounts::time_estimate, &Amounts::time_bound}) {
      if (SumOver(trip.amounts.*time, call.growing->symbol, call.growing->count) !=
          sum.amounts.*time) {
        return absl::UnimplementedError(
            absl::StrCat(Escaped(model_.path), ": ", DescribeCall(in_, call, call.node),
                         ": its sizes change from trip to trip, and the ", QuantityOf(time).title,
                         " of it has no closed form; count without ", Setting("device")));
      }
    }
    return absl::OkStatus();
  }

  // True if every amount of a body is a polynomial of the trip's number: then the weighted sum of
  // the sampled trips is the sum over all trips.
  bool HasSumOfTrips(const Call& call, const CallCost& cost) const {
    Tally sum;
    AddBodies(call, cost, &sum);
    Tally one = out_.instances[static_cast<size_t>(call.bodies[0].instance)];
    sum.amounts.time_estimate = one.amounts.time_estimate = 0;
    sum.amounts.time_bound = one.amounts.time_bound = 0;
    std::vector<Expr> sums = AmountsOf(sum);
    std::vector<Expr> trip = AmountsOf(one);
    if (sums.size() != trip.size()) return false;
    for (size_t i = 0; i < sums.size(); ++i) {
      if (SumOver(trip[i], call.growing->symbol, call.growing->count) != sums[i]) return false;
    }
    return true;
  }

  void AddBodies(const Call& call, const CallCost& cost, Tally* tally) const {
    for (size_t b = 0; b < call.bodies.size(); ++b) {
      const Expr& times = cost.body_times[b];
      if (times == Expr(0)) continue;
      tally->Add(out_.instances[static_cast<size_t>(call.bodies[b].instance)], times);
    }
  }

  std::vector<Expr> BodyTimes(const Call& call) {
    std::vector<Expr> times;
    if (call.choose_larger) {
      const Expr second = SecondIsLarger(call);
      return {Expr(1) - second, second};
    }
    for (const BodyRun& run : call.bodies) times.push_back(run.counted ? run.times : Expr(0));
    return times;
  }

  // 1 if the second branch of an If costs more, else 0. If that depends on symbols, an expression
  // that is right at every size.
  Expr SecondIsLarger(const Call& call) {
    const Tally& a = out_.instances[static_cast<size_t>(call.bodies[0].instance)];
    const Tally& b = out_.instances[static_cast<size_t>(call.bodies[1].instance)];
    const Expr difference =
        b.amounts.flops + b.amounts.int_ops - a.amounts.flops - a.amounts.int_ops;
    if (difference == Expr(0)) return 0;
    ++out_.unequal_branches;
    const bool second = difference.AtLeast(1);
    if (second || ProvablyLess(difference, 1).value_or(false)) {
      NoteOpenBranch(call, a, b);
      return second ? 1 : 0;
    }
    out_.warnings.push_back(absl::StrCat(
        DescribeCall(in_, call, call.node),
        ": which branch costs more depends on the symbols; at each size the larger one is counted",
        FlopsOfBranches(a, b)));
    return Min(1, Max(0, difference));
  }

  // Empty if a formula is longer than a line.
  static std::string FlopsOfBranches(const Tally& a, const Tally& b) {
    constexpr size_t kLine = 80;
    const auto text = [](const Tally& branch) -> std::string {
      if (!branch.lower_bound) return branch.amounts.flops.ToString();
      if (branch.amounts.flops == Expr(0)) return "unknown";
      return absl::StrCat("at least ", branch.amounts.flops.ToString());
    };
    const std::string first = text(a), second = text(b);
    if (first.size() > kLine || second.size() > kLine) return "";
    return absl::StrCat(" (FLOPs of then_branch ", Escaped(first), ", of else_branch ",
                        Escaped(second), ")");
  }

  // The first is described; the others are counted.
  void NoteOpenBranch(const Call& call, const Tally& a, const Tally& b) {
    if (++open_branches_ > 1) return;
    open_branch_ = absl::StrCat(DescribeCall(in_, call, call.node),
                                ": which branch runs is not known; the larger one is counted",
                                FlopsOfBranches(a, b));
  }

  void WarnOfOpenBranches() {
    if (open_branches_ == 0) return;
    if (open_branches_ > 1) absl::StrAppend(&open_branch_, "; so in ", open_branches_ - 1, " more");
    out_.warnings.push_back(std::move(open_branch_));
  }

  // The operator's rule, with its result checked.
  static absl::StatusOr<Cost> CostOf(const NodeView& view) {
    ASSIGN_OR_RETURN(Cost cost, CountNode(view));
    RETURN_IF_ERROR(view.status());
    RETURN_IF_ERROR(cost.flops.CheckNotNegative());
    RETURN_IF_ERROR(cost.int_ops.CheckNotNegative());
    return cost;
  }

  absl::Status CountOperator(const Call& call, CallCost* result, Tally* own) {
    const Node& node = model_.node(call.node);
    absl::InlinedVector<const Fact*, 8> inputs, outputs;
    for (FactId fact : call.inputs) inputs.push_back(&in_.fact(fact));
    for (FactId fact : call.outputs) outputs.push_back(&in_.fact(fact));
    SpendSteps(kStepsPerFact * (inputs.size() + outputs.size()));
    const NodeView view(model_, node, *call.def, call.opset, inputs, outputs, nullptr,
                        call.call_attributes, causal_);
    Cost cost;
    if (!call.def->IsFree()) {
      absl::StatusOr<Cost> counted = CostOf(view);
      if (!counted.ok()) return TakeProblem(call, counted.status(), result);
      cost = *std::move(counted);
      const bool arithmetic = !cost.flops.IsZero() || !cost.int_ops.IsZero();
      result->coverage = arithmetic ? Coverage::kCounted : Coverage::kFree;
    }
    result->causal = cost.causal;
    FillOperands(inputs, &cost);
    own->flops = std::move(cost.flops);
    own->int_ops = std::move(cost.int_ops);
    if (!Has(call.def->traits, Traits::kView)) {
      own->amounts.bytes_read = cost.bytes_read ? *cost.bytes_read : BytesOfAll(call.inputs);
      own->amounts.bytes_written =
          cost.bytes_written ? *cost.bytes_written : BytesOfAll(call.outputs);
    }
    AddArithmetic(outputs, own);
    AddMacs(std::as_const(*own).flops, cost.flops_mac_operands, own);
    AddMacs(std::as_const(*own).int_ops, cost.int_ops_mac_operands, own);
    if (roofline_ && !call.constant && !own->amounts.macs.is_zero()) {
      const NodeView least(model_, node, *call.def, call.opset, inputs, outputs, nullptr,
                           call.call_attributes, causal_, /*least=*/true);
      ASSIGN_OR_RETURN(Cost needed,
                       call.def->least != nullptr ? call.def->least(view) : CostOf(least));
      FillOperands(inputs, &needed);
      own->amounts.time_bound = LeastTime(*roofline_, needed);
    }
    return absl::OkStatus();
  }

  // The time of the multiply-accumulates only. All other work may be folded into them (a
  // normalization into a convolution), or may run on other units at the same time.
  static Expr LeastTime(const Roofline& roofline, const Cost& needed) {
    const auto time = [&](const Expr& macs, const MacOperands& types) {
      const bool integer = types.qdq || !IsFloat(types.a) || !IsFloat(types.b);
      const int64_t bits = std::max(BitsPerElement(types.a), BitsPerElement(types.b));
      const absl::int128 rate = integer && bits <= 4 ? roofline.zs_per_int4_operation
                                : integer            ? roofline.zs_per_integer_operation
                                : bits <= 8          ? roofline.zs_per_quarter_operation
                                : bits <= 16         ? roofline.zs_per_half_operation
                                                     : roofline.zs_per_operation;
      return 2 * macs * Expr(rate);
    };
    return time(needed.flops[Kind::kMac], needed.flops_mac_operands) +
           time(needed.int_ops[Kind::kMac], needed.int_ops_mac_operands);
  }

  // The amounts that follow from the census.
  static void AddArithmetic(absl::Span<const Fact* const> outputs, Tally* own) {
    const Census& flops = own->flops;
    const Census& int_ops = own->int_ops;
    if (flops.IsZero() && int_ops.IsZero()) return;
    Amounts& amounts = own->amounts;
    amounts.flops = flops.Ops();
    amounts.macs = flops[Kind::kMac] + int_ops[Kind::kMac];
    amounts.other_flops = flops.Other();
    amounts.int_ops = int_ops.Ops();
    if (amounts.macs != Expr(0) && !outputs.empty() && outputs[0]->is_tensor() &&
        outputs[0]->shape.ranked()) {
      amounts.activation_count = outputs[0]->shape.NumElements();
    }
  }

  static void AddMacs(const Census& census, const MacOperands& operands, Tally* own) {
    const Expr& macs = census[Kind::kMac];
    if (macs == Expr(0)) return;
    own->macs_by_dtype[operands] += macs;
    own->amounts.bops += macs * (BitsPerElement(operands.a) * BitsPerElement(operands.b));
  }

  // If a rule cannot tell the cost, the node is unknown; if it finds the model invalid, the count
  // stops.
  absl::Status TakeProblem(const Call& call, const absl::Status& problem, CallCost* result) const {
    if (absl::IsFailedPrecondition(problem) || absl::IsUnimplemented(problem)) {
      result->coverage = Coverage::kUnknown;
      result->problem = problem;
      return absl::OkStatus();
    }
    std::string text = absl::StrCat(Escaped(model_.path), ": ", DescribeCall(in_, call, call.node),
                                    ": ", Printable(problem.message()));
    return WithMessage(problem, text);
  }

  // The operand types of a contraction whose rule does not set them: those of its first two inputs,
  // as stored before any dequantisation.
  static void FillOperands(absl::Span<const Fact* const> inputs, Cost* cost) {
    MacOperands operands;
    const auto stored = [&](size_t i, DType* type) {
      if (i >= inputs.size() || !inputs[i]->is_tensor()) return;
      *type = inputs[i]->dtype;
      if (inputs[i]->stored == DType::kUndefined) return;
      *type = inputs[i]->stored;
      operands.qdq = true;
    };
    stored(0, &operands.a);
    operands.b = operands.a;
    stored(1, &operands.b);
    for (MacOperands* own : {&cost->flops_mac_operands, &cost->int_ops_mac_operands}) {
      if (own->a == DType::kUndefined) *own = operands;
    }
  }

  // Counts each value once per use. A value without a known tensor shape counts as 0; its node is
  // already unknown if that matters.
  Expr BytesOfAll(absl::Span<const FactId> facts) {
    if (facts.size() <= 1) return facts.empty() ? Expr(0) : Bytes(facts[0]);
    absl::InlinedVector<FactId, 8> sorted(facts.begin(), facts.end());
    std::sort(sorted.begin(), sorted.end());
    ExprSum sum;
    for (size_t i = 0; i < sorted.size();) {
      size_t end = i + 1;
      while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
      const Expr bytes = Bytes(sorted[i]);
      sum.Add(end == i + 1 ? bytes : bytes * static_cast<int64_t>(end - i));
      i = end;
    }
    return sum.Total();
  }

  const Expr& Bytes(FactId id) {
    bytes_.resize(in_.facts.size());
    std::optional<Expr>& known = bytes_[static_cast<size_t>(id)];
    if (!known) {
      const Fact& fact = in_.fact(id);
      known = fact.is_tensor() ? BytesOf(fact).value_or(0) : Expr(0);
    }
    return *known;
  }

  void AddUpByOperator() {
    std::vector<Expr> runs(in_.instances.size());
    runs[0] = 1;
    for (size_t i = in_.callees_first.size(); i-- > 0;) {
      const InstanceId id = in_.callees_first[i];
      const Expr times = runs[static_cast<size_t>(id)];
      if (!reached_[static_cast<size_t>(id)] || times == Expr(0)) continue;
      for (const Occurrence& o : OccurrencesIn(id)) {
        AddOperator(o, times * o.times, &runs);
      }
    }
    // A file may have as many operators as nodes, so each sum is freed once its total is there.
    for (auto it = op_sums_.begin(); it != op_sums_.end(); it = op_sums_.erase(it)) {
      const auto& [key, sums] = *it;
      out_.by_op[{std::string(key.first), std::string(key.second)}] = {
          sums.nodes.Total(), sums.amounts.Total(), sums.lower_bound};
    }
  }

  void AddOperator(const Occurrence& occurrence, const Expr& times, std::vector<Expr>* runs) {
    const Call& call = in_.call(occurrence.call);
    const CallCost& cost = out_.calls[static_cast<size_t>(occurrence.call)];
    for (size_t b = 0; b < call.bodies.size(); ++b) {
      const Expr& runs_here = cost.body_times[b];
      if (runs_here == Expr(0)) continue;
      (*runs)[static_cast<size_t>(call.bodies[b].instance)] += times * runs_here;
    }
    const Node& node = model_.node(call.node);
    if (node.function) return;  // its nodes are counted themselves
    OpSums& sums = op_sums_[{node.domain, node.op_type}];
    sums.nodes.Add(times);
    sums.lower_bound = sums.lower_bound || cost.coverage == Coverage::kUnknown;
    if (occurrence.shape_work) {
      sums.amounts.Add(cost.own().ShapeWorkAmounts(), times);
    } else {
      sums.amounts.Add(cost.own().amounts, times);
    }
  }

  const Inference& in_;
  const ModelData& model_;
  const CausalCounting causal_;
  const std::optional<Roofline> roofline_;
  int64_t terms_ = 0;  // of the costs of all nodes so far
  Counts out_;
  std::shared_ptr<Tally> spare_;  // left over by a call that did nothing
  std::vector<bool> reached_;
  std::vector<std::vector<Occurrence>> occurrences_;  // by instance; empty: not asked for yet
  std::vector<int64_t> times_;                        // scratch, by call and shape_work
  std::vector<bool> counted_;                         // by call
  std::vector<std::optional<Expr>> bytes_;            // by fact; nullopt: not asked for yet
  int64_t open_branches_ = 0;  // Ifs with an unknown branch and different costs
  std::string open_branch_;    // the first of them
  const WorkLimit* work_ = nullptr;
  struct OpSums {
    ExprSum nodes;
    AmountsSum amounts;
    bool lower_bound = false;
  };
  absl::btree_map<std::pair<absl::string_view, absl::string_view>, OpSums> op_sums_;
};

}  // namespace

absl::StatusOr<Counts> Count(const Inference& inference, CausalCounting causal,
                             const std::optional<Roofline>& roofline) {
  return Counter(inference, causal, roofline).Run();
}

}  // namespace onnxflops
