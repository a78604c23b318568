// Functions that only Linux has. How it works: tee() looks into a pipe without consuming its bytes.
// New files have no name until they are complete (O_TMPFILE), so that no reader sees a half-written
// file; /proc then links the name. Signals are blocked by the system call itself, because
// sigprocmask() leaves out two signals.
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/platform/platform.h"

namespace onnxflops::platform {
namespace {

constexpr size_t kSignalBytes = _NSIG / 8;  // of the kernel's set

}  // namespace

char* MapAddresses(uint64_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : static_cast<char*>(address);
}

void AdviseHugePages(char* begin, uint64_t bytes, bool use) {
  madvise(begin, bytes, use ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

std::array<uint64_t, 2> RandomKey() {
  std::array<uint64_t, 2> key = {0x9e3779b97f4a7c15, 0xd6e8feb86659fd93};
  // The address of 16 random bytes.
  const auto* random = reinterpret_cast<const void*>(getauxval(AT_RANDOM));  // NOLINT
  if (random != nullptr) std::memcpy(key.data(), random, sizeof(key));
  return key;
}

bool MakePipe(std::array<int, 2>* ends) { return pipe2(ends->data(), O_CLOEXEC) == 0; }

// Only tee() can tell an empty pipe from its end without consuming a byte.
bool HasWriter(int fd) {
  std::array<int, 2> copy;
  if (!MakePipe(&copy)) return false;
  const ssize_t n = tee(fd, copy[1], 1, SPLICE_F_NONBLOCK);
  const bool has_writer = n > 0 || (n < 0 && errno == EAGAIN);
  close(copy[0]);
  close(copy[1]);
  return has_writer;
}

size_t PeekPipe(int fd, char* bytes, size_t size, uint64_t /*most*/) {
  std::array<int, 2> copy;
  if (!MakePipe(&copy)) return 0;
  const absl::Cleanup close_both = [&] {
    close(copy[0]);
    close(copy[1]);
  };
  pollfd one = {fd, POLLIN, 0};
  poll(&one, 1, -1);  // tee() would not wait in a pipe that another program made non-blocking
  const ssize_t there = tee(fd, copy[1], size, 0);
  const ssize_t n = there > 0 ? read(copy[0], bytes, static_cast<size_t>(there)) : 0;
  return n > 0 ? static_cast<size_t>(n) : 0;
}

int MakeUnnamedFile() { return memfd_create("onnxflops", MFD_CLOEXEC); }

int OwnDescriptor(const std::string& path) {
  const size_t slash = path.rfind('/');
  int fd = -1;
  struct statfs filesystem;
  struct stat named, ours;
  if (slash == std::string::npos || !absl::SimpleAtoi(path.substr(slash + 1), &fd) || fd < 0 ||
      statfs(path.substr(0, slash).c_str(), &filesystem) != 0 ||
      filesystem.f_type != PROC_SUPER_MAGIC || stat(path.c_str(), &named) != 0 ||
      fstat(fd, &ours) != 0) {
    return -1;
  }
  return named.st_dev == ours.st_dev && named.st_ino == ours.st_ino ? fd : -1;
}

int OpenUnnamedIn(const std::string& folder, mode_t mode) {
  return open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
}

bool NameFile(int fd, const char* name) {
  const std::string self = absl::StrCat("/proc/self/fd/", fd);
  return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

// By the call of the kernel: sigprocmask() leaves two signals out.
SignalsWait::SignalsWait() {
  static_assert(kSignalBytes <= sizeof(before_));
  std::array<unsigned long, 16> all;
  all.fill(~0UL);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, all.data(), before_.data(), kSignalBytes);
}
SignalsWait::~SignalsWait() {
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, before_.data(), nullptr, kSignalBytes);
}

std::string OwnProgram() {
  std::array<char, 4096> self;
  const ssize_t size = readlink("/proc/self/exe", self.data(), self.size());
  return size <= 0 ? "" : std::string(self.data(), static_cast<size_t>(size));
}

int AvailableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace onnxflops::platform
