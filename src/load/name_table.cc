#include "src/load/name_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include "src/base/platform/platform.h"

namespace onnxflops::load {

NameHash::NameHash() {
  const std::array<uint64_t, 2> key = platform::RandomKey();
  key_[0] = key[0];
  key_[1] = key[1] | 1;
}

void NameTable::Reserve(size_t names) {
  size_t capacity = kMinCapacity;
  while (capacity / 4 * 3 < names) capacity *= 2;
  if (capacity > capacity_) Grow(capacity);
}

void NameTable::Grow(size_t capacity) {
  capacity = std::max(capacity, kMinCapacity);
  auto* slots = static_cast<Slot*>(std::calloc(capacity, sizeof(Slot)));
  if (slots == nullptr) throw std::bad_alloc();
  std::unique_ptr<Slot[], Free> old(slots);
  old.swap(slots_);
  const size_t old_capacity = capacity_;
  capacity_ = capacity;
  most_ = capacity / 4 * 3;
  mask_ = static_cast<uint32_t>(capacity - 1);
  shift_ = 32 - __builtin_ctzll(capacity);
  for (size_t i = 0; i < old_capacity; ++i) {
    if (InUse(old[i])) Put(old[i]);
  }
  if (capacity >= kLargeCapacity && recent_ == nullptr) {
    recent_.reset(static_cast<Slot*>(std::calloc(kRecent, sizeof(Slot))));
  }
}

}  // namespace onnxflops::load
