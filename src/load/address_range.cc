#include "src/load/address_range.h"

#include <utility>

#include "src/base/platform/platform.h"

namespace onnxflops::load {
namespace {

uint64_t RoundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// Bytes from here to the next huge page.
uint64_t ToBoundary(const char* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return RoundUp(address, kHugePageBytes) - address;
}

}  // namespace

AddressRange AddressRange::Reserve(uint64_t bytes) {
  AddressRange range;
  const bool few = !platform::kHasPartialUnmap || bytes < kHugePageBytes / 4;
  const uint64_t unit = few ? kPageBytes : kHugePageBytes;
  bytes = RoundUp(bytes, unit);
  const uint64_t more = few ? bytes : bytes + unit;
  char* begin = platform::MapAddresses(more);
  if (begin == nullptr) return range;
  const uint64_t before = few ? 0 : ToBoundary(begin);
  if (before > 0) platform::UnmapAddresses(begin, before);
  begin += before;
  if (more > before + bytes) platform::UnmapAddresses(begin + bytes, more - before - bytes);
  range.begin_ = begin;
  range.bytes_ = bytes;
  // Where huge pages are the default, a page of a payload would take as much as a small model.
  if (!few) platform::AdviseHugePages(range.begin_, bytes, false);
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
  if (begin_ != nullptr) platform::UnmapAddresses(begin_, bytes_);
}

void UseHugePages(void* begin, uint64_t bytes) {
  // malloc keeps a few bytes before an array.
  const uint64_t added = reinterpret_cast<uintptr_t>(begin) % kPageBytes;
  char* page = static_cast<char*>(begin) - added;
  bytes += added;
  const uint64_t before = ToBoundary(page);
  if (bytes <= before) return;
  const uint64_t huge = (bytes - before + kHugePageBytes / 2) / kHugePageBytes * kHugePageBytes;
  if (huge > 0) platform::AdviseHugePages(page + before, huge, true);
}

}  // namespace onnxflops::load
