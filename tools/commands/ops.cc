// onnxflops ops: every operator that is supported, with its formula.
#include <string>
#include <vector>

#include "src/api/operators.h"
#include "src/base/status_macros.h"
#include "src/settings/size_arguments.h"
#include "tools/cli/output.h"
#include "tools/cli/output_arguments.h"
#include "tools/cli/render.h"
#include "tools/commands/commands.h"

namespace onnxflops::tools {
namespace {

constexpr CommandHelp kCommandOpsHelp = {
    "onnxflops ops [NAME] [options]",
    R"(Lists the operators that are supported: domain, versions (the opsets that
changed something), whether they do arithmetic, and the formula of their cost.
)",
    R"(  Those of ai.onnx and of ONNX Runtime:
    onnxflops ops
  One of them, and those of a pattern:
    onnxflops ops Conv
    onnxflops ops 'QLinear*'
  For a script:
    onnxflops ops --format json
  With operators of your own:
    onnxflops ops --rules my_ops.toml
)"};

struct OpsArguments {
  std::vector<std::string> names;
  OutputArguments output;
  settings::RulesArgument rules_file;

  void AddTo(OptionList* list) {
    list->AddPositional("NAME", &names, 0, 1, {"operators"});
    rules_file.AddTo(list);
    output.AddTo(list);
  }
};

absl::StatusOr<ExitCode> RunOps(const OpsArguments& args) {
  const auto& [names, output, rules_file] = args;
  ASSIGN_OR_RETURN(const Format format, output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, output.Style());
  ASSIGN_OR_RETURN(const Rules rules, rules_file.Parse());
  std::vector<Operator> operators;
  if (names.empty()) {
    operators = Operators(rules);
  } else {
    ASSIGN_OR_RETURN(operators, FindOperators(names[0], rules));
  }
  const std::string text = Render(absl::MakeConstSpan(operators), format, style);
  RETURN_IF_ERROR(WriteOutput(text, output.file, {rules_file.file}));
  return kFine;
}

}  // namespace

Command OpsCommand() {
  return CommandOf<OpsArguments, kCommandOpsHelp, RunOps>(
      "ops", "[NAME]", "which operators are supported, and what they cost");
}

}  // namespace onnxflops::tools
