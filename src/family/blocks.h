// Building blocks of model families, each in the same module as in the reference implementation.
#ifndef ONNXFLOPS_SRC_FAMILY_BLOCKS_H_
#define ONNXFLOPS_SRC_FAMILY_BLOCKS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/family/config.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

using Scope = GraphBuilder::Scope;

// ---- single modules

// x W + b in a module of this name, W [in, out].
Tensor Linear(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t in, int64_t out,
              bool bias);
Tensor LayerNorm(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width,
                 bool bias = true);
Tensor RmsNorm(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width,
               absl::string_view type);
// The same without weights.
Tensor PlainRmsNorm(GraphBuilder* b, const Tensor& x, absl::string_view name,
                    absl::string_view type);
// A learned factor for each feature, in a module of this name.
Tensor LayerScale(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width);
// Rows of a table, which is given back in *table for an output layer that shares it.
Tensor Embedding(GraphBuilder* b, const Tensor& ids, absl::string_view name, int64_t rows,
                 int64_t width, Tensor* table = nullptr);
// x times the transposed table, with a bias of this many features if given.
Tensor TiedLinear(GraphBuilder* b, const Tensor& x, absl::string_view name, const Tensor& table,
                  int64_t bias = 0);
// A convolution with square windows; images [batch, in, h, w].
struct ConvShape {
  int64_t in, out, kernel, stride;
  bool bias;
  int64_t padding = 0, groups = 1;
};
Tensor Conv2d(GraphBuilder* b, const Tensor& x, absl::string_view name, const ConvShape& shape);

// ---- activations

// The name of an activation function in configurations: gelu, quick_gelu, silu, relu, ... A fault
// of `config` if it is unknown.
std::string ReadActivation(const Config& config, const char* key, absl::string_view otherwise);
Tensor Activate(GraphBuilder* b, const Tensor& x, absl::string_view function);

// Two layers with a function between, in modules fc1 and fc2 (or others).
struct MlpNames {
  const char *fc1 = "fc1", *fc2 = "fc2";
};
Tensor Mlp(GraphBuilder* b, const Tensor& x, int64_t width, int64_t inner,
           absl::string_view function, const MlpNames& names = {});

// ---- shapes and arithmetic

Tensor Add(GraphBuilder* b, const Tensor& x, const Tensor& y);
Tensor Mul(GraphBuilder* b, const Tensor& x, const Tensor& y);
// A number of the type that the model computes in.
Tensor Factor(GraphBuilder* b, double value);
Tensor Reshape(GraphBuilder* b, const Tensor& x, const std::vector<int64_t>& shape);
// The same by sizes that are computed, in lists one after the other.
Tensor ReshapeBy(GraphBuilder* b, const Tensor& x, const std::vector<Tensor>& sizes);
Tensor Transpose(GraphBuilder* b, const Tensor& x, const std::vector<int64_t>& order);
Tensor Concat(GraphBuilder* b, const std::vector<Tensor>& parts, int64_t axis);
std::vector<Tensor> Split(GraphBuilder* b, const Tensor& x, const std::vector<int64_t>& sizes,
                          int64_t axis);
// The size of a dimension, as a list of one number.
Tensor SizeOf(GraphBuilder* b, const Tensor& x, int64_t axis);
// x[:, at] of [batch, seq, width].
Tensor TakeToken(GraphBuilder* b, const Tensor& x, int64_t at);
// x[i, the place of the largest id of ids[i]]: where CLIP's text ends.
Tensor TakeAtLargest(GraphBuilder* b, const Tensor& x, const Tensor& ids);
// 0, 1, ... up to the size of dimension `axis` of x.
Tensor Positions(GraphBuilder* b, const Tensor& x, int64_t axis);
// A table of [*, rows, width] or [rows, width] by its shape as a parameter, for each of the batch
// of `like`: [batch, rows, width].
Tensor RepeatForBatch(GraphBuilder* b, const Tensor& row, const Tensor& like,
                      const std::vector<int64_t>& shape);
// x of [batch, width], divided by its length.
Tensor Normalize(GraphBuilder* b, const Tensor& x);

// ---- attention

struct AttentionShape {
  int64_t heads, kv_heads, head_dim;
  bool causal = false;
  int64_t window = 0;  // that a query looks back, itself included; 0: all; if not causal, both ways
  double softcap = 0;
  int64_t value_dim = 0;  // of a head; 0: head_dim
  // The layer whose keys and values are cached: past_key_values.N.key; nullopt without a cache.
  std::optional<int64_t> cache;
  const char* cache_part = "";     // "decoder.": past_key_values.N.decoder.key
  const char* new_tokens = "seq";  // their symbol
  Tensor sinks;                    // [heads]: a term of each head's denominator
};

// softmax(q k') v of [batch, seq, heads * head_dim]; with a cache, after the keys and values that
// it holds.
Tensor Attention(GraphBuilder* b, const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionShape& shape, const Tensor& mask = "");

// The same with the keys and values that it sees, those of its cache and the new ones: [batch,
// kv_heads, n, dim]. `shape` has a cache.
struct Attended {
  Tensor y, keys, values;
};
Attended AttentionWithCache(GraphBuilder* b, const Tensor& q, const Tensor& k, const Tensor& v,
                            const AttentionShape& shape, const Tensor& mask = "");
// Causal attention of q, [batch, heads, n, dim], whose queries are the last of the keys' positions:
// [batch, n, heads * value_dim].
Tensor AttendFromEnd(GraphBuilder* b, const Tensor& q, const Tensor& keys, const Tensor& values,
                     const AttentionShape& shape, const Tensor& mask = "");

// Softmax(q k') v of [batch, n, heads * head_dim], with an encoder's keys and values of `length`
// from the cache of a layer: past_key_values.N.encoder.key.
Tensor EncoderAttention(GraphBuilder* b, const Tensor& q, int64_t layer,
                        const AttentionShape& shape, const Dim& length);
// What a decoder's cache holds, and the positions of the n new tokens x after it.
struct StepPlaces {
  Tensor total;   // past and new tokens: a number
  Tensor places;  // [n]
};
StepPlaces PlacesOfStep(GraphBuilder* b, const Tensor& x, const AttentionShape& shape);

// torch.nn.MultiheadAttention of queries x [batch, n, width] over `other` [batch, m, other_width],
// in the modules that are open. Where the widths are equal, the three projections are one
// parameter.
Tensor CrossAttention(GraphBuilder* b, const Tensor& x, const Tensor& other, int64_t width,
                      int64_t other_width, int64_t heads);

// cos and sin of positions [batch, seq], [batch, seq, dim / 2].
struct Rotation {
  Tensor cos, sin;
};
Rotation RotaryAngles(GraphBuilder* b, const Tensor& positions, int64_t dim,
                      absl::string_view name = "rotary_emb",
                      absl::string_view type = "RotaryEmbedding");
// Rotates the first `dim` features of each head by position: in halves, or in neighbouring pairs.
Tensor Rotate(GraphBuilder* b, const Tensor& x, const Rotation& angles, int64_t heads, int64_t dim,
              bool interleaved = false);

// ---- experts

struct ExpertShape {
  int64_t hidden, intermediate, experts, top_k;
  bool normalize;
  bool biased = false;
  bool clamped = false;  // both halves, and the gate is G sigmoid(alpha G) (L + 1)
  bool limited = false;  // both halves are clamped
  bool gated = true;
  std::string function = "silu";  // of a gate: "silu" or "gelu"; without one any of the operator's
};
// The top_k of the experts for each token, by scores of a router [tokens, experts], in a module
// "experts"; x of [batch, seq, hidden].
Tensor RoutedExperts(GraphBuilder* b, const Tensor& x, const Tensor& scores,
                     const ExpertShape& shape, absl::string_view type);

// ---- language models

// The parts of a language model around its layers.
struct LanguageModel {
  std::string with_head, without_head;  // classes: "GPT2LMHeadModel", "GPT2Model"
  const char* body = "model";           // the second as a module of the first
  int64_t vocab = 0, hidden = 0;
  bool tied = false;  // the output layer is the embedding
  bool head_bias = false;
  double softcap = 0;            // of the logits
  bool scaled = false;           // logits are divided by a number
  bool multiplied = false;       // or times one
  const char* head = "lm_head";  // the output layer
  Dim tokens = "seq";            // of the input
  bool positioned = true;        // position_ids are an input
  bool scaled_hidden = false;    // so is what the output layer takes
};
// The output layer; `table` is the embedding.
Tensor Logits(GraphBuilder* b, Tensor x, const Tensor& table, const LanguageModel& model);
// Hidden states of ids at positions; *table: of their embedding.
using LayersFn = std::function<Tensor(GraphBuilder* b, const Tensor& ids, const Tensor& positions,
                                      Tensor* table)>;
// From input_ids and position_ids to logits, or to hidden states if the class has no head: the
// whole graph, or the first fault of `config`.
absl::StatusOr<std::string> CausalModel(const Config& config, const LanguageModel& model,
                                        const LayersFn& layers);

// ---- towers of CLIP and its kin

// Names of modules differ between families; the rest does not. Without `key`, the first projection
// gives queries, keys and values together.
struct EncoderLayerNames {
  const char *layer, *attention, *query, *key, *value, *out;
  const char *attention_type, *mlp, *mlp_type, *fc1, *fc2, *norm1, *norm2;
};
struct EncoderShape {
  int64_t hidden, intermediate, layers, heads;
  std::string activation;
  bool causal = false;
  bool qkv_bias = true;
};
// Norm, attention, norm, MLP: the layers of an encoder from `first` on, in a module of each.
Tensor PreNormLayers(GraphBuilder* b, Tensor x, const EncoderShape& shape,
                     const EncoderLayerNames& names, int64_t first = 0);
EncoderShape ReadEncoder(const Config& config, int64_t hidden, int64_t heads, int64_t layers,
                         int64_t intermediate, absl::string_view activation);

struct ImageShape {
  int64_t channels, size, patch;
  int64_t Patches() const { return (size / patch) * (size / patch); }
};
ImageShape ReadImage(const Config& config, int64_t size, int64_t patch);
// [batch, channels, size, size] -> [batch, patches, hidden], in a module "patch_embedding".
Tensor PatchEmbedding(GraphBuilder* b, const Tensor& pixels, const ImageShape& image,
                      int64_t hidden, absl::string_view name, bool bias);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_BLOCKS_H_
