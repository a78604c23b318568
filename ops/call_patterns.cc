#include "ops/call_patterns.h"

namespace onnxflops {
namespace {

using Keeps = CallPattern::Keeps;

constexpr char kWrittenOut[] =
    "a module that writes it out keeps what is between, as x * torch.sigmoid(x) does";
constexpr char kThreshold[] = "PyTorch's threshold and hardshrink keep their input";
constexpr char kSmoothLoss[] = "a module that writes a smooth loss out keeps what is between";
constexpr char kOneOver[] = "PyTorch's 1 / x is a reciprocal and a product, each in new memory";
constexpr char kDistance[] =
    "PyTorch's pairwise_distance keeps its result, a module that writes it out the sum";

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
    {"group_norm", "Add*(Mul*(InstanceNormalization(x), y), z)"},  // a group for each channel
    {"gelu", "Mul*(x, Add*(Erf(Div(x, k)), k))"},
    {"gelu", "Mul*(x, Add*(Erf(Mul*(x, k)), k))"},
    {"gelu(approximate='tanh')",
     "Mul*(x, Add*(k, Tanh(Mul*(k, Add*(x, Mul*(k, Mul*(x, Mul*(x, x))))))))"},
    {"binary_cross_entropy_with_logits",
     "Neg(Add*(Mul*(y, Log(Sigmoid(x))), Mul*(Sub(k, y), Log(Sub(k, Sigmoid(x))))))"},
    {"binary_cross_entropy_with_logits", "Sub(Mul*(Sub(k, y), x), Log(Sigmoid(x)))", Keeps::kInputs,
     true},
    {"smooth_l1_loss",
     "Where(Less(Abs(Sub(x, y)), k), Mul*(Pow(Abs(Sub(x, y)), k), k), Sub(Abs(Sub(x, y)), k))",
     Keeps::kInputs, true, 0, kSmoothLoss},
    {"smooth_l1_loss",
     "Where(Less(Abs(Sub(x, y)), k), Div(Mul*(Pow(Abs(Sub(x, y)), k), k), k), "
     "Sub(Abs(Sub(x, y)), k))",
     Keeps::kInputs, true, 0, kSmoothLoss},
    {"huber_loss",
     "Where(Less(Abs(Sub(x, y)), k), Mul*(Mul*(Abs(Sub(x, y)), k), Abs(Sub(x, y))), "
     "Sub(Abs(Sub(x, y)), k))",
     Keeps::kInputs, true, 0, kSmoothLoss},
    {"binary_cross_entropy",
     "Sub(Mul*(Sub(y, k), Max*(Log(Add*(Neg(x), k)), k)), Mul*(y, Max*(Log(x), k)))",
     Keeps::kInputs, true},
    {"logsigmoid", "Log(Sigmoid(x))", Keeps::kBuffer, false, 0,
     "logsigmoid keeps a buffer on a CPU, and none on a GPU"},
    {"mse_loss", "Mul*(Sub(Expand(x), Expand(y)), Sub(Expand(x), Expand(y)))"},
    {"kl_div",
     "Where(Greater(y, k), Mul*(y, Sub(Log(y), x)), "
     "ConstantOfShape(Shape(Mul*(y, Sub(Log(y), x)))))"},
    {"unfold", "Transpose(Gather(Gather(Pad(x), y), z))", Keeps::kNothing},
    {.call = "silu", .operators = "Mul*(x, Sigmoid(x))", .by_hand = kWrittenOut},
    {.call = "mish", .operators = "Mul*(x, Tanh(Softplus(x)))", .by_hand = kWrittenOut},
    {.call = "glu", .operators = "Mul*(Split(x), Sigmoid(Split(x)))", .by_hand = kWrittenOut},
    {"softshrink", "Add*(Where(Greater(x, k), Sub(x, k), k), Where(Less(x, k), Add*(x, k), k))"},
    {"softshrink", "Where(Greater(Abs(x), k), Sub(x, Mul*(Sign(x), k)), Mul*(x, k))",
     Keeps::kInputs, true},
    {"hardshrink", "Where(Or(Greater(x, k), Less(x, k)), x, k)"},
    {"hardshrink", "Where(LessOrEqual(Abs(x), k), k, x)", Keeps::kWritten, true, 0, kThreshold,
     nullptr, "Hardshrink"},
    {"threshold", "Where(LessOrEqual(x, k), k, x)", Keeps::kWritten, true, 0, kThreshold, nullptr,
     "Threshold"},
    {"atan2",
     "Where(Less(y, k), Where(Greater(x, k), Add*(Atan(Div(x, y)), k), Sub(Atan(Div(x, y)), k)), "
     "Atan(Div(x, y)))"},
    {"lerp with a number",
     "Where(Less(k, k), Add*(x, Mul*(k, Sub(y, x))), Sub(y, Mul*(Sub(y, x), Sub(k, k))))",
     Keeps::kNothing},
    {"lerp", "Where(Less(z, k), Add*(x, Mul*(z, Sub(y, x))), Sub(y, Mul*(Sub(y, x), Sub(k, z))))"},
    {"std", "Sqrt(Div(Mul*(ReduceMean(Mul*(Sub(x, ReduceMean(x)), Sub(x, ReduceMean(x)))), k), k))",
     Keeps::kBoth},
    {"std", "Sqrt(ReduceMean(Mul*(Sub(x, ReduceMean(x)), Sub(x, ReduceMean(x)))))", Keeps::kBoth},
    {"var", "Div(Mul*(ReduceMean(Mul*(Sub(x, ReduceMean(x)), Sub(x, ReduceMean(x)))), k), k)"},
    {"var", "ReduceMean(Mul*(Sub(x, ReduceMean(x)), Sub(x, ReduceMean(x))))"},
    {"cosine_similarity",
     "Div(ReduceSum(Mul*(x, y)), "
     "Max*(Sqrt(Mul*(ReduceSum(Mul*(x, x)), ReduceSum(Mul*(y, y)))), k))",
     Keeps::kCosine},
    {"norm", "Pow(ReduceSum(Pow(Abs(x), k)), k)", Keeps::kBoth},
    {"pairwise_distance", "Pow(ReduceSum(Pow(x, k)), k)", Keeps::kWritten, false, 0, kDistance},
    {"rsqrt", "Div(k, Sqrt(x))", Keeps::kResult},
    {"1 / x", "Reciprocal(x)", Keeps::kWritten, false, 0, kOneOver},
    // Attention: weights of rows that are masked as a whole.
    {"scaled_dot_product_attention", "Where(IsNaN(x), k, x)", Keeps::kGuard, true},
};

}  // namespace

absl::Span<const CallPattern> CallPatterns() { return kCallPatterns; }

}  // namespace onnxflops
