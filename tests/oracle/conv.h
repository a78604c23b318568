// Convolutions. Padding is executed: every output meets the whole kernel window.
#ifndef ONNXFLOPS_TESTS_ORACLE_CONV_H_
#define ONNXFLOPS_TESTS_ORACLE_CONV_H_

#include <cstddef>
#include <string>

#include "tests/oracle/matmul.h"

namespace onnxflops::oracle {

// What convolutions and pools have in common, one entry per spatial axis.
struct Window {
  Sizes kernel, strides, dilations;
  Sizes pads;  // begins, then ends
  std::string auto_pad = "NOTSET";
  bool ceil_mode = false;
};

// The spatial output of a window sliding over `in`; nullopt when it fits nowhere.
inline std::optional<Sizes> SlidingOutput(const Sizes& in, const Window& w) {
  Sizes out;
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const int64_t stride = w.strides[i];
    if (w.auto_pad.rfind("SAME", 0) == 0) {
      out.push_back(CeilDiv(in[i], stride));
      continue;
    }
    const bool explicit_pads = w.auto_pad == "NOTSET";
    const int64_t begin = explicit_pads ? w.pads[i] : 0;
    const int64_t end = explicit_pads ? w.pads[in.size() + i] : 0;
    const int64_t room = in[i] + begin + end - extent;
    int64_t size = (w.ceil_mode ? CeilDiv(room, stride) : FloorDiv(room, stride)) + 1;
    // A window that would start in the padding behind the input is ignored.
    if (w.ceil_mode && (size - 1) * stride >= in[i] + begin) --size;
    if (size <= 0) return std::nullopt;
    out.push_back(size);
  }
  return out;
}

// x [N,C,spatial], w [M,C/group,kernel].
template <typename After>
Outputs Conv(const Sizes& x, const Sizes& w, int64_t group, const Window& window, After after) {
  if (x[1] != w[1] * group || w[0] % group != 0) return NoOutput();
  const auto spatial = SlidingOutput(Slice(x, 2, x.size()), window);
  if (!spatial.has_value()) return NoOutput();
  const Sizes out = Concat({x[0], w[0]}, *spatial);
  ForEach(out, [&](const Sizes&) {
    Counted acc = 0;
    ForEach(Slice(w, 1, w.size()), [&](const Sizes&) { MulAcc(&acc, 0.5, 0.25); });
    after(acc);
  });
  return OneOutput(out);
}

struct Transposed {
  Sizes output_padding;
  Sizes output_shape;  // empty when not given
};

// x [N,C,spatial], w [C,M/group,kernel]: every input is scattered through the whole kernel.
inline Outputs ConvTranspose(const Sizes& x, const Sizes& w, int64_t group, const Window& window,
                             const Transposed& t, bool bias) {
  if (x[1] != w[0] || x[1] % group != 0) return NoOutput();
  Sizes out = {x[0], w[1] * group};
  const size_t spatial = x.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t stride = window.strides[i];
    const int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t size = stride * (x[i + 2] - 1) + t.output_padding[i] + extent;
    if (!t.output_shape.empty()) {
      size = t.output_shape[i];
    } else if (window.auto_pad == "NOTSET") {
      size -= window.pads[i] + window.pads[spatial + i];
    } else if (window.auto_pad != "VALID") {
      // Padded to a multiple of the stride; padding is never negative.
      size = std::min(size, x[i + 2] * stride);
    }
    if (size < 0) return NoOutput();
    out.push_back(size);
  }
  Tensor y(out);
  if (bias) {
    for (Counted& element : y.elements) element += 0.5;
  }
  Counted target = 0;
  ForEach(x, [&](const Sizes&) {
    ForEach(Slice(w, 1, w.size()), [&](const Sizes&) { MulAcc(&target, 0.5, 0.25); });
  });
  return OneOutput(out);
}

// x is sampled between its elements, at places that are given per offset group, kernel element and
// output. Whether a corner is inside of x is addressing.
inline Outputs DeformConv(const Sizes& x, const Sizes& w, int64_t group, int64_t offset_group,
                          const Window& window, bool bias, bool mask) {
  const int64_t axes = static_cast<int64_t>(x.size()) - 2;
  const int64_t corners = int64_t{1} << axes;
  const auto spatial = SlidingOutput(Slice(x, 2, x.size()), window);
  if (!spatial.has_value()) return NoOutput();
  ForEach(Concat(Concat({x[0], offset_group}, *spatial), window.kernel), [&](const Sizes&) {
    for (int64_t i = 0; i < axes; ++i) {
      const Counted at = Counted(2) + 0.5;
      const Counted fraction = at - Round(at);
      1.0 - fraction;
    }
    Row weights;
    for (int64_t c = 0; c < corners; ++c) {
      Counted weight = 0.5;
      for (int64_t i = 1; i < axes; ++i) weight = weight * 0.5;
      weights.push_back(weight);
    }
    for (int64_t c = 0; c < x[1] / offset_group; ++c) {
      Counted sample = 0;
      for (Counted weight : weights) sample += weight * 0.5;
      if (mask) sample = sample * 0.5;
    }
  });
  return Conv(x, w, group, window, [&](Counted acc) {
    if (bias) acc += 0.5;
  });
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_CONV_H_
