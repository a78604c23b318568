// Addresses from the kernel, which take memory only when written to.
#ifndef ONNXFLOPS_SRC_LOAD_ADDRESS_RANGE_H_
#define ONNXFLOPS_SRC_LOAD_ADDRESS_RANGE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace onnxflops::load {

inline constexpr uint64_t kPageBytes = 4096;
inline constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

class AddressRange {
 public:
  AddressRange() = default;
  // At least `bytes` of them, zeroed, in whole huge pages unless they are few. Empty if the kernel
  // has no more.
  static AddressRange Reserve(uint64_t bytes);
  AddressRange(AddressRange&& other) noexcept;
  AddressRange& operator=(AddressRange&& other) noexcept;
  ~AddressRange();

  char* begin() const { return begin_; }
  bool empty() const { return begin_ == nullptr; }

 private:
  char* begin_ = nullptr;
  uint64_t bytes_ = 0;
};

// Asks for huge pages where these bytes overlap them; for the last one only if half of it is used.
// This is advice and affects only speed.
void UseHugePages(void* begin, uint64_t bytes);

// Reserves memory of a vector that will soon be mostly filled.
template <typename T>
void ReserveHuge(std::vector<T>& v, size_t n) {
  if (n <= v.capacity()) return;
  n = std::max(n, 2 * v.size());  // so that asking often costs no more than growing
  const uint64_t bytes = n * sizeof(T);
  if (bytes < kHugePageBytes / 2) {
    v.reserve(n);
    return;
  }
  // Together with the few bytes that malloc adds, a multiple of a huge page: such a range the
  // kernel places at a huge page's boundary.
  constexpr uint64_t kAdded = 32;
  const uint64_t pages = (bytes + kAdded + kHugePageBytes - 1) / kHugePageBytes;
  v.reserve((pages * kHugePageBytes - kAdded) / sizeof(T));
  UseHugePages(v.data(), bytes);
}

}  // namespace onnxflops::load

#endif  // ONNXFLOPS_SRC_LOAD_ADDRESS_RANGE_H_
