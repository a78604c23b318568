// com.microsoft: LSTM layers on quantised weights, and with attention over a memory.
#include <utility>

#include "ops/contrib/plain.h"
#include "ops/dims.h"
#include "ops/families.h"
#include "ops/parts.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// The version of ai.onnx LSTM that has these inputs and no layout.
constexpr int kLstmOpset = 7;

// ---- DynamicQuantizeLSTM: X[T,B,I], W[D,I,4H] and R[D,H,4H] as integers; the first eight inputs
// are those of LSTM, W and R transposed

Facts LstmInputs(const NodeView& n) {
  Facts inputs = InputsOf(n, 8);
  for (size_t i = 1; i < inputs.size() && i < 3; ++i) {
    Shape& shape = inputs[i].shape;
    if (shape.ranked() && shape.rank() == 3) std::swap(shape[1], shape[2]);
  }
  return inputs;
}

absl::StatusOr<Facts> InferDynamicQuantizeLstm(const NodeView& n) {
  return InferAs(n, "LSTM", LstmInputs(n), kLstmOpset);
}

absl::StatusOr<Cost> CountDynamicQuantizeLstm(const NodeView& n) {
  ASSIGN_OR_RETURN(Cost cost, CountAs(n, "LSTM", LstmInputs(n), OutputsOf(n), kLstmOpset));
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(Shape r, n.RankedShape(2, 3));
  const Expr steps = x[0] * r[0];  // of all directions
  const Expr states = steps * x[1] * r[1];
  cost.int_ops[Kind::kMac] = cost.flops[Kind::kMac];
  cost.flops[Kind::kMac] = 0;
  cost.int_ops_mac_operands = {.a = DType::kUint8, .b = n.dtype(1)};
  cost.int_ops[Kind::kAdd] = r[0] * x.NumElements() + states;
  for (int weight : {1, 2}) cost.int_ops[Kind::kAdd] += n.input(weight).shape.NumElements();
  // X at once and the hidden state of each step, as DynamicQuantizeLinear does it.
  cost.flops += (kQuantize + ElementCost{.cmp = 2}) * (x.NumElements() + states);
  cost.flops += ElementCost{.add = 2, .div = 2, .cmp = 4, .round = 1} * (steps + 1);
  // Both sums of each gate made floating point and added up; the products of the scales.
  const int gates = n.Flag("input_forget") ? 3 : 4;
  cost.flops += ElementCost{.add = 1, .mul = 2} * (gates * states);
  ASSIGN_OR_RETURN(Shape w_scale, n.RankedShape(8));
  ASSIGN_OR_RETURN(Shape r_scale, n.RankedShape(10));
  cost.flops[Kind::kMul] += w_scale.NumElements() + x[0] * r_scale.NumElements();
  return cost;
}

absl::StatusOr<Cost> LeastDynamicQuantizeLstm(const NodeView& n) {
  ASSIGN_OR_RETURN(Cost cost, LeastAs(n, "LSTM", LstmInputs(n), OutputsOf(n), kLstmOpset));
  cost.int_ops[Kind::kMac] = std::exchange(cost.flops[Kind::kMac], 0);
  return cost;
}

// ---- AttnLSTM: an LSTM on X and the attention of the step before, side by side. The attention
// (inputs QW[D,H,A], MW[D,F,A], V[D,A], the memory M[B,S,F], and AW[D,F+H,O] if any): scores of
// tanh(M MW + Ht QW) by V, their softmax, the memory weighted by it, and that with Ht times AW.

Facts AttentionLstmInputs(const NodeView& n) {
  Facts inputs = InputsOf(n, 8);
  const bool known = inputs.size() > 1 && inputs[0].shape.ranked() && inputs[1].shape.ranked();
  if (known && inputs[0].shape.rank() == 3 && inputs[1].shape.rank() == 3) {
    inputs[0].shape[2] = inputs[1].shape[2];
  }
  return inputs;
}

absl::StatusOr<Facts> InferAttnLstm(const NodeView& n) {
  return InferAs(n, "LSTM", AttentionLstmInputs(n), kLstmOpset);
}

absl::StatusOr<Census> MemoryAttentionWork(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0, 3));
  ASSIGN_OR_RETURN(Shape query, n.RankedShape(8, 3));
  ASSIGN_OR_RETURN(Shape memory, n.RankedShape(11, 3));
  const Expr &batch = memory[0], &size = query[2];
  const Expr steps = x[0] * query[0];
  const Expr places = steps * batch * memory[1];  // of the memory, at each step
  Census work = ElementCost{.mac = 1, .add = 1, .tanh = 1} * (places * size);
  work += kSoftmaxCost * places;
  work[Kind::kMac] += query[0] * memory.NumElements() * size;  // the memory, once
  work[Kind::kMac] += steps * batch * query[1] * size;         // the query
  work[Kind::kMac] += places * memory[2];                      // what is read of the memory
  if (n.HasInput(13)) {
    ASSIGN_OR_RETURN(Shape layer, n.RankedShape(13, 3));
    work[Kind::kMac] += steps * batch * layer[1] * layer[2];
  }
  return work;
}

absl::StatusOr<Cost> CountAttnLstm(const NodeView& n) {
  ASSIGN_OR_RETURN(Cost cost, CountAs(n, "LSTM", AttentionLstmInputs(n), OutputsOf(n), kLstmOpset));
  if (!n.HasInput(8)) return cost;
  ASSIGN_OR_RETURN(Census attention, MemoryAttentionWork(n));
  cost.flops += attention;
  return cost;
}

constexpr OpDef kMsRnnRows[] = {
    {.name = "AttnLSTM",
     .formula = "as LSTM on X and the attention of the step before; the attention, for T steps, S "
                "places of F features, size A: mac = B*S*F*A + T*B*(H*A + S*A + S*F) and T*B*(F + "
                "H)*O for AW; add = tanh = T*B*S*A; softmax over S",
     .infer = InferAttnLstm,
     .count = CountAttnLstm,
     .least = NoMacs,  // how long a memory is, is data
     .examples = {{"float[7,N,4] X, float[1,20,10] W, float[1,20,5] R, , , , , , float[1,5,3] Q, "
                   "float[1,8,3] K, float[1,3] V, float[N,9,8] M, , float[1,13,6] A -> "
                   "float[7,1,N,5] Y <hidden_size = 5>",
                   "mac=3660*N add=455*N mul=105*N div=168*N cmp=63*N exp=168*N tanh=259*N"}},
     .note = "sequence lengths are not looked at: every sequence costs T steps and S places"},
    {.name = "DynamicQuantizeLSTM",
     .formula = "as LSTM, its products in integers: integer mac = T*B*D * 4H*(I+H); X and every "
                "hidden state are quantised as by DynamicQuantizeLinear; both sums of each gate: "
                "mul, and add of the two",
     .infer = InferDynamicQuantizeLstm,
     .count = CountDynamicQuantizeLstm,
     .least = LeastDynamicQuantizeLstm,
     .examples = {{"float[7,N,4] X, int8[1,4,20] W, int8[1,5,20] R, float[1,40] B, , , , , "
                   "float[1] ws, int8[1] wz, float[1] rs, int8[1] rz -> float[7,1,N,5] Y, "
                   "float[1,N,5] Yh, float[1,N,5] Yc <hidden_size = 5>",
                   "add=623*N + 16 mul=385*N + 8 div=168*N + 16 cmp=252*N + 32 exp=105*N tanh=70*N "
                   "round=63*N + 8 int_mac=1260*N int_add=63*N + 180"}},
     .operands = {.weights = InputBits({1, 2, 3, 7}),
                  .not_parameters = InputBits({5, 6, 8, 9, 10, 11}),
                  .states = InputBits({5, 6})},
     .note = "zero points are taken off X, the hidden states and, once, the weights: integer add = "
             "1 per element; W and R are stored transposed"},
};

}  // namespace

constinit const OpFamily kMsRnnFamily = {"com.microsoft", kMsRnnRows};

}  // namespace onnxflops
