#include "tools/commands/budget_files.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/api/check.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/settings/value.h"
#include "tools/commands/base_model.h"
#include "tools/commands/model_files.h"

namespace onnxflops::tools {
namespace {

// "a/b/" -> "a/"; "a/" -> ""; "/a/" -> "/"; "/" -> "". Folders above ".." are outside the project.
std::string FolderAbove(absl::string_view folder) {
  if (absl::EndsWith(folder, "../")) return "";
  folder.remove_suffix(1);
  const size_t slash = folder.rfind('/');
  return slash == absl::string_view::npos ? "" : std::string(folder.substr(0, slash + 1));
}

// The file for a model below `root`, or "". A model in that folder itself is not searched for in a
// copy of its path there.
std::string NearestFile(absl::string_view root, const std::string& model) {
  std::string folder = FolderOfModels(model);
  while (absl::StartsWith(folder, "./")) folder.erase(0, 2);
  const bool lies_there = !root.empty() && absl::StartsWith(folder, root);
  while (true) {
    std::string path = absl::StrCat(lies_there ? "" : root, folder, kBudgetsFile);
    if (Exists(path)) return path;
    if (folder.empty() || (lies_there && folder == root)) return "";
    folder = FolderAbove(folder);
  }
}

absl::StatusOr<BudgetFile> ReadFile(const BudgetSources& sources, const std::string& path) {
  BudgetFile file;
  file.path = path;
  if (!path.empty()) {
    absl::StatusOr<std::string> read = settings::ReadSmallFile(path);
    if (!read.ok()) {
      return absl::Status(read.status().code(),
                          absl::StrCat(Escaped(path), ": ", read.status().message()));
    }
    file.text = *std::move(read);
    ASSIGN_OR_RETURN(file.budgets, LoadBudgets(file.text, path));
  }
  if (path.empty() && sources.maxima.empty()) return file;  // a model without rules
  for (const std::string& text : sources.maxima) {
    const absl::Status added = AddLimit(text, sources.has_base, &file.budgets);
    if (added.ok()) continue;
    return settings::BadValue("max", text, WithBaseHint(added).message());
  }
  RETURN_IF_ERROR(RequireRules(file.budgets, sources.devices));
  return file;
}

}  // namespace

std::string FolderOfModels(const std::string& path) {
  if (path == ".") return "";
  if (IsFolder(path)) return path.back() == '/' ? path : path + "/";
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

std::string FolderOfModels(const std::vector<std::string>& paths) {
  std::string common = FolderOfModels(paths[0]);
  for (const std::string& path : paths) {
    const std::string folder = FolderOfModels(path);
    while (!absl::StartsWith(folder, common)) common = FolderAbove(common);
  }
  return common;
}

absl::StatusOr<BudgetFiles> BudgetFiles::Read(const BudgetSources& sources,
                                              const std::vector<std::string>& models) {
  BudgetFiles all;
  const bool searches = sources.named.empty() || IsFolder(sources.named);
  std::string root = sources.named;
  if (!root.empty() && root.back() != '/') root += '/';
  for (const std::string& model : models) {
    const std::string path = searches ? NearestFile(root, model) : sources.named;
    const auto known =
        absl::c_find_if(all.files_, [&](const BudgetFile& file) { return file.path == path; });
    all.of_model_.push_back(static_cast<size_t>(known - all.files_.begin()));
    if (known != all.files_.end()) continue;
    absl::StatusOr<BudgetFile> file = ReadFile(sources, path);
    if (!file.ok()) {
      all.files_.push_back({.path = path, .fault = file.status()});
    } else {
      all.files_.push_back(*std::move(file));
    }
  }
  if (all.files_.size() == 1) RETURN_IF_ERROR(all.files_[0].fault);
  // Below a folder that is named, a model without a file has no rule.
  if (!sources.maxima.empty() || !sources.named.empty() ||
      !absl::c_all_of(all.files_, [](const BudgetFile& file) { return file.path.empty(); })) {
    return all;
  }
  return absl::NotFoundError(absl::StrCat(
      "there is no ", kBudgetsFile, " beside ", Quoted(models[0]),
      " or here: --budgets FILE names one, onnxflops check MODEL --init writes one, --max "
      "\"flops=400 GFLOP\" needs none"));
}

std::string BudgetFiles::Names() const {
  std::vector<absl::string_view> paths;
  for (const BudgetFile& file : files_) {
    if (!file.path.empty()) paths.push_back(file.path);
  }
  return absl::StrJoin(paths, ", ");
}

absl::Status BudgetFiles::Reread(const BudgetSources& sources, size_t file) {
  const std::string path = files_[file].path;
  ASSIGN_OR_RETURN(files_[file], ReadFile(sources, path));
  return absl::OkStatus();
}

}  // namespace onnxflops::tools
