// Arrays of trivial types in a ModelData's arena, allocated in blocks so that one costs an
// addition.
#ifndef ONNXFLOPS_SRC_LOAD_ARENA_H_
#define ONNXFLOPS_SRC_LOAD_ARENA_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/types/span.h"
#include "src/load/address_range.h"

namespace onnxflops {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Says that about so many bytes will be asked for.
  void Expect(size_t bytes) {
    if (bytes > 2 * kMaxSmallBlock) block_ = load::kHugePageBytes;
  }

  // Room for n objects, not initialised.
  template <typename T>
  T* New(size_t n) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kAlign);
    const size_t bytes = (n * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    if (ABSL_PREDICT_FALSE(bytes > left_)) return static_cast<T*>(NewBlock(bytes));
    void* place = next_;
    next_ += bytes;
    left_ -= bytes;
    return static_cast<T*>(place);
  }

  // A copy of `from`; an empty span if n is 0.
  template <typename T>
  absl::Span<T> Copy(const T* from, size_t n) {
    if (n == 0) return {};
    T* to = New<T>(n);
    std::uninitialized_copy_n(from, n, to);
    return absl::Span<T>(to, n);
  }
  // The same of the elements of `from` from index `begin` on, which are dropped from it.
  template <typename T>
  absl::Span<T> TakeFrom(std::vector<T>& from, size_t begin) {
    const absl::Span<T> copy = Copy(from.data() + begin, from.size() - begin);
    from.resize(begin);
    return copy;
  }

 private:
  static constexpr size_t kAlign = 8;
  static constexpr size_t kFirstBlock = size_t{16} << 10;
  // Blocks double until each is one huge page.
  static constexpr size_t kMaxSmallBlock = size_t{512} << 10;

  void* NewBlock(size_t bytes);

  char* next_ = nullptr;
  size_t left_ = 0;
  size_t block_ = kFirstBlock;
  std::vector<std::unique_ptr<char[]>> small_blocks_;
  std::vector<load::AddressRange> huge_blocks_;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_LOAD_ARENA_H_
