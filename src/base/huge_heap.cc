#include "src/base/huge_heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace onnxflops {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;
// Addresses that the heap begins with; memory is taken only as it is used. What goes beyond comes
// in small pages again.
constexpr int kHeapBytes = 256 << 20;
constexpr int kLargest = 1 << 30;

}  // namespace

void UseHugePagesForHeap() {
  if (mallopt(M_MMAP_THRESHOLD, kLargest) == 0 || mallopt(M_TRIM_THRESHOLD, kLargest) == 0 ||
      mallopt(M_TOP_PAD, kHeapBytes) == 0) {
    return;
  }
  const auto* before = static_cast<char*>(sbrk(0));
  // More than the heap has: it grows by this and kHeapBytes. Not to be optimised away.
  void* volatile block = std::malloc(size_t{1} << 20);
  std::free(block);
  auto* end = static_cast<char*>(sbrk(0));
  mallopt(M_TOP_PAD, 1 << 20);
  if (end <= before || end - before < kHeapBytes) return;
  char* begin = end - kHeapBytes;
  begin += (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  madvise(begin, static_cast<size_t>(end - begin), MADV_HUGEPAGE);
}

}  // namespace onnxflops
