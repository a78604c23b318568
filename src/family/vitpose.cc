// ViTPose: a ViT whose patches become an image again, and a map of heat for each joint.
//
// How it works. The head reads the output of one layer, the last of out_indices; the class runs all
// layers, and so does the graph. ViTPose+ has experts: a part of each MLP's features comes from the
// expert of the image's data set. The class runs all experts over all images and keeps one, so the
// graph does so, too. The head enlarges the image and convolves it, or has two transposed
// convolutions.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

struct VitPoseShape {
  int64_t channels = 3, hidden = 768, layers = 12, heads = 12, inner = 3072, read = 12;
  int64_t experts = 1, part = 0, scale = 4, labels = 0;
  Sides image = {256, 192}, patch = {16, 16};
  bool bias = true, simple = true;
  std::string activation;
  int64_t Rows() const { return image.height / patch.height; }
  int64_t Columns() const { return image.width / patch.width; }
};

constexpr int64_t kPosePadding = 2;

Sides ReadPoseSides(const Config& config, const char* key, const Sides& otherwise) {
  std::vector<int64_t> sides;
  if (config.Has(key) && !config.HasList(key)) {
    sides = {config.Size(key, 1)};
  } else {
    sides = config.SizesOr(key, {otherwise.height, otherwise.width});
  }
  if (sides.size() > 2) config.Fault(key, "should be height and width");
  return {sides.front(), sides.back()};
}

// The layer that the head reads.
int64_t ReadPoseLayer(const Config& config, int64_t layers) {
  int64_t read = layers;
  if (const auto names = config.Texts("out_features")) {
    read = 0;
    for (int64_t i = 1; i <= layers && !names->empty(); ++i) {
      if (names->back() == absl::StrCat("stage", i)) read = i;
    }
    if (read == 0) config.Fault("out_features", "should end with a layer, such as stage12");
  } else if (const auto indices = config.Sizes("out_indices")) {
    read = indices->back();
    if (read > layers) config.Fault("out_indices", "should end with a layer");
  }
  return read;
}

VitPoseShape ReadVitPose(const Config& config) {
  VitPoseShape s;
  const Config inner = config.Child("backbone_config");
  if (inner.Text("model_type", "vitpose_backbone") != "vitpose_backbone") {
    inner.Fault("model_type", "should be vitpose_backbone: others are not known");
  }
  s.channels = inner.Size("num_channels", 3);
  s.hidden = inner.Size("hidden_size", 768);
  s.layers = inner.Layers("num_hidden_layers", 12);
  s.heads = inner.Size("num_attention_heads", 12);
  s.bias = inner.Flag("qkv_bias", true);
  s.activation = ReadActivation(inner, "hidden_act", "gelu");
  const int64_t ratio = inner.Size("mlp_ratio", 4);
  if (ratio > kMaxPatchSize) inner.Fault("mlp_ratio", "is too large");
  s.inner = s.hidden * (ratio > kMaxPatchSize ? 1 : ratio);
  s.image = ReadPoseSides(inner, "image_size", s.image);
  s.patch = ReadPoseSides(inner, "patch_size", s.patch);
  s.experts = inner.Layers("num_experts", 1);
  if (s.experts > 1) s.part = inner.Size("part_features", 256);
  s.read = ReadPoseLayer(inner, s.layers);
  s.simple = config.Flag("use_simple_decoder", true);
  s.scale = s.simple ? config.Size("scale_factor", 4) : 4;
  s.labels = config.Labels();
  inner.RequireDivisible("hidden_size", s.hidden, "num_attention_heads", s.heads);
  if (s.part >= s.hidden) inner.Fault("part_features", "is not less than hidden_size");
  if (s.scale > kMaxPatchSize) config.Fault("scale_factor", "is too large");
  const auto fits = [](int64_t size, int64_t patch) {
    const int64_t padded = size + 2 * kPosePadding;
    return size >= patch && (padded - patch) / patch + 1 == size / patch;
  };
  if (!fits(s.image.height, s.patch.height) || !fits(s.image.width, s.patch.width)) {
    inner.Fault("patch_size", "makes not as many patches of the padded image");
  }
  return s;
}

class VitPoseBuilder {
 public:
  VitPoseBuilder(GraphBuilder* b, const VitPoseShape& shape) : b_(b), s_(shape), h_(shape.hidden) {}

  // [batch, labels, rows, columns].
  Tensor Build(const Tensor& pixels) {
    Tensor x =
        Reshape(b_, Transpose(b_, Body(pixels), {0, 2, 1}), {0, -1, s_.Rows(), s_.Columns()});
    const Scope head(b_, "head", s_.simple ? "VitPoseSimpleDecoder" : "VitPoseClassicDecoder");
    if (s_.simple) {
      x = b_->Op("Relu", {x});
      x = b_->Op("Resize", {x, "", "", b_->Ints({s_.Rows() * s_.scale, s_.Columns() * s_.scale})},
                 {{"mode", std::string("linear")}, {"axes", std::vector<int64_t>{2, 3}}});
      return Conv2d(b_, x, "conv", {h_, s_.labels, 3, 1, true, 1});
    }
    constexpr int64_t kWidth = 256;
    x = Enlarge(x, "deconv1", h_, kWidth);
    x = b_->Op("Relu", {BatchNorm(b_, x, "batchnorm1", kWidth)});
    x = Enlarge(x, "deconv2", kWidth, kWidth);
    x = b_->Op("Relu", {BatchNorm(b_, x, "batchnorm2", kWidth)});
    return Conv2d(b_, x, "conv", {kWidth, s_.labels, 1, 1, true});
  }

 private:
  Tensor Body(const Tensor& pixels) {
    const Scope backbone(b_, "backbone", "VitPoseBackbone");
    if (s_.experts > 1) {
      const Tensor index = b_->Input("dataset_index", DType::kInt64, {"batch"});
      index_ = Reshape(b_, index, {-1, 1, 1});
    }
    Tensor x = Embed(pixels), read;
    {
      const Scope encoder(b_, "encoder", "VitPoseBackboneEncoder");
      for (int64_t i = 0; i < s_.layers; ++i) {
        x = Layer(x, i);
        if (i + 1 == s_.read) read = x;
      }
    }
    return LayerNorm(b_, read, "layernorm", h_);
  }

  Tensor Embed(const Tensor& pixels) {
    const Scope embeddings(b_, "embeddings", "VitPoseBackboneEmbeddings");
    const int64_t n = s_.Rows() * s_.Columns();
    Tensor x;
    {
      const Scope patches(b_, "patch_embeddings", "VitPoseBackbonePatchEmbeddings");
      const Scope projection(b_, "projection", "Conv2d");
      const std::vector<int64_t> patch = {s_.patch.height, s_.patch.width};
      x = b_->Op("Conv",
                 {pixels, b_->Weight("weight", {h_, s_.channels, s_.patch.height, s_.patch.width}),
                  b_->Weight("bias", {h_})},
                 {{"kernel_shape", patch},
                  {"strides", patch},
                  {"pads", std::vector<int64_t>(4, kPosePadding)}});
    }
    x = PlacesOfImage(b_, x, h_);
    const std::vector<Tensor> places =
        Split(b_, b_->Weight("position_embeddings", {1, n + 1, h_}), {1, n}, 1);
    return Add(b_, Add(b_, x, places[1]), places[0]);
  }

  Tensor Layer(const Tensor& x, int64_t index) {
    const Scope layer(b_, absl::StrCat("layer.", index), "VitPoseBackboneLayer");
    const Tensor sum = Add(b_, Attend(LayerNorm(b_, x, "layernorm_before", h_)), x);
    return Add(b_, MlpOf(LayerNorm(b_, sum, "layernorm_after", h_)), sum);
  }

  Tensor Attend(const Tensor& x) {
    const Scope attention(b_, "attention", "VitPoseBackboneAttention");
    Tensor y;
    {
      const Scope self(b_, "attention", "VitPoseBackboneSelfAttention");
      const Tensor q = Linear(b_, x, "query", h_, h_, s_.bias);
      const Tensor k = Linear(b_, x, "key", h_, h_, s_.bias);
      const Tensor v = Linear(b_, x, "value", h_, h_, s_.bias);
      y = Attention(b_, q, k, v, {s_.heads, s_.heads, h_ / s_.heads});
    }
    const Scope output(b_, "output", "VitPoseBackboneSelfOutput");
    return Linear(b_, y, "dense", h_, h_, true);
  }

  Tensor MlpOf(const Tensor& x) {
    const Scope mlp(b_, "mlp", s_.experts > 1 ? "VitPoseBackboneMoeMLP" : "VitPoseBackboneMLP");
    if (s_.experts == 1) return Mlp(b_, x, h_, s_.inner, s_.activation);
    const Tensor y = Activate(b_, Linear(b_, x, "fc1", h_, s_.inner, true), s_.activation);
    const Tensor shared = Linear(b_, y, "fc2", s_.inner, h_ - s_.part, true);
    const Scope experts(b_, "experts", "VitPoseNaiveMoe");
    Tensor sum;
    for (int64_t i = 0; i < s_.experts; ++i) {
      const Tensor chosen = b_->Op("Cast", {b_->Op("Equal", {index_, b_->Scalar(i)})},
                                   {{"to", static_cast<int64_t>(b_->dtype())}});
      const Tensor z = Mul(b_, Linear(b_, y, absl::StrCat(i), s_.inner, s_.part, true), chosen);
      sum = Add(b_, sum.empty() ? Factor(b_, 0) : sum, z);
    }
    return Concat(b_, {shared, sum}, 2);
  }

  // Twice as high and wide.
  Tensor Enlarge(const Tensor& x, const char* name, int64_t in, int64_t out) {
    const Scope scope(b_, name, "ConvTranspose2d");
    return b_->Op("ConvTranspose", {x, b_->Weight("weight", {in, out, 4, 4})},
                  {{"kernel_shape", std::vector<int64_t>{4, 4}},
                   {"strides", std::vector<int64_t>{2, 2}},
                   {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  }

  GraphBuilder* b_;
  const VitPoseShape& s_;
  const int64_t h_;
  Tensor index_;  // of the data set of each image
};

}  // namespace

absl::StatusOr<std::string> BuildVitPose(const Config& config) {
  const VitPoseShape s = ReadVitPose(config);
  const std::string root = config.RequireArchitecture({"VitPoseForPoseEstimation"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels =
      b.Input("pixel_values", dtype, {"batch", s.channels, s.image.height, s.image.width});
  const Tensor heat = VitPoseBuilder(&b, s).Build(pixels);
  b.Output("heatmaps", heat, dtype, {"batch", s.labels, s.Rows() * s.scale, s.Columns() * s.scale});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
