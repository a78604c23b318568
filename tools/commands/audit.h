// onnxflops audit, for the program and for Python.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_AUDIT_H_
#define ONNXFLOPS_TOOLS_COMMANDS_AUDIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/compare/audit.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"
#include "tools/commands/each_model.h"
#include "tools/commands/published.h"

namespace onnxflops::tools {

struct AuditArguments {
  std::vector<std::string> file;
  std::string titles;
  PublishedLayout layout;
  SizeArguments sizes;
  NoGradArgument no_grad;
  OutputArguments output;
  JobsArgument jobs;

  void AddTo(OptionList* list);
};

// The rows of a table, in order.
struct AuditedTable {
  std::vector<AuditRow> rows;
  std::vector<int64_t> lines;  // of the file, by row
};
// A row keeps its own fault; an error means that the table itself cannot be read.
absl::StatusOr<AuditedTable> AuditTable(const AuditArguments& args);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_AUDIT_H_
