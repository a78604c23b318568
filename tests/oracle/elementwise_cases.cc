// Elementwise operators, scans and selections.
#include "tests/oracle/cases.h"
#include "tests/oracle/elementwise.h"
#include "tests/oracle/normalization.h"
#include "tests/oracle/resize.h"
#include "tests/oracle/various.h"

namespace onnxflops::oracle {

void UnaryCases(const Visit& visit) {
  for (const UnaryOp& op : kUnaryOps) {
    for (int opset : op.opsets) {
      if (opset == 0) continue;
      for (size_t rank = 0; rank < 4; ++rank) {
        for (const Sizes& x : Shapes(rank, 3)) {
          visit({op.name, opset, {In(x)}}, [&] { return Elementwise(op.run, x); });
        }
      }
    }
  }
  for (const Sizes& x : Shapes(3, 3)) {
    visit({"Gelu", 20, {In(x)}, {{"approximate", "tanh"}}},
          [&] { return Elementwise(GeluTanh, x); });
    visit({"Swish", 24, {In(x)}, {{"alpha", 2.0}}}, [&] { return Elementwise(Swish, x); });
    const auto compared = [](Counted v) { return Compared(v, 0.0); };
    visit({"IsInf", 20, {In(x)}}, [&] { return Elementwise(compared, x); });
    for (const auto& [name, opset, type] :
         {std::tuple{"Not", 1, kBool}, std::tuple{"BitwiseNot", 18, kInt32}}) {
      visit({name, opset, {In(x, type)}}, [&] {
        const OnIntegers integers;
        return Elementwise(compared, x);
      });
    }
  }
}

namespace {
int TypeOf(Type type) {
  return type == Type::kFloat ? kFloat : type == Type::kInt ? kInt32 : kBool;
}
}  // namespace

void BinaryCases(const Visit& visit) {
  std::vector<std::pair<Sizes, Sizes>> pairs;
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = 0; b < 3; ++b) {
      for (const Sizes& x : Shapes(a, 2)) {
        for (const Sizes& y : Shapes(b, 3)) pairs.emplace_back(x, y);
      }
    }
  }
  for (const BinaryOp& op : BinaryOps()) {
    for (int opset : op.opsets) {
      for (Type type : op.types) {
        for (const auto& pair : pairs) {
          const Sizes &x = pair.first, &y = pair.second;
          // A slope is broadcast to its input, never the other way round.
          if (op.name == std::string("PRelu") && Broadcast({x, y}) != x) continue;
          visit({op.name, opset, {In(x, TypeOf(type)), In(y, TypeOf(type))}}, [&] {
            const OnIntegers integers(type != Type::kFloat);
            return Elementwise(op.run, x, y);
          });
        }
      }
    }
  }
}

void VariadicCases(const Visit& visit) {
  for (const VariadicOp& op : kVariadicOps) {
    for (int opset : {8, 13}) {
      for (size_t count = 1; count < 4; ++count) {
        for (const Sizes& x : Shapes(2, 3)) {
          std::vector<Sizes> shapes(count, x);
          if (count > 1) shapes[1] = {x[0] > 2 ? 1 : x[1]};
          if (count > 2) shapes[2] = {2, x[1] > 2 ? 3 : 1};
          Case c{op.name, opset, {}};
          for (const Sizes& shape : shapes) c.inputs.push_back(In(shape));
          visit(c, [&] { return Variadic(op, shapes); });
        }
      }
    }
  }
}

void ClipCases(const Visit& visit) {
  for (bool min : {false, true}) {
    for (bool max : {false, true}) {
      for (const Sizes& x : Shapes(3, 2)) {
        for (int opset : {11, 12, 13}) {
          const Case c{"Clip", opset, {In(x), min ? In({}) : Absent(), max ? In({}) : Absent()}};
          visit(c, [&] {
            ForEach(x, [&](const Sizes&) {
              if (min) Compared(0.25, 0.0);
              if (max) Compared(1.0, 0.25);
            });
            return OneOutput(x);
          });
        }
      }
    }
  }
}

void ScanCases(const Visit& visit) {
  for (const Sizes& x : Shapes(3, 3)) {
    const Input axis = {{}, kInt64, {{1}}, false};
    for (int64_t exclusive : {0, 1}) {
      visit({"CumSum", 14, {In(x), axis}, {{"exclusive", exclusive}}},
            [&] { return Elementwise(FloatAdd, x, x); });
      visit({"CumProd", 26, {In(x), axis}, {{"exclusive", exclusive}}},
            [&] { return Elementwise(FloatMul, x, x); });
    }
    visit({"Det", 22, {In(x)}}, [&] { return Determinant(x); });
    for (int64_t k = 1; k <= 4; ++k) {
      visit({"TopK", 11, {In(x), Ints({k})}, {{"axis", int64_t{-1}}}, 2},
            [&] { return TopK(x, 2, k); });
    }
    visit({"NonZero", 13, {In(x)}}, [&] {
      Elementwise(Compared, x, x);
      return UnnamedOutputs();
    });
    const Input ratio = {{}, kFloat, {{1}}, false}, on = {{}, kBool, {{1}}, false};
    visit({"Dropout", 13, {In(x), ratio, on}}, [&] {
      return PerElement(
          x, [] { Counted(0.5) * 2.0 * Compared(0.25, 0.5); }, x);
    });
    visit({"Dropout", 13, {In(x)}}, [&] { return OneOutput(x); });
    visit({"Bernoulli", 22, {In(x)}}, [&] { return Elementwise(Compared, x, x); });
    for (double alpha : {1.0, 2.0}) {
      visit({"SwiGLU", 28, {In(x), In(x)}, {{"alpha", alpha}}}, [&] {
        return PerElement(
            x, [&] { (alpha == 1 ? Silu(0.5) : Swish(0.5)) * 0.25; }, x);
      });
    }
    visit({"SimplifiedLayerNormalization", 1, {In(x), In({x[2]})}},
          [&] { return RmsNormalization(x, -1); });
  }
}

void SelectionCases(const Visit& visit) {
  for (const Sizes& x : Shapes(2, 3)) {
    const Input indices = In(x, kInt64);
    const auto free = [](Sizes dims) { return [dims] { return OneOutput(dims); }; };
    const Sizes data = {4, 5, 7};
    visit({"Gather", 13, {In(data), indices}}, free({x[0], x[1], 5, 7}));
    visit({"Gather", 13, {In(data), indices}, {{"axis", int64_t{1}}}}, free({4, x[0], x[1], 7}));
    visit({"GatherElements", 13, {In({4, 5}), indices}}, free(x));
    const Sizes gathered = Concat({x[0]}, Slice(data, static_cast<size_t>(x[1]), 3));
    visit({"GatherND", 13, {In(data), indices}}, free(gathered));
    visit({"Slice", 13, {In({4, 5}), Ints({0, 0}), Ints(x)}}, free(x));
    const struct {
      const char* reduction;
      Binary run;
    } kReduced[] = {{"none", nullptr},
                    {"add", FloatAdd},
                    {"mul", FloatMul},
                    {"max", Compared},
                    {"min", Compared}};
    for (const auto& r : kReduced) {
      const auto loop = [&](const Sizes& updates, Sizes out) {
        return [&r, updates, out] {
          if (r.run != nullptr) Elementwise(r.run, updates, updates);
          return OneOutput(out);
        };
      };
      visit({"ScatterElements", 18, {In({4, 5}), indices, In(x)}, {{"reduction", r.reduction}}},
            loop(x, {4, 5}));
      visit({"ScatterND", 18, {In(data), indices, In(gathered)}, {{"reduction", r.reduction}}},
            loop(gathered, data));
    }
  }
  for (const Sizes& s : Shapes(3, 3)) {  // batch, channels, kernel
    const Sizes kernel = {s[2], s[2] + 1};
    const int64_t places = (6 / kernel[0]) * (12 / kernel[1]);
    const Sizes blocks = {s[0], s[1] * kernel[0] * kernel[1], places};
    visit({"Col2Im", 18, {In(blocks), Ints({6, 12}), Ints(kernel)}, {{"strides", kernel}}}, [&] {
      return PerElement(blocks, [] { FloatAdd(0.5, 0.25); }, {s[0], s[1], 6, 12});
    });
  }
}

}  // namespace onnxflops::oracle
