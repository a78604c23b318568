// The trace of a dynamo export: its nodes say which call they came from.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/convention/fx_node.h"
#include "src/convention/torch_trace.h"

namespace onnxflops {
namespace {

constexpr absl::string_view kScopesKey = "pkg.torch.onnx.name_scopes";
constexpr absl::string_view kClassesKey = "pkg.torch.onnx.class_hierarchy";
constexpr absl::string_view kFxNodeKey = "pkg.torch.onnx.fx_node";
constexpr absl::string_view kEncoderLayer = "torch.nn.modules.transformer.TransformerEncoderLayer";

struct Metadata {
  absl::string_view scopes, classes, fx_node;
  explicit Metadata(const Node& node) {
    for (const auto& [key, value] : node.metadata) {
      if (key == kScopesKey) scopes = value;
      if (key == kClassesKey) classes = value;
      if (key == kFxNodeKey) fx_node = value;
    }
  }
};

// An argument that torch.export made a placeholder of: a parameter, buffer or lifted constant.
bool IsPlaceholder(absl::string_view arg) {
  return absl::StartsWith(arg, "%p_") || absl::StartsWith(arg, "%b_") ||
         absl::StartsWith(arg, "%c_");
}

NnClass ConvClassOfRank(bool transposed, int rank) {
  constexpr NnClass kConvs[] = {NnClass::kConv1d, NnClass::kConv2d, NnClass::kConv3d};
  constexpr NnClass kTransposed[] = {NnClass::kConvTranspose1d, NnClass::kConvTranspose2d,
                                     NnClass::kConvTranspose3d};
  constexpr int kFirstRank = 3;
  if (rank < kFirstRank || rank > kFirstRank + 2) return NnClass::kNone;
  const size_t i = static_cast<size_t>(rank) - kFirstRank;
  return transposed ? kTransposed[i] : kConvs[i];
}

class DynamoTracer {
 public:
  explicit DynamoTracer(Evidence* evidence) : evidence_(*evidence) {}

  TorchTrace Run() {
    for (size_t i = 0; i < evidence_.entries().size(); ++i) Place(static_cast<EntryId>(i));
    if (trace_.calls.empty()) return {};
    if (lost_products_ > 0) return Changed();
    trace_.origin = TorchTrace::Origin::kDynamo;
    GatherEntries();
    for (TorchCall& call : trace_.calls) {
      FindOperands(&evidence_, &trace_, &call);
      ReadArguments(&call);
      NoteNumber(call);
    }
    FindUnseen();
    FindDecomposed();
    FindAttentions(evidence_, &trace_);
    return std::move(trace_);
  }

 private:
  // The tools would have seen the model before it was changed.
  TorchTrace Changed() const {
    TorchTrace trace;
    trace.problem = absl::StrCat(lost_products_,
                                 " products carry no call of PyTorch: the graph was changed after "
                                 "it was exported");
    return trace;
  }

  using Key = std::pair<absl::string_view, int64_t>;  // name; graph and times

  void Place(EntryId id) {
    const Entry& entry = evidence_.entry(id);
    const Node& node = evidence_.node(entry);
    const Metadata metadata(node);
    if (metadata.classes.empty() || metadata.scopes.empty()) {
      if (evidence_.Ours(Unit::kMac, id) != kZero) ++lost_products_;
      if (evidence_.Ours(Unit::kFlop, id) != kZero) ++trace_.unattributed;
      return;
    }
    const LastPyString scope = SplitLastPyString(metadata.scopes);
    const int32_t call = CallOf(entry, node, metadata, scope);
    if (ModulePaths::IsFusedBatchNorm(node.metadata) && evidence_.Ours(Unit::kMac, id) != kZero &&
        AtenOf(trace_.calls[static_cast<size_t>(call)].target) == Aten::kBatchNorm) {
      links_.push_back({AddFusedCall(id, node, metadata), id});
    }
    links_.push_back({call, id});
  }

  // The call that the node is part of. Nodes of one call stand together, nearly always.
  int32_t CallOf(const Entry& entry, const Node& node, const Metadata& metadata,
                 const LastPyString& scope) {
    const Key key = {scope.last, (static_cast<int64_t>(node.graph) << 32) + entry.times};
    if (last_.has_value() && key == last_key_ && entry.node > last_->node) {
      last_->node = entry.node;
      return last_->call;
    }
    const auto [it, is_new] = calls_.try_emplace(key);
    Seen& seen = it->second;
    if (is_new || entry.node <= seen.node) seen.call = AddCall(entry, metadata, scope);
    seen.node = entry.node;
    last_key_ = key;
    last_ = seen;
    return seen.call;
  }

  int32_t AddCall(const Entry& entry, const Metadata& metadata, const LastPyString& scope) {
    const LastPyString classes = SplitLastPyString(metadata.classes);
    TorchCall call;
    call.name = scope.last;
    call.target = classes.last;
    call.op = AtenOf(call.target);
    call.fx_node = metadata.fx_node;
    call.scope = ScopeOf(entry, scope.rest, classes.rest);
    trace_.calls.push_back(call);
    return static_cast<int32_t>(trace_.calls.size()) - 1;
  }

  ScopeId ScopeOf(const Entry& entry, absl::string_view paths, absl::string_view classes) {
    const auto [it, is_new] =
        scopes_.try_emplace({paths, classes}, static_cast<ScopeId>(trace_.scopes.size()));
    if (is_new) {
      const auto chain = PyStrings(classes, kMaxModuleDepth);
      TorchScope scope;
      scope.module = entry.module;
      scope.class_name = chain.empty() ? absl::string_view() : chain.back();
      scope.nn_class = NnClassOf(scope.class_name);
      scope.in_timm_attention = std::any_of(chain.begin(), chain.end(), [](const auto& name) {
        return NnClassOf(name) == NnClass::kTimmAttention;
      });
      scope.in_encoder_layer = std::find(chain.begin(), chain.end(), kEncoderLayer) != chain.end();
      trace_.scopes.push_back(scope);
    }
    return it->second;
  }

  // The convolution that a BatchNorm went into has no metadata of its own: it is the first argument
  // of the BatchNorm, and its class is not stated.
  int32_t AddFusedCall(EntryId id, const Node& node, const Metadata& metadata) {
    const Fact& x = evidence_.Input(evidence_.entry(id), 0);
    const bool transposed = node.op_type == "ConvTranspose";
    const bool conv = transposed || node.op_type == "Conv";
    TorchScope scope;
    scope.module = evidence_.entry(id).module;
    scope.is_assumed = true;
    scope.nn_class = conv ? ConvClassOfRank(transposed, x.shape.ranked() ? x.shape.rank() : 0)
                          : NnClass::kLinear;
    TorchCall call;
    call.op = !conv ? Aten::kLinear : transposed ? Aten::kConvTranspose : Aten::kConv;
    const FxArgs args = ParseFxArgs(metadata.fx_node);
    if (absl::StartsWith(args.Arg(0), "%")) call.name = args.Arg(0).substr(1);
    call.scope = static_cast<ScopeId>(trace_.scopes.size());
    trace_.scopes.push_back(scope);
    trace_.calls.push_back(call);
    ++trace_.assumed_convs;
    // The BatchNorm's call stays the one that the next node is compared with.
    return static_cast<int32_t>(trace_.calls.size()) - 1;
  }

  // Puts the entries of each call side by side.
  void GatherEntries() {
    for (const Link& link : links_) ++trace_.calls[static_cast<size_t>(link.call)].count;
    int32_t at = 0;
    for (TorchCall& call : trace_.calls) {
      call.first = at;
      at += call.count;
      call.count = 0;
    }
    trace_.entries.resize(links_.size());
    for (const Link& link : links_) {
      TorchCall& call = trace_.calls[static_cast<size_t>(link.call)];
      trace_.entries[static_cast<size_t>(call.first) + static_cast<size_t>(call.count++)] =
          link.entry;
    }
  }

  void ReadArguments(TorchCall* call) {
    const NnClass nn_class = trace_.nn_class(*call);
    if (nn_class == NnClass::kRecurrentCell) ++trace_.recurrent_cells;
    if (call->op == Aten::kOther || call->op == Aten::kSdpa) return NoteFolded(*call, {});
    // Synthesised calls have a name only.
    if (call->fx_node.empty() && !call->target.empty()) ++trace_.unknown_args;
    const FxArgs args = ParseFxArgs(call->fx_node);
    const absl::string_view name = AtenName(call->target);
    switch (call->op) {
      case Aten::kLinear:
      case Aten::kConv:
      case Aten::kConvTranspose:
        call->has_bias = args.Has(2, "bias");
        if (name == "convolution" || name == "_convolution") {
          constexpr size_t kTransposed = 6;
          if (args.Arg(kTransposed) == "True") call->op = Aten::kConvTranspose;
        }
        break;
      case Aten::kLayerNorm:
        call->is_affine = args.Has(2, "weight");
        break;
      case Aten::kGroupNorm:
        call->is_affine = args.Has(name == "group_norm" ? 2 : 1, "weight");
        break;
      case Aten::kBatchNorm:
      case Aten::kInstanceNorm:
        call->is_affine = args.Has(1, "weight");
        break;
      case Aten::kAvgPool:
        if (IsAdaptiveAvgPoolClass(nn_class)) call->op = Aten::kAdaptiveAvgPool;
        break;
      case Aten::kMean:
        if (IsGlobalPool(*call, args)) call->op = Aten::kAdaptiveAvgPool;
        break;
      default:
        break;
    }
    // Statistics of each instance: instance_norm is written that way.
    const bool of_instances = absl::EndsWith(call->target, ".no_stats");
    if (call->op == Aten::kBatchNorm && (of_instances || IsInstanceNormClass(nn_class))) {
      call->op = Aten::kInstanceNorm;
    }
    NoteFolded(*call, args);
  }

  // torch.export writes adaptive_avg_pool to one element as mean(x, [-1, -2], True).
  bool IsGlobalPool(const TorchCall& call, const FxArgs& args) {
    if (IsAdaptiveAvgPoolClass(trace_.nn_class(call))) return true;
    if (args.Arg(1) != "[-1, -2]" || args.Get(2, "keepdim") != "True") return false;
    ++functional_pools_;
    return true;
  }

  // A tensor that arithmetic uses and no call of the file made, though the call names it: what made
  // it was computed by the exporter. Lookups and vectors are no products; masks and biases of
  // attention are not looked at.
  void NoteFolded(const TorchCall& call, const FxArgs& known_args) {
    if (call.op == Aten::kSdpa) return;
    FxArgs args = known_args;
    for (EntryId id : trace_.entries_of(call)) {
      const Node& node = evidence_.node(evidence_.entry(id));
      if (evidence_.Ours(Unit::kFlop, id) == kZero) continue;
      for (OptionalValueId input : node.inputs) {
        if (!input) continue;
        const Value& value = evidence_.model().value(*input);
        if (!value.initializer || absl::StrContains(value.name, ".")) continue;
        const Tensor& tensor = evidence_.model().tensor(*value.initializer);
        if (!IsFloat(tensor.dtype) || tensor.elements <= 1 || tensor.dims.size() < 2) continue;
        if (SplitNumber(value.name).first == "embedding") continue;
        if (args.args.empty()) args = ParseFxArgs(call.fx_node);
        if (args.args.empty()) return;
        const std::string arg = absl::StrCat("%", value.name);
        if (std::find(args.args.begin(), args.args.end(), arg) != args.args.end() &&
            !IsPlaceholder(arg)) {
          ++trace_.folded;
        }
      }
    }
  }

  void NoteNumber(const TorchCall& call) {
    const auto [base, number] = SplitNumber(call.name);
    const Aten op = AtenOf(absl::StrCat("aten.", base));
    if (op == Aten::kOther) return;
    Numbers& numbers = numbers_[base];
    numbers.op = op;
    numbers.highest = std::max(numbers.highest, number);
    ++numbers.count;
  }

  // torch.fx numbers calls of one operator without gaps; what is missing was folded or found
  // unused.
  void FindUnseen() {
    for (const auto& [base, numbers] : numbers_) {
      const int64_t missing = numbers.highest + 1 - numbers.count;
      if (missing > 0) trace_.unseen[static_cast<size_t>(numbers.op)] += missing;
    }
    if (functional_pools_ > 0) {
      trace_.assumptions.push_back(
          absl::StrCat(functional_pools_,
                       " calls mean(x, [-1, -2], True) are taken for adaptive_avg_pool2d to one "
                       "element, which exports write that way"));
    }
  }

  void FindDecomposed() {
    std::vector<bool> calls_its_own(trace_.scopes.size(), false);
    bool has_resizing = false;
    for (const TorchCall& call : trace_.calls) {
      const NnClass nn_class = trace_.nn_class(call);
      if (call.op == OperatorOf(nn_class) || (IsUpsampleClass(nn_class) && IsResizing(call.op))) {
        calls_its_own[static_cast<size_t>(call.scope)] = true;
      }
      // Only a resizing that was taken apart indexes this way.
      has_resizing = has_resizing || absl::StartsWith(call.target, "aten._unsafe_index.");
    }
    if (has_resizing) ++trace_.decomposed[static_cast<size_t>(Aten::kUpsampleBilinear)];
    for (size_t i = 0; i < trace_.scopes.size(); ++i) {
      if (!calls_its_own[i]) {
        ++trace_.decomposed[static_cast<size_t>(OperatorOf(trace_.scopes[i].nn_class))];
      }
    }
  }

  struct Link {
    int32_t call;
    EntryId entry;
  };
  struct Seen {
    int32_t call = 0;
    NodeId node = 0;
  };
  struct Numbers {
    Aten op = Aten::kOther;
    int64_t highest = 0, count = 0;
  };

  Evidence& evidence_;
  TorchTrace trace_;
  std::vector<Link> links_;
  absl::flat_hash_map<Key, Seen> calls_;
  absl::flat_hash_map<std::pair<absl::string_view, absl::string_view>, ScopeId> scopes_;
  absl::flat_hash_map<absl::string_view, Numbers> numbers_;
  int64_t functional_pools_ = 0;
  int64_t lost_products_ = 0;  // that carry no metadata
  Key last_key_;
  std::optional<Seen> last_;
};

}  // namespace

TorchTrace TraceDynamo(Evidence* evidence) { return DynamoTracer(evidence).Run(); }

}  // namespace onnxflops
