// How it works. Every value has a layout: the root, whose memory it uses, and its strides (no
// strides mean contiguous). A view takes over the root and changes the strides, as PyTorch does:
// Transpose permutes them, Expand sets 0, Slice multiplies by its step, a single index drops one. A
// Reshape is a view only if strides can describe the new axes (ViewStrides, the rule of torch's
// computeStride); otherwise it is a copy and a root of its own.
//
// New tensors are not always contiguous. Element-wise operators write in the order of their inputs,
// flash attention in that of the queries, an einsum in the order of its product. This decides later
// whether a view of them needs a copy, and copies are saved for the backward pass. Sizes may be
// symbols: if they do not determine the order of the axes, the tensor is assumed to be contiguous.
#include "src/memory/storage.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/types/span.h"
#include "ops/op_def.h"
#include "src/exporter/packed_projection.h"
#include "src/memory/einsum.h"

namespace onnxflops::memory {

bool SameButOnes(const Shape& a, const Shape& b) {
  int i = 0, j = 0;
  while (true) {
    while (i < a.rank() && a[i] == Expr(1)) ++i;
    while (j < b.rank() && b[j] == Expr(1)) ++j;
    if (i == a.rank() || j == b.rank()) return i == a.rank() && j == b.rank();
    if (a[i++] != b[j++]) return false;
  }
}

namespace {

// The axes of a Transpose, recognised by its form: one input, one output, a permutation; else
// nullopt.
std::optional<std::vector<size_t>> PermutationOf(const Node& node, int rank) {
  if (node.inputs.size() != 1 || node.outputs.size() != 1 ||
      node.FindAttribute("axis") != nullptr) {
    return std::nullopt;
  }
  std::vector<size_t> axes;
  const Attribute* perm = node.FindAttribute("perm");
  for (int i = 0; i < rank; ++i) {
    const int64_t axis = perm == nullptr                           ? rank - 1 - i
                         : i < static_cast<int>(perm->ints.size()) ? perm->ints[i]
                                                                   : -1;
    if (axis < 0 || axis >= rank) return std::nullopt;
    axes.push_back(static_cast<size_t>(axis));
  }
  return axes;
}

// True if axis a lies outside of axis b.
bool IsOutside(const std::vector<Expr>& strides, size_t a, size_t b) {
  return strides[a] != strides[b] && DivideExactly(strides[a], strides[b]).has_value();
}

// Flash attention writes its output in the order in which the queries lie.
std::vector<Expr> StridesOfFlash(const Shape& shape, const std::vector<Expr>& queries) {
  if (shape.rank() != 4 || queries.size() != 4) return {};
  std::vector<size_t> axes = {0, 2, 1, 3};
  if (IsOutside(queries, 2, 0)) axes = {2, 0, 1, 3};
  std::vector<Expr> strides(4, Expr(1));
  Expr step = 1;
  for (size_t i = 4; i-- > 0;) {
    strides[axes[i]] = step;
    step *= shape[static_cast<int>(axes[i])];
  }
  return strides;
}

std::optional<int64_t> NumberOf(const Scalar& scalar) {
  constexpr absl::int128 kMost = std::numeric_limits<int32_t>::max();
  if (!scalar.is_int() || !scalar.i.is_literal()) return std::nullopt;
  const absl::int128 value = scalar.i.literal();
  if (value > kMost || value < -kMost) return std::nullopt;
  return static_cast<int64_t>(value);
}

// The step of a Slice along an axis; 0 if it is not known.
int64_t StepOf(const Inference& inference, const Call& call, int axis, int rank) {
  constexpr size_t kAxes = 3, kSteps = 4;
  if (call.inputs.size() <= kSteps) return 1;
  const Fact& axes = inference.fact(call.inputs[kAxes]);
  const Fact& steps = inference.fact(call.inputs[kSteps]);
  if (steps.absent()) return 1;
  if (!steps.has_content()) return 0;
  for (size_t i = 0; i < steps.content->size(); ++i) {
    const bool given = axes.has_content() && i < axes.content->size();
    const std::optional<int64_t> at =
        given ? NumberOf((*axes.content)[i]) : std::optional<int64_t>(i);
    if (!at || (*at < 0 ? *at + rank : *at) != axis) continue;
    return NumberOf((*steps.content)[i]).value_or(0);
  }
  return 1;
}

// Strides of axes with one element are ignored.
bool AreInOrder(const Shape& shape, const std::vector<Expr>& strides) {
  Expr step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == Expr(1)) continue;
    if (strides[static_cast<size_t>(i)] != step) return false;
    step *= shape[i];
  }
  return true;
}

// True if the tensor has no gaps, in whatever order its axes lie.
bool IsDense(const Shape& shape, const std::vector<Expr>& strides) {
  Expr step = 1;
  std::vector<bool> used(strides.size(), false);
  for (size_t n = 0; n < strides.size(); ++n) {
    bool found = false;
    for (size_t i = strides.size(); i-- > 0 && !found;) {
      if (used[i] || (strides[i] != step && shape[static_cast<int>(i)] != Expr(1))) continue;
      found = used[i] = true;
      step *= shape[static_cast<int>(i)];
    }
    if (!found) return false;
  }
  return true;
}

// Strides without gaps, with the axes in the order of the given strides, as torch's TensorIterator
// allocates an output. Empty if sizes do not determine the order.
std::vector<Expr> DenseInOrder(const Shape& shape, const std::vector<Expr>& strides) {
  std::vector<size_t> axes;  // from the outermost
  for (size_t i = 0; i < strides.size(); ++i) {
    size_t at = axes.size();
    while (at > 0 && strides[i] != strides[axes[at - 1]] &&
           (strides[i] - strides[axes[at - 1]]).AtLeast(0)) {
      --at;
    }
    const bool is_told = at == 0 || (strides[axes[at - 1]] - strides[i]).AtLeast(0);
    if (!is_told) return {};
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(at), i);
  }
  std::vector<Expr> result(strides.size(), Expr(1));
  Expr step = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    result[axes[i]] = step;
    step *= shape[static_cast<int>(axes[i])];
  }
  return AreInOrder(shape, result) ? std::vector<Expr>() : result;
}

const Shape* ShapeOf(const Fact& fact) {
  return fact.is_tensor() && fact.shape.ranked() ? &fact.shape : nullptr;
}

}  // namespace

bool CastsToItself(const Inference& inference, const Call& call) {
  if (call.def == nullptr || !Has(call.def->traits, Traits::kCasts) || call.inputs.empty() ||
      call.outputs.empty())
    return false;
  const Fact& from = inference.fact(call.inputs[0]);
  const Fact& to = inference.fact(call.outputs[0]);
  return from.is_tensor() && to.is_tensor() && from.dtype == to.dtype &&
         from.dtype != DType::kUndefined;
}

void Storages::Enter(const Graph& graph) {
  for (ValueId value : graph.inputs) layouts_[static_cast<size_t>(value)] = {value};
}

std::vector<Expr> StridesInOrder(const Shape& shape) {
  std::vector<Expr> strides(static_cast<size_t>(shape.rank()), Expr(1));
  for (int i = shape.rank() - 2; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i) + 1] * shape[i + 1];
  }
  return strides;
}

std::optional<std::vector<Expr>> ViewStrides(const Shape& from, const std::vector<Expr>& strides,
                                             const Shape& to) {
  if (from.rank() == 0) return std::vector<Expr>(static_cast<size_t>(to.rank()), Expr(1));
  std::vector<Expr> result(static_cast<size_t>(to.rank()), Expr(1));
  int at = to.rank() - 1;
  Expr step = strides.back(), elements = 1, made = 1;
  for (int i = from.rank() - 1; i >= 0; --i) {
    elements *= from[i];
    const bool goes_on =
        i > 0 && (from[i - 1] == Expr(1) || strides[static_cast<size_t>(i) - 1] == elements * step);
    if (goes_on) continue;
    while (at >= 0 && (made != elements || to[at] == Expr(1))) {
      result[static_cast<size_t>(at)] = made * step;
      made *= to[at--];
    }
    if (made != elements) return std::nullopt;
    if (i == 0) break;
    step = strides[static_cast<size_t>(i) - 1];
    elements = made = 1;
  }
  if (at >= 0) return std::nullopt;
  return result;
}

// The strides of a Transpose, Slice, Split or Expand; nullopt if PyTorch copies.
std::optional<std::vector<Expr>> Storages::Strided(const Node& node, const Call& call,
                                                   const Shape& from, const Shape& to,
                                                   std::vector<Expr> strides) const {
  std::vector<Expr> result;
  if (const auto axes = PermutationOf(node, from.rank())) {
    for (size_t axis : *axes) result.push_back(strides[axis]);
    return result;
  }
  const int more = to.rank() - from.rank();
  for (int i = 0; i < to.rank(); ++i) {
    const bool is_new = i < more || (from[i - more] == Expr(1) && to[i] != Expr(1));
    if (is_new) {
      result.push_back(0);
      continue;
    }
    const int64_t step = StepOf(in_, call, i, to.rank());
    if (step <= 0) return std::nullopt;
    result.push_back(strides[static_cast<size_t>(i - more)] * step);
  }
  return result;
}

bool Storages::CanView(ValueId value, const Shape& from, const Shape& to) const {
  const std::vector<Expr>& strides = Of(value).strides;
  return strides.empty() || ViewStrides(from, strides, to).has_value();
}

Layout Storages::ViewOf(const Node& node, const Call& call, size_t output) const {
  Layout own = {*node.outputs[output], {}};
  if (call.def == nullptr || !node.input(0) || call.inputs.empty() ||
      output >= call.outputs.size()) {
    return own;
  }
  const Traits traits = call.def->traits;
  const Layout& from = Of(*node.input(0));
  if (CastsToItself(in_, call)) return from;
  const bool is_view = Has(traits, Traits::kView) && !Has(traits, Traits::kShapeOnly) &&
                       !Has(traits, Traits::kStored);
  if (is_view && from.strides.empty()) return from;
  const Shape* shape = ShapeOf(in_.fact(call.inputs[0]));
  const Shape* to = ShapeOf(in_.fact(call.outputs[output]));
  if (shape == nullptr || to == nullptr) return is_view ? own : Layout{from.root, {}};
  const auto strides = [&] { return from.strides.empty() ? StridesInOrder(*shape) : from.strides; };
  std::optional<std::vector<Expr>> result;
  if (is_view) {
    result = ViewStrides(*shape, from.strides, *to);
  } else if (Has(traits, Traits::kStrided) && !exporter::IsPackedProjection(node)) {
    result = Strided(node, call, *shape, *to, strides());
  } else if (Has(traits, Traits::kSelects) && call.inputs.size() > 1) {
    const Fact& index = in_.fact(call.inputs[1]);
    const bool one = index.is_tensor() && index.shape.ranked() && index.shape.rank() == 0;
    if (!one || !index.constant || in_.fact(call.inputs[0]).constant) return own;
    const Attribute* attribute = node.FindAttribute("axis");
    const int64_t axis = attribute == nullptr ? 0 : attribute->i;
    result = strides();
    const int64_t rank = shape->rank();
    if (axis < -rank || axis >= rank) return own;
    result->erase(result->begin() + (axis < 0 ? axis + rank : axis));
  }
  if (!result) return own;
  if (AreInOrder(*to, *result)) result->clear();
  return {from.root, *std::move(result)};
}

// Element-wise operators write in the order in which their inputs lie.
std::vector<Expr> Storages::StridesAsInputs(const Node& node, const Call& call) const {
  const Shape* to = ShapeOf(in_.fact(call.outputs[0]));
  if (to == nullptr) return {};
  for (size_t i = 0; i < node.inputs.size() && i < call.inputs.size(); ++i) {
    const Shape* shape = node.inputs[i] ? ShapeOf(in_.fact(call.inputs[i])) : nullptr;
    if (shape == nullptr || shape->rank() != to->rank() || *shape != *to) continue;
    const std::vector<Expr>& strides = Of(*node.inputs[i]).strides;
    return strides.empty() || IsDense(*shape, strides) ? strides : DenseInOrder(*shape, strides);
  }
  return {};
}

// The result of an einsum lies as the product gave it.
std::vector<Expr> Storages::StridesOfEinsum(const Node& node, const Call& call) const {
  const Attribute* equation = node.FindAttribute("equation");
  if (equation == nullptr || call.inputs.size() != 2 || call.outputs.empty()) return {};
  const Shape* a = ShapeOf(in_.fact(call.inputs[0]));
  const Shape* b = ShapeOf(in_.fact(call.inputs[1]));
  const Shape* to = ShapeOf(in_.fact(call.outputs[0]));
  if (a == nullptr || b == nullptr || to == nullptr) return {};
  const auto product = ProductOfEinsum(equation->s, *a, *b);
  if (!product || static_cast<int>(product->made.size()) != to->rank()) return {};
  std::vector<Expr> strides(product->made.size(), Expr(1));
  Expr step = 1;
  for (size_t i = product->made.size(); i-- > 0;) {
    strides[static_cast<size_t>(product->made[i])] = step;
    step *= (*to)[product->made[i]];
  }
  return AreInOrder(*to, strides) ? std::vector<Expr>() : strides;
}

void Storages::Run(const Node& node, const Call& call, OptionalValueId queries) {
  for (size_t j = 0; j < node.outputs.size(); ++j) {
    if (!node.outputs[j]) continue;
    Layout& layout = layouts_[static_cast<size_t>(*node.outputs[j])];
    layout = ViewOf(node, call, j);
    const bool is_new = layout.root == *node.outputs[j] && layout.strides.empty() && j == 0;
    const bool by_element = call.def != nullptr && Has(call.def->traits, Traits::kInPlace) &&
                            call.def->gradient.keeps.per_root == 0 &&  // no normalization
                            !call.def->gradient.weighs_scores;         // no softmax
    if (is_new && by_element && !call.outputs.empty()) layout.strides = StridesAsInputs(node, call);
    if (is_new && !by_element) layout.strides = StridesOfEinsum(node, call);
    if (!queries || j != 0 || call.outputs.empty()) continue;
    const Shape* shape = ShapeOf(in_.fact(call.outputs[0]));
    if (shape != nullptr) layout.strides = StridesOfFlash(*shape, Of(*queries).strides);
  }
}

}  // namespace onnxflops::memory
