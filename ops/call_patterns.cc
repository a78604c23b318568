#include "ops/call_patterns.h"

namespace onnxflops {
namespace {

using Keeps = CallPattern::Keeps;

constexpr CallPattern kCallPatterns[] = {
    // LayerNorm before opset 17.
    {"layer_norm",
     "Add*(Mul*(Div(Sub(x, ReduceMean(x)), "
     "rows=Sqrt(Add*(ReduceMean(Pow(Sub(x, ReduceMean(x)), k)), k))), y), z)",
     Keeps::kRows},
    {"layer_norm",
     "Div(Sub(x, ReduceMean(x)), rows=Sqrt(Add*(ReduceMean(Pow(Sub(x, ReduceMean(x)), k)), k)))",
     Keeps::kRows},
    {"group_norm", "Add*(Mul*(Reshape(InstanceNormalization(Reshape(x))), y), z)"},
    {"group_norm", "Reshape(InstanceNormalization(Reshape(x)))"},
    {"gelu", "Mul*(x, Add*(Erf(Div(x, k)), k))"},
    {"gelu", "Mul*(x, Add*(Erf(Mul*(x, k)), k))"},
    {"gelu(approximate='tanh')",
     "Mul*(x, Add*(k, Tanh(Mul*(k, Add*(x, Mul*(k, Mul*(x, Mul*(x, x))))))))"},
    {"silu", "Mul*(x, Sigmoid(x))"},
    {"mish", "Mul*(x, Tanh(Softplus(x)))"},
    {"glu", "Mul*(Split(x), Sigmoid(Split(x)))"},
    {"rsqrt", "Div(k, Sqrt(x))", Keeps::kResult},
    // Attention: weights of rows that are masked as a whole.
    {"scaled_dot_product_attention", "Where(IsNaN(x), k, x)", Keeps::kNothing, true},
};

}  // namespace

absl::Span<const CallPattern> CallPatterns() { return kCallPatterns; }

}  // namespace onnxflops
