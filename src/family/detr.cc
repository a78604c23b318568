// DETR: a ResNet, and a transformer whose decoder asks the image a fixed number of questions.
//
// How it works. The ResNet is that of transformers or timm's, which has other names. Its norms are
// frozen: their numbers are buffers and no parameters. An encoder runs over the places of the last
// stage's image. Positions are sines of the row and the column, or two tables. They are added to
// queries and keys in each layer, never to values. The decoder's queries start as zeros and have
// learned positions. Images of a batch have the same size, and the mask of padding is all ones.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"
#include "src/family/resnet.h"

namespace onnxflops::family {
namespace {

constexpr char kFrozenNorm[] = "DetrFrozenBatchNorm2d";

struct TimmResnet {
  absl::string_view name;
  int64_t depths[4];
  bool bottleneck;
};
constexpr TimmResnet kTimmResnets[] = {
    {"resnet18", {2, 2, 2, 2}, false},  {"resnet34", {3, 4, 6, 3}, false},
    {"resnet50", {3, 4, 6, 3}, true},   {"resnet101", {3, 4, 23, 3}, true},
    {"resnet152", {3, 8, 36, 3}, true},
};

struct DetrShape {
  const TimmResnet* timm = nullptr;  // else resnet
  ResnetShape resnet;
  int64_t channels = 3, width = 256, queries = 100, labels = 0;
  int64_t encoder_layers = 6, encoder_heads = 8, encoder_inner = 2048;
  int64_t decoder_layers = 6, decoder_heads = 8, decoder_inner = 2048;
  std::string activation;
  bool learned = false;    // positions
  bool auxiliary = false;  // each layer of the decoder ends with the last norm
};

// Only the last stage has a part in the detector.
void RequireLastStage(const Config& config, size_t stages) {
  const auto features = config.Texts("out_features");
  const std::string last = absl::StrCat("stage", stages);
  if (features && (features->empty() || features->back() != last)) {
    config.Fault("out_features", absl::StrCat("should end with ", last));
  }
  const auto indices = config.Sizes("out_indices");
  if (!features && indices && indices->back() != static_cast<int64_t>(stages)) {
    config.Fault("out_indices", absl::StrCat("should end with ", stages));
  }
}

void ReadTimmBackbone(const Config& config, const char* missing, DetrShape* s) {
  const std::string name = config.Text("backbone", missing);
  const auto* const found = std::find_if(std::begin(kTimmResnets), std::end(kTimmResnets),
                                         [&](const TimmResnet& row) { return row.name == name; });
  if (found == std::end(kTimmResnets)) {
    config.Fault("backbone", absl::StrCat("is ", Quoted(name), ": known are resnet18, resnet34, ",
                                          "resnet50, resnet101, resnet152"));
    return;
  }
  s->timm = found;
  s->channels = config.Size("num_channels", 3);
}

void ReadBackbone(const Config& config, DetrShape* s) {
  constexpr size_t kStages = 4;
  if (!config.Has("backbone_config") && config.Flag("use_timm_backbone", true)) {
    return ReadTimmBackbone(config, "resnet50", s);
  }
  const Config inner = config.Child("backbone_config");
  const std::string type = inner.Text("model_type", "resnet");
  if (type == "timm_backbone") {
    ReadTimmBackbone(inner, "", s);
    RequireLastStage(inner, kStages);
    return;
  }
  if (type != "resnet") {
    inner.Fault("model_type",
                absl::StrCat("is ", Quoted(type), ": known are resnet, ", "timm_backbone"));
  }
  s->resnet = ReadResnet(inner);
  s->channels = s->resnet.channels;
  RequireLastStage(inner, s->resnet.depths.size());
}

DetrShape ReadDetr(const Config& config) {
  DetrShape s;
  ReadBackbone(config, &s);
  s.width = config.Size("d_model", 256);
  s.queries = config.Size("num_queries", 100);
  s.encoder_layers = config.Layers("encoder_layers", 6);
  s.encoder_heads = config.Size("encoder_attention_heads", 8);
  s.encoder_inner = config.Size("encoder_ffn_dim", 2048);
  s.decoder_layers = config.Layers("decoder_layers", 6);
  s.decoder_heads = config.Size("decoder_attention_heads", 8);
  s.decoder_inner = config.Size("decoder_ffn_dim", 2048);
  s.activation = ReadActivation(config, "activation_function", "relu");
  s.auxiliary = config.Flag("auxiliary_loss", false);
  const std::string positions = config.Text("position_embedding_type", "sine");
  s.learned = positions == "learned";
  if (!s.learned && positions != "sine") {
    config.Fault("position_embedding_type",
                 absl::StrCat("is ", Quoted(positions), ": known are sine, learned"));
  }
  if (config.Flag("dilation", false)) config.Fault("dilation", "is true, which is not known");
  config.RequireDivisible("d_model", s.width, "encoder_attention_heads", s.encoder_heads);
  config.RequireDivisible("d_model", s.width, "decoder_attention_heads", s.decoder_heads);
  config.RequireDivisible("d_model", s.width, "4", 4);
  return s;
}

// timm's ResNet up to its last stage; *width: its features.
Tensor BuildTimmResnet(GraphBuilder* b, Tensor x, const DetrShape& s, int64_t* width) {
  const auto conv = [&](const Tensor& y, int number, const ConvShape& shape) {
    const Tensor z = Conv2d(b, y, absl::StrCat("conv", number), shape);
    return FrozenNorm(b, z, absl::StrCat("bn", number), shape.out, kFrozenNorm);
  };
  constexpr int64_t kStem = 64, kExpansion = 4;
  x = b->Op("Relu", {conv(x, 1, {s.channels, kStem, 7, 2, false, 3})});
  x = b->Op("MaxPool", {x},
            {{"kernel_shape", std::vector<int64_t>{3, 3}},
             {"strides", std::vector<int64_t>{2, 2}},
             {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  *width = kStem;
  for (int stage = 0; stage < 4; ++stage) {
    const Scope layer(b, absl::StrCat("layer", stage + 1), "Sequential");
    const int64_t inner = kStem << stage, out = s.timm->bottleneck ? kExpansion * inner : inner;
    for (int64_t k = 0; k < s.timm->depths[stage]; ++k) {
      const Scope block(b, absl::StrCat(k), s.timm->bottleneck ? "Bottleneck" : "BasicBlock");
      const int64_t stride = stage > 0 && k == 0 ? 2 : 1;
      Tensor y, around = x;
      if (s.timm->bottleneck) {
        y = b->Op("Relu", {conv(x, 1, {*width, inner, 1, 1, false})});
        y = b->Op("Relu", {conv(y, 2, {inner, inner, 3, stride, false, 1})});
        y = conv(y, 3, {inner, out, 1, 1, false});
      } else {
        y = b->Op("Relu", {conv(x, 1, {*width, inner, 3, stride, false, 1})});
        y = conv(y, 2, {inner, out, 3, 1, false, 1});
      }
      if (stride > 1 || *width != out) {
        const Scope downsample(b, "downsample", "Sequential");
        around = Conv2d(b, x, "0", {*width, out, 1, stride, false});
        around = FrozenNorm(b, around, "1", out, kFrozenNorm);
      }
      x = b->Op("Relu", {Add(b, y, around)});
      *width = out;
    }
  }
  return x;
}

class DetrBuilder {
 public:
  DetrBuilder(GraphBuilder* b, const DetrShape& shape) : b_(b), s_(shape) {}

  // [batch, queries, width].
  Tensor Build(const Tensor& pixels) {
    int64_t features = 0;
    const Tensor image = Backbone(pixels, &features);
    height_ = SizeOf(b_, image, 2);
    columns_ = SizeOf(b_, image, 3);
    batch_ = SizeOf(b_, image, 0);
    Tensor x = Conv2d(b_, image, "input_projection", {features, s_.width, 1, 1, true});
    x = PlacesOfImage(b_, x, s_.width);
    const Tensor seen = Ones();
    places_ = s_.learned ? LearnedPlaces() : SinePlaces(seen);
    const Tensor flat = ReshapeBy(b_, seen, {batch_, b_->Ints({1, 1}), SizeOf(b_, x, 1)});
    x = Encode(x, MaskOf(flat, SizeOf(b_, x, 1)));
    return Decode(x, MaskOf(flat, b_->Ints({s_.queries})));
  }

 private:
  Tensor Backbone(const Tensor& pixels, int64_t* features) {
    const Scope backbone(b_, "backbone", "DetrConvEncoder");
    if (s_.timm != nullptr) {
      const Scope model(b_, "model", "FeatureListNet");
      return BuildTimmResnet(b_, pixels, s_, features);
    }
    const Scope model(b_, "model", "ResNetBackbone");
    *features = s_.resnet.widths.back();
    const NormFn norm = [](GraphBuilder* b, const Tensor& x, int64_t width) {
      return FrozenNorm(b, x, "normalization", width, kFrozenNorm);
    };
    return BuildResnetStages(b_, pixels, s_.resnet, norm).back();
  }

  // The mask of padding: [batch, h, w].
  Tensor Ones() {
    return b_->Op("Expand", {Factor(b_, 1), Concat(b_, {batch_, height_, columns_}, 0)});
  }

  // Of `queries` with all places of the image: [batch, 1, queries, places].
  Tensor MaskOf(const Tensor& flat, const Tensor& queries) {
    const Tensor shape = Concat(b_, {batch_, b_->Ints({1}), queries, SizeOf(b_, flat, 3)}, 0);
    const Tensor seen = b_->Op("Cast", {flat}, {{"to", static_cast<int64_t>(DType::kBool)}});
    constexpr double kApart = -1e9;
    return b_->Op("Where", {b_->Op("Expand", {seen, shape}), Factor(b_, 0), Factor(b_, kApart)});
  }

  // Sines and cosines of the column or the row, as numbers from 0 to 2 pi: [batch, h, w, width/2].
  Tensor Sines(const Tensor& seen, int64_t axis) {
    constexpr double kEpsilon = 1e-6, kTurn = 6.283185307179586;
    const int64_t half = s_.width / 2;
    Tensor x = b_->Op("CumSum", {seen, b_->Scalar(axis)});
    const Tensor end =
        b_->Op("Slice", {x, b_->Ints({-1}), b_->Ints({kMaxConfigSize}), b_->Ints({axis})});
    x = Mul(b_, b_->Op("Div", {x, Add(b_, end, Factor(b_, kEpsilon))}), Factor(b_, kTurn));
    Tensor rates = b_->Table(half);
    if (b_->dtype() != DType::kFloat32) {
      rates = b_->Op("Cast", {rates}, {{"to", static_cast<int64_t>(b_->dtype())}});
    }
    x = b_->Op("Div", {b_->Op("Unsqueeze", {x, b_->Ints({-1})}), rates});
    const auto every_second = [&](const char* function, int64_t from) {
      const Tensor y =
          b_->Op("Slice", {x, b_->Ints({from}), b_->Ints({half}), b_->Ints({3}), b_->Ints({2})});
      return b_->Op("Unsqueeze", {b_->Op(function, {y}), b_->Ints({4})});
    };
    const Tensor both = Concat(b_, {every_second("Sin", 0), every_second("Cos", 1)}, 4);
    return Reshape(b_, both, {0, 0, 0, half});
  }

  Tensor SinePlaces(const Tensor& seen) {
    const Scope embedding(b_, "position_embedding", "DetrSinePositionEmbedding");
    const Tensor both = Concat(b_, {Sines(seen, 1), Sines(seen, 2)}, 3);
    return Reshape(b_, both, {0, -1, s_.width});
  }

  Tensor LearnedPlaces() {
    const Scope embedding(b_, "position_embedding", "DetrLearnedPositionEmbedding");
    constexpr int64_t kMost = 50;  // rows and columns
    const int64_t half = s_.width / 2;
    const auto along = [&](const Tensor& size, const char* name, int64_t axis) {
      const Tensor range =
          b_->Op("Range", {b_->Scalar(0), b_->Op("Squeeze", {size}), b_->Scalar(1)});
      const Tensor rows = Embedding(b_, range, name, kMost, half);
      const Tensor shape = Concat(b_, {height_, columns_, b_->Ints({half})}, 0);
      return b_->Op("Expand", {b_->Op("Unsqueeze", {rows, b_->Ints({axis})}), shape});
    };
    const Tensor columns = along(columns_, "column_embeddings", 0);
    const Tensor both = Concat(b_, {columns, along(height_, "row_embeddings", 1)}, 2);
    const Tensor flat = Reshape(b_, both, {-1, s_.width});
    return b_->Op("Expand",
                  {flat, Concat(b_, {batch_, SizeOf(b_, flat, 0), b_->Ints({s_.width})}, 0)});
  }

  Tensor Attend(const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads,
                const Tensor& mask) {
    const int64_t w = s_.width;
    const Tensor query = Linear(b_, q, "q_proj", w, w, true);
    const Tensor key = Linear(b_, k, "k_proj", w, w, true);
    const Tensor value = Linear(b_, v, "v_proj", w, w, true);
    const Tensor y = Attention(b_, query, key, value, {heads, heads, w / heads}, mask);
    return Linear(b_, y, "o_proj", w, w, true);
  }

  Tensor SelfAttend(const Tensor& x, const Tensor& places, int64_t heads, const Tensor& mask) {
    Tensor y;
    {
      const Scope attention(b_, "self_attn", "DetrSelfAttention");
      const Tensor q = Add(b_, x, places);
      y = Attend(q, q, x, heads, mask);
    }
    return LayerNorm(b_, Add(b_, x, y), "self_attn_layer_norm", s_.width);
  }

  Tensor WithMlp(const Tensor& x, int64_t inner) {
    Tensor y;
    {
      const Scope mlp(b_, "mlp", "DetrMLP");
      y = Mlp(b_, x, s_.width, inner, s_.activation);
    }
    return LayerNorm(b_, Add(b_, x, y), "final_layer_norm", s_.width);
  }

  Tensor Encode(Tensor x, const Tensor& mask) {
    const Scope encoder(b_, "encoder", "DetrEncoder");
    for (int64_t i = 0; i < s_.encoder_layers; ++i) {
      const Scope layer(b_, absl::StrCat("layers.", i), "DetrEncoderLayer");
      x = WithMlp(SelfAttend(x, places_, s_.encoder_heads, mask), s_.encoder_inner);
    }
    return x;
  }

  Tensor Decode(const Tensor& image, const Tensor& mask) {
    const int64_t w = s_.width;
    const Tensor table = b_->Weight("query_position_embeddings.weight", {s_.queries, w});
    const Tensor places = RepeatForBatch(b_, table, image, {s_.queries, w});
    Tensor x = b_->Op("Expand", {Factor(b_, 0), b_->Op("Shape", {places})});
    const Scope decoder(b_, "decoder", "DetrDecoder");
    for (int64_t i = 0; i < s_.decoder_layers; ++i) {
      {
        const Scope layer(b_, absl::StrCat("layers.", i), "DetrDecoderLayer");
        x = SelfAttend(x, places, s_.decoder_heads, "");
        Tensor y;
        {
          const Scope attention(b_, "encoder_attn", "DetrCrossAttention");
          y = Attend(Add(b_, x, places), Add(b_, image, places_), image, s_.decoder_heads, mask);
        }
        x = LayerNorm(b_, Add(b_, x, y), "encoder_attn_layer_norm", w);
        x = WithMlp(x, s_.decoder_inner);
      }
      if (s_.auxiliary) x = LayerNorm(b_, x, "layernorm", w);
    }
    return LayerNorm(b_, x, "layernorm", w);
  }

  GraphBuilder* b_;
  const DetrShape& s_;
  Tensor batch_, height_, columns_;  // of the last stage's image
  Tensor places_;                    // [batch, places, width]
};

}  // namespace

absl::StatusOr<std::string> BuildDetr(const Config& config) {
  DetrShape s = ReadDetr(config);
  const std::string root = config.RequireArchitecture({"DetrForObjectDetection", "DetrModel"});
  if (root != "DetrModel") s.labels = config.Labels() + 1;  // one for no object
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = b.Input("pixel_values", dtype, {"batch", s.channels, "height", "width"});
  if (s.labels == 0) {
    const Tensor x = DetrBuilder(&b, s).Build(pixels);
    b.Output("last_hidden_state", x, dtype, {"batch", s.queries, s.width});
    return std::move(b).Finish();
  }
  Tensor x;
  {
    const Scope model(&b, "model", "DetrModel");
    x = DetrBuilder(&b, s).Build(pixels);
  }
  const Tensor logits = Linear(&b, x, "class_labels_classifier", s.width, s.labels, true);
  {
    constexpr int64_t kSides = 4;
    const Scope head(&b, "bbox_predictor", "DetrMLPPredictionHead");
    x = b.Op("Relu", {Linear(&b, x, "layers.0", s.width, s.width, true)});
    x = b.Op("Relu", {Linear(&b, x, "layers.1", s.width, s.width, true)});
    x = Linear(&b, x, "layers.2", s.width, kSides, true);
  }
  b.Output("logits", logits, dtype, {"batch", s.queries, s.labels});
  b.Output("pred_boxes", b.Op("Sigmoid", {x}), dtype, {"batch", s.queries, 4});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
