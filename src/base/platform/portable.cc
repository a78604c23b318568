// Portable replacements for the functions that linux.cc implements.
#include <algorithm>
#include <random>
#include <thread>

#include "src/base/platform/platform.h"

namespace onnxflops::platform {

void AdviseHugePages(char* /*begin*/, uint64_t /*bytes*/, bool /*use*/) {}

std::array<uint64_t, 2> RandomKey() {
  std::random_device device;
  const auto word = [&] { return uint64_t{device()} << 32 | device(); };
  return {word(), word()};
}

bool HasWriter(int /*fd*/) { return true; }

size_t PeekPipe(int fd, char* bytes, size_t size, uint64_t most) {
  const int file = MakeUnnamedFile();
  if (file < 0) return 0;
  std::array<char, 1 << 16> block;
  ssize_t n = 0;
  for (uint64_t all = 0; all <= most; all += static_cast<uint64_t>(n)) {
    n = read(fd, block.data(), block.size());
    if (n <= 0 || write(file, block.data(), static_cast<unsigned>(n)) != n) break;
  }
  lseek(file, 0, SEEK_SET);
  dup2(file, fd);
  close(file);
  const ssize_t got = pread(fd, bytes, size, 0);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

int OwnDescriptor(const std::string& /*path*/) { return -1; }

int OpenUnnamedIn(const std::string& /*folder*/, mode_t /*mode*/) { return -1; }
bool NameFile(int /*fd*/, const char* /*name*/) { return false; }

int AvailableProcessors() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace onnxflops::platform
