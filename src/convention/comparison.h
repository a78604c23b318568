// Ledgers added up: our count, the terms that lead from it to a tool's figure, and that figure; or
// the way from one tool's figure to another's. The parts sum exactly, by construction.
//
//   Comparison c = Compare(&evidence, kThop, ledger);
//   c.start + c.terms[0].amount + ... == c.headline
#ifndef ONNXFLOPS_SRC_CONVENTION_COMPARISON_H_
#define ONNXFLOPS_SRC_CONVENTION_COMPARISON_H_

#include <optional>
#include <string>
#include <vector>

#include "src/convention/convention.h"

namespace onnxflops::convention {

struct ComparedTerm {
  std::string name, reason;
  std::string module;     // with CompareOptions::by_module
  bool of_model = false;  // of the model as a whole: of no node, in no module
  Expr amount;
  std::vector<NodeId> nodes;  // in the order of the file, each once
};

struct Comparison {
  const Convention* convention = nullptr;
  const Convention* from = nullptr;  // whose figure `start` is; nullptr: ours
  const char* version = "";          // of the tool; "" if its figure never changed
  Standing standing = Standing::kExact;
  std::vector<std::string> assumptions;
  std::optional<absl::int128> params;
  // For kNotApplicable only `start` is set.
  Expr start;
  std::vector<ComparedTerm> terms;  // largest first, as far as they are numbers
  Expr headline;
};

struct CompareOptions {
  bool by_module = false;  // a separate term for every module
  // By EntryId: compare only these, in ledgers of this part (ledger_part.h). nullptr: all.
  const std::vector<bool>* part = nullptr;
};

Comparison Compare(Evidence* evidence, const Convention& convention, const Ledger& ledger,
                   const CompareOptions& options = {});

// Goes from one tool's figure to another's. Differences that both share cancel, node by node.
Comparison CompareBetween(Evidence* evidence, const Convention& from, const Ledger& from_ledger,
                          const Convention& to, const Ledger& to_ledger,
                          const CompareOptions& options = {});

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_COMPARISON_H_
