// PoolFormer: a transformer whose places are mixed by a mean of their neighbours.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

struct PoolFormerShape {
  int64_t channels = 3, pool = 3;
  std::vector<int64_t> depths, widths, inner, kernels, strides, padding;
  bool scaled = true;
  std::string activation;
};

PoolFormerShape ReadPoolFormer(const Config& config) {
  PoolFormerShape s;
  s.channels = config.Size("num_channels", 3);
  s.pool = config.Size("pool_size", 3);
  s.scaled = config.Flag("use_layer_scale", true);
  s.activation = ReadActivation(config, "hidden_act", "gelu");
  s.depths = ReadDepths(config, "depths", {2, 2, 6, 2});
  const size_t n = s.depths.size();
  s.widths = ReadStages(config, "hidden_sizes", {64, 128, 320, 512}, n);
  s.kernels = ReadStages(config, "patch_sizes", {7, 3, 3, 3}, n);
  s.strides = ReadStages(config, "strides", {4, 2, 2, 2}, n);
  s.padding = config.Indices("padding", {2, 1, 1, 1});
  if (s.padding.size() != n) config.Fault("padding", "has not as many entries as depths");
  s.padding.resize(n, 0);
  if (config.Size("num_encoder_blocks", 4) != static_cast<int64_t>(n)) {
    config.Fault("num_encoder_blocks", "is not the number of depths");
  }
  if (s.pool % 2 == 0 || s.pool > kMaxPatchSize) {
    config.Fault("pool_size", "should be odd, and not too large");
  }
  const double ratio = config.Real("mlp_ratio", 4);
  for (size_t i = 0; i < n; ++i) {
    const double inner = static_cast<double>(s.widths[i]) * ratio;
    const bool fits = inner >= 1 && inner <= static_cast<double>(kMaxConfigSize);
    if (!fits) config.Fault("mlp_ratio", "makes an MLP of no size");
    s.inner.push_back(fits ? static_cast<int64_t>(inner) : 1);
    if (s.kernels[i] > kMaxPatchSize) config.Fault("patch_sizes", "are too large");
  }
  return s;
}

class PoolFormerBuilder {
 public:
  PoolFormerBuilder(GraphBuilder* b, const PoolFormerShape& shape) : b_(b), s_(shape) {}

  Tensor Build(Tensor x) {
    const Scope encoder(b_, "encoder", "PoolFormerEncoder");
    int64_t in = s_.channels;
    for (size_t i = 0; i < s_.depths.size(); ++i) {
      {
        const Scope patches(b_, absl::StrCat("patch_embeddings.", i), "PoolFormerEmbeddings");
        x = Conv2d(b_, x, "projection",
                   {in, s_.widths[i], s_.kernels[i], s_.strides[i], true, s_.padding[i]});
      }
      for (int64_t k = 0; k < s_.depths[i]; ++k) {
        const Scope layer(b_, absl::StrCat("block.", i, ".", k), "PoolFormerLayer");
        x = Layer(x, s_.widths[i], s_.inner[i]);
      }
      in = s_.widths[i];
    }
    return x;
  }

  // Over all features and places.
  Tensor Norm(const Tensor& x, const char* name, int64_t width) {
    const Scope norm(b_, name, "PoolFormerGroupNorm");
    return b_->Op("GroupNormalization",
                  {x, b_->Weight("weight", {width}), b_->Weight("bias", {width})},
                  {{"num_groups", int64_t{1}}});
  }

 private:
  Tensor Scaled(const Tensor& x, const char* name, int64_t width) {
    if (!s_.scaled) return x;
    return Mul(b_, Reshape(b_, b_->Weight(name, {width}), {width, 1, 1}), x);
  }

  Tensor Layer(const Tensor& x, int64_t width, int64_t inner) {
    Tensor y = Norm(x, "before_norm", width);
    {
      const Scope pooling(b_, "pooling", "PoolFormerPooling");
      const int64_t p = s_.pool / 2;
      const Tensor mean = b_->Op("AveragePool", {y},
                                 {{"kernel_shape", std::vector<int64_t>{s_.pool, s_.pool}},
                                  {"strides", std::vector<int64_t>{1, 1}},
                                  {"pads", std::vector<int64_t>{p, p, p, p}}});
      y = b_->Op("Sub", {mean, y});
    }
    const Tensor sum = Add(b_, x, Scaled(y, "layer_scale_1", width));
    y = Norm(sum, "after_norm", width);
    {
      const Scope output(b_, "output", "PoolFormerOutput");
      y = Activate(b_, Conv2d(b_, y, "conv1", {width, inner, 1, 1, true}), s_.activation);
      y = Conv2d(b_, y, "conv2", {inner, width, 1, 1, true});
    }
    return Add(b_, sum, Scaled(y, "layer_scale_2", width));
  }

  GraphBuilder* b_;
  const PoolFormerShape& s_;
};

}  // namespace

absl::StatusOr<std::string> BuildPoolFormer(const Config& config) {
  const PoolFormerShape s = ReadPoolFormer(config);
  const std::string root =
      config.RequireArchitecture({"PoolFormerForImageClassification", "PoolFormerModel"});
  const int64_t labels = root == "PoolFormerModel" ? 0 : config.Labels();
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = b.Input("pixel_values", dtype, {"batch", s.channels, "height", "width"});
  const int64_t width = s.widths.back();
  PoolFormerBuilder builder(&b, s);
  Tensor x;
  {
    std::optional<Scope> model;
    if (labels > 0) model.emplace(&b, "poolformer", "PoolFormerModel");
    x = builder.Build(pixels);
  }
  if (labels == 0) {
    b.Output("last_hidden_state", x, dtype, {"batch", width, "rows", "columns"});
    return std::move(b).Finish();
  }
  x = builder.Norm(x, "norm", width);
  x = b.Op("ReduceMean", {x, b.Ints({-2, -1})}, {{"keepdims", int64_t{0}}});
  b.Output("logits", Linear(&b, x, "classifier", width, labels, true), dtype, {"batch", labels});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
