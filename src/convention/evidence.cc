#include "src/convention/evidence.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/convention/torch/trace.h"
#include "src/family/family.h"
#include "src/symbolic/term_count.h"

namespace onnxflops::convention {
namespace {

const Fact& FactAt(const Inference& inference, absl::Span<const FactId> facts, size_t i) {
  static const Fact& absent = *new Fact(Fact::Absent());
  static const Fact& unknown = *new Fact(Fact::Unknown());
  if (i >= facts.size()) return absent;
  return facts[i] < 0 ? unknown : inference.fact(facts[i]);
}

}  // namespace

Evidence::Evidence(const Inference& inference, const Counts& counts, bool no_grad)
    : inference_(inference),
      counts_(counts),
      no_grad_(no_grad),
      attribution_(modules::AttributeNodes(inference, counts, modules::ExecutionFilter::kAll)),
      most_terms_(kMaxAmountTerms + inference.limits.terms_per_node *
                                        static_cast<int64_t>(inference.model->nodes.size()) /
                                        kTermsPerAmountTerm) {
  Intern(0);
  FindOurs();
}

absl::Status Evidence::status() const {
  if (!exhausted()) return absl::OkStatus();
  return LimitError("terms-per-node",
                    absl::StrCat(Escaped(model().path), ": what other tools count has more than ",
                                 most_terms_, " terms in all (terms-per-node)"));
}

bool IsTiedProduct(const ModelData& model, const Node& node) {
  return node.op_type == "FusedMatMul" && node.domain == "com.microsoft" &&
         !ConfigOf(model).empty();
}

Node Evidence::exported_node(const Entry& entry) const {
  Node exported = node(entry);
  if (IsTiedProduct(model(), exported)) {
    exported.op_type = "MatMul";
    exported.domain = "";
    exported.attributes = {};
  }
  return exported;
}

const Fact& Evidence::Input(const Entry& entry, size_t i) const {
  return FactAt(inference_, call(entry).inputs, i);
}

const Fact& Evidence::Output(const Entry& entry, size_t i) const {
  return FactAt(inference_, call(entry).outputs, i);
}

AmountId Evidence::Intern(const Expr& amount) {
  terms_ += amount.NumTerms();
  const auto [it, is_new] = amount_ids_.try_emplace(amount, static_cast<AmountId>(amounts_.size()));
  if (is_new) amounts_.push_back(amount);
  return it->second;
}

AmountId Evidence::Scaled(AmountId id, int64_t factor) {
  if (factor == 1 || id == kZero || exhausted()) return id;
  const auto [it, is_new] = scaled_.try_emplace({id, factor}, kZero);
  if (is_new) it->second = Intern(amount(id) * factor);
  return it->second;
}

std::optional<AmountId> Evidence::Elements(const Fact& fact, const Entry& entry) {
  if (!fact.is_tensor() || !fact.shape.ranked()) return std::nullopt;
  const auto [it, is_new] = elements_.try_emplace({&fact, entry.times}, kZero);
  if (is_new && !exhausted()) it->second = Intern(fact.shape.NumElements() * times(entry));
  return it->second;
}

// Equal nodes share a call, so that few amounts have to be made.
void Evidence::FindOurs() {
  struct Work {
    AmountId macs = kZero, flops = kZero, activations = kZero;
  };
  constexpr AmountId kNotYet = -1;
  std::vector<Work> once(counts_.calls.size() * modules::kNumCostParts, Work{kNotYet});
  absl::flat_hash_map<std::pair<int32_t, int32_t>, Work> repeated;  // by work and times
  for (std::vector<AmountId>& ids : ours_) ids.reserve(entries().size());
  const auto product = [&](const Expr& amount, const Expr& times) {
    if (exhausted() || amount == Expr(0)) return kZero;
    if (times == Expr(1)) return Intern(amount);
    terms_ += TermsOfProduct(amount, times);
    return Intern(amount * times);
  };
  for (const Entry& e : entries()) {
    Work& work = e.times == 0
                     ? once[static_cast<size_t>(e.work)]
                     : repeated.try_emplace({e.work, e.times}, Work{kNotYet}).first->second;
    if (work.macs == kNotYet) {
      const CallCost& cost = counts_.cost(e.call());
      const bool own = e.part() == modules::CostPart::kOwn;
      const bool shape_work = e.part() == modules::CostPart::kShapeWork;
      const Tally& tally = own ? cost.own() : cost.tally();
      work.macs = product(tally.amounts.macs, times(e));
      work.flops =
          product(shape_work ? tally.ShapeWorkAmounts().flops : tally.amounts.flops, times(e));
      work.activations = product(tally.amounts.activation_count, times(e));
    }
    ours_[static_cast<size_t>(Unit::kMac)].push_back(work.macs);
    ours_[static_cast<size_t>(Unit::kFlop)].push_back(work.flops);
    ours_[static_cast<size_t>(Unit::kActivation)].push_back(work.activations);
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
  std::vector<Expr> amounts;
  amounts.reserve(parts.size());
  for (AmountId id : parts) amounts.push_back(amount(id));
  return it->second = Intern(Sum(amounts));
}

const FormulaFacts& Evidence::formula_facts() {
  if (!formula_facts_) formula_facts_ = ReadFormulaFacts(inference_, counts_);
  return *formula_facts_;
}

const TorchTrace& Evidence::torch_trace() {
  if (torch_trace_ == nullptr) torch_trace_ = std::make_shared<TorchTrace>(TraceTorch(this));
  return *torch_trace_;
}

}  // namespace onnxflops::convention
