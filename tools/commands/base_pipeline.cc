// How it works. The base of a pipeline is another one, or itself at a revision, which git lays into
// a temporary folder. A review also reads changes from strangers, so before the head is read all of
// its files must lie in the work tree, wherever links lead.
#include "tools/commands/base_pipeline.h"

#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/api/pipeline.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/settings/pipeline_arguments.h"
#include "tools/commands/git_run.h"
#include "tools/commands/model_files.h"

namespace onnxflops::tools {

std::string BudgetName(const std::string& path) {
  const std::string own = IsFolder(path) ? settings::PipelineFileIn(path) : "";
  return own.empty() ? path : own;
}

namespace {

PipelineLoader ReaderOf(const std::string& file) {
  return [file](const Bindings& given) { return settings::ReadPipeline(file, given); };
}

absl::StatusOr<PipelineReport> CountLeavingOut(const PipelineLoader& load,
                                               const CountOptions& options) {
  ASSIGN_OR_RETURN(const Pipeline pipeline, load(options.bindings));
  std::vector<std::string> unknown;
  return CountPipeline(pipeline, options, &unknown);
}

}  // namespace

absl::Status PipelineSides::Named(const absl::Status& status) const {
  return at == nullptr ? status : at->Named(status);
}

absl::StatusOr<PipelineSides> FindPipelineSides(const std::string& path, const BaseModel& base) {
  PipelineSides sides = {{ReaderOf(path), BudgetName(path), !base.path.empty(), nullptr, ""},
                         nullptr};
  bool missing = !base.path.empty() && IsMissing(base.path);
  if (!base.revision.empty()) {
    absl::StatusOr<GitPipeline> laid = GitPipeline::Lay(base.revision, base.path);
    missing = absl::IsNotFound(laid.status()) || (laid.ok() && !laid->IsPipeline());
    if (!laid.ok() && !missing) return laid.status();
    if (!missing) sides.at = std::make_shared<const GitPipeline>(*std::move(laid));
    sides.checked.base_path = base.path;
  }
  if (missing && IsMissing(path)) return settings::ReadPipeline(path, {}).status();
  if (missing && !base.missing_is_fine) {
    return MissingBase(
        base.revision.empty()
            ? absl::StrCat(Escaped(base.path), ": it does not exist")
            : absl::StrCat(Escaped(base.path), ": it is not in revision ", Escaped(base.revision)));
  }
  if (sides.at != nullptr) {
    sides.checked.base = [at = sides.at](const Bindings& given) { return at->Read(given); };
  } else if (!base.path.empty() && !missing) {
    if (!settings::IsPipelineFile(base.path) && !IsFolder(base.path)) {
      return OnlyOneIsPipeline(path, base.path);
    }
    sides.checked.base = ReaderOf(base.path);
  }
  return sides;
}

absl::StatusOr<PipelineDiff> DiffPipelines(const CheckedPipeline& checked,
                                           const CountOptions& options) {
  ASSIGN_OR_RETURN(PipelineReport head, CountLeavingOut(checked.head, options));
  if (checked.base == nullptr) return MakePipelineDiff(std::move(head));
  ASSIGN_OR_RETURN(PipelineReport base, CountLeavingOut(checked.base, options));
  return MakePipelineDiff(std::move(base), std::move(head));
}

namespace {

// Where a path is, links followed; "" if that cannot be known, as of a link to nothing.
std::string RealPath(const std::filesystem::path& path) {
  std::error_code fault;
  const std::filesystem::path whole = std::filesystem::absolute(path, fault);
  if (fault) return "";
  const bool is_link = std::filesystem::is_symlink(std::filesystem::symlink_status(whole, fault));
  const std::filesystem::path real = is_link ? std::filesystem::canonical(whole, fault)
                                             : std::filesystem::weakly_canonical(whole, fault);
  return fault ? "" : real.generic_string();
}

// The top of the work tree that a path is in: of the working directory's if the path is below it by
// its words, whatever links lead out of it. "" outside of one.
absl::StatusOr<std::string> TopOf(const std::string& path) {
  std::error_code fault;
  const std::string words = NormalPath(std::filesystem::absolute(path, fault).generic_string());
  const std::string folder = IsFolder(path) ? path : path.substr(0, path.rfind('/') + 1);
  for (const bool is_here : {true, false}) {
    ASSIGN_OR_RETURN(const GitRun git, RunGit(is_here || folder.empty() ? "." : folder,
                                              {"rev-parse", "--show-toplevel"}));
    std::string top = git.ok ? RealPath(Beginning(git.output)) : "";
    if (!is_here || (!top.empty() && absl::StartsWith(words + "/", top + "/"))) return top;
  }
  return "";
}

// Whether a file, or all of a folder, is below `top`.
bool IsBelow(const std::string& path, const std::string& top) {
  const auto is_below = [&](const std::filesystem::path& entry) {
    return absl::StartsWith(RealPath(entry) + "/", top + "/");
  };
  if (!is_below(path)) return false;
  if (!IsFolder(path)) return true;
  constexpr size_t kMostEntries = 100'000;
  std::error_code fault;
  size_t entries = 0;
  std::filesystem::recursive_directory_iterator it(path, fault), end;
  for (; !fault && it != end; it.increment(fault)) {
    if (++entries > kMostEntries || !is_below(it->path())) return false;
  }
  return !fault;
}

absl::Status Outside(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": it is not in the repository, and a review reads nothing else"));
}

}  // namespace

absl::Status RequireInRepository(const PipelineLoader& load, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string top, TopOf(path));
  if (top.empty()) return absl::OkStatus();  // what reads the base says so
  if (!IsBelow(path, top)) {
    return Outside(
        absl::StrCat(Escaped(path), IsFolder(path) ? ": a file in it, or the folder" : ""));
  }
  ASSIGN_OR_RETURN(const Pipeline pipeline, load({}));
  for (const PipelineStage& stage : pipeline.stages) {
    if (IsBelow(stage.path, top)) continue;
    return Outside(absl::StrCat(stage.model_place, ": ", Quoted(stage.model)));
  }
  return absl::OkStatus();
}

}  // namespace onnxflops::tools
