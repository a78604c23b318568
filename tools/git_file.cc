#include "tools/git_file.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops::tools {
namespace {

// What git printed, and whether it succeeded.
struct GitRun {
  std::string output;
  bool ok = false;
};

absl::StatusOr<GitRun> RunGit(const std::vector<std::string>& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::UnknownError(strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, "git", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const absl::Cleanup close_end = [&] { close(ends[0]); };
  if (error != 0) {
    return absl::InvalidArgumentError(absl::StrCat("git cannot be run: ", strerror(error)));
  }
  GitRun run;
  std::vector<char> part(size_t{1} << 16);
  while (run.output.size() <= static_cast<size_t>(kMaxTextBytes)) {
    const ssize_t n = read(ends[0], part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    run.output.append(part.data(), static_cast<size_t>(n));
  }
  close(ends[0]);
  ends[0] = -1;  // a longer answer has no reader any more
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  run.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return run;
}

}  // namespace

absl::StatusOr<std::string> ReadGitFile(const std::string& revision, const std::string& path) {
  // A revision is no option, and names no file of its own.
  if (revision.empty() || revision[0] == '-' || absl::StrContains(revision, ':')) {
    return absl::InvalidArgumentError(
        absl::StrCat("--git ", Quoted(revision), ": it should be a revision, as HEAD~1 or main"));
  }
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::vector<std::string> git = {"git", "-C", folder};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = git;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  ASSIGN_OR_RETURN(const GitRun known,
                   RunGit(with({"rev-parse", "--verify", "--quiet", revision + "^{commit}"})));
  if (!known.ok) {
    return absl::InvalidArgumentError(
        absl::StrCat("--git ", Quoted(revision),
                     ": git finds no such revision in the repository of ", Quoted(folder)));
  }
  const std::string commit(absl::StripAsciiWhitespace(known.output));
  ASSIGN_OR_RETURN(GitRun file,
                   RunGit(with({"cat-file", "blob", absl::StrCat(commit, ":./", name)})));
  if (file.output.size() > static_cast<size_t>(kMaxTextBytes)) {
    return LimitError("text-bytes",
                      absl::StrCat(Escaped(path), " at ", Escaped(revision), ": larger than ",
                                   kMaxTextBytes, " bytes (text-bytes)"));
  }
  if (!file.ok) {
    return absl::NotFoundError(
        absl::StrCat(Escaped(path), ": it is not in revision ", Escaped(revision)));
  }
  return std::move(file.output);
}

}  // namespace onnxflops::tools
