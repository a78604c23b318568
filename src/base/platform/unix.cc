// Functions that Linux and other Unixes share, by plain POSIX.
//
// How it works. Programs are started with posix_spawn, which needs no fork of a process with many
// threads; streams that are not given become /dev/null. Patterns are expanded by glob() and matched
// by fnmatch(). The last part, under #if, replaces the functions of linux.cc on other Unixes: there
// a pipe is marked as not inherited after it is made, and an unnamed file comes from tmpfile().
#include <fnmatch.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/platform/platform.h"
#include "src/base/platform/temporary_folder.h"
#if !defined(__linux__)
#include <pthread.h>
#endif
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

extern char** environ;  // NOLINT: POSIX declares it in no header

namespace onnxflops::platform {
namespace {

// The words in the form that exec() takes.
std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What to remove, the latest first. Nothing of it is freed or changed: a signal may come anytime.
struct ToRemove {
  std::string path;
  bool is_folder;
  const ToRemove* next;
};
std::atomic<const ToRemove*> to_remove = nullptr;
static_assert(decltype(to_remove)::is_always_lock_free);

// Calls only what a handler may call. The action is already the usual one again, and the signal
// comes when the handler returns.
void RemoveAndEnd(int number) {
  for (const ToRemove* at = to_remove; at != nullptr; at = at->next) {
    static_cast<void>(at->is_folder ? rmdir(at->path.c_str()) : unlink(at->path.c_str()));
  }
  raise(number);
}

void HandleEnds() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    // nohup has SIGHUP ignored.
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = RemoveAndEnd;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

std::string MakeTemporaryFolder(const std::string& parent) {
  std::string folder = absl::StrCat(parent, "/onnxflops.XXXXXX");
  return mkdtemp(folder.data()) != nullptr ? folder : "";
}

void RemoveAtSignal(const std::string& path, bool is_folder) {
  static const bool handles = (HandleEnds(), true);
  static_cast<void>(handles);
  auto* item = new ToRemove{path, is_folder, to_remove.load()};
  while (!to_remove.compare_exchange_weak(item->next, item)) {
  }
}

void UnmapAddresses(char* begin, uint64_t bytes) { munmap(begin, bytes); }

bool IsBrokenPipe(int /*fd*/, int error) { return error == EPIPE; }

bool MakeBlocking(int fd) { return fcntl(fd, F_SETFL, 0) == 0; }

std::optional<FileId> IdOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileId{static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino)};
}

std::optional<FileId> IdOf(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return std::nullopt;
  return FileId{static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino)};
}

bool Rename(const char* from, const char* to) { return rename(from, to) == 0; }

bool KeepOwner(int fd, const struct stat& old) {
  // Only root may give a file to another user; others may only change its group to one of their
  // own.
  if (fchown(fd, old.st_uid, old.st_gid) != 0) {
    static_cast<void>(fchown(fd, static_cast<uid_t>(-1), old.st_gid) == 0);
  }
  return fchmod(fd, old.st_mode & 0777) == 0;
}

bool FlushToServer(int fd) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return copy < 0 || close(copy) == 0;
}

void IgnoreFileSizeSignal() { signal(SIGXFSZ, SIG_IGN); }

absl::StatusOr<intptr_t> StartProgram(const std::string& program,
                                      const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& environment,
                                      const Streams& streams) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const absl::Cleanup destroy = [&] { posix_spawn_file_actions_destroy(&actions); };
  const std::array<int, 3> wanted = {streams.input, streams.output, streams.errors};
  for (int i = 0; i < 3; ++i) {
    const int fd = wanted[static_cast<size_t>(i)];
    if (fd >= 0) {
      posix_spawn_file_actions_adddup2(&actions, fd, i);
    } else {
      posix_spawn_file_actions_addopen(&actions, i, "/dev/null", i == 0 ? O_RDONLY : O_WRONLY, 0);
    }
  }
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment;
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, program.c_str(), &actions, nullptr, Pointers(words).data(),
                                 environment.empty() ? environ : Pointers(variables).data());
  if (error != 0) return absl::UnknownError(strerror(error));
  return pid;
}

ProgramEnd WaitForProgram(intptr_t program) {
  int status = 0;
  while (waitpid(static_cast<pid_t>(program), &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return {true, WEXITSTATUS(status), false};
  return {false, WTERMSIG(status), WTERMSIG(status) == SIGPIPE};
}

bool IsProgram(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

std::vector<std::string> Environment() {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) variables.emplace_back(*at);
  return variables;
}

TerminalSize SizeOfTerminal(int fd) {
  winsize size;
  if (ioctl(fd, TIOCGWINSZ, &size) != 0) return {};
  return {true, size.ws_col, size.ws_row};
}

std::vector<std::string> PreparedArguments(int argc, char** argv) {
  return std::vector<std::string>(argv + 1, argv + argc);
}

std::vector<std::string> MatchingFiles(const std::string& pattern) {
  glob_t result = {};
  const absl::Cleanup release = [&] { globfree(&result); };
  if (glob(pattern.c_str(), 0, nullptr, &result) != 0) return {};
  return std::vector<std::string>(result.gl_pathv, result.gl_pathv + result.gl_pathc);
}

std::vector<std::string> MatchingIn(const std::string& folder, const std::string& pattern) {
  std::string escaped;
  for (const char c : folder) {
    if (absl::StrContains("*?[\\", c)) escaped += '\\';
    escaped += c;
  }
  return MatchingFiles(absl::StrCat(escaped, "/", pattern));
}

bool MatchesPath(const std::string& pattern, const std::string& path) {
  return fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
}

#if !defined(__linux__)

char* MapAddresses(uint64_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  return address == MAP_FAILED ? nullptr : static_cast<char*>(address);
}

bool MakePipe(std::array<int, 2>* ends) {
  if (pipe(ends->data()) != 0) return false;
  for (const int fd : *ends) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return true;
}

int MakeUnnamedFile() {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) return -1;
  const int fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
  std::fclose(file);
  return fd;
}

SignalsWait::SignalsWait() {
  static_assert(sizeof(sigset_t) <= sizeof(before_));
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, reinterpret_cast<sigset_t*>(before_.data()));
}
SignalsWait::~SignalsWait() {
  pthread_sigmask(SIG_SETMASK, reinterpret_cast<sigset_t*>(before_.data()), nullptr);
}

std::string OwnProgram() {
#if defined(__APPLE__)
  std::array<char, 4096> path;
  uint32_t size = path.size();
  if (_NSGetExecutablePath(path.data(), &size) == 0) return path.data();
#endif
  return "";
}

#endif

}  // namespace onnxflops::platform
