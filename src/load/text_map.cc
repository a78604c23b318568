#include "src/load/text_map.h"

#include <cstddef>
#include <utility>

namespace onnxflops {

void TextMap::Insert(absl::string_view text, uint32_t hash, int32_t number, int32_t group) {
  constexpr size_t kFirstCapacity = 256;
  if (2 * (entries_.size() + 1) > slots_.size()) {
    const size_t capacity = slots_.empty() ? kFirstCapacity : 4 * slots_.size();
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(capacity));
    mask_ = static_cast<uint32_t>(capacity - 1);
    for (const Slot& slot : old) {
      if (slot.end != 0) Put(slot);
    }
  }
  entries_.push_back({text, group, number});
  Put({hash, static_cast<uint32_t>(entries_.size())});
}

void TextMap::Put(Slot slot) {
  uint32_t i = slot.hash & mask_;
  while (slots_[i].end != 0) i = (i + 1) & mask_;
  slots_[i] = slot;
}

}  // namespace onnxflops
