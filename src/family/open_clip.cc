// open_clip's own configurations, {"embed_dim", "vision_cfg", "text_cfg"}: a text transformer, and
// for images another one, EVA's, or a ResNet. Towers of timm and of transformers, and CoCa, are not
// known.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/family/blocks.h"
#include "src/family/clip_resnet.h"
#include "src/family/families.h"

namespace onnxflops::family {
namespace {

struct Tower {
  int64_t width, layers, heads, inner;
  bool causal = false, layer_scale = false;
};

struct OpenClipShape {
  std::optional<ClipResnetShape> resnet;  // in the place of `vision`
  Tower vision, text;
  int64_t image, patch, context, vocab, embed;
  bool norm_before = true, norm_after_pool = false, vision_average = false;
  bool eva = false;  // norms behind attention and MLP, and a biased head
  bool custom_text = false, quick_gelu = false, logit_bias = false, text_bias = false;
  bool text_projection = true;
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

Tower ReadVision(const Config& config, OpenClipShape* s) {
  for (const char* key :
       {"timm_model_name", "attentional_pool", "block_type", "qk_norm", "scaled_cosine_attn",
        "scale_heads", "scale_attn_inner", "scale_attn", "scale_fc"}) {
    RequireOff(config, key);
  }
  s->eva = config.Has("eva_model_name");
  for (const char* key : {"rope", "naiveswiglu", "subln"}) RequireOff(config, key);
  Tower t;
  t.width = config.Size("width", 768);
  t.layers = config.Layers("layers", 12);
  const int64_t head = config.Size("head_width", 64);
  t.heads = std::max<int64_t>(t.width / head, 1);
  config.RequireDivisible("width", t.width, "head_width", head);
  t.inner = ReadInner(config, t.width);
  t.layer_scale = config.Has("ls_init_value");
  s->image = config.Size("image_size", 224);
  s->patch = config.Size("patch_size", 16);
  if (s->patch > s->image) config.Fault("patch_size", "is larger than the image");
  s->norm_before = !config.Flag("no_ln_pre", false);
  s->norm_after_pool = config.Flag("final_ln_after_pool", false);
  const std::string pool = config.Text("pool_type", "tok");
  s->vision_average = pool == "avg";
  if (pool != "tok" && pool != "avg") config.Fault("pool_type", "should be tok or avg");
  return t;
}

Tower ReadText(const Config& config, OpenClipShape* s) {
  for (const char* key :
       {"hf_model_name", "embed_cls", "block_type", "qk_norm", "scaled_cosine_attn", "scale_heads",
        "scale_attn_inner", "scale_attn", "scale_fc", "final_ln_after_pool"}) {
    RequireOff(config, key);
  }
  Tower t;
  t.width = config.Size("width", 512);
  t.layers = config.Layers("layers", 12);
  t.heads = config.Size("heads", 8);
  config.RequireDivisible("width", t.width, "heads", t.heads);
  t.inner = ReadInner(config, t.width);
  t.layer_scale = config.Has("ls_init_value");
  t.causal = !config.Flag("no_causal_mask", false);
  s->context = config.Size("context_length", 77);
  s->vocab = config.Size("vocab_size", 49408);
  s->text_bias = config.Flag("proj_bias", false);
  s->text_projection = config.Text("proj_type", "linear") != "none";
  s->text_pool = config.Text("pool_type", "argmax");
  if (s->text_pool != "argmax" && s->text_pool != "last" && s->text_pool != "first" &&
      s->text_pool != "eos") {
    config.Fault("pool_type", absl::StrCat("is ", Quoted(s->text_pool),
                                           ": known are argmax, eos, first and last"));
  }
  return t;
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
  if (!t.layer_scale) return x;
  const Scope scale(b, name, "LayerScale");
  return Mul(b, x, b->Weight("gamma", {t.width}));
}

Tensor Blocks(GraphBuilder* b, Tensor x, const Tower& t, bool quick_gelu) {
  const Scope transformer(b, "transformer", "Transformer");
  for (int64_t i = 0; i < t.layers; ++i) {
    const Scope block(b, absl::StrCat("resblocks.", i), "ResidualAttentionBlock");
    Tensor y = SelfAttention(b, LayerNorm(b, x, "ln_1", t.width), t);
    x = Add(b, x, Scaled(b, y, "ls_1", t));
    y = LayerNorm(b, x, "ln_2", t.width);
    {
      const Scope mlp(b, "mlp", "Sequential");
      y = Linear(b, y, "c_fc", t.width, t.inner, true);
      y = Activate(b, y, quick_gelu ? "quick_gelu" : "gelu");
      y = Linear(b, y, "c_proj", t.inner, t.width, true);
    }
    x = Add(b, x, Scaled(b, y, "ls_2", t));
  }
  return x;
}

Tensor Pool(GraphBuilder* b, const Tensor& x, bool average, int64_t tokens) {
  if (!average) return TakeToken(b, x, 0);
  const Tensor patches = b->Op("Slice", {x, b->Ints({1}), b->Ints({tokens}), b->Ints({1})});
  return b->Op("ReduceMean", {patches, b->Ints({1})}, {{"keepdims", int64_t{0}}});
}

Tensor Image(GraphBuilder* b, const Tensor& pixels, const OpenClipShape& s) {
  if (s.resnet) {
    const Scope visual(b, "visual", "ModifiedResNet");
    return BuildClipResnet(b, pixels, *s.resnet, s.embed);
  }
  const Scope visual(b, "visual", "VisionTransformer");
  const int64_t w = s.vision.width;
  const ImageShape image = {3, s.image, s.patch};
  const int64_t tokens = image.Patches() + 1;
  Tensor x = PatchEmbedding(b, pixels, image, w, "conv1", s.eva);
  x = Concat(b, {RepeatForBatch(b, b->Weight("class_embedding", {w}), x, {1, w}), x}, 1);
  x = Add(b, x, b->Weight("positional_embedding", {tokens, w}));
  if (s.norm_before && !s.eva) x = LayerNorm(b, x, "ln_pre", w);
  x = Blocks(b, x, s.vision, s.quick_gelu);
  if (s.norm_after_pool) {
    x = LayerNorm(b, Pool(b, x, s.vision_average, tokens), "ln_post", w);
  } else {
    x = Pool(b, LayerNorm(b, x, "ln_post", w), s.vision_average, tokens);
  }
  if (s.eva) return Linear(b, x, "head", w, s.embed, true);
  return b->Op("MatMul", {x, b->Weight("proj", {w, s.embed})});
}

Tensor Text(GraphBuilder* b, const Tensor& ids, const OpenClipShape& s) {
  std::optional<Scope> text;
  if (s.custom_text) text.emplace(b, "text", "TextTransformer");
  const int64_t w = s.text.width;
  Tensor x = Embedding(b, ids, "token_embedding", s.vocab, w);
  x = Add(b, x, b->Weight("positional_embedding", {s.context, w}));
  x = Blocks(b, x, s.text, s.quick_gelu);
  x = LayerNorm(b, x, "ln_final", w);
  const bool at_end = s.text_pool == "argmax" || s.text_pool == "eos";
  x = at_end ? TakeAtLargest(b, x, ids) : TakeToken(b, x, s.text_pool == "first" ? 0 : -1);
  if (!s.text_projection) return x;
  if (s.text_bias) return Linear(b, x, "text_projection", w, s.embed, true);
  return b->Op("MatMul", {x, b->Weight("text_projection", {w, s.embed})});
}

OpenClipShape ReadOpenClip(const Config& outer) {
  // Files of the hub have the configuration inside, beside how images are prepared.
  const Config config = outer.Has("model_cfg") ? outer.Child("model_cfg") : outer;
  RequireOff(config, "multimodal_cfg");
  OpenClipShape s;
  s.embed = config.Required("embed_dim");
  const Config vision = config.Child("vision_cfg");
  if (vision.HasList("layers")) {
    RequireOff(vision, "timm_model_name");
    s.resnet = ReadClipResnet(vision);
    s.image = s.resnet->image;
  } else {
    s.vision = ReadVision(vision, &s);
  }
  s.text = ReadText(config.Child("text_cfg"), &s);
  s.custom_text = config.Flag("custom_text", false);
  s.quick_gelu = config.Flag("quick_gelu", false);
  s.logit_bias = config.Has("init_logit_bias");
  if (!s.text_projection && s.text.width != s.embed) {
    config.Fault("text_cfg.proj_type", "is none, and the text is not embed_dim wide");
  }
  return s;
}

}  // namespace

absl::StatusOr<std::string> BuildOpenClip(const Config& config) {
  const OpenClipShape s = ReadOpenClip(config);
  const DType dtype = DType::kFloat32;  // open_clip states none
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(s.custom_text ? "CustomTextCLIP" : "CLIP", dtype, config.notes().save);
  const Tensor pixels = b.Input("image", dtype, {"batch", 3, s.image, s.image});
  const Tensor ids = b.Input("text", DType::kInt64, {"batch", s.context});
  const Tensor image = Normalize(&b, Image(&b, pixels, s));
  const Tensor text = Normalize(&b, Text(&b, ids, s));
  b.Output("image_features", image, dtype, {"batch", s.embed});
  b.Output("text_features", text, dtype, {"batch", s.embed});
  b.Output("logit_scale_exp", b.Op("Exp", {b.Weight("logit_scale", {})}), dtype, {});
  if (s.logit_bias) b.Output("logit_bias_out", b.Weight("logit_bias", {}), dtype, {});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
