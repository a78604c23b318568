// The trace of a dynamo export: its nodes say which call they came from.
#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/base/limits.h"
#include "src/convention/torch/functions.h"
#include "src/convention/torch/trace.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/python_list.h"
#include "src/exporter/source_line.h"
#include "src/exporter/tensor_name.h"

namespace onnxflops::convention {
namespace {

constexpr absl::string_view kAdaptive = "adaptive";
// What torch.compile makes of a module holds it under this name.
constexpr absl::string_view kCompiledModule = "_orig_mod";
// One of several results of a call, as torch.fx names it.
constexpr absl::string_view kOneOfSeveral = "getitem";
constexpr absl::string_view kAdaptivePool = "adaptive_avg_pool2d";
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

// Which call the metadata of a node say that it is part of. A node of a function, or of a loop, is
// met once for every run, but its texts, which may be long, are read once.
struct NodeText {
  bool is_asked = false;
  bool is_complete = false;  // says which call it is
  bool is_fused = false;     // a convolution or product that took a BatchNorm in
  int32_t name = 0;          // of the call, in DynamoTracer::names_
};

// What the metadata of the node that a call begins with say of the call.
struct CallText {
  Aten op = Aten::kOther;
  int32_t target_number = 0;
  OptionalId<struct ScopeTag> scope;  // once it is made
  absl::string_view target, scopes, classes, fx_node, source_line;
  bool is_parsed = false;  // the rest
  exporter::FxArgs args;
  TorchArguments arguments;
  bool reads_copy = false, has_parameters = false;
  bool in_torch_nn = false;  // the line of source is torch.nn's
  bool are_arguments_noted = false;
  std::vector<absl::string_view> mentioned;            // values in its arguments, in order
  absl::flat_hash_set<absl::string_view> value_names;  // of many args
};

// A name that torch.fx gave: "linear_3".
struct FxName {
  absl::string_view text;
  int64_t number = 0;
  OptionalId<struct NumbersTag> numbers;  // in DynamoTracer::numbers_, if a rule knows the operator
  // See FindMerged.
  bool is_call = false;
  int64_t stated_users = -1;  // calls that use the result, as torch.fx counted them; -1: not known
  int64_t uses = 0;           // the same, as the file has them
  int64_t copies = 0;         // calls that were merged with this one and that arguments name
  int64_t unnamed = 0;        // and that none names
};

class DynamoTracer {
 public:
  explicit DynamoTracer(Evidence* evidence)
      : evidence_(*evidence), texts_(evidence->model().nodes.size()) {}

  TorchTrace Run() {
    for (size_t i = 0; i < evidence_.entries().size(); ++i) Place(static_cast<EntryId>(i));
    if (trace_.calls.empty()) return {};
    if (lost_products_ > 0) return Changed();
    trace_.origin = TorchTrace::Origin::kDynamo;
    GatherEntries();
    for (const Origin& origin : origins_) NoteArguments(origin);
    for (size_t i = 0; i < trace_.calls.size(); ++i) {
      if (evidence_.exhausted()) break;
      FindOperands(&evidence_, &trace_, &trace_.calls[i]);
      ReadArguments(&trace_.calls[i], origins_[i].text);
      ReadSpelling(&trace_.calls[i], origins_[i].text);
      NoteNumber(origins_[i].name);
      NoteLost(trace_.calls[i]);
    }
    FindMerged();
    FindUnseen();
    FindDecomposed();
    FindFoldedLayers();
    FindSharedModules();
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

  // ---- what nodes say

  const NodeText& TextOf(NodeId id) {
    NodeText& text = texts_[static_cast<size_t>(id)];
    if (text.is_asked) return text;
    text.is_asked = true;
    const Node& node = evidence_.model().node(id);
    const exporter::NodeMetadata metadata(node.metadata);
    text.is_complete = metadata.StatesCall();
    if (!text.is_complete) return text;
    text.is_fused = metadata.IsFusedBatchNorm();
    text.name = NameOf(exporter::PyStrings(*metadata.name_scopes).last());
    return text;
  }

  CallText& CallTextOf(NodeId id) {
    const auto [it, is_new] = text_of_call_.try_emplace(id, nullptr);
    if (!is_new) return *it->second;
    CallText& text = call_texts_.emplace_back();
    it->second = &text;
    const exporter::NodeMetadata metadata(evidence_.model().node(id).metadata);
    exporter::PyStrings scopes(*metadata.name_scopes), classes(*metadata.class_hierarchy);
    text.target = classes.last();
    scopes.DropLast();
    classes.DropLast();
    text.scopes = scopes.rest();
    text.classes = classes.rest();
    text.target_number =
        targets_.try_emplace(text.target, static_cast<int32_t>(targets_.size())).first->second;
    text.op = AtenOf(text.target);
    text.fx_node = metadata.fx_node.value_or("");
    text.source_line = exporter::LastSourceLine(metadata.stack_trace.value_or(""));
    text.in_torch_nn = exporter::IsLineOfTorchNn(metadata.stack_trace.value_or(""));
    NoteLines(metadata.stack_trace.value_or(""));
    return text;
  }

  static const exporter::FxArgs& ArgsOf(CallText* text) {
    if (!text->is_parsed) {
      text->is_parsed = true;
      text->args = exporter::ParseFxArgs(text->fx_node);
      text->arguments = ArgumentsOf(*text);
      text->reads_copy = ReadsCopy(text->args);
      text->has_parameters = absl::StrContains(text->fx_node, exporter::kFxParameter);
    }
    return text->args;
  }

  static bool ReadsCopy(const exporter::FxArgs& args) {
    return std::any_of(args.args.begin(), args.args.end(), [](absl::string_view arg) {
      return exporter::SplitFxName(exporter::FxValueName(arg)).first == "clone";
    });
  }

  static TorchArguments ArgumentsOf(const CallText& text) {
    constexpr size_t kHasBiases = 3, kBatchFirst = 8;  // of lstm and its like
    const exporter::FxArgs& args = text.args;
    TorchArguments a;
    if (text.op == Aten::kLayerNorm) {
      a.normalized_dims = static_cast<int32_t>(exporter::PyItems(args.Arg(1)).size());
    }
    a.has_output_size = IsResizing(text.op) && args.Has(1, "output_size");
    a.groups_heads = text.op == Aten::kSdpa && args.Kwarg("enable_gqa") == "True";
    const bool recurrent = IsRecurrent(text.op);
    a.of_recurrent = recurrent && args.args.size() > kBatchFirst;
    a.has_biases = a.of_recurrent && args.Arg(kHasBiases) == "True";
    a.batch_first = a.of_recurrent && args.Arg(kBatchFirst) == "True";
    return a;
  }

  // Equal lines are read once.
  void NoteLines(absl::string_view stack_trace) {
    for (absl::string_view line : exporter::SourceLines(stack_trace)) {
      if (line.size() > kMaxSourceLine || !lines_.insert(line).second) continue;
      if (trace_.transform.empty()) trace_.transform = exporter::TransformIn(line);
      if (const absl::string_view object = exporter::ObjectMadeIn(line); !object.empty()) {
        objects_.insert(object);
      }
    }
  }

  int32_t NameOf(absl::string_view text) {
    const auto [it, is_new] = name_ids_.try_emplace(text, static_cast<int32_t>(names_.size()));
    if (!is_new) return it->second;
    FxName name;
    name.text = text;
    const auto [base, number] = exporter::SplitFxName(text);
    name.number = number;
    if (const Aten op = AtenOf(absl::StrCat("aten.", base)); op != Aten::kOther) {
      const auto [at, new_base] =
          numbers_of_.try_emplace(base, static_cast<int32_t>(numbers_.size()));
      if (new_base) numbers_.push_back({op, -1, 0});
      name.numbers = at->second;
    }
    names_.push_back(name);
    return it->second;
  }

  // ---- calls

  void Place(EntryId id) {
    const Entry& entry = evidence_.entry(id);
    const NodeText text = TextOf(entry.node);
    if (!text.is_complete) {
      if (evidence_.Ours(Unit::kMac, id) != kZero) ++lost_products_;
      if (evidence_.Ours(Unit::kFlop, id) != kZero) ++trace_.unattributed;
      return;
    }
    const int32_t call = CallOf(entry, text.name);
    if (text.is_fused && evidence_.Ours(Unit::kMac, id) != kZero &&
        trace_.calls[static_cast<size_t>(call)].op == Aten::kBatchNorm) {
      links_.push_back({AddFusedCall(id), id});
    }
    links_.push_back({call, id});
  }

  struct Origin {
    CallText* text;  // of the node that the call begins with
    int32_t name;
  };
  using Key = std::pair<int32_t, int64_t>;  // name; graph and times

  // The call that the node is part of. Nodes of one call stand together, nearly always.
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
    CallText& text = CallTextOf(entry.node);
    TorchCall call;
    call.name = names_[static_cast<size_t>(name)].text;
    call.target = text.target;
    call.target_number = text.target_number;
    call.op = text.op;
    call.scope = ScopeOf(entry, &text);
    return Add(call, {&text, name});
  }

  int32_t Add(const TorchCall& call, Origin origin) {
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
      for (; !chain.empty(); chain.DropLast()) {
        scope.in_timm_attention =
            scope.in_timm_attention || NnClassOf(chain.last()) == NnClass::kTimmAttention;
        scope.in_encoder_layer = scope.in_encoder_layer || chain.last() == kEncoderLayer;
      }
      trace_.scopes.push_back(scope);
    }
    text->scope = it->second;
    return it->second;
  }

  // The convolution that a BatchNorm went into has no metadata of its own: it is the first argument
  // of the BatchNorm, and its class is not stated.
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
    const absl::string_view arg = ArgsOf(&CallTextOf(entry.node)).Arg(0);
    const int32_t name = NameOf(exporter::FxValueName(arg));
    call.name = names_[static_cast<size_t>(name)].text;
    call.scope = static_cast<ScopeId>(trace_.scopes.size());
    trace_.scopes.push_back(scope);
    ++trace_.assumed_convs;
    // The BatchNorm's call stays the one that the next node is compared with.
    return Add(call, {&no_text_, name});
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

  void ReadArguments(TorchCall* call, CallText* text) {
    const NnClass nn_class = trace_.nn_class(*call);
    if (nn_class == NnClass::kRecurrentCell) ++trace_.recurrent_cells;
    const exporter::FxArgs& args = ArgsOf(text);
    call->reads_copy = text->reads_copy;
    trace_.has_parameters = trace_.has_parameters || text->has_parameters;
    if (call->op == Aten::kOther) return NoteFolded(*call, text);
    call->arguments = text->arguments;
    if (call->op == Aten::kSdpa) return;
    // Synthesised calls have a name only.
    if (text->fx_node.empty() && !call->target.empty()) ++trace_.unknown_args;
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
        if (IsAdaptiveAvgPoolClass(nn_class) || CallsIn(*call, *text, kAdaptivePool)) {
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
    NoteFolded(*call, text);
  }

  // A module of torch.nn calls functions of torch.nn.functional, and nn.MultiheadAttention some of
  // torch; of others the line of source may tell.
  void ReadSpelling(TorchCall* call, CallText* text) {
    if (call->op == Aten::kOther) return;
    const TorchScope& scope = trace_.scope(*call);
    const bool is_arithmetic = call->op == Aten::kAdd || call->op == Aten::kMul;
    // A class that is taken for one of torch.nn has been assumed already.
    call->in_torch_nn = text->in_torch_nn;
    call->has_source = !text->source_line.empty();
    const bool has_class_of_nn = absl::StartsWith(scope.class_name, "torch.nn.");
    // A hook, of which no line is there.
    const bool by_others = has_class_of_nn && !text->in_torch_nn && !text->source_line.empty();
    if (by_others) ++trace_.calls_of_hooks;
    const bool has_whole_layer = IsMatmul(call->op) || call->op == Aten::kSdpa ||
                                 call->op == Aten::kAddmm || call->op == Aten::kBaddbmm ||
                                 IsRecurrent(call->op);
    if (text->in_torch_nn && !has_class_of_nn && has_whole_layer) ++trace_.derived_layers;
    const bool is_of_nn = text->in_torch_nn || (has_class_of_nn && !by_others) ||
                          (scope.is_assumed && scope.nn_class != NnClass::kNone);
    if (KeepsFunction(scope) && IsActivation(call->op)) {
      call->spelling = OpenFact<Spelling>::Stated(Spelling::kNone);
      return;
    }
    if (is_of_nn && !is_arithmetic) {
      call->spelling = OpenFact<Spelling>::Stated(SpellingOfNn(call->op));
      return;
    }
    exporter::SpelledCall spelled = SpelledIn(*call, *text, SpelledName(*call));
    // An equation in another form than a text has no wrapper.
    const bool has_equation = absl::StrContains(text->source_line, "einsum(\"") ||
                              absl::StrContains(text->source_line, "einsum('");
    if (call->op == Aten::kEinsum && !has_equation) spelled.is_settled = false;
    const bool is_told =
        spelled.spelling != Spelling::kNone && spelled.spelling != Spelling::kSeveral;
    const Spelling likely = is_told ? spelled.spelling : LikelySpelling(evidence_, scope, *call);
    call->spelling =
        spelled.is_settled ? OpenFact<Spelling>::Stated(likely) : OpenFact<Spelling>(likely);
  }

  static Spelling SpellingOfNn(Aten op) {
    const bool is_of_torch =
        IsMatmul(op) || op == Aten::kAddmm || op == Aten::kBaddbmm || op == Aten::kEinsum;
    return is_of_torch ? Spelling::kTorch : Spelling::kFunctional;
  }

  // Of a function that is called often, each line is read once per module.
  exporter::SpelledCall SpelledIn(const TorchCall& call, const CallText& text,
                                  absl::string_view name) {
    const char symbol = call.op == Aten::kAdd   ? '+'
                        : call.op == Aten::kMul ? '*'
                        : IsMatmul(call.op)     ? '@'
                                                : '\0';
    const ModuleId id = trace_.scope(call).module;
    const auto [known, is_new] = spelled_.try_emplace({text.source_line.data(), name, symbol, id});
    if (!is_new) return known->second;
    const absl::string_view module = evidence_.paths().path(id);
    const auto is_module = [&](absl::string_view part) {
      const std::string path = module.empty() ? std::string(part) : absl::StrCat(module, ".", part);
      return evidence_.paths().Find(path).has_value();
    };
    const auto is_object = [&](absl::string_view value) {
      if (!absl::ConsumePrefix(&value, "self.")) {
        return objects_.contains(value.substr(0, value.find('.')));
      }
      return !HasNumber(text) && !IsPlaceholder(module, value);
    };
    return known->second =
               exporter::FindSpelling(text.source_line, name, symbol, {is_module, is_object});
  }

  // Whether an argument of the call is a number or a tensor of no module: an attribute may be one.
  static bool HasNumber(const CallText& text) {
    return std::any_of(text.args.args.begin(), text.args.args.end(), [](absl::string_view arg) {
      return !arg.empty() && (absl::ascii_isdigit(arg[0]) || arg[0] == '-');
    });
  }

  // "blocks.0.mask" as torch.export writes it into names: "blocks_0_mask".
  static std::string AsPlaceholder(absl::string_view path) {
    std::string name = absl::AsciiStrToLower(path);
    for (char& c : name) c = absl::ascii_isalnum(c) ? c : '_';
    return name;
  }

  // Whether some call works on the parameter, buffer or constant of this name: "b_blocks_0_mask".
  bool IsPlaceholder(absl::string_view module, absl::string_view name) const {
    const std::string path = AsPlaceholder(absl::StrCat(module, module.empty() ? "" : ".", name));
    return std::any_of(
        std::begin(exporter::kFxPlaceholders), std::end(exporter::kFxPlaceholders),
        [&](absl::string_view kind) { return placeholders_.contains(absl::StrCat(kind, path)); });
  }

  // Whether the line of source calls this, and nothing else that may be behind the call.
  bool CallsIn(const TorchCall& call, const CallText& text, absl::string_view name) {
    return SpelledIn(call, text, name).is_settled;
  }

  // How source code names the operator.
  static absl::string_view SpelledName(const TorchCall& call) {
    if (IsResizing(call.op)) return "interpolate";
    if (call.op == Aten::kRelu6) return "relu6";
    if (call.op == Aten::kBatchNorm) return "batch_norm";
    absl::string_view name = AtenName(call.target);
    if (call.op == Aten::kAdaptiveAvgPool && !absl::StrContains(name, kAdaptive)) {
      return kAdaptivePool;
    }
    absl::ConsumePrefix(&name, "_");
    absl::ConsumePrefix(&name, "native_");
    return name;
  }

  // torch.export writes adaptive_avg_pool to one element as mean(x, [-1, -2], True).
  bool IsGlobalPool(const TorchCall& call, const CallText& text, const exporter::FxArgs& args) {
    if (IsAdaptiveAvgPoolClass(trace_.nn_class(call))) return true;
    if (args.Arg(1) != "[-1, -2]" || args.Get(2, "keepdim") != "True") return false;
    if (CallsIn(call, text, "mean")) return false;
    if (!CallsIn(call, text, kAdaptivePool)) ++functional_pools_;
    return true;
  }

  // ---- what the exporter folded

  // A tensor that arithmetic uses and no call of the file made, though the call names it: what made
  // it was computed by the exporter. Masks and biases of attention are not looked at.
  void NoteFolded(const TorchCall& call, CallText* text) {
    NoteFoldedWeight(call, text);
    for (EntryId id : trace_.entries_of(call)) {
      if (evidence_.Ours(Unit::kFlop, id) == kZero) continue;
      const NodeId node = evidence_.entry(id).node;
      const auto [it, is_new] = folded_.try_emplace({text, node}, 0);
      if (is_new) it->second = FoldedIn(node, text);
      trace_.folded += it->second;
    }
  }

  // A weight that was computed from others has no node, and the name of none.
  void NoteFoldedWeight(const TorchCall& call, CallText* text) {
    const bool has_weight = call.op == Aten::kLinear || call.op == Aten::kConv;
    if (!has_weight || !folded_weights_.insert(text).second) return;
    const absl::string_view weight = exporter::FxValueName(ArgsOf(text).Get(1, "weight"));
    if (weight.empty() || exporter::IsFxPlaceholder(weight)) return;
    const OptionalValueId value = evidence_.node(evidence_.entry(call.main)).input(1);
    if (value && evidence_.model().value(*value).initializer) ++trace_.folded;
  }

  // A result of a layer that the exporter computed: "%sigmoid" is a constant.
  void FindFoldedLayers() {
    constexpr absl::string_view kLayers[] = {"elu",  "gelu",    "layer_norm", "leaky_relu", "relu",
                                             "silu", "sigmoid", "softmax",    "softplus",   "tanh"};
    for (const Value& value : evidence_.model().values) {
      if (value.initializer && IsOneOf(exporter::SplitFxName(value.name).first, kLayers)) {
        ++trace_.folded_layers;
      }
    }
  }

  // How many inputs of the node are such tensors.
  int64_t FoldedIn(NodeId id, CallText* text) {
    int64_t folded = 0;
    for (OptionalValueId input : evidence_.model().node(id).inputs) {
      if (!input || !IsMatrixOfNoModule(evidence_.model().value(*input))) continue;
      if (ArgsOf(text).args.empty()) return 0;
      if (IsArgument(evidence_.model().value(*input).name, text)) ++folded;
    }
    return folded;
  }

  // Lookups and vectors are no products; what has a module is a parameter.
  bool IsMatrixOfNoModule(const Value& value) const {
    if (!value.initializer || exporter::ModuleOfParameter(value.name)) return false;
    const Tensor& tensor = evidence_.model().tensor(*value.initializer);
    return IsFloat(tensor.dtype) && tensor.elements > 1 && tensor.dims.size() >= 2 &&
           !exporter::IsFoldedLookup(value.name);
  }

  // Whether the call names the value, which is no placeholder.
  bool IsArgument(absl::string_view name, CallText* text) {
    constexpr size_t kMany = 8;
    const std::vector<absl::string_view>& args = ArgsOf(text).args;
    if (name.empty() || exporter::IsFxPlaceholder(name)) return false;
    if (args.size() <= kMany) {
      return std::any_of(args.begin(), args.end(),
                         [&](absl::string_view arg) { return exporter::FxValueName(arg) == name; });
    }
    if (text->value_names.empty()) {
      for (absl::string_view arg : args) text->value_names.insert(exporter::FxValueName(arg));
    }
    return text->value_names.contains(name);
  }

  void NoteNumber(int32_t name_id) {
    const FxName& name = names_[static_cast<size_t>(name_id)];
    if (!name.numbers) return;
    Numbers& numbers = numbers_[static_cast<size_t>(*name.numbers)];
    numbers.highest = std::max(numbers.highest, name.number);
    ++numbers.count;
  }

  // A result that is worked on, "%linear_1", was made by a call; the file lacks it where the
  // exporter merged equal ones.
  void NoteArguments(const Origin& origin) {
    CallText* text = origin.text;
    if (text->are_arguments_noted) return;
    text->are_arguments_noted = true;
    std::vector<absl::string_view> args = ArgsOf(text).args;
    for (const auto& [key, arg] : ArgsOf(text).kwargs) args.push_back(arg);
    for (absl::string_view arg : args) {
      for (size_t at = arg.find('%'); at != absl::string_view::npos; at = arg.find('%')) {
        arg.remove_prefix(at);
        const absl::string_view name =
            exporter::FxValueName(arg.substr(0, arg.find_first_of(",)] ")));
        arg.remove_prefix(1);
        if (name.empty()) continue;
        if (exporter::IsFxPlaceholder(name)) {
          placeholders_.insert(name);
        } else {
          NoteMade(name);
          text->mentioned.push_back(name);
        }
      }
    }
  }

  // There was a call of this name.
  void NoteMade(absl::string_view name) {
    const FxName& made = names_[static_cast<size_t>(NameOf(name))];
    if (!made.numbers) return;
    int64_t& highest = numbers_[static_cast<size_t>(*made.numbers)].highest;
    highest = std::max(highest, made.number);
  }

  // A product without its node was merged with an equal one; what is added to it differs.
  void NoteLost(const TorchCall& call) {
    const bool is_empty = evidence_.amount(call.in) == Expr(0);
    if (IsContraction(call.op) && call.macs == kZero && !is_empty) {
      ++trace_.unseen[static_cast<size_t>(call.op)];
    }
  }

  // ---- what the exporter merged

  // The exporter computes equal things once. Then a call works on the result of another one than
  // its arguments name:
  //
  //   add(%tanh, %tanh_1) works on tanh twice: tanh_1 was merged
  //   add(%linear, %dropout) works on linear twice: dropout did nothing and is a user of %linear.
  //     If torch.fx counted fewer users of %linear, another linear was merged with it
  //
  // What a merged call worked on is named nowhere. It is the same as what the other one works on if
  // that has as many more users, or else it was merged as well.
  void FindMerged() {
    for (size_t i = 0; i < trace_.calls.size(); ++i) {
      if (!IsOfMainGraph(trace_.calls[i])) continue;
      FxName& name = names_[static_cast<size_t>(origins_[i].name)];
      name.is_call = true;
      name.stated_users = exporter::FxNumUsers(origins_[i].text->fx_node);
    }
    for (const Value& value : evidence_.model().values) value_names_.insert(value.name);
    for (ValueId id : evidence_.model().graph(0).outputs) NoteOutput(evidence_.model().value(id));
    for (size_t i = 0; i < trace_.calls.size(); ++i) {
      if (IsOfMainGraph(trace_.calls[i])) NoteUses(i);
    }
    CountUses();
    for (size_t i = trace_.calls.size(); i-- > 0;) {
      if (IsOfMainGraph(trace_.calls[i])) FollowCopies(i);
    }
    trace_.has_merged_parts = missing_parts_.size() > parts_.size();
  }

  bool IsOfMainGraph(const TorchCall& call) const {
    const EntryId first = trace_.entries_of(call).front();
    return evidence_.node(evidence_.entry(first)).graph == 0;
  }

  // A result is named as its call; so a call of that name was dropped, or merged with another one,
  // whose result the file copies.
  void NoteOutput(const Value& value) {
    if (!value.producer) return;
    const Node& node = evidence_.model().node(*value.producer);
    const bool is_copy = node.op_type == "Identity" && node.input(0) &&
                         evidence_.model().value(*node.input(0)).producer;
    const NodeText& text =
        TextOf(is_copy ? *evidence_.model().value(*node.input(0)).producer : *value.producer);
    if (!text.is_complete) return;
    const int32_t made_by = text.name;
    if (MakerOf(value) == made_by) NoteUse({made_by, value.name}, "output");
    if (value.name == names_[static_cast<size_t>(made_by)].text) return;
    NoteMade(value.name);
    if (HasBase(value.name, made_by)) copies_.emplace_back(made_by, value.name);
  }

  // Whether the text is another number of the same operator.
  bool HasBase(absl::string_view text, int32_t name) const {
    return exporter::SplitFxName(text).first ==
           exporter::SplitFxName(names_[static_cast<size_t>(name)].text).first;
  }

  // A tensor that a call works on. `made_by` is the call of the main graph whose result it is; -1
  // for an input, or for what is inside of a call.
  struct Operand {
    int32_t made_by = -1;
    absl::string_view value;
  };

  // In the order of the nodes and their inputs; constants are left out. Of a call that became
  // several nodes, which may use a value again and again, each is there once.
  std::vector<Operand> OperandsOf(size_t call) {
    std::vector<Operand> operands;
    absl::flat_hash_set<absl::string_view> seen;
    const absl::Span<const EntryId> entries = trace_.entries_of(trace_.calls[call]);
    for (EntryId id : entries) {
      const Entry& entry = evidence_.entry(id);
      for (size_t i = 0; i < evidence_.node(entry).inputs.size(); ++i) {
        const OptionalValueId input = evidence_.node(entry).inputs[i];
        if (!input || evidence_.model().value(*input).initializer) continue;
        const Value& value = evidence_.model().value(*input);
        const bool is_new = entries.size() == 1 || seen.insert(value.name).second;
        const bool is_own = value.producer && TextOf(*value.producer).name == origins_[call].name;
        if (is_own || !is_new) continue;
        if (value.producer && IsPartOfNoCall(*value.producer)) parts_.insert(value.name);
        operands.push_back(
            {IsFloatTensor(evidence_.Input(entry, i)) ? MakerOf(value) : -1, value.name});
      }
    }
    return operands;
  }

  static bool IsFloatTensor(const Fact& fact) { return fact.is_tensor() && IsFloat(fact.dtype); }

  // A Split, whose node says nothing of its call.
  bool IsPartOfNoCall(NodeId id) {
    return !TextOf(id).is_complete && evidence_.model().node(id).outputs.size() > 1;
  }

  int32_t MakerOf(const Value& value) {
    if (!value.producer || evidence_.model().node(*value.producer).graph != 0) return -1;
    const NodeText& text = TextOf(*value.producer);
    const bool is_result =
        text.is_complete && (HasBase(value.name, text.name) ||
                             exporter::SplitFxName(value.name).first == kOneOfSeveral);
    return is_result ? text.name : -1;
  }

  // Whether no call of the file has the name.
  bool IsMissing(absl::string_view name) const {
    const auto it = name_ids_.find(name);
    const bool is_call = it != name_ids_.end() && names_[static_cast<size_t>(it->second)].is_call;
    return !is_call && !value_names_.contains(name);
  }

  // Under which names the call works on its operands.
  void NoteUses(size_t call) {
    const absl::string_view user = names_[static_cast<size_t>(origins_[call].name)].text;
    absl::flat_hash_map<absl::string_view, int> mentions;
    for (absl::string_view name : origins_[call].text->mentioned) {
      ++mentions[name];
      if (exporter::SplitFxName(name).first == kOneOfSeveral && IsMissing(name))
        missing_parts_.insert(name);
    }
    std::vector<Operand> others;
    for (const Operand& operand : OperandsOf(call)) {
      const absl::string_view maker =
          operand.made_by < 0 ? operand.value : names_[static_cast<size_t>(operand.made_by)].text;
      int& mentioned = mentions[mentions.contains(maker) ? maker : operand.value];
      if (mentioned-- <= 0) {
        others.push_back(operand);
      } else if (operand.made_by >= 0) {
        NoteUse(operand, user);
      }
    }
    std::vector<absl::string_view> names;
    for (absl::string_view name : origins_[call].text->mentioned) {
      if (const auto it = mentions.find(name); it->second > 0) {
        --it->second;
        names.push_back(name);
      }
    }
    if (others.empty()) return NoteCopies(call, names);
    // The nodes of a call may use what it works on in any order.
    const bool is_in_order = trace_.calls[call].count == 1 || names.size() == 1;
    if (names.size() != others.size() || !is_in_order) return;
    for (size_t i = 0; i < names.size(); ++i) NoteOther(others[i], names[i]);
  }

  // All operands are named, and so are these: several names for one of them.
  void NoteCopies(size_t call, const std::vector<absl::string_view>& names) {
    if (names.empty()) return;
    absl::flat_hash_map<absl::string_view, int32_t> makers;
    for (const Operand& operand : OperandsOf(call)) {
      if (operand.made_by >= 0)
        makers.emplace(exporter::SplitFxName(operand.value).first, operand.made_by);
    }
    for (absl::string_view name : names) {
      const auto it = makers.find(exporter::SplitFxName(name).first);
      if (it != makers.end() && IsMissing(name)) copies_.emplace_back(it->second, name);
    }
  }

  // The call works on an operand that its arguments name otherwise.
  void NoteOther(const Operand& operand, absl::string_view name) {
    if (operand.made_by < 0 || !IsMissing(name)) return;
    if (exporter::SplitFxName(name).first == exporter::SplitFxName(operand.value).first) {
      copies_.emplace_back(operand.made_by, name);
    } else {
      NoteUse(operand, name);
    }
  }

  // Of a call with several results, "%getitem_1", torch.fx counts uses of each, and no text is
  // there.
  void NoteUse(const Operand& operand, absl::string_view user) {
    if (exporter::SplitFxName(operand.value).first == kOneOfSeveral) {
      names_[static_cast<size_t>(operand.made_by)].stated_users = 0;
    } else {
      uses_.emplace_back(operand.made_by, user);
    }
  }

  void CountUses() {
    for (auto* pairs : {&uses_, &copies_}) {
      std::sort(pairs->begin(), pairs->end());
      pairs->erase(std::unique(pairs->begin(), pairs->end()), pairs->end());
    }
    for (const auto& [made_by, user] : uses_) ++names_[static_cast<size_t>(made_by)].uses;
    for (const auto& [made_by, copy] : copies_) {
      FxName& name = names_[static_cast<size_t>(made_by)];
      ++(HasBase(copy, made_by) ? name.copies : name.unnamed);
    }
    for (FxName& name : names_) {
      if (name.stated_users >= 0)
        name.unnamed += std::max<int64_t>(0, name.uses - name.stated_users);
    }
  }

  // The calls that were merged with this one are missing, and so may be what they worked on.
  void FollowCopies(size_t call) {
    const FxName& name = names_[static_cast<size_t>(origins_[call].name)];
    const int64_t copies = name.copies + name.unnamed;
    if (copies == 0) return;
    trace_.unseen[static_cast<size_t>(trace_.calls[call].op)] += name.unnamed;
    absl::flat_hash_set<int32_t> seen;
    for (const Operand& operand : OperandsOf(call)) {
      if (operand.made_by < 0 || !seen.insert(operand.made_by).second) continue;
      FxName& made = names_[static_cast<size_t>(operand.made_by)];
      if (made.stated_users < 0) continue;
      const int64_t spare = std::min(copies, std::max<int64_t>(0, made.stated_users - made.uses));
      made.uses += spare;
      made.unnamed += copies - spare;
    }
  }

  // torch.fx numbers calls of one operator without gaps; what is missing was merged with an equal
  // one, folded or found unused.
  void FindUnseen() {
    for (const Numbers& numbers : numbers_) {
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

  // A module of torch.nn that works on the parameters of a path that is not its own stands in
  // several places of the model. An embedding whose weight a linear layer uses is no such module.
  void FindSharedModules() {
    absl::flat_hash_map<std::string, absl::string_view> classes;  // by path
    std::vector<size_t> calls;                                    // one of each text
    absl::flat_hash_set<const CallText*> seen;
    for (size_t i = 0; i < trace_.calls.size(); ++i) {
      const TorchScope& scope = trace_.scope(trace_.calls[i]);
      if (scope.nn_class == NnClass::kNone || !seen.insert(origins_[i].text).second) continue;
      classes.emplace(PathOf(i), scope.class_name);
      calls.push_back(i);
    }
    for (const size_t i : calls) {
      const std::vector<absl::string_view> parameters = ParametersOf(*origins_[i].text);
      const std::string own = PathOf(i);
      const bool is_shared =
          !parameters.empty() &&
          std::none_of(parameters.begin(), parameters.end(), [&](absl::string_view parameter) {
            return absl::StartsWith(parameter, own) ||
                   HasOtherClass(parameter, trace_.scope(trace_.calls[i]), classes);
          });
      if (is_shared) ++trace_.shared_modules;
    }
  }

  // "blocks_0_fc_", of the innermost module of the call.
  std::string PathOf(size_t call) const {
    return absl::StrCat(AsPlaceholder(exporter::PyStrings(origins_[call].text->scopes).last()),
                        "_");
  }

  // "blocks_0_fc_weight".
  static std::vector<absl::string_view> ParametersOf(const CallText& text) {
    std::vector<absl::string_view> parameters;
    for (absl::string_view arg : text.args.args) {
      if (absl::ConsumePrefix(&arg, exporter::kFxParameter)) parameters.push_back(arg);
    }
    return parameters;
  }

  // Whether the parameter is of a module of another class that makes calls.
  static bool HasOtherClass(absl::string_view parameter, const TorchScope& scope,
                            const absl::flat_hash_map<std::string, absl::string_view>& classes) {
    if (parameter.size() > kMaxSourceLine) return false;  // each part is looked up
    for (size_t end = parameter.rfind('_'); end != absl::string_view::npos && end > 0;
         end = parameter.substr(0, end).rfind('_')) {
      const auto it = classes.find(parameter.substr(0, end + 1));
      if (it != classes.end()) return it->second != scope.class_name;
    }
    return false;
  }

  // Exports of old versions name parameters by the names of tensors only.
  void FindParameters() {
    const auto& values = evidence_.model().values;
    trace_.has_parameters =
        trace_.has_parameters || std::any_of(values.begin(), values.end(), [](const Value& v) {
          return v.initializer && exporter::ModuleOfParameter(v.name) &&
                 !exporter::IsRunningStatistic(v.name);
        });
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
    Aten op;
    int64_t highest, count;
  };

  Evidence& evidence_;
  TorchTrace trace_;
  std::vector<NodeText> texts_;  // by NodeId
  absl::flat_hash_map<NodeId, CallText*> text_of_call_;
  std::deque<CallText> call_texts_;
  CallText no_text_;
  // By line, name, symbol and module.
  absl::flat_hash_map<std::tuple<const char*, absl::string_view, char, ModuleId>,
                      exporter::SpelledCall>
      spelled_;
  std::vector<FxName> names_;
  std::vector<Numbers> numbers_;
  absl::flat_hash_map<absl::string_view, int32_t> name_ids_, targets_, numbers_of_;
  std::vector<Origin> origins_;  // by call
  std::vector<Link> links_;
  absl::flat_hash_map<Key, Seen> calls_;
  absl::flat_hash_map<std::pair<absl::string_view, absl::string_view>, ScopeId> scopes_;
  absl::flat_hash_map<std::pair<const CallText*, NodeId>, int64_t> folded_;
  absl::flat_hash_set<const CallText*> folded_weights_;
  absl::flat_hash_set<absl::string_view> lines_, objects_, placeholders_, value_names_;
  // Results of calls with several, as arguments name them, and as nodes that name no call give
  // them.
  absl::flat_hash_set<absl::string_view> missing_parts_, parts_;
  // Of calls: who uses the result under its own name, and under that of a call that was merged.
  std::vector<std::pair<int32_t, absl::string_view>> uses_, copies_;
  int64_t functional_pools_ = 0;
  int64_t lost_products_ = 0;  // that carry no metadata
  Key last_key_;
  std::optional<Seen> last_;
};

}  // namespace

TorchTrace TraceDynamo(Evidence* evidence) { return DynamoTracer(evidence).Run(); }

}  // namespace onnxflops::convention
