// Operators of ONNX Runtime: a fused operator executes what its parts do.
#include <algorithm>

#include "tests/oracle/cases.h"
#include "tests/oracle/conv.h"
#include "tests/oracle/elementwise.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/normalization.h"
#include "tests/oracle/pool.h"
#include "tests/oracle/quantization.h"
#include "tests/oracle/softmax.h"
#include "tests/oracle/various.h"

namespace onnxflops::oracle {

void FusedElementwiseCases(const Visit& visit) {
  for (const Sizes& x : Shapes(3, 3)) {
    const Input bias = In({x[2]});
    const auto each = [&](auto run) { return [&x, run] { return PerElement(x, run, x); }; };
    visit({"Gelu", 1, {In(x)}, {}, 1, kMs}, each([] { GeluErf(0.5); }));
    visit({"BiasGelu", 1, {In(x), bias}, {}, 1, kMs}, each([] { GeluErf(Counted(0.5) + 0.25); }));
    visit({"FastGelu", 1, {In(x)}, {}, 1, kMs}, each([] { GeluTanh(0.5); }));
    visit({"FastGelu", 1, {In(x), bias}, {}, 1, kMs}, each([] { GeluTanh(Counted(0.5) + 0.25); }));
    visit({"QuickGelu", 1, {In(x)}, {{"alpha", 1.0}}, 1, kMs}, each([] { Silu(0.5); }));
    visit({"QuickGelu", 1, {In(x)}, {}, 1, kMs}, each([] { Swish(0.5); }));
    const Sizes complex = {x[0], x[1], 2};
    visit({"ComplexMul", 1, {In(complex), In(complex)}, {}, 1, kMs}, [&] {
      return PerElement(
          {x[0], x[1]},
          [] {
            Counted(1) * 2.0 - Counted(3) * 4.0;
            Counted(1) * 4.0 + Counted(2) * 3.0;
          },
          complex);
    });
    const Sizes a = {x[0], x[2]}, b = {x[1], x[2]};
    visit({"CDist", 1, {In(a), In(b)}, {{"metric", "euclidean"}}, 1, kMs}, [&] {
      return PerElement({x[0], x[1]},
                        [&] {
                          Counted sum = 0;
                          for (int64_t i = 0; i < x[2]; ++i) {
                            const Counted difference = Counted(0.5) - 0.25;
                            sum += difference * difference;
                          }
                          Sqrt(sum);
                        },
                        {x[0], x[1]});
    });
    for (bool with_bias : {false, true}) {
      const auto summed = [with_bias](const Sizes& shape) {
        ForEach(shape,
                [&](const Sizes&) { with_bias ? 0.5 + Counted(0.25) + 0.5 : 0.5 + Counted(1); });
      };
      const Input last = with_bias ? bias : Absent();
      visit({"SkipLayerNormalization", 1, {In(x), In(x), bias, bias, last}, {}, 1, kMs}, [&] {
        summed(x);
        return LayerNormalization(x, -1, true, 1);
      });
      visit({"SkipSimplifiedLayerNormalization", 1, {In(x), In(x), bias, last}, {}, 1, kMs}, [&] {
        summed(x);
        return RmsNormalization(x, -1);
      });
    }
  }
}

void FusedMatMulCases(const Visit& visit) {
  for (const Sizes& s : Shapes(4, 3)) {
    const int64_t m = s[0], n = s[1], k = s[2], batch = s[3];
    for (int flags = 0; flags < 8; ++flags) {
      const bool ta = flags & 1, tb = flags & 2, scaled = flags & 4;
      const Sizes a = {batch, ta ? k : m, ta ? m : k}, b = {batch, tb ? n : k, tb ? k : n};
      for (const char* name : {"FusedMatMul", "TransposeMatMul"}) {
        visit({name,
               1,
               {In(a), In(b)},
               {{"transA", int64_t{ta}}, {"transB", int64_t{tb}}, {"alpha", scaled ? 0.5 : 1.0}},
               1,
               kMs},
              [&] {
                return MatMul({batch, m, k}, {batch, k, n}, [&](Counted y) {
                  if (scaled) Counted(0.5) * y;
                });
              });
      }
    }
    const Sizes a = {batch, m, k}, b = {k, n};
    visit({"GemmFastGelu", 1, {In(a), In(b), In({n})}, {}, 1, kMs},
          [&] { return MatMul(a, b, [](Counted y) { GeluTanh(y + 0.5); }); });
    GemmArguments gemm;
    gemm.a = {m, k};
    gemm.b = b;
    gemm.c = Sizes{n};
    visit({"FusedGemm", 1, {In(gemm.a), In(b), In({n})}, {{"activation", "Relu"}}, 1, kMs}, [&] {
      ForEach({m, n}, [](const Sizes&) { Max(0.5, 0.0); });
      return Gemm(gemm);
    });
    visit({"MatMulInteger16", 1, {In(a, 5), In(b, 5)}, {}, 1, kMs}, [&] {
      const OnIntegers integers;
      return MatMul(a, b);
    });
    // Blocks of 16 four-bit weights; a weight is scaled once.
    const Sizes x = {batch, m, 16 * k};
    Case nbits{"MatMulNBits",
               1,
               {In(x), In({n, k, 8}, kUint8), In({n * k})},
               {{"K", 16 * k}, {"N", n}, {"bits", int64_t{4}}, {"block_size", int64_t{16}}},
               1,
               kMs};
    visit(nbits, [&] {
      ForEach({n, 16 * k}, [](const Sizes&) { Counted(5) * 0.5; });
      return MatMul(x, {16 * k, n});
    });
  }
}

// The same window operators with the channels last.
void ChannelsLastCases(const Visit& visit) {
  const auto moved = [](Outputs outputs) {
    if (!outputs.has_value()) return outputs;
    for (Sizes& dims : *outputs) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
    return outputs;
  };
  for (const Window& window : Windows(2, false)) {
    const Sizes x = {3, 2, 4, 5}, w = Concat({6, 2}, window.kernel), last = {3, 4, 5, 2};
    auto attributes = WindowAttributes(window);
    attributes.emplace_back("dilations", window.dilations);
    for (bool bias : {false, true}) {
      std::vector<Input> inputs = {In(last), In(w)};
      if (bias) inputs.push_back(In({6}));
      const auto add_bias = [&](Counted acc) {
        if (bias) acc += 0.5;
      };
      visit({"Conv", 11, inputs, attributes, 1, kNhwc},
            [&] { return moved(Conv(x, w, 1, window, add_bias)); });
      inputs[0] = In(x);
      auto activated = attributes;
      activated.emplace_back("activation", "Relu");
      visit({"FusedConv", 1, inputs, activated, 1, kMs}, [&] {
        return Conv(x, w, 1, window, [&](Counted acc) {
          add_bias(acc);
          Max(acc, 0.0);
        });
      });
    }
    visit({"MaxPool", 12, {In(last)}, attributes, 1, kNhwc},
          [&] { return moved(Pool(PoolKind::kMax, x, window)); });
    visit({"AveragePool", 19, {In(last)}, attributes, 1, kNhwc},
          [&] { return moved(Pool(PoolKind::kAverage, x, window)); });
    visit({"NhwcMaxPool", 1, {In(last, kInt8)}, attributes, 1, kMs}, [&] {
      const OnIntegers integers;
      return moved(Pool(PoolKind::kMax, x, window));
    });
  }
  for (const Sizes& x : Shapes(4, 3)) {
    const Input last = In({x[0], x[2], x[3], x[1]});
    visit({"GlobalMaxPool", 1, {last}, {}, 1, kNhwc},
          [&] { return moved(GlobalPool(PoolKind::kMax, x)); });
    visit({"GlobalAveragePool", 1, {last}, {}, 1, kNhwc},
          [&] { return moved(GlobalPool(PoolKind::kAverage, x)); });
  }
}

void FusedQuantizedCases(const Visit& visit) {
  const Input scale = In({}), point = In({}, kUint8);
  for (const Sizes& x : Shapes(3, 3)) {
    const Input q = In(x, kUint8);
    const auto each = [&](int dequantized, auto run) {
      return [&x, dequantized, run] {
        return PerElement(
            x,
            [&] {
              for (int i = 0; i < dequantized; ++i) Dequantize(5, true);
              run();
              Quantize(0.5, true);
            },
            x);
      };
    };
    const std::vector<Input> two = {q, scale, point, q, scale, point, scale, point};
    const std::vector<Input> one = {q, scale, point, scale, point};
    visit({"QLinearAdd", 1, two, {}, 1, kMs}, each(2, [] { FloatAdd(0.5, 0.25); }));
    visit({"QLinearMul", 1, two, {}, 1, kMs}, each(2, [] { FloatMul(0.5, 0.25); }));
    visit({"QLinearSigmoid", 1, one, {}, 1, kMs}, each(1, [] { Sigmoid(0.5); }));
    visit({"QLinearLeakyRelu", 1, one, {}, 1, kMs},
          each(1, [] { Compared(FloatMul(0.5, 0.25), 0.0); }));
    visit({"QuantizeLinear", 1, {In(x), scale, point}, {}, 1, kMs}, each(0, [] {}));
    visit({"DequantizeLinear", 1, {q, scale, point}, {}, 1, kMs}, [&] {
      return PerElement(
          x, [] { Dequantize(5, true); }, x);
    });
  }
}

void MultiHeadAttentionCases(const Visit& visit) {
  ForEach({2, 2, 3, 3, 2, 2}, [&](const Sizes& i) {
    const int64_t batch = i[0] + 1, heads = i[1] + 1, queries = i[2] + 1, keys = i[3] + 1;
    const int64_t depth = i[4] + 1, value_depth = i[5] + 1;
    const Sizes y = {batch, queries, heads * value_depth};
    visit({"MultiHeadAttention",
           1,
           {In({batch, queries, heads * depth}), In({batch, keys, heads * depth}),
            In({batch, keys, heads * value_depth})},
           {{"num_heads", heads}},
           1,
           kMs},
          [&] {
            ForEach({batch, heads, queries}, [&](const Sizes&) {
              Row scores;
              for (int64_t k = 0; k < keys; ++k) scores.push_back(Dot(depth) * 0.5);
              Softmax(scores);
              for (int64_t d = 0; d < value_depth; ++d) Dot(keys);
            });
            return OneOutput(y);
          });
  });
}

void ChannelsLastNormalizationCases(const Visit& visit) {
  for (const Sizes& x : Shapes(4, 3)) {
    const Sizes last = {x[0], x[2], x[3], x[1]};
    const Input channel = In({x[1]});
    const auto moved = [last](const Outputs&) { return OneOutput(last); };
    visit({"BatchNormalization", 15, {In(last), channel, channel, channel, channel}, {}, 1, kNhwc},
          [&] { return moved(BatchNormalization(x, false)); });
    visit({"InstanceNormalization", 6, {In(last), channel, channel}, {}, 1, kNhwc},
          [&] { return moved(GroupNormalization(x, x[1])); });
    visit({"LRN", 13, {In(last)}, {{"size", int64_t{3}}}, 1, kNhwc},
          [&] { return moved(Lrn(x, 3)); });
    visit({"GlobalLpPool", 2, {In(last)}, {}, 1, kNhwc}, [&] {
      GlobalPool(PoolKind::kLp, x);
      return OneOutput({x[0], 1, 1, x[1]});
    });
    const Sizes kernel = {std::min<int64_t>(x[2], 2), std::max<int64_t>(x[3] - 1, 1)};
    visit({"LpPool", 18, {In(last)}, {{"kernel_shape", kernel}}, 1, kNhwc}, [&] {
      Pool(PoolKind::kLp, x, {kernel, {1, 1}, {1, 1}, {0, 0, 0, 0}});
      return OneOutput({x[0], x[2] - kernel[0] + 1, x[3] - kernel[1] + 1, x[1]});
    });
  }
}

}  // namespace onnxflops::oracle
