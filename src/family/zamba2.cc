// How it works. Most layers of Zamba 2 are a norm and a mixer. Some are hybrids: a transformer of
// the embeddings and the hidden states runs before the mixer, which adds its result. There are only
// a few such transformers (num_mem_blocks), and the hybrids take them in turn: their modules are
// tied, so each is a module of its own with the parameters of the first. What a hybrid has for
// itself are adapters, two narrow matrices that are added to a projection. The transformer has a
// list of them, with one for each hybrid that uses it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/family/builders.h"
#include "src/family/hybrid.h"

namespace onnxflops::family {
namespace {

constexpr DecoderFamily kZamba2 = {
    .model_type = "zamba2",
    .prefix = "Zamba2",
    .sizes = {.vocab = 32000, .hidden = 2560, .intermediate = 10240, .layers = 54},
    .heads = {.queries = 32},
    .activation = "gelu",
    .tied = true,
    .form = {.final_norm = "final_layernorm"}};

struct Zamba2Shape {
  DecoderShape decoder;
  Mamba2Shape mixer;
  std::vector<bool> hybrid;  // by layer
  int64_t blocks = 1, rank = 0;
  bool attention_adapters = false, rotated = false, bias = false;
};

// Those of a 2.7B model, without a list.
std::vector<bool> DefaultHybrids() {
  std::vector<bool> hybrid(54);
  for (const size_t i : {6, 12, 18, 24, 30, 36, 42, 47, 51}) hybrid[i] = true;
  return hybrid;
}

Mamba2Shape ReadZamba2Mixer(const Config& config, int64_t hidden, bool bias) {
  Mamba2Shape m;
  m.step = config.notes().decoding;
  m.hidden = hidden;
  m.inner = ReadInner(config, "mamba_expand", 2, hidden);
  m.heads = config.Size("n_mamba_heads", 8);
  m.head_dim = std::max<int64_t>(m.inner / m.heads, 1);
  m.groups = config.Size("mamba_ngroups", 1);
  m.state = config.Size("mamba_d_state", 64);
  m.kernel = config.Size("mamba_d_conv", 4);
  m.chunk = config.Size("chunk_size", 256);
  m.in_bias = m.out_bias = bias;
  m.activation = "silu";
  m.norm_type = "Zamba2RMSNormGated";
  if (config.IsFalse("use_conv_bias")) {
    config.Ignore("use_conv_bias", "the convolution of the class has a bias");
  }
  config.RequireDivisible("the width of a mixer", m.inner, "n_mamba_heads", m.heads);
  RequireMamba2(config, "n_mamba_heads", "mamba_expand", "mamba_ngroups", m);
  return m;
}

Zamba2Shape ReadZamba2(const Config& config) {
  Zamba2Shape s;
  constexpr char kTypes[] = "layers_block_type";
  const auto given = [&](const char* key, int64_t otherwise) {
    return config.Has(key) ? config.Size(key, otherwise) : otherwise;
  };
  const int64_t hidden = given("hidden_size", kZamba2.sizes.hidden);
  const int64_t heads = given("num_attention_heads", kZamba2.heads.queries);
  DecoderFamily row = kZamba2;
  row.sizes.intermediate = 4 * hidden;
  row.heads.dim = std::max<int64_t>(2 * hidden / heads, 1);
  DecoderShape& d = s.decoder = ReadHybridDecoder(config, row);
  s.hybrid = DefaultHybrids();
  if (config.Given(kTypes)) s.hybrid = ReadLayerTypes(config, kTypes, d.layers, "hybrid");
  if (s.hybrid.size() != static_cast<size_t>(d.layers)) {
    config.Fault("num_hidden_layers", absl::StrCat("is ", d.layers, ", and ", kTypes, " is of 54"));
  }
  s.bias = config.Flag("add_bias_linear", false);
  s.mixer = ReadZamba2Mixer(config, hidden, s.bias);
  s.blocks = config.Size("num_mem_blocks", 1);
  constexpr int64_t kMostAdapters = 10'000;  // of each list, where no transformers are tied
  const int64_t hybrids = std::count(s.hybrid.begin(), s.hybrid.end(), true);
  if (!d.tied && hybrids * (hybrids / s.blocks + 1) > kMostAdapters) {
    config.Fault("num_mem_blocks", "is too small for so many hybrid layers that are not tied");
  }
  s.rank = config.Size("adapter_rank", 128);
  s.attention_adapters = config.Flag("use_shared_attention_adapter", false);
  s.rotated = config.Flag("use_mem_rope", false);
  d.head_dim = d.rotary_dim = *row.heads.dim;
  const bool even = d.heads * d.head_dim == 2 * hidden && d.kv_heads == d.heads;
  if (s.attention_adapters && !even) {
    config.Fault("use_shared_attention_adapter", "needs keys as wide as twice the hidden size");
  }
  if (s.rotated && d.head_dim % 2 != 0) config.Fault("use_mem_rope", "is of heads of odd width");
  return s;
}

class Zamba2Transformer {
 public:
  Zamba2Transformer(GraphBuilder* b, const Zamba2Shape& shape, const Rotation& angles)
      : b_(b), s_(shape), d_(shape.decoder), angles_(angles) {}

  // In the module of hybrid number `hybrid`, which is layer `layer`.
  Tensor Run(const Tensor& x, const Tensor& words, int64_t hybrid, int64_t layer) {
    const int64_t width = 2 * d_.hidden;
    Tensor y = RmsNorm(b_, Concat(b_, {x, words}, -1), "input_layernorm", width, "Zamba2RMSNorm");
    {
      const Scope attention(b_, "self_attn", "Zamba2Attention");
      y = Attend(y, width, hybrid, layer);
    }
    y = NormOfLayer(b_, y, "pre_ff_layernorm", d_);
    const Scope mlp(b_, "feed_forward", "Zamba2MLP");
    return FeedForward(y, hybrid);
  }

 private:
  // Where nothing is tied, those of the list for other hybrids are parameters, too.
  Tensor Adapter(const Tensor& x, absl::string_view list, int64_t hybrid, int64_t in, int64_t out) {
    const int64_t count = std::count(s_.hybrid.begin(), s_.hybrid.end(), true);
    for (int64_t i = hybrid % s_.blocks; i < count && !d_.tied; i += s_.blocks) {
      b_->Weight(absl::StrCat(list, ".", i, ".0.weight"), {in, s_.rank});
      b_->Weight(absl::StrCat(list, ".", i, ".1.weight"), {s_.rank, out});
    }
    const Scope adapter(b_, absl::StrCat(list, ".", hybrid), "Sequential");
    return Linear(b_, Linear(b_, x, "0", in, s_.rank, false), "1", s_.rank, out, false);
  }

  Tensor Attend(const Tensor& x, int64_t width, int64_t hybrid, int64_t layer) {
    const auto project = [&](const char* part, int64_t heads) {
      const Tensor y =
          Linear(b_, x, absl::StrCat(part, "_proj"), width, heads * d_.head_dim, false);
      if (!s_.attention_adapters) return y;
      return Add(b_, y,
                 Adapter(x, absl::StrCat("linear_", part, "_adapter_list"), hybrid, width, width));
    };
    Tensor q = project("q", d_.heads), k = project("k", d_.kv_heads);
    const Tensor v = project("v", d_.kv_heads);
    if (s_.rotated) {
      q = Rotate(b_, q, angles_, d_.heads, d_.rotary_dim);
      k = Rotate(b_, k, angles_, d_.kv_heads, d_.rotary_dim);
    }
    AttentionShape shape = {d_.heads, d_.kv_heads, d_.head_dim, true};
    if (d_.cached) shape.cache = layer;
    shape.new_tokens = d_.new_tokens;
    const Tensor y = Attention(b_, q, k, v, shape);
    return Linear(b_, y, "o_proj", d_.heads * d_.head_dim, d_.hidden, false);
  }

  Tensor FeedForward(const Tensor& x, int64_t hybrid) {
    const int64_t inner = d_.intermediate;
    Tensor y = Linear(b_, x, "gate_up_proj", d_.hidden, 2 * inner, s_.bias);
    y = Add(b_, y, Adapter(x, "gate_up_proj_adapter_list", hybrid, d_.hidden, 2 * inner));
    const std::vector<Tensor> parts = Split(b_, y, {inner, inner}, -1);
    y = Mul(b_, Activate(b_, parts[0], d_.activation), parts[1]);
    return Linear(b_, y, "down_proj", inner, d_.hidden, s_.bias);
  }

  GraphBuilder* b_;
  const Zamba2Shape& s_;
  const DecoderShape& d_;
  const Rotation& angles_;
};

// The layers with what they have in common: the embeddings, and the transformers so far.
class Zamba2Layers {
 public:
  explicit Zamba2Layers(const Zamba2Shape& shape) : s_(shape) {}

  Tensor Layer(GraphBuilder* b, const Tensor& x, const Rotation& angles, int64_t i) {
    if (i == 0) words_ = x;
    const bool hybrid = s_.hybrid[static_cast<size_t>(i)];
    const Scope layer(b, absl::StrCat("layers.", i),
                      hybrid ? "Zamba2HybridLayer" : "Zamba2MambaDecoderLayer");
    if (!hybrid) return Add(b, x, Mix(b, x, i));
    const int64_t number = hybrids_++;
    Tensor y;
    {
      const Scope transformer(b, "shared_transformer", "Zamba2AttentionDecoderLayer");
      const bool is_tied = s_.decoder.tied;
      if (number < s_.blocks || !is_tied) transformers_.emplace_back(b->path());
      const auto first = static_cast<size_t>(is_tied ? number % s_.blocks : number);
      const GraphBuilder::TiedScope tied(b, transformers_[first]);
      y = Zamba2Transformer(b, s_, angles).Run(x, words_, number, i);
    }
    y = Linear(b, y, "linear", s_.decoder.hidden, s_.decoder.hidden, false);
    const Scope mamba(b, "mamba_decoder", "Zamba2MambaDecoderLayer");
    return Add(b, x, Mix(b, Add(b, x, y), i));
  }

 private:
  Tensor Mix(GraphBuilder* b, const Tensor& x, int64_t i) {
    return MixerOfLayer(b, NormOfLayer(b, x, "input_layernorm", s_.decoder), s_.mixer,
                        "Zamba2MambaMixer", i);
  }

  const Zamba2Shape& s_;
  Tensor words_;
  int64_t hybrids_ = 0;
  std::vector<std::string> transformers_;
};

}  // namespace

absl::StatusOr<std::string> BuildZamba2(const Config& config) {
  const Zamba2Shape s = ReadZamba2(config);
  Zamba2Layers layers(s);
  return BuildHybrid(config, s.decoder, HybridModelOf(config, s.decoder, s.rotated),
                     [&](GraphBuilder* b, const Tensor& x, const Rotation& angles, int64_t i) {
                       return layers.Layer(b, x, angles, i);
                     });
}

}  // namespace onnxflops::family
