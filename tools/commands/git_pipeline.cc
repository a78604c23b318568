// How it works. Files keep their places below the temporary folder, so that a file of stages finds
// its models by the same relative paths, also by "..". Of a folder the models and configurations
// are laid there, of a file of stages the models that it names.
#include "tools/commands/git_pipeline.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "src/base/limit_error.h"
#include "src/base/platform/posix.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/settings/pipeline_arguments.h"
#include "tools/commands/git_file.h"

namespace onnxflops::tools {
namespace {

// Folders that a path may leave upwards.
constexpr char kUp[] = "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a";
constexpr char kOwnFile[] = "pipeline.toml";

absl::Status CannotWrite(const std::string& path) {
  return absl::UnknownError(absl::StrCat(Escaped(path), ": cannot be written"));
}

bool IsRead(absl::string_view name) {
  return absl::EndsWith(name, ".onnx") || absl::EndsWith(name, ".json") ||
         absl::EndsWith(name, ".toml");
}

}  // namespace

GitPipeline::GitPipeline(std::string revision, std::string path)
    : revision_(std::move(revision)), path_(std::move(path)) {
  static std::atomic<int> made = 0;
  std::error_code fault;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(fault);
  folder_ = absl::StrCat(parent.generic_string(), "/onnxflops.", getpid(), ".", made++);
}

GitPipeline::GitPipeline(GitPipeline&& other) noexcept
    : revision_(std::move(other.revision_)),
      path_(std::move(other.path_)),
      folder_(std::exchange(other.folder_, "")) {}

GitPipeline::~GitPipeline() {
  std::error_code fault;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, fault);
}

absl::StatusOr<GitPipeline> GitPipeline::Lay(const std::string& revision, const std::string& path) {
  std::string whole = std::filesystem::path(path).lexically_normal().generic_string();
  if (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  GitPipeline pipeline(revision, whole);
  std::error_code fault;
  // A folder of somebody else's is never taken.
  if (!std::filesystem::create_directory(pipeline.folder_, fault)) {
    const std::string folder = std::exchange(pipeline.folder_, "");
    return CannotWrite(folder);
  }
  std::filesystem::permissions(pipeline.folder_, std::filesystem::perms::owner_all, fault);
  RETURN_IF_ERROR(settings::IsPipelineFile(whole) ? pipeline.LayStages(whole)
                                                  : pipeline.LayFolder());
  return pipeline;
}

// The place of a file below the temporary folder.
std::string GitPipeline::Laid(const std::string& path) const {
  const std::filesystem::path file(path);
  return (std::filesystem::path(folder_ + kUp) / file.relative_path())
      .lexically_normal()
      .generic_string();
}

absl::Status GitPipeline::LayFile(const std::string& path) const {
  const std::string to = Laid(path);
  if (!absl::StartsWith(to, folder_ + "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(path), ": too many folders up to be read at a revision"));
  }
  ASSIGN_OR_RETURN(const int fd, OpenGitFile(revision_, path));
  const absl::Cleanup close_file = [fd] { close(fd); };
  std::error_code fault;
  std::filesystem::create_directories(std::filesystem::path(to).parent_path(), fault);
  std::ofstream file(to, std::ios::binary);
  std::array<char, 1 << 16> bytes;
  ssize_t n = 0;
  while ((n = read(fd, bytes.data(), bytes.size())) > 0) file.write(bytes.data(), n);
  file.close();
  // A part of a file could be counted as a whole one.
  if (n < 0) {
    return absl::UnknownError(
        absl::StrCat(Escaped(path), ": cannot be read at ", Escaped(revision_)));
  }
  return file ? absl::OkStatus() : CannotWrite(to);
}

absl::Status GitPipeline::LayFolder() const {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, GitFilesBelow(revision_, path_));
  bool has_stages = false;
  for (const std::string& name : files) {
    if (!IsRead(name)) continue;
    has_stages = has_stages || name == kOwnFile;
    if (name != kOwnFile) RETURN_IF_ERROR(LayFile(absl::StrCat(path_, "/", name)));
  }
  return has_stages ? LayStages(absl::StrCat(path_, "/", kOwnFile)) : absl::OkStatus();
}

// A file of stages and the models that it names.
absl::Status GitPipeline::LayStages(const std::string& file) const {
  RETURN_IF_ERROR(LayFile(file));
  const absl::StatusOr<Pipeline> pipeline = settings::ReadPipeline(Laid(file), {});
  if (!pipeline.ok()) return Named(pipeline.status());
  std::set<std::string> laid;
  const std::string folder = file.substr(0, file.rfind('/') + 1);
  for (const PipelineStage& stage : pipeline->stages) {
    if (std::filesystem::path(stage.model).is_absolute()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Named(absl::UnknownError(stage.model_place)).message(), ": ",
                       Quoted(stage.model), ": a path from the root is of no revision"));
    }
    const std::string path =
        std::filesystem::path(folder + stage.model).lexically_normal().generic_string();
    if (!laid.insert(path).second) continue;
    // The pipeline is there, so it is not a new one.
    const absl::Status status = LayFile(path);
    if (absl::IsNotFound(status)) return absl::InvalidArgumentError(status.message());
    RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::StatusOr<Pipeline> GitPipeline::Read(const Bindings& given) const {
  absl::StatusOr<Pipeline> pipeline = settings::ReadPipeline(Laid(path_), given);
  if (!pipeline.ok()) return Named(pipeline.status());
  pipeline->file = absl::StrCat(revision_, ":", path_);
  return pipeline;
}

absl::Status GitPipeline::Named(const absl::Status& status) const {
  if (status.ok()) return status;
  return WithMessage(
      status,
      absl::StrReplaceAll(status.message(),
                          {{Laid(path_), absl::StrCat(revision_, ":", path_)},
                           {absl::StrCat(folder_, kUp, "/"), absl::StrCat(revision_, ":")}}));
}

}  // namespace onnxflops::tools
