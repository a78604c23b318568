// How it works. The repository may be a stranger's, and its configuration can name programs and
// hosts. So git gets an environment that forbids lazy fetches in every version, and may not take a
// folder of the work tree for a bare repository. Its output goes to a file in memory, or through a
// pipe.
#include "tools/commands/git_run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/platform/platform.h"
#include "src/base/status_macros.h"
#include "tools/cli/write_file.h"

namespace onnxflops::tools {
namespace {

// The variables that git gets instead of ours. A repository may be a stranger's, and its
// configuration names programs and hosts: for objects that are missing, git would fetch them from
// there. Versions before 2.44 know no GIT_NO_LAZY_FETCH. They start `git fetch`, which they do not
// find: GIT_EXEC_PATH and PATH lead nowhere. Versions before 2.29 fetch by themselves, and no
// protocol is allowed. Its name is "/", which no configuration can make a helper or an alias of:
// "remote-/" is neither a program nor a key.
constexpr absl::string_view kSetForGit[] = {
    "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=/",    "GIT_EXEC_PATH=/dev/null",
    "PATH=/dev/null",      "GIT_LITERAL_PATHSPECS=1", "GIT_OPTIONAL_LOCKS=0",
};

bool IsSetForGit(absl::string_view variable) {
  return std::any_of(std::begin(kSetForGit), std::end(kSetForGit), [&](absl::string_view ours) {
    return absl::StartsWith(variable, ours.substr(0, ours.find('=') + 1));
  });
}

std::vector<std::string> GitEnvironment() {
  std::vector<std::string> variables(std::begin(kSetForGit), std::end(kSetForGit));
  for (std::string& variable : platform::Environment()) {
    // Hooks of git set GIT_DIR. If they do not set GIT_WORK_TREE as well, git would take any
    // current folder for the top of the work tree.
    const bool of_hook =
        absl::StartsWith(variable, "GIT_DIR=") && getenv("GIT_WORK_TREE") == nullptr;
    if (!of_hook && !IsSetForGit(variable)) variables.push_back(std::move(variable));
  }
  return variables;
}

absl::StatusOr<intptr_t> StartGit(const std::string& folder, std::vector<std::string> words,
                                  const platform::Streams& streams) {
  // A folder of the repository may look like a repository, whose configuration names programs to
  // run: git must not use it.
  words.insert(words.begin(), {"-c", "safe.bareRepository=explicit", "-C", folder});
  absl::StatusOr<intptr_t> git = platform::StartProgram("git", words, GitEnvironment(), streams);
  if (git.ok()) return git;
  return absl::InvalidArgumentError(absl::StrCat("git cannot be run: ", git.status().message()));
}

}  // namespace

absl::StatusOr<GitRun> RunGit(const std::string& folder, const std::vector<std::string>& words) {
  GitRun run = {OpenFile(platform::MakeUnnamedFile())};
  if (run.output.fd < 0) return absl::UnknownError(strerror(errno));
  ASSIGN_OR_RETURN(const intptr_t git, StartGit(folder, words, {-1, run.output.fd, -1}));
  const platform::ProgramEnd end = platform::WaitForProgram(git);
  run.ok = end.exited && end.code == 0;
  lseek(run.output.fd, 0, SEEK_SET);
  return run;
}

absl::Status PipeFromGit(const std::string& folder, const std::vector<std::string>& words,
                         const std::string& input, absl::FunctionRef<void(int)> read) {
  // As a file, so that nobody waits for the other.
  const OpenFile file(platform::MakeUnnamedFile());
  if (file.fd < 0) return absl::UnknownError(strerror(errno));
  RETURN_IF_ERROR(WriteAll(file.fd, input));
  std::array<int, 2> ends;
  if (!platform::MakePipe(&ends)) return absl::UnknownError(strerror(errno));
  lseek(file.fd, 0, SEEK_SET);
  const absl::StatusOr<intptr_t> git = StartGit(folder, words, {file.fd, ends[1], -1});
  close(ends[1]);
  if (git.ok()) read(ends[0]);
  close(ends[0]);
  if (git.ok()) platform::WaitForProgram(*git);
  return git.status();
}

std::string Beginning(const OpenFile& file) {
  std::array<char, 1 << 12> text;
  const ssize_t n = pread(file.fd, text.data(), text.size(), 0);
  return std::string(absl::StripAsciiWhitespace(
      absl::string_view(text.data(), n > 0 ? static_cast<size_t>(n) : 0)));
}

absl::StatusOr<std::string> AllOf(const OpenFile& file, size_t most) {
  std::string text(most + 1, '\0');
  size_t size = 0;
  for (ssize_t n = 0; size < text.size(); size += static_cast<size_t>(n)) {
    n = read(file.fd, text.data() + size, text.size() - size);
    if (n <= 0) break;
  }
  if (size > most) return absl::OutOfRangeError("too many files to read at a revision");
  text.resize(size);
  return text;
}

std::string ExistingFolder(const std::string& path) {
  for (size_t end = path.size();;) {
    const size_t slash = end == 0 ? std::string::npos : path.rfind('/', end - 1);
    if (slash == std::string::npos) return ".";
    std::string folder = path.substr(0, slash + 1);
    if (access(folder.c_str(), F_OK) == 0) return folder;
    end = slash;
  }
}

}  // namespace onnxflops::tools
