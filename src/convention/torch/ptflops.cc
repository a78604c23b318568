// ptflops with its default backend: hooks on modules of exact classes, and wrappers around
// functions of torch and torch.nn.functional. A module whose forward calls a wrapped function is
// counted twice.
//
// How it works. Each row of kRules decides three things for a call: did a module of a class with a
// hook make it, was it called by a name that is wrapped, and what do these two add. Spelling
// matters: torch.matmul has a wrapper, x @ y has none. Some modules keep a reference to a function
// from before it was wrapped, so they are not seen by it. nn.MultiheadAttention has a hook with a
// formula for all of it, which is added once per run, on top of what its parts count.
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "src/convention/conventions.h"
#include "src/convention/torch/functions.h"
#include "src/convention/torch/tool.h"

namespace onnxflops::convention {
namespace ptflops {
namespace {

constexpr char kBias[] = "1 per result where there is a bias";
constexpr char kAdded[] = "elements, added to the MACs";
constexpr char kTwice[] = "elements, once by the module and once by the function it calls";
constexpr char kKept[] = "the module keeps the function from before it was wrapped";
constexpr char kNotSeen[] = "no hook and no wrapper: not seen";
constexpr char kTimm[] = "the hook of timm's Attention has a formula, with scaling and softmax";

class Ptflops : public TorchTool {
 public:
  explicit Ptflops(Evidence* evidence)
      : TorchTool(evidence, Unit::kMac,
                  {.classes = true, .modules = true, .biases = true, .cells = true}) {}

  Ledger Run(const AtenRules<Ptflops>& rules) {
    if (!HasBatchOne()) {
      ledger().Assume(
          "ptflops divides what its hooks counted by the batch of the first positional input: not "
          "divided here, as for inputs by name");
    }
    return Apply(
        rules.Counted(), [&](const TorchCall& call) { return Decide(rules, call); },
        [&](const TorchCall& call, const Decision&) { CountAttention(call); });
  }

  // ---- rules of rows
  Decision Linear(const TorchCall& call) {
    if (call.arguments.cell_gates != 0) return {CellByRow(this, call, 1), kCellFormula};
    const TorchScope& scope = trace().scope(call);
    if (scope.nn_class != NnClass::kLinear) return {kZero, "F.linear has no wrapper"};
    if (scope.in_timm_attention) return {kZero, "inside of a module that has a hook itself"};
    return ProductsAndBias(call);
  }

  Decision Conv(const TorchCall& call) {
    return OfClass(call, IsConvClass(trace().nn_class(call)));
  }
  Decision ConvTranspose(const TorchCall& call) {
    return OfClass(call, IsConvTransposeClass(trace().nn_class(call)));
  }

  Decision ProductsAndAdded(const TorchCall& call) {
    if (!IsByName(this, call)) return {kZero, kNotSeen};
    return {Plus(call.macs, AddedElements(this, call))};
  }

  // torch.baddbmm has a wrapper, the method of a tensor has none.
  Decision Baddbmm(const TorchCall& call) {
    if (SpellingOf(call) != Spelling::kTorch) return {kZero, kNotSeen};
    return {Plus(call.macs, AddedElements(this, call))};
  }

  Decision Matmul(const TorchCall& call) {
    if (trace().nn_class(call) == NnClass::kTimmAttention) return ProductOfTimm(call);
    if (!IsByName(this, call)) return {kZero, "the operator @ has no wrapper"};
    return {MatmulByFirst(call)};
  }

  // The hook of timm's Attention: scaling of queries, both products, an element per score.
  Decision Sdpa(const TorchCall& call) {
    const Shape& q = call.shape_of_x();
    if (trace().nn_class(call) != NnClass::kTimmAttention || !q.ranked() || q.rank() != 4) {
      return {kZero, kNotSeen};
    }
    const Expr rows = q[0] * q[1] * q[2];
    return {Times(call, rows * q[3] + rows * q[2] * (2 * q[3] + 1)), kTimm};
  }

  Decision Normalization(const TorchCall& call) {
    const NnClass c = trace().nn_class(call);
    if (c == NnClass::kLayerNorm) return {call.in, "1 per element, whether affine or not"};
    if (IsBatchNormClass(c) || IsInstanceNormClass(c) || c == NnClass::kGroupNorm) {
      if (c == NnClass::kSyncBatchNorm) return {kZero, kNotSeen};
      return {Scaled(call.in, call.is_affine ? 2 : 1)};
    }
    return {kZero, "a subclass or a function: not seen"};
  }

  Decision Softmax(const TorchCall& call) {
    if (!IsFunctional(this, call)) return {kZero, "torch.softmax has no wrapper"};
    return {call.in};
  }

  Decision Relu(const TorchCall& call) { return HookedOrWrapped(call, NnClass::kReLU); }
  Decision Elu(const TorchCall& call) { return HookedOrWrapped(call, NnClass::kELU); }
  Decision Prelu(const TorchCall& call) { return HookedOrWrapped(call, NnClass::kPReLU); }
  Decision Gelu(const TorchCall& call) { return HookedOrWrapped(call, NnClass::kGELU); }
  // nn.ReLU6 has a hook; it and nn.Hardtanh call hardtanh, which is not wrapped; F.relu6 is
  // wrapped.
  Decision Relu6(const TorchCall& call) {
    if (trace().nn_class(call) == NnClass::kReLU6) return Elements(call, 1);
    return Elements(call, !call.in_torch_nn && IsFunctional(this, call) ? 1 : 0);
  }
  Decision LeakyRelu(const TorchCall& call) {
    return Elements(call, trace().nn_class(call) == NnClass::kLeakyReLU ? 1 : 0);
  }
  Decision Silu(const TorchCall& call) { return HookedOrWrapped(call, NnClass::kNone); }
  Decision Pool(const TorchCall& call) {
    const NnClass c = trace().nn_class(call);
    return HookedOrWrapped(call, IsPooling(OperatorOf(c)) ? c : NnClass::kNone);
  }

  // torch.add and torch.mul, as functions and as methods.
  Decision Operator(const TorchCall& call) {
    if (!IsByName(this, call)) return {kZero, kNotSeen};
    return {ElementsByName(this, call), kAdded};
  }

  // The module counts one image, the function that it calls the batch.
  Decision Resize(const TorchCall& call) {
    const bool hooked = trace().nn_class(call) == NnClass::kUpsample;
    if (!hooked && !IsFunctional(this, call)) return {kZero, kNotSeen};
    const AmountId by_function = IsByFactor(call) ? ResizedByFactor(call) : call.out;
    if (!hooked || !call.shape_of_y().ranked() || call.shape_of_y().rank() == 0) {
      return {by_function};
    }
    const Expr& batch = call.shape_of_y()[0];
    const Expr of_image = FloorDiv(evidence().amount(call.out), batch);
    return {evidence().Intern(evidence().amount(by_function) + of_image), kTwice};
  }

  // w_ih and w_hh of the first direction of every layer, for every row; twice if bidirectional.
  Decision Recurrent(const TorchCall& call) {
    const NnClass c = trace().nn_class(call);
    const auto sizes = RecurrentSizesOf(evidence(), trace(), call);
    if (!sizes.has_value() || (c != NnClass::kLSTM && c != NnClass::kGRU && c != NnClass::kRNN)) {
      return {kZero, kNotSeen};
    }
    return {Times(call, RecurrentByRow(*sizes, call.op, 1))};
  }

 private:
  bool HasBatchOne() {
    const ModelData& model = evidence().model();
    const Inference& inference = evidence().inference();
    for (ValueId id : model.graphs[0].inputs) {
      if (model.value(id).initializer) continue;
      const Fact* fact = inference.FactOf(id);
      if (fact == nullptr) return false;
      const Shape& shape = fact->shape;
      return shape.ranked() && shape.rank() > 0 && shape[0] == Expr(1);
    }
    return false;
  }

  Decision Decide(const AtenRules<Ptflops>& rules, const TorchCall& call) {
    const bool in_timm = trace().scope(call).in_timm_attention;
    if (in_timm && !IsContraction(call.op) && call.op != Aten::kSoftmax) return {kZero, kNotSeen};
    if (TakesFastPath(call)) return {kZero, "the fast path is one native operator"};
    return rules.Decide(this, call);
  }

  // The same hook where the attention is written as two products: what it counts beside them is
  // what the first one reads of queries and writes.
  Decision ProductOfTimm(const TorchCall& call) {
    const OptionalValueId x = evidence().node(evidence().entry(call.main)).input(0);
    const ModelData& model = evidence().model();
    const OptionalNodeId maker = x ? model.value(*x).producer : OptionalNodeId(kNone);
    const bool is_second = maker && model.node(*maker).op_type == "Softmax";
    return {is_second ? call.macs : Plus(call.macs, Plus(call.in, call.out)), kTimm};
  }

  // Elements of the input times the factors. Of several, each is cut to a whole number.
  AmountId ResizedByFactor(const TorchCall& call) {
    const int32_t factors = FactorsOf(call);
    if (factors == kListOfFactors) {
      Abort(absl::StrCat("it stops with TypeError at a resizing by a list of factors (", call.name,
                         ")"));
      return kZero;
    }
    const Shape& x = call.shape_of_x();
    const Shape& y = call.shape_of_y();
    if (factors > kFactor && x.ranked() && y.ranked() && x.rank() == y.rank()) {
      Expr product = evidence().amount(call.in);
      for (int i = 2; i < x.rank(); ++i) product *= FloorDiv(y[i], x[i]);
      return evidence().Intern(product);
    }
    if (Mod(evidence().amount(call.out), evidence().amount(call.in)) != Expr(0)) {
      ledger().Assume("resizing by a factor that is not whole is taken for its results");
    }
    return call.out;
  }

  // As in TorchCall::sizing. A module holds several factors if they differ.
  int32_t FactorsOf(const TorchCall& call) {
    if (!call.in_torch_nn) return SizingOf(call);
    constexpr int kFirst = 2;
    const Shape& x = call.shape_of_x();
    const Shape& y = call.shape_of_y();
    if (!x.ranked() || !y.ranked() || x.rank() != y.rank()) return kFactor;
    for (int i = kFirst; i < x.rank(); ++i) {
      const Expr factor = FloorDiv(y[i], x[i]), first = FloorDiv(y[kFirst], x[kFirst]);
      if (factor.is_literal() && first.is_literal() && factor != first) return x.rank() - kFirst;
    }
    return kFactor;
  }

  // The decision for a convolution.
  Decision OfClass(const TorchCall& call, bool hooked) {
    if (!hooked) return {kZero, "no module of torch.nn does it"};
    if (!IsUnbatched(call)) return ProductsAndBias(call);
    return {Unbatched(call), "an image without batch: its channels are taken for the batch"};
  }

  // Then the first axis of the image is taken for the channels.
  AmountId Unbatched(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    const Shape& w = call.shape_of_w();
    const Shape& y = call.shape_of_y();
    if (!x.ranked() || !w.ranked() || !y.ranked() || x.rank() < 3 || y.rank() != x.rank()) {
      ledger().Assume("a convolution of an image without batch is counted as one with batch 1");
      return ProductsAndBias(call).amount;
    }
    constexpr int kAfterChannels = 3;
    const Shape& image = call.op == Aten::kConvTranspose ? x : y;
    Expr once = w.NumElements() * x[1] * image.Product(kAfterChannels, image.rank());
    if (call.has_bias) once += x[1] * y.Product(2, y.rank());
    return Times(call, once);
  }

  // Once by a module of the class, which has a hook, and once by the function.
  Decision HookedOrWrapped(const TorchCall& call, NnClass c) {
    const bool is_hooked = c != NnClass::kNone && trace().nn_class(call) == c;
    const bool is_wrapped = is_hooked || IsFunctional(this, call);
    return Elements(call, (is_hooked ? 1 : 0) + (is_wrapped ? 1 : 0));
  }

  Decision Elements(const TorchCall& call, int64_t times) {
    if (times == 0) {
      return {kZero, KeepsFunction(trace().scope(call)) ? kKept : kNotSeen};
    }
    return {Scaled(call.in, times), times == 2 ? kTwice : kAdded};
  }

  // The hook of nn.MultiheadAttention counts the whole module, even if a fast path hides its parts.
  void CountAttention(const TorchCall& call) {
    const TorchAttention* attention = AttentionOf(call);
    if (attention == nullptr) return;
    const TorchCall& first = trace().calls[static_cast<size_t>(attention->first_call)];
    if (&first != &call) return;
    if (attention->in_proj != nullptr && StopsAtAttention(*attention)) return;
    if (attention->projections[0] == nullptr) {
      ledger().Assume("nn.MultiheadAttention whose products of q, k and v are not found counts 0");
      return;
    }
    TorchTool::CountAttention(*attention, HookOfAttention(*attention),
                              "its hook has a formula, with scaling, biases and softmax");
  }

  // The hook reads three sizes of three inputs.
  bool StopsAtAttention(const TorchAttention& attention) {
    const TorchCall& in_proj = *attention.in_proj;
    const bool is_unbatched = attention.is_unbatched;
    if (!is_unbatched && !in_proj.is_by_keyword) return false;
    Abort(absl::StrCat("its hook stops at nn.MultiheadAttention whose inputs ",
                       is_unbatched ? "lack the batch (" : "are given by keyword (", in_proj.name,
                       ")"));
    return true;
  }

  AmountId HookOfAttention(const TorchAttention& attention) {
    const auto& [q, k, v] = attention.projections;
    const auto [it, is_new] =
        hooks_.try_emplace({q->kind, k->kind, v->kind, attention.heads}, kZero);
    if (is_new) it->second = FormulaOfAttention(attention);
    return it->second;
  }

  // Per row: scale, three projections with biases, QK', softmax, PV, out_proj with bias. Sizes are
  // those of the projections' inputs.
  AmountId FormulaOfAttention(const TorchAttention& attention) {
    Expr lengths[3], dims[3];
    for (size_t i = 0; i < attention.projections.size(); ++i) {
      const Shape& x = attention.projections[i]->shape_of_x();
      if (!x.ranked() || x.rank() != 3) return kZero;
      lengths[i] = x[0];
      dims[i] = x[2];
    }
    const auto& [q_length, k_length, v_length] = lengths;
    const auto& [q_dim, k_dim, v_dim] = dims;
    const Expr& heads = attention.heads;
    Expr row = q_length * q_dim + q_length * q_dim * q_dim + k_length * k_dim * k_dim +
               v_length * v_dim * v_dim;
    if (attention.in_proj->has_bias) row += (q_length + k_length + v_length) * q_dim;
    row += heads * q_length * k_length * (FloorDiv(q_dim, heads) + FloorDiv(v_dim, heads) + 1);
    row += q_length * v_dim * (v_dim + 1);
    return Times(*attention.in_proj, row * attention.in_proj->shape_of_x()[1]);
  }

  // By the kinds of the projections of q, k and v, and heads.
  absl::flat_hash_map<std::tuple<int32_t, int32_t, int32_t, Expr>, AmountId> hooks_;
};

constexpr char kOwnFormula[] = "its own formula, with biases and products of gates";
constexpr char kByFirst[] = "prod(first) * last of second";
constexpr char kAndAdded[] = "and the elements of what is added";

constexpr AtenRules<Ptflops> kRules = {{
    {Aten::kOther, kNotCounted, kNotSeen},
    {Aten::kLinear, &Ptflops::Linear, kBias},
    {Aten::kMatmul, &Ptflops::Matmul, kByFirst},
    {Aten::kMm, &Ptflops::Matmul, kByFirst},
    {Aten::kBmm, &Ptflops::Matmul, kByFirst},
    {Aten::kMv, kNotCounted, kNotSeen},
    {Aten::kAddmm, &Ptflops::ProductsAndAdded, kAndAdded},
    {Aten::kBaddbmm, &Ptflops::Baddbmm, kAndAdded},
    {Aten::kEinsum, kNotCounted, kNotSeen},
    {Aten::kConv, &Ptflops::Conv, kBias},
    {Aten::kConvTranspose, &Ptflops::ConvTranspose, kBias},
    {Aten::kSdpa, &Ptflops::Sdpa, kNotSeen},
    {Aten::kLstm, &Ptflops::Recurrent, kOwnFormula},
    {Aten::kGru, &Ptflops::Recurrent, kOwnFormula},
    {Aten::kRnn, &Ptflops::Recurrent, kOwnFormula},
    {Aten::kBatchNorm, &Ptflops::Normalization, kAdded},
    {Aten::kLayerNorm, &Ptflops::Normalization, kAdded},
    {Aten::kGroupNorm, &Ptflops::Normalization, kAdded},
    {Aten::kInstanceNorm, &Ptflops::Normalization, kAdded},
    {Aten::kSoftmax, &Ptflops::Softmax, kAdded},
    {Aten::kRelu, &Ptflops::Relu},
    {Aten::kRelu6, &Ptflops::Relu6},
    {Aten::kLeakyRelu, &Ptflops::LeakyRelu},
    {Aten::kElu, &Ptflops::Elu},
    {Aten::kPrelu, &Ptflops::Prelu},
    {Aten::kGelu, &Ptflops::Gelu},
    {Aten::kSilu, &Ptflops::Silu},
    {Aten::kMaxPool, &Ptflops::Pool},
    {Aten::kAvgPool, &Ptflops::Pool},
    {Aten::kAdaptiveAvgPool, &Ptflops::Pool},
    {Aten::kAdaptiveMaxPool, &Ptflops::Pool},
    {Aten::kMean, kNotCounted, kNotSeen},
    {Aten::kUpsampleNearest, &Ptflops::Resize, kAdded},
    {Aten::kUpsampleLinear, &Ptflops::Resize, kAdded},
    {Aten::kUpsampleBilinear, &Ptflops::Resize, kAdded},
    {Aten::kUpsampleBicubic, &Ptflops::Resize, kAdded},
    {Aten::kUpsampleTrilinear, &Ptflops::Resize, kAdded},
    {Aten::kGridSampler, kNotCounted, kNotSeen},
    {Aten::kAdd, &Ptflops::Operator, kNotSeen},
    {Aten::kMul, &Ptflops::Operator, kNotSeen},
    {Aten::kTranspose, kNotCounted, kNotSeen},
}};

Ledger Apply(Evidence* evidence) { return Ptflops(evidence).Run(kRules); }

}  // namespace
}  // namespace ptflops

const Convention kPtflops = {
    {"ptflops", Unit::kMac, "MACs (get_model_complexity_info, backend=pytorch)",
     "ptflops (d612c75, 2025-08): ptflops/pytorch_ops.py, pytorch_engine.py:69-71,180-199,344-480",
     "modules of exact classes with biases; nn.MultiheadAttention whole; activations and pooling "
     "twice; torch.matmul, bmm, mm, addmm, F.softmax, F.silu",
     "F.linear, scaled_dot_product_attention, the operators @ + *, subclasses"},
    ptflops::Apply,
};

}  // namespace onnxflops::convention
