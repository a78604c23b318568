// How it works. The reader for the file's exporter makes the trace (dynamo.cc, script.cc); this
// file has the parts that both need. FindOperands chooses the node of a call that does its work:
// for a contraction the first with MACs, for a normalisation or softmax the operator of that name,
// else the first with a float input. The inputs of this node are the operands that rules ask for.
//
// FindKinds numbers calls so that all calls with one number look the same to every rule: same
// operator, class, flags and arguments, and nodes with equal costs. A model with 100 equal layers
// then costs the rules as much as one layer. Every fact that a rule may read must therefore be part
// of the key; otherwise different calls would be treated as equal.
#include "src/convention/torch/trace.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "src/exporter/exporter.h"
#include "src/family/family.h"

namespace onnxflops::convention {
namespace {

constexpr absl::string_view kNormalizations[] = {
    "LayerNormalization",     "BatchNormalization",        "GroupNormalization",
    "InstanceNormalization",  "RMSNormalization",          "SimplifiedLayerNormalization",
    "SkipLayerNormalization", "MeanVarianceNormalization",
};
constexpr absl::string_view kSoftmaxes[] = {"Softmax", "LogSoftmax"};
constexpr absl::string_view kSums[] = {"Add", "Sum"};
constexpr absl::string_view kProducts[] = {"Mul"};

absl::Span<const absl::string_view> MainOperators(Aten op) {
  switch (op) {
    case Aten::kBatchNorm:
    case Aten::kLayerNorm:
    case Aten::kGroupNorm:
    case Aten::kInstanceNorm:
      return kNormalizations;
    case Aten::kSoftmax:
      return kSoftmaxes;
    case Aten::kAdd:
      return kSums;
    case Aten::kMul:
      return kProducts;
    default:
      return {};
  }
}

bool IsFloatTensor(const Fact& fact) { return fact.is_tensor() && IsFloat(fact.dtype); }

// The entry that does the main work of a call, and the last entry that does work.
struct Work {
  EntryId main, last;
};

Work FindWork(const Evidence& evidence, Aten op, absl::Span<const EntryId> entries) {
  if (IsContraction(op)) {
    const auto multiplies = [&](EntryId id) { return evidence.Ours(Unit::kMac, id) != kZero; };
    const auto first = std::find_if(entries.begin(), entries.end(), multiplies);
    const auto last = std::find_if(entries.rbegin(), entries.rend(), multiplies);
    if (first != entries.end()) return {*first, *last};
  }
  const absl::Span<const absl::string_view> names = MainOperators(op);
  for (EntryId id : entries) {
    const absl::string_view type = evidence.node(evidence.entry(id)).op_type;
    if (std::find(names.begin(), names.end(), type) != names.end()) return {id, id};
  }
  // Not what prepares a constant operand, such as the limits of a clamp.
  const auto works = [&](EntryId id) {
    const Fact& x = evidence.Input(evidence.entry(id), 0);
    return IsFloatTensor(x) && !x.constant;
  };
  const auto first = std::find_if(entries.begin(), entries.end(), works);
  return {first == entries.end() ? entries.front() : *first, entries.back()};
}

}  // namespace

namespace {

// True if the permuted axes lie in memory as they follow each other: an axis of size 1 may stand
// anywhere.
bool IsInOrder(absl::Span<const int64_t> axes, const Shape& shape) {
  int64_t before = -1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (shape[static_cast<int>(i)] == Expr(1)) continue;
    if (axes[i] < before) return false;
    before = axes[i];
  }
  return true;
}

// PyTorch transposes without moving data, so the next operator finds it in another order.
bool IsTransposed(const Evidence& evidence, const Entry& entry) {
  const ModelData& model = evidence.model();
  const OptionalValueId x = evidence.node(entry).inputs[0];
  const OptionalNodeId producer = x ? model.value(*x).producer : OptionalNodeId(kNone);
  if (!producer || model.node(*producer).op_type != "Transpose") return false;
  const Shape& shape = ShapeOf(evidence.Input(entry, 0));
  const Attribute* perm = model.node(*producer).FindAttribute("perm");
  if (!shape.ranked()) return true;
  std::vector<int64_t> axes(static_cast<size_t>(shape.rank()));
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(axes.size() - 1 - i);
  if (perm != nullptr) axes.assign(perm->ints.begin(), perm->ints.end());
  return axes.size() != static_cast<size_t>(shape.rank()) || !IsInOrder(axes, shape);
}

}  // namespace

void FindOperands(Evidence* evidence, TorchTrace* trace, TorchCall* call) {
  const absl::Span<const EntryId> entries = trace->entries_of(*call);
  const Work work = FindWork(*evidence, call->op, entries);
  const Entry& main = evidence->entry(work.main);
  call->main = work.main;
  call->x = &evidence->Input(main, 0);
  call->w = &evidence->Input(main, 1);
  call->y = &evidence->Output(evidence->entry(work.last), 0);
  // A BatchNorm inside of a convolution works on its result; all others keep the shape.
  if (IsNormalization(call->op)) call->x = call->y;
  call->macs = IsContraction(call->op) || call->op == Aten::kOther
                   ? evidence->Ours(Unit::kMac, entries)
                   : kZero;
  const auto elements = [&](const Fact& fact) {
    const std::optional<AmountId> known = evidence->Elements(fact, main);
    if (!known) ++trace->unknown_shapes;
    return known.value_or(kZero);
  };
  if (call->op == Aten::kOther) return;  // no rule asks
  call->arguments.has_vector_weight =
      call->op == Aten::kLinear &&
      evidence->node(evidence->entry(entries.back())).op_type == "Squeeze";
  call->is_transposed = call->op == Aten::kLinear && IsTransposed(*evidence, main);
  call->in = elements(*call->x);
  call->out = call->y == call->x ? call->in : elements(*call->y);
}

namespace {

// Counts calls in the bodies of torch.cond, torch.while_loop and scan. A model with such bodies
// mostly has no functions.
void CountCallsInBodies(const Evidence& evidence, TorchTrace* trace) {
  const auto& calls = evidence.inference().calls;
  const bool has_bodies = std::any_of(calls.begin(), calls.end(), [](const Call& call) {
    return std::any_of(call.bodies.begin(), call.bodies.end(),
                       [](const BodyRun& run) { return !run.attribute.empty(); });
  });
  if (!has_bodies) return;
  for (const TorchCall& call : trace->calls) {
    if (evidence.node(evidence.entry(call.main)).graph != 0) ++trace->calls_in_bodies;
  }
}

}  // namespace

TorchTrace TraceTorch(Evidence* evidence) {
  if (!ConfigOf(evidence->model()).empty()) {
    TorchTrace none;
    none.problem = "the graph is that of a configuration: no program ran that the tool could watch";
    return none;
  }
  const exporter::Exporter exporter = exporter::ExporterOf(evidence->model());
  TorchTrace trace;
  if (exporter == exporter::Exporter::kDynamo) trace = TraceDynamo(evidence);
  if (exporter == exporter::Exporter::kTorchScript) trace = TraceTorchScript(evidence);
  constexpr exporter::TorchRelease kFusesGroups = {2, 15};
  const std::optional<exporter::TorchRelease> release = exporter::TorchReleaseOf(evidence->model());
  trace.fuses_groups = release && *release >= kFusesGroups;
  CountCallsInBodies(*evidence, &trace);
  FindKinds(*evidence, &trace);
  return trace;
}

namespace {

// Numbers distinct values from 0.
template <typename T>
class Numbering {
 public:
  int32_t operator()(const T& value) {
    return numbers_.try_emplace(value, static_cast<int32_t>(numbers_.size())).first->second;
  }
  int32_t size() const { return static_cast<int32_t>(numbers_.size()); }

 private:
  absl::flat_hash_map<T, int32_t> numbers_;
};

// The facts of a scope that rules read. Its place in the model is not one of them.
using ScopeKey = std::tuple<NnClass, absl::string_view, bool, bool, int32_t, bool>;

// The facts of a call that rules read, except its scope, its target and its entries.
int32_t Flags(const TorchTrace& trace, size_t call) {
  const TorchCall& c = trace.calls[call];
  const int32_t attention = trace.attention_of.empty() ? -1 : trace.attention_of[call];
  const bool bits[] = {
      c.has_bias,
      c.is_affine,
      c.is_out_proj,
      c.is_transposed,
      c.in_torch_nn,
      c.has_source,
      attention >= 0,
      c.arguments.has_output_size,
      c.arguments.is_variant,
      c.is_of_rnn,
      c.is_by_keyword,
      c.is_given_list,
      c.arguments.groups_heads,
      c.arguments.of_recurrent,
      c.arguments.has_biases,
      c.arguments.batch_first,
      c.arguments.has_vector_weight,
      c.arguments.is_unbatched,
      c.arguments.has_named_padding,
      c.is_inside,
  };
  int32_t flags = 0;
  for (const bool bit : bits) flags = flags * 2 + (bit ? 1 : 0);
  return flags;
}

// Equal for layers that tools count alike.
int32_t LayerKey(const TorchTrace& trace, const TorchScope& scope) {
  if (scope.encoder_layer < 0) return -1;
  const TorchEncoderLayer& l = trace.encoder_layers[static_cast<size_t>(scope.encoder_layer)];
  return (l.is_child ? 1 : 0) + (l.fast_path ? 2 : 0);
}

int32_t FastPathKey(const TorchTrace& trace, size_t call) {
  const int32_t attention = trace.attention_of.empty() ? -1 : trace.attention_of[call];
  if (attention < 0) return -1;
  return trace.attentions[static_cast<size_t>(attention)].fast_path.key();
}

}  // namespace

void FindKinds(const Evidence& evidence, TorchTrace* trace) {
  Numbering<ScopeKey> scope_kinds;
  std::vector<int32_t> kind_of_scope;
  kind_of_scope.reserve(trace->scopes.size());
  for (const TorchScope& s : trace->scopes) {
    kind_of_scope.push_back(
        scope_kinds({s.nn_class, s.class_name, s.is_assumed, s.in_timm_attention,
                     LayerKey(*trace, s), s.of_transformers}));
  }
  Numbering<std::vector<int32_t>> kinds;
  std::vector<int32_t> key;
  for (size_t i = 0; i < trace->calls.size(); ++i) {
    TorchCall& call = trace->calls[i];
    key = {static_cast<int32_t>(call.op), kind_of_scope[static_cast<size_t>(call.scope)],
           Flags(*trace, i), call.arguments.normalized_dims, call.spelling.key(),
           FastPathKey(*trace, i), call.positional.key(), call.sizing.key(),
           call.arguments.pool_dims,
           call.arguments.cell_gates * 2 + (call.arguments.is_cell_unbatched ? 1 : 0),
           // Only operators without a rule are named.
           call.op == Aten::kOther ? call.target_number : -1};
    for (EntryId id : trace->entries_of(call)) {
      key.push_back(evidence.entry(id).work);
      key.push_back(evidence.entry(id).times);
    }
    call.kind = kinds(key);
  }
  trace->kinds = kinds.size();
}

}  // namespace onnxflops::convention
