// How it works. Files keep their places in the repository below a temporary folder, so that a file
// of stages finds its models by the same relative paths, also by "..". Of a folder the models and
// configurations are laid there, of a file of stages the models that it names. The pipeline has the
// place where no link leads to; what links lead to is laid in the place of the link.
#include "tools/commands/git_pipeline.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/api/pipeline_layouts.h"
#include "src/base/limit_error.h"
#include "src/base/platform/temporary_folder.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/settings/pipeline_arguments.h"

namespace onnxflops::tools {
namespace {

bool IsRead(absl::string_view name) {
  return absl::EndsWith(name, ".onnx") || absl::EndsWith(name, ".json") ||
         absl::EndsWith(name, ".toml");
}

// A link without a suffix may lead to a folder.
bool IsReadOrFolder(absl::string_view path) {
  return IsRead(path) || !absl::StrContains(path.substr(path.rfind('/') + 1), '.');
}

// Whether exporters write a part of a pipeline to a folder of this name.
bool IsPartFolder(absl::string_view name) {
  constexpr absl::string_view kOthers[] = {"onnx", "scheduler", "transformer_2", "vae"};
  if (absl::c_linear_search(kOthers, name)) return true;
  return absl::c_any_of(PipelineLayouts(), [&](const Layout& layout) {
    return absl::c_any_of(layout.parts, [&](const PartRule& part) {
      return absl::StartsWith(part.files, absl::StrCat(name, "/"));
    });
  });
}

std::string FolderPart(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

std::string Normal(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().generic_string();
}

// False for a name that only a forged tree has, and for a way out through a link.
bool IsPlace(const std::string& path) {
  return Normal(path) == path && path != ".." && !absl::StartsWith(path, "../") &&
         !absl::StartsWith(path, "/");
}

}  // namespace

absl::StatusOr<TemporaryFolder> TemporaryFolder::Make() {
  std::error_code fault;
  std::string parent = std::filesystem::temp_directory_path(fault).generic_string();
  std::string why = fault.message(), path;
  if (!fault) {
    while (parent.size() > 1 && parent.back() == '/') parent.pop_back();
    path = platform::MakeTemporaryFolder(parent);
    why = strerror(errno);
  } else if (const char* name = getenv("TMPDIR"); name != nullptr) {
    parent = name;
  }
  if (path.empty()) {
    return absl::UnknownError(absl::StrCat(Quoted(parent),
                                           ": no temporary folder can be made there: ", why,
                                           "; the variable TMPDIR names another place"));
  }
  platform::RemoveAtSignal(path, true);
  return TemporaryFolder(path);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code fault;
  if (!path_.empty()) std::filesystem::remove_all(path_, fault);
}

absl::Status TemporaryFolder::MakeFoldersOf(absl::string_view file) const {
  std::error_code fault;
  for (size_t slash = file.find('/', path_.size() + 1); slash != absl::string_view::npos;
       slash = file.find('/', slash + 1)) {
    const std::string folder(file.substr(0, slash));
    if (std::filesystem::create_directory(folder, fault)) platform::RemoveAtSignal(folder, true);
    if (fault) {
      return absl::UnknownError(
          absl::StrCat(Escaped(folder), ": cannot be made: ", fault.message()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<GitPipeline> GitPipeline::Lay(const std::string& revision, const std::string& path) {
  std::string whole = Normal(path);
  if (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  const bool is_file = settings::IsPipelineFile(whole);
  ASSIGN_OR_RETURN(GitTree tree, GitTree::Open(revision, is_file ? whole : whole + "/"));
  ASSIGN_OR_RETURN(TemporaryFolder temporary, TemporaryFolder::Make());
  GitPipeline pipeline(std::move(temporary), std::move(tree));
  pipeline.revision_ = revision;
  pipeline.path_ = whole;
  const std::string start = pipeline.tree_.start();
  ASSIGN_OR_RETURN(const GitEntry folder,
                   pipeline.tree_.Find(is_file ? FolderPart(start) : start, whole));
  if (is_file) {
    pipeline.place_ = absl::StrCat(folder.path, folder.path.empty() ? "" : "/",
                                   start.substr(FolderPart(start).size()));
    RETURN_IF_ERROR(pipeline.LayStages(pipeline.place_, whole));
    return pipeline;
  }
  pipeline.place_ = folder.path;
  if (!folder.is_folder()) {
    return absl::NotFoundError(
        absl::StrCat(Escaped(whole), ": it is not a folder in revision ", Escaped(revision)));
  }
  RETURN_IF_ERROR(pipeline.LayFolder(folder));
  return pipeline;
}

// The place of a file below the temporary folder.
std::string GitPipeline::Laid(absl::string_view path) const {
  return absl::StrCat(folder_.path(), path.empty() ? "" : "/", path);
}

// The files, whose names are their places in the repository.
absl::Status GitPipeline::LayFiles(std::vector<GitFile> files) {
  std::vector<GitCopy> copies;
  for (GitFile& file : files) {
    if (!IsPlace(file.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Escaped(file.name), " at ", Escaped(revision_),
                       ": it has no place of its own in the repository"));
    }
    if (!laid_.insert(file.name).second) continue;
    copies.push_back({std::move(file.entry), Laid(file.name)});
    RETURN_IF_ERROR(folder_.MakeFoldersOf(copies.back().to));
    platform::RemoveAtSignal(copies.back().to, false);
    if (!file.fault.ok()) faults_[copies.back().to] = file.fault;
  }
  std::vector<absl::Status> faults;
  RETURN_IF_ERROR(tree_.Write(copies, &faults));
  for (size_t i = 0; i < copies.size(); ++i) {
    if (!faults[i].ok()) faults_.try_emplace(copies[i].to, faults[i]);
  }
  return absl::OkStatus();
}

absl::Status GitPipeline::LayFolder(const GitEntry& folder) {
  ASSIGN_OR_RETURN(std::vector<GitFile> files, tree_.FilesBelow(folder, IsReadOrFolder));
  const bool has_stages =
      absl::c_any_of(files, [](const GitFile& file) { return file.name == kPipelineFile; });
  std::vector<GitFile> read;
  for (GitFile& file : files) {
    if (!file.fault.ok() && !has_stages && IsPartFolder(file.name)) return file.fault;
    if (!IsRead(file.name)) continue;
    file.name = absl::StrCat(folder.path, folder.path.empty() ? "" : "/", file.name);
    read.push_back(std::move(file));
  }
  RETURN_IF_ERROR(LayFiles(std::move(read)));
  if (!has_stages) return absl::OkStatus();
  const std::string own = absl::StrCat(folder.path, folder.path.empty() ? "" : "/", kPipelineFile);
  return LayStages(own, absl::StrCat(folder.shown, "/", kPipelineFile));
}

// A file of stages and the models that it names. `shown`: its path for errors.
absl::Status GitPipeline::LayStages(const std::string& file, const std::string& shown) {
  const auto lay = [&](const std::string& path, const std::string& as) -> absl::Status {
    const std::string place = Normal(path);
    ASSIGN_OR_RETURN(GitEntry entry, tree_.Find(path, as));
    // "folder/../" needs the folder.
    if (IsPlace(place)) RETURN_IF_ERROR(folder_.MakeFoldersOf(Laid(path)));
    if (entry.is_folder()) {  // of a configuration
      ASSIGN_OR_RETURN(std::vector<GitFile> files, tree_.FilesBelow(entry, IsRead));
      for (GitFile& below : files) below.name = absl::StrCat(place, "/", below.name);
      return LayFiles(std::move(files));
    }
    RETURN_IF_ERROR(LayFiles({{place, std::move(entry), absl::OkStatus()}}));
    const auto fault = faults_.find(Laid(place));
    return fault == faults_.end() ? absl::OkStatus() : fault->second;
  };
  RETURN_IF_ERROR(lay(file, shown));
  const absl::StatusOr<Pipeline> pipeline = settings::ReadPipeline(Laid(file), {});
  if (!pipeline.ok()) return Named(pipeline.status());
  for (const PipelineStage& stage : pipeline->stages) {
    if (std::filesystem::path(stage.model).is_absolute()) {
      return absl::InvalidArgumentError(absl::StrCat(Named(stage.model_place), ": ",
                                                     Quoted(stage.model),
                                                     ": a path from the root is of no revision"));
    }
    const absl::Status status =
        lay(FolderPart(file) + stage.model, Normal(FolderPart(shown) + stage.model));
    // The pipeline is there, so it is not a new one.
    if (absl::IsNotFound(status)) return absl::InvalidArgumentError(status.message());
    RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

bool GitPipeline::IsPipeline() const { return settings::IsPipeline(Laid(place_)); }

absl::StatusOr<Pipeline> GitPipeline::Read(const Bindings& given) const {
  absl::StatusOr<Pipeline> pipeline = settings::ReadPipeline(Laid(place_), given);
  if (!pipeline.ok()) return Named(pipeline.status());
  pipeline->title = Named(pipeline->title);
  pipeline->file = absl::StrCat(revision_, ":", path_);
  return pipeline;
}

std::string GitPipeline::Named(absl::string_view text) const {
  return absl::StrReplaceAll(text, {{Laid(place_), absl::StrCat(revision_, ":", path_)},
                                    {folder_.path() + "/", absl::StrCat(revision_, ":")}});
}

absl::Status GitPipeline::Named(const absl::Status& status) const {
  if (status.ok()) return status;
  for (const auto& [file, fault] : faults_) {
    if (absl::StrContains(status.message(), file)) return fault;
  }
  return WithMessage(status, Named(status.message()));
}

}  // namespace onnxflops::tools
