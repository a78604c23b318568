// com.ms.internal.nhwc: operators of ai.onnx as ONNX Runtime's layout transformation rewrites them,
// with X and Y as [N, i1, i2.., C] and everything else unchanged; some with an activation.
//
// How it works. X is written with its channels first, the plain operator's rule runs at the node's
// own version, and outputs of the rank of X are written with their channels last again. Outputs of
// another rank are statistics per channel and stay. Resize is not turned: its scales and sizes are
// in the order of X's dimensions as they are.
#include <utility>

#include "ops/contrib/plain.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// The plain operator's inputs: X with its channels in front.
Facts PlainInputs(const NodeView& n) {
  Facts inputs = InputsOf(n);
  if (!inputs.empty()) inputs[0] = ChannelsFirst(inputs[0]);
  return inputs;
}

// Outputs of the rank of X are images in its layout; others are statistics per channel.
bool IsImage(const NodeView& n, const Fact& output) {
  return output.shape.ranked() && output.shape.rank() == n.input(0).shape.rank();
}

absl::StatusOr<Facts> InferNhwc(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, n.op_type(), PlainInputs(n), n.version()));
  for (Fact& fact : facts) {
    if (IsImage(n, fact)) fact = ChannelsLast(fact);
  }
  return facts;
}

absl::StatusOr<Cost> LeastNhwc(const NodeView& n) {
  Facts outputs = OutputsOf(n);
  for (Fact& fact : outputs) {
    if (IsImage(n, fact)) fact = ChannelsFirst(fact);
  }
  return LeastAs(n, n.op_type(), PlainInputs(n), outputs, n.version());
}

// Resize: scales and sizes are in the order of X's dimensions, so nothing is moved.
absl::StatusOr<Facts> InferResize(const NodeView& n) {
  return InferAs(n, "Resize", InputsOf(n), n.version());
}

absl::StatusOr<Cost> CountResize(const NodeView& n) {
  return CountAs(n, "Resize", InputsOf(n), OutputsOf(n), n.version());
}

// QLinearAveragePool is in com.microsoft: X, x_scale, x_zero_point, y_scale, y_zero_point.
absl::StatusOr<Facts> InferNhwcQLinearAveragePool(const NodeView& n) {
  return InferImageAs(n, "AveragePool", /*channels_last=*/true);
}

// QLinearConvTranspose: the inputs of QLinearConv, x and w and the bias at 0, 3 and 8.
Facts QLinearConvTransposeInputs(const NodeView& n) {
  return {ChannelsFirst(n.input(0)), n.input(3), n.input(8)};
}

absl::StatusOr<Facts> InferQLinearConvTranspose(const NodeView& n) {
  ASSIGN_OR_RETURN(Facts facts, InferAs(n, "ConvTranspose", QLinearConvTransposeInputs(n)));
  facts[0].dtype = n.dtype(7);
  return Facts{ChannelsLast(facts[0])};
}

absl::StatusOr<Cost> LeastQLinearConvTranspose(const NodeView& n) {
  return LeastAs(n, "ConvTranspose", QLinearConvTransposeInputs(n), {ChannelsFirst(n.output(0))});
}

constexpr OpDef kMsNhwcRows[] = {
    {.name = "AveragePool",
     .versions = {7, 10, 11, 19},
     .formula = "as ai.onnx AveragePool with the channels last, then the activation",
     .data = {.attributes = "activation = activation", .costs = "as AveragePool"},
     .infer = InferNhwc,
     .examples = {{"float[N,4,4,3] X -> float[N,2,2,3] Y <kernel_shape = [2, 2], strides = [2, 2]>",
                   "add=48*N div=12*N"},
                  {"float[N,4,4,3] X -> float[N,2,2,3] Y <kernel_shape = [2, 2], strides = [2, 2], "
                   "activation = \"Relu\">",
                   "add=48*N div=12*N cmp=12*N", 11}}},
    {.name = "BatchNormalization",
     .versions = {7, 9, 14, 15},
     .formula = "as ai.onnx BatchNormalization with the channels last, then the activation",
     .data = {.attributes = "activation = activation", .costs = "as BatchNormalization"},
     .infer = InferNhwc,
     .examples =
         {{"float[N,4,4,3] X, float[3] S, float[3] B, float[3] M, float[3] V -> float[N,4,4,3] Y",
           "add=96*N + 3 mul=48*N div=48*N sqrt=3"}},
     .operands = {.weights = InputBits({1, 2}), .not_parameters = InputBits({3, 4})}},
    {.name = "Conv",
     .versions = {1, 11},
     .formula = "Y[N,o1,o2..,Cout] = activation(Conv(X[N,i1,i2..,Cin], W, B))",
     .data = {.signature = "X[N, i..., Cin] W[Cout, c, k...] B? -> Y",
              .attributes = "activation = activation",
              .costs = "as Conv"},
     .infer = InferNhwc,
     .least = LeastNhwc,
     .examples = {{"float[N,8,8,3] X, float[4,3,3,3] W, float[4] B -> float[N,6,6,4] Y <activation "
                   "= \"Relu\">",
                   "mac=3888*N add=144*N cmp=144*N"}},
     .operands = {.weights = InputBits({1, 2})}},
    {.name = "ConvTranspose",
     .versions = {1, 11},
     .formula = "as ai.onnx ConvTranspose with the channels last, then the activation",
     .data = {.signature = "X[N, i..., Cin] W[Cin, C, k...] B? -> Y",
              .attributes = "activation = activation",
              .costs = "as ConvTranspose"},
     .infer = InferNhwc,
     .least = LeastNhwc,
     .examples = {{"float[N,8,8,4] X, float[4,2,2,2] W -> float[N,16,16,2] Y <strides = [2, 2]>",
                   "mac=2048*N"}},
     .operands = {.weights = InputBits({1, 2})}},
    {.name = "DepthToSpace",
     .versions = {1, 11, 13, 28},
     .formula = "as ai.onnx DepthToSpace with the channels last",
     .infer = InferNhwc,
     .examples = {{"float[N,3,5,8] X -> float[N,6,10,2] Y <blocksize = 2>", "free"}}},
    {.name = "GlobalAveragePool",
     .formula = "as ai.onnx GlobalAveragePool with the channels last",
     .data = {.signature = "X[N, i..., C] -> Y",
              .attributes = "activation = activation",
              .costs = "as GlobalAveragePool"},
     .infer = InferNhwc,
     .examples = {{"float[N,4,4,3] X -> float[N,1,1,3] Y", "add=48*N div=3*N"}}},
    {.name = "GlobalLpPool",
     .versions = {2},
     .formula = "as ai.onnx GlobalLpPool with the channels last",
     .data = {.signature = "X[N, i..., C] -> Y",
              .attributes = "activation = activation",
              .costs = "as GlobalLpPool"},
     .infer = InferNhwc,
     .examples = {{"float[N,4,4,3] X -> float[N,1,1,3] Y", "add=48*N mul=48*N sqrt=3*N"}}},
    {.name = "GlobalMaxPool",
     .formula = "as ai.onnx GlobalMaxPool with the channels last",
     .data = {.signature = "X -> Y",
              .attributes = "activation = activation",
              .costs = "cmp = X.elements"},
     .infer = InferNhwc,
     .examples = {{"float[N,4,4,3] X -> float[N,1,1,3] Y", "cmp=48*N"}}},
    {.name = "GridSample",
     .versions = {16, 20},
     .formula = "as ai.onnx GridSample with the channels of X and Y last",
     .data = {.signature = "X[N, i..., C] grid -> Y[N, o..., C]", .costs = "as GridSample"},
     .infer = InferNhwc,
     .examples = {{"float[N,8,8,3] X, float[N,4,5,2] G -> float[N,4,5,3] Y <mode = \"nearest\">",
                   "add=80*N mul=40*N div=40*N round=40*N"}},
     .traits = Traits::kSamples},
    {.name = "InstanceNormalization",
     .versions = {6},
     .formula = "as ai.onnx InstanceNormalization with the channels last, then the activation",
     .data = {.signature = "input[N, i..., C] scale B -> output",
              .attributes = "activation = activation",
              .costs = "as InstanceNormalization"},
     .infer = InferNhwc,
     .examples = {{"float[N,4,4,3] X, float[3] S, float[3] B -> float[N,4,4,3] Y",
                   "add=198*N mul=99*N div=54*N sqrt=3*N"}},
     .operands = {.weights = InputBits({1, 2})}},
    {.name = "LRN",
     .versions = {1, 13},
     .formula = "as ai.onnx LRN with the channels last",
     .data = {.signature = "X[N, i..., C] -> Y",
              .attributes = "activation = activation",
              .costs = "as LRN"},
     .infer = InferNhwc,
     .examples = {{"float[N,4,4,8] X -> float[N,4,4,8] Y <size = 5>",
                   "add=672*N mul=672*N div=128*N pow=128*N"}}},
    {.name = "LpPool",
     .versions = {11, 18},
     .formula = "as ai.onnx LpPool with the channels last",
     .data = {.attributes = "activation = activation", .costs = "as LpPool"},
     .infer = InferNhwc,
     .examples = {{"float[N,4,4,3] X -> float[N,2,2,3] Y <kernel_shape = [2, 2], strides = [2, 2]>",
                   "add=48*N mul=48*N sqrt=12*N"}}},
    {.name = "MaxPool",
     .versions = {1, 8, 10, 11, 12},
     .formula = "as ai.onnx MaxPool with the channels last, then the activation",
     .data = {.attributes = "activation = activation", .costs = "as MaxPool"},
     .infer = InferNhwc,
     .examples = {{"float[N,4,4,3] X -> float[N,2,2,3] Y, int64[N,2,2,3] I <kernel_shape = [2, 2], "
                   "strides = [2, 2]>",
                   "cmp=48*N"}}},
    {.name = "MaxUnpool",
     .versions = {9, 11},
     .formula = "as ai.onnx MaxUnpool with the channels last",
     .data = {.signature = "X indices output_shape? -> Y", .costs = "free"},
     .infer = InferNhwc,
     .examples = {{"float[N,2,2,3] X, int64[N,2,2,3] I -> float[N,4,4,3] Y <kernel_shape = [2, 2], "
                   "strides = [2, 2]>",
                   "free"}},
     .shape_inputs = 1 << 2,
     .traits = Traits::kReadsContent},
    {.name = "QLinearAveragePool",
     .formula = "as com.microsoft QLinearAveragePool with the channels last",
     .data = {.costs = "as com.microsoft.QLinearAveragePool"},
     .infer = InferNhwcQLinearAveragePool,
     .examples = {{"uint8[N,4,4,3] X, float Xs, uint8 Xz, float Ys, uint8 Yz -> uint8[N,2,2,3] Y "
                   "<kernel_shape = [2, 2], strides = [2, 2]>",
                   "add=108*N mul=48*N div=24*N cmp=24*N round=12*N"}},
     .operands = {.not_parameters = InputBits({1, 2, 3, 4})}},
    {.name = "QLinearConv",
     .versions = {10},
     .formula = "as ai.onnx QLinearConv with the channels last",
     .data = {.signature = "x[N, i..., Cin] x_scale x_zero_point w[Cout, c, k...] w_scale "
                           "w_zero_point y_scale y_zero_point B? -> y",
              .costs = "as QLinearConv"},
     .infer = InferNhwc,
     .least = LeastNhwc,
     .mac_operands = TypesOf<0, 3>,
     .examples = {{"uint8[N,5,5,2] x, float xs, uint8 xz, int8[3,2,3,3] w, float ws, int8 wz, "
                   "float ys, uint8 yz, int32[3] B -> uint8[N,3,3,3] y",
                   "add=27*N mul=27*N cmp=54*N round=27*N int_mac=486*N int_add=77*N + 54"}},
     .operands = {.weights = InputBits({3, 8}), .not_parameters = InputBits({1, 2, 4, 5, 6, 7})}},
    {.name = "QLinearConvTranspose",
     .formula =
         "y = requantised ConvTranspose of (x - x_zero_point) and (w - w_zero_point), plus B",
     .data = {.signature = "x[N, i..., Cin] x_scale x_zero_point w[Cin, C, k...] w_scale "
                           "w_zero_point y_scale y_zero_point B? -> y",
              .attributes = "kernel_shape = k...",
              .costs = "int_mac = N*i*Cin*C*k; int_add = x.elements + w.elements + "
                       "B.given*y.elements; float_mul = y.elements; float_round = y.elements; "
                       "float_add = y.elements; float_cmp = 2*y.elements"},
     .infer = InferQLinearConvTranspose,
     .least = LeastQLinearConvTranspose,
     .mac_operands = TypesOf<0, 3>,
     .examples = {{"uint8[N,8,8,4] x, float xs, uint8 xz, int8[4,2,2,2] w, float ws, int8 wz, "
                   "float ys, uint8 yz, int32[2] B -> uint8[N,16,16,2] y <strides = [2, 2]>",
                   "add=512*N mul=512*N cmp=1024*N round=512*N int_mac=2048*N int_add=768*N + 32"}},
     .operands = {.weights = InputBits({3, 8}), .not_parameters = InputBits({1, 2, 4, 5, 6, 7})}},
    {.name = "Resize",
     .versions = {11, 13, 18, 19},
     .formula = "as ai.onnx Resize, scales and sizes in the order of the dimensions of X",
     .infer = InferResize,
     .count = CountResize,
     .examples = {{"g (float[N,4,4,3] X) => (float[N,8,8,3] Y) <float[4] s = {1, 2, 2, 1}> "
                   "{ Y = com.ms.internal.nhwc.Resize(X, , s) }",
                   "free"}},
     .shape_inputs = (1 << 1) | (1 << 2) | (1 << 3),
     .traits = Traits::kSamples | Traits::kReadsContent},
    {.name = "SpaceToDepth",
     .versions = {1, 13, 28},
     .formula = "as ai.onnx SpaceToDepth with the channels last",
     .infer = InferNhwc,
     .examples = {{"float[N,6,10,2] X -> float[N,3,5,8] Y <blocksize = 2>", "free"}}},
};

}  // namespace

constinit const OpFamily kMsNhwcFamily = {"com.ms.internal.nhwc", kMsNhwcRows};

}  // namespace onnxflops
