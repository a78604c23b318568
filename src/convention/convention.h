// What a named other tool counts for a model, and why it differs from our count.
//
// A convention is a function from Evidence to a Ledger. Our count is looked up, not stated by the
// function, so that our count plus all differences is the tool's figure, whatever its rules
// are.
//
//   Evidence   the executed nodes, our counts of them, and the PyTorch calls they came from
//   Entry      one execution of a node, in a module
//   Amount     a count: a number or a formula; equal ones have one id
//   Ledger     the account of one tool: what it counts for which entries
//   Line       some entries of the ledger, with our amount and the tool's
//   ModelLine  the same for the model as a whole, without entries
//   Term       a named difference, with its reason; each line that differs has one
//   Standing   certainty of the figure: exact, assumed, or not applicable
//   Comparison our count, the terms added up, and the tool's figure (comparison.h)
//
//   Ledger ApplyThop(Evidence* evidence) {
//     LedgerBuilder ledger(evidence, Unit::kMac);
//     const TermId attention = ledger.Term("attention products", "no module does them");
//     ...
//     ledger.Count({matmul, add}, evidence->Intern(macs), kSame);     // as we do
//     ledger.Count({softmax}, evidence->Intern(3 * n), softmax_term);
//     ledger.Count({matmul}, evidence->Intern(bias), bias_term);      // beyond the first Count
//     return ledger.Finish([&](EntryId id) { return unseen_term; });  // all others count as 0
//   }
//
// A tool with a formula for the whole model, and none for its nodes, uses lines of the model.
#ifndef ONNXFLOPS_SRC_CONVENTION_CONVENTION_H_
#define ONNXFLOPS_SRC_CONVENTION_CONVENTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "src/convention/convention_info.h"
#include "src/convention/evidence.h"

namespace onnxflops::convention {

// The reason for a difference from our count. Terms with the same name are the same thing in every
// convention, so they cancel between two tools.
struct Term {
  std::string name;    // what: "attention products QK' and PV"
  std::string reason;  // why: "no module does them"
};
using TermId = int32_t;              // index in Ledger::terms
inline constexpr TermId kSame = -1;  // for a line that counts as we do

// Some entries, and the tool's count for them.
struct Line {
  ModuleId module = kRootModule;
  int32_t first = 0, count = 0;  // in Ledger::entries
  AmountId ours = kZero;
  AmountId theirs = kZero;
  TermId term = kSame;  // if they differ
};

// An amount that the tool counts for the whole model, without an entry or module.
struct ModelLine {
  AmountId ours = kZero;
  AmountId theirs = kZero;
  TermId term = kSame;  // if they differ
};

struct Ledger {
  Standing standing = Standing::kExact;
  std::vector<std::string> assumptions;
  std::optional<absl::int128> params;  // if the tool prints its own count of them
  const char* version = "";            // of the tool, if the file decides it
  std::vector<Term> terms;
  // Our count of each entry is in exactly one of these.
  std::vector<Line> lines;
  std::vector<ModelLine> model_lines;
  std::vector<EntryId> entries;  // of `lines`
};

struct Convention : ConventionInfo {
  Ledger (*apply)(Evidence* evidence);
  // The versions of a tool whose figure changed: one convention per figure, the newest first.
  absl::Span<const Convention* const> versions = {};
};

// The tool under its name without a version: its newest version, or, with `apply`, the version that
// the file decides.
constexpr Convention NewestOf(const char* name, absl::Span<const Convention* const> versions,
                              Ledger (*apply)(Evidence* evidence) = nullptr) {
  Convention newest = *versions[0];
  newest.name = name;
  newest.versions = versions;
  if (apply != nullptr) newest.apply = apply;
  return newest;
}

// The version that made the ledger; "" of a tool whose figure never changed.
inline const char* VersionUsed(const Convention& convention, const Ledger& ledger) {
  return *ledger.version != '\0' ? ledger.version : convention.version;
}

class LedgerBuilder {
 public:
  LedgerBuilder(Evidence* evidence, Unit unit);

  // The same for the same name and reason.
  TermId Term(absl::string_view name, absl::string_view reason);
  // The tool counts `theirs` for these entries (at least one). Our count of an entry is compared in
  // the first line with that entry; later lines add to it. A `term` that is never needed is
  // dropped. kSame with different amounts is named "other rules".
  void Count(absl::Span<const EntryId> entries, AmountId theirs, TermId term);
  // The tool counts `theirs` for the whole model. Our count of entries that are in no line is
  // compared in the first such line; later lines add to it.
  void CountModel(AmountId theirs, TermId term);
  // Makes the ledger kAssumed; each text once.
  void Assume(absl::string_view assumption);
  void SetParams(absl::int128 params) { ledger_.params = params; }
  void SetVersion(const char* version) { ledger_.version = version; }

  // The tool counts entries without a line as 0, for the reason that `unseen` returns. An amount
  // that overflows makes the ledger kNotApplicable.
  Ledger Finish(absl::FunctionRef<TermId(EntryId)> unseen);
  // The tool gives no figure.
  static Ledger NotApplicable(std::string reason);

 private:
  TermId TermFor(AmountId ours, AmountId theirs, TermId term);

  Evidence& evidence_;
  const Unit unit_;
  Ledger ledger_;
  std::string problem_;  // the first amount that overflows
  absl::flat_hash_map<std::pair<std::string, std::string>, TermId> terms_;
  std::vector<bool> taken_;  // by EntryId
  std::vector<EntryId> scratch_;
};

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_CONVENTION_H_
