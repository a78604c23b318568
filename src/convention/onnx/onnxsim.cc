// onnxsim's model_info: MACs of ten operators, whatever their domain.
//
// Conv, ConvInteger, QLinearConv elements(Y) * prod(W[1:]); ConvTranspose elements(X) *
// prod(W[1:]); Gemm M*N*K; MatMul, MatMulInteger, QLinearMatMul elements(Y) * last dimension of A;
// Attention QK' and PV without the past. Functions are inlined; both branches of an If count, and
// the body of a Loop or Scan once.
//
// How it works. Bodies adds up the MACs of each call with its bodies, innermost first. In a model
// without control flow each node is an entry with its own amount. With control flow the nodes of
// the main graph stand for all that they run, because the tool counts both branches and a loop's
// body once, which no single node inside could show. Sizes come from ONNX's own shape inference,
// and a size that it does not find makes a node count as 0. If that may happen at a node with a
// formula, the figure is assumed (shapes.h finds the first such node).
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/convention/conventions.h"
#include "src/convention/evidence.h"
#include "src/convention/onnx/shapes.h"

namespace onnxflops::convention {
namespace onnxsim {
namespace {

class NodeMacs {
 public:
  explicit NodeMacs(const Evidence& evidence) : evidence_(evidence) {}

  // The MACs of a call's own operator, without bodies; 0 for an operator without a rule.
  Expr Own(const Call& call) const {
    const Node& node = evidence_.model().node(call.node);
    const absl::string_view op = node.op_type;
    if (op == "Conv" || op == "ConvInteger") return Conv(call, 1);
    if (op == "QLinearConv") return Conv(call, 3);
    if (op == "ConvTranspose") return Window(Input(call, 0), Input(call, 1));
    if (op == "Gemm") return Gemm(call, node);
    const bool is_product = op == "MatMul" || op == "MatMulInteger" || op == "QLinearMatMul";
    if (is_product || IsTiedProduct(evidence_.model(), node)) return MatMul(call);
    if (op == "Attention") return Attention(call, node);
    return 0;
  }

 private:
  // nullptr if the tool has no shape.
  const Shape* ShapeOf(absl::Span<const FactId> facts, size_t i) const {
    if (i >= facts.size()) return nullptr;
    const Fact& fact = evidence_.inference().fact(facts[i]);
    return fact.is_tensor() && fact.shape.ranked() ? &fact.shape : nullptr;
  }
  const Shape* Input(const Call& call, size_t i) const { return ShapeOf(call.inputs, i); }

  // elements(of) * prod(weight[1:]).
  static Expr Window(const Shape* of, const Shape* weight) {
    if (of == nullptr || weight == nullptr || weight->rank() < 2) return 0;
    return of->NumElements() * weight->Product(1, weight->rank());
  }

  Expr Conv(const Call& call, size_t weight) const {
    return Window(ShapeOf(call.outputs, 0), Input(call, weight));
  }

  Expr Gemm(const Call& call, const Node& node) const {
    const Shape* a = Input(call, 0);
    const Shape* b = Input(call, 1);
    if (a == nullptr || b == nullptr || a->rank() != 2 || b->rank() != 2) return 0;
    const int n = Int(node, "transB") != 0 ? 0 : 1;
    return a->NumElements() * (*b)[n];
  }

  Expr MatMul(const Call& call) const {
    const Shape* a = Input(call, 0);
    const Shape* y = ShapeOf(call.outputs, 0);
    if (a == nullptr || y == nullptr || a->rank() == 0) return 0;
    return y->NumElements() * (*a)[a->rank() - 1];
  }

  Expr Attention(const Call& call, const Node& node) const {
    const Shape* q = Input(call, 0);
    const Shape* k = Input(call, 1);
    const Shape* v = Input(call, 2);
    if (q == nullptr || k == nullptr || v == nullptr) return 0;
    if (q->rank() == 4 && k->rank() == 4 && v->rank() == 4) {
      return (*q)[0] * (*q)[1] * (*q)[2] * (*k)[2] * ((*q)[3] + (*v)[3]);
    }
    const int64_t q_heads = Int(node, "q_num_heads");
    const int64_t kv_heads = Int(node, "kv_num_heads");
    if (q->rank() != 3 || k->rank() != 3 || v->rank() != 3 || q_heads <= 0 || kv_heads <= 0 ||
        !(*k)[2].is_literal() || !(*v)[2].is_literal()) {
      return 0;
    }
    return (*q)[0] * q_heads * (*q)[1] * (*k)[1] *
           (FloorDiv((*k)[2], kv_heads) + FloorDiv((*v)[2], kv_heads));
  }

  static int64_t Int(const Node& node, absl::string_view name) {
    const Attribute* attribute = node.FindAttribute(name);
    return attribute == nullptr ? 0 : attribute->i;
  }

  const Evidence& evidence_;
};

// The MACs of calls with their bodies: both branches of an If, and a loop's body once.
class Bodies {
 public:
  explicit Bodies(const Evidence& evidence)
      : evidence_(evidence),
        own_(evidence.inference().calls.size()),
        whole_(evidence.inference().calls.size()),
        instances_(evidence.inference().instances.size()) {
    const NodeMacs macs(evidence);
    const Inference& inference = evidence.inference();
    for (size_t c = 0; c < own_.size(); ++c) {
      own_[c] = macs.Own(inference.calls[c]);
      for (const BodyRun& run : inference.calls[c].bodies) {
        control_flow_ = control_flow_ || !run.attribute.empty();
      }
    }
    for (InstanceId id : inference.callees_first) {
      std::vector<Expr> parts;
      for (CallId call : inference.instance(id).calls) {
        if (const Expr& whole = Whole(call); whole != Expr(0)) parts.push_back(whole);
      }
      instances_[static_cast<size_t>(id)] = Sum(parts);
    }
  }

  bool control_flow() const { return control_flow_; }
  const Expr& Own(CallId call) const { return own_[static_cast<size_t>(call)]; }
  // REQUIRES: the bodies that it runs have been added up.
  const Expr& Whole(CallId id) {
    std::optional<Expr>& known = whole_[static_cast<size_t>(id)];
    if (known) return *known;
    Expr sum = Own(id);
    const auto& runs = evidence_.inference().call(id).bodies;
    for (size_t i = 0; i < runs.size(); ++i) {
      // Different trips of a loop are separate runs.
      const bool last = i + 1 == runs.size() || runs[i + 1].attribute != runs[i].attribute;
      if (last) sum += instances_[static_cast<size_t>(runs[i].instance)];
    }
    known = std::move(sum);
    return *known;
  }

 private:
  const Evidence& evidence_;
  std::vector<Expr> own_;                   // by CallId
  std::vector<std::optional<Expr>> whole_;  // by CallId
  std::vector<Expr> instances_;             // by InstanceId
  bool control_flow_ = false;
};

bool Has(const ModelData& model, absl::string_view op, int64_t since) {
  return model.OpsetOf("").value_or(0) >= since &&
         std::any_of(model.nodes.begin(), model.nodes.end(),
                     [&](const Node& node) { return node.op_type == op && node.domain.empty(); });
}

// The tool infers shapes anew, with data propagation, only when it expands a function.
bool Expands(const ModelData& model) {
  return !model.functions.empty() || !model.inlined.empty() ||
         Has(model, "LayerNormalization", 17) || Has(model, "Softmax", 13) ||
         Has(model, "LogSoftmax", 13) || Has(model, "Gelu", 20);
}

constexpr absl::string_view kCounted[] = {"Conv",          "ConvInteger",   "QLinearConv",
                                          "ConvTranspose", "Gemm",          "MatMul",
                                          "MatMulInteger", "QLinearMatMul", "Attention"};

// The first node with a counter of whose tensors ONNX's inference may not know the sizes; kNone if
// it knows all.
OptionalNodeId FirstDoubtful(const Evidence& evidence) {
  const ModelData& model = evidence.model();
  const OnnxShapes shapes(evidence.inference(), {true, Expands(model)});
  const auto knows = [&](OptionalValueId id) { return shapes.IsKnown(id); };
  for (const Entry& entry : evidence.entries()) {
    const Node& node = evidence.node(entry);
    const bool counted =
        std::find(std::begin(kCounted), std::end(kCounted), node.op_type) != std::end(kCounted);
    if (!counted) continue;
    if (node.graph != 0 || !std::all_of(node.inputs.begin(), node.inputs.end(), knows) ||
        !std::all_of(node.outputs.begin(), node.outputs.end(), knows)) {
      return entry.node;
    }
  }
  return kNone;
}

void AssumeShapes(const Evidence& evidence, LedgerBuilder* ledger) {
  if (const OptionalNodeId doubtful = FirstDoubtful(evidence)) {
    ledger->Assume(absl::StrCat(
        "ONNX's shape inference, which the tool asks, finds the sizes that we find; it may not at ",
        DescribeNode(evidence.model(), *doubtful)));
  }
  if (Has(evidence.model(), "AffineGrid", 1)) {
    ledger->Assume("the product inside of AffineGrid, which the tool expands, is left out");
  }
}

// Why a node counts otherwise. A node that runs often is asked for once.
class Terms {
 public:
  Terms(const ModelData& model, LedgerBuilder* ledger)
      : model_(model), ledger_(*ledger), terms_(model.nodes.size(), kNotAsked) {}

  TermId Of(NodeId id) {
    TermId& term = terms_[static_cast<size_t>(id)];
    if (term == kNotAsked) term = Find(model_.node(id).op_type);
    return term;
  }

 private:
  TermId Find(absl::string_view op) const {
    if (op == "Attention" || op == "ConvTranspose" || op == "MatMul") {
      return ledger_.Term(absl::StrCat(op, " by another formula"), "its shapes differ");
    }
    return ledger_.Term(absl::StrCat(op, " has no counter"), "it counts as 0, silently");
  }

  static constexpr TermId kNotAsked = -2;
  const ModelData& model_;
  LedgerBuilder& ledger_;
  std::vector<TermId> terms_;  // by NodeId
};

Ledger Apply(Evidence* evidence) {
  Bodies bodies(*evidence);
  LedgerBuilder ledger(evidence, Unit::kMac);
  Terms terms(evidence->model(), &ledger);
  const TermId control_flow =
      ledger.Term("branches and loops", "both branches of an If count, a loop's body once");
  EntryId id = -1;
  for (const Entry& entry : evidence->entries()) {
    ++id;
    // In a model with control flow, the nodes of the main graph stand for all that they run.
    if (bodies.control_flow() && evidence->node(entry).graph != 0) continue;
    const bool whole = bodies.control_flow() || entry.part() != modules::CostPart::kOwn;
    const AmountId amount =
        evidence->Intern(whole ? bodies.Whole(entry.call()) : bodies.Own(entry.call()));
    if (amount == kZero && evidence->Ours(Unit::kMac, id) == kZero) continue;
    const bool runs_others = whole && !evidence->call(entry).bodies.empty();
    ledger.Count({id}, amount, runs_others ? control_flow : terms.Of(entry.node));
  }
  AssumeShapes(*evidence, &ledger);
  return ledger.Finish([&](EntryId id) {
    const Entry& entry = evidence->entry(id);
    const bool in_body = bodies.control_flow() && evidence->node(entry).graph != 0;
    return in_body ? control_flow : terms.Of(entry.node);
  });
}

}  // namespace
}  // namespace onnxsim

const Convention kOnnxsim = {
    {"onnxsim", Unit::kMac, "macs (its flops are twice that)",
     "onnxsim 0.8.1, onnxsim/model_metrics.cpp:36-160, model_info.py:330-470 and 600-700",
     "Conv, ConvInteger, QLinearConv, ConvTranspose, Gemm, MatMul, MatMulInteger, QLinearMatMul "
     "and "
     "Attention; functions inlined",
     "Einsum, RNN, GRU and LSTM, DeformConv, ONNX Runtime's fused operators; repetitions of loops; "
     "what ONNX's shape inference does not find counts as 0"},
    onnxsim::Apply,
};

}  // namespace onnxflops::convention
