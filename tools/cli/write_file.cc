// How it works. A file is replaced in one step: readers see the old content or the new one, never a
// part. The new content goes to a file without a name (O_TMPFILE), which vanishes with the program;
// then it is linked under a temporary name and renamed over the old one. Filesystems without such
// files get a named temporary one. Signals wait during the short time in which a temporary name
// exists, so that none is left. Owner, group and permissions are those of the old file; until it is
// complete, only the owner can read the new one.
//
// Writing goes on after interruptions and on non-blocking pipes. A reader that has gone ends the
// program by SIGPIPE, as shells expect. A named pipe is given some time to get a reader.
#include "tools/cli/write_file.h"

#include <signal.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/status_macros.h"

namespace onnxflops::tools {
namespace {

constexpr int kTemporaryTries = 100;  // names for the temporary file
constexpr int kPollMs = 10;

// The kernel sends SIGPIPE to a writer without a reader. Where it is ignored or blocked, write()
// fails instead, and the program ends as if the signal had been sent.
[[noreturn]] void EndBySigpipe() {
#if defined(SIGPIPE)
  signal(SIGPIPE, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(SIGPIPE);
  _exit(128 + SIGPIPE);  // the first process of a container does not die of it
#else
  _exit(1);
#endif
}

// "folder/" or "".
std::string FolderOf(const std::string& path) { return path.substr(0, platform::NameBegin(path)); }

// The content of a file, and the file that it replaces.
struct Replacement {
  const std::string& path;
  FileFiller fill;
  bool exists;
  struct stat old;

  // New files of the user's get the permissions that the umask leaves. What replaces a file is the
  // owner's alone until it is complete.
  mode_t first_mode() const { return exists ? 0600 : 0666; }
};

absl::Status Fill(int fd, const Replacement& what) {
  RETURN_IF_ERROR(what.fill(fd));
  // A filesystem on a network may report a full disk only when a descriptor is closed.
  if (!platform::FlushToServer(fd)) return FromErrno(errno);
  if (!what.exists || platform::KeepOwner(fd, what.old)) return absl::OkStatus();
  return FromErrno(errno);
}

// Calls `make` with names in the folder of `path` until one is free; that name, or "" with errno
// set.
template <typename Make>
std::string MakeTemporary(const std::string& path, const Make& make) {
  for (int i = 0; i < kTemporaryTries; ++i) {
    std::string name = absl::StrCat(FolderOf(path), ".onnxflops-", getpid(), "-", i, ".tmp");
    if (make(name.c_str())) return name;
    if (errno != EEXIST) break;
  }
  return "";
}

absl::Status Rename(const std::string& temporary, const std::string& path) {
  if (platform::Rename(temporary.c_str(), path.c_str())) return absl::OkStatus();
  const int error = errno;
  unlink(temporary.c_str());
  return FromErrno(error);
}

// Gives the open file the place of `path`. A file that exists is replaced by renaming another over
// it, so the new one needs a second name in the folder for an instant. Unavailable if the file
// cannot have a name.
absl::Status NameIt(int fd, const Replacement& what) {
  const auto link_to = [&](const char* name) { return platform::NameFile(fd, name); };
  if (!what.exists && link_to(what.path.c_str())) return absl::OkStatus();
  const platform::SignalsWait wait;
  const std::string temporary = MakeTemporary(what.path, link_to);
  if (temporary.empty()) return absl::UnavailableError(strerror(errno));
  return Rename(temporary, what.path);
}

absl::Status ReplaceByUnnamed(const Replacement& what) {
  const int fd = platform::OpenUnnamedIn(FolderOf(what.path), what.first_mode());
  if (fd < 0) return absl::UnavailableError(strerror(errno));
  const absl::Cleanup close_file = [fd] { close(fd); };
  RETURN_IF_ERROR(Fill(fd, what));
  return NameIt(fd, what);
}

absl::Status ReplaceByTemporary(const Replacement& what) {
  const platform::SignalsWait wait;
  int fd = -1;
  const std::string temporary = MakeTemporary(what.path, [&](const char* name) {
    fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, what.first_mode());
    return fd >= 0;
  });
  if (temporary.empty()) return FromErrno(errno);
  absl::Status filled = Fill(fd, what);
  close(fd);
  if (filled.ok()) return Rename(temporary, what.path);
  unlink(temporary.c_str());
  return filled;
}

// Opens a named pipe once it has a reader.
absl::StatusOr<int> OpenDevice(const std::string& path) {
  for (int waited = 0; waited <= kMaxPipeWaitMs; waited += kPollMs) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0) return fd;
    struct stat info;
    const int error = errno;
    if (error != EINTR &&
        (error != ENXIO || stat(path.c_str(), &info) != 0 || !S_ISFIFO(info.st_mode))) {
      return FromErrno(error);
    }
    poll(nullptr, 0, kPollMs);
  }
  return absl::DeadlineExceededError(
      absl::StrCat("it is a named pipe that no program reads from (waited ", kMaxPipeWaitMs / 1000,
                   " s); start the reader first"));
}

}  // namespace

absl::Status FromErrno(int error) { return absl::UnknownError(strerror(error)); }

absl::Status WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      // The program at the other end of a pipe or terminal made it non-blocking for all.
      pollfd one = {fd, POLLOUT, 0};
      poll(&one, 1, -1);
    } else if (platform::IsBrokenPipe(fd, errno)) {
      EndBySigpipe();
    } else if (errno != EINTR) {
      return FromErrno(errno);
    }
  }
  return absl::OkStatus();
}

absl::Status ReplaceFile(const std::string& path, FileFiller fill) {
  Replacement what = {path, fill, false, {}};
  what.exists = stat(path.c_str(), &what.old) == 0;
  absl::Status status = ReplaceByUnnamed(what);
  return absl::IsUnavailable(status) ? ReplaceByTemporary(what) : status;
}

absl::Status AppendToFile(const std::string& path, absl::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) return FromErrno(errno);
  struct stat before;
  const bool known = fstat(fd, &before) == 0 && S_ISREG(before.st_mode);
  absl::Status written = WriteAll(fd, text);
  if (!written.ok() && known) static_cast<void>(ftruncate(fd, before.st_size) == 0);
  if (close(fd) != 0 && written.ok()) written = FromErrno(errno);
  return written;
}

absl::Status WriteToDevice(const std::string& path, FileFiller fill) {
  ASSIGN_OR_RETURN(const int fd, OpenDevice(path));
  platform::MakeBlocking(fd);
  absl::Status written = fill(fd);
  if (close(fd) != 0 && written.ok()) written = FromErrno(errno);
  return written;
}

}  // namespace onnxflops::tools
