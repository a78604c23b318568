#include "tools/git_file.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops::tools {
namespace {

// An open file.
struct File {
  int fd = -1;
  explicit File(int open_fd) : fd(open_fd) {}
  File(File&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (fd >= 0) close(fd);
  }
};

// What git printed, and whether it succeeded.
struct GitRun {
  File output;
  bool ok = false;
};

// Hooks of git set GIT_DIR. Without a work tree beside it, every folder would be the top of one.
std::vector<char*> GitEnvironment() {
  std::vector<char*> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const bool left_out = absl::StartsWith(*at, "GIT_DIR=") && getenv("GIT_WORK_TREE") == nullptr;
    if (!left_out) variables.push_back(*at);
  }
  variables.push_back(nullptr);
  return variables;
}

absl::StatusOr<GitRun> RunGit(const std::string& folder, std::vector<std::string> words) {
  GitRun run = {File(memfd_create("git", MFD_CLOEXEC))};
  if (run.output.fd < 0) return absl::UnknownError(strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, run.output.fd, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // A folder of the repository may look like a repository of its own, whose configuration names
  // programs to run: git is not to take it for one.
  words.insert(words.begin(), {"git", "-c", "safe.bareRepository=explicit", "-C", folder});
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, "git", &actions, nullptr, arguments.data(), GitEnvironment().data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return absl::InvalidArgumentError(absl::StrCat("git cannot be run: ", strerror(error)));
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  run.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  lseek(run.output.fd, 0, SEEK_SET);
  return run;
}

// The first bytes, without the white space around them. They stay to be read.
std::string Beginning(const File& file) {
  std::array<char, 1 << 12> text;
  const ssize_t n = pread(file.fd, text.data(), text.size(), 0);
  return std::string(absl::StripAsciiWhitespace(
      absl::string_view(text.data(), n > 0 ? static_cast<size_t>(n) : 0)));
}

// Where git-lfs keeps the object that a pointer names, below the folder of git; "" if it is none.
std::string LfsObject(absl::string_view pointer) {
  constexpr size_t kDigits = 64;
  constexpr absl::string_view kOid = "\noid sha256:";
  const size_t at = pointer.find(kOid);
  if (!absl::StartsWith(pointer, "version https://git-lfs") || at == absl::string_view::npos) {
    return "";
  }
  const absl::string_view oid = pointer.substr(at + kOid.size(), kDigits);
  if (oid.size() < kDigits || oid.find_first_not_of("0123456789abcdef") != oid.npos) return "";
  return absl::StrCat("/lfs/objects/", oid.substr(0, 2), "/", oid.substr(2, 2), "/", oid);
}

absl::StatusOr<int> OpenLfsObject(const std::string& folder, const std::string& object,
                                  const std::string& revision, const std::string& path) {
  ASSIGN_OR_RETURN(const GitRun git, RunGit(folder, {"rev-parse", "--git-common-dir"}));
  const std::string store = Beginning(git.output);
  const std::string file =
      absl::StrCat(absl::StartsWith(store, "/") ? "" : folder + "/", store, object);
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) return fd;
  return absl::InvalidArgumentError(
      absl::StrCat(Escaped(path), " at ", Escaped(revision),
                   ": a Git LFS pointer, and its object is not here: run git lfs fetch origin ",
                   Escaped(revision), " (git lfs pull fetches only what is checked out)"));
}

}  // namespace

absl::StatusOr<int> OpenGitFile(const std::string& revision, const std::string& path) {
  // A revision is no option, and names no file of its own.
  if (revision.empty() || revision[0] == '-' || absl::StrContains(revision, ':')) {
    return absl::InvalidArgumentError(
        absl::StrCat("--git ", Quoted(revision), ": it should be a revision, as HEAD~1 or main"));
  }
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  ASSIGN_OR_RETURN(const GitRun known,
                   RunGit(folder, {"rev-parse", "--verify", "--quiet", revision + "^{commit}"}));
  if (!known.ok) {
    return absl::InvalidArgumentError(
        absl::StrCat("--git ", Quoted(revision),
                     ": git finds no such revision in the repository of ", Quoted(folder)));
  }
  const std::string blob = absl::StrCat(Beginning(known.output), ":./", name);
  ASSIGN_OR_RETURN(const GitRun size, RunGit(folder, {"cat-file", "-s", blob}));
  int64_t bytes = 0;
  if (absl::SimpleAtoi(Beginning(size.output), &bytes) && bytes > kMaxTextBytes) {
    return LimitError("text-bytes",
                      absl::StrCat(Escaped(path), " at ", Escaped(revision), ": larger than ",
                                   kMaxTextBytes, " bytes (text-bytes)"));
  }
  ASSIGN_OR_RETURN(GitRun file, RunGit(folder, {"cat-file", "blob", blob}));
  if (!file.ok) {
    return absl::NotFoundError(
        absl::StrCat(Escaped(path), ": it is not in revision ", Escaped(revision)));
  }
  const std::string object = LfsObject(Beginning(file.output));
  if (!object.empty()) return OpenLfsObject(folder, object, revision, path);
  return std::exchange(file.output.fd, -1);
}

}  // namespace onnxflops::tools
