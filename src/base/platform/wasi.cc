// WebAssembly (WASI) has a single process, without signals, child programs or terminals.
#include <algorithm>
#include <cerrno>

#include "src/base/platform/platform.h"

namespace onnxflops::platform {

// New memory is zero, and takes space only when touched, which payloads never are. It is not
// released; each call of the page has its own instance.
char* MapAddresses(uint64_t bytes) {
  constexpr uint64_t kPage = 65536, kMostPages = 65535;
  const uint64_t pages = (bytes + kPage - 1) / kPage;
  if (pages > kMostPages) return nullptr;
  const size_t at = __builtin_wasm_memory_grow(0, pages);
  return at == SIZE_MAX ? nullptr : reinterpret_cast<char*>(at * kPage);
}
void UnmapAddresses(char* /*begin*/, uint64_t /*bytes*/) {}
void AdviseHugePages(char* /*begin*/, uint64_t /*bytes*/, bool /*use*/) {}
std::array<uint64_t, 2> RandomKey() { return {0x9e3779b97f4a7c15, 0xd6e8feb86659fd93}; }

bool HasWriter(int /*fd*/) { return true; }
size_t PeekPipe(int /*fd*/, char* /*bytes*/, size_t /*size*/, uint64_t /*most*/) { return 0; }
bool MakeBlocking(int /*fd*/) { return true; }

bool RunWithinMemory(absl::FunctionRef<void()> run) {
  run();
  return true;
}

}  // namespace onnxflops::platform
