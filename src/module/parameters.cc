#include "src/module/parameters.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace onnxflops {
namespace {

// A tensor of a Constant node with fewer elements is a constant, whatever it is used for.
constexpr int64_t kMinConstantWeight = 1024;

constexpr uint32_t Inputs(std::initializer_list<int> places) {
  uint32_t mask = 0;
  for (int place : places) mask |= uint32_t{1} << place;
  return mask;
}

// What an operator keeps at which input. Operators that are not listed keep what they want.
struct Places {
  absl::string_view op;
  uint32_t weights;         // the place of a weight
  uint32_t not_parameters;  // statistics, states, scales, zero points, masks, tables of angles
  bool packed = false;      // weights come as bytes that hold 8/bits elements
};

// Sorted by name. Operators of the same name in two domains agree in what matters here.
constexpr Places kPlaces[] = {
    {"Attention", Inputs({1, 2}), Inputs({3, 5})},
    {"BatchNormalization", Inputs({1, 2}), Inputs({3, 4})},
    {"BiasGelu", Inputs({1}), 0},
    {"Conv", Inputs({1, 2}), 0},
    {"ConvInteger", Inputs({1}), Inputs({2, 3})},
    {"ConvTranspose", Inputs({1, 2}), 0},
    {"DeformConv", Inputs({1, 3}), 0},
    {"DequantizeLinear", Inputs({0}), Inputs({1, 2})},
    {"DynamicQuantizeLSTM", Inputs({1, 2, 3, 7}), Inputs({5, 6, 8, 9, 10, 11})},
    {"DynamicQuantizeMatMul", Inputs({1, 4}), Inputs({2, 3})},
    {"Einsum", Inputs({0, 1, 2, 3}), 0},
    {"EmbedLayerNormalization", Inputs({2, 3, 4, 5, 6}), 0},
    {"FastGelu", Inputs({1}), 0},
    {"FusedConv", Inputs({1, 2}), 0},
    {"FusedGemm", Inputs({0, 1, 2}), 0},
    {"FusedMatMul", Inputs({0, 1}), 0},
    {"GRU", Inputs({1, 2, 3}), Inputs({5})},
    {"Gather", Inputs({0}), 0},
    {"GatherBlockQuantized", Inputs({0}), Inputs({2, 3}), true},
    {"Gemm", Inputs({0, 1, 2}), 0},
    {"GemmFastGelu", Inputs({1, 2}), 0},
    {"GroupNorm", Inputs({1, 2}), 0},
    {"GroupNormalization", Inputs({1, 2}), 0},
    {"GroupQueryAttention", 0, Inputs({7, 8, 10})},
    {"InstanceNormalization", Inputs({1, 2}), 0},
    {"LSTM", Inputs({1, 2, 3, 7}), Inputs({5, 6})},
    {"LayerNormalization", Inputs({1, 2}), 0},
    {"MatMul", Inputs({0, 1}), 0},
    {"MatMulBnb4", Inputs({1}), Inputs({2}), true},
    {"MatMulFpQ4", Inputs({1}), Inputs({2}), true},
    {"MatMulInteger", Inputs({0, 1}), Inputs({2, 3})},
    {"MatMulIntegerToFloat", Inputs({0, 1, 6}), Inputs({2, 3, 4, 5})},
    {"MatMulNBits", Inputs({1, 5}), Inputs({2, 3, 4}), true},
    {"MoE", Inputs({2, 3, 4, 5, 6, 7}), 0},
    {"MultiHeadAttention", Inputs({3}), Inputs({4, 5})},
    {"NhwcConv", Inputs({1, 2}), 0},
    {"PRelu", Inputs({1}), 0},
    {"QAttention", Inputs({1, 2}), Inputs({3, 4, 6, 7})},
    {"QEmbedLayerNormalization", Inputs({2, 3, 4, 5, 6}),
     Inputs({8, 9, 10, 11, 12, 13, 14, 15, 16, 17})},
    {"QGemm", Inputs({3, 6}), Inputs({1, 2, 4, 5, 7, 8})},
    {"QLinearAdd", Inputs({0, 3}), Inputs({1, 2, 4, 5, 6, 7})},
    {"QLinearConv", Inputs({3, 8}), Inputs({1, 2, 4, 5, 6, 7})},
    {"QLinearMatMul", Inputs({3}), Inputs({1, 2, 4, 5, 6, 7})},
    {"QLinearMul", Inputs({0, 3}), Inputs({1, 2, 4, 5, 6, 7})},
    {"QMoE", Inputs({2, 4, 5, 7, 8, 10}), Inputs({3, 6, 9, 11, 12, 13}), true},
    {"QuantizeLinear", Inputs({0}), Inputs({1, 2})},
    {"RMSNormalization", Inputs({1}), 0},
    {"RNN", Inputs({1, 2, 3}), Inputs({5})},
    {"RotaryEmbedding", 0, Inputs({1, 2, 3})},
    {"SimplifiedLayerNormalization", Inputs({1}), 0},
    {"SkipLayerNormalization", Inputs({2, 3, 4}), 0},
    {"SkipSimplifiedLayerNormalization", Inputs({2, 3}), 0},
};

// What only moves or tests a mask, or adds it.
constexpr absl::string_view kMaskUsers[] = {"Add",   "And", "Equal",   "Expand", "Greater",
                                            "Less",  "Not", "Or",      "Slice",  "Unsqueeze",
                                            "Where", "Sub", "Identity"};

// ATen operators (and val) after which the dynamo exporter names tensors that it folded.
constexpr absl::string_view kFoldedNames[] = {
    "add",       "arange", "bitwise_and", "clone", "cos",         "cumsum", "div",
    "exp",       "full",   "index",       "le",    "logical_not", "lt",     "mul",
    "neg",       "ones",   "permute",     "pow",   "rsqrt",       "rsub",   "scalar_tensor_default",
    "sin",       "slice",  "sqrt",        "stack", "sub",         "tril",   "triu",
    "unsqueeze", "val",    "where",       "zeros"};

const Places* PlacesOf(absl::string_view op) {
  const auto* end = std::end(kPlaces);
  const auto* it = std::lower_bound(std::begin(kPlaces), end, op,
                                    [](const Places& p, absl::string_view o) { return p.op < o; });
  return it != end && it->op == op ? it : nullptr;
}

// "val_31", "add", "unsqueeze_16".
bool IsFoldedName(absl::string_view name) {
  const size_t underscore = name.rfind('_');
  if (underscore != absl::string_view::npos) {
    const absl::string_view number = name.substr(underscore + 1);
    if (std::all_of(number.begin(), number.end(), absl::ascii_isdigit)) {
      name = name.substr(0, underscore);
    }
  }
  return std::find(std::begin(kFoldedNames), std::end(kFoldedNames), name) !=
         std::end(kFoldedNames);
}

// Rank 2 or more, square in the last two dimensions, 1 in the others.
bool IsSquare(const Tensor& tensor) {
  const size_t rank = tensor.dims.size();
  if (rank < 2 || tensor.dims[rank - 1] != tensor.dims[rank - 2]) return false;
  return std::all_of(tensor.dims.begin(), tensor.dims.end() - 2, [](int64_t d) { return d == 1; });
}

class Finder {
 public:
  explicit Finder(const ModelData& model) : model_(model), uses_(model.tensors.size()) {}

  std::vector<Parameter> Find() {
    FindLargeConstants();
    for (size_t i = 0; i < model_.nodes.size(); ++i) {
      const Node& node = model_.nodes[i];
      std::optional<Operator> op;
      for (size_t place = 0; place < node.inputs.size(); ++place) {
        const OptionalValueId value = node.inputs[place];
        if (!value) continue;
        const OptionalTensorId tensor = StoredTensor(*value);
        if (!tensor) continue;
        if (!op) op.emplace(node);
        Use(static_cast<NodeId>(i), *op, place, *tensor);
      }
    }
    std::vector<Parameter> found;
    for (size_t v = 0; v < model_.values.size(); ++v) {
      const OptionalTensorId tensor = StoredTensor(static_cast<ValueId>(v));
      if (!tensor) continue;
      const Tensor& t = model_.tensor(*tensor);
      const TensorUse& use = uses_[static_cast<size_t>(*tensor)];
      if (!IsParameter(t, use, !model_.values[v].initializer)) continue;
      const absl::int128 elements = t.elements;
      const absl::string_view name = t.name.empty() ? model_.values[v].name : t.name;
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
    bool as_other_than_mask = false;
    int elements_per_byte = 1;
  };

  void FindLargeConstants() {
    for (size_t v = 0; v < model_.values.size(); ++v) {
      const OptionalNodeId producer = model_.values[v].producer;
      if (!producer) continue;
      const Node& node = model_.node(*producer);
      if (node.op_type != "Constant" || node.attributes.size() != 1) continue;
      const Attribute& a = node.attributes[0];
      if (a.tensors.size() != 1) continue;
      const Tensor& t = model_.tensor(a.tensors[0]);
      if (t.elements < kMinConstantWeight) continue;
      if (constants_.empty()) constants_.resize(model_.values.size());
      constants_[v] = a.tensors[0];
    }
  }

  OptionalTensorId StoredTensor(ValueId value) const {
    const OptionalTensorId initializer = model_.value(value).initializer;
    if (initializer || constants_.empty()) return initializer;
    return constants_[static_cast<size_t>(value)];
  }

  // What a node's operator says of its inputs.
  struct Operator {
    const Places* places;  // nullptr: what it wants
    bool uses_mask;        // as masks are used
    int per_byte;          // elements in a byte of a packed weight

    explicit Operator(const Node& node)
        : places(node.function ? nullptr : PlacesOf(node.op_type)),
          uses_mask(UsesMask(node)),
          per_byte(places != nullptr && places->packed ? PerByte(node) : 1) {}
  };

  void Use(NodeId id, const Operator& op, size_t place, TensorId tensor) {
    TensorUse& use = uses_[static_cast<size_t>(tensor)];
    if (!use.first_user) use.first_user = id;
    const uint32_t bit = place < 32 ? uint32_t{1} << place : 0;
    const DType type = model_.tensor(tensor).dtype;
    if (op.places != nullptr && (op.places->weights & bit) != 0 && IsWeightType(type, *op.places)) {
      use.as_weight = true;
      if (op.places->packed) use.elements_per_byte = BitsPerElement(type) == 8 ? op.per_byte : 1;
    }
    if (op.places == nullptr || (op.places->not_parameters & bit) == 0) use.as_parameter = true;
    if (!op.uses_mask) use.as_other_than_mask = true;
  }

  // How many elements a byte of a packed weight holds.
  static int PerByte(const Node& node) {
    const Attribute* bits = node.FindAttribute("bits");
    if (bits == nullptr) bits = node.FindAttribute("expert_weight_bits");
    const int64_t b = bits == nullptr ? 4 : bits->i;
    return b == 2 ? 4 : b == 4 ? 2 : 1;
  }

  static bool UsesMask(const Node& node) {
    if (node.op_type == "Cast") {
      const Attribute* to = node.FindAttribute("to");
      return to != nullptr && to->i == static_cast<int64_t>(DType::kBool);
    }
    return std::find(std::begin(kMaskUsers), std::end(kMaskUsers), node.op_type) !=
           std::end(kMaskUsers);
  }

  static bool IsParameter(const Tensor& t, const TensorUse& use, bool in_constant_node) {
    const bool used = use.first_user.has_value();
    if (used && !use.as_parameter) return false;
    if (use.as_weight) return true;
    if (in_constant_node || !IsFloat(t.dtype)) return false;
    const bool path = absl::StrContains(t.name, ".");
    if (t.elements == 1) return path || (!used && !IsFoldedName(t.name));
    if (used && !use.as_other_than_mask && IsSquare(t)) return false;
    return path || !IsFoldedName(t.name);
  }

  // Tensors of indices may have the place of a weight, in a Gather; weights that are integers have
  // at most 8 bits, their biases 32.
  static bool IsWeightType(DType type, const Places& places) {
    return IsFloat(type) || (IsInteger(type) && BitsPerElement(type) <= 8) ||
           (type == DType::kInt32 && places.not_parameters != 0);
  }

  const ModelData& model_;
  std::vector<TensorUse> uses_;  // by TensorId
  std::vector<OptionalTensorId>
      constants_;  // by ValueId: large tensors of Constant nodes; empty if none
};

}  // namespace

std::vector<Parameter> FindParameters(const ModelData& model) { return Finder(model).Find(); }

}  // namespace onnxflops
