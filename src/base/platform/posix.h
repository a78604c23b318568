// The POSIX calls that the project uses. On a system without one of them it is implemented with
// other calls, or fails with ENOSYS.
#ifndef ONNXFLOPS_SRC_BASE_PLATFORM_POSIX_H_
#define ONNXFLOPS_SRC_BASE_PLATFORM_POSIX_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#if defined(_WIN32)

#include <io.h>

#include <cstddef>
#include <cstdint>

// Descriptors are never inherited, and nothing blocks but pipes.
inline constexpr int O_CLOEXEC = _O_NOINHERIT;
inline constexpr int O_NONBLOCK = 0;
inline constexpr int O_NOCTTY = 0;

struct pollfd {
  int fd;
  short events, revents;
};
inline constexpr short POLLIN = 1, POLLOUT = 4;

// Waits for `timeout` ms if there is nothing to look at; a read or a write waits by itself.
int poll(pollfd* fds, unsigned count, int timeout);
ssize_t pread(int fd, void* bytes, size_t size, int64_t at);
ssize_t readlink(const char* path, char* bytes, size_t size);
int gethostname(char* name, size_t size);

// File names are UTF-8, whatever the code page of the system and of the program. Code in namespace
// onnxflops finds these functions before those of the C library.
namespace onnxflops {
int open(const char* path, int flags, int mode = 0);
int access(const char* path, int mode);
int unlink(const char* path);
}  // namespace onnxflops
// Our own type: the C library's name would also be looked up as a function.
#undef stat
#define stat onnxflops_stat
struct onnxflops_stat : _stat64 {};
int onnxflops_stat(const char* path, struct onnxflops_stat* info);
inline int lstat(const char* path, struct stat* info) { return stat(path, info); }

#else

#include <poll.h>

#endif

#endif  // ONNXFLOPS_SRC_BASE_PLATFORM_POSIX_H_
