// Convolutions, pooling and sampling.
#include "tests/oracle/cases.h"
#include "tests/oracle/conv.h"
#include "tests/oracle/elementwise.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/pool.h"
#include "tests/oracle/resize.h"

namespace onnxflops::oracle {

void ConvCases(const Visit& visit) {
  for (size_t rank : {size_t{1}, size_t{2}}) {
    for (const Window& window : Windows(rank, false)) {
      for (const Sizes& s : Shapes(3, 3)) {  // group, size of the input, channels per group
        const int64_t group = s[0];
        if (group > 2) continue;
        const Sizes x = Concat({2, group * s[2]}, Spatial(rank, s[1]));
        const Sizes w = Concat({group * 2, s[2]}, window.kernel);
        for (bool bias : {false, true}) {
          Case c{"Conv", 11, {In(x), In(w)}, WindowAttributes(window)};
          c.attributes.emplace_back("dilations", window.dilations);
          c.attributes.emplace_back("group", group);
          if (bias) c.inputs.push_back(In({group * 2}));
          visit(c, [&] {
            return Conv(x, w, group, window, [&](Counted acc) {
              if (bias) acc += 0.5;
            });
          });
        }
      }
    }
  }
}

void ConvTransposeCases(const Visit& visit) {
  for (size_t rank : {size_t{1}, size_t{2}}) {
    for (const Window& window : Windows(rank, false)) {
      for (const Sizes& s : Shapes(4, 2)) {  // group, size of the input, channels, bias
        const int64_t group = s[0];
        const bool bias = s[3] == 2;
        const Sizes x = Concat({2, group * s[2]}, Spatial(rank, s[1]));
        const Sizes w = Concat({group * s[2], 3}, window.kernel);
        Case c{"ConvTranspose", 11, {In(x), In(w)}, WindowAttributes(window)};
        c.attributes.emplace_back("dilations", window.dilations);
        c.attributes.emplace_back("group", group);
        if (bias) c.inputs.push_back(In({group * 3}));
        const Transposed plain{Sizes(rank, 0), {}};
        visit(c, [&] { return ConvTranspose(x, w, group, window, plain, bias); });
        if (window.strides != Sizes(rank, 1)) {
          Transposed padded{window.strides, {}};
          for (int64_t& padding : padded.output_padding) --padding;
          c.attributes.emplace_back("output_padding", padded.output_padding);
          visit(c, [&] { return ConvTranspose(x, w, group, window, padded, bias); });
        }
      }
    }
  }
}

void PoolCases(const Visit& visit) {
  for (size_t rank : {size_t{1}, size_t{2}}) {
    for (const Window& w : Windows(rank, true)) {
      for (int64_t size = 1; size <= 5; ++size) {
        const Sizes x = Concat({2, 3}, Spatial(rank, size));
        auto attributes = WindowAttributes(w);
        attributes.emplace_back("ceil_mode", int64_t{w.ceil_mode});
        attributes.emplace_back("dilations", w.dilations);
        visit({"MaxPool", 12, {In(x)}, attributes}, [&] { return Pool(PoolKind::kMax, x, w); });
        visit({"MaxPool", 22, {In(x)}, attributes, 2},
              [&] { return Pool(PoolKind::kMax, x, w, 0, true); });
        visit({"AveragePool", 19, {In(x)}, attributes},
              [&] { return Pool(PoolKind::kAverage, x, w); });
        for (int64_t p : {1, 2, 3}) {
          auto with_p = attributes;
          with_p.emplace_back("p", p);
          visit({"LpPool", 18, {In(x)}, with_p}, [&] { return Pool(PoolKind::kLp, x, w, p); });
        }
      }
    }
  }
  for (size_t rank = 3; rank < 6; ++rank) {
    for (const Sizes& x : Shapes(rank, 2)) {
      visit({"GlobalMaxPool", 22, {In(x)}}, [&] { return GlobalPool(PoolKind::kMax, x); });
      visit({"GlobalAveragePool", 22, {In(x)}}, [&] { return GlobalPool(PoolKind::kAverage, x); });
      visit({"GlobalLpPool", 22, {In(x)}}, [&] { return GlobalPool(PoolKind::kLp, x); });
    }
  }
}

void DeformConvCases(const Visit& visit) {
  for (const Window& window : Windows(2, false)) {
    if (window.auto_pad != "NOTSET") continue;
    ForEach({2, 2, 2, 2}, [&](const Sizes& i) {
      const Sizes x = {3, 4, 5, 6}, w = Concat({2, 4 / (i[0] + 1)}, window.kernel);
      const auto spatial = SlidingOutput({5, 6}, window);
      if (!spatial.has_value()) return;
      const int64_t places = (i[1] + 1) * Tensor::Count(window.kernel);
      Case c{"DeformConv", 19, {In(x), In(w), In(Concat({3, 2 * places}, *spatial))}};
      c.inputs.push_back(i[2] ? In({2}) : Absent());
      if (i[3]) c.inputs.push_back(In(Concat({3, places}, *spatial)));
      c.attributes = {{"kernel_shape", window.kernel},
                      {"strides", window.strides},
                      {"dilations", window.dilations},
                      {"pads", window.pads},
                      {"group", i[0] + 1},
                      {"offset_group", i[1] + 1}};
      visit(c, [&] { return DeformConv(x, w, i[0] + 1, i[1] + 1, window, i[2], i[3]); });
    });
  }
}

void ResizeCases(const Visit& visit) {
  constexpr struct {
    const char* mode;
    int64_t taps;
  } kModes[] = {{"nearest", 1}, {"linear", 2}, {"cubic", 4}};
  for (const auto& mode : kModes) {
    for (size_t rank : {size_t{3}, size_t{4}}) {
      for (const Sizes& spatial : Shapes(rank - 2, 3)) {
        const Sizes x = Concat({7, 5}, Spatial(rank - 2, 2)), y = Concat({7, 5}, spatial);
        for (int opset : {11, 13, 19}) {
          visit({"Resize",
                 opset,
                 {In(x), opset < 13 ? In({0}) : Absent(), opset < 13 ? In({0}) : Absent(), Ints(y)},
                 {{"mode", mode.mode}}},
                [&] { return Resize(y, 2, mode.taps); });
        }
      }
    }
  }
  ForEach({2, 2, 2, 2, 3, 3}, [&](const Sizes& i) {
    const Grid grid{i[0] != 0, i[1] != 0, i[2] != 0};
    const Sizes x = {3, i[3] + 1, 5, 4}, places = {i[4] + 1, i[5] + 1};
    visit({"GridSample",
           20,
           {In(x), In(Concat(Concat({3}, places), {2}))},
           {{"align_corners", i[0]},
            {"padding_mode", grid.border ? "border" : "zeros"},
            {"mode", grid.nearest ? "nearest" : "linear"}}},
          [&] { return GridSample(x, places, grid); });
  });
}

namespace {

// One sampled point: where it is, whether it is on the map, its four neighbours and their weights.
void RoiPoint() {
  for (int axis = 0; axis < 2; ++axis) {
    // start + bin * size + (i + 0.5) * size / points, on the map, not negative
    const Counted place = Counted(0.5) + Counted(1) * 0.5 + Counted(1.5) * 0.5 / 2.0;
    Compared(place, -1.0);
    Compared(place, 3.0);
    const Counted inside = Max(place, 0.0);
    const Counted low = inside - Round(inside);
    1.0 - low;
  }
  for (int corner = 0; corner < 4; ++corner) Counted(0.5) * 0.25;
}
// The corners of a region on the map and the size of its bins; without half a pixel of shift a
// region is at least one wide.
void RoiRegion(bool half_pixel) {
  for (int axis = 0; axis < 2; ++axis) {
    Counted start = Counted(0.5) * 0.25, end = Counted(1) * 0.25;
    if (half_pixel) {
      start = start - 0.5;
      end = end - 0.5;
    }
    Counted size = end - start;
    if (!half_pixel) size = Max(size, 1.0);
    size / 2.0;
  }
}
void RoiBin(int64_t points, bool max) {
  Counted acc = max ? -1e30 : 0;
  for (int64_t point = 0; point < points; ++point) {
    for (int corner = 0; corner < 4; ++corner) {
      const Counted value = Counted(0.5) * 0.25;
      acc = max ? Max(acc, value) : acc + value;
    }
  }
  if (!max) acc / static_cast<double>(points);
}

}  // namespace

void RoiAlignCases(const Visit& visit) {
  ForEach({2, 3, 3, 2, 2, 2, 2}, [&](const Sizes& i) {
    const int64_t channels = i[0] + 1, regions = i[1] + 1, ratio = i[2] + 1;
    const Sizes bins = {i[3] + 1, i[4] + 1};
    const bool max = i[5] > 0, half_pixel = i[6] > 0;
    for (int opset : {10, 16, 22}) {
      if (opset == 10 && half_pixel) continue;
      Case c{"RoiAlign", opset, {In({3, channels, 5, 6}), In({regions, 4}), In({regions}, kInt64)}};
      c.attributes = {{"output_height", bins[0]},
                      {"output_width", bins[1]},
                      {"sampling_ratio", ratio},
                      {"mode", max ? "max" : "avg"}};
      if (opset > 10) {
        c.attributes.emplace_back("coordinate_transformation_mode",
                                  half_pixel ? "half_pixel" : "output_half_pixel");
      }
      visit(c, [&] {
        for (int64_t region = 0; region < regions; ++region) {
          RoiRegion(half_pixel);
          ForEach(bins, [&](const Sizes&) {
            for (int64_t point = 0; point < ratio * ratio; ++point) RoiPoint();
            for (int64_t channel = 0; channel < channels; ++channel) RoiBin(ratio * ratio, max);
          });
        }
        return OneOutput({regions, channels, bins[0], bins[1]});
      });
    }
  });
}

void AffineGridCases(const Visit& visit) {
  for (size_t rank : {size_t{2}, size_t{3}}) {
    for (const Sizes& sizes : Shapes(rank, 3)) {
      for (int64_t batch : {1, 2}) {
        for (int64_t align : {0, 1}) {
          const auto r = static_cast<int64_t>(rank);
          visit({"AffineGrid",
                 20,
                 {In({batch, r, r + 1}), Ints(Concat({batch, 4}, sizes))},
                 {{"align_corners", align}}},
                [&] {
                  for (int64_t size : sizes) {
                    // The first place and the step of an axis: 2 / (size - 1) from corner to
                    // corner, else 2 / size from half a step on.
                    const Counted step =
                        2.0 / (align > 0 ? Counted(3) - 1.0 : Counted(static_cast<double>(size)));
                    const Counted start = align > 0 ? Counted(-1) : -1.0 + step / 2.0;
                    for (int64_t i = 0; i < size; ++i) start + Counted(2) * step;
                  }
                  ForEach(Concat({batch, r}, sizes), [&](const Sizes&) { Dot(r + 1); });
                  return OneOutput(Concat(Concat({batch}, sizes), {r}));
                });
        }
      }
    }
  }
}

}  // namespace onnxflops::oracle
