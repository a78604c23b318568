// SigLIP: two encoders without a class token; the image is pooled by attention.
#include <string>

#include "src/family/blocks.h"
#include "src/family/clip.h"
#include "src/family/families.h"

namespace onnxflops::family {
namespace {

constexpr EncoderLayerNames kSiglipLayer = {
    "SiglipEncoderLayer", "self_attn", "q_proj",    "k_proj", "v_proj", "out_proj",
    "SiglipAttention",    "mlp",       "SiglipMLP", "fc1",    "fc2",    "layer_norm1",
    "layer_norm2"};

struct SiglipShape {
  int64_t vocab, positions, text_out;
  EncoderShape text, vision;
  ImageShape image;
  bool pooled;
};

// One learned query over all patches, and an MLP: [batch, hidden].
Tensor AttentionPooling(GraphBuilder* b, const Tensor& x, const EncoderShape& s) {
  const Scope head(b, "head", "SiglipMultiheadAttentionPoolingHead");
  const int64_t h = s.hidden;
  const Tensor probe = RepeatForBatch(b, b->Weight("probe", {1, 1, h}), x, {1, h});
  Tensor y;
  {
    // The three projections are one parameter, of which the query has the first third.
    const Scope attention(b, "attention", "MultiheadAttention");
    const std::vector<Tensor> weights =
        Split(b, b->Weight("in_proj.weight", {h, 3 * h}), {h, 2 * h}, 1);
    const std::vector<Tensor> biases = Split(b, b->Weight("in_proj.bias", {3 * h}), {h, 2 * h}, 0);
    const Tensor q = Add(b, b->Op("MatMul", {probe, weights[0]}), biases[0]);
    const Tensor kv = Add(b, b->Op("MatMul", {x, weights[1]}), biases[1]);
    const std::vector<Tensor> parts = Split(b, kv, {h, h}, -1);
    y = Attention(b, q, parts[0], parts[1], {s.heads, s.heads, h / s.heads});
    y = Linear(b, y, "out_proj", h, h, true);
  }
  Tensor z = LayerNorm(b, y, "layernorm", h);
  {
    const Scope mlp(b, "mlp", "SiglipMLP");
    z = Activate(b, Linear(b, z, "fc1", h, s.intermediate, true), s.activation);
    z = Linear(b, z, "fc2", s.intermediate, h, true);
  }
  return TakeToken(b, Add(b, y, z), 0);
}

Tensor BuildVision(GraphBuilder* b, const Tensor& pixels, const SiglipShape& s) {
  const int64_t h = s.vision.hidden;
  Tensor x;
  {
    const Scope embeddings(b, "embeddings", "SiglipVisionEmbeddings");
    x = PatchEmbedding(b, pixels, s.image, h, "patch_embedding", true);
    const Tensor places = Positions(b, x, 1);
    x = Add(b, x, Embedding(b, places, "position_embedding", s.image.Patches(), h));
  }
  {
    const Scope encoder(b, "encoder", "SiglipEncoder");
    x = PreNormLayers(b, x, s.vision, kSiglipLayer);
  }
  x = LayerNorm(b, x, "post_layernorm", h);
  return s.pooled ? AttentionPooling(b, x, s.vision) : TakeToken(b, x, 0);
}

Tensor BuildText(GraphBuilder* b, const Tensor& ids, const SiglipShape& s) {
  const int64_t h = s.text.hidden;
  Tensor x;
  {
    const Scope embeddings(b, "embeddings", "SiglipTextEmbeddings");
    x = Embedding(b, ids, "token_embedding", s.vocab, h);
    const Tensor places = Positions(b, ids, 1);
    x = Add(b, x, Embedding(b, places, "position_embedding", s.positions, h));
  }
  {
    const Scope encoder(b, "encoder", "SiglipEncoder");
    x = PreNormLayers(b, x, s.text, kSiglipLayer);
  }
  x = LayerNorm(b, x, "final_layer_norm", h);
  return Linear(b, TakeToken(b, x, -1), "head", h, s.text_out, true);
}

}  // namespace

absl::StatusOr<std::string> BuildSiglip(const Config& config) {
  const Config text = config.Child("text_config"), vision = config.Child("vision_config");
  SiglipShape s;
  s.vocab = text.Size("vocab_size", 32000);
  s.positions = text.Size("max_position_embeddings", 64);
  s.text = ReadEncoder(text, 768, 12, 12, 3072, "gelu_pytorch_tanh");
  s.text_out = text.Size("projection_size", s.text.hidden);
  s.vision = ReadEncoder(vision, 768, 12, 12, 3072, "gelu_pytorch_tanh");
  s.image = ReadImage(vision, 224, 16);
  s.pooled = vision.Flag("vision_use_head", true);
  if (s.text_out != s.vision.hidden) {
    text.Fault("projection_size", "is not the hidden_size of the vision model");
  }
  const std::string root = config.RequireArchitecture({"SiglipModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  const Tensor pixels = PixelValues(&b, s.image);
  Tensor image, words;
  {
    const Scope tower(&b, "vision_model", "SiglipVisionModel");
    image = BuildVision(&b, pixels, s);
  }
  {
    const Scope tower(&b, "text_model", "SiglipTextModel");
    words = BuildText(&b, ids, s);
  }
  ContrastiveHead(&b, image, words, s.text_out, {1}, true);
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
