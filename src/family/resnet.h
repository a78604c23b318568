// The body of ResNet, which detectors have as well, and their frozen norm.
#ifndef ONNXFLOPS_SRC_FAMILY_RESNET_H_
#define ONNXFLOPS_SRC_FAMILY_RESNET_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/family/blocks.h"
#include "src/family/config.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

struct ResnetShape {
  int64_t channels = 3, embedding = 64;
  std::vector<int64_t> widths, depths;
  bool bottleneck = true;     // three convolutions in a layer, the inner ones narrow
  bool first_halves = false;  // the first stage, too, makes the image smaller
  bool early = false;         // the first convolution of a bottleneck does it
  // RT-DETR's, which begins with three small convolutions and averages before it makes an image of
  // other features smaller.
  bool deep = false;
  std::string activation;
};
ResnetShape ReadResnet(const Config& config);

// A BatchNorm in a module of this name, by numbers that no training changes.
Tensor FrozenNorm(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width,
                  absl::string_view type);

// A norm of so many features, in a module "normalization".
using NormFn = std::function<Tensor(GraphBuilder* b, const Tensor& x, int64_t width)>;
// The image after each stage.
std::vector<Tensor> BuildResnetStages(GraphBuilder* b, const Tensor& pixels, const ResnetShape& s,
                                      const NormFn& norm);

// Ends a model of images: logits of the mean over the image, or both. `flat`: the mean has no sides
// and the classifier is no list of modules.
void BuildPooledOutputs(GraphBuilder* b, const Tensor& image, Tensor pooled, int64_t width,
                        int64_t labels, bool flat);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_RESNET_H_
