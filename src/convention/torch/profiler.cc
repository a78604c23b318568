// torch.profiler with with_flops=True: seven operators as they run on a CPU.
#include "src/convention/conventions.h"
#include "src/convention/torch/ledger.h"

namespace onnxflops {
namespace profiler {
namespace {

bool Counts(Aten op) {
  return (IsContraction(op) && op != Aten::kConvTranspose && op != Aten::kMv) || op == Aten::kAdd ||
         op == Aten::kMul;
}

constexpr char kNoRule[] = "no rule for the operator: counted as 0";
constexpr char kProducts[] = "2 per multiply-accumulate only: biases are left out";

class Profiler {
 public:
  explicit Profiler(Evidence* evidence) : tool_(evidence, Unit::kFlop, {.counts = Counts}) {}

  Ledger Run() {
    tool_.ledger().Assume(
        "additions and multiplications are taken for x + y and x * y: the export writes in-place "
        "ones "
        "(x += y), which the profiler does not count, in the same way");
    tool_.ledger().Assume("those inside of other operators of PyTorch are not in the file");
    return tool_.Apply([&](const TorchCall& call) { return Rule(call); });
  }

 private:
  Verdict Rule(const TorchCall& call) {
    const AmountId products = tool_.evidence().Doubled(call.macs);
    if (IsVectorProduct(call)) return {kZero, kNoRule};
    switch (call.op) {
      case Aten::kAdd:
      case Aten::kMul:
        return {call.in, "elements of the first operand"};
      case Aten::kConv:
        if (call.shape_of_x().ranked() && call.shape_of_x().rank() != 4) return {kZero, kNoRule};
        return {products, kProducts};
      case Aten::kSdpa:
        return Attention(call);
      case Aten::kLstm:
        return Lstm(call);
      case Aten::kConvTranspose:
      case Aten::kMv:
        return {kZero, kNoRule};
      default:
        if (IsContraction(call.op)) return {products, kProducts};
        return {kZero, kNoRule};
    }
  }

  // The children of nn.MultiheadAttention's fast path are seen.
  Verdict Attention(const TorchCall& call) {
    const TorchAttention* attention = tool_.AttentionOf(call);
    if (attention != nullptr && attention->fast_path) {
      return {tool_.evidence().Doubled(call.macs), "the two products only"};
    }
    if (IsFusedOnCpu(call)) return {kZero, "the fused kernel of the CPU has no rule"};
    tool_.ledger().Assume("attention that the CPU does not fuse is taken for two products");
    return {tool_.evidence().Doubled(call.macs), "the two products only"};
  }

  // One operator; only the sums of its two biases are seen.
  Verdict Lstm(const TorchCall& call) {
    const auto sizes = RecurrentSizesOf(tool_.evidence(), tool_.trace(), call);
    if (!sizes.has_value() || !sizes->bias) return {kZero, "one operator without a rule"};
    tool_.ledger().Assume(
        "of an LSTM the sums of its two biases are seen, as torch 2.14 adds them");
    constexpr int kGates = 4;
    return {tool_.Times(call, sizes->hidden * kGates * sizes->layers * sizes->directions),
            "one operator without a rule, but for the sums of its biases"};
  }

  TorchLedger tool_;
};

Ledger Apply(Evidence* evidence) { return Profiler(evidence).Run(); }

}  // namespace
}  // namespace profiler

const Convention kTorchProfiler = {
    {"torch-profiler", Unit::kFlop,
     "FLOPs (sum of evt.flops, with_flops=True; 2 per multiply-accumulate)",
     "PyTorch 2.14: torch/csrc/profiler/util.cpp, saveExtraArgs and computeFlops; on a CPU",
     "conv2d, mm, addmm, bmm, baddbmm; elements of the first operand of add and mul",
     "scaled_dot_product_attention, LSTM, other convolutions, in-place additions, everything else"},
    profiler::Apply,
};

}  // namespace onnxflops
