// The trace of a dynamo export, whose nodes name the call that they came from.
//
// How it works. The metadata of a node name its call ("linear_3"). Nodes with one name in one graph
// and one run are one call. A name that reappears at an earlier node starts a new run. Then the
// arguments, the operands and the spelling in the source are read, once for each text. Last comes
// what the exporter hid: calls that it merged with equal ones, tensors that it computed, modules
// that it wrote as smaller operators, and calls that only gaps in the numbers of torch.fx reveal.
// These are counted in the trace, and each tool reports those that affect its figure. Products
// without any metadata mean that the graph was changed after the export; then there is no trace.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/convention/torch/dynamo_parts.h"
#include "src/convention/torch/dynamo_texts.h"
#include "src/convention/torch/trace.h"
#include "src/exporter/exporter.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/python_list.h"
#include "src/exporter/tensor_name.h"

namespace onnxflops::convention {
namespace {

// A module that torch.compile made holds the original one under this name.
constexpr absl::string_view kCompiledModule = "_orig_mod";
constexpr absl::string_view kEncoder = "torch.nn.modules.transformer.TransformerEncoder";
constexpr absl::string_view kEncoderLayer = "torch.nn.modules.transformer.TransformerEncoderLayer";

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
  explicit DynamoTracer(Evidence* evidence) : all_(evidence), spellings_(&all_), folded_(&all_) {}

  TorchTrace Run() {
    for (size_t i = 0; i < evidence_.entries().size(); ++i) Place(static_cast<EntryId>(i));
    if (trace_.calls.empty()) return {};
    if (lost_products_ > 0) return Changed();
    trace_.origin = TorchTrace::Origin::kDynamo;
    if (trace_.transform.empty()) trace_.transform = texts_.transform();
    GatherEntries();
    for (const DynamoCalls::Origin& origin : origins_) texts_.NoteArguments(origin.text);
    for (size_t i = 0; i < trace_.calls.size(); ++i) {
      if (evidence_.exhausted()) break;
      FindOperands(&evidence_, &trace_, &trace_.calls[i]);
      ReadArguments(&trace_.calls[i], origins_[i].text);
      spellings_.Read(&trace_.calls[i], *origins_[i].text);
      texts_.NoteNumber(origins_[i].name);
      NoteLost(trace_.calls[i]);
    }
    FindMergedCalls(&all_);
    NoteFolded();
    FindUnseen();
    FindDecomposed();
    FindFoldedLayers(evidence_, &trace_);
    FindSharedModules(&all_);
    FindRecurrentCells(&all_);
    FindParameters();
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

  void Place(EntryId id) {
    const Entry& entry = evidence_.entry(id);
    const NodeText text = texts_.Of(entry.node);
    if (!text.is_complete) {
      if (evidence_.Ours(Unit::kMac, id) != kZero) ++lost_products_;
      if (evidence_.Ours(Unit::kFlop, id) != kZero) ++trace_.unattributed;
      return;
    }
    // The convolution comes before its BatchNorm, so that it claims the MACs.
    if (text.is_fused && evidence_.Ours(Unit::kMac, id) != kZero &&
        texts_.OfCall(entry.node).op == Aten::kBatchNorm) {
      links_.push_back({AddFusedCall(id), id});
    }
    links_.push_back({CallOf(entry, text.name), id});
  }

  using Key = std::pair<int32_t, int64_t>;  // name; graph and times

  // The call to which the node belongs. Nodes of one call are almost always consecutive.
  int32_t CallOf(const Entry& entry, int32_t name) {
    const int64_t graph = evidence_.node(entry).graph;
    const Key key = {name, (graph << 32) + entry.times};
    if (last_.has_value() && key == last_key_ && entry.node > last_->node) {
      last_->node = entry.node;
      return last_->call;
    }
    const auto [it, is_new] = calls_.try_emplace(key);
    Seen& seen = it->second;
    if (is_new || entry.node <= seen.node) seen.call = AddCall(entry, name);
    seen.node = entry.node;
    last_key_ = key;
    last_ = seen;
    return seen.call;
  }

  int32_t AddCall(const Entry& entry, int32_t name) {
    CallText& text = texts_.OfCall(entry.node);
    TorchCall call;
    call.name = texts_.name(name).text;
    call.target = text.target;
    call.target_number = text.target_number;
    call.op = text.op;
    call.scope = ScopeOf(entry, &text);
    return Add(call, {&text, name});
  }

  int32_t Add(const TorchCall& call, DynamoCalls::Origin origin) {
    trace_.calls.push_back(call);
    origins_.push_back(origin);
    return static_cast<int32_t>(trace_.calls.size()) - 1;
  }

  ScopeId ScopeOf(const Entry& entry, CallText* text) {
    if (text->scope) return *text->scope;
    if (absl::StrContains(text->scopes, kCompiledModule)) trace_.transform = "torch.compile";
    const auto [it, is_new] = scopes_.try_emplace({text->scopes, text->classes},
                                                  static_cast<ScopeId>(trace_.scopes.size()));
    if (is_new) {
      exporter::PyStrings chain(text->classes);
      TorchScope scope;
      scope.module = entry.module;
      scope.class_name = chain.last();
      scope.nn_class = NnClassOf(scope.class_name);
      // Its rotary embeddings write x @ y.
      scope.of_transformers = absl::StartsWith(scope.class_name, "transformers.") &&
                              !absl::EndsWith(scope.class_name, "RotaryEmbedding");
      exporter::PyStrings paths(text->scopes);
      bool in_encoder = false;
      for (; !chain.empty(); chain.DropLast()) {
        scope.in_timm_attention =
            scope.in_timm_attention || NnClassOf(chain.last()) == NnClass::kTimmAttention;
        in_encoder = in_encoder || chain.last() == kEncoder;
        const bool is_layer = chain.last() == kEncoderLayer;
        if (is_layer && scope.encoder_layer < 0) scope.encoder_layer = LayerOf(paths.last());
        paths.DropLast();
      }
      if (in_encoder && scope.encoder_layer >= 0) {
        trace_.encoder_layers[static_cast<size_t>(scope.encoder_layer)].may_drop_padding = true;
      }
      trace_.scopes.push_back(scope);
    }
    text->scope = it->second;
    return it->second;
  }

  int32_t LayerOf(absl::string_view path) {
    const auto [it, is_new] =
        layers_.try_emplace(path, static_cast<int32_t>(trace_.encoder_layers.size()));
    if (is_new) {
      TorchEncoderLayer layer;
      layer.is_child = !absl::StrContains(path, '.');
      trace_.encoder_layers.push_back(layer);
    }
    return it->second;
  }

  // A convolution with a fused BatchNorm has no metadata of its own: it is the first argument of
  // the BatchNorm, and its class is not stated.
  int32_t AddFusedCall(EntryId id) {
    const Entry& entry = evidence_.entry(id);
    const Node& node = evidence_.node(entry);
    const Fact& x = evidence_.Input(entry, 0);
    const bool transposed = node.op_type == "ConvTranspose";
    const bool conv = transposed || node.op_type == "Conv";
    TorchScope scope;
    scope.module = entry.module;
    scope.is_assumed = true;
    scope.nn_class = conv ? ConvClassOfRank(transposed, x.shape.ranked() ? x.shape.rank() : 0)
                          : NnClass::kLinear;
    TorchCall call;
    call.op = !conv ? Aten::kLinear : transposed ? Aten::kConvTranspose : Aten::kConv;
    const absl::string_view arg = DynamoTexts::ArgsOf(&texts_.OfCall(entry.node)).Arg(0);
    const int32_t name = texts_.NameOf(exporter::FxValueName(arg));
    call.name = texts_.name(name).text;
    call.scope = static_cast<ScopeId>(trace_.scopes.size());
    trace_.scopes.push_back(scope);
    ++trace_.assumed_convs;
    call.has_bias = HadBias(node);
    // The next node is still compared with the BatchNorm's call.
    return Add(call, {&no_text_, name});
  }

  // True if the convolution had a bias of its own: then the fused bias keeps that name,
  // "conv.bias". A bias that comes from the BatchNorm is named after the weight,
  // "conv.weight_bias".
  bool HadBias(const Node& node) {
    constexpr absl::string_view kMade = "_bias", kWeight = "weight", kBias = "bias";
    const OptionalValueId w = node.input(1), bias = node.input(2);
    const absl::string_view name = bias ? evidence_.model().value(*bias).name : "";
    absl::string_view module = w ? evidence_.model().value(*w).name : "";
    if (absl::ConsumeSuffix(&module, kWeight) && name == absl::StrCat(module, kBias)) return true;
    if (!absl::EndsWith(name, kMade)) ++trace_.assumed_biases;
    return false;
  }

  // Puts the entries of each call together.
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

  void ReadArguments(TorchCall* call, CallText* text) {
    const NnClass nn_class = trace_.nn_class(*call);
    if (nn_class == NnClass::kRecurrentCell) ++trace_.recurrent_cells;
    const exporter::FxArgs& args = DynamoTexts::ArgsOf(text);
    trace_.has_parameters = trace_.has_parameters || text->has_parameters;
    if (call->op == Aten::kOther && IsGlobalMaximum(*call, *text, args)) {
      call->op = Aten::kAdaptiveMaxPool;
      FindOperands(&evidence_, &trace_, call);
    }
    if (call->op == Aten::kOther) return folded_.Note(*call, text);
    const bool has_vector_weight = call->arguments.has_vector_weight;  // of its nodes
    call->arguments = text->arguments;
    call->arguments.has_vector_weight = has_vector_weight;
    if (call->op == Aten::kSdpa) return;
    // Synthesised calls have a name only.
    if (text->fx_node.empty() && !call->target.empty()) ++trace_.unknown_args;
    const absl::string_view name = AtenName(call->target);
    switch (call->op) {
      case Aten::kLinear:
      case Aten::kConv:
      case Aten::kConvTranspose:
        if (text != &no_text_) call->has_bias = args.Has(2, "bias");
        if (absl::StartsWith(args.Get(1, "weight"), exporter::kFxConstant)) ++trace_.loose_weights;
        if (name == "convolution" || name == "_convolution") {
          constexpr size_t kTransposed = 6;
          if (args.Arg(kTransposed) == "True") call->op = Aten::kConvTranspose;
        }
        call->arguments.has_named_padding = HasNamedPadding(*call, *text);
        call->arguments.is_unbatched = FollowsAddedBatch(*call, *text);
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
        if (IsAdaptiveAvgPoolClass(nn_class) ||
            spellings_.CallsOneOf(*call, *text, kAdaptiveAvgPools) || IsInterpolation(*text)) {
          call->op = Aten::kAdaptiveAvgPool;
        }
        break;
      case Aten::kMean:
        if (IsGlobalPool(*call, *text, args)) call->op = Aten::kAdaptiveAvgPool;
        break;
      default:
        break;
    }
    // Statistics of each instance: instance_norm is written that way.
    const bool of_instances = absl::EndsWith(call->target, ".no_stats");
    if (call->op == Aten::kBatchNorm && (of_instances || IsInstanceNormClass(nn_class))) {
      call->op = Aten::kInstanceNorm;
    }
    if (call->op == Aten::kAdaptiveAvgPool) call->arguments.pool_dims = PoolDims(*call, *text);
    folded_.Note(*call, text);
  }

  // PyTorch 2.14 and later keep other convolutions under their own names.
  bool HasNamedPadding(const TorchCall& call, const CallText& text) const {
    constexpr exporter::TorchRelease kKeepsNames = {2, 14};
    if (call.op != Aten::kConv || AtenName(call.target) != "convolution") return false;
    const auto release = exporter::TorchReleaseOf(evidence_.model());
    if (!release || *release < kKeepsNames) return false;
    return text.in_torch_nn || absl::StrContains(text.source_line, "'same'") ||
           absl::StrContains(text.source_line, "'valid'") ||
           absl::StrContains(text.source_line, "\"same\"") ||
           absl::StrContains(text.source_line, "\"valid\"");
  }

  // True if the same line of source adds an axis implicitly: PyTorch exports a transposed
  // convolution of an image without batch in this way.
  bool FollowsAddedBatch(const TorchCall& call, const CallText& text) {
    const OptionalValueId x = evidence_.node(evidence_.entry(call.main)).input(0);
    const OptionalNodeId maker = x ? evidence_.model().value(*x).producer : OptionalNodeId(kNone);
    if (!maker || evidence_.model().node(*maker).op_type != "Unsqueeze") return false;
    if (!texts_.Of(*maker).is_complete || text.source_line.empty()) return false;
    const CallText& added = texts_.OfCall(*maker);
    return added.source_line == text.source_line && added.scopes == text.scopes &&
           !absl::StrContains(text.source_line, "unsqueeze") &&
           !absl::StrContains(text.source_line, "None");
  }

  // Mode "area" is an adaptive pool.
  static bool IsInterpolation(const CallText& text) {
    return absl::StrContains(text.source_line, "interpolate(");
  }

  // 2 for adaptive_avg_pool2d and nn.AdaptiveAvgPool2d, and so on; 0 if no such name is there.
  int32_t PoolDims(const TorchCall& call, const CallText& text) const {
    const NnClass c = trace_.nn_class(call);
    if (IsAdaptiveAvgPoolClass(c)) {
      return static_cast<int32_t>(c) - static_cast<int32_t>(NnClass::kAdaptiveAvgPool1d) + 1;
    }
    for (size_t i = 0; i < std::size(kAdaptiveAvgPools); ++i) {
      if (absl::StrContains(text.source_line, kAdaptiveAvgPools[i])) {
        return static_cast<int32_t>(i) + 1;
      }
    }
    return 0;
  }

  // torch.export writes adaptive_avg_pool to one element as mean(x, [-1, -2], True).
  bool IsGlobalPool(const TorchCall& call, const CallText& text, const exporter::FxArgs& args) {
    if (IsAdaptiveAvgPoolClass(trace_.nn_class(call))) return true;
    if (args.Get(2, "keepdim") != "True") return false;
    if (spellings_.CallsOneOf(call, text, kAdaptiveAvgPools)) return true;
    if (args.Arg(1) != "[-1, -2]" || spellings_.CallsIn(call, text, "mean")) return false;
    ++functional_pools_;
    return true;
  }

  // It writes adaptive_max_pool to one element as amax(x, [-2, -1], True).
  bool IsGlobalMaximum(const TorchCall& call, const CallText& text, const exporter::FxArgs& args) {
    if (AtenName(call.target) != "amax") return false;
    if (IsAdaptiveMaxPoolClass(trace_.nn_class(call))) return true;
    if (args.Get(2, "keepdim") != "True") return false;
    if (spellings_.CallsOneOf(call, text, kAdaptiveMaxPools)) return true;
    if (args.Arg(1) != "[-2, -1]" || spellings_.CallsIn(call, text, "amax")) return false;
    ++functional_maxima_;
    return true;
  }

  // A product without a node was merged with an equal one; only the added bias differs.
  void NoteLost(const TorchCall& call) {
    const bool is_empty = evidence_.amount(call.in) == Expr(0);
    if (IsContraction(call.op) && call.macs == kZero && !is_empty) {
      ++trace_.unseen[static_cast<size_t>(call.op)];
    }
  }

  // A constant with the name of a call was computed by the exporter from parameters alone.
  void NoteFolded() {
    for (const Value& value : evidence_.model().values) {
      if (!value.initializer || IsBufferName(value.name)) continue;
      texts_.NoteMade(value.name);
    }
  }

  // True if the exporter computed the value, perhaps from parameters. Constants that it invents are
  // named "val_3".
  bool IsFolded(const Value& value) const {
    if (!value.initializer || absl::StrContains(value.name, '.') || IsBufferName(value.name)) {
      return false;
    }
    const Tensor& tensor = evidence_.model().tensor(*value.initializer);
    return IsFloat(tensor.dtype) && tensor.elements > 1 && !absl::StartsWith(value.name, "val_");
  }

  // "mean" may be a buffer of the model itself.
  bool IsBufferName(absl::string_view name) const {
    return std::any_of(std::begin(exporter::kFxPlaceholders), std::end(exporter::kFxPlaceholders),
                       [&](absl::string_view kind) {
                         return texts_.IsPlaceholder(absl::StrCat(kind, AsPlaceholder(name)));
                       });
  }

  // torch.fx numbers calls of one operator without gaps. A missing number was merged with an equal
  // call, folded, or removed as unused.
  void FindUnseen() {
    for (const FxNumbers& numbers : texts_.numbers()) {
      const int64_t missing = numbers.highest + 1 - numbers.count;
      if (missing > 0) trace_.unseen[static_cast<size_t>(numbers.op)] += missing;
    }
    if (functional_pools_ > 0) {
      trace_.assumptions.push_back(
          absl::StrCat(functional_pools_,
                       " calls mean(x, [-1, -2], True) are taken for adaptive_avg_pool2d to one "
                       "element, which exports write that way"));
    }
    if (functional_maxima_ > 0) {
      trace_.assumptions.push_back(
          absl::StrCat(functional_maxima_,
                       " calls amax(x, [-2, -1], True) are taken for adaptive_max_pool2d to "
                       "one element, which exports write that way"));
    }
  }

  // Exports of old versions name parameters by the names of tensors only.
  void FindParameters() {
    const auto& values = evidence_.model().values;
    trace_.has_constants =
        trace_.folded > 0 ||
        std::any_of(values.begin(), values.end(), [&](const Value& v) { return IsFolded(v); });
    trace_.has_parameters =
        trace_.has_parameters || std::any_of(values.begin(), values.end(), [](const Value& v) {
          return v.initializer && exporter::ModuleOfParameter(v.name) &&
                 !exporter::IsRunningStatistic(v.name);
        });
  }

  // If the output sizes do not divide the input's, an adaptive pool is exported as a sum of
  // gathered values.
  static bool IsPartOfPool(const TorchCall& call, const CallText& text) {
    return absl::StartsWith(call.target, "aten.index.") &&
           (IsInterpolation(text) || absl::StrContains(text.source_line, "adaptive_avg_pool"));
  }

  void FindDecomposed() {
    std::vector<bool> calls_its_own(trace_.scopes.size(), false);
    bool has_resizing = false, has_pool = false;
    for (const TorchCall& call : trace_.calls) {
      const NnClass nn_class = trace_.nn_class(call);
      if (call.op == OperatorOf(nn_class) || (IsUpsampleClass(nn_class) && IsResizing(call.op))) {
        calls_its_own[static_cast<size_t>(call.scope)] = true;
      }
      // Only a resizing that was taken apart indexes this way.
      has_resizing = has_resizing || absl::StartsWith(call.target, "aten._unsafe_index.");
      has_pool = has_pool || IsPartOfPool(call, *origins_[&call - trace_.calls.data()].text);
    }
    if (has_pool) ++trace_.decomposed[static_cast<size_t>(Aten::kAdaptiveAvgPool)];
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

  DynamoCalls all_;
  Evidence& evidence_ = all_.evidence;
  TorchTrace& trace_ = all_.trace;
  DynamoTexts& texts_ = all_.texts;
  std::vector<DynamoCalls::Origin>& origins_ = all_.origins;
  Spellings spellings_;
  FoldedTensors folded_;
  CallText no_text_;
  std::vector<Link> links_;
  absl::flat_hash_map<Key, Seen> calls_;
  absl::flat_hash_map<std::pair<absl::string_view, absl::string_view>, ScopeId> scopes_;
  absl::flat_hash_map<absl::string_view, int32_t> layers_;  // by path
  int64_t functional_pools_ = 0, functional_maxima_ = 0;
  int64_t lost_products_ = 0;  // that carry no metadata
  Key last_key_;
  std::optional<Seen> last_;
};

}  // namespace

TorchTrace TraceDynamo(Evidence* evidence) { return DynamoTracer(evidence).Run(); }

}  // namespace onnxflops::convention
