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
    "onnxflops ops [options]",
    R"(Lists the operators that are supported: domain, versions (the opsets that
changed something), whether they do arithmetic, and the formula of their cost.
)",
    R"(  Those of ai.onnx and of ONNX Runtime:
    onnxflops ops
  For a script:
    onnxflops ops --format json
  With operators of your own:
    onnxflops ops --rules my_ops.toml
)"};

struct OpsArguments {
  OutputArguments output;
  settings::RulesArgument rules_file;

  void AddTo(OptionList* list) {
    rules_file.AddTo(list);
    output.AddTo(list);
  }
};

}  // namespace

void DescribeOps(const UseCommand& use) {
  OptionList list;
  OpsArguments args;
  args.AddTo(&list);
  use(kCommandOpsHelp, list);
}

absl::StatusOr<ExitCode> RunOps(const Arguments& arguments) {
  OptionList list;
  OpsArguments args;
  args.AddTo(&list);
  const auto& [output, rules_file] = args;
  std::string help;
  ASSIGN_OR_RETURN(const bool run, list.Parse(kCommandOpsHelp, arguments, &help));
  if (!run) {
    RETURN_IF_ERROR(WriteOutput(help, "-", {}));
    return kFine;
  }
  ASSIGN_OR_RETURN(const Format format, output.ParseFormat());
  ASSIGN_OR_RETURN(const TableStyle style, output.Style());
  ASSIGN_OR_RETURN(const Rules rules, rules_file.Parse());
  const std::vector<Operator> operators = Operators(rules);
  const std::string text = Render(absl::MakeConstSpan(operators), format, style);
  RETURN_IF_ERROR(WriteOutput(text, output.file, {rules_file.file}));
  return kFine;
}

}  // namespace onnxflops::tools
