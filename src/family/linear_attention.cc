// How it works. A class takes one of two paths. A single token behind a state changes the state at
// once (a few products element by element). All other tokens are cut into chunks of 64: within a
// chunk the tokens meet as in attention, and a state goes from chunk to chunk. One graph has both
// paths, and tokens are split between them: one part is always empty. So the number of tokens and
// of those in the cache decides, and sizes stay open.
//
// The class goes through the chunks in a loop. Here the chunks are an axis, and so are the states
// before each: the same work in one operator. A graph cannot say that a state comes from the chunk
// before, so each chunk takes the first state. The values of a chunk are the solution of a system
// with a triangular matrix. PyTorch's counter of FLOPs counts no solver, so it is no contraction
// here either: each number below the diagonal is multiplied with a solved row, and taken from the
// row of its own. A runtime solves in place; here the products are a tensor.
//
// A convolution keeps as many tokens as its kernel has (one would do with one less), and the class
// computes positions that nobody reads: behind the last token, and for a single token one before.
#include "src/family/linear_attention.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace onnxflops::family {

TokenPath PathOf(GraphBuilder* b, const Tensor& x, const Tensor& past) {
  const Tensor one = b->Ints({1});
  TokenPath path = {.batch = SizeOf(b, x, 0), .tokens = SizeOf(b, x, 1)};
  path.chunked = path.tokens;
  if (!past.empty()) {
    path.cached = b->Op("Min", {past, one});
    const Tensor single = b->Op("Max", {b->Op("Sub", {b->Ints({2}), path.tokens}), b->Ints({0})});
    path.step = Mul(b, path.cached, single);
    path.chunked = Mul(b, path.tokens, b->Op("Sub", {one, path.step}));
  }
  path.chunks = b->Op("Div", {Add(b, path.chunked, b->Ints({kChunk - 1})), b->Ints({kChunk})});
  return path;
}

namespace {

std::vector<Tensor> SplitBy(GraphBuilder* b, const Tensor& x, const std::vector<Tensor>& sizes,
                            int64_t axis) {
  return b->Ops("Split", {x, Concat(b, sizes, 0)}, std::vector<std::string>(sizes.size()),
                {{"axis", axis}});
}

Tensor Unsqueeze(GraphBuilder* b, const Tensor& x, const std::vector<int64_t>& axes) {
  return b->Op("Unsqueeze", {x, b->Ints(axes)});
}

Tensor PadAxis(GraphBuilder* b, const Tensor& x, const Tensor& before, const Tensor& after,
               int64_t axis) {
  return b->Op("Pad", {x, Concat(b, {before, after}, 0), "", b->Ints({axis})});
}

// The state of a layer in the cache, and its name behind the tokens.
struct PastState {
  Tensor value;
  std::string present;
};
PastState StateOf(GraphBuilder* b, int64_t layer, const char* what, DType dtype, const Dims& dims) {
  PastState state = {b->Input(absl::StrCat("past_key_values.", layer, ".", what), dtype, dims),
                     absl::StrCat("present.", layer, ".", what)};
  b->DeclareOutput(state.present, dtype, dims);
  return state;
}

Tensor DepthwiseConv(GraphBuilder* b, const Tensor& x, const CausalConvShape& s, int64_t padding) {
  const Scope scope(b, s.name, "Conv1d");
  std::vector<Tensor> inputs = {x, b->Weight("weight", {s.channels, 1, s.kernel})};
  if (s.bias) inputs.push_back(b->Weight("bias", {s.channels}));
  return b->Op("Conv", inputs,
               {{"kernel_shape", std::vector<int64_t>{s.kernel}},
                {"pads", std::vector<int64_t>{padding, padding}},
                {"group", s.channels}});
}

// Behind a state; x and the result are [batch, channels, tokens].
Tensor ConvBehindState(GraphBuilder* b, const Tensor& x, const CausalConvShape& s, int64_t layer,
                       const TokenPath& path) {
  const PastState state = StateOf(b, layer, s.state, b->dtype(), {"batch", s.channels, s.kernel});
  const Tensor kernel = b->Ints({s.kernel}), one = b->Ints({1});
  const Tensor all = Concat(b, {state.value, x}, 2);
  b->Ops("Split", {all, Concat(b, {path.tokens, kernel}, 0)}, {"", state.present},
         {{"axis", int64_t{2}}});
  const Tensor held = Mul(b, path.cached, kernel);
  const Tensor unused = b->Op("Sub", {kernel, held});
  const Tensor seen = SplitBy(b, all, {unused, Add(b, held, path.tokens)}, 2)[1];
  const Tensor more = b->Op("Sub", {one, path.step});
  const Tensor padding = Mul(b, more, b->Ints({s.kernel - 1}));
  const Tensor y = DepthwiseConv(b, PadAxis(b, seen, padding, padding, 2), s, 0);
  const Tensor before = Add(b, Mul(b, held, more), path.step);
  const Tensor after = b->Op("Sub", {SizeOf(b, y, 2), Add(b, before, path.tokens)});
  return SplitBy(b, y, {before, path.tokens, after}, 2)[1];
}

}  // namespace

Tensor CausalConv(GraphBuilder* b, const Tensor& x, const CausalConvShape& s, int64_t layer,
                  const TokenPath& path) {
  Tensor y = Transpose(b, x, {0, 2, 1});
  if (path.cached.empty()) {
    y = DepthwiseConv(b, y, s, s.kernel - 1);
    y = SplitBy(b, y, {path.tokens, b->Ints({s.kernel - 1})}, 2)[0];
  } else {
    y = ConvBehindState(b, y, s, layer, path);
  }
  if (!s.activation.empty()) y = Activate(b, y, s.activation);
  return Transpose(b, y, {0, 2, 1});
}

namespace {

// Everything is float32 and by head: [batch, heads, tokens, dim], [batch, heads, tokens].
class DeltaBuilder {
 public:
  DeltaBuilder(GraphBuilder* b, const DeltaShape& shape, const TokenPath& path)
      : b_(b), s_(shape), p_(path) {}

  Tensor Build(const DeltaInputs& inputs, int64_t layer) {
    DeltaInputs x = {.q = Normed(ByHead(inputs.q, s_.key_heads, s_.key_dim)),
                     .k = Normed(ByHead(inputs.k, s_.key_heads, s_.key_dim)),
                     .v = ByHead(inputs.v, s_.value_heads, s_.value_dim),
                     .decay = Float(Transpose(b_, inputs.decay, {0, 2, 1})),
                     .beta = Float(Transpose(b_, inputs.beta, {0, 2, 1}))};
    x.q = Mul(b_, x.q, b_->Floats({1}));
    Tensor y;
    if (p_.cached.empty()) {
      const Tensor sizes =
          Concat(b_, {p_.batch, b_->Ints({s_.value_heads, 1, s_.key_dim, s_.value_dim})}, 0);
      y = Chunked(x, b_->Op("Expand", {b_->Floats({0}), sizes})).y;
    } else {
      y = BehindState(x, layer);
    }
    y = Transpose(b_, y, {0, 2, 1, 3});
    if (b_->dtype() == DType::kFloat32) return y;
    return b_->Op("Cast", {y}, {{"to", static_cast<int64_t>(b_->dtype())}});
  }

 private:
  struct Found {
    Tensor y, states;  // the states behind each chunk, or behind the token
  };

  Tensor Float(const Tensor& x) {
    if (b_->dtype() == DType::kFloat32) return x;
    return b_->Op("Cast", {x}, {{"to", static_cast<int64_t>(DType::kFloat32)}});
  }
  Tensor Sub(const Tensor& x, const Tensor& y) { return b_->Op("Sub", {x, y}); }
  Tensor Exp(const Tensor& x) { return b_->Op("Exp", {x}); }
  Tensor Column(const Tensor& x) { return Unsqueeze(b_, x, {-1}); }
  Tensor MatMul(const Tensor& x, const Tensor& y) { return b_->Op("MatMul", {x, y}); }
  Tensor Turned(const Tensor& x) { return Transpose(b_, x, {0, 1, 2, 4, 3}); }

  // A head of keys serves neighbouring heads of values.
  Tensor ByHead(const Tensor& x, int64_t heads, int64_t dim) {
    Tensor y = Reshape(b_, x, {0, 0, heads, dim});
    if (const int64_t times = s_.value_heads / heads; times > 1) {
      y = b_->Op("Expand", {Unsqueeze(b_, y, {3}), b_->Ints({1, 1, 1, times, 1})});
      y = Reshape(b_, y, {0, 0, s_.value_heads, dim});
    }
    return Float(Transpose(b_, y, {0, 2, 1, 3}));
  }

  Tensor Normed(const Tensor& x) {
    const Tensor sum = b_->Op("ReduceSum", {Mul(b_, x, x), b_->Ints({-1})});
    const Tensor root = b_->Op("Sqrt", {Add(b_, sum, b_->Floats({1e-6F}))});
    return Mul(b_, x, b_->Op("Reciprocal", {root}));
  }

  Tensor BehindState(const DeltaInputs& x, int64_t layer) {
    const PastState state = StateOf(b_, layer, "recurrent", DType::kFloat32,
                                    {"batch", s_.value_heads, s_.key_dim, s_.value_dim});
    const Tensor first = Unsqueeze(b_, state.value, {2});
    DeltaInputs many, single;
    for (Tensor DeltaInputs::*part : {&DeltaInputs::q, &DeltaInputs::k, &DeltaInputs::v,
                                      &DeltaInputs::decay, &DeltaInputs::beta}) {
      const std::vector<Tensor> parts = SplitBy(b_, x.*part, {p_.chunked, p_.step}, 2);
      many.*part = parts[0], single.*part = parts[1];
    }
    const Found chunked = Chunked(many, first), stepped = Stepped(single, first);
    const Tensor states = Concat(b_, {first, chunked.states, stepped.states}, 2);
    b_->Ops("Gather", {states, b_->Scalar(-1)}, {state.present}, {{"axis", int64_t{2}}});
    return Concat(b_, {chunked.y, stepped.y}, 2);
  }

  // The state decays, what it holds for the key is taken from the value, and the rest is added.
  Found Stepped(const DeltaInputs& x, const Tensor& first) {
    Tensor state = Mul(b_, first, Unsqueeze(b_, Exp(x.decay), {3, 4}));
    const Tensor k = Column(x.k), rows = b_->Ints({-2});
    const auto read = [&](const Tensor& by) {
      return b_->Op("ReduceSum", {Mul(b_, state, by), rows}, {{"keepdims", int64_t{0}}});
    };
    const Tensor delta = Mul(b_, Sub(x.v, read(k)), Column(x.beta));
    state = Add(b_, state, Mul(b_, k, Unsqueeze(b_, delta, {-2})));
    return {read(Column(x.q)), state};
  }

  // [batch, heads, chunks, kChunk, dim], or without the last.
  Tensor Chunks(const Tensor& x, int64_t dim) {
    const Tensor padding = b_->Op("Sub", {Mul(b_, p_.chunks, b_->Ints({kChunk})), p_.chunked});
    const Tensor padded = PadAxis(b_, x, b_->Ints({0}), padding, 2);
    std::vector<int64_t> last = {kChunk};
    if (dim > 0) last.push_back(dim);
    return ReshapeBy(b_, padded, {p_.batch, b_->Ints({s_.value_heads}), p_.chunks, b_->Ints(last)});
  }

  Found Chunked(const DeltaInputs& x, const Tensor& first) {
    Tensor q = Chunks(x.q, s_.key_dim), k = Chunks(x.k, s_.key_dim);
    const Tensor beta = Column(Chunks(x.beta, 0)), decay = Chunks(x.decay, 0);
    const Tensor v_beta = Mul(b_, Chunks(x.v, s_.value_dim), beta), k_beta = Mul(b_, k, beta);
    const Tensor sums = b_->Op("CumSum", {decay, b_->Scalar(3)});
    const Tensor pairs = Exp(Causal(Sub(Unsqueeze(b_, sums, {4}), Unsqueeze(b_, sums, {3}))));
    const Tensor system = Mul(b_, MatMul(k_beta, Turned(k)), pairs);
    const Tensor scores = Mul(b_, MatMul(q, Turned(k)), pairs);
    const Tensor decayed_k = Mul(b_, k_beta, Column(Exp(sums)));
    const Tensor values = Solved(system, v_beta), keys = Solved(system, decayed_k);
    const Tensor last = b_->Op("Gather", {sums, b_->Ints({-1})}, {{"axis", int64_t{3}}});
    q = Mul(b_, q, Column(Exp(sums)));
    k = Mul(b_, k, Column(Exp(Sub(last, sums))));
    const Tensor fresh = Sub(values, MatMul(keys, first));
    const Tensor y = Add(b_, MatMul(q, first), MatMul(scores, fresh));
    const Tensor states = Add(b_, Mul(b_, first, Column(Exp(last))), MatMul(Turned(k), fresh));
    return {Tokens(y), states};
  }

  // Minus infinity above the diagonal.
  Tensor Causal(const Tensor& x) {
    const Tensor places = b_->Op("Range", {b_->Scalar(0), b_->Scalar(kChunk), b_->Scalar(1)});
    const Tensor later = b_->Op("Less", {Column(places), places});
    return b_->Op("Where", {later, b_->Floats({-1e30F}), x});
  }

  // Rows below the first take the products of the rows above: kChunk (kChunk - 1) / 2 pairs.
  Tensor Solved(const Tensor& system, const Tensor& right) {
    constexpr int64_t kPairs = kChunk * (kChunk - 1) / 2;
    const Tensor flat = ReshapeBy(
        b_, system, {p_.batch, b_->Ints({s_.value_heads}), p_.chunks, b_->Ints({kChunk * kChunk})});
    const Tensor below =
        b_->Op("Gather", {Transpose(b_, flat, {3, 0, 1, 2}), b_->IndexTable(kPairs)});
    const Tensor rows = Transpose(b_, right, {3, 0, 1, 2, 4});
    const Tensor above = b_->Op("Gather", {rows, b_->IndexTable(kPairs)});
    const Tensor places = Reshape(b_, b_->IndexTable(kPairs), {kPairs, 1});
    const Tensor solved = b_->Op("ScatterND", {rows, places, Mul(b_, above, Column(below))},
                                 {{"reduction", std::string("add")}});
    return Transpose(b_, solved, {1, 2, 3, 0, 4});
  }

  // Without the padding: [batch, heads, tokens, dim].
  Tensor Tokens(const Tensor& x) {
    const Tensor padded = Mul(b_, p_.chunks, b_->Ints({kChunk}));
    const Tensor y =
        ReshapeBy(b_, x, {p_.batch, b_->Ints({s_.value_heads}), padded, b_->Ints({s_.value_dim})});
    return SplitBy(b_, y, {p_.chunked, b_->Op("Sub", {padded, p_.chunked})}, 2)[0];
  }

  GraphBuilder* b_;
  const DeltaShape& s_;
  const TokenPath& p_;
};

}  // namespace

Tensor GatedDeltaRule(GraphBuilder* b, const DeltaInputs& inputs, const DeltaShape& shape,
                      int64_t layer, const TokenPath& path) {
  return DeltaBuilder(b, shape, path).Build(inputs, layer);
}

DeltaNet ReadDeltaNet(const Config& config) {
  DeltaNet net;
  net.key_heads = config.Size("linear_num_key_heads", 16);
  net.value_heads = config.Size("linear_num_value_heads", 32);
  net.key_dim = config.Size("linear_key_head_dim", 128);
  net.value_dim = config.Size("linear_value_head_dim", 128);
  net.kernel = config.Size("linear_conv_kernel_dim", 4);
  config.RequireDivisible("linear_num_value_heads", net.value_heads, "linear_num_key_heads",
                          net.key_heads);
  return net;
}

namespace {

// Projections of a token: queries, keys and values; their gate; the gates of the state.
struct DeltaProjections {
  Tensor qkv, z, a, b;
};

DeltaProjections ProjectApart(GraphBuilder* b, const Tensor& x, const DeltaNet& net) {
  const int64_t keys = net.key_heads * net.key_dim, values = net.value_heads * net.value_dim;
  const Tensor qkv = Linear(b, x, "in_proj_qkv", net.hidden, 2 * keys + values, false);
  const Tensor z = Linear(b, x, "in_proj_z", net.hidden, values, false);
  const Tensor beta = Linear(b, x, "in_proj_b", net.hidden, net.value_heads, false);
  return {qkv, z, Linear(b, x, "in_proj_a", net.hidden, net.value_heads, false), beta};
}

// What belongs to a head of keys stands together.
DeltaProjections ProjectFused(GraphBuilder* b, const Tensor& x, const DeltaNet& net) {
  const int64_t keys = net.key_heads * net.key_dim, values = net.value_heads * net.value_dim;
  const int64_t times = net.value_heads / net.key_heads, group = times * net.value_dim;
  Tensor qkvz = Linear(b, x, "in_proj_qkvz", net.hidden, 2 * keys + 2 * values, false);
  qkvz = Reshape(b, qkvz, {0, 0, net.key_heads, 2 * net.key_dim + 2 * group});
  std::vector<Tensor> parts = Split(b, qkvz, {net.key_dim, net.key_dim, group, group}, 3);
  for (Tensor& part : parts) part = Reshape(b, part, {0, 0, -1});
  Tensor ba = Linear(b, x, "in_proj_ba", net.hidden, 2 * net.value_heads, false);
  ba = Reshape(b, ba, {0, 0, net.key_heads, 2 * times});
  std::vector<Tensor> gates = Split(b, ba, {times, times}, 3);
  for (Tensor& gate : gates) gate = Reshape(b, gate, {0, 0, net.value_heads});
  return {Concat(b, {parts[0], parts[1], parts[2]}, -1), parts[3], gates[1], gates[0]};
}

Tensor InFloat(GraphBuilder* b, const Tensor& x) {
  if (b->dtype() == DType::kFloat32) return x;
  return b->Op("Cast", {x}, {{"to", static_cast<int64_t>(DType::kFloat32)}});
}

// -e^A_log softplus(a + dt_bias).
Tensor LogDecay(GraphBuilder* b, const Tensor& a, int64_t heads) {
  const Tensor rate = b->Op("Neg", {b->Op("Exp", {InFloat(b, b->Weight("A_log", {heads}))})});
  const Tensor bias = InFloat(b, b->Weight("dt_bias", {heads}));
  return Mul(b, rate, b->Op("Softplus", {Add(b, InFloat(b, a), bias)}));
}

}  // namespace

Tensor GatedDeltaNet(GraphBuilder* b, const Tensor& x, const DeltaNet& net, int64_t layer,
                     const TokenPath& path) {
  const Scope scope(b, "linear_attn", absl::StrCat(net.prefix, "GatedDeltaNet"));
  const int64_t keys = net.key_heads * net.key_dim, values = net.value_heads * net.value_dim;
  const DeltaProjections in = net.fused ? ProjectFused(b, x, net) : ProjectApart(b, x, net);
  const Tensor qkv = CausalConv(
      b, in.qkv,
      {.channels = 2 * keys + values, .kernel = net.kernel, .activation = net.activation}, layer,
      path);
  const std::vector<Tensor> parts = Split(b, qkv, {keys, keys, values}, -1);
  const DeltaInputs inputs = {.q = parts[0],
                              .k = parts[1],
                              .v = parts[2],
                              .decay = LogDecay(b, in.a, net.value_heads),
                              .beta = b->Op("Sigmoid", {in.b})};
  Tensor y = GatedDeltaRule(b, inputs, net, layer, path);
  {
    const Scope norm(b, "norm", absl::StrCat(net.prefix, "RMSNormGated"));
    y = b->Op("RMSNormalization", {y, b->Weight("weight", {net.value_dim})});
    const Tensor z = Reshape(b, in.z, {0, 0, net.value_heads, net.value_dim});
    y = Mul(b, y, Activate(b, z, "silu"));
  }
  return Linear(b, Reshape(b, y, {0, 0, values}), "out_proj", values, net.hidden, false);
}

}  // namespace onnxflops::family
