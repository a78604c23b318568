// Threads and exceptions of C++, which WebAssembly has not.
#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "src/base/platform/platform.h"

namespace onnxflops::platform {

void RunOnThreads(size_t count, int threads, absl::FunctionRef<void(size_t)> run) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) run(i);
  };
  std::vector<std::thread> others;
  const size_t wanted = std::min(count, static_cast<size_t>(threads));
  try {
    while (others.size() + 1 < wanted) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The system has no more threads: those that there are do all.
  }
  work();
  for (std::thread& thread : others) thread.join();
}

bool RunWithinMemory(absl::FunctionRef<void()> run) {
  try {
    run();
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

}  // namespace onnxflops::platform
