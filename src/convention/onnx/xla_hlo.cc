// How it works. A table tells what each operator becomes in HLO: so many instructions per element
// of its result, or a rule for what depends on shapes and attributes. Operators that are in no row
// are free if they are free to us, and else have our own count, with a flag, so that the figure is
// assumed.
//
// Two rules need a trick. A convolution counts only products with elements of the input, not with
// padding. XLA finds these in loops over all outputs and all places of a window. Here they are
// counted in closed form (PairsUpTo, FloorSum), since a file may state any size. With open sizes,
// padding counts, and this is flagged. A pool over a window as wide as the whole input becomes a
// reduce and a broadcast in XLA, which is why one case of Pool has another formula. A recurrent
// operator is a while loop, whose body counts once whatever the number of steps.
#include "src/convention/onnx/xla_hlo.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "ops/op_def.h"
#include "ops/window.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"

namespace onnxflops::convention {
namespace {

constexpr Kind kTranscendental[] = {Kind::kExp,  Kind::kLog,  Kind::kSqrt, Kind::kPow,
                                    Kind::kTrig, Kind::kTanh, Kind::kErf};

using Result = absl::StatusOr<HloCost>;
using Rule = Result (*)(const NodeView& n, const Tally& own);

Result SameAsOurs(const NodeView&, const Tally& own) { return AsWeCount(own); }

absl::StatusOr<Expr> InputElements(const NodeView& n, int i) {
  ASSIGN_OR_RETURN(const Shape shape, n.RankedShape(i));
  return shape.NumElements();
}

absl::StatusOr<Expr> OutputElements(const NodeView& n) {
  ASSIGN_OR_RETURN(const Shape shape, n.OutputShape(0));
  return shape.NumElements();
}

// A fixed number of instructions per element of the result.
Result PerElement(const NodeView& n, int64_t flops, int64_t transcendentals) {
  ASSIGN_OR_RETURN(const Expr elements, OutputElements(n));
  return HloCost{elements * flops, elements * transcendentals};
}

// ---- elementwise

// k operands: k - 1 instructions; Mean divides as well.
Result Variadic(const NodeView& n, const Tally&) {
  return PerElement(n, n.num_inputs() - (n.op_type() == "Mean" ? 0 : 1), 0);
}

// convert; of the same type, nothing.
Result Convert(const NodeView& n, const Tally&) {
  return PerElement(n, n.dtype(0) == n.output(0).dtype ? 0 : 1, 0);
}

// clamp, maximum or minimum.
Result Clamp(const NodeView& n, const Tally&) {
  const bool bounded = n.HasInput(1) || n.HasInput(2) || n.HasAttr("min") || n.HasAttr("max");
  return PerElement(n, bounded ? 1 : 0, 0);
}

// remainder; the result has the divisor's sign, as in jax.numpy.mod
Result Mod(const NodeView& n, const Tally&) { return PerElement(n, n.Flag("fmod") ? 1 : 10, 0); }

// 0.5 x (1 + erf(x / sqrt 2)); or with tanh, where x^3 is two products.
Result Gelu(const NodeView& n, const Tally&) {
  return PerElement(n, n.String("approximate", "none") == "tanh" ? 8 : 4, 1);
}

// x logistic(alpha x), where logistic is 1 / (1 + exp(-x)).
Result Swish(const NodeView& n, const Tally&) {
  return PerElement(n, n.Float("alpha", 1) == 1 ? 4 : 5, 1);
}

// y = (x - zero_point) * scale, converted.
Result Dequantize(const NodeView& n, const Tally&) {
  return PerElement(n, n.HasInput(2) ? 3 : 2, 0);
}

// A mask of one matrix (compare), and a select.
Result Trilu(const NodeView& n, const Tally&) {
  ASSIGN_OR_RETURN(const Shape x, n.ShapeOfRankAtLeast(0, 2));
  return HloCost{x.NumElements() + x.Product(x.rank() - 2, x.rank()), 0};
}

// ---- reductions: one operation less than operands, per result

Result Reduce(const NodeView& n, const Tally&) {
  ASSIGN_OR_RETURN(const Expr in, InputElements(n, 0));
  ASSIGN_OR_RETURN(const Expr out, OutputElements(n));
  const absl::string_view op = n.op_type();
  HloCost cost{in - out, 0, HloReason::kReductions};
  if (op == "ReduceMean" || op == "GlobalAveragePool") cost.flops += out;
  if (op == "ReduceL1" || op == "ReduceL2" || op == "ReduceSumSquare") cost.flops += in;
  if (op == "ReduceLogSumExp") cost.transcendentals += in;
  if (op == "ReduceL2" || absl::StartsWith(op, "ReduceLog")) cost.transcendentals += out;
  return cost;
}

// A reduce of pairs of a value and an index: 7 instructions, of floats 9, since NaN is the largest.
Result ArgReduce(const NodeView& n, const Tally&) {
  ASSIGN_OR_RETURN(const Expr in, InputElements(n, 0));
  ASSIGN_OR_RETURN(const Expr out, OutputElements(n));
  return HloCost{(in - out) * (IsFloat(n.dtype(0)) ? 9 : 7), 0};
}

// A reduce-window as long as the axis.
Result Cumulate(const NodeView& n, const Tally&) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  const std::optional<Expr> given = n.KnownInt(1);
  if (!given || !given->AsInt64()) return absl::FailedPreconditionError("axis");
  ASSIGN_OR_RETURN(const int axis, n.Axis(*given->AsInt64(), x.rank()));
  return HloCost{x.NumElements() * (x[axis] - 1), 0};
}

// Two reduces, by rows.
Result Softmax(const NodeView& n, const Tally&) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  const bool flattens = n.version() < 13;
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", flattens ? 1 : -1, x.rank()));
  const Expr before = x.Product(0, axis);
  const Expr rows = flattens ? before : before * x.Product(axis + 1, x.rank());
  const Expr elements = x.NumElements();
  const bool log = n.op_type() == "LogSoftmax";
  return HloCost{elements * 4 - rows * 2, log ? elements + rows : elements, HloReason::kReductions};
}

// ---- normalizations: a mean is a reduce and a division

// mean, subtract, square, mean, add epsilon, rsqrt, multiply, scale, add a bias.
HloCost Standardize(const Expr& elements, const Expr& rows, bool bias) {
  return {elements * (bias ? 7 : 6) + rows, rows, HloReason::kReductions};
}

Result LayerNorm(const NodeView& n, const Tally&) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", -1, x.rank()));
  return Standardize(x.NumElements(), x.Product(0, axis), n.HasInput(2));
}

// By the groups of an instance. In InstanceNormalization each channel is a group.
Result GroupNorm(const NodeView& n, const Tally&) {
  ASSIGN_OR_RETURN(const Shape x, n.ShapeOfRankAtLeast(0, 2));
  const Expr groups = n.op_type() == "GroupNormalization" ? Expr(n.Int("num_groups", 1)) : x[1];
  return Standardize(x.NumElements(), x[0] * groups, true);
}

// square, mean, add epsilon, rsqrt, multiply, scale.
Result RmsNorm(const NodeView& n, const Tally&) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(const int axis, n.AxisAttr("axis", -1, x.rank()));
  const Expr rows = x.Product(0, axis);
  return HloCost{x.NumElements() * 4 + rows, rows, HloReason::kReductions};
}

// ---- windows

// The sum of floor((a * i + b) / m) over 0 <= i < n, for n, a, b >= 0 and m > 0, by Euclid's steps.
absl::int128 FloorSum(absl::int128 n, absl::int128 m, absl::int128 a, absl::int128 b) {
  absl::int128 sum = 0;
  while (n > 0) {
    sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
    a %= m;
    b %= m;
    const absl::int128 top = a * n + b;
    n = top / m;
    b = top % m;
    std::swap(a, m);
  }
  return sum;
}

// How many pairs of an output o < outputs and a place k < kernel of its window have
// o * stride + k * dilation <= limit.
absl::int128 PairsUpTo(absl::int128 limit, int64_t outputs, int64_t kernel,
                       const WindowAxis& axis) {
  if (limit < 0 || outputs <= 0) return 0;
  const absl::int128 stride = axis.stride, dilation = axis.dilation;
  const absl::int128 any = std::min<absl::int128>(kernel, limit / dilation + 1);  // places of some
  const absl::int128 spare = limit - (absl::int128(outputs) - 1) * stride;
  const absl::int128 all = spare < 0 ? 0 : std::min(any, spare / dilation + 1);  // of all outputs
  const absl::int128 rest = any - all;
  return all * outputs + rest + FloorSum(rest, stride, dilation, limit - (any - 1) * dilation);
}

// Positions of a window along one axis that lie on the input, over all outputs; the loops of
// GetConvolutionFlops count them one by one.
absl::int128 ValidPositions(int64_t input, int64_t output, int64_t kernel, const WindowAxis& axis,
                            absl::int128 pad) {
  return PairsUpTo(input - 1 + pad, output, kernel, axis) -
         PairsUpTo(pad - 1, output, kernel, axis);
}

// A convolution's windows, on its input `large` and output `small`; of a transposed one, the other
// way round.
struct Convolved {
  const Windows& windows;
  const Shape& large;
  const Shape& small;
};

// The padding before the first element along an axis. `total` is the padding of both ends, used if
// the file does not give them.
absl::int128 PadBegin(const NodeView& n, const Windows& windows, size_t i, absl::int128 total) {
  const bool sized = n.HasAttr("output_shape");
  if (!windows.Same() && !sized) return windows.axes[i].pad_begin;
  const auto extra = n.Ints("output_padding");
  if (i < extra.size()) total += extra[i];
  if (total <= 0) return 0;
  return windows.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
}

// The product of the counted positions over all axes; nullopt if a size is open.
std::optional<Expr> Valid(const NodeView& n, const Convolved& c) {
  Expr valid = 1;
  for (size_t i = 0; i < c.windows.axes.size(); ++i) {
    const WindowAxis& axis = c.windows.axes[i];
    const int d = static_cast<int>(i) + 2;
    const auto in = c.large[d].AsInt64(), out = c.small[d].AsInt64(),
               kernel = axis.kernel.AsInt64();
    if (!in || !out || !kernel || *kernel > kMaxCountedKernel) return std::nullopt;
    const absl::int128 total =
        absl::int128(*out - 1) * axis.stride + absl::int128(*kernel - 1) * axis.dilation + 1 - *in;
    const absl::int128 pad = PadBegin(n, c.windows, i, total);
    valid *= Expr(ValidPositions(*in, *out, *kernel, axis, pad));
  }
  return valid;
}

bool IsPadded(const Windows& windows) {
  if (windows.auto_pad != AutoPad::kNotSet) return windows.Same();
  return std::any_of(windows.axes.begin(), windows.axes.end(),
                     [](const WindowAxis& a) { return a.pad_begin > 0 || a.pad_end > 0; });
}

// Only products with elements of the input count.
Result Convolution(const NodeView& n, const Tally& own) {
  const bool transposed = n.op_type() == "ConvTranspose";
  const int weight = n.op_type() == "QLinearConv" ? 3 : 1;
  HloCost cost = AsWeCount(own);
  cost.reason = HloReason::kPadding;
  ASSIGN_OR_RETURN(const Shape x, n.ShapeOfRankAtLeast(0, 3));
  ASSIGN_OR_RETURN(const Shape w, n.RankedShape(weight, x.rank()));
  ASSIGN_OR_RETURN(const Shape y, n.OutputShape(0));
  ASSIGN_OR_RETURN(const Dims kernel, KernelFromWeight(n, w));
  ASSIGN_OR_RETURN(const Windows windows, ReadWindows(n, kernel));
  if (!IsPadded(windows) && !n.HasAttr("output_shape")) return cost;
  const Convolved convolved = {windows, transposed ? y : x, transposed ? x : y};
  const std::optional<Expr> valid = Valid(n, convolved);
  cost.open_padding = !valid;
  if (!valid) return cost;
  const Expr mac = own.flops[Kind::kMac] + own.int_ops[Kind::kMac];
  // Of X [N, Cin, ..] with W [Cin, Cout/group, ..], or Y [N, Cout, ..] with W [Cout, Cin/group,
  // ..].
  const Expr channels = (transposed ? x[0] * x[1] : y[0] * y[1]) * w[1];
  cost.flops += (channels * *valid - mac) * 2;
  return cost;
}

// A reduce-window: one operation less than the window, per result. If a window of one axis always
// covers the whole input, XLA turns it into a reduce and a broadcast.
Result Pool(const NodeView& n, const Tally&) {
  ASSIGN_OR_RETURN(const Shape x, n.ShapeOfRankAtLeast(0, 3));
  ASSIGN_OR_RETURN(const Shape y, n.OutputShape(0));
  ASSIGN_OR_RETURN(const Dims kernel, KernelFromAttribute(n, x.rank() - 2));
  ASSIGN_OR_RETURN(const Windows windows, ReadWindows(n, kernel));
  const Expr out = y.NumElements();
  HloCost cost{out * (windows.KernelElements() - 1), 0, HloReason::kReductions};
  int wide = 0, padded = 0;
  std::optional<Expr> broadcast;
  for (size_t i = 0; i < windows.axes.size(); ++i) {
    const WindowAxis& axis = windows.axes[i];
    const int64_t pad = axis.pad_begin;
    const Expr& length = y[static_cast<int>(i) + 2];
    wide += axis.kernel == Expr(1) ? 0 : 1;
    padded += pad == 0 && axis.pad_end == 0 ? 0 : 1;
    const bool reaches = pad > 0 && pad == axis.pad_end && length == Expr(pad) + 1;
    if (reaches && axis.kernel == length * 2 - 1) broadcast = FloorDiv(out, length) + length - 1;
  }
  if (broadcast && wide == 1 && padded == 1) cost.flops = *broadcast;
  if (n.op_type() == "AveragePool") cost.flops += out;
  return cost;
}

// ---- products of other forms

// A pair of operands is a dot, even if nothing is summed.
Result Einsum(const NodeView&, const Tally& own) {
  HloCost cost = AsWeCount(own);
  cost.flops += own.flops[Kind::kMul] + own.int_ops[Kind::kMul];
  return cost;
}

// A while loop over the steps, whose body counts once: two dots that are added, and for each
// sigmoid a negation.
Result Recurrence(const NodeView& n, const Tally& own) {
  ASSIGN_OR_RETURN(const Shape x, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(const Shape r, n.RankedShape(2, 3));
  const bool batch_first = n.Int("layout", 0) == 1;
  const Expr& steps = x[batch_first ? 1 : 0];
  const HloCost all = AsWeCount(own);
  const std::optional<Expr> flops = DivideExactly(all.flops, steps);
  const std::optional<Expr> transcendentals = DivideExactly(all.transcendentals, steps);
  if (!flops || !transcendentals) return absl::FailedPreconditionError("steps");
  const int gates = n.op_type() == "LSTM" ? 4 : n.op_type() == "GRU" ? 3 : 1;
  const int sigmoids = n.HasAttr("activations") ? 0 : gates - 1;
  const Expr states = r[0] * x[batch_first ? 0 : 1] * r[2];
  return HloCost{*flops + states * (gates + sigmoids), *transcendentals, HloReason::kLoops};
}

// ---- the table

struct Row {
  absl::string_view op;
  int flops = 0, transcendentals = 0;  // per element of the result
  Rule rule = nullptr;
};

// Operators of ai.onnx. Operators that are free in our count and not listed here are free in HLO
// too: data movement, gather.
constexpr Row kHloRows[] = {
    {"Abs", 1},
    {"Neg", 1},
    {"Not", 1},
    {"BitwiseNot", 1},
    {"Sign", 1},
    {"Reciprocal", 1},
    {"Ceil", 1},
    {"Floor", 1},
    {"Round", 1},
    {"IsNaN", 1},
    {"IsInf", 2},
    {"Relu", 1},
    {"Add", 1},
    {"Sub", 1},
    {"Mul", 1},
    {"Div", 1},
    {"Where", 1},
    {"OneHot", 2},
    {"EyeLike", 2},
    {"And", 1},
    {"Or", 1},
    {"Xor", 1},
    {"BitwiseAnd", 1},
    {"BitwiseOr", 1},
    {"BitwiseXor", 1},
    {"BitShift", 1},
    {"Equal", 1},
    {"Greater", 1},
    {"GreaterOrEqual", 1},
    {"Less", 1},
    {"LessOrEqual", 1},
    {"Exp", 0, 1},
    {"Log", 0, 1},
    {"Sqrt", 0, 1},
    {"Tanh", 0, 1},
    {"Erf", 0, 1},
    {"Pow", 0, 1},
    {"Sin", 0, 1},
    {"Cos", 0, 1},
    {"Tan", 0, 1},
    {"Atan", 0, 1},
    // As jax.lax expands them.
    {"Asin", 5, 2},
    {"Acos", 3, 2},
    {"Sinh", 10, 3},
    {"Cosh", 3, 2},
    {"Asinh", 11, 3},
    {"Acosh", 7, 4},
    {"Atanh", 6, 2},
    {"Sigmoid", 3, 1},
    {"LeakyRelu", 3},
    {"PRelu", 3},
    {"ThresholdedRelu", 2},
    {"Softsign", 3},
    {"Shrink", 6},
    {"HardSigmoid", 4},
    {"HardSwish", 5},
    {"Elu", 4, 1},
    {"Selu", 5, 1},
    {"Softplus", 1, 2},
    {"Mish", 2, 3},
    {"Gelu", 0, 0, Gelu},
    {"Swish", 0, 0, Swish},
    {"Clip", 0, 0, Clamp},
    {"Mod", 0, 0, Mod},
    {"Max", 0, 0, Variadic},
    {"Min", 0, 0, Variadic},
    {"Sum", 0, 0, Variadic},
    {"Mean", 0, 0, Variadic},
    {"Cast", 0, 0, Convert},
    {"CastLike", 0, 0, Convert},
    {"Trilu", 0, 0, Trilu},
    {"DequantizeLinear", 0, 0, Dequantize},
    {"ReduceSum", 0, 0, Reduce},
    {"ReduceMean", 0, 0, Reduce},
    {"ReduceMax", 0, 0, Reduce},
    {"ReduceMin", 0, 0, Reduce},
    {"ReduceProd", 0, 0, Reduce},
    {"ReduceL1", 0, 0, Reduce},
    {"ReduceL2", 0, 0, Reduce},
    {"ReduceSumSquare", 0, 0, Reduce},
    {"ReduceLogSum", 0, 0, Reduce},
    {"ReduceLogSumExp", 0, 0, Reduce},
    {"GlobalAveragePool", 0, 0, Reduce},
    {"GlobalMaxPool", 0, 0, Reduce},
    {"ArgMax", 0, 0, ArgReduce},
    {"ArgMin", 0, 0, ArgReduce},
    {"CumSum", 0, 0, Cumulate},
    {"CumProd", 0, 0, Cumulate},
    {"Softmax", 0, 0, Softmax},
    {"LogSoftmax", 0, 0, Softmax},
    {"LayerNormalization", 0, 0, LayerNorm},
    {"RMSNormalization", 0, 0, RmsNorm},
    {"SimplifiedLayerNormalization", 0, 0, RmsNorm},
    {"GroupNormalization", 0, 0, GroupNorm},
    {"InstanceNormalization", 0, 0, GroupNorm},
    {"Conv", 0, 0, Convolution},
    {"ConvInteger", 0, 0, Convolution},
    {"QLinearConv", 0, 0, Convolution},
    {"ConvTranspose", 0, 0, Convolution},
    {"MaxPool", 0, 0, Pool},
    {"AveragePool", 0, 0, Pool},
    {"Einsum", 0, 0, Einsum},
    {"RNN", 0, 0, Recurrence},
    {"GRU", 0, 0, Recurrence},
    {"LSTM", 0, 0, Recurrence},
    {"TopK"},  // one instruction, which the analysis does not count
    // These have our formula.
    {"MatMul", 0, 0, SameAsOurs},
    {"Gemm", 0, 0, SameAsOurs},
    {"MatMulInteger", 0, 0, SameAsOurs},
    {"QLinearMatMul", 0, 0, SameAsOurs},
    {"BatchNormalization", 0, 0, SameAsOurs},
    {"QuantizeLinear", 0, 0, SameAsOurs},
    {"Dropout", 0, 0, SameAsOurs},
    {"ScatterND", 0, 0, SameAsOurs},
    {"ScatterElements", 0, 0, SameAsOurs},
};

Result Apply(const NodeView& n, const Tally& own) {
  const auto row = std::find_if(std::begin(kHloRows), std::end(kHloRows),
                                [&](const Row& r) { return r.op == n.op_type(); });
  if (row == std::end(kHloRows)) return absl::UnimplementedError("no row");
  if (row->rule != nullptr) return row->rule(n, own);
  return PerElement(n, row->flops, row->transcendentals);
}

}  // namespace

HloCost AsWeCount(const Tally& work) {
  HloCost cost;
  for (Kind kind : kTranscendental) cost.transcendentals += work.flops[kind];
  cost.flops = work.flops.Ops() - cost.transcendentals + work.int_ops.Ops();
  return cost;
}

HloCost HloCostOf(const Inference& inference, const Call& call, const Tally& own) {
  HloCost cost = AsWeCount(own);
  const ModelData& model = *inference.model;
  const Node& node = model.node(call.node);
  if (call.def == nullptr || !call.problem.ok()) return cost;
  if (node.domain.empty()) {
    std::vector<const Fact*> inputs, outputs;
    for (FactId fact : call.inputs) inputs.push_back(&inference.fact(fact));
    for (FactId fact : call.outputs) outputs.push_back(&inference.fact(fact));
    const NodeView view(model, node, *call.def, call.opset, inputs, outputs, nullptr,
                        call.call_attributes);
    if (Result found = Apply(view, own); found.ok() && view.status().ok()) {
      return *std::move(found);
    }
  }
  // A dot, and what scales it.
  if (node.domain == "com.microsoft" && node.op_type == "FusedMatMul") return cost;
  cost.our_formula = cost.flops != Expr(0) || cost.transcendentals != Expr(0);
  return cost;
}

}  // namespace onnxflops::convention
