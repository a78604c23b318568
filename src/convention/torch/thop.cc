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
#include "src/convention/torch/ledger.h"

namespace onnxflops {
namespace thop {
namespace {

bool Counts(Aten op) {
  return op == Aten::kLinear || op == Aten::kConv || op == Aten::kConvTranspose ||
         op == Aten::kBatchNorm || op == Aten::kLayerNorm || op == Aten::kInstanceNorm ||
         op == Aten::kLstm || op == Aten::kGru || op == Aten::kRnn || op == Aten::kPrelu ||
         op == Aten::kSoftmax || op == Aten::kAvgPool || op == Aten::kAdaptiveAvgPool ||
         op == Aten::kUpsampleBilinear;
}

class Thop {
 public:
  explicit Thop(Evidence* evidence)
      : tool_(evidence, Unit::kMac, {.counts = Counts, .classes = true, .products = false}) {}

  Ledger Run() {
    Ledger ledger = tool_.Apply(
        [&](const TorchCall& call) { return Rule(call); },
        [&](const TorchCall& call, const Verdict& verdict) { AddParameters(call, verdict); });
    if (!ledger.lines.empty()) {
      std::vector<Expr> parts;
      for (const auto& [amount, modules] : params_) {
        parts.push_back(tool_.evidence().amount(amount) * modules);
      }
      const Expr params = Sum(parts);
      if (params.is_literal()) ledger.params = params.literal();
    }
    return ledger;
  }

 private:
  // Parameters of the modules that a hook was called for, each module once.
  void AddParameters(const TorchCall& call, const Verdict& verdict) {
    const TorchScope& scope = tool_.trace().scope(call);
    if (verdict.amount == kZero || !seen_.insert({scope.module, scope.nn_class}).second) return;
    const auto [it, is_new] = params_of_kind_.try_emplace(call.kind, kZero);
    if (is_new) {
      const auto sizes = RecurrentSizesOf(tool_.evidence(), tool_.trace(), call);
      it->second = tool_.evidence().Intern(ParametersOf(call, sizes));
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

  Verdict Rule(const TorchCall& call) {
    static constexpr char kNoHook[] = "no hook for this class: the count is 0";
    switch (call.op) {
      case Aten::kLinear:
        if (tool_.trace().nn_class(call) == NnClass::kLinear) return {call.macs};
        if (call.is_out_proj) return {kZero, "its weight is used by a function: no hook"};
        return {kZero, "a function on a raw parameter, no nn.Linear: no hook"};
      case Aten::kConv:
        if (IsConvClass(tool_.trace().nn_class(call))) return {call.macs};
        return {kZero, kNoHook};
      case Aten::kConvTranspose:
        if (IsConvTransposeClass(tool_.trace().nn_class(call))) return ConvTranspose(call);
        return {kZero, kNoHook};
      case Aten::kBatchNorm:
      case Aten::kLayerNorm:
      case Aten::kInstanceNorm:
        return Normalization(call);
      case Aten::kLstm:
      case Aten::kGru:
      case Aten::kRnn:
        return Recurrent(call);
      case Aten::kSdpa:
      case Aten::kMatmul:
      case Aten::kMm:
      case Aten::kBmm:
      case Aten::kEinsum:
        return {kZero, "a function, no module: not seen"};
      default:
        return Layer(call);
    }
  }

  // By the output, as if it were not transposed: N * (Cin / groups) * kernel.
  Verdict ConvTranspose(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    const Shape& w = call.shape_of_w();
    if (!x.ranked() || !w.ranked() || x.rank() < 3 || w.rank() < 3) return {call.macs};
    const Attribute* group = tool_.MainAttribute(call, "group");
    const Expr channels = FloorDiv(x[1], group == nullptr ? 1 : group->i);
    return {tool_.evidence().Intern(tool_.evidence().amount(call.out) * channels *
                                    w.Product(2, w.rank())),
            "counted from the output side, as if not transposed"};
  }

  Verdict Normalization(const TorchCall& call) {
    const NnClass c = tool_.trace().nn_class(call);
    if (c != NnClass::kLayerNorm && !IsBatchNormClass(c) && !IsInstanceNormClass(c)) {
      return {kZero, "a subclass or a function: not seen"};
    }
    return {tool_.Scaled(call.in, call.is_affine ? 4 : 2),
            "2 per element, 4 with weight and bias, counted beside the MACs"};
  }

  Verdict Layer(const TorchCall& call) {
    static constexpr char kBeside[] = "its hook counts elements, beside the MACs";
    const NnClass c = tool_.trace().nn_class(call);
    switch (call.op) {
      case Aten::kPrelu:
        if (c == NnClass::kPReLU) return {call.in, kBeside};
        break;
      case Aten::kSoftmax:
        // 3 d - 1 for every row of d.
        if (c == NnClass::kSoftmax) {
          const Expr n = tool_.evidence().amount(call.in);
          return {tool_.evidence().Intern(n * 3 - FloorDiv(n, tool_.SoftmaxSize(call))), kBeside};
        }
        break;
      case Aten::kAvgPool:
        if (c >= NnClass::kAvgPool1d && c <= NnClass::kAvgPool3d) return {call.out, kBeside};
        break;
      case Aten::kAdaptiveAvgPool:
        if (IsAdaptiveAvgPoolClass(c)) return AdaptiveAvgPool(call);
        break;
      default:
        return Upsample(call);
    }
    return {kZero, "no module of torch.nn does it"};
  }

  // (prod(in / out) + 1) per result.
  Verdict AdaptiveAvgPool(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    const Shape& y = call.shape_of_y();
    if (!x.ranked() || !y.ranked() || x.rank() < 3 || y.rank() != x.rank()) return {kZero, ""};
    const Expr results = tool_.evidence().amount(call.out);
    const Expr sums = FloorDiv(results * x.Product(2, x.rank()), y.Product(2, y.rank()));
    return {tool_.evidence().Intern(sums + results), "its hook counts sums and a division"};
  }

  Verdict Upsample(const TorchCall& call) {
    static constexpr char kWhy[] = "its hook counts operations per result";
    if (!IsUpsampleClass(tool_.trace().nn_class(call))) {
      return {kZero, "no module of torch.nn does it"};
    }
    switch (call.op) {
      case Aten::kUpsampleNearest:
        return {call.out, kWhy};
      case Aten::kUpsampleLinear:
        return {tool_.Scaled(call.out, 5), kWhy};
      case Aten::kUpsampleBilinear:
        return {tool_.Scaled(call.out, 11), kWhy};
      case Aten::kUpsampleBicubic:
        return {tool_.Scaled(call.out, 224 + 35), kWhy};
      default:
        return {kZero, "mode not implemented: counted as 0"};
    }
  }

  static Expr Cell(Aten op, const Expr& input, const Expr& hidden, bool bias) {
    Expr state = (input + hidden) * hidden + hidden * (bias ? 3 : 1);
    if (op == Aten::kLstm) return state * 4 + hidden * 4;
    if (op == Aten::kGru) return state * 3 + hidden * 4;
    return state;
  }

  Verdict Recurrent(const TorchCall& call) {
    const NnClass c = tool_.trace().nn_class(call);
    if (c != NnClass::kLSTM && c != NnClass::kGRU && c != NnClass::kRNN) {
      return {kZero, "no hook for this class: the count is 0"};
    }
    const auto sizes = RecurrentSizesOf(tool_.evidence(), tool_.trace(), call);
    if (!sizes.has_value()) {
      tool_.ledger().Assume("sizes of a recurrent layer are unknown: counted as 0");
      return {kZero, "unknown sizes"};
    }
    Expr cells = Cell(call.op, sizes->input, sizes->hidden, sizes->bias);
    cells += Cell(call.op, sizes->hidden * sizes->directions, sizes->hidden, sizes->bias) *
             (sizes->layers - 1);
    return {tool_.Times(call, cells * sizes->directions * sizes->steps * sizes->batch),
            "its own formula, with biases and products of gates"};
  }

  TorchLedger tool_;
  absl::flat_hash_set<std::pair<ModuleId, NnClass>> seen_;
  absl::flat_hash_map<int32_t, AmountId> params_of_kind_;
  absl::btree_map<AmountId, int64_t> params_;  // how many modules have so many
};

Ledger Apply(Evidence* evidence) { return Thop(evidence).Run(); }

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

}  // namespace onnxflops
