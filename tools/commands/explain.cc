// onnxflops explain: the formula of an operator, or of a node with its sizes filled in.
//
// How it works. One argument is an operator, explained by the table of formulas alone. With two,
// the first is a model, and the second is searched for as the name of a node and then as the path
// of a module. A node gets its formula with the sizes of this model. A module has no formula, so
// its content and its costliest nodes are shown, which can be explained in turn.
#include "src/explain/explain.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "src/api/count.h"
#include "src/api/load.h"
#include "src/api/operators.h"
#include "src/base/platform/posix.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/explain/rule_template.h"
#include "src/render/format.h"
#include "src/render/text_table.h"
#include "src/report/writers.h"
#include "src/settings/model_arguments.h"
#include "src/settings/size_arguments.h"
#include "src/settings/view_arguments.h"
#include "tools/cli/output.h"
#include "tools/cli/output_arguments.h"
#include "tools/commands/class_arguments.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandExplainHelp = {
    "onnxflops explain MODEL NODE|MODULE [options]\n       onnxflops explain OP",
    R"(Tells what a node costs and why: its operator's formula, the shapes of its
inputs and outputs, and the formula with these sizes. NODE is a node's name, or
the name of one of its outputs. Of a MODULE, tells what is in it and its
costliest nodes. With OP, tells the formula, versions and examples of an
operator.
)",
    R"(  One node, at batch 8:
    onnxflops explain clip-vit-l-14-336.onnx node_Conv_2481 --dim batch=8
  A module, with its costliest nodes:
    onnxflops explain clip-vit-l-14-336.onnx visual.transformer.resblocks.0
  An operator, and one of ONNX Runtime:
    onnxflops explain Conv
    onnxflops explain com.microsoft.FusedMatMul
  A rule to fill in, for an operator that is not counted:
    onnxflops explain custom-op.onnx /mlp/FusedMlp --template
)"};

struct ExplainCall : settings::ExplainArguments {
  std::vector<std::string> what;
  OutputArguments output;
  ClassArguments by_class;
  bool as_template = false;
  std::string module;

  void AddTo(OptionList* list) {
    list->AddPositional("MODEL and NODE, or OP", &what, 0, 2, {"operators", "nodes"});
    settings::AddModule(list, &module);
    settings::ExplainArguments::AddTo(list);
    list->AddFlag("template", &as_template,
                  "Print a rule to fill in, for --rules. That of a NODE has its sizes.");
    by_class.AddTo(list);
    output.AddOnly(list, {"table", "json"});
  }
};

absl::StatusOr<std::string> DescribeOp(const std::string& name, const Rules& rules, Format format,
                                       int width) {
  const absl::StatusOr<std::vector<Operator>> operators = FindOperators(name, rules);
  if (!operators.ok()) {
    return absl::NotFoundError(
        absl::StrCat(operators.status().message(),
                     " (to explain a node, give MODEL and NODE; --template prints a rule for an "
                     "operator of your own)"));
  }
  if (format == Format::kJson) return ToJson(*operators);
  std::string out;
  for (const Operator& op : *operators) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", ToText(op, width));
  }
  return out;
}

// One argument is an operator only if it is not a file, and no option is about a model.
absl::Status RequireOperator(const std::string& name, const ExplainCall& args) {
  if (access(name.c_str(), F_OK) == 0 || name == "-") {
    return absl::InvalidArgumentError(
        absl::StrCat("explain needs a NODE of the model ", Quoted(name),
                     " as well; `onnxflops count --by node` lists them"));
  }
  const std::pair<const char*, bool> given[] = {
      {"--dim", !args.sizes.dims.empty()},
      {"--input", !args.sizes.inputs.empty()},
      {"--value", !args.sizes.values.empty()},
      {"--limit", !args.sizes.limits.empty()},
      {"--upper", args.upper.given},
      {"--causal", args.causal.how != settings::CausalArgument().how}};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(option, " is about a model: explain needs MODEL and NODE with it, not only ",
                     Quoted(name)));
  }
  return absl::OkStatus();
}

// The end of "no module is called 'encodr'; similar: 'encoder'", as "; similar modules: 'encoder'".
std::string SuggestedModules(const absl::Status& status, const std::string& name) {
  constexpr absl::string_view kSimilar = "; similar: ";
  const std::vector<absl::string_view> parts =
      absl::StrSplit(status.message(), absl::MaxSplits(Quoted(name), 1));
  if (parts.size() < 2) return "";
  if (!absl::StartsWith(parts[1], kSimilar)) return std::string(parts[1]);
  return absl::StrCat("; similar modules: ", parts[1].substr(kSimilar.size()));
}

// A node by its name or, if there is none, a module by its path.
absl::StatusOr<std::string> DescribePart(const Model& model, CountOptions options,
                                         const std::string& name, Format format,
                                         const TableStyle& style) {
  const absl::StatusOr<Explanation> node = Explain(model, options, name);
  if (node.ok()) return format == Format::kJson ? ToJson(*node) : ToText(*node, style);
  if (!absl::IsNotFound(node.status())) return node.status();
  options.module = name;
  options.node_rows = true;
  const absl::StatusOr<Report> part = Count(model, options);
  if (part.ok()) return format == Format::kJson ? ToJson(*part) : ExplainModule(*part, style);
  if (!absl::IsNotFound(part.status())) return part.status();
  return absl::NotFoundError(
      absl::StrCat(node.status().message(), SuggestedModules(part.status(), name)));
}

// MODEL and NODE, or OP; a part of a model that --module names is MODEL and MODULE.
absl::StatusOr<std::vector<std::string>> WhatOf(const ExplainCall& args) {
  std::vector<std::string> what = args.what;
  if (args.module.empty()) return what;
  if (what.size() != 1) {
    return absl::InvalidArgumentError(
        "--module names the part to explain, with MODEL alone; of a node the part does not matter");
  }
  what.push_back(args.module);
  return what;
}

absl::StatusOr<ExitCode> RunExplain(const ExplainCall& args) {
  ASSIGN_OR_RETURN(const std::vector<std::string> what, WhatOf(args));
  if (what.empty()) {
    return absl::InvalidArgumentError(
        "MODEL and NODE, or an operator, are required (see onnxflops explain --help)");
  }
  ASSIGN_OR_RETURN(const TableStyle style, args.output.Style());
  ASSIGN_OR_RETURN(const Format format, args.output.ParseFormat());
  std::string text;
  if (what.size() == 1) {
    RETURN_IF_ERROR(RequireOperator(what[0], args));
    ASSIGN_OR_RETURN(const Rules rules, args.sizes.rules.Parse());
    if (args.as_template) {
      text = RuleTemplate("", what[0], nullptr);
    } else {
      ASSIGN_OR_RETURN(text, DescribeOp(what[0], rules, format, style.line_width()));
    }
  } else {
    ASSIGN_OR_RETURN(CountOptions options, args.Options());
    ASSIGN_OR_RETURN(const Arguments graphs, args.by_class.Graphs({what[0]}, options.bindings));
    ASSIGN_OR_RETURN(const Model model, LoadFor(graphs[0], options));
    if (args.as_template) {
      ASSIGN_OR_RETURN(const Explanation node, Explain(model, options, what[1]));
      text = RuleTemplate(node.node.domain, node.node.op, &node.node);
    } else {
      ASSIGN_OR_RETURN(text, DescribePart(model, std::move(options), what[1], format, style));
    }
  }
  const std::string model = what.size() == 2 ? what[0] : "";
  RETURN_IF_ERROR(WriteOutput(text, args.output.file, {model, args.sizes.rules.file}));
  return kFine;
}

}  // namespace

Command ExplainCommand() {
  return CommandOf<ExplainCall, kCommandExplainHelp, RunExplain>(
      "explain", "MODEL NODE | OP", "formula and terms of a node, a module or an operator");
}

}  // namespace onnxflops::tools
