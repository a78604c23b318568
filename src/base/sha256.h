// SHA-256 (FIPS 180-4), to record the exact file that a decision was about.
//
//   Sha256 hash;
//   hash.Add("abc");
//   hash.Hex()   // "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#ifndef ONNXFLOPS_SRC_BASE_SHA256_H_
#define ONNXFLOPS_SRC_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace onnxflops {

class Sha256 {
 public:
  void Add(absl::string_view bytes);
  // The hash of all added bytes.
  std::string Hex() const;

 private:
  static constexpr size_t kBlock = 64;
  void AddBlock(const char* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<char, kBlock> rest_;  // its first size_ % kBlock bytes
  uint64_t size_ = 0;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_SHA256_H_
