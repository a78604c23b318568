// Operators of ONNX Runtime for decoders, from what its schemas say that they compute: gated
// projections, routers of experts, weights in blocks of bytes, and steps that verify guessed
// tokens.
#include <algorithm>

#include "tests/oracle/cases.h"
#include "tests/oracle/elementwise.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/normalization.h"
#include "tests/oracle/softmax.h"
#include "tests/oracle/various.h"

namespace onnxflops::oracle {
namespace {

constexpr int kFloat16 = 10, kBfloat16 = 16;

struct Gate {
  bool alpha, beta, limit;
  explicit Gate(int64_t bits)
      : alpha((bits & 1) > 0), beta((bits & 2) > 0), limit((bits & 4) > 0) {}
  // G sigmoid(alpha G) (L + beta), clamped where there is a limit.
  void Run() const {
    Counted gate = 0.5, up = 0.25;
    if (limit) gate = Min(gate, 7.0);
    if (limit) up = Max(Min(up, 7.0), -7.0);
    if (beta) up += 1.0;
    gate* Sigmoid(alpha ? gate * 1.702 : gate) * up;
  }
  std::vector<std::pair<std::string, AttributeValue>> Attributes() const {
    return {{"activation_alpha", alpha ? 1.702 : 1.0},
            {"activation_beta", beta ? 1.0 : 0.0},
            {"limit", limit ? 7.0 : -1.0}};
  }
};

}  // namespace

void GatedProjectionCases(const Visit& visit) {
  ForEach({2, 3, 3, 2, 8}, [&](const Sizes& i) {
    const int64_t rows = i[0] + 1, features = i[1] + 1, k = i[2] + 2, logits = i[3] + 4;
    const Gate gate(i[4]);
    const Sizes half = {rows, features}, router = {rows, logits};
    const auto gated = [&] {
      ForEach(half, [&](const Sizes&) { gate.Run(); });
      return OneOutput(half);
    };
    visit({"SwiGLU", 1, {In({rows, 2 * features})}, gate.Attributes(), 1, kMs}, gated);
    visit({"SwiGLU", 1, {In(half), In(half)}, gate.Attributes(), 1, kMs}, gated);
    Case c{
        "RouterGateUpProj", 1, {In({rows, k}, kFloat16), In({k, logits + 2 * features}, kFloat16)},
        gate.Attributes(),  2, kMs};
    c.attributes.emplace_back("router_size", logits);
    visit(c, [&] {
      ForEach({rows, logits + 2 * features}, [&](const Sizes&) { Dot(k); });
      gated();
      return Outputs({router, half});
    });
  });
}

namespace {

struct Streams {
  int64_t rows, branches, features, rank;
  bool prologue, factors;
  int64_t Width() const { return branches * features; }
};

// One row: the streams take up the block before, a norm of each branch, and the gates.
void MixRow(const Streams& s) {
  if (s.prologue) ForEach({s.Width()}, [](const Sizes&) { 0.5 + Counted(0.25) * 0.5; });
  RmsNormalization({s.branches, s.features}, 1);
  for (int64_t r = 0; r < s.rank; ++r) {
    const Counted down = Dot(s.Width());
    Silu(s.factors ? 0.5 * down : down);
  }
  for (int64_t h = 0; h < s.features; ++h) {
    Counted sum = 0;
    for (int64_t c = 0; c < s.branches; ++c) sum += 0.5 * Sigmoid(Dot(s.rank));
    if (s.factors) sum = sum * 0.5;
  }
  for (int64_t c = 0; c < s.branches; ++c) {
    const Counted inject = Dot(s.Width());
    const Counted gate = Sigmoid(s.factors ? inject / 2.0 : inject);
    if (s.factors) gate * 2.0;
  }
}

}  // namespace

void LowRankMixCases(const Visit& visit) {
  ForEach({2, 3, 3, 3, 2, 2}, [&](const Sizes& i) {
    const Streams s = {i[0] + 1, i[1] + 1, i[2] + 1, i[3] + 2, i[4] > 0, i[5] > 0};
    const Sizes x = {s.rows, s.Width()}, block = {s.rows, s.features}, gate = {s.rows, s.branches};
    Case c{"HyperConnectionLowRankMix",
           1,
           {In(x), In({s.Width()}), In({s.Width(), s.rank}), In({s.rank, s.Width()}),
            In({s.Width(), s.branches})},
           {{"num_branches", s.branches}},
           3,
           kMs};
    if (s.prologue) c.inputs.push_back(In(block));
    if (s.prologue) c.inputs.push_back(In(gate));
    if (s.factors) {
      for (const char* name : {"silu_alpha", "reduction_scale", "gate_div", "gate_mul"}) {
        c.attributes.emplace_back(name, 0.5);
      }
    }
    visit(c, [&] {
      for (int64_t row = 0; row < s.rows; ++row) MixRow(s);
      return Outputs({block, gate, x});
    });
  });
}

void NormRotaryCases(const Visit& visit) {
  ForEach({2, 2, 3, 3, 3}, [&](const Sizes& i) {
    const int64_t batch = i[0] + 1, length = i[1] + 2, heads = i[2] + 1, half = i[3] + 1;
    const int64_t width = 2 * half + i[4], last = width + 3, vectors = batch * length * heads;
    Case c{
        "RMSNormRotary",
        1,
        {In({batch, length, heads, last}, kFloat16), In({width}), In({batch, length}, kInt64),
         In({9, half}), In({9, half})},
        {{"rotary_embedding_dim", 2 * half}, {"input_width", width}, {"input_start", int64_t{2}}},
        2,
        kMs};
    visit(c, [&] {
      RmsNormalization({vectors, width}, 1);
      ForEach({vectors, half}, [](const Sizes&) {
        const Counted cos = 0.5, sin = 0.25, x1 = 1, x2 = 2;
        cos* x1 - sin* x2;
        sin* x1 + cos* x2;
      });
      return Outputs({{batch, length, heads * width}, {batch, length, heads, width}});
    });
  });
}

namespace {

struct Router {
  int64_t tokens, groups, size, summed, chosen, kept;
  int64_t Experts() const { return groups * size; }
};

// The best groups by the sum of their best experts, the best experts of these, and their
// logarithms.
void ChooseExperts(const Router& r) {
  for (int64_t g = 0; g < r.groups; ++g) {
    TopK({r.size}, 0, r.summed);
    SumOf(Row(static_cast<size_t>(r.summed), 0.5));
  }
  TopK({r.groups}, 0, r.chosen);
  TopK({r.chosen * r.size}, 0, r.kept);
  for (int64_t e = 0; e < r.kept; ++e) Log(Max(0.5, 1e-20));
}

}  // namespace

void GroupRouterCases(const Visit& visit) {
  ForEach({2, 3, 3, 3, 2}, [&](const Sizes& i) {
    Router r = {i[0] + 1, i[1] + 1, i[2] + 1, 0, 0, 0};
    r.summed = std::min(i[3] + 1, r.size);
    r.chosen = (r.groups + 1) / 2;
    r.kept = std::min(r.chosen * r.size, i[4] + 1);
    const Sizes scores = {r.tokens, r.Experts()};
    const Input bias = In({r.Experts()});
    visit({"MoEGroupRouter",
           1,
           {In(scores), bias},
           {{"n_group", r.groups},
            {"topk_group", r.chosen},
            {"group_topk", i[3] + 1},
            {"top_k", r.kept}},
           1,
           kMs},
          [&] {
            ForEach(scores, [](const Sizes&) { Sigmoid(0.5) + 0.25; });
            for (int64_t t = 0; t < r.tokens; ++t) ChooseExperts(r);
            return OneOutput(scores);
          });
  });
}

namespace {

// Formats whose scale is that of a block, and such with a scale for each group as well.
struct Format {
  int64_t id, block, bytes, group;
  bool minimum;
};
constexpr Format kFormats[] = {{1, 1, 2, 0, false},       {2, 32, 18, 0, false},
                               {8, 32, 34, 0, false},     {13, 256, 176, 32, true},
                               {14, 256, 210, 16, false}, {16, 256, 66, 32, false},
                               {42, 64, 18, 0, false}};

int64_t RowBytes(const Format& f, int64_t k) { return k / f.block * f.bytes; }

// Makes numbers of a packed row.
void Unpack(const Format& f, int64_t elements) {
  if (f.block == 1) return;
  for (int64_t e = 0; e < elements; ++e) {
    Counted scale = 0.5, minimum = 0.25;
    if (f.group > 0 && e % f.group == 0) scale = scale * 3.0;
    if (f.minimum && e % f.group == 0) minimum = minimum * 3.0;
    const Counted number = scale * 5.0;
    if (f.minimum) number - minimum;
  }
}

}  // namespace

void PackedFormatCases(const Visit& visit) {
  for (const Format& f : kFormats) {
    ForEach({2, 2, 2, 2}, [&](const Sizes& i) {
      const int64_t rows = i[0] + 1, columns = i[1] + 3, k = 256 * (i[2] + 1);
      visit({"GatherPacked",
             1,
             {In({columns, RowBytes(f, k)}, kUint8), In({rows, 5}, kInt64)},
             {{"packed_type", f.id}, {"K", k}, {"output_dtype", int64_t{kFloat}}},
             1,
             kMs},
            [&] {
              for (int64_t row = 0; row < rows * 5; ++row) Unpack(f, k);
              return OneOutput({rows, 5, k});
            });
      Case c{"MatMulPacked",
             1,
             {In({rows, k}, kFloat16), In({columns, RowBytes(f, k)}, kUint8)},
             {{"packed_type", f.id}, {"K", k}, {"N", columns}},
             1,
             kMs};
      if (i[3] > 0) c.inputs.push_back(In({}));
      if (i[3] > 0) c.attributes.emplace_back("activation_type", "relu2");
      visit(c, [&] {
        for (int64_t n = 0; n < columns; ++n) Unpack(f, k);
        ForEach({rows, columns}, [&](const Sizes&) {
          Counted y = Dot(k);
          if (i[3] == 0) return;
          y = Max(y * 0.5, 0.0);
          y* y;
        });
        return OneOutput({rows, columns});
      });
    });
  }
}

namespace {

struct PackedExperts {
  int64_t tokens, experts, best, hidden, inner;
  bool swiglu, weighted;
};

void RoutePacked(const PackedExperts& e) {
  if (!e.weighted) Softmax(Row(static_cast<size_t>(e.experts), 0.5));
  TopK({e.experts}, 0, e.best);
  Counted sum = SumOf(Row(static_cast<size_t>(e.best), 0.5));
  if (e.weighted) sum += 1e-20;
  for (int64_t i = 0; i < e.best; ++i) {
    const Counted weight = 0.5 / sum;
    if (e.weighted) weight * 2.5;
  }
}

void RunPackedExperts(const PackedExperts& e) {
  for (int64_t t = 0; t < e.tokens; ++t) {
    RoutePacked(e);
    for (int64_t i = 0; i < e.best; ++i) {
      for (int64_t j = 0; j < e.inner; ++j) {
        const Counted gate = Dot(e.hidden);
        if (e.swiglu) {
          Silu(gate) * Dot(e.hidden);
        } else {
          const Counted relu = Max(gate, 0.0);
          relu* relu;
        }
      }
      for (int64_t j = 0; j < e.hidden; ++j) Counted(0.5) + 0.25 * Dot(e.inner);
    }
  }
}

}  // namespace

void PackedExpertsCases(const Visit& visit) {
  const Format& f = kFormats[5];
  ForEach({2, 3, 2, 2, 2}, [&](const Sizes& i) {
    const PackedExperts e = {i[0] + 1, i[1] + 2, i[2] + 1, 256, 512, i[3] > 0, i[4] > 0};
    const Sizes x = {e.tokens, e.hidden}, routes = {e.tokens, e.experts};
    const Input fc1 = In({e.experts, e.inner, RowBytes(f, e.hidden)}, kUint8);
    Case c{"MoEPacked",
           1,
           {In(x, kFloat16), In(routes), fc1, e.swiglu ? fc1 : Absent(),
            In({e.experts, e.hidden, RowBytes(f, e.inner)}, kUint8)},
           {{"k", e.best},
            {"gate_type", f.id},
            {"down_type", f.id},
            {"activation_type", e.swiglu ? "swiglu" : "relu2"}},
           1,
           kMs};
    if (e.swiglu) c.attributes.emplace_back("up_type", f.id);
    if (e.weighted) {
      c.inputs.push_back(In(routes));
      c.attributes.emplace_back("routing_epsilon", 1e-20);
      c.attributes.emplace_back("routed_scaling_factor", 2.5);
    }
    visit(c, [&] {
      const int64_t used = std::min(e.experts, e.tokens * e.best);
      Unpack(f, used * (e.swiglu ? 3 : 2) * e.hidden * e.inner);
      RunPackedExperts(e);
      return OneOutput(x);
    });
  });
}

// X W' + (X A') B' of three dequantised weights; without B no branch, without A zeros for X A'.
void PackedAdapterCases(const Visit& visit) {
  ForEach({2, 2, 2, 3, 2, 2}, [&](const Sizes& i) {
    const int64_t rows = i[0] + 2, columns = i[1] + 3, k = 32 * (i[2] + 1), rank = i[3] + 4;
    const int64_t down = i[4] > 0 ? rank : 0, blocks = k / 32;
    const bool up = i[5] > 0;
    const Case c{"MatMulNBitsQLoRA",
                 1,
                 {In({rows, k}), In({columns, blocks, 16}, kUint8), In({columns, blocks}),
                  In({down, blocks, 32}, kUint8), In({rank, blocks}),
                  In({columns, up ? 1 : 0, 32}, kUint8), In({columns, 1})},
                 {{"K", k}, {"N", columns}},
                 1,
                 kMs};
    visit(c, [&] {
      const auto dequantize = [](const Sizes& weight) {
        ForEach(weight, [](const Sizes&) { Counted(5) * 0.5; });
      };
      dequantize({columns, k});
      if (up) dequantize({down, k});
      if (up) dequantize({columns, rank});
      if (up) ForEach({rows, down}, [&](const Sizes&) { Dot(k); });
      ForEach({rows, columns}, [&](const Sizes&) {
        const Counted base = Dot(k);
        if (up) base + Dot(rank);
      });
      return OneOutput({rows, columns});
    });
  });
}

namespace {

struct Mamba {
  int64_t tokens, slots, groups, heads, state, size;
  int64_t Inner() const { return heads * size; }
  int64_t Channels() const { return Inner() + 2 * groups * state; }
};

// One token: a convolution of four taps, the step of every head's state, and the gated norm.
void MambaToken(const Mamba& m) {
  for (int64_t c = 0; c < m.Channels(); ++c) Silu(Dot(4) + 0.5);
  for (int64_t h = 0; h < m.heads; ++h) {
    const Counted step = Max(Softplus(Counted(0.5) + 0.25), 0.001);
    const Counted decay = Exp(Counted(-0.5) * step);
    for (int64_t p = 0; p < m.size; ++p) {
      step * 0.5;  // dt x
      ForEach({m.state}, [&](const Sizes&) { decay * 0.25 + Dot(1); });
      Counted(0.5) * 0.25 + Dot(m.state);
    }
  }
  ForEach({m.Inner()}, [](const Sizes&) { Silu(0.5) * 0.25; });
  RmsNormalization({m.groups, m.Inner() / m.groups}, 1);
}

}  // namespace

void MambaVerifyCases(const Visit& visit) {
  ForEach({3, 2, 2, 2, 2, 2}, [&](const Sizes& i) {
    Mamba m = {i[0] + 1, i[1] + 2, i[2] + 1, 0, i[4] + 5, i[5] + 7};
    m.heads = m.groups * (i[3] + 1);
    const Sizes conv = {m.slots, m.Channels(), 3}, ssm = {m.slots, m.heads, m.state, m.size};
    const Input per_head = In({m.heads});
    const Case c{
        "Mamba2Verify",
        1,
        {In({m.tokens, m.Inner() + m.Channels() + m.heads}, kBfloat16), In(conv, kBfloat16),
         In(ssm), In({m.Channels(), 4}, kBfloat16), In({m.Channels()}, kBfloat16), per_head,
         per_head, per_head, In({m.Inner()}), In({1}, kInt32)},
        {{"n_groups", m.groups}, {"heads", m.heads}, {"d_state", m.state}, {"head_dim", m.size}},
        5,
        kMs};
    visit(c, [&] {
      for (int64_t t = 0; t < m.tokens; ++t) MambaToken(m);
      return Outputs(
          {{m.tokens, m.Inner()}, conv, ssm, {m.tokens, m.Channels()}, {m.tokens, m.Inner()}});
    });
  });
}

// Replays of captured transitions: of a convolution, which only moves, and of a recurrence.
void ReplayCases(const Visit& visit) {
  ForEach({2, 2, 2, 3}, [&](const Sizes& i) {
    const int64_t heads = i[0] + 2, value = i[1] + 3, key = i[2] + 4, kept = i[3];
    const std::vector<Input> flat = {In({50}), In({60}), In({70})};
    Case conv{"ConvStateReplay", 1, flat, {}, 1, kMs};
    conv.inputs.push_back(Ints({0, 0, 0, heads, value, key, 5, kept}));
    visit(conv, [&] { return OneOutput({70}); });
    Case delta{"GatedDeltaNetStateReplay", 1, flat, {}, 1, kMs};
    delta.inputs.push_back(Ints({0, 0, 0, 20, 40, heads, value, key, 1, 5, kept + 1}));
    visit(delta, [&] {
      ForEach({kept + 1, heads, value, key}, [](const Sizes&) { Counted(0.5) * 0.25 + Dot(1); });
      return OneOutput({70});
    });
  });
}

// How many guesses are as predicted, and a state that moves on by as many.
void PrefixCommitCases(const Visit& visit) {
  ForEach({3, 2, 3}, [&](const Sizes& i) {
    const int64_t batch = i[0] + 1, rows = i[1] + 3, words = i[2] + 1;
    const Case c{
        "SpeculativePrefixCommit",
        1,
        {In({batch, rows}, kInt64), In({batch, rows}, kInt64), In({words}, kInt32),
         In({batch, 16}, kInt64), In({batch, 2}, kInt64), In({batch, 9}, kInt64), In({2}, kInt64)},
        {{"head_rows", rows}},
        3,
        kMs};
    visit(c, [&] {
      const OnIntegers integers;
      for (int64_t w = 0; w < words; ++w) Compared(1, 2);  // or
      for (int64_t b = 0; b < batch; ++b) {
        Counted accepted = 0;
        for (int64_t r = 1; r < rows; ++r) accepted += Compared(3, 4);
        for (int word : {1, 4, 7}) accepted + static_cast<double>(word);
      }
      return Outputs({{batch}, {batch, 16}, {batch, 2}});
    });
  });
}

// The union of a base selection and of a range, or of indices that are looked up in it, sorted.
void IndexerMergeCases(const Visit& visit) {
  ForEach({3, 3, 3, 2}, [&](const Sizes& i) {
    const int64_t queries = i[0] + 1, base = i[1] + 2, added = i[2] + 1;
    const bool range = i[3] > 0;
    const Input per_query = In({queries}, kInt32);
    Case c{"PackedSparseAttentionIndexerMerge",
           1,
           {In({6, base}, kInt32), In({6}, kInt32), per_query},
           {{"max_output_entries", int64_t{11}},
            {"policy_mode", range ? "append_range" : "append_indices"}},
           3,
           kMs};
    for (int j = 0; j < 2; ++j) c.inputs.push_back(range ? per_query : Absent());
    if (!range) c.inputs.push_back(In({queries, added}, kInt32));
    if (!range) c.inputs.push_back(per_query);
    visit(c, [&] {
      const OnIntegers integers;
      for (int64_t q = 0; q < queries; ++q) {
        for (int64_t b = 0; range && b < base; ++b) {
          Compared(1, 2);
          Compared(2, 1);
        }
        for (int64_t a = 0; !range && a < added; ++a) {
          for (int64_t left = base; left > 0; left /= 2) Compared(1, 2);
        }
      }
      return Outputs({{queries, 11}, {queries}, {queries}});
    });
  });
}

}  // namespace onnxflops::oracle
