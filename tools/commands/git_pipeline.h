// A pipeline as it was at a revision.
//
//   absl::StatusOr<GitPipeline> at = GitPipeline::Lay("HEAD~1", "exports/sd/");
//   at->Read({{"steps", 25}});
#ifndef ONNXFLOPS_TOOLS_COMMANDS_GIT_PIPELINE_H_
#define ONNXFLOPS_TOOLS_COMMANDS_GIT_PIPELINE_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/pipeline/pipeline_file.h"
#include "src/symbolic/expr.h"
#include "tools/commands/git_tree.h"

namespace onnxflops::tools {

// A temporary folder, which is removed with this, and also by a signal that ends the program.
class TemporaryFolder {
 public:
  static absl::StatusOr<TemporaryFolder> Make();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }
  // Makes the folders above a file that is to be written.
  absl::Status MakeFoldersOf(absl::string_view file) const;

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Its files lie in a temporary folder.
class GitPipeline {
 public:
  // `path`: a folder that an exporter wrote, or a file of stages. Weights that are files of their
  // own are left out, since no count reads them. A file that cannot be read is an error of what
  // reads it. Errors: those of GitTree; NotFound if the revision does not have the file or folder.
  static absl::StatusOr<GitPipeline> Lay(const std::string& revision, const std::string& path);

  // False of a folder that is there and of which no file says that it is a pipeline.
  bool IsPipeline() const;
  // As settings::ReadPipeline.
  absl::StatusOr<Pipeline> Read(const Bindings& given) const;
  // Names files at the revision, in place of the temporary ones.
  absl::Status Named(const absl::Status& status) const;
  std::string Named(absl::string_view text) const;

 private:
  GitPipeline(TemporaryFolder folder, GitTree tree)
      : folder_(std::move(folder)), tree_(std::move(tree)) {}
  absl::Status LayFolder(const GitEntry& folder);
  absl::Status LayStages(const std::string& file, const std::string& shown);
  absl::Status LayFiles(std::vector<GitFile> files);
  std::string Laid(absl::string_view path) const;

  TemporaryFolder folder_;
  GitTree tree_;
  std::string revision_, path_;
  std::string place_;  // of the pipeline, from the top of the repository
  std::set<std::string> laid_;
  std::map<std::string, absl::Status> faults_;  // of laid files
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_GIT_PIPELINE_H_
