// How it works. A file at a revision is read by running git: rev-parse for the commit, ls-tree for
// the object, cat-file for its bytes, which go to a file in memory. If the bytes are a pointer of
// git-lfs, the object is opened in the local store. Nothing is ever fetched.
//
// The repository may be a stranger's, and its configuration can name programs and hosts. So git
// gets an environment that forbids lazy fetches in every version, and may not take a folder of the
// work tree for a bare repository. A revision that begins with "-" or holds ":" is refused. Errors
// tell apart: no git, no repository, no such revision, no such file, and an object that a partial
// clone does not have.
#include "tools/commands/git_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/settings/value.h"

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

// The output of git, and whether it succeeded.
struct GitRun {
  File output;
  bool ok = false;
};

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

absl::StatusOr<GitRun> RunGit(const std::string& folder, std::vector<std::string> words) {
  GitRun run = {File(platform::MakeUnnamedFile())};
  if (run.output.fd < 0) return absl::UnknownError(strerror(errno));
  // A folder of the repository may look like a repository, whose configuration names programs to
  // run: git must not use it.
  words.insert(words.begin(), {"-c", "safe.bareRepository=explicit", "-C", folder});
  const absl::StatusOr<intptr_t> git =
      platform::StartProgram("git", words, GitEnvironment(), {-1, run.output.fd, -1});
  if (!git.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("git cannot be run: ", git.status().message()));
  }
  const platform::ProgramEnd end = platform::WaitForProgram(*git);
  run.ok = end.exited && end.code == 0;
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

// The path, below git's folder, of the git-lfs object that a pointer names; "" if the text is not a
// pointer.
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
  const std::string name =
      absl::StrCat(absl::StartsWith(store, "/") ? "" : folder + "/", store, object);
  // A pipe would wait for its writer.
  File file(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (file.fd >= 0 && fstat(file.fd, &info) == 0 && S_ISREG(info.st_mode)) {
    return std::exchange(file.fd, -1);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Escaped(path), " at ", Escaped(revision),
                   ": a Git LFS pointer, and its object is not here: run git lfs fetch origin ",
                   Escaped(revision), " (git lfs pull fetches only what is checked out)"));
}

// A partial clone, or a damaged repository.
absl::Status NotInThisClone(const std::string& revision, const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(
      Escaped(path), " at ", Escaped(revision),
      ": git has the revision and not this file of it, as in a partial clone; nothing is fetched "
      "from here: git checkout or git show of the revision does it, or clone without --filter"));
}

// The object of a file in a commit; NotFound if the commit does not have the file. Only folders are
// read, so that a missing object is distinguished from a file that never existed.
absl::StatusOr<std::string> FindBlob(const std::string& folder, const std::string& commit,
                                     const std::string& revision, const std::string& path) {
  const std::string name = folder == "." ? path : path.substr(folder.size());
  ASSIGN_OR_RETURN(const GitRun entry, RunGit(folder, {"ls-tree", commit, "--", "./" + name}));
  if (!entry.ok) return NotInThisClone(revision, path);
  // "100644 blob 1f7a7a472abf3dd9643fd615f6da379c4acb3e3a\tname"
  const std::string text = Beginning(entry.output);
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::string_view(text).substr(0, text.find('\t')), ' ');
  if (words.size() == 3 && words[1] == "blob") return std::string(words[2]);
  return absl::NotFoundError(
      absl::StrCat(Escaped(path), ": it is not in revision ", Escaped(revision)));
}

// The folder of a file, or the nearest one above that exists: the revision may have others.
std::string ExistingFolder(const std::string& path) {
  for (size_t end = path.size();;) {
    const size_t slash = end == 0 ? std::string::npos : path.rfind('/', end - 1);
    if (slash == std::string::npos) return ".";
    std::string folder = path.substr(0, slash + 1);
    if (access(folder.c_str(), F_OK) == 0) return folder;
    end = slash;
  }
}

// The folder before the first symbolic link in the path, because at a revision the link may have
// been a folder. If that is in no repository, the folder of the link's target.
std::string FolderForGit(const std::string& path) {
  struct stat info;
  size_t end = 0;  // of the folders that are not links
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', end)) {
    const std::string folder = path.substr(0, slash);
    if (!folder.empty() && (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))) break;
    end = slash + 1;
  }
  const std::string folder = end == 0 ? "." : path.substr(0, end);
  const absl::StatusOr<GitRun> repository = RunGit(folder, {"rev-parse", "--git-dir"});
  return repository.ok() && repository->ok ? folder : ExistingFolder(path);
}

// The commit of a revision, in the repository of a folder.
absl::StatusOr<std::string> CommitOf(const std::string& revision, const std::string& folder) {
  ASSIGN_OR_RETURN(const GitRun known,
                   RunGit(folder, {"rev-parse", "--verify", "--quiet", revision + "^{commit}"}));
  if (known.ok) return Beginning(known.output);
  ASSIGN_OR_RETURN(const GitRun repository, RunGit(folder, {"rev-parse", "--git-dir"}));
  return settings::BadValue(
      "git", revision,
      repository.ok
          ? absl::StrCat("git finds no such revision in the repository of ", Quoted(folder))
          : absl::StrCat(Quoted(folder), " is in no repository that git reads"));
}

// A revision must not look like an option or contain a file name.
absl::Status CheckRevision(const std::string& revision) {
  if (!revision.empty() && revision[0] != '-' && !absl::StrContains(revision, ':')) {
    return absl::OkStatus();
  }
  return settings::BadValue("git", revision, "it should be a revision, as HEAD~1 or main");
}

// The whole output, at most `most` bytes.
absl::StatusOr<std::string> AllOf(const File& file, size_t most) {
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

}  // namespace

absl::StatusOr<int> OpenGitFile(const std::string& revision, const std::string& path) {
  RETURN_IF_ERROR(CheckRevision(revision));
  const std::string folder = FolderForGit(path);
  ASSIGN_OR_RETURN(const std::string commit, CommitOf(revision, folder));
  ASSIGN_OR_RETURN(const std::string blob, FindBlob(folder, commit, revision, path));
  ASSIGN_OR_RETURN(const GitRun size, RunGit(folder, {"cat-file", "-s", blob}));
  int64_t bytes = 0;
  if (absl::SimpleAtoi(Beginning(size.output), &bytes) && bytes > kMaxTextBytes) {
    return LimitError("text-bytes",
                      absl::StrCat(Escaped(path), " at ", Escaped(revision), ": larger than ",
                                   kMaxTextBytes, " bytes (text-bytes)"));
  }
  ASSIGN_OR_RETURN(GitRun file, RunGit(folder, {"cat-file", "blob", blob}));
  if (!file.ok) return NotInThisClone(revision, path);
  const std::string object = LfsObject(Beginning(file.output));
  if (!object.empty()) return OpenLfsObject(folder, object, revision, path);
  return std::exchange(file.output.fd, -1);
}

absl::StatusOr<std::vector<std::string>> GitFilesBelow(const std::string& revision,
                                                       const std::string& path) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  RETURN_IF_ERROR(CheckRevision(revision));
  const std::string below = path + "/";
  const std::string folder = FolderForGit(below);
  ASSIGN_OR_RETURN(const std::string commit, CommitOf(revision, folder));
  const std::string name = "./" + (folder == "." ? below : below.substr(folder.size()));
  ASSIGN_OR_RETURN(const GitRun tree,
                   RunGit(folder, {"ls-tree", "-r", "-z", "--name-only", commit, "--", name}));
  if (!tree.ok) return NotInThisClone(revision, path);
  absl::StatusOr<std::string> text = AllOf(tree.output, kMostBytes);
  if (!text.ok()) {
    return WithMessage(text.status(), absl::StrCat(Escaped(path), ": ", text.status().message()));
  }
  // Names are from `folder`.
  const std::string before = name.substr(2);
  std::vector<std::string> files;
  for (const absl::string_view file : absl::StrSplit(*text, '\0', absl::SkipEmpty())) {
    if (absl::StartsWith(file, before)) files.emplace_back(file.substr(before.size()));
  }
  if (!files.empty()) return files;
  return absl::NotFoundError(
      absl::StrCat(Escaped(path), ": it is not in revision ", Escaped(revision)));
}

std::string HeadCommit(const std::string& path) {
  const absl::StatusOr<GitRun> head =
      RunGit(ExistingFolder(path), {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"});
  return head.ok() && head->ok ? Beginning(head->output) : "";
}

}  // namespace onnxflops::tools
