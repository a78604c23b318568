// Usage: onnxflops_bare_parse FILE. Prints how many seconds ModelProto::ParseFromArray alone takes
// on the mapped file: the yardstick for whole processes.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>

#include "onnx/onnx_pb.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int file = open(argv[1], O_RDONLY);
  struct stat info = {};
  if (file < 0 || fstat(file, &info) != 0) return 2;
  const auto size = static_cast<size_t>(info.st_size);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED) return 2;
  const auto start = std::chrono::steady_clock::now();
  onnx::ModelProto model;
  const bool parsed = model.ParseFromArray(bytes, static_cast<int>(size));
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::printf("%.9f\n", spent.count());
  return parsed ? 0 : 1;
}
