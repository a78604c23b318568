// How it works. A mixer projects its input, runs a causal convolution of a few tokens over each
// feature, and then a scan: a state for each feature that every token shrinks and adds to. The
// graph has the contractions of the reference implementation's path without CUDA kernels.
//
// A text runs in another form than a step. For one token after a state, the state is multiplied and
// added to once. Mamba scans a text with a loop over tokens. Here all tokens are one operator, with
// the tokens as a dimension: the work is the same, and the operand of the product is a stand-in for
// the state before. Mamba 2 cuts a text into chunks, and pads the last. Inside a chunk each token
// looks at those before it as in attention, and between chunks only states are passed on. A token
// of padding costs as much as another.
//
// The convolution of a text pads kernel - 1 tokens on both sides, and what is behind the text is
// cut off. That of a step reads the last `kernel` tokens and the new one, which gives two results,
// of which the last is used. PyTorch computes, and counts, all of these.
#include "src/family/state_space.h"

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/family/linear_attention.h"

namespace onnxflops::family {
namespace {

Tensor AddAxis(GraphBuilder* b, const Tensor& x, int64_t axis) {
  return b->Op("Unsqueeze", {x, b->Ints({axis})});
}

Tensor MixerSlice(GraphBuilder* b, const Tensor& x, const Tensor& from, const Tensor& to,
                  int64_t axis) {
  return b->Op("Slice", {x, from, to, b->Ints({axis})});
}

// A number that is no list, of the type that the model computes in.
Tensor MixerNumber(GraphBuilder* b, double value) { return b->Op("Squeeze", {Factor(b, value)}); }

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr int64_t kBehindAll = int64_t{1} << 62;

Tensor MixerLast(GraphBuilder* b, const Tensor& x, int64_t count, int64_t axis) {
  return MixerSlice(b, x, b->Ints({-count}), b->Ints({kBehindAll}), axis);
}

// Of [batch, seq, width], and its activation.
Tensor MixerConv(GraphBuilder* b, const Tensor& x, int64_t width, const MixerShape& s,
                 int64_t layer) {
  const int64_t k = s.kernel;
  Tensor y = Transpose(b, x, {0, 2, 1});
  int64_t padding = k - 1;
  if (s.step) {
    const PastState state = CachedState(b, layer, "conv_state", b->dtype(), {"batch", width, k});
    y = Concat(b, {state.value, y}, 2);
    b->Ops("Slice", {y, b->Ints({-k}), b->Ints({kBehindAll}), b->Ints({2})}, {state.present});
    padding = 0;
  }
  std::vector<Tensor> inputs = {y, b->Weight("conv1d.weight", {width, 1, k})};
  if (s.conv_bias) inputs.push_back(b->Weight("conv1d.bias", {width}));
  y = b->Op("Conv", inputs,
            {{"kernel_shape", std::vector<int64_t>{k}},
             {"pads", std::vector<int64_t>{padding, padding}},
             {"group", width}});
  y = s.step ? MixerLast(b, y, 1, 2) : MixerSlice(b, y, b->Ints({0}), SizeOf(b, x, 1), 2);
  return Transpose(b, Activate(b, y, s.activation), {0, 2, 1});
}

// How fast states shrink.
Tensor NegativeRates(GraphBuilder* b, const std::vector<int64_t>& dims) {
  return b->Op("Neg", {b->Op("Exp", {b->Weight("A_log", dims)})});
}

// x + D x and, with a gate, times its activation.
Tensor SkipAndGate(GraphBuilder* b, Tensor y, const Tensor& x, const Tensor& d,
                   const Tensor& gate) {
  y = Add(b, y, Mul(b, x, d));
  return gate.empty() ? y : Mul(b, y, b->Op("Swish", {gate}));
}

// The states behind `past`, to which `inputs` add.
Tensor NewStates(GraphBuilder* b, const Tensor& decay, const Tensor& inputs, const Tensor& past) {
  return Add(b, Mul(b, decay, past), inputs);
}

// The same in a step, of [batch, ...]. The cache holds float32, whatever the weights are.
Tensor StepStates(GraphBuilder* b, const Tensor& decay, const Tensor& inputs, int64_t layer,
                  const Dims& dims) {
  const PastState state = CachedState(b, layer, "recurrent_state", DType::kFloat32, dims);
  if (b->dtype() == DType::kFloat32) {
    return b->Ops("Add", {Mul(b, decay, state.value), inputs}, {state.present})[0];
  }
  const auto to = [&](DType dtype) { return Attrs{{"to", static_cast<int64_t>(dtype)}}; };
  const Tensor past = b->Op("Cast", {state.value}, to(b->dtype()));
  const Tensor states = NewStates(b, decay, inputs, past);
  b->Ops("Cast", {states}, {state.present}, to(DType::kFloat32));
  return states;
}

}  // namespace

Tensor MambaMixer(GraphBuilder* b, const Tensor& in, const MambaShape& s, int64_t layer) {
  const std::vector<Tensor> parts =
      Split(b, Linear(b, in, "in_proj", s.hidden, 2 * s.inner, s.in_bias), {s.inner, s.inner}, -1);
  const Tensor x = MixerConv(b, parts[0], s.inner, s, layer);
  std::vector<Tensor> selected =
      Split(b, Linear(b, x, "x_proj", s.inner, s.rank + 2 * s.state, false),
            {s.rank, s.state, s.state}, -1);
  if (!s.norm_type.empty()) {
    selected = {RmsNorm(b, selected[0], "dt_layernorm", s.rank, s.norm_type),
                RmsNorm(b, selected[1], "b_layernorm", s.state, s.norm_type),
                RmsNorm(b, selected[2], "c_layernorm", s.state, s.norm_type)};
  }
  // The class multiplies by the weight of this layer, and does not call it.
  Tensor dt = b->Op("MatMul", {selected[0], b->Weight("dt_proj.weight", {s.rank, s.inner})});
  dt = b->Op("Softplus", {Add(b, dt, b->Weight("dt_proj.bias", {s.inner}))});
  dt = AddAxis(b, dt, -1);  // [batch, seq, inner, 1]
  const Tensor rates = NegativeRates(b, {s.inner, s.state});
  const Tensor decay = b->Op("Exp", {Mul(b, dt, rates)});
  const Tensor inputs =
      Mul(b, Mul(b, dt, AddAxis(b, selected[1], 2)), AddAxis(b, x, -1));  // by feature and state
  Tensor states;
  if (s.step) {
    const auto only = [&](const Tensor& y) { return b->Op("Squeeze", {y, b->Ints({1})}); };
    states =
        AddAxis(b, StepStates(b, only(decay), only(inputs), layer, {"batch", s.inner, s.state}), 1);
  } else {
    states = NewStates(b, decay, inputs, inputs);
  }
  Tensor y = b->Op("MatMul", {states, AddAxis(b, selected[2], -1)});
  y = b->Op("Squeeze", {y, b->Ints({-1})});
  y = SkipAndGate(b, y, x, b->Weight("D", {s.inner}), parts[1]);
  return Linear(b, y, "out_proj", s.inner, s.hidden, s.out_bias);
}

namespace {

// By head, [batch, seq, groups * state] -> [batch, seq, heads, state].
Tensor RepeatStatesByHead(GraphBuilder* b, const Tensor& x, const Mamba2Shape& s) {
  const int64_t each = s.heads / s.groups;
  Tensor y = Reshape(b, x, {0, 0, s.groups, 1, s.state});
  if (each > 1) y = b->Op("Expand", {y, b->Ints({1, 1, 1, each, 1})});
  return Reshape(b, y, {0, 0, s.heads, s.state});
}

// Over one state, or in chunks of one token, this is a sum over one element: PyTorch then
// multiplies element by element, and FlopCounterMode counts nothing.
Tensor MixerEinsum(GraphBuilder* b, const char* equation, const Tensor& x, const Tensor& y) {
  return b->Op("Einsum", {x, y}, {{"equation", std::string(equation)}});
}

// exp of the sum of x over i < k <= j, for each two places i and j of its last axis, of `size`.
// What is above the diagonal is filled with a constant, which is no work.
Tensor DecayBetween(GraphBuilder* b, const Tensor& x, const Tensor& size) {
  const Attrs lower = {{"upper", int64_t{0}}};
  Tensor y = b->Op("Expand", {AddAxis(b, x, -1), size});
  y = b->Op("Trilu", {y, b->Scalar(-1)}, lower);
  y = b->Op("CumSum", {y, b->Scalar(-2)});
  return b->Op("Trilu", {b->Op("Exp", {y})}, lower);
}

// Scans a text in chunks.
class ChunkScan {
 public:
  ChunkScan(GraphBuilder* b, const Mamba2Shape& shape, const Tensor& like) : b_(b), s_(shape) {
    seq_ = SizeOf(b, like, 1);
    const Tensor size = b->Ints({s_.chunk});
    const Tensor rounded = Add(b, seq_, b->Ints({s_.chunk - 1}));
    chunks_ = b->Op("Div", {rounded, size});
    padding_ = b->Op("Sub", {Mul(b, chunks_, size), seq_});
  }

  // x [batch, seq, heads, head_dim]; dt [batch, seq, heads]; reads and writes by head.
  Tensor Run(const Tensor& x, const Tensor& dt, const Tensor& reads, const Tensor& writes) {
    const Tensor skipped =
        Mul(b_, b_->Op("Unsqueeze", {b_->Weight("D", {s_.heads}), b_->Ints({1})}), Padded(x, 4));
    const Tensor inputs = InChunks(Mul(b_, x, AddAxis(b_, dt, -1)), s_.head_dim);
    const Tensor c = InChunks(reads, s_.state), w = InChunks(writes, s_.state);
    const Tensor rates = Mul(b_, NegativeRates(b_, {s_.heads}), dt);
    const Tensor a = Transpose(b_, InChunks(rates, 0), {0, 3, 1, 2});  // [b, heads, chunks, chunk]
    const Tensor sums = b_->Op("CumSum", {a, b_->Scalar(-1)});
    const Tensor inside = Inside(inputs, c, w, a);
    const Tensor states = StatesBefore(inputs, w, sums);
    const Tensor decay = Transpose(b_, b_->Op("Exp", {sums}), {0, 2, 3, 1});
    const Tensor before =
        Mul(b_, MixerEinsum(b_, "bclhn,bchpn->bclhp", c, states), AddAxis(b_, decay, -1));
    Tensor y =
        ReshapeBy(b_, Add(b_, inside, before),
                  {SizeOf(b_, x, 0), Add(b_, seq_, padding_), b_->Ints({s_.heads, s_.head_dim})});
    y = Add(b_, y, skipped);
    return MixerSlice(b_, y, b_->Ints({0}), seq_, 1);
  }

 private:
  // With zeros behind the text, up to a whole chunk.
  Tensor Padded(const Tensor& x, int64_t rank) {
    std::vector<int64_t> before(static_cast<size_t>(rank) + 1),
        after(static_cast<size_t>(rank) - 2);
    return b_->Op("Pad", {x, Concat(b_, {b_->Ints(before), padding_, b_->Ints(after)}, 0)});
  }

  // [batch, seq, heads, width] -> [batch, chunks, chunk, heads, width], or without the last.
  Tensor InChunks(const Tensor& x, int64_t width) {
    std::vector<int64_t> sizes = {s_.chunk, s_.heads};
    if (width > 0) sizes.push_back(width);
    return ReshapeBy(b_, Padded(x, width > 0 ? 4 : 3),
                     {SizeOf(b_, x, 0), chunks_, b_->Ints(sizes)});
  }

  // What tokens read of others in their chunk.
  Tensor Inside(const Tensor& x, const Tensor& reads, const Tensor& writes, const Tensor& a) {
    const Tensor decay = DecayBetween(b_, a, b_->Ints({s_.chunk}));
    const Tensor scores = MixerEinsum(b_, "bclhn,bcshn->bclsh", reads, writes);
    return MixerEinsum(b_, "bclsh,bcshp->bclhp",
                       Mul(b_, scores, Transpose(b_, decay, {0, 2, 3, 4, 1})), x);
  }

  // The states at the begin of each chunk. That at the end of the text is computed, too.
  Tensor StatesBefore(const Tensor& x, const Tensor& writes, const Tensor& sums) {
    const Tensor last = MixerLast(b_, sums, 1, 3);
    const Tensor decay = Transpose(b_, b_->Op("Exp", {b_->Op("Sub", {last, sums})}), {0, 2, 3, 1});
    Tensor states =
        MixerEinsum(b_, "bclhn,bclhp->bchpn", Mul(b_, writes, AddAxis(b_, decay, -1)), x);
    states = b_->Op("Pad", {states, b_->Ints({0, 1, 0, 0, 0, 0, 0, 0, 0, 0})});  // zeros before
    const Tensor totals = b_->Op("Squeeze", {last, b_->Ints({3})});
    const Tensor after = b_->Op("Pad", {totals, b_->Ints({0, 0, 1, 0, 0, 0})});
    const Tensor between = DecayBetween(b_, after, Add(b_, chunks_, b_->Ints({1})));
    states = MixerEinsum(b_, "bzch,bzhpn->bchpn", Transpose(b_, between, {0, 3, 2, 1}), states);
    return MixerSlice(b_, states, b_->Ints({0}), chunks_, 1);
  }

  GraphBuilder* b_;
  const Mamba2Shape& s_;
  Tensor seq_, chunks_, padding_;
};

// One token: x [batch, heads, head_dim], dt [batch, 1, heads].
Tensor ScanStep(GraphBuilder* b, const Tensor& x, const Tensor& dt, const Tensor& reads,
                const Tensor& writes, const Mamba2Shape& s, int64_t layer) {
  const Tensor bias = AddAxis(b, b->Weight("dt_bias", {s.heads}), 1);
  const Tensor by_feature =
      b->Op("Expand", {Transpose(b, dt, {0, 2, 1}), b->Ints({1, 1, s.head_dim})});
  const Tensor times = AddAxis(b, b->Op("Softplus", {Add(b, by_feature, bias)}), -1);
  const Tensor rates = b->Op("Expand", {Reshape(b, NegativeRates(b, {s.heads}), {s.heads, 1, 1}),
                                        b->Ints({s.heads, s.head_dim, s.state})});
  const Tensor decay = b->Op("Exp", {Mul(b, times, rates)});
  const Tensor inputs =
      Mul(b, Mul(b, times, Transpose(b, writes, {0, 2, 1, 3})), AddAxis(b, x, -1));
  const Tensor states =
      StepStates(b, decay, inputs, layer, {"batch", s.heads, s.head_dim, s.state});
  Tensor y = b->Op("MatMul", {states, Transpose(b, reads, {0, 2, 3, 1})});
  y = b->Op("Squeeze", {y, b->Ints({-1})});
  return Add(b, y, Mul(b, x, AddAxis(b, b->Weight("D", {s.heads}), 1)));
}

// A norm of each group of features, with a gate before or behind it.
Tensor GatedMixerNorm(GraphBuilder* b, Tensor x, const Tensor& gate, const Mamba2Shape& s) {
  if (s.norm == GatedNorm::kNone) return Mul(b, x, b->Op("Swish", {gate}));
  const Scope norm(b, "norm", s.norm_type);
  const bool gate_first = s.norm == GatedNorm::kGateFirst;
  if (gate_first) x = Mul(b, x, b->Op("Swish", {gate}));
  Tensor weight = b->Weight("weight", {s.inner});
  if (s.groups == 1) {
    x = b->Op("RMSNormalization", {x, weight});
  } else {
    const int64_t size = s.inner / s.groups;
    weight = Reshape(b, weight, {s.groups, size});
    x = b->Op("RMSNormalization", {Reshape(b, x, {0, 0, s.groups, size}), weight});
    x = Reshape(b, x, {0, 0, s.inner});
  }
  return gate_first ? x : Mul(b, x, b->Op("Swish", {gate}));
}

Tensor ProjectMixer(GraphBuilder* b, Tensor x, const Mamba2Shape& s) {
  const int64_t width = s.inner + s.ConvWidth() + s.heads;
  if (s.scaled) x = Mul(b, x, Factor(b, 1));
  x = Linear(b, x, "in_proj", s.hidden, width, s.in_bias);
  if (!s.scaled) return x;
  Tensor factors = b->Table(width);
  if (b->dtype() != DType::kFloat32) {
    factors = b->Op("Cast", {factors}, {{"to", static_cast<int64_t>(b->dtype())}});
  }
  return Mul(b, x, factors);
}

}  // namespace

Tensor Mamba2Mixer(GraphBuilder* b, const Tensor& in, const Mamba2Shape& s, int64_t layer) {
  const std::vector<Tensor> parts =
      Split(b, ProjectMixer(b, in, s), {s.inner, s.ConvWidth(), s.heads}, -1);
  const int64_t by_group = s.groups * s.state;
  const std::vector<Tensor> mixed =
      Split(b, MixerConv(b, parts[1], s.ConvWidth(), s, layer), {s.inner, by_group, by_group}, -1);
  const Tensor writes = RepeatStatesByHead(b, mixed[1], s),
               reads = RepeatStatesByHead(b, mixed[2], s);
  Tensor y;
  if (s.step) {
    const Tensor x = Reshape(b, mixed[0], {0, s.heads, s.head_dim});
    y = AddAxis(b, ScanStep(b, x, parts[2], reads, writes, s, layer), 1);
  } else {
    const Tensor x = Reshape(b, mixed[0], {0, 0, s.heads, s.head_dim});
    Tensor dt = b->Op("Softplus", {Add(b, parts[2], b->Weight("dt_bias", {s.heads}))});
    // The limits of a file change no count. Without them the class clips to 0 and infinity.
    dt = b->Op("Clip", {dt, MixerNumber(b, 0), MixerNumber(b, kNoLimit)});
    y = ChunkScan(b, s, x).Run(x, dt, reads, writes);
  }
  y = GatedMixerNorm(b, Reshape(b, y, {0, 0, s.inner}), parts[0], s);
  return Linear(b, y, "out_proj", s.inner, s.hidden, s.out_bias);
}

Dim NewTokens(const Config& config) { return config.notes().decoding ? Dim(1) : Dim("seq"); }

int64_t ReadInner(const Config& config, const char* key, int64_t otherwise, int64_t hidden) {
  const int64_t inner = config.Size(key, otherwise) * hidden;
  if (inner <= kMaxConfigSize) return inner;
  config.Fault(key, absl::StrCat("makes a mixer ", inner, " wide"));
  return 1;
}

int64_t ReadTimeStepRank(const Config& config, const char* key, int64_t hidden) {
  const int64_t sixteenth = (hidden + 15) / 16;
  return config.HasText(key) ? sixteenth : config.Size(key, sixteenth);
}

void RequireMamba2(const Config& config, const char* heads_key, const char* head_dim_key,
                   const char* groups_key, const Mamba2Shape& s) {
  if (s.heads * s.head_dim != s.inner) {
    config.Fault(head_dim_key, absl::StrCat("is ", s.head_dim, ", and ", heads_key, " is ", s.heads,
                                            ": a mixer is ", s.inner, " wide"));
  }
  config.RequireDivisible(heads_key, s.heads, groups_key, s.groups);
  config.RequireDivisible("the width of a mixer", s.inner, groups_key, s.groups);
  if (s.groups * s.state > kMaxConfigSize) {
    config.Fault(groups_key, absl::StrCat("makes ", s.groups * s.state, " states of a mixer"));
  }
}

}  // namespace onnxflops::family
