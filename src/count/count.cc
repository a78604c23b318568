#include "src/count/count.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/rules.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/symbolic/expr_sum.h"

namespace onnxflops {

void Tally::Add(const Tally& other, const Expr& times) {
  const bool once = times == Expr(1);
  const auto add = [&](Expr* to, const Expr& amount) {
    if (amount == Expr(0)) return;
    *to += once ? amount : amount * times;
  };
  for (int i = 0; i < kNumKinds; ++i) {
    add(&flops[static_cast<Kind>(i)], other.flops[static_cast<Kind>(i)]);
    add(&int_ops[static_cast<Kind>(i)], other.int_ops[static_cast<Kind>(i)]);
  }
  add(&bytes_read, other.bytes_read);
  add(&bytes_written, other.bytes_written);
  add(&foldable_flops, other.foldable_flops);
  for (const auto& [label, amount] : other.macs_by_dtype) add(&macs_by_dtype[label], amount);
  lower_bound = lower_bound || other.lower_bound;
}

namespace {

// Many tallies added up, as Tally::Add does one by one.
class TallySum {
 public:
  void Add(const Tally& tally, const Expr& times) {
    const bool once = times == Expr(1);
    const auto add = [&](ExprSum* to, const Expr& amount) {
      if (amount != Expr(0)) to->Add(once ? amount : amount * times);
    };
    for (int i = 0; i < kNumKinds; ++i) {
      add(&flops_[static_cast<size_t>(i)], tally.flops[static_cast<Kind>(i)]);
      add(&int_ops_[static_cast<size_t>(i)], tally.int_ops[static_cast<Kind>(i)]);
    }
    add(&bytes_read_, tally.bytes_read);
    add(&bytes_written_, tally.bytes_written);
    add(&foldable_flops_, tally.foldable_flops);
    for (const auto& [label, amount] : tally.macs_by_dtype) add(&macs_by_dtype_[label], amount);
    lower_bound_ = lower_bound_ || tally.lower_bound;
  }

  Tally Total() const {
    Tally total;
    for (int i = 0; i < kNumKinds; ++i) {
      total.flops[static_cast<Kind>(i)] = flops_[static_cast<size_t>(i)].Total();
      total.int_ops[static_cast<Kind>(i)] = int_ops_[static_cast<size_t>(i)].Total();
    }
    total.bytes_read = bytes_read_.Total();
    total.bytes_written = bytes_written_.Total();
    total.foldable_flops = foldable_flops_.Total();
    for (const auto& [label, sum] : macs_by_dtype_) total.macs_by_dtype[label] = sum.Total();
    total.lower_bound = lower_bound_;
    return total;
  }

 private:
  std::array<ExprSum, kNumKinds> flops_, int_ops_;
  ExprSum bytes_read_, bytes_written_, foldable_flops_;
  absl::btree_map<std::string, ExprSum> macs_by_dtype_;
  bool lower_bound_ = false;
};

// The first thing wrong with a tally's numbers, or nullptr.
const char* ErrorOf(const Tally& tally) {
  for (int i = 0; i < kNumKinds; ++i) {
    for (const Census* census : {&tally.flops, &tally.int_ops}) {
      if (const char* error = (*census)[static_cast<Kind>(i)].error()) return error;
    }
  }
  if (const char* error = tally.bytes_read.error()) return error;
  if (const char* error = tally.bytes_written.error()) return error;
  return tally.Flops().error();
}

int64_t TermsOf(const Tally& tally) {
  int64_t terms = tally.bytes_read.NumTerms() + tally.bytes_written.NumTerms();
  for (int i = 0; i < kNumKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    terms += tally.flops[kind].NumTerms() + tally.int_ops[kind].NumTerms();
  }
  return terms;
}

class Counter {
 public:
  Counter(const Inference& inference, CausalCounting causal)
      : in_(inference), model_(*inference.model), causal_(causal) {}

  absl::StatusOr<Counts> Run() {
    out_.calls.resize(in_.calls.size());
    out_.instances.resize(in_.instances.size());
    FindReached();
    for (InstanceId id : in_.callees_first) {
      if (reached_[static_cast<size_t>(id)]) RETURN_IF_ERROR(CountInstance(id));
    }
    out_.total = out_.instances[0];
    if (const char* error = ErrorOf(out_.total)) {
      return absl::OutOfRangeError(absl::StrCat(Escaped(model_.path), ": the total ", error));
    }
    AddUpByOperator();
    return std::move(out_);
  }

 private:
  // How often each call stands in an instance, apart by whether it is shape arithmetic.
  struct Occurrence {
    CallId call;
    bool shape_work;
    int64_t times;
  };

  // Instances that a loop tried and dropped are not part of the count.
  void FindReached() {
    reached_.assign(in_.instances.size(), false);
    reached_[0] = true;
    for (size_t i = in_.callees_first.size(); i-- > 0;) {
      const InstanceId id = in_.callees_first[i];
      if (!reached_[static_cast<size_t>(id)]) continue;
      for (CallId call : in_.instance(id).calls) {
        for (const BodyRun& run : in_.call(call).bodies) {
          reached_[static_cast<size_t>(run.instance)] = true;
        }
      }
    }
  }

  std::vector<Occurrence> OccurrencesIn(const Instance& instance) {
    occurrences_.resize(in_.calls.size() * 2, 0);
    std::vector<size_t> touched;
    for (size_t i = 0; i < instance.calls.size(); ++i) {
      const size_t at = static_cast<size_t>(instance.calls[i]) * 2 +
                        (i < instance.shape_work.size() && instance.shape_work[i] ? 1 : 0);
      if (occurrences_[at]++ == 0) touched.push_back(at);
    }
    std::vector<Occurrence> result;
    result.reserve(touched.size());
    for (size_t at : touched) {
      result.push_back({static_cast<CallId>(at / 2), at % 2 == 1, occurrences_[at]});
      occurrences_[at] = 0;
    }
    return result;
  }

  absl::Status CountInstance(InstanceId id) {
    const Instance& instance = in_.instance(id);
    TallySum sum;
    const std::vector<Occurrence> occurrences = OccurrencesIn(instance);
    for (const Occurrence& o : occurrences) {
      CallCost& cost = out_.calls[static_cast<size_t>(o.call)];
      if (!counted_.contains(o.call)) {
        counted_.insert(o.call);
        RETURN_IF_ERROR(CountCall(o.call, &cost));
      }
      RETURN_IF_ERROR(SpendTerms(o, cost));
      sum.Add(o.shape_work ? cost.as_shape_work : cost.tally, o.times);
    }
    out_.instances[static_cast<size_t>(id)] = sum.Total();
    CoverNodes(instance);
    return absl::OkStatus();
  }

  absl::Status SpendTerms(const Occurrence& o, const CallCost& cost) {
    terms_ += TermsOf(cost.tally) * o.times;
    const int64_t most =
        kMaxExtraTerms + in_.limits.terms_per_node * static_cast<int64_t>(model_.nodes.size());
    if (terms_ <= most) return absl::OkStatus();
    const Call& call = in_.call(o.call);
    return absl::OutOfRangeError(
        absl::StrCat(Escaped(model_.path), ": with ", DescribeCall(in_, call, call.node),
                     " the costs of all nodes have more than ", most, " terms (kMaxTermsPerNode)"));
  }

  void CoverNodes(const Instance& instance) {
    const Graph& graph = model_.graph(instance.graph);
    for (size_t i = 0; i < instance.calls.size(); ++i) {
      const CallCost& cost = out_.calls[static_cast<size_t>(instance.calls[i])];
      ++out_.nodes;
      if (cost.causal) ++out_.causal;
      const bool shape_work = i < instance.shape_work.size() && instance.shape_work[i];
      if (cost.coverage == Coverage::kUnknown) {
        ++out_.unknown;
        const Node& node = model_.node(graph.nodes[i]);
        out_.unknown_items.push_back({graph.nodes[i], std::string(node.op_type),
                                      std::string(node.domain),
                                      std::string(cost.problem.message())});
      } else if (cost.coverage == Coverage::kFree ||
                 (shape_work && cost.as_shape_work.Macs() == Expr(0))) {
        ++out_.free;
      } else {
        ++out_.counted;
      }
    }
  }

  absl::Status CountCall(CallId id, CallCost* result) {
    const Call& call = in_.call(id);
    result->coverage = Coverage::kFree;
    if (!call.problem.ok()) {
      result->coverage = Coverage::kUnknown;
      result->problem = call.problem;
    } else if (call.def != nullptr) {
      RETURN_IF_ERROR(CountOperator(call, result));
    }
    result->own.lower_bound = result->coverage == Coverage::kUnknown;
    result->tally = result->own;
    AddBodies(call, result);
    if (const char* error = ErrorOf(result->tally)) {
      return absl::OutOfRangeError(absl::StrCat(
          Escaped(model_.path), ": ", DescribeCall(in_, call, call.node), ": its cost ", error));
    }
    result->flops = result->tally.Flops();
    result->macs = result->tally.Macs();
    if (call.constant) result->tally.foldable_flops = result->flops;
    result->as_shape_work = OnlyContractions(result->tally);
    result->shape_work_flops = result->as_shape_work.Flops();
    return absl::OkStatus();
  }

  static Tally OnlyContractions(const Tally& tally) {
    Tally kept = tally;
    for (int i = 1; i < kNumKinds; ++i) {
      kept.flops[static_cast<Kind>(i)] = 0;
      kept.int_ops[static_cast<Kind>(i)] = 0;
    }
    kept.foldable_flops = tally.foldable_flops == Expr(0) ? Expr(0) : kept.Flops();
    return kept;
  }

  void AddBodies(const Call& call, CallCost* result) {
    result->body_times = BodyTimes(call);
    for (size_t b = 0; b < call.bodies.size(); ++b) {
      const Expr& times = result->body_times[b];
      if (times == Expr(0)) continue;
      result->tally.Add(out_.instances[static_cast<size_t>(call.bodies[b].instance)], times);
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

  // Of the branches of an If: 1 where the second costs more, else 0. An expression where that
  // depends on symbols, so that it holds at every size.
  Expr SecondIsLarger(const Call& call) {
    const Tally& a = out_.instances[static_cast<size_t>(call.bodies[0].instance)];
    const Tally& b = out_.instances[static_cast<size_t>(call.bodies[1].instance)];
    const Expr difference = b.Flops() + b.IntOps() - a.Flops() - a.IntOps();
    if (difference.AtLeast(1)) return 1;
    if (ProvablyLess(difference, 1).value_or(false)) return 0;
    out_.warnings.push_back(absl::StrCat(
        DescribeCall(in_, call, call.node),
        ": which branch costs more depends on the symbols; at each size the larger one is counted "
        "(FLOPs of then_branch ",
        Escaped(a.Flops().ToString()), ", of else_branch ", Escaped(b.Flops().ToString()), ")"));
    return Min(1, Max(0, difference));
  }

  absl::Status CountOperator(const Call& call, CallCost* result) {
    const Node& node = model_.node(call.node);
    absl::InlinedVector<const Fact*, 8> inputs;
    for (FactId fact : call.inputs) inputs.push_back(&in_.fact(fact));
    std::vector<Fact> outputs;
    outputs.reserve(call.outputs.size());
    for (FactId fact : call.outputs) outputs.push_back(in_.fact(fact));
    const NodeView view(model_, node, *call.def, call.opset, inputs, outputs, nullptr,
                        call.call_attributes, causal_);
    Cost cost;
    if (call.def->count != nullptr) {
      absl::StatusOr<Cost> counted = call.def->count(view);
      if (counted.ok() && !view.status().ok()) counted = view.status();
      if (!counted.ok()) return TakeProblem(call, counted.status(), result);
      cost = *std::move(counted);
      const bool arithmetic = !cost.flops.IsZero() || !cost.int_ops.IsZero();
      result->coverage = arithmetic ? Coverage::kCounted : Coverage::kFree;
    }
    result->causal = cost.causal;
    FillOperands(inputs, &cost);
    const bool view_only = Has(call.def->traits, Traits::kView);
    result->own.flops = cost.flops;
    result->own.int_ops = cost.int_ops;
    result->own.bytes_read = view_only ? Expr(0) : cost.bytes_read.value_or(BytesOfAll(inputs));
    result->own.bytes_written =
        view_only ? Expr(0) : cost.bytes_written.value_or(BytesOfAll(outputs));
    if (cost.flops[Kind::kMac] != Expr(0)) {
      result->own.macs_by_dtype[cost.flops_mac_operands.ToString()] += cost.flops[Kind::kMac];
    }
    if (cost.int_ops[Kind::kMac] != Expr(0)) {
      result->own.macs_by_dtype[cost.int_ops_mac_operands.ToString()] += cost.int_ops[Kind::kMac];
    }
    return absl::OkStatus();
  }

  // A rule that cannot tell makes the node unknown; one that finds the model wrong stops the count.
  absl::Status TakeProblem(const Call& call, const absl::Status& problem, CallCost* result) const {
    if (absl::IsFailedPrecondition(problem) || absl::IsUnimplemented(problem)) {
      result->coverage = Coverage::kUnknown;
      result->problem = problem;
      return absl::OkStatus();
    }
    std::string text = absl::StrCat(Escaped(model_.path), ": ", DescribeCall(in_, call, call.node),
                                    ": ", Printable(problem.message()));
    return absl::Status(problem.code(), text);
  }

  // The types that a contraction multiplies, where its rule does not say: those of the first two
  // inputs, as stored if they were dequantised.
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

  static const Fact& Ref(const Fact* fact) { return *fact; }
  static const Fact& Ref(const Fact& fact) { return fact; }

  // Every tensor once; what is not a tensor of known shape adds nothing (its node is listed as
  // unknown where that matters).
  template <typename Facts>
  static Expr BytesOfAll(const Facts& facts) {
    Expr sum;
    for (const auto& fact : facts) {
      if (!Ref(fact).is_tensor()) continue;
      const absl::StatusOr<Expr> bytes = BytesOf(Ref(fact));
      if (bytes.ok()) sum += *bytes;
    }
    return sum;
  }

  void AddUpByOperator() {
    std::vector<Expr> runs(in_.instances.size());
    runs[0] = 1;
    for (size_t i = in_.callees_first.size(); i-- > 0;) {
      const InstanceId id = in_.callees_first[i];
      const Expr times = runs[static_cast<size_t>(id)];
      if (!reached_[static_cast<size_t>(id)] || times == Expr(0)) continue;
      for (const Occurrence& o : OccurrencesIn(in_.instance(id))) {
        AddOperator(o, times * o.times, &runs);
      }
    }
    for (const auto& [key, sums] : op_sums_) {
      out_.by_op[key] = {sums.nodes.Total(), sums.flops.Total(), sums.macs.Total()};
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
    OpSums& sums = op_sums_[{std::string(node.domain), std::string(node.op_type)}];
    const Tally own = occurrence.shape_work ? OnlyContractions(cost.own) : cost.own;
    sums.nodes.Add(times);
    sums.flops.Add(own.Flops() * times);
    sums.macs.Add(own.Macs() * times);
  }

  const Inference& in_;
  const ModelData& model_;
  const CausalCounting causal_;
  int64_t terms_ = 0;  // of the costs of all nodes so far
  Counts out_;
  std::vector<bool> reached_;
  std::vector<int64_t> occurrences_;  // scratch, by call and shape_work
  absl::flat_hash_set<CallId> counted_;
  struct OpSums {
    ExprSum nodes, flops, macs;
  };
  absl::btree_map<OpKey, OpSums> op_sums_;
};

}  // namespace

absl::StatusOr<Counts> Count(const Inference& inference, CausalCounting causal) {
  return Counter(inference, causal).Run();
}

}  // namespace onnxflops
