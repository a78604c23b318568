// Bytes of a profile, one by one, from a buffer.
#ifndef ONNXFLOPS_SRC_PROFILE_BYTE_READER_H_
#define ONNXFLOPS_SRC_PROFILE_BYTE_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "src/profile/read_profile.h"

namespace onnxflops::profile {

class ByteReader {
 public:
  explicit ByteReader(ByteSource source) : source_(source) {}

  // The next byte, from 0 to 255; -1 at the end.
  int Peek() {
    if (at_ == end_) Fill();
    return at_ == end_ ? -1 : static_cast<unsigned char>(buffer_[at_]);
  }
  void Skip() {
    ++at_;
    ++place_;
  }
  // How many bytes have been read.
  int64_t place() const { return place_; }
  bool failed() const { return failed_; }

 private:
  void Fill() {
    if (ended_) return;
    const ssize_t n = source_(buffer_.data(), buffer_.size());
    failed_ = n < 0;
    ended_ = n <= 0;
    at_ = 0;
    end_ = n < 0 ? 0 : static_cast<size_t>(n);
  }

  ByteSource source_;
  std::array<char, 1 << 16> buffer_;
  size_t at_ = 0, end_ = 0;
  int64_t place_ = 0;
  bool failed_ = false, ended_ = false;
};

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_BYTE_READER_H_
