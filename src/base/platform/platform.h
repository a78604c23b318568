// Functions that Linux, other Unixes, Windows and WebAssembly each implement differently. The rest
// of the project uses only standard C++ and posix.h.
//
//   linux.cc      what only Linux has
//   portable.cc   the same where nothing like it is there, in plain C++
//   unix.cc       what Linux and other Unixes have alike
//   threads.cc    what all have but WebAssembly
//   windows.cc, wasi.cc
#ifndef ONNXFLOPS_SRC_BASE_PLATFORM_PLATFORM_H_
#define ONNXFLOPS_SRC_BASE_PLATFORM_PLATFORM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/platform/posix.h"

#if defined(_WIN32)
#define ONNXFLOPS_SYSTEM "windows"
#elif defined(__APPLE__)
#define ONNXFLOPS_SYSTEM "macos"
#elif defined(__linux__)
#define ONNXFLOPS_SYSTEM "linux"
#elif defined(__wasi__)
#define ONNXFLOPS_SYSTEM "wasi"
#else
#define ONNXFLOPS_SYSTEM "other"
#endif
#if defined(__x86_64__)
#define ONNXFLOPS_PROCESSOR "x86_64"
#elif defined(__aarch64__) && defined(__APPLE__)
#define ONNXFLOPS_PROCESSOR "arm64"
#elif defined(__aarch64__)
#define ONNXFLOPS_PROCESSOR "aarch64"
#else
#define ONNXFLOPS_PROCESSOR "other"
#endif

namespace onnxflops::platform {

// The platform that this was compiled for, as in the file names of a release.
inline constexpr char kPlatformName[] = ONNXFLOPS_SYSTEM "-" ONNXFLOPS_PROCESSOR;

// ---- Memory ------------------------------------------------------------------------------------

#if defined(_WIN32) || defined(__wasi__)
inline constexpr bool kHasPartialUnmap = false;
#else
inline constexpr bool kHasPartialUnmap = true;
#endif

// Zeroed bytes, which take memory only when touched; null if there is no address space.
char* MapAddresses(uint64_t bytes);
// Releases them; a part of them only with kHasPartialUnmap.
void UnmapAddresses(char* begin, uint64_t bytes);
// Advice, which has no effect but on speed.
void AdviseHugePages(char* begin, uint64_t bytes, bool use);

// Random bytes that an attacker cannot guess.
std::array<uint64_t, 2> RandomKey();

// ---- Descriptors -------------------------------------------------------------------------------

// A pipe whose ends no child process inherits. False, with errno set, if that fails.
bool MakePipe(std::array<int, 2>* ends);

// True if a process holds the other end of an empty pipe, or if that cannot be known.
bool HasWriter(int fd);

// True if a write failed with `error` because the reader is gone.
bool IsBrokenPipe(int fd, int error);

// Undoes O_NONBLOCK. False, and errno.
bool MakeBlocking(int fd);

// Reads the first bytes of a pipe and leaves them to be read again; waits until there are some. On
// a system that cannot look into a pipe, the pipe is read to its end, at most `most` bytes, and the
// descriptor then refers to a file with these bytes.
size_t PeekPipe(int fd, char* bytes, size_t size, uint64_t most);

// A file without a name, to read and write, as long as the descriptor is open; -1, and errno.
int MakeUnnamedFile();

// The descriptor of ours that a path such as /dev/fd/63 names; else -1.
int OwnDescriptor(const std::string& path);

// Identifies the file of a path or descriptor, whatever its name; nullopt if there is none.
struct FileId {
  uint64_t device = 0, file = 0;
  bool operator==(const FileId& other) const = default;
};
std::optional<FileId> IdOf(const std::string& path);
std::optional<FileId> IdOf(int fd);

// ---- Files that replace others -----------------------------------------------------------------

// A file in a folder ("" is the current one) that gets its name only when complete, by NameFile,
// and vanishes otherwise. -1 if the system or the file system has no such files.
int OpenUnnamedIn(const std::string& folder, mode_t mode);
bool NameFile(int fd, const char* name);

// Renames, also over a file that exists. False, and errno.
bool Rename(const char* from, const char* to);

// Gives a new file the owner, group and permissions of the file that it will replace, as far as the
// user may. False, with errno set, if the permissions cannot be set.
bool KeepOwner(int fd, const struct stat& old);

// Waits until the file system confirms the write; network file systems may report a full disk only
// then.
bool FlushToServer(int fd);

// While it exists, signals wait, also those that the C library keeps for itself.
class SignalsWait {
 public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  std::array<unsigned long, 16> before_;  // the kernel's set, or more
};

// A limit on the size of files is an error of write(), not the end of the program.
void IgnoreFileSizeSignal();

// ---- Programs ----------------------------------------------------------------------------------

// The standard streams of a child process. -1: nothing to read, or output is discarded.
struct Streams {
  int input = -1, output = -1, errors = -1;
};

// How a program ended: by an exit code, or by a signal.
struct ProgramEnd {
  bool exited = false;
  int code = 0;  // or the signal
  bool broken_pipe = false;
};

// Starts a program with arguments after its name; in the folders of PATH if the name has no slash.
// Errors say why not. `environment` replaces ours unless it is empty ("NAME=value").
absl::StatusOr<intptr_t> StartProgram(const std::string& program,
                                      const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& environment,
                                      const Streams& streams);
ProgramEnd WaitForProgram(intptr_t program);

// True if the path is a program that may be started.
bool IsProgram(const std::string& path);

// Our variables, as "NAME=value".
std::vector<std::string> Environment();

// The path of the running program; "" if the system does not know it.
std::string OwnProgram();

// A value that each thread has for itself. g++ for Windows would destroy it when its memory is
// gone, and WebAssembly has no end of a thread.
template <typename T>
T& OfThisThread() {
#if defined(_WIN32) || defined(__wasi__)
  thread_local T* const value = new T;
  return *value;
#else
  thread_local T value;
  return value;
#endif
}

// Processors that this process may use; at least 1.
int AvailableProcessors();

// Calls run(0), run(1), ... run(count - 1), each once, on up to `threads` threads.
void RunOnThreads(size_t count, int threads, absl::FunctionRef<void(size_t)> run);

// Calls run(). False if memory ended in it, where C++ can tell: not in WebAssembly, which stops.
bool RunWithinMemory(absl::FunctionRef<void()> run);

// ---- Terminals and names -----------------------------------------------------------------------

struct TerminalSize {
  bool known = false;
  int columns = 0, lines = 0;
};
TerminalSize SizeOfTerminal(int fd);

// Called first in main(). Text is UTF-8, and bytes go through as they are. The arguments, with "/"
// between folders where Windows has another sign.
std::vector<std::string> PreparedArguments(int argc, char** argv);

// Separates folders in PATH.
#if defined(_WIN32)
inline constexpr char kPathSeparator = ';';
#else
inline constexpr char kPathSeparator = ':';
#endif

// Where the last part of a path begins. Windows has two signs between folders.
inline size_t NameBegin(absl::string_view path) {
#if defined(_WIN32)
  return path.find_last_of("/\\:") + 1;
#else
  return path.rfind('/') + 1;
#endif
}

// Existing files and folders that match a pattern of the shell, sorted.
std::vector<std::string> MatchingFiles(const std::string& pattern);
// The same in a folder, whose name is no pattern.
std::vector<std::string> MatchingIn(const std::string& folder, const std::string& pattern);
// True if a relative path matches a shell pattern: * matches neither "/" nor a dot at the start of
// a name.
bool MatchesPath(const std::string& pattern, const std::string& path);

}  // namespace onnxflops::platform

#endif  // ONNXFLOPS_SRC_BASE_PLATFORM_PLATFORM_H_
