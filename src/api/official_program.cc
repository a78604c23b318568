// How it works. ONNX's own library reads text forms and other things, but hostile input can crash
// it. So it runs as another program. Start connects three streams: its input is the caller's file,
// its output a pipe from which the caller loads the model, and its stderr a second pipe. Finish
// reads stderr, which becomes the message of the error, and waits for the program. The exit code
// tells a limit from a fault of the input. If it was ended by SIGPIPE, the caller stopped reading
// early and has an error of its own. Any other signal is a crash of the library.
#include "src/api/official_program.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "src/base/limit_error.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops {
namespace {

constexpr char kName[] = "onnxflops-official";
constexpr size_t kMaxMessage = 4096;  // bytes of its stderr that are read

// The program that the environment names, and no other then. Otherwise it is searched next to this
// program, then in libexec next to it (both installed), then at the same two places from each
// folder of PATH, since a third-party program may use this library. Empty if it is not found.
std::string FindProgram() {
  const char* named = std::getenv(kOfficialProgramVariable);
  if (named != nullptr && *named != '\0') return platform::IsProgram(named) ? named : "";
  const char* path = std::getenv("PATH");
  const std::string own = platform::OwnProgram();
  std::vector<std::string> folders = {own.substr(0, platform::NameBegin(own))};
  for (absl::string_view folder :
       absl::StrSplit(path == nullptr ? "" : path, platform::kPathSeparator)) {
    folders.push_back(absl::StrCat(folder, "/"));
  }
  for (const std::string& folder : folders) {
    if (!absl::StartsWith(folder, "/") || folder == "/")
      continue;  // relative to the working directory: not trusted
    for (const char* place : {"", "../libexec/onnxflops/"}) {
      std::string candidate = absl::StrCat(folder, place, kName);
      if (platform::IsProgram(candidate)) return candidate;
    }
  }
  return "";
}

absl::Status Failed(absl::string_view what, int error) {
  return absl::UnknownError(
      absl::StrCat("cannot start ", kName, ": ", what, ": ", std::strerror(error)));
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
    : program_(std::exchange(other.program_, -1)),
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
  std::array<int, 2> output, errors;
  if (!platform::MakePipe(&output)) return Failed("pipe", errno);
  if (!platform::MakePipe(&errors)) {
    const int error = errno;
    close(output[0]);
    close(output[1]);
    return Failed("pipe", error);
  }
  const absl::StatusOr<intptr_t> started =
      platform::StartProgram(program, arguments, {}, {input, output[1], errors[1]});
  close(output[1]);
  close(errors[1]);
  if (started.ok()) return OfficialProgram(*started, output[0], errors[0]);
  close(output[0]);
  close(errors[0]);
  return WithMessage(started.status(),
                     absl::StrCat("cannot start ", kName, ": ", started.status().message()));
}

absl::Status OfficialProgram::Finish() {
  if (program_ < 0) return absl::OkStatus();
  close(output_);
  const std::string message = ReadMessage(errors_);
  close(errors_);
  const platform::ProgramEnd end = platform::WaitForProgram(std::exchange(program_, -1));
  if (end.exited && end.code == 0) return absl::OkStatus();
  if (end.exited && end.code == kTextTooLong) return LimitError("text-bytes", message);
  if (end.exited) return absl::InvalidArgumentError(message);
  if (end.broken_pipe) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the official library fails on it (signal ", end.code, ")"));
}

}  // namespace onnxflops
