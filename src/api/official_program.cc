// How it works. ONNX's own library reads text forms and other things, but hostile input can crash
// it. So it runs as another program. Start connects three streams: its input is the caller's file,
// its output a pipe from which the caller loads the model, and its stderr a second pipe. Finish
// reads stderr, which becomes the message of the error, and waits for the program. The exit code
// tells a limit from a fault of the input. If it was ended by SIGPIPE, the caller stopped reading
// early and has an error of its own. Any other signal is a crash of the library.
#include "src/api/official_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops {
namespace {

constexpr char kName[] = "onnxflops-official";
constexpr size_t kMaxMessage = 4096;  // bytes of its stderr that are read

// The folder of the program that runs, with a slash; "" if that cannot be read.
std::string OwnFolder() {
  std::array<char, 4096> self;
  const ssize_t size = readlink("/proc/self/exe", self.data(), self.size());
  if (size <= 0) return "";
  const std::string path(self.data(), static_cast<size_t>(size));
  return path.substr(0, path.rfind('/') + 1);
}

// The program that the environment names, and no other then. Otherwise it is searched next to this
// program, then in libexec next to it (both installed), then at the same two places from each
// folder of PATH, since a third-party program may use this library. Empty if it is not found.
std::string FindProgram() {
  const char* named = std::getenv(kOfficialProgramVariable);
  if (named != nullptr && *named != '\0') return access(named, X_OK) == 0 ? named : "";
  const char* path = std::getenv("PATH");
  std::vector<std::string> folders = {OwnFolder()};
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    folders.push_back(absl::StrCat(folder, "/"));
  }
  for (const std::string& folder : folders) {
    if (!absl::StartsWith(folder, "/") || folder == "/")
      continue;  // relative to the working directory: not trusted
    for (const char* place : {"", "../libexec/onnxflops/"}) {
      std::string candidate = absl::StrCat(folder, place, kName);
      if (access(candidate.c_str(), X_OK) == 0) return candidate;
    }
  }
  return "";
}

absl::Status Failed(absl::string_view what, int error) {
  return absl::UnknownError(
      absl::StrCat("cannot start ", kName, ": ", what, ": ", std::strerror(error)));
}

absl::StatusOr<pid_t> Spawn(const std::string& program, const std::vector<std::string>& arguments,
                            const std::array<int, 3>& streams) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const absl::Cleanup destroy = [&] { posix_spawn_file_actions_destroy(&actions); };
  for (int i = 0; i < 3; ++i) {
    posix_spawn_file_actions_adddup2(&actions, streams[static_cast<size_t>(i)], i);
  }
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  if (error != 0) return Failed("posix_spawn", error);
  return pid;
}

std::string ReadMessage(int fd) {
  std::string message(kMaxMessage, '\0');
  size_t size = 0;
  while (size < message.size()) {
    const ssize_t n = read(fd, message.data() + size, message.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    size += static_cast<size_t>(n);
  }
  message.resize(size);
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return message;
}

}  // namespace

OfficialProgram::OfficialProgram(OfficialProgram&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      errors_(std::exchange(other.errors_, -1)) {}

OfficialProgram::~OfficialProgram() { static_cast<void>(Finish()); }

absl::StatusOr<OfficialProgram> OfficialProgram::Start(const std::vector<std::string>& arguments,
                                                       int input) {
  const std::string program = FindProgram();
  if (program.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "text models need ", kName, ": run `tools/setup official` once (it takes minutes), or set ",
        kOfficialProgramVariable, " to its path"));
  }
  int output[2], errors[2];
  if (pipe2(output, O_CLOEXEC) != 0) return Failed("pipe", errno);
  if (pipe2(errors, O_CLOEXEC) != 0) {
    const int error = errno;
    close(output[0]);
    close(output[1]);
    return Failed("pipe", error);
  }
  const absl::StatusOr<pid_t> pid = Spawn(program, arguments, {input, output[1], errors[1]});
  close(output[1]);
  close(errors[1]);
  if (pid.ok()) return OfficialProgram(*pid, output[0], errors[0]);
  close(output[0]);
  close(errors[0]);
  return pid.status();
}

absl::Status OfficialProgram::Finish() {
  if (pid_ < 0) return absl::OkStatus();
  close(output_);
  const std::string message = ReadMessage(errors_);
  close(errors_);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kTextTooLong) {
    return LimitError("text-bytes", message);
  }
  if (WIFEXITED(status)) return absl::InvalidArgumentError(message);
  if (WTERMSIG(status) == SIGPIPE) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the official library fails on it (signal ", WTERMSIG(status), ")"));
}

}  // namespace onnxflops
