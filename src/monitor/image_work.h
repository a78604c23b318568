// The FLOPs of a step whose samples have any number of images.
//
// The decoder runs over all tokens of a sample, and the tower over each image, no matter whose it
// is. So the sum is that of the decoder over the samples, and of the tower over the images:
// samples of an image, less the decoder of as many tokens.
#ifndef ONNXFLOPS_SRC_MONITOR_IMAGE_WORK_H_
#define ONNXFLOPS_SRC_MONITOR_IMAGE_WORK_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

// The sizes of an image: frames, and patches down and across.
inline constexpr std::array kGridSymbols = {"grid_t", "grid_h", "grid_w"};

struct ImageWork {
  Expr flops;          // of a step of samples with an image each, by the symbols below
  std::string batch;   // the number of samples
  std::string length;  // of a sample's text
  Expr image_tokens;   // of an image in the decoder, by kGridSymbols
};

// What the tower cannot merge: a side that is no multiple of its size in `multiples`; "" if
// nothing.
std::string WrongGrid(const std::array<std::vector<int64_t>, 3>& grids, const Bindings& multiples);

// The tokens of each image.
absl::StatusOr<std::vector<int64_t>> TokensOfImages(
    const Expr& image_tokens, const std::array<std::vector<int64_t>, 3>& grids);

// `rows`: the tokens of each sample, of text and images, each 1 or more. `packed`: the samples
// follow each other in one row. FailedPrecondition if the tokens of an image do not cost the
// decoder what those of text do.
absl::StatusOr<Expr> FlopsOfImages(const ImageWork& work, const std::vector<int64_t>& rows,
                                   const std::array<std::vector<int64_t>, 3>& grids, bool packed);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MONITOR_IMAGE_WORK_H_
