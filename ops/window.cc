// How it works. Output sizes follow from padding that is explicit, or is computed for SAME, with or
// without ceil_mode. Mean and maximum over a window need only the elements on data, not those on
// padding; the exact number is a sum over all windows, so for kernels up to a limit it is added up
// by position in the kernel: each position is on data for all windows but some at either end. For
// the bytes that must be read at least, the elements are counted that any window covers; where the
// windows do not tell, none.
#include "ops/window.h"

#include <optional>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

absl::StatusOr<AutoPad> ReadAutoPad(const NodeView& n) {
  const absl::string_view text = n.String("auto_pad", "NOTSET");
  if (text == "NOTSET" || text.empty()) return AutoPad::kNotSet;
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  if (text == "VALID") return AutoPad::kValid;
  return absl::InvalidArgumentError(
      absl::StrCat("auto_pad is '", text, "', not NOTSET, SAME_UPPER, SAME_LOWER or VALID"));
}

// Windows along one axis with explicit padding.
Expr OutputSize(const WindowAxis& axis, const Expr& input, bool ceil_mode) {
  const Expr slack = input + axis.pad_begin + axis.pad_end - axis.Extent();
  if (!ceil_mode) return FloorDiv(slack, axis.stride) + 1;
  // One window more may start within the input but end beyond it; a last window that would start in
  // the padding at the end does not count.
  const Expr last = CeilDiv(slack, axis.stride);
  const Expr starts = CeilDiv(input + axis.pad_begin, axis.stride);
  const bool pads_within_window = axis.Extent().AtLeast(axis.pad_end);
  return Min(last + 1, pads_within_window ? starts : Max(last, starts));
}

}  // namespace

Expr Windows::KernelElements() const {
  Expr elements = 1;
  for (const WindowAxis& axis : axes) elements *= axis.kernel;
  return elements;
}

Expr ElementsOnData(const WindowAxis& axis, const Expr& pad, const Expr& input,
                    const Expr& windows) {
  constexpr int64_t kMaxKernel = 64;  // up to which element after element is looked at
  const std::optional<int64_t> kernel = axis.kernel.AsInt64();
  if (!kernel || *kernel > kMaxKernel) return 0;
  Expr elements;
  for (int64_t t = 0; t < *kernel; ++t) {
    const Expr before = pad - absl::int128(axis.dilation) * t;  // what is left of element t
    const Expr first = Max(0, CeilDiv(before, axis.stride));
    const Expr end = Min(windows, FloorDiv(input - 1 + before, axis.stride) + 1);
    elements += Max(0, end - first);
  }
  return elements;
}

Expr Windows::ElementsOnData(absl::Span<const Expr> input, absl::Span<const Expr> outputs) const {
  Expr elements = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    const WindowAxis& axis = axes[i];
    if (!Same() && !ceil_mode && axis.pad_begin == 0 && axis.pad_end == 0) {
      elements *= outputs[i] * axis.kernel;
      continue;
    }
    Expr pad = axis.pad_begin;
    if (Same()) {
      const Expr both = Max(0, (outputs[i] - 1) * axis.stride + axis.Extent() - input[i]);
      pad = auto_pad == AutoPad::kSameUpper ? FloorDiv(both, 2) : CeilDiv(both, 2);
    }
    elements *= onnxflops::ElementsOnData(axis, pad, input[i], outputs[i]);
  }
  return elements;
}

absl::StatusOr<Dims> Windows::Outputs(absl::Span<const Expr> input) const {
  Dims outputs;
  for (size_t i = 0; i < axes.size(); ++i) {
    const WindowAxis& axis = axes[i];
    Expr size = Same() ? CeilDiv(input[i], axis.stride) : OutputSize(axis, input[i], ceil_mode);
    if (size.is_literal() && size.error() == nullptr && size.literal() <= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a window of ", axis.Extent().ToString(), " does not fit into ", input[i].ToString(),
          " padded by ", axis.pad_begin, " and ", axis.pad_end, " (spatial axis ", i, ")"));
    }
    outputs.push_back(std::move(size));
  }
  return outputs;
}

absl::StatusOr<absl::InlinedVector<int64_t, 4>> PerAxis(const NodeView& n, absl::string_view name,
                                                        size_t count, int64_t default_value,
                                                        int64_t minimum) {
  absl::InlinedVector<int64_t, 4> values = n.Ints(name);
  if (values.empty()) values.assign(count, default_value);
  if (values.size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute ", name, " has ", values.size(), " values, not ", count));
  }
  for (int64_t value : values) {
    if (value < minimum) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", name, " holds ", value, ", less than ", minimum));
    }
  }
  return values;
}

absl::StatusOr<Windows> ReadWindows(const NodeView& n, absl::Span<const Expr> kernel) {
  const size_t rank = kernel.size();
  Windows windows;
  ASSIGN_OR_RETURN(windows.auto_pad, ReadAutoPad(n));
  windows.ceil_mode = n.Flag("ceil_mode");
  ASSIGN_OR_RETURN(const auto strides, PerAxis(n, "strides", rank, 1, 1));
  ASSIGN_OR_RETURN(const auto dilations, PerAxis(n, "dilations", rank, 1, 1));
  absl::InlinedVector<int64_t, 4> pads(2 * rank, 0);
  if (windows.auto_pad == AutoPad::kNotSet) {
    ASSIGN_OR_RETURN(pads, PerAxis(n, "pads", 2 * rank, 0, 0));
  }
  for (size_t i = 0; i < rank; ++i) {
    windows.axes.push_back({kernel[i], strides[i], dilations[i], pads[i], pads[rank + i]});
  }
  return windows;
}

absl::StatusOr<Dims> KernelFromAttribute(const NodeView& n, int spatial_rank) {
  if (n.Ints("kernel_shape").empty()) {
    return absl::InvalidArgumentError("attribute kernel_shape is missing");
  }
  ASSIGN_OR_RETURN(const auto sizes,
                   PerAxis(n, "kernel_shape", static_cast<size_t>(spatial_rank), 1, 1));
  return Dims(sizes.begin(), sizes.end());
}

absl::StatusOr<Dims> KernelFromWeight(const NodeView& n, const Shape& weight) {
  Dims kernel(weight.dims().begin() + 2, weight.dims().end());
  if (!n.Ints("kernel_shape").empty()) {
    ASSIGN_OR_RETURN(const auto sizes, PerAxis(n, "kernel_shape", kernel.size(), 1, 1));
    for (size_t i = 0; i < kernel.size(); ++i) {
      ASSIGN_OR_RETURN(kernel[i],
                       Unify(n, "kernel size of the weight and kernel_shape", kernel[i], sizes[i]));
    }
  }
  for (const Expr& size : kernel) {
    if (size.is_literal() && size.literal() < 1) {
      return absl::InvalidArgumentError(absl::StrCat("the kernel has size ", size.ToString()));
    }
  }
  return kernel;
}

Expr ElementsInWindows(const WindowAxis& axis, const Expr& input, const Expr& windows) {
  if (axis.stride == 1 && axis.dilation == 1) return input;
  if (axis.dilation > 1) {  // windows side by side fill what is between the elements of one
    const bool fill = axis.stride == 1 && windows.AsInt64().value_or(0) >= axis.dilation;
    return fill ? input : Expr(0);
  }
  if (!axis.kernel.AsInt64() || *axis.kernel.AsInt64() < axis.stride) return 0;
  // Windows end less than a stride before the input does.
  Expr elements = Max(0, input - (axis.stride - 1));
  if (input.is_literal() && windows.is_literal()) {
    const Expr end = (windows - 1) * axis.stride + axis.kernel - axis.pad_begin;
    elements = Min(input, Max(elements, end));
  }
  return elements;
}

}  // namespace onnxflops
