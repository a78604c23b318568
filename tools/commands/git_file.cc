#include "tools/commands/git_file.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "tools/commands/git_run.h"
#include "tools/commands/git_tree.h"

namespace onnxflops::tools {

absl::StatusOr<int> OpenGitFile(const std::string& revision, const std::string& path) {
  ASSIGN_OR_RETURN(GitTree tree, GitTree::Open(revision, path));
  ASSIGN_OR_RETURN(const GitEntry file, tree.Find(tree.start(), path));
  if (!file.is_folder()) return tree.OpenFileOf(file);
  return absl::NotFoundError(
      absl::StrCat(Escaped(path), ": it is not in revision ", Escaped(revision)));
}

std::string HeadCommit(const std::string& path) {
  const absl::StatusOr<GitRun> head =
      RunGit(ExistingFolder(path), {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"});
  return head.ok() && head->ok ? Beginning(head->output) : "";
}

}  // namespace onnxflops::tools
