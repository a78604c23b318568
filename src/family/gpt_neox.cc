#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/decoder.h"
#include "src/family/families.h"

namespace onnxflops::family {
namespace {

struct NeoxShape {
  DecoderShape base;
  bool parallel = true, bias = true;
};

NeoxShape ReadNeox(const Config& config) {
  NeoxShape s;
  DecoderShape& d = s.base;
  d.vocab = config.Size("vocab_size", 50432);
  d.hidden = config.Size("hidden_size", 6144);
  d.layers = config.Layers("num_hidden_layers", 44);
  d.heads = d.kv_heads = config.Size("num_attention_heads", 64);
  d.intermediate = config.Size("intermediate_size", 24576);
  d.activation = ReadActivation(config, "hidden_act", "gelu");
  d.tied = config.Flag("tie_word_embeddings", false);
  if (config.Has("rotary_emb_base")) config.Real("rotary_emb_base", 1);  // it changes no size
  s.parallel = config.Flag("use_parallel_residual", true);
  s.bias = config.Flag("attention_bias", true);
  config.RequireDivisible("hidden_size", d.hidden, "num_attention_heads", d.heads);
  d.head_dim = d.hidden / d.heads;
  ReadRotaryPart(config, "rotary_pct", 0.25, &d);
  return s;
}

Tensor NeoxAttention(GraphBuilder* b, const Tensor& x, const NeoxShape& s, const Rotation& angles,
                     int64_t index) {
  const Scope attention(b, "attention", "GPTNeoXAttention");
  const DecoderShape& d = s.base;
  const int64_t h = d.hidden;
  const Tensor all = Linear(b, x, "query_key_value", h, 3 * h, s.bias);
  const std::vector<Tensor> qkv = Split(b, all, {h, h, h}, -1);
  const Tensor q = Rotate(b, qkv[0], angles, d.heads, d.rotary_dim);
  const Tensor k = Rotate(b, qkv[1], angles, d.heads, d.rotary_dim);
  AttentionShape shape = {d.heads, d.heads, d.head_dim, true};
  shape.cache = index;
  return Linear(b, Attention(b, q, k, qkv[2], shape), "dense", h, h, s.bias);
}

Tensor NeoxLayer(GraphBuilder* b, const Tensor& x, const NeoxShape& s, const Rotation& angles,
                 int64_t index) {
  const Scope layer(b, absl::StrCat("layers.", index), "GPTNeoXLayer");
  const DecoderShape& d = s.base;
  const Tensor attended =
      NeoxAttention(b, LayerNorm(b, x, "input_layernorm", d.hidden), s, angles, index);
  const Tensor middle = s.parallel ? x : Add(b, attended, x);
  Tensor y = LayerNorm(b, middle, "post_attention_layernorm", d.hidden);
  {
    const Scope mlp(b, "mlp", "GPTNeoXMLP");
    y = Activate(b, Linear(b, y, "dense_h_to_4h", d.hidden, d.intermediate, true), d.activation);
    y = Linear(b, y, "dense_4h_to_h", d.intermediate, d.hidden, true);
  }
  y = Add(b, y, middle);
  return s.parallel ? Add(b, y, attended) : y;
}

}  // namespace

absl::StatusOr<std::string> BuildGptNeox(const Config& config) {
  const NeoxShape s = ReadNeox(config);
  const DecoderShape& d = s.base;
  const std::string root = config.RequireArchitecture({"GPTNeoXForCausalLM", "GPTNeoXModel"});
  const bool with_head = root == "GPTNeoXForCausalLM";
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  const Tensor positions = b.Input("position_ids", DType::kInt64, {"batch", "seq"});
  Tensor x, table;
  {
    std::optional<Scope> model;
    if (with_head) model.emplace(&b, "gpt_neox", "GPTNeoXModel");
    x = Embedding(&b, ids, "embed_in", d.vocab, d.hidden, &table);
    const Rotation angles = RotaryAngles(&b, positions, d.rotary_dim);
    for (int64_t i = 0; i < d.layers; ++i) x = NeoxLayer(&b, x, s, angles, i);
    x = LayerNorm(&b, x, "final_layer_norm", d.hidden);
  }
  if (with_head) {
    x = d.tied ? TiedLinear(&b, x, "lm_head", table)
               : Linear(&b, x, "lm_head", d.hidden, d.vocab, false);
  }
  b.Output(with_head ? "logits" : "last_hidden_state", x, dtype,
           {"batch", "seq", with_head ? d.vocab : d.hidden});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
