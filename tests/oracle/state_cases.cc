// Attention with a state in place of keys, FlexAttention, and the causal convolution of the same
// models.
#include "tests/oracle/cases.h"
#include "tests/oracle/elementwise.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/softmax.h"

namespace onnxflops::oracle {
namespace {

struct LinearAttentionSizes {
  int64_t batch, steps, kv_heads, group, key_depth, value_depth;
  bool gated, delta, decay_per_key, scale, past;
};

// One step: S *= exp(g); v = beta * (v - S' k); S += k v' (a product of a column and a row);
// o = scale * q' S for every query head.
void LinearAttentionStep(const LinearAttentionSizes& a) {
  const Sizes state = {a.key_depth, a.value_depth};
  for (int64_t h = 0; h < a.kv_heads; ++h) {
    if (a.gated) {
      for (int64_t i = 0; i < (a.decay_per_key ? a.key_depth : 1); ++i) Exp(0.5);
      ForEach(state, [](const Sizes&) { Counted(0.5) * 0.25; });
    }
    if (a.delta) {
      for (int64_t i = 0; i < a.value_depth; ++i) 0.5 * (0.25 - Dot(a.key_depth));
    }
    ForEach(state, [](const Sizes&) { Counted(0.5) + Dot(1); });
  }
  for (int64_t i = 0; i < a.kv_heads * a.group * a.value_depth; ++i) 0.5 * Dot(a.key_depth);
}

void LinearAttentionCase(const LinearAttentionSizes& a, const Visit& visit) {
  const int64_t heads = a.kv_heads * a.group;
  const Sizes state = {a.batch, a.kv_heads, a.key_depth, a.value_depth};
  const auto packed = [&a](int64_t last) { return In({a.batch, a.steps, last}); };
  Case c{"LinearAttention",
         27,
         {packed(heads * a.key_depth), packed(a.kv_heads * a.key_depth),
          packed(a.kv_heads * a.value_depth), a.past ? In(state) : Absent(),
          a.gated ? packed(a.kv_heads * (a.decay_per_key ? a.key_depth : 1)) : Absent(),
          a.delta ? packed(a.kv_heads) : Absent()},
         {{"q_num_heads", heads}, {"kv_num_heads", a.kv_heads}},
         2};
  const char* rules[] = {"linear", "gated", "delta", "gated_delta"};
  c.attributes.emplace_back("update_rule", rules[(a.gated ? 1 : 0) + (a.delta ? 2 : 0)]);
  if (a.scale) c.attributes.emplace_back("scale", 0.5);
  visit(c, [&] {
    if (!a.scale) 1.0 / Sqrt(static_cast<double>(a.key_depth));
    for (int64_t i = 0; i < a.batch * a.steps; ++i) LinearAttentionStep(a);
    return Outputs({{a.batch, a.steps, heads * a.value_depth}, state});
  });
}

}  // namespace

void LinearAttentionCases(const Visit& visit) {
  ForEach({2, 3, 2, 2, 2, 3, 8, 4}, [&](const Sizes& i) {
    const LinearAttentionSizes a = {i[0] + 1,       i[1] + 1,       i[2] + 1,       i[3] + 1,
                                    i[4] + 1,       i[5] + 1,       (i[6] & 1) > 0, (i[6] & 2) > 0,
                                    (i[6] & 4) > 0, (i[7] & 1) > 0, (i[7] & 2) > 0};
    if (a.decay_per_key && !a.gated) return;
    LinearAttentionCase(a, visit);
  });
}

void CausalConvCases(const Visit& visit) {
  ForEach({2, 3, 3, 3, 2, 2, 3}, [&](const Sizes& i) {
    const Sizes x = {i[0] + 1, i[1] + 1, i[2] + 1};
    const int64_t kernel = i[3] + 1;
    const bool bias = i[4] > 0, activated = i[6] > 0;
    const Sizes state = {x[0], x[1], kernel - 1};
    const char* activations[] = {"none", "silu", "swish"};
    Case c{"CausalConvWithState", 27, {In(x), In({x[1], 1, kernel})}};
    c.inputs.push_back(bias ? In({x[1]}) : Absent());
    if (i[5] > 0) c.inputs.push_back(In(state));
    c.attributes = {{"activation", activations[i[6]]}};
    c.outputs = 2;
    visit(c, [&] {
      ForEach(x, [&](const Sizes&) {
        Counted y = Dot(kernel);
        if (bias) y += 0.5;
        if (activated) Silu(y);
      });
      return Outputs({x, state});
    });
  });
}

// softmax(sqrt(s) Q (sqrt(s) K)') V without score_mod and prob_mod; keys are repeated for the query
// heads that share them before they are scaled.
void FlexAttentionCases(const Visit& visit) {
  ForEach({2, 2, 2, 3, 3, 2, 3, 2}, [&](const Sizes& i) {
    const int64_t batch = i[0] + 1, kv_heads = i[1] + 1, heads = kv_heads * (i[2] + 1);
    const int64_t queries = i[3] + 1, keys = i[4] + 1, depth = i[5] + 1, value_depth = i[6] + 1;
    Case c{"FlexAttention",
           1,
           {In({batch, heads, queries, depth}), In({batch, kv_heads, keys, depth}),
            In({batch, kv_heads, keys, value_depth})},
           {},
           1,
           "ai.onnx.preview"};
    if (i[7] > 0) c.attributes.emplace_back("scale", 0.5);
    visit(c, [&] {
      Sqrt(i[7] > 0 ? Counted(0.5) : 1.0 / Sqrt(static_cast<double>(depth)));
      ForEach({batch, heads}, [&](const Sizes&) {
        ForEach({queries + keys, depth}, [](const Sizes&) { Counted(0.5) * 0.25; });
        for (int64_t q = 0; q < queries; ++q) {
          Row scores;
          for (int64_t k = 0; k < keys; ++k) scores.push_back(Dot(depth));
          Softmax(scores);
          for (int64_t v = 0; v < value_depth; ++v) Dot(keys);
        }
      });
      return OneOutput({batch, heads, queries, value_depth});
    });
  });
}

namespace {

// The decay made inside, per head and feature of the key: -exp(a_log) Softplus(decay + bias), or
// bound * sigmoid(exp(a_log) (decay + bias)).
void GatedDeltaNetGates(LinearAttentionSizes a, int64_t heads, const Visit& visit) {
  a.decay_per_key = true;
  const Sizes keys = {a.steps, heads, a.key_depth}, y = {a.steps, a.kv_heads, a.value_depth};
  for (const char* gate : {"softplus", "sigmoid"}) {
    const Case c{
        "GatedDeltaNet",
        1,
        {In(keys), In(keys), In(y), In({3}, kInt32), In({a.steps, a.kv_heads, a.key_depth}),
         In({a.steps, a.kv_heads}), Absent(), In({a.kv_heads}), In({a.kv_heads})},
        {{"scale", 0.5}, {"gate_activation", gate}},
        1,
        kMs};
    visit(c, [&] {
      for (int64_t h = 0; h < a.kv_heads; ++h) Exp(0.5);
      ForEach({a.steps, a.kv_heads, a.key_depth}, [&](const Sizes&) {
        const Counted biased = Counted(0.5) + 0.25;
        if (gate[1] == 'o') {
          Counted(-0.5) * Softplus(biased);
        } else {
          Counted(-5) * Sigmoid(Counted(0.5) * biased);
        }
      });
      for (int64_t t = 0; t < a.steps; ++t) LinearAttentionStep(a);
      return OneOutput(y);
    });
  }
}

// Two taps, each its weight and what the token adds to it; the older product times a mask.
void DynamicTaps(int64_t tokens, int64_t groups, int64_t size, const Visit& visit) {
  const Sizes x = {tokens, groups * size}, state = {2, x[1], 1};
  visit({"VarlenCausalConvWithState",
         1,
         {In(x), In({x[1], 1, 2}), In({3}, kInt32), Absent(), In(state), Absent(),
          In({tokens, 5, groups}), In({tokens, 1})},
         {{"group_size", size}},
         2,
         kMs},
        [&] {
          ForEach(x, [&](const Sizes&) {
            Counted(0.5) + 0.25;
            Counted(0.5) + 0.25;
            Counted acc = 0.5 * Dot(1);
            MulAcc(&acc, 0.5, 0.25);
          });
          return Outputs({x, state});
        });
}

}  // namespace

// The same recurrence over packed tokens, and the same convolution.
void PackedStateCases(const Visit& visit) {
  ForEach({3, 2, 2, 2, 3}, [&](const Sizes& i) {
    const int64_t tokens = i[0] + 2, heads = i[1] + 1, shared = i[2] + 1;
    const LinearAttentionSizes a = {1,    tokens, heads * shared, 1,    i[3] + 1, i[4] + 1,
                                    true, true,   false,          true, false};
    const Sizes keys = {tokens, heads, a.key_depth}, y = {tokens, a.kv_heads, a.value_depth};
    const Input gates = In({tokens, a.kv_heads}), lengths = In({3}, kInt32);
    visit({"GatedDeltaNet",
           1,
           {In(keys), In(keys), In(y), lengths, gates, gates},
           {{"scale", 0.5}},
           1,
           kMs},
          [&] {
            for (int64_t t = 0; t < tokens; ++t) LinearAttentionStep(a);
            return OneOutput(y);
          });
    const Sizes x = {tokens, heads + shared}, state = {2, heads + shared, a.key_depth};
    visit({"VarlenCausalConvWithState",
           1,
           {In(x), In({x[1], 1, a.key_depth + 1}), lengths, In({x[1]}), In(state)},
           {{"activation", "silu"}},
           2,
           kMs},
          [&] {
            ForEach(x, [&](const Sizes&) { Silu(Dot(a.key_depth + 1) + 0.5); });
            return Outputs({x, state});
          });
    GatedDeltaNetGates(a, heads, visit);
    DynamicTaps(tokens, heads, shared, visit);
  });
}

}  // namespace onnxflops::oracle
