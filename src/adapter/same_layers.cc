// How it works. Operators that can hold a number taken from the traced image, and still run at
// another size, have a rule each. All others must pass the changes of their inputs on to their
// outputs, except operators that sum or select over the changed axis (kTakesUp).
//
// A number below kFew that is small compared with the size is taken literally: the first token, 5
// registers. A larger one may be, say, half of the size.
#include "src/adapter/same_layers.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/graph/fact.h"
#include "src/symbolic/expr.h"

namespace onnxflops::adapter {
namespace {

constexpr int64_t kFew = 8;
constexpr int64_t kToTheEnd = int64_t{1} << 30;

using Names = absl::Span<const absl::string_view>;

bool IsAmong(absl::string_view name, Names names) { return absl::c_linear_search(names, name); }

// The output of these may keep its size although an input grows.
constexpr auto kTakesUp = std::to_array<absl::string_view>({
    // They sum over it.
    "MatMul",
    "Gemm",
    "Einsum",
    "MatMulInteger",
    "QLinearMatMul",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "GlobalLpPool",
    "QLinearGlobalAveragePool",
    "ReduceMean",
    "ReduceSum",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
    "ArgMax",
    "ArgMin",
    "RNN",
    "LSTM",
    "GRU",
    "Attention",
    "MultiHeadAttention",
    "Shape",
    "Size",
    // A rule below decides it.
    "Conv",
    "ConvInteger",
    "QLinearConv",
    "ConvTranspose",
    "FusedConv",
    "AveragePool",
    "MaxPool",
    "LpPool",
    "Reshape",
    "Flatten",
    "Slice",
    "Gather",
    "RoiAlign",
    "MaxRoiPool",
});

// Operators that look up places in their first input which others give.
constexpr auto kByPlace = std::to_array<absl::string_view>(
    {"GatherElements", "GatherND", "ScatterElements", "ScatterND", "Scatter", "GridSample",
     "Compress", "MaxUnpool", "Col2Im", "RotaryEmbedding", "OneHot", "TopK", "Tile", "Attention",
     "MultiHeadAttention", "NonMaxSuppression", "RoiAlign", "MaxRoiPool", "ReverseSequence"});

// The sizes that are not 1.
std::vector<Expr> WithoutOnes(const Shape& shape) {
  std::vector<Expr> out;
  absl::c_copy_if(shape.dims(), std::back_inserter(out),
                  [](const Expr& size) { return size != Expr(1); });
  return out;
}

std::optional<int64_t> At(const Shape& shape, size_t axis) {
  return shape[static_cast<int>(axis)].AsInt64();
}

// A value in both graphs.
struct Pair {
  const Shape* old = nullptr;
  const Shape* now = nullptr;
  bool constant = false;
  bool known() const { return old != nullptr && now != nullptr && old->rank() == now->rank(); }
  bool changed() const { return !known() || *old != *now; }
  bool changed(int axis) const { return (*old)[axis] != (*now)[axis]; }
};

class Layer {
 public:
  // How the pads of a model are interpreted: not used, as numbers if both sides are equal, or as
  // TensorFlow's "same", which then may hold for all of its strided layers.
  enum class Pads : uint8_t { kLeftOut, kNumbers, kMayBeSame };
  Layer(const Inference& exported, const Inference& at_size, NodeId id, Pads reading)
      : old_(exported),
        now_(at_size),
        old_node_(exported.model->node(id)),
        node_(at_size.model->node(id)),
        id_(id),
        reading_(reading) {}

  // True if the pads of this strided layer cannot be "same" padding for any size of the export's
  // parity: then the model pads by fixed numbers.
  bool IsPaddedByNumbers() const {
    if (!Slides() || HasAutoPad() || PadMakesInput() || !Input(0).known()) return false;
    const auto pads = AttributeInts("pads"), strides = AttributeInts("strides");
    for (size_t i = 0; i + 2 < static_cast<size_t>(Input(0).old->rank()); ++i) {
      const std::optional<int64_t> window = Window(i), size = At(*Input(0).old, i + 2);
      const int64_t stride = OrOne(strides, i);
      if (!window || !size || stride < 2) continue;
      const bool has = pads.size() >= 2 * (i + 1);
      const int64_t both = has ? pads[i] + pads[i + pads.size() / 2] : 0;
      if (both != SamePadding(*size, *window, stride)) return true;
    }
    return false;
  }

  absl::Status Check(std::vector<std::string>* warnings) {
    RETURN_IF_ERROR(CheckKnown());
    if (!AnyInputChanged()) return absl::OkStatus();
    if (node_.has_graphs || (node_.function && !now_.model->function(*node_.function).official)) {
      return Refuse("what is inside of it cannot be compared with the export");
    }
    RETURN_IF_ERROR(CheckOperator(warnings));
    return CheckPassesOn();
  }

 private:
  absl::Status Refuse(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(DescribeNode(*now_.model, id_), ": ", what));
  }

  static const Shape* ShapeIn(const Inference& inference, OptionalValueId value) {
    const Fact* fact = inference.FactOf(value);
    return fact != nullptr && fact->is_tensor() && fact->shape.ranked() ? &fact->shape : nullptr;
  }
  Pair Input(size_t i) const {
    const Fact* fact = now_.FactOf(node_.input(i));
    return {ShapeIn(old_, old_node_.input(i)), ShapeIn(now_, node_.input(i)),
            fact != nullptr && fact->constant};
  }
  Pair Output(size_t i) const {
    return {ShapeIn(old_, old_node_.output(i)), ShapeIn(now_, node_.output(i))};
  }
  bool AnyInputChanged() const {
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (node_.inputs[i] && IsTensor(node_.inputs[i]) && Input(i).changed()) return true;
    }
    return node_.has_graphs;
  }
  bool IsTensor(OptionalValueId value) const {
    const Fact* fact = now_.FactOf(value);
    return fact == nullptr || fact->is_tensor() || fact->kind == Fact::Kind::kUnknown;
  }

  // Every output has a shape, with no size of 0 that it had not before.
  absl::Status CheckKnown() const {
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      if (!node_.outputs[i] || !IsTensor(node_.outputs[i])) continue;
      const Pair output = Output(i);
      if (!output.known()) return Refuse("the shape of its output is not known at that size");
      for (int axis = 0; axis < output.now->rank(); ++axis) {
        if ((*output.now)[axis] == Expr(0) && output.changed(axis)) {
          return Refuse("its output is empty at that size");
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckOperator(std::vector<std::string>* warnings) const {
    const absl::string_view op = node_.op_type;
    if (op == "Reshape") return CheckReshape();
    if (op == "Slice") return CheckSlice();
    if (op == "Pad") return CheckPad();
    if (op == "Gather") return CheckGather();
    if (op == "Resize" || op == "Upsample") return CheckResize();
    if (absl::EndsWith(op, "LayerNormalization") || op == "RMSNormalization") return CheckNorm();
    if (absl::StrContains(op, "Pool") && !absl::StrContains(op, "Global") && op != "MaxRoiPool") {
      return CheckPool(warnings);
    }
    if (absl::StrContains(op, "Conv")) return CheckConv();
    if (IsAmong(op, kByPlace)) return CheckPlaces();
    return absl::OkStatus();
  }

  // An output must change, unless the operator may absorb the change.
  absl::Status CheckPassesOn() const {
    if (IsAmong(node_.op_type, kTakesUp)) {
      return absl::OkStatus();
    }
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      if (node_.outputs[i] && (!IsTensor(node_.outputs[i]) || Output(i).changed())) {
        return absl::OkStatus();
      }
    }
    return Refuse("its output has the size that it had in the export, though its input has not");
  }

  // Sizes that input and target share at both ends must still be shared. A size between them must
  // change as one of the input's does, or take the rest; sizes of 1 stay.
  absl::Status CheckReshape() const {
    const Pair in = Input(0), out = Output(0);
    const auto refuse = [&] {
      return Refuse(absl::StrCat("from ", in.now->ToString(), " it makes ", out.now->ToString(),
                                 ", and ", out.old->ToString(), " from ", in.old->ToString(),
                                 " in the export: which sizes follow the image is not plain"));
    };
    for (int axis = 0; axis < out.old->rank(); ++axis) {
      if (((*out.old)[axis] == Expr(1)) != ((*out.now)[axis] == Expr(1))) return refuse();
    }
    std::vector<Expr> from = WithoutOnes(*in.old), to = WithoutOnes(*out.old);
    std::vector<Expr> new_from = WithoutOnes(*in.now), new_to = WithoutOnes(*out.now);
    if (from.size() != new_from.size() || to.size() != new_to.size()) return refuse();
    while (!from.empty() && !to.empty() && from.back() == to.back()) {
      if (new_from.back() != new_to.back()) return refuse();
      for (std::vector<Expr>* sizes : {&from, &to, &new_from, &new_to}) sizes->pop_back();
    }
    size_t first = 0;
    while (first < std::min(from.size(), to.size()) && from[first] == to[first]) {
      if (new_from[first] != new_to[first]) return refuse();
      ++first;
    }
    if (to.size() == first + 1) return absl::OkStatus();
    bool any = false;
    for (size_t i = first; i < to.size(); ++i) {
      if (to[i] == new_to[i]) continue;
      any = true;
      bool follows = false;
      for (size_t k = first; k < from.size(); ++k) {
        follows = follows || (from[k] == to[i] && new_from[k] == new_to[i]);
      }
      if (!follows) return refuse();
    }
    const bool changed = !std::equal(from.begin() + static_cast<std::ptrdiff_t>(first), from.end(),
                                     new_from.begin() + static_cast<std::ptrdiff_t>(first));
    return changed && !any ? refuse() : absl::OkStatus();
  }

  // The content of an input of integers, or of the attribute that it was before; nullopt if a shape
  // decides it.
  std::optional<std::vector<int64_t>> Ints(size_t input, absl::string_view attribute) const {
    std::vector<int64_t> out;
    if (const Attribute* a = node_.FindAttribute(attribute)) {
      return std::vector<int64_t>(a->ints.begin(), a->ints.end());
    }
    const Fact* fact = now_.FactOf(node_.input(input));
    if (fact == nullptr || !fact->constant) return std::nullopt;
    const std::optional<Dims> ints = fact->KnownInts();
    for (size_t i = 0; ints && i < ints->size(); ++i) {
      out.push_back((*ints)[i].AsInt64().value_or(kToTheEnd));
    }
    return ints ? std::make_optional(out) : std::nullopt;
  }
  bool IsComputed(size_t input) const {
    const Fact* fact = now_.FactOf(node_.input(input));
    return fact != nullptr && fact->is_tensor() && !fact->constant;
  }

  absl::Status CheckSlice() const {
    const Pair in = Input(0), out = Output(0);
    if (IsComputed(1) || IsComputed(2)) return absl::OkStatus();
    const auto starts = Ints(1, "starts"), ends = Ints(2, "ends");
    auto axes = Ints(3, "axes");
    if (!starts || !ends || starts->size() != ends->size()) {
      return Refuse("its places are not known");
    }
    for (size_t i = 0; i < starts->size(); ++i) {
      int64_t axis = axes && i < axes->size() ? (*axes)[i] : static_cast<int64_t>(i);
      if (axis < 0) axis += in.old->rank();
      if (axis < 0 || axis >= in.old->rank() || !in.changed(static_cast<int>(axis))) continue;
      const auto a = static_cast<size_t>(axis);
      const std::optional<int64_t> size = At(*in.old, a), after = At(*in.now, a);
      if (!size || !after) continue;
      const int64_t start = (*starts)[i], end = (*ends)[i];
      const bool to_end =
          end >= kToTheEnd || (end < 0 && end >= -kFew) || (end >= *size && end >= *after);
      const bool from_few = start <= kFew && start >= -kFew && 4 * std::abs(start) <= *size;
      const bool few = end > 0 && end <= kFew && 4 * end <= std::min(*size, *after);
      const bool last = start < 0 && to_end;
      if (from_few && (to_end || (start >= 0 && few) || last)) continue;
      return Refuse(absl::StrCat("it takes ", start, " to ", end, " of ", *size,
                                 ", which the size of the export may have decided"));
    }
    return out.known() ? absl::OkStatus() : Refuse("its output is not known");
  }

  absl::Status CheckGather() const {
    const Pair data = Input(0), places = Input(1);
    const Attribute* attribute = node_.FindAttribute("axis");
    int64_t axis = attribute == nullptr ? 0 : attribute->i;
    if (axis < 0) axis += data.old->rank();
    if (axis < 0 || axis >= data.old->rank() || !data.changed(static_cast<int>(axis))) {
      return absl::OkStatus();
    }
    if (!places.constant) return absl::OkStatus();
    const auto ints = Ints(1, "");
    const std::optional<int64_t> size = At(*data.old, static_cast<size_t>(axis));
    if (data.constant && places.changed()) return absl::OkStatus();  // positions, with their table
    if (ints && ints->size() == 1 && std::abs((*ints)[0]) <= kFew && size &&
        4 * std::abs((*ints)[0]) <= *size) {
      return absl::OkStatus();
    }
    return Refuse("the places that it looks up are those of the export's size");
  }

  absl::Status CheckPlaces() const {
    const bool is_attention = absl::StrContains(node_.op_type, "Attention");
    for (size_t i = is_attention ? 3 : 1; i < node_.inputs.size(); ++i) {
      const Pair input = Input(i);
      if (!node_.inputs[i] || !input.constant || !input.known() || input.changed()) continue;
      if (is_attention && input.now->rank() < 2) continue;
      const bool is_one = input.now->NumElements() == Expr(1);
      if (is_one && node_.op_type != "TopK") continue;
      return Refuse("a constant among its inputs is one for the size of the export");
    }
    return absl::OkStatus();
  }

  absl::Status CheckResize() const {
    const Pair in = Input(0), out = Output(0);
    for (int axis = 0; axis < in.old->rank(); ++axis) {
      if (!in.changed(axis)) continue;
      const auto a = static_cast<size_t>(axis);
      const auto from = At(*in.old, a), to = At(*out.old, a);
      const auto new_from = At(*in.now, a), new_to = At(*out.now, a);
      if (IsComputed(2) || IsComputed(3)) continue;
      const bool is_whole = from && to && new_from && new_to && *from > 0 && *to > 0 &&
                            (*to % *from == 0 || *from % *to == 0) &&
                            Expr(*to) * Expr(*new_from) == Expr(*from) * Expr(*new_to);
      if (is_whole) continue;
      return Refuse(absl::StrCat("it makes ", out.now->ToString(), " from ", in.now->ToString(),
                                 ", and ", out.old->ToString(), " from ", in.old->ToString(),
                                 " in the export: a constant holds its size"));
    }
    return absl::OkStatus();
  }

  // Weights have the sizes of the normalised axes.
  absl::Status CheckNorm() const {
    const Pair in = Input(0);
    const Attribute* attribute = node_.FindAttribute("axis");
    int64_t axis = attribute == nullptr ? -1 : attribute->i;
    if (axis < 0) axis += in.old->rank();
    for (; axis >= 0 && axis < in.old->rank(); ++axis) {
      if (!in.changed(static_cast<int>(axis))) continue;
      return Refuse("its weights have the size of the image");
    }
    return absl::OkStatus();
  }

  absl::Span<const int64_t> AttributeInts(absl::string_view name) const {
    const Attribute* attribute = node_.FindAttribute(name);
    return attribute == nullptr ? absl::Span<const int64_t>() : attribute->ints;
  }
  static int64_t OrOne(absl::Span<const int64_t> ints, size_t i) {
    return i < ints.size() ? ints[i] : 1;
  }
  bool HasAutoPad() const {
    const Attribute* a = node_.FindAttribute("auto_pad");
    return a != nullptr && absl::StartsWith(a->s, "SAME");
  }

  // The total padding of TensorFlow's "same".
  static int64_t SamePadding(int64_t size, int64_t window, int64_t stride) {
    return std::max<int64_t>(
        (std::max<int64_t>((size + stride - 1) / stride, 1) - 1) * stride + window - size, 0);
  }
  // True if the pads could be "same" padding in the export, and would differ at the new size.
  static bool MayBeSame(int64_t before, int64_t after, int64_t size, int64_t new_size,
                        int64_t window, int64_t stride) {
    const int64_t same = SamePadding(size, window, stride);
    const bool is_same = same == before + after && std::abs(before - after) <= 1;
    return is_same && same != SamePadding(new_size, window, stride);
  }

  // Pads that differ between the two sides come from "same" padding, or from a Pad that an
  // optimiser merged into the layer.
  absl::Status CheckConv() const {
    const Pair in = Input(0);
    const auto pads = AttributeInts("pads"), strides = AttributeInts("strides");
    if (absl::StartsWith(node_.op_type, "Nhwc")) return Refuse("its layout is not known here");
    if (node_.FindAttribute("output_shape") != nullptr) return Refuse("it has an output_shape");
    if (reading_ == Pads::kLeftOut || HasAutoPad() || in.old->rank() < 3) return absl::OkStatus();
    for (size_t i = 0; i + 2 < static_cast<size_t>(in.old->rank()); ++i) {
      if (!in.changed(static_cast<int>(i + 2)) || pads.size() < 2 * (i + 1)) continue;
      const int64_t before = pads[i], after = pads[i + pads.size() / 2];
      const std::optional<int64_t> window = Window(i);
      const auto size = At(*in.old, i + 2), new_size = At(*in.now, i + 2);
      if (!size || !new_size || (before == after && (before == 0 || reading_ != Pads::kMayBeSame)))
        continue;
      const bool plain =
          window && !MayBeSame(before, after, *size, *new_size, *window, OrOne(strides, i));
      if (!plain) return RefusePads(before, after);
    }
    return absl::OkStatus();
  }
  absl::Status RefusePads(int64_t before, int64_t after) const {
    return Refuse(absl::StrCat("it pads by ", before, " and ", after,
                               ", which the size of the export may have decided"));
  }

  bool Slides() const {
    return absl::StrContains(node_.op_type, "Conv") || absl::StrContains(node_.op_type, "Pool");
  }
  bool PadMakesInput() const {
    const OptionalValueId input = node_.input(0);
    const OptionalNodeId producer = input ? now_.model->value(*input).producer : kNone;
    return producer && now_.model->node(*producer).op_type == "Pad";
  }

  // The extent of the i-th axis of a kernel, with dilation.
  std::optional<int64_t> Window(size_t i) const {
    const auto kernel = AttributeInts("kernel_shape"), dilations = AttributeInts("dilations");
    std::optional<int64_t> size;
    if (i < kernel.size()) size = kernel[i];
    const size_t weight = node_.op_type == "QLinearConv" ? 3 : 1;
    const Pair w = Input(weight);
    if (!size && w.known() && static_cast<int>(i) + 2 < w.now->rank()) size = At(*w.now, i + 2);
    if (!size) return std::nullopt;
    return (*size - 1) * OrOne(dilations, i) + 1;
  }

  // Windows that cover the input without overlap may come from an adaptive pooling.
  absl::Status CheckPool(std::vector<std::string>* warnings) const {
    if (node_.domain == "com.microsoft")
      return Refuse("its windows may follow from the size of the image");
    const Pair in = Input(0);
    const auto kernel = AttributeInts("kernel_shape"), strides = AttributeInts("strides");
    const auto pads = AttributeInts("pads");
    for (size_t i = 0; i < kernel.size(); ++i) {
      if (i + 2 >= static_cast<size_t>(in.old->rank()) || !in.changed(static_cast<int>(i + 2))) {
        continue;
      }
      const std::optional<int64_t> size = At(*in.old, i + 2);
      const bool is_whole = size && *size == kernel[i];
      const bool tiles = size && OrOne(strides, i) == kernel[i] && *size % kernel[i] == 0;
      const bool padded = absl::c_any_of(pads, [](int64_t pad) { return pad != 0; });
      constexpr int64_t kUsual = 2;
      if (!padded && (is_whole || (tiles && kernel[i] != kUsual))) {
        return Refuse(absl::StrCat("its window of ", kernel[i], " covers an input of ", *size,
                                   ": it may be an adaptive pooling, whose window follows"));
      }
      if (!padded && tiles) {
        Note(warnings, "poolings with a window and stride of 2 are taken as fixed, not adaptive");
      }
    }
    return CheckConv();
  }
  static void Note(std::vector<std::string>* warnings, absl::string_view text) {
    if (!absl::c_linear_search(*warnings, text)) warnings->emplace_back(text);
  }

  absl::Status CheckPad() const {
    const Pair in = Input(0), out = Output(0);
    if (IsComputed(1) || reading_ == Pads::kLeftOut) return absl::OkStatus();
    std::vector<int64_t> changed_axes;
    for (int axis = 0; axis < in.old->rank(); ++axis) {
      if (in.changed(axis)) changed_axes.push_back(axis);
    }
    const auto pads = Ints(1, "pads");
    const auto axes = Ints(3, "");
    if (!pads) return Refuse("its pads are not known");
    const size_t n = pads->size() / 2;
    bool any = false;
    for (const int64_t pad : *pads) any = any || pad != 0;
    if (!any) return Refuse("it pads by 0, which the size of the export may have decided");
    for (size_t i = 0; i < n; ++i) {
      int64_t axis = axes && i < axes->size() ? (*axes)[i] : static_cast<int64_t>(i);
      if (axis < 0) axis += in.old->rank();
      if (!absl::c_linear_search(changed_axes, axis)) continue;
      RETURN_IF_ERROR(CheckPads((*pads)[i], (*pads)[i + n], static_cast<size_t>(axis)));
    }
    return out.known() ? absl::OkStatus() : Refuse("its output is not known");
  }

  // Checks the pads of one axis. If convolutions or poolings read the output, they may be "same"
  // padding.
  absl::Status CheckPads(int64_t before, int64_t after, size_t axis) const {
    const Pair in = Input(0);
    const auto size = At(*in.old, axis), new_size = At(*in.now, axis);
    if (!size || !new_size) return absl::OkStatus();
    bool windows = false;
    for (const NodeId user : now_.model->graph(0).nodes) {
      const Node& node = now_.model->node(user);
      if (!node_.output(0) || node.input(0) != node_.output(0)) continue;
      const Layer layer(old_, now_, user, reading_);
      const std::optional<int64_t> window = axis >= 2 ? layer.Window(axis - 2) : std::nullopt;
      if (!layer.Slides() || !window) continue;
      windows = true;
      const int64_t stride = OrOne(layer.AttributeInts("strides"), axis - 2);
      if (MayBeSame(before, after, *size, *new_size, *window, stride)) {
        return RefusePads(before, after);
      }
    }
    return before != after && !windows ? RefusePads(before, after) : absl::OkStatus();
  }

  const Inference& old_;
  const Inference& now_;
  const Node& old_node_;
  const Node& node_;
  const NodeId id_;
  const Pads reading_;
};

}  // namespace

absl::Status CheckSameLayers(const Inference& exported, const Inference& at_size, ValueId image,
                             Padding padding, std::vector<std::string>* warnings) {
  const std::vector<NodeId>& nodes = at_size.model->graph(0).nodes;
  using Pads = Layer::Pads;
  Pads reading = Pads::kLeftOut;
  if (padding == Padding::kChecked) {
    const bool by_numbers = absl::c_any_of(nodes, [&](NodeId id) {
      return Layer(exported, at_size, id, reading).IsPaddedByNumbers();
    });
    reading = by_numbers ? Pads::kNumbers : Pads::kMayBeSame;
  }
  for (const NodeId id : nodes) {
    RETURN_IF_ERROR(Layer(exported, at_size, id, reading).Check(warnings));
  }
  const Fact* input = at_size.FactOf(image);
  for (const ValueId output : at_size.model->graph(0).outputs) {
    const Fact* old = exported.FactOf(output);
    const Fact* now = at_size.FactOf(output);
    if (old == nullptr || now == nullptr || input == nullptr || !old->is_tensor()) continue;
    if (old->shape.rank() == 0 || old->shape[0] == now->shape[0]) continue;
    if (old->shape[0] != input->shape[0]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("output ", Quoted(at_size.model->value(output).name), " has ",
                     now->shape[0].ToString(), " samples instead of ", old->shape[0].ToString()));
  }
  return absl::OkStatus();
}

}  // namespace onnxflops::adapter
