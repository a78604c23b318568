// A diff as a page: what src/render/html/ draws.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/base/limits.h"
#include "src/diff/diff_parts.h"
#include "src/diff/diff_writers.h"
#include "src/render/html_page.h"
#include "src/render/json_writer.h"
#include "src/report/html_tree.h"

namespace onnxflops {
namespace {

using report::HtmlTree;

// Without rows, which the tree has.
Diff WithoutRows(const Diff& full) {
  Diff diff = full;
  diff.modules.resize(1);
  diff.ops.clear();
  diff.nodes.clear();
  diff.has_nodes = false;
  return diff;
}

HtmlTree TreeOf(const Diff& diff, const Quantity& cost) {
  std::vector<const Quantity*> quantities = diff.quantities;
  if (cost.is_derived()) quantities.push_back(&cost);
  HtmlTree tree(std::move(quantities));
  const auto value = [&](const Expr& expr) -> absl::int128 {
    return expr.Evaluate(diff.sizes).value_or(0);
  };
  for (const ModuleDiff& m : diff.modules) {
    HtmlTree::Item item;
    item.kind = m.own ? HtmlTree::Kind::kOwn : HtmlTree::Kind::kModule;
    item.depth = m.depth;
    item.name = m.depth == 0 ? absl::string_view() : m.name();
    item.type = m.type;
    item.status = NameOf(m.status);
    item.lower_bounds = {m.base_lower_bound, m.head_lower_bound};
    item.figures = {m.base.get(), m.head.get()};
    item.weight = std::max(value(cost.In(*m.base)), value(cost.In(*m.head)));
    tree.Add(std::move(item));
  }
  return tree;
}

}  // namespace

std::string ToHtml(const Diff& diff, const DiffViewOptions& options) {
  report::JsonWriter json;
  json.CutStrings(kMaxPageText);
  json.BeginObject();
  json.Key("diff");
  diff::WriteDiff(WithoutRows(diff), &json, report::kOneLine);
  json.Key("sizes").BeginObject(report::kOneLine);
  for (const auto& [name, size] : diff.sizes) json.Key(name).Int(size);
  json.EndObject();
  json.Key("caveats").BeginArray();
  for (const std::string& text : diff::ComparedTexts(diff)) json.String("compared " + text);
  json.EndArray();
  json.Key("cost").String(options.quantity->key);
  json.CutStrings(kMaxPageFormula);
  json.Key("tree").BeginObject(report::kOneLine);
  TreeOf(diff, *options.quantity).Write(&json);
  json.EndObject();
  json.EndObject();
  return report::HtmlPage(report::FileNameOf(diff.head.path), "diff", json.TakeText());
}

}  // namespace onnxflops
