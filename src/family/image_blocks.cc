#include "src/family/image_blocks.h"

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"

namespace onnxflops::family {

Sides ReadSides(const Config& config, int64_t otherwise) {
  if (config.notes().image_size) return {*config.notes().image_size, *config.notes().image_size};
  if (!config.HasList("image_size")) {
    const int64_t side = config.Size("image_size", otherwise);
    return {side, side};
  }
  const std::vector<int64_t> sides = *config.Sizes("image_size");
  if (sides.size() > 2) config.Fault("image_size", "should be a number, or height and width");
  return {sides.front(), sides.back()};
}

Tensor OpenPixels(GraphBuilder* b, int64_t channels, const Sides& usual) {
  b->AssumeDim("height", usual.height);
  b->AssumeDim("width", usual.width);
  return b->Input("pixel_values", b->dtype(), {"batch", channels, "height", "width"});
}

Tensor ProjectPatches(GraphBuilder* b, const Tensor& pixels, int64_t channels, int64_t width,
                      const PatchSides& sides) {
  const Scope projection(b, "projection", "Conv2d");
  const auto list = [](const Sides& each) { return std::vector<int64_t>{each.height, each.width}; };
  const int64_t top = sides.padding.height, left = sides.padding.width;
  const Tensor weight =
      b->Weight("weight", {width, channels, sides.kernel.height, sides.kernel.width});
  return b->Op("Conv", {pixels, weight, b->Weight("bias", {width})},
               {{"kernel_shape", list(sides.kernel)},
                {"strides", list(sides.stride)},
                {"pads", std::vector<int64_t>{top, left, top, left}}});
}

std::vector<int64_t> ReadStages(const Config& config, const char* key,
                                const std::vector<int64_t>& otherwise, size_t stages) {
  std::vector<int64_t> sizes = config.SizesOr(key, otherwise);
  if (sizes.size() != stages) {
    config.Fault(key, absl::StrCat("has ", sizes.size(), " entries for ", stages, " stages"));
    sizes.resize(stages, 1);
  }
  return sizes;
}

std::vector<int64_t> ReadDepths(const Config& config, const char* key,
                                const std::vector<int64_t>& otherwise) {
  constexpr size_t kMostStages = 16;
  std::vector<int64_t> depths = config.SizesOr(key, otherwise);
  if (depths.size() > kMostStages) {
    config.Fault(key, absl::StrCat("has more than ", kMostStages, " stages"));
    depths.resize(kMostStages);
  }
  int64_t layers = 0;
  for (const int64_t depth : depths) layers += depth;
  if (layers > kMaxConfigLayers) {
    config.Fault(key, absl::StrCat("has more than ", kMaxConfigLayers, " layers"));
  }
  return depths;
}

Tensor NormOf(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width,
              absl::string_view type) {
  const Scope scope(b, name, type);
  return b->Op("LayerNormalization", {x, b->Weight("weight", {width}), b->Weight("bias", {width})});
}

Tensor LayerNorm2d(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width,
                   absl::string_view type) {
  return ChannelsFirst(b, NormOf(b, ChannelsLast(b, x), name, width, type));
}

Tensor BatchNorm(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width,
                 absl::string_view type) {
  const Scope scope(b, name, type);
  return b->Op("BatchNormalization",
               {x, b->Weight("weight", {width}), b->Weight("bias", {width}),
                b->Weight("running_mean", {width}), b->Weight("running_var", {width})});
}

Tensor ChannelsLast(GraphBuilder* b, const Tensor& x) { return Transpose(b, x, {0, 2, 3, 1}); }
Tensor ChannelsFirst(GraphBuilder* b, const Tensor& x) { return Transpose(b, x, {0, 3, 1, 2}); }

Tensor PlacesOfImage(GraphBuilder* b, const Tensor& x, int64_t width) {
  return Transpose(b, Reshape(b, x, {0, width, -1}), {0, 2, 1});
}

Tensor PadLast(GraphBuilder* b, const Tensor& x, int64_t bottom, int64_t right) {
  if (bottom == 0 && right == 0) return x;
  return b->Op("Pad", {x, b->Ints({0, 0, 0, 0, 0, bottom, right, 0})});
}

namespace {

// The first `by` rows and columns go to the end.
Tensor Rolled(GraphBuilder* b, Tensor x, const WindowGrid& grid, int64_t by_row,
              int64_t by_column) {
  const int64_t height = grid.Rows() * grid.window, width = grid.Columns() * grid.window;
  std::vector<Tensor> parts = Split(b, x, {by_row, height - by_row}, 1);
  x = Concat(b, {parts[1], parts[0]}, 1);
  parts = Split(b, x, {by_column, width - by_column}, 2);
  return Concat(b, {parts[1], parts[0]}, 2);
}

}  // namespace

Tensor IntoWindows(GraphBuilder* b, const Tensor& x, const WindowGrid& grid, int64_t features,
                   int64_t shift) {
  const int64_t w = grid.window;
  Tensor y = PadLast(b, x, grid.Bottom(), grid.Right());
  if (shift > 0) y = Rolled(b, y, grid, shift, shift);
  y = Reshape(b, y, {0, grid.Rows(), w, grid.Columns(), w, features});
  return Reshape(b, Transpose(b, y, {0, 1, 3, 2, 4, 5}), {-1, w * w, features});
}

Tensor FromWindows(GraphBuilder* b, const Tensor& x, const WindowGrid& grid, int64_t features,
                   int64_t shift) {
  const int64_t w = grid.window, height = grid.Rows() * w, width = grid.Columns() * w;
  Tensor y = Reshape(b, x, {-1, grid.Rows(), grid.Columns(), w, w, features});
  y = Reshape(b, Transpose(b, y, {0, 1, 3, 2, 4, 5}), {-1, height, width, features});
  if (shift > 0) y = Rolled(b, y, grid, height - shift, width - shift);
  if (grid.Bottom() == 0 && grid.Right() == 0) return y;
  const Tensor ends = b->Ints({grid.sides.height, grid.sides.width});
  return b->Op("Slice", {y, b->Ints({0, 0}), ends, b->Ints({1, 2})});
}

}  // namespace onnxflops::family
