#include "src/load/input_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/status_macros.h"

namespace onnxflops {
namespace {

constexpr int kPollMs = 10;

absl::Status FromErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError("no such file");
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError("permission denied");
    default:
      return absl::UnknownError(absl::StrCat("cannot be opened: ", std::strerror(error_number)));
  }
}

int Open(const std::string& path, int flags) {
  int fd;
  do {
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

absl::Status WaitForWriter(int fd) {
  for (int waited = 0; waited <= kMaxPipeWaitMs; waited += kPollMs) {
    pollfd one = {fd, POLLIN, 0};
    // There are bytes, or a writer came and went, or one is there and has written nothing yet.
    if (poll(&one, 1, kPollMs) > 0 || platform::HasWriter(fd)) return absl::OkStatus();
  }
  return absl::DeadlineExceededError(absl::StrCat("a named pipe that no program writes to (waited ",
                                                  kMaxPipeWaitMs / 1000,
                                                  " s, pipe-wait-ms); start the writer first"));
}

}  // namespace

absl::StatusOr<int> OpenForReading(absl::string_view path) {
  if (path.find('\0') != absl::string_view::npos) return FromErrno(ENOENT);
  const std::string name(path);
  // O_NONBLOCK: to open a named pipe blocks until it has a writer.
  int fd = Open(name, O_NONBLOCK);
  // Another program's lease on the file, which the system ends in time.
  if (fd < 0 && errno == EWOULDBLOCK) fd = Open(name, 0);
  if (fd < 0) {
    const int error = errno;
    struct stat folder;  // which Windows does not open
    if (stat(name.c_str(), &folder) == 0 && S_ISDIR(folder.st_mode)) {
      return absl::InvalidArgumentError("is a directory, not a file");
    }
    return FromErrno(error);
  }
  absl::Cleanup close_file = [fd] { close(fd); };
  struct stat info;
  if (fstat(fd, &info) != 0) return FromErrno(errno);
  if (S_ISFIFO(info.st_mode)) {
    if (absl::Status status = WaitForWriter(fd); !status.ok()) return status;
  }
  if (!S_ISREG(info.st_mode) && !platform::MakeBlocking(fd)) return FromErrno(errno);
  std::move(close_file).Cancel();
  return fd;
}

ssize_t ReadSome(int fd, char* bytes, size_t size) {
  while (true) {
    const ssize_t n = read(fd, bytes, size);
    if (n >= 0 || (errno != EINTR && errno != EAGAIN)) return n;
    pollfd one = {fd, POLLIN, 0};
    if (errno == EAGAIN) poll(&one, 1, -1);
  }
}

absl::StatusOr<std::string> ReadTextFile(const std::string& file, size_t most) {
  ASSIGN_OR_RETURN(const int fd, OpenForReading(file));
  const absl::Cleanup close_file = [fd] { close(fd); };
  struct stat info;
  if (fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError("is a directory, not a file");
  }
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
    return absl::InvalidArgumentError("is a device, not a file");
  }
  std::string text;
  size_t size = 0;
  while (size <= most) {
    text.resize(std::min(std::max<size_t>(2 * size, 1 << 16), most + 1));
    const ssize_t n = ReadSome(fd, text.data() + size, text.size() - size);
    if (n < 0) return absl::UnknownError(absl::StrCat("cannot be read: ", strerror(errno)));
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  text.resize(size);
  return text;
}

}  // namespace onnxflops
