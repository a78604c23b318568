// torch.utils.flop_counter.FlopCounterMode: a table of ATen operators as they are dispatched, 2 per
// multiply-accumulate.
#include <algorithm>

#include "src/convention/conventions.h"
#include "src/convention/torch/ledger.h"

namespace onnxflops {
namespace flop_counter_mode {
namespace {

bool Counts(Aten op) { return IsContraction(op); }

constexpr char kNotRegistered[] = "not registered: counted as 0";

class FlopCounter {
 public:
  FlopCounter(Evidence* evidence, bool on_cpu)
      : tool_(evidence, Unit::kFlop, {.counts = Counts}),
        on_cpu_(on_cpu),
        has_fast_path_(HasFastPath(tool_.trace())) {}

  Ledger Run() {
    return tool_.Apply([&](const TorchCall& call) { return Rule(call); });
  }

 private:
  Verdict Rule(const TorchCall& call) {
    if (!IsContraction(call.op)) return {kZero, kNotRegistered};
    if (on_cpu_ && HidesAttention(call)) {
      return {kZero, "the fast path is one native operator, which is not registered"};
    }
    const AmountId products = tool_.evidence().Doubled(call.macs);
    if (IsVectorProduct(call)) return {kZero, "a product with a vector (mv) is not registered"};
    switch (call.op) {
      case Aten::kSdpa:
        if (on_cpu_ && IsFusedOnCpu(call)) {
          return {kZero, "the fused kernel of the CPU is not registered"};
        }
        return {products, "2 per multiply-accumulate only"};
      case Aten::kLstm:
        if (on_cpu_) return {kZero, "one operator on a CPU, not registered"};
        return {products, "2 per multiply-accumulate only"};
      default:
        return {products, "2 per multiply-accumulate only: biases are left out"};
    }
  }

  // nn.TransformerEncoderLayer takes a fast path where its attention does.
  bool HidesAttention(const TorchCall& call) {
    if (tool_.trace().scope(call).in_encoder_layer && has_fast_path_) {
      tool_.ledger().Assume("nn.TransformerEncoderLayer takes its fast path in eval mode");
      return true;
    }
    const TorchAttention* attention = tool_.AttentionOf(call);
    if (attention == nullptr || !attention->fast_path) return false;
    tool_.ledger().Assume(kFastPathAssumption);
    return true;
  }

  static bool HasFastPath(const TorchTrace& trace) {
    const std::vector<TorchAttention>& all = trace.attentions;
    return std::any_of(all.begin(), all.end(), [](const auto& a) { return a.fast_path; });
  }

  TorchLedger tool_;
  const bool on_cpu_, has_fast_path_;
};

Ledger ApplyMeta(Evidence* evidence) { return FlopCounter(evidence, false).Run(); }
Ledger ApplyCpu(Evidence* evidence) { return FlopCounter(evidence, true).Run(); }

constexpr char kHeadline[] = "FLOPs (FlopCounterMode.get_total_flops(); 2 per multiply-accumulate)";
constexpr char kIncludes[] =
    "mm, addmm, bmm, baddbmm, convolutions and scaled_dot_product_attention, whole also where it "
    "is causal";

}  // namespace
}  // namespace flop_counter_mode

const Convention kFlopCounterMode = {
    {"flop-counter-mode", Unit::kFlop, flop_counter_mode::kHeadline,
     "PyTorch 2.14: torch/utils/flop_counter.py:159-403, on the meta device (on CUDA, too, but for "
     "cuDNN's LSTM and the fast path of nn.MultiheadAttention, which are not registered)",
     flop_counter_mode::kIncludes,
     "everything else: biases, norms, softmax, activations, products with a vector"},
    flop_counter_mode::ApplyMeta,
};

const Convention kFlopCounterModeCpu = {
    {"flop-counter-mode-cpu", Unit::kFlop, flop_counter_mode::kHeadline,
     "PyTorch 2.14: torch/utils/flop_counter.py, on a CPU (pytorch#195460)",
     flop_counter_mode::kIncludes,
     "scaled_dot_product_attention and nn.MultiheadAttention's fast path, LSTM, and what it misses "
     "elsewhere"},
    flop_counter_mode::ApplyCpu,
};

}  // namespace onnxflops
