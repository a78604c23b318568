// How it works. A block is a C++ function that appends nodes and returns the name of their result.
// Single modules (Linear, LayerNorm, Conv2d) open a scope with the name and class that the
// reference implementation has, so that the module tree and the names of weights read like its
// state dict.
//
// A block is written with the one ONNX operator that stands for it, if there is one: Attention,
// LayerNormalization, RMSNormalization, Gelu, RotaryEmbedding, and com.microsoft's MoE. The count
// depends on the mathematics and not on how an exporter would take it apart, and one node per block
// keeps graphs of large models small. Linear layers are MatMul and Add, with the weight as [in,
// out]; an output layer that shares the table of tokens is a FusedMatMul of com.microsoft. Caches
// are inputs and outputs of the attention ("past_key_values.3.key", "present.3.key"). A layer with
// a window of w tokens keeps at most w - 1 of them: its cache has the size min(past, w - 1).
#include "src/family/blocks.h"

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"

namespace onnxflops::family {
namespace {

constexpr float kQuickGelu = 1.702F;

struct Function {
  absl::string_view name, op;
  Attrs attrs = {};
  bool squared = false;  // what the operator gives
};

// The functions of transformers' ACT2FN for which ONNX has an operator.
absl::Span<const Function> Functions() {
  static const auto& functions = *new std::vector<Function>{
      {"gelu", "Gelu"},
      {"gelu_python", "Gelu"},
      {"gelu_new", "Gelu", {{"approximate", std::string("tanh")}}},
      {"gelu_fast", "Gelu", {{"approximate", std::string("tanh")}}},
      {"gelu_pytorch_tanh", "Gelu", {{"approximate", std::string("tanh")}}},
      {"quick_gelu", "Swish", {{"alpha", kQuickGelu}}},
      {"silu", "Swish"},
      {"swish", "Swish"},
      {"relu", "Relu"},
      {"relu2", "Relu", {}, true},
      {"tanh", "Tanh"},
      {"sigmoid", "Sigmoid"},
  };
  return functions;
}

std::vector<Tensor> Qkv(GraphBuilder* b, const Tensor& x, const EncoderShape& s,
                        const EncoderLayerNames& names) {
  const int64_t h = s.hidden;
  if (names.key == nullptr) {
    return Split(b, Linear(b, x, names.query, h, 3 * h, s.qkv_bias), {h, h, h}, -1);
  }
  return {Linear(b, x, names.query, h, h, s.qkv_bias), Linear(b, x, names.key, h, h, s.qkv_bias),
          Linear(b, x, names.value, h, h, s.qkv_bias)};
}

}  // namespace

Tensor Linear(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t in, int64_t out,
              bool bias) {
  const Scope scope(b, name, "Linear");
  const Tensor y = b->Op("MatMul", {x, b->Weight("weight", {in, out})});
  return bias ? Add(b, y, b->Weight("bias", {out})) : y;
}

Tensor TiedLinear(GraphBuilder* b, const Tensor& x, absl::string_view name, const Tensor& table,
                  int64_t bias) {
  const Scope scope(b, name, "Linear");
  // Reads the table as it lies: PyTorch's weight.t() is a view, and a Transpose would be a copy.
  const Tensor y =
      b->Ops("FusedMatMul", {x, table}, {""}, {{"transB", int64_t{1}}}, "com.microsoft")[0];
  return bias > 0 ? Add(b, y, b->Weight("bias", {bias})) : y;
}

Tensor LayerNorm(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width,
                 bool bias) {
  const Scope scope(b, name, "LayerNorm");
  std::vector<Tensor> inputs = {x, b->Weight("weight", {width})};
  if (bias) inputs.push_back(b->Weight("bias", {width}));
  return b->Op("LayerNormalization", inputs);
}

Tensor RmsNorm(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width,
               absl::string_view type) {
  const Scope scope(b, name, type);
  return b->Op("RMSNormalization", {x, b->Weight("weight", {width})});
}

// ONNX's operator has weights: one number for all features.
Tensor PlainRmsNorm(GraphBuilder* b, const Tensor& x, absl::string_view name,
                    absl::string_view type) {
  const Scope scope(b, name, type);
  return b->Op("RMSNormalization", {x, Factor(b, 1)});
}

Tensor LayerScale(GraphBuilder* b, const Tensor& x, absl::string_view name, int64_t width) {
  const Scope scope(b, name, "LayerScale");
  return Mul(b, x, b->Weight("gamma", {width}));
}

Tensor Embedding(GraphBuilder* b, const Tensor& ids, absl::string_view name, int64_t rows,
                 int64_t width, Tensor* table) {
  const Scope scope(b, name, "Embedding");
  const Tensor weight = b->Weight("weight", {rows, width});
  if (table != nullptr) *table = weight;
  return b->Op("Gather", {weight, ids});
}

Tensor Conv2d(GraphBuilder* b, const Tensor& x, absl::string_view name, const ConvShape& shape) {
  const Scope scope(b, name, "Conv2d");
  const int64_t k = shape.kernel, p = shape.padding;
  std::vector<Tensor> inputs = {x, b->Weight("weight", {shape.out, shape.in / shape.groups, k, k})};
  if (shape.bias) inputs.push_back(b->Weight("bias", {shape.out}));
  return b->Op("Conv", inputs,
               {{"kernel_shape", std::vector<int64_t>{k, k}},
                {"strides", std::vector<int64_t>{shape.stride, shape.stride}},
                {"pads", std::vector<int64_t>{p, p, p, p}},
                {"group", shape.groups}});
}

std::string ReadActivation(const Config& config, const char* key, absl::string_view otherwise) {
  std::string name = config.Text(key, otherwise);
  for (const Function& function : Functions()) {
    if (function.name == name) return name;
  }
  std::string known;
  for (const Function& function : Functions()) {
    absl::StrAppend(&known, known.empty() ? "" : ", ", function.name);
  }
  config.Fault(key, absl::StrCat("is ", Quoted(name), ": known are ", known));
  return "relu";
}

Tensor Activate(GraphBuilder* b, const Tensor& x, absl::string_view name) {
  for (const Function& function : Functions()) {
    if (function.name != name) continue;
    const Tensor y = b->Op(function.op, {x}, function.attrs);
    return function.squared ? Mul(b, y, y) : y;
  }
  return x;
}

Tensor Mlp(GraphBuilder* b, const Tensor& x, int64_t width, int64_t inner,
           absl::string_view function, const MlpNames& names) {
  const Tensor y = Activate(b, Linear(b, x, names.fc1, width, inner, true), function);
  return Linear(b, y, names.fc2, inner, width, true);
}

Tensor Add(GraphBuilder* b, const Tensor& x, const Tensor& y) { return b->Op("Add", {x, y}); }
Tensor Mul(GraphBuilder* b, const Tensor& x, const Tensor& y) { return b->Op("Mul", {x, y}); }

Tensor Reshape(GraphBuilder* b, const Tensor& x, const std::vector<int64_t>& shape) {
  return b->Op("Reshape", {x, b->Ints(shape)});
}

Tensor ReshapeBy(GraphBuilder* b, const Tensor& x, const std::vector<Tensor>& sizes) {
  return b->Op("Reshape", {x, Concat(b, sizes, 0)}, {{"allowzero", int64_t{1}}});
}

Tensor Transpose(GraphBuilder* b, const Tensor& x, const std::vector<int64_t>& order) {
  return b->Op("Transpose", {x}, {{"perm", order}});
}

Tensor Concat(GraphBuilder* b, const std::vector<Tensor>& parts, int64_t axis) {
  return b->Op("Concat", parts, {{"axis", axis}});
}

std::vector<Tensor> Split(GraphBuilder* b, const Tensor& x, const std::vector<int64_t>& sizes,
                          int64_t axis) {
  return b->Ops("Split", {x, b->Ints(sizes)}, std::vector<std::string>(sizes.size()),
                {{"axis", axis}});
}

Tensor SizeOf(GraphBuilder* b, const Tensor& x, int64_t axis) {
  return b->Op("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

Tensor TakeToken(GraphBuilder* b, const Tensor& x, int64_t at) {
  return b->Op("Gather", {x, b->Scalar(at)}, {{"axis", int64_t{1}}});
}

Tensor TakeAtLargest(GraphBuilder* b, const Tensor& x, const Tensor& ids) {
  const Tensor at = b->Op("ArgMax", {ids}, {{"axis", int64_t{1}}, {"keepdims", int64_t{1}}});
  return b->Op("GatherND", {x, at}, {{"batch_dims", int64_t{1}}});
}

Tensor Positions(GraphBuilder* b, const Tensor& x, int64_t axis) {
  const Tensor size = b->Op("Squeeze", {SizeOf(b, x, axis)});
  return b->Op("Range", {b->Scalar(0), size, b->Scalar(1)});
}

Tensor RepeatForBatch(GraphBuilder* b, const Tensor& row, const Tensor& like,
                      const std::vector<int64_t>& shape) {
  return b->Op("Expand", {row, Concat(b, {SizeOf(b, like, 0), b->Ints(shape)}, 0)});
}

Tensor Normalize(GraphBuilder* b, const Tensor& x) {
  const Tensor length = b->Op("ReduceL2", {x, b->Ints({-1})}, {{"keepdims", int64_t{1}}});
  return b->Op("Div", {x, length});
}

namespace {

// How many tokens a layer's cache holds. A new token looks back at the others of its window, and
// the cache keeps only them (transformers' DynamicSlidingWindowLayer).
std::string PastLength(const AttentionShape& shape) {
  return shape.window > 1 ? absl::StrCat("min(past, ", shape.window - 1, ")") : "past";
}

// Keys or values of a layer that a decoder's cache holds.
Tensor Past(GraphBuilder* b, const AttentionShape& shape, const char* what, int64_t dim) {
  const std::string name =
      absl::StrCat("past_key_values.", *shape.cache, ".", shape.cache_part, what);
  return b->Input(name, b->dtype(), {"batch", shape.kv_heads, PastLength(shape), dim});
}

// Of keys that a layer's cache holds and of x: a number.
Tensor TotalOfStep(GraphBuilder* b, const Tensor& x, const Tensor& past) {
  return Add(b, past, b->Op("Squeeze", {SizeOf(b, x, 1)}));
}
Tensor PastOfStep(GraphBuilder* b, const AttentionShape& shape) {
  return b->Op("Squeeze", {SizeOf(b, Past(b, shape, "key", shape.head_dim), 2)});
}

// ONNX's Attention has no sinks; ONNX Runtime's GroupQueryAttention has. It is given how many keys
// there are, per sample less one. `inputs`: q, k, v and, with a cache, its keys and values.
Tensor AttentionWithSinks(GraphBuilder* b, std::vector<Tensor> inputs,
                          const std::vector<std::string>& outputs, const AttentionShape& shape) {
  const Tensor& q = inputs[0];
  const Attrs to_int32 = {{"to", static_cast<int64_t>(DType::kInt32)}};
  const Tensor keys =
      shape.cache ? TotalOfStep(b, q, PastOfStep(b, shape)) : b->Op("Squeeze", {SizeOf(b, q, 1)});
  const Tensor total = b->Op("Cast", {keys}, to_int32);
  const Tensor last = b->Op("Sub", {total, b->Op("Cast", {b->Scalar(1)}, to_int32)});
  const Tensor lasts = b->Op("Expand", {last, SizeOf(b, q, 0)});
  inputs.resize(5);
  inputs.insert(inputs.end(), {lasts, total, "", "", "", "", shape.sinks});
  Attrs attrs = {{"num_heads", shape.heads}, {"kv_num_heads", shape.kv_heads}};
  if (shape.window > 0) attrs.push_back({"local_window_size", shape.window});
  return b->Ops("GroupQueryAttention", inputs, outputs, attrs, "com.microsoft")[0];
}

// `by_head`: the heads are a dimension of queries, keys and values.
Attrs AttentionAttrs(const AttentionShape& shape, bool by_head) {
  Attrs attrs;
  if (!by_head) attrs = {{"q_num_heads", shape.heads}, {"kv_num_heads", shape.kv_heads}};
  if (shape.causal) attrs.push_back({"is_causal", int64_t{1}});
  if (shape.window > 0) attrs.push_back({"left_window_size", shape.window - 1});
  if (shape.window > 0 && !shape.causal) attrs.push_back({"right_window_size", shape.window - 1});
  if (shape.softcap > 0) attrs.push_back({"softcap", static_cast<float>(shape.softcap)});
  return attrs;
}

}  // namespace

Tensor Attention(GraphBuilder* b, const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionShape& shape, const Tensor& mask) {
  if (shape.cache) return AttentionWithCache(b, q, k, v, shape, mask).y;
  if (!shape.sinks.empty()) return AttentionWithSinks(b, {q, k, v}, {""}, shape);
  return b->Op("Attention", {q, k, v, mask}, AttentionAttrs(shape, /*by_head=*/false));
}

Attended AttentionWithCache(GraphBuilder* b, const Tensor& q, const Tensor& k, const Tensor& v,
                            const AttentionShape& shape, const Tensor& mask) {
  const int64_t value_dim = shape.value_dim > 0 ? shape.value_dim : shape.head_dim;
  std::vector<Tensor> inputs = {q, k, v};
  if (shape.sinks.empty()) inputs.push_back(mask);
  std::vector<std::string> outputs = {""};
  for (const auto& [what, dim] :
       {std::pair("key", shape.head_dim), std::pair("value", value_dim)}) {
    const std::string name = absl::StrCat(*shape.cache, ".", shape.cache_part, what);
    inputs.push_back(Past(b, shape, what, dim));
    outputs.push_back(absl::StrCat("present.", name));
    b->DeclareOutput(
        outputs.back(), b->dtype(),
        {"batch", shape.kv_heads, absl::StrCat(PastLength(shape), " + ", shape.new_tokens), dim});
  }
  b->AssumeDim("past", 0);
  if (!shape.sinks.empty())
    return {AttentionWithSinks(b, std::move(inputs), outputs, shape), "", ""};
  const std::vector<Tensor> found =
      b->Ops("Attention", inputs, outputs, AttentionAttrs(shape, /*by_head=*/false));
  return {found[0], found[1], found[2]};
}

// With a past there are more keys than queries, so the operator is given their number.
Tensor AttendFromEnd(GraphBuilder* b, const Tensor& q, const Tensor& keys, const Tensor& values,
                     const AttentionShape& shape, const Tensor& mask) {
  const Tensor ends = b->Op("Expand", {SizeOf(b, keys, 2), SizeOf(b, keys, 0)});
  const Tensor y = b->Op("Attention", {q, keys, values, mask, "", "", ends},
                         AttentionAttrs(shape, /*by_head=*/true));
  const int64_t value_dim = shape.value_dim > 0 ? shape.value_dim : shape.head_dim;
  return Reshape(b, Transpose(b, y, {0, 2, 1, 3}), {0, 0, shape.heads * value_dim});
}

Tensor EncoderAttention(GraphBuilder* b, const Tensor& q, int64_t layer, const AttentionShape& s,
                        const Dim& length) {
  const auto cached = [&](const char* what) {
    return b->Input(absl::StrCat("past_key_values.", layer, ".encoder.", what), b->dtype(),
                    {"batch", s.kv_heads, length, s.head_dim});
  };
  const Tensor heads = Transpose(b, Reshape(b, q, {0, 0, s.heads, s.head_dim}), {0, 2, 1, 3});
  const Tensor y = b->Op("Attention", {heads, cached("key"), cached("value")});
  return Reshape(b, Transpose(b, y, {0, 2, 1, 3}), {0, 0, s.heads * s.head_dim});
}

StepPlaces PlacesOfStep(GraphBuilder* b, const Tensor& x, const AttentionShape& shape) {
  const Tensor past = PastOfStep(b, shape), total = TotalOfStep(b, x, past);
  return {total, b->Op("Range", {past, total, b->Scalar(1)})};
}

Tensor CrossAttention(GraphBuilder* b, const Tensor& x, const Tensor& other, int64_t width,
                      int64_t other_width, int64_t heads) {
  const int64_t w = width;
  std::vector<Tensor> weights;
  if (other_width == w) {
    weights = Split(b, b->Weight("in_proj.weight", {w, 3 * w}), {w, 2 * w}, 1);
  } else {
    const Tensor k = b->Weight("k_proj_weight", {other_width, w});
    weights = {b->Weight("q_proj_weight", {w, w}),
               Concat(b, {k, b->Weight("v_proj_weight", {other_width, w})}, 1)};
  }
  const std::vector<Tensor> biases = Split(b, b->Weight("in_proj.bias", {3 * w}), {w, 2 * w}, 0);
  const Tensor q = Add(b, b->Op("MatMul", {x, weights[0]}), biases[0]);
  const Tensor kv = Add(b, b->Op("MatMul", {other, weights[1]}), biases[1]);
  const std::vector<Tensor> parts = Split(b, kv, {w, w}, -1);
  const Tensor y = Attention(b, q, parts[0], parts[1], {heads, heads, w / heads});
  return Linear(b, y, "out_proj", w, w, true);
}

Rotation RotaryAngles(GraphBuilder* b, const Tensor& positions, int64_t dim, absl::string_view name,
                      absl::string_view type) {
  const Scope scope(b, name, type);
  const Tensor at = b->Op("Cast", {positions}, {{"to", static_cast<int64_t>(DType::kFloat32)}});
  const Tensor column = b->Op("Unsqueeze", {at, b->Ints({-1})});
  const Tensor angles = Mul(b, column, b->Table((dim + 1) / 2));
  Rotation rotation = {b->Op("Cos", {angles}), b->Op("Sin", {angles})};
  if (b->dtype() == DType::kFloat32) return rotation;
  const Attrs to = {{"to", static_cast<int64_t>(b->dtype())}};
  return {b->Op("Cast", {rotation.cos}, to), b->Op("Cast", {rotation.sin}, to)};
}

Tensor Rotate(GraphBuilder* b, const Tensor& x, const Rotation& angles, int64_t heads, int64_t dim,
              bool interleaved) {
  Attrs attrs = {{"num_heads", heads}, {"rotary_embedding_dim", dim}};
  if (interleaved) attrs.push_back({"interleaved", int64_t{1}});
  return b->Op("RotaryEmbedding", {x, angles.cos, angles.sin}, attrs);
}

Tensor RoutedExperts(GraphBuilder* b, const Tensor& x, const Tensor& scores,
                     const ExpertShape& shape, absl::string_view type) {
  const Scope scope(b, "experts", type);
  const int64_t e = shape.experts, h = shape.hidden, i = shape.intermediate;
  const auto bias = [&](const char* name, int64_t width) {
    return shape.biased ? b->Weight(name, {e, width}) : Tensor();
  };
  if (!shape.gated) {
    return b->Ops(
        "MoE", {x, scores, b->Weight("up_proj", {e, i, h}), "", b->Weight("down_proj", {e, h, i})},
        {""},
        {{"k", shape.top_k},
         {"activation_type", shape.function},
         {"normalize_routing_weights", int64_t{shape.normalize ? 1 : 0}}},
        "com.microsoft")[0];
  }
  Attrs attrs = {{"k", shape.top_k},
                 {"activation_type", std::string(shape.function == "gelu" ? "geglu" : "swiglu")},
                 {"swiglu_fusion", int64_t{1}},
                 {"normalize_routing_weights", int64_t{shape.normalize ? 1 : 0}}};
  constexpr float kAlpha = 1.702F, kBeta = 1, kLimit = 7;  // their values change no count
  if (shape.limited) attrs.push_back({"swiglu_limit", kLimit});
  if (shape.clamped) {
    attrs.insert(
        attrs.end(),
        {{"activation_alpha", kAlpha}, {"activation_beta", kBeta}, {"swiglu_limit", kLimit}});
  }
  return b->Ops(
      "MoE",
      {x, scores, b->Weight("gate_up_proj", {e, 2 * i, h}), bias("gate_up_proj_bias", 2 * i),
       b->Weight("down_proj", {e, h, i}), bias("down_proj_bias", h)},
      {""}, attrs, "com.microsoft")[0];
}

Tensor PreNormLayers(GraphBuilder* b, Tensor x, const EncoderShape& s,
                     const EncoderLayerNames& names, int64_t first) {
  const int64_t h = s.hidden;
  for (int64_t i = first; i < s.layers; ++i) {
    const Scope layer(b, absl::StrCat("layers.", i), names.layer);
    Tensor y = LayerNorm(b, x, names.norm1, h);
    {
      const Scope attention(b, names.attention, names.attention_type);
      const std::vector<Tensor> qkv = Qkv(b, y, s, names);
      y = Attention(b, qkv[0], qkv[1], qkv[2], {s.heads, s.heads, h / s.heads, s.causal});
      y = Linear(b, y, names.out, h, h, true);
    }
    x = Add(b, x, y);
    y = LayerNorm(b, x, names.norm2, h);
    {
      const Scope mlp(b, names.mlp, names.mlp_type);
      y = Mlp(b, y, h, s.intermediate, s.activation, {names.fc1, names.fc2});
    }
    x = Add(b, x, y);
  }
  return x;
}

EncoderShape ReadEncoder(const Config& config, int64_t hidden, int64_t heads, int64_t layers,
                         int64_t intermediate, absl::string_view activation) {
  EncoderShape shape;
  shape.hidden = config.Size("hidden_size", hidden);
  shape.intermediate = config.Size("intermediate_size", intermediate);
  shape.layers = config.Layers("num_hidden_layers", layers);
  shape.heads = config.Size("num_attention_heads", heads);
  shape.activation = ReadActivation(config, "hidden_act", activation);
  config.RequireDivisible("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
  return shape;
}

Tensor Factor(GraphBuilder* b, double value) {
  const Tensor factor = b->Floats({static_cast<float>(value)});
  if (b->dtype() == DType::kFloat32) return factor;
  return b->Op("Cast", {factor}, {{"to", static_cast<int64_t>(b->dtype())}});
}

Tensor Logits(GraphBuilder* b, Tensor x, const Tensor& table, const LanguageModel& m) {
  if (m.scaled_hidden) x = b->Op("Div", {x, Factor(b, 1)});
  x = m.tied ? TiedLinear(b, x, m.head, table, m.head_bias ? m.vocab : 0)
             : Linear(b, x, m.head, m.hidden, m.vocab, m.head_bias);
  if (m.scaled) x = b->Op("Div", {x, Factor(b, 1)});
  if (m.multiplied) x = Mul(b, x, Factor(b, 1));
  if (m.softcap == 0) return x;
  const Tensor cap = Factor(b, m.softcap);
  return Mul(b, b->Op("Tanh", {b->Op("Div", {x, cap})}), cap);
}

absl::StatusOr<std::string> CausalModel(const Config& config, const LanguageModel& m,
                                        const LayersFn& layers) {
  const std::string root = config.RequireArchitecture({m.with_head, m.without_head});
  const bool with_head = root == m.with_head;
  const DType dtype = config.Precision();
  if (!config.notes().status.ok()) return config.notes().status;
  GraphBuilder b(root, dtype, config.notes().save);
  const Tensor ids = b.Input("input_ids", DType::kInt64, {"batch", m.tokens});
  Tensor positions;
  if (m.positioned) positions = b.Input("position_ids", DType::kInt64, {"batch", m.tokens});
  Tensor x, table;
  {
    std::optional<Scope> body;
    if (with_head) body.emplace(&b, m.body, m.without_head);
    x = layers(&b, ids, positions, &table);
  }
  if (!with_head) {
    b.Output("last_hidden_state", x, dtype, {"batch", m.tokens, m.hidden});
    return std::move(b).Finish();
  }
  b.Output("logits", Logits(&b, x, table, m), dtype, {"batch", m.tokens, m.vocab});
  return std::move(b).Finish();
}

ImageShape ReadImage(const Config& config, int64_t size, int64_t patch) {
  ImageShape image;
  image.channels = config.Size("num_channels", 3);
  image.size = config.Size("image_size", size);
  image.patch = config.Size("patch_size", patch);
  if (image.patch > image.size) config.Fault("patch_size", "is larger than the image");
  return image;
}

Tensor PatchEmbedding(GraphBuilder* b, const Tensor& pixels, const ImageShape& image,
                      int64_t hidden, absl::string_view name, bool bias) {
  Tensor x = Conv2d(b, pixels, name, {image.channels, hidden, image.patch, image.patch, bias});
  x = Reshape(b, x, {0, hidden, -1});
  return Transpose(b, x, {0, 2, 1});
}

}  // namespace onnxflops::family
