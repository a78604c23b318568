// How it works. A layer projects its tokens, runs a short convolution over queries, keys and values
// together, and then the gated delta rule (linear_attention.h); a norm with a gate and a projection
// follow. Families differ in how many projections there are, and in what the decay is made of. The
// layers of LFM2 have only the convolution, between two gates, those of MiniMax only an attention
// whose keys decay.
#include "src/family/state_layers.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/linear_attention.h"

namespace onnxflops::family {
namespace {

// ---- gated delta nets

enum class DeltaForm { kFused, kApart, kOlmo };

struct DeltaNet : DeltaShape {
  std::string prefix, activation;
  int64_t hidden = 0, kernel = 0;
  DeltaForm form = DeltaForm::kApart;
  bool doubled = false;  // beta, up to 2
  int64_t Keys() const { return key_heads * key_dim; }
  int64_t Values() const { return value_heads * value_dim; }
};

// Projections of a token: queries, keys and values; their gate; the gates of the state.
struct DeltaProjections {
  Tensor qkv, z, a, b;
};

DeltaProjections ProjectApart(GraphBuilder* b, const Tensor& x, const DeltaNet& net) {
  const Tensor qkv = Linear(b, x, "in_proj_qkv", net.hidden, 2 * net.Keys() + net.Values(), false);
  const Tensor z = Linear(b, x, "in_proj_z", net.hidden, net.Values(), false);
  const Tensor beta = Linear(b, x, "in_proj_b", net.hidden, net.value_heads, false);
  return {qkv, z, Linear(b, x, "in_proj_a", net.hidden, net.value_heads, false), beta};
}

// What belongs to a head of keys stands together.
DeltaProjections ProjectFused(GraphBuilder* b, const Tensor& x, const DeltaNet& net) {
  const int64_t times = net.value_heads / net.key_heads, group = times * net.value_dim;
  Tensor qkvz = Linear(b, x, "in_proj_qkvz", net.hidden, 2 * net.Keys() + 2 * net.Values(), false);
  qkvz = Reshape(b, qkvz, {0, 0, net.key_heads, 2 * net.key_dim + 2 * group});
  std::vector<Tensor> parts = Split(b, qkvz, {net.key_dim, net.key_dim, group, group}, 3);
  for (Tensor& part : parts) part = Reshape(b, part, {0, 0, -1});
  Tensor ba = Linear(b, x, "in_proj_ba", net.hidden, 2 * net.value_heads, false);
  ba = Reshape(b, ba, {0, 0, net.key_heads, 2 * times});
  std::vector<Tensor> gates = Split(b, ba, {times, times}, 3);
  for (Tensor& gate : gates) gate = Reshape(b, gate, {0, 0, net.value_heads});
  return {Concat(b, {parts[0], parts[1], parts[2]}, -1), parts[3], gates[1], gates[0]};
}

DeltaProjections ProjectOlmo(GraphBuilder* b, const Tensor& x, const DeltaNet& net) {
  const auto project = [&](const char* name, int64_t width) {
    return Linear(b, x, name, net.hidden, width, false);
  };
  const Tensor q = project("q_proj", net.Keys()), k = project("k_proj", net.Keys());
  const Tensor qkv = Concat(b, {q, k, project("v_proj", net.Values())}, -1);
  const Tensor beta = project("b_proj", net.value_heads);
  return {qkv, project("g_proj", net.Values()), project("a_proj", net.value_heads), beta};
}

DeltaProjections ProjectTokens(GraphBuilder* b, const Tensor& x, const DeltaNet& net) {
  switch (net.form) {
    case DeltaForm::kFused:
      return ProjectFused(b, x, net);
    case DeltaForm::kApart:
      return ProjectApart(b, x, net);
    case DeltaForm::kOlmo:
      break;
  }
  return ProjectOlmo(b, x, net);
}

// -e^A_log softplus(a + dt_bias).
Tensor LogDecay(GraphBuilder* b, const Tensor& a, int64_t heads) {
  const Tensor rate = b->Op("Neg", {b->Op("Exp", {InFloat(b, b->Weight("A_log", {heads}))})});
  const Tensor bias = InFloat(b, b->Weight("dt_bias", {heads}));
  return Mul(b, rate, b->Op("Softplus", {Add(b, InFloat(b, a), bias)}));
}

// y of [batch, tokens, heads, dim], z of [batch, tokens, heads * dim], as the result.
Tensor GatedNorm(GraphBuilder* b, Tensor y, const Tensor& z, const DeltaNet& net, const char* name,
                 const char* gate) {
  const Scope norm(b, name, absl::StrCat(net.prefix, "RMSNormGated"));
  y = b->Op("RMSNormalization", {y, b->Weight("weight", {net.value_dim})});
  const Tensor heads = Reshape(b, z, {0, 0, net.value_heads, net.value_dim});
  return Reshape(b, Mul(b, y, Activate(b, heads, gate)), {0, 0, net.Values()});
}

// Queries, keys and values behind the convolution.
DeltaInputs Convolved(GraphBuilder* b, const Tensor& qkv, const DeltaNet& net, int64_t layer,
                      const TokenPath& path) {
  const int64_t keys = net.Keys(), values = net.Values();
  const Tensor y = CausalConv(
      b, qkv, {.channels = 2 * keys + values, .kernel = net.kernel, .activation = net.activation},
      layer, path);
  const std::vector<Tensor> parts = Split(b, y, {keys, keys, values}, -1);
  return {.q = parts[0], .k = parts[1], .v = parts[2]};
}

Tensor GatedDeltaNet(GraphBuilder* b, const Tensor& x, const DeltaNet& net, int64_t layer,
                     const TokenPath& path) {
  const Scope scope(b, "linear_attn", absl::StrCat(net.prefix, "GatedDeltaNet"));
  const DeltaProjections in = ProjectTokens(b, x, net);
  DeltaInputs inputs = Convolved(b, in.qkv, net, layer, path);
  inputs.beta = b->Op("Sigmoid", {in.b});
  if (net.doubled) inputs.beta = Mul(b, inputs.beta, Factor(b, 2));
  inputs.decay = LogDecay(b, in.a, net.value_heads);
  const bool olmo = net.form == DeltaForm::kOlmo;
  const Tensor y = GatedNorm(b, GatedDeltaRule(b, inputs, net, layer, path), in.z, net,
                             olmo ? "o_norm" : "norm", "silu");
  return Linear(b, y, olmo ? "o_proj" : "out_proj", net.Values(), net.hidden, false);
}

// ---- Kimi's delta attention

// As wide as the queries: a decay of each feature.
Tensor ForgetGate(GraphBuilder* b, const Tensor& x, const DeltaNet& net) {
  const Scope scope(b, "forget_gate", absl::StrCat(net.prefix, "ForgetGate"));
  Tensor y = Linear(b, x, "f_a_proj", net.hidden, net.key_dim, false);
  y = InFloat(b, Linear(b, y, "f_b_proj", net.key_dim, net.Keys(), false));
  y = Add(b, y, InFloat(b, b->Weight("dt_bias", {net.Keys()})));
  y = Reshape(b, y, {0, 0, net.key_heads, net.key_dim});
  const Tensor rate = b->Op("Exp", {InFloat(b, b->Weight("A_log", {1, 1, net.key_heads, 1}))});
  constexpr float kLinear = 20;  // from here on, the function is as good as its argument
  const Tensor large = b->Op("Greater", {y, b->Floats({kLinear})});
  y = b->Op("Where", {large, y, b->Op("Softplus", {y})});
  return Mul(b, b->Op("Neg", {rate}), y);
}

Tensor KimiDelta(GraphBuilder* b, const Tensor& x, const DeltaNet& net, int64_t layer,
                 const TokenPath& path) {
  const Scope scope(b, "self_attn", absl::StrCat(net.prefix, "DeltaAttention"));
  const int64_t width = net.Keys();
  const Tensor q = Linear(b, x, "q_proj", net.hidden, width, false);
  const Tensor k = Linear(b, x, "k_proj", net.hidden, width, false);
  const Tensor qkv = Concat(b, {q, k, Linear(b, x, "v_proj", net.hidden, width, false)}, -1);
  DeltaInputs inputs = Convolved(b, qkv, net, layer, path);
  inputs.decay = ForgetGate(b, x, net);
  inputs.beta = b->Op("Sigmoid", {Linear(b, x, "b_proj", net.hidden, net.key_heads, false)});
  const Tensor y = GatedDeltaRule(b, inputs, net, layer, path);
  Tensor gate = Linear(b, x, "g_a_proj", net.hidden, net.key_dim, false);
  gate = Linear(b, gate, "g_b_proj", net.key_dim, width, false);
  return Linear(b, GatedNorm(b, y, gate, net, "o_norm", "sigmoid"), "o_proj", width, net.hidden,
                false);
}

// ---- short convolutions

struct ShortConv {
  std::string prefix;
  int64_t hidden = 0, kernel = 0;
  bool bias = false;
};

Tensor GatedConv(GraphBuilder* b, const Tensor& x, const ShortConv& s, int64_t layer,
                 const TokenPath& path) {
  const Scope scope(b, "conv", absl::StrCat(s.prefix, "ShortConv"));
  const int64_t h = s.hidden;
  const std::vector<Tensor> parts =
      Split(b, Linear(b, x, "in_proj", h, 3 * h, s.bias), {h, h, h}, -1);
  Tensor y = Mul(b, parts[0], parts[2]);
  y = CausalConv(b, y, {.channels = h, .kernel = s.kernel, .bias = s.bias, .name = "conv"}, layer,
                 path);
  return Linear(b, Mul(b, parts[1], y), "out_proj", h, h, s.bias);
}

// ---- MiniMax's lightning attention

struct Lightning {
  std::string prefix, activation;
  int64_t hidden = 0, heads = 0, dim = 0, block = 0;
};

Tensor LightningLayer(GraphBuilder* b, const Tensor& x, const Lightning& s, int64_t layer,
                      const TokenPath& path) {
  const Scope scope(b, "self_attn", absl::StrCat(s.prefix, "LightningAttention"));
  const int64_t width = s.heads * s.dim;
  Tensor qkv = Activate(b, Linear(b, x, "qkv_proj", s.hidden, 3 * width, false), s.activation);
  qkv = Transpose(b, Reshape(b, qkv, {0, 0, s.heads, 3 * s.dim}), {0, 2, 1, 3});
  const std::vector<Tensor> parts = Split(b, qkv, {s.dim, s.dim, s.dim}, -1);
  Tensor y = DecayingAttention(b, {parts[0], parts[1], parts[2]},
                               {.heads = s.heads, .dim = s.dim, .block = s.block}, layer, path);
  y = Reshape(b, Transpose(b, y, {0, 2, 1, 3}), {0, 0, width});
  y = RmsNorm(b, y, "norm", width, absl::StrCat(s.prefix, "RMSNorm"));
  const Tensor gate = b->Op("Sigmoid", {Linear(b, x, "output_gate", s.hidden, width, false)});
  return Linear(b, Mul(b, gate, y), "out_proj", width, s.hidden, false);
}

// ---- which layers

// Listed by their types, or those for which the rule holds.
void ReadStateLayers(const Config& config, const char* kind,
                     const std::function<bool(int64_t layer)>& otherwise, DecoderShape* s) {
  const std::optional<std::vector<std::string>> types = config.Texts("layer_types");
  s->has_state.clear();
  for (int64_t i = 0; i < s->layers && !types; ++i) s->has_state.push_back(otherwise(i));
  if (!types) return;
  s->has_state.assign(static_cast<size_t>(s->layers), false);
  if (types->size() != s->has_state.size()) {
    return config.Fault("layer_types",
                        absl::StrCat("has ", types->size(), " entries for ", s->layers, " layers"));
  }
  for (size_t i = 0; i < types->size(); ++i) {
    s->has_state[i] = (*types)[i] == kind;
    if (!s->has_state[i] && (*types)[i] != "full_attention") {
      return config.Fault("layer_types", absl::StrCat("knows full_attention and ", kind));
    }
  }
}

template <typename Net>
void UseMixer(Tensor (*layer)(GraphBuilder*, const Tensor&, const Net&, int64_t, const TokenPath&),
              const Net& net, DecoderShape* s) {
  s->mix = [layer, net](GraphBuilder* b, const Tensor& x, int64_t index, const TokenPath& path) {
    return layer(b, x, net, index, path);
  };
}

DeltaNet NetOf(const DecoderShape& s) {
  DeltaNet net;
  net.prefix = s.prefix;
  net.activation = s.activation;
  net.hidden = s.hidden;
  return net;
}

void RequireGroups(const Config& config, const DeltaNet& net) {
  config.RequireDivisible("linear_num_value_heads", net.value_heads, "linear_num_key_heads",
                          net.key_heads);
}

}  // namespace

void ReadQwenDelta(const Config& config, bool fused, DecoderShape* s) {
  const int64_t interval =
      config.Has("layer_types") ? 1 : config.Size("full_attention_interval", 4);
  ReadStateLayers(
      config, "linear_attention", [&](int64_t i) { return (i + 1) % interval != 0; }, s);
  DeltaNet net = NetOf(*s);
  net.key_heads = config.Size("linear_num_key_heads", 16);
  net.value_heads = config.Size("linear_num_value_heads", 32);
  net.key_dim = config.Size("linear_key_head_dim", 128);
  net.value_dim = config.Size("linear_value_head_dim", 128);
  net.kernel = config.Size("linear_conv_kernel_dim", 4);
  net.form = fused ? DeltaForm::kFused : DeltaForm::kApart;
  RequireGroups(config, net);
  UseMixer(GatedDeltaNet, net, s);
}

// Each fourth layer has attention, and the last one if there are fewer.
void ReadOlmoDelta(const Config& config, DecoderShape* s) {
  ReadStateLayers(
      config, "linear_attention",
      [&](int64_t i) { return i % 4 != 3 && (s->layers > 3 || i != s->layers - 1); }, s);
  if (std::count(s->has_state.begin(), s->has_state.end(), true) % s->layers == 0) {
    config.Fault("layer_types", "should have a layer of either kind");
  }
  DeltaNet net = NetOf(*s);
  net.form = DeltaForm::kOlmo;
  net.key_heads = config.Size("linear_num_key_heads", s->heads);
  net.value_heads = config.Size("linear_num_value_heads", s->heads);
  net.key_dim =
      config.Size("linear_key_head_dim", std::max<int64_t>(3 * s->hidden / (4 * net.key_heads), 1));
  net.value_dim = config.Size("linear_value_head_dim", 2 * net.key_dim);
  net.kernel = config.Size("linear_conv_kernel_dim", 4);
  net.doubled = config.Flag("linear_allow_neg_eigval", true);
  RequireGroups(config, net);
  UseMixer(GatedDeltaNet, net, s);
}

// Checkpoints list layers from 1 on, in an object of their own.
void ReadKimiDelta(const Config& config, DecoderShape* s) {
  const Config inner = config.Child("linear_attn_config");
  const auto read = [&](const char* name, const char* key, int64_t otherwise) {
    return inner.Has(name) ? inner.Size(name, 1) : config.Size(key, otherwise);
  };
  DeltaNet net = NetOf(*s);
  net.key_dim = net.value_dim = read("head_dim", "linear_head_dim", 128);
  net.key_heads = net.value_heads = read("num_heads", "linear_num_heads", 32);
  net.kernel = read("short_conv_kernel_size", "linear_conv_kernel_dim", 4);
  net.by_feature = true;
  UseMixer(KimiDelta, net, s);
  const bool listed = inner.Has("full_attn_layers") && inner.Has("kda_layers");
  std::vector<int64_t> full, states;
  if (listed && !config.Has("layer_types")) {
    full = inner.Indices("full_attn_layers");
    states = inner.Indices("kda_layers");
    const auto in = [](const std::vector<int64_t>& list, int64_t layer) {
      return std::find(list.begin(), list.end(), layer) != list.end();
    };
    for (int64_t i = 1; i <= s->layers; ++i) {
      if (in(full, i) == in(states, i)) {
        inner.Fault("kda_layers", absl::StrCat("and full_attn_layers should have layer ", i,
                                               " once: they count from 1"));
        break;
      }
    }
  }
  ReadStateLayers(
      config, "linear_attention",
      [&](int64_t i) {
        if (!listed) return i == 0 || i % 4 != 0;
        return std::find(states.begin(), states.end(), i + 1) != states.end();
      },
      s);
}

void ReadLightning(const Config& config, DecoderShape* s) {
  ReadStateLayers(
      config, "linear_attention", [](int64_t i) { return i % 2 == 1; }, s);
  const Lightning net = {.prefix = s->prefix,
                         .activation = s->activation,
                         .hidden = s->hidden,
                         .heads = s->heads,
                         .dim = s->head_dim,
                         .block = config.Size("block_size", 256)};
  UseMixer(LightningLayer, net, s);
}

void ReadShortConvs(const Config& config, DecoderShape* s) {
  const bool listed = config.Has("full_attn_idxs") && !config.Has("layer_types");
  const std::vector<int64_t> full =
      listed ? config.Indices("full_attn_idxs") : std::vector<int64_t>();
  ReadStateLayers(
      config, "conv",
      [&](int64_t i) { return listed && std::find(full.begin(), full.end(), i) == full.end(); }, s);
  ShortConv conv = {.prefix = s->prefix, .hidden = s->hidden};
  conv.kernel = config.Size("conv_L_cache", 3);
  conv.bias = config.Flag("conv_bias", false);
  UseMixer(GatedConv, conv, s);
}

}  // namespace onnxflops::family
