// DeepSeek V4.
//
// How it works. A layer attends to a window of tokens, and most layers also to a compressed past:
// every `rate` tokens make one entry, a sum weighted by a softmax over them. Tokens that are no
// whole group yet wait in the cache with their weights. There are two kinds. Heavily compressed
// attention sees all entries (of 128 tokens each). Compressed sparse attention has entries of 4
// tokens, which overlap with the 4 before them, and an indexer: it makes small entries of its own,
// and scores by which a query chooses some. transformers masks those that are not chosen, so the
// products are those of all entries.
//
// Keys and values are the same vectors, of one head. Attention is written as its products and its
// softmax, because no operator has both learned sinks and keys that are not one per token. What was
// rotated in the values is rotated back in the output.
//
// States are a few streams for each token (hyper-connections): a layer runs on a mixture of them,
// and its output is added to another mixture. The matrices of these mixtures are made doubly
// stochastic by a number of rounds, which are written out.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/family/blocks.h"
#include "src/family/builders.h"

namespace onnxflops::family {
namespace {

enum class V4Kind { kWindow, kSparse, kHeavy };

struct V4Shape {
  int64_t vocab = 0, hidden = 0, heads = 0, head_dim = 0, rope_dim = 0, q_rank = 0;
  int64_t window = 0, groups = 0, out_rank = 0;
  int64_t sparse_rate = 4, heavy_rate = 128;
  int64_t index_heads = 0, index_dim = 0, index_top_k = 0;
  int64_t streams = 0, rounds = 0;
  std::string activation;
  bool mlp_bias = false, tied = false;
  ExpertShape experts = {};
  std::vector<V4Kind> kinds;  // by layer
  std::vector<bool> hashed;   // by layer: a token's experts are those of a table
  int64_t Layers() const { return static_cast<int64_t>(kinds.size()); }
};

// ---- reading

// Words of a list for the layers; it may be longer than they are. nullopt if it is not there.
std::optional<std::vector<std::string>> ReadV4Words(const Config& config, const char* key,
                                                    size_t layers) {
  std::optional<std::vector<std::string>> words = config.Texts(key);
  if (words && words->size() < layers) {
    config.Fault(key, absl::StrCat("has ", words->size(), " entries for ", layers, " layers"));
    return std::nullopt;
  }
  return words;
}

void ReadV4Kinds(const Config& config, size_t layers, V4Shape* s) {
  const auto words = ReadV4Words(config, "layer_types", layers);
  const std::vector<int64_t> ratios =
      words ? std::vector<int64_t>() : config.Indices("compress_ratios");
  if (!ratios.empty() && ratios.size() < layers) {
    config.Fault("compress_ratios",
                 absl::StrCat("has ", ratios.size(), " entries for ", layers, " layers"));
  }
  for (size_t i = 0; i < layers; ++i) {
    V4Kind kind = i >= 2 && i % 2 == 1 ? V4Kind::kSparse : V4Kind::kHeavy;
    if (words) {
      const std::string& word = (*words)[i];
      kind = word == "sliding_attention"             ? V4Kind::kWindow
             : word == "compressed_sparse_attention" ? V4Kind::kSparse
                                                     : V4Kind::kHeavy;
      if (kind == V4Kind::kHeavy && word != "heavily_compressed_attention") {
        config.Fault("layer_types",
                     "knows sliding_attention, compressed_sparse_attention and "
                     "heavily_compressed_attention");
      }
    } else if (i < ratios.size()) {
      kind = ratios[i] == 0 ? V4Kind::kWindow : ratios[i] == 4 ? V4Kind::kSparse : V4Kind::kHeavy;
      if (kind == V4Kind::kHeavy && ratios[i] != 128) {
        config.Fault("compress_ratios", "knows 0, 4 and 128");
      }
    }
    s->kinds.push_back(kind);
  }
}

void ReadV4Hashes(const Config& config, size_t layers, V4Shape* s) {
  const auto words = ReadV4Words(config, "mlp_layer_types", layers);
  const int64_t first = words ? 0 : config.Integer("num_hash_layers", 3, 0);
  for (size_t i = 0; i < layers; ++i) {
    const bool hashed = words ? (*words)[i] == "hash_moe" : static_cast<int64_t>(i) < first;
    if (words && !hashed && (*words)[i] != "moe") {
      config.Fault("mlp_layer_types", "knows hash_moe and moe");
    }
    s->hashed.push_back(hashed);
  }
}

// Of each head, or of a head of the indexer, the last features are rotated.
void ReadV4Rotation(const Config& config, V4Shape* s) {
  constexpr char kPart[] = "partial_rotary_factor", kOld[] = "qk_rope_head_dim";
  const auto dim = static_cast<double>(s->head_dim);
  if (!config.Has(kPart) && config.Has(kOld)) {
    s->rope_dim = config.Size(kOld, 64);
  } else {
    s->rope_dim = static_cast<int64_t>(dim * std::min(config.Real(kPart, 0.125), 1.0));
  }
  if (s->rope_dim >= 2 && s->rope_dim % 2 == 0 && s->rope_dim <= s->head_dim &&
      s->rope_dim <= s->index_dim) {
    return;
  }
  config.Fault(kPart, absl::StrCat("rotates ", s->rope_dim, " features of a head: it should be ",
                                   "an even number above 0, and no head may be smaller"));
  s->rope_dim = 2;
}

void ReadV4Attention(const Config& config, V4Shape* s) {
  s->heads = config.Size("num_attention_heads", 64);
  s->head_dim = config.Size("head_dim", 512);
  s->q_rank = config.Size("q_lora_rank", 1024);
  s->window = config.Size("sliding_window", 128);
  constexpr int64_t kLeast = 3;  // as in decoder_families.cc
  if (s->window < kLeast) {
    config.Fault("sliding_window",
                 absl::StrCat("is ", s->window, ": known are ", kLeast, " and more"));
  }
  s->groups = config.Size("o_groups", 8);
  s->out_rank = config.Size("o_lora_rank", 1024);
  config.RequireDivisible("num_attention_heads x head_dim", s->heads * s->head_dim, "o_groups",
                          s->groups);
  s->index_heads = config.Size("index_n_heads", 64);
  s->index_dim = config.Size("index_head_dim", 128);
  s->index_top_k = config.Size("index_topk", 512);
  ReadV4Rotation(config, s);
  const Config rates = config.Child("compress_rates");
  const auto rate = [&](const char* key, const char* old, int64_t otherwise) {
    return config.Has(old) ? config.Size(old, otherwise) : rates.Size(key, otherwise);
  };
  s->sparse_rate = rate("compressed_sparse_attention", "compress_rate_csa", 4);
  s->heavy_rate = rate("heavily_compressed_attention", "compress_rate_hca", 128);
}

V4Shape ReadV4(const Config& config) {
  V4Shape s;
  s.vocab = config.Size("vocab_size", 129280);
  s.hidden = config.Size("hidden_size", 4096);
  s.activation = ReadActivation(config, "hidden_act", "silu");
  s.tied = config.Flag("tie_word_embeddings", false);
  s.mlp_bias = config.Flag("mlp_bias", false);
  s.experts = {s.hidden, config.Size("moe_intermediate_size", 2048),
               config.Size("n_routed_experts", 256), config.Size("num_experts_per_tok", 6),
               /*normalize=*/true};
  s.experts.limited = true;
  if (s.experts.top_k > s.experts.experts) {
    config.Fault("num_experts_per_tok",
                 absl::StrCat("is ", s.experts.top_k, " of ", s.experts.experts, " experts"));
  }
  const auto layers = static_cast<size_t>(config.Layers("num_hidden_layers", 43));
  ReadV4Attention(config, &s);
  ReadV4Kinds(config, layers, &s);
  ReadV4Hashes(config, layers, &s);
  s.streams = config.Size("hc_mult", 4);
  s.rounds = config.Size("hc_sinkhorn_iters", 20);
  constexpr int64_t kMostStreams = 64, kMostRounds = 1 << 14;
  if (s.streams > kMostStreams) config.Fault("hc_mult", "is too large");
  if (s.rounds > kMostRounds / static_cast<int64_t>(layers)) {
    config.Fault("hc_sinkhorn_iters", "is too large");
  }
  return s;
}

// ---- building

class V4Builder {
 public:
  V4Builder(GraphBuilder* b, const V4Shape& shape, const Tensor& positions)
      : b_(b), s_(shape), positions_(positions) {}

  Tensor Build(const Tensor& ids, Tensor* table) {
    Tensor x = Embedding(b_, ids, "embed_tokens", s_.vocab, s_.hidden, table);
    x = b_->Op("Unsqueeze", {x, b_->Ints({2})});
    x = b_->Op("Expand", {x, b_->Ints({1, 1, s_.streams, 1})});
    near_ = Angles(positions_);
    far_ = Angles(positions_);
    MaskOfWindow();
    for (int64_t i = 0; i < s_.Layers(); ++i) x = Layer(x, i);
    return Norm(HyperHead(x), "norm", s_.hidden);
  }

 private:
  static std::string Class(absl::string_view name) { return absl::StrCat("DeepseekV4", name); }
  Tensor Norm(const Tensor& x, const char* name, int64_t width) {
    return RmsNorm(b_, x, name, width, Class("RMSNorm"));
  }
  Tensor PlainNorm(const Tensor& x, const char* name) {
    return PlainRmsNorm(b_, x, name, Class("UnweightedRMSNorm"));
  }
  Tensor LinearOf(const Tensor& x, const char* name, int64_t in, int64_t out) {
    return Linear(b_, x, name, in, out, false);
  }
  Tensor Sum(const Tensor& x, int64_t axis, bool keep = false) {
    return b_->Op("ReduceSum", {x, b_->Ints({axis})}, {{"keepdims", int64_t{keep ? 1 : 0}}});
  }
  Tensor Unsqueezed(const Tensor& x, const std::vector<int64_t>& axes) {
    return b_->Op("Unsqueeze", {x, b_->Ints(axes)});
  }
  Tensor Scaled(const Tensor& x) { return Mul(b_, x, Factor(b_, 1)); }
  // From one place to another of an axis.
  Tensor Part(const Tensor& x, const Tensor& from, const Tensor& to, int64_t axis) {
    return b_->Op("Slice", {x, from, to, b_->Ints({axis})});
  }

  // ---- positions

  Rotation Angles(const Tensor& positions) {
    return RotaryAngles(b_, positions, s_.rope_dim, "rotary_emb", Class("RotaryEmbedding"));
  }
  // The last features of [batch, heads, n, dim].
  Tensor RotateTail(const Tensor& x, const Rotation& angles, int64_t dim) {
    const Attrs attrs = {{"interleaved", int64_t{1}}};
    if (dim == s_.rope_dim) return b_->Op("RotaryEmbedding", {x, angles.cos, angles.sin}, attrs);
    const std::vector<Tensor> parts = Split(b_, x, {dim - s_.rope_dim, s_.rope_dim}, -1);
    const Tensor y = b_->Op("RotaryEmbedding", {parts[1], angles.cos, angles.sin}, attrs);
    return Concat(b_, {parts[0], y}, -1);
  }
  Tensor ByHead(const Tensor& x, int64_t heads, int64_t dim) {
    return Transpose(b_, Reshape(b_, x, {0, 0, heads, dim}), {0, 2, 1, 3});
  }

  // 0 for the keys in a query's window, and less for others: [batch, 1, seq, kept + seq].
  void MaskOfWindow() {
    const Tensor kept = SizeOf(b_, PastKeys(0, "key"), 2), seq = SizeOf(b_, positions_, 1);
    const Tensor total = b_->Op("Squeeze", {Add(b_, kept, seq)});
    const Tensor range = b_->Op("Range", {b_->Scalar(0), total, b_->Scalar(1)});
    const Tensor first = b_->Op("Sub", {Part(positions_, b_->Ints({0}), b_->Ints({1}), 1), kept});
    const Tensor keys = Unsqueezed(Add(b_, range, first), {1, 2});
    const Tensor query = Unsqueezed(positions_, {1, 3});
    const Tensor later = b_->Op("Greater", {keys, query});
    const Tensor before =
        b_->Op("LessOrEqual", {keys, b_->Op("Sub", {query, b_->Ints({s_.window})})});
    mask_ = b_->Op("Where", {b_->Op("Or", {later, before}), Factor(b_, -1), Factor(b_, 0)});
  }

  // Which entries of `rate` tokens are not whole yet where a query is: [batch, seq, entries].
  Tensor LaterEntries(const Tensor& entries, int64_t rate) {
    const Tensor whole = b_->Op("Div", {Add(b_, positions_, b_->Ints({1})), b_->Ints({rate})});
    return b_->Op("GreaterOrEqual", {Positions(b_, entries, 1), Unsqueezed(whole, {2})});
  }

  // ---- caches

  // Weights of the compressed past are float32, whatever the model computes in.
  Tensor Cast(const Tensor& x, DType to) {
    if (b_->dtype() == DType::kFloat32) return x;
    return b_->Op("Cast", {x}, {{"to", static_cast<int64_t>(to)}});
  }
  DType TypeOf(absl::string_view what) const {
    return absl::EndsWith(what, "_overlap_gates") ? DType::kFloat32 : b_->dtype();
  }
  Tensor Past(int64_t index, absl::string_view what, const Dims& dims) {
    b_->AssumeDim("past", 0);
    return b_->Input(absl::StrCat("past_key_values.", index, ".", what), TypeOf(what), dims);
  }
  Tensor Present(int64_t index, absl::string_view what, absl::string_view type,
                 const std::vector<Tensor>& inputs, const Attrs& attrs, const Dims& dims) {
    const std::string name = absl::StrCat("present.", index, ".", what);
    b_->DeclareOutput(name, TypeOf(what), dims);
    return b_->Ops(type, inputs, {name}, attrs)[0];
  }
  std::string Kept() const { return absl::StrCat("min(past, ", s_.window - 1, ")"); }
  Tensor PastKeys(int64_t index, absl::string_view what) {
    return Past(index, what, {"batch", 1, Kept(), s_.head_dim});
  }
  Tensor AfterPastKeys(const Tensor& x, int64_t index, absl::string_view what) {
    return Present(index, what, "Concat", {PastKeys(index, what), x}, {{"axis", int64_t{2}}},
                   {"batch", 1, absl::StrCat(Kept(), " + seq"), s_.head_dim});
  }

  // Tokens by groups of `rate`, with those that wait before the new ones: [batch, groups, rate,
  // width]. *groups: their number.
  Tensor Grouped(const Tensor& x, int64_t index, const std::string& what, int64_t rate,
                 int64_t width, Tensor* groups) {
    const std::string waiting = absl::StrCat("past - past // ", rate, " * ", rate);
    const std::string all = absl::StrCat("(", waiting, " + seq)");
    const Tensor tokens = Concat(b_, {Past(index, what, {"batch", waiting, width}), x}, 1);
    *groups = b_->Op("Div", {SizeOf(b_, tokens, 1), b_->Ints({rate})});
    const Tensor whole = Mul(b_, *groups, b_->Ints({rate}));
    Present(index, what, "Slice", {tokens, whole, SizeOf(b_, tokens, 1), b_->Ints({1})}, {},
            {"batch", absl::StrCat(all, " - ", all, " // ", rate, " * ", rate), width});
    return ReshapeBy(b_, Part(tokens, b_->Ints({0}), whole, 1),
                     {SizeOf(b_, x, 0), *groups, b_->Ints({rate, width})});
  }

  // Of each group of [batch, groups, rate, 2 dim]: the first half of the group before it, and its
  // own second half: [batch, groups, 2 rate, dim].
  Tensor Overlapping(const Tensor& x, int64_t index, const std::string& what, int64_t rate,
                     int64_t dim, const Tensor& groups) {
    const std::vector<Tensor> halves = Split(b_, x, {dim, dim}, -1);
    const Tensor before = Unsqueezed(Past(index, what, {"batch", rate, dim}), {1});
    const Tensor firsts = Concat(b_, {before, halves[0]}, 1);
    Present(index, what, "Gather", {firsts, b_->Op("Squeeze", {groups})}, {{"axis", int64_t{1}}},
            {"batch", rate, dim});
    return Concat(b_, {Part(firsts, b_->Ints({0}), groups, 1), halves[1]}, 2);
  }

  // ---- the compressed past

  // All entries, those of the cache and new ones, in the module that is open: [batch, n, dim].
  Tensor Compressed(const Tensor& x, int64_t index, const std::string& owner, int64_t rate,
                    int64_t dim, bool overlaps) {
    const int64_t width = overlaps ? 2 * dim : dim;
    Tensor groups;
    Tensor kv = Grouped(LinearOf(x, "kv_proj", s_.hidden, width), index,
                        absl::StrCat(owner, "_tokens"), rate, width, &groups);
    Tensor gate = Grouped(LinearOf(x, "gate_proj", s_.hidden, width), index,
                          absl::StrCat(owner, "_gates"), rate, width, &groups);
    const Tensor bias = Cast(b_->Weight("position_bias", {rate, width}), DType::kFloat32);
    gate = Add(b_, Cast(gate, DType::kFloat32), bias);
    if (overlaps) {
      kv = Overlapping(kv, index, absl::StrCat(owner, "_overlap"), rate, dim, groups);
      gate = Overlapping(gate, index, absl::StrCat(owner, "_overlap_gates"), rate, dim, groups);
    }
    const Tensor parts = Cast(b_->Op("Softmax", {gate}, {{"axis", int64_t{2}}}), b_->dtype());
    Tensor y = Norm(Sum(Mul(b_, kv, parts), 2), "kv_norm", dim);
    const std::string what = absl::StrCat(owner, "_entries");
    const std::string old = absl::StrCat("past // ", rate);
    const Tensor past = Past(index, what, {"batch", old, dim});
    const Tensor first = Mul(b_, SizeOf(b_, past, 1), b_->Ints({rate}));
    const Tensor places = Add(b_, Mul(b_, Positions(b_, y, 1), b_->Ints({rate})), first);
    const Rotation angles = Angles(RepeatForBatch(b_, places, x, {1}));
    y = b_->Op("Squeeze", {RotateTail(Unsqueezed(y, {1}), angles, dim), b_->Ints({1})});
    const std::string waiting = absl::StrCat("past - past // ", rate, " * ", rate);
    return Present(index, what, "Concat", {past, y}, {{"axis", int64_t{1}}},
                   {"batch", absl::StrCat(old, " + (", waiting, " + seq) // ", rate), dim});
  }

  // The chosen entries of each query: [batch, seq, k]; one behind the last where there are fewer.
  Tensor Chosen(const Tensor& x, const Tensor& q_latent, int64_t index) {
    const Scope scope(b_, "indexer", Class("Indexer"));
    const int64_t dim = s_.index_dim, heads = s_.index_heads;
    const Tensor entries = Compressed(x, index, "indexer", s_.sparse_rate, dim, true);
    Tensor q = ByHead(LinearOf(q_latent, "q_b_proj", s_.q_rank, heads * dim), heads, dim);
    q = Transpose(b_, RotateTail(q, Angles(positions_), dim), {0, 2, 1, 3});
    Tensor scores;
    {
      const Scope scorer(b_, "scorer", Class("IndexerScorer"));
      scores = b_->Op("MatMul", {q, Unsqueezed(Transpose(b_, entries, {0, 2, 1}), {1})});
      scores = Scaled(b_->Op("Relu", {scores}));
      const Tensor weights = Scaled(LinearOf(x, "weights_proj", s_.hidden, heads));
      scores = Sum(Mul(b_, scores, Unsqueezed(weights, {3})), 2);
    }
    const Tensor count = SizeOf(b_, entries, 1);
    scores = b_->Op("Where", {LaterEntries(entries, s_.sparse_rate), Factor(b_, -1), scores});
    const Tensor k = b_->Op("Min", {b_->Ints({s_.index_top_k}), count});
    const Tensor at = b_->Ops("TopK", {scores, k}, {"", ""})[1];
    const Tensor whole =
        b_->Op("Div", {Add(b_, positions_, b_->Ints({1})), b_->Ints({s_.sparse_rate})});
    const Tensor invalid = b_->Op("GreaterOrEqual", {at, Unsqueezed(whole, {2})});
    return b_->Op("Where", {invalid, count, at});
  }

  struct Entries {
    Tensor keys, mask;  // [batch, 1, n, dim]; [batch, 1, seq, n]
  };
  Entries HeavyEntries(const Tensor& x, int64_t index) {
    const Scope scope(b_, "compressor", Class("HCACompressor"));
    const Tensor y = Compressed(x, index, "compressor", s_.heavy_rate, s_.head_dim, false);
    const Tensor later = Unsqueezed(LaterEntries(y, s_.heavy_rate), {1});
    return {Unsqueezed(y, {1}), b_->Op("Where", {later, Factor(b_, -1), Factor(b_, 0)})};
  }
  Entries SparseEntries(const Tensor& x, const Tensor& q_latent, int64_t index) {
    const Scope scope(b_, "compressor", Class("CSACompressor"));
    const Tensor y = Compressed(x, index, "compressor", s_.sparse_rate, s_.head_dim, true);
    const Tensor at = Unsqueezed(Chosen(x, q_latent, index), {1});
    const Tensor count = SizeOf(b_, y, 1), one = b_->Ints({1});
    const Tensor shape =
        Concat(b_, {SizeOf(b_, x, 0), one, SizeOf(b_, x, 1), Add(b_, count, one)}, 0);
    const Tensor none = b_->Op("Expand", {Factor(b_, -1), shape});
    const Tensor zeros = b_->Op("Expand", {Factor(b_, 0), b_->Op("Shape", {at})});
    const Tensor mask = b_->Op("ScatterElements", {none, at, zeros}, {{"axis", int64_t{3}}});
    return {Unsqueezed(y, {1}), Part(mask, b_->Ints({0}), count, 3)};
  }

  // ---- attention

  // Softmax(q k' + mask, with a sink for each head) v: [batch, heads, seq, dim].
  Tensor Attend(const Tensor& q, const Tensor& keys, const Tensor& values, const Tensor& mask) {
    Tensor scores = Scaled(b_->Op("MatMul", {q, Transpose(b_, keys, {0, 1, 3, 2})}));
    scores = Add(b_, scores, mask);
    const Tensor sinks = Reshape(b_, b_->Weight("sinks", {s_.heads}), {1, s_.heads, 1, 1});
    const Tensor shape =
        Concat(b_, {SizeOf(b_, q, 0), b_->Ints({1}), SizeOf(b_, q, 2), b_->Ints({1})}, 0);
    scores = Concat(b_, {scores, b_->Op("Expand", {sinks, shape})}, -1);
    const Tensor most = b_->Op("ReduceMax", {scores, b_->Ints({-1})}, {{"keepdims", int64_t{1}}});
    const Tensor parts =
        b_->Op("Softmax", {b_->Op("Sub", {scores, most})}, {{"axis", int64_t{-1}}});
    return b_->Op("MatMul", {Part(parts, b_->Ints({0}), b_->Ints({-1}), 3), values});
  }

  Tensor SelfAttention(const Tensor& x, int64_t index) {
    const Scope scope(b_, "self_attn", Class("Attention"));
    const V4Kind kind = s_.kinds[static_cast<size_t>(index)];
    const Rotation& angles = kind == V4Kind::kWindow ? near_ : far_;
    const int64_t dim = s_.head_dim;
    const Tensor q_latent =
        Norm(LinearOf(x, "q_a_proj", s_.hidden, s_.q_rank), "q_a_norm", s_.q_rank);
    Tensor q = ByHead(LinearOf(q_latent, "q_b_proj", s_.q_rank, s_.heads * dim), s_.heads, dim);
    q = RotateTail(PlainNorm(q, "q_b_norm"), angles, dim);
    Tensor kv = Norm(LinearOf(x, "kv_proj", s_.hidden, dim), "kv_norm", dim);
    kv = RotateTail(Unsqueezed(kv, {1}), angles, dim);
    Tensor keys = AfterPastKeys(kv, index, "key"), values = keys, mask = mask_;
    if (kind == V4Kind::kWindow) {
      values = AfterPastKeys(kv, index, "value");  // the class caches them twice
    } else {
      const Entries entries =
          kind == V4Kind::kHeavy ? HeavyEntries(x, index) : SparseEntries(x, q_latent, index);
      keys = values = Concat(b_, {keys, entries.keys}, 2);
      mask = Concat(b_, {mask, entries.mask}, -1);
    }
    const Tensor y = Attend(q, keys, values, mask);
    return Out(RotateTail(y, {angles.cos, b_->Op("Neg", {angles.sin})}, dim), x);
  }

  // Groups of heads are projected each by itself, and then together.
  Tensor Out(const Tensor& y, const Tensor& x) {
    const int64_t in = s_.heads * s_.head_dim / s_.groups, width = s_.groups * s_.out_rank;
    Tensor z;
    {
      const Scope scope(b_, "o_a_proj", Class("GroupedLinear"));
      z = Reshape(b_, Transpose(b_, y, {0, 2, 1, 3}), {-1, s_.groups, in});
      z = b_->Op("MatMul",
                 {Transpose(b_, z, {1, 0, 2}), b_->Weight("weight", {s_.groups, in, s_.out_rank})});
      z = ReshapeBy(b_, Transpose(b_, z, {1, 0, 2}),
                    {SizeOf(b_, x, 0), SizeOf(b_, x, 1), b_->Ints({width})});
    }
    return LinearOf(z, "o_b_proj", width, s_.hidden);
  }

  // ---- streams: [batch, seq, streams, hidden]

  struct Mixture {
    Tensor in, out, between;  // the layer's input; weights of its output; a matrix of streams
  };
  Tensor WeightedSum(const Tensor& x, const Tensor& weights) {
    return Sum(Mul(b_, Unsqueezed(weights, {3}), x), 2);
  }

  Mixture Mix(const Tensor& x, const char* name) {
    const Scope scope(b_, name, Class("HyperConnection"));
    const int64_t n = s_.streams, width = (2 + n) * n;
    const Tensor flat = PlainNorm(Reshape(b_, x, {0, 0, n * s_.hidden}), "input_norm");
    const Tensor all = b_->Op("MatMul", {flat, b_->Weight("fn", {n * s_.hidden, width})});
    std::vector<Tensor> parts = Split(b_, all, {n, n, n * n}, -1);
    const std::vector<Tensor> bases = Split(b_, b_->Weight("base", {width}), {n, n, n * n}, 0);
    const std::vector<Tensor> scales = Split(b_, b_->Weight("scale", {3}), {1, 1, 1}, 0);
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = Add(b_, Mul(b_, parts[i], scales[i]), bases[i]);
    }
    const Tensor pre = Add(b_, b_->Op("Sigmoid", {parts[0]}), Factor(b_, 0));
    const Tensor post = Scaled(b_->Op("Sigmoid", {parts[1]}));
    Tensor matrix = b_->Op("Softmax", {Reshape(b_, parts[2], {0, 0, n, n})});
    matrix = Add(b_, matrix, Factor(b_, 0));
    const auto divide = [&](int64_t axis) {
      matrix = b_->Op("Div", {matrix, Add(b_, Sum(matrix, axis, true), Factor(b_, 0))});
    };
    divide(-2);
    for (int64_t i = 1; i < s_.rounds; ++i) divide(-1), divide(-2);
    return {WeightedSum(x, pre), post, matrix};
  }

  Tensor Spread(const Tensor& x, const Tensor& y, const Mixture& mixture) {
    const Tensor out = Mul(b_, Unsqueezed(mixture.out, {3}), Unsqueezed(y, {2}));
    const Tensor between = Transpose(b_, mixture.between, {0, 1, 3, 2});
    return Add(b_, out, b_->Op("MatMul", {between, x}));
  }

  Tensor HyperHead(const Tensor& x) {
    const Scope scope(b_, "hc_head", Class("HyperHead"));
    const int64_t n = s_.streams;
    const Tensor flat = PlainNorm(Reshape(b_, x, {0, 0, n * s_.hidden}), "input_norm");
    Tensor y = b_->Op("MatMul", {flat, b_->Weight("hc_fn", {n * s_.hidden, n})});
    y = Add(b_, Mul(b_, y, b_->Weight("hc_scale", {1})), b_->Weight("hc_base", {n}));
    return WeightedSum(x, Add(b_, b_->Op("Sigmoid", {y}), Factor(b_, 0)));
  }

  // ---- layers

  Tensor SharedExpert(const Tensor& x) {
    const Scope scope(b_, "shared_experts", Class("MLP"));
    const int64_t h = s_.hidden, inner = s_.experts.intermediate;
    const Tensor limit = Factor(b_, 10), least = Factor(b_, -10);
    Tensor gate = Linear(b_, x, "gate_proj", h, inner, s_.mlp_bias);
    gate = b_->Op("Min", {gate, limit});
    Tensor up = Linear(b_, x, "up_proj", h, inner, s_.mlp_bias);
    up = b_->Op("Max", {b_->Op("Min", {up, limit}), least});
    return Linear(b_, Mul(b_, Activate(b_, gate, s_.activation), up), "down_proj", inner, h,
                  s_.mlp_bias);
  }

  // The experts of a token are chosen by scores, or by a table of all tokens. Their weights are
  // scores in both.
  Tensor Experts(const Tensor& x, int64_t index) {
    const Scope scope(b_, "mlp", Class("SparseMoeBlock"));
    Tensor scores;
    {
      const bool hashed = s_.hashed[static_cast<size_t>(index)];
      const Scope gate(b_, "gate", Class(hashed ? "HashRouter" : "TopKRouter"));
      const Tensor weight = b_->Weight("weight", {s_.hidden, s_.experts.experts});
      scores = b_->Op("MatMul", {Reshape(b_, x, {-1, s_.hidden}), weight});
    }
    const Tensor y = RoutedExperts(b_, x, scores, s_.experts, Class("Experts"));
    return Add(b_, y, SharedExpert(x));
  }

  Tensor Layer(Tensor x, int64_t index) {
    const Scope scope(b_, absl::StrCat("layers.", index), Class("DecoderLayer"));
    Mixture mixture = Mix(x, "attn_hc");
    Tensor y = Norm(mixture.in, "input_layernorm", s_.hidden);
    x = Spread(x, SelfAttention(y, index), mixture);
    mixture = Mix(x, "ffn_hc");
    y = Norm(mixture.in, "post_attention_layernorm", s_.hidden);
    return Spread(x, Experts(y, index), mixture);
  }

  GraphBuilder* b_;
  const V4Shape& s_;
  const Tensor positions_;
  Rotation near_, far_;  // of layers with a window alone, and of others
  Tensor mask_;
};

}  // namespace

absl::StatusOr<std::string> BuildDeepseekV4(const Config& config) {
  const V4Shape s = ReadV4(config);
  const LanguageModel model = {.with_head = "DeepseekV4ForCausalLM",
                               .without_head = "DeepseekV4Model",
                               .vocab = s.vocab,
                               .hidden = s.hidden,
                               .tied = s.tied};
  return CausalModel(config, model,
                     [&](GraphBuilder* b, const Tensor& ids, const Tensor& positions,
                         Tensor* table) { return V4Builder(b, s, positions).Build(ids, table); });
}

}  // namespace onnxflops::family
