#include "src/load/address_range.h"

#include <sys/mman.h>

#include <utility>

namespace onnxflops {
namespace {

uintptr_t RoundUp(uintptr_t n, uint64_t to) { return (n + to - 1) / to * to; }

}  // namespace

AddressRange AddressRange::Reserve(uint64_t bytes) {
  AddressRange range;
  const bool few = bytes < kHugePageBytes / 4;
  const uint64_t unit = few ? kPageBytes : kHugePageBytes;
  bytes = RoundUp(bytes, unit);
  const uint64_t more = few ? bytes : bytes + unit;
  void* address = mmap(nullptr, more, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return range;
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const uintptr_t aligned = few ? begin : RoundUp(begin, unit);
  const uintptr_t end = aligned + bytes;
  if (aligned > begin) munmap(address, aligned - begin);
  if (begin + more > end) munmap(reinterpret_cast<void*>(end), begin + more - end);
  range.begin_ = reinterpret_cast<char*>(aligned);
  range.bytes_ = bytes;
  // Where huge pages are the default, a page of a payload would take as much as a small model.
  if (!few) madvise(range.begin_, bytes, MADV_NOHUGEPAGE);
  return range;
}

AddressRange::AddressRange(AddressRange&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

AddressRange& AddressRange::operator=(AddressRange&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

AddressRange::~AddressRange() {
  if (begin_ != nullptr) munmap(begin_, bytes_);
}

void UseHugePages(const void* begin, const void* end) {
  // malloc's own few bytes stand before an array.
  const uintptr_t first_page = reinterpret_cast<uintptr_t>(begin) / kPageBytes * kPageBytes;
  const uintptr_t from = RoundUp(first_page, kHugePageBytes);
  const uintptr_t to =
      (reinterpret_cast<uintptr_t>(end) + kHugePageBytes / 2) / kHugePageBytes * kHugePageBytes;
  if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
}

}  // namespace onnxflops
