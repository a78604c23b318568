// onnxflops explain: the formula of an operator, or of a node with its sizes filled in.
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/registry.h"
#include "src/api/count.h"
#include "src/api/load.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/load.h"
#include "src/report/explain.h"
#include "src/report/format.h"
#include "src/report/operators.h"
#include "tools/output.h"
#include "tools/verbs.h"

namespace onnxflops::tools {
namespace {

constexpr VerbHelp kVerbExplainHelp = {
    "onnxflops explain MODEL NODE [options]\n       onnxflops explain OP",
    R"(Tells what a node costs and why: its operator's formula, the shapes of its inputs and
outputs, and the formula with these sizes. NODE is a node's name, or the name of one of
its outputs. With OP, tells the formula, versions and examples of an operator.
)",
    R"(  One node, at batch 8:
    onnxflops explain clip-vit-l-14-336.onnx node_Conv_2481 --dim batch=8
  An operator, and one of ONNX Runtime:
    onnxflops explain Conv
    onnxflops explain com.microsoft.FusedMatMul
)"};

absl::StatusOr<std::string> DescribeOp(const std::string& name, const Rules& rules, int width) {
  std::string out;
  const std::string lower = absl::AsciiStrToLower(name);
  std::vector<std::string> similar;
  std::vector<OpFamily> families(rules.families().begin(), rules.families().end());
  families.insert(families.end(), AllFamilies().begin(), AllFamilies().end());
  for (const OpFamily& family : families) {
    for (const OpDef& row : family.rows) {
      const std::string label = OpLabel(family.domain, row.name);
      const bool here = name == label || name == row.name ||
                        (*family.domain == '\0' && name == absl::StrCat("ai.onnx.", row.name));
      if (here) {
        absl::StrAppend(&out, out.empty() ? "" : "\n",
                        ToText(OperatorLine{family.domain, &row}, width));
      } else if (absl::AsciiStrToLower(row.name).find(lower) != std::string::npos &&
                 similar.size() < 8) {
        similar.push_back(Escaped(label));
      }
    }
  }
  if (!out.empty()) return out;
  std::string message = absl::StrCat("no operator is named ", Quoted(name));
  if (!similar.empty()) absl::StrAppend(&message, "; similar: ", absl::StrJoin(similar, ", "));
  return absl::NotFoundError(absl::StrCat(message, " (to explain a node, give MODEL and NODE)"));
}

}  // namespace

absl::StatusOr<ExitCode> RunExplain(const Arguments& arguments) {
  OptionList list;
  std::vector<std::string> what;
  SizeArguments sizes;
  CausalArgument causal;
  std::string file = "-";
  list.AddPositional("WHAT", &what, 0, 2);
  sizes.AddTo(&list);
  causal.AddTo(&list);
  list.AddValue("-o", "FILE", &file,
                "Write to FILE. It is complete or not there. Default: standard output.");
  std::string help;
  ASSIGN_OR_RETURN(const bool run, list.Parse(kVerbExplainHelp, arguments, &help));
  if (!run) {
    RETURN_IF_ERROR(WriteOutput(help, "-", {}));
    return kFine;
  }
  if (what.empty()) {
    return absl::InvalidArgumentError(
        "MODEL and NODE, or an operator, are required (see onnxflops explain --help)");
  }
  const TableStyle style = StyleFor(file);
  std::string text;
  if (what.size() == 1) {
    ASSIGN_OR_RETURN(const Rules rules, sizes.rules.Parse());
    ASSIGN_OR_RETURN(text, DescribeOp(what[0], rules, style.line_width()));
  } else {
    ASSIGN_OR_RETURN(CountOptions options, sizes.Parse());
    ASSIGN_OR_RETURN(options.causal, causal.Parse());
    ASSIGN_OR_RETURN(const Model model, Load(what[0], options.limits));
    ASSIGN_OR_RETURN(const Explanation explanation, Explain(model, options, what[1]));
    text = ToText(explanation, style);
  }
  const std::string model = what.size() == 2 ? what[0] : "";
  RETURN_IF_ERROR(WriteOutput(text, file, {model, sizes.rules.file}));
  return kFine;
}

}  // namespace onnxflops::tools
