#include "src/memory/temporaries.h"

#include <algorithm>
#include <iterator>

#include "src/exporter/fx_node.h"

namespace onnxflops::memory {
namespace {

struct CallTemporaries {
  absl::string_view target;
  Temporaries made;
};

// By the formulas of PyTorch 2.15's derivatives.yaml: each operator in them makes a tensor, and C++
// drops it at the end of the expression.
constexpr CallTemporaries kCalls[] = {
    {"aten.addcmul", {.outputs = 1}},  {"aten.amax", {.input_masks = 1}},
    {"aten.amin", {.input_masks = 1}}, {"aten.atan2", {.outputs = 5}},
    {"aten.clamp_max", {.masks = 1}},  {"aten.clamp_min", {.masks = 1}},
    {"aten.expm1", {.outputs = 1}},    {"aten.lerp.Tensor", {.outputs = 1}},
    {"aten.log10", {.outputs = 1}},    {"aten.log1p", {.outputs = 1}},
    {"aten.log2", {.outputs = 1}},     {"aten.logaddexp", {.outputs = 3}},
    {"aten.max.dim", {.inputs = 1}},   {"aten.min.dim", {.inputs = 1}},
    {"aten.rsqrt", {.outputs = 2}},
};

// min and max, as far as they are given: where each holds.
Temporaries TemporariesOfClamp(absl::string_view fx_node) {
  const exporter::FxArgs args = exporter::ParseFxArgs(fx_node);
  const auto given = [&](size_t i, absl::string_view name) {
    const absl::string_view text = args.Get(i, name);
    return !text.empty() && text != "None";
  };
  return {.masks = (given(1, "min") ? 1 : 0) + (given(2, "max") ? 1 : 0)};
}

// Circular padding assigns slices. Their derivative copies the whole gradient twice, before the
// input's gradient is sliced from it.
std::optional<Temporaries> TemporariesOfPad(absl::string_view fx_node) {
  if (exporter::ParseFxArgs(fx_node).Get(2, "mode") != "circular") return std::nullopt;
  return Temporaries{.outputs = 2, .inputs = -1};
}

}  // namespace

std::optional<Temporaries> TemporariesOfCall(absl::string_view fx_node, bool casts) {
  // Both gradients exist in the type of the result, before one is cast to the input's type.
  if (exporter::IsSoftmaxInType(fx_node)) {
    return casts ? Temporaries{.outputs = 1, .inputs = -1} : Temporaries{};
  }
  if (exporter::IsFxCall(fx_node, "aten.clamp")) return TemporariesOfClamp(fx_node);
  if (exporter::IsFxCall(fx_node, "aten.pad")) return TemporariesOfPad(fx_node);
  const auto* const call =
      std::find_if(std::begin(kCalls), std::end(kCalls),
                   [&](const CallTemporaries& c) { return exporter::IsFxCall(fx_node, c.target); });
  if (call == std::end(kCalls)) return std::nullopt;
  return call->made;
}

}  // namespace onnxflops::memory
