#include "src/convention/evidence.h"

#include <algorithm>
#include <utility>

#include "src/convention/torch_trace.h"

namespace onnxflops {
namespace {

const Fact& FactAt(const Inference& inference, absl::Span<const FactId> facts, size_t i) {
  static const Fact& absent = *new Fact(Fact::Absent());
  static const Fact& unknown = *new Fact(Fact::Unknown());
  if (i >= facts.size()) return absent;
  return facts[i] < 0 ? unknown : inference.fact(facts[i]);
}

}  // namespace

Evidence::Evidence(const Inference& inference, const Counts& counts)
    : inference_(inference),
      counts_(counts),
      attribution_(AttributeNodes(inference, counts, Keep::kAll)) {
  Intern(0);
  FindOurs();
}

const Fact& Evidence::Input(const Entry& entry, size_t i) const {
  return FactAt(inference_, call(entry).inputs, i);
}

const Fact& Evidence::Output(const Entry& entry, size_t i) const {
  return FactAt(inference_, call(entry).outputs, i);
}

AmountId Evidence::Intern(const Expr& amount) {
  const auto [it, is_new] = amount_ids_.try_emplace(amount, static_cast<AmountId>(amounts_.size()));
  if (is_new) amounts_.push_back(amount);
  return it->second;
}

AmountId Evidence::Doubled(AmountId id) {
  if (doubled_.size() < amounts_.size()) doubled_.resize(amounts_.size(), -1);
  const size_t at = static_cast<size_t>(id);
  if (doubled_[at] < 0) {
    const AmountId twice = Intern(amount(id) * 2);
    doubled_[at] = twice;
  }
  return doubled_[at];
}

// Equal nodes share a call, so that few amounts have to be made.
void Evidence::FindOurs() {
  struct Both {
    AmountId macs = kZero, flops = kZero;
  };
  constexpr AmountId kNotYet = -1;
  std::vector<Both> once(counts_.calls.size() * kNumParts, Both{kNotYet, kNotYet});
  absl::flat_hash_map<std::pair<int32_t, int32_t>, Both> repeated;  // by work and times
  for (std::vector<AmountId>& ids : ours_) ids.reserve(entries().size());
  for (const Entry& e : entries()) {
    Both& both =
        e.times == 0
            ? once[static_cast<size_t>(e.work)]
            : repeated.try_emplace({e.work, e.times}, Both{kNotYet, kNotYet}).first->second;
    if (both.macs == kNotYet) {
      const CallCost& cost = counts_.calls[static_cast<size_t>(e.call())];
      const bool own = e.part() == Part::kOwn;
      const bool shape_work = e.part() == Part::kShapeWork;
      both.macs = Intern((own ? cost.own_macs : cost.macs) * times(e));
      both.flops = Intern((own          ? cost.own_flops
                           : shape_work ? cost.tally().ShapeWorkFlops()
                                        : cost.flops) *
                          times(e));
    }
    ours_[static_cast<size_t>(Unit::kMac)].push_back(both.macs);
    ours_[static_cast<size_t>(Unit::kFlop)].push_back(both.flops);
  }
}

AmountId Evidence::Ours(Unit unit, absl::Span<const EntryId> entries) {
  std::vector<AmountId> parts;
  for (EntryId entry : entries) {
    const AmountId id = Ours(unit, entry);
    if (id != kZero) parts.push_back(id);
  }
  if (parts.empty()) return kZero;
  if (parts.size() == 1) return parts[0];
  std::sort(parts.begin(), parts.end());
  const auto [it, is_new] = sums_.try_emplace(parts, kZero);
  if (!is_new) return it->second;
  Expr sum;
  for (AmountId id : parts) sum += amount(id);
  return it->second = Intern(sum);
}

const TorchTrace& Evidence::torch_trace() {
  if (torch_trace_ == nullptr) torch_trace_ = std::make_shared<TorchTrace>(TraceTorch(this));
  return *torch_trace_;
}

}  // namespace onnxflops
