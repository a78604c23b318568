// Transforms, linear models, generators and older forms.
#include "tests/oracle/cases.h"
#include "tests/oracle/elementwise.h"
#include "tests/oracle/matmul.h"
#include "tests/oracle/reduction.h"
#include "tests/oracle/resize.h"
#include "tests/oracle/various.h"

namespace onnxflops::oracle {

void FourierCases(const Visit& visit) {
  for (int64_t n : {1, 2, 4, 8, 16}) {
    for (int64_t batch : {1, 2, 3}) {
      for (int64_t inverse : {0, 1}) {
        const Sizes x = {batch, n, 2};
        const Input axis = {{}, kInt64, {{1}}, false};
        visit({"DFT", 20, {In(x), Absent(), axis}, {{"inverse", inverse}}}, [&] {
          for (int64_t i = 0; i < batch; ++i) FastFourierTransform(n);
          return PerElement(
              x,
              [&] {
                if (inverse) Counted(0.5) / 8.0;
              },
              x);
        });
      }
    }
  }
}

void LinearModelCases(const Visit& visit) {
  for (const Sizes& s : Shapes(3, 3)) {
    const Sizes x = {s[0], s[1]};
    const auto many = [&](int64_t count) {
      return std::vector<double>(static_cast<size_t>(count), 0.5);
    };
    visit({"Scaler", 1, {In(x)}, {{"offset", many(s[1])}, {"scale", many(s[1])}}, 1, kMl}, [&] {
      return PerElement(
          x, [] { (Counted(1) - 0.5) * 0.5; }, x);
    });
    visit({"Binarizer", 1, {In(x)}, {{"threshold", 0.5}}, 1, kMl}, [&] {
      return PerElement(
          x, [] { Compared(0.25, 0.5); }, x);
    });
    for (const Reduction& norm : {Reduction{"ReduceMAX", MaxOf}, kReductions[5], kReductions[6]}) {
      const std::string name = std::string(norm.name).substr(sizeof("Reduce") - 1);
      visit({"Normalizer", 1, {In(x)}, {{"norm", name}}, 1, kMl}, [&] {
        Reduce(norm.reduce, x, {1}, true);
        return PerElement(
            x, [] { Counted(0.5) / 0.25; }, x);
      });
    }
    visit({"LinearRegressor",
           1,
           {In(x)},
           {{"coefficients", many(s[1] * s[2])}, {"intercepts", many(s[2])}, {"targets", s[2]}},
           1,
           kMl},
          [&] {
            return PerElement({s[0], s[2]}, [&] { Dot(s[1]) + 0.5; }, {s[0], s[2]});
          });
  }
}

void GeneratorCases(const Visit& visit) {
  for (int64_t n : {1, 2, 5}) {
    const auto scalar = [](int64_t v) { return Input{{}, kFloat, {{v}}, false}; };
    visit({"Range", 11, {scalar(0), scalar(n), scalar(1)}},
          [&] { return PerElement({n}, [] { FloatAdd(0.5, 1.0); }, {n}); });
    for (const Sizes& x : Shapes(2, 3)) {
      visit({"BitShift", 11, {In(x, kUint8), In({x[1]}, kUint8)}, {{"direction", "LEFT"}}}, [&] {
        const OnIntegers integers;
        return Elementwise(Compared, x, {x[1]});
      });
      const Sizes y = {2, 3, x[0] * n, x[1] * (n + 1)};
      visit({"Upsample",
             7,
             {In({2, 3, x[0], x[1]})},
             {{"mode", "linear"}, {"scales", std::vector<double>{1, 1, double(n), double(n + 1)}}}},
            [&] { return Resize(y, 2, 2); });
    }
  }
}

void WindowFunctionCases(const Visit& visit) {
  for (int64_t n = 1; n <= 6; ++n) {
    const Input size = {{}, kInt64, {{n}}, false};
    // 2 pi / size is made once.
    const auto window = [n](auto term) {
      return [n, term] {
        const Counted step = Counted(6.28) / 5.0;
        return PerElement({n}, [&] { term(step * 2.0); }, {n});
      };
    };
    const auto two_terms = [](Counted x) { Counted(0.5) - 0.5 * Trig(x); };
    visit({"HannWindow", 17, {size}}, window(two_terms));
    visit({"HammingWindow", 17, {size}}, window(two_terms));
    visit({"BlackmanWindow", 17, {size}},
          window([](Counted x) { Counted(0.42) - 0.5 * Trig(x) + 0.08 * Trig(2.0 * x); }));
  }
}

void MelWeightCases(const Visit& visit) {
  const Input rate = In({}, kInt64), edge = In({});
  const auto mel_of = [] { return 2595.0 * Log(1.0 + Counted(440) / 700.0); };  // log10
  for (int64_t bins = 1; bins <= 4; ++bins) {
    for (int64_t length = 2; length <= 9; ++length) {
      const Input mels = {{}, kInt64, {{bins}}, false}, dft = {{}, kInt64, {{length}}, false};
      const Sizes y = {length / 2 + 1, bins};
      visit({"MelWeightMatrix", 17, {mels, dft, rate, edge, edge}}, [&] {
        const Counted low = mel_of(), high = mel_of();
        const Counted step = (high - low) / 3.0;
        // Edges evenly spaced in mel, at whole frequency bins.
        for (int64_t i = 0; i < bins + 2; ++i) {
          const Counted hertz = 700.0 * (Pow(10.0, (low + Counted(2) * step) / 2595.0) - 1.0);
          Round(Counted(9) * hertz / 16000.0);
        }
        // A triangle: the length of both sides, and the lower of both lines above zero.
        for (int64_t i = 0; i < bins; ++i) {
          for (int side = 0; side < 2; ++side) Counted(2) - 1.0;
        }
        ForEach(y, [](const Sizes&) {
          const Counted rise = (Counted(2) - 1.0) / 2.0, fall = (Counted(3) - 2.0) / 2.0;
          Max(0.0, Min(rise, fall));
        });
        return OneOutput(y);
      });
    }
  }
}

}  // namespace onnxflops::oracle
