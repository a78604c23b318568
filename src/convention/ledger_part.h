// The part of a ledger that belongs to some modules, as if they were the model.
//
//   const Ledger part = LedgerOfPart(&evidence, Unit::kMac, ledger, in_part);
#ifndef ONNXFLOPS_SRC_CONVENTION_LEDGER_PART_H_
#define ONNXFLOPS_SRC_CONVENTION_LEDGER_PART_H_

#include <vector>

#include "src/convention/convention.h"

namespace onnxflops::convention {

// Our count for all runs of the entries in the part (`in_part` by EntryId).
Expr OursOfPart(const Evidence& evidence, Unit unit, const std::vector<bool>& in_part);

// A line with entries on both sides belongs to the side of its first entry, and makes the ledger
// kAssumed. Amounts that the tool counts for the whole model are left out and also make it
// kAssumed. kNotApplicable if the tool has only a formula for the whole model.
Ledger LedgerOfPart(Evidence* evidence, Unit unit, const Ledger& whole,
                    const std::vector<bool>& in_part);

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_SRC_CONVENTION_LEDGER_PART_H_
