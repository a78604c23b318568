// OpenVINO's Model Analyzer, which Open Model Zoo's GFLOPs are believed to come from.
//
// It reads OpenVINO's own graph (IR), not ONNX, and has a number of operations per output element
// for each operator of it: convolution and product 2 per multiply-accumulate, softmax 5, swish 5,
// tanh 6, hard swish 4, sigmoid 3, ReLU, clamp, PReLU and MVN 2, the window for pooling, 1 for sums
// and products. It leaves out silently what it has no number for: powers, roots, means, GELU,
// resizing, recurrent layers, fused attention.
//
// How it works. The IR is what ovc makes of the file: it folds constants, batch norms after
// convolutions and constant factors, and fuses GELU, swish, layer norms and attention. Converted
// decides for every node of the main graph what becomes of it: an operator of the IR, a part of
// another one, or nothing. ovc has some hundred such passes, and these are a few of them. It also
// drops shifts of 0 and factors of 1, and weights are not read here, so that no figure is exact.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "src/convention/conventions.h"

namespace onnxflops::convention {
namespace model_analyzer {
namespace {

// An operator with `each` operations for each element that it writes.
struct PerOutput {
  absl::string_view op;
  int64_t each;
};

constexpr PerOutput kPerOutput[] = {
    {"Add", 1},         {"Sub", 1},
    {"Mul", 1},         {"Div", 1},
    {"Exp", 1},         {"Log", 1},
    {"Round", 1},       {"Less", 1},
    {"LessOrEqual", 1}, {"GreaterOrEqual", 1},
    {"Relu", 2},        {"LeakyRelu", 2},
    {"PRelu", 2},       {"Elu", 3},
    {"Sigmoid", 3},     {"HardSigmoid", 4},
    {"HardSwish", 4},   {"Softplus", 3},
    {"Softmax", 5},     {"LogSoftmax", 6},
    {"Tanh", 6},        {"Mish", 10},
    {"ReduceL1", 4},    {"ReduceL2", 4},
    {"Acosh", 5},       {"Asinh", 5},
    {"Atanh", 5},
};

// Operators whose conversion depends on nothing around them. Others make the figure assumed.
constexpr absl::string_view kPlain[] = {
    "Conv",     "ConvTranspose",
    "Relu",     "LeakyRelu",
    "PRelu",    "Elu",
    "MaxPool",  "AveragePool",
    "Flatten",  "Concat",
    "Reshape",  "Transpose",
    "Gemm",     "Softmax",
    "Identity", "Dropout",
    "Constant", "BatchNormalization",
    "Clip",     "GlobalMaxPool",
    "Resize",   "GlobalAveragePool",
};

constexpr char kNoRule[] = "the tool has no number for this operator of the IR, and counts it as 0";
constexpr char kRule[] = "the tool's own number of operations per element";

// Finds neighbours in the main graph.
class Wiring {
 public:
  explicit Wiring(const Evidence& evidence)
      : model_(evidence.model()), inference_(evidence.inference()) {
    const auto& calls = inference_.instances[0].calls;
    const auto& nodes = model_.graphs[0].nodes;
    uses_.resize(model_.values.size());
    call_.assign(model_.nodes.size(), -1);
    for (size_t i = 0; i < nodes.size() && i < calls.size(); ++i) {
      call_[static_cast<size_t>(nodes[i])] = calls[i];
      for (OptionalValueId in : model_.node(nodes[i]).inputs) {
        if (in) uses_[static_cast<size_t>(*in)].push_back(nodes[i]);
      }
    }
    for (ValueId out : model_.graphs[0].outputs) is_output_.push_back(out);
  }

  // The node that makes an input and is of this operator; kNone otherwise.
  OptionalNodeId Maker(NodeId node, size_t input, absl::string_view op) const {
    const OptionalValueId in = model_.node(node).input(input);
    if (!in) return kNone;
    const OptionalNodeId maker = model_.value(*in).producer;
    return maker && model_.node(*maker).op_type == op ? maker : kNone;
  }
  // The only node that reads the output; kNone if there are more, or the graph returns it.
  OptionalNodeId OnlyUser(NodeId node) const {
    const OptionalValueId out = model_.node(node).output(0);
    if (!out || absl::c_linear_search(is_output_, *out)) return kNone;
    const auto& users = uses_[static_cast<size_t>(*out)];
    return users.size() == 1 ? OptionalNodeId(users[0]) : kNone;
  }
  OptionalNodeId OnlyUser(NodeId node, absl::string_view op) const {
    const OptionalNodeId user = OnlyUser(node);
    return user && model_.node(*user).op_type == op ? user : kNone;
  }
  const Fact* FactOf(NodeId node, size_t input) const {
    return inference_.FactOf(model_.node(node).input(input));
  }
  bool Constant(NodeId node, size_t input) const {
    const Fact* fact = FactOf(node, input);
    return fact != nullptr && fact->constant;
  }
  // True if ovc folds the node before the tool sees it.
  bool Folded(NodeId node) const {
    const CallId call = call_[static_cast<size_t>(node)];
    return call >= 0 && (inference_.call(call).constant || inference_.call(call).from_shapes);
  }
  // The input that is not constant, of a node with one such input of two; kNone otherwise.
  std::optional<size_t> Data(NodeId node) const {
    const bool first = Constant(node, 0), second = Constant(node, 1);
    if (first == second) return std::nullopt;
    return first ? 1 : 0;
  }
  const Node& node(NodeId id) const { return model_.node(id); }
  absl::string_view op(NodeId id) const { return model_.node(id).op_type; }

 private:
  const ModelData& model_;
  const Inference& inference_;
  std::vector<std::vector<NodeId>> uses_;  // by ValueId
  std::vector<CallId> call_;               // by NodeId; -1 of nodes in bodies
  std::vector<ValueId> is_output_;
};

// Which OpenVINO makes the IR.
struct Release {
  const char* name;
  bool attention;   // attention becomes ScaledDotProductAttention
  bool layer_norm;  // ONNX's LayerNormalization becomes MVN, not its parts
};

// What becomes of a node.
struct Fate {
  int64_t each = -1;  // operations per output element; -1 for the operator's own rule
  std::string term;   // if it has a fate of its own
  std::string reason;
};

constexpr char kPartOf[] = "ovc makes one operator of this and its neighbours";

class Converted {
 public:
  Converted(const Evidence& evidence, const Release& release) : wiring_(evidence) {
    const ModelData& model = evidence.model();
    fates_.resize(model.nodes.size());
    for (NodeId node : model.graphs[0].nodes) {
      const absl::string_view op = model.node(node).op_type;
      if (wiring_.Folded(node)) {
        if (op != "Constant") Set(node, 0, "constants and shapes", "ovc folds them");
      } else if (op == "Erf") {
        Gelu(node);
      } else if (op == "Sigmoid") {
        Swish(node);
      } else if (op == "Sqrt") {
        LayerNorm(node);
      } else if (op == "Softmax" && release.attention) {
        Attention(node);
      }
    }
    for (NodeId node : model.graphs[0].nodes) {
      if (!Taken(node)) Factor(node);
    }
  }

  const Fate& of(NodeId node) const { return fates_[static_cast<size_t>(node)]; }
  // True if the first operand of a product comes from a transpose of its last two axes.
  bool Swapped(NodeId product) const {
    const OptionalNodeId transpose = wiring_.Maker(product, 0, "Transpose");
    if (!transpose) return false;
    const Attribute* perm = wiring_.node(*transpose).FindAttribute("perm");
    if (perm == nullptr || perm->ints.size() < 2) return false;
    const size_t rank = perm->ints.size();
    for (size_t i = 0; i < rank; ++i) {
      const size_t from = i + 2 == rank ? rank - 1 : i + 1 == rank ? rank - 2 : i;
      if (perm->ints[i] != static_cast<int64_t>(from)) return false;
    }
    return true;
  }
  const Wiring& wiring() const { return wiring_; }

 private:
  bool Taken(NodeId node) const { return of(node).each >= 0; }
  void Set(NodeId node, int64_t each, absl::string_view term, absl::string_view reason) {
    fates_[static_cast<size_t>(node)] = {each, std::string(term), std::string(reason)};
  }
  void Absorb(OptionalNodeId node, absl::string_view into) {
    if (node) Set(*node, 0, into, kPartOf);
  }

  // x / sqrt(2), Erf, + 1, * x and * 0.5 in any order.
  void Gelu(NodeId erf) {
    OptionalNodeId before = wiring_.Maker(erf, 0, "Div");
    if (!before) before = wiring_.Maker(erf, 0, "Mul");
    const OptionalNodeId plus = wiring_.OnlyUser(erf, "Add");
    if (!before || !wiring_.Data(*before) || !plus) return;
    const OptionalNodeId times = wiring_.OnlyUser(*plus, "Mul");
    if (!times) return;
    constexpr char kGelu[] = "GELU";
    for (OptionalNodeId part : {before, OptionalNodeId(erf), plus, times}) Absorb(part, kGelu);
    const OptionalNodeId half = wiring_.OnlyUser(*times, "Mul");
    if (half && wiring_.Data(*half)) {
      Absorb(half, kGelu);
      return;
    }
    for (size_t i : {0, 1}) {
      const OptionalNodeId scaled = wiring_.Maker(*times, i, "Mul");
      if (scaled && wiring_.Data(*scaled)) Absorb(scaled, kGelu);
    }
  }

  // x * sigmoid(x).
  void Swish(NodeId sigmoid) {
    const OptionalNodeId times = wiring_.OnlyUser(sigmoid, "Mul");
    if (!times) return;
    const Node& product = wiring_.node(*times);
    const OptionalValueId x = wiring_.node(sigmoid).input(0);
    if (product.input(0) != x && product.input(1) != x) return;
    Set(sigmoid, 5, "swish", kRule);
    Absorb(times, "swish");
  }

  // (x - mean) / sqrt(mean((x - mean)^2) + epsilon), as old exporters write layer norms.
  void LayerNorm(NodeId root) {
    const OptionalNodeId plus = wiring_.Maker(root, 0, "Add");
    const OptionalNodeId div = wiring_.OnlyUser(root, "Div");
    if (!plus || !div) return;
    const std::optional<size_t> data = wiring_.Data(*plus);
    const OptionalNodeId mean = data ? wiring_.Maker(*plus, *data, "ReduceMean") : kNone;
    if (!mean) return;
    OptionalNodeId square = wiring_.Maker(*mean, 0, "Pow");
    if (!square) square = wiring_.Maker(*mean, 0, "Mul");
    const OptionalNodeId centred = wiring_.Maker(*div, 0, "Sub");
    if (!square || !centred) return;
    constexpr char kNorm[] = "layer norm (MVN)";
    for (OptionalNodeId part : {plus, mean, square, centred, OptionalNodeId(root)}) {
      Absorb(part, kNorm);
    }
    Set(*div, 2, kNorm, kRule);
  }

  // softmax(q k' [* scale] [+ mask]) v. This finds more than ovc does: that of OpenVINO 2026.4
  // leaves attention in blocks that normalise after it, such as BERT's, as it is.
  void Attention(NodeId softmax) {
    NodeId weights = softmax;
    // ovc drops those to the same type.
    while (const OptionalNodeId cast = wiring_.OnlyUser(weights, "Cast")) weights = *cast;
    const OptionalNodeId values = wiring_.OnlyUser(weights, "MatMul");
    if (!values || wiring_.node(*values).input(0) != wiring_.node(weights).output(0)) return;
    std::vector<NodeId> parts = {softmax, *values};
    NodeId at = softmax;
    if (const OptionalNodeId mask = MakerOnPath(at, "Add")) parts.push_back(at = *mask);
    OptionalNodeId scale = MakerOnPath(at, "Mul");
    if (!scale) scale = MakerOnPath(at, "Div");
    if (scale) parts.push_back(at = *scale);
    const OptionalNodeId scores = MakerOnPath(at, "MatMul");
    if (!scores || wiring_.Constant(*scores, 1) || !wiring_.OnlyUser(*scores)) return;
    parts.push_back(*scores);
    const OptionalNodeId keys = wiring_.Maker(*scores, 1, "Mul");
    if (keys && HasScalar(*keys)) parts.push_back(*keys);
    for (NodeId part : parts) {
      Set(part, 0, "fused attention", "ovc makes ScaledDotProductAttention, which has no number");
    }
  }
  OptionalNodeId MakerOnPath(NodeId node, absl::string_view op) const {
    for (size_t i : {0, 1}) {
      const OptionalNodeId maker = wiring_.Maker(node, i, op);
      if (maker && wiring_.OnlyUser(*maker) == OptionalNodeId(node)) return maker;
    }
    return kNone;
  }
  bool HasScalar(NodeId node) const {
    for (size_t i : {0, 1}) {
      const Fact* fact = wiring_.FactOf(node, i);
      if (fact != nullptr && (fact->constant || fact->from_shapes) && fact->is_tensor() &&
          fact->shape.ranked() && fact->shape.NumElements() == Expr(1)) {
        return true;
      }
    }
    return false;
  }

  // A constant factor of a convolution, or of a product with weights, is multiplied into these.
  void Factor(NodeId node) {
    const absl::string_view op = wiring_.op(node);
    if (op != "Mul" && op != "Div" && op != "BatchNormalization") return;
    const bool norm = op == "BatchNormalization";
    const std::optional<size_t> data = norm ? 0 : wiring_.Data(node);
    if (!data || (op == "Div" && *data != 0)) return;
    OptionalNodeId at = node;
    for (absl::string_view through : {"", "Add"}) {
      if (!through.empty()) {
        at = wiring_.Maker(node, *data, through);
        if (!at || !wiring_.Data(*at) || wiring_.OnlyUser(*at) != OptionalNodeId(node)) return;
      }
      const size_t input = through.empty() ? *data : *wiring_.Data(*at);
      for (absl::string_view product : {"Conv", "ConvTranspose", "MatMul", "Gemm"}) {
        const OptionalNodeId maker = wiring_.Maker(*at, input, product);
        if (!maker || !wiring_.OnlyUser(*maker) || !wiring_.Constant(*maker, 1)) continue;
        FoldInto(node, *maker);
        return;
      }
    }
  }
  void FoldInto(NodeId node, NodeId maker) {
    if (wiring_.op(node) != "BatchNormalization") {
      Set(node, 0, "constant factors", "ovc multiplies them into the weights before");
      return;
    }
    // Its shift takes the bias of the convolution in.
    const bool biased = wiring_.node(maker).inputs.size() > 2;
    Set(node, biased ? 0 : 1, "batch norm after a convolution",
        "ovc folds its factor into the weights, and its shift is the bias");
  }

  Wiring wiring_;
  std::vector<Fate> fates_;  // by NodeId
};

// The operations of nodes that are operators of the IR by themselves.
// Products of sizes, each multiplied once: thousands of nodes may write the same shape.
class ElementCounts {
 public:
  const Expr& Of(const Shape& shape) {
    const auto [at, is_new] = counts_.try_emplace(shape);
    if (is_new) at->second = shape.NumElements();
    return at->second;
  }

 private:
  absl::node_hash_map<Shape, Expr> counts_;
};

class NodeFlops {
 public:
  NodeFlops(const Evidence& evidence, const Converted& converted, const Release& release,
            const Entry& entry, ElementCounts* counts)
      : evidence_(evidence),
        converted_(converted),
        release_(release),
        entry_(entry),
        node_(evidence.node(entry)),
        counts_(*counts) {}

  Expr Own() const {
    const absl::string_view op = node_.op_type;
    if (op == "Conv") return Window(Output()) + Bias(2);
    if (op == "ConvTranspose") return Transposed();
    if (op == "Gemm") return Gemm() + Bias(2);
    if (op == "MatMul") return MatMul();
    // It has two outputs, the second of indices, and the tool adds up the elements of all outputs.
    if (op == "MaxPool") return Elements() * Kernel() * 2;
    if (op == "AveragePool") return Elements() * Kernel();
    if (op == "BatchNormalization") return Elements() * 2;
    if (op == "LayerNormalization") return LayerNorm();
    if (op == "InstanceNormalization") return Elements() * 4;
    if (op == "Clip") return Bounded() ? Elements() * 2 : Expr(0);
    for (const PerOutput& rule : kPerOutput) {
      if (rule.op == op) return Elements() * rule.each;
    }
    return 0;
  }
  Expr PerElement(int64_t each) const { return each == 0 ? Expr(0) : Elements() * each; }

 private:
  static const Shape& ShapeOf(const Fact& fact) {
    static const Shape& scalar = *new Shape;
    return fact.is_tensor() && fact.shape.ranked() ? fact.shape : scalar;
  }
  const Shape& Input(size_t i) const { return ShapeOf(evidence_.Input(entry_, i)); }
  const Shape& Output() const { return ShapeOf(evidence_.Output(entry_, 0)); }
  const Expr& Elements() const { return counts_.Of(Output()); }
  static Expr Last(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[shape.rank() - 1]; }

  Expr Kernel() const {
    Expr product = 1;
    if (const Attribute* kernel = node_.FindAttribute("kernel_shape")) {
      for (int64_t size : kernel->ints) product *= Expr(size);
    }
    return product;
  }
  // 2 for each element and each weight that goes into it.
  Expr Window(const Shape& of) const {
    const Shape& weight = Input(1);
    return weight.rank() < 2 ? Expr(0) : counts_.Of(of) * weight.Product(1, weight.rank()) * 2;
  }
  Expr Bias(size_t input) const {
    return evidence_.Input(entry_, input).is_tensor() ? Elements() : Expr(0);
  }
  // By the output, and a part of the kernel that the strides leave.
  Expr Transposed() const {
    const Attribute* group = node_.FindAttribute("group");
    const Attribute* strides = node_.FindAttribute("strides");
    const Shape &x = Input(0), &weight = Input(1);
    if (x.rank() < 2 || weight.rank() < 2) return 0;
    Expr stride = 1;
    if (strides != nullptr) {
      for (int64_t size : strides->ints) stride *= Expr(size);
    }
    const Expr channels = FloorDiv(x[1], group == nullptr ? 1 : group->i);
    return FloorDiv(Elements() * channels * weight.Product(2, weight.rank()) * 2, stride) + Bias(2);
  }
  // ovc moves the transpose into the product as a flag. The tool overlooks the flag, and takes the
  // last size of the first input.
  Expr MatMul() const {
    const Shape& a = Input(0);
    const bool swapped = a.rank() >= 2 && converted_.Swapped(entry_.node);
    return Elements() * (swapped ? a[a.rank() - 2] : Last(a)) * 2;
  }
  // MVN, 2, with a product and a sum; or x - m, its square and the quotient, with the mean's
  // square, the variance and epsilon for each mean.
  Expr LayerNorm() const {
    const int64_t weights = static_cast<int64_t>(node_.inputs.size()) - 1;
    if (release_.layer_norm) return Elements() * (2 + weights);
    const Attribute* axis = node_.FindAttribute("axis");
    const int rank = Output().rank();
    const int64_t written = axis == nullptr ? -1 : axis->i;
    const int64_t first = written < 0 ? written + rank : written;
    if (first < 0 || first > rank) return 0;
    return Elements() * (3 + weights) + Output().Product(0, static_cast<int>(first)) * 3;
  }
  // The tool takes the first input's last size, also of a transposed one.
  Expr Gemm() const { return Elements() * Last(Input(0)) * 2; }
  // With bounds that are not constant, ovc makes Maximum and Minimum, which have no number.
  bool Bounded() const {
    for (size_t i : {1, 2}) {
      const Fact& bound = evidence_.Input(entry_, i);
      if (bound.is_tensor() && !bound.constant) return false;
    }
    return true;
  }

  const Evidence& evidence_;
  const Converted& converted_;
  const Release& release_;
  const Entry& entry_;
  const Node& node_;
  ElementCounts& counts_;
};

// Operators of which one is enough to make ovc's passes matter: the first one, or kNone.
OptionalNodeId FirstConverted(const Evidence& evidence, const Wiring& wiring) {
  for (const Entry& entry : evidence.entries()) {
    const Node& node = evidence.node(entry);
    if (node.graph != 0 || wiring.Folded(entry.node)) continue;
    const bool sum = node.op_type == "Add" && !wiring.Data(entry.node);
    if (!sum && !absl::c_linear_search(kPlain, node.op_type)) return entry.node;
  }
  return kNone;
}

void AssumeConversion(const Evidence& evidence, const Converted& converted, const Release& release,
                      LedgerBuilder* ledger) {
  ledger->Assume("no shift is 0 and no factor is 1 throughout, which ovc drops");
  const Inference& inference = evidence.inference();
  if (!inference.symbols.empty() || !inference.bindings.empty()) {
    ledger->Assume("ovc is given the sizes of the inputs; of an open size the tool reads -1");
  }
  const bool bodies = absl::c_any_of(
      evidence.entries(), [&](const Entry& entry) { return evidence.node(entry).graph != 0; });
  if (bodies) ledger->Assume("ovc keeps branches and loops, whose bodies the tool leaves out");
  if (const OptionalNodeId first = FirstConverted(evidence, converted.wiring())) {
    ledger->Assume(absl::StrCat("ovc ", release.name, " fuses and folds what we think it does, ",
                                "first at ", DescribeNode(evidence.model(), *first)));
  }
}

TermId TermOf(const Node& node, const Expr& amount, LedgerBuilder* ledger) {
  const bool none = amount == Expr(0);
  return ledger->Term(absl::StrCat(node.op_type, none ? " has no number" : " by its own number"),
                      none ? kNoRule : kRule);
}

Ledger Run(const Release& release, Evidence* evidence) {
  const Converted converted(*evidence, release);
  LedgerBuilder ledger(evidence, Unit::kFlop);
  const TermId body = ledger.Term("work inside of branches and loops",
                                  "only operators of the main graph are looked at");
  ElementCounts counts;
  EntryId id = -1;
  for (const Entry& entry : evidence->entries()) {
    ++id;
    const Node& node = evidence->node(entry);
    if (node.graph != 0) continue;
    const Fate& fate = converted.of(entry.node);
    const NodeFlops flops(*evidence, converted, release, entry, &counts);
    const Expr amount = fate.each < 0 ? flops.Own() : flops.PerElement(fate.each);
    if (amount == Expr(0) && evidence->Ours(Unit::kFlop, id) == kZero) continue;
    const TermId term =
        fate.each < 0 ? TermOf(node, amount, &ledger) : ledger.Term(fate.term, fate.reason);
    ledger.Count({id}, evidence->Intern(amount), term);
  }
  AssumeConversion(*evidence, converted, release, &ledger);
  return ledger.Finish([&](EntryId) { return body; });
}

constexpr Release k2026 = {"2026.4", true, true};
constexpr Release k2023 = {"2023.3", false, false};

Ledger Apply2026(Evidence* evidence) { return Run(k2026, evidence); }
Ledger Apply2023(Evidence* evidence) { return Run(k2023, evidence); }

constexpr char kIncludes[] =
    "2 per multiply-accumulate, biases, activation functions, softmax, pooling (max pooling "
    "twice), "
    "sums and products of elements; batch norms and layer norms as the IR has them";

constexpr Convention kVersion2026 = {
    {"model_analyzer@2026.4", Unit::kFlop, "GFLOPs",
     "openvinotoolkit/model_analyzer d9fe351 (2025-12), model_analyzer/layer_provider.py:233-803, "
     "on "
     "the IR that ovc of OpenVINO 2026.4 makes",
     kIncludes,
     "GELU, powers, roots, means and other reductions, resizing, recurrent layers; attention that "
     "ovc fuses, with its products; bodies of branches and loops",
     "2026.4", "2026-09", "of OpenVINO; its converter fuses attention, which then counts as 0"},
    Apply2026,
};

constexpr Convention kVersion2023 = {
    {"model_analyzer@2023.3", Unit::kFlop, "GFLOPs",
     "openvinotoolkit/model_analyzer d9fe351 (2025-12), model_analyzer/layer_provider.py:233-803, "
     "on "
     "the IR that ovc of OpenVINO 2023.3 makes",
     kIncludes,
     "GELU, powers, roots, means and other reductions, resizing, recurrent layers; bodies of "
     "branches and loops",
     "2023.3", "2024-01",
     "of OpenVINO; attention counts, and ONNX's LayerNormalization is taken apart"},
    Apply2023,
};

// Not by age: the plain name is the version that published figures are nearer to.
constexpr const Convention* kVersions[] = {&kVersion2023, &kVersion2026};

}  // namespace
}  // namespace model_analyzer

constinit const Convention kModelAnalyzer = NewestOf("model_analyzer", model_analyzer::kVersions);

}  // namespace onnxflops::convention
