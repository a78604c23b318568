#include "ops/contrib/plain.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

absl::StatusOr<FoundOp> FindPlain(absl::string_view op_type, int opset) {
  const FoundOp found = FindOp("", op_type, opset);
  if (found.def != nullptr && found.def->infer != nullptr) return found;
  return absl::UnimplementedError(absl::StrCat("there is no ", op_type, " at opset ", opset));
}

absl::InlinedVector<const Fact*, 4> Pointers(absl::Span<const Fact> facts) {
  absl::InlinedVector<const Fact*, 4> pointers;
  for (const Fact& fact : facts) pointers.push_back(&fact);
  return pointers;
}

bool HasChannels(const Fact& fact) {
  return fact.is_tensor() && fact.shape.ranked() && fact.shape.rank() >= 3;
}

}  // namespace

absl::StatusOr<Facts> InferAs(const NodeView& n, absl::string_view op_type,
                              absl::Span<const Fact> inputs, int opset) {
  ASSIGN_OR_RETURN(const FoundOp found, FindPlain(op_type, opset));
  const auto pointers = Pointers(inputs);
  const NodeView view = n.As(*found.def, opset, pointers, {});
  absl::StatusOr<Facts> facts = found.def->infer(view);
  RETURN_IF_ERROR(view.status());
  return facts;
}

namespace {

absl::StatusOr<Cost> AskAs(const NodeView& n, absl::string_view op_type,
                           absl::Span<const Fact> inputs, absl::Span<const Fact> outputs, int opset,
                           bool least) {
  ASSIGN_OR_RETURN(const FoundOp found, FindPlain(op_type, opset));
  const auto input_pointers = Pointers(inputs), output_pointers = Pointers(outputs);
  const NodeView view = n.As(*found.def, opset, input_pointers, output_pointers);
  absl::StatusOr<Cost> cost =
      least && found.def->least != nullptr ? found.def->least(view) : CountNode(view);
  RETURN_IF_ERROR(view.status());
  return cost;
}

}  // namespace

absl::StatusOr<Cost> CountAs(const NodeView& n, absl::string_view op_type,
                             absl::Span<const Fact> inputs, absl::Span<const Fact> outputs,
                             int opset) {
  return AskAs(n, op_type, inputs, outputs, opset, /*least=*/false);
}

absl::StatusOr<Cost> LeastAs(const NodeView& n, absl::string_view op_type,
                             absl::Span<const Fact> inputs, absl::Span<const Fact> outputs,
                             int opset) {
  return AskAs(n, op_type, inputs, outputs, opset, /*least=*/true);
}

absl::StatusOr<Facts> InferImageAs(const NodeView& n, absl::string_view op_type,
                                   bool channels_last) {
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, op_type, {ChannelsFirstIf(channels_last, n.input(0))}));
  return Facts{ChannelsLastIf(channels_last, facts[0])};
}

Facts InputsOf(const NodeView& n, int at_most) {
  Facts facts;
  for (int i = 0; i < n.num_inputs() && i < at_most; ++i) facts.push_back(n.input(i));
  return facts;
}

Facts OutputsOf(const NodeView& n) {
  Facts facts;
  for (int i = 0; i < n.num_outputs(); ++i) facts.push_back(n.output(i));
  return facts;
}

Fact ChannelsFirst(const Fact& fact) {
  if (!HasChannels(fact)) return fact;
  Fact moved = fact;
  moved.DropContent();
  Dims& dims = moved.shape.dims();
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return moved;
}

Fact ChannelsLast(const Fact& fact) {
  if (!HasChannels(fact)) return fact;
  Fact moved = fact;
  moved.DropContent();
  Dims& dims = moved.shape.dims();
  std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return moved;
}

}  // namespace onnxflops
