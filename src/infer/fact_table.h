// Stores every distinct fact once, under a small number. Equal facts have equal ids, so comparing
// the inputs of two nodes means comparing integers.
#ifndef ONNXFLOPS_SRC_INFER_FACT_TABLE_H_
#define ONNXFLOPS_SRC_INFER_FACT_TABLE_H_

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "src/graph/fact.h"
#include "src/infer/infer.h"

namespace onnxflops::infer {

class FactTable {
 public:
  static constexpr FactId kAbsent = 0;   // an input left out
  static constexpr FactId kUnknown = 1;  // nothing known

  FactTable() : index_(0, Hash{&facts_}, Equal{&facts_}) {
    Intern(Fact::Absent());
    Intern(Fact::Unknown());
  }
  FactTable(const FactTable&) = delete;
  FactTable& operator=(const FactTable&) = delete;

  // Facts do not move: references are valid as long as the table exists.
  FactId Intern(Fact fact);
  const Fact& operator[](FactId id) const { return facts_[static_cast<size_t>(id)]; }
  // The same fact without its content.
  FactId WithoutContent(FactId id);
  // Of the polynomials in all facts so far.
  int64_t terms() const { return terms_; }
  // Of the contents of all facts so far.
  int64_t content_elements() const { return content_elements_; }
  // Elements of the content, and about as many for the items of a sequence.
  static int64_t ContentOf(const Fact& fact);
  // The steps of a WorkLimit that copying or hashing a fact takes.
  static size_t StepsOf(const Fact& fact);
  bool HasContent(FactId id) const {
    const Fact& fact = facts_[static_cast<size_t>(id)];
    return fact.has_content() || fact.has_rule();
  }
  std::deque<Fact> Release() && { return std::move(facts_); }

 private:
  struct Hash {
    using is_transparent = void;
    const std::deque<Fact>* facts;
    size_t operator()(const Fact& fact) const { return absl::HashOf(fact); }
    size_t operator()(FactId id) const { return absl::HashOf((*facts)[static_cast<size_t>(id)]); }
  };
  struct Equal {
    using is_transparent = void;
    const std::deque<Fact>* facts;
    bool operator()(FactId a, FactId b) const { return a == b; }
    bool operator()(FactId a, const Fact& b) const { return (*facts)[static_cast<size_t>(a)] == b; }
  };

  std::deque<Fact> facts_;
  int64_t terms_ = 0;
  int64_t content_elements_ = 0;
  std::vector<FactId> without_content_;  // -1: not asked yet
  absl::flat_hash_set<FactId, Hash, Equal> index_;
};

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_FACT_TABLE_H_
