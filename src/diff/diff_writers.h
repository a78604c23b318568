// Diffs as text, one function per format. Nothing of a file becomes markup or a command.
#ifndef ONNXFLOPS_SRC_DIFF_DIFF_WRITERS_H_
#define ONNXFLOPS_SRC_DIFF_DIFF_WRITERS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/cost/amounts.h"
#include "src/diff/model_diff.h"
#include "src/render/document.h"
#include "src/report/view_options.h"

namespace onnxflops {

struct DiffViewOptions {
  GroupBy by = GroupBy::kModule;
  const Quantity* quantity = &kQuantities[0];  // of the rows: FLOPs
  int depth = -1;                              // of the module tree; -1: opened at the changes
  int64_t threshold = 0;                       // millionths of the model: changes below are joined
  bool exact = false;                          // every digit instead of SI units
  size_t siblings = 0;  // rows of changed siblings per module, largest changes first; 0: all
};

// Totals, then changes with the largest first: modules as a tree with their operators, or only
// operators, or nodes. Unchanged parts are one row, so that the rows add up. Then other changes in
// the files' declarations.
Document ToDocument(const Diff& diff, const DiffViewOptions& options);
std::string ToTable(const Diff& diff, const DiffViewOptions& options, const TableStyle& style = {});
std::string ToMarkdown(const Diff& diff, const DiffViewOptions& options);

// One line per module, operator or node that is in any of the models, with exact digits.
std::string ToCsv(const Diff& diff, const DiffViewOptions& options);

// A self-contained page: both models' modules, coloured by change. It opens with the quantity of
// `options`. At most 1 MB.
std::string ToHtml(const Diff& diff, const DiffViewOptions& options);

// JSON: "onnxflops.diff/1" (tools/schema/diff.v1.schema.json). It always holds all of the diff.
std::string ToJson(const Diff& diff);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_DIFF_DIFF_WRITERS_H_
