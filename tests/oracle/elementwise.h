// Operators that work element by element: what one output element executes, per the function body
// of the specification where it has one.
#ifndef ONNXFLOPS_TESTS_ORACLE_ELEMENTWISE_H_
#define ONNXFLOPS_TESTS_ORACLE_ELEMENTWISE_H_

#include <array>
#include <cstddef>
#include <vector>

#include "tests/oracle/shapes.h"

namespace onnxflops::oracle {

inline Counted Sigmoid(Counted x) { return 1.0 / (1.0 + Exp(-x)); }
inline Counted Softplus(Counted x) { return Log(Exp(x) + 1.0); }
inline Counted Elu(Counted x, Counted alpha = 1) {
  const Counted negative = alpha * (Exp(x) - 1.0);
  return x < 0.0 ? negative : x;
}
inline Counted HardSigmoid(Counted x) { return Max(Min(x * 0.2 + 0.5, 1.0), 0.0); }
inline Counted GeluErf(Counted x) { return (0.5 * x) * (1.0 + Erf(x / 1.41421356)); }
inline Counted GeluTanh(Counted x) {
  const Counted inner = 0.79788456 * (x + 0.044715 * Pow(x, 3.0));
  return (0.5 * x) * (1.0 + Tanh(inner));
}
// A factor of one is not multiplied by.
inline Counted Silu(Counted x) { return x * Sigmoid(x); }
inline Counted Swish(Counted x) { return x * Sigmoid(2.0 * x); }

using Unary = Counted (*)(Counted x);
struct UnaryOp {
  const char* name;
  std::array<int, 3> opsets;  // in different versions of the operator; 0 for none
  Unary run;
};
inline Counted Same(Counted x) { return x; }
inline constexpr UnaryOp kUnaryOps[] = {
    {"Abs", {6, 13}, Same},
    {"Neg", {6, 13}, Same},
    {"Identity", {13, 21}, Same},
    {"Relu", {6, 13, 14}, [](Counted x) { return Max(x, 0.0); }},
    {"Sigmoid", {6, 13}, Sigmoid},
    {"Tanh", {6, 13}, Tanh},
    {"Exp", {6, 13}, Exp},
    {"Log", {6, 13}, Log},
    {"Sqrt", {6, 13}, Sqrt},
    {"Erf", {9, 13}, Erf},
    {"Reciprocal", {6, 13}, [](Counted x) { return 1.0 / x; }},
    {"Floor", {6, 13}, Round},
    {"Ceil", {6, 13}, Round},
    {"Round", {11, 22}, Round},
    // If positive 1, if negative -1, else 0.
    {"Sign",
     {9, 13},
     [](Counted x) {
       const bool positive = x > 0.0, negative = x < 0.0;
       return positive || negative ? x : Counted(0);
     }},
    {"IsNaN", {9, 13, 20}, [](Counted x) { return x < x ? x : Counted(0); }},
    {"Softplus", {1, 22}, Softplus},
    {"Softsign", {1, 22}, [](Counted x) { return x / (1.0 + x); }},
    {"Elu", {6, 22}, [](Counted x) { return Elu(x); }},
    {"Selu",
     {6, 22},
     [](Counted x) {
       const Counted negative = 1.05 * (1.67 * Exp(x) - 1.67);
       const Counted positive = 1.05 * x;
       return x < 0.0 ? negative : positive;
     }},
    {"Celu", {12, 28}, [](Counted x) { return Counted(1.0) * Elu(x / 1.0); }},
    {"HardSigmoid", {6, 22}, HardSigmoid},
    {"HardSwish", {14, 22}, [](Counted x) { return x * HardSigmoid(x); }},
    {"Mish", {18, 22}, [](Counted x) { return x * Tanh(Softplus(x)); }},
    {"LeakyRelu",
     {6, 16},
     [](Counted x) {
       const Counted scaled = 0.01 * x;
       return x < 0.0 ? scaled : x;
     }},
    {"ThresholdedRelu", {10, 22}, [](Counted x) { return Counted(1.0) < x ? x : Counted(0); }},
    {"Shrink",
     {9},
     [](Counted x) {
       const Counted above = x + 0.0, below = x - 0.0;
       const bool negative = x < -0.5, positive = Counted(0.5) < x;
       return negative ? above : positive ? below : Counted(0);
     }},
    {"Swish", {24}, Silu},
    {"Gelu", {20}, GeluErf},
    {"Sin", {7, 22}, Trig},
    {"Cos", {7, 22}, Trig},
    {"Tan", {7, 22}, Trig},
    {"Asin", {7, 22}, Trig},
    {"Acos", {7, 22}, Trig},
    {"Atan", {7, 22}, Trig},
    {"Sinh", {9, 22}, Trig},
    {"Cosh", {9, 22}, Trig},
    {"Asinh", {9, 22}, Trig},
    {"Acosh", {9, 22}, Trig},
    {"Atanh", {9, 22}, Trig},
};

using Binary = Counted (*)(Counted x, Counted y);
enum class Type { kFloat, kInt, kBool };  // of the inputs
struct BinaryOp {
  const char* name;
  std::vector<int> opsets;
  std::vector<Type> types;
  Binary run;
};
inline Counted Compared(Counted x, Counted y) { return x < y ? 1.0 : 0.0; }
inline const std::vector<BinaryOp>& BinaryOps() {
  static const std::vector<Type> numbers = {Type::kFloat, Type::kInt};
  static const auto& ops = *new std::vector<BinaryOp>{
      {"Add", {7, 13, 14}, numbers, [](Counted x, Counted y) { return x + y; }},
      {"Sub", {7, 13, 14}, numbers, [](Counted x, Counted y) { return x - y; }},
      {"Mul", {7, 13, 14}, numbers, [](Counted x, Counted y) { return x * y; }},
      {"Div", {7, 13, 14}, numbers, [](Counted x, Counted y) { return x / y; }},
      {"Pow", {12, 13, 15}, numbers, Pow},
      {"Less", {9, 13}, numbers, Compared},
      {"Greater", {9, 13}, numbers, Compared},
      {"LessOrEqual", {12, 16}, numbers, Compared},
      {"GreaterOrEqual", {12, 16}, numbers, Compared},
      {"Equal", {11, 13, 19}, numbers, Compared},
      {"And", {7}, {Type::kBool}, Compared},
      {"Or", {7}, {Type::kBool}, Compared},
      {"Xor", {7}, {Type::kBool}, Compared},
      {"BitwiseAnd", {18}, {Type::kInt}, Compared},
      {"BitwiseOr", {18}, {Type::kInt}, Compared},
      {"BitwiseXor", {18}, {Type::kInt}, Compared},
      {"Mod", {10, 13}, {Type::kInt}, [](Counted x, Counted y) { return x / y; }},
      {"PRelu",
       {9, 16},
       {Type::kFloat},
       [](Counted x, Counted slope) {
         const Counted scaled = slope * x;
         return x < 0.0 ? scaled : x;
       }},
  };
  return ops;
}

inline Outputs Elementwise(Unary run, const Sizes& x) {
  ForEach(x, [&](const Sizes&) { run(0.25); });
  return OneOutput(x);
}
inline Outputs Elementwise(Binary run, const Sizes& x, const Sizes& y) {
  const auto out = Broadcast({x, y});
  if (!out.has_value()) return NoOutput();
  ForEach(*out, [&](const Sizes&) { run(0.25, 0.75); });
  return OneOutput(*out);
}

// Max, Min, Sum and Mean of several tensors: the first is where each starts.
struct VariadicOp {
  const char* name;
  Binary fold;
  bool mean = false;
};
inline constexpr VariadicOp kVariadicOps[] = {
    {"Max", [](Counted x, Counted y) { return Max(x, y); }},
    {"Min", [](Counted x, Counted y) { return Min(x, y); }},
    {"Sum", [](Counted x, Counted y) { return x + y; }},
    {"Mean", [](Counted x, Counted y) { return x + y; }, true},
};
inline Outputs Variadic(const VariadicOp& op, const std::vector<Sizes>& shapes) {
  const auto out = Broadcast(shapes);
  if (!out.has_value()) return NoOutput();
  ForEach(*out, [&](const Sizes&) {
    Counted acc = 0.5;
    for (size_t i = 1; i < shapes.size(); ++i) acc = op.fold(acc, 0.25);
    if (op.mean) acc = acc / static_cast<double>(shapes.size());
  });
  return OneOutput(*out);
}

}  // namespace onnxflops::oracle

#endif  // ONNXFLOPS_TESTS_ORACLE_ELEMENTWISE_H_
