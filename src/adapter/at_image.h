// A model that was exported for images of one size, at another: as an export at that size is, where
// only shapes of the graph depend on it.
//
// Three things follow the image: the size of inputs that are images; sizes that Reshape takes from
// a constant; and constants that are added to (or multiplied with, ...) tokens or pixels, one for
// each, such as positions, which become as large as in a model built for that size. All else that
// the file fixes is either independent of the image or an error with the node named
// (same_layers.h): weights, windows, sizes of Resize. Later stages see an ordinary model.
#ifndef ONNXFLOPS_SRC_ADAPTER_AT_IMAGE_H_
#define ONNXFLOPS_SRC_ADAPTER_AT_IMAGE_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "src/graph/image_size.h"
#include "src/graph/model.h"
#include "src/infer/infer.h"

namespace onnxflops {

struct AtImage {
  Model model;
  std::vector<std::string> warnings;
};

// Inference of a model, with this InferOptions::exported.
using InferSizes =
    absl::FunctionRef<absl::StatusOr<Inference>(const Model&, const Inference* exported)>;

// The model itself if it has that size. Errors: InvalidArgument without an image among the inputs,
// with images whose size is open or of several sizes, and where the file fixes what depends on the
// size.
absl::StatusOr<AtImage> ModelAtImage(const Model& model, const ImageSize& size, InferSizes infer);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_ADAPTER_AT_IMAGE_H_
