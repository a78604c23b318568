// How tensors lie in memory: their strides, by the rules of PyTorch's operators on a CPU.
//
//   a view              of its input: transpose, slice, expand; reshape where it copies nothing
//   element by element  as its operands lie, by the rules of TensorIterator
//   all others          in order; or not known
//
// Nodes are met in the order in which they run. A node of a call that no rule here knows gives what
// is not known: taken for a tensor in order, and no fact.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "src/base/limits.h"
#include "src/convention/torch/tool.h"
#include "src/convention/torch/trace.h"

namespace onnxflops::convention {
namespace {

// The ranks of tensors that may lie with their channels last: [batch, channels, height, width] and
// one more.
constexpr int kImage = 4, kVolume = 5;

using Numbers = std::array<int64_t, kMaxLayoutRank>;

struct Layout {
  int rank = 0;
  Numbers sizes{}, strides{};
  bool is_known = false;  // the rest of it
  bool is_sure = false;   // it follows from the file

  absl::Span<const int64_t> shape() const { return {sizes.data(), static_cast<size_t>(rank)}; }
};

int64_t& At(Numbers& numbers, int i) { return numbers[static_cast<size_t>(i)]; }
int64_t At(const Numbers& numbers, int i) { return numbers[static_cast<size_t>(i)]; }

// The strides of a tensor in order.
Numbers InOrder(const Layout& x) {
  Numbers strides{};
  int64_t next = 1;
  for (int i = x.rank - 1; i >= 0; --i) {
    At(strides, i) = next;
    next *= std::max<int64_t>(At(x.sizes, i), 1);
  }
  return strides;
}

bool IsInOrder(const Layout& x) {
  const Numbers strides = InOrder(x);
  for (int i = 0; i < x.rank; ++i) {
    if (At(x.sizes, i) == 0) return true;
  }
  for (int i = 0; i < x.rank; ++i) {
    if (At(x.sizes, i) != 1 && At(x.strides, i) != At(strides, i)) return false;
  }
  return true;
}

// Each place in memory belongs to one element.
bool IsDense(const Layout& x) {
  std::array<int, kMaxLayoutRank> all{};
  const absl::Span<int> order = absl::MakeSpan(all).subspan(0, static_cast<size_t>(x.rank));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    if (At(x.sizes, a) < 2 || At(x.sizes, b) < 2) return At(x.sizes, a) >= 2 && At(x.sizes, b) < 2;
    return At(x.strides, a) < At(x.strides, b);
  });
  int64_t expected = 1;
  for (int i : order) {
    if (At(x.sizes, i) < 2) break;
    if (At(x.strides, i) != expected) return false;
    expected *= At(x.sizes, i);
  }
  return true;
}

// at::detail::computeStride: the strides of a view of other sizes; nullopt if it has to be copied.
std::optional<Numbers> StridesOfView(const Layout& x, absl::Span<const int64_t> sizes) {
  Numbers strides{};
  int at = static_cast<int>(sizes.size()) - 1;
  if (x.rank == 0) {
    for (int i = 0; i <= at; ++i) At(strides, i) = 1;
    return strides;
  }
  int64_t base = At(x.strides, x.rank - 1), of_tensor = 1, of_view = 1;
  for (int i = x.rank - 1; i >= 0; --i) {
    of_tensor *= At(x.sizes, i);
    const bool ends =
        i == 0 || (At(x.sizes, i - 1) != 1 && At(x.strides, i - 1) != of_tensor * base);
    if (!ends) continue;
    while (at >= 0 && (of_view < of_tensor || sizes[static_cast<size_t>(at)] == 1)) {
      At(strides, at) = of_view * base;
      of_view *= sizes[static_cast<size_t>(at--)];
    }
    if (of_view != of_tensor) return std::nullopt;
    if (i > 0) base = At(x.strides, i - 1);
    of_tensor = of_view = 1;
  }
  if (at != -1) return std::nullopt;
  return strides;
}

// TensorIteratorBase: how the result of operands lies that are met element by element.
class Iterated {
 public:
  explicit Iterated(const Layout& result) : result_(result) {}

  void Add(const Layout& operand) {
    if (!std::equal(operand.shape().begin(), operand.shape().end(), result_.shape().begin(),
                    result_.shape().end())) {
      all_same_shape_ = false;
    }
    Numbers strides{};
    const int offset = result_.rank - operand.rank;
    for (int i = 0; i < operand.rank; ++i) {
      const bool spread = At(operand.sizes, i) == 1 && At(result_.sizes, offset + i) != 1;
      At(strides, offset + i) = spread ? 0 : At(operand.strides, i);
    }
    operands_.push_back(strides);
    all_in_order_ = all_in_order_ && IsInOrder(operand);
    all_dense_ = all_dense_ && IsDense(operand);
  }

  Numbers Strides() const {
    if (all_same_shape_ && all_in_order_) return InOrder(result_);
    const bool equal = std::all_of(operands_.begin(), operands_.end(),
                                   [&](const Numbers& o) { return o == operands_[0]; });
    if (all_same_shape_ && all_dense_ && equal) return operands_[0];
    const std::vector<int> order = Order();
    Numbers strides{};
    int64_t next = 1;
    for (int dim : order) {
      At(strides, dim) = next;
      next *= std::max<int64_t>(At(result_.sizes, dim), 1);
    }
    return strides;
  }

 private:
  // Positive if the first dimension belongs behind the second.
  int Compare(int a, int b) const {
    for (const Numbers& strides : operands_) {
      const int64_t x = At(strides, a), y = At(strides, b);
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      if (At(result_.sizes, a) > At(result_.sizes, b)) return 1;
    }
    return 0;
  }

  // The dimensions, the one that moves fastest first: an insertion sort in which some do not
  // compare.
  std::vector<int> Order() const {
    std::vector<int> order(static_cast<size_t>(result_.rank));
    std::iota(order.rbegin(), order.rend(), 0);
    for (size_t i = 1; i < order.size(); ++i) {
      size_t moved = i;
      for (size_t j = i; j-- > 0;) {
        const int comparison = Compare(order[j], order[moved]);
        if (comparison < 0) break;
        if (comparison == 0) continue;
        std::swap(order[j], order[moved]);
        moved = j;
      }
    }
    return order;
  }

  const Layout& result_;
  std::vector<Numbers> operands_;
  bool all_same_shape_ = true, all_in_order_ = true, all_dense_ = true;
};

// ATen operators whose result is a tensor in order, whatever their operands are.
constexpr absl::string_view kMakeInOrder[] = {
    "linear",
    "matmul",
    "mm",
    "bmm",
    "addmm",
    "baddbmm",
    "layer_norm",
    "softmax",
    "_softmax",
    "log_softmax",
    "embedding",
    "repeat",
    "mean",
    "var",
    "std",
    "prod",
    "linalg_vector_norm",
    "sum",
    "masked_fill",
    "_unsafe_view",
    "amax",
    "amin",
    "zeros",
    "ones",
    "arange",
    "full",
    "contiguous",
    "stack",
};
// ATen operators that give a view, or their input itself.
constexpr absl::string_view kViews[] = {
    "view",      "reshape", "transpose", "permute", "t",         "unsqueeze", "squeeze",
    "slice",     "select",  "split",     "chunk",   "unbind",    "narrow",    "split_with_sizes",
    "expand",    "alias",   "detach",    "flatten", "expand_as", "swapaxes",  "movedim",
    "unflatten", "dropout", "getitem",
};
// Operators of ONNX that are met element by element.
constexpr absl::string_view kElementwise[] = {
    "Add",         "Sub",      "Mul",
    "Div",         "Pow",      "Sqrt",
    "Exp",         "Log",      "Erf",
    "Relu",        "Gelu",     "Tanh",
    "Sigmoid",     "Clip",     "Neg",
    "Abs",         "Cast",     "Identity",
    "LeakyRelu",   "Elu",      "HardSigmoid",
    "HardSwish",   "Where",    "Max",
    "Min",         "Sin",      "Cos",
    "Reciprocal",  "Softplus", "Greater",
    "Less",        "Equal",    "GreaterOrEqual",
    "LessOrEqual", "And",      "Or",
    "Not",         "Mish",     "Floor",
    "Ceil",
};
constexpr absl::string_view kShapeOnly[] = {"Reshape", "Flatten", "Unsqueeze", "Squeeze"};
// Operators on images: their result lies as their input does, if that is in order.
constexpr absl::string_view kOnImages[] = {
    "Conv",
    "ConvTranspose",
    "MaxPool",
    "AveragePool",
    "GlobalAveragePool",
    "Resize",
    "Pad",
    "Concat",
    "InstanceNormalization",
    "GroupNormalization",
    "BatchNormalization",
};

constexpr absl::string_view kPools[] = {"MaxPool", "AveragePool", "GlobalAveragePool"};

class LayoutFinder {
 public:
  LayoutFinder(const Evidence& evidence, TorchTrace* trace) : evidence_(evidence), trace_(*trace) {}

  void Run() {
    FindCalls();
    for (size_t i = 0; i < evidence_.entries().size(); ++i) {
      const EntryId id = static_cast<EntryId>(i);
      Visit(id, call_of_[i] < 0 ? nullptr : &trace_.calls[static_cast<size_t>(call_of_[i])]);
    }
  }

 private:
  void FindCalls() {
    call_of_.assign(evidence_.entries().size(), -1);
    for (size_t i = 0; i < trace_.calls.size(); ++i) {
      for (EntryId id : trace_.entries_of(trace_.calls[i])) {
        call_of_[static_cast<size_t>(id)] = static_cast<int32_t>(i);
      }
    }
  }

  // ---- sizes

  // nullopt if it is open.
  static std::optional<Layout> SizesOf(const Fact& fact) {
    const Shape& shape = ShapeOf(fact);
    if (!shape.ranked() || shape.rank() > kMaxLayoutRank) return std::nullopt;
    Layout layout;
    layout.rank = shape.rank();
    int64_t elements = 1;
    for (int i = 0; i < shape.rank(); ++i) {
      const std::optional<int64_t> size = shape[i].AsInt64();
      if (!size.has_value() || *size < 0) return std::nullopt;
      if (*size > kMaxLayoutElements / std::max<int64_t>(elements, 1)) return std::nullopt;
      elements *= std::max<int64_t>(*size, 1);
      At(layout.sizes, i) = *size;
    }
    layout.is_known = true;
    return layout;
  }

  // ---- tensors

  Layout Of(const Entry& entry, size_t i) const {
    Layout layout = Found(entry, i);
    const auto shape = layout.shape();
    const bool is_one = std::all_of(shape.begin(), shape.end(), [](int64_t n) { return n == 1; });
    layout.is_sure = layout.is_sure || (layout.is_known && is_one);  // it lies in one way only
    return layout;
  }

  // An image may lie with its channels last; nothing in the file tells. One channel or one element
  // lies the same way nonetheless.
  static bool MayBeImage(const Fact& fact, const Layout& x) {
    const Shape& shape = ShapeOf(fact);
    if (shape.ranked() && shape.rank() != kImage && shape.rank() != kVolume) return false;
    if (!x.is_known) return true;
    const auto is_one = [](int64_t n) { return n == 1; };
    return At(x.sizes, 1) != 1 && !std::all_of(x.shape().begin() + 2, x.shape().end(), is_one);
  }

  // What no node made is in order, as people and files give it.
  Layout Found(const Entry& entry, size_t i) const {
    const OptionalValueId id = evidence_.node(entry).input(i);
    Layout layout;
    if (!id) return layout;
    const auto it = layouts_.find(*id);
    if (it != layouts_.end()) return it->second;
    if (std::optional<Layout> sizes = SizesOf(evidence_.Input(entry, i))) layout = *sizes;
    layout.strides = InOrder(layout);
    layout.is_sure = !evidence_.model().value(*id).producer.has_value() &&
                     evidence_.node(entry).graph == 0 &&
                     !MayBeImage(evidence_.Input(entry, i), layout);
    return layout;
  }

  static bool IsSureInOrder(const Layout& x) { return x.is_sure && (!x.is_known || IsInOrder(x)); }

  void Visit(EntryId id, TorchCall* call) {
    const Entry& entry = evidence_.entry(id);
    if (call != nullptr && call->main == id && call->op == Aten::kLinear) {
      Layout x = Of(entry, 0);
      if (call->reads_copy && !IsSureInOrder(x)) x = Layout();
      const bool in_order = !x.is_known || IsInOrder(x);
      call->is_contiguous = x.is_sure ? OpenFact<bool>::Stated(in_order) : OpenFact<bool>(in_order);
    }
    const Node& node = evidence_.node(entry);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const OptionalValueId output = node.outputs[i];
      if (!output) continue;
      const bool is_last = call == nullptr || trace_.entries_of(*call).back() == id;
      layouts_[*output] = Made(entry, evidence_.Output(entry, i), call, is_last);
    }
  }

  // ---- operators

  Layout Made(const Entry& entry, const Fact& output, const TorchCall* call, bool is_last) const {
    const absl::string_view type = evidence_.node(entry).op_type;
    const absl::string_view aten = call == nullptr ? absl::string_view() : AtenName(call->target);
    const std::optional<Layout> sizes = SizesOf(output);
    Layout y;
    if (sizes.has_value()) y = *sizes;
    y.strides = InOrder(y);
    if (is_last && IsOneOf(aten, kMakeInOrder)) return Sure(y);
    if (call != nullptr && call->op == Aten::kSdpa && is_last) return Attention(*call, y);
    if (call != nullptr && call->arguments.batch_first && IsBatchFirst(entry)) {
      return Recurrent(y);
    }
    const bool copies = call != nullptr && call->reads_copy;
    const bool convolves = type == "Conv" || type == "ConvTranspose";
    const bool lies_in_one_way = !MayBeImage(output, y);
    const bool of_images = convolves || IsOneOf(type, kPools);
    if (of_images && lies_in_one_way && y.is_known && y.rank >= kImage) return Sure(y);
    // A convolution gives its channels last if its weight has them so.
    if ((!convolves || lies_in_one_way) && KeepsOrder(entry, type)) return Sure(y);
    if (!sizes.has_value()) return y;
    if (copies && IsOneOf(type, kShapeOnly)) return ViewOfCopy(entry, y);
    if (copies || aten == "clone" || (call != nullptr && call->is_inside)) return y;
    if (IsOneOf(type, kElementwise)) return Elementwise(entry, y);
    const bool is_view = aten.empty() || IsOneOf(aten, kViews);
    return is_view ? View(entry, type, y) : y;
  }

  static Layout Sure(Layout layout) {
    layout.is_sure = true;
    return layout;
  }

  // Whether the operator keeps what is in order, and what it works on is.
  bool KeepsOrder(const Entry& entry, absl::string_view type) const {
    const bool of_all = IsOneOf(type, kElementwise) || type == "Concat";
    if (!of_all && !IsOneOf(type, kShapeOnly) && !IsOneOf(type, kOnImages)) return false;
    const size_t operands = of_all ? evidence_.node(entry).inputs.size() : 1;
    for (size_t i = 0; i < operands; ++i) {
      if (evidence_.node(entry).inputs[i] && !IsSureInOrder(Of(entry, i))) return false;
    }
    return true;
  }

  // The kernel of the CPU makes it [batch, length, heads, size] and gives a view of that, or, from
  // some version on, makes it as the queries lie. Mostly both are the same.
  Layout Attention(const TorchCall& call, Layout y) const {
    constexpr int kRank = 4;
    if (!y.is_known) return y;
    if (!IsFusedOnCpu(call, trace_.fuses_groups) || y.rank != kRank) return Sure(y);
    const Layout q = Of(evidence_.entry(call.main), 0);
    if (q.is_known && IsInOrder(q) && !IsOfHeadsInside(q)) return y;
    y.strides = OfHeadsInside(y);
    y.is_sure = q.is_known && q.is_sure && IsOfHeadsInside(q);
    return y;
  }

  bool IsBatchFirst(const Entry& entry) const {
    constexpr int64_t kBatchFirst[] = {1, 0, 2};
    const Attribute* perm = evidence_.node(entry).FindAttribute("perm");
    return evidence_.node(entry).op_type == "Transpose" && perm != nullptr &&
           std::equal(perm->ints.begin(), perm->ints.end(), std::begin(kBatchFirst),
                      std::end(kBatchFirst));
  }
  // What a recurrent layer gives is made [length, batch, size]; with batch_first it is a view.
  static Layout Recurrent(Layout y) {
    if (!y.is_known) return y;
    y.strides = {At(y.sizes, 2), At(y.sizes, 0) * At(y.sizes, 2), 1};
    return Sure(y);
  }

  // Of [batch, heads, length, size] where heads stand beside their sizes in memory.
  static Numbers OfHeadsInside(const Layout& x) {
    return {At(x.sizes, 1) * At(x.sizes, 2) * At(x.sizes, 3), At(x.sizes, 3),
            At(x.sizes, 1) * At(x.sizes, 3), 1};
  }
  static bool IsOfHeadsInside(const Layout& x) {
    constexpr int kRank = 4;
    if (x.rank != kRank) return false;
    const Numbers strides = OfHeadsInside(x);
    for (int i = 0; i < kRank; ++i) {
      if (At(x.sizes, i) != 1 && At(x.strides, i) != At(strides, i)) return false;
    }
    return true;
  }

  Layout Elementwise(const Entry& entry, Layout y) const {
    Iterated iterated(y);
    bool is_sure = true;
    for (size_t i = 0; i < evidence_.node(entry).inputs.size(); ++i) {
      const Layout x = Of(entry, i);
      if (!x.is_known || x.rank > y.rank) return y;
      is_sure = is_sure && x.is_sure;
      iterated.Add(x);
    }
    y.strides = iterated.Strides();
    y.is_sure = is_sure;
    return y;
  }

  Layout View(const Entry& entry, absl::string_view type, Layout y) const {
    const Layout x = Of(entry, 0);
    if (!x.is_known) return y;
    std::optional<Numbers> strides;
    if (type == "Transpose") strides = Transposed(entry, x);
    if (IsOneOf(type, kShapeOnly)) {
      strides = StridesOfView(x, y.shape()).value_or(InOrder(y));
    }
    if (type == "Split") strides = x.strides;
    if (type == "Slice") strides = Sliced(entry, x, y);
    if (type == "Gather") strides = Selected(entry, x, y);
    if (type == "Expand") strides = Expanded(x, y);
    if (!strides.has_value()) return y;
    y.strides = *strides;
    y.is_sure = x.is_sure;
    return y;
  }

  // The file lacks the copy before, which is in order or lies as its input does. If a view of the
  // latter is not possible, it is in order.
  Layout ViewOfCopy(const Entry& entry, Layout y) const {
    const Layout x = Of(entry, 0);
    y.is_sure = x.is_known && x.is_sure && IsDense(x) && !StridesOfView(x, y.shape()).has_value();
    return y;
  }

  std::optional<Numbers> Transposed(const Entry& entry, const Layout& x) const {
    const Attribute* perm = evidence_.node(entry).FindAttribute("perm");
    Numbers strides{};
    for (int i = 0; i < x.rank; ++i) {
      int64_t axis = x.rank - 1 - i;
      if (perm != nullptr) {
        if (static_cast<int64_t>(perm->ints.size()) != x.rank) return std::nullopt;
        axis = perm->ints[static_cast<size_t>(i)];
      }
      if (axis < 0 || axis >= x.rank) return std::nullopt;
      At(strides, i) = At(x.strides, static_cast<int>(axis));
    }
    return strides;
  }

  // Steps of more than 1 are not followed.
  std::optional<Numbers> Sliced(const Entry& entry, const Layout& x, const Layout& y) const {
    constexpr size_t kSteps = 4;
    if (y.rank != x.rank) return std::nullopt;
    const Fact& steps = evidence_.Input(entry, kSteps);
    if (steps.absent()) return x.strides;
    const std::optional<Dims> known = steps.KnownInts();
    if (!known.has_value()) return std::nullopt;
    const bool plain =
        std::all_of(known->begin(), known->end(), [](const Expr& step) { return step == Expr(1); });
    return plain ? std::optional<Numbers>(x.strides) : std::nullopt;
  }

  // aten.select: one index drops a dimension.
  std::optional<Numbers> Selected(const Entry& entry, const Layout& x, const Layout& y) const {
    const Attribute* attribute = evidence_.node(entry).FindAttribute("axis");
    int64_t axis = attribute == nullptr ? 0 : attribute->i;
    if (axis < 0) axis += x.rank;
    if (y.rank != x.rank - 1 || axis < 0 || axis >= x.rank) return std::nullopt;
    Numbers strides{};
    for (int i = 0; i < y.rank; ++i) At(strides, i) = At(x.strides, i < axis ? i : i + 1);
    return strides;
  }

  static std::optional<Numbers> Expanded(const Layout& x, const Layout& y) {
    Numbers strides{};
    const int offset = y.rank - x.rank;
    if (offset < 0) return std::nullopt;
    for (int i = 0; i < x.rank; ++i) {
      const bool spread = At(x.sizes, i) == 1 && At(y.sizes, offset + i) != 1;
      At(strides, offset + i) = spread ? 0 : At(x.strides, i);
    }
    return strides;
  }

  const Evidence& evidence_;
  TorchTrace& trace_;
  std::vector<int32_t> call_of_;  // by EntryId; -1
  absl::flat_hash_map<ValueId, Layout> layouts_;
};

}  // namespace

void FindLayouts(const Evidence& evidence, TorchTrace* trace) {
  const bool asked = std::any_of(trace->calls.begin(), trace->calls.end(), [](const TorchCall& c) {
    return c.op == Aten::kLinear && c.has_bias;
  });
  if (asked) LayoutFinder(evidence, trace).Run();
}

}  // namespace onnxflops::convention
