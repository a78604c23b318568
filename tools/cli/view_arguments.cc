#include "tools/cli/view_arguments.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/quote.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"

namespace onnxflops::tools {
namespace {

constexpr absl::string_view kShapeColumn = "shape";

absl::Status BadView(absl::string_view option, absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(option, " ", Quoted(text), ": ", why));
}

absl::Status ParseCount(absl::string_view option, const std::string& text, int least, int* value) {
  if (text.empty() || (absl::SimpleAtoi(text, value) && *value >= least)) return absl::OkStatus();
  return BadView(option, text, absl::StrCat("it should be a number, ", least, " or more"));
}

absl::StatusOr<Figure> ParseFigure(absl::string_view option, absl::string_view key, GroupBy by) {
  absl::StatusOr<Figure> figure = FindFigure(key);
  if (!figure.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", figure.status().message()));
  }
  const bool weights =
      figure->kind == Figure::Kind::kQuantity && figure->quantity->of == Quantity::Of::kWeights;
  if (weights && by != GroupBy::kModule) {
    return BadView(option, key, "only modules hold parameters (--by module)");
  }
  return figure;
}

}  // namespace

void AddModule(OptionList* list, std::string* module) {
  list->AddValue("--module", "GLOBS", module,
                 "Only a part of the model, as if it were the model. A path like visual.conv1 or "
                 "its end, several with * or commas, without what follows a !.");
}

void ViewArguments::AddTo(OptionList* list) {
  list->AddValue("--by", "KEY", &by,
                 "Rows: module, op or node. Default: module; of several models, a row each.",
                 {"module", "op", "node"});
  list->AddValue("--top", "N", &top,
                 "Only the N costliest nodes (or --by op, --by module), with their shapes. Equal "
                 "nodes share a row.");
  AddModule(list, &module);
  list->AddValue("--depth", "D", &depth,
                 "Depth of the module tree; 0 is the model. Default: opened where the cost is, "
                 "down to 1 %, as far as a terminal has lines.");
  list->AddValue("--sort", "KEY", &sort,
                 absl::StrCat("Rows by falling KEY. It is one of ", FigureKeys(), "."));
  list->CompleteFrom("figures");
  list->AddValue(
      "--columns", "KEYS", &columns,
      "Columns, as flops,bytes_read,intensity. With shape, the shape of what each module "
      "or node gives stands before them.");
  list->CompleteFrom("figures");
  list->AddFlag("--no-fold", &no_fold,
                "Do not merge equal modules; also list nodes that cost nothing.");
  list->AddFlag("--exact", &exact, "Print every digit instead of k, M, G, T, P, E.");
}

absl::StatusOr<ViewOptions> ViewArguments::Parse(Format format) const {
  ViewOptions view;
  view.fold = !no_fold;
  view.exact = exact;
  RETURN_IF_ERROR(ParseCount("--top", top, 1, &view.top));
  RETURN_IF_ERROR(ParseCount("--depth", depth, 0, &view.depth));
  if (by == "op") {
    view.by = GroupBy::kOp;
  } else if (by == "node" || (by.empty() && view.top > 0)) {
    view.by = GroupBy::kNode;
  } else if (!by.empty() && by != "module") {
    return BadView(
        "--by", by,
        absl::StrCat("it should be module, op or node", DidYouMean(by, {"module", "op", "node"})));
  }
  if (!sort.empty()) {
    ASSIGN_OR_RETURN(view.sort, ParseFigure("--sort", sort, view.by));
  }
  for (absl::string_view key : absl::StrSplit(columns, ',', absl::SkipEmpty())) {
    if (key == kShapeColumn) {
      view.shapes = true;
      continue;
    }
    ASSIGN_OR_RETURN(Figure figure, ParseFigure("--columns", key, view.by));
    view.columns.push_back(figure);
  }
  if (!columns.empty() && view.columns.empty() && !view.shapes)
    return BadView("--columns", columns, "it names no column");
  const bool has_shapes = view.by != GroupBy::kOp && format != Format::kCsv;
  if (view.shapes && !has_shapes) {
    return BadView("--columns", columns,
                   view.by == GroupBy::kOp
                       ? "an operator has no shape: --by module or --by node"
                       : "CSV has no shapes: --format json --by node has all of them");
  }
  const bool is_json = format == Format::kJson || format == Format::kJsonLines;
  if (is_json && (!top.empty() || !sort.empty() || !columns.empty())) {
    return absl::InvalidArgumentError(
        "--top, --sort and --columns choose what a table shows; JSON always holds all of it");
  }
  return view;
}

}  // namespace onnxflops::tools
