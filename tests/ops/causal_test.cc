// --causal half: what the rules count is what textbook loops execute that skip the pairs of a query
// and a key that the mask hides.
#include "ops/causal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "tests/oracle/attention.h"
#include "tests/oracle/rule_cost.h"

namespace onnxflops::causal_test {
namespace {

using oracle::AttentionSizes;
using oracle::Case;
using oracle::Counted;
using oracle::ForEach;
using oracle::Input;
using oracle::Row;
using oracle::Sizes;

constexpr char kMs[] = "com.microsoft";

TEST(CausalPairsTest, AreThoseThatALoopMeets) {
  ForEach({6, 8, 9}, [](const Sizes& i) {
    const int64_t queries = i[0], keys = i[1], offset = i[2] - 4;
    int64_t pairs = 0;
    for (int64_t q = 0; q < queries; ++q) {
      for (int64_t k = 0; k < keys && k <= q + offset; ++k) ++pairs;
    }
    EXPECT_EQ(TwiceCausalPairs(queries, keys, offset), Expr(2 * pairs))
        << queries << " queries, " << keys << " keys after " << offset;
    const Expr q = Expr::Symbol("q", 0), k = Expr::Symbol("k", 0);
    EXPECT_EQ(TwiceCausalPairs(q, k, offset).Substitute({{"q", queries}, {"k", keys}}),
              Expr(2 * pairs));
    if (offset != keys - queries) return;
    EXPECT_EQ(TwiceCausalPairs(q, k, k - q).Substitute({{"q", queries}, {"k", keys}}),
              Expr(2 * pairs));
  });
}

TEST(CausalPairsTest, OfAWindowAreItsLast) {
  ForEach({6, 8, 9, 5}, [](const Sizes& i) {
    const int64_t queries = i[0], keys = i[1], offset = i[2] - 4, window = i[3];
    int64_t pairs = 0;
    for (int64_t q = 0; q < queries; ++q) {
      for (int64_t k = 0; k < keys && k <= q + offset; ++k) pairs += k > q + offset - window;
    }
    EXPECT_EQ(TwiceWindowPairs(queries, keys, offset, window), Expr(2 * pairs))
        << queries << " queries, " << keys << " keys after " << offset << ", " << window;
  });
}

TEST(CausalPairsTest, OfSymbolsAreAPolynomial) {
  const Expr s = Expr::Symbol("s", 1), p = Expr::Symbol("p", 0);
  EXPECT_EQ(TwiceCausalPairs(s, s, 0).ToString(), "s^2 + s");
  EXPECT_EQ(TwiceCausalPairs(s, p + s, p).ToString(), "2*p*s + s^2 + s");
}

Input In(Sizes dims, int dtype = 1) { return {std::move(dims), dtype, std::nullopt, false}; }
Input Ints(std::vector<int64_t> values) {
  return {{static_cast<int64_t>(values.size())}, 6, std::move(values), false};  // 6 is int32
}
Input Absent() { return {{}, 1, std::nullopt, true}; }

void ExpectAsLoop(Case c, const std::function<void()>& loop) {
  SCOPED_TRACE(Describe(c));
  c.causal = CausalCounting::kHalf;
  const absl::StatusOr<oracle::RuleResult> rule = CostByRule(c);
  ASSERT_TRUE(rule.ok()) << rule.status();
  const oracle::Recorder recorder;
  loop();
  EXPECT_EQ(rule->work.flops, recorder.work().flops);
  EXPECT_EQ(rule->work.int_ops, recorder.work().int_ops);
}

TEST(CausalTest, AttentionOfOnnx) {
  ForEach({2, 2, 4, 4, 4, 4}, [](const Sizes& i) {
    AttentionSizes a = {.batch = i[0] + 1, .heads = 2 * (i[1] + 1), .kv_heads = i[1] + 1};
    a.queries = i[2] + 1;
    a.keys = i[3] + 1;
    a.past = i[4];
    a.depth = 4;
    a.value_depth = 3;
    a.mask = i[5] & 1;
    a.softcap = i[5] & 2;
    a.skip = true;
    Case c{"Attention",
           23,
           {In({a.batch, a.heads, a.queries, a.depth}), In({a.batch, a.kv_heads, a.keys, a.depth}),
            In({a.batch, a.kv_heads, a.keys, a.value_depth}),
            a.mask ? In({a.queries, a.past + a.keys}) : Absent(),
            In({a.batch, a.kv_heads, a.past, a.depth}),
            In({a.batch, a.kv_heads, a.past, a.value_depth})},
           {{"is_causal", int64_t{1}}}};
    if (a.softcap) c.attributes.emplace_back("softcap", 2.0);
    if (a.past == 0) c.inputs.resize(4);
    c.outputs = 3;
    ExpectAsLoop(c, [&] { Attention(a); });
  });
}

// softmax(scale Q K') V of ONNX Runtime, query i after `past` others.
void Sdpa(const Sizes& batch_and_heads, int64_t queries, int64_t keys, int64_t past, int64_t depth,
          int64_t window = 100) {
  ForEach(batch_and_heads, [&](const Sizes&) {
    for (int64_t q = 0; q < queries; ++q) {
      Row scores;
      for (int64_t k = std::max<int64_t>(past + q + 1 - window, 0); k < keys && k <= past + q;
           ++k) {
        Counted score = 0;
        for (int64_t d = 0; d < depth; ++d) MulAcc(&score, 0.5, 0.25);
        scores.push_back(score * 0.5);
      }
      const Row weights = oracle::Softmax(scores);
      for (int64_t d = 0; d < depth; ++d) {
        Counted sum = 0;
        for (const Counted& weight : weights) MulAcc(&sum, weight, 0.5);
      }
    }
  });
}

TEST(CausalTest, AttentionWithProjection) {
  ForEach({2, 3, 4, 4}, [](const Sizes& i) {
    const int64_t batch = i[0] + 1, heads = i[1] + 1, length = i[2] + 1, past = i[3], depth = 3;
    const int64_t hidden = heads * depth;
    ExpectAsLoop({"Attention",
                  1,
                  {In({batch, length, 5}), In({5, 3 * hidden}), Absent(), Absent(),
                   In({2, batch, heads, past, depth})},
                  {{"num_heads", heads}, {"unidirectional", int64_t{1}}},
                  2,
                  kMs},
                 [&] {
                   ForEach({batch, length, 3 * hidden}, [](const Sizes&) {
                     Counted sum = 0;
                     for (int d = 0; d < 5; ++d) MulAcc(&sum, 0.5, 0.5);
                   });
                   Sdpa({batch, heads}, length, past + length, past, depth);
                 });
  });
}

TEST(CausalTest, MultiHeadAttention) {
  ForEach({2, 3, 4, 4}, [](const Sizes& i) {
    const int64_t batch = i[0] + 1, heads = i[1] + 1, length = i[2] + 1, past = i[3], depth = 3;
    const Input token = In({batch, length, heads * depth});
    const Input cache = In({batch, heads, past, depth});
    ExpectAsLoop({"MultiHeadAttention",
                  1,
                  {token, token, token, Absent(), Absent(), Absent(), cache, cache},
                  {{"num_heads", heads}, {"unidirectional", int64_t{1}}},
                  3,
                  kMs},
                 [&] {
                   Sdpa({batch, heads}, length, past + length, past, depth);
                 });
  });
}

TEST(CausalTest, GroupQueryAttention) {
  ForEach({2, 3, 4, 4, 3}, [](const Sizes& i) {
    const int64_t batch = i[0] + 1, kv = i[1] + 1, length = i[2] + 1, past = i[3], depth = 4;
    const bool causal = i[4] != 1;
    const int64_t window = i[4] == 2 ? 2 : -1;
    const Input cache = In({batch, kv, 16, depth});  // of which `past` positions are in use
    Input total = Ints({past + length});
    total.dims = {};
    ExpectAsLoop(
        {"GroupQueryAttention",
         1,
         {In({batch, length, 2 * kv * depth}), In({batch, length, kv * depth}),
          In({batch, length, kv * depth}), cache, cache, In({batch}, 6), total},
         {{"num_heads", 2 * kv},
          {"kv_num_heads", kv},
          {"causal", int64_t{causal}},
          {"local_window_size", window}},
         3,
         kMs},
        [&] {
          const int64_t before = causal ? past : past + length;  // all if not causal
          Sdpa({batch, 2 * kv}, length, past + length, before, depth, window < 0 ? 100 : window);
        });
  });
}

// Sequences of 1, 3 and 2 new tokens after 7, 0 and 4.
TEST(CausalTest, PagedAttention) {
  const int64_t depth = 4, heads = 4, kv = 2;
  const Input cache = In({9, 16, kv, depth});
  ExpectAsLoop({"PagedAttention",
                1,
                {In({6, heads * depth}), In({6, kv * depth}), In({6, kv * depth}), cache, cache,
                 Ints({0, 1, 4, 6}), Ints({7, 0, 4}), In({3, 2}, 6)},
                {{"num_heads", heads}, {"kv_num_heads", kv}},
                1,
                kMs},
               [&] {
                 Sdpa({heads}, 1, 8, 7, depth);
                 Sdpa({heads}, 3, 3, 0, depth);
                 Sdpa({heads}, 2, 6, 4, depth);
               });
}

// Where nothing says causal, and by default, nothing is left out.
TEST(CausalTest, OnlyWhatSaysCausalIsHalved) {
  Case c{"MultiHeadAttention", 1, {In({1, 5, 8}), In({1, 5, 8}), In({1, 5, 8})}, {}, 1, kMs};
  c.attributes = {{"num_heads", int64_t{2}}};
  ExpectAsLoop(c, [] { Sdpa({2}, 5, 5, 5, 4); });
  c.attributes.emplace_back("unidirectional", int64_t{1});
  const auto full = CostByRule(c);
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ(full->work.flops.mac, 2 * 25 * 8);
}

}  // namespace
}  // namespace onnxflops::causal_test
