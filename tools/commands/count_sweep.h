// onnxflops count at several sizes, and as steps of a decoder.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_COUNT_SWEEP_H_
#define ONNXFLOPS_TOOLS_COMMANDS_COUNT_SWEEP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/api/serving.h"
#include "src/report/report.h"
#include "tools/commands/commands.h"
#include "tools/commands/count_call.h"
#include "tools/commands/model_files.h"

namespace onnxflops::tools {

// The objection of --strict, or "".
std::string Objection(const Report& report);

// --dim with several sizes.
absl::StatusOr<ExitCode> RunSweep(const CountCall& args, const CountOptions& options,
                                  const ViewOptions& view, Format format, const TableStyle& style,
                                  const std::vector<settings::DimSizes>& dims,
                                  const ModelFiles& models);

// --prefill and --decode. `sweep` is what --dim gives several sizes.
absl::StatusOr<ExitCode> RunServing(const CountCall& args, const CountOptions& options,
                                    const ViewOptions& view, Format format, const TableStyle& style,
                                    const std::vector<settings::DimSizes>& sweep,
                                    const ServingRequest& request, const ModelFiles& models);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_COUNT_SWEEP_H_
