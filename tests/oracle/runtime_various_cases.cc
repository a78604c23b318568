// Operators of ONNX Runtime that are neither windows nor attention.
#include <algorithm>

#include "tests/oracle/cases.h"
#include "tests/oracle/elementwise.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/normalization.h"
#include "tests/oracle/quantization.h"
#include "tests/oracle/softmax.h"
#include "tests/oracle/various.h"

namespace onnxflops::oracle {

void RuntimeElementwiseCases(const Visit& visit) {
  const auto dropped = [](Counted x) { return x * 2.0 * Compared(0.25, 0.5); };
  for (const Sizes& x : Shapes(2, 3)) {
    const Input ratio = {{}, kFloat, {{1}}, false}, on = {{}, kBool, {{1}}, false};
    const Input bias = In({x[1]});
    visit({"BitmaskDropout", 1, {In(x), ratio, on}, {}, 1, kMs}, [&] {
      return PerElement(
          x, [&] { dropped(0.5); }, x);
    });
    visit({"BitmaskBiasDropout", 1, {In(x), bias, In(x), ratio, on}, {}, 1, kMs}, [&] {
      return PerElement(
          x, [&] { dropped(Counted(0.5) + 0.25) + 0.5; }, x);
    });
    const Sizes complex = {x[0], x[1], 2};
    visit({"ComplexMulConj", 1, {In(complex), In(complex)}, {}, 1, kMs}, [&] {
      return PerElement(
          x,
          [] {  // (a + bi)(c - di)
            Counted(1) * 2.0 + Counted(3) * 4.0;
            Counted(2) * 3.0 - Counted(1) * 4.0;
          },
          complex);
    });
  }
}

void RuntimeIntegerCases(const Visit& visit) {
  for (const Sizes& x : Shapes(2, 3)) {
    const Input scale = In({});
    visit({"QuantizeWithOrder",
           1,
           {In(x), scale},
           {{"order_input", int64_t{1}}, {"order_output", int64_t{1}}},
           1,
           kMs},
          [&] {
            return PerElement(
                x, [] { Quantize(0.5, false); }, x);
          });
    visit({"DequantizeWithOrder",
           1,
           {In(x, kInt8), scale},
           {{"order_input", int64_t{1}}, {"order_output", int64_t{1}}, {"to", int64_t{1}}},
           1,
           kMs},
          [&] {
            return PerElement(
                x, [] { Dequantize(5, false); }, x);
          });
    visit({"IsAllFinite", 1, {In(x), In({4})}, {}, 1, kMs}, [&] {
      for (int64_t i = 0; i < x[0] * x[1] + 4; ++i) {
        Compared(0.5, 1e30);  // infinite, and not a number
        Compared(0.5, 0.5);
        const OnIntegers integers;
        Compared(1, 0);  // together with those before
      }
      return OneOutput({});
    });
    for (int64_t axis : {0, 1}) {
      visit({"ReduceSumInteger",
             1,
             {In(x, kInt8)},
             {{"axes", Sizes{axis}}, {"keepdims", int64_t{1}}},
             1,
             kMs},
            [&] {
              const OnIntegers integers;
              return Reduce(SumOf, x, {axis}, true);
            });
    }
    visit({"GatherND", 1, {In({3, 5, 4}), In({x[0], 2}, kInt64)}, {}, 1, kMs}, [&] {
      return OneOutput({x[0], 4});
    });
    visit({"TorchEmbedding", 1, {In({9, 4}), In(x, kInt64)}, {}, 1, kMs}, [&] {
      return OneOutput({x[0], x[1], 4});
    });
    const Input first = {{}, kFloat, {{0}}, false}, limit = {{}, kFloat, {{x[0]}}, false};
    visit({"Range", 1, {first, limit}, {}, 1, kMs},
          [&] { return PerElement({x[0]}, [] { FloatAdd(0.5, 1.0); }, {x[0]}); });
  }
}

namespace {

// Murmur hash 3 of 32 bits, by its published algorithm; shifts and bitwise operations are
// comparisons of bits.
void MurmurHash(int64_t words) {
  const OnIntegers integers;
  const auto bits = [](int operations) {
    for (int i = 0; i < operations; ++i) Compared(1, 0);
  };
  for (int64_t word = 0; word < words; ++word) {
    Counted k = 5;
    k = k * 3.0;
    bits(3);  // rotated by 15
    k = k * 7.0;
    bits(1);  // into the hash
    bits(3);  // rotated by 13
    k * 5.0 + 11.0;
  }
  bits(1);  // the length
  bits(2);
  Counted(5) * 3.0;
  bits(2);
  Counted(5) * 7.0;
  bits(2);
}

// Gauss-Jordan elimination in place, without a search for pivots.
void Invert(int64_t n) {
  for (int64_t p = 0; p < n; ++p) {
    const Counted inverse = 1.0 / Counted(0.5);
    for (int64_t j = 0; j < n; ++j) {
      if (j != p) Counted(0.5) * inverse;
    }
    for (int64_t i = 0; i < n; ++i) {
      if (i == p) continue;
      for (int64_t j = 0; j < n; ++j) {
        if (j != p) Counted(0.5) - Counted(0.25) * 0.5;
      }
      -Counted(0.25) * inverse;
    }
  }
}

}  // namespace

void RuntimeAlgorithmCases(const Visit& visit) {
  for (const Sizes& s : Shapes(2, 4)) {
    const Sizes matrices = {s[0], s[1], s[1]};
    visit({"Inverse", 1, {In(matrices)}, {}, 1, kMs}, [&] {
      for (int64_t i = 0; i < s[0]; ++i) Invert(s[1]);
      return OneOutput(matrices);
    });
    for (int64_t words : {1, 2}) {  // of 4 bytes
      const int type = words == 1 ? kInt32 : kInt64;
      visit({"MurmurHash3", 1, {In(s, type)}, {}, 1, kMs}, [&] {
        ForEach(s, [&](const Sizes&) { MurmurHash(words); });
        return OneOutput(s);
      });
    }
    visit({"DynamicTimeWarping", 1, {In(s)}, {}, 1, kMs}, [&] {
      ForEach(s, [](const Sizes&) { Counted(1) + Min(0.5, Min(0.25, 0.125)); });
      return UnnamedOutputs();
    });
    for (int64_t n = 1; n <= 3; ++n) {
      const Sizes tokens = {s[0], 6};
      visit({"NGramRepeatBlock",
             1,
             {In(tokens, kInt64), In({s[0], 20})},
             {{"ngram_size", n}},
             1,
             kMs},
            [&] {
              const OnIntegers integers;
              // The last n - 1 tokens against those before every place.
              ForEach({s[0], 6 - n + 1, n - 1}, [](const Sizes&) { Compared(1, 0); });
              return OneOutput({s[0], 20});
            });
    }
  }
  for (int64_t n : {2, 4, 8, 16}) {
    for (int64_t batch : {1, 3}) {
      visit({"Irfft", 1, {In({batch, n / 2 + 1, 2})}, {{"signal_ndim", int64_t{1}}}, 1, kMs}, [&] {
        for (int64_t i = 0; i < batch; ++i) FastFourierTransform(n);
        return OneOutput({batch, n});
      });
    }
  }
}

namespace {

constexpr int kFloat8 = 17, kHalf = 10;
void Scale(const Sizes& weights) {
  ForEach(weights, [](const Sizes&) { Counted(5) * 0.5; });
}

}  // namespace

// Weights in blocks of few bits: dequantised once, then a product of floats.
void RuntimeMatMulCases(const Visit& visit) {
  for (const Sizes& s : Shapes(3, 3)) {
    const int64_t rows = s[0], n = 16 * s[1], k = 64 * s[2];
    const Sizes a = {rows, k};
    visit({"MatMulBnb4",
           1,
           {In(a), In({n * k / 2}, kUint8), In({n * k / 64})},
           {{"K", k}, {"N", n}, {"block_size", int64_t{64}}, {"quant_type", int64_t{1}}},
           1,
           kMs},
          [&] {
            Scale({n, k});
            return MatMul(a, {k, n});
          });
    const Input shape = {{2}, kInt64, {{k, n}}, false};
    visit({"MatMulFpQ4",
           1,
           {In(a), In({n * k}, kUint8), shape},
           {{"blk_quant_type", int64_t{0}}},
           1,
           kMs},
          [&] {
            Scale({n, k});
            return MatMul(a, {k, n});
          });
  }
}

void Float8MatMulCases(const Visit& visit) {
  for (const Sizes& s : Shapes(4, 3)) {
    const int64_t rows = s[0], n = 16 * s[1], k = 64 * s[2];
    const bool bias = s[3] > 1;
    const Sizes a = {rows, k};
    const auto biased = [bias](Counted acc) {
      if (bias) acc += 0.5;
    };
    Case fp8{"MatMulBlockQuantizedFp8Weight",
             1,
             {In(a, kHalf), In({n, k}, kFloat8), In({n, (k + 127) / 128})},
             {},
             1,
             kMs};
    fp8.inputs.push_back(Absent());
    if (bias) fp8.inputs.push_back(In({n}, kHalf));
    visit(fp8, [&] {
      Scale({n, k});
      return MatMul(a, {k, n}, biased);
    });
    Case fp4{"MatMulBlockQuantizedFp4Weight",
             1,
             {In(a, kHalf), In({n, k / 2}, kUint8), In({n, k / 16}, kUint8), In({}), Absent()},
             {},
             1,
             kMs};
    if (bias) fp4.inputs.push_back(In({n}, kHalf));
    visit(fp4, [&] {
      Scale({n, k / 16});  // the scale of a block
      Scale({n, k});
      return MatMul(a, {k, n}, biased);
    });
    visit({"SparseToDenseMatMul", 1, {In(a), In({k, n})}, {}, 1, kMs}, [&] {
      return MatMul(a, {k, n});
    });
    visit({"GemmFloat8",
           1,
           {In(a, kFloat8), In({n, k}, kFloat8), Absent(), In({}), In({}), In({})},
           {{"transB", int64_t{1}}, {"dtype", int64_t{kHalf}}},
           1,
           kMs},
          [&] {
            Scale(a);
            Scale({n, k});
            return MatMul(a, {k, n}, [](Counted acc) { acc / 0.5; });
          });
  }
}

void QOrderedMatMulCases(const Visit& visit) {
  const Input scale = In({});
  for (const Sizes& s : Shapes(4, 3)) {
    const Sizes a = {s[0], s[1], s[2]}, b = {s[2], s[3]}, y = {s[0], s[1], s[3]};
    for (int flags = 0; flags < 4; ++flags) {
      const bool bias = flags & 1, added = flags & 2;
      Case c{"QOrderedMatMul", 1, {In(a, kInt8), scale, In(b, kInt8), scale, scale}, {}, 1, kMs};
      c.attributes = {{"order_A", int64_t{1}}, {"order_B", int64_t{0}}, {"order_Y", int64_t{1}}};
      c.inputs.push_back(bias ? In({s[3]}) : Absent());
      if (added) c.inputs.push_back(In(y, kInt8));
      if (added) c.inputs.push_back(scale);
      visit(c, [&] {
        const OnIntegers integers;
        return MatMul(a, b, [&](Counted acc) {
          const OnIntegers no(false);
          acc = acc * 0.01;  // the scales of both operands over that of Y
          if (bias) acc += 0.5;
          if (added) acc += Counted(5) * 0.5;
          Min(Max(Round(acc), -128.0), 127.0);
        });
      });
    }
  }
}

namespace {

// One token: its products with the history, mixed one order after the other, modulo the size of
// every head of the order.
void HashNGrams(int64_t orders, int64_t heads, bool offsets) {
  const OnIntegers integers;
  Counted mix = Counted(5) * 3.0;
  for (int64_t n = 2; n <= orders; ++n) {
    const Counted shifted = Counted(5) * 7.0;
    Compared(mix, shifted);  // xor
    for (int64_t head = 0; head < heads; ++head) {
      const Counted hash = mix / 11.0;
      if (offsets) hash + 100.0;
    }
  }
}

}  // namespace

void NGramHashCases(const Visit& visit) {
  ForEach({2, 3, 2, 3, 2}, [&](const Sizes& i) {
    const int64_t batch = i[0] + 1, length = i[1] + 1, orders = i[2] + 2, heads = i[3] + 1;
    const int64_t width = (orders - 1) * heads;
    const Input multipliers = In({orders}, kInt64), sizes = In({width}, kInt64);
    const std::vector<std::pair<std::string, AttributeValue>> attributes = {
        {"max_ngram_size", orders}, {"n_head_per_ngram", heads}, {"pad_id", int64_t{0}}};
    visit({"NGramHashMapping",
           1,
           {In({batch, length}, kInt64), multipliers, sizes},
           attributes,
           2,
           kMs},
          [&] {
            for (int64_t t = 0; t < batch * length; ++t) HashNGrams(orders, heads, false);
            return Outputs({{batch, length, width}, {batch, orders - 1}});
          });
    Case packed{"VarlenNGramHashMapping",
                1,
                {In({length}, kInt64), multipliers, sizes, In({batch + 1}, kInt32),
                 In({batch, orders - 1}, kInt64)},
                attributes,
                2,
                kMs};
    if (i[4] > 0) packed.inputs.push_back(In({width}, kInt64));
    visit(packed, [&] {
      for (int64_t t = 0; t < length; ++t) HashNGrams(orders, heads, i[4] > 0);
      return Outputs({{length, width}, {batch, orders - 1}});
    });
  });
}

namespace {

struct Experts {
  int64_t tokens, experts, best, hidden, inner;
  bool geglu = false;     // Gelu(gate) * up, both of fc1
  bool weighted = false;  // by an input of its own, without softmax
};
// A router's softmax and the places of its best; each token goes through its experts, whose outputs
// are weighed and summed.
void RunExperts(const Experts& e) {
  for (int64_t token = 0; token < e.tokens; ++token) {
    if (!e.weighted) Softmax(Row(static_cast<size_t>(e.experts), 0.5));
    TopK({e.experts}, 0, e.best);
    for (int64_t i = 0; i < e.best; ++i) {
      for (int64_t j = 0; j < e.inner; ++j) {
        if (e.geglu) {
          GeluTanh(Dot(e.hidden)) * Dot(e.hidden);
        } else {
          Silu(Dot(e.hidden));
        }
      }
      for (int64_t j = 0; j < e.hidden; ++j) Counted(0.5) + 0.25 * Dot(e.inner);
    }
  }
}

}  // namespace

void ExpertsCases(const Visit& visit) {
  ForEach({3, 3, 2, 2, 2}, [&](const Sizes& i) {
    const Experts e = {i[0] + 1, i[1] + 2, i[2] + 1, 8 * (i[3] + 1), 8 * (i[4] + 2)};
    const Sizes x = {e.tokens, e.hidden};
    Case c{"MoE",
           1,
           {In(x), In({e.tokens, e.experts}), In({e.experts, e.inner, e.hidden}), Absent(),
            In({e.experts, e.hidden, e.inner})},
           {{"k", e.best}, {"activation_type", "silu"}},
           1,
           kMs};
    visit(c, [&] {
      RunExperts(e);
      return OneOutput(x);
    });
    Case gated = c;
    gated.inputs[2] = In({e.experts, 2 * e.inner, e.hidden});
    gated.attributes = {{"k", e.best}, {"activation_type", "geglu"}, {"swiglu_fusion", int64_t{1}}};
    visit(gated, [&] {
      Experts geglu = e;
      geglu.geglu = true;
      RunExperts(geglu);
      return OneOutput(x);
    });
    c.op = "QMoE";
    c.inputs = {In(x),
                In({e.tokens, e.experts}),
                In({e.experts, e.inner, e.hidden / 2}, kUint8),
                In({e.experts, e.inner}),
                Absent(),
                In({e.experts, e.hidden, e.inner / 2}, kUint8),
                In({e.experts, e.hidden})};
    visit(c, [&] {
      // No more experts are dequantised than there are, or than tokens can ask for.
      const int64_t used = std::min(e.experts, e.tokens * e.best);
      for (int64_t j = 0; j < used * 2 * e.hidden * e.inner; ++j) Counted(5) * 0.5;
      RunExperts(e);
      return OneOutput(x);
    });
    // Chosen by router_probs, weighted by router_weights.
    for (int j = 7; j < 14; ++j) c.inputs.push_back(Absent());
    c.inputs.push_back(In({e.tokens, e.experts}));
    visit(c, [&] {
      const int64_t used = std::min(e.experts, e.tokens * e.best);
      for (int64_t j = 0; j < used * 2 * e.hidden * e.inner; ++j) Counted(5) * 0.5;
      Experts weighted = e;
      weighted.weighted = true;
      RunExperts(weighted);
      return OneOutput(x);
    });
  });
}

namespace {

// The products of one element of a gate, back in floats: x W and h R.
Counted QuantizedGate(int64_t input, int64_t hidden) {
  {
    const OnIntegers integers;
    Dot(input);
    Dot(hidden);
  }
  return Counted(5) * 0.01 + Counted(5) * 0.01;
}

struct QuantizedLstm {
  int64_t steps, batch, input, hidden;
  bool bias;
};
// One direction, of X in integers. The scale of each product is that of both its operands.
void RunQuantizedLstm(const QuantizedLstm& l) {
  Counted(0.5) * 0.25;
  {
    const OnIntegers integers;
    SubtractZeroPoint({l.steps, l.batch, l.input});
    SubtractZeroPoint({l.input + l.hidden, 4 * l.hidden});
  }
  for (int64_t step = 0; step < l.steps; ++step) {
    DynamicQuantize({l.batch, l.hidden});
    Counted(0.5) * 0.25;
    {
      const OnIntegers integers;
      SubtractZeroPoint({l.batch, l.hidden});
    }
    for (int64_t i = 0; i < l.batch * l.hidden; ++i) {
      Row gates;
      for (int gate = 0; gate < 4; ++gate) {
        Counted sum = QuantizedGate(l.input, l.hidden);
        if (l.bias) sum = sum + 0.5 + 0.25;
        gates.push_back(gate == 3 ? Tanh(sum) : Sigmoid(sum));
      }
      const Counted cell = gates[0] * 0.5 + gates[1] * gates[3];
      gates[2] * Tanh(cell);
    }
  }
}

}  // namespace

void QuantizedLstmCases(const Visit& visit) {
  ForEach({3, 2, 3, 3, 2, 2}, [&](const Sizes& i) {
    const QuantizedLstm l = {i[0] + 1, i[1] + 1, i[2] + 1, i[3] + 1, i[4] > 0};
    const int64_t directions = i[5] + 1;
    const Input scale = In({directions}), point = In({directions}, kInt8);
    Case c{"DynamicQuantizeLSTM",
           1,
           {In({l.steps, l.batch, l.input}), In({directions, l.input, 4 * l.hidden}, kInt8),
            In({directions, l.hidden, 4 * l.hidden}, kInt8),
            l.bias ? In({directions, 8 * l.hidden}) : Absent(), Absent(), Absent(), Absent(),
            Absent(), scale, point, scale, point},
           {{"hidden_size", l.hidden}},
           3,
           kMs};
    if (directions == 2) c.attributes.emplace_back("direction", "bidirectional");
    visit(c, [&] {
      DynamicQuantize({l.steps, l.batch, l.input});  // for both directions
      for (int64_t d = 0; d < directions; ++d) RunQuantizedLstm(l);
      const Sizes last = {directions, l.batch, l.hidden};
      return Outputs({{l.steps, directions, l.batch, l.hidden}, last, last});
    });
  });
}

}  // namespace onnxflops::oracle
