// YOLOS: a ViT with tokens that become boxes.
//
// How it works. Images have any size: the table of positions is that of image_size, and is resized
// to the image in each run. So are the tables that are added after each layer but the last, if the
// model has them.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

struct YolosShape {
  EncoderShape encoder;
  int64_t channels = 3, patch = 16, boxes = 100, labels = 0;
  Sides image = {512, 864};
  bool middle = true;  // tables of positions between layers
  int64_t Rows() const { return image.height / patch; }
  int64_t Columns() const { return image.width / patch; }
};

YolosShape ReadYolos(const Config& config) {
  YolosShape s;
  s.encoder = ReadEncoder(config, 768, 12, 12, 3072, "gelu");
  s.encoder.qkv_bias = config.Flag("qkv_bias", true);
  s.channels = config.Size("num_channels", 3);
  s.patch = config.Size("patch_size", 16);
  s.boxes = config.Size("num_detection_tokens", 100);
  s.middle = config.Flag("use_mid_position_embeddings", true);
  if (config.HasList("image_size") || config.notes().image_size) {
    s.image = ReadSides(config, 512);
  } else if (config.Has("image_size")) {
    config.Fault("image_size", "should be height and width");
  } else {
    config.notes().defaults.push_back("image_size = [512, 864]");
  }
  if (s.Rows() < 1 || s.Columns() < 1) config.Fault("patch_size", "is larger than the image");
  if (s.middle && s.encoder.layers < 2) {
    config.Fault("use_mid_position_embeddings", "is true, and there is one layer");
  }
  return s;
}

class YolosBuilder {
 public:
  YolosBuilder(GraphBuilder* b, const YolosShape& shape)
      : b_(b), s_(shape), h_(shape.encoder.hidden) {}

  Tensor Build(const Tensor& pixels) {
    Tensor x = Embed(pixels);
    {
      const Scope encoder(b_, "encoder", "YolosEncoder");
      Tensor tables;
      const int64_t last = s_.encoder.layers - 1;
      if (s_.middle) {
        const Scope between(b_, "interpolation", "InterpolateMidPositionEmbeddings");
        const int64_t rows =
            1 + s_.image.height * s_.image.width / (s_.patch * s_.patch) + s_.boxes;
        tables = b_->Weight("mid_position_embeddings", {last, 1, rows, h_});
        tables = Resized(Reshape(b_, tables, {last, rows, h_}), rows - 1 - s_.boxes);
      }
      for (int64_t i = 0; i <= last; ++i) {
        x = Layer(x, i);
        if (!s_.middle || i == last) continue;
        x = Add(b_, x, b_->Op("Gather", {tables, b_->Ints({i})}));
      }
    }
    return LayerNorm(b_, x, "layernorm", h_);
  }

 private:
  Tensor Embed(const Tensor& pixels) {
    const Scope embeddings(b_, "embeddings", "YolosEmbeddings");
    const Tensor first = b_->Weight("cls_token", {1, 1, h_});
    const Tensor boxes = b_->Weight("detection_tokens", {1, s_.boxes, h_});
    const int64_t patches = s_.Rows() * s_.Columns(), rows = patches + s_.boxes + 1;
    const Tensor table = b_->Weight("position_embeddings", {1, rows, h_});
    Tensor x;
    {
      const Scope patch(b_, "patch_embeddings", "YolosPatchEmbeddings");
      x = Conv2d(b_, pixels, "projection", {s_.channels, h_, s_.patch, s_.patch, true});
      sides_ = b_->Op("Shape", {x}, {{"start", int64_t{2}}, {"end", int64_t{4}}});
      x = PlacesOfImage(b_, x, h_);
    }
    x = Concat(
        b_,
        {RepeatForBatch(b_, first, x, {1, h_}), x, RepeatForBatch(b_, boxes, x, {s_.boxes, h_})},
        1);
    const Scope between(b_, "interpolation", "InterpolateInitialPositionEmbeddings");
    return Add(b_, x, Resized(table, patches));
  }

  // Tables [n, rows, hidden] for the patches of the image.
  Tensor Resized(const Tensor& tables, int64_t patches) {
    const std::vector<Tensor> parts = Split(b_, tables, {1, patches, s_.boxes}, 1);
    Tensor x = Transpose(b_, parts[1], {0, 2, 1});
    x = Reshape(b_, x, {0, 0, s_.Rows(), s_.Columns()});
    x = b_->Op("Resize", {x, "", "", sides_},
               {{"mode", std::string("cubic")}, {"axes", std::vector<int64_t>{2, 3}}});
    return Concat(b_, {parts[0], PlacesOfImage(b_, x, h_), parts[2]}, 1);
  }

  Tensor Layer(const Tensor& x, int64_t index) {
    const Scope layer(b_, absl::StrCat("layer.", index), "YolosLayer");
    const EncoderShape& e = s_.encoder;
    const Tensor sum = Add(b_, x, Attend(LayerNorm(b_, x, "layernorm_before", h_)));
    Tensor y = LayerNorm(b_, sum, "layernorm_after", h_);
    {
      const Scope intermediate(b_, "intermediate", "YolosIntermediate");
      y = Activate(b_, Linear(b_, y, "dense", h_, e.intermediate, true), e.activation);
    }
    const Scope output(b_, "output", "YolosOutput");
    return Add(b_, Linear(b_, y, "dense", e.intermediate, h_, true), sum);
  }

  Tensor Attend(const Tensor& x) {
    const Scope attention(b_, "attention", "YolosAttention");
    const EncoderShape& e = s_.encoder;
    Tensor y;
    {
      const Scope self(b_, "attention", "YolosSelfAttention");
      const Tensor q = Linear(b_, x, "query", h_, h_, e.qkv_bias);
      const Tensor k = Linear(b_, x, "key", h_, h_, e.qkv_bias);
      const Tensor v = Linear(b_, x, "value", h_, h_, e.qkv_bias);
      y = Attention(b_, q, k, v, {e.heads, e.heads, h_ / e.heads});
    }
    const Scope output(b_, "output", "YolosSelfOutput");
    return Linear(b_, y, "dense", h_, h_, true);
  }

  GraphBuilder* b_;
  const YolosShape& s_;
  const int64_t h_;
  Tensor sides_;  // of the image in patches
};

Tensor YolosHead(GraphBuilder* b, Tensor x, const char* name, int64_t h, int64_t out) {
  const Scope head(b, name, "YolosMLPPredictionHead");
  x = b->Op("Relu", {Linear(b, x, "layers.0", h, h, true)});
  x = b->Op("Relu", {Linear(b, x, "layers.1", h, h, true)});
  return Linear(b, x, "layers.2", h, out, true);
}

}  // namespace

absl::StatusOr<std::string> BuildYolos(const Config& config) {
  YolosShape s = ReadYolos(config);
  const std::string root = config.RequireArchitecture({"YolosForObjectDetection", "YolosModel"});
  if (root != "YolosModel") s.labels = config.Labels() + 1;  // one for no object
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = OpenPixels(&b, s.channels, s.image);
  const int64_t h = s.encoder.hidden;
  if (s.labels == 0) {
    const Tensor x = YolosBuilder(&b, s).Build(pixels);
    const Scope pooler(&b, "pooler", "YolosPooler");
    const Tensor pooled = b.Op("Tanh", {Linear(&b, TakeToken(&b, x, 0), "dense", h, h, true)});
    b.Output("last_hidden_state", x, dtype, {"batch", "tokens", h});
    b.Output("pooler_output", pooled, dtype, {"batch", h});
    return std::move(b).Finish();
  }
  Tensor x;
  {
    const Scope model(&b, "vit", "YolosModel");
    x = YolosBuilder(&b, s).Build(pixels);
  }
  constexpr int64_t kSides = 4;
  x = b.Op("Slice", {x, b.Ints({-s.boxes}), b.Ints({kMaxConfigSize}), b.Ints({1})});
  const Tensor logits = YolosHead(&b, x, "class_labels_classifier", h, s.labels);
  const Tensor boxes = b.Op("Sigmoid", {YolosHead(&b, x, "bbox_predictor", h, kSides)});
  b.Output("logits", logits, dtype, {"batch", s.boxes, s.labels});
  b.Output("pred_boxes", boxes, dtype, {"batch", s.boxes, kSides});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
