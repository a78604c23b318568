// How writers show a report: grouping, depth, width.
#ifndef ONNXFLOPS_SRC_REPORT_VIEW_OPTIONS_H_
#define ONNXFLOPS_SRC_REPORT_VIEW_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/cost/amounts.h"
#include "src/render/table_style.h"

namespace onnxflops {

enum class GroupBy { kModule, kOp, kNode };

// The content of a column, also used for sorting: a quantity, or a figure derived from quantities.
struct Figure {
  enum class Kind : uint8_t {
    kQuantity,
    kShare,      // of the total, in percent
    kIntensity,  // operations per byte read or written
    kBound,      // the slower one on a device: "compute" or "memory"
    kAtLeast,    // bounds of the sorted quantity, if sizes depend on data
    kAtMost,
  };
  Kind kind = Kind::kQuantity;
  const Quantity* quantity = nullptr;  // of kQuantity

  absl::string_view key() const;
  friend bool operator==(const Figure& a, const Figure& b) {
    return a.kind == b.kind && a.quantity == b.quantity;
  }
};
// By its key: one of kQuantities, "share", "intensity", "bound", "at_least" or "at_most".
// InvalidArgument lists the keys, and `other`, a name that the caller takes beside them.
absl::StatusOr<Figure> FindFigure(absl::string_view key, absl::string_view other = "");
// "flops, macs, ...".
std::string FigureKeys();

struct ViewOptions {
  GroupBy by = GroupBy::kModule;
  int depth = -1;               // of the module tree below the model; -1: opened by cost
  bool fold = true;             // equal siblings into one row, only children into their parent's
  bool exact = false;           // every digit instead of SI units
  int top = 0;                  // only so many rows, the costliest first; 0: all
  std::optional<Figure> sort;   // sort key; default FLOPs, else MACs
  std::vector<Figure> columns;  // empty: FLOPs, their share, MACs, parameters
  bool shapes = false;          // output shapes of modules or nodes; needs node rows
  // For comparing texts: rows keep the order of the model, none is merged or cut, columns have a
  // fixed width, and a row does not depend on other rows.
  bool stable = false;
  // Modules are opened as far as so many rows allow, without --depth.
  int page_rows = 32;
  TableStyle screen;  // the screen: totals and modules fit on one, if it has a height
  // How the title names the file.
  enum class Title : uint8_t { kPath, kFileName, kNone } title = Title::kPath;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_VIEW_OPTIONS_H_
