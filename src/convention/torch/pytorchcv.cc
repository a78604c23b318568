// measure_model of pytorchcv's zoo: hooks on modules without children, by their classes. A class
// that it does not know stops it. The zoo publishes half of what it adds up, "FLOPs/2".
//
// How it works. RuleOf finds the rule for the class of a module, and the operator of which one
// call stands for one run of the module: a Swish is a sigmoid and a product, and counts once.
// FindStops looks for what the tool would stop at. An odd count leaves half an operation: each
// second one adds 1 to the count before it, so that the sum is right.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/convention/conventions.h"
#include "src/convention/torch/tool.h"
#include "src/exporter/tensor_name.h"
#include "src/module/module_path.h"

namespace onnxflops::convention {
namespace pytorchcv {
namespace {

constexpr char kFunction[] = "a function or tensor operator, no module: not seen";
constexpr char kUnseen[] = "no module without children does it: not seen";
constexpr char kElements[] = "its hook counts operations for each element, here halved";
constexpr char kBias[] = "without a bias 2 k y - 1 operations for each pair of channels, halved";
constexpr char kTorch[] = "torch.nn.modules.";
constexpr char kZoo[] = "pytorchcv.";

enum class Rule : uint8_t {
  kFree,
  kElements,
  kInterpolation,
  kHeatmap,
  kLinear,
  kConv,
  kPool,
  kAdaptivePool,
};

struct Layer {
  Rule rule = Rule::kFree;
  int64_t each = 0;        // operations for each element that it reads
  bool by_result = false;  // the call reads parts, and writes as many elements as the module reads
};

// Classes that the trace has no name for. One call of these operators stands for the module.
struct NamedLayer {
  absl::string_view package, name;
  Layer layer;
  absl::string_view operators[4] = {};
};
constexpr NamedLayer kNamed[] = {
    {kTorch, "Dropout", {}},
    {kTorch, "Sequential", {}},
    {kTorch, "ZeroPad2d", {}},
    {kTorch, "Softmax2d", {Rule::kElements, 4}, {"softmax", "_softmax"}},
    {kTorch, "PixelShuffle", {Rule::kElements, 1}, {"pixel_shuffle"}},
    {kZoo, "Identity", {}},
    {kZoo, "Flatten", {}},
    {kZoo, "LwopDecoderFinalBlock", {}},
    {kZoo, "Swish", {Rule::kElements, 5}, {"sigmoid"}},
    {kZoo, "HSigmoid", {Rule::kElements, 1}, {"hardtanh", "relu6", "clamp"}},
    {kZoo, "HSwish", {Rule::kElements, 2}, {"hardtanh", "relu6", "clamp"}},
    {kZoo, "ChannelShuffle", {Rule::kElements, 1}, {"transpose", "permute"}},
    {kZoo, "ChannelShuffle2", {Rule::kElements, 1}, {"transpose", "permute"}},
    {kZoo, "ChannelSqueeze", {Rule::kElements, 1}, {"sum"}},
    {kZoo, "IRevDownscale", {Rule::kElements, 5, true}, {"stack"}},
    {kZoo, "IRevSplitBlock", {Rule::kElements, 1}, {"chunk", "split", "split_with_sizes"}},
    {kZoo, "IRevMergeBlock", {Rule::kElements, 1}, {"cat"}},
    {kZoo, "RiRFinalBlock", {Rule::kElements, 1}, {"cat"}},
    {kZoo, "ProxylessUnit", {Rule::kElements, 1}, {"clone"}},
    {kZoo, "ScaleBlock", {Rule::kElements, 1}, {"mul"}},
    {kZoo, "HeatmapMaxDetBlock", {Rule::kHeatmap, 1}, {"amax", "max"}},
    {kZoo, "InterpolationBlock", {Rule::kInterpolation}},
    {kZoo, "MaskConv1d", {Rule::kConv}},
    {kZoo, "Conv2d1bit", {Rule::kConv}},
};
// Blocks that it counts for one image only.
constexpr absl::string_view kOneImage[] = {"ScaleBlock", "HeatmapMaxDetBlock",
                                           "InterpolationBlock"};

absl::string_view ShortName(absl::string_view class_name) {
  return class_name.substr(class_name.rfind('.') + 1);
}

const NamedLayer* NamedLayerOf(absl::string_view class_name) {
  for (const NamedLayer& named : kNamed) {
    if (absl::StartsWith(class_name, named.package) && ShortName(class_name) == named.name) {
      return &named;
    }
  }
  return nullptr;
}

// The rule for a class that the trace has a name for.
std::optional<Layer> LayerOf(NnClass c) {
  if (IsUpsampleClass(c)) return Layer{Rule::kElements, 4};
  switch (c) {
    case NnClass::kLinear:
      return Layer{Rule::kLinear};
    case NnClass::kConv1d:
    case NnClass::kConv2d:
      return Layer{Rule::kConv};
    case NnClass::kReLU:
    case NnClass::kReLU6:
      return Layer{Rule::kElements, 1};
    case NnClass::kLeakyReLU:
      return Layer{Rule::kElements, 2};
    case NnClass::kELU:
    case NnClass::kPReLU:
      return Layer{Rule::kElements, 3};
    case NnClass::kSigmoid:
    case NnClass::kSoftmax:
    case NnClass::kConvTranspose2d:
    case NnClass::kBatchNorm1d:
    case NnClass::kBatchNorm2d:
    case NnClass::kInstanceNorm2d:
      return Layer{Rule::kElements, 4};
    case NnClass::kMaxPool2d:
    case NnClass::kAvgPool2d:
      return Layer{Rule::kPool};
    case NnClass::kAdaptiveAvgPool2d:
    case NnClass::kAdaptiveMaxPool2d:
      return Layer{Rule::kAdaptivePool};
    default:
      return std::nullopt;
  }
}

class Pytorchcv : public TorchTool {
 public:
  explicit Pytorchcv(Evidence* evidence)
      : TorchTool(evidence, Unit::kMac,
                  {.classes = true, .modules = true, .products = false, .biases = true}) {}

  Ledger Run(const AtenRules<Pytorchcv>& rules) {
    if (trace().origin != TorchTrace::Origin::kNone) {
      FindNamed();
      FindStops();
      AssumeWhatLeavesNoNode();
    }
    AtenSet counted = rules.Counted();
    counted[static_cast<size_t>(Aten::kOther)] = false;  // its gaps are not those of sigmoids
    return Apply(
        counted, [&](const TorchCall& call) { return rules.Decide(this, call); },
        [&](const TorchCall& call, const Decision&) { AddHalf(call); });
  }

  // ---- rules of rows
  Decision Module(const TorchCall& call) {
    const std::optional<Layer> layer = RuleOf(call);
    if (!layer.has_value()) return {kZero, kUnseen};
    if (!StandsForModule(call)) return {kZero, "part of a module that counts as a whole"};
    if (call.is_by_keyword) {
      Abort(
          absl::StrCat("measure_model stops with AssertionError at a module called with its "
                       "input by keyword (",
                       call.name, ")"));
    }
    switch (layer->rule) {
      case Rule::kFree:
        return {kZero, "known as a module without operations"};
      case Rule::kElements:
        return Elements(call, *layer);
      case Rule::kInterpolation:
        return Elements(call, {Rule::kElements, call.op == Aten::kUpsampleBilinear ? 9 : 4});
      case Rule::kHeatmap:
        return Heatmap(call);
      case Rule::kLinear:
        return Linear(call);
      case Rule::kConv:
        return Conv(call);
      case Rule::kPool:
        return Pool(call);
      case Rule::kAdaptivePool:
        return AdaptivePool(call);
    }
    return {};
  }

 private:
  // ---- rules of modules

  // By name; of modules without children only, since no others have a hook.
  void FindNamed() {
    for (const TorchScope& scope : trace().scopes) NoteParent(PathOf(scope));
    for (const Value& value : evidence().model().values) {
      if (value.initializer && !exporter::IsRenamed(value.name)) {
        NoteParent(modules::ParentPath(value.name));
      }
    }
    for (const TorchScope& scope : trace().scopes) {
      const bool has_name = scope.nn_class == NnClass::kNone && !parents_.contains(PathOf(scope));
      named_.push_back(has_name ? NamedLayerOf(scope.class_name) : nullptr);
    }
  }

  const NamedLayer* NamedOf(const TorchCall& call) const {
    return named_[static_cast<size_t>(call.scope)];
  }

  std::optional<Layer> RuleOf(const TorchCall& call) const {
    if (const NamedLayer* named = NamedOf(call)) return named->layer;
    return LayerOf(trace().nn_class(call));
  }

  // True if the call stands for one run of its module. REQUIRES: there is a rule for it.
  bool StandsForModule(const TorchCall& call) const {
    const NamedLayer* named = NamedOf(call);
    if (named == nullptr) {
      const NnClass c = trace().nn_class(call);
      if (IsUpsampleClass(c)) return IsResizing(call.op);
      if (c == NnClass::kReLU6) return call.op == Aten::kRelu6 || AtenName(call.target) == "clamp";
      if (c != NnClass::kSigmoid) return call.op == OperatorOf(c);
      return call.target.empty() || AtenName(call.target) == "sigmoid";
    }
    if (named->layer.rule == Rule::kConv) return call.op == Aten::kConv;
    if (named->layer.rule == Rule::kInterpolation) {
      return IsResizing(call.op) || call.op == Aten::kAdaptiveAvgPool;
    }
    return IsOneOf(AtenName(call.target), named->operators);
  }

  // ---- amounts

  Expr Runs(const TorchCall& call) { return evidence().times(evidence().entry(call.main)); }

  // Half of the operations of all runs. What is odd is kept for AddHalf.
  AmountId Half(const TorchCall& call, const Expr& operations) {
    const Expr half = FloorDiv(operations, 2);
    const Expr odd = operations - half * 2;
    if (!odd.is_literal()) {
      ledger().Assume("half an operation of a count in unknown sizes is left out");
    } else if (!odd.is_zero()) {
      odd_.insert(call.kind);
    }
    return evidence().Intern(half);
  }

  void AddHalf(const TorchCall& call) {
    if (!odd_.contains(call.kind)) return;
    if (half_ == nullptr) {
      half_ = &call;
      return;
    }
    ledger().Count(trace().entries_of(*half_), evidence().Intern(1),
                   ledger().Term("halves of operations", "of two odd counts"));
    half_ = nullptr;
  }

  // The trace has none for operators without a name.
  Expr ElementsOf(const TorchCall& call, const Fact& fact) {
    const auto known = evidence().Elements(fact, evidence().entry(call.main));
    if (!known) ledger().Assume("modules that read tensors of unknown sizes count as 0");
    return evidence().amount(known.value_or(kZero));
  }

  Decision Elements(const TorchCall& call, const Layer& layer) {
    const TorchScope& scope = trace().scope(call);
    if (scope.nn_class == NnClass::kNone && IsOneOf(ShortName(scope.class_name), kOneImage)) {
      NeedOneImage(call);
    }
    const bool is_sigmoid =
        scope.nn_class == NnClass::kSigmoid || AtenName(call.target) == "sigmoid";
    return {Half(call, ElementsOf(call, layer.by_result ? *call.y : *call.x) * layer.each),
            kElements, is_sigmoid ? "activations" : nullptr};
  }

  Decision Heatmap(const TorchCall& call) {
    NeedOneImage(call);
    const Shape& x = call.shape_of_x();
    if (!x.ranked() || x.rank() < 2) return {};
    constexpr int64_t kPerPoint = 26;
    return {Half(call, ElementsOf(call, *call.x) + x[1] * kPerPoint * Runs(call)), kElements};
  }

  void NeedOneImage(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    if (!x.ranked() || x.rank() == 0) return;
    if (!x[0].is_literal()) {
      ledger().Assume("batch 1: blocks of the zoo count for one image only");
    } else if (x[0] != Expr(1)) {
      Abort(absl::StrCat("measure_model stops with AssertionError: ",
                         ShortName(trace().scope(call).class_name), " counts one image only"));
    }
  }

  Decision Linear(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    const Shape& y = call.shape_of_y();
    if (!x.ranked() || !y.ranked() || x.rank() == 0 || y.rank() == 0) return {};
    const Expr each = x[x.rank() - 1] * 2 - (call.has_bias ? 0 : 1);
    const Expr operations = each * y[y.rank() - 1] * x[0] * Runs(call);
    if (x.rank() > 2) {
      return {Half(call, operations),
              "operations x the first size of the input: positions are "
              "not seen",
              "positions of linear layers"};
    }
    return {Half(call, operations), "without a bias 2 n - 1 operations for each result, halved"};
  }

  Decision Conv(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    const Shape& w = call.shape_of_w();
    if (IsUnbatched(call)) {
      Abort(absl::StrCat("measure_model stops with IndexError at an image without batch (",
                         call.name, ")"));
    }
    if (HasNamedPadding(call)) {
      Abort(absl::StrCat("measure_model stops with TypeError at padding 'same' or 'valid' (",
                         call.name, ")"));
    }
    if (ShortName(trace().scope(call).class_name) == "Conv2d1bit") {
      ledger().Assume(
          "Conv2d1bit counts as a convolution, as up to 651da9e6 (2020-01); since then "
          "measure_model stops at it, and the zoo's table has the older figures");
    }
    if (!x.ranked() || !w.ranked() || x.rank() == 0 || w.rank() < 2) return {call.macs};
    if (call.has_bias) return {call.macs};
    const Expr twice = evidence().amount(call.macs) * 2;
    return {Half(call, twice - w[0] * w[1] * x[0] * Runs(call)), kBias};
  }

  // The elements of all windows. The exporter may pad in a node before the pool.
  Decision Pool(const TorchCall& call) {
    NeedBatch(call);
    for (EntryId id : trace().entries_of(call)) {
      const Attribute* kernel = evidence().node(evidence().entry(id)).FindAttribute("kernel_shape");
      if (kernel == nullptr) continue;
      Expr window = 1;
      for (int64_t size : kernel->ints) window *= size;
      return {Half(call, evidence().amount(call.out) * window), kElements};
    }
    ledger().Assume("pools of unknown windows count as 0");
    return {};
  }

  // For each result all elements of its channel.
  Decision AdaptivePool(const TorchCall& call) {
    NeedBatch(call);
    const Shape& y = call.shape_of_y();
    if (!y.ranked() || y.rank() < 3) return {};
    return {Half(call, evidence().amount(call.in) * y.Product(2, y.rank())), kElements};
  }

  void NeedBatch(const TorchCall& call) {
    constexpr int kImages = 4;
    const Shape& x = call.shape_of_x();
    if (!x.ranked() || x.rank() == kImages) return;
    Abort(absl::StrCat("measure_model stops with IndexError at an image without batch (", call.name,
                       ")"));
  }

  // ---- what it would stop at

  absl::string_view PathOf(const TorchScope& scope) {
    return evidence().paths().path(scope.module);
  }

  // Whatever is above the module has a child.
  void NoteParent(absl::string_view module) {
    while (!module.empty()) {
      module = modules::ParentPath(module);
      if (!parents_.insert(module).second) return;
    }
  }

  void FindStops() {
    // It makes its inputs itself: one or two tensors of zeros.
    std::string problem = FedFloats("measure_model", 2, "one or two inputs");
    if (!problem.empty()) return Abort(std::move(problem));
    // It puts its hooks on before it runs the model.
    if (std::string stop = StopAboveModules(); !stop.empty()) return Abort(std::move(stop));
    absl::flat_hash_map<ScopeId, bool> has_main;
    for (const TorchCall& call : trace().calls) {
      const TorchScope& scope = trace().scope(call);
      const std::optional<Layer> layer = RuleOf(call);
      if (!layer.has_value()) {
        if (std::string stop = StopAt(scope, call); !stop.empty()) return Abort(std::move(stop));
      } else if (layer->rule != Rule::kFree) {
        bool& has = has_main[call.scope];
        has = has || StandsForModule(call);
      }
    }
    for (const auto& [scope, has] : has_main) {
      if (has) continue;
      ledger().Assume("modules that the exporter wrote as other operators count as 0");
      break;
    }
  }

  // Why the tool stops at a module without a rule; "" if it does not.
  std::string StopAt(const TorchScope& scope, const TorchCall& call) {
    if (parents_.contains(PathOf(scope))) return "";
    std::string what(scope.class_name);
    if (what.empty() || !absl::StrContains(what, '.')) {
      // A TorchScript export: a module that only moves data may be one of many classes.
      const auto is_free = [&](EntryId id) { return evidence().Ours(Unit::kFlop, id) == kZero; };
      const auto entries = trace().entries_of(call);
      if (call.op == Aten::kAdd || call.op == Aten::kMul || call.op == Aten::kAvgPool ||
          std::all_of(entries.begin(), entries.end(), is_free)) {
        return "";
      }
      what =
          absl::StrCat("a module that does ", evidence().node(evidence().entry(call.main)).op_type);
    }
    return absl::StrCat("measure_model stops with TypeError at a class that it does not know: ",
                        what, " (", PathOf(scope).empty() ? "the model" : PathOf(scope), ")");
  }

  // Why it stops at a module that holds a parameter beside modules; "" if there is none. Those of
  // the model itself are left out: exporters name what they make alike.
  std::string StopAboveModules() {
    constexpr char kStop[] = "measure_model stops with AssertionError at ";
    for (const TorchScope& scope : trace().scopes) {
      if (scope.nn_class != NnClass::kMultiheadAttention) continue;
      return absl::StrCat(kStop, "nn.MultiheadAttention, which holds parameters beside a module");
    }
    for (const Value& value : evidence().model().values) {
      if (!value.initializer || exporter::IsRenamed(value.name)) continue;
      const absl::string_view owner = modules::ParentPath(value.name);
      if (owner.empty() || !parents_.contains(owner)) continue;
      if (!IsFloat(evidence().model().tensor(*value.initializer).dtype)) continue;
      return absl::StrCat(kStop, owner, ", which holds the parameter ", value.name,
                          " beside modules");
    }
    return "";
  }

  // The zoo and torchvision have none of these modules beside layers that the tool knows.
  void AssumeWhatLeavesNoNode() {
    bool is_known = false, is_other = false, may_split = false, splits = false;
    for (const TorchScope& scope : trace().scopes) {
      const absl::string_view name = scope.class_name;
      if (name.empty() || absl::StartsWith(name, "torch.nn.")) continue;
      (absl::StartsWith(name, kZoo) || absl::StartsWith(name, "torchvision.") ? is_known
                                                                              : is_other) = true;
      if (absl::StrContains(name, ".proxylessnas.")) {
        ledger().Assume("a ProxylessUnit that returns its input leaves no node: not counted");
      }
      may_split = may_split || absl::StrContains(name, ".irevnet.");
      splits = splits || ShortName(name) == "IRevSplitBlock";
    }
    if (may_split && !splits) ledger().Assume("an IRevSplitBlock left no call: not counted");
    if (is_known && !is_other) return;
    ledger().Assume(
        "no module that leaves no node is nn.Identity, or another class that measure_model stops "
        "at");
  }

  absl::flat_hash_set<int32_t> odd_;                // kinds of calls
  std::vector<const NamedLayer*> named_;            // by ScopeId
  const TorchCall* half_ = nullptr;                 // the last with an odd count
  absl::flat_hash_set<absl::string_view> parents_;  // paths
};

constexpr AtenRules<Pytorchcv> kRules = {{
    {Aten::kOther, &Pytorchcv::Module},
    {Aten::kLinear, &Pytorchcv::Module},
    {Aten::kMatmul, kNotCounted, kFunction},
    {Aten::kMm, kNotCounted, kFunction},
    {Aten::kBmm, kNotCounted, kFunction},
    {Aten::kMv, kNotCounted, kFunction},
    {Aten::kAddmm, kNotCounted, kFunction},
    {Aten::kBaddbmm, kNotCounted, kFunction},
    {Aten::kEinsum, kNotCounted, kFunction},
    {Aten::kConv, &Pytorchcv::Module},
    {Aten::kConvTranspose, &Pytorchcv::Module, "4 operations for each element that it reads"},
    {Aten::kSdpa, kNotCounted, kFunction},
    {Aten::kLstm, kNotCounted, kFunction},
    {Aten::kGru, kNotCounted, kFunction},
    {Aten::kRnn, kNotCounted, kFunction},
    {Aten::kBatchNorm, &Pytorchcv::Module},
    {Aten::kLayerNorm, kNotCounted, kFunction},
    {Aten::kGroupNorm, kNotCounted, kFunction},
    {Aten::kInstanceNorm, &Pytorchcv::Module},
    {Aten::kSoftmax, &Pytorchcv::Module},
    {Aten::kRelu, &Pytorchcv::Module},
    {Aten::kRelu6, &Pytorchcv::Module},
    {Aten::kLeakyRelu, &Pytorchcv::Module},
    {Aten::kElu, &Pytorchcv::Module},
    {Aten::kPrelu, &Pytorchcv::Module},
    {Aten::kGelu, kNotCounted, kFunction},
    {Aten::kSilu, kNotCounted, kFunction},
    {Aten::kMaxPool, &Pytorchcv::Module},
    {Aten::kAvgPool, &Pytorchcv::Module},
    {Aten::kAdaptiveAvgPool, &Pytorchcv::Module},
    {Aten::kAdaptiveMaxPool, &Pytorchcv::Module},
    {Aten::kMean, kNotCounted, kFunction},
    {Aten::kUpsampleNearest, &Pytorchcv::Module},
    {Aten::kUpsampleLinear, &Pytorchcv::Module},
    {Aten::kUpsampleBilinear, &Pytorchcv::Module},
    {Aten::kUpsampleBicubic, &Pytorchcv::Module},
    {Aten::kUpsampleTrilinear, &Pytorchcv::Module},
    {Aten::kGridSampler, kNotCounted, kFunction},
    {Aten::kAdd, kNotCounted, kFunction},
    {Aten::kMul, &Pytorchcv::Module},
    {Aten::kTranspose, &Pytorchcv::Module},
}};

Ledger Apply(Evidence* evidence) { return Pytorchcv(evidence).Run(kRules); }

}  // namespace
}  // namespace pytorchcv

const Convention kPytorchcv = {
    {"pytorchcv", Unit::kMac, "FLOPs/2 (half of measure_model's FLOPs, rounded down)",
     "osmr/imgclsmob (c1a844d, 2024-09): pytorch/model_stats.py:90-318",
     "modules without children: Linear, Conv1d, Conv2d (one operation less for each pair of "
     "channels without a bias), BatchNorm, InstanceNorm2d, Sigmoid, Softmax, ConvTranspose2d and "
     "Upsample 4, ELU and PReLU 3, LeakyReLU 2, ReLU 1 per element, windows of pools; blocks of "
     "the zoo",
     "functions and tensor operators; stops at any other class, such as LayerNorm, GELU, SiLU, "
     "nn.Identity and nn.MultiheadAttention"},
    pytorchcv::Apply,
};

}  // namespace onnxflops::convention
