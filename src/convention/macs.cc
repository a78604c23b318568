// 2 x MACs, which papers and model cards call FLOPs: contractions of every type, nothing else.
#include "src/convention/conventions.h"

namespace onnxflops::convention {
namespace macs {
namespace {

Ledger Apply(Evidence* evidence) {
  LedgerBuilder ledger(evidence, Unit::kFlop);
  const TermId other = ledger.Term("operations other than multiply-accumulates",
                                   "softmax, norms, activations, additions: left out");
  for (size_t i = 0; i < evidence->entries().size(); ++i) {
    const EntryId id = static_cast<EntryId>(i);
    const AmountId macs = evidence->Ours(Unit::kMac, id);
    if (macs == kZero && evidence->Ours(Unit::kFlop, id) == kZero) continue;
    ledger.Count({id}, evidence->Doubled(macs), other);
  }
  return ledger.Finish([&](EntryId) { return other; });
}

}  // namespace
}  // namespace macs

const Convention kMacs = {
    {"macs", Unit::kFlop, "2 x MACs",
     "the usual definition in papers and model cards, as open_clip's docs/model_profile.csv",
     "2 per multiply-accumulate of MatMul, Gemm, Conv, Einsum, attention and RNN gates",
     "everything else: softmax, norms, activations, additions, biases"},
    macs::Apply,
};

}  // namespace onnxflops::convention
