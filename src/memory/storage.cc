#include "src/memory/storage.h"

#include <cstdint>

#include "absl/types/span.h"
#include "ops/op_def.h"

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

// All axes but the last two stay where they are.
bool MovesLastTwo(const Node& node) {
  const Attribute* perm = node.FindAttribute("perm");
  if (perm == nullptr) return false;
  for (size_t i = 0; i + 2 < perm->ints.size(); ++i) {
    if (perm->ints[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Of attention's output, the exchange of heads and tokens that undoes its own.
bool ExchangesHeads(const Node& node) {
  const Attribute* perm = node.FindAttribute("perm");
  constexpr int64_t kExchange[] = {0, 2, 1, 3};
  return perm != nullptr && perm->ints == absl::MakeConstSpan(kExchange);
}

}  // namespace

bool CastsToItself(const Inference& inference, const Node& node, const Call& call) {
  const bool casts = node.domain.empty() && (node.op_type == "Cast" || node.op_type == "CastLike");
  if (!casts || call.inputs.empty() || call.outputs.empty()) return false;
  const Fact& from = inference.fact(call.inputs[0]);
  const Fact& to = inference.fact(call.outputs[0]);
  return from.is_tensor() && to.is_tensor() && from.dtype == to.dtype &&
         from.dtype != DType::kUndefined;
}

void Storages::Enter(const Graph& graph) {
  for (ValueId value : graph.inputs) layouts_[static_cast<size_t>(value)] = {value};
}

bool Storages::KeepsStrides(const Call& call) const {
  const Fact& in = in_.fact(call.inputs[0]);
  const Fact& out = in_.fact(call.outputs[0]);
  return in.is_tensor() && out.is_tensor() && in.shape.ranked() && out.shape.ranked() &&
         SameButOnes(in.shape, out.shape);
}

Layout Storages::ViewOf(const Node& node, const Call& call, ValueId output) const {
  const Layout own = {output};
  if (call.def == nullptr || !node.input(0) || call.inputs.empty() || call.outputs.empty()) {
    return own;
  }
  const Traits traits = call.def->traits;
  const Layout& from = Of(*node.input(0));
  if (Has(traits, Traits::kView) && !Has(traits, Traits::kShapeOnly) &&
      !Has(traits, Traits::kStored)) {
    if (from.contiguous || KeepsStrides(call)) return from;
    return own;  // a copy, in order
  }
  if (CastsToItself(in_, node, call)) return from;
  Layout view = from;
  view.contiguous = view.flash = false;
  if (Has(traits, Traits::kStrided)) {
    view.rows = view.rows && MovesLastTwo(node);
    view.contiguous = from.flash && ExchangesHeads(node);
    view.rows = view.rows || view.contiguous;
    return view;
  }
  if (Has(traits, Traits::kSelects) && call.inputs.size() > 1) {
    const Fact& index = in_.fact(call.inputs[1]);
    const bool one = index.is_tensor() && index.shape.ranked() && index.shape.rank() == 0;
    if (one && index.constant && !in_.fact(call.inputs[0]).constant) return view;
  }
  return own;
}

void Storages::Run(const Node& node, const Call& call, bool flash) {
  for (OptionalValueId output : node.outputs) {
    if (!output) continue;
    Layout& layout = layouts_[static_cast<size_t>(*output)];
    layout = ViewOf(node, call, *output);
    if (!flash) continue;
    layout.flash = true;
    layout.contiguous = layout.rows = false;
  }
}

}  // namespace onnxflops::memory
