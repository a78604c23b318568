#include "ops/call_patterns.h"

namespace onnxflops {
namespace {

using Keeps = CallPattern::Keeps;

constexpr CallPattern kCallPatterns[] = {
    // LayerNorm before opset 17.
    {"layer_norm",
     "Add*(Mul*(Div(Sub(x, ReduceMean(x)), "
     "rows=Sqrt(Add*(ReduceMean(Pow(Sub(x, ReduceMean(x)), k)), k))), y), z)",
     Keeps::kRows, false, 17},
    {"layer_norm",
     "Div(Sub(x, ReduceMean(x)), rows=Sqrt(Add*(ReduceMean(Pow(Sub(x, ReduceMean(x)), k)), k)))",
     Keeps::kRows, false, 17},
    {"(x - x.mean()) / sqrt(var + eps)",
     "Div(Sub(x, ReduceMean(x)), Sqrt(Add*(ReduceMean(Pow(Sub(x, ReduceMean(x)), k)), k)))",
     Keeps::kInputs, false, 0,
     "a module that computes the difference twice keeps it twice, and exporters merge it"},
    {"group_norm", "Add*(Mul*(Reshape(InstanceNormalization(Reshape(x))), y), z)"},
    {"group_norm", "Reshape(InstanceNormalization(Reshape(x)))"},
    {"gelu", "Mul*(x, Add*(Erf(Div(x, k)), k))"},
    {"gelu", "Mul*(x, Add*(Erf(Mul*(x, k)), k))"},
    {"gelu(approximate='tanh')",
     "Mul*(x, Add*(k, Tanh(Mul*(k, Add*(x, Mul*(k, Mul*(x, Mul*(x, x))))))))"},
    {"binary_cross_entropy_with_logits",
     "Neg(Add*(Mul*(y, Log(Sigmoid(x))), Mul*(Sub(k, y), Log(Sub(k, Sigmoid(x))))))"},
    {"logsigmoid", "Log(Sigmoid(x))", Keeps::kInputs, false, 0,
     "logsigmoid keeps a buffer on a CPU, and none on a GPU"},
    {"mse_loss", "Mul*(Sub(Expand(x), Expand(y)), Sub(Expand(x), Expand(y)))"},
    {"kl_div",
     "Where(Greater(y, k), Mul*(y, Sub(Log(y), x)), "
     "ConstantOfShape(Shape(Mul*(y, Sub(Log(y), x)))))"},
    {"unfold", "Transpose(Gather(Gather(Pad(x), y), z))", Keeps::kNothing},
    {"silu", "Mul*(x, Sigmoid(x))"},
    {"mish", "Mul*(x, Tanh(Softplus(x)))"},
    {"glu", "Mul*(Split(x), Sigmoid(Split(x)))"},
    {"rsqrt", "Div(k, Sqrt(x))", Keeps::kResult},
    // Attention: weights of rows that are masked as a whole.
    {"scaled_dot_product_attention", "Where(IsNaN(x), k, x)", Keeps::kGuard, true},
};

}  // namespace

absl::Span<const CallPattern> CallPatterns() { return kCallPatterns; }

}  // namespace onnxflops
