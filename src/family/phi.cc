// Phi-1 and Phi-2: attention and MLP beside each other, behind one norm.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/family/decoder.h"
#include "src/family/families.h"

namespace onnxflops::family {
namespace {

// Over each head of [batch, seq, heads * head_dim].
Tensor PhiHeadNorm(GraphBuilder* b, const Tensor& x, const char* name, int64_t heads,
                   const DecoderShape& s) {
  if (!s.head_norms) return x;
  const Tensor split = Reshape(b, x, {0, 0, heads, s.head_dim});
  return Reshape(b, LayerNorm(b, split, name, s.head_dim), {0, 0, heads * s.head_dim});
}

Tensor PhiAttention(GraphBuilder* b, const Tensor& x, const DecoderShape& s, const Rotation& angles,
                    int64_t index) {
  const Scope attention(b, "self_attn", "PhiAttention");
  const int64_t h = s.hidden, width = s.heads * s.head_dim, kv_width = s.kv_heads * s.head_dim;
  Tensor q = Linear(b, x, "q_proj", h, width, true);
  Tensor k = Linear(b, x, "k_proj", h, kv_width, true);
  const Tensor v = Linear(b, x, "v_proj", h, kv_width, true);
  q = PhiHeadNorm(b, q, "q_layernorm", s.heads, s);
  k = PhiHeadNorm(b, k, "k_layernorm", s.kv_heads, s);
  q = Rotate(b, q, angles, s.heads, s.rotary_dim);
  k = Rotate(b, k, angles, s.kv_heads, s.rotary_dim);
  AttentionShape shape = {s.heads, s.kv_heads, s.head_dim, true};
  shape.cache = index;
  return Linear(b, Attention(b, q, k, v, shape), "dense", width, h, true);
}

Tensor PhiLayer(GraphBuilder* b, const Tensor& x, const DecoderShape& s, const Rotation& angles,
                int64_t index) {
  const Scope layer(b, absl::StrCat("layers.", index), "PhiDecoderLayer");
  const Tensor normed = LayerNorm(b, x, "input_layernorm", s.hidden);
  const Tensor attended = PhiAttention(b, normed, s, angles, index);
  const Scope mlp(b, "mlp", "PhiMLP");
  Tensor y = Activate(b, Linear(b, normed, "fc1", s.hidden, s.intermediate, true), s.activation);
  y = Linear(b, y, "fc2", s.intermediate, s.hidden, true);
  return Add(b, Add(b, attended, y), x);
}

}  // namespace

absl::StatusOr<std::string> BuildPhi(const Config& config) {
  DecoderShape s =
      ReadDecoder(config, "Phi", {51200, 2048, 8192, 24, 32, 0, "hidden_act", "gelu_new", false});
  ReadHeadDim(config, std::nullopt, &s);
  ReadRotaryPart(config, "partial_rotary_factor", 0.5, &s);
  s.head_norms = config.Flag("qk_layernorm", false);
  const std::string root = config.RequireArchitecture({"PhiForCausalLM", "PhiModel"});
  const bool with_head = root == "PhiForCausalLM";
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", "seq"});
  const Tensor positions = b.Input("position_ids", DType::kInt64, {"batch", "seq"});
  Tensor x, table;
  {
    std::optional<Scope> model;
    if (with_head) model.emplace(&b, "model", "PhiModel");
    x = Embedding(&b, ids, "embed_tokens", s.vocab, s.hidden, &table);
    const Rotation angles = RotaryAngles(&b, positions, s.rotary_dim);
    for (int64_t i = 0; i < s.layers; ++i) x = PhiLayer(&b, x, s, angles, i);
    x = LayerNorm(&b, x, "final_layernorm", s.hidden);
  }
  if (with_head) {
    x = s.tied ? TiedLinear(&b, x, "lm_head", table, s.vocab)
               : Linear(&b, x, "lm_head", s.hidden, s.vocab, true);
  }
  b.Output(with_head ? "logits" : "last_hidden_state", x, dtype,
           {"batch", "seq", with_head ? s.vocab : s.hidden});
  return std::move(b).Finish();
}

}  // namespace onnxflops::family
