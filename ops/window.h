// Sliding windows: the arithmetic that convolution and pooling share.
//
//   ASSIGN_OR_RETURN(Windows w, ReadWindows(n, kernel));          // kernel [3, 3]
//   ASSIGN_OR_RETURN(Dims out, w.Outputs({height, width}));       // pads 1, stride 2:
//   floor((h+1)/2)
#ifndef ONNXFLOPS_OPS_WINDOW_H_
#define ONNXFLOPS_OPS_WINDOW_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/op_def.h"

namespace onnxflops {

// The window along one spatial axis.
struct WindowAxis {
  Expr kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;

  // What it spans of the input: (kernel - 1) * dilation + 1.
  Expr Extent() const { return (kernel - 1) * dilation + 1; }
};

enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

struct Windows {
  absl::InlinedVector<WindowAxis, 3> axes;
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil_mode = false;

  bool Same() const { return auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower; }
  // Elements of one window, padding included.
  Expr KernelElements() const;
  // Elements of all windows that are none of padding: see the function of that name.
  Expr ElementsOnData(absl::Span<const Expr> input, absl::Span<const Expr> outputs) const;
  // How many windows there are along each axis of an input of these spatial sizes (one per axis).
  // InvalidArgument when a window is larger than the padded input.
  absl::StatusOr<Dims> Outputs(absl::Span<const Expr> input) const;
};

// Along one axis, the pairs of a window and an element of it that is on the input, not on padding;
// `pad` is what is in front of the input. Of a kernel that is longer than 64 or of open size 0,
// which is a lower bound.
Expr ElementsOnData(const WindowAxis& axis, const Expr& pad, const Expr& input,
                    const Expr& windows);

// Along one axis, how many elements of the input are in some window: at least so many, since
// windows may leave out the end, or step over what is between them.
Expr ElementsInWindows(const WindowAxis& axis, const Expr& input, const Expr& windows);

// The attributes strides, dilations, pads, auto_pad and ceil_mode, for a kernel of these sizes; all
// checked: as many values as axes, strides and dilations positive, pads not negative. Where
// auto_pad is set, pads are ignored, as ONNX Runtime does.
absl::StatusOr<Windows> ReadWindows(const NodeView& n, absl::Span<const Expr> kernel);

// An attribute of one value per axis, each at least `minimum`; `default_value` for each when it is
// missing.
absl::StatusOr<absl::InlinedVector<int64_t, 4>> PerAxis(const NodeView& n, absl::string_view name,
                                                        size_t count, int64_t default_value,
                                                        int64_t minimum);

// The kernel of a pooling: the attribute kernel_shape, which must be there.
absl::StatusOr<Dims> KernelFromAttribute(const NodeView& n, int spatial_rank);

// The kernel of a convolution: the spatial sizes of its weight [*, *, k1, k2, ...], with which the
// attribute kernel_shape must agree if it is there.
absl::StatusOr<Dims> KernelFromWeight(const NodeView& n, const Shape& weight);

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_WINDOW_H_
