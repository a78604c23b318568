// DPT: depth or segments from four layers of a ViT.
//
// How it works. The tokens of each of these layers become an image again, which a convolution makes
// larger or smaller by a factor of its own. The class token is joined to each patch, added to it or
// left out. From the last layer on, the images are added up while they grow: each step doubles the
// sides. The table of positions is resized to the image, also where the sizes are the same. The
// first step has one image alone, so half of its parameters are never read.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/family/builders.h"
#include "src/family/clip.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

struct DptShape {
  EncoderShape encoder;
  ImageShape image;
  std::vector<int64_t> taken, necks;  // layers, and features of their images
  std::vector<double> factors;
  std::string readout;
  int64_t fusion = 256, head = 0, labels = 0;  // head: the step that heads look at
  bool norms = false, bias = true;             // of convolutions between steps
  bool projects = false, auxiliary = false;    // parts of heads
  int64_t Side() const { return image.size / image.patch; }
};

void ReadDptNeck(const Config& config, DptShape* s) {
  s->necks = config.SizesOr("neck_hidden_sizes", {96, 192, 384, 768});
  const size_t n = s->necks.size();
  s->factors = config.Reals("reassemble_factors", {4, 2, 1, 0.5});
  s->taken = config.Indices("backbone_out_indices", {2, 5, 8, 11});
  std::sort(s->taken.begin(), s->taken.end());
  s->taken.erase(std::unique(s->taken.begin(), s->taken.end()), s->taken.end());
  constexpr size_t kMostImages = 16;
  if (n > kMostImages) config.Fault("neck_hidden_sizes", "has too many entries");
  if (s->taken.size() != n || s->taken.back() >= s->encoder.layers) {
    config.Fault("backbone_out_indices", absl::StrCat("should be ", n, " layers"));
  }
  if (s->factors.size() != n) {
    config.Fault("reassemble_factors", absl::StrCat("should be ", n, " numbers"));
  }
  for (const double factor : s->factors) {
    constexpr double kMost = kMaxPatchSize;
    if (factor > kMost || 1 / factor > kMost) config.Fault("reassemble_factors", "is too large");
    if (factor > 1 && factor != static_cast<double>(static_cast<int64_t>(factor))) {
      config.Fault("reassemble_factors", "should be whole above 1");
    }
  }
  s->readout = config.Text("readout_type", "project");
  if (s->readout != "project" && s->readout != "add" && s->readout != "ignore") {
    config.Fault("readout_type",
                 absl::StrCat("is ", Quoted(s->readout), ": known are ignore, add, project"));
  }
  s->fusion = config.Size("fusion_hidden_size", 256);
  if (s->fusion < 2) config.Fault("fusion_hidden_size", "should be 2 and more");
  s->norms = config.Flag("use_batch_norm_in_fusion_residual", false);
  s->bias = !s->norms;
  if (config.Given("use_bias_in_fusion_residual")) {
    s->bias = config.Flag("use_bias_in_fusion_residual", s->bias);
  }
  const auto steps = static_cast<int64_t>(n);
  const int64_t head = config.Integer("head_in_index", -1, -steps);
  if (head >= steps) config.Fault("head_in_index", absl::StrCat("is ", head, " of ", steps));
  s->head = head < 0 ? steps + head : head;
}

DptShape ReadDpt(const Config& config) {
  DptShape s;
  if (config.Flag("is_hybrid", false)) config.Fault("is_hybrid", "is true, which is not known");
  for (const char* key : {"backbone_config", "backbone"}) {
    if (config.Has(key)) config.Fault(key, "is there, and only DPT's own tower is known");
  }
  s.encoder = ReadEncoder(config, 768, 12, 12, 3072, "gelu");
  s.encoder.qkv_bias = config.Flag("qkv_bias", true);
  s.image = ReadImage(config, 384, 16);
  return s;
}

class DptTowerBuilder {
 public:
  DptTowerBuilder(GraphBuilder* b, const DptShape& shape) : b_(b), s_(shape) {}

  // After the last norm. *layers: what each layer gives.
  Tensor Build(const Tensor& pixels, std::vector<Tensor>* layers) {
    Tensor x = Embed(pixels);
    {
      const Scope encoder(b_, "encoder", "DPTViTEncoder");
      for (int64_t i = 0; i < s_.encoder.layers; ++i) {
        const Scope layer(b_, absl::StrCat("layer.", i), "DPTViTLayer");
        x = Layer(x);
        layers->push_back(x);
      }
    }
    return LayerNorm(b_, x, "layernorm", s_.encoder.hidden);
  }

 private:
  Tensor Embed(const Tensor& pixels) {
    const Scope embeddings(b_, "embeddings", "DPTViTEmbeddings");
    const int64_t h = s_.encoder.hidden, n = s_.image.Patches(), side = s_.Side();
    Tensor x;
    {
      const Scope patches(b_, "patch_embeddings", "DPTViTPatchEmbeddings");
      x = PatchEmbedding(b_, pixels, s_.image, h, "projection", true);
    }
    const std::vector<Tensor> parts =
        Split(b_, b_->Weight("position_embeddings", {1, n + 1, h}), {1, n}, 1);
    Tensor places = ChannelsFirst(b_, Reshape(b_, parts[1], {1, side, side, h}));
    places = b_->Op("Resize", {places, "", "", b_->Ints({side, side})},
                    {{"mode", std::string("linear")}, {"axes", std::vector<int64_t>{2, 3}}});
    places = Concat(b_, {parts[0], Reshape(b_, ChannelsLast(b_, places), {1, n, h})}, 1);
    const Tensor first = RepeatForBatch(b_, b_->Weight("cls_token", {1, 1, h}), x, {1, h});
    return Add(b_, Concat(b_, {first, x}, 1), places);
  }

  Tensor Layer(const Tensor& x) {
    const int64_t h = s_.encoder.hidden, inner = s_.encoder.intermediate;
    const Tensor sum = Add(b_, Attend(LayerNorm(b_, x, "layernorm_before", h)), x);
    Tensor y = LayerNorm(b_, sum, "layernorm_after", h);
    {
      const Scope first(b_, "intermediate", "DPTViTIntermediate");
      y = Activate(b_, Linear(b_, y, "dense", h, inner, true), s_.encoder.activation);
    }
    const Scope second(b_, "output", "DPTViTOutput");
    return Add(b_, Linear(b_, y, "dense", inner, h, true), sum);
  }

  Tensor Attend(const Tensor& x) {
    const Scope attention(b_, "attention", "DPTViTAttention");
    const int64_t h = s_.encoder.hidden, heads = s_.encoder.heads;
    const bool bias = s_.encoder.qkv_bias;
    Tensor y;
    {
      const Scope self(b_, "attention", "DPTSelfAttention");
      const Tensor q = Linear(b_, x, "query", h, h, bias), k = Linear(b_, x, "key", h, h, bias);
      const Tensor v = Linear(b_, x, "value", h, h, bias);
      y = Attention(b_, q, k, v, {heads, heads, h / heads});
    }
    const Scope output(b_, "output", "DPTViTSelfOutput");
    return Linear(b_, y, "dense", h, h, true);
  }

  GraphBuilder* b_;
  const DptShape& s_;
};

// An image of a fixed, square size.
struct DptImage {
  Tensor pixels;
  int64_t side = 0;
};

class DptNeckBuilder {
 public:
  DptNeckBuilder(GraphBuilder* b, const DptShape& shape) : b_(b), s_(shape) {}

  // The image after each step, the smallest first.
  std::vector<DptImage> Build(const std::vector<Tensor>& layers) {
    const Scope neck(b_, "neck", "DPTNeck");
    std::vector<DptImage> images;
    for (size_t i = 0; i < s_.necks.size(); ++i) {
      images.push_back(Reassemble(layers[static_cast<size_t>(s_.taken[i])], i));
    }
    for (size_t i = 0; i < images.size(); ++i) {
      images[i].pixels = Conv2d(b_, images[i].pixels, absl::StrCat("convs.", i),
                                {s_.necks[i], s_.fusion, 3, 1, false, 1});
    }
    std::vector<DptImage> steps;
    const Scope fusion(b_, "fusion_stage", "DPTFeatureFusionStage");
    for (size_t i = 0; i < images.size(); ++i) {
      const Scope layer(b_, absl::StrCat("layers.", i), "DPTFeatureFusionLayer");
      const DptImage& image = images[images.size() - 1 - i];
      steps.push_back(i == 0 ? Fuse(image, nullptr) : Fuse(steps.back(), &image));
    }
    return steps;
  }

  DptImage Resized(const Tensor& x, int64_t side) {
    return {b_->Op("Resize", {x, "", "", b_->Ints({side, side})},
                   {{"mode", std::string("linear")}, {"axes", std::vector<int64_t>{2, 3}}}),
            side};
  }

 private:
  DptImage Reassemble(const Tensor& tokens, size_t i) {
    const Scope stage(b_, "reassemble_stage", "DPTReassembleStage");
    const int64_t h = s_.encoder.hidden, n = s_.image.Patches(), side = s_.Side();
    const std::vector<Tensor> parts = Split(b_, tokens, {1, n}, 1);
    Tensor x = parts[1];
    if (s_.readout == "project") {
      const Tensor first = b_->Op("Expand", {parts[0], b_->Op("Shape", {x})});
      const Scope project(b_, absl::StrCat("readout_projects.", i), "Sequential");
      x = Linear(b_, Concat(b_, {x, first}, -1), "0", 2 * h, h, true);
      x = Activate(b_, x, s_.encoder.activation);
    } else if (s_.readout == "add") {
      x = Add(b_, x, parts[0]);
    }
    x = Reshape(b_, Transpose(b_, x, {0, 2, 1}), {0, h, side, side});
    const Scope layer(b_, absl::StrCat("layers.", i), "DPTReassembleLayer");
    const int64_t width = s_.necks[i];
    x = Conv2d(b_, x, "projection", {h, width, 1, 1, true});
    if (s_.factors[i] == 1) return {x, side};
    if (s_.factors[i] < 1) {
      const auto stride = static_cast<int64_t>(1 / s_.factors[i]);
      return {Conv2d(b_, x, "resize", {width, width, 3, stride, true, 1}), (side - 1) / stride + 1};
    }
    const auto factor = static_cast<int64_t>(s_.factors[i]);
    const Scope resize(b_, "resize", "ConvTranspose2d");
    const std::vector<int64_t> window = {factor, factor};
    x = b_->Op(
        "ConvTranspose",
        {x, b_->Weight("weight", {width, width, factor, factor}), b_->Weight("bias", {width})},
        {{"kernel_shape", window}, {"strides", window}});
    return {x, side * factor};
  }

  DptImage Fuse(DptImage x, const DptImage* other) {
    if (other != nullptr) {
      const DptImage fits = other->side == x.side ? *other : Resized(other->pixels, x.side);
      x.pixels = Add(b_, x.pixels, Residual(fits.pixels, "residual_layer1"));
    } else {
      Unread("residual_layer1");
    }
    x = Resized(Residual(x.pixels, "residual_layer2"), 2 * x.side);
    x.pixels = Conv2d(b_, x.pixels, "projection", {s_.fusion, s_.fusion, 1, 1, true});
    return x;
  }

  Tensor Residual(const Tensor& x, const char* name) {
    const Scope layer(b_, name, "DPTPreActResidualLayer");
    Tensor y = x;
    for (const int i : {1, 2}) {
      y = Conv2d(b_, b_->Op("Relu", {y}), absl::StrCat("convolution", i),
                 {s_.fusion, s_.fusion, 3, 1, s_.bias, 1});
      if (s_.norms) y = BatchNorm(b_, y, absl::StrCat("batch_norm", i), s_.fusion);
    }
    return Add(b_, y, x);
  }

  // Its parameters alone.
  void Unread(const char* name) {
    const int64_t w = s_.fusion;
    for (const int i : {1, 2}) {
      const std::string conv = absl::StrCat(name, ".convolution", i);
      b_->Weight(absl::StrCat(conv, ".weight"), {w, w, 3, 3});
      if (s_.bias) b_->Weight(absl::StrCat(conv, ".bias"), {w});
      if (!s_.norms) continue;
      for (const char* part : {".weight", ".bias"}) {
        b_->Weight(absl::StrCat(name, ".batch_norm", i, part), {w});
      }
    }
  }

  GraphBuilder* b_;
  const DptShape& s_;
};

// [batch, side, side].
void DptDepth(GraphBuilder* b, const DptImage& image, const DptShape& s) {
  constexpr int64_t kInner = 32, kProjected = 256;
  const Scope head(b, "head", "DPTDepthEstimationHead");
  Tensor x = image.pixels;
  if (s.projects) {
    x = Conv2d(b, x, "projection", {kProjected, kProjected, 3, 1, true, 1});
    x = b->Op("Relu", {x});
  }
  const int64_t half = s.fusion / 2, side = 2 * image.side;
  const Scope parts(b, "head", "Sequential");
  x = Conv2d(b, x, "0", {s.fusion, half, 3, 1, true, 1});
  {
    const Scope upsample(b, "1", "Upsample");
    x = DptNeckBuilder(b, s).Resized(x, side).pixels;
  }
  x = b->Op("Relu", {Conv2d(b, x, "2", {half, kInner, 3, 1, true, 1})});
  x = b->Op("Relu", {Conv2d(b, x, "4", {kInner, 1, 1, 1, true})});
  b->Output("predicted_depth", b->Op("Squeeze", {x, b->Ints({1})}), b->dtype(),
            {"batch", side, side});
}

// [batch, labels, side, side]; twice as large for the main head.
void DptSegments(GraphBuilder* b, const DptImage& image, const DptShape& s, bool main) {
  const Scope head(b, main ? "head" : "auxiliary_head",
                   main ? "DPTSemanticSegmentationHead" : "DPTAuxiliaryHead");
  const Scope parts(b, "head", "Sequential");
  Tensor x = Conv2d(b, image.pixels, "0", {s.fusion, s.fusion, 3, 1, false, 1});
  x = b->Op("Relu", {BatchNorm(b, x, "1", s.fusion)});
  DptImage found = {Conv2d(b, x, "4", {s.fusion, s.labels, 1, 1, true}), image.side};
  if (main) {
    const Scope upsample(b, "5", "Upsample");
    found = DptNeckBuilder(b, s).Resized(found.pixels, 2 * image.side);
  }
  b->Output(main ? "logits" : "auxiliary_logits", found.pixels, b->dtype(),
            {"batch", s.labels, found.side, found.side});
}

absl::StatusOr<std::string> DptTowerAlone(const Config& config, const DptShape& s) {
  const int64_t h = s.encoder.hidden;
  const bool given = config.Given("pooler_output_size");
  const int64_t chosen = given ? config.Integer("pooler_output_size", h, 0) : h;
  const int64_t width = chosen > 0 ? chosen : h;
  const std::string activation = ReadActivation(config, "pooler_act", "tanh");
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b("DPTModel", dtype, config.notes().save);
  std::vector<Tensor> layers;
  const Tensor x = DptTowerBuilder(&b, s).Build(PixelValues(&b, s.image), &layers);
  b.Output("last_hidden_state", x, dtype, {"batch", s.image.Patches() + 1, h});
  const Scope pooler(&b, "pooler", "DPTViTPooler");
  const Tensor pooled = Linear(&b, TakeToken(&b, x, 0), "dense", h, width, true);
  b.Output("pooler_output", Activate(&b, pooled, activation), dtype, {"batch", width});
  return std::move(b).Finish();
}

}  // namespace

absl::StatusOr<std::string> BuildDpt(const Config& config) {
  DptShape s = ReadDpt(config);
  const std::string root = config.RequireArchitecture(
      {"DPTForDepthEstimation", "DPTForSemanticSegmentation", "DPTModel"});
  if (root == "DPTModel") return DptTowerAlone(config, s);
  ReadDptNeck(config, &s);
  const bool segments = root == "DPTForSemanticSegmentation";
  if (segments) {
    s.labels = config.Labels();
    s.auxiliary = config.Flag("use_auxiliary_head", true);
  } else {
    s.projects = config.Flag("add_projection", false);
    constexpr int64_t kProjected = 256;
    if (s.projects && s.fusion != kProjected) {
      config.Fault("fusion_hidden_size", "should be 256, which add_projection takes");
    }
  }
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = PixelValues(&b, s.image);
  std::vector<Tensor> layers;
  {
    const Scope model(&b, "dpt", "DPTModel");
    DptTowerBuilder(&b, s).Build(pixels, &layers);
  }
  const std::vector<DptImage> steps = DptNeckBuilder(&b, s).Build(layers);
  const DptImage& seen = steps[static_cast<size_t>(s.head)];
  if (!segments) {
    DptDepth(&b, seen, s);
    return std::move(b).Finish();
  }
  DptSegments(&b, seen, s, /*main=*/true);
  if (s.auxiliary) DptSegments(&b, steps.back(), s, /*main=*/false);
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
