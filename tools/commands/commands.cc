#include "tools/commands/commands.h"

namespace onnxflops::tools {

absl::Span<const Command> Commands() {
  static const Command kCommands[] = {
      CountCommand(),   CompareCommand(), EstimateCommand(), ExplainCommand(),
      DiffCommand(),    CheckCommand(),   HistoryCommand(),  OpsCommand(),
      MfuCommand(),     MonitorCommand(), DevicesCommand(),  PipelineCommand(),
      ProfileCommand(), AuditCommand(),   CiteCommand(),     CompletionCommand(),
  };
  return kCommands;
}

}  // namespace onnxflops::tools
