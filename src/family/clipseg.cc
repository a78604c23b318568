// CLIPSeg and Chinese CLIP: CLIP's image tower with CLIP's texts or with BERT's.
//
// How it works. Both are CLIP with other names of classes. CLIPSeg has a small decoder that makes a
// mask of what a text names: it reads the image's tokens after a few layers, from the last of them
// to the first, and the text's vector changes their features once. A transposed convolution gives
// each patch its pixels again, or a convolution and two of them.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/bert.h"
#include "src/family/builders.h"
#include "src/family/clip.h"

namespace onnxflops::family {
namespace {

constexpr ClipNames kClipSegNames = {
    "CLIPSeg",
    "CLIPSegEncoder",
    "pre_layrnorm",
    {"CLIPSegEncoderLayer", "self_attn", "q_proj", "k_proj", "v_proj", "out_proj",
     "CLIPSegAttention", "mlp", "CLIPSegMLP", "fc1", "fc2", "layer_norm1", "layer_norm2"}};
constexpr ClipNames kChineseClipNames = {
    "ChineseCLIP",
    "ChineseCLIPVisionEncoder",
    "pre_layrnorm",
    {"ChineseCLIPVisionLayer", "self_attn", "q_proj", "k_proj", "v_proj", "out_proj",
     "ChineseCLIPVisionAttention", "mlp", "ChineseCLIPVisionMLP", "fc1", "fc2", "layer_norm1",
     "layer_norm2"}};

struct ClipSegShape {
  ClipVision vision;
  ClipText text;
  int64_t projection = 512;
  std::vector<int64_t> read;  // layers of the image tower that the decoder reads
  int64_t width = 64, heads = 4, inner = 2048, conditioned = 0;
  bool three = false;  // convolutions at the end
  int64_t Side() const { return vision.image.size / vision.image.patch; }
};

ClipSegShape ReadClipSeg(const Config& config) {
  ClipSegShape s;
  s.text = ReadClipText(config.Child("text_config"));
  s.vision = ReadClipVision(config.Child("vision_config"));
  s.text.names = s.vision.names = &kClipSegNames;
  s.projection = config.Size("projection_dim", 512);
  return s;
}

void ReadClipSegDecoder(const Config& config, ClipSegShape* s) {
  s->read = config.Indices("extract_layers", {3, 6, 9});
  s->width = config.Size("reduce_dim", 64);
  s->heads = config.Size("decoder_num_attention_heads", 4);
  s->inner = config.Size("decoder_intermediate_size", 2048);
  s->conditioned = config.Integer("conditional_layer", 0, 0);
  s->three = config.Flag("use_complex_transposed_convolution", false);
  config.RequireDivisible("reduce_dim", s->width, "decoder_num_attention_heads", s->heads);
  for (const int64_t layer : s->read) {
    if (layer < s->vision.encoder.layers) continue;
    config.Fault("extract_layers", "should be layers of vision_config");
  }
  if (s->read.empty()) config.Fault("extract_layers", "is empty");
  if (s->three && (s->width < 2 || s->vision.image.patch < 4)) {
    config.Fault("use_complex_transposed_convolution", "needs reduce_dim of 2 and patches of 4");
  }
}

class ClipSegDecoderBuilder {
 public:
  ClipSegDecoderBuilder(GraphBuilder* b, const ClipSegShape& shape) : b_(b), s_(shape) {}

  // [batch, side in pixels, side in pixels]
  Tensor Build(const std::vector<Tensor>& states, const Tensor& condition) {
    const Scope decoder(b_, "decoder", "CLIPSegDecoder");
    const auto n = static_cast<int64_t>(s_.read.size());
    const int64_t w = s_.width;
    for (const char* film : {"film_mul", "film_add"}) {
      if (s_.conditioned < n) break;
      b_->Weight(absl::StrCat(film, ".weight"), {s_.projection, w});
      b_->Weight(absl::StrCat(film, ".bias"), {w});
    }
    Tensor x;
    for (int64_t i = 0; i < n; ++i) {
      const Tensor& state = states[static_cast<size_t>(s_.read[static_cast<size_t>(n - 1 - i)])];
      const Tensor y =
          Linear(b_, state, absl::StrCat("reduces.", i), s_.vision.encoder.hidden, w, true);
      x = x.empty() ? y : Add(b_, y, x);
      if (i == s_.conditioned) {
        const auto film = [&](const char* name) {
          return b_->Op("Unsqueeze",
                        {Linear(b_, condition, name, s_.projection, w, true), b_->Ints({1})});
        };
        x = Mul(b_, film("film_mul"), x);
        x = Add(b_, x, film("film_add"));
      }
      x = Layer(x, absl::StrCat("layers.", i));
    }
    x = b_->Op("Slice", {x, b_->Ints({1}), b_->Ints({kMaxConfigSize}), b_->Ints({1})});
    x = Reshape(b_, Transpose(b_, x, {0, 2, 1}), {0, w, s_.Side(), s_.Side()});
    return b_->Op("Squeeze", {Enlarge(x), b_->Ints({1})});
  }

  // Of the mask in pixels.
  int64_t Pixels() const {
    const int64_t step = s_.vision.image.patch / 4;
    return s_.Side() * (s_.three ? step * step : s_.vision.image.patch);
  }

 private:
  Tensor Layer(Tensor x, const std::string& name) {
    const Scope layer(b_, name, "CLIPSegDecoderLayer");
    const int64_t w = s_.width;
    Tensor y;
    {
      const Scope attention(b_, "self_attn", "CLIPSegAttention");
      const Tensor q = Linear(b_, x, "q_proj", w, w, true), k = Linear(b_, x, "k_proj", w, w, true);
      const Tensor v = Linear(b_, x, "v_proj", w, w, true);
      y = Attention(b_, q, k, v, {s_.heads, s_.heads, w / s_.heads});
      y = Linear(b_, y, "out_proj", w, w, true);
    }
    x = LayerNorm(b_, Add(b_, x, y), "layer_norm1", w);
    {
      const Scope mlp(b_, "mlp", "CLIPSegMLP");
      y = Mlp(b_, x, w, s_.inner, "relu");
    }
    return LayerNorm(b_, Add(b_, x, y), "layer_norm2", w);
  }

  Tensor Turn(const Tensor& x, const char* name, int64_t in, int64_t out, int64_t kernel) {
    const Scope scope(b_, name, "ConvTranspose2d");
    const std::vector<int64_t> square = {kernel, kernel};
    return b_->Op("ConvTranspose",
                  {x, b_->Weight("weight", {in, out, kernel, kernel}), b_->Weight("bias", {out})},
                  {{"kernel_shape", square}, {"strides", square}});
  }

  Tensor Enlarge(const Tensor& x) {
    const int64_t w = s_.width, patch = s_.vision.image.patch;
    if (!s_.three) return Turn(x, "transposed_convolution", w, 1, patch);
    const Scope all(b_, "transposed_convolution", "Sequential");
    Tensor y = b_->Op("Relu", {Conv2d(b_, x, "0", {w, w, 3, 1, true, 1})});
    y = b_->Op("Relu", {Turn(y, "2", w, w / 2, patch / 4)});
    return Turn(y, "4", w / 2, 1, patch / 4);
  }

  GraphBuilder* b_;
  const ClipSegShape& s_;
};

struct ClipSegEmbeds {
  Tensor image, text;
  std::vector<Tensor> states;
};

ClipSegEmbeds BuildClipSegTowers(GraphBuilder* b, const Tensor& ids, const Tensor& pixels,
                                 const ClipSegShape& s) {
  ClipSegEmbeds out;
  {
    const Scope tower(b, "vision_model", "CLIPSegVisionModel");
    const ClipVisionOutput seen = BuildClipVision(b, pixels, s.vision, s.vision.encoder.layers);
    out.image = seen.pooled;
    out.states = seen.states;
  }
  out.image =
      Linear(b, out.image, "visual_projection", s.vision.encoder.hidden, s.projection, false);
  {
    const Scope tower(b, "text_model", "CLIPSegTextModel");
    out.text = BuildClipTextTower(b, ids, s.text);
  }
  out.text = Linear(b, out.text, "text_projection", s.text.encoder.hidden, s.projection, false);
  return out;
}

}  // namespace

absl::StatusOr<std::string> BuildClipSeg(const Config& config) {
  ClipSegShape s = ReadClipSeg(config);
  const std::string root =
      config.RequireArchitecture({"CLIPSegForImageSegmentation", "CLIPSegModel"});
  const bool whole = root == "CLIPSegModel";
  if (!whole) ReadClipSegDecoder(config, &s);
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  const Tensor pixels = PixelValues(&b, s.vision.image);
  if (whole) {
    const ClipSegEmbeds embeds = BuildClipSegTowers(&b, ids, pixels, s);
    ContrastiveHead(&b, embeds.image, embeds.text, s.projection, {}, false);
    return std::move(b).Finish();
  }
  ClipSegEmbeds embeds;
  {
    const Scope clip(&b, "clip", "CLIPSegModel");
    embeds = BuildClipSegTowers(&b, ids, pixels, s);
    b.Weight("logit_scale", {});  // of CLIP's own head, which is not run
  }
  ClipSegDecoderBuilder decoder(&b, s);
  const Tensor mask = decoder.Build(embeds.states, embeds.text);
  b.Output("logits", mask, dtype, {"batch", decoder.Pixels(), decoder.Pixels()});
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildChineseClip(const Config& config) {
  const Config words = config.Child("text_config");
  BertShape text;
  text.prefix = "ChineseCLIPText";
  text.vocab = words.Size("vocab_size", 30522);
  text.positions = words.Size("max_position_embeddings", 512);
  text.types = words.Size("type_vocab_size", 2);
  text.encoder = ReadEncoder(words, 768, 12, 12, 3072, "gelu");
  ClipVision vision = ReadClipVision(config.Child("vision_config"));
  vision.names = &kChineseClipNames;
  const int64_t projection = config.Size("projection_dim", 512);
  const std::string root = config.RequireArchitecture({"ChineseCLIPModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  const Tensor pixels = PixelValues(&b, vision.image);
  b.LimitDim("seq", text.Longest());
  Tensor image, first, table;
  {
    const Scope tower(&b, "vision_model", "ChineseCLIPVisionModel");
    image = BuildClipVision(&b, pixels, vision, vision.encoder.layers).pooled;
  }
  image = Linear(&b, image, "visual_projection", vision.encoder.hidden, projection, false);
  {
    const Scope tower(&b, "text_model", "ChineseCLIPTextModel");
    first = TakeToken(&b, BuildBertBody(&b, ids, text, &table), 0);
  }
  first = Linear(&b, first, "text_projection", text.encoder.hidden, projection, false);
  ContrastiveHead(&b, image, first, projection, {}, false);
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
