// SigLIP: two encoders without a class token; the image is pooled by attention.
//
// SigLIP 2 is the same graph under other class names, with one difference: its pixel_values are
// patches already, [batch, patches, pixels of one], so a Linear embeds them and no convolution. The
// text is pooled at its last token, since SigLIP pads every text to full length. The whole model
// and its two towers are three entry points that share the builders of the towers.
#include "src/family/siglip.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"
#include "src/family/clip.h"

namespace onnxflops::family {
namespace {

constexpr EncoderLayerNames kSiglipLayer = {
    "SiglipEncoderLayer", "self_attn", "q_proj",    "k_proj", "v_proj", "out_proj",
    "SiglipAttention",    "mlp",       "SiglipMLP", "fc1",    "fc2",    "layer_norm1",
    "layer_norm2"};

constexpr EncoderLayerNames kSiglip2Layer = {
    "Siglip2EncoderLayer", "self_attn", "q_proj",     "k_proj", "v_proj", "out_proj",
    "Siglip2Attention",    "mlp",       "Siglip2MLP", "fc1",    "fc2",    "layer_norm1",
    "layer_norm2"};

struct SiglipShape {
  const EncoderLayerNames* layer = &kSiglipLayer;
  std::string prefix = "Siglip";  // of the classes
  bool patches_given = false;     // pixel_values are patches already: SigLIP 2
  int64_t num_patches = 0;
  int64_t vocab, positions, text_out;
  EncoderShape text, vision;
  ImageShape image;
  bool pooled;
};

// One learned query over all patches, and an MLP: [batch, hidden].
Tensor AttentionPooling(GraphBuilder* b, const Tensor& x, const EncoderShape& s,
                        const std::string& prefix) {
  const Scope head(b, "head", absl::StrCat(prefix, "MultiheadAttentionPoolingHead"));
  const int64_t h = s.hidden;
  const Tensor probe = RepeatForBatch(b, b->Weight("probe", {1, 1, h}), x, {1, h});
  Tensor y;
  {
    const Scope attention(b, "attention", "MultiheadAttention");
    y = CrossAttention(b, probe, x, h, h, s.heads);
  }
  Tensor z = LayerNorm(b, y, "layernorm", h);
  {
    const Scope mlp(b, "mlp", absl::StrCat(prefix, "MLP"));
    z = Mlp(b, z, h, s.intermediate, s.activation);
  }
  return TakeToken(b, Add(b, y, z), 0);
}

// Of all patches, after the last norm.
Tensor VisionTokens(GraphBuilder* b, const Tensor& pixels, const SiglipShape& s) {
  const int64_t h = s.vision.hidden;
  Tensor x;
  {
    const Scope embeddings(b, "embeddings", absl::StrCat(s.prefix, "VisionEmbeddings"));
    // The positions of SigLIP 2 are resized to each image, which is left out: it multiplies
    // nothing.
    const int64_t patch = s.image.channels * s.image.patch * s.image.patch;
    x = s.patches_given ? Linear(b, pixels, "patch_embedding", patch, h, true)
                        : PatchEmbedding(b, pixels, s.image, h, "patch_embedding", true);
    const Tensor places = Positions(b, x, 1);
    x = Add(b, x, Embedding(b, places, "position_embedding", s.num_patches, h));
  }
  {
    const Scope encoder(b, "encoder", absl::StrCat(s.prefix, "Encoder"));
    x = PreNormLayers(b, x, s.vision, *s.layer);
  }
  return LayerNorm(b, x, "post_layernorm", h);
}

Tensor BuildVision(GraphBuilder* b, const Tensor& pixels, const SiglipShape& s) {
  const Tensor x = VisionTokens(b, pixels, s);
  return s.pooled ? AttentionPooling(b, x, s.vision, s.prefix) : TakeToken(b, x, 0);
}

Tensor BuildText(GraphBuilder* b, const Tensor& ids, const SiglipShape& s) {
  const int64_t h = s.text.hidden;
  Tensor x;
  {
    const Scope embeddings(b, "embeddings", absl::StrCat(s.prefix, "TextEmbeddings"));
    x = Embedding(b, ids, "token_embedding", s.vocab, h);
    const Tensor places = Positions(b, ids, 1);
    x = Add(b, x, Embedding(b, places, "position_embedding", s.positions, h));
    b->LimitDim("seq", s.positions);
  }
  {
    const Scope encoder(b, "encoder", absl::StrCat(s.prefix, "Encoder"));
    x = PreNormLayers(b, x, s.text, *s.layer);
  }
  x = LayerNorm(b, x, "final_layer_norm", h);
  return Linear(b, TakeToken(b, x, -1), "head", h, s.text_out, true);
}

void ReadSiglipVision(const Config& vision, SiglipShape* s) {
  s->vision = ReadEncoder(vision, 768, 12, 12, 3072, "gelu_pytorch_tanh");
  s->pooled = vision.Flag("vision_use_head", true);
  if (!s->patches_given) {
    s->image = ReadImage(vision, 224, 16);
    s->num_patches = s->image.Patches();
    return;
  }
  s->image = {vision.Size("num_channels", 3), 0, vision.Size("patch_size", 16)};
  s->num_patches = vision.Size("num_patches", 256);
  if (s->image.patch > kMaxPatchSize) vision.Fault("patch_size", "is too large");
}

void ReadSiglipText(const Config& text, SiglipShape* s) {
  s->vocab = text.Size("vocab_size", 32000);
  s->positions = text.Size("max_position_embeddings", 64);
  s->text = ReadEncoder(text, 768, 12, 12, 3072, "gelu_pytorch_tanh");
  s->text_out = text.Size("projection_size", s->text.hidden);
}

Tensor SiglipPixels(GraphBuilder* b, const SiglipShape& s) {
  if (!s.patches_given) return PixelValues(b, s.image);
  const int64_t patch = s.image.channels * s.image.patch * s.image.patch;
  return b->Input("pixel_values", b->dtype(), {"batch", s.num_patches, patch});
}

absl::StatusOr<std::string> BuildSiglipModel(const Config& config, SiglipShape s) {
  ReadSiglipVision(config.Child("vision_config"), &s);
  const Config text = config.Child("text_config");
  ReadSiglipText(text, &s);
  if (s.text_out != s.vision.hidden) {
    text.Fault("projection_size", "is not the hidden_size of the vision model");
  }
  const std::string root = config.RequireArchitecture({absl::StrCat(s.prefix, "Model")});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  const Tensor pixels = SiglipPixels(&b, s);
  Tensor image, words;
  {
    const Scope tower(&b, "vision_model", absl::StrCat(s.prefix, "VisionModel"));
    image = BuildVision(&b, pixels, s);
  }
  {
    const Scope tower(&b, "text_model", absl::StrCat(s.prefix, "TextModel"));
    words = BuildText(&b, ids, s);
  }
  ContrastiveHead(&b, image, words, s.text_out, {1}, true);
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildSiglipVisionOf(const Config& config, SiglipShape s) {
  ReadSiglipVision(config, &s);
  const std::string root = config.RequireArchitecture({absl::StrCat(s.prefix, "VisionModel")});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor x = BuildVision(&b, SiglipPixels(&b, s), s);
  b.Output("pooler_output", x, dtype, {"batch", s.vision.hidden});
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildSiglipTextOf(const Config& config, SiglipShape s) {
  ReadSiglipText(config, &s);
  const std::string root = config.RequireArchitecture({absl::StrCat(s.prefix, "TextModel")});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  b.Output("pooler_output", BuildText(&b, ids, s), dtype, {"batch", s.text_out});
  return std::move(b).Finish();
}

SiglipShape Siglip2() {
  SiglipShape s;
  s.layer = &kSiglip2Layer;
  s.prefix = "Siglip2";
  s.patches_given = true;
  return s;
}

}  // namespace

SiglipVision ReadSiglipVisionTower(const Config& config) {
  SiglipShape s;
  ReadSiglipVision(config, &s);
  return {s.image, s.vision, s.pooled};
}

Tensor BuildSiglipVisionTower(GraphBuilder* b, const Tensor& pixels, const SiglipVision& shape) {
  SiglipShape s;
  s.image = shape.image;
  s.vision = shape.encoder;
  s.num_patches = s.image.Patches();
  const Tensor x = VisionTokens(b, pixels, s);
  if (shape.pooled) AttentionPooling(b, x, s.vision, s.prefix);
  return x;
}

absl::StatusOr<std::string> BuildSiglip(const Config& config) {
  return BuildSiglipModel(config, {});
}

absl::StatusOr<std::string> BuildSiglip2(const Config& config) {
  return BuildSiglipModel(config, Siglip2());
}

absl::StatusOr<std::string> BuildSiglipVisionModel(const Config& config) {
  return BuildSiglipVisionOf(config, {});
}

absl::StatusOr<std::string> BuildSiglip2VisionModel(const Config& config) {
  return BuildSiglipVisionOf(config, Siglip2());
}

absl::StatusOr<std::string> BuildSiglipTextModel(const Config& config) {
  return BuildSiglipTextOf(config, {});
}

absl::StatusOr<std::string> BuildSiglip2TextModel(const Config& config) {
  return BuildSiglipTextOf(config, Siglip2());
}

}  // namespace onnxflops::family
