#include "src/base/huge_heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>

namespace onnxflops {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr int kMiB = 1 << 20;
// Addresses that the heap begins with, or fewer where there are not as many. Memory is taken only
// as it is used; what goes beyond comes in small pages again.
constexpr int kHeapBytes[] = {1024 * kMiB, 256 * kMiB, 64 * kMiB};

// Whether so many addresses leave enough for everything else.
bool Affordable(int bytes) {
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit;
    if (getrlimit(resource, &limit) != 0) return false;
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur / 4 < static_cast<rlim_t>(bytes)) {
      return false;
    }
  }
  return true;
}

// Makes the heap grow by so much at once. False if the system does not give as much.
bool GrowHeap(int bytes) {
  if (mallopt(M_TOP_PAD, bytes) == 0) return false;
  const char* before = static_cast<char*>(sbrk(0));
  // More than the heap has now. Volatile, or it would be optimised away.
  void* volatile block = std::malloc(kMiB);
  std::free(block);
  char* end = static_cast<char*>(sbrk(0));
  if (end - before < bytes) return false;
  char* begin = end - bytes;
  begin += (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  madvise(begin, static_cast<size_t>(end - begin), MADV_HUGEPAGE);
  return true;
}

}  // namespace

void UseHugePagesForHeap() {
  // Large arrays come from the heap, and what is freed stays in it.
  constexpr int kNever = std::numeric_limits<int>::max();
  if (mallopt(M_MMAP_THRESHOLD, kNever) == 0 || mallopt(M_TRIM_THRESHOLD, kNever) == 0) return;
  for (const int bytes : kHeapBytes) {
    if (Affordable(bytes) && GrowHeap(bytes)) break;
  }
  mallopt(M_TOP_PAD, kMiB);
}

}  // namespace onnxflops
