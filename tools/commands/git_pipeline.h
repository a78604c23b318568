// A pipeline as it was at a revision.
//
//   absl::StatusOr<GitPipeline> at = GitPipeline::Lay("HEAD~1", "exports/sd/");
//   at->Read({{"steps", 25}});
#ifndef ONNXFLOPS_TOOLS_COMMANDS_GIT_PIPELINE_H_
#define ONNXFLOPS_TOOLS_COMMANDS_GIT_PIPELINE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/pipeline/pipeline_file.h"
#include "src/symbolic/expr.h"

namespace onnxflops::tools {

// Its files lie in a temporary folder, which is removed with this.
class GitPipeline {
 public:
  // `path`: a folder that an exporter wrote, or a file of stages. Weights that are files of their
  // own are left out, since no count reads them. Errors: those of OpenGitFile; NotFound if the
  // revision does not have the file or folder.
  static absl::StatusOr<GitPipeline> Lay(const std::string& revision, const std::string& path);

  GitPipeline(GitPipeline&& other) noexcept;
  GitPipeline& operator=(GitPipeline&&) = delete;
  ~GitPipeline();

  // As settings::ReadPipeline.
  absl::StatusOr<Pipeline> Read(const Bindings& given) const;
  // Names files at the revision, in place of the temporary ones.
  absl::Status Named(const absl::Status& status) const;

 private:
  GitPipeline(std::string revision, std::string path);
  absl::Status LayFile(const std::string& path) const;
  absl::Status LayFolder() const;
  absl::Status LayStages(const std::string& file) const;
  std::string Laid(const std::string& path) const;

  std::string revision_, path_;
  std::string folder_;  // the temporary one
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_GIT_PIPELINE_H_
