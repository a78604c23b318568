// Diffs for spreadsheets and scripts.
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "src/diff/diff_writers.h"
#include "src/render/known.h"
#include "src/render/text_table.h"

namespace onnxflops {
namespace {

using report::Known;
using report::KnownField;
using report::KnownOf;
using report::KnownOfChange;

void AddTitles(const Diff& diff, bool weights, std::initializer_list<const char*> titles,
               TextTable* table) {
  for (const char* title : titles) table->columns.push_back({title});
  for (const Quantity* q : diff.quantities) {
    if (q->of == Quantity::Of::kWeights && !weights) continue;
    for (const char* part : {"base", "head", "change"}) {
      table->columns.push_back({absl::StrCat(q->key, "_", part)});
    }
  }
  table->columns.push_back({"lower_bound"});
}

void AddLine(const Diff& diff, bool weights, const DiffPart& part, std::vector<std::string> cells,
             TextTable* table) {
  for (const Quantity* q : diff.quantities) {
    if (q->of == Quantity::Of::kWeights && !weights) continue;
    const Expr &base = (*part.base).*(q->value), &head = (*part.head).*(q->value);
    const Known of_base = KnownOf(*q, base, part.base_lower_bound);
    const Known of_head = KnownOf(*q, head, part.head_lower_bound);
    cells.push_back(KnownField(of_base, FieldText(*q, base)));
    cells.push_back(KnownField(of_head, FieldText(*q, head)));
    const Expr change = part.Change(*q);
    const std::optional<absl::int128> value =
        change.is_literal() ? std::optional(change.literal()) : std::nullopt;
    cells.push_back(KnownField(KnownOfChange(of_base, of_head, value), FieldText(*q, change)));
  }
  cells.emplace_back(part.lower_bound() ? "true" : "false");
  table->rows.push_back({std::move(cells)});
}

std::string StatusText(const DiffPart& part) { return std::string(NameOf(part.status)); }

}  // namespace

std::string ToCsv(const Diff& diff, const DiffViewOptions& options) {
  TextTable table;
  switch (options.by) {
    case GroupBy::kModule:
      AddTitles(diff, true, {"module", "base_module", "type", "depth", "status"}, &table);
      for (const ModuleDiff& m : diff.modules) {
        AddLine(diff, true, m, {m.path, m.base_path, m.type, absl::StrCat(m.depth), StatusText(m)},
                &table);
      }
      break;
    case GroupBy::kOp:
      AddTitles(diff, false, {"domain", "operator", "base_nodes", "head_nodes", "status"}, &table);
      for (const OpDiff& op : diff.ops) {
        AddLine(diff, false, op,
                {op.domain, op.op, absl::StrCat(op.base_nodes), absl::StrCat(op.head_nodes),
                 StatusText(op)},
                &table);
      }
      break;
    case GroupBy::kNode:
      AddTitles(diff, false, {"node", "base_node", "domain", "operator", "module", "status"},
                &table);
      for (const NodeDiff& n : diff.nodes) {
        AddLine(diff, false, n, {n.name, n.base_name, n.domain, n.op, n.module, StatusText(n)},
                &table);
      }
      break;
  }
  return DrawCsv(table);
}

}  // namespace onnxflops
