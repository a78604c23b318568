// torchinfo's "Total mult-adds": for each call of a module without children, its parameters times
// the first size of its result; times all positions, if "Conv" is in the name of its class.
//
// How it works. A layer of torch.nn, or of a class that is known to be one, is a call of the trace,
// whose operands give its parameters (ParametersOfLayer). Other modules without children are found
// by the names of their parameters, which hold "weight" or "bias": an embedding, an RMSNorm. The
// file does not tell whether such a module has children that did nothing, so this is an assumption,
// except for classes of torch.nn. Modules with children count nothing, which includes
// nn.MultiheadAttention: its out_proj is a child, and a function that no hook sees uses both.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/convention/conventions.h"
#include "src/convention/torch/tool.h"
#include "src/exporter/tensor_name.h"
#include "src/module/module_path.h"

namespace onnxflops::convention {
namespace torchinfo {
namespace {

constexpr char kFunction[] = "a function, no module: not seen";
constexpr char kParent[] = "a module with children counts nothing itself";
constexpr char kPerSample[] = "parameters x the first size of the result, positions are not seen";
constexpr char kBiases[] = "biases count as weights do";
constexpr char kNoParameters[] = "no parameters: counted as 0";
constexpr char kRecurrent[] = "all parameters x steps and batch, with biases";

// Classes outside of torch.nn that are derived from one of its layers, and have no children.
struct KnownClass {
  absl::string_view name;
  Aten op;
};
constexpr KnownClass kKnown[] = {
    {"timm.layers.activations.PReLU", Aten::kPrelu},
    {"timm.layers.conv2d_same.Conv2dSame", Aten::kConv},
    {"timm.layers.linear.Linear", Aten::kLinear},
    {"timm.layers.norm.GroupNorm", Aten::kGroupNorm},
    {"timm.layers.norm.GroupNorm1", Aten::kGroupNorm},
    {"timm.layers.norm.LayerNorm", Aten::kLayerNorm},
    {"timm.layers.norm.LayerNorm2d", Aten::kLayerNorm},
    {"timm.layers.norm.LayerNorm2dFp32", Aten::kLayerNorm},
    {"timm.layers.norm.LayerNormFp32", Aten::kLayerNorm},
    {"timm.layers.std_conv.ScaledStdConv2d", Aten::kConv},
    {"timm.layers.std_conv.ScaledStdConv2dSame", Aten::kConv},
    {"timm.layers.std_conv.StdConv2d", Aten::kConv},
    {"timm.layers.std_conv.StdConv2dSame", Aten::kConv},
    {"torchvision.models.convnext.LayerNorm2d", Aten::kLayerNorm},
    {"torchvision.models.video.resnet.Conv3DNoTemporal", Aten::kConv},
    {"torchvision.models.video.resnet.Conv3DSimple", Aten::kConv},
    {"open_clip.transformer.LayerNorm", Aten::kLayerNorm},
    {"open_clip.transformer.LayerNormFp32", Aten::kLayerNorm},
};

constexpr absl::string_view kEmbedding = "torch.nn.modules.sparse.Embedding";
constexpr absl::string_view kRmsNorm = "torch.nn.modules.normalization.RMSNorm";
// Classes that hold weights and always have children, or whose weights are buffers.
constexpr absl::string_view kNoLayers[] = {
    "torch.nn.modules.activation.MultiheadAttention",
    "torch.nn.modules.adaptive.AdaptiveLogSoftmaxWithLoss",
    "torch.nn.modules.container.",
    "torch.nn.modules.transformer.",
    "timm.layers.norm_act.",
    "torchvision.ops.misc.FrozenBatchNorm2d",
};

// Parameters of a module itself.
struct Parameters {
  int64_t layer = 0;  // "weight" and "bias"
  int64_t inner = 0;  // others with these words in their names, as "weight_ih_l0"
};

class Torchinfo : public TorchTool {
 public:
  explicit Torchinfo(Evidence* evidence)
      : TorchTool(
            evidence, Unit::kMac,
            {.classes = true, .products = false, .biases = true, .cells = true, .no_grad = true}) {
    if (trace().origin == TorchTrace::Origin::kNone) return;
    FindParameters();
    FindRuns();
  }

  Ledger Run(const AtenRules<Torchinfo>& rules) {
    AtenSet counted = rules.Counted();
    counted[static_cast<size_t>(Aten::kOther)] = false;  // its gaps are not those of lookups
    if (trace().has_constants) {
      ledger().Assume(
          "tensors that the exporter computed are taken for none that a module made, such as a "
          "lookup in a table of positions");
    }
    return Apply(
        counted, [&](const TorchCall& call) { return rules.Decide(this, call); },
        [&](const TorchCall& call, const Decision& decision) {
          if (decision.amount != kZero) AssumePlain(call);
          CountModule(call);
        });
  }

  // ---- rules of rows
  Decision Layer(const TorchCall& call) {
    if (!IsLayer(call)) {
      return {kZero, trace().nn_class(call) == NnClass::kMultiheadAttention ? kParent : kFunction};
    }
    const Expr params = ParametersOfLayer(evidence(), trace(), call);
    return {Times(call, params * Rows(call)), IsConv(call.op) ? kBiases : kPerSample,
            call.op == Aten::kLinear ? "positions of linear layers" : nullptr};
  }

  // A lookup in the table of an nn.Embedding, which is its weight.
  Decision Other(const TorchCall& call) {
    const Shape& table = call.shape_of_x();
    const Shape& y = call.shape_of_y();
    if (!IsLookup(call) || !table.ranked() || !y.ranked() || y.rank() == 0) return {};
    return {Times(call, table.NumElements() * y[0]), kPerSample, "tables of embeddings"};
  }

 private:
  struct Runs {
    bool is_counted = false;
    const TorchCall* last = nullptr;                // call of the module
    absl::flat_hash_map<int32_t, int64_t> targets;  // how often it calls each
    // Weights that another module holds: exporters keep one of several equal ones.
    absl::flat_hash_set<ValueId> borrowed;
    absl::flat_hash_set<ValueId> inputs;  // of all calls
  };

  // The operator of a module that is one layer; kOther if it is none, or not known.
  static Aten LayerOf(const TorchScope& scope) {
    if (scope.nn_class != NnClass::kNone) return OperatorOf(scope.nn_class);
    for (const KnownClass& known : kKnown) {
      if (known.name == scope.class_name) return known.op;
    }
    return Aten::kOther;
  }

  bool IsLayer(const TorchCall& call) const {
    return call.arguments.cell_gates != 0 || LayerOf(trace().scope(call)) == call.op;
  }
  static bool IsConv(Aten op) { return op == Aten::kConv || op == Aten::kConvTranspose; }

  // By which the parameters of a layer are multiplied.
  Expr Rows(const TorchCall& call) {
    const bool is_cell = call.arguments.cell_gates != 0;
    if (is_cell || IsRecurrent(call.op)) {
      const auto sizes = is_cell ? CellSizesOf(call) : RecurrentSizesOf(evidence(), trace(), call);
      if (!sizes) return 0;
      if (is_cell) return sizes->hidden * (sizes->is_unbatched ? Expr(1) : sizes->batch);
      return sizes->steps *
             (sizes->is_unbatched ? sizes->hidden * sizes->directions : sizes->batch);
    }
    const Shape& y = call.shape_of_y();
    if (!y.ranked() || y.rank() == 0) return 0;
    if (!IsConv(call.op) || y.rank() < 3) return y[0];
    return IsUnbatched(call) ? y[1] * y.Product(3, y.rank()) : y[0] * y.Product(2, y.rank());
  }

  bool IsLookup(const TorchCall& call) {
    const Node& node = evidence().node(evidence().entry(call.main));
    const OptionalValueId table = node.input(0);
    if (node.op_type != "Gather" || !table) return false;
    const TorchScope& scope = trace().scope(call);
    if (trace().origin == TorchTrace::Origin::kDynamo) return scope.class_name == kEmbedding;
    return evidence().model().value(*table).name == absl::StrCat(PathOf(scope), ".weight");
  }

  absl::string_view PathOf(const TorchScope& scope) {
    return evidence().paths().path(scope.module);
  }

  // ---- modules of other classes that hold parameters

  void FindParameters() {
    for (const Value& value : evidence().model().values) {
      if (!value.initializer || exporter::IsRenamed(value.name)) continue;
      NoteParent(OwnerOf(value));
      if (IsWeight(value)) AddTo(&parameters_[OwnerOf(value)], value);
    }
  }

  static absl::string_view OwnerOf(const Value& value) { return modules::ParentPath(value.name); }
  static absl::string_view NameOf(const Value& value) {
    const absl::string_view owner = OwnerOf(value);
    return absl::string_view(value.name).substr(owner.empty() ? 0 : owner.size() + 1);
  }
  static bool IsWeight(const Value& value) {
    return value.initializer &&
           (absl::StrContains(NameOf(value), "weight") || absl::StrContains(NameOf(value), "bias"));
  }
  void AddTo(Parameters* parameters, const Value& value) {
    const bool is_layer = NameOf(value) == "weight" || NameOf(value) == "bias";
    (is_layer ? parameters->layer : parameters->inner) +=
        evidence().model().tensor(*value.initializer).elements;
  }

  // Whatever is above the module has a child.
  void NoteParent(absl::string_view module) {
    while (!module.empty()) {
      module = modules::ParentPath(module);
      if (!parents_.insert(module).second) return;
    }
  }

  void FindRuns() {
    for (const TorchCall& call : trace().calls) {
      const TorchScope& scope = trace().scope(call);
      if (noted_.insert(call.scope).second) NoteParent(PathOf(scope));
      const bool is_known = scope.nn_class == NnClass::kMultiheadAttention ||
                            scope.nn_class == NnClass::kRecurrentCell ||
                            LayerOf(scope) != Aten::kOther;
      if (is_known && !call.is_of_rnn) {
        known_.insert(scope.module);  // a TorchScript export also has calls of no class in it
        continue;
      }
      Runs& runs = runs_[call.scope];
      runs.last = &call;
      ++runs.targets[call.target_number];
      for (EntryId id : trace().entries_of(call)) {
        for (OptionalValueId input : evidence().node(evidence().entry(id)).inputs) {
          // Once for each: names may be long, and a loop has many calls.
          if (!input || !runs.inputs.insert(*input).second) continue;
          const Value& value = evidence().model().value(*input);
          if (IsWeight(value) && OwnerOf(value) != PathOf(scope)) runs.borrowed.insert(*input);
        }
      }
    }
  }

  // torch.nn.utils.weight_norm replaces a weight by weight_g and weight_v, which count otherwise.
  void AssumePlain(const TorchCall& call) {
    const auto [known, is_new] = has_inner_.try_emplace(call.scope);
    if (is_new) {
      const auto found = parameters_.find(PathOf(trace().scope(call)));
      known->second = found != parameters_.end() && found->second.inner != 0;
    }
    if (!known->second) return;
    if (IsRecurrent(call.op) || call.arguments.cell_gates != 0) return;
    ledger().Assume("layers with other parameters than weight and bias count by these two");
  }

  // Counts the module of the call, if it has no children and is no layer that has a row.
  void CountModule(const TorchCall& call) {
    const auto it = runs_.find(call.scope);
    if (it == runs_.end() || it->second.is_counted) return;
    if (known_.contains(trace().scope(call).module)) return;
    it->second.is_counted = true;
    const TorchScope& scope = trace().scope(call);
    const auto found = parameters_.find(PathOf(scope));
    Parameters parameters = found == parameters_.end() ? Parameters() : found->second;
    const auto& borrowed = it->second.borrowed;
    for (const ValueId id : borrowed) AddTo(&parameters, evidence().model().value(id));
    if (parameters.layer + parameters.inner == 0) return;
    if (parents_.contains(PathOf(scope)) || IsNoLayer(scope)) return;
    if (scope.class_name == kEmbedding || IsLookup(call)) return;
    // The operator that a run of the module calls least often is taken for one run.
    int64_t runs = std::numeric_limits<int64_t>::max();
    for (const auto& [target, times] : it->second.targets) runs = std::min(runs, times);
    if (call.is_of_rnn) runs = 1;
    if (scope.class_name != kRmsNorm || runs > 1 || !borrowed.empty()) {
      ledger().Assume(
          "modules of classes that are not known, with parameters and without children in the "
          "file, are taken to have none, and to run once for each call that they make least often");
    }
    CountRuns(*it->second.last, parameters, runs);
  }

  static bool IsNoLayer(const TorchScope& scope) {
    return std::any_of(std::begin(kNoLayers), std::end(kNoLayers), [&](absl::string_view name) {
      return absl::StartsWith(scope.class_name, name);
    });
  }

  void CountRuns(const TorchCall& last, const Parameters& parameters, int64_t runs) {
    const Shape& y = last.shape_of_y();
    if (!y.ranked() || y.rank() == 0) return;
    const absl::string_view name = trace().scope(last).class_name;
    const bool is_conv = absl::StrContains(name.substr(name.rfind('.') + 1), "Conv");
    const Expr positions = is_conv && y.rank() > 2 ? y.Product(2, y.rank()) : Expr(1);
    const Expr once = y[0] * positions * parameters.layer +
                      y.Product(0, std::min(y.rank(), 2)) * parameters.inner;
    ledger().Count(
        trace().entries_of(last), Times(last, once * runs),
        ledger().Term("modules with parameters and without a layer of torch.nn", kPerSample));
  }

  absl::flat_hash_map<absl::string_view, Parameters> parameters_;  // by path
  absl::flat_hash_set<absl::string_view> parents_;
  absl::flat_hash_set<ModuleId> known_;  // layers that have a row, and nn.MultiheadAttention
  absl::flat_hash_map<ScopeId, Runs> runs_;
  absl::flat_hash_set<ScopeId> noted_;            // whose parents are
  absl::flat_hash_map<ScopeId, bool> has_inner_;  // AssumePlain
};

constexpr AtenRules<Torchinfo> kRules = {{
    {Aten::kOther, &Torchinfo::Other, kNoParameters},
    {Aten::kLinear, &Torchinfo::Layer},
    {Aten::kMatmul, kNotCounted, kFunction},
    {Aten::kMm, kNotCounted, kFunction},
    {Aten::kBmm, kNotCounted, kFunction},
    {Aten::kMv, kNotCounted, kFunction},
    {Aten::kAddmm, kNotCounted, kFunction},
    {Aten::kBaddbmm, kNotCounted, kFunction},
    {Aten::kEinsum, kNotCounted, kFunction},
    {Aten::kConv, &Torchinfo::Layer},
    {Aten::kConvTranspose, &Torchinfo::Layer, "parameters x the positions of the result"},
    {Aten::kSdpa, kNotCounted, kFunction},
    {Aten::kLstm, &Torchinfo::Layer, kRecurrent},
    {Aten::kGru, &Torchinfo::Layer, kRecurrent},
    {Aten::kRnn, &Torchinfo::Layer, kRecurrent},
    {Aten::kBatchNorm, &Torchinfo::Layer},
    {Aten::kLayerNorm, &Torchinfo::Layer},
    {Aten::kGroupNorm, &Torchinfo::Layer},
    {Aten::kInstanceNorm, &Torchinfo::Layer},
    {Aten::kSoftmax, kNotCounted, kNoParameters},
    {Aten::kRelu, kNotCounted, kNoParameters},
    {Aten::kRelu6, kNotCounted, kNoParameters},
    {Aten::kLeakyRelu, kNotCounted, kNoParameters},
    {Aten::kElu, kNotCounted, kNoParameters},
    {Aten::kPrelu, &Torchinfo::Layer},
    {Aten::kGelu, kNotCounted, kNoParameters},
    {Aten::kSilu, kNotCounted, kNoParameters},
    {Aten::kMaxPool, kNotCounted, kNoParameters},
    {Aten::kAvgPool, kNotCounted, kNoParameters},
    {Aten::kAdaptiveAvgPool, kNotCounted, kNoParameters},
    {Aten::kAdaptiveMaxPool, kNotCounted, kNoParameters},
    {Aten::kMean, kNotCounted, kNoParameters},
    {Aten::kUpsampleNearest, kNotCounted, kNoParameters},
    {Aten::kUpsampleLinear, kNotCounted, kNoParameters},
    {Aten::kUpsampleBilinear, kNotCounted, kNoParameters},
    {Aten::kUpsampleBicubic, kNotCounted, kNoParameters},
    {Aten::kUpsampleTrilinear, kNotCounted, kNoParameters},
    {Aten::kGridSampler, kNotCounted, kNoParameters},
    {Aten::kAdd, kNotCounted, kNoParameters},
    {Aten::kMul, kNotCounted, kNoParameters},
    {Aten::kTranspose, kNotCounted, kNoParameters},
}};

Ledger Apply(Evidence* evidence) { return Torchinfo(evidence).Run(kRules); }

}  // namespace
}  // namespace torchinfo

const Convention kTorchinfo = {
    {"torchinfo", Unit::kMac, "Total mult-adds (summary(model, input_data=x).total_mult_adds)",
     "torchinfo 1.8.0 (2023-05): torchinfo/layer_info.py:225-246, model_statistics.py:32-35",
     "modules without children: parameters x the first size of the result, x all positions for "
     "convolutions, x steps and batch for RNN, GRU and LSTM; embeddings, too",
     "positions of linear layers and norms; functions and tensor operators (matmul, attention), "
     "nn.MultiheadAttention, parameters of modules with children"},
    torchinfo::Apply,
};

}  // namespace onnxflops::convention
