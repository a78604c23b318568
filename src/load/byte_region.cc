#include "src/load/byte_region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"

namespace onnxflops {
namespace {

constexpr uint64_t kPage = 4096;
// What is read at once: little after a gap, since another gap may follow, and then ever more. The
// largest bounds what is read in vain where a payload begins, and stays within a core's cache.
constexpr uint64_t kFirstWindow = 4 * kPage;
constexpr uint64_t kWindowAfterGap = kPage;
constexpr uint64_t kMaxWindow = 64 * kPage;

uint64_t RoundUpToPage(uint64_t n) { return (n + kPage - 1) / kPage * kPage; }

// Addresses for `bytes` bytes; memory is taken only as they are written.
char* Reserve(uint64_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : static_cast<char*>(address);
}

}  // namespace

ByteRegion::ByteRegion(Kind kind, int fd, const char* source, char* base, uint64_t size,
                       uint64_t reserved)
    : kind_(kind),
      fd_(fd),
      source_(source),
      base_(base),
      size_(size),
      reserved_(reserved),
      loaded_(base),
      window_(kFirstWindow) {}

ByteRegion::~ByteRegion() { munmap(base_, reserved_); }

absl::StatusOr<std::shared_ptr<ByteRegion>> ByteRegion::Create(Kind kind, int fd,
                                                               const char* source, uint64_t size) {
  uint64_t reserved = RoundUpToPage(size) + kPage;
  char* base = Reserve(reserved);
  // Where addresses are limited (ulimit -v), a stream makes do with fewer.
  while (base == nullptr && kind == Kind::kStream && size > kMaxWindow) {
    size /= 2;
    reserved = RoundUpToPage(size) + kPage;
    base = Reserve(reserved);
  }
  if (base == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot set aside addresses for its ", size, " bytes"));
  }
  return std::shared_ptr<ByteRegion>(new ByteRegion(kind, fd, source, base, size, reserved));
}

absl::StatusOr<std::shared_ptr<ByteRegion>> ByteRegion::OfFile(int fd, uint64_t size) {
  return Create(Kind::kFile, fd, nullptr, size);
}

absl::StatusOr<std::shared_ptr<ByteRegion>> ByteRegion::OfStream(int fd) {
  return Create(Kind::kStream, fd, nullptr, kMaxStreamBytes);
}

absl::StatusOr<std::shared_ptr<ByteRegion>> ByteRegion::OfBytes(absl::string_view bytes) {
  return Create(Kind::kBytes, -1, bytes.data(), bytes.size());
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
  if (kind_ == Kind::kStream && begin > loaded && !DiscardFromStream(begin - loaded)) return false;
  if (!Fill(begin, need, end)) return false;
  window_ = std::min(2 * window_, kMaxWindow);
  return true;
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
    const ssize_t got = read(fd_, base_ + at, end - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailRead(errno);
    if (got == 0) {
      EndStreamAt(at);
      return true;
    }
    at += static_cast<uint64_t>(got);
  }
  SetLoaded(at);
  if (at < size_) return true;
  error_ = absl::StrCat("has more than ", size_, " bytes, too many for a stream (kMaxStreamBytes)");
  return false;
}

bool ByteRegion::DiscardFromStream(uint64_t n) {
  auto scratch = std::make_unique<std::array<char, 16 * kPage>>();
  const auto begin = static_cast<uint64_t>(loaded_ - base_);
  for (uint64_t done = 0; done < n;) {
    const ssize_t got = read(fd_, scratch->data(), std::min<uint64_t>(n - done, scratch->size()));
    if (got < 0 && errno == EINTR) continue;
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

}  // namespace onnxflops
