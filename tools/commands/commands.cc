#include "tools/commands/commands.h"

namespace onnxflops::tools {

absl::Span<const Command> Commands() {
  static constexpr Command kCommands[] = {
      {"count", "MODEL...", "cost by module, operator or node (the default)", RunCount,
       DescribeCount},
      {"compare", "MODEL...", "what other tools report, and why they differ", RunCompare,
       DescribeCompare},
      {"estimate", "MODEL...", "rules of thumb and measured figures beside our count", RunEstimate,
       DescribeEstimate},
      {"explain", "MODEL NODE | OP", "formula and terms of a node, a module or an operator",
       RunExplain, DescribeExplain},
      {"diff", "BASE HEAD", "what changed between two models, by module", RunDiff, DescribeDiff},
      {"check", "MODEL", "whether a model is within its budgets, for CI", RunCheck, DescribeCheck},
      {"history", "HISTORY.jsonl", "what models cost over commits, as check recorded it",
       RunHistory, DescribeHistory},
      {"ops", "", "which operators are supported, and what they cost", RunOps, DescribeOps},
      {"mfu", "MODEL", "utilisation of training, from a step's time", RunMfu, DescribeMfu},
      {"monitor", "MODEL", "utilisation of a running training, from its log", RunMonitor,
       DescribeMonitor},
      {"devices", "[NAME...]", "peaks of devices, with the source of every figure", RunDevices,
       DescribeDevices},
      {"profile", "MODEL PROFILE", "where the time of a run went: FLOP/s of every place",
       RunProfile, DescribeProfile},
      {"audit", "FILE.csv", "which convention gives each published figure", RunAudit,
       DescribeAudit},
      {"cite", "", "how to cite the program and its figures", RunCite, DescribeCite},
      {"completion", "SHELL", "completion for bash, zsh or fish; or the man page", RunCompletion,
       DescribeCompletion},
  };
  return kCommands;
}

}  // namespace onnxflops::tools
