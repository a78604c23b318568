// Segment Anything: a ViT over one image with windows in most layers, and a small decoder that
// makes masks of it.
//
// How it works. Scores have a bias by the distance of two places, for rows and columns each: a
// product of the query with a row of a table. So there are contractions inside of the attention
// that no other family has. The graph is that of an image without a prompt: the decoder's tokens
// are those of the masks and of their quality. Parameters that only prompts need are there, and no
// node reads them. A prompt of points adds a token for each, which is a small part: the tower has
// nearly all of the work. SAM 2 has the same decoder with one more token, whether there is an
// object, and with finer images of its tower; without a prompt it has two points that are none.
#include "src/family/sam.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/image_blocks.h"

namespace onnxflops::family {
namespace {

struct SamVision {
  int64_t hidden, inner, layers, heads, channels, size, patch, out, window, features;
  bool bias, positions, relative;
  std::vector<int64_t> global;  // layers without windows
  std::string activation;
  int64_t Side() const { return size / patch; }
};

SamVision ReadSamVision(const Config& config) {
  SamVision s;
  s.hidden = config.Size("hidden_size", 768);
  s.layers = config.Layers("num_hidden_layers", 12);
  s.heads = config.Size("num_attention_heads", 12);
  s.channels = config.Size("num_channels", 3);
  s.size = config.Size("image_size", 1024);
  s.patch = config.Size("patch_size", 16);
  s.out = config.Size("output_channels", 256);
  s.window = config.Integer("window_size", 14, 0);
  s.features = config.Size("num_pos_feats", 128);
  s.bias = config.Flag("qkv_bias", true);
  s.positions = config.Flag("use_abs_pos", true);
  s.relative = config.Flag("use_rel_pos", true);
  s.global = config.Indices("global_attn_indexes", {2, 5, 8, 11});
  s.activation = ReadActivation(config, "hidden_act", "gelu");
  if (config.Given("mlp_dim")) {
    s.inner = config.Size("mlp_dim", 1);
  } else {
    const double inner = static_cast<double>(s.hidden) * config.Real("mlp_ratio", 4);
    const bool fits = inner >= 1 && inner <= static_cast<double>(kMaxConfigSize);
    if (!fits) config.Fault("mlp_ratio", "makes an MLP of no size");
    s.inner = fits ? static_cast<int64_t>(inner) : 1;
  }
  config.RequireDivisible("hidden_size", s.hidden, "num_attention_heads", s.heads);
  if (s.patch > s.size) config.Fault("patch_size", "is larger than the image");
  if (s.window > kMaxPatchSize) config.Fault("window_size", "is too large");
  return s;
}

class SamTowerBuilder {
 public:
  SamTowerBuilder(GraphBuilder* b, const SamVision& shape) : b_(b), s_(shape) {}

  // [batch, out, side, side], in a module of its own.
  Tensor Build() {
    const Tensor pixels =
        b_->Input("pixel_values", b_->dtype(), {"batch", s_.channels, s_.size, s_.size});
    const Scope encoder(b_, "vision_encoder", "SamVisionEncoder");
    const int64_t h = s_.hidden, side = s_.Side();
    Tensor x;
    {
      const Scope patches(b_, "patch_embed", "SamPatchEmbeddings");
      x = Conv2d(b_, pixels, "projection", {s_.channels, h, s_.patch, s_.patch, true});
      x = ChannelsLast(b_, x);
    }
    if (s_.positions) x = Add(b_, x, b_->Weight("pos_embed", {1, side, side, h}));
    for (int64_t i = 0; i < s_.layers; ++i) {
      const Scope layer(b_, absl::StrCat("layers.", i), "SamVisionLayer");
      const bool global =
          s_.window == 0 || std::find(s_.global.begin(), s_.global.end(), i) != s_.global.end();
      x = Layer(x, {{side, side}, global ? side : s_.window});
    }
    const Scope neck(b_, "neck", "SamVisionNeck");
    x = Conv2d(b_, ChannelsFirst(b_, x), "conv1", {h, s_.out, 1, 1, false});
    x = LayerNorm2d(b_, x, "layer_norm1", s_.out, "SamLayerNorm");
    x = Conv2d(b_, x, "conv2", {s_.out, s_.out, 3, 1, false, 1});
    return LayerNorm2d(b_, x, "layer_norm2", s_.out, "SamLayerNorm");
  }

 private:
  Tensor Layer(const Tensor& x, const WindowGrid& grid) {
    const int64_t h = s_.hidden;
    Tensor y = LayerNorm(b_, x, "layer_norm1", h);
    y = Attend(IntoWindows(b_, y, grid, h), grid.window);
    const Tensor sum = Add(b_, x, FromWindows(b_, y, grid, h));
    y = LayerNorm(b_, sum, "layer_norm2", h);
    const Scope mlp(b_, "mlp", "SamMLPBlock");
    return Add(b_, sum, Mlp(b_, y, h, s_.inner, s_.activation, {"lin1", "lin2"}));
  }

  Tensor Attend(const Tensor& x, int64_t side) {
    const Scope attention(b_, "attn", "SamVisionAttention");
    const int64_t h = s_.hidden, dim = h / s_.heads;
    const std::vector<Tensor> qkv =
        Split(b_, Linear(b_, x, "qkv", h, 3 * h, s_.bias), {h, h, h}, -1);
    const Tensor bias = s_.relative ? BiasByDistance(qkv[0], side) : Tensor();
    const Tensor y = Attention(b_, qkv[0], qkv[1], qkv[2], {s_.heads, s_.heads, dim}, bias);
    return Linear(b_, y, "proj", h, h, true);
  }

  // Of each query with all places of its window: [windows, heads, side * side, side * side].
  Tensor BiasByDistance(const Tensor& query, int64_t side) {
    const int64_t dim = s_.hidden / s_.heads, n = side * side;
    Tensor q = Transpose(b_, Reshape(b_, query, {0, n, s_.heads, dim}), {0, 2, 1, 3});
    q = Reshape(b_, q, {-1, side, side, dim});
    const auto along = [&](const char* table, const char* equation) {
      return b_->Op("Einsum", {q, Distances(table, side)}, {{"equation", std::string(equation)}});
    };
    const Tensor rows = along("rel_pos_h", "bhwc,hkc->bhwk");
    const Tensor columns = along("rel_pos_w", "bhwc,wkc->bhwk");
    const Tensor bias = Add(b_, b_->Op("Unsqueeze", {rows, b_->Ints({4})}),
                            b_->Op("Unsqueeze", {columns, b_->Ints({3})}));
    return Reshape(b_, bias, {-1, s_.heads, n, n});
  }

  // The row of a table for each pair of rows or columns: [side, side, dim]. The table is resized,
  // which the reference implementation does at any size.
  Tensor Distances(const char* name, int64_t side) {
    const int64_t dim = s_.hidden / s_.heads, count = 2 * side - 1;
    Tensor table = Reshape(b_, b_->Weight(name, {count, dim}), {1, count, dim});
    table = b_->Op("Resize", {Transpose(b_, table, {0, 2, 1}), "", "", b_->Ints({count})},
                   {{"mode", std::string("linear")}, {"axes", std::vector<int64_t>{2}}});
    table = Transpose(b_, Reshape(b_, table, {-1, count}), {1, 0});
    const Tensor rows = b_->Op("Gather", {table, b_->IndexTable(side * side)});
    return Reshape(b_, rows, {side, side, dim});
  }

  GraphBuilder* b_;
  const SamVision& s_;
};

void ReadSamPrompt(const Config& config, SamHead* s) {
  const int64_t hidden = config.Size("hidden_size", 256);
  const int64_t side = config.Size("image_size", 1024) / config.Size("patch_size", 16);
  s->mask_channels = config.Size("mask_input_channels", 16);
  s->points = config.Layers("num_point_embeddings", 4);
  config.RequireDivisible("mask_input_channels", s->mask_channels, "4", 4);
  if (hidden != s->hidden) config.Fault("hidden_size", "is not that of mask_decoder_config");
  if (side != s->side) config.Fault("image_size", "makes not as many patches as the tower's");
}

// `out`: the tower's features.
SamHead ReadSamDecoder(const Config& config, int64_t out, int64_t side, int64_t features,
                       bool second) {
  SamHead s;
  s.second = second;
  s.side = side;
  s.features = features;
  const Config decoder = config.Child("mask_decoder_config");
  s.hidden = decoder.Size("hidden_size", 256);
  s.inner = decoder.Size("mlp_dim", 2048);
  s.layers = decoder.Layers("num_hidden_layers", 2);
  s.heads = decoder.Size("num_attention_heads", 8);
  s.rate = decoder.Size("attention_downsample_rate", 2);
  s.masks = decoder.Layers("num_multimask_outputs", 3) + 1;
  s.iou_depth = decoder.Layers("iou_head_depth", 3);
  s.iou_inner = decoder.Size("iou_head_hidden_dim", 256);
  s.activation = second ? "relu" : ReadActivation(decoder, "hidden_act", "relu");
  decoder.RequireDivisible("hidden_size", s.hidden, "8", 8);
  for (const int64_t rate : {int64_t{1}, second ? s.rate : int64_t{2}, s.rate}) {
    if (s.hidden / rate % s.heads != 0 || s.hidden < rate) {
      decoder.Fault("num_attention_heads",
                    "should divide hidden_size, its half and what "
                    "attention_downsample_rate leaves of it");
    }
  }
  if (out != s.hidden || 2 * features != s.hidden) {
    decoder.Fault("hidden_size", absl::StrCat("is ", s.hidden, ", and the tower's features are ",
                                              out, " and twice those of positions ", 2 * features));
  }
  ReadSamPrompt(config.Child("prompt_encoder_config"), &s);
  s.tied = second || config.Flag("tie_word_embeddings", true);
  return s;
}

SamHead ReadSamHead(const Config& config, const SamVision& vision) {
  return ReadSamDecoder(config, vision.out, vision.Side(), vision.features, false);
}

class SamDecoderBuilder {
 public:
  SamDecoderBuilder(GraphBuilder* b, const SamHead& head) : b_(b), s_(head) {}

  // Where each place of the image is: [side * side, hidden].
  Tensor Places() {
    const Scope embedding(b_, "shared_image_embedding", Class("PositionalEmbedding"));
    const int64_t n = s_.side * s_.side;
    const Tensor x = Reshape(b_, b_->IndexTable(2 * n), {n, 2});
    return Waves(b_->Op("Cast", {x}, {{"to", static_cast<int64_t>(b_->dtype())}}));
  }

  // What stands for a mask in a prompt without one: [1, hidden, side, side]. `image`: of the tower.
  Tensor NoMask(const Tensor& image) {
    image_ = image;
    const Scope encoder(b_, "prompt_encoder", Class("PromptEncoder"));
    const int64_t h = s_.hidden, c = s_.mask_channels;
    if (!s_.tied) {
      const Scope shared(b_, "shared_embedding", "SamPositionalEmbedding");
      b_->Weight("positional_embedding", {2, s_.features});
    }
    Unread("mask_embed.conv1", {c / 4, 1, 2, 2});
    Unread("mask_embed.conv2", {c, c / 4, 2, 2});
    Unread("mask_embed.conv3", {h, c, 1, 1});
    Unread("mask_embed.layer_norm1", {c / 4});
    Unread("mask_embed.layer_norm2", {c});
    if (s_.second) NoPoints();
    for (int64_t i = 0; !s_.second && i < s_.points; ++i) {
      b_->Weight(absl::StrCat("point_embed.", i, ".weight"), {1, h});
    }
    b_->Weight("not_a_point_embed.weight", {1, h});
    const Tensor none = Reshape(b_, b_->Weight("no_mask_embed.weight", {1, h}), {1, h, 1, 1});
    return b_->Op("Expand", {none, b_->Ints({1, h, s_.side, s_.side})});
  }

  // `twice` and `four`: finer images, in SAM 2.
  void Decode(const Tensor& image, const Tensor& no_mask, const Tensor& places,
              const Tensor& twice = "", const Tensor& four = "") {
    const Scope decoder(b_, "mask_decoder", Class("MaskDecoder"));
    const int64_t h = s_.hidden, n = s_.side * s_.side;
    const Tensor iou = b_->Weight("iou_token.weight", {1, h});
    std::vector<Tensor> own = {iou, b_->Weight("mask_tokens.weight", {s_.masks, h})};
    const int64_t first = s_.second ? 1 : 0;  // before iou's
    if (s_.second) own.insert(own.begin(), b_->Weight("obj_score_token.weight", {1, h}));
    Tensor tokens = RepeatForBatch(b_, Concat(b_, own, 0), image, {first + s_.masks + 1, h});
    if (s_.second) tokens = Concat(b_, {tokens, no_points_}, 1);
    keys_ = PlacesOfImage(b_, Add(b_, image, no_mask), h);
    key_places_ = RepeatForBatch(b_, places, image, {n, h});
    tokens = Transform(tokens);
    Tensor x = Reshape(b_, Transpose(b_, keys_, {0, 2, 1}), {0, h, s_.side, s_.side});
    x = Upscale(x, "upscale_conv1", h, h / 4);
    if (s_.second) x = Add(b_, x, twice);
    x = LayerNorm2d(b_, x, "upscale_layer_norm", h / 4, Class("LayerNorm"));
    x = Upscale(Activate(b_, x, "gelu"), "upscale_conv2", h / 4, h / 8);
    if (s_.second) x = Add(b_, x, four);
    x = Activate(b_, x, "gelu");
    std::vector<Tensor> weights;
    for (int64_t i = 0; i < s_.masks; ++i) {
      const Tensor y = FeedForward(TakeToken(b_, tokens, first + 1 + i),
                                   absl::StrCat("output_hypernetworks_mlps.", i), h, h / 8, 3);
      weights.push_back(b_->Op("Unsqueeze", {y, b_->Ints({1})}));
    }
    const int64_t side = 4 * s_.side;
    Tensor masks = b_->Op("MatMul", {Concat(b_, weights, 1), Reshape(b_, x, {0, h / 8, -1})});
    masks = Reshape(b_, masks, {0, 1, s_.masks, side, side});
    Tensor quality = FeedForward(TakeToken(b_, tokens, first), "iou_prediction_head", s_.iou_inner,
                                 s_.masks, s_.iou_depth);
    if (s_.second) {
      quality = b_->Op("Sigmoid", {quality});
      const Tensor object = FeedForward(TakeToken(b_, tokens, 0), "pred_obj_score_head", h, 1, 3);
      b_->Output("object_score_logits", object, b_->dtype(), {"batch", 1});
    }
    quality = Reshape(b_, quality, {0, 1, s_.masks});
    // The first mask is for a prompt that leaves no doubt.
    const auto others = [&](const Tensor& all) {
      return b_->Op("Slice", {all, b_->Ints({1}), b_->Ints({s_.masks}), b_->Ints({2})});
    };
    b_->Output("pred_masks", others(masks), b_->dtype(), {"batch", 1, s_.masks - 1, side, side});
    b_->Output("iou_scores", others(quality), b_->dtype(), {"batch", 1, s_.masks - 1});
  }

 private:
  std::string Class(const char* name) const {
    return absl::StrCat(s_.second ? "Sam2" : "Sam", name);
  }

  // Sines and cosines of places from 0 to 1. The table is a buffer in SAM 2: whole numbers are
  // never a parameter.
  Tensor Waves(Tensor x) {
    x = b_->Op("Sub", {Mul(b_, x, Factor(b_, 2)), Factor(b_, 1)});
    const Tensor table =
        s_.second ? b_->Op("Cast", {Reshape(b_, b_->IndexTable(2 * s_.features), {2, s_.features})},
                           {{"to", static_cast<int64_t>(b_->dtype())}})
                  : b_->Weight("positional_embedding", {2, s_.features});
    x = b_->Op("MatMul", {x, table});
    constexpr double kTurn = 6.283185307179586;
    x = Mul(b_, x, Factor(b_, kTurn));
    return Concat(b_, {b_->Op("Sin", {x}), b_->Op("Cos", {x})}, -1);
  }

  // SAM 2's prompt of nothing: a point that is none, and one behind the points: [batch, 2, hidden].
  void NoPoints() {
    const Tensor batch = SizeOf(b_, image_, 0);
    const Tensor shape = Concat(b_, {batch, b_->Ints({2, 2})}, 0);
    Tensor x = Add(b_, b_->Op("Expand", {Factor(b_, 0), shape}), Factor(b_, 0.5));
    {
      const Scope shared(b_, "shared_embedding", Class("PositionalEmbedding"));
      x = Waves(b_->Op("Div", {x, Factor(b_, 1)}));
    }
    const Tensor labels = b_->Op("Expand", {b_->Scalar(-1), Concat(b_, {batch, b_->Ints({2})}, 0)});
    const auto column = [&](const Tensor& t) { return b_->Op("Unsqueeze", {t, b_->Ints({2})}); };
    const Tensor none = b_->Op("Equal", {column(labels), b_->Scalar(-1)});
    x = b_->Op("Where", {none, b_->Weight("not_a_point_embed.weight", {1, s_.hidden}), x});
    constexpr int64_t kPadding = -10;
    const Tensor padded = b_->Op("Equal", {column(labels), b_->Scalar(kPadding)});
    x = b_->Op("Where", {padded, Factor(b_, 0), x});
    const Tensor least = b_->Op("Max", {labels, b_->Scalar(0)});
    const Tensor kinds = Embedding(b_, least, "point_embed", s_.points, s_.hidden);
    const Tensor given = b_->Op("Cast", {b_->Op("GreaterOrEqual", {labels, b_->Scalar(0)})},
                                {{"to", static_cast<int64_t>(b_->dtype())}});
    no_points_ = Add(b_, x, Mul(b_, kinds, column(given)));
  }

  void Unread(const std::string& name, const std::vector<int64_t>& dims) {
    b_->Weight(absl::StrCat(name, ".weight"), dims);
    b_->Weight(absl::StrCat(name, ".bias"), {dims[0]});
  }

  // Of tokens with the image's places, both ways. Changes keys_.
  Tensor Transform(const Tensor& tokens) {
    const Scope transformer(b_, "transformer", Class("TwoWayTransformer"));
    Tensor x = tokens;
    for (int64_t i = 0; i < s_.layers; ++i) {
      const Scope layer(b_, absl::StrCat("layers.", i), Class("TwoWayAttentionBlock"));
      x = TwoWayLayer(x, tokens, i == 0);
    }
    const Tensor key = Add(b_, keys_, key_places_);
    const Tensor y = Attend(Add(b_, x, tokens), key, keys_, "final_attn_token_to_image", s_.rate);
    return LayerNorm(b_, Add(b_, x, y), "layer_norm_final_attn", s_.hidden);
  }

  Tensor TwoWayLayer(Tensor x, const Tensor& tokens, bool first) {
    const int64_t h = s_.hidden;
    const int64_t rate = s_.second ? s_.rate : 2;  // SAM reads the rate only after its layers
    if (first) {
      x = Attend(x, x, x, "self_attn", 1);
    } else {
      const Tensor q = Add(b_, x, tokens);
      x = Add(b_, x, Attend(q, q, x, "self_attn", 1));
    }
    x = LayerNorm(b_, x, "layer_norm1", h);
    Tensor q = Add(b_, x, tokens), k = Add(b_, keys_, key_places_);
    x = Add(b_, x, Attend(q, k, keys_, "cross_attn_token_to_image", rate));
    x = LayerNorm(b_, x, "layer_norm2", h);
    if (s_.second) {
      x = Add(b_, x, FeedForward(x, "mlp", s_.inner, h, s_.layers));
    } else {
      const Scope mlp(b_, "mlp", "SamMLPBlock");
      x = Add(b_, x, Mlp(b_, x, h, s_.inner, s_.activation, {"lin1", "lin2"}));
    }
    x = LayerNorm(b_, x, "layer_norm3", h);
    q = Add(b_, x, tokens);
    k = Add(b_, keys_, key_places_);
    keys_ = Add(b_, keys_, Attend(k, q, x, "cross_attn_image_to_token", rate));
    keys_ = LayerNorm(b_, keys_, "layer_norm4", h);
    return x;
  }

  Tensor Attend(const Tensor& q, const Tensor& k, const Tensor& v, const char* name, int64_t rate) {
    const Scope attention(b_, name, Class("Attention"));
    const int64_t h = s_.hidden, w = h / rate;
    const Tensor query = Linear(b_, q, "q_proj", h, w, true);
    const Tensor key = Linear(b_, k, "k_proj", h, w, true);
    const Tensor value = Linear(b_, v, "v_proj", h, w, true);
    const Tensor y = Attention(b_, query, key, value, {s_.heads, s_.heads, w / s_.heads});
    return Linear(b_, y, s_.second ? "o_proj" : "out_proj", w, h, true);
  }

  // Twice as high and wide.
  Tensor Upscale(const Tensor& x, const char* name, int64_t in, int64_t out) {
    const Scope scope(b_, name, "ConvTranspose2d");
    const std::vector<int64_t> two = {2, 2};
    return b_->Op("ConvTranspose",
                  {x, b_->Weight("weight", {in, out, 2, 2}), b_->Weight("bias", {out})},
                  {{"kernel_shape", two}, {"strides", two}});
  }

  Tensor FeedForward(const Tensor& x, const std::string& name, int64_t inner, int64_t out,
                     int64_t depth) {
    const Scope scope(b_, name, Class("FeedForward"));
    Tensor y = b_->Op("Relu", {Linear(b_, x, "proj_in", s_.hidden, inner, true)});
    for (int64_t i = 0; i + 2 < depth; ++i) {
      y = b_->Op("Relu", {Linear(b_, y, absl::StrCat("layers.", i), inner, inner, true)});
    }
    return Linear(b_, y, "proj_out", inner, out, true);
  }

  GraphBuilder* b_;
  const SamHead& s_;
  Tensor image_, no_points_;
  Tensor keys_, key_places_;  // of the image
};

}  // namespace

SamHead ReadSam2Head(const Config& config, int64_t side, int64_t features) {
  return ReadSamDecoder(config, features, side, features / 2, true);
}

Tensor BuildSam2Places(GraphBuilder* b, const SamHead& head) {
  return SamDecoderBuilder(b, head).Places();
}

void BuildSam2Head(GraphBuilder* b, const SamHead& head, const Tensor& places, const Tensor& image,
                   const Tensor& twice, const Tensor& four) {
  SamDecoderBuilder decoder(b, head);
  const Tensor no_mask = decoder.NoMask(image);
  decoder.Decode(image, no_mask, places, twice, four);
}

absl::StatusOr<std::string> BuildSam(const Config& config) {
  const SamVision vision = ReadSamVision(config.Child("vision_config"));
  const SamHead head = ReadSamHead(config, vision);
  const std::string root = config.RequireArchitecture({"SamModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  SamDecoderBuilder decoder(&b, head);
  const Tensor places = decoder.Places();
  const Tensor image = SamTowerBuilder(&b, vision).Build();
  decoder.Decode(image, decoder.NoMask(image), places);
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildSamVisionModel(const Config& config) {
  const SamVision s = ReadSamVision(config);
  const std::string root = config.RequireArchitecture({"SamVisionModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor x = SamTowerBuilder(&b, s).Build();
  b.Output("last_hidden_state", x, dtype, {"batch", s.out, s.Side(), s.Side()});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
