#include "src/load/arena.h"

#include <new>
#include <utility>

namespace onnxflops {

void* Arena::NewBlock(size_t bytes) {
  if (bytes > block_ / 4) {
    return small_blocks_.emplace_back(new char[bytes]).get();
  }
  if (block_ <= kMaxSmallBlock) {
    next_ = small_blocks_.emplace_back(new char[block_]).get();
    left_ = block_;
    block_ = block_ < kMaxSmallBlock ? 2 * block_ : load::kHugePageBytes;
  } else {
    load::AddressRange range = load::AddressRange::Reserve(block_);
    if (range.empty()) throw std::bad_alloc();
    next_ = range.begin();
    left_ = block_;
    load::UseHugePages(next_, left_);
    huge_blocks_.push_back(std::move(range));
  }
  void* place = next_;
  next_ += bytes;
  left_ -= bytes;
  return place;
}

}  // namespace onnxflops
