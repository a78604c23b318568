// How it works. The use of a tensor decides whether it is a weight, a buffer, a state or a
// constant. For every stored tensor, and for every input of a function, the finder collects how
// nodes use it: as a weight, as a state, as a mask, or where a parameter is impossible. Rows of
// operators define the meaning of each input. Functions are visited callees first, so that a use
// inside a function counts for the value that a call passes. A value computed from a tensor passes
// its uses back to the tensor (ValueFlow), until nothing changes.
//
// Then RoleOf decides. The signature of torch.export comes first, if the file has one: it lists
// parameters, buffers and constants by name. Clear uses come next. Then names and shapes decide: a
// square matrix used only as a mask is a buffer, a name like a parameter's is a weight, a number is
// a constant. Constant nodes with few elements are constants unless a product takes them as a
// factor. Integers are weights only with 8 bits or less, or 32 as a bias, since index tensors also
// appear at inputs for weights.
#include "src/resolve/parameters.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "ops/contrib/packed_formats.h"
#include "ops/op_def.h"
#include "src/exporter/exporter.h"
#include "src/exporter/fx_node.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/signature.h"
#include "src/exporter/tensor_name.h"
#include "src/family/family.h"
#include "src/resolve/value_flow.h"

namespace onnxflops::resolve {
namespace {

// A tensor of a Constant node with fewer elements is a constant, unless a contraction uses it as a
// weight.
constexpr int64_t kMinConstantWeight = 1024;

// Rank 2 or more, square in the last two dimensions, 1 in the others.
bool IsSquare(const Tensor& tensor) {
  const size_t rank = tensor.dims.size();
  if (rank < 2 || tensor.dims[rank - 1] != tensor.dims[rank - 2]) return false;
  return std::all_of(tensor.dims.begin(), tensor.dims.end() - 2, [](int64_t d) { return d == 1; });
}

// How a stored tensor, or an input of a function, is used. The uses of a function's input also hold
// for the value that a call passes.
struct ValueUse {
  OptionalNodeId first_user;  // in the graph that holds the value; inside a function, the call
  bool used = false;
  bool as_weight = false;  // somewhere it has the place of a weight
  bool as_factor = false;  // and a contraction takes it unchanged, together with an activation
  bool in_weight = false;  // a value computed from it is
  bool as_int32_weight = false;  // at an input that may be int32: a bias
  bool as_parameter = false;     // somewhere it has a place that a parameter may have
  bool as_state = false;         // somewhere it has the place of a state
  bool as_other_than_mask = false;
  bool as_made = false;  // the exporter made it
  int per_byte = 1;      // elements in a byte of a packed weight
  Packing packing;       // the same for formats that are not a number of bits
  // Attributes of the function that decide: of `per_byte`, and whether a Cast makes a mask.
  absl::string_view bits_attribute, cast_attribute;

  bool operator==(const ValueUse&) const = default;
};

constexpr int kDefaultBits = 4;

int PerByte(int64_t bits) { return bits == 2 ? 4 : bits == 4 ? 2 : 1; }

// The value of a function's attribute in a call: given or default; nullptr if there is neither.
const Attribute* Given(const Node& call, const Function& function, absl::string_view name) {
  if (const Attribute* given = call.FindAttribute(name)) return given;
  for (const Attribute& attribute : function.attribute_defaults) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

class RoleFinder {
 public:
  explicit RoleFinder(const ModelData& model)
      : model_(model),
        uses_(model.values.size()),
        stands_for_(model.values.size(), kNone),
        place_(model.values.size()),
        flow_(model),
        signature_(model) {
    FindStored();
    const std::vector<std::vector<NodeId>> nodes = NodesByFunction();
    const std::vector<size_t> order = CalleesFirst(nodes);
    for (const size_t function : order) FindStandIns(nodes[function]);
    for (const size_t function : order) FindUses(nodes[function]);
    FollowFlows();
  }

  std::vector<TensorRole> Roles() {
    std::vector<TensorRole> roles(model_.tensors.size(), TensorRole::kConstant);
    for (size_t v = 0; v < model_.values.size(); ++v) {
      const OptionalTensorId tensor = StoredTensor(static_cast<ValueId>(v));
      if (tensor) roles[static_cast<size_t>(*tensor)] = RoleOf(*tensor, static_cast<ValueId>(v));
    }
    return roles;
  }

  std::vector<Parameter> Parameters() {
    std::vector<Parameter> found;
    const absl::flat_hash_map<ValueId, absl::int128> scales = BytesOfScales();
    const absl::Span<const Value> values = model_.values;
    for (size_t v = 0; v < values.size(); ++v) {
      const auto id = static_cast<ValueId>(v);
      const OptionalTensorId tensor = StoredTensor(id);
      if (!tensor || RoleOf(*tensor, id) != TensorRole::kWeight) continue;
      const Tensor& t = model_.tensor(*tensor);
      const ValueUse& use = uses_[v];
      const absl::string_view name = t.name.empty() ? values[v].name : t.name;
      absl::int128 bytes = BytesOf(t);
      if (const auto scale = scales.find(id); scale != scales.end()) bytes += scale->second;
      found.push_back({id, name, ElementsOf(t, use), bytes, use.first_user});
    }
    return found;
  }

 private:
  static absl::int128 BytesOf(const Tensor& t) {
    return (absl::int128(t.elements) * BitsPerElement(t.dtype) + 7) / 8;
  }

  // Scales and zero points, by the weight of at most 8 bits that the same node takes first. Each
  // is stored once. One for a whole tensor is a single number, which is a constant.
  absl::flat_hash_map<ValueId, absl::int128> BytesOfScales() const {
    absl::flat_hash_map<ValueId, absl::int128> bytes;
    if (absl::c_none_of(model_.tensors, IsNarrow)) return bytes;
    absl::flat_hash_set<ValueId> counted;
    for (const Node& node : model_.nodes) {
      const OpDef* def = flow_.DefOf(node);
      if (def == nullptr || node.function) continue;
      const uint32_t scales = def->operands.not_parameters & ~def->operands.states;
      const OptionalValueId weight = scales == 0 ? kNone : NarrowWeight(node);
      if (!weight) continue;
      for (size_t j = 0; j < node.inputs.size() && j < 32; ++j) {
        if ((scales >> j & 1) == 0) continue;
        const OptionalValueId stored = StoredIn(node.inputs[j]);
        const OptionalTensorId tensor = stored ? StoredTensor(*stored) : kNone;
        if (tensor && model_.tensor(*tensor).elements > 1 && counted.insert(*stored).second)
          bytes[*weight] += BytesOf(model_.tensor(*tensor));
      }
    }
    return bytes;
  }

  static bool IsNarrow(const Tensor& t) { return BitsPerElement(t.dtype) <= 8 && t.elements > 1; }

  // The first input that is a stored weight of at most 8 bits.
  OptionalValueId NarrowWeight(const Node& node) const {
    for (const OptionalValueId input : node.inputs) {
      const OptionalValueId stored = StoredIn(input);
      const OptionalTensorId tensor = stored ? StoredTensor(*stored) : kNone;
      if (tensor && IsNarrow(model_.tensor(*tensor)) &&
          RoleOf(*tensor, *stored) == TensorRole::kWeight) {
        return stored;
      }
    }
    return kNone;
  }

  static absl::int128 ElementsOf(const Tensor& t, const ValueUse& use) {
    const absl::int128 elements = t.elements;
    if (BitsPerElement(t.dtype) != 8) return elements;
    if (use.packing.elements > 0) return elements / use.packing.bytes * use.packing.elements;
    return elements * use.per_byte;
  }

  // ---- order

  // The function that contains a graph; the last number is the main graph.
  size_t FunctionOf(GraphId graph) const {
    const OptionalFunctionId function = model_.graph(graph).function;
    return function ? static_cast<size_t>(*function) : model_.functions.size();
  }

  // The nodes in the order of execution; those of bodies follow the outer graph's.
  std::vector<std::vector<NodeId>> NodesByFunction() const {
    std::vector<std::vector<NodeId>> nodes(model_.functions.size() + 1);
    for (size_t g = 0; g < model_.graphs.size(); ++g) {
      const std::vector<NodeId>& own = model_.graphs[g].nodes;
      std::vector<NodeId>& all = nodes[FunctionOf(static_cast<GraphId>(g))];
      all.insert(all.end(), own.begin(), own.end());
    }
    return nodes;
  }

  // Functions after those that they call. (None calls itself: inference refuses that.)
  std::vector<size_t> CalleesFirst(const std::vector<std::vector<NodeId>>& nodes) const {
    std::vector<std::vector<size_t>> callers(nodes.size());
    std::vector<size_t> open(nodes.size(), 0), order;
    for (size_t f = 0; f < nodes.size(); ++f) {
      for (NodeId id : nodes[f]) {
        const OptionalFunctionId callee = model_.node(id).function;
        if (!callee) continue;
        callers[static_cast<size_t>(*callee)].push_back(f);
        ++open[f];
      }
    }
    for (size_t f = 0; f < nodes.size(); ++f) {
      if (open[f] == 0) order.push_back(f);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      for (size_t caller : callers[order[i]]) {
        if (--open[caller] == 0) order.push_back(caller);
      }
    }
    return order;
  }

  // ---- sources of values

  // Uses are collected for tensors of the file and for inputs of functions.
  void FindStored() {
    for (size_t v = 0; v < model_.values.size(); ++v) {
      if (model_.values[v].initializer) StandFor(static_cast<ValueId>(v), static_cast<ValueId>(v));
    }
    for (const Function& function : model_.functions) {
      const std::vector<ValueId>& inputs = model_.graph(function.body).inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        StandFor(inputs[i], inputs[i]);
        place_[static_cast<size_t>(inputs[i])] = i;
      }
    }
    FindConstants();
  }

  void StandFor(ValueId value, OptionalValueId stored) {
    stands_for_[static_cast<size_t>(value)] = stored;
  }

  void FindConstants() {
    for (const Node& node : model_.nodes) {
      if (!node.inputs.empty() || node.attributes.size() != 1) continue;
      const Attribute& a = node.attributes[0];
      if (a.tensors.size() != 1) continue;
      const OpDef* def = flow_.DefOf(node);
      if (def == nullptr || !Has(def->traits, Traits::kStored)) continue;
      const Tensor& t = model_.tensor(a.tensors[0]);
      const OptionalValueId value = node.output(0);
      const bool may_be = IsFloatOrByte(t.dtype) || t.dtype == DType::kInt32;
      if (t.elements <= 1 || !may_be || !value) continue;
      if (constants_.empty()) constants_.resize(model_.values.size());
      constants_[static_cast<size_t>(*value)] = a.tensors[0];
      StandFor(*value, value);
    }
  }

  OptionalTensorId StoredTensor(ValueId value) const {
    const OptionalTensorId initializer = model_.value(value).initializer;
    if (initializer || constants_.empty()) return initializer;
    return constants_[static_cast<size_t>(value)];
  }

  OptionalValueId StoredIn(OptionalValueId value) const {
    return value ? stands_for_[static_cast<size_t>(*value)] : kNone;
  }

  // A function may give out one of its inputs, or a constant, as it is.
  void FindOutputs(const Node& call) {
    const Graph& body = model_.graph(model_.function(*call.function).body);
    for (size_t j = 0; j < call.outputs.size() && j < body.outputs.size(); ++j) {
      const OptionalValueId inside = StoredIn(body.outputs[j]);
      if (!call.outputs[j] || !inside) continue;
      const std::optional<size_t> place = place_[static_cast<size_t>(*inside)];
      StandFor(*call.outputs[j], place ? StoredIn(call.input(*place)) : inside);
    }
  }

  // Exporters write an Identity for shared weights: its output is its input.
  bool HandsOn(const Node& node) const {
    return node.op_type == "Identity" && node.domain.empty() && StoredIn(node.input(0));
  }

  // ---- uses

  void FindStandIns(const std::vector<NodeId>& nodes) {
    for (const NodeId id : nodes) {
      const Node& node = model_.node(id);
      if (node.function) FindOutputs(node);
      if (HandsOn(node) && node.output(0)) StandFor(*node.output(0), StoredIn(node.input(0)));
    }
  }

  void FindUses(const std::vector<NodeId>& nodes) {
    for (const NodeId id : nodes) {
      const Node& node = model_.node(id);
      if (HandsOn(node)) continue;
      std::optional<Operator> op;
      ValueFlow::Passing moved;
      for (size_t place = 0; place < node.inputs.size(); ++place) {
        if (!node.inputs[place] || !IsMadeOfStored(*node.inputs[place])) continue;
        ValueUse& use = UseOf(*node.inputs[place]);
        if (!use.first_user) use.first_user = id;
        if (node.function) continue;  // as the function uses it
        if (!op) {
          op.emplace(node, flow_.DefOf(node), node.output(0) && flow_.Varies(*node.output(0)));
          moved = flow_.MovedBy(node);
        }
        Use(*op, place, &use);
        UseInNorm(node, place, &use);
        if (!moved.Takes(place) && !op->IsNoParameter(place)) use.as_parameter = true;
      }
    }
  }

  // True if the value is, or is computed from, a stored tensor. Uses of activations are not
  // collected.
  bool IsMadeOfStored(ValueId value) const { return StoredIn(value) || !flow_.Into(value).empty(); }

  // The use of the value, or of the stored tensor that it stands for.
  ValueUse& UseOf(ValueId value) {
    return uses_[static_cast<size_t>(StoredIn(value) ? *StoredIn(value) : value)];
  }

  // A value takes over the uses of values computed from it. A step only adds flags, and there are
  // few, so this terminates.
  void FollowFlows() {
    std::vector<ValueId> open;
    for (size_t v = uses_.size(); v-- > 0;) {
      const auto id = static_cast<ValueId>(v);
      if (uses_[v].used && !flow_.Into(id).empty()) open.push_back(id);
    }
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      for (const Flow& flow : flow_.Into(value)) {
        const OptionalValueId stored = StoredIn(flow.from);
        const ValueId from = stored ? *stored : flow.from;
        ValueUse& use = uses_[static_cast<size_t>(from)];
        const ValueUse before = use;
        Follow(flow, uses_[static_cast<size_t>(value)], &use);
        if (!(use == before)) open.push_back(from);
      }
    }
  }

  void Follow(const Flow& flow, const ValueUse& to, ValueUse* use) const {
    use->in_weight |= to.in_weight;
    use->as_parameter |= to.as_parameter;
    if (flow.kind == Flow::Kind::kComputed) {
      use->in_weight |= to.as_weight;
      return;
    }
    use->used |= to.used;
    use->as_weight |= to.as_weight;
    use->as_int32_weight |= to.as_int32_weight;
    use->as_state |= to.as_state;
    if (flow.kind == Flow::Kind::kGiven) use->as_factor |= to.as_factor;
    if (flow.kind == Flow::Kind::kGiven) return UseInCall(model_.node(flow.node), to, use);
    use->per_byte = std::max(use->per_byte, to.per_byte);
    if (use->packing.elements == 0) use->packing = to.packing;
    if (use->bits_attribute.empty()) use->bits_attribute = to.bits_attribute;
  }

  // The statements of the row of a node's operator about its inputs.
  struct Operator {
    const Node& node;
    OperandRoles roles;
    bool moves_mask;
    absl::string_view cast_attribute;  // of the function around it: the type that a Cast makes
    int per_byte = 1;                  // elements in a byte of a packed weight
    absl::string_view bits_attribute;
    bool contracts;  // with an activation

    Operator(const Node& node, const OpDef* def, bool varies)
        : node(node),
          roles(def == nullptr ? OperandRoles() : def->operands),
          moves_mask(def != nullptr && Has(def->traits, Traits::kMovesMask)),
          contracts(varies && def != nullptr && def->gradient.products != 0) {
      if (const Attribute* to = node.FindAttribute("to"); moves_mask && to != nullptr) {
        cast_attribute = to->ref_attr_name;
        moves_mask = !cast_attribute.empty() || MakesMask(to);
      }
      if (!roles.packed) return;
      const Attribute* bits = node.FindAttribute("bits");
      if (bits == nullptr) bits = node.FindAttribute("expert_weight_bits");
      if (bits != nullptr) bits_attribute = bits->ref_attr_name;
      per_byte = PerByte(bits == nullptr ? kDefaultBits : bits->i);
    }
    bool IsNoParameter(size_t place) const {
      return place < 32 && (roles.not_parameters >> place & 1) != 0;
    }
  };

  static bool MakesMask(const Attribute* to) {
    return to != nullptr && to->i == static_cast<int64_t>(DType::kBool);
  }

  static void Use(const Operator& op, size_t place, ValueUse* use) {
    use->used = true;
    const uint32_t bit = place < 32 ? uint32_t{1} << place : 0;
    if ((op.roles.weights & bit) != 0) {
      use->as_weight = true;
      use->as_factor |= op.contracts;
      if (op.roles.not_parameters != 0) use->as_int32_weight = true;
      if (op.roles.packed) use->per_byte = op.per_byte;
      if (op.roles.packed) use->packing = PackingOf(op.node, place);
      if (op.roles.packed) use->bits_attribute = op.bits_attribute;
    }
    if ((op.roles.states & bit) != 0) use->as_state = true;
    if (!op.moves_mask) use->as_other_than_mask = true;
    CastBy(op.cast_attribute, use);
  }

  // The dynamo exporter makes ones and zeros for a normalisation without parameters. It writes a
  // group_norm as an InstanceNormalization with such ones; then it multiplies and adds the
  // parameters, in another shape and under invented names.
  void UseInNorm(const Node& node, size_t place, ValueUse* use) const {
    const bool normalizes =
        node.op_type == "InstanceNormalization" || node.op_type == "LayerNormalization";
    if (!normalizes && node.op_type != "Mul" && node.op_type != "Add") return;
    const auto text = exporter::NodeMetadata(node.metadata).fx_node;
    if (!text || !exporter::IsFoldedName(model_.value(*node.inputs[place]).name)) return;
    if (exporter::IsFxCall(*text, "aten.group_norm")) {
      use->as_made |= normalizes;
      use->as_weight |= !normalizes && absl::StrContains(*text, exporter::kFxParameter);
    } else if (normalizes && place > 0) {
      use->as_made |= IsLeftOut(*text, place);
    }
  }

  // True if a call of layer_norm or instance_norm has no scale (place 1) or no shift (2).
  static bool IsLeftOut(absl::string_view call, size_t place) {
    const bool is_layer = exporter::IsFxCall(call, "aten.layer_norm");
    if (!is_layer && !exporter::IsFxCall(call, "aten.instance_norm")) return false;
    const absl::string_view given = exporter::ParseFxArgs(call).Get(is_layer ? place + 1 : place,
                                                                    place == 1 ? "weight" : "bias");
    return given.empty() || given == "None";
  }

  // If two attributes decide about casts, the value is not taken for a mask.
  static void CastBy(absl::string_view attribute, ValueUse* use) {
    if (attribute.empty()) return;
    if (use->cast_attribute.empty()) use->cast_attribute = attribute;
    if (use->cast_attribute != attribute) use->as_other_than_mask = true;
  }

  // Adds the uses that depend on attributes of a call: `inside` is the use within the function.
  void UseInCall(const Node& call, const ValueUse& inside, ValueUse* use) const {
    const Function& function = model_.function(*call.function);
    use->as_other_than_mask |= inside.as_other_than_mask;
    int per_byte = inside.per_byte;
    if (!inside.bits_attribute.empty()) {
      const Attribute* bits = Given(call, function, inside.bits_attribute);
      per_byte = PerByte(bits == nullptr ? kDefaultBits : bits->i);
      if (bits != nullptr && use->bits_attribute.empty()) use->bits_attribute = bits->ref_attr_name;
    }
    use->per_byte = std::max(use->per_byte, per_byte);
    if (use->packing.elements == 0) use->packing = inside.packing;
    if (inside.cast_attribute.empty()) return;
    const Attribute* to = Given(call, function, inside.cast_attribute);
    if (to != nullptr && !to->ref_attr_name.empty()) return CastBy(to->ref_attr_name, use);
    if (!MakesMask(to)) use->as_other_than_mask = true;
  }

  TensorRole RoleOf(TensorId id, ValueId value) const {
    const Tensor& t = model_.tensor(id);
    const ValueUse& use = uses_[static_cast<size_t>(value)];
    const bool is_initializer = model_.value(value).initializer.has_value();
    if (!is_initializer && t.elements < kMinConstantWeight && !use.as_factor) {
      return TensorRole::kConstant;
    }
    if (signature_.IsParameter(model_.value(value).name)) return TensorRole::kWeight;
    if (signature_.IsConstant(model_.value(value).name)) return TensorRole::kConstant;
    // Quantised weights are buffers of integers; they count by their use.
    if (IsFloat(t.dtype) && signature_.IsBuffer(model_.value(value).name)) {
      return use.as_state ? TensorRole::kState : TensorRole::kBuffer;
    }
    if (use.used && !use.as_parameter) {
      return use.as_state ? TensorRole::kState : TensorRole::kBuffer;
    }
    if (use.as_made) return TensorRole::kConstant;
    if (IsUsedAsWeight(t, use)) return TensorRole::kWeight;
    if (!is_initializer || !IsFloat(t.dtype)) return TensorRole::kConstant;
    const bool of_config = is_config_ && t.external;
    if (use.used && t.elements != 1 && !use.as_other_than_mask && IsSquare(t) && !of_config) {
      return TensorRole::kBuffer;
    }
    if (exporter::ModuleOfParameter(t.name).has_value()) return TensorRole::kWeight;
    if (t.elements == 1 && is_pytorch_ && exporter::IsScalarParameter(t.name)) {
      return TensorRole::kWeight;
    }
    const bool is_number = t.elements == 1 && use.used && !of_config;
    return is_number || exporter::IsFoldedName(t.name) ? TensorRole::kConstant
                                                       : TensorRole::kWeight;
  }

  // Tensors of indices may have the place of a weight, in a Gather; weights that are integers have
  // at most 8 bits, their biases 32. A number that a weight is computed with is a constant.
  static bool IsUsedAsWeight(const Tensor& t, const ValueUse& use) {
    const bool has_place = use.as_weight || (use.in_weight && t.elements != 1);
    return (has_place && IsFloatOrByte(t.dtype)) ||
           (t.dtype == DType::kInt32 && use.as_int32_weight);
  }

  static bool IsFloatOrByte(DType type) {
    return IsFloat(type) || (IsInteger(type) && BitsPerElement(type) <= 8);
  }

  const ModelData& model_;
  const bool is_config_ = !ConfigOf(model_).empty();  // its weights are outside the file
  const bool is_pytorch_ = exporter::ExporterOf(model_) != exporter::Exporter::kOther;
  std::vector<ValueUse> uses_;                // by ValueId: of values that are their own source
  std::vector<OptionalValueId> stands_for_;   // by ValueId: the stored value or input that it is
  std::vector<std::optional<size_t>> place_;  // by ValueId: of an input of a function
  std::vector<OptionalTensorId>
      constants_;  // by ValueId: tensors of Constant nodes that may be weights, or empty
  const ValueFlow flow_;
  const exporter::Signature signature_;
};

}  // namespace

std::vector<TensorRole> FindRoles(const ModelData& model) { return RoleFinder(model).Roles(); }

std::vector<Parameter> FindParameters(const ModelData& model, const Ties& ties) {
  std::vector<Parameter> found = RoleFinder(model).Parameters();
  if (ties.empty()) return found;
  const auto is_copy = [&](const Parameter& p) { return ties.contains(p.value); };
  found.erase(std::remove_if(found.begin(), found.end(), is_copy), found.end());
  return found;
}

}  // namespace onnxflops::resolve
