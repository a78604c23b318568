// BLIP: an encoder of images, and a BERT that looks at them; as a writer of captions, as a pair of
// towers, and each by itself.
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/bert.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"
#include "src/family/clip.h"

namespace onnxflops::family {
namespace {

constexpr EncoderLayerNames kBlipLayer = {
    "BlipEncoderLayer", "self_attn", "qkv",     nullptr, nullptr, "projection",
    "BlipAttention",    "mlp",       "BlipMLP", "fc1",   "fc2",   "layer_norm1",
    "layer_norm2"};

struct BlipVision {
  ImageShape image;
  EncoderShape encoder;
};

BlipVision ReadBlipVision(const Config& config) {
  return {ReadImage(config, 384, 16), ReadEncoder(config, 768, 12, 12, 3072, "gelu")};
}

// `seen_width`: the width of the decoder's cross-attention input.
BertShape ReadBlipText(const Config& config, int64_t seen_width) {
  BertShape s;
  s.prefix = "BlipText";
  s.vocab = config.Size("vocab_size", 30524);
  s.positions = config.Size("max_position_embeddings", 512);
  s.encoder = ReadEncoder(config, 768, 8, 12, 3072, "gelu");
  if (config.Flag("is_decoder", true)) s.other_width = seen_width;
  return s;
}

// [batch, patches + 1, hidden].
Tensor BuildBlipVision(GraphBuilder* b, const Tensor& pixels, const BlipVision& s) {
  const int64_t h = s.encoder.hidden;
  Tensor x;
  {
    const Scope embeddings(b, "embeddings", "BlipVisionEmbeddings");
    x = PatchEmbedding(b, pixels, s.image, h, "patch_embedding", true);
    x = Concat(b, {RepeatForBatch(b, b->Weight("class_embedding", {1, 1, h}), x, {1, h}), x}, 1);
    x = Add(b, x, b->Weight("position_embedding", {1, s.image.Patches() + 1, h}));
  }
  {
    const Scope encoder(b, "encoder", "BlipEncoder");
    x = PreNormLayers(b, x, s.encoder, kBlipLayer);
  }
  return LayerNorm(b, x, "post_layernorm", h);
}

// The class token goes through the last norm again.
Tensor PoolBlipVision(GraphBuilder* b, const Tensor& x, const BlipVision& s) {
  return LayerNorm(b, TakeToken(b, x, 0), "post_layernorm", s.encoder.hidden);
}

void BuildCaptioner(GraphBuilder* b, const Tensor& pixels, const Tensor& ids,
                    const BlipVision& vision, BertShape text) {
  Tensor image, x, table;
  {
    const Scope tower(b, "vision_model", "BlipVisionModel");
    image = BuildBlipVision(b, pixels, vision);
  }
  const Scope decoder(b, "text_decoder", "BlipTextLMHeadModel");
  {
    const Scope bert(b, "bert", "BlipTextModel");
    text.encoder.causal = true;
    x = BuildBertBody(b, ids, text, &table, image);
  }
  BuildMaskedHead(b, x, text, table);
}

void BuildBlipTowers(GraphBuilder* b, const Tensor& pixels, const Tensor& ids,
                     const BlipVision& vision, const BertShape& text, int64_t width) {
  Tensor image, words;
  {
    const Scope tower(b, "vision_model", "BlipVisionModel");
    image = PoolBlipVision(b, BuildBlipVision(b, pixels, vision), vision);
  }
  {
    const Scope tower(b, "text_model", "BlipTextModel");
    words = BuildPooler(b, BuildBertBody(b, ids, text, nullptr), text);
  }
  image = Linear(b, image, "visual_projection", vision.encoder.hidden, width, false);
  words = Linear(b, words, "text_projection", text.encoder.hidden, width, false);
  ContrastiveHead(b, image, words, width, {}, false);
}

}  // namespace

absl::StatusOr<std::string> BuildBlip(const Config& config) {
  const Config text_config = config.Child("text_config");
  const BlipVision vision = ReadBlipVision(config.Child("vision_config"));
  const BertShape text = ReadBlipText(text_config, vision.encoder.hidden);
  const std::string root =
      config.RequireArchitecture({"BlipForConditionalGeneration", "BlipModel"});
  const bool captions = root == "BlipForConditionalGeneration";
  const int64_t width = captions ? 0 : config.Size("projection_dim", 512);
  if (captions && text.other_width == 0) {
    text_config.Fault("is_decoder", "is false, and captions are written by a decoder");
  }
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  b.LimitDim("seq", text.Longest());
  const Tensor pixels = PixelValues(&b, vision.image);
  if (captions) {
    BuildCaptioner(&b, pixels, ids, vision, text);
  } else {
    BuildBlipTowers(&b, pixels, ids, vision, text, width);
  }
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildBlipVisionModel(const Config& config) {
  const BlipVision s = ReadBlipVision(config);
  const std::string root = config.RequireArchitecture({"BlipVisionModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor x = BuildBlipVision(&b, PixelValues(&b, s.image), s);
  const int64_t h = s.encoder.hidden;
  b.Output("last_hidden_state", x, dtype, {"batch", s.image.Patches() + 1, h});
  b.Output("pooler_output", PoolBlipVision(&b, x, s), dtype, {"batch", h});
  return std::move(b).Finish();
}

absl::StatusOr<std::string> BuildBlipTextModel(const Config& config) {
  const BertShape s = ReadBlipText(config, config.Size("encoder_hidden_size", 768));
  const std::string root = config.RequireArchitecture({"BlipTextModel"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  b.LimitDim("seq", s.Longest());
  const Tensor x = BuildBertBody(&b, ids, s, nullptr);
  const int64_t h = s.encoder.hidden;
  b.Output("last_hidden_state", x, dtype, {"batch", "seq", h});
  b.Output("pooler_output", BuildPooler(&b, x, s), dtype, {"batch", h});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
