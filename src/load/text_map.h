// Maps texts to numbers; the texts must outlive it. Each text belongs to a group, so that one map
// can serve several purposes.
//
// The hash is keyed by a random number, so that no file can make lookups slow.
#ifndef ONNXFLOPS_SRC_LOAD_TEXT_MAP_H_
#define ONNXFLOPS_SRC_LOAD_TEXT_MAP_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/graph/optional_id.h"
#include "src/load/name_table.h"

namespace onnxflops {

class TextMap {
 public:
  using OptionalNumber = OptionalId<struct TextMapTag>;

  // The hash for the other functions, computed once for a lookup and the insertion after it.
  uint32_t Hash(absl::string_view text, int32_t group = 0) const {
    constexpr uint32_t kSpread = 0x9e3779b1;
    return hash_(text) ^ (static_cast<uint32_t>(group) * kSpread);
  }

  // The number of the text, or kNone.
  OptionalNumber Find(absl::string_view text, uint32_t hash, int32_t group = 0) const {
    if (slots_.empty()) return kNone;
    for (uint32_t i = hash & mask_; slots_[i].end != 0; i = (i + 1) & mask_) {
      if (slots_[i].hash != hash) continue;
      const Entry& entry = entries_[slots_[i].end - 1];
      if (entry.group == group && entry.text == text) return entry.number;
    }
    return kNone;
  }
  OptionalNumber Find(absl::string_view text) const { return Find(text, Hash(text)); }

  // REQUIRES: the text is not in the map; number >= 0.
  void Insert(absl::string_view text, uint32_t hash, int32_t number, int32_t group = 0);

 private:
  struct Entry {
    absl::string_view text;
    int32_t group, number;
  };
  struct Slot {
    uint32_t hash, end;  // the entry before it, or 0
  };

  void Put(Slot slot);

  load::NameHash hash_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // at least twice as many
  uint32_t mask_ = 0;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_LOAD_TEXT_MAP_H_
