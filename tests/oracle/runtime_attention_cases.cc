// Attention of ONNX Runtime, and embeddings of positions.
#include <algorithm>

#include "tests/oracle/attention.h"
#include "tests/oracle/cases.h"
#include "tests/oracle/elementwise.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/softmax.h"

namespace onnxflops::oracle {
namespace {

// softmax(scale * q K' + mask) V of one query of one head.
void Query(int64_t keys, int64_t depth, int64_t value_depth, bool mask = false) {
  Row scores;
  for (int64_t k = 0; k < keys; ++k) {
    const Counted score = Dot(depth) * 0.5;
    scores.push_back(mask ? score + 0.25 : score);
  }
  Softmax(scores);
  for (int64_t v = 0; v < value_depth; ++v) Dot(keys);
}
void Queries(int64_t count, int64_t keys, int64_t depth, int64_t value_depth) {
  for (int64_t i = 0; i < count; ++i) Query(keys, depth, value_depth);
}
// x W + b of vectors.
void Project(int64_t vectors, int64_t in, int64_t out) {
  for (int64_t i = 0; i < vectors * out; ++i) Dot(in) + 0.5;
}

}  // namespace

// Sequences of different lengths, packed one behind the other.
void PackedAttentionCases(const Visit& visit) {
  ForEach({3, 3, 2, 2}, [&](const Sizes& i) {
    const int64_t first = i[0] + 1, second = i[1] + 1, heads = i[2] + 1, depth = 2 * i[3] + 2;
    const int64_t tokens = first + second, hidden = heads * depth,
                  longest = std::max(first, second);
    const Input offsets = In({2, longest}, kInt32);
    const Input lengths = {{3}, kInt32, {{0, first, tokens}}, false};
    const auto attend = [=] {
      for (int64_t length : {first, second}) Queries(heads * length, length, depth, depth);
      return OneOutput({tokens, hidden});
    };
    visit({"PackedAttention",
           1,
           {In({tokens, 6}), In({6, 3 * hidden}), In({3 * hidden}), offsets, lengths},
           {{"num_heads", heads}},
           1,
           kMs},
          [&] {
            Project(tokens, 6, 3 * hidden);
            return attend();
          });
    const Input packed = In({tokens, hidden});
    visit({"PackedMultiHeadAttention",
           1,
           {packed, packed, packed, Absent(), offsets, lengths},
           {{"num_heads", heads}},
           1,
           kMs},
          attend);
  });
}

// One token, or a step of a decoder, with keys of the past.
void DecoderAttentionCases(const Visit& visit) {
  ForEach({2, 2, 2, 4, 3}, [&](const Sizes& i) {
    const int64_t batch = i[0] + 1, heads = i[1] + 1, depth = 2 * i[2] + 2, past = i[3] + 1;
    const int64_t hidden = heads * depth, buffer = past + 4;
    const Sizes one = {batch, 1, hidden}, cache = {batch, heads, buffer, depth};
    const Input length = {{1}, kInt32, {{past}}, false};
    const std::vector<std::pair<std::string, AttributeValue>> shared = {
        {"num_heads", heads}, {"past_present_share_buffer", int64_t{1}}};
    visit({"DecoderMaskedMultiHeadAttention",
           1,
           {In(one), In(one), In(one), Absent(), Absent(), In(cache), In(cache), length},
           shared,
           3,
           kMs},
          [&] {
            Queries(batch * heads, past + 1, depth, depth);
            return Outputs({one, cache, cache});
          });
    const Sizes both = Concat({2}, cache);
    visit({"DecoderMaskedSelfAttention",
           1,
           {In({batch, 1, 6}), In({6, 3 * hidden}), In({3 * hidden}), Absent(), In(both), Absent(),
            length},
           shared,
           2,
           kMs},
          [&] {
            Project(batch, 6, 3 * hidden);
            Queries(batch * heads, past + 1, depth, depth);
            return Outputs({one, both});
          });
    const int64_t queries = i[4] + 1, keys = past;
    const Input on = {{}, kBool, {{1}}, false}, off = {{}, kBool, {{0}}, false};
    visit({"DecoderAttention",
           1,
           {In({queries, batch, hidden}), In({keys, batch, hidden}), In({hidden, hidden}),
            In({hidden, 2 * hidden}), In({3 * hidden}), Absent(), Absent(), Absent(), on, off, off,
            off},
           {{"num_heads", heads}},
           3,
           kMs},
          [&] {
            Project(queries * batch, hidden, hidden);
            Project(keys * batch, hidden, 2 * hidden);
            Queries(batch * heads * queries, keys, depth, depth);
            const Sizes present = {batch, heads, keys, depth};
            return Outputs({{queries, batch, hidden}, present, present});
          });
  });
}

// Every token meets its window of 2 W + 1 and the global tokens; those meet all tokens, by
// projections of their own.
void LongformerCases(const Visit& visit) {
  ForEach({2, 2, 2, 3, 2}, [&](const Sizes& i) {
    const int64_t batch = i[4] + 1;
    const int64_t heads = i[0] + 1, depth = 2 * i[1] + 2, window = i[2] + 1, hidden = heads * depth;
    const int64_t length = 4 * window, globals = i[3];
    std::vector<int64_t> flags(static_cast<size_t>(batch * length), 0);
    for (int64_t g = 0; g < batch * globals; ++g) {
      flags[static_cast<size_t>(g / globals * length + g % globals)] = 1;
    }
    const Input global = {{batch, length}, kInt32, flags, false};
    const Sizes x = {batch, length, hidden};
    const Input weights = In({hidden, 3 * hidden}), bias = In({3 * hidden});
    visit({"LongformerAttention",
           1,
           {In(x), weights, bias, In({batch, length}), weights, bias, global},
           {{"num_heads", heads}, {"window", window}},
           1,
           kMs},
          [&] {
            Project(batch * length, hidden, 3 * hidden);
            Project(batch * length, hidden, 2 * hidden);  // keys and values for the global tokens
            Project(batch * globals, hidden, hidden);     // and their queries
            for (int64_t query = 0; query < batch * heads * length; ++query) {
              Query(2 * window + 1 + globals, depth, depth, true);
            }
            for (int64_t query = 0; query < batch * heads * globals; ++query) {
              Query(length, depth, depth, true);
            }
            return OneOutput(x);
          });
  });
}

void RuntimePositionCases(const Visit& visit) {
  ForEach({2, 3, 2, 3}, [&](const Sizes& i) {
    const int64_t batch = i[0] + 1, length = i[1] + 1, heads = i[2] + 1, half = i[3] + 1;
    const Sizes x = {batch, length, heads * 2 * half};
    const Input cache = In({50, half});
    visit({"MRotaryEmbedding",
           1,
           {In(x), In({3, batch, length}, kInt64), cache, cache},
           {{"mrope_section", std::vector<int64_t>{half - i[3] / 2, i[3] / 2, 0}},
            {"num_heads", heads}},
           1,
           kMs},
          [&] { return RotaryEmbedding(x, batch * length * heads, 2 * half); });
  });
  for (const Sizes& s : Shapes(3, 4)) {
    for (bool both_ways : {false, true}) {
      const Input queries = {{1}, kInt64, {{s[1]}}, false}, keys = {{1}, kInt64, {{s[2]}}, false};
      visit({"RelativePositionBias",
             1,
             {In({32, s[0]}), queries, keys},
             {{"max_distance", int64_t{128}}, {"is_bidirectional", int64_t{both_ways}}},
             1,
             kMs},
            [&] {
              // T5's buckets, as its paper's code has them: near distances have one each, far
              // ones share them in steps of a logarithm.
              ForEach({s[1], s[2]}, [&](const Sizes&) {
                {
                  const OnIntegers integers;
                  Counted distance = Counted(5) - 3.0;
                  Compared(distance, 0.0);  // the sign, or only what is past
                  if (both_ways) Counted(0) + Counted(1) * 16.0;
                  Compared(distance, 8.0);
                  Counted(8) + 3.0;
                  Min(15.0, distance);
                }
                Log(Counted(5) / 8.0) / 2.77 * 8.0;
              });
              return OneOutput({1, s[0], s[1], s[2]});
            });
    }
  }
}

}  // namespace onnxflops::oracle
