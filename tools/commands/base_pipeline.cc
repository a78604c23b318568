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

// Where a path is, links followed; "" if that cannot be known.
std::string RealPath(const std::filesystem::path& path) {
  std::error_code fault;
  std::string real = std::filesystem::weakly_canonical(path, fault).generic_string();
  return fault ? "" : real;
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
  const std::string folder = IsFolder(path) ? path : path.substr(0, path.rfind('/') + 1);
  ASSIGN_OR_RETURN(const GitRun git,
                   RunGit(folder.empty() ? "." : folder, {"rev-parse", "--show-toplevel"}));
  const std::string top = git.ok ? RealPath(Beginning(git.output)) : "";
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
