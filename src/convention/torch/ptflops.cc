// ptflops with its default backend: hooks on modules of exact classes, and wrappers around
// functions of torch and torch.nn.functional. A module whose forward calls a wrapped function is
// counted twice.
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "src/convention/conventions.h"
#include "src/convention/torch/functions.h"
#include "src/convention/torch/ledger.h"

namespace onnxflops {
namespace ptflops {
namespace {

bool Counts(Aten op) { return op != Aten::kOther && op != Aten::kTranspose && op != Aten::kMean; }

constexpr char kBias[] = "1 per result where there is a bias";
constexpr char kBeside[] = "elements, counted beside the MACs";
constexpr char kTwice[] = "elements, once by the module and once by the function it calls";
constexpr char kNotSeen[] = "no hook and no wrapper: not seen";

class Ptflops {
 public:
  explicit Ptflops(Evidence* evidence)
      : tool_(evidence, Unit::kMac, {.counts = Counts, .classes = true, .biases = true}) {}

  Ledger Run() {
    if (!HasBatchOne()) {
      tool_.ledger().Assume(
          "ptflops divides what its hooks counted by the batch of the first positional input: not "
          "divided here, as for inputs by name");
    }
    return tool_.Apply([&](const TorchCall& call) { return Rule(call); },
                       [&](const TorchCall& call, const Verdict&) { CountAttention(call); });
  }

 private:
  bool HasBatchOne() {
    const ModelData& model = tool_.evidence().model();
    const Inference& inference = tool_.evidence().inference();
    for (ValueId id : model.graphs[0].inputs) {
      if (model.value(id).initializer) continue;
      const Fact* fact = inference.FactOf(id);
      if (fact == nullptr) return false;
      const Shape& shape = fact->shape;
      return shape.ranked() && shape.rank() > 0 && shape[0] == Expr(1);
    }
    return false;
  }

  Verdict Rule(const TorchCall& call) {
    const TorchScope& scope = tool_.trace().scope(call);
    if (IsContraction(call.op)) return Product(call);
    if (IsNormalization(call.op)) return Normalization(call, scope.nn_class);
    AssumeSpelling(&tool_, call);
    if (scope.in_timm_attention && call.op != Aten::kSoftmax) return {kZero, kNotSeen};
    switch (call.op) {
      case Aten::kRelu:
        return Activation(call, scope.nn_class == NnClass::kReLU, true);
      case Aten::kGelu:
        if (KeepsFunction(scope)) {
          return {kZero, "the module keeps the function from before it was wrapped"};
        }
        return Activation(call, scope.nn_class == NnClass::kGELU, true);
      case Aten::kPrelu:
        return Activation(call, scope.nn_class == NnClass::kPReLU, true);
      case Aten::kElu:
        return Activation(call, scope.nn_class == NnClass::kELU, true);
      case Aten::kRelu6:
        // nn.ReLU6 calls hardtanh, which is not wrapped.
        return Activation(call, scope.nn_class == NnClass::kReLU6,
                          scope.nn_class != NnClass::kReLU6);
      case Aten::kLeakyRelu:
        return Activation(call, scope.nn_class == NnClass::kLeakyReLU, false);
      case Aten::kSilu:
        return {call.in, kBeside};
      case Aten::kSoftmax:
        return Softmax(call, scope);
      case Aten::kMaxPool:
      case Aten::kAvgPool:
      case Aten::kAdaptiveAvgPool:
      case Aten::kAdaptiveMaxPool:
        return Activation(call, scope.nn_class != NnClass::kNone, true);
      default:
        if (IsResizing(call.op)) return Resize(call, scope.nn_class);
        return {kZero, kNotSeen};
    }
  }

  Verdict Activation(const TorchCall& call, bool hooked, bool wrapped) {
    const int64_t times = (hooked ? 1 : 0) + (wrapped ? 1 : 0);
    if (times == 0) return {kZero, kNotSeen};
    return {tool_.Scaled(call.in, times), times == 2 ? kTwice : kBeside};
  }

  Verdict Product(const TorchCall& call) {
    const TorchScope& scope = tool_.trace().scope(call);
    const AmountId with_bias = tool_.Plus(call.macs, call.has_bias ? call.out : kZero);
    switch (call.op) {
      case Aten::kLinear:
        if (scope.nn_class != NnClass::kLinear) return {kZero, "F.linear has no wrapper"};
        if (scope.in_timm_attention) return {kZero, "inside of a module that has a hook itself"};
        return {with_bias, kBias};
      case Aten::kConv:
        if (IsConvClass(scope.nn_class)) return {with_bias, kBias};
        return {kZero, "no module of torch.nn does it"};
      case Aten::kConvTranspose:
        if (IsConvTransposeClass(scope.nn_class)) return {with_bias, kBias};
        return {kZero, "no module of torch.nn does it"};
      case Aten::kAddmm:
      case Aten::kBaddbmm:
        return {tool_.Plus(call.macs, AddedElements(&tool_, call)),
                "and the elements of what is added"};
      case Aten::kBmm:
      case Aten::kMm:
        return {call.macs};
      case Aten::kMatmul:
        return Matmul(call, scope);
      case Aten::kLstm:
      case Aten::kGru:
      case Aten::kRnn:
        return Recurrent(call);
      default:
        return {kZero, kNotSeen};
    }
  }

  Verdict Matmul(const TorchCall& call, const TorchScope& scope) {
    if (!CallsFunction(&tool_, scope)) return {kZero, "the operator @ has no wrapper"};
    const std::optional<AmountId> amount = tool_.MatmulByFirst(call);
    return {amount.value_or(call.macs), "prod(first) * last of second"};
  }

  Verdict Normalization(const TorchCall& call, NnClass c) {
    if (c == NnClass::kLayerNorm) return {call.in, "1 per element, whether affine or not"};
    if (IsBatchNormClass(c) || IsInstanceNormClass(c) || c == NnClass::kGroupNorm) {
      if (c == NnClass::kSyncBatchNorm) return {kZero, kNotSeen};
      return {tool_.Scaled(call.in, call.is_affine ? 2 : 1), kBeside};
    }
    return {kZero, "a subclass or a function: not seen"};
  }

  Verdict Softmax(const TorchCall& call, const TorchScope& scope) {
    if (scope.nn_class == NnClass::kSoftmax || scope.nn_class == NnClass::kMultiheadAttention ||
        CallsFunction(&tool_, scope)) {
      return {call.in, kBeside};
    }
    return {kZero, "torch.softmax has no wrapper"};
  }

  // The module counts one image, the function that it calls the batch.
  Verdict Resize(const TorchCall& call, NnClass c) {
    if (call.op == Aten::kGridSampler) return {kZero, kNotSeen};
    const bool hooked = c == NnClass::kUpsample;
    if (!hooked || !call.shape_of_y().ranked() || call.shape_of_y().rank() == 0)
      return {call.out, kBeside};
    const Expr& batch = call.shape_of_y()[0];
    const Expr results = tool_.evidence().amount(call.out);
    return {tool_.evidence().Intern(results + FloorDiv(results, batch)), kTwice};
  }

  // w_ih and w_hh of the first direction of every layer, for every row; twice if bidirectional.
  Verdict Recurrent(const TorchCall& call) {
    const NnClass c = tool_.trace().nn_class(call);
    const auto sizes = RecurrentSizesOf(tool_.evidence(), tool_.trace(), call);
    if (!sizes.has_value() || (c != NnClass::kLSTM && c != NnClass::kGRU && c != NnClass::kRNN)) {
      return {kZero, kNotSeen};
    }
    return {tool_.Times(call, RecurrentByRow(*sizes, call.op, 1)),
            "its own formula, with biases and products of gates"};
  }

  // nn.MultiheadAttention has a hook that counts all of it, also where a fast path hides the parts.
  void CountAttention(const TorchCall& call) {
    const TorchAttention* attention = tool_.AttentionOf(call);
    if (attention == nullptr) return;
    const TorchCall& first = tool_.trace().calls[static_cast<size_t>(attention->first_call)];
    if (&first != &call) return;
    if (!attention->is_packed) {
      tool_.ledger().Assume("nn.MultiheadAttention with separate q, k and v is counted as 0");
      return;
    }
    tool_.CountAttention(*attention, HookOfAttention(*attention),
                         "its hook has a formula, with scaling, biases and softmax");
  }

  // Per row: scale, three projections with biases, QK', softmax, PV, out_proj with bias.
  AmountId HookOfAttention(const TorchAttention& attention) {
    const auto [it, is_new] = hooks_.try_emplace({attention.in_proj->kind, attention.heads}, kZero);
    if (is_new) it->second = FormulaOfAttention(attention);
    return it->second;
  }

  AmountId FormulaOfAttention(const TorchAttention& attention) {
    const Shape& x = attention.in_proj->shape_of_x();
    if (!x.ranked() || x.rank() != 3) return kZero;
    const Expr length = x[0], batch = x[1], dim = x[2];
    const Expr heads = attention.heads;
    const Expr head = FloorDiv(dim, heads);
    Expr row = length * dim + length * dim * dim * 3;
    if (attention.in_proj->has_bias) row += length * dim * 3;
    row += heads * (length * length * head * 2 + length * length);
    row += length * dim * (dim + 1);
    return tool_.Times(*attention.in_proj, row * batch);
  }

  TorchLedger tool_;
  // By the kind of in_proj, and heads.
  absl::flat_hash_map<std::pair<int32_t, Expr>, AmountId> hooks_;
};

Ledger Apply(Evidence* evidence) { return Ptflops(evidence).Run(); }

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

}  // namespace onnxflops
