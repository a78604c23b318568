// How it works. For the target of a Reshape: sizes of 1 aside, sizes that input and output share at
// both ends in the export stay shared. The rest between them follows the input: a single size takes
// all elements; if there are several, each changes as an equal one of the input does. Everything
// else is refused: the windows of a Swin have no other size. A constant operand takes the size of
// the other operands where its own is neither 1 nor equal to theirs. The caller checks the result
// (src/adapter/same_layers.h).
#include "src/infer/fit_sizes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "src/symbolic/expr.h"

namespace onnxflops::infer {
namespace {

Expr Product(absl::Span<const Expr> sizes) {
  Expr product = 1;
  for (const Expr& size : sizes) product *= size;
  return product;
}

// The sizes that are not 1.
std::vector<Expr> WithoutOnes(absl::Span<const Expr> sizes) {
  std::vector<Expr> out;
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(out),
               [](const Expr& size) { return size != Expr(1); });
  return out;
}

bool IsRankedTensor(const Fact* fact) {
  return fact != nullptr && fact->is_tensor() && fact->shape.ranked();
}

// The sizes of a Reshape without those of 1, which are at the same positions in both graphs.
struct Sides {
  std::vector<Expr> old_from, old_to, from;
};

// Takes away the sizes that input and output share in the export, at one end: these are the
// input's.
void TakeShared(bool at_end, Sides* sides, std::vector<Expr>* shared) {
  const auto take = [&](std::vector<Expr>* sizes) {
    const auto it = at_end ? sizes->end() - 1 : sizes->begin();
    Expr size = *it;
    sizes->erase(it);
    return size;
  };
  const auto next = [&](const std::vector<Expr>& sizes) {
    return at_end ? sizes.back() : sizes.front();
  };
  while (!sides->old_from.empty() && !sides->old_to.empty() &&
         next(sides->old_from) == next(sides->old_to)) {
    take(&sides->old_from);
    take(&sides->old_to);
    shared->push_back(take(&sides->from));
  }
}

// Fits the remaining sizes: one size takes all elements; if there are several, each changes as an
// equal one of the input does. nullopt if this is ambiguous, or the number of elements would
// differ.
std::optional<std::vector<Expr>> FitRest(const Sides& sides) {
  if (sides.old_to.size() == 1) return std::vector<Expr>{Product(sides.from)};
  std::vector<Expr> to = sides.old_to;
  for (Expr& size : to) {
    std::optional<Expr> changed;
    for (size_t i = 0; i < sides.from.size(); ++i) {
      if (sides.old_from[i] != size) continue;
      if (changed && *changed != sides.from[i]) return std::nullopt;
      changed = sides.from[i];
    }
    if (changed) size = *changed;
  }
  if (Product(to) != Product(sides.from)) return std::nullopt;
  return to;
}

// The output of a Reshape at the sizes of `input`.
std::optional<Shape> FitOutput(const Shape& old_input, const Shape& old_output,
                               const Shape& input) {
  Sides sides = {WithoutOnes(old_input.dims()), WithoutOnes(old_output.dims()),
                 WithoutOnes(input.dims())};
  if (sides.from.size() != sides.old_from.size()) return std::nullopt;
  std::vector<Expr> sizes, last;
  TakeShared(true, &sides, &last);
  TakeShared(false, &sides, &sizes);
  const std::optional<std::vector<Expr>> rest = FitRest(sides);
  if (!rest) return std::nullopt;
  sizes.insert(sizes.end(), rest->begin(), rest->end());
  sizes.insert(sizes.end(), last.rbegin(), last.rend());
  Shape output = old_output;
  size_t next = 0;
  for (Expr& size : output.dims()) {
    if (size != Expr(1)) size = sizes[next++];
  }
  return output;
}

std::optional<std::vector<Fact>> FitReshape(absl::Span<const Fact* const> inputs,
                                            const Reshaped& exported) {
  if (inputs.size() < 2 || !IsRankedTensor(inputs[0]) || !IsRankedTensor(exported.input) ||
      !IsRankedTensor(exported.output)) {
    return std::nullopt;
  }
  const Shape& before = exported.output->shape;
  const std::optional<Shape> after = FitOutput(exported.input->shape, before, inputs[0]->shape);
  std::optional<Dims> target = inputs[1]->KnownInts();
  if (!after || !target || target->size() != after->dims().size()) return std::nullopt;
  Content content;
  bool changed = false;
  for (size_t i = 0; i < target->size(); ++i) {
    const int axis = static_cast<int>(i);
    const bool follows = (*target)[i] == before[axis] && before[axis] != (*after)[axis];
    changed = changed || follows;
    content.push_back(Scalar::Int(follows ? (*after)[axis] : (*target)[i]));
  }
  if (!changed) return std::nullopt;
  std::vector<Fact> fitted = {*inputs[0], *inputs[1]};
  fitted[1].content = std::make_shared<const Content>(std::move(content));
  return fitted;
}

// The broadcast shape of the operands that are not constants; nullopt if one is unknown.
std::optional<Shape> ShapeOfOthers(absl::Span<const Fact* const> inputs) {
  Shape together;
  for (const Fact* fact : inputs) {
    if (fact->absent() || fact->constant) continue;
    if (!fact->is_tensor() || !fact->shape.ranked()) return std::nullopt;
    Shape a = together, b = fact->shape;
    if (a.rank() < b.rank()) std::swap(a, b);
    for (int i = 1; i <= b.rank(); ++i) {
      Expr& size = a[a.rank() - i];
      const std::optional<Expr> both = BroadcastDim(size, b[b.rank() - i]);
      if (!both) return std::nullopt;
      size = *both;
    }
    together = std::move(a);
  }
  return together;
}

// True if the constant's shape changed.
bool FitConstant(const Shape& others, Fact* constant) {
  if (!constant->is_tensor() || !constant->shape.ranked()) return false;
  Shape& shape = constant->shape;
  bool changed = false;
  for (int i = 1; i <= std::min(shape.rank(), others.rank()); ++i) {
    Expr& size = shape[shape.rank() - i];
    const Expr& wanted = others[others.rank() - i];
    if (size == Expr(1) || wanted == Expr(1) || size == wanted) continue;
    size = wanted;
    changed = true;
  }
  if (changed) constant->DropContent();
  return changed;
}

std::optional<std::vector<Fact>> FitOperands(absl::Span<const Fact* const> inputs) {
  const std::optional<Shape> others = ShapeOfOthers(inputs);
  if (!others) return std::nullopt;
  std::vector<Fact> fitted;
  bool changed = false;
  for (const Fact* input : inputs) {
    Fact& fact = fitted.emplace_back(*input);
    if (!fact.constant || !FitConstant(*others, &fact)) continue;
    if (changed) return std::nullopt;
    changed = true;
  }
  if (!changed) return std::nullopt;
  return fitted;
}

}  // namespace

std::optional<std::vector<Fact>> FitSizes(absl::string_view op_type,
                                          absl::Span<const Fact* const> inputs,
                                          const Reshaped& exported) {
  constexpr std::array<absl::string_view, 8> kByElement = {"Add", "Sub", "Mul", "Div",
                                                           "Pow", "Max", "Min", "Where"};
  if (op_type == "Reshape") return FitReshape(inputs, exported);
  if (std::find(kByElement.begin(), kByElement.end(), op_type) != kByElement.end()) {
    return FitOperands(inputs);
  }
  return std::nullopt;
}

}  // namespace onnxflops::infer
