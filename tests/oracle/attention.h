// Attention and rotary embeddings.
#ifndef ONNXFLOPS_TESTS_ORACLE_ATTENTION_H_
#define ONNXFLOPS_TESTS_ORACLE_ATTENTION_H_

#include <cstddef>

#include "tests/oracle/softmax.h"

namespace onnxflops::oracle {

struct AttentionSizes {
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, past = 0, depth = 1,
          value_depth = 1;
  bool mask = false;  // [queries, keys]
  bool softcap = false;
  bool scale = false;  // given
  bool skip = false;   // the keys that a causal mask hides: those after past + query
};

// softmax(softcap(sqrt(s) Q (sqrt(s) K)') + mask) V, every key met by every query, or only those
// that are not hidden from it.
inline void Attention(const AttentionSizes& a) {
  // 1 / sqrt(depth), and its root for both sides.
  Sqrt(a.scale ? Counted(0.5) : 1.0 / Sqrt(static_cast<double>(a.depth)));
  const int64_t total = a.past + a.keys;
  if (a.mask) {  // a query whose keys are all masked gives zeros
    for (int64_t q = 0; q < a.queries; ++q) {
      (void)(MaxOf(Row(static_cast<size_t>(total), 0.5)) < -1e30);
    }
  }
  ForEach({a.batch, a.heads}, [&](const Sizes&) {
    ForEach({a.queries + total, a.depth}, [](const Sizes&) { Counted(0.5) * 0.25; });
    for (int64_t q = 0; q < a.queries; ++q) {
      Row scores;
      for (int64_t k = 0; k < total; ++k) {
        if (a.skip && k > a.past + q) continue;
        Counted score = 0;
        for (int64_t d = 0; d < a.depth; ++d) MulAcc(&score, 0.5, 0.25);
        if (a.softcap) score = Tanh(score / 2.0) * 2.0;
        if (a.mask) score += 0.5;
        scores.push_back(score);
      }
      scores = Softmax(scores);
      ForEach({a.value_depth, static_cast<int64_t>(scores.size())}, [&](const Sizes& i) {
        Counted acc = 0;
        MulAcc(&acc, scores[static_cast<size_t>(i[1])], 0.5);
      });
    }
  });
}

// Pairs of the rotated part of every head are turned; the rest is copied.
inline Outputs RotaryEmbedding(const Sizes& x, int64_t vectors, int64_t rotated) {
  ForEach({vectors, rotated / 2}, [](const Sizes&) {
    const Counted cos = 0.5, sin = 0.25, x1 = 1, x2 = 2;
    cos* x1 - sin* x2;
    sin* x1 + cos* x2;
  });
  return OneOutput(x);
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_ATTENTION_H_
