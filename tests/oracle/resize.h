// Sampling between the elements of a tensor.
#ifndef ONNXFLOPS_TESTS_ORACLE_RESIZE_H_
#define ONNXFLOPS_TESTS_ORACLE_RESIZE_H_

#include "tests/oracle/shapes.h"

namespace onnxflops::oracle {

// As the reference evaluator interpolates: along the first axis, between `taps` values that are
// interpolated along the other axes. 1 tap is the nearest element itself. The weights of an axis
// are index arithmetic, found once per place.
inline Counted Interpolate(int64_t axes, int64_t taps) {
  if (axes == 0 || taps == 1) return 0.5;
  Counted acc = 0;
  for (int64_t i = 0; i < taps; ++i) acc += Counted(0.25) * Interpolate(axes - 1, taps);
  return acc;
}

// Spatial axes are all but the first `skipped`.
inline Outputs Resize(const Sizes& out, int64_t skipped, int64_t taps) {
  ForEach(out,
          [&](const Sizes&) { Interpolate(static_cast<int64_t>(out.size()) - skipped, taps); });
  return OneOutput(out);
}

// x [N,C,in], grid [N,out,d]: coordinates in -1..1 become places, shared by the channels.
struct Grid {
  bool align_corners = false;
  bool border = false;
  bool nearest = false;
};
inline Outputs GridSample(const Sizes& x, const Sizes& places, const Grid& grid) {
  const auto axes = static_cast<int64_t>(places.size());
  const Sizes out = Concat({x[0], x[1]}, places);
  ForEach(Concat(Concat({x[0]}, places), {axes}), [&](const Sizes&) {
    Counted at = Counted(0.5) + 1.0;
    at = grid.align_corners ? at / 2.0 * 3.0 : (at * 4.0 - 1.0) / 2.0;
    if (grid.border) at = Min(Max(at, 0.0), 3.0);
    const Counted low = Round(at);
    if (!grid.nearest) 1.0 - (at - low);
  });
  ForEach(out, [&](const Sizes&) { Interpolate(axes, grid.nearest ? 1 : 2); });
  return OneOutput(out);
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_RESIZE_H_
