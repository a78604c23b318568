#include "src/resolve/parameters.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "ops/op_def.h"
#include "src/base/limits.h"
#include "src/exporter/tensor_name.h"
#include "src/family/family.h"
#include "src/resolve/operators.h"

namespace onnxflops::resolve {
namespace {

// A tensor of a Constant node with fewer elements is a constant, whatever it is used for.
constexpr int64_t kMinConstantWeight = 1024;

// Rank 2 or more, square in the last two dimensions, 1 in the others.
bool IsSquare(const Tensor& tensor) {
  const size_t rank = tensor.dims.size();
  if (rank < 2 || tensor.dims[rank - 1] != tensor.dims[rank - 2]) return false;
  return std::all_of(tensor.dims.begin(), tensor.dims.end() - 2, [](int64_t d) { return d == 1; });
}

class RoleFinder {
 public:
  explicit RoleFinder(const ModelData& model) : model_(model), uses_(model.tensors.size()) {}

  std::vector<TensorRole> Roles() {
    FindUses();
    std::vector<TensorRole> roles(model_.tensors.size(), TensorRole::kConstant);
    for (size_t v = 0; v < model_.values.size(); ++v) {
      const OptionalTensorId tensor = StoredTensor(static_cast<ValueId>(v));
      if (tensor) roles[static_cast<size_t>(*tensor)] = RoleOf(*tensor, model_.values[v]);
    }
    return roles;
  }

  std::vector<Parameter> Parameters() {
    FindUses();
    std::vector<Parameter> found;
    const absl::Span<const Value> values = model_.values;
    for (size_t v = 0; v < values.size(); ++v) {
      const OptionalTensorId tensor = StoredTensor(static_cast<ValueId>(v));
      if (!tensor || RoleOf(*tensor, values[v]) != TensorRole::kWeight) continue;
      const Tensor& t = model_.tensor(*tensor);
      const TensorUse& use = uses_[static_cast<size_t>(*tensor)];
      const absl::int128 elements = t.elements;
      const absl::string_view name = t.name.empty() ? values[v].name : t.name;
      found.push_back({static_cast<ValueId>(v), name, elements * use.elements_per_byte,
                       (elements * BitsPerElement(t.dtype) + 7) / 8, use.first_user});
    }
    return found;
  }

 private:
  struct TensorUse {
    OptionalNodeId first_user;
    bool as_weight = false;     // somewhere it has the place of a weight
    bool as_parameter = false;  // somewhere it has a place that a parameter may have
    bool as_state = false;      // somewhere it has the place of a state
    bool as_other_than_mask = false;
    int elements_per_byte = 1;
  };

  void FindUses() {
    FindLargeConstants();
    const absl::Span<const Node> nodes = model_.nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = nodes[i];
      std::optional<Operator> op;
      for (size_t place = 0; place < node.inputs.size(); ++place) {
        const OptionalValueId value = node.inputs[place];
        if (!value) continue;
        const OptionalTensorId tensor = StoredTensor(*value);
        if (!tensor) continue;
        if (!op) op.emplace(node, DefOf(node));
        Use(static_cast<NodeId>(i), *op, place, *tensor);
      }
    }
  }

  void FindLargeConstants() {
    for (const Node& node : model_.nodes) {
      if (!node.inputs.empty() || node.attributes.size() != 1) continue;
      const Attribute& a = node.attributes[0];
      if (a.tensors.size() != 1) continue;
      const OpDef* def = DefOf(node);
      if (def == nullptr || !Has(def->traits, Traits::kStored)) continue;
      const Tensor& t = model_.tensor(a.tensors[0]);
      const OptionalValueId value = node.output(0);
      if (t.elements < kMinConstantWeight || !value) continue;
      if (constants_.empty()) constants_.resize(model_.values.size());
      constants_[static_cast<size_t>(*value)] = a.tensors[0];
    }
  }

  OptionalTensorId StoredTensor(ValueId value) const {
    const OptionalTensorId initializer = model_.value(value).initializer;
    if (initializer || constants_.empty()) return initializer;
    return constants_[static_cast<size_t>(value)];
  }

  // What a node's operator says of its inputs.
  struct Operator {
    OperandRoles roles;
    bool moves_mask;
    int per_byte;  // elements in a byte of a packed weight

    Operator(const Node& node, const OpDef* def)
        : roles(def == nullptr ? OperandRoles() : def->operands),
          moves_mask(MovesMask(node, def)),
          per_byte(roles.packed ? PerByte(node) : 1) {}
  };

  void Use(NodeId id, const Operator& op, size_t place, TensorId tensor) {
    TensorUse& use = uses_[static_cast<size_t>(tensor)];
    if (!use.first_user) use.first_user = id;
    const uint32_t bit = place < 32 ? uint32_t{1} << place : 0;
    const DType type = model_.tensor(tensor).dtype;
    if ((op.roles.weights & bit) != 0 && IsWeightType(type, op.roles)) {
      use.as_weight = true;
      if (op.roles.packed) use.elements_per_byte = BitsPerElement(type) == 8 ? op.per_byte : 1;
    }
    if ((op.roles.not_parameters & bit) == 0) use.as_parameter = true;
    if ((op.roles.states & bit) != 0) use.as_state = true;
    if (!op.moves_mask) use.as_other_than_mask = true;
  }

  // The row of the node's operator; nullptr if it has none. What weights are is the same in every
  // version, and files hold operators that are newer than the opset they declare.
  const OpDef* DefOf(const Node& node) {
    return node.function ? nullptr : rows_.Find(node.domain, node.op_type, kMaxOpset).def;
  }

  // How many elements a byte of a packed weight holds.
  static int PerByte(const Node& node) {
    const Attribute* bits = node.FindAttribute("bits");
    if (bits == nullptr) bits = node.FindAttribute("expert_weight_bits");
    const int64_t b = bits == nullptr ? 4 : bits->i;
    return b == 2 ? 4 : b == 4 ? 2 : 1;
  }

  static bool MovesMask(const Node& node, const OpDef* def) {
    if (def == nullptr || !Has(def->traits, Traits::kMovesMask)) return false;
    const Attribute* to = node.FindAttribute("to");
    return to == nullptr || to->i == static_cast<int64_t>(DType::kBool);
  }

  TensorRole RoleOf(TensorId id, const Value& value) const {
    const Tensor& t = model_.tensor(id);
    const TensorUse& use = uses_[static_cast<size_t>(id)];
    const bool used = use.first_user.has_value();
    if (used && !use.as_parameter) {
      return use.as_state ? TensorRole::kState : TensorRole::kBuffer;
    }
    if (use.as_weight) return TensorRole::kWeight;
    if (!value.initializer || !IsFloat(t.dtype)) return TensorRole::kConstant;
    const bool of_config = is_config_ && t.external;
    if (used && t.elements != 1 && !use.as_other_than_mask && IsSquare(t) && !of_config) {
      return TensorRole::kBuffer;
    }
    if (exporter::ModuleOfParameter(t.name).has_value()) return TensorRole::kWeight;
    const bool is_number = t.elements == 1 && used && !of_config;
    return is_number || exporter::IsFoldedName(t.name) ? TensorRole::kConstant
                                                       : TensorRole::kWeight;
  }

  // Tensors of indices may have the place of a weight, in a Gather; weights that are integers have
  // at most 8 bits, their biases 32.
  static bool IsWeightType(DType type, const OperandRoles& roles) {
    return IsFloat(type) || (IsInteger(type) && BitsPerElement(type) <= 8) ||
           (type == DType::kInt32 && roles.not_parameters != 0);
  }

  const ModelData& model_;
  const bool is_config_ = !ConfigOf(model_).empty();  // its weights are what is outside of the file
  const Operators operators_;
  RowFinder rows_{operators_};
  std::vector<TensorUse> uses_;  // by TensorId
  std::vector<OptionalTensorId>
      constants_;  // by ValueId: large tensors of Constant nodes; empty if none
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
