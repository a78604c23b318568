#include "src/infer/fact_table.h"

#include "src/symbolic/work.h"

namespace onnxflops::infer {

namespace {

int64_t TermsOf(const Fact& fact) {
  int64_t terms = 0;
  if (fact.shape.ranked()) {
    for (const Expr& dim : fact.shape.dims()) terms += dim.NumTerms();
  }
  if (fact.content != nullptr) {
    for (const Scalar& scalar : *fact.content) terms += scalar.i.NumTerms();
  }
  if (fact.rule != nullptr) terms += fact.rule->i.NumTerms();
  return terms;
}

}  // namespace

int64_t FactTable::ContentOf(const Fact& fact) {
  size_t elements = fact.content == nullptr ? 0 : fact.content->size();
  if (fact.items == nullptr) return static_cast<int64_t>(elements);
  for (const Fact& item : *fact.items) {
    elements += 4 + (item.shape.ranked() ? item.shape.dims().size() : 0);
    if (item.content != nullptr) elements += item.content->size();
  }
  return static_cast<int64_t>(elements);
}

size_t FactTable::StepsOf(const Fact& fact) {
  constexpr size_t kStepsPerFact = 16, kStepsPerDim = 2;
  const size_t dims = fact.shape.ranked() ? fact.shape.dims().size() : 0;
  return kStepsPerFact + kStepsPerDim * (dims + static_cast<size_t>(ContentOf(fact)));
}

FactId FactTable::Intern(Fact fact) {
  SpendSteps(StepsOf(fact));
  if (const auto found = index_.find(fact); found != index_.end()) return *found;
  const auto id = static_cast<FactId>(facts_.size());
  terms_ += TermsOf(fact);
  content_elements_ += ContentOf(fact);
  facts_.push_back(std::move(fact));
  without_content_.push_back(-1);
  index_.insert(id);
  return id;
}

FactId FactTable::WithoutContent(FactId id) {
  if (!HasContent(id)) return id;
  FactId stripped = without_content_[static_cast<size_t>(id)];
  if (stripped < 0) {
    Fact fact = facts_[static_cast<size_t>(id)];
    fact.DropContent();
    stripped = Intern(std::move(fact));
    without_content_[static_cast<size_t>(id)] = stripped;
  }
  return stripped;
}

}  // namespace onnxflops::infer
