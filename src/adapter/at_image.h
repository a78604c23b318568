// Converts a model exported for one image size to another, as if it had been exported at that size.
// This works if only shapes of the graph depend on the size.
//
// Three things follow the image: the size of inputs that are images; sizes that Reshape takes from
// a constant; and constants that are added to (or multiplied with, ...) tokens or pixels, such as
// positions, which become as large as in a model built for that size. Everything else that the file
// fixes is either independent of the image or an error that names the node (same_layers.h):
// weights, windows, sizes of Resize. Later stages see an ordinary model.
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

// Returns the model itself if it already has that size. Errors: InvalidArgument if no input is an
// image, if the size of the images is open or they have several sizes, or if the file fixes a value
// that depends on the size.
absl::StatusOr<AtImage> ModelAtImage(const Model& model, const ImageSize& size, InferSizes infer);

// Those of a report's warnings that name constants, such as positions, which became as large as in
// a model built for that size: figures rest on that.
std::vector<std::string> PositionWarnings(const std::vector<std::string>& warnings);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_ADAPTER_AT_IMAGE_H_
