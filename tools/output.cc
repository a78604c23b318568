#include "tools/output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"

namespace onnxflops::tools {
namespace {

constexpr int kMaxLinks = 40;         // symbolic links in a row, as Linux has it
constexpr int kTemporaryTries = 100;  // names for the temporary file
constexpr int kMaxWidth = 1000;

absl::Status Trouble(const std::string& file, int error) {
  const std::string what = file == "-" ? "standard output" : Quoted(file);
  return absl::UnknownError(absl::StrCat("cannot write to ", what, ": ", strerror(error)));
}

absl::Status WriteAll(int fd, absl::string_view text, const std::string& file) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Trouble(file, errno);
    text.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

// What a chain of symbolic links names, whether it exists or not.
absl::StatusOr<std::string> FollowLinks(const std::string& file) {
  std::string path = file;
  for (int i = 0; i < kMaxLinks; ++i) {
    char target[4096];
    const ssize_t n = readlink(path.c_str(), target, sizeof(target));
    if (n < 0) return path;
    std::string next(target, static_cast<size_t>(n));
    const size_t slash = path.rfind('/');
    if (next[0] != '/' && slash != std::string::npos) next.insert(0, path, 0, slash + 1);
    path = std::move(next);
  }
  return Trouble(file, ELOOP);
}

// Opens a new file beside `path`, whose name goes to `*name`.
absl::StatusOr<int> OpenTemporary(const std::string& path, mode_t mode, const std::string& file,
                                  std::string* name) {
  const size_t slash = path.rfind('/') + 1;  // 0 when there is none
  for (int i = 0; i < kTemporaryTries; ++i) {
    *name = absl::StrCat(path.substr(0, slash), ".onnxflops-", getpid(), "-", i, ".tmp");
    const int fd = open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0) return fd;
    if (errno != EEXIST) return Trouble(file, errno);
  }
  return Trouble(file, EEXIST);
}

absl::Status Replace(const std::string& path, absl::string_view text, mode_t mode, bool exists,
                     const std::string& file) {
  std::string temporary;
  ASSIGN_OR_RETURN(const int fd, OpenTemporary(path, mode, file, &temporary));
  auto remove = absl::MakeCleanup([&] { unlink(temporary.c_str()); });
  absl::Status written = WriteAll(fd, text, file);
  if (written.ok() && exists && fchmod(fd, mode) != 0) written = Trouble(file, errno);
  // Errors of a full disk may show as late as this.
  if (close(fd) != 0 && written.ok()) written = Trouble(file, errno);
  RETURN_IF_ERROR(written);
  if (rename(temporary.c_str(), path.c_str()) != 0) return Trouble(file, errno);
  std::move(remove).Cancel();
  return absl::OkStatus();
}

absl::Status WriteFile(absl::string_view text, const std::string& file) {
  ASSIGN_OR_RETURN(const std::string path, FollowLinks(file));
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return Trouble(file, EISDIR);
  if (exists && access(path.c_str(), W_OK) != 0) return Trouble(file, errno);
  if (exists && !S_ISREG(info.st_mode)) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return Trouble(file, errno);
    absl::Status written = WriteAll(fd, text, file);
    if (close(fd) != 0 && written.ok()) written = Trouble(file, errno);
    return written;
  }
  // Signals that would end the program wait until the temporary file has got its name or is gone.
  sigset_t ending, before;
  sigemptyset(&ending);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&ending, signal);
  sigprocmask(SIG_BLOCK, &ending, &before);
  const auto restore = absl::MakeCleanup([&] { sigprocmask(SIG_SETMASK, &before, nullptr); });
  return Replace(path, text, exists ? info.st_mode & 0777 : 0666, exists, file);
}

}  // namespace

absl::Status WriteOutput(absl::string_view text, const std::string& file) {
  // A closed pipe and a limit on file size are errors of write(), not ends of the program.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  return file == "-" ? WriteAll(STDOUT_FILENO, text, file) : WriteFile(text, file);
}

void WriteError(absl::string_view message) {
  // There is nowhere left to report trouble with this.
  WriteAll(STDERR_FILENO, absl::StrCat("onnxflops: ", message, "\n"), "-").IgnoreError();
}

TableStyle StyleFor(const std::string& file) {
  TableStyle style;
  if (file != "-" || !isatty(STDOUT_FILENO)) return style;
  const char* columns = getenv("COLUMNS");
  winsize size;
  if (columns == nullptr || !absl::SimpleAtoi(columns, &style.width) || style.width <= 0 ||
      style.width > kMaxWidth) {
    style.width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 80;
  }
  const char* no_color = getenv("NO_COLOR");
  const char* term = getenv("TERM");
  const bool dumb = term == nullptr || strcmp(term, "dumb") == 0;
  style.color = (no_color == nullptr || *no_color == '\0') && !dumb;
  return style;
}

}  // namespace onnxflops::tools
