// Which rows of a diff's module tree are shown.
#ifndef ONNXFLOPS_SRC_DIFF_DIFF_ROWS_H_
#define ONNXFLOPS_SRC_DIFF_DIFF_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "src/cost/amounts.h"
#include "src/diff/diff_writers.h"
#include "src/diff/model_diff.h"

namespace onnxflops::diff {

struct ShownRow {
  std::string label;  // "resblocks.0-23", "[12 unchanged]"
  std::string note;   // "new", "moved from a.b", "was b"
  int indent = 0;
  int64_t repeated = 1;  // equal modules in this row
  bool others = false;   // not a module, but others together
  Amounts base, head;    // of all of them
  bool base_lower_bound = false, head_lower_bound = false;
};
struct ShownRows {
  std::vector<ShownRow> rows;  // a tree in the order of reading; [0] is the model
  int64_t closed = 0;          // rows left closed for lack of room
};
ShownRows DiffRows(const Diff& diff, const DiffViewOptions& options);

// The value of a formula at the shown sizes; nullopt if it has none.
std::optional<absl::int128> ShownValue(const Diff& diff, const Expr& formula);
// How much a change is, without its direction; at most as much as there are numbers for.
absl::int128 Magnitude(const Diff& diff, const Expr& change);
// True if a change is below DiffViewOptions::threshold.
bool IsBelowThreshold(const Diff& diff, const DiffViewOptions& options, const Expr& change);

}  // namespace onnxflops::diff

#endif  // ONNXFLOPS_SRC_DIFF_DIFF_ROWS_H_
