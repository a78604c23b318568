// The bytes of a model as far as they were read: an address range as large as the file, filled on
// demand as one forward pass moves through it.
//
// Only pages that were read take memory. Nothing is mapped from the file, so a file that shrinks
// meanwhile is an error and not a signal, and views into the range stay valid while it exists.
// Bytes that were never read are zero.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<ByteRegion> region, ByteRegion::OfFile(fd, size));
//   if (!region->Load(p, 100)) return region->error();
//
// After a skipped gap (a payload) little is read ahead; sequential reading doubles the amount.
#ifndef ONNXFLOPS_SRC_LOAD_BYTE_REGION_H_
#define ONNXFLOPS_SRC_LOAD_BYTE_REGION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/load/address_range.h"

namespace onnxflops::load {

class ByteRegion {
 public:
  // Bytes beyond the end that may be looked at (they are zero), so that a tag and a number can be
  // decoded without asking for the end at every byte.
  static constexpr ptrdiff_t kSlack = 32;

  // A regular file of `size` bytes, a stream of unknown length, or bytes in memory. The source must
  // exist until the reading ends, but not as long as the region.
  static absl::StatusOr<std::unique_ptr<ByteRegion>> OfFile(int fd, uint64_t size);
  static absl::StatusOr<std::unique_ptr<ByteRegion>> OfStream(int fd);
  static absl::StatusOr<std::unique_ptr<ByteRegion>> OfBytes(absl::string_view bytes);
  // Bytes that the region keeps, all of them loaded: no copy is made.
  static std::unique_ptr<ByteRegion> OfOwn(std::string bytes);
  ByteRegion(const ByteRegion&) = delete;
  ByteRegion& operator=(const ByteRegion&) = delete;

  const char* begin() const { return base_; }
  // The end of the file; for a stream that has not ended yet, the end of the bytes read so far.
  const char* end() const { return base_ + size_; }
  uint64_t size() const { return size_; }
  bool size_known() const { return kind_ != Kind::kStream || at_eof_; }

  // Everything from the last gap up to here has been read; beyond the end, kSlack counts as read.
  const char* loaded() const { return loaded_; }
  // Reads [p, p + n), or up to the end if that comes first; it may read more. `p` must not lie
  // before a skipped gap. False if reading fails, or a file or stream ends before `p`.
  bool Load(const char* p, size_t n);
  // How far after `loaded()` a next read may begin without leaving a gap.
  static constexpr ptrdiff_t kMaxReadOver = 8192;
  // Why Load returned false.
  const std::string& error() const { return error_; }
  // Forgets the source. All that was loaded stays.
  void Close();

 private:
  enum class Kind { kFile, kStream, kBytes };

  ByteRegion(Kind kind, int fd, const char* source, AddressRange range, uint64_t size);
  ByteRegion(std::string own, uint64_t size);
  static absl::StatusOr<std::unique_ptr<ByteRegion>> Create(Kind kind, int fd, const char* source,
                                                            uint64_t size);
  // Reads [begin, end) into place; at least up to `need`, of a stream perhaps no more.
  bool Fill(uint64_t begin, uint64_t need, uint64_t end);
  bool FillFromStream(uint64_t begin, uint64_t need, uint64_t end);
  bool DiscardFromStream(uint64_t n);
  void EndStreamAt(uint64_t size);
  bool FailRead(int error_number);
  // Chooses the size of pages for the memory of [begin, end), which is about to be read.
  void ChoosePages(uint64_t begin, uint64_t end);
  void SetLoaded(uint64_t offset);

  const Kind kind_;
  int fd_;
  const char* source_;  // of kBytes
  const AddressRange range_;
  std::string own_;  // instead of a range: the bytes, and kSlack zeros
  char* const base_;
  uint64_t size_;
  const char* loaded_;
  uint64_t window_;
  uint64_t bytes_read_ = 0;
  // Pages are chosen up to here; the choice used the number of bytes read at that time.
  uint64_t pages_chosen_ = 0;
  uint64_t bytes_read_then_ = 0;
  bool at_eof_ = false;
  std::string error_;
};

}  // namespace onnxflops::load

#endif  // ONNXFLOPS_SRC_LOAD_BYTE_REGION_H_
