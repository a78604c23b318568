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

PastState CachedState(GraphBuilder* b, int64_t layer, const char* what, DType dtype,
                      const Dims& dims) {
  PastState state = {b->Input(absl::StrCat("past_key_values.", layer, ".", what), dtype, dims),
                     absl::StrCat("present.", layer, ".", what)};
  b->DeclareOutput(state.present, dtype, dims);
  return state;
}

Tensor InFloat(GraphBuilder* b, const Tensor& x) {
  if (b->dtype() == DType::kFloat32) return x;
  return b->Op("Cast", {x}, {{"to", static_cast<int64_t>(DType::kFloat32)}});
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
  const PastState state =
      CachedState(b, layer, s.state, b->dtype(), {"batch", s.channels, s.kernel});
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
                     .decay = Float(Transpose(b_, inputs.decay, Order())),
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
  struct DeltaChunks {
    Tensor q, k, decay, v_beta, k_beta;
  };
  struct ScanInputs {
    Tensor q, k, keys, values, scores, rest;  // rest: what a chunk leaves of the state before it
  };
  struct Found {
    Tensor y, states;  // the states behind each chunk, or behind the token
  };

  std::vector<int64_t> Order() const {
    return s_.by_feature ? std::vector<int64_t>{0, 2, 1, 3} : std::vector<int64_t>{0, 2, 1};
  }
  Tensor Float(const Tensor& x) { return InFloat(b_, x); }
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
    return s_.by_feature ? b_->Op("Div", {x, root}) : Mul(b_, x, b_->Op("Reciprocal", {root}));
  }

  Tensor BehindState(const DeltaInputs& x, int64_t layer) {
    const PastState state = CachedState(b_, layer, "recurrent_state", DType::kFloat32,
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
    const Tensor decay = Exp(x.decay);
    Tensor state = Mul(b_, first, s_.by_feature ? Column(decay) : Unsqueeze(b_, decay, {3, 4}));
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
    const Tensor k = Chunks(x.k, s_.key_dim), beta = Column(Chunks(x.beta, 0));
    const DeltaChunks chunks = {.q = Chunks(x.q, s_.key_dim),
                                .k = k,
                                .decay = Chunks(x.decay, s_.by_feature ? s_.key_dim : 0),
                                .v_beta = Mul(b_, Chunks(x.v, s_.value_dim), beta),
                                .k_beta = Mul(b_, k, beta)};
    return s_.by_feature ? ByFeature(chunks, first) : ByToken(chunks, first);
  }

  Found ByToken(const DeltaChunks& x, const Tensor& first) {
    const Tensor sums = b_->Op("CumSum", {x.decay, b_->Scalar(3)});
    const Tensor pairs =
        Exp(Causal(Sub(Unsqueeze(b_, sums, {4}), Unsqueeze(b_, sums, {3})), false));
    const Tensor system = Mul(b_, MatMul(x.k_beta, Turned(x.k)), pairs);
    const Tensor scores = Mul(b_, MatMul(x.q, Turned(x.k)), pairs);
    const Tensor decayed_k = Mul(b_, x.k_beta, Column(Exp(sums)));
    const Tensor values = Solved(system, x.v_beta), keys = Solved(system, decayed_k);
    const Tensor last = b_->Op("Gather", {sums, b_->Ints({-1})}, {{"axis", int64_t{3}}});
    const Tensor q = Mul(b_, x.q, Column(Exp(sums)));
    const Tensor k = Mul(b_, x.k, Column(Exp(Sub(last, sums))));
    return Scan({q, k, keys, values, scores, Exp(last)}, first);
  }

  // Each feature of a key decays by itself, so pairs of tokens have a decay for each.
  Found ByFeature(const DeltaChunks& x, const Tensor& first) {
    const Tensor sums = b_->Op("CumSum", {x.decay, b_->Scalar(3)});
    const Tensor pairs = Exp(Causal(Sub(Unsqueeze(b_, sums, {4}), Unsqueeze(b_, sums, {3})), true));
    const auto meet = [&](const Tensor& rows) {
      const Tensor y = Mul(b_, Unsqueeze(b_, rows, {4}), Unsqueeze(b_, x.k, {3}));
      return b_->Op("ReduceSum", {Mul(b_, y, pairs), b_->Ints({-1})}, {{"keepdims", int64_t{0}}});
    };
    const Tensor inverse = Inverted(b_->Op("Neg", {meet(x.k_beta)}));
    const Tensor values = MatMul(inverse, x.v_beta);
    const Tensor keys = MatMul(inverse, Mul(b_, x.k_beta, Exp(sums)));
    const Tensor last = b_->Op("Gather", {sums, b_->Ints({-1})}, {{"axis", int64_t{3}}});
    const Tensor q = Mul(b_, x.q, Exp(sums)), k = Mul(b_, x.k, Exp(Sub(last, sums)));
    const Tensor rest = b_->Op("Squeeze", {Exp(last), b_->Ints({3})});
    return Scan({q, k, keys, values, meet(x.q), rest}, first);
  }

  Found Scan(const ScanInputs& x, const Tensor& first) {
    const Tensor fresh = Sub(x.values, MatMul(x.keys, first));
    const Tensor y = Add(b_, MatMul(x.q, first), MatMul(x.scores, fresh));
    const Tensor left = Mul(b_, first, Column(x.rest));
    return {Tokens(y), Add(b_, left, MatMul(Turned(x.k), fresh))};
  }

  // Minus infinity above the diagonal; `deep`: of [..., kChunk, kChunk, dim].
  Tensor Causal(const Tensor& x, bool deep) {
    const Tensor places = b_->Op("Range", {b_->Scalar(0), b_->Scalar(kChunk), b_->Scalar(1)});
    Tensor later = b_->Op("Less", {Column(places), places});
    if (deep) later = Column(later);
    return b_->Op("Where", {later, b_->Floats({-1e30F}), x});
  }

  // Rows below the first take the products of the rows above: kChunk (kChunk - 1) / 2 pairs.
  Tensor Solved(const Tensor& system, const Tensor& right) {
    constexpr int64_t kPairs = kChunk * (kChunk - 1) / 2;
    const Tensor below = b_->Op("Gather", {Flat(system), b_->IndexTable(kPairs)});
    const Tensor rows = Transpose(b_, right, {3, 0, 1, 2, 4});
    const Tensor above = b_->Op("Gather", {rows, b_->IndexTable(kPairs)});
    const Tensor places = Reshape(b_, b_->IndexTable(kPairs), {kPairs, 1});
    const Tensor solved = b_->Op("ScatterND", {rows, places, Mul(b_, above, Column(below))},
                                 {{"reduction", std::string("add")}});
    return Transpose(b_, solved, {1, 2, 3, 0, 4});
  }

  // [kChunk^2, batch, heads, chunks].
  Tensor Flat(const Tensor& x) {
    const Tensor flat = ReshapeBy(
        b_, x, {p_.batch, b_->Ints({s_.value_heads}), p_.chunks, b_->Ints({kChunk * kChunk})});
    return Transpose(b_, flat, {3, 0, 1, 2});
  }

  // The inverse of a matrix with ones in the diagonal, of what it has below: each row of i numbers
  // is multiplied with the i x i numbers above. No solver here either, as in the class.
  Tensor Inverted(const Tensor& below) {
    constexpr int64_t kProducts = kChunk * (kChunk - 1) * (2 * kChunk - 1) / 6;
    const Tensor flat = Flat(below);
    const Tensor rows = b_->Op("Gather", {flat, b_->IndexTable(kProducts)});
    const Tensor above = b_->Op("Gather", {flat, b_->IndexTable(kProducts)});
    const Tensor places = Reshape(b_, b_->IndexTable(kProducts), {kProducts, 1});
    Tensor y = b_->Op("ScatterND", {flat, places, Mul(b_, rows, above)},
                      {{"reduction", std::string("add")}});
    y = ReshapeBy(b_, Transpose(b_, y, {1, 2, 3, 0}),
                  {p_.batch, b_->Ints({s_.value_heads}), p_.chunks, b_->Ints({kChunk, kChunk})});
    const Tensor places_of = b_->Op("Range", {b_->Scalar(0), b_->Scalar(kChunk), b_->Scalar(1)});
    const Tensor equal = b_->Op("Equal", {Column(places_of), places_of});
    return Add(b_, y, b_->Op("Cast", {equal}, {{"to", static_cast<int64_t>(DType::kFloat32)}}));
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

namespace {

class DecayingBuilder {
 public:
  DecayingBuilder(GraphBuilder* b, const DecayingShape& shape, const TokenPath& path)
      : b_(b), s_(shape), p_(path) {
    const Tensor block = b->Ints({s_.block});
    Tensor fresh = p_.tokens;
    if (!p_.cached.empty()) {
      behind_ = Mul(b, p_.tokens, p_.cached);
      fresh = b->Op("Sub", {p_.tokens, behind_});
    }
    blocks_ = b->Op("Div", {fresh, block});
    whole_ = Mul(b, blocks_, block);
    rest_ = b->Op("Sub", {fresh, whole_});
    has_rest_ = b->Op("Min", {rest_, b->Ints({1})});
  }

  Tensor Build(const DecayingInputs& x, int64_t layer) {
    const Dims dims = {"batch", s_.heads, s_.dim, s_.dim};
    std::vector<Tensor> sizes = {whole_, rest_};
    PastState state;
    Tensor first;
    if (p_.cached.empty()) {
      const Tensor shape = Concat(b_, {p_.batch, b_->Ints({s_.heads, 1, s_.dim, s_.dim})}, 0);
      first = b_->Op("Expand", {Factor(b_, 0), shape});
    } else {
      sizes.push_back(behind_);
      state = CachedState(b_, layer, "recurrent_state", b_->dtype(), dims);
      first = Unsqueeze(b_, state.value, {2});
    }
    std::vector<DecayingInputs> parts(sizes.size());
    for (Tensor DecayingInputs::*part :
         {&DecayingInputs::q, &DecayingInputs::k, &DecayingInputs::v}) {
      const std::vector<Tensor> split = SplitBy(b_, x.*part, sizes, 2);
      for (size_t i = 0; i < split.size(); ++i) parts[i].*part = split[i];
    }
    std::vector<Found> found = {Blocks(parts[0], blocks_, b_->Ints({s_.block}), whole_, first),
                                Blocks(parts[1], has_rest_, rest_, rest_, first)};
    if (parts.size() > 2) found.push_back(OneByOne(parts[2], first));
    std::vector<Tensor> results, states = {first};
    for (const Found& part : found) results.push_back(part.y), states.push_back(part.states);
    if (!state.present.empty()) {
      b_->Ops("Gather", {Concat(b_, states, 2), b_->Scalar(-1)}, {state.present},
              {{"axis", int64_t{2}}});
    }
    return Concat(b_, results, 2);
  }

 private:
  struct Found {
    Tensor y, states;
  };

  Tensor MatMul(const Tensor& x, const Tensor& y) { return b_->Op("MatMul", {x, y}); }
  // A number of each head, which fits [batch, heads, n, m, dim].
  Tensor Slopes() {
    Tensor slopes = b_->Table(s_.heads);
    if (b_->dtype() != DType::kFloat32) {
      slopes = b_->Op("Cast", {slopes}, {{"to", static_cast<int64_t>(b_->dtype())}});
    }
    return Reshape(b_, slopes, {s_.heads, 1, 1, 1});
  }
  // The state before each of so many steps, decayed.
  Tensor Decayed(const Tensor& first, const Tensor& count) {
    const Tensor sizes = Concat(b_, {b_->Ints({1, 1}), count, b_->Ints({1, 1})}, 0);
    return Mul(b_, b_->Op("Expand", {first, sizes}), Slopes());
  }

  // So many blocks of so many tokens. Decays within a block are tables of the class.
  Found Blocks(const DecayingInputs& x, const Tensor& count, const Tensor& length,
               const Tensor& tokens, const Tensor& first) {
    const Tensor heads = b_->Ints({s_.heads}), dim = b_->Ints({s_.dim});
    const auto cut = [&](const Tensor& y) {
      return ReshapeBy(b_, y, {p_.batch, heads, count, length, dim});
    };
    const Tensor q = cut(x.q), k = cut(x.k), v = cut(x.v);
    const Tensor scores = Mul(b_, MatMul(q, Transpose(b_, k, {0, 1, 2, 4, 3})), Slopes());
    const Tensor y = Add(b_, MatMul(Mul(b_, q, Slopes()), first), MatMul(scores, v));
    const Tensor fresh = MatMul(Transpose(b_, Mul(b_, k, Slopes()), {0, 1, 2, 4, 3}), v);
    const Tensor states = Add(b_, Decayed(first, count), fresh);
    return {ReshapeBy(b_, y, {p_.batch, heads, tokens, dim}), states};
  }

  Found OneByOne(const DecayingInputs& x, const Tensor& first) {
    const Tensor fresh = MatMul(Unsqueeze(b_, x.k, {4}), Unsqueeze(b_, x.v, {3}));
    const Tensor states = Add(b_, Decayed(first, behind_), fresh);
    const Tensor y = MatMul(Unsqueeze(b_, x.q, {3}), states);
    return {b_->Op("Squeeze", {y, b_->Ints({3})}), states};
  }

  GraphBuilder* b_;
  const DecayingShape& s_;
  const TokenPath& p_;
  Tensor blocks_, whole_, rest_, has_rest_, behind_;  // sizes
};

}  // namespace

Tensor DecayingAttention(GraphBuilder* b, const DecayingInputs& inputs, const DecayingShape& shape,
                         int64_t layer, const TokenPath& path) {
  return DecayingBuilder(b, shape, path).Build(inputs, layer);
}

}  // namespace onnxflops::family
