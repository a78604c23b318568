// open_clip's own configurations, {"embed_dim", "vision_cfg", "text_cfg"}. The text tower is a
// transformer, of open_clip's own or of the library transformers. The image tower is a transformer,
// EVA's, a ResNet, or a tower of timm. CoCa has a decoder of captions as well.
//
// How it works. Reading and building are separate. Reading fills one OpenClipShape and notes the
// first fault; with a fault nothing is built. Which keys are there decides which tower it is. A key
// that would change the graph in a way not known here is a fault, because a graph that is wrong in
// silence is worse than none. Each tower then gives its pooled vector and, if a decoder of captions
// can look at them, its tokens. Module names follow open_clip's classes. So a text tower has its
// own module "text" in CustomTextCLIP and CoCa, and none in plain CLIP.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"
#include "src/family/clip_resnet.h"
#include "src/family/open_clip_text.h"
#include "src/family/timm.h"

namespace onnxflops::family {
namespace {

struct Tower {
  int64_t width, layers, heads, inner;
  bool causal = false, layer_scale = false;
};

struct OpenClipShape {
  std::optional<ClipResnetShape> resnet;  // in the place of `vision`
  std::optional<TimmShape> timm;          // the same
  std::optional<TimmVit> eva;             // the same, as EVA-CLIP writes it
  std::optional<HfText> hf;               // in the place of `text`
  std::optional<Tower> captions;          // CoCa's decoder of captions
  Tower vision, text;
  int64_t image, patch, context, vocab, embed;
  int64_t pool_queries = 0, pool_heads = 0;  // of the image's pool by attention; 0: another pool
  bool norm_before = true, norm_after_pool = false, vision_average = false;
  bool custom_text = false, quick_gelu = false, logit_bias = false, text_bias = false;
  bool text_projection = true;
  bool class_token = false;  // of the text, after its end: CoCa
  std::string text_pool;
};

// A key that would change the graph, and has the value that changes nothing.
void RequireOff(const Config& config, const char* key) {
  if (config.Has(key) && !config.IsFalse(key)) config.Fault(key, "is not supported");
}

int64_t ReadInner(const Config& config, int64_t width) {
  const double inner = static_cast<double>(width) * config.Real("mlp_ratio", 4);
  if (inner >= 1 && inner <= static_cast<double>(kMaxConfigSize)) {
    return static_cast<int64_t>(inner);
  }
  config.Fault("mlp_ratio", "makes an MLP of no size");
  return 1;
}

// Keys of either tower that are not supported.
void RequirePlainBlocks(const Config& config) {
  for (const char* key : {"block_type", "qk_norm", "scaled_cosine_attn", "scale_heads",
                          "scale_attn_inner", "scale_attn", "scale_fc"}) {
    RequireOff(config, key);
  }
}

void ReadPooling(const Config& config, OpenClipShape* s) {
  s->norm_before = !config.Flag("no_ln_pre", false);
  s->norm_after_pool = config.Flag("final_ln_after_pool", false);
  const std::string pool = config.Text("pool_type", "tok");
  s->vision_average = pool == "avg";
  if (pool != "tok" && pool != "avg") config.Fault("pool_type", "should be tok or avg");
  if (!config.Flag("attentional_pool", false)) return;
  s->pool_queries = config.Size("attn_pooler_queries", 256);
  s->pool_heads = config.Size("attn_pooler_heads", 8);
  if (s->embed % s->pool_heads != 0) {
    config.Fault(
        "attn_pooler_heads",
        absl::StrCat("is ", s->pool_heads, ", which does not divide embed_dim, ", s->embed));
  }
}

Tower ReadVision(const Config& config, OpenClipShape* s) {
  RequirePlainBlocks(config);
  Tower t;
  t.width = config.Size("width", 768);
  t.layers = config.Layers("layers", 12);
  const int64_t head = config.Size("head_width", 64);
  t.heads = std::max<int64_t>(t.width / head, 1);
  config.RequireDivisible("width", t.width, "head_width", head);
  t.inner = ReadInner(config, t.width);
  t.layer_scale = config.Given("ls_init_value");
  s->image = config.Size("image_size", 224);
  s->patch = config.Size("patch_size", 16);
  if (s->patch > s->image) config.Fault("patch_size", "is larger than the image");
  ReadPooling(config, s);
  return t;
}

// The tower of an image as EVA-CLIP's own configurations describe it.
void ReadEva(const Config& config, OpenClipShape* s) {
  const Tower t = ReadVision(config, s);
  const bool second = config.Flag("rope", false), post_norm = config.Flag("postnorm", false);
  for (const char* key : {"naiveswiglu", "subln"}) {
    if (config.Flag(key, false) != second) config.Fault(key, "should be as rope");
  }
  for (const char* key : {"ls_init_value", "attentional_pool", "global_average_pool"}) {
    RequireOff(config, key);
  }
  if (second && post_norm) config.Fault("postnorm", "is not supported with rope");
  if (second && t.width / t.heads % 4 != 0) {
    config.Fault("head_width",
                 "is no multiple of 4: features are rotated in pairs, by row and by column");
  }
  const TimmStyle* style = second ? &kEva02 : post_norm ? &kEvaPostNorm : &kEva;
  s->eva = {"EVA", s->image, s->patch, t.width, t.layers, t.heads, t.inner, style};
}

// The transformer of a text.
Tower ReadTextTower(const Config& config) {
  RequirePlainBlocks(config);
  Tower t;
  t.width = config.Size("width", 512);
  t.layers = config.Layers("layers", 12);
  t.heads = config.Size("heads", 8);
  config.RequireDivisible("width", t.width, "heads", t.heads);
  t.inner = ReadInner(config, t.width);
  t.layer_scale = config.Given("ls_init_value");
  t.causal = true;
  return t;
}

void ReadText(const Config& config, OpenClipShape* s) {
  s->context = config.Size("context_length", 77);
  s->vocab = config.Size("vocab_size", 49408);
  if (config.Given("hf_model_name")) {
    s->hf = ReadHfText(config, s->context);
    return;
  }
  RequireOff(config, "final_ln_after_pool");
  s->text = ReadTextTower(config);
  s->text.causal = !config.Flag("no_causal_mask", false);
  s->text_bias = config.Flag("proj_bias", false);
  s->text_projection = config.Text("proj_type", "linear") != "none";
  s->text_pool = config.Text("pool_type", "argmax");
  s->class_token = config.Flag("embed_cls", false);
  if (s->text_pool != "argmax" && s->text_pool != "last" && s->text_pool != "first" &&
      s->text_pool != "eos") {
    config.Fault("pool_type", absl::StrCat("is ", Quoted(s->text_pool),
                                           ": known are argmax, eos, first and last"));
  }
}

Tensor SelfAttention(GraphBuilder* b, const Tensor& x, const Tower& t) {
  const Scope attention(b, "attn", "MultiheadAttention");
  const int64_t w = t.width;
  const Tensor all = Add(b, b->Op("MatMul", {x, b->Weight("in_proj.weight", {w, 3 * w})}),
                         b->Weight("in_proj.bias", {3 * w}));
  const std::vector<Tensor> qkv = Split(b, all, {w, w, w}, -1);
  const AttentionShape shape = {t.heads, t.heads, w / t.heads, t.causal};
  return Linear(b, Attention(b, qkv[0], qkv[1], qkv[2], shape), "out_proj", w, w, true);
}

Tensor Scaled(GraphBuilder* b, const Tensor& x, const char* name, const Tower& t) {
  return t.layer_scale ? LayerScale(b, x, name, t.width) : x;
}

// One layer. Its attention reads `other`, or x itself if `other` is empty.
Tensor ResidualBlock(GraphBuilder* b, Tensor x, const Tensor& other, const Tower& t,
                     bool quick_gelu) {
  Tensor y = LayerNorm(b, x, "ln_1", t.width);
  if (other.empty()) {
    y = SelfAttention(b, y, t);
  } else {
    const Tensor keys = LayerNorm(b, other, "ln_1_kv", t.width);
    const Scope attention(b, "attn", "MultiheadAttention");
    y = CrossAttention(b, y, keys, t.width, t.width, t.heads);
  }
  x = Add(b, x, Scaled(b, y, "ls_1", t));
  y = LayerNorm(b, x, "ln_2", t.width);
  {
    const Scope mlp(b, "mlp", "Sequential");
    y = Mlp(b, y, t.width, t.inner, quick_gelu ? "quick_gelu" : "gelu", {"c_fc", "c_proj"});
  }
  return Add(b, x, Scaled(b, y, "ls_2", t));
}

Tensor Blocks(GraphBuilder* b, Tensor x, const Tower& t, bool quick_gelu) {
  const Scope transformer(b, "transformer", "Transformer");
  for (int64_t i = 0; i < t.layers; ++i) {
    const Scope block(b, absl::StrCat("resblocks.", i), "ResidualAttentionBlock");
    x = ResidualBlock(b, x, "", t, quick_gelu);
  }
  return x;
}

// The result of a tower: one vector, and the tokens that captions look at.
struct TowerOutput {
  Tensor pooled, tokens;
};

// Tokens `first` to `end`, which may be counted from the last.
Tensor TakeTokens(GraphBuilder* b, const Tensor& x, int64_t first, int64_t end) {
  return b->Op("Slice", {x, b->Ints({first}), b->Ints({end}), b->Ints({1})});
}

TowerOutput Pool(GraphBuilder* b, const Tensor& x, bool average, int64_t tokens) {
  const Tensor patches = TakeTokens(b, x, 1, tokens);
  if (!average) return {TakeToken(b, x, 0), patches};
  return {b->Op("ReduceMean", {patches, b->Ints({1})}, {{"keepdims", int64_t{0}}}), patches};
}

// Learned queries over all tokens: [batch, queries, embed].
Tensor PoolByAttention(GraphBuilder* b, const Tensor& x, const OpenClipShape& s) {
  const Scope pool(b, "attn_pool", "AttentionalPooler");
  const Tensor keys = LayerNorm(b, x, "ln_k", s.vision.width);
  const Tensor query = LayerNorm(b, b->Weight("query", {s.pool_queries, s.embed}), "ln_q", s.embed);
  const Tensor queries = RepeatForBatch(b, query, x, {s.pool_queries, s.embed});
  const Scope attention(b, "attn", "MultiheadAttention");
  return CrossAttention(b, queries, keys, s.embed, s.vision.width, s.pool_heads);
}

TowerOutput PoolImage(GraphBuilder* b, Tensor x, int64_t tokens, const OpenClipShape& s) {
  const int64_t w = s.vision.width;
  if (s.pool_queries > 0) {
    x = LayerNorm(b, PoolByAttention(b, x, s), "ln_post", s.embed);
    return Pool(b, x, s.vision_average, s.pool_queries);
  }
  if (!s.norm_after_pool) x = LayerNorm(b, x, "ln_post", w);
  TowerOutput out = Pool(b, x, s.vision_average, tokens);
  if (s.norm_after_pool) out.pooled = LayerNorm(b, out.pooled, "ln_post", w);
  return out;
}

TowerOutput Image(GraphBuilder* b, const Tensor& pixels, const OpenClipShape& s) {
  if (s.timm) return {BuildTimm(b, pixels, *s.timm, s.embed), ""};
  if (s.eva) {
    const Scope visual(b, "visual", "EVAVisionTransformer");
    const Tensor x = BuildTimmVit(b, pixels, *s.eva, s.image, "token");
    return {Linear(b, x, "head", s.eva->width, s.embed, true), ""};
  }
  if (s.resnet) {
    const Scope visual(b, "visual", "ModifiedResNet");
    return {BuildClipResnet(b, pixels, *s.resnet, s.embed), ""};
  }
  const Scope visual(b, "visual", "VisionTransformer");
  const int64_t w = s.vision.width;
  const ImageShape image = {3, s.image, s.patch};
  const int64_t tokens = image.Patches() + 1;
  Tensor x = PatchEmbedding(b, pixels, image, w, "conv1", false);
  x = Concat(b, {RepeatForBatch(b, b->Weight("class_embedding", {w}), x, {1, w}), x}, 1);
  x = Add(b, x, b->Weight("positional_embedding", {tokens, w}));
  if (s.norm_before) x = LayerNorm(b, x, "ln_pre", w);
  x = Blocks(b, x, s.vision, s.quick_gelu);
  TowerOutput out = PoolImage(b, x, tokens, s);
  const int64_t pooled = s.pool_queries > 0 ? s.embed : w;
  out.pooled = b->Op("MatMul", {out.pooled, b->Weight("proj", {pooled, s.embed})});
  return out;
}

Tensor ProjectText(GraphBuilder* b, const Tensor& x, const OpenClipShape& s) {
  const int64_t w = s.text.width;
  if (!s.text_projection) return x;
  if (s.text_bias) return Linear(b, x, "text_projection", w, s.embed, true);
  return b->Op("MatMul", {x, b->Weight("text_projection", {w, s.embed})});
}

TowerOutput Text(GraphBuilder* b, const Tensor& ids, const OpenClipShape& s) {
  if (s.hf) {
    const HfTextOutput out = BuildHfText(b, ids, *s.hf, s.embed);
    return {out.pooled, out.tokens};
  }
  std::optional<Scope> text;
  if (s.custom_text) text.emplace(b, "text", "TextTransformer");
  const int64_t w = s.text.width;
  Tensor x = Embedding(b, ids, "token_embedding", s.vocab, w);
  if (s.class_token) {
    x = Concat(b, {x, RepeatForBatch(b, b->Weight("cls_emb", {w}), x, {1, w})}, 1);
  }
  x = Add(b, x, b->Weight("positional_embedding", {s.context + (s.class_token ? 1 : 0), w}));
  x = Blocks(b, x, s.text, s.quick_gelu);
  if (s.class_token) {
    const Tensor pooled = LayerNorm(b, TakeToken(b, x, -1), "ln_final", w);
    return {ProjectText(b, pooled, s), TakeTokens(b, x, 0, -1)};
  }
  x = LayerNorm(b, x, "ln_final", w);
  const bool at_end = s.text_pool == "argmax" || s.text_pool == "eos";
  const Tensor pooled =
      at_end ? TakeAtLargest(b, x, ids) : TakeToken(b, x, s.text_pool == "first" ? 0 : -1);
  return {ProjectText(b, pooled, s), x};
}

// Layers over the text so far, each followed by cross-attention to the image: [batch, n, vocab].
Tensor Captions(GraphBuilder* b, const Tensor& image, Tensor x, const OpenClipShape& s) {
  const Scope decoder(b, "text_decoder", "MultimodalTransformer");
  const Tower& t = *s.captions;
  for (int64_t i = 0; i < t.layers; ++i) {
    for (const bool cross : {false, true}) {
      const Scope block(b, absl::StrCat(cross ? "cross_attn." : "resblocks.", i),
                        "ResidualAttentionBlock");
      x = ResidualBlock(b, x, cross ? image : "", t, s.quick_gelu);
    }
  }
  x = LayerNorm(b, x, "ln_final", t.width);
  return b->Op("MatMul", {x, b->Weight("text_projection", {t.width, s.vocab})});
}

void ReadCaptions(const Config& config, OpenClipShape* s) {
  const Config captions = config.Child("multimodal_cfg");
  s->captions = ReadTextTower(captions);
  if (s->resnet || s->timm || s->eva) {
    config.Fault("multimodal_cfg", "is not supported for this tower of images");
    return;
  }
  const int64_t image = s->pool_queries > 0 ? s->embed : s->vision.width;
  const int64_t text = s->hf ? (s->hf->model != nullptr ? s->hf->Width() : 0) : s->text.width;
  for (const auto& [what, width] : {std::pair("an image", image), std::pair("text", text)}) {
    if (width == s->captions->width) continue;
    captions.Fault("width", absl::StrCat("is ", s->captions->width, ", and tokens of ", what,
                                         " are ", width, " wide"));
  }
  if (s->context < 2) captions.Fault("context_length", "leaves no caption");
}

OpenClipShape ReadOpenClip(const Config& outer) {
  // Files of the hub hold the configuration as one part, next to how images are prepared.
  const Config config = outer.Has("model_cfg") ? outer.Child("model_cfg") : outer;
  OpenClipShape s;
  s.embed = config.Required("embed_dim");
  const Config vision = config.Child("vision_cfg");
  if (vision.Given("timm_model_name")) {
    s.timm = ReadTimm(vision);
    s.image = s.timm->image;
  } else if (vision.Has("eva_model_name")) {
    ReadEva(vision, &s);
  } else if (vision.HasList("layers")) {
    s.resnet = ReadClipResnet(vision);
    s.image = s.resnet->image;
  } else {
    s.vision = ReadVision(vision, &s);
  }
  ReadText(config.Child("text_cfg"), &s);
  if (config.Given("multimodal_cfg")) ReadCaptions(config, &s);
  // In some models the text tower is a separate module whatever the configuration says.
  s.custom_text = config.Flag("custom_text", false) || s.hf || s.captions;
  s.quick_gelu = config.Flag("quick_gelu", false);
  s.logit_bias = config.Given("init_logit_bias");
  if (!s.hf && !s.text_projection && s.text.width != s.embed) {
    config.Fault("text_cfg.proj_type", "is none, and the text is not embed_dim wide");
  }
  if (s.timm && s.timm->projection == "none" && s.timm->Width() != s.embed) {
    config.Fault("vision_cfg.timm_proj", "is none, and the image is not embed_dim wide");
  }
  return s;
}

}  // namespace

absl::StatusOr<std::string> BuildOpenClip(const Config& config) {
  const OpenClipShape s = ReadOpenClip(config);
  const DType dtype = DType::kFloat32;  // open_clip's files have no dtype
  if (!config.notes().status.ok()) return config.notes().status;
  const char* root = s.captions ? "CoCa" : s.custom_text ? "CustomTextCLIP" : "CLIP";
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor pixels = b.Input("image", dtype, {"batch", 3, s.image, s.image});
  const Tensor ids = b.Input("text", DType::kInt64, {"batch", s.context});
  const TowerOutput image = Image(&b, pixels, s), text = Text(&b, ids, s);
  b.Output("image_features", Normalize(&b, image.pooled), dtype, {"batch", s.embed});
  b.Output("text_features", Normalize(&b, text.pooled), dtype, {"batch", s.embed});
  if (s.captions) {
    // The last token has no next one.
    const Tensor words = TakeTokens(&b, text.tokens, 0, -1);
    const Tensor logits = Captions(&b, image.tokens, words, s);
    b.Output("logits", logits, dtype, {"batch", s.context - 1, s.vocab});
  }
  b.Output("logit_scale_exp", b.Op("Exp", {b.Weight("logit_scale", {})}), dtype, {});
  if (s.logit_bias) b.Output("logit_bias_out", b.Weight("logit_bias", {}), dtype, {});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
