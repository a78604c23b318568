// How it works. The region is a range of addresses as long as the file, and bytes are loaded into
// it where a reader comes to: pointers into it stay valid while more is loaded. After a gap one
// page is read, then ever more, since what follows a gap is often another gap. If the reader skips
// a long payload of weights, it next asks for bytes after it, and those between are never read, so
// that a file of gigabytes costs as little as its nodes do.
//
// A stream (a pipe, a decompressor) has no places to go to: it is read forward, bytes in gaps are
// thrown away, and its size is known at its end only. Huge pages save page faults, but cost memory
// if little of them is used: they are taken at the beginning of the file, where the nodes are, and
// as long as most bytes are read. Some zero bytes follow the end, so that readers may look a little
// ahead without a test.
#include "src/load/byte_region.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/base/platform/posix.h"
#include "src/load/input_file.h"

namespace onnxflops::load {
namespace {

constexpr uint64_t kPage = kPageBytes;
// Bytes read at once: few after a gap, since another gap may follow, then more and more. The
// largest window limits the useless reading at the start of a payload, and fits into a core's
// cache.
constexpr uint64_t kFirstWindow = 4 * kPage;
constexpr uint64_t kWindowAfterGap = kPage;
constexpr uint64_t kMaxWindow = 64 * kPage;
// From this size on a file begins with a huge page. Smaller files do not fill enough of it, and
// much larger ones consist mostly of payloads that are skipped.
constexpr uint64_t kMinSizeForHugePage = kHugePageBytes / 4;
constexpr uint64_t kMaxSizeForHugePage = 4 * kHugePageBytes;

uint64_t RoundUpToPage(uint64_t n) { return (n + kPage - 1) / kPage * kPage; }

}  // namespace

ByteRegion::ByteRegion(Kind kind, int fd, const char* source, AddressRange range, uint64_t size)
    : kind_(kind),
      fd_(fd),
      source_(source),
      range_(std::move(range)),
      base_(range_.begin()),
      size_(size),
      loaded_(base_),
      window_(kFirstWindow) {}

ByteRegion::ByteRegion(std::string own, uint64_t size)
    : kind_(Kind::kBytes),
      fd_(-1),
      source_(nullptr),
      own_(std::move(own)),
      base_(own_.data()),
      size_(size),
      window_(kFirstWindow) {
  SetLoaded(size);
}

absl::StatusOr<std::unique_ptr<ByteRegion>> ByteRegion::Create(Kind kind, int fd,
                                                               const char* source, uint64_t size) {
  AddressRange range = AddressRange::Reserve(size + kPage);
  // Where addresses are limited (ulimit -v), a stream makes do with fewer.
  while (range.empty() && kind == Kind::kStream && size > kMaxWindow) {
    size /= 2;
    range = AddressRange::Reserve(size + kPage);
  }
  if (range.empty()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot set aside addresses for its ", size, " bytes"));
  }
  return std::unique_ptr<ByteRegion>(new ByteRegion(kind, fd, source, std::move(range), size));
}

absl::StatusOr<std::unique_ptr<ByteRegion>> ByteRegion::OfFile(int fd, uint64_t size) {
  return Create(Kind::kFile, fd, nullptr, size);
}

absl::StatusOr<std::unique_ptr<ByteRegion>> ByteRegion::OfStream(int fd) {
  return Create(Kind::kStream, fd, nullptr, kMaxStreamBytes);
}

absl::StatusOr<std::unique_ptr<ByteRegion>> ByteRegion::OfBytes(absl::string_view bytes) {
  return Create(Kind::kBytes, -1, bytes.data(), bytes.size());
}

std::unique_ptr<ByteRegion> ByteRegion::OfOwn(std::string bytes) {
  const uint64_t size = bytes.size();
  bytes.append(kSlack, '\0');
  return std::unique_ptr<ByteRegion>(new ByteRegion(std::move(bytes), size));
}

void ByteRegion::Close() {
  fd_ = -1;
  source_ = nullptr;
}

bool ByteRegion::Load(const char* p, size_t n) {
  const auto at = static_cast<uint64_t>(p - base_);
  const auto loaded = static_cast<uint64_t>(loaded_ - base_);
  if (loaded >= size_) {
    if (at <= size_) return true;
    error_ = absl::StrCat("truncated: it ends after ", size_, " bytes, inside of a field");
    return false;
  }
  uint64_t begin = loaded;
  if (at > loaded + kMaxReadOver) {
    begin = at;
    window_ = kWindowAfterGap;
  }
  const uint64_t need = std::min(size_, at + n);
  const uint64_t end = std::min(size_, RoundUpToPage(std::max(need, begin + window_)));
  ChoosePages(begin, end);
  if (kind_ == Kind::kStream && begin > loaded && !DiscardFromStream(begin - loaded)) return false;
  if (!Fill(begin, need, end)) return false;
  window_ = std::min(2 * window_, kMaxWindow);
  bytes_read_ += end - begin;
  return true;
}

// The file begins with its nodes, which are read throughout. From there on a huge page follows
// where most of the last one's worth of bytes was read.
void ByteRegion::ChoosePages(uint64_t begin, uint64_t end) {
  while (pages_chosen_ < end) {
    const uint64_t at = pages_chosen_;
    const bool first = at == 0 && size_ >= kMinSizeForHugePage && size_ <= kMaxSizeForHugePage;
    const bool dense = at > 0 && bytes_read_ - bytes_read_then_ > kHugePageBytes / 2;
    const bool untouched = begin <= at + kMaxReadOver;
    if (untouched && (first || (dense && size_ - at >= kMinSizeForHugePage))) {
      UseHugePages(base_ + at, kHugePageBytes);
    }
    bytes_read_then_ = bytes_read_;
    // A gap may be much longer than a page.
    pages_chosen_ = std::max(at + kHugePageBytes, begin / kHugePageBytes * kHugePageBytes);
  }
}

bool ByteRegion::Fill(uint64_t begin, uint64_t need, uint64_t end) {
  switch (kind_) {
    case Kind::kStream:
      return FillFromStream(begin, need, end);
    case Kind::kBytes:
      std::memcpy(base_ + begin, source_ + begin, end - begin);
      break;
    case Kind::kFile:
      for (uint64_t at = begin; at < end;) {
        const ssize_t got = pread(fd_, base_ + at, end - at, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return FailRead(errno);
        if (got == 0) {
          error_ =
              absl::StrCat("changed while it was read: had ", size_, " bytes, now ends after ", at);
          return false;
        }
        at += static_cast<uint64_t>(got);
      }
      break;
  }
  SetLoaded(end);
  return true;
}

bool ByteRegion::FillFromStream(uint64_t begin, uint64_t need, uint64_t end) {
  uint64_t at = begin;
  while (at < need) {
    const ssize_t got = ReadSome(fd_, base_ + at, end - at);
    if (got < 0) return FailRead(errno);
    if (got == 0) {
      EndStreamAt(at);
      return true;
    }
    at += static_cast<uint64_t>(got);
  }
  SetLoaded(at);
  if (at < size_) return true;
  error_ = absl::StrCat("has more than ", size_, " bytes, too many for a stream (stream-bytes)");
  return false;
}

bool ByteRegion::DiscardFromStream(uint64_t n) {
  auto scratch = std::make_unique<std::array<char, 16 * kPage>>();
  const auto begin = static_cast<uint64_t>(loaded_ - base_);
  for (uint64_t done = 0; done < n;) {
    const ssize_t got =
        ReadSome(fd_, scratch->data(), std::min<uint64_t>(n - done, scratch->size()));
    if (got < 0) return FailRead(errno);
    if (got == 0) {
      EndStreamAt(begin + done);
      error_ = absl::StrCat("truncated: it ends after ", size_, " bytes, inside of a field");
      return false;
    }
    done += static_cast<uint64_t>(got);
  }
  return true;
}

void ByteRegion::EndStreamAt(uint64_t size) {
  at_eof_ = true;
  size_ = size;
  SetLoaded(size);
}

bool ByteRegion::FailRead(int error_number) {
  error_ = absl::StrCat("cannot be read: ", std::strerror(error_number));
  return false;
}

void ByteRegion::SetLoaded(uint64_t offset) {
  loaded_ = base_ + offset + (offset == size_ ? kSlack : 0);
}

}  // namespace onnxflops::load
