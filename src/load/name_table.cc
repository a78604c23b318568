#include "src/load/name_table.h"

#include <sys/auxv.h>

#include <algorithm>
#include <cstddef>
#include <new>

namespace onnxflops::load {

NameHash::NameHash() : key_{0x9e3779b97f4a7c15, 0xd6e8feb86659fd93} {
  // The address of 16 random bytes.
  const auto* random = reinterpret_cast<const void*>(getauxval(AT_RANDOM));  // NOLINT
  if (random != nullptr) std::memcpy(key_, random, sizeof(key_));
  key_[1] |= 1;
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
