// How it works. One LayerBuilder builds the layers of all families in decoder_families.cc. The
// flags of DecoderShape decide the parts of a layer: which norms there are, fused projections,
// norms of heads, a window, experts instead of the MLP, or attention and MLP side by side.
//
// There are two kinds of attention. Grouped attention projects, rotates and leaves the cache to the
// Attention operator. Latent attention (DeepSeek) caches a compressed vector per token and a
// rotated part that all heads share. In every step the keys and values of all heads are computed
// from them again, also for past tokens. Its cache is joined by Concat, so Attention must be told
// where the queries end (Attend). A layer with a state (linear attention) has a function of its
// family in the place of attention.
#include "src/family/decoder.h"

#include "absl/strings/str_cat.h"

namespace onnxflops::family {
namespace {

class LayerBuilder {
 public:
  LayerBuilder(GraphBuilder* b, const DecoderShape& shape, const Tensor& positions, Rotation angles,
               TokenPath path)
      : b_(b), s_(shape), positions_(positions), angles_(angles), path_(path) {}

  Tensor Layer(Tensor x, int64_t index) {
    const bool state = s_.HasState(index);
    const Scope layer(b_, absl::StrCat("layers.", index),
                      absl::StrCat(s_.prefix, state ? s_.state_layer : s_.layer));
    const LayerNorms& norms = state && s_.state_norms ? *s_.state_norms : s_.norms;
    const Tensor normed = Norm(x, norms.before_attention, s_.hidden);
    Tensor y;
    if (state) {
      y = s_.mix(b_, normed, index, path_);
    } else {
      const Scope attention(b_, "self_attn", absl::StrCat(s_.prefix, "Attention"));
      y = s_.latent ? Latent(normed, index) : Grouped(normed, index);
    }
    if (s_.parallel) return Add(b_, Add(b_, x, y), MlpOrExperts(normed, index));
    if (s_.normed_residuals) {
      x = Norm(WeightedSum(normed, y), norms.before_mlp, s_.hidden);
      return WeightedSum(x, MlpOrExperts(x, index));
    }
    x = Residual(x, Norm(y, norms.after_attention, s_.hidden));
    y = MlpOrExperts(Norm(x, norms.before_mlp, s_.hidden), index);
    return Residual(x, Norm(y, norms.after_mlp, s_.hidden));
  }

  Tensor Norm(const Tensor& x, const char* name, int64_t width) {
    return name == nullptr ? x : NormOf(x, name, {width});
  }

  // Over the last dimension, with a weight of each feature, or of each head and feature: then
  // without a bias.
  Tensor NormOf(const Tensor& x, const char* name, const std::vector<int64_t>& weight) {
    const bool plain_rms = s_.norm == NormKind::kPlainRms;
    const bool rms = s_.norm == NormKind::kRms || plain_rms;
    const std::string type = s_.norm_type != nullptr ? absl::StrCat(s_.prefix, s_.norm_type)
                             : rms                   ? absl::StrCat(s_.prefix, "RMSNorm")
                                                     : "LayerNorm";
    const Scope scope(b_, name, type);
    if (plain_rms) {
      const Tensor mean = b_->Op("ReduceMean", {Mul(b_, x, x), b_->Ints({-1})});
      const Tensor root = b_->Op("Sqrt", {Add(b_, mean, Factor(b_, 1e-6))});
      return Mul(b_, x, b_->Op("Reciprocal", {root}));
    }
    if (s_.norm == NormKind::kPlain) {
      return b_->Op("MeanVarianceNormalization", {x}, {{"axes", std::vector<int64_t>{-1}}});
    }
    std::vector<Tensor> inputs = {x, b_->Weight("weight", weight)};
    if (s_.norm == NormKind::kLayer && weight.size() == 1) {
      inputs.push_back(b_->Weight("bias", weight));
    }
    return b_->Op(rms ? "RMSNormalization" : "LayerNormalization", inputs);
  }

  Tensor MlpOrExperts(const Tensor& x, int64_t index) {
    const bool experts = !s_.has_experts.empty() && s_.has_experts[static_cast<size_t>(index)];
    if (experts && s_.shared_outside && s_.shared_intermediate > 0) {
      return Add(b_, Experts(x), SharedMlp(x));
    }
    return experts ? Experts(x) : Mlp(x, s_.mlp_name, s_.intermediate);
  }

  Tensor WeightedSum(const Tensor& x, const Tensor& y) {
    return Add(b_, Mul(b_, x, Factor(b_, 1)), Mul(b_, y, Factor(b_, 1)));
  }

  Tensor Residual(const Tensor& x, const Tensor& y) {
    return Add(b_, x, s_.scaled_residuals ? Mul(b_, y, Factor(b_, 1)) : y);
  }

  // Over each head of [batch, seq, heads * head_dim], or over all.
  Tensor HeadNorm(const Tensor& x, const char* name, int64_t heads) {
    if (s_.width_norms) return Norm(x, name, heads * s_.head_dim);
    if (!s_.head_norms) return x;
    const Tensor split = Reshape(b_, x, {0, 0, heads, s_.head_dim});
    const Tensor y = s_.norm_by_head ? NormOf(split, name, {heads, s_.head_dim})
                                     : Norm(split, name, s_.head_dim);
    return Reshape(b_, y, {0, 0, heads * s_.head_dim});
  }

  Tensor RotatedNorm(const Tensor& x, int64_t heads) {
    if (s_.rotated_norm == nullptr) return x;
    const Tensor split = Reshape(b_, x, {0, 0, heads, s_.head_dim});
    const Tensor y = PlainRmsNorm(b_, split, s_.rotated_norm, absl::StrCat(s_.prefix, "L2Norm"));
    return Reshape(b_, y, {0, 0, heads * s_.head_dim});
  }

  // 1 + a log(1 + floor((position + 1) / c)): [batch, seq, 1].
  Tensor Temperatures() {
    const Attrs to_float = {{"to", static_cast<int64_t>(DType::kFloat32)}};
    const Tensor one = b_->Floats({1}), factor = b_->Floats({1});
    Tensor x = Add(b_, b_->Op("Cast", {positions_}, to_float), one);
    x = b_->Op("Floor", {b_->Op("Div", {x, factor})});
    x = Add(b_, Mul(b_, b_->Op("Log", {Add(b_, x, one)}), factor), one);
    x = b_->Op("Unsqueeze", {x, b_->Ints({-1})});
    if (b_->dtype() == DType::kFloat32) return x;
    return b_->Op("Cast", {x}, {{"to", static_cast<int64_t>(b_->dtype())}});
  }

  Tensor Grouped(const Tensor& x, int64_t index) {
    const int64_t q_width = s_.heads * s_.head_dim, kv_width = s_.kv_heads * s_.head_dim;
    Tensor q, k, v, gate;
    if (s_.fused_qkv) {
      const Tensor all = Linear(b_, x, "qkv_proj", s_.hidden, q_width + 2 * kv_width, s_.qkv_bias);
      const std::vector<Tensor> parts = Split(b_, all, {q_width, kv_width, kv_width}, -1);
      q = parts[0], k = parts[1], v = parts[2];
    } else {
      q = Linear(b_, x, "q_proj", s_.hidden, (s_.gated_output ? 2 : 1) * q_width, s_.qkv_bias);
      k = Linear(b_, x, "k_proj", s_.hidden, kv_width, s_.qkv_bias);
      v = Linear(b_, x, "v_proj", s_.hidden, kv_width, s_.qkv_bias);
    }
    if (s_.gated_output) {
      const std::vector<Tensor> parts = Split(b_, Reshape(b_, q, {0, 0, s_.heads, 2 * s_.head_dim}),
                                              {s_.head_dim, s_.head_dim}, -1);
      q = Reshape(b_, parts[0], {0, 0, q_width}), gate = Reshape(b_, parts[1], {0, 0, q_width});
    }
    const auto norm_heads = [&] {
      q = HeadNorm(q, s_.query_norm, s_.heads);
      k = HeadNorm(k, s_.key_norm, s_.kv_heads);
    };
    if (!s_.norms_rotated) norm_heads();
    if (s_.scaled_keys) k = Mul(b_, k, Factor(b_, 1));
    if (s_.rotated && (s_.unrotated.empty() || !s_.unrotated[static_cast<size_t>(index)])) {
      q = RotatedNorm(Rotate(b_, q, angles_, s_.heads, s_.rotary_dim, s_.interleaved), s_.heads);
      k = RotatedNorm(Rotate(b_, k, angles_, s_.kv_heads, s_.rotary_dim, s_.interleaved),
                      s_.kv_heads);
    } else if (s_.tempered_queries) {
      q = Mul(b_, q, Temperatures());
    }
    if (s_.norms_rotated) norm_heads();
    if (s_.scaled_queries) q = Mul(b_, q, Factor(b_, 1));
    AttentionShape shape = {s_.heads, s_.kv_heads, s_.head_dim, s_.causal};
    if (!s_.windows.empty()) shape.window = s_.windows[static_cast<size_t>(index)];
    shape.softcap = s_.attention_softcap;
    if (s_.cached) shape.cache = index;
    shape.new_tokens = s_.new_tokens;
    if (s_.sinks) shape.sinks = b_->Weight("sinks", {s_.heads});
    Tensor y = Attention(b_, q, k, v, shape);
    if (s_.output_gate) gate = Linear(b_, x, "gate_proj", s_.hidden, q_width, false);
    if (s_.gated_output || s_.output_gate) y = Mul(b_, y, b_->Op("Sigmoid", {gate}));
    y = Norm(y, s_.attention_norm, q_width);
    return Linear(b_, y, s_.out, q_width, s_.hidden, s_.out_bias);
  }

  // [batch, seq, heads * dim] -> [batch, heads, seq, dim].
  Tensor ByHead(const Tensor& x, int64_t heads, int64_t dim) {
    return Transpose(b_, Reshape(b_, x, {0, 0, heads, dim}), {0, 2, 1, 3});
  }
  Tensor RotateByHead(const Tensor& x) {
    if (!s_.rotated) return x;
    return b_->Op("RotaryEmbedding", {x, angles_.cos, angles_.sin});
  }

  // The cache of a layer, followed by the new tokens: [batch, 1, past + seq, dim].
  Tensor AfterPast(const Tensor& x, int64_t index, const char* what, int64_t dim) {
    const std::string present = absl::StrCat("present.", index, ".", what);
    const Tensor past = b_->Input(absl::StrCat("past_key_values.", index, ".", what), b_->dtype(),
                                  {"batch", 1, "past", dim});
    b_->AssumeDim("past", 0);
    b_->DeclareOutput(present, b_->dtype(), {"batch", 1, "past + seq", dim});
    return b_->Ops("Concat", {past, x}, {present}, {{"axis", int64_t{2}}})[0];
  }

  Tensor Latent(const Tensor& x, int64_t index) {
    const LatentAttention& m = *s_.latent;
    const int64_t qk_dim = m.nope_dim + m.rope_dim, bias = s_.qkv_bias;
    Tensor q, mask;
    if (m.q_rank > 0) {
      const Tensor latent =
          Norm(Linear(b_, x, "q_a_proj", s_.hidden, m.q_rank, bias), "q_a_layernorm", m.q_rank);
      q = Linear(b_, latent, "q_b_proj", m.q_rank, s_.heads * qk_dim, false);
      if (s_.indexer) mask = MaskOfLayer(x, latent, index);
    } else {
      q = Linear(b_, x, "q_proj", s_.hidden, s_.heads * qk_dim, false);
    }
    q = ByHead(q, s_.heads, qk_dim);
    if (s_.rotated) {
      const std::vector<Tensor> parts = Split(b_, q, {m.nope_dim, m.rope_dim}, -1);
      q = Concat(b_, {parts[0], RotateByHead(parts[1])}, -1);
    }
    const Tensor both =
        Linear(b_, x, "kv_a_proj_with_mqa", s_.hidden, m.kv_rank + m.rope_dim, bias);
    const std::vector<Tensor> compressed = Split(b_, both, {m.kv_rank, m.rope_dim}, -1);
    const Tensor latent = Norm(compressed[0], "kv_a_layernorm", m.kv_rank);
    const Tensor all_latent =
        AfterPast(b_->Op("Unsqueeze", {latent, b_->Ints({1})}), index, "key", m.kv_rank);
    const Tensor all_rope =
        AfterPast(RotateByHead(ByHead(compressed[1], 1, m.rope_dim)), index, "value", m.rope_dim);
    Tensor kv = b_->Op("Squeeze", {all_latent, b_->Ints({1})});
    kv = Linear(b_, kv, "kv_b_proj", m.kv_rank, s_.heads * (m.nope_dim + m.value_dim), false);
    kv = ByHead(kv, s_.heads, m.nope_dim + m.value_dim);
    const std::vector<Tensor> parts = Split(b_, kv, {m.nope_dim, m.value_dim}, -1);
    const Tensor heads = b_->Op("Expand", {all_rope, b_->Ints({1, s_.heads, 1, 1})});
    return Attend(q, Concat(b_, {parts[0], heads}, -1), parts[1], mask);
  }

  Tensor Attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
    AttentionShape shape = {s_.heads, s_.heads, s_.latent->nope_dim + s_.latent->rope_dim, true};
    shape.value_dim = s_.latent->value_dim;
    const Tensor y = AttendFromEnd(b_, q, k, v, shape, mask);
    return Linear(b_, y, "o_proj", s_.heads * shape.value_dim, s_.hidden, s_.qkv_bias);
  }

  Tensor MaskOfLayer(const Tensor& x, const Tensor& q_latent, int64_t index) {
    const std::vector<bool>& shared = s_.indexer->shared;
    if (shared.empty() || !shared[static_cast<size_t>(index)]) {
      chosen_ = ChosenTokens(x, q_latent, index);
    }
    return chosen_;
  }

  // 0 for the tokens that a query sees, and less for others: [batch, 1, seq, past + seq].
  Tensor ChosenTokens(const Tensor& x, const Tensor& q_latent, int64_t index) {
    const Scope scope(b_, "indexer", absl::StrCat(s_.prefix, "Indexer"));
    const TokenIndexer& t = *s_.indexer;
    const int64_t width = t.heads * t.head_dim, rope = s_.latent->rope_dim;
    Tensor q = Linear(b_, q_latent, "wq_b", s_.latent->q_rank, width, false);
    Tensor k =
        LayerNorm(b_, Linear(b_, x, "wk", s_.hidden, t.head_dim, false), "k_norm", t.head_dim);
    q = Reshape(b_, Rotate(b_, q, angles_, t.heads, rope), {0, 0, t.heads, t.head_dim});
    k = Rotate(b_, k, angles_, 1, rope);
    k = AfterPast(b_->Op("Unsqueeze", {k, b_->Ints({1})}), index, "indexer_key", t.head_dim);
    const Tensor weights =
        Mul(b_, Linear(b_, x, "weights_proj", s_.hidden, t.heads, false), Factor(b_, 1));
    // [batch, seq, heads, past + seq], and a sum of the heads.
    Tensor scores = b_->Op("MatMul", {q, Transpose(b_, k, {0, 1, 3, 2})});
    scores = b_->Op("Relu", {Mul(b_, scores, Factor(b_, 1))});
    scores = b_->Op("MatMul", {b_->Op("Unsqueeze", {weights, b_->Ints({2})}), scores});
    return MaskOfLargest(b_->Op("Squeeze", {scores, b_->Ints({2})}));
  }

  // Of scores [batch, seq, past + seq].
  Tensor MaskOfLargest(const Tensor& scores) {
    const Tensor total = SizeOf(b_, scores, 2);
    const Tensor last = b_->Op("Unsqueeze", {positions_, b_->Ints({2})});
    const Tensor later = b_->Op("Greater", {Positions(b_, scores, 2), last});
    const Tensor none = Factor(b_, -1), chosen = Factor(b_, 0);
    const Tensor causal = b_->Op("Where", {later, none, scores});
    const Tensor count = b_->Op("Min", {b_->Ints({s_.indexer->top_k}), total});
    const Tensor at = b_->Ops("TopK", {causal, count}, {"", ""})[1];
    const Tensor mask = b_->Op("Expand", {none, b_->Op("Shape", {scores})});
    const Tensor zeros = b_->Op("Expand", {chosen, b_->Op("Shape", {at})});
    const Tensor y = b_->Op("ScatterElements", {mask, at, zeros}, {{"axis", int64_t{2}}});
    return b_->Op("Unsqueeze", {y, b_->Ints({1})});
  }

  Tensor SharedMlp(const Tensor& x) {
    const Scope scope(b_, "shared_mlp", absl::StrCat(s_.prefix, "MLP"));
    const int64_t width = s_.shared_intermediate;
    const std::vector<Tensor> parts =
        Split(b_, Linear(b_, x, "input_linear", s_.hidden, 2 * width, false), {width, width}, -1);
    const Tensor y = Mul(b_, Activated(parts[0]), parts[1]);
    return Linear(b_, y, "output_linear", width, s_.hidden, false);
  }

  // xIELU has two learned numbers: above 0 a square, below an exponential.
  Tensor Activated(const Tensor& x) {
    if (s_.activation != "xielu") return Activate(b_, x, s_.activation);
    const Scope scope(b_, "act_fn", "XIELUActivation");
    const Tensor zero = Factor(b_, 0), half = Factor(b_, 0.5);
    const Tensor above = b_->Op("Softplus", {b_->Weight("alpha_p", {1})});
    const Tensor below = Add(b_, half, b_->Op("Softplus", {b_->Weight("alpha_n", {1})}));
    const Tensor line = Mul(b_, half, x);
    const Tensor square = Add(b_, Mul(b_, above, Mul(b_, x, x)), line);
    const Tensor power = b_->Op("Sub", {b_->Op("Exp", {b_->Op("Min", {x, zero})}), Factor(b_, 1)});
    const Tensor curve = Add(b_, Mul(b_, b_->Op("Sub", {power, x}), below), line);
    return b_->Op("Where", {b_->Op("Greater", {x, zero}), square, curve});
  }

  Tensor Mlp(const Tensor& x, const char* name, int64_t intermediate) {
    const Scope scope(b_, name, s_.mlp != nullptr ? s_.mlp : absl::StrCat(s_.prefix, "MLP"));
    if (!s_.gated) {
      const Tensor up = Linear(b_, x, s_.up, s_.hidden, intermediate, s_.mlp_bias);
      return Linear(b_, Activated(up), s_.down, intermediate, s_.hidden, s_.mlp_bias);
    }
    Tensor gate, up;
    if (s_.fused_gate) {
      const Tensor both = Linear(b_, x, "gate_up_proj", s_.hidden, 2 * intermediate, s_.mlp_bias);
      const std::vector<Tensor> parts = Split(b_, both, {intermediate, intermediate}, -1);
      gate = parts[0], up = parts[1];
    } else {
      gate = Linear(b_, x, s_.gate, s_.hidden, intermediate, s_.mlp_bias);
      up = Linear(b_, x, s_.up, s_.hidden, intermediate, s_.mlp_bias);
    }
    const Tensor y = Norm(Mul(b_, Activated(gate), up), s_.mlp_norm, intermediate);
    return Linear(b_, y, s_.down, intermediate, s_.hidden, s_.mlp_bias);
  }

  Tensor Experts(const Tensor& x) {
    const ExpertNames& names = s_.expert_names;
    const Scope scope(b_, names.block, absl::StrCat(s_.prefix, names.type));
    Tensor scores;
    {
      const Scope gate(b_, names.router,
                       names.router_class != nullptr ? names.router_class
                                                     : absl::StrCat(s_.prefix, names.router_type));
      const int64_t experts = s_.experts.experts;
      const Tensor tokens = Reshape(b_, x, {-1, s_.hidden});
      scores = names.inner != nullptr
                   ? Linear(b_, tokens, names.inner, s_.hidden, experts, false)
                   : b_->Op("MatMul", {tokens, b_->Weight("weight", {s_.hidden, experts})});
      if (s_.router_bias) scores = Add(b_, scores, b_->Weight("bias", {experts}));
      if (s_.corrected_scores) {
        scores = Add(b_, scores, b_->Weight("moe_statics.e_score_correction_bias", {1, experts}));
      }
    }
    if (s_.expert_bias != nullptr) {
      scores = Add(b_, scores, b_->Weight(s_.expert_bias, {s_.experts.experts}));
    }
    Tensor y = RoutedExperts(b_, x, scores, s_.experts, absl::StrCat(s_.prefix, "Experts"));
    if (s_.shared_intermediate == 0 || s_.shared_outside) return y;
    if (!s_.gated_shared_expert) {
      y = Add(b_, y, Mlp(x, names.shared, s_.shared_intermediate));
      return s_.averaged_experts ? b_->Op("Div", {y, Factor(b_, 2)}) : y;
    }
    const Tensor gate = Linear(b_, x, "shared_expert_gate", s_.hidden, 1, false);
    const Tensor shared = Mlp(x, "shared_expert", s_.shared_intermediate);
    return Add(b_, y, Mul(b_, b_->Op("Sigmoid", {gate}), shared));
  }

 private:
  GraphBuilder* b_;
  const DecoderShape& s_;
  const Tensor positions_;
  const Rotation angles_;
  Tensor chosen_;  // the mask of the last indexer
  const TokenPath path_;
};

// How many tokens the cache of an attention holds; "" without a cache.
Tensor PastTokens(GraphBuilder* b, const DecoderShape& s) {
  for (int64_t i = 0; i < s.layers && s.cached; ++i) {
    if (s.HasState(i)) continue;
    const Dims dims = s.latent ? Dims{"batch", 1, "past", s.latent->kv_rank}
                               : Dims{"batch", s.kv_heads, "past", s.head_dim};
    return SizeOf(b, b->Input(absl::StrCat("past_key_values.", i, ".key"), b->dtype(), dims), 2);
  }
  return "";
}

// [3, batch, seq, angles] -> [batch, seq, angles]: section i of the angles by positions i.
Tensor Sections(GraphBuilder* b, const Tensor& x, const std::vector<int64_t>& sizes) {
  std::vector<Tensor> parts = Split(b, x, sizes, -1);
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = b->Op("Gather", {parts[i], b->Scalar(static_cast<int64_t>(i))});
  }
  return Concat(b, parts, -1);
}

}  // namespace

Tensor GroupedAttention(GraphBuilder* b, const Tensor& x, const Rotation& angles,
                        const DecoderShape& s, int64_t layer) {
  return LayerBuilder(b, s, {}, angles, {}).Grouped(x, layer);
}

Tensor DecoderMlp(GraphBuilder* b, const Tensor& x, const char* name, const DecoderShape& s) {
  return LayerBuilder(b, s, {}, {}, {}).Mlp(x, name, s.intermediate);
}

Tensor DecoderExperts(GraphBuilder* b, const Tensor& x, const DecoderShape& s) {
  return LayerBuilder(b, s, {}, {}, {}).Experts(x);
}

Tensor DecoderLayers(GraphBuilder* b, Tensor x, const Tensor& positions, const DecoderShape& s) {
  const int64_t rotated = s.latent ? s.latent->rope_dim : s.rotary_dim;
  Rotation angles;
  if (s.rotated) angles = RotaryAngles(b, positions, rotated);
  if (!s.rotary_sections.empty()) {
    angles = {Sections(b, angles.cos, s.rotary_sections),
              Sections(b, angles.sin, s.rotary_sections)};
  }
  TokenPath path;
  if (s.mix) path = PathOf(b, x, PastTokens(b, s));
  LayerBuilder layers(b, s, positions, angles, path);
  if (s.norm_first) x = layers.Norm(x, s.final_norm, s.hidden);
  for (int64_t i = 0; i < s.layers; ++i) {
    x = layers.Layer(x, i);
    if (s.after_layer) x = s.after_layer(x, i);
  }
  return layers.Norm(x, s.final_norm, s.hidden);
}

LanguageModel LanguageModelOf(const DecoderShape& s) {
  return {.with_head = s.with_head != nullptr ? s.with_head : absl::StrCat(s.prefix, "ForCausalLM"),
          .without_head = s.ModelClass(),
          .vocab = s.vocab,
          .hidden = s.hidden,
          .tied = s.tied,
          .head_bias = s.head_bias,
          .softcap = s.output_softcap,
          .scaled = s.scaled_logits,
          .scaled_hidden = s.scaled_hidden};
}

absl::StatusOr<std::string> DecoderModel(const Config& config, const DecoderShape& s) {
  return CausalModel(
      config, LanguageModelOf(s),
      [&](GraphBuilder* b, const Tensor& ids, const Tensor& positions, Tensor* table) {
        Tensor x = Embedding(b, ids, "embed_tokens", s.vocab, s.hidden, table);
        if (s.scaled_input) x = Mul(b, x, Factor(b, 1));
        return DecoderLayers(b, x, positions, s);
      });
}

}  // namespace onnxflops::family
