// The tree of a page: modules with their operators, equal neighbours as one row, and only as many
// rows as fit the page.
//
//   HtmlTree tree(quantities);
//   tree.Add({.name = "CLIP", .figures = {&amounts}});
//   tree.Write(&json);
//
// It writes the members of an object, which only src/render/html/tree.js reads:
//
//   "quantities"  [[key, title, unit, 1 if it is always known: weights]...]
//   "formulas"    [text...]: integers and Expr::ToString(); null for one that is too long
//   "amounts"     [[index of a formula, for each quantity]...]
//   "types"       [class or operator...]
//   "rows"        [[depth, kind, name, last, times, type, nodes, lower, status, amounts...]...],
//                 each before its children. `amounts` belong to one of the `times` neighbours
//                 `name` to `last`, inside one of the row's parent. `lower`: bit i is set if
//                 `amounts` i are lower bounds. Then, if the base differs: its name, last and type
//   "rows_joined" how many rows had no room, and are in rows of the kind "others"
#ifndef ONNXFLOPS_SRC_REPORT_HTML_TREE_H_
#define ONNXFLOPS_SRC_REPORT_HTML_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "src/cost/amounts.h"
#include "src/render/json_writer.h"
#include "src/report/report.h"

namespace onnxflops::report {

class HtmlTree {
 public:
  enum class Kind : uint8_t { kModule, kOwn, kOperator, kOthers };

  // One module or operator. Its pointers must stay valid.
  struct Item {
    Kind kind = Kind::kModule;
    int32_t depth = 0;
    absl::string_view name, type, status;
    absl::string_view base_name, base_type;  // the base's, if they differ; else ""
    int64_t nodes = 0;
    std::vector<const Amounts*> figures;  // of a report; or of a base and a head
    std::vector<bool> lower_bounds;       // whether they are; as many
    absl::int128 weight = 0;              // rows with the largest weight are shown first
  };

  explicit HtmlTree(std::vector<const Quantity*> quantities, bool exact_backward = false)
      : quantities_(std::move(quantities)), exact_backward_(exact_backward) {}

  // Each before those in it.
  void Add(Item item) { items_.push_back(std::move(item)); }
  void Write(JsonWriter* json) const;

 private:
  const std::vector<const Quantity*> quantities_;
  const bool exact_backward_;
  std::vector<Item> items_;
};

// Adds a derived quantity by which a page sizes its modules, unless one of its name is there: an
// exact backward pass.
void AddCost(const Quantity& cost, std::vector<const Quantity*>* quantities);

}  // namespace onnxflops::report

#endif  // ONNXFLOPS_SRC_REPORT_HTML_TREE_H_
