#include "src/settings/view_arguments.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/settings/value.h"

namespace onnxflops::settings {
namespace {

constexpr absl::string_view kShapeColumn = "shape";

absl::Status ParseRows(absl::string_view name, const std::string& text, int least, int* value) {
  if (text.empty() || (absl::SimpleAtoi(text, value) && *value >= least)) return absl::OkStatus();
  return BadValue(name, text, absl::StrCat("it should be a number, ", least, " or more"));
}

absl::StatusOr<Figure> ParseFigure(absl::string_view name, absl::string_view key, GroupBy by) {
  absl::StatusOr<Figure> figure = FindFigure(key, name == "columns" ? kShapeColumn : "");
  if (!figure.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(Setting(name), ": ", figure.status().message()));
  }
  const bool weights =
      figure->kind == Figure::Kind::kQuantity && figure->quantity->of == Quantity::Of::kWeights;
  if (weights && by != GroupBy::kModule) {
    return BadValue(name, key, WithSettings("only modules hold parameters ({by module})"));
  }
  return figure;
}

}  // namespace

absl::StatusOr<GroupBy> ParseGroupBy(const std::string& by) {
  if (by == "module") return GroupBy::kModule;
  if (by == "op") return GroupBy::kOp;
  if (by == "node") return GroupBy::kNode;
  return BadValue(
      "by", by,
      absl::StrCat("it should be module, op or node", DidYouMean(by, {"module", "op", "node"})));
}

void AddModule(Table* list, std::string* module) {
  list->AddValue("module", "GLOBS", module,
                 "Only a part of the model, as if it were the model. A path like visual.conv1 or "
                 "its end, several with * or commas, without what follows a !.");
  list->CompleteFrom("modules");
}

void ViewArguments::AddTo(Table* list) {
  list->AddValue("by", "KEY", &by,
                 "Rows: module, op or node. Default: module; of several models, a row each.",
                 {"module", "op", "node"});
  list->AddValue("top", "N", &top,
                 "Only the N costliest nodes (or {by op}, {by module}), with their shapes. Equal "
                 "nodes share a row.");
  AddModule(list, &module);
  list->AddValue("depth", "D", &depth,
                 "Depth of the module tree; 0 is the model. Default: opened where the cost is, "
                 "down to 1 %, as far as a terminal has lines.");
  list->AddValue("sort", "KEY", &sort,
                 absl::StrCat("Rows by falling KEY, as macs. One of ", FigureKeys(), "."));
  list->CompleteFrom("figures");
  list->AddValue(
      "columns", "KEYS", &columns,
      "Columns, as flops,bytes_read,intensity. With shape, the shape of what each module "
      "or node gives stands before them. Several models are one table of quantities.");
  list->CompleteFrom("figures");
  list->AddFlag("no-fold", &no_fold,
                "Do not merge equal modules; also list nodes that cost nothing.");
  list->AddFlag("exact", &exact, "Print every digit instead of k, M, G, T, P, E.");
  list->AddFlag("plot", &plot, "Draw a bar for every point of a sweep.");
}

absl::StatusOr<ViewOptions> ViewArguments::Parse() const {
  ViewOptions view;
  view.fold = !no_fold;
  view.exact = exact;
  RETURN_IF_ERROR(ParseRows("top", top, 1, &view.top));
  RETURN_IF_ERROR(ParseRows("depth", depth, 0, &view.depth));
  if (!by.empty()) {
    ASSIGN_OR_RETURN(view.by, ParseGroupBy(by));
  } else if (view.top > 0) {
    view.by = GroupBy::kNode;
  }
  if (!sort.empty()) {
    ASSIGN_OR_RETURN(view.sort, ParseFigure("sort", sort, view.by));
  }
  for (absl::string_view key : absl::StrSplit(columns, ',', absl::SkipEmpty())) {
    if (key == kShapeColumn) {
      view.shapes = true;
      continue;
    }
    ASSIGN_OR_RETURN(Figure figure, ParseFigure("columns", key, view.by));
    view.columns.push_back(figure);
  }
  if (!columns.empty() && view.columns.empty() && !view.shapes)
    return BadValue("columns", columns, "it names no column");
  if (view.shapes && view.by == GroupBy::kOp) {
    return BadValue("columns", columns,
                    WithSettings("an operator has no shape: {by module} or {by node}"));
  }
  return view;
}

}  // namespace onnxflops::settings
