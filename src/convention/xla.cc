// XLA's HloCostAnalysis, of the HLO that the operators become one by one.
//
// Dot and convolution 2 per multiply-accumulate, where a convolution's padding does not count;
// every elementwise instruction 1 per output element, select, convert, negate and abs included;
// exp, log, power, sqrt, tanh, sine, cosine and erf are "transcendentals", a total of their own;
// reduce one less than its input per output; a while's body once.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "src/convention/conventions.h"

namespace onnxflops {
namespace {

constexpr Kind kTranscendental[] = {Kind::kExp,  Kind::kLog,  Kind::kSqrt, Kind::kPow,
                                    Kind::kTrig, Kind::kTanh, Kind::kErf};
// Operators that are free to us and instructions to XLA.
constexpr absl::string_view kInstructions[] = {"Where", "Cast", "CastLike", "Neg", "Abs"};

// Positions of a window along one axis that are on the input, over all outputs: as the loops of
// GetConvolutionFlops find them, without the loops.
absl::int128 ValidPositions(int64_t input, int64_t output, int64_t kernel, int64_t stride,
                            int64_t dilation, int64_t pad) {
  absl::int128 valid = 0;
  for (int64_t k = 0; k < kernel; ++k) {
    // 0 <= o * stride + shift < input, 0 <= o < output.
    const absl::int128 shift = absl::int128(k) * dilation - pad;
    const absl::int128 first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    const absl::int128 last = input - 1 - shift < 0 ? -1 : (input - 1 - shift) / stride;
    const absl::int128 end = std::min<absl::int128>(last, output - 1);
    if (end >= first) valid += end - first + 1;
  }
  return valid;
}

int64_t At(const Node& node, absl::string_view name, size_t i, int64_t default_value) {
  const Attribute* attribute = node.FindAttribute(name);
  if (attribute == nullptr || i >= attribute->ints.size()) return default_value;
  return attribute->ints[i];
}

// The share of a convolution's multiply-accumulates that meet padding; 0 where it cannot be told.
Expr PaddingMacs(const Evidence& evidence, const Entry& entry) {
  const Node& node = evidence.node(entry);
  if (node.op_type != "Conv" || !node.domain.empty()) return 0;
  const Attribute* auto_pad = node.FindAttribute("auto_pad");
  const Fact& x = evidence.Input(entry, 0);
  const Fact& w = evidence.Input(entry, 1);
  const Fact& y = evidence.Output(entry, 0);
  const auto ranked = [](const Fact& f) { return f.is_tensor() && f.shape.ranked(); };
  if (!ranked(x) || !ranked(w) || !ranked(y) || y.shape.rank() < 3 ||
      x.shape.rank() != y.shape.rank() || w.shape.rank() != y.shape.rank()) {
    return 0;
  }
  if (auto_pad != nullptr && auto_pad->s != "NOTSET") return 0;
  constexpr int64_t kMostKernel = 4096;  // bounds the loop
  Expr all = y.shape[0] * y.shape[1] * w.shape[1];
  Expr valid = all;
  const size_t spatial = static_cast<size_t>(y.shape.rank()) - 2;
  for (size_t i = 0; i < spatial; ++i) {
    const int d = static_cast<int>(i) + 2;
    const auto input = x.shape[d].AsInt64(), output = y.shape[d].AsInt64(),
               kernel = w.shape[d].AsInt64();
    const int64_t stride = At(node, "strides", i, 1);
    if (!input || !output || !kernel || *kernel > kMostKernel || stride < 1) return 0;
    all *= Expr(*output) * Expr(*kernel);
    valid *= Expr(ValidPositions(*input, *output, *kernel, stride, At(node, "dilations", i, 1),
                                 At(node, "pads", i, 0)));
  }
  return all - valid;
}

// The parts of an entry's amount, by why they differ from ours.
struct Parts {
  AmountId base = kZero;          // as we do, without transcendentals
  AmountId padding = kZero;       // negative
  AmountId instructions = kZero;  // that are free to us
  AmountId integers = kZero;
  Expr transcendentals;
};

Parts Divide(Evidence* evidence, const Entry& entry) {
  const CallCost& cost = evidence->counts().calls[static_cast<size_t>(entry.call())];
  const Tally& tally = entry.part() == Part::kOwn ? cost.own : cost.tally();
  const Expr& times = evidence->times(entry);
  Parts parts;
  if (entry.part() == Part::kShapeWork) {  // is done when shapes are
    parts.base = evidence->Intern(tally.flops[Kind::kMac] * 2 * times);
    return parts;
  }
  for (Kind kind : kTranscendental) parts.transcendentals += tally.flops[kind] * times;
  parts.base = evidence->Intern(tally.flops.Ops() * times - parts.transcendentals);
  parts.padding = evidence->Intern(PaddingMacs(*evidence, entry) * -2 * times);
  parts.integers = evidence->Intern(tally.int_ops.Ops() * times);
  const absl::string_view op = evidence->node(entry).op_type;
  const Fact& y = evidence->Output(entry, 0);
  if (std::find(std::begin(kInstructions), std::end(kInstructions), op) !=
          std::end(kInstructions) &&
      y.is_tensor() && y.shape.ranked()) {
    parts.instructions = evidence->Intern(y.shape.NumElements() * times);
  }
  return parts;
}

Ledger Apply(Evidence* evidence) {
  LedgerBuilder ledger(evidence, Unit::kFlop);
  const TermId transcendental =
      ledger.Term("exp, log, sqrt, pow, tanh, erf, sin, cos", "transcendentals, a total apart");
  const TermId padding = ledger.Term("padding of convolutions", "only what meets the input counts");
  const TermId instruction =
      ledger.Term("select, convert, negate, abs", "1 per element, as any instruction");
  const TermId integer = ledger.Term("operations on integers", "count as flops, too");
  std::vector<Parts> known(evidence->counts().calls.size() * kNumParts);
  std::vector<bool> is_known(known.size(), false);
  std::vector<Expr> transcendentals;
  for (size_t i = 0; i < evidence->entries().size(); ++i) {
    const EntryId id = static_cast<EntryId>(i);
    const Entry& entry = evidence->entry(id);
    const size_t work = static_cast<size_t>(entry.work);
    Parts parts;
    if (entry.times == 0 && is_known[work]) {
      parts = known[work];
    } else {
      parts = Divide(evidence, entry);
    }
    if (entry.times == 0 && !is_known[work]) {
      known[work] = parts;
      is_known[work] = true;
    }
    if (parts.transcendentals != Expr(0)) transcendentals.push_back(parts.transcendentals);
    if (parts.base != kZero || evidence->Ours(Unit::kFlop, id) != kZero) {
      ledger.Count({id}, parts.base, transcendental);
    }
    if (parts.padding != kZero) ledger.Count({id}, parts.padding, padding);
    if (parts.integers != kZero) ledger.Count({id}, parts.integers, integer);
    if (parts.instructions != kZero) ledger.Count({id}, parts.instructions, instruction);
  }
  ledger.Assume("every operator becomes the HLO of its formula: nothing is fused or simplified");
  ledger.Assume(
      absl::StrCat("transcendentals, which XLA counts apart: ", Sum(transcendentals).ToString()));
  return ledger.Finish([&](EntryId) { return transcendental; });
}

}  // namespace

const Convention kXla = {
    "xla",
    Unit::kFlop,
    "flops (of HloCostAnalysis)",
    "openxla/xla, xla/service/hlo_cost_analysis.cc: HandleElementwiseOp, GetDotFlops, "
    "GetConvolutionFlops, HandleReduce",
    "products, elementwise instructions of every type, reductions",
    "transcendentals (a total of their own), the padding of convolutions",
    Apply,
};

}  // namespace onnxflops
