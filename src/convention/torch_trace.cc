#include "src/convention/torch_trace.h"

#include <algorithm>

namespace onnxflops {
namespace {

constexpr absl::string_view kNormalizations[] = {
    "LayerNormalization",     "BatchNormalization",        "GroupNormalization",
    "InstanceNormalization",  "RMSNormalization",          "SimplifiedLayerNormalization",
    "SkipLayerNormalization", "MeanVarianceNormalization",
};
constexpr absl::string_view kSoftmaxes[] = {"Softmax", "LogSoftmax"};
constexpr absl::string_view kSums[] = {"Add", "Sum"};
constexpr absl::string_view kProducts[] = {"Mul"};

absl::Span<const absl::string_view> MainOperators(Aten op) {
  switch (op) {
    case Aten::kBatchNorm:
    case Aten::kLayerNorm:
    case Aten::kGroupNorm:
    case Aten::kInstanceNorm:
      return kNormalizations;
    case Aten::kSoftmax:
      return kSoftmaxes;
    case Aten::kAdd:
      return kSums;
    case Aten::kMul:
      return kProducts;
    default:
      return {};
  }
}

bool IsFloatTensor(const Fact& fact) { return fact.is_tensor() && IsFloat(fact.dtype); }

// The entry that does the work of a call, and the last one that does.
struct Work {
  EntryId main, last;
};

Work FindWork(const Evidence& evidence, Aten op, absl::Span<const EntryId> entries) {
  if (IsContraction(op)) {
    const auto multiplies = [&](EntryId id) { return evidence.Ours(Unit::kMac, id) != kZero; };
    const auto first = std::find_if(entries.begin(), entries.end(), multiplies);
    const auto last = std::find_if(entries.rbegin(), entries.rend(), multiplies);
    if (first != entries.end()) return {*first, *last};
  }
  const absl::Span<const absl::string_view> names = MainOperators(op);
  for (EntryId id : entries) {
    const absl::string_view type = evidence.node(evidence.entry(id)).op_type;
    if (std::find(names.begin(), names.end(), type) != names.end()) return {id, id};
  }
  const auto first = std::find_if(entries.begin(), entries.end(), [&](EntryId id) {
    return IsFloatTensor(evidence.Input(evidence.entry(id), 0));
  });
  return {first == entries.end() ? entries.front() : *first, entries.back()};
}

}  // namespace

void FindOperands(Evidence* evidence, TorchTrace* trace, TorchCall* call) {
  const absl::Span<const EntryId> entries = trace->entries_of(*call);
  const Work work = FindWork(*evidence, call->op, entries);
  const Entry& main = evidence->entry(work.main);
  call->main = work.main;
  call->x = &evidence->Input(main, 0);
  call->w = &evidence->Input(main, 1);
  call->y = &evidence->Output(evidence->entry(work.last), 0);
  // A BatchNorm inside of a convolution works on its result; all others keep the shape.
  if (IsNormalization(call->op)) call->x = call->y;
  call->macs = IsContraction(call->op) || call->op == Aten::kOther
                   ? evidence->Ours(Unit::kMac, entries)
                   : kZero;
  const auto elements = [&](const Fact& fact) {
    if (!fact.is_tensor() || !fact.shape.ranked()) {
      ++trace->unknown_shapes;
      return kZero;
    }
    return evidence->Intern(fact.shape.NumElements() * evidence->times(main));
  };
  if (call->op == Aten::kOther) return;  // no rule asks
  call->in = elements(*call->x);
  call->out = call->y == call->x ? call->in : elements(*call->y);
}

TorchTrace TraceTorch(Evidence* evidence) {
  TorchTrace trace = TraceDynamo(evidence);
  if (trace.origin == TorchTrace::Origin::kNone && trace.problem.empty()) {
    trace = TraceTorchScript(evidence);
  }
  return trace;
}

}  // namespace onnxflops
