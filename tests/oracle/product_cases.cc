// Matrix products, Einsum and their quantised forms.
#include <optional>

#include "tests/oracle/cases.h"
#include "tests/oracle/conv.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/quantization.h"

namespace onnxflops::oracle {

void MatMulCases(const Visit& visit) {
  std::vector<Sizes> shapes = Shapes(1, 3);
  for (const Sizes& s : Shapes(2, 3)) shapes.push_back(s);
  for (const Sizes& s : Shapes(3, 2)) shapes.push_back(s);
  for (const Sizes& s : {Sizes{5, 1, 4, 2}, Sizes{1, 3, 2, 6}}) shapes.push_back(s);
  for (const Sizes& a : shapes) {
    for (const Sizes& b : shapes) {
      visit({"MatMul", 13, {In(a), In(b)}}, [&] { return MatMul(a, b); });
    }
  }
}

void GemmCases(const Visit& visit) {
  for (const Sizes& mnk : Shapes(3, 3)) {
    const int64_t m = mnk[0], n = mnk[1], k = mnk[2];
    for (int flags = 0; flags < 16; ++flags) {
      GemmArguments g;
      g.trans_a = flags & 1;
      g.trans_b = flags & 2;
      if (flags & 4) g.alpha = 0.5;
      if (flags & 8) g.beta = 2;
      g.a = g.trans_a ? Sizes{k, m} : Sizes{m, k};
      g.b = g.trans_b ? Sizes{n, k} : Sizes{k, n};
      for (const std::optional<Sizes>& bias : {std::optional<Sizes>(),
                                               {Sizes{}},
                                               {Sizes{n}},
                                               {Sizes{m, 1}},
                                               {Sizes{m, n}},
                                               {Sizes{2}}}) {
        g.c = bias;
        Case c{"Gemm", 13, {In(g.a), In(g.b)}};
        if (bias.has_value()) c.inputs.push_back(In(*bias));
        c.attributes = {{"transA", int64_t{g.trans_a}},
                        {"transB", int64_t{g.trans_b}},
                        {"alpha", g.alpha},
                        {"beta", g.beta}};
        visit(c, [&] { return Gemm(g); });
      }
    }
  }
}

void EinsumCases(const Visit& visit) {
  for (const Sizes& s : Shapes(4, 2)) {
    const struct {
      std::vector<std::string> terms;
      std::string out;
      std::vector<Sizes> shapes;
    } cases[] = {
        {{"ij", "jk"}, "ik", {{s[0], s[1]}, {s[1], s[2]}}},
        {{"ij", "jk"}, "ik", {{s[0], s[1]}, {s[3], s[2]}}},
        {{"bij", "bkj"}, "bik", {{s[3], s[0], s[1]}, {s[3], s[2], s[1]}}},
        {{"bhqd", "bhkd"}, "bhqk", {{s[0], 2, s[1], s[2]}, {s[0], 2, s[3], s[2]}}},
        {{"ij", "ij"}, "", {{s[0], s[1]}, {s[0], s[1]}}},
        {{"i", "i"}, "", {{s[0]}, {s[0]}}},
    };
    for (const auto& e : cases) {
      const std::string equation = e.terms[0] + "," + e.terms[1] + "->" + e.out;
      visit({"Einsum", 12, {In(e.shapes[0]), In(e.shapes[1])}, {{"equation", equation}}},
            [&] { return EinsumOfTwo(e.terms, e.out, e.shapes); });
    }
  }
}

void EinsumOrderCases(const Visit& visit) {
  const struct {
    std::vector<std::string> terms;
    std::string out;
  } kEquations[] = {
      {{"ij"}, "ji"},
      {{"ij"}, "i"},
      {{"ij"}, ""},
      {{"ijk"}, "k"},
      {{"i", "j"}, "ij"},
      {{"ij", "ij"}, "ij"},
      {{"ij", "k"}, "ik"},
      {{"ij", "j"}, "i"},
      {{"ij", "jk", "kl"}, "il"},
      {{"ij", "i", "j"}, ""},
      {{"i", "j", "k"}, "ijk"},
      {{"ij", "jk", "ik"}, "ik"},
  };
  for (const Sizes& s : Shapes(4, 3)) {
    for (const auto& e : kEquations) {
      Case c{"Einsum", 12, {}};
      std::vector<Operand> operands;
      std::string equation;
      for (const std::string& term : e.terms) {
        Sizes shape;
        for (char label : term) shape.push_back(s[static_cast<size_t>(label - 'i')]);
        c.inputs.push_back(In(shape));
        operands.push_back({term, shape});
        equation += (equation.empty() ? "" : ",") + term;
      }
      c.attributes = {{"equation", equation + "->" + e.out}};
      visit(c, [&] { return Einsum(operands, e.out); });
    }
  }
}

void QuantizeCases(const Visit& visit) {
  for (const Sizes& x : Shapes(3, 3)) {
    for (bool per_axis : {false, true}) {
      for (bool zero_point : {false, true}) {
        const Sizes scale = per_axis ? Sizes{x[1]} : Sizes{};
        for (int opset : {13, 19, 21}) {
          Case q{"QuantizeLinear", opset, {In(x), In(scale)}};
          Case d{"DequantizeLinear", opset, {In(x, kUint8), In(scale)}};
          if (zero_point) q.inputs.push_back(In(scale, kUint8));
          if (zero_point) d.inputs.push_back(In(scale, kUint8));
          visit(q, [&] {
            ForEach(x, [&](const Sizes&) { Quantize(0.5, zero_point); });
            return OneOutput(x);
          });
          visit(d, [&] {
            ForEach(x, [&](const Sizes&) { Dequantize(5, zero_point); });
            return OneOutput(x);
          });
        }
      }
    }
    visit({"DynamicQuantizeLinear", 11, {In(x)}, {}, 3}, [&] { return DynamicQuantize(x); });
  }
}

void IntegerProductCases(const Visit& visit) {
  for (const Sizes& s : Shapes(4, 2)) {
    const Sizes a = {s[3], s[0], s[1]}, b = {s[1], s[2]};
    for (int points = 0; points < 3; ++points) {
      Case c{"MatMulInteger", 10, {In(a, kUint8), In(b, kInt8)}};
      if (points > 0) c.inputs.push_back(In({}, kUint8));
      if (points > 1) c.inputs.push_back(In({}, kInt8));
      visit(c, [&] {
        const OnIntegers integers;
        if (points > 0) SubtractZeroPoint(a);
        if (points > 1) SubtractZeroPoint(b);
        return MatMul(a, b);
      });
    }
  }
  for (const Window& window : Windows(2, false)) {
    const Sizes x = {3, 2, 4, 5}, w = Concat({6, 2}, window.kernel);
    for (int points = 0; points < 3; ++points) {
      Case c{"ConvInteger", 10, {In(x, kUint8), In(w, kInt8)}, WindowAttributes(window)};
      c.attributes.emplace_back("dilations", window.dilations);
      if (points > 0) c.inputs.push_back(In({}, kUint8));
      if (points > 1) c.inputs.push_back(In({}, kInt8));
      visit(c, [&] {
        const OnIntegers integers;
        const Outputs outputs = Conv(x, w, 1, window, [](Counted) {});
        if (outputs.has_value() && points > 0) SubtractZeroPoint(x);
        if (outputs.has_value() && points > 1) SubtractZeroPoint(w);
        return outputs;
      });
    }
  }
}

void QLinearCases(const Visit& visit) {
  const Input u8 = In({}, kUint8), scale = In({});
  for (const Sizes& s : Shapes(4, 3)) {
    const Sizes a = {s[3], s[0], s[1]}, b = {s[1], s[2]};
    for (int opset : {10, 21}) {
      const Case c{
          "QLinearMatMul", opset, {In(a, kUint8), scale, u8, In(b, kUint8), scale, u8, scale, u8}};
      visit(c, [&] {
        const OnIntegers integers;
        SubtractZeroPoint(a);
        SubtractZeroPoint(b);
        return MatMul(a, b, Requantize);
      });
    }
  }
  for (const Window& window : Windows(2, false)) {
    for (bool bias : {false, true}) {
      const Sizes x = {3, 4, 5, 7}, w = Concat({6, 2}, window.kernel);
      Case c{"QLinearConv",
             10,
             {In(x, kUint8), scale, u8, In(w, kUint8), scale, u8, scale, u8},
             WindowAttributes(window)};
      c.attributes.emplace_back("dilations", window.dilations);
      c.attributes.emplace_back("group", int64_t{2});
      if (bias) c.inputs.push_back(In({6}, kInt32));
      visit(c, [&] {
        const OnIntegers integers;
        const Outputs outputs = Conv(x, w, 2, window, [&](Counted acc) {
          if (bias) acc += 7.0;
          Requantize(acc);
        });
        if (outputs.has_value()) SubtractZeroPoint(x);
        if (outputs.has_value()) SubtractZeroPoint(w);
        return outputs;
      });
    }
  }
}

}  // namespace onnxflops::oracle
