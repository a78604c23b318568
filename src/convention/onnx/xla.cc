// XLA's HloCostAnalysis of the program that the model becomes operator by operator, before any of
// XLA's passes: jax.jit(f).lower(x).cost_analysis().
//
// It counts: for dot and convolution 2 per multiply-accumulate, without a convolution's padding;
// for every elementwise instruction of any type 1 per element of its result, including select,
// convert, negate and abs; for a reduction one less than its operands, per result; for a while loop
// its body once; for a conditional the larger branch, in each total. exp, log, power, sqrt, tanh,
// sine, cosine and erf are "transcendentals" with a total of their own. xla_hlo.cc maps operators
// to HLO.
//
// How it works. Program adds up the HLO costs of all calls and graphs, from the bodies upwards.
// Nodes in a loop or a branch have no line of their own in the ledger. The node that runs the body
// stands for all of them, since XLA counts a body once and our count many times. Accountant then
// divides the amount of each entry into parts with one term each, so that the terms between our
// count and XLA's are the reasons: transcendentals left out, operations on integers added, and the
// rest by operator. The total of transcendentals is reported as text, since a ledger has only one
// figure.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/convention/conventions.h"
#include "src/convention/onnx/xla_hlo.h"

namespace onnxflops::convention {
namespace xla {
namespace {

// The HLO of every call, with the bodies that it runs.
class Program {
 public:
  explicit Program(const Evidence& evidence)
      : inference_(evidence.inference()),
        counts_(evidence.counts()),
        in_loops_(evidence.model().graphs.size(), false) {
    for (size_t c = 0; c < inference_.calls.size(); ++c) {
      own_.push_back(HloCostOf(inference_, inference_.calls[c], counts_.calls[c].own()));
    }
    whole_ = own_;
    instances_.resize(inference_.instances.size());
    for (InstanceId id : inference_.callees_first) AddUp(id);
    const auto& order = inference_.callees_first;
    for (auto id = order.rbegin(); id != order.rend(); ++id) FindLoops(*id);
  }

  const HloCost& Own(CallId call) const { return own_[static_cast<size_t>(call)]; }
  const HloCost& Whole(CallId call) const { return whole_[static_cast<size_t>(call)]; }

  // True if nodes of this graph run in a branch or loop. The node that runs the branch or loop
  // stands for all of them.
  bool InLoops(GraphId graph) const { return in_loops_[static_cast<size_t>(graph)]; }
  bool RunsLoops(CallId call) const {
    const auto& runs = inference_.call(call).bodies;
    return std::any_of(runs.begin(), runs.end(), [&](const BodyRun& run) {
      return InLoops(inference_.instance(run.instance).graph);
    });
  }

  // The FLOPs of shape arithmetic that remain: only contractions, since the rest is done when the
  // program is made.
  static Expr ShapeWork(const CallCost& cost) {
    return (cost.tally().flops[Kind::kMac] + cost.tally().int_ops[Kind::kMac]) * 2;
  }

 private:
  // Adds up one run of a graph. Its calls get the costs of their bodies first, which are known
  // already.
  void AddUp(InstanceId id) {
    const Instance& instance = inference_.instance(id);
    absl::flat_hash_map<std::pair<CallId, bool>, int64_t> times;
    for (size_t i = 0; i < instance.calls.size(); ++i) {
      const bool shape_work = i < instance.shape_work.size() && instance.shape_work[i];
      if (++times[{instance.calls[i], shape_work}] == 1) AddBodies(instance.calls[i]);
    }
    if (id == 0) return;  // the main graph, which nothing runs
    std::vector<std::pair<std::pair<CallId, bool>, int64_t>> sorted(times.begin(), times.end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<Expr> flops, transcendentals;
    for (const auto& [call, n] : sorted) {
      if (call.second) {
        flops.push_back(ShapeWork(counts_.cost(call.first)) * n);
        continue;
      }
      flops.push_back(Whole(call.first).flops * n);
      transcendentals.push_back(Whole(call.first).transcendentals * n);
    }
    HloCost& sum = instances_[static_cast<size_t>(id)];
    sum.flops = Sum(flops);
    sum.transcendentals = Sum(transcendentals);
  }

  // The larger branch of an If, a loop's body once, a function's body.
  void AddBodies(CallId id) {
    const Call& call = inference_.call(id);
    HloCost whole = Own(id);
    const auto body = [&](const BodyRun& run) -> const HloCost& {
      return instances_[static_cast<size_t>(run.instance)];
    };
    if (call.choose_larger && call.bodies.size() == 2) {
      const HloCost& a = body(call.bodies[0]);
      const HloCost& b = body(call.bodies[1]);
      whole.flops += Max(a.flops, b.flops);
      whole.transcendentals += Max(a.transcendentals, b.transcendentals);
    } else if (!call.bodies.empty()) {
      whole.flops += body(call.bodies.back()).flops;
      whole.transcendentals += body(call.bodies.back()).transcendentals;
    }
    whole_[static_cast<size_t>(id)] = std::move(whole);
  }

  // REQUIRES: whatever runs this instance has been asked.
  void FindLoops(InstanceId id) {
    const Instance& instance = inference_.instance(id);
    const bool inside = InLoops(instance.graph);
    for (CallId call : instance.calls) {
      for (const BodyRun& run : inference_.call(call).bodies) {
        if (!inside && run.attribute.empty()) continue;
        in_loops_[static_cast<size_t>(inference_.instance(run.instance).graph)] = true;
      }
    }
  }

  const Inference& inference_;
  const Counts& counts_;
  std::vector<HloCost> own_, whole_;  // by CallId
  std::vector<HloCost> instances_;    // by InstanceId
  std::vector<bool> in_loops_;        // by GraphId
};

// The parts of an entry in the ledger. A node that runs loops or branches has only a `rest`.
struct Parts {
  AmountId base = kZero;      // as we do, without transcendentals
  AmountId integers = kZero;  // beyond that
  AmountId rest = kZero;      // and beyond both
  AmountId transcendentals = kZero;
};

class Accountant {
 public:
  explicit Accountant(Evidence* evidence)
      : evidence_(*evidence), program_(*evidence), ledger_(evidence, Unit::kFlop) {}

  Ledger Run() {
    std::vector<bool> is_known(evidence_.counts().calls.size() * modules::kNumCostParts, false);
    std::vector<Parts> known(is_known.size());
    for (size_t i = 0; i < evidence_.entries().size(); ++i) {
      const EntryId id = static_cast<EntryId>(i);
      const Entry& entry = evidence_.entry(id);
      if (program_.InLoops(evidence_.node(entry).graph)) continue;
      const size_t work = static_cast<size_t>(entry.work);
      if (!is_known[work]) known[work] = Divide(entry);
      is_known[work] = true;
      Count(id, known[work]);
    }
    Assume();
    return ledger_.Finish([&](EntryId) { return loops_; });
  }

 private:
  // Entries that are not in loops run once for each place.
  Parts Divide(const Entry& entry) {
    const CallId call = entry.call();
    const CallCost& cost = evidence_.counts().cost(call);
    Parts parts;
    if (entry.part() == modules::CostPart::kShapeWork) {
      parts.base = evidence_.Intern(Program::ShapeWork(cost));
      return parts;
    }
    const bool loops = program_.RunsLoops(call);
    const bool whole = loops || entry.part() == modules::CostPart::kWhole;
    const HloCost& hlo = whole ? program_.Whole(call) : program_.Own(call);
    parts.transcendentals = evidence_.Intern(hlo.transcendentals);
    if (loops) {
      parts.rest = evidence_.Intern(hlo.flops);
      return parts;
    }
    const Tally& tally = whole ? cost.tally() : cost.own();
    const Expr integers = tally.int_ops.Ops();
    const Expr base = AsWeCount(tally).flops - integers;
    parts.rest = evidence_.Intern(hlo.flops - base - integers);
    parts.base = evidence_.Intern(base);
    parts.integers = evidence_.Intern(integers);
    return parts;
  }

  void Count(EntryId id, const Parts& parts) {
    const CallId call = evidence_.entry(id).call();
    const bool ours = evidence_.Ours(Unit::kFlop, id) != kZero;
    if (parts.transcendentals != kZero) ++transcendentals_[parts.transcendentals];
    if (program_.RunsLoops(call)) {
      if (ours || parts.rest != kZero) ledger_.Count({id}, parts.rest, loops_);
      return;
    }
    if (ours || parts.base != kZero) ledger_.Count({id}, parts.base, transcendental_);
    if (parts.integers != kZero) ledger_.Count({id}, parts.integers, integer_);
    if (parts.rest != kZero) ledger_.Count({id}, parts.rest, TermOf(call));
  }

  TermId TermOf(CallId call) const {
    switch (program_.Own(call).reason) {
      case HloReason::kReductions:
        return reductions_;
      case HloReason::kPadding:
        return padding_;
      case HloReason::kLoops:
        return loops_;
      case HloReason::kInstructions:
        break;
    }
    return instructions_;
  }

  void Assume() {
    ledger_.Assume(
        "every operator becomes the HLO of its formula, as jax.jit(f).lower(x) has it: nothing is "
        "fused, simplified or given to a library, and a loop has no counter");
    std::set<std::string> formulas;
    bool open = false;
    for (size_t c = 0; c < evidence_.inference().calls.size(); ++c) {
      const HloCost& hlo = program_.Own(static_cast<CallId>(c));
      open = open || hlo.open_padding;
      if (!hlo.our_formula) continue;
      const Node& node = evidence_.model().node(evidence_.inference().calls[c].node);
      formulas.insert(absl::StrCat(node.domain, node.domain.empty() ? "" : ".", node.op_type));
    }
    if (!formulas.empty()) {
      ledger_.Assume(absl::StrCat("by our formula, since their HLO is not known here: ",
                                  absl::StrJoin(formulas, ", ")));
    }
    if (open) ledger_.Assume("padding of convolutions counts where sizes are open");
    if (const int64_t n = evidence_.counts().unknown; n > 0) {
      ledger_.Assume(absl::StrCat("nothing for nodes that could not be counted: ", n));
    }
    std::vector<Expr> parts;
    for (const auto& [amount, n] : transcendentals_) parts.push_back(evidence_.amount(amount) * n);
    ledger_.Assume(
        absl::StrCat("transcendentals, which XLA counts apart: ", Sum(parts).ToString()));
  }

  Evidence& evidence_;
  const Program program_;
  LedgerBuilder ledger_;
  std::map<AmountId, int64_t> transcendentals_;
  const TermId transcendental_ =
      ledger_.Term("exp, log, sqrt, pow, tanh, erf, sin, cos", "transcendentals, a total apart");
  const TermId padding_ =
      ledger_.Term("padding of convolutions", "only what meets the input counts");
  const TermId instructions_ = ledger_.Term("select, convert, negate, abs and the like",
                                            "1 per element, as any instruction");
  const TermId integer_ = ledger_.Term("operations on integers", "count as flops, too");
  const TermId reductions_ =
      ledger_.Term("first element of reductions", "a reduction is one operation less per result");
  const TermId loops_ =
      ledger_.Term("loops and branches", "a loop's body counts once; of branches, the larger one");
};

Ledger Apply(Evidence* evidence) { return Accountant(evidence).Run(); }

}  // namespace
}  // namespace xla

const Convention kXla = {
    {"xla", Unit::kFlop, "flops (of HloCostAnalysis, before XLA's passes)",
     "openxla/xla, xla/service/hlo_cost_analysis.cc: HandleElementwiseOp, GetDotFlops, "
     "GetConvolutionFlops, HandleReduce, HandleReduceWindow, HandleWhile, HandleConditional; held "
     "to jax 0.10.2",
     "products, elementwise instructions of every type, reductions; a loop's body once",
     "transcendentals (a total of their own), the padding of convolutions, all but one trip of a "
     "loop and one step of an RNN"},
    xla::Apply,
};

}  // namespace onnxflops::convention
