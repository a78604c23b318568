// Llama 3.2 with images: a tower over the tiles of an image, and a decoder some of whose layers
// look at the image and not at the text.
//
// How it works. The processor cuts an image into max_num_tiles tiles or fewer, and fills up the
// rest with empty ones, which run like the others. All tiles of an image are one sequence, each of
// them filled up to a multiple of 8 tokens. What some layers of the first encoder give is joined to
// what the second one gives: that is what the decoder sees.
//
// The decoder's tokens are those of the text. A layer of cross attention has keys and values of the
// image alone. In a step of decoding these are in the cache, as Whisper's of the audio.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"
#include "src/family/vision_language.h"

namespace onnxflops::family {
namespace {

struct Mllama {
  // The tower.
  ImageShape image;
  int64_t width = 0, inner = 0, layers = 0, global_layers = 0, heads = 0;
  int64_t tiles = 4, ratios = 8;
  std::string activation;
  std::vector<int64_t> kept;  // layers that the decoder sees
  int64_t seen = 0;           // width of what the decoder sees
  // The decoder.
  int64_t vocab = 0, hidden = 0, intermediate = 0, text_layers = 0, text_heads = 0, kv_heads = 0;
  std::string text_activation;
  std::vector<bool> crosses;  // layers of cross attention

  int64_t Tokens() const { return image.Patches() + 1; }  // of a tile
  int64_t Padded() const { return (Tokens() + 7) / 8 * 8; }
  int64_t HeadDim() const { return hidden / text_heads; }
};

void ReadMllamaTower(const Config& config, Mllama* s) {
  s->image = ReadImage(config, 448, 14);
  s->width = config.Size("hidden_size", 1280);
  s->inner = config.Size("intermediate_size", 5120);
  s->layers = config.Layers("num_hidden_layers", 32);
  s->global_layers = config.Layers("num_global_layers", 8);
  s->heads = config.Size("attention_heads", 16);
  s->activation = ReadActivation(config, "hidden_act", "gelu");
  config.RequireDivisible("hidden_size", s->width, "attention_heads", s->heads);
  s->tiles = config.Size("max_num_tiles", 4);
  const bool listed = config.Has("supported_aspect_ratios");
  if (listed) s->ratios = static_cast<int64_t>(config.Pairs("supported_aspect_ratios", {}).size());
  if (!listed && s->tiles != 4) {
    config.Fault("supported_aspect_ratios", "is missing, and max_num_tiles is not 4");
  }
  if (s->tiles > kMaxElements / s->Padded() / s->width) {
    config.Fault("image_size", "is too large");
    s->image.size = s->image.patch, s->tiles = 1;
  }
  s->kept = config.Indices("intermediate_layers_indices", {3, 7, 15, 23, 30});
  for (const int64_t layer : s->kept) {
    if (layer >= s->layers) config.Fault("intermediate_layers_indices", "is beyond the last layer");
  }
  s->seen = config.Size("vision_output_dim", 7680);
  const int64_t joined = s->width * (1 + static_cast<int64_t>(s->kept.size()));
  if (s->kept.empty() || s->seen != joined) {
    config.Fault("vision_output_dim",
                 absl::StrCat("is ", s->seen, ", and what is joined is ", joined, " wide"));
  }
}

void ReadMllamaText(const Config& config, Mllama* s) {
  s->vocab = config.Size("vocab_size", 128256);
  s->hidden = config.Size("hidden_size", 4096);
  s->intermediate = config.Size("intermediate_size", 14336);
  s->text_layers = config.Layers("num_hidden_layers", 40);
  s->text_heads = config.Size("num_attention_heads", 32);
  s->kv_heads = config.Size("num_key_value_heads", 8);
  s->text_activation = ReadActivation(config, "hidden_act", "silu");
  config.RequireDivisible("hidden_size", s->hidden, "num_attention_heads", s->text_heads);
  config.RequireDivisible("num_attention_heads", s->text_heads, "num_key_value_heads", s->kv_heads);
  if (s->HeadDim() % 2 != 0) config.Fault("num_attention_heads", "gives heads of odd width");
  if (config.Has("tie_word_embeddings") && config.Flag("tie_word_embeddings", false)) {
    config.Ignore("tie_word_embeddings", "the reference implementation does not tie them");
  }
  s->crosses.assign(static_cast<size_t>(s->text_layers), false);
  for (const int64_t layer :
       config.Indices("cross_attention_layers", {3, 8, 13, 18, 23, 28, 33, 38})) {
    if (layer < s->text_layers) s->crosses[static_cast<size_t>(layer)] = true;
  }
}

// ---- the tower

// The hyperbolic tangent of a learned number.
Tensor Gate(GraphBuilder* b, absl::string_view name) {
  return b->Op("Tanh", {b->Weight(name, {1})});
}

// Each tile of [batch, tiles, n, width] gets what a table has for it, by the image's shape.
Tensor AddTileTable(GraphBuilder* b, const Tensor& x, const Tensor& ratio, const char* name,
                    const Mllama& s) {
  const Scope scope(b, name, "MllamaPrecomputedAspectRatioEmbedding");
  Tensor y = Embedding(b, ratio, "embedding", s.ratios + 1, s.tiles * s.width);
  y = Reshape(b, y, {-1, s.tiles, 1, s.width});
  return Add(b, x, Mul(b, y, Gate(b, "gate")));
}

Tensor AddTilePositions(GraphBuilder* b, const Tensor& x, const Tensor& ratio, const Mllama& s) {
  const Scope scope(b, "gated_positional_embedding", "MllamaPrecomputedPositionEmbedding");
  const int64_t n = s.Tokens(), w = s.width;
  const Tensor gate = Gate(b, "gate");
  Tensor y = Mul(b, b->Op("Sub", {Factor(b, 1), gate}), b->Weight("embedding", {n, w}));
  y = Add(b, x, y);
  Tensor tiles = Embedding(b, ratio, "tile_embedding", s.ratios + 1, s.tiles * n * w);
  tiles = Reshape(b, tiles, {-1, s.tiles, n, w});
  return Add(b, y, Mul(b, gate, tiles));
}

// What is of an empty tile, or fills up a tile, sees all but the others of its kind. The class
// makes the mask as a product: [batch, 1, n, n].
Tensor TileMask(GraphBuilder* b, const Mllama& s) {
  const Tensor given = b->Input("aspect_ratio_mask", DType::kInt64, {"batch", 1, s.tiles});
  const Attrs to = {{"to", static_cast<int64_t>(b->dtype())}};
  const Tensor shown = Reshape(b, b->Op("Cast", {given}, to), {-1, s.tiles, 1, 1});
  const Tensor tokens = b->Op("Expand", {shown, b->Ints({1, 1, s.Tokens(), 1})});
  const Tensor padded =
      b->Op("Pad", {tokens, b->Ints({0, 0, 0, 0, 0, 0, s.Padded() - s.Tokens(), 0})});
  const Tensor hidden =
      Reshape(b, b->Op("Sub", {Factor(b, 1), padded}), {-1, s.tiles * s.Padded(), 1});
  const Tensor pairs = b->Op("MatMul", {hidden, Transpose(b, hidden, {0, 2, 1})});
  return b->Op("Unsqueeze", {Mul(b, pairs, Factor(b, -1)), b->Ints({1})});
}

Tensor MllamaVisionLayer(GraphBuilder* b, const Tensor& input, const Tensor& mask, bool gated,
                         const Mllama& s) {
  const int64_t w = s.width;
  Tensor y = LayerNorm(b, input, "input_layernorm", w);
  {
    const Scope attention(b, "self_attn", "MllamaVisionAttention");
    const Tensor q = Linear(b, y, "q_proj", w, w, false), k = Linear(b, y, "k_proj", w, w, false);
    const Tensor v = Linear(b, y, "v_proj", w, w, false);
    y = Attention(b, q, k, v, {s.heads, s.heads, w / s.heads}, mask);
    y = Linear(b, y, "o_proj", w, w, false);
  }
  if (gated) y = Mul(b, Gate(b, "gate_attn"), y);
  const Tensor x = Add(b, input, y);
  y = LayerNorm(b, x, "post_attention_layernorm", w);
  {
    const Scope mlp(b, "mlp", "MllamaVisionMLP");
    y = Mlp(b, y, w, s.inner, s.activation);
  }
  return Add(b, x, gated ? Mul(b, Gate(b, "gate_ffn"), y) : y);
}

// The output of each layer.
std::vector<Tensor> MllamaEncoder(GraphBuilder* b, Tensor x, const Tensor& mask, const char* name,
                                  const Mllama& s) {
  const Scope encoder(b, name, "MllamaVisionEncoder");
  const bool gated = absl::string_view(name) == "global_transformer";
  std::vector<Tensor> found;
  for (int64_t i = 0; i < (gated ? s.global_layers : s.layers); ++i) {
    const Scope layer(b, absl::StrCat("layers.", i), "MllamaVisionEncoderLayer");
    x = MllamaVisionLayer(b, x, mask, gated, s);
    found.push_back(x);
  }
  return found;
}

// Tokens of tiles, [batch, tiles * n, width], without those that fill up a tile: [batch, tiles, n,
// width].
Tensor WithoutPadding(GraphBuilder* b, const Tensor& x, int64_t width, const Mllama& s) {
  const Tensor tiles = Reshape(b, x, {-1, s.tiles, s.Padded(), width});
  if (s.Padded() == s.Tokens()) return tiles;
  return b->Op("Slice", {tiles, b->Ints({0}), b->Ints({s.Tokens()}), b->Ints({2})});
}

// Patches and, before them, a token of the whole tile: [batch, tiles, n, width].
Tensor EmbedMllamaTiles(GraphBuilder* b, const Tensor& ratio, const Mllama& s) {
  const ImageShape& image = s.image;
  const Tensor pixels = b->Input("pixel_values", b->dtype(),
                                 {"batch", 1, s.tiles, image.channels, image.size, image.size});
  Tensor x = Reshape(b, pixels, {-1, image.channels, image.size, image.size});
  x = PatchEmbedding(b, x, image, s.width, "patch_embedding", false);
  x = Reshape(b, x, {-1, s.tiles, image.Patches(), s.width});
  x = AddTileTable(b, x, ratio, "pre_tile_positional_embedding", s);
  x = Reshape(b, x, {-1, image.Patches(), s.width});
  const Tensor whole = RepeatForBatch(b, b->Weight("class_embedding", {s.width}), x, {1, s.width});
  x = Reshape(b, Concat(b, {whole, x}, 1), {-1, s.tiles, s.Tokens(), s.width});
  return LayerNorm(b, AddTilePositions(b, x, ratio, s), "layernorm_pre", s.width);
}

// [batch, tiles * n, hidden], what the decoder sees.
Tensor SeenByMllama(GraphBuilder* b, const Mllama& s) {
  const int64_t n = s.tiles * s.Padded(), w = s.width;
  const auto kept = static_cast<int64_t>(s.kept.size());
  Tensor x;
  {
    const Scope tower(b, "vision_model", "MllamaVisionModel");
    const Tensor ratio = b->Input("aspect_ratio_ids", DType::kInt64, {"batch", 1});
    x = EmbedMllamaTiles(b, ratio, s);
    if (s.Padded() > s.Tokens()) {
      x = b->Op("Pad", {x, b->Ints({0, 0, 0, 0, 0, 0, s.Padded() - s.Tokens(), 0})});
    }
    const Tensor mask = TileMask(b, s);
    const std::vector<Tensor> states =
        MllamaEncoder(b, Reshape(b, x, {-1, n, w}), mask, "transformer", s);
    x = LayerNorm(b, states.back(), "layernorm_post", w);
    x = Reshape(b, x, {-1, s.tiles, s.Padded(), w});
    x = AddTileTable(b, x, ratio, "post_tile_positional_embedding", s);
    x = MllamaEncoder(b, Reshape(b, x, {-1, n, w}), mask, "global_transformer", s).back();
    std::vector<Tensor> parts;
    for (const int64_t layer : s.kept) {
      const Tensor& state = states[static_cast<size_t>(layer)];
      parts.push_back(b->Op("Unsqueeze", {state, b->Ints({-1})}));
    }
    const Tensor stacked = WithoutPadding(b, Concat(b, parts, -1), w * kept, s);
    x = Concat(b, {WithoutPadding(b, x, w, s), stacked}, -1);
  }
  x = Linear(b, x, "multi_modal_projector", s.seen, s.hidden, true);
  return Reshape(b, x, {-1, s.tiles * s.Tokens(), s.hidden});
}

// ---- the decoder

Tensor MllamaNorm(GraphBuilder* b, const Tensor& x, const char* name, int64_t width) {
  return RmsNorm(b, x, name, width, "MllamaTextRMSNorm");
}

Tensor MllamaHeadNorm(GraphBuilder* b, const Tensor& x, const char* name, int64_t heads,
                      const Mllama& s) {
  const int64_t dim = s.HeadDim();
  const Tensor y = MllamaNorm(b, Reshape(b, x, {0, 0, heads, dim}), name, dim);
  return Reshape(b, y, {0, 0, heads * dim});
}

struct MllamaKeys {
  Tensor keys, values;
};
MllamaKeys KeysOfImage(GraphBuilder* b, const Tensor& seen, const Mllama& s) {
  const int64_t width = s.kv_heads * s.HeadDim();
  const Tensor k = Linear(b, seen, "k_proj", s.hidden, width, false);
  const Tensor v = Linear(b, seen, "v_proj", s.hidden, width, false);
  return {MllamaHeadNorm(b, k, "k_norm", s.kv_heads, s), v};
}

struct MllamaStates {
  Tensor seen;  // empty in a step of decoding
  Rotation angles;
  // Which tokens of the image a token of the text sees, and 0 for a token that sees none; empty in
  // a step of decoding.
  Tensor mask, any;
};

Tensor MllamaSelfAttention(GraphBuilder* b, const Tensor& x, int64_t layer,
                           const MllamaStates& states, const Mllama& s) {
  const Scope attention(b, "self_attn", "MllamaTextSelfAttention");
  const int64_t h = s.hidden, dim = s.HeadDim(), kv_width = s.kv_heads * dim;
  const Tensor q = Linear(b, x, "q_proj", h, h, false);
  const Tensor k = Linear(b, x, "k_proj", h, kv_width, false);
  const Tensor v = Linear(b, x, "v_proj", h, kv_width, false);
  AttentionShape shape = {s.text_heads, s.kv_heads, dim, /*causal=*/true};
  if (states.seen.empty()) shape.cache = layer;
  const Tensor y = Attention(b, Rotate(b, q, states.angles, s.text_heads, dim),
                             Rotate(b, k, states.angles, s.kv_heads, dim), v, shape);
  return Linear(b, y, "o_proj", h, h, false);
}

Tensor MllamaCrossAttention(GraphBuilder* b, const Tensor& x, int64_t layer,
                            const MllamaStates& states, const Mllama& s) {
  const Scope attention(b, "cross_attn", "MllamaTextCrossAttention");
  const int64_t h = s.hidden;
  const AttentionShape shape = {s.text_heads, s.kv_heads, s.HeadDim()};
  const Tensor q =
      MllamaHeadNorm(b, Linear(b, x, "q_proj", h, h, false), "q_norm", s.text_heads, s);
  Tensor y;
  if (states.seen.empty()) {
    y = EncoderAttention(b, q, layer, shape, s.tiles * s.Tokens());
  } else {
    const MllamaKeys image = KeysOfImage(b, states.seen, s);
    y = Attention(b, q, image.keys, image.values, shape, states.mask);
  }
  return Linear(b, y, "o_proj", h, h, false);
}

Tensor MllamaLayer(GraphBuilder* b, const Tensor& input, int64_t index, const MllamaStates& states,
                   const Mllama& s) {
  const bool cross = s.crosses[static_cast<size_t>(index)];
  const Scope layer(b, absl::StrCat("layers.", index),
                    cross ? "MllamaCrossAttentionDecoderLayer" : "MllamaSelfAttentionDecoderLayer");
  Tensor y = MllamaNorm(b, input, "input_layernorm", s.hidden);
  y = cross ? MllamaCrossAttention(b, y, index, states, s)
            : MllamaSelfAttention(b, y, index, states, s);
  if (cross) y = Mul(b, Gate(b, "cross_attn_attn_gate"), y);
  const Tensor x = Add(b, input, y);
  y = MllamaNorm(b, x, "post_attention_layernorm", s.hidden);
  {
    const Scope mlp(b, "mlp", "MllamaTextMLP");
    const Tensor gate =
        Activate(b, Linear(b, y, "gate_proj", s.hidden, s.intermediate, false), s.text_activation);
    y = Mul(b, gate, Linear(b, y, "up_proj", s.hidden, s.intermediate, false));
    y = Linear(b, y, "down_proj", s.intermediate, s.hidden, false);
  }
  if (!cross) return Add(b, x, y);
  if (!states.any.empty()) y = Mul(b, states.any, y);
  return Add(b, x, Mul(b, Gate(b, "cross_attn_mlp_gate"), y));
}

// Of the tiles that each token of the text sees: [batch, 1, seq, tiles * n], and [batch, seq, 1].
void ReadCrossMask(GraphBuilder* b, const Mllama& s, MllamaStates* states) {
  const Tensor given =
      b->Input("cross_attention_mask", DType::kInt64, {"batch", "seq", 1, s.tiles});
  const Attrs to = {{"to", static_cast<int64_t>(b->dtype())}};
  const Tensor shown = b->Op("Unsqueeze", {b->Op("Cast", {given}, to), b->Ints({-1})});
  const Tensor each = b->Op("Expand", {shown, b->Ints({1, 1, 1, 1, s.Tokens()})});
  const Tensor hidden = b->Op(
      "Sub", {Factor(b, 1),
              b->Op("Unsqueeze", {Reshape(b, each, {0, 0, s.tiles * s.Tokens()}), b->Ints({1})})});
  const Tensor most = b->Op("ReduceMax", {each, b->Ints({2, 3, 4})}, {{"keepdims", int64_t{0}}});
  states->any = b->Op("Unsqueeze", {most, b->Ints({-1})});
  states->mask =
      Mul(b, Mul(b, hidden, Factor(b, -1)), b->Op("Unsqueeze", {states->any, b->Ints({1})}));
}

Tensor MllamaText(GraphBuilder* b, const Tensor& ids, const Tensor& seen, const Mllama& s) {
  const Scope text(b, "language_model", "MllamaTextModel");
  // Tokens that stand for images have 8 rows of their own.
  Tensor x = Embedding(b, ids, "embed_tokens", s.vocab + 8, s.hidden);
  const bool step = seen.empty();
  const Tensor places = step ? b->Input("position_ids", DType::kInt64, {"batch", "seq"})
                             : RepeatForBatch(b, Positions(b, ids, 1), ids, {1});
  MllamaStates states = {seen, RotaryAngles(b, places, s.HeadDim()), "", ""};
  if (!step) ReadCrossMask(b, s, &states);
  for (int64_t i = 0; i < s.text_layers; ++i) x = MllamaLayer(b, x, i, states, s);
  return MllamaNorm(b, x, "norm", s.hidden);
}

// What an image runs through once: the tower, and its keys and values in each layer that sees it.
void AddSeeing(GraphBuilder* b, const Mllama& s) {
  std::vector<std::pair<std::string, Tensor>> outputs;
  {
    const Scope model(b, "model", "MllamaModel");
    const Tensor seen = SeenByMllama(b, s);
    const Scope text(b, "language_model", "MllamaTextModel");
    for (int64_t i = 0; i < s.text_layers; ++i) {
      if (!s.crosses[static_cast<size_t>(i)]) continue;
      const Scope layer(b, absl::StrCat("layers.", i), "MllamaCrossAttentionDecoderLayer");
      const Scope attention(b, "cross_attn", "MllamaTextCrossAttention");
      const MllamaKeys image = KeysOfImage(b, seen, s);
      outputs.emplace_back(absl::StrCat("present.", i, ".encoder.key"), image.keys);
      outputs.emplace_back(absl::StrCat("present.", i, ".encoder.value"), image.values);
    }
    if (outputs.empty()) outputs.emplace_back("image_features", seen);
  }
  for (const auto& [name, value] : outputs) {
    const int64_t width = name == "image_features" ? s.hidden : s.kv_heads * s.HeadDim();
    b->Output(name, value, b->dtype(), {"batch", s.tiles * s.Tokens(), width});
  }
}

}  // namespace

absl::StatusOr<std::string> BuildMllama(const Config& config) {
  Mllama s;
  ReadMllamaTower(PartOf(config, "vision_config", "mllama_vision_model"), &s);
  ReadMllamaText(PartOf(config, "text_config", "mllama_text_model"), &s);
  const std::string root = config.RequireArchitecture({"MllamaForConditionalGeneration"});
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  if (config.notes().tower) {
    AddSeeing(&b, s);
    return std::move(b).Finish();
  }
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  Tensor x;
  {
    const Scope model(&b, "model", "MllamaModel");
    const Tensor seen = config.notes().decoding ? Tensor() : SeenByMllama(&b, s);
    x = MllamaText(&b, ids, seen, s);
  }
  b.Output("logits", Linear(&b, x, "lm_head", s.hidden, s.vocab, false), dtype,
           {"batch", "seq", s.vocab});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
