// Bytes of a text or of a stream, one by one.
#ifndef ONNXFLOPS_SRC_BASE_BYTE_READER_H_
#define ONNXFLOPS_SRC_BASE_BYTE_READER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

// Puts up to so many bytes at the place, and says how many; 0 at the end, below 0 on an error.
using ByteSource = absl::FunctionRef<ssize_t(char* bytes, size_t size)>;

class ByteReader {
 public:
  explicit ByteReader(ByteSource source) : source_(source) {}
  // The text has to outlive the reader.
  explicit ByteReader(absl::string_view text)
      : source_(NoMore), text_(text), at_(text.data()), end_(text.data() + text.size()) {}

  // The next byte, from 0 to 255; -1 at the end.
  int Peek() {
    if (at_ == end_) Fill();
    return at_ == end_ ? -1 : static_cast<unsigned char>(*at_);
  }
  void Skip() {
    ++at_;
    ++place_;
  }
  // How many bytes have been read.
  int64_t place() const { return place_; }
  bool failed() const { return failed_; }
  absl::string_view text() const { return text_; }  // empty for a stream

 private:
  static ssize_t NoMore(char* /*bytes*/, size_t /*size*/) { return 0; }
  void Fill() {
    if (ended_) return;
    constexpr size_t kBufferBytes = 1 << 16;
    if (buffer_.empty() && text_.data() == nullptr) buffer_.resize(kBufferBytes);
    const ssize_t n = source_(buffer_.data(), buffer_.size());
    failed_ = n < 0;
    ended_ = n <= 0;
    if (ended_) return;
    at_ = buffer_.data();
    end_ = at_ + n;
  }

  ByteSource source_;
  absl::string_view text_;
  std::vector<char> buffer_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  int64_t place_ = 0;
  bool failed_ = false, ended_ = false;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_BYTE_READER_H_
