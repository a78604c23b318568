// Windows and sampling of ONNX Runtime: channels last, channels in blocks, and operators of its
// own.
#include <algorithm>

#include "tests/oracle/cases.h"
#include "tests/oracle/conv.h"
#include "tests/oracle/elementwise.h"
#include "tests/oracle/pool.h"
#include "tests/oracle/quantization.h"
#include "tests/oracle/resize.h"

namespace onnxflops::oracle {
namespace {

constexpr char kNchwc[] = "com.microsoft.nchwc";

// [N,C,spatial] as [N,spatial,C].
Sizes Last(Sizes dims) {
  std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return dims;
}
Outputs Last(Outputs outputs) {
  if (!outputs.has_value()) return outputs;
  for (Sizes& dims : *outputs) dims = Last(dims);
  return outputs;
}

}  // namespace

// Channels in blocks of 8 or 16 are the same channels.
void BlockedCases(const Visit& visit) {
  for (const Window& window : Windows(2, true)) {
    const Sizes x = {2, 16, 5, 4}, w = Concat({32, 1}, window.kernel);
    auto attributes = WindowAttributes(window);
    attributes.emplace_back("dilations", window.dilations);
    if (!window.ceil_mode) {
      Case c{"Conv", 1, {In(x), In(w), In({32})}, attributes, 1, kNchwc};
      c.attributes.emplace_back("group", int64_t{16});
      c.attributes.emplace_back("activation", "Relu");
      visit(c, [&] { return Conv(x, w, 16, window, [](Counted acc) { Max(acc + 0.5, 0.0); }); });
    }
    attributes.emplace_back("ceil_mode", int64_t{window.ceil_mode});
    visit({"MaxPool", 1, {In(x)}, attributes, 1, kNchwc},
          [&] { return Pool(PoolKind::kMax, x, window); });
    visit({"AveragePool", 1, {In(x)}, attributes, 1, kNchwc},
          [&] { return Pool(PoolKind::kAverage, x, window); });
  }
  for (const Sizes& s : Shapes(3, 3)) {
    const Sizes x = {s[0], 16, s[1], s[2]};
    visit({"GlobalMaxPool", 1, {In(x)}, {}, 1, kNchwc},
          [&] { return GlobalPool(PoolKind::kMax, x); });
    visit({"GlobalAveragePool", 1, {In(x)}, {}, 1, kNchwc},
          [&] { return GlobalPool(PoolKind::kAverage, x); });
    for (int64_t taps : {1, 2}) {
      const char* mode = taps == 1 ? "nearest" : "linear";
      visit({"Upsample",
             1,
             {In(x)},
             {{"scales", std::vector<int64_t>{1, 1, 2, 3}}, {"mode", mode}},
             1,
             kNchwc},
            [&] {
              return Resize({s[0], 16, 2 * s[1], 3 * s[2]}, 2, taps);
            });
    }
  }
}

void ChannelsLastQuantizedCases(const Visit& visit) {
  const Input u8 = In({}, kUint8), scale = In({});
  const Sizes x = {3, 4, 5, 7};
  for (const Window& window : Windows(2, false)) {
    const Sizes w = Concat({6, 2}, window.kernel);
    auto attributes = WindowAttributes(window);
    visit({"QLinearAveragePool",
           1,
           {In(Last(x), kUint8), scale, u8, scale, u8},
           attributes,
           1,
           kNhwc},
          [&] {
            Window undilated = window;
            undilated.dilations = {1, 1};
            const Outputs outputs = Pool(PoolKind::kAverage, x, undilated);
            if (!outputs.has_value()) return outputs;
            ForEach(x, [](const Sizes&) { Dequantize(5, true); });
            ForEach(outputs->front(), [](const Sizes&) { Quantize(0.5, true); });
            return Last(outputs);
          });
    attributes.emplace_back("dilations", window.dilations);
    attributes.emplace_back("group", int64_t{2});
    visit({"QLinearConv",
           10,
           {In(Last(x), kUint8), scale, u8, In(w, kUint8), scale, u8, scale, u8, In({6}, kInt32)},
           attributes,
           1,
           kNhwc},
          [&] {
            const OnIntegers integers;
            const Outputs outputs =
                Conv(x, w, 2, window, [](Counted acc) { Requantize(acc + 7.0); });
            if (outputs.has_value()) SubtractZeroPoint(x);
            if (outputs.has_value()) SubtractZeroPoint(w);
            return Last(outputs);
          });
  }
}

// The layout of the weights does not change with that of the channels.
void ChannelsLastMoreCases(const Visit& visit) {
  for (const Window& window : Windows(2, false)) {
    const Sizes x = {3, 2, 7, 5}, w = Concat({2, 6}, window.kernel),
                v = Concat({6, 2}, window.kernel);
    auto attributes = WindowAttributes(window);
    attributes.emplace_back("dilations", window.dilations);
    visit({"ConvTranspose", 11, {In(Last(x)), In(w), In({6})}, attributes, 1, kNhwc}, [&] {
      return Last(ConvTranspose(x, w, 1, window, {{0, 0}, {}}, true));
    });
    visit({"NhwcConv", 1, {In(Last(x)), In(v), In({6})}, attributes, 1, kMs},
          [&] { return Last(Conv(x, v, 1, window, [](Counted acc) { acc += 0.5; })); });
    const Input u8 = In({}, kUint8), scale = In({});
    visit({"QLinearConvTranspose",
           1,
           {In(Last(x), kUint8), scale, u8, In(w, kUint8), scale, u8, scale, u8, In({6}, kInt32)},
           attributes,
           1,
           kNhwc},
          [&] {
            const OnIntegers integers;
            const Outputs outputs = ConvTranspose(x, w, 1, window, {{0, 0}, {}}, true);
            if (!outputs.has_value()) return outputs;
            SubtractZeroPoint(x);
            SubtractZeroPoint(w);
            ForEach(outputs->front(), [](const Sizes&) { Requantize(7); });
            return Last(outputs);
          });
    if (window.auto_pad != "NOTSET") continue;
    Case c{"ConvTransposeWithDynamicPads", 1, {In(x), In(w), Ints(window.pads)}, {}, 1, kMs};
    for (const auto& attribute : attributes) {
      if (attribute.first != "pads") c.attributes.push_back(attribute);
    }
    visit(c, [&] { return ConvTranspose(x, w, 1, window, {{0, 0}, {}}, false); });
    visit({"MaxpoolWithMask", 1, {In(x), In(x, kInt32)}, WindowAttributes(window), 1, kMs}, [&] {
      Window undilated = window;
      undilated.dilations = {1, 1};
      const Outputs outputs = Pool(PoolKind::kMax, x, undilated);
      if (!outputs.has_value()) return outputs;
      const OnIntegers integers;  // whether the mask of an element is zero
      ForEach(Concat(outputs->front(), window.kernel), [](const Sizes&) { Compared(1, 0.5); });
      return outputs;
    });
  }
}

void RuntimeSamplingCases(const Visit& visit) {
  for (const Sizes& s : Shapes(4, 2)) {
    const Sizes x = {5, s[0], 7, 6}, places = {s[1], s[2]};
    const Grid grid{s[3] > 1, false, false};
    const std::vector<std::pair<std::string, AttributeValue>> align = {
        {"align_corners", int64_t{s[3] > 1}}};
    const Input field = In(Concat(Concat({5}, places), {2}));
    visit({"GridSample", 1, {In(x), field}, align, 1, kMs},
          [&] { return GridSample(x, places, grid); });
    visit({"GridSample", 16, {In(Last(x)), field}, align, 1, kNhwc},
          [&] { return Last(GridSample(x, places, grid)); });
    const std::vector<int64_t> kernel = {2, 3}, strides = {4, 8};
    visit({"MaxUnpool",
           11,
           {In(Last(x)), In(Last(x), kInt64)},
           {{"kernel_shape", kernel}, {"strides", strides}},
           1,
           kNhwc},
          [&] {
            return OneOutput(Last(Sizes{5, s[0], 26, 43}));
          });
    const Sizes y = Concat({5, s[0]}, places);
    visit({"Resize",
           19,
           {In(Last(x)), Absent(), Absent(), Ints(Last(y))},
           {{"mode", "nearest"}},
           1,
           kNhwc},
          [&] { return Last(Resize(y, 2, 1)); });
  }
}

namespace {

// A box: the first place of an axis and the step between places, in elements of the image.
void CropBox() {
  for (int axis = 0; axis < 2; ++axis) (Counted(1) - 0.5) * 19.0 / 5.0;
}
// A row or a column: where it is, and whether that is on the image.
void CropPlace(bool bilinear) {
  const Counted at = Counted(0.5) * 19.0 + Counted(2) * 0.25;
  Compared(at, 0.0);
  Compared(19.0, at);
  const Counted low = Round(at);
  if (!bilinear) return;
  Round(at);  // the neighbour above
  at - low;
}
Counted Between(Counted a, Counted b, Counted weight) { return a + (b - a) * weight; }

}  // namespace

void CropAndResizeCases(const Visit& visit) {
  for (const Sizes& s : Shapes(4, 3)) {  // boxes, channels, rows, columns
    for (bool bilinear : {true, false}) {
      const Input size = {{2}, kInt32, {{s[2], s[3]}}, false};
      const Sizes y = {s[0], s[1], s[2], s[3]};
      visit({"CropAndResize",
             1,
             {In({5, s[1], 20, 30}), In({s[0], 4}), In({s[0]}, kInt32), size},
             {{"mode", bilinear ? "bilinear" : "nearest"}},
             1,
             kMs},
            [&] {
              for (int64_t box = 0; box < s[0]; ++box) {
                CropBox();
                for (int64_t i = 0; i < s[2] + s[3]; ++i) CropPlace(bilinear);
              }
              ForEach(y, [&](const Sizes&) {
                if (bilinear) Between(Between(1, 2, 0.5), Between(3, 4, 0.5), 0.5);
              });
              return OneOutput(y);
            });
    }
  }
}

}  // namespace onnxflops::oracle
