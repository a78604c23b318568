// Qwen's vision-language models: a tower over patches of images of any size, and a decoder over
// the images' and the text's tokens.
//
// A sample has one image, or one clip of grid_t frames (pairs of them), of grid_h x grid_w patches.
// The tower's attention stays within a frame. In Qwen2.5-VL most layers have windows: squares of
// patches, cut off at the right and the lower edge. So there are four kinds of windows, each with
// one Attention per layer; a kind that an image does not have is empty. Patches come in the order
// of the windows, as the processor and the reference implementation order them.
//
// A merger makes one token of a square of patches. `seq` counts the text alone.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/family/builders.h"
#include "src/family/decoder_families.h"
#include "src/family/decoder_settings.h"
#include "src/family/vision_language.h"

namespace onnxflops::family {
namespace {

// What differs between the generations.
struct QwenVl {
  const char *prefix, *tower, *block, *attention, *mlp, *embed, *merger;  // classes
  const char *fc1 = "fc1", *fc2 = "fc2";                                  // of the MLP
  bool gated = false;       // RMS norms, gated MLPs and windows: Qwen2.5-VL
  bool deepstack = false;   // positions of a table, and layers that go to the decoder: Qwen3-VL
  bool only_table = false;  // of these, no layers: Qwen3.5
  int64_t patch = 14;
  DecoderFamily text = {};
};

void RestOfQwen2Vl(const Config& config, DecoderShape* s) {
  if (config.Flag("use_sliding_window", false)) {
    config.Fault("use_sliding_window", "is true, which is not known: windows of text");
  }
  if (s->head_dim * s->heads != s->hidden) {
    config.Fault("head_dim", "is not hidden_size / num_attention_heads, which Qwen takes");
  }
}

constexpr DecoderFamily kQwen2Text = {
    .model_type = "qwen2_vl_text",
    .prefix = "Qwen2VL",
    .sizes = {.vocab = 152064, .hidden = 8192, .intermediate = 29568, .layers = 80},
    .heads = {.queries = 64, .keys = 8},
    .form = {.body = "TextModel", .qkv_bias = true, .mlp = "Qwen2MLP"},
    .rest = RestOfQwen2Vl};

constexpr DecoderFamily Qwen25Text() {
  DecoderFamily text = kQwen2Text;
  text.model_type = "qwen2_5_vl_text";
  text.prefix = "Qwen2_5_VL";
  return text;
}

constexpr QwenVl kQwen2 = {.prefix = "Qwen2VL",
                           .tower = "Qwen2VisionTransformerPretrainedModel",
                           .block = "Qwen2VLVisionBlock",
                           .attention = "VisionAttention",
                           .mlp = "VisionMlp",
                           .embed = "PatchEmbed",
                           .merger = "PatchMerger",
                           .text = kQwen2Text};
constexpr QwenVl kQwen25 = {.prefix = "Qwen2_5_VL",
                            .tower = "Qwen2_5_VisionTransformerPretrainedModel",
                            .block = "Qwen2_5_VLVisionBlock",
                            .attention = "Qwen2_5_VLVisionAttention",
                            .mlp = "Qwen2_5_VLMLP",
                            .embed = "Qwen2_5_VisionPatchEmbed",
                            .merger = "Qwen2_5_VLPatchMerger",
                            .gated = true,
                            .text = Qwen25Text()};
constexpr QwenVl kQwen3 = {
    .prefix = "Qwen3VL",
    .tower = "Qwen3VLVisionModel",
    .block = "Qwen3VLVisionBlock",
    .attention = "Qwen3VLVisionAttention",
    .mlp = "Qwen3VLVisionMLP",
    .embed = "Qwen3VLVisionPatchEmbed",
    .merger = "Qwen3VLVisionPatchMerger",
    .fc1 = "linear_fc1",
    .fc2 = "linear_fc2",
    .deepstack = true,
    .patch = 16,
    .text = {.model_type = "qwen3_vl_text",
             .prefix = "Qwen3VLText",
             .sizes = {.vocab = 151936, .hidden = 4096, .intermediate = 22016, .layers = 32},
             .heads = {.queries = 32, .keys = 32, .dim = 128},
             .form = {.head_norms = true},
             .has_attention_bias = true}};

void RestOfQwen3VlMoe(const Config& config, DecoderShape* s) {
  s->experts = {s->hidden, config.Size("moe_intermediate_size", 1408),
                config.Size("num_experts", 60), config.Size("num_experts_per_tok", 4),
                /*normalize=*/true};
  if (s->experts.top_k > s->experts.experts) {
    config.Fault("num_experts_per_tok",
                 absl::StrCat("is ", s->experts.top_k, " of ", s->experts.experts, " experts"));
  }
  ReadSparseLayers(config, s);
}

constexpr QwenVl kQwen3Moe = {
    .prefix = "Qwen3VLMoe",
    .tower = "Qwen3VLMoeVisionModel",
    .block = "Qwen3VLMoeVisionBlock",
    .attention = "Qwen3VLMoeVisionAttention",
    .mlp = "Qwen3VLMoeVisionMLP",
    .embed = "Qwen3VLMoeVisionPatchEmbed",
    .merger = "Qwen3VLMoeVisionPatchMerger",
    .fc1 = "linear_fc1",
    .fc2 = "linear_fc2",
    .deepstack = true,
    .patch = 16,
    .text = {.model_type = "qwen3_vl_moe_text",
             .prefix = "Qwen3VLMoeText",
             .sizes = {.vocab = 151936, .hidden = 2048, .intermediate = 5632, .layers = 24},
             .heads = {.queries = 16, .keys = 16},
             .form = {.head_norms = true},
             .has_attention_bias = true,
             .rest = RestOfQwen3VlMoe}};

// Their texts are families of their own, qwen3_5_text and qwen3_5_moe_text.
constexpr QwenVl kQwen35 = {.prefix = "Qwen3_5",
                            .tower = "Qwen3_5VisionModel",
                            .block = "Qwen3_5VisionBlock",
                            .attention = "Qwen3_5VisionAttention",
                            .mlp = "Qwen3_5VisionMLP",
                            .embed = "Qwen3_5VisionPatchEmbed",
                            .merger = "Qwen3_5VisionPatchMerger",
                            .fc1 = "linear_fc1",
                            .fc2 = "linear_fc2",
                            .deepstack = true,
                            .only_table = true,
                            .patch = 16};
constexpr QwenVl kQwen35Moe = {.prefix = "Qwen3_5Moe",
                               .tower = "Qwen3_5MoeVisionModel",
                               .block = "Qwen3_5MoeVisionBlock",
                               .attention = "Qwen3_5MoeVisionAttention",
                               .mlp = "Qwen3_5MoeVisionMLP",
                               .embed = "Qwen3_5MoeVisionPatchEmbed",
                               .merger = "Qwen3_5MoeVisionPatchMerger",
                               .fc1 = "linear_fc1",
                               .fc2 = "linear_fc2",
                               .deepstack = true,
                               .only_table = true,
                               .patch = 16};

struct QwenTower {
  int64_t channels = 3, patch = 0, frames = 0, merge = 0;
  int64_t hidden = 0, intermediate = 0, layers = 0, heads = 0, out = 0;
  std::string activation;
  int64_t window = 0;         // merged patches on a side of a window; 0: no windows
  std::vector<int64_t> full;  // layers without windows
  int64_t positions = 0;      // of the table; 0: none
  std::vector<int64_t> deep;  // layers whose tokens go to the decoder's first layers
  int64_t Pixels() const { return channels * frames * patch * patch; }
  int64_t Merged() const { return merge * merge; }  // patches of a token
};

bool HasLayer(const std::vector<int64_t>& layers, int64_t layer) {
  return std::find(layers.begin(), layers.end(), layer) != layers.end();
}

void ReadPatches(const Config& config, const QwenVl& family, QwenTower* t) {
  t->channels = config.Size("in_channels", 3);
  t->patch = config.Size("patch_size", family.patch);
  t->frames = config.Size("temporal_patch_size", 2);
  t->merge = config.Size("spatial_merge_size", 2);
  for (const auto& [key, size] :
       {std::pair("patch_size", t->patch), {"spatial_merge_size", t->merge}}) {
    if (size > kMaxPatchSize) config.Fault(key, "is too large");
  }
  constexpr int64_t kMostFrames = 64;
  if (t->frames > kMostFrames) config.Fault("temporal_patch_size", "is too large");
}

void ReadWindowsOf(const Config& config, QwenTower* t) {
  t->full = config.Indices("fullatt_block_indexes", {7, 15, 23, 31});
  const int64_t pixels = config.Size("window_size", 112);
  t->window = pixels / t->merge / t->patch;
  if (t->window == 0) config.Fault("window_size", "is less than a patch of the decoder");
}

QwenTower ReadQwenTower(const Config& config, const QwenVl& family) {
  QwenTower t;
  ReadPatches(config, family, &t);
  t.layers = config.Layers("depth", family.deepstack ? 27 : 32);
  t.heads = config.Size("num_heads", 16);
  const char* const width = family.gated || family.deepstack ? "hidden_size" : "embed_dim";
  t.hidden = config.Size(width, family.deepstack ? 1152 : family.gated ? 3584 : 1280);
  t.activation = ReadActivation(config, "hidden_act",
                                family.deepstack ? "gelu_pytorch_tanh"
                                : family.gated   ? "silu"
                                                 : "quick_gelu");
  if (family.gated || family.deepstack) {
    t.intermediate = config.Size("intermediate_size", family.gated ? 3420 : 4304);
    t.out = config.Size("out_hidden_size", 3584);
  } else {
    t.intermediate = t.hidden * config.Size("mlp_ratio", 4);
    t.out = config.Size("hidden_size", 3584);
  }
  if (family.gated) ReadWindowsOf(config, &t);
  if (family.deepstack) {
    t.positions = config.Size("num_position_embeddings", 2304);
    if (!family.only_table) t.deep = config.Indices("deepstack_visual_indexes", {8, 16, 24});
    for (size_t i = 0; i < t.deep.size(); ++i) {
      if (t.deep[i] < t.layers && (i == 0 || t.deep[i] > t.deep[i - 1])) continue;
      config.Fault("deepstack_visual_indexes", "should be layers of the tower in their order");
    }
  }
  config.RequireDivisible(width, t.hidden, "num_heads", t.heads);
  if (t.hidden / t.heads % 4 != 0) {
    config.Fault("num_heads",
                 "gives heads whose features are no multiple of 4: a quarter of them "
                 "turns with the sine of the row");
  }
  return t;
}

// Shapes of the tower, as tensors of one number.
struct QwenGrid {
  Tensor frames;           // batch * grid_t
  Tensor batch;            // 1-d sizes, as all here
  Tensor patches, tokens;  // of a frame
  // Windows by kind: how many a frame has, how many patches each, and both multiplied.
  std::array<Tensor, 4> windows, lengths, sizes;
};

class QwenTowerBuilder {
 public:
  QwenTowerBuilder(GraphBuilder* b, const QwenVl& family, const QwenTower& tower)
      : b_(b), f_(family), t_(tower) {}

  ImageTokens Build(const Tensor& pixels) {
    MeasureGrid(pixels);
    Tensor x = EmbedPatches(pixels);
    if (t_.positions > 0) x = AddPositions(x);
    const Rotation angles = Angles();
    ImageTokens found;
    for (int64_t i = 0; i < t_.layers; ++i) {
      x = Block(x, angles, i);
      if (!HasLayer(t_.deep, i)) continue;
      const std::string name = absl::StrCat("deepstack_merger_list.", found.deep.size());
      found.deep.push_back(Merge(x, name, /*norm_after=*/true));
    }
    found.tokens = Merge(x, "merger", false);
    found.count = absl::StrCat("grid_t * (grid_h // ", t_.merge, ") * (grid_w // ", t_.merge, ")");
    return found;
  }

 private:
  Tensor Times(const Tensor& x, int64_t n) { return Mul(b_, x, b_->Ints({n})); }
  Tensor Over(const Tensor& x, int64_t n) { return b_->Op("Div", {x, b_->Ints({n})}); }
  Tensor Shaped(const Tensor& x, const std::vector<Tensor>& sizes) {
    return ReshapeBy(b_, x, sizes);
  }

  void MeasureGrid(const Tensor& pixels) {
    g_.batch = SizeOf(b_, pixels, 0);
    g_.frames = Mul(b_, g_.batch, SizeOf(b_, pixels, 1));
    const Tensor height = SizeOf(b_, pixels, 2), width = SizeOf(b_, pixels, 3);
    g_.patches = Mul(b_, height, width);
    const Tensor rows = Over(height, t_.merge), columns = Over(width, t_.merge);
    g_.tokens = Mul(b_, rows, columns);
    if (t_.window == 0) return;
    const Tensor side = b_->Ints({t_.window}), one = b_->Ints({1});
    const auto cut = [&](const Tensor& size) {
      // {how many, how long}: of whole windows, and of the rest.
      return std::array<std::pair<Tensor, Tensor>, 2>{std::pair(b_->Op("Div", {size, side}), side),
                                                      {one, b_->Op("Mod", {size, side})}};
    };
    size_t kind = 0;
    const auto down = cut(rows), across = cut(columns);
    for (const auto& [m, h] : down) {
      for (const auto& [n, w] : across) {
        g_.windows[kind] = Mul(b_, m, n);
        g_.lengths[kind] = Times(Mul(b_, h, w), t_.Merged());
        g_.sizes[kind] = Mul(b_, g_.windows[kind], g_.lengths[kind]);
        ++kind;
      }
    }
  }

  // [frames, patches, hidden].
  Tensor EmbedPatches(const Tensor& pixels) {
    const Scope scope(b_, "patch_embed", f_.embed);
    Tensor x = Reshape(b_, pixels, {-1, t_.channels, t_.frames, t_.patch, t_.patch});
    {
      const Scope conv(b_, "proj", "Conv3d");
      const std::vector<int64_t> kernel = {t_.frames, t_.patch, t_.patch};
      std::vector<Tensor> inputs = {
          x, b_->Weight("weight", {t_.hidden, t_.channels, t_.frames, t_.patch, t_.patch})};
      if (f_.deepstack) inputs.push_back(b_->Weight("bias", {t_.hidden}));
      x = b_->Op("Conv", inputs, {{"kernel_shape", kernel}, {"strides", kernel}});
    }
    return Shaped(x, {g_.frames, g_.patches, b_->Ints({t_.hidden})});
  }

  // The four nearest rows of the table, weighted.
  Tensor AddPositions(const Tensor& x) {
    const Dims dims = {"batch", "grid_t", "grid_h", "grid_w", 4};
    const Tensor places = b_->Input("interp_indices", DType::kInt64, dims);
    const Tensor weights = b_->Input("interp_weights", b_->dtype(), dims);
    Tensor y = Embedding(b_, places, "pos_embed", t_.positions, t_.hidden);
    y = Mul(b_, y, b_->Op("Unsqueeze", {weights, b_->Ints({-1})}));
    y = b_->Op("ReduceSum", {y, b_->Ints({-2})}, {{"keepdims", int64_t{0}}});
    return Add(b_, x, Shaped(y, {g_.frames, g_.patches, b_->Ints({t_.hidden})}));
  }

  // Half of the angles turn with the row, half with the column.
  Rotation Angles() {
    const Tensor places =
        b_->Input("image_position_ids", DType::kInt64, {"batch", "grid_t", "grid_h", "grid_w", 2});
    const int64_t dim = t_.hidden / t_.heads;
    const Rotation by = RotaryAngles(b_, places, dim / 2, "rotary_pos_emb");
    const std::vector<Tensor> shape = {g_.frames, g_.patches, b_->Ints({dim / 2})};
    return {Shaped(by.cos, shape), Shaped(by.sin, shape)};
  }

  Tensor Norm(const Tensor& x, const char* name, int64_t width) {
    return f_.gated ? RmsNorm(b_, x, name, width, absl::StrCat(f_.prefix, "RMSNorm"))
                    : LayerNorm(b_, x, name, width);
  }

  Tensor Block(Tensor x, const Rotation& angles, int64_t index) {
    const Scope block(b_, absl::StrCat("blocks.", index), f_.block);
    Tensor y = Norm(x, "norm1", t_.hidden);
    {
      const Scope scope(b_, "attn", f_.attention);
      const int64_t h = t_.hidden;
      std::vector<Tensor> qkv = Split(b_, Linear(b_, y, "qkv", h, 3 * h, true), {h, h, h}, -1);
      for (size_t i = 0; i < 2; ++i) qkv[i] = Rotate(b_, qkv[i], angles, t_.heads, h / t_.heads);
      y = t_.window == 0 || HasLayer(t_.full, index) ? Attend(qkv) : AttendInWindows(qkv);
      y = Linear(b_, y, "proj", h, h, true);
    }
    x = Add(b_, x, y);
    y = Norm(x, "norm2", t_.hidden);
    const Scope scope(b_, "mlp", f_.mlp);
    return Add(b_, x,
               f_.gated ? GatedMlp(y)
                        : Mlp(b_, y, t_.hidden, t_.intermediate, t_.activation, {f_.fc1, f_.fc2}));
  }

  Tensor Attend(const std::vector<Tensor>& qkv) {
    return Attention(b_, qkv[0], qkv[1], qkv[2], {t_.heads, t_.heads, t_.hidden / t_.heads});
  }

  Tensor AttendInWindows(const std::vector<Tensor>& qkv) {
    const Tensor sizes = Concat(b_, {g_.sizes.begin(), g_.sizes.end()}, 0);
    const Tensor width = b_->Ints({t_.hidden});
    std::array<std::vector<Tensor>, 4> kinds;
    for (const Tensor& x : qkv) {
      const std::vector<Tensor> parts = b_->Ops(
          "Split", {x, sizes}, std::vector<std::string>(kinds.size()), {{"axis", int64_t{1}}});
      for (size_t k = 0; k < kinds.size(); ++k) {
        const Tensor all = Mul(b_, g_.frames, g_.windows[k]);
        kinds[k].push_back(Shaped(parts[k], {all, g_.lengths[k], width}));
      }
    }
    std::vector<Tensor> found;
    for (size_t k = 0; k < kinds.size(); ++k) {
      found.push_back(Shaped(Attend(kinds[k]), {g_.frames, g_.sizes[k], width}));
    }
    return Concat(b_, found, 1);
  }

  Tensor GatedMlp(const Tensor& x) {
    const Tensor gate = Linear(b_, x, "gate_proj", t_.hidden, t_.intermediate, true);
    const Tensor up = Linear(b_, x, "up_proj", t_.hidden, t_.intermediate, true);
    return Linear(b_, Mul(b_, Activate(b_, gate, t_.activation), up), "down_proj", t_.intermediate,
                  t_.hidden, true);
  }

  // A token of each square of patches: [batch, grid_t * tokens, out].
  Tensor Merge(const Tensor& patches, absl::string_view name, bool norm_after) {
    const Scope scope(b_, name, f_.merger);
    const int64_t width = t_.hidden * t_.Merged();
    const char* const norm = f_.deepstack ? "norm" : "ln_q";
    Tensor x = norm_after ? patches : Norm(patches, norm, t_.hidden);
    x = Shaped(x, {g_.frames, g_.tokens, b_->Ints({width})});
    if (norm_after) x = Norm(x, norm, width);
    std::optional<Scope> mlp;
    if (!f_.deepstack) mlp.emplace(b_, "mlp", "Sequential");
    x = Activate(b_, Linear(b_, x, f_.deepstack ? f_.fc1 : "0", width, width, true), "gelu");
    x = Linear(b_, x, f_.deepstack ? f_.fc2 : "2", width, t_.out, true);
    const Tensor all = Mul(b_, b_->Op("Div", {g_.frames, g_.batch}), g_.tokens);
    return Shaped(x, {g_.batch, all, b_->Ints({t_.out})});
  }

  GraphBuilder* b_;
  const QwenVl& f_;
  const QwenTower& t_;
  QwenGrid g_;
};

// Angles of time, row and column take turns, as long as a section lasts; those left are of time.
std::vector<int64_t> InTurns(const std::vector<int64_t>& sections, int64_t angles) {
  std::vector<int64_t> found = {angles, 0, 0};
  for (size_t i = 1; i < found.size(); ++i) {
    const int64_t first = static_cast<int64_t>(i), end = std::min(3 * sections[i], angles);
    found[i] = end > first ? (end - first + 2) / 3 : 0;
    found[0] -= found[i];
  }
  return found;
}

DecoderShape ReadQwenText(const Config& config, const Config& text, const QwenVl& family) {
  DecoderShape s = ReadDecoder(text, family.text);
  // Where it stands has changed.
  s.tied = s.tied || config.Flag("tie_word_embeddings", false);
  const char* const key = text.Has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const std::vector<int64_t> usual = family.only_table  ? std::vector<int64_t>{11, 11, 10}
                                     : family.deepstack ? std::vector<int64_t>{24, 20, 20}
                                                        : std::vector<int64_t>{16, 24, 24};
  const Config rope = text.Child(key);
  s.rotary_sections = rope.Sizes("mrope_section").value_or(usual);
  if (family.only_table && s.rotary_sections.size() == 3) {
    s.rotary_sections = InTurns(s.rotary_sections, s.rotary_dim / 2);
  }
  int64_t sum = 0;
  for (const int64_t size : s.rotary_sections) sum += std::min(size, kMaxConfigSize);
  if (s.rotary_sections.size() != 3 || sum != s.rotary_dim / 2) {
    rope.Fault("mrope_section", absl::StrCat("should be 3 numbers that sum up to half of a head: ",
                                             s.rotary_dim / 2));
  }
  return s;
}

Tensor QwenPixels(GraphBuilder* b, const QwenTower& tower) {
  for (const char* symbol : {"grid_h", "grid_w"}) {
    b->MultipleDim(symbol, tower.merge);
    b->PixelDim(symbol, tower.patch);
  }
  return b->Input("pixel_values", b->dtype(),
                  {"batch", "grid_t", "grid_h", "grid_w", tower.Pixels()});
}

absl::StatusOr<std::string> BuildQwenVl(const Config& config, const QwenVl& family) {
  const Config vision = config.Child("vision_config");
  // Older files have the keys of the text outside.
  const Config text = config.Has("text_config") ? config.Child("text_config") : config;
  const QwenTower tower = ReadQwenTower(vision, family);
  DecoderShape s = ReadQwenText(config, text, family);
  if (tower.out != s.hidden) {
    vision.Fault(family.gated || family.deepstack ? "out_hidden_size" : "hidden_size",
                 absl::StrCat("is ", tower.out, ", and the text's hidden_size is ", s.hidden));
  }
  return VisionLanguageModel(config, {family.prefix, s, [&](GraphBuilder* b) {
                                        const Tensor pixels = QwenPixels(b, tower);
                                        const Scope visual(b, "visual", family.tower);
                                        return QwenTowerBuilder(b, family, tower).Build(pixels);
                                      }});
}

}  // namespace

absl::StatusOr<std::string> BuildQwen2Vl(const Config& config) {
  return BuildQwenVl(config, kQwen2);
}
absl::StatusOr<std::string> BuildQwen25Vl(const Config& config) {
  return BuildQwenVl(config, kQwen25);
}
absl::StatusOr<std::string> BuildQwen3Vl(const Config& config) {
  return BuildQwenVl(config, kQwen3);
}
absl::StatusOr<std::string> BuildQwen3VlMoe(const Config& config) {
  return BuildQwenVl(config, kQwen3Moe);
}
absl::StatusOr<std::string> BuildQwen35(const Config& config) {
  QwenVl family = kQwen35;
  family.text = *FindDecoderFamily("qwen3_5_text");
  return BuildQwenVl(config, family);
}
absl::StatusOr<std::string> BuildQwen35Moe(const Config& config) {
  QwenVl family = kQwen35Moe;
  family.text = *FindDecoderFamily("qwen3_5_moe_text");
  return BuildQwenVl(config, family);
}

}  // namespace onnxflops::family
