#include "src/infer/fact_table.h"

namespace onnxflops {

FactId FactTable::Intern(Fact fact) {
  if (const auto found = index_.find(fact); found != index_.end()) return *found;
  const auto id = static_cast<FactId>(facts_.size());
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
    fact.content = nullptr;
    stripped = Intern(std::move(fact));
    without_content_[static_cast<size_t>(id)] = stripped;
  }
  return stripped;
}

}  // namespace onnxflops
