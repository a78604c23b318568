// How it works. CLIP is two towers and a head that compares them. Both towers have the same symbol
// as batch, so that the logits are [batch, batch], each text against each image. The text is pooled
// where the token's number is largest: that is the token at its end. The image tower may be cut in
// two, because LLaVA takes the tokens of an inner layer (`take`) and no pooled vector. Each tower
// can also be built alone, with its projection if the architecture has one.
#include "src/family/clip.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

constexpr ClipNames kClipNames = {
    "CLIP",
    "CLIPEncoder",
    "pre_layrnorm",  // spelled so in the reference implementation
    {"CLIPEncoderLayer", "self_attn", "q_proj", "k_proj", "v_proj", "out_proj", "CLIPAttention",
     "mlp", "CLIPMLP", "fc1", "fc2", "layer_norm1", "layer_norm2"}};

const ClipNames& NamesOr(const ClipNames* names) { return names != nullptr ? *names : kClipNames; }

void BuildBothTowers(GraphBuilder* b, const ClipVision& vision, const ClipText& text,
                     int64_t projection) {
  const Tensor ids = b->Input("input_ids", DType::kInt64, {"batch", "seq"});
  const Tensor pixels = PixelValues(b, vision.image);
  Tensor image, words;
  {
    const Scope tower(b, "vision_model", "CLIPVisionModel");
    image = BuildClipVision(b, pixels, vision, vision.encoder.layers).pooled;
  }
  image = Linear(b, image, "visual_projection", vision.encoder.hidden, projection, false);
  {
    const Scope tower(b, "text_model", "CLIPTextModel");
    words = BuildClipTextTower(b, ids, text);
  }
  words = Linear(b, words, "text_projection", text.encoder.hidden, projection, false);
  ContrastiveHead(b, image, words, projection, {}, false);
}

}  // namespace

ClipText ReadClipText(const Config& config) {
  ClipText text = {config.Size("vocab_size", 49408), config.Size("max_position_embeddings", 77),
                   ReadEncoder(config, 512, 8, 12, 2048, "quick_gelu"), nullptr};
  text.encoder.causal = true;
  return text;
}

Tensor BuildClipTextTower(GraphBuilder* b, const Tensor& ids, const ClipText& text) {
  const int64_t h = text.encoder.hidden;
  const ClipNames& names = NamesOr(text.names);
  Tensor x;
  {
    const Scope embeddings(b, "embeddings", absl::StrCat(names.prefix, "TextEmbeddings"));
    x = Embedding(b, ids, "token_embedding", text.vocab, h);
    const Tensor places = Positions(b, ids, 1);
    x = Add(b, x, Embedding(b, places, "position_embedding", text.positions, h));
    b->LimitDim("seq", text.positions);
  }
  {
    const Scope encoder(b, "encoder", absl::StrCat(names.prefix, "Encoder"));
    x = PreNormLayers(b, x, text.encoder, names.layer);
  }
  x = LayerNorm(b, x, "final_layer_norm", h);
  return TakeAtLargest(b, x, ids);
}

ClipVision ReadClipVision(const Config& config) {
  return {ReadImage(config, 224, 32), ReadEncoder(config, 768, 12, 12, 3072, "quick_gelu"),
          nullptr};
}

Tensor PixelValues(GraphBuilder* b, const ImageShape& image) {
  return b->Input("pixel_values", b->dtype(), {"batch", image.channels, image.size, image.size});
}

ClipVisionOutput BuildClipVision(GraphBuilder* b, const Tensor& pixels, const ClipVision& vision,
                                 int64_t take) {
  const int64_t h = vision.encoder.hidden;
  const ClipNames& names = NamesOr(vision.names);
  Tensor x;
  {
    const Scope embeddings(b, "embeddings", absl::StrCat(names.prefix, "VisionEmbeddings"));
    x = PatchEmbedding(b, pixels, vision.image, h, "patch_embedding", false);
    const Tensor first = RepeatForBatch(b, b->Weight("class_embedding", {h}), x, {1, h});
    x = Concat(b, {first, x}, 1);
    const Tensor places = Positions(b, x, 1);
    x = Add(b, x, Embedding(b, places, "position_embedding", vision.image.Patches() + 1, h));
  }
  x = LayerNorm(b, x, names.first_norm, h);
  ClipVisionOutput out;
  out.tokens = x;
  {
    const Scope encoder(b, "encoder", names.encoder);
    EncoderShape part = vision.encoder;
    for (int64_t i = 0; i < vision.encoder.layers; ++i) {
      part.layers = i + 1;
      x = PreNormLayers(b, x, part, names.layer, i);
      out.states.push_back(x);
      if (i + 1 == take) out.tokens = x;
    }
  }
  out.pooled = LayerNorm(b, TakeToken(b, x, 0), "post_layernorm", h);
  return out;
}

void ContrastiveHead(GraphBuilder* b, const Tensor& image, const Tensor& text, int64_t width,
                     const std::vector<int64_t>& scale_shape, bool bias) {
  const Tensor image_embeds = Normalize(b, image), text_embeds = Normalize(b, text);
  Tensor logits = b->Op("MatMul", {text_embeds, Transpose(b, image_embeds, {1, 0})});
  logits = Mul(b, logits, b->Op("Exp", {b->Weight("logit_scale", scale_shape)}));
  if (bias) logits = Add(b, logits, b->Weight("logit_bias", scale_shape));
  b->Output("logits_per_image", Transpose(b, logits, {1, 0}), b->dtype(), {"batch", "batch"});
  b->Output("logits_per_text", logits, b->dtype(), {"batch", "batch"});
  b->Output("text_embeds", text_embeds, b->dtype(), {"batch", width});
  b->Output("image_embeds", image_embeds, b->dtype(), {"batch", width});
}

absl::StatusOr<std::string> BuildClip(const Config& config) {
  const ClipText text = ReadClipText(config.Child("text_config"));
  const ClipVision vision = ReadClipVision(config.Child("vision_config"));
  const int64_t projection = config.Size("projection_dim", 512);
  const std::string root = config.RequireArchitecture({"CLIPModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  BuildBothTowers(&b, vision, text, projection);
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildClipText(const Config& config) {
  const ClipText text = ReadClipText(config);
  const std::string root =
      config.RequireArchitecture({"CLIPTextModel", "CLIPTextModelWithProjection"});
  const bool projects = root == "CLIPTextModelWithProjection";
  const int64_t width = projects ? config.Size("projection_dim", 512) : text.encoder.hidden;
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  Tensor x;
  {
    std::optional<Scope> tower;
    if (projects) tower.emplace(&b, "text_model", "CLIPTextModel");
    x = BuildClipTextTower(&b, ids, text);
  }
  if (projects) x = Linear(&b, x, "text_projection", text.encoder.hidden, width, false);
  b.Output(projects ? "text_embeds" : "pooler_output", x, dtype, {"batch", width});
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildClipVisionModel(const Config& config) {
  const ClipVision vision = ReadClipVision(config);
  const std::string root =
      config.RequireArchitecture({"CLIPVisionModel", "CLIPVisionModelWithProjection"});
  const bool projects = root == "CLIPVisionModelWithProjection";
  const int64_t width = projects ? config.Size("projection_dim", 512) : vision.encoder.hidden;
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = PixelValues(&b, vision.image);
  Tensor x;
  {
    std::optional<Scope> tower;
    if (projects) tower.emplace(&b, "vision_model", "CLIPVisionModel");
    x = BuildClipVision(&b, pixels, vision, vision.encoder.layers).pooled;
  }
  if (projects) x = Linear(&b, x, "visual_projection", vision.encoder.hidden, width, false);
  b.Output(projects ? "image_embeds" : "pooler_output", x, dtype, {"batch", width});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
