// The trace of a TorchScript export, recognised by structure: its nodes have the path of their
// module ("/layer1/conv1/Conv"), but neither classes nor original operators.
//
//   linear        MatMul or Gemm by a weight, and the addition of a vector after it; an nn.Linear
//                 if nothing else happens in the module
//   attention     a product of two values that are both multiplied by a scalar (the exporter takes
//                 the square root of the scale on either side), up to the product with the softmax
//   LayerNorm     its node, or ReduceMean Sub Pow ReduceMean Add Sqrt Div [Mul Add] in one module
//   GELU          Div Erf Add Mul Mul
//   SiLU          x * Sigmoid(x)
//   BatchNorm     its node; or no node, if the exporter replaced both tensors of a convolution
//   MultiheadAttention   a module with in_proj_bias or in_proj_weight
//
// How it works. Two passes prepare: one finds the producer and first user of each value, the other
// what each module does (its operators, whether it has children, whether it is an attention). Then
// the nodes are visited in order. Each node that is not yet part of a call may begin one. Patterns
// of several nodes are followed from user to user and tried before single nodes; nodes of a found
// call are not searched again. A class is assumed only for a module without children that does
// nothing else. A product that fits no pattern, or an operator that ONNX Runtime's optimiser
// writes, means that the graph was changed after its export; then there is no trace, since tools
// would have seen another model.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/limits.h"
#include "src/convention/torch/functions.h"
#include "src/convention/torch/trace.h"
#include "src/exporter/tensor_name.h"

namespace onnxflops::convention {
namespace {

constexpr absl::string_view kLayerNorm[] = {"ReduceMean", "Sub",  "Pow", "ReduceMean",
                                            "Add",        "Sqrt", "Div"};
constexpr absl::string_view kLinearOnly[] = {"MatMul", "Gemm",     "Add",     "Transpose",
                                             "Cast",   "Constant", "Identity"};
constexpr absl::string_view kFree[] = {"Constant", "Identity"};
// Names that modules have in transformers, and in no other library that we know.
constexpr absl::string_view kOfTransformers[] = {"intermediate_act_fn", "DenseReluDense",
                                                 "word_embeddings",     "SelfAttention",
                                                 "vision_model",        "text_model",
                                                 "activation_fn",       "layernorm_before",
                                                 "input_layernorm",     "post_attention_layernorm"};
// Names of modules in transformers that are an activation.
constexpr absl::string_view kActivationsOfTransformers[] = {"intermediate_act_fn", "activation_fn",
                                                            "act_fn", "act"};

// ONNX Runtime's operators that it has PyTorch's exporter write
// (onnxruntime/tools/pytorch_export_contrib_ops.py).
constexpr absl::string_view kContribOfExports[] = {
    "DynamicTimeWarping", "Gelu", "GridSample", "Inverse", "Trilu", "UnfoldTensor"};

struct NodeRule {
  absl::string_view op_type;
  Aten op;
};
constexpr NodeRule kNodes[] = {
    {"LayerNormalization", Aten::kLayerNorm},
    {"BatchNormalization", Aten::kBatchNorm},
    {"InstanceNormalization", Aten::kInstanceNorm},
    {"GroupNormalization", Aten::kGroupNorm},
    {"Conv", Aten::kConv},
    {"ConvTranspose", Aten::kConvTranspose},
    {"Einsum", Aten::kEinsum},
    {"LSTM", Aten::kLstm},
    {"GRU", Aten::kGru},
    {"RNN", Aten::kRnn},
    {"Softmax", Aten::kSoftmax},
    {"Relu", Aten::kRelu},
    {"LeakyRelu", Aten::kLeakyRelu},
    {"Elu", Aten::kElu},
    {"PRelu", Aten::kPrelu},
    {"Gelu", Aten::kGelu},
    {"MaxPool", Aten::kMaxPool},
    {"AveragePool", Aten::kAvgPool},
    {"GlobalAveragePool", Aten::kAdaptiveAvgPool},
    {"GridSample", Aten::kGridSampler},
    {"Attention", Aten::kSdpa},
    {"Add", Aten::kAdd},
    {"Mul", Aten::kMul},
};

// The class of torch.nn for one, two or three dimensions.
NnClass OfRank(NnClass first, int rank) {
  constexpr int kFirstRank = 3;
  if (rank < kFirstRank || rank > kFirstRank + 2) return NnClass::kNone;
  return static_cast<NnClass>(static_cast<int>(first) + rank - kFirstRank);
}

class TorchScriptTracer {
 public:
  explicit TorchScriptTracer(Evidence* evidence)
      : evidence_(*evidence), model_(evidence->model()) {}

  TorchTrace Run() {
    if (!model_.functions.empty() || evidence_.functions_are_modules()) {
      return Unreadable("modules were exported as functions");
    }
    for (size_t i = 0; i < evidence_.entries().size(); ++i) {
      const Node& node = NodeOf(static_cast<EntryId>(i));
      if (IsOfRuntime(node)) return Changed(node);
    }
    FindNeighbours();
    FindModules();
    trace_.origin = TorchTrace::Origin::kTorchScript;
    for (size_t i = 0; i < evidence_.entries().size(); ++i) {
      if (!taken_[i]) Recognise(static_cast<EntryId>(i));
    }
    for (TorchCall& call : trace_.calls) {
      if (evidence_.exhausted()) break;
      FindOperands(&evidence_, &trace_, &call);
      call.spelling = SpellingOf(call);
      if (call.op == Aten::kOther && call.macs != kZero) return Changed(NodeOf(call.main));
    }
    FindAttentions(evidence_, &trace_);
    trace_.assumptions.emplace_back(
        "calls and classes are recognised from structure: a TorchScript export states paths only");
    return std::move(trace_);
  }

 private:
  static TorchTrace Unreadable(std::string problem) {
    TorchTrace trace;
    trace.problem = std::move(problem);
    return trace;
  }

  static TorchTrace Changed(const Node& node) {
    return Unreadable(absl::StrCat(node.domain, node.domain.empty() ? "" : ".", node.op_type,
                                   " is no operator of an export: the graph was changed after it"));
  }

  // An operator that ONNX Runtime's optimiser writes. Its blocked convolutions may have more
  // channels than the model's, and a fused one hides calls.
  static bool IsOfRuntime(const Node& node) {
    return absl::StartsWith(node.domain, "com.microsoft") &&
           !IsOneOf(node.op_type, kContribOfExports);
  }

  // ---- who uses what

  void FindNeighbours() {
    entry_of_.assign(model_.nodes.size(), kNone);
    consumer_.assign(model_.values.size(), kNone);
    taken_.assign(evidence_.entries().size(), false);
    for (size_t i = 0; i < evidence_.entries().size(); ++i) {
      const NodeId id = evidence_.entries()[i].node;
      OptionalEntryId& entry = entry_of_[static_cast<size_t>(id)];
      if (entry) continue;
      entry = static_cast<EntryId>(i);
      for (OptionalValueId input : NodeAt(id).inputs) {
        if (!input) continue;
        OptionalNodeId& consumer = consumer_[static_cast<size_t>(*input)];
        if (!consumer) consumer = id;
      }
    }
  }

  const Node& NodeAt(NodeId id) const { return model_.node(id); }
  const Node& NodeOf(EntryId id) const { return evidence_.node(evidence_.entry(id)); }
  ModuleId ModuleOf(EntryId id) const { return evidence_.entry(id).module; }

  // The entry of the node that first uses the result, if one does.
  OptionalEntryId UserOf(EntryId id) const {
    const OptionalValueId output = NodeOf(id).output(0);
    return output ? EntryOf(consumer_[static_cast<size_t>(*output)]) : kNone;
  }

  // The entry that made input i, if one did.
  OptionalEntryId MakerOf(EntryId id, size_t i) const {
    const OptionalValueId input = NodeOf(id).input(i);
    return input ? EntryOf(model_.value(*input).producer) : kNone;
  }

  OptionalEntryId EntryOf(OptionalNodeId node) const {
    return node ? entry_of_[static_cast<size_t>(*node)] : kNone;
  }

  absl::string_view InputName(EntryId id, size_t i) const {
    const OptionalValueId input = NodeOf(id).input(i);
    return input ? model_.value(*input).name : absl::string_view();
  }

  bool IsTaken(EntryId id) const { return taken_[static_cast<size_t>(id)]; }

  bool IsConstant(EntryId id, size_t i, int rank) const {
    const Fact& fact = evidence_.Input(evidence_.entry(id), i);
    return fact.is_tensor() && fact.constant && fact.shape.ranked() && fact.shape.rank() == rank;
  }

  bool IsScalar(EntryId id, size_t i) const {
    const Shape& shape = ShapeOf(evidence_.Input(evidence_.entry(id), i));
    return shape.ranked() && std::all_of(shape.dims().begin(), shape.dims().end(),
                                         [](const Expr& dim) { return dim == Expr(1); });
  }

  // ---- contents of a module

  struct ModuleFacts {
    bool has_children = false;
    bool only_linear = true;  // operators that nn.Linear exports as
    bool one_operator = true;
    absl::string_view operator_type;
    int64_t others = 0;  // nodes, without constants
    bool is_attention = false;
  };

  void FindModules() {
    modules_.assign(evidence_.paths().size(), {});
    has_in_projection_.assign(model_.nodes.size(), 0);
    for (size_t i = 0; i < evidence_.entries().size(); ++i) {
      const EntryId id = static_cast<EntryId>(i);
      const absl::string_view type = NodeOf(id).op_type;
      ModuleFacts& facts = FactsOf(ModuleOf(id));
      facts.only_linear = facts.only_linear && IsOneOf(type, kLinearOnly);
      if (!IsOneOf(type, kFree)) {
        facts.one_operator =
            facts.one_operator && (facts.others == 0 || type == facts.operator_type);
        facts.operator_type = type;
        ++facts.others;
      }
      facts.is_attention = facts.is_attention || HasInProjection(evidence_.entry(id).node);
    }
    for (size_t i = 0; i < modules_.size(); ++i) {
      absl::string_view path = evidence_.paths().path(static_cast<ModuleId>(i));
      for (const absl::string_view part : absl::StrSplit(path, '.')) {
        of_transformers_ = of_transformers_ || IsOneOf(part, kOfTransformers);
      }
      for (size_t dot = path.rfind('.'); dot != absl::string_view::npos; dot = path.rfind('.')) {
        path = path.substr(0, dot);
        const OptionalModuleId parent = evidence_.paths().Find(path);
        if (!parent) continue;
        if (FactsOf(*parent).has_children) break;
        FactsOf(*parent).has_children = true;
      }
    }
  }

  // The last part of the module's path.
  absl::string_view PartOf(ModuleId id) const {
    const absl::string_view path = evidence_.paths().path(id);
    return path.substr(path.rfind('.') + 1);
  }

  // True if an input is a parameter of an nn.MultiheadAttention. Each node is looked at once.
  bool HasInProjection(NodeId id) {
    constexpr int8_t kNo = 1, kYes = 2;
    int8_t& known = has_in_projection_[static_cast<size_t>(id)];
    if (known != 0) return known == kYes;
    const auto& inputs = NodeAt(id).inputs;
    const bool has = std::any_of(inputs.begin(), inputs.end(), [&](OptionalValueId input) {
      return input && exporter::IsInProjection(model_.value(*input).name);
    });
    known = has ? kYes : kNo;
    return has;
  }

  ModuleFacts& FactsOf(ModuleId id) { return modules_[static_cast<size_t>(id)]; }
  // A module that runs only this operator, even several times, is the layer of that operator.
  bool IsAlone(EntryId id) { return IsLeaf(ModuleOf(id)) && FactsOf(ModuleOf(id)).one_operator; }
  bool IsLeaf(ModuleId module) { return module != kRootModule && !FactsOf(module).has_children; }

  // True if the module does nothing else, even if it is called several times.
  bool IsWhole(ModuleId module, const std::vector<EntryId>& entries) {
    return IsLeaf(module) && FactsOf(module).others % static_cast<int64_t>(entries.size()) == 0;
  }

  // ---- calls

  void Add(Aten op, NnClass nn_class, const std::vector<EntryId>& entries, bool has_bias = false,
           bool is_affine = false) {
    TorchCall call;
    call.op = op;
    const ModuleId module = ModuleOf(entries[0]);
    call.scope =
        ScopeOf(module, FactsOf(module).is_attention ? NnClass::kMultiheadAttention : nn_class);
    call.first = static_cast<int32_t>(trace_.entries.size());
    call.count = static_cast<int32_t>(entries.size());
    call.has_bias = has_bias;
    call.is_affine = is_affine;
    for (EntryId id : entries) {
      trace_.entries.push_back(id);
      taken_[static_cast<size_t>(id)] = true;
    }
    trace_.calls.push_back(call);
  }

  // Modules of torch.nn call functions of torch.nn.functional.
  OpenFact<Spelling> SpellingOf(const TorchCall& call) const {
    const TorchScope& scope = trace_.scope(call);
    if (KeepsFunction(scope) && IsActivation(call.op)) {
      return OpenFact<Spelling>(Spelling::kNone);
    }
    if (scope.nn_class != NnClass::kNone) return OpenFact<Spelling>::Stated(Spelling::kFunctional);
    return OpenFact<Spelling>(LikelySpelling(evidence_, scope, call));
  }

  ScopeId ScopeOf(ModuleId module, NnClass nn_class) {
    const auto [it, is_new] =
        scopes_.try_emplace({module, nn_class}, static_cast<ScopeId>(trace_.scopes.size()));
    if (is_new) {
      TorchScope scope;
      scope.nn_class = nn_class;
      scope.module = module;
      scope.class_name = evidence_.paths().type(module);
      scope.is_assumed = true;
      // Its rotary embeddings write x @ y.
      scope.of_transformers = of_transformers_ && PartOf(module) != "rotary_emb";
      if (of_transformers_ && nn_class == NnClass::kGELU &&
          IsOneOf(PartOf(module), kActivationsOfTransformers)) {
        scope.nn_class = NnClass::kNone;
        scope.class_name = kGeluOfTransformers;
      }
      trace_.scopes.push_back(scope);
    }
    return it->second;
  }

  void Recognise(EntryId id) {
    const absl::string_view type = NodeOf(id).op_type;
    if (type == "MatMul" || type == "Gemm") return RecogniseProduct(id);
    if (type == "Conv" || type == "ConvTranspose") return RecogniseConv(id, type != "Conv");
    if (type == "Resize" || type == "Upsample") return RecogniseResize(id);
    if (type == "LSTM" || type == "GRU" || type == "RNN") return RecogniseRecurrent(id, type);
    if (type == "ReduceMean" && RecogniseLayerNorm(id)) return;
    if (type == "Div" && RecogniseGelu(id)) return;
    if (type == "Sigmoid" && RecogniseSilu(id)) return;
    if (type == "Sigmoid" && IsAlone(id)) return Add(Aten::kOther, NnClass::kSigmoid, {id});
    if (type == "Mul" && RecogniseAttention(id)) return;
    if (type == "Mul" && IsOfVariance(id)) return Add(Aten::kOther, NnClass::kNone, {id});
    if (type == "Clip" && IsAlone(id)) return Add(Aten::kRelu6, NnClass::kReLU6, {id});
    for (const NodeRule& rule : kNodes) {
      if (rule.op_type != type || (IsShapeWork(id) && !IsContraction(id))) continue;
      return Add(rule.op, ClassOf(rule.op, id), {id}, false, true);
    }
    Add(Aten::kOther, NnClass::kNone, {id});
  }

  // Arithmetic of sizes, which PyTorch does outside of its operators.
  bool IsShapeWork(EntryId id) const {
    const Fact& fact = evidence_.Output(evidence_.entry(id), 0);
    return evidence_.entry(id).part() == modules::CostPart::kShapeWork || fact.from_shapes ||
           (fact.is_tensor() && !IsFloat(fact.dtype));
  }

  bool IsContraction(EntryId id) const { return evidence_.Ours(Unit::kMac, id) != kZero; }

  // The class of a module that is this one operator.
  NnClass ClassOf(Aten op, EntryId id) {
    const Shape& x = evidence_.Input(evidence_.entry(id), 0).shape;
    const int rank = x.ranked() ? x.rank() : 0;
    if (!IsAlone(id)) return NnClass::kNone;
    switch (op) {
      case Aten::kLayerNorm:
        return NnClass::kLayerNorm;
      case Aten::kGroupNorm:
        return NnClass::kGroupNorm;
      case Aten::kInstanceNorm:
        return OfRank(NnClass::kInstanceNorm1d, rank);
      case Aten::kBatchNorm:
        return rank == 2 ? NnClass::kBatchNorm1d : OfRank(NnClass::kBatchNorm1d, rank);
      case Aten::kSoftmax:
        return NnClass::kSoftmax;
      case Aten::kRelu:
        return NnClass::kReLU;
      case Aten::kLeakyRelu:
        return NnClass::kLeakyReLU;
      case Aten::kElu:
        return NnClass::kELU;
      case Aten::kPrelu:
        return NnClass::kPReLU;
      case Aten::kGelu:
        return NnClass::kGELU;
      case Aten::kMaxPool:
        return OfRank(NnClass::kMaxPool1d, rank);
      case Aten::kAvgPool:
        return OfRank(NnClass::kAvgPool1d, rank);
      case Aten::kAdaptiveAvgPool:
        return OfRank(NnClass::kAdaptiveAvgPool1d, rank);
      default:
        return NnClass::kNone;
    }
  }

  // F.linear and nn.Linear transpose their weight, which the exporter folds under a new name (or
  // leaves to Gemm). A product with a parameter under its own name is x @ parameter.
  void RecogniseProduct(EntryId id) {
    const ModuleId module = ModuleOf(id);
    if (!IsConstant(id, 1, 2)) return Add(Aten::kMatmul, NnClass::kNone, {id});
    const Node& node = NodeOf(id);
    std::vector<EntryId> entries = {id};
    const bool is_gemm = node.op_type == "Gemm";
    const Attribute* trans_b = node.FindAttribute("transB");
    const bool transposed = trans_b != nullptr && trans_b->i != 0;
    const bool renamed = exporter::IsRenamed(InputName(id, 1)) || MakerOf(id, 1).has_value();
    bool has_bias = is_gemm && node.input(2);
    if (!is_gemm) {
      const OptionalEntryId next = UserOf(id);
      if (next && NodeOf(*next).op_type == "Add" && ModuleOf(*next) == module &&
          (IsConstant(*next, 0, 1) || IsConstant(*next, 1, 1))) {
        entries.push_back(*next);
        has_bias = true;
      }
    }
    if (is_gemm && !transposed && !renamed) return Add(Aten::kAddmm, NnClass::kNone, entries, true);
    if (!is_gemm && !renamed && !has_bias) return Add(Aten::kMatmul, NnClass::kNone, entries);
    const NnClass nn_class = FactsOf(module).is_attention ? NnClass::kMultiheadAttention
                             : IsLeaf(module) && FactsOf(module).only_linear ? NnClass::kLinear
                                                                             : NnClass::kNone;
    Add(Aten::kLinear, nn_class, entries, has_bias);
  }

  // In eval mode the exporter takes a BatchNorm into the convolution before it; both tensors are
  // new then.
  void RecogniseConv(EntryId id, bool transposed) {
    const Shape& x = evidence_.Input(evidence_.entry(id), 0).shape;
    const NnClass nn_class = OfRank(transposed ? NnClass::kConvTranspose1d : NnClass::kConv1d,
                                    x.ranked() ? x.rank() : 0);
    const bool has_bias = NodeOf(id).input(2).has_value();
    const bool fused = has_bias && exporter::IsRenamedFor("Conv", InputName(id, 1)) &&
                       exporter::IsRenamedFor("Conv", InputName(id, 2));
    Add(transposed ? Aten::kConvTranspose : Aten::kConv, nn_class, {id}, has_bias && !fused);
    if (!fused) return;
    ++trace_.assumed_convs;
    ++trace_.assumed_biases;
    Add(Aten::kBatchNorm,
        x.ranked() ? OfRank(NnClass::kBatchNorm1d, x.rank()) : NnClass::kBatchNorm2d, {id}, false,
        true);
  }

  void RecogniseResize(EntryId id) {
    const Attribute* mode = NodeOf(id).FindAttribute("mode");
    const absl::string_view name = mode == nullptr ? "nearest" : mode->s;
    const Shape& x = evidence_.Input(evidence_.entry(id), 0).shape;
    const int rank = x.ranked() ? x.rank() : 4;
    const Aten op = name == "nearest" ? Aten::kUpsampleNearest
                    : name == "cubic" ? Aten::kUpsampleBicubic
                    : rank == 3       ? Aten::kUpsampleLinear
                    : rank == 4       ? Aten::kUpsampleBilinear
                                      : Aten::kUpsampleTrilinear;
    Add(op, IsLeaf(ModuleOf(id)) ? NnClass::kUpsample : NnClass::kNone, {id});
  }

  // Recognises the layers of one module.
  void RecogniseRecurrent(EntryId id, absl::string_view type) {
    if (recurrent_.empty()) FindRecurrent();
    std::vector<EntryId> layers;
    const std::vector<EntryId>& all = recurrent_[{ModuleOf(id), type}];
    const EntryId end = EndOfRun(id);
    for (auto it = std::lower_bound(all.begin(), all.end(), id); it != all.end() && *it < end;
         ++it) {
      if (!IsTaken(*it)) layers.push_back(*it);
    }
    const Aten op = type == "LSTM" ? Aten::kLstm : type == "GRU" ? Aten::kGru : Aten::kRnn;
    Add(op,
        type == "LSTM"  ? NnClass::kLSTM
        : type == "GRU" ? NnClass::kGRU
                        : NnClass::kRNN,
        layers);
  }

  void FindRecurrent() {
    const EntryId entries = static_cast<EntryId>(evidence_.entries().size());
    next_costing_.assign(evidence_.entries().size() + 1, entries);
    next_elsewhere_.assign(evidence_.entries().size() + 1, entries);
    for (EntryId id = entries; id-- > 0;) {
      const size_t i = static_cast<size_t>(id);
      next_costing_[i] = next_costing_[i + 1];
      if (evidence_.Ours(Unit::kFlop, id) != kZero) {
        const EntryId next = next_costing_[i + 1];
        const bool same = next < entries && ModuleOf(next) == ModuleOf(id);
        next_elsewhere_[i] = same ? next_elsewhere_[static_cast<size_t>(next)] : next;
        next_costing_[i] = id;
      }
    }
    for (EntryId id = 0; id < entries; ++id) {
      const absl::string_view type = NodeOf(id).op_type;
      if (type == "LSTM" || type == "GRU" || type == "RNN") {
        recurrent_[{ModuleOf(id), type}].push_back(id);
      }
    }
  }

  // The first later entry, within a short distance, that has a cost and belongs to another module.
  EntryId EndOfRun(EntryId id) const {
    const EntryId entries = static_cast<EntryId>(evidence_.entries().size());
    EntryId end = next_costing_[static_cast<size_t>(id)];
    if (end < entries && ModuleOf(end) == ModuleOf(id)) {
      end = next_elsewhere_[static_cast<size_t>(end)];
    }
    return std::min(end, id + static_cast<EntryId>(kMaxRecurrentNodes));
  }

  // Follows users from `id` while their operators are these; false if they are not.
  bool Follow(OptionalEntryId id, absl::Span<const absl::string_view> types,
              std::vector<EntryId>* entries) const {
    for (absl::string_view type : types) {
      if (!id || IsTaken(*id) || NodeOf(*id).op_type != type) return false;
      entries->push_back(*id);
      id = UserOf(*id);
    }
    return true;
  }

  bool RecogniseLayerNorm(EntryId id) {
    std::vector<EntryId> entries;
    if (!Follow(id, kLayerNorm, &entries)) return false;
    const ModuleId module = ModuleOf(id);
    EntryId last = entries.back();
    bool is_affine = false;
    for (absl::string_view type : {"Mul", "Add"}) {
      const OptionalEntryId next = UserOf(last);
      if (!next || NodeOf(*next).op_type != type || ModuleOf(*next) != module ||
          !(IsConstant(*next, 0, 1) || IsConstant(*next, 1, 1))) {
        break;
      }
      is_affine = true;
      entries.push_back(last = *next);
    }
    const bool whole = IsWhole(module, entries);
    Add(Aten::kLayerNorm, whole ? NnClass::kLayerNorm : NnClass::kNone, entries, false, is_affine);
    return true;
  }

  // torch.var is exported as the mean of d * d, where d = x - mean(x).
  bool IsOfVariance(EntryId id) const {
    const Node& node = NodeOf(id);
    const OptionalEntryId difference = MakerOf(id, 0), user = UserOf(id);
    if (!difference || !user || node.input(0) != node.input(1)) return false;
    const OptionalEntryId mean = MakerOf(*difference, 1);
    return NodeOf(*difference).op_type == "Sub" && NodeOf(*user).op_type == "ReduceMean" && mean &&
           NodeOf(*mean).op_type == "ReduceMean";
  }

  bool RecogniseGelu(EntryId id) {
    constexpr absl::string_view kGelu[] = {"Div", "Erf", "Add", "Mul", "Mul"};
    std::vector<EntryId> entries;
    if (!Follow(id, kGelu, &entries)) return false;
    const ModuleId module = ModuleOf(id);
    const bool whole = IsWhole(module, entries);
    Add(Aten::kGelu, whole ? NnClass::kGELU : NnClass::kNone, entries);
    return true;
  }

  bool RecogniseSilu(EntryId id) {
    const OptionalEntryId product = UserOf(id);
    if (!product || IsTaken(*product) || NodeOf(*product).op_type != "Mul") return false;
    constexpr size_t kFactors = 2;
    const OptionalValueId x = NodeOf(id).input(0);
    const auto inputs = NodeOf(*product).inputs;
    if (!x || inputs.size() != kFactors) return false;
    if (std::find(inputs.begin(), inputs.end(), x) == inputs.end()) return false;
    Add(Aten::kSilu, NnClass::kNone, {id, *product});
    return true;
  }

  // Mul(q, s), Mul(k', s), MatMul, [Add], Softmax, [...], MatMul.
  bool RecogniseAttention(EntryId id) {
    const OptionalEntryId product = UserOf(id);
    if (!product || IsTaken(*product) || NodeOf(*product).op_type != "MatMul") return false;
    const OptionalEntryId left = MakerOf(*product, 0), right = MakerOf(*product, 1);
    if (left == right || !IsScaling(left) || !IsScaling(right)) return false;
    std::vector<EntryId> entries = {*left, *right, *product};
    constexpr absl::string_view kBetween[] = {"Add", "Softmax", "IsNaN", "Where", "Cast"};
    OptionalEntryId next = UserOf(*product);
    bool softmax = false;
    while (next && entries.size() < kMaxAttentionNodes &&
           IsOneOf(NodeOf(*next).op_type, kBetween) && !IsTaken(*next) && !Holds(entries, *next)) {
      softmax = softmax || NodeOf(*next).op_type == "Softmax";
      entries.push_back(*next);
      next = UserOf(*next);
    }
    if (!softmax || !next || NodeOf(*next).op_type != "MatMul") return false;
    entries.push_back(*next);
    std::sort(entries.begin(), entries.end());
    Add(Aten::kSdpa, NnClass::kNone, entries);
    return true;
  }

  bool IsScaling(OptionalEntryId id) const {
    return id && NodeOf(*id).op_type == "Mul" && !IsTaken(*id) &&
           (IsScalar(*id, 0) || IsScalar(*id, 1));
  }

  static bool Holds(const std::vector<EntryId>& entries, EntryId id) {
    return std::find(entries.begin(), entries.end(), id) != entries.end();
  }

  Evidence& evidence_;
  const ModelData& model_;
  TorchTrace trace_;
  std::vector<OptionalEntryId> entry_of_;  // by NodeId
  std::vector<OptionalNodeId> consumer_;   // by ValueId: the first
  std::vector<bool> taken_;                // by EntryId
  std::vector<ModuleFacts> modules_;
  bool of_transformers_ = false;
  std::vector<int8_t> has_in_projection_;  // by NodeId; 0: not asked yet
  // For recurrent layers, made when the first one is met. Their entries by module and operator; and
  // by EntryId the next entry that costs something (possibly itself), and after that the next one
  // in another module.
  absl::flat_hash_map<std::pair<ModuleId, absl::string_view>, std::vector<EntryId>> recurrent_;
  std::vector<EntryId> next_costing_, next_elsewhere_;
  absl::flat_hash_map<std::pair<ModuleId, NnClass>, ScopeId> scopes_;
};

}  // namespace

TorchTrace TraceTorchScript(Evidence* evidence) { return TorchScriptTracer(evidence).Run(); }

}  // namespace onnxflops::convention
