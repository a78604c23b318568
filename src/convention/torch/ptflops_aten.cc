// ptflops with its ATen backend: six operators as they are dispatched on a CPU, biases included.
#include <algorithm>

#include "src/convention/conventions.h"
#include "src/convention/torch/ledger.h"

namespace onnxflops {
namespace ptflops_aten {
namespace {

bool Counts(Aten op) {
  return IsContraction(op) && op != Aten::kBaddbmm && op != Aten::kLstm && op != Aten::kMv;
}

class PtflopsAten {
 public:
  explicit PtflopsAten(Evidence* evidence)
      : tool_(evidence, Unit::kMac, {.counts = Counts, .biases = true}) {}

  Ledger Run() {
    return tool_.Apply([&](const TorchCall& call) { return Rule(call); });
  }

 private:
  Verdict Rule(const TorchCall& call) {
    static constexpr char kBias[] = "1 per result where there is one";
    const TorchAttention* attention = tool_.AttentionOf(call);
    if (attention != nullptr && attention->fast_path) {
      tool_.ledger().Assume(kFastPathAssumption);
      return {kZero, "the fast path is one native operator, not in its table"};
    }
    if (IsVectorProduct(call)) return {kZero, "a product with a vector is not in its table"};
    switch (call.op) {
      case Aten::kLinear:
        return {tool_.Plus(call.macs, AddsBias(call) ? call.out : kZero), kBias};
      case Aten::kAddmm:
        return {tool_.Plus(call.macs, call.out), kBias};
      case Aten::kConv:
      case Aten::kConvTranspose:
        return {tool_.Plus(call.macs, call.has_bias ? call.out : kZero), kBias};
      case Aten::kMatmul:
      case Aten::kMm:
      case Aten::kBmm:
      case Aten::kEinsum:
        return {call.macs};
      case Aten::kSdpa:
        return {IsFusedOnCpu(call) ? kZero : call.macs, "the fused kernel is not in its table"};
      case Aten::kGru:
      case Aten::kRnn:
        tool_.ledger().Assume("biases of GRU and RNN are left out");
        return {call.macs};
      default:
        return {kZero, "not in its table: counted as 0"};
    }
  }

  // A linear layer is one addmm, which counts its bias, if its input is a matrix or lies in memory
  // in order; else it is a product and an addition.
  static bool AddsBias(const TorchCall& call) {
    const Shape& x = call.shape_of_x();
    return call.has_bias && ((x.ranked() && x.rank() == 2) || call.is_contiguous);
  }

  TorchLedger tool_;
};

Ledger Apply(Evidence* evidence) { return PtflopsAten(evidence).Run(); }

}  // namespace
}  // namespace ptflops_aten

const Convention kPtflopsAten = {
    {"ptflops-aten", Unit::kMac, "MACs (get_model_complexity_info, backend=aten)",
     "ptflops (d612c75, 2025-08): ptflops/aten_ops.py:109-116, aten_engine.py; on a CPU",
     "mm, addmm, bmm, convolutions; 1 per result for a bias",
     "scaled_dot_product_attention, nn.MultiheadAttention's fast path, LSTM, baddbmm, everything "
     "else"},
    ptflops_aten::Apply,
};

}  // namespace onnxflops
