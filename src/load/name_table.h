// The names of one scope (a graph, a body, a function) and their values.
//
// A hash table with linear probing, designed for one forward pass over a large graph. A slot takes
// eight bytes. Its index is the top of the hash, so that growing moves slots in order. The next
// names can be prefetched. Recently used names, which are most, are found in a small table that
// stays in the CPU cache. Forgetting all names takes no time. Hashes are keyed by random bytes of
// the process, so that no file can contain names made to collide.
#ifndef ONNXFLOPS_SRC_LOAD_NAME_TABLE_H_
#define ONNXFLOPS_SRC_LOAD_NAME_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/strings/string_view.h"
#include "src/graph/model.h"

namespace onnxflops::load {

// A keyed hash of names.
class NameHash {
 public:
  NameHash();  // takes its key from the kernel

  uint32_t operator()(absl::string_view name) const {
    return static_cast<uint32_t>(Long(name) >> 32);
  }

  uint64_t Long(absl::string_view name) const {
    const char* p = name.data();
    const size_t n = name.size();
    uint64_t h = key_[0] ^ n;
    uint64_t a = 0, b = 0;
    if (n > 16) {
      const char* const last = p + n - 16;
      do {
        h = Mix(Read8(p) ^ key_[1], Read8(p + 8) ^ h);
        p += 16;
      } while (p < last);
      // The last 16 bytes, which may overlap the bytes before.
      a = Read8(last);
      b = Read8(last + 8);
    } else if (n >= 8) {
      a = Read8(p);
      b = Read8(p + n - 8);
    } else if (n >= 4) {
      a = Read4(p);
      b = Read4(p + n - 4);
    } else if (n > 0) {
      a = static_cast<uint64_t>(static_cast<uint8_t>(p[0])) << 16 |
          static_cast<uint64_t>(static_cast<uint8_t>(p[n / 2])) << 8 |
          static_cast<uint8_t>(p[n - 1]);
    }
    h = Mix(a ^ key_[1], b ^ h);
    return Mix(h ^ key_[0], key_[1]);
  }

  static uint64_t Read8(const char* p) {
    uint64_t v;
    std::memcpy(&v, p, 8);
    return v;
  }

 private:
  static uint64_t Mix(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  static uint64_t Read4(const char* p) {
    uint32_t v;
    std::memcpy(&v, p, 4);
    return v;
  }

  uint64_t key_[2];
};

class NameTable {
 public:
  // Forgets all names; later ids are at least `first`.
  void Reset(ValueId first) {
    first_ = first;
    count_ = 0;
  }
  // Makes room for `names` names.
  void Reserve(size_t names);

  void Prefetch(uint32_t hash) const {
    if (slots_ != nullptr) __builtin_prefetch(&slots_[hash >> shift_]);
  }

  // The value of that name, or kNone.
  OptionalValueId Find(absl::string_view name, uint32_t hash,
                       const std::vector<Value>& values) const {
    if (slots_ == nullptr) return kNone;
    if (recent_ != nullptr) {
      const Slot& slot = recent_[hash % kRecent];
      if (Matches(slot, name, hash, values)) return slot.id - 1;
    }
    for (uint32_t i = hash >> shift_; InUse(slots_[i]); i = (i + 1) & mask_) {
      if (Matches(slots_[i], name, hash, values)) {
        if (recent_ != nullptr) recent_[hash % kRecent] = slots_[i];
        return slots_[i].id - 1;
      }
    }
    return kNone;
  }

  // The value of that name, or `next`, which has that name from now on.
  ABSL_ATTRIBUTE_ALWAYS_INLINE ValueId FindOrInsert(absl::string_view name, uint32_t hash,
                                                    ValueId next,
                                                    const std::vector<Value>& values) {
    if (ABSL_PREDICT_FALSE(count_ >= most_)) Grow(2 * capacity_);
    if (recent_ != nullptr) {
      const Slot& slot = recent_[hash % kRecent];
      if (Matches(slot, name, hash, values)) return slot.id - 1;
    }
    uint32_t i = hash >> shift_;
    while (InUse(slots_[i]) && !Matches(slots_[i], name, hash, values)) i = (i + 1) & mask_;
    if (!InUse(slots_[i])) {
      ++count_;
      slots_[i] = {hash, next + 1};
    }
    if (recent_ != nullptr) recent_[hash % kRecent] = slots_[i];
    return slots_[i].id - 1;
  }

 private:
  struct Slot {
    uint32_t hash;
    int32_t id;  // plus one: of ids forgotten (and of zeroed memory), at most first_
  };
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  static constexpr size_t kMinCapacity = 32;
  // From this capacity on the table is larger than a core's cache, and recent names pay.
  static constexpr size_t kLargeCapacity = size_t{1} << 17;
  static constexpr uint32_t kRecent = 4096;

  bool InUse(const Slot& slot) const { return slot.id > first_; }
  bool Matches(const Slot& slot, absl::string_view name, uint32_t hash,
               const std::vector<Value>& values) const {
    return slot.hash == hash && InUse(slot) &&
           Same(values[static_cast<size_t>(slot.id - 1)].name, name);
  }
  // Names are mostly so short that a call of memcmp() takes longer.
  static bool Same(absl::string_view a, absl::string_view b) {
    size_t n = a.size();
    if (n != b.size()) return false;
    const char *p = a.data(), *q = b.data();
    if (n < 8) return n == 0 || std::memcmp(p, q, n) == 0;
    for (; n > 8; n -= 8, p += 8, q += 8) {
      if (NameHash::Read8(p) != NameHash::Read8(q)) return false;
    }
    // The last eight bytes, which may overlap the bytes before.
    return NameHash::Read8(p + n - 8) == NameHash::Read8(q + n - 8);
  }
  void Put(Slot slot) {
    uint32_t i = slot.hash >> shift_;
    while (InUse(slots_[i])) i = (i + 1) & mask_;
    slots_[i] = slot;
  }
  void Grow(size_t capacity);

  std::unique_ptr<Slot[], Free> slots_;
  std::unique_ptr<Slot[], Free> recent_;
  size_t capacity_ = 0;
  size_t count_ = 0;
  size_t most_ = 0;  // names before it grows
  uint32_t mask_ = 0;
  int shift_ = 32;
  ValueId first_ = 0;
};

}  // namespace onnxflops::load

#endif  // ONNXFLOPS_SRC_LOAD_NAME_TABLE_H_
