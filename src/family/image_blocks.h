// Blocks of models that look at images of any size.
#ifndef ONNXFLOPS_SRC_FAMILY_IMAGE_BLOCKS_H_
#define ONNXFLOPS_SRC_FAMILY_IMAGE_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/family/blocks.h"
#include "src/family/config.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

struct Sides {
  int64_t height, width;
};
// image_size: a number, or height and width. A size from outside replaces it.
Sides ReadSides(const Config& config, int64_t otherwise);
// pixel_values [batch, channels, height, width], whose last two sizes are open. They are `usual`
// unless they are set.
Tensor OpenPixels(GraphBuilder* b, int64_t channels, const Sides& usual);

// A convolution "projection" of pixels [batch, channels, height, width].
struct PatchSides {
  Sides kernel, stride, padding;  // padding: on each side
};
Tensor ProjectPatches(GraphBuilder* b, const Tensor& pixels, int64_t channels, int64_t width,
                      const PatchSides& sides);

// Sizes of stages: a list, one for each of `stages`. The default is taken if it is not there.
std::vector<int64_t> ReadStages(const Config& config, const char* key,
                                const std::vector<int64_t>& otherwise, size_t stages);
// The same for numbers of layers, which have a limit. It says how many stages there are.
std::vector<int64_t> ReadDepths(const Config& config, const char* key,
                                const std::vector<int64_t>& otherwise);

// A LayerNorm of a class of the model's own.
Tensor NormOf(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width,
              absl::string_view type);
// Over the features of each place of an image [batch, width, h, w].
Tensor LayerNorm2d(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width,
                   absl::string_view type = "LayerNorm");
// The statistics of a BatchNorm are buffers.
Tensor BatchNorm(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width,
                 absl::string_view type = "BatchNorm2d");

// [batch, width, h, w] <-> [batch, h, w, width].
Tensor ChannelsLast(GraphBuilder* b, const Tensor& x);
Tensor ChannelsFirst(GraphBuilder* b, const Tensor& x);
// [batch, width, h, w] -> [batch, h * w, width].
Tensor PlacesOfImage(GraphBuilder* b, const Tensor& x, int64_t width);

// Zeros below and to the right of an image [batch, h, w, features].
Tensor PadLast(GraphBuilder* b, const Tensor& x, int64_t bottom, int64_t right);

// Square windows over an image of fixed size, which is padded to whole ones.
struct WindowGrid {
  Sides sides;
  int64_t window;
  int64_t Rows() const { return (sides.height + window - 1) / window; }
  int64_t Columns() const { return (sides.width + window - 1) / window; }
  int64_t Bottom() const { return Rows() * window - sides.height; }
  int64_t Right() const { return Columns() * window - sides.width; }
};
// [batch, h, w, features] -> [batch * windows, window * window, features], after the image is
// rolled by `shift` up and to the left; and back.
Tensor IntoWindows(GraphBuilder* b, const Tensor& x, const WindowGrid& grid, int64_t features,
                   int64_t shift = 0);
Tensor FromWindows(GraphBuilder* b, const Tensor& x, const WindowGrid& grid, int64_t features,
                   int64_t shift = 0);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_IMAGE_BLOCKS_H_
