// A pipeline that is checked, and the one that it is compared with.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_BASE_PIPELINE_H_
#define ONNXFLOPS_TOOLS_COMMANDS_BASE_PIPELINE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/api/check.h"
#include "src/api/count.h"
#include "src/diff/pipeline_diff.h"
#include "tools/commands/base_model.h"
#include "tools/commands/git_pipeline.h"

namespace onnxflops::tools {

// The path by which budgets know a model: of a folder with a pipeline.toml, that file.
std::string BudgetName(const std::string& path);

struct PipelineSides {
  CheckedPipeline checked;
  std::shared_ptr<const GitPipeline>
      at;  // what checked.base reads at a revision; null: no revision

  // Names files at the revision, in place of temporary ones.
  absl::Status Named(const absl::Status& status) const;
};

// Errors: those of GitPipeline::Lay; NotFound for a base that is missing and may not;
// InvalidArgument for a base that is no pipeline.
absl::StatusOr<PipelineSides> FindPipelineSides(const std::string& path, const BaseModel& base);

// What changes from the base; without one, all is new. Sizes that neither has are left out: they
// may be for another model of the call.
absl::StatusOr<PipelineDiff> DiffPipelines(const CheckedPipeline& checked,
                                           const CountOptions& options);

// An error if a file of the pipeline or a stage's model is outside of the repository, also by a
// link: a change from a stranger could name any file of the machine.
absl::Status RequireInRepository(const PipelineLoader& load, const std::string& path);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_BASE_PIPELINE_H_
