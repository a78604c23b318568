#include "src/convention/onnx/shapes.h"

#include <algorithm>
#include <bitset>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "src/base/limits.h"

namespace onnxflops {
namespace {

using Flags = OnnxShapes::Flags;
using Known = OnnxShapes::Known;

// Contents are shapes: longer ones are not followed, so that a chain of Concats cannot grow.
constexpr size_t kMostElements = 1024;

// ONNX Runtime puts some operators of its own into ONNX's domain.
constexpr absl::string_view kOnnxRuntimeOnly[] = {
    "SimplifiedLayerNormalization",
    "Affine",
    "Crop",
    "DynamicSlice",
    "GivenTensorFill",
    "GRUUnit",
    "Scale",
    "ATen",
    "ParametricSoftplus",
    "ImageScaler",
    "ScaledTanh",
};

// Operators with one rule: Follower has it under the same name.
constexpr absl::string_view kBroadcast[] = {
    "Div",   "Pow",  "Min",         "Max",     "Mean",           "Sum",  "Mod", "And", "Or", "Xor",
    "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Where"};
constexpr absl::string_view kSameAsFirst[] = {"Abs",
                                              "Acos",
                                              "Asin",
                                              "Atan",
                                              "BatchNormalization",
                                              "Ceil",
                                              "Celu",
                                              "Clip",
                                              "Cos",
                                              "CumSum",
                                              "DequantizeLinear",
                                              "Elu",
                                              "Erf",
                                              "Exp",
                                              "Floor",
                                              "Gelu",
                                              "HardSigmoid",
                                              "HardSwish",
                                              "Hardmax",
                                              "Identity",
                                              "InstanceNormalization",
                                              "LayerNormalization",
                                              "Dropout",
                                              "IsInf",
                                              "IsNaN",
                                              "LRN",
                                              "LeakyRelu",
                                              "Log",
                                              "LogSoftmax",
                                              "LpNormalization",
                                              "Mish",
                                              "Neg",
                                              "Not",
                                              "PRelu",
                                              "QuantizeLinear",
                                              "Reciprocal",
                                              "Relu",
                                              "Round",
                                              "ScatterElements",
                                              "ScatterND",
                                              "Selu",
                                              "Sigmoid",
                                              "Sign",
                                              "Sin",
                                              "Softmax",
                                              "Softplus",
                                              "Softsign",
                                              "Sqrt",
                                              "Tan",
                                              "Tanh",
                                              "Trilu"};
constexpr absl::string_view kReduce[] = {
    "ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
    "ReduceMean", "ReduceMin", "ReduceProd",   "ReduceSum",       "ReduceSumSquare"};
// Not inferred, or of sizes that depend on data.
constexpr absl::string_view kNothing[] = {"NonMaxSuppression",
                                          "Unique",
                                          "Compress",
                                          "MaxUnpool",
                                          "StringSplit",
                                          "SequenceAt",
                                          "ConcatFromSequence",
                                          "SplitToSequence",
                                          "OptionalGetElement",
                                          "SequenceInsert",
                                          "SequenceErase",
                                          "SequenceConstruct",
                                          "SequenceEmpty",
                                          "Optional",
                                          "ImageDecoder",
                                          "Multinomial",
                                          "TfIdfVectorizer",
                                          "CenterCropPad",
                                          "AffineGrid",
                                          "Col2Im",
                                          "BlackmanWindow",
                                          "HannWindow",
                                          "HammingWindow",
                                          "DFT",
                                          "STFT",
                                          "MelWeightMatrix"};

bool All(const Flags& flags) {
  return std::all_of(flags.begin(), flags.end(), [](bool flag) { return flag; });
}

}  // namespace

// One rule per operator, of what it takes to know the output's dimensions. Where a rule does not
// apply, an output is known if all inputs are, and else nothing of it.
class OnnxShapes::Follower {
 public:
  Follower(const Inference& inference, const OnnxShapeOptions& options, std::vector<Known>* known)
      : inference_(inference), model_(*inference.model), options_(options), known_(*known) {
    known_.resize(model_.values.size());
    opset_ = model_.OpsetOf("").value_or(0);
    content_left_ = kMaxExtraContent +
                    inference.limits.content_per_node * static_cast<int64_t>(model_.nodes.size());
    is_output_.resize(model_.values.size(), false);
    for (ValueId id : model_.graphs[0].outputs) is_output_[static_cast<size_t>(id)] = true;
    const Instance& main = inference.instances[0];
    defs_.resize(model_.nodes.size(), nullptr);
    for (size_t i = 0; i < main.calls.size(); ++i) {
      defs_[static_cast<size_t>(model_.graphs[0].nodes[i])] = inference.call(main.calls[i]).def;
    }
  }

  OptionalNodeId Run() {
    const Graph& graph = model_.graphs[0];
    for (ValueId id : graph.inputs) SetAll(id);
    for (ValueId id : graph.initializers) {
      SetAll(id);
      SetConstant(id);
    }
    OptionalNodeId doubt;
    for (NodeId id : graph.nodes) {
      Follow(id);
      if (!doubt && !KnowsAll(model_.node(id))) doubt = id;
    }
    return doubt;
  }

 private:
  using Rule = void (Follower::*)(const Node&);

  Known& At(ValueId id) { return known_[static_cast<size_t>(id)]; }
  // The i-th input; nothing is known of one that is left out.
  const Known& In(const Node& node, size_t i) {
    static const Known& nothing = *new Known;
    const OptionalValueId input = node.input(i);
    return input ? At(*input) : nothing;
  }
  static bool Has(const Node& node, size_t i) { return node.input(i).has_value(); }
  const Fact* FactOf(OptionalValueId id) const { return inference_.FactOf(id); }
  const Shape* ShapeOf(OptionalValueId id) const {
    const Fact* fact = FactOf(id);
    return fact != nullptr && fact->is_tensor() && fact->shape.ranked() ? &fact->shape : nullptr;
  }
  static int64_t Int(const Node& node, absl::string_view name, int64_t default_value) {
    const Attribute* a = node.FindAttribute(name);
    return a == nullptr ? default_value : a->i;
  }

  // What is found of an output that is left out is nobody's.
  void SetAll(OptionalValueId id) {
    if (!id) return;
    const Shape* shape = ShapeOf(id);
    Known& known = At(*id);
    known.typed = true;
    known.ranked = shape != nullptr;
    known.dims.clear();
    if (shape == nullptr) return;
    for (const Expr& dim : shape->dims()) known.dims.push_back(dim.is_literal());
  }
  // Ranked as it is, nothing else known.
  void SetRank(OptionalValueId id) {
    if (!id) return;
    SetAll(id);
    std::fill(At(*id).dims.begin(), At(*id).dims.end(), false);
  }
  void Set(OptionalValueId id, const Flags& flags) {
    const Shape* shape = ShapeOf(id);
    if (shape == nullptr || shape->dims().size() != flags.size()) return;
    At(*id).ranked = true;
    At(*id).dims = flags;
  }
  void SetConstant(OptionalValueId id) {
    if (!id) return;
    Known& known = At(*id);
    known.constant = true;
    const Fact* fact = FactOf(id);
    if (fact == nullptr || !fact->has_content() || !IsInteger(fact->dtype)) return;
    if (fact->shape.rank() > 1) return;
    if (!SpendContent(fact->content->size())) return;
    known.has_content = true;
    known.content.assign(fact->content->size(), true);
  }
  // Elements of contents that are followed; one element always is.
  bool SpendContent(size_t elements) {
    content_left_ -= static_cast<int64_t>(elements);
    return elements <= 1 || content_left_ >= 0;
  }
  void SetContent(OptionalValueId id, const Flags& flags) {
    if (!id || !options_.data_propagation || flags.size() > kMostElements) return;
    if (!SpendContent(flags.size())) return;
    At(*id).has_content = true;
    At(*id).content = flags;
  }

  // There is nothing to know of a value that is left out.
  bool IsKnown(OptionalValueId id) { return !id || (At(*id).ranked && All(At(*id).dims)); }
  bool KnowsAll(const Node& node) {
    return std::all_of(node.outputs.begin(), node.outputs.end(),
                       [&](OptionalValueId id) { return IsKnown(id); });
  }

  void Follow(NodeId id) {
    const Node& node = model_.node(id);
    static const auto& rules = *new absl::flat_hash_map<absl::string_view, Rule>(Rules());
    const auto it = rules.find(node.op_type);
    const bool typed = !Has(node, 0) || In(node, 0).typed;
    if (IsOperator(id)) {
      for (OptionalValueId output : node.outputs) {
        if (output) At(*output).typed = typed;
      }
      if (typed && it != rules.end()) {
        (this->*it->second)(node);
      } else if (typed && !node.has_graphs) {
        Default(node);
      }
    }
    for (OptionalValueId output : node.outputs) {
      if (!output) continue;
      if (options_.declared || is_output_[static_cast<size_t>(*output)]) Declare(*output);
    }
  }

  static absl::flat_hash_map<absl::string_view, Rule> Rules();

  // Whether ONNX defines the operator, in the version that the file imports.
  bool IsOperator(NodeId id) const {
    const Node& node = model_.node(id);
    if (!node.domain.empty() || node.function) return false;
    if (Contains(kOnnxRuntimeOnly, node.op_type)) return false;
    const OpDef* def = defs_[static_cast<size_t>(id)];
    return def != nullptr && !def->versions.empty() && def->versions[0] <= opset_;
  }
  template <typename List>
  static bool Contains(const List& list, absl::string_view op) {
    return std::find(std::begin(list), std::end(list), op) != std::end(list);
  }

  // ---- rules

  bool KnowsInputs(const Node& node) {
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](OptionalValueId id) { return IsKnown(id); });
  }
  void Default(const Node& node) {
    if (!KnowsInputs(node)) return;
    for (OptionalValueId id : node.outputs) SetAll(id);
  }
  void Nothing(const Node&) {}
  void RankOnly(const Node& node) {
    if (In(node, 0).ranked) SetRank(node.output(0));
  }
  void Constant(const Node& node) {
    SetAll(node.output(0));
    SetConstant(node.output(0));
  }
  void SameAsFirst(const Node& node) {
    if (In(node, 0).ranked) Set(node.output(0), In(node, 0).dims);
  }
  void Cast(const Node& node) {
    SameAsFirst(node);
    CopyContent(node);
  }
  void CopyContent(const Node& node) {
    if (In(node, 0).has_content) SetContent(node.output(0), In(node, 0).content);
  }

  // One dimension of several that broadcast, aligned at the end: known if one that is not 1 is, or
  // all are.
  bool BroadcastDim(const std::vector<ValueId>& values, int from_end) {
    bool all = true;
    for (ValueId id : values) {
      const Known& known = At(id);
      const int axis = static_cast<int>(known.dims.size()) - from_end;
      if (axis < 0) continue;
      const bool flag = known.dims[static_cast<size_t>(axis)];
      if (flag && (*ShapeOf(id))[axis] != Expr(1)) return true;
      all = all && flag;
    }
    return all;
  }
  void Broadcast(const Node& node) {
    std::vector<ValueId> values;
    for (OptionalValueId id : node.inputs) {
      if (!id || !At(*id).ranked || ShapeOf(id) == nullptr) return;
      values.push_back(*id);
    }
    const Shape* out = ShapeOf(node.output(0));
    if (out == nullptr) return;
    Flags flags;
    for (int i = 0; i < out->rank(); ++i) flags.push_back(BroadcastDim(values, out->rank() - i));
    Set(node.output(0), flags);
  }
  // Add, Sub, Mul of sizes.
  void Arithmetic(const Node& node) {
    Broadcast(node);
    const Known& a = In(node, 0);
    const Known& b = In(node, 1);
    if (!a.has_content || !b.has_content || a.content.empty() || b.content.empty()) return;
    const size_t size = std::max(a.content.size(), b.content.size());
    if ((a.content.size() != size && a.content.size() != 1) ||
        (b.content.size() != size && b.content.size() != 1)) {
      return;
    }
    Flags flags;
    for (size_t i = 0; i < size; ++i) {
      flags.push_back(a.content[std::min(i, a.content.size() - 1)] &&
                      b.content[std::min(i, b.content.size() - 1)]);
    }
    SetContent(node.output(0), flags);
  }

  void MatMul(const Node& node) {
    const Known& a = In(node, 0);
    const Known& b = In(node, 1);
    const Shape* out = ShapeOf(node.output(0));
    if (!a.ranked || !b.ranked || out == nullptr) return;
    if (a.dims.size() < 2 || b.dims.size() < 2) return Default(node);
    Flags flags;
    const std::vector<ValueId> both = {*node.input(0), *node.input(1)};  // ranked: they are there
    for (int i = 0; i + 2 < out->rank(); ++i) flags.push_back(BroadcastDim(both, out->rank() - i));
    flags.push_back(a.dims[a.dims.size() - 2]);
    flags.push_back(b.dims[b.dims.size() - 1]);
    Set(node.output(0), flags);
  }
  void Gemm(const Node& node) {
    const Known& a = In(node, 0);
    const Known& b = In(node, 1);
    if (a.dims.size() != 2 || b.dims.size() != 2) return;
    Set(node.output(0),
        {a.dims[Int(node, "transA", 0) != 0 ? 1 : 0], b.dims[Int(node, "transB", 0) != 0 ? 0 : 1]});
  }
  void Transpose(const Node& node) {
    const Known& x = In(node, 0);
    if (!x.ranked) return;
    Flags flags(x.dims.rbegin(), x.dims.rend());
    if (const Attribute* perm = node.FindAttribute("perm"); perm != nullptr) {
      flags.clear();
      for (int64_t axis : perm->ints) {
        if (axis < 0 || axis >= static_cast<int64_t>(x.dims.size())) return;
        flags.push_back(x.dims[static_cast<size_t>(axis)]);
      }
    }
    Set(node.output(0), flags);
  }

  // What is known of a shape that is an input: its elements, or at least how many they are.
  std::optional<Flags> ShapeInput(const Node& node, size_t i) {
    const Known& known = In(node, i);
    if (known.has_content) return known.content;
    const Shape* shape = ShapeOf(node.input(i));
    if (shape == nullptr || known.dims.size() != 1 || !known.dims[0]) return std::nullopt;
    const auto size = (*shape)[0].AsInt64();
    constexpr int64_t kMostDims = 64;
    if (!size || *size < 0 || *size > kMostDims) return std::nullopt;
    return Flags(static_cast<size_t>(*size), false);
  }
  std::optional<int64_t> Element(const Node& node, size_t i, size_t at) const {
    const Fact* fact = FactOf(node.input(i));
    if (fact == nullptr || !fact->has_content() || at >= fact->content->size()) return std::nullopt;
    const Scalar& scalar = (*fact->content)[at];
    return scalar.is_int() ? scalar.i.AsInt64() : std::nullopt;
  }
  void Reshape(const Node& node) {
    std::optional<Flags> flags = ShapeInput(node, 1);
    if (!flags) return;
    const Known& x = In(node, 0);
    for (size_t i = 0; i < flags->size(); ++i) {
      if (!(*flags)[i]) continue;
      const auto size = Element(node, 1, i);
      if (size == 0 && Int(node, "allowzero", 0) == 0) {
        (*flags)[i] = x.ranked && i < x.dims.size() && x.dims[i];
      } else if (size == -1) {
        (*flags)[i] = x.ranked && All(x.dims);
      }
    }
    // The rest is an exact quotient only if all else is known.
    if (!All(*flags)) {
      for (size_t i = 0; i < flags->size(); ++i) {
        if (Element(node, 1, i) == -1) (*flags)[i] = false;
      }
    }
    Set(node.output(0), *flags);
  }
  void Expand(const Node& node) {
    const std::optional<Flags> target = ShapeInput(node, 1);
    const Known& x = In(node, 0);
    const Shape* out = ShapeOf(node.output(0));
    const Shape* in = ShapeOf(node.input(0));
    if (!target || !x.ranked || out == nullptr || in == nullptr) return;
    Flags flags;
    for (size_t i = 0; i < out->dims().size(); ++i) {
      const size_t from_end = out->dims().size() - i;
      bool found = false, all = true;
      if (from_end <= x.dims.size()) {
        const bool flag = x.dims[x.dims.size() - from_end];
        found = flag && (*in)[in->rank() - static_cast<int>(from_end)] != Expr(1);
        all = flag;
      }
      if (from_end <= target->size()) {
        const size_t at = target->size() - from_end;
        found = found || ((*target)[at] && Element(node, 1, at) != 1);
        all = all && (*target)[at];
      }
      flags.push_back(found || all);
    }
    Set(node.output(0), flags);
  }
  void ConstantOfShape(const Node& node) {
    if (const auto flags = ShapeInput(node, 0)) Set(node.output(0), *flags);
  }

  void Shape_(const Node& node) {
    SetAll(node.output(0));
    const Known& x = In(node, 0);
    if (!x.ranked) return SetRank(node.output(0));  // [?]
    const int64_t rank = static_cast<int64_t>(x.dims.size());
    const auto clamp = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const int64_t begin = clamp(Int(node, "start", 0)), end = clamp(Int(node, "end", rank));
    Flags flags;
    for (int64_t i = begin; i < end; ++i) flags.push_back(x.dims[static_cast<size_t>(i)]);
    SetContent(node.output(0), flags);
  }
  void Size_(const Node& node) {
    SetAll(node.output(0));
    if (In(node, 0).ranked && All(In(node, 0).dims)) SetContent(node.output(0), {true});
  }
  void Gather(const Node& node) {
    const Known& x = In(node, 0);
    const Known& indices = In(node, 1);
    if (!x.ranked || !indices.ranked) return;
    int64_t axis = Int(node, "axis", 0);
    if (axis < 0) axis += static_cast<int64_t>(x.dims.size());
    if (axis < 0 || axis >= static_cast<int64_t>(x.dims.size())) return;
    Flags flags(x.dims.begin(), x.dims.begin() + axis);
    flags.insert(flags.end(), indices.dims.begin(), indices.dims.end());
    flags.insert(flags.end(), x.dims.begin() + axis + 1, x.dims.end());
    Set(node.output(0), flags);
    if (axis != 0 || !x.has_content || !indices.has_content) return;
    Flags content;
    for (size_t i = 0; i < indices.content.size(); ++i) {
      auto at = Element(node, 1, i);
      if (!indices.content[i] || !at) return;
      if (*at < 0) *at += static_cast<int64_t>(x.content.size());
      if (*at < 0 || *at >= static_cast<int64_t>(x.content.size())) return;
      content.push_back(x.content[static_cast<size_t>(*at)]);
    }
    if (!content.empty()) SetContent(node.output(0), content);
  }
  void Concat(const Node& node) {
    const Shape* out = ShapeOf(node.output(0));
    if (out == nullptr) return;
    int64_t axis = Int(node, "axis", 0);
    if (axis < 0) axis += out->rank();
    Flags flags(out->dims().size(), false);
    Flags content;
    bool has_content = axis == 0, all_on_axis = true;
    for (size_t n = 0; n < node.inputs.size(); ++n) {
      const Known& x = In(node, n);
      if (!x.ranked || x.dims.size() != flags.size()) return;
      for (size_t i = 0; i < flags.size(); ++i) flags[i] = flags[i] || x.dims[i];
      all_on_axis =
          all_on_axis && axis >= 0 && axis < out->rank() && x.dims[static_cast<size_t>(axis)];
      has_content = has_content && x.has_content && content.size() <= kMostElements;
      if (!has_content) continue;
      content.insert(content.end(), x.content.begin(), x.content.end());
    }
    if (axis >= 0 && axis < out->rank()) flags[static_cast<size_t>(axis)] = all_on_axis;
    Set(node.output(0), flags);
    if (has_content) SetContent(node.output(0), content);
  }
  bool AreConstant(const Node& node, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (Has(node, i) && !In(node, i).constant) return false;
    }
    return true;
  }
  void Slice(const Node& node) {
    const Known& x = In(node, 0);
    if (!x.ranked) return;
    if (!AreConstant(node, 1, 5)) return SetRank(node.output(0));
    Set(node.output(0), x.dims);  // a sliced dimension is known if it was
    if (!node.output(0)) return;
    const Known& y = At(*node.output(0));
    const auto start = Element(node, 1, 0), end = Element(node, 2, 0);
    const bool plain = node.inputs.size() < 5 || Element(node, 4, 0) == 1;
    if (!x.has_content || !start || !end || !plain || y.dims.size() != 1) return;
    const int64_t size = static_cast<int64_t>(x.content.size());
    const auto clamp = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
    };
    Flags content;
    for (int64_t i = clamp(*start); i < clamp(*end); ++i) {
      content.push_back(x.content[static_cast<size_t>(i)]);
    }
    if (!content.empty()) SetContent(node.output(0), content);
  }

  // A set of axes.
  using Axes = std::bitset<kMaxRank>;

  // Axes of an attribute or a constant, made positive for a rank; nullopt where they are not known.
  std::optional<Axes> AxesOf(const Node& node, size_t rank) {
    if (rank > kMaxRank) return std::nullopt;
    Axes axes;
    const auto add = [&](int64_t axis) {
      if (axis < 0) axis += static_cast<int64_t>(rank);
      if (axis < 0 || axis >= static_cast<int64_t>(rank)) return false;
      axes.set(static_cast<size_t>(axis));
      return true;
    };
    if (const Attribute* a = node.FindAttribute("axes"); a != nullptr) {
      if (!std::all_of(a->ints.begin(), a->ints.end(), add)) return std::nullopt;
      return axes;
    }
    const Fact* fact = FactOf(node.input(1));
    if (fact == nullptr || !In(node, 1).constant || !fact->has_content()) return std::nullopt;
    // There are as many as dimensions, at most.
    if (fact->content->size() > rank) return std::nullopt;
    for (size_t i = 0; i < fact->content->size(); ++i) {
      const auto axis = Element(node, 1, i);
      if (!axis || !add(*axis)) return std::nullopt;
    }
    return axes;
  }
  void Squeeze(const Node& node) {
    const Known& x = In(node, 0);
    CopyContent(node);
    if (!x.ranked) return;
    const auto axes = AxesOf(node, x.dims.size());
    if (!axes) return Has(node, 1) ? void() : Default(node);
    Flags flags;
    for (size_t i = 0; i < x.dims.size(); ++i) {
      if (!axes->test(i)) flags.push_back(x.dims[i]);
    }
    Set(node.output(0), flags);
  }
  void Unsqueeze(const Node& node) {
    const Known& x = In(node, 0);
    CopyContent(node);
    const Shape* out = ShapeOf(node.output(0));
    if (!x.ranked || out == nullptr) return;
    const auto axes = AxesOf(node, out->dims().size());
    if (!axes) return;
    Flags flags;
    size_t next = 0;
    for (size_t i = 0; i < out->dims().size(); ++i) {
      flags.push_back(axes->test(i) || (next < x.dims.size() && x.dims[next++]));
    }
    Set(node.output(0), flags);
  }
  void Reduce(const Node& node) {
    const Known& x = In(node, 0);
    if (!x.ranked) return;
    const bool keep = Int(node, "keepdims", 1) != 0;
    const bool none = node.FindAttribute("axes") == nullptr && !Has(node, 1);
    const auto axes = AxesOf(node, x.dims.size());
    if (none) return Default(node);
    if (!axes) return keep ? SetRank(node.output(0)) : void();
    Flags flags;
    for (size_t i = 0; i < x.dims.size(); ++i) {
      const bool reduced = axes->test(i);
      if (!reduced || keep) flags.push_back(reduced || x.dims[i]);
    }
    Set(node.output(0), flags);
  }
  // Contents that must be constants for more than the rank to be known.
  void Tile(const Node& node) {
    if (!In(node, 0).ranked) return;
    if (!AreConstant(node, 1, 2)) return SetRank(node.output(0));
    Set(node.output(0), In(node, 0).dims);
  }
  void Pad(const Node& node) {
    if (!In(node, 0).ranked) return;
    if (!AreConstant(node, 1, 2) || !AreConstant(node, 3, 4)) return SetRank(node.output(0));
    Set(node.output(0), In(node, 0).dims);
  }
  void Resize(const Node& node) {
    if (!In(node, 0).ranked) return;
    if (Has(node, 3)) {
      SetRank(node.output(0));
      const auto sizes = ShapeInput(node, 3);
      if (sizes && node.FindAttribute("axes") == nullptr) Set(node.output(0), *sizes);
      return;
    }
    const size_t scales = node.inputs.size() == 2 ? 1 : 2;
    if (!AreConstant(node, scales, scales + 1)) return SetRank(node.output(0));
    Set(node.output(0), In(node, 0).dims);
  }
  void Range(const Node& node) {
    if (AreConstant(node, 0, 3)) {
      SetAll(node.output(0));
    } else {
      SetRank(node.output(0));
    }
  }
  void TopK(const Node& node) {
    for (OptionalValueId id : node.outputs) {
      if (!In(node, 0).ranked) continue;
      if (AreConstant(node, 1, 2)) {
        Set(id, In(node, 0).dims);
      } else {
        SetRank(id);
      }
    }
  }
  void OneHot(const Node& node) {
    if (!In(node, 0).ranked) return;
    if (AreConstant(node, 1, 2)) return Default(node);
    SetRank(node.output(0));
  }
  void Split(const Node& node) {
    const Known& x = In(node, 0);
    for (OptionalValueId id : node.outputs) {
      if (!x.ranked) continue;
      if (AreConstant(node, 1, 2)) {
        Set(id, x.dims);
      } else {
        SetRank(id);
      }
    }
  }
  void NonZero(const Node& node) {
    if (ShapeOf(node.output(0)) != nullptr) Set(node.output(0), {In(node, 0).ranked, false});
  }
  // Convolution and pooling: a spatial size is known where the input's is.
  void Conv(const Node& node) {
    const Known& x = In(node, 0);
    const Known& w = In(node, 1);
    if (!x.ranked || x.dims.size() < 2 || !w.ranked || !All(w.dims)) return Default(node);
    Flags flags = x.dims;
    flags[1] = true;
    Set(node.output(0), flags);
  }
  void GlobalPool(const Node& node) {
    const Known& x = In(node, 0);
    if (!x.ranked || x.dims.size() < 2) return;
    Flags flags(x.dims.size(), true);
    flags[0] = x.dims[0];
    flags[1] = x.dims[1];
    Set(node.output(0), flags);
  }
  void Flatten(const Node& node) {
    const Known& x = In(node, 0);
    if (!x.ranked) return;
    const int64_t rank = static_cast<int64_t>(x.dims.size());
    int64_t axis = Int(node, "axis", 1);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis > rank) return;
    Set(node.output(0), {All(Flags(x.dims.begin(), x.dims.begin() + axis)),
                         All(Flags(x.dims.begin() + axis, x.dims.end()))});
  }
  void ArgReduce(const Node& node) {
    const Known& x = In(node, 0);
    int64_t axis = Int(node, "axis", 0);
    if (axis < 0) axis += static_cast<int64_t>(x.dims.size());
    if (!x.ranked || axis < 0 || axis >= static_cast<int64_t>(x.dims.size())) return;
    Flags flags = x.dims;
    if (Int(node, "keepdims", 1) != 0) {
      flags[static_cast<size_t>(axis)] = true;
    } else {
      flags.erase(flags.begin() + axis);
    }
    Set(node.output(0), flags);
  }
  void GatherNd(const Node& node) {
    const Known& x = In(node, 0);
    const Known& indices = In(node, 1);
    const Shape* shape = ShapeOf(node.input(1));
    if (!x.ranked || !indices.ranked || indices.dims.empty() || shape == nullptr) return;
    const int64_t rank = static_cast<int64_t>(x.dims.size());
    const int64_t last = (*shape)[shape->rank() - 1].AsInt64().value_or(-1);
    const int64_t batch = Int(node, "batch_dims", 0);
    if (!indices.dims.back() || last < 0 || last > rank || batch < 0 || batch > rank - last) return;
    const int64_t begin = last + batch;
    Flags flags(indices.dims.begin(), indices.dims.end() - 1);
    flags.insert(flags.end(), x.dims.begin() + begin, x.dims.end());
    Set(node.output(0), flags);
  }
  void SecondsShape(const Node& node) {
    if (In(node, 1).ranked) Set(node.output(0), In(node, 1).dims);
  }
  void Rnn(const Node& node) {
    const Known& x = In(node, 0);
    if (node.FindAttribute("hidden_size") == nullptr || !x.ranked || x.dims.size() != 3) return;
    if (Int(node, "layout", 0) != 0) return Default(node);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      Set(node.outputs[i],
          i == 0 ? Flags{x.dims[0], true, x.dims[1], true} : Flags{true, x.dims[1], true});
    }
  }

  // What the file says of the value is known as well.
  void Declare(ValueId id) {
    const DeclaredType* type = model_.value(id).declared;
    const Shape* shape = ShapeOf(id);
    if (type == nullptr || !type->has_shape || shape == nullptr ||
        type->dims.size() != shape->dims().size()) {
      return;
    }
    Flags flags;
    for (size_t i = 0; i < type->dims.size(); ++i) {
      const bool known = At(id).ranked && At(id).dims[i];
      flags.push_back(known || type->dims[i].size >= 0);
    }
    Set(id, flags);
  }

  const Inference& inference_;
  const ModelData& model_;
  const OnnxShapeOptions options_;
  std::vector<Known>& known_;
  int64_t opset_ = 0;
  int64_t content_left_ = 0;
  std::vector<bool> is_output_;     // of the main graph, by ValueId
  std::vector<const OpDef*> defs_;  // by NodeId
};

absl::flat_hash_map<absl::string_view, OnnxShapes::Follower::Rule> OnnxShapes::Follower::Rules() {
  using F = Follower;
  absl::flat_hash_map<absl::string_view, Rule> rules = {
      {"Constant", &F::Constant},
      {"Cast", &F::Cast},
      {"Add", &F::Arithmetic},
      {"Sub", &F::Arithmetic},
      {"Mul", &F::Arithmetic},
      {"MatMul", &F::MatMul},
      {"Gemm", &F::Gemm},
      {"Transpose", &F::Transpose},
      {"Reshape", &F::Reshape},
      {"Expand", &F::Expand},
      {"ConstantOfShape", &F::ConstantOfShape},
      {"Shape", &F::Shape_},
      {"Size", &F::Size_},
      {"Gather", &F::Gather},
      {"Concat", &F::Concat},
      {"Slice", &F::Slice},
      {"Squeeze", &F::Squeeze},
      {"Unsqueeze", &F::Unsqueeze},
      {"Tile", &F::Tile},
      {"Pad", &F::Pad},
      {"Resize", &F::Resize},
      {"Upsample", &F::Resize},
      {"Range", &F::Range},
      {"TopK", &F::TopK},
      {"OneHot", &F::OneHot},
      {"Split", &F::Split},
      {"NonZero", &F::NonZero},
      {"GatherElements", &F::SecondsShape},
      {"Conv", &F::Conv},
      {"AveragePool", &F::SameAsFirst},
      {"MaxPool", &F::SameAsFirst},
      {"GlobalAveragePool", &F::GlobalPool},
      {"GlobalMaxPool", &F::GlobalPool},
      {"Flatten", &F::Flatten},
      {"ArgMax", &F::ArgReduce},
      {"ArgMin", &F::ArgReduce},
      {"GatherND", &F::GatherNd},
      {"LSTM", &F::Rnn},
      {"GRU", &F::Rnn},
      {"RNN", &F::Rnn},
  };
  for (absl::string_view op : kBroadcast) rules.emplace(op, &F::Broadcast);
  for (absl::string_view op : kSameAsFirst) rules.emplace(op, &F::SameAsFirst);
  for (absl::string_view op : kReduce) rules.emplace(op, &F::Reduce);
  for (absl::string_view op : kNothing) rules.emplace(op, &F::Nothing);
  return rules;
}

OnnxShapes::OnnxShapes(const Inference& inference, const OnnxShapeOptions& options) {
  first_doubt_ = Follower(inference, options, &known_).Run();
}

}  // namespace onnxflops
