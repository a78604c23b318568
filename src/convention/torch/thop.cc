// thop (pytorch-OpCounter): forward hooks on modules of exactly the classes in its table. What no
// such module does is not there: functions, tensor operators, subclasses.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/convention/conventions.h"
#include "src/convention/torch/tool.h"

namespace onnxflops::convention {
namespace thop {
namespace {

constexpr char kNoHook[] = "no hook for this class: the count is 0";
constexpr char kFunction[] = "a function, no module: not seen";
constexpr char kNoModule[] = "no module of torch.nn does it";

class Thop : public TorchTool {
 public:
  explicit Thop(Evidence* evidence)
      : TorchTool(evidence, Unit::kMac, {.classes = true, .products = false}) {}

  Ledger Run(const AtenRules<Thop>& rules) {
    Ledger ledger = Apply(
        rules.Counted(), [&](const TorchCall& call) { return rules.Decide(this, call); },
        [&](const TorchCall& call, const Decision& decision) { AddParameters(call, decision); });
    if (!ledger.lines.empty()) {
      std::vector<Expr> parts;
      for (const auto& [amount, modules] : params_) {
        parts.push_back(evidence().amount(amount) * modules);
      }
      const Expr params = Sum(parts);
      if (params.is_literal()) ledger.params = params.literal();
    }
    return ledger;
  }

  // ---- what rows say
  Decision Linear(const TorchCall& call) {
    if (trace().nn_class(call) == NnClass::kLinear) return Products(call);
    if (call.is_out_proj) return {kZero, "its weight is used by a function: no hook"};
    return {kZero, "a function on a raw parameter, no nn.Linear: no hook"};
  }

  Decision Conv(const TorchCall& call) {
    if (!IsConvClass(trace().nn_class(call))) return {kZero, kNoHook};
    return Products(call);
  }

  // By the output, as if it were not transposed: N * (Cin / groups) * kernel.
  Decision ConvTranspose(const TorchCall& call) {
    if (!IsConvTransposeClass(trace().nn_class(call))) return {kZero, kNoHook};
    const Shape& x = call.shape_of_x();
    const Shape& w = call.shape_of_w();
    if (!x.ranked() || !w.ranked() || x.rank() < 3 || w.rank() < 3) return {call.macs};
    const Attribute* group = MainAttribute(call, "group");
    const Expr channels = FloorDiv(x[1], group == nullptr ? 1 : group->i);
    return {evidence().Intern(evidence().amount(call.out) * channels * w.Product(2, w.rank()))};
  }

  Decision Normalization(const TorchCall& call) {
    const NnClass c = trace().nn_class(call);
    if (c != NnClass::kLayerNorm && !IsBatchNormClass(c) && !IsInstanceNormClass(c)) {
      return {kZero, "a subclass or a function: not seen"};
    }
    return {Scaled(call.in, call.is_affine ? 4 : 2)};
  }

  Decision Prelu(const TorchCall& call) {
    if (trace().nn_class(call) != NnClass::kPReLU) return {kZero, kNoModule};
    return ElementsIn(call);
  }

  // 3 d - 1 for every row of d.
  Decision Softmax(const TorchCall& call) {
    if (trace().nn_class(call) != NnClass::kSoftmax) return {kZero, kNoModule};
    const Expr n = evidence().amount(call.in);
    return {evidence().Intern(n * 3 - FloorDiv(n, SoftmaxSize(call)))};
  }

  Decision AvgPool(const TorchCall& call) {
    const NnClass c = trace().nn_class(call);
    if (c < NnClass::kAvgPool1d || c > NnClass::kAvgPool3d) return {kZero, kNoModule};
    return ElementsOut(call);
  }

  // (prod(in / out) + 1) per result.
  Decision AdaptiveAvgPool(const TorchCall& call) {
    if (!IsAdaptiveAvgPoolClass(trace().nn_class(call))) return {kZero, kNoModule};
    const Shape& x = call.shape_of_x();
    const Shape& y = call.shape_of_y();
    if (!x.ranked() || !y.ranked() || x.rank() < 3 || y.rank() != x.rank()) return {kZero, ""};
    const Expr results = evidence().amount(call.out);
    const Expr sums = FloorDiv(results * x.Product(2, x.rank()), y.Product(2, y.rank()));
    return {evidence().Intern(sums + results)};
  }

  Decision UpsampleNearest(const TorchCall& call) { return Upsample(call, 1); }
  Decision UpsampleLinear(const TorchCall& call) { return Upsample(call, 5); }
  Decision UpsampleBilinear(const TorchCall& call) { return Upsample(call, 11); }
  Decision UpsampleBicubic(const TorchCall& call) { return Upsample(call, 224 + 35); }

  Decision Recurrent(const TorchCall& call) {
    const NnClass c = trace().nn_class(call);
    if (c != NnClass::kLSTM && c != NnClass::kGRU && c != NnClass::kRNN) {
      return {kZero, kNoHook};
    }
    const auto sizes = RecurrentSizesOf(evidence(), trace(), call);
    if (!sizes.has_value()) {
      ledger().Assume("sizes of a recurrent layer are unknown: counted as 0");
      return {kZero, "unknown sizes"};
    }
    Expr cells = Cell(call.op, sizes->input, sizes->hidden, sizes->bias);
    cells += Cell(call.op, sizes->hidden * sizes->directions, sizes->hidden, sizes->bias) *
             (sizes->layers - 1);
    return {Times(call, cells * sizes->directions * sizes->steps * sizes->batch)};
  }

 private:
  // Parameters of the modules that a hook was called for, each module once.
  void AddParameters(const TorchCall& call, const Decision& decision) {
    const TorchScope& scope = trace().scope(call);
    if (decision.amount == kZero || !seen_.insert({scope.module, scope.nn_class}).second) return;
    const auto [it, is_new] = params_of_kind_.try_emplace(call.kind, kZero);
    if (is_new) {
      const auto sizes = RecurrentSizesOf(evidence(), trace(), call);
      it->second = evidence().Intern(ParametersOf(call, sizes));
    }
    ++params_[it->second];
  }

  static Expr ParametersOf(const TorchCall& call, const std::optional<RecurrentSizes>& sizes) {
    const Shape& x = call.shape_of_x();
    const Shape& y = call.shape_of_y();
    if (!x.ranked() || !y.ranked() || x.rank() == 0 || y.rank() == 0) return 0;
    const Expr& outputs = y[call.op == Aten::kLinear || y.rank() < 2 ? y.rank() - 1 : 1];
    Expr weight = call.shape_of_w().ranked() ? call.shape_of_w().NumElements() : Expr(0);
    const Expr bias = call.has_bias ? outputs : Expr(0);
    switch (call.op) {
      case Aten::kLinear:
        return x[x.rank() - 1] * outputs + bias;
      case Aten::kConv:
      case Aten::kConvTranspose:
        return weight + bias;
      case Aten::kBatchNorm:
      case Aten::kInstanceNorm:
        return call.is_affine ? outputs * 2 : Expr(0);
      case Aten::kLayerNorm:
        return call.is_affine ? NormalizedElements(call) * 2 : Expr(0);
      case Aten::kPrelu:
        return weight;
      case Aten::kLstm:
      case Aten::kGru:
      case Aten::kRnn:
        return sizes ? ParametersOf(call.op, *sizes) : Expr(0);
      default:
        return 0;
    }
  }

  // "[768]" of layer_norm(x, [768], ...), or else the last dimension.
  static Expr NormalizedElements(const TorchCall& call) {
    const Shape& y = call.shape_of_y();
    const int dims = std::min(call.arguments.normalized_dims, y.rank());
    return y.Product(y.rank() - (dims == 0 ? 1 : dims), y.rank());
  }

  static Expr ParametersOf(Aten op, const RecurrentSizes& sizes) {
    const int64_t gates = op == Aten::kLstm ? 4 : op == Aten::kGru ? 3 : 1;
    const Expr beside = sizes.hidden + (sizes.bias ? 2 : 0);
    const Expr rows =
        sizes.input + beside + (sizes.hidden * sizes.directions + beside) * (sizes.layers - 1);
    return sizes.hidden * gates * rows * sizes.directions;
  }

  Decision Upsample(const TorchCall& call, int64_t per_result) {
    if (!IsUpsampleClass(trace().nn_class(call))) return {kZero, kNoModule};
    return {Scaled(call.out, per_result)};
  }

  static Expr Cell(Aten op, const Expr& input, const Expr& hidden, bool bias) {
    Expr state = (input + hidden) * hidden + hidden * (bias ? 3 : 1);
    if (op == Aten::kLstm) return state * 4 + hidden * 4;
    if (op == Aten::kGru) return state * 3 + hidden * 4;
    return state;
  }

  absl::flat_hash_set<std::pair<ModuleId, NnClass>> seen_;
  absl::flat_hash_map<int32_t, AmountId> params_of_kind_;
  absl::btree_map<AmountId, int64_t> params_;  // how many modules have so many
};

constexpr char kOutputSide[] = "counted from the output side, as if not transposed";
constexpr char kOwnFormula[] = "its own formula, with biases and products of gates";
constexpr char kPerElement[] = "2 per element, 4 with weight and bias, counted beside the MACs";
constexpr char kBeside[] = "its hook counts elements, beside the MACs";
constexpr char kPerResult[] = "its hook counts operations per result";

constexpr AtenRules<Thop> kRules = {{
    {Aten::kOther, kNotCounted, kNoModule},
    {Aten::kLinear, &Thop::Linear},
    {Aten::kMatmul, kNotCounted, kFunction},
    {Aten::kMm, kNotCounted, kFunction},
    {Aten::kBmm, kNotCounted, kFunction},
    {Aten::kMv, kNotCounted, kNoModule},
    {Aten::kAddmm, kNotCounted, kNoModule},
    {Aten::kBaddbmm, kNotCounted, kNoModule},
    {Aten::kEinsum, kNotCounted, kFunction},
    {Aten::kConv, &Thop::Conv},
    {Aten::kConvTranspose, &Thop::ConvTranspose, kOutputSide},
    {Aten::kSdpa, kNotCounted, kFunction},
    {Aten::kLstm, &Thop::Recurrent, kOwnFormula},
    {Aten::kGru, &Thop::Recurrent, kOwnFormula},
    {Aten::kRnn, &Thop::Recurrent, kOwnFormula},
    {Aten::kBatchNorm, &Thop::Normalization, kPerElement},
    {Aten::kLayerNorm, &Thop::Normalization, kPerElement},
    {Aten::kGroupNorm, kNotCounted, kNoModule},
    {Aten::kInstanceNorm, &Thop::Normalization, kPerElement},
    {Aten::kSoftmax, &Thop::Softmax, kBeside},
    {Aten::kRelu, kNotCounted, kNoModule},
    {Aten::kRelu6, kNotCounted, kNoModule},
    {Aten::kLeakyRelu, kNotCounted, kNoModule},
    {Aten::kElu, kNotCounted, kNoModule},
    {Aten::kPrelu, &Thop::Prelu, kBeside},
    {Aten::kGelu, kNotCounted, kNoModule},
    {Aten::kSilu, kNotCounted, kNoModule},
    {Aten::kMaxPool, kNotCounted, kNoModule},
    {Aten::kAvgPool, &Thop::AvgPool, kBeside},
    {Aten::kAdaptiveAvgPool, &Thop::AdaptiveAvgPool, "its hook counts sums and a division"},
    {Aten::kAdaptiveMaxPool, kNotCounted, kNoModule},
    {Aten::kMean, kNotCounted, kNoModule},
    {Aten::kUpsampleNearest, &Thop::UpsampleNearest, kPerResult},
    {Aten::kUpsampleLinear, &Thop::UpsampleLinear, kPerResult},
    {Aten::kUpsampleBilinear, &Thop::UpsampleBilinear, kPerResult},
    {Aten::kUpsampleBicubic, &Thop::UpsampleBicubic, kPerResult},
    {Aten::kUpsampleTrilinear, kNotCounted, "mode not implemented: counted as 0"},
    {Aten::kGridSampler, kNotCounted, kNoModule},
    {Aten::kAdd, kNotCounted, kNoModule},
    {Aten::kMul, kNotCounted, kNoModule},
    {Aten::kTranspose, kNotCounted, kNoModule},
}};

Ledger Apply(Evidence* evidence) { return Thop(evidence).Run(kRules); }

}  // namespace
}  // namespace thop

const Convention kThop = {
    {"thop", Unit::kMac,
     "MACs (total_ops of thop.profile; often doubled or called FLOPs by its users)",
     "pytorch-OpCounter 0.1.1 (43c064a): thop/profile.py:21-66, vision/basic_hooks.py, "
     "vision/calc_func.py, rnn_hooks.py",
     "modules of exactly these classes: Linear, Conv, ConvTranspose, BatchNorm, LayerNorm, "
     "InstanceNorm, PReLU, Softmax, AvgPool, AdaptiveAvgPool, Upsample, RNN, GRU, LSTM",
     "functions and tensor operators (matmul, attention, F.linear), subclasses, "
     "nn.MultiheadAttention, GroupNorm, GELU"},
    thop::Apply,
};

}  // namespace onnxflops::convention
