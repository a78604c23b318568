// thop (pytorch-OpCounter): forward hooks on modules of exactly the classes in its table. Work
// outside such modules is not counted: functions, tensor operators, subclasses.
//
// How it works. A row of kRules gives for each ATen operator the formula of the hook that would
// have seen it, or why none did. The rule looks at the class of the module that made the call: only
// exactly these classes have a hook. The versions of the fork ultralytics-thop are the same table
// with a few rows replaced. Parameters are counted by the hooks, too, except in the newest fork:
// each module once, if its amount is not 0.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/convention/conventions.h"
#include "src/convention/torch/functions.h"
#include "src/convention/torch/tool.h"

namespace onnxflops::convention {
namespace thop {
namespace {

constexpr char kNoHook[] = "no hook for this class: the count is 0";
constexpr char kFunction[] = "a function, no module: not seen";
constexpr char kNoFunction[] = "not among the functions that it watches";
constexpr char kNoModule[] = "no module of torch.nn does it";
constexpr char kHeightAsChannels[] = "an image without batch: its height is taken for its channels";

class Thop : public TorchTool {
 public:
  // `functions`: products of functions are counted, too.
  explicit Thop(Evidence* evidence, bool functions = false)
      : TorchTool(evidence, Unit::kMac,
                  {.classes = true,
                   .modules = true,
                   .products = functions,
                   .cells = true,
                   .no_grad = true}),
        counts_parameters_(!functions) {}

  Ledger Run(const AtenRules<Thop>& rules) {
    Ledger ledger = Apply(
        rules.Counted(),
        [&](const TorchCall& call) {
          if (!counts_parameters_) AssumeOwnFormula(call);
          const Decision decision = rules.Decide(this, call);
          if (counts_parameters_ && call.is_by_keyword && decision.amount != kZero) {
            Abort(
                absl::StrCat("thop stops with IndexError at a module called with its input by "
                             "keyword (",
                             call.name, ")"));
          }
          return decision;
        },
        [&](const TorchCall& call, const Decision& decision) { AddParameters(call, decision); });
    if (counts_parameters_ && !ledger.lines.empty()) {
      std::vector<Expr> parts;
      for (const auto& [amount, modules] : params_) {
        parts.push_back(evidence().amount(amount) * modules);
      }
      const Expr params = Sum(parts);
      if (params.is_literal()) ledger.params = params.literal();
    }
    return ledger;
  }

  // ---- rules of rows
  Decision Linear(const TorchCall& call) {
    if (call.arguments.cell_gates != 0) return RecurrentCell(call);
    if (trace().nn_class(call) == NnClass::kLinear) return Products(call);
    if (call.is_out_proj) return {kZero, "its weight is used by a function: no hook"};
    return {kZero, "a function on a raw parameter, no nn.Linear: no hook"};
  }

  Decision Conv(const TorchCall& call) {
    if (!IsConvClass(trace().nn_class(call))) return {kZero, kNoHook};
    if (!IsUnbatched(call)) return Products(call);
    return PerResult(call);
  }

  // Counted by output positions, as if not transposed: N * (Cin / groups) * kernel.
  Decision ConvTranspose(const TorchCall& call) {
    if (!IsConvTransposeClass(trace().nn_class(call))) return {kZero, kNoHook};
    return PerResult(call);
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
    return SoftmaxOf(call);
  }
  Decision SoftmaxOf(const TorchCall& call) {
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
    const Expr rows = counts_parameters_ ? sizes->RowsOfHooks() : sizes->steps * sizes->batch;
    return {Times(call, cells * sizes->directions * rows)};
  }

  // ---- rules of ultralytics-thop's rows By input positions, which is the real number of products.
  Decision ConvTransposeByInput(const TorchCall& call) {
    if (!IsConvTransposeClass(trace().nn_class(call))) return OfSubclass(call, call.macs);
    return Products(call);
  }
  Decision UpsampleTrilinear(const TorchCall& call) { return Upsample(call, 31); }
  Decision ConvOrSubclass(const TorchCall& call) {
    if (!IsConvClass(trace().nn_class(call))) return OfSubclass(call, call.macs);
    return Products(call);
  }
  Decision NormalizationOrSubclass(const TorchCall& call) {
    const NnClass c = trace().nn_class(call);
    const AmountId amount = Scaled(call.in, call.is_affine ? 4 : 2);
    const bool is_hooked = c == NnClass::kLayerNorm || c == NnClass::kGroupNorm ||
                           IsBatchNormClass(c) || IsInstanceNormClass(c);
    if (!is_hooked) return OfSubclass(call, amount);
    return {amount};
  }
  // A module, or a function of torch.nn.functional, that does products.
  Decision LinearOrFunction(const TorchCall& call) {
    if (call.arguments.cell_gates != 0) return RecurrentCell(call);
    if (trace().nn_class(call) != NnClass::kNone || IsFunctional(this, call)) return Products(call);
    return {kZero, kNoFunction};
  }
  Decision MatmulOrMethod(const TorchCall& call) {
    AssumeWrapped(call);
    return Products(call);
  }
  Decision Mm(const TorchCall& call) {
    if (InAttention(call)) return Products(call);
    return {kZero, kNoFunction};
  }
  Decision EinsumOfTwo(const TorchCall& call) {
    AssumeWrapped(call);
    const std::optional<EinsumProduct> product = EinsumInTorch(evidence(), call);
    if (product.has_value()) return {Times(call, product->elements)};
    ledger().Assume("an einsum of other than two operands of known sizes counts as its products");
    return Products(call);
  }
  // nn.MultiheadAttention counts its softmax, the function does not.
  Decision Sdpa(const TorchCall& call) {
    if (!InAttention(call)) {
      AssumeWrapped(call);
      return Products(call);
    }
    const Shape& q = call.shape_of_x();
    const Shape& k = call.shape_of_w();
    constexpr int kRank = 4;
    if (!q.ranked() || !k.ranked() || q.rank() != kRank || k.rank() != kRank) {
      ledger().Assume("the softmax of an attention of unknown sizes is left out");
      return Products(call);
    }
    const Expr keys = k[kRank - 1] == q[kRank - 1] ? k[kRank - 2] : k[kRank - 1];
    return {Plus(call.macs, Times(call, q.Product(0, kRank - 1) * (keys * 3 - 1)))};
  }
  Decision SoftmaxOrAttention(const TorchCall& call) {
    if (trace().nn_class(call) != NnClass::kSoftmax && !InAttention(call)) {
      return {kZero, kNoModule};
    }
    return SoftmaxOf(call);
  }
  // The elements of all windows, and a division per result.
  Decision AvgPoolByWindow(const TorchCall& call) {
    const NnClass c = trace().nn_class(call);
    if (c < NnClass::kAvgPool1d || c > NnClass::kAvgPool3d) return {kZero, kNoModule};
    const Attribute* kernel = MainAttribute(call, "kernel_shape");
    if (kernel == nullptr || MainAttribute(call, "pads") != nullptr) {
      ledger().Assume("windows of a padded nn.AvgPool are taken for whole ones");
    }
    Expr window = 1;
    if (kernel != nullptr) {
      for (int64_t size : kernel->ints) window *= size;
    }
    return {evidence().Intern(evidence().amount(call.out) * (window + 1))};
  }

 private:
  // Modules for which ultralytics-thop has formulas that we do not follow.
  void AssumeOwnFormula(const TorchCall& call) {
    constexpr absl::string_view kModules[] = {
        "torch.nn.modules.activation.LogSoftmax", "torch.nn.modules.activation.Softmin",
        "torch.nn.modules.activation.Softmax2d", "torch.nn.modules.normalization.RMSNorm",
        "torch.nn.modules.linear.Bilinear"};
    if (!IsOneOf(trace().scope(call).class_name, kModules)) return;
    ledger().Assume(absl::StrCat(trace().scope(call).class_name,
                                 " is counted by its calls, not by the formula of the tool"));
  }

  bool InAttention(const TorchCall& call) const {
    return trace().nn_class(call) == NnClass::kMultiheadAttention;
  }

  // Decides for a layer whose class is not exactly torch.nn's: a subclass, or a function.
  Decision OfSubclass(const TorchCall& call, AmountId amount) {
    if (call.in_torch_nn) return {amount};
    const absl::string_view name = trace().scope(call).class_name;
    const bool named = absl::StrContains(name.substr(name.rfind('.') + 1),
                                         IsNormalization(call.op) ? "Norm" : "Conv");
    ledger().Assume(
        "layers in classes outside of torch.nn are taken for classes derived from torch.nn's, "
        "which count, where they are named Norm or Conv; the file does not tell");
    if (!named) return {kZero, kNoModule};
    return {amount};
  }

  // Parameters of the modules that a hook was called for, each module once.
  void AddParameters(const TorchCall& call, const Decision& decision) {
    const TorchScope& scope = trace().scope(call);
    if (decision.amount == kZero || !seen_.insert({scope.module, scope.nn_class}).second) return;
    const auto [it, is_new] = params_of_kind_.try_emplace(call.kind, kZero);
    if (is_new) {
      it->second = evidence().Intern(ParametersOfLayer(evidence(), trace(), call));
    }
    ++params_[it->second];
  }

  // Channels are read at dimension 1, which is the height of an image without batch.
  Decision PerResult(const TorchCall& call) {
    const bool is_unbatched = IsUnbatched(call);
    const Shape& x = call.shape_of_x();
    const Shape& w = call.shape_of_w();
    if (!x.ranked() || !w.ranked() || x.rank() < 3 || w.rank() < 3) return {call.macs};
    const Attribute* group = MainAttribute(call, "group");
    const Expr channels = FloorDiv(x[is_unbatched ? 2 : 1], group == nullptr ? 1 : group->i);
    return {evidence().Intern(evidence().amount(call.out) * channels * w.Product(2, w.rank())),
            is_unbatched ? kHeightAsChannels : nullptr};
  }

  Decision Upsample(const TorchCall& call, int64_t per_result) {
    if (!IsUpsampleClass(trace().nn_class(call))) return {kZero, kNoModule};
    return {Scaled(call.out, per_result)};
  }

  Decision RecurrentCell(const TorchCall& call) {
    const std::optional<RecurrentSizes> sizes = CellSizesOf(call);
    if (!sizes.has_value()) {
      ledger().Assume("sizes of a recurrent cell are unknown: counted as 0");
      return {kZero, "unknown sizes"};
    }
    const Expr once = Cell(LayerOfCell(call), sizes->input, sizes->hidden, sizes->bias);
    return {Times(call, once * (counts_parameters_ ? sizes->RowsOfHooks() : sizes->batch)),
            kCellFormula};
  }

  static Expr Cell(Aten op, const Expr& input, const Expr& hidden, bool bias) {
    Expr state = (input + hidden) * hidden + hidden * (bias ? 3 : 1);
    if (op == Aten::kLstm) return state * 4 + hidden * 4;
    if (op == Aten::kGru) return state * 3 + hidden * 4;
    return state;
  }

  const bool counts_parameters_;
  absl::flat_hash_set<std::pair<ModuleId, NnClass>> seen_;
  absl::flat_hash_map<int32_t, AmountId> params_of_kind_;
  absl::btree_map<AmountId, int64_t> params_;  // how many modules have so many
};

constexpr char kOutputSide[] = "counted from the output side, as if not transposed";
constexpr char kOwnFormula[] = "its own formula, with biases and products of gates";
constexpr char kPerElement[] = "2 per element, 4 with weight and bias, added to the MACs";
constexpr char kAdded[] = "its hook counts elements and adds them to the MACs";
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
    {Aten::kSoftmax, &Thop::Softmax, kAdded},
    {Aten::kRelu, kNotCounted, kNoModule},
    {Aten::kRelu6, kNotCounted, kNoModule},
    {Aten::kLeakyRelu, kNotCounted, kNoModule},
    {Aten::kElu, kNotCounted, kNoModule},
    {Aten::kPrelu, &Thop::Prelu, kAdded},
    {Aten::kGelu, kNotCounted, kNoModule},
    {Aten::kSilu, kNotCounted, kNoModule},
    {Aten::kMaxPool, kNotCounted, kNoModule},
    {Aten::kAvgPool, &Thop::AvgPool, kAdded},
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

// ultralytics-thop 2.0: the same table, two formulas mended.
constexpr AtenRules<Thop> kUltralytics20 = kRules.With({
    {Aten::kConvTranspose, &Thop::ConvTransposeByInput},
    {Aten::kUpsampleTrilinear, &Thop::UpsampleTrilinear, kPerResult},
});

// ultralytics-thop 2.2: classes derived from torch.nn's, and functions that do products.
constexpr AtenRules<Thop> kUltralytics22 = kUltralytics20.With({
    {Aten::kLinear, &Thop::LinearOrFunction},
    {Aten::kMatmul, &Thop::MatmulOrMethod},
    {Aten::kMm, &Thop::Mm, kNoFunction},
    {Aten::kBmm, &Thop::MatmulOrMethod},
    {Aten::kBaddbmm, &Thop::Mm, kNoFunction},
    {Aten::kMv, kNotCounted, kNoFunction},
    {Aten::kEinsum, &Thop::EinsumOfTwo},
    {Aten::kConv, &Thop::ConvOrSubclass},
    {Aten::kSdpa, &Thop::Sdpa, kAdded},
    {Aten::kBatchNorm, &Thop::NormalizationOrSubclass, kPerElement},
    {Aten::kLayerNorm, &Thop::NormalizationOrSubclass, kPerElement},
    {Aten::kGroupNorm, &Thop::NormalizationOrSubclass, kPerElement},
    {Aten::kInstanceNorm, &Thop::NormalizationOrSubclass, kPerElement},
    {Aten::kSoftmax, &Thop::SoftmaxOrAttention, kAdded},
    {Aten::kAvgPool, &Thop::AvgPoolByWindow, kAdded},
    {Aten::kUpsampleNearest, kNotCounted, "nearest neighbours count as 0"},
});

Ledger Apply(Evidence* evidence) { return Thop(evidence).Run(kRules); }
Ledger Apply20(Evidence* evidence) { return Thop(evidence).Run(kUltralytics20); }
Ledger Apply22(Evidence* evidence) { return Thop(evidence, true).Run(kUltralytics22); }

constexpr char kHeadline[] =
    "MACs (total_ops of thop.profile; often doubled or called FLOPs by its users)";
constexpr char kIncludes[] =
    "modules of exactly these classes: Linear, Conv, ConvTranspose, BatchNorm, LayerNorm, "
    "InstanceNorm, PReLU, Softmax, AvgPool, AdaptiveAvgPool, Upsample, RNN, GRU, LSTM";
constexpr char kMisses[] =
    "functions and tensor operators (matmul, attention, F.linear), subclasses, "
    "nn.MultiheadAttention, GroupNorm, GELU";

constexpr Convention kOriginal = {
    {"thop@0.1.1", Unit::kMac, kHeadline,
     "pytorch-OpCounter 0.1.1 (43c064a): thop/profile.py:21-66, vision/basic_hooks.py, "
     "vision/calc_func.py, rnn_hooks.py",
     kIncludes, kMisses, "0.1.1", "2022-09", "the last version of thop itself"},
    thop::Apply,
};

constexpr Convention kFork22 = {
    {"thop@ultralytics-2.2.3", Unit::kMac, kHeadline,
     "ultralytics-thop 2.2.3 (2026-10): thop/profile.py:40-240, vision/basic_hooks.py",
     "as thop, and classes derived from those, GroupNorm, nn.MultiheadAttention; functions: "
     "F.linear, matmul, bmm, einsum, scaled_dot_product_attention",
     "mm, addmm, baddbmm, convolutions of functions, activations", "ultralytics-2.2.3", "2026-10",
     "a fork of the same name: functions that do products count, GroupNorm and attention, too"},
    thop::Apply22,
};

constexpr Convention kFork20 = {
    {"thop@ultralytics-2.0.18", Unit::kMac, kHeadline,
     "ultralytics-thop 2.0.18 (2025): thop/profile.py:33-79, vision/basic_hooks.py", kIncludes,
     kMisses, "ultralytics-2.0.18", "",
     "a fork of the same name: transposed convolutions are counted by their input, trilinear "
     "resizing counts"},
    thop::Apply20,
};

// Not by age: the plain name is thop itself.
constexpr const Convention* kVersions[] = {&kOriginal, &kFork22, &kFork20};

}  // namespace
}  // namespace thop

constinit const Convention kThop = NewestOf("thop", thop::kVersions);

}  // namespace onnxflops::convention
