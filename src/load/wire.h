// Protobuf's wire format, read forward from a ByteRegion with 64-bit lengths.
//
// A message is a loop over tags; each wire type has a function that reads the field's value:
//
//   while (wire.More(c)) {
//     uint32_t tag;
//     if (!wire.Tag(c, tag)) return false;
//     switch (tag) {
//       case Key(1, kLengthDelimited): if (!wire.Bytes(c, name)) return false; break;
//       default: if (!wire.SkipField(c, tag)) return false;
//     }
//   }
//
// Functions return false after an error. The reader keeps the first error. Files that protobuf's
// own parser refuses are refused (field number 0, numbers of more than ten bytes, messages that end
// inside a field). Groups are unknown fields, since ONNX uses none.
#ifndef ONNXFLOPS_SRC_LOAD_WIRE_H_
#define ONNXFLOPS_SRC_LOAD_WIRE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "protozero/types.hpp"
#include "protozero/varint.hpp"
#include "src/load/byte_region.h"

namespace onnxflops::load {

enum WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5
};

// A field's tag as written in the file.
constexpr uint32_t Key(uint32_t field, WireType type) { return field << 3 | type; }

// The current position in a message, and its end.
struct Cursor {
  const char* p;
  const char* end;
};

// Decodes a varint of at most ten bytes at `p`; nullptr if it is longer. All ten must be readable.
inline const char* DecodeVarint(const char* p, uint64_t& value) {
  const auto byte = [p](int i) { return static_cast<uint8_t>(p[i]); };
  if (ABSL_PREDICT_TRUE(byte(0) < 0x80)) {
    value = byte(0);
    return p + 1;
  }
  if (ABSL_PREDICT_TRUE(byte(1) < 0x80)) {
    value = (byte(0) & 0x7fu) | static_cast<uint64_t>(byte(1)) << 7;
    return p + 2;
  }
  int last = 2;
  while (byte(last) >= 0x80) {
    if (++last == protozero::max_varint_length) {
      value = 0;
      return nullptr;
    }
  }
  // Does not throw: the last byte was seen.
  value = protozero::decode_varint(&p, p + protozero::max_varint_length);
  return p;
}

class WireReader {
 public:
  explicit WireReader(ByteRegion* region) : region_(region) {}

  ByteRegion& region() { return *region_; }
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

  bool More(const Cursor& c) const { return c.p < c.end; }

  // Reads the next tag; the bytes after it are readable up to the longest number.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Tag(Cursor& c, uint32_t& tag) {
    if (ABSL_PREDICT_FALSE(region_->loaded() - c.p < ByteRegion::kSlack) &&
        !Load(c.p, ByteRegion::kSlack)) {
      return false;
    }
    const auto first = static_cast<uint8_t>(*c.p);
    if (ABSL_PREDICT_TRUE(first < 0x80)) {
      tag = first;
      ++c.p;
      return true;
    }
    const auto second = static_cast<uint8_t>(c.p[1]);
    if (ABSL_PREDICT_TRUE(second < 0x80)) {
      tag = (first & 0x7fu) | static_cast<uint32_t>(second) << 7;
      c.p += 2;
      return true;
    }
    const char* next = LongTag(c.p, tag);
    c.p = next != nullptr ? next : c.p;
    return next != nullptr;
  }

  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Varint(Cursor& c, uint64_t& value) {
    const char* next = DecodeVarint(c.p, value);
    if (ABSL_PREDICT_FALSE(next == nullptr || next > c.end)) return FailNumber(c);
    c.p = next;
    return true;
  }

  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Int64(Cursor& c, int64_t& value) {
    uint64_t bits;
    if (!Varint(c, bits)) return false;
    value = static_cast<int64_t>(bits);
    return true;
  }

  // As in protobuf, an int32 or enum is the low half of the written number.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Int32(Cursor& c, int32_t& value) {
    uint64_t bits;
    if (!Varint(c, bits)) return false;
    value = static_cast<int32_t>(static_cast<uint32_t>(bits));
    return true;
  }

  template <typename T>
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Fixed(Cursor& c, T& value) {
    value = 0;
    if (ABSL_PREDICT_FALSE(c.end - c.p < static_cast<ptrdiff_t>(sizeof(T)))) return FailNumber(c);
    std::memcpy(&value, c.p, sizeof(T));
    c.p += sizeof(T);
    return true;
  }

  // The length of a length-delimited field, checked against the end of its message.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Length(Cursor& c, uint64_t& length) {
    const char* begin = c.p;
    const auto first = static_cast<uint8_t>(*begin);
    if (ABSL_PREDICT_TRUE(first < 0x80 && c.end - begin > first)) {
      length = first;
      ++c.p;
      return true;
    }
    if (!Varint(c, length)) return false;
    if (ABSL_PREDICT_FALSE(length > static_cast<uint64_t>(c.end - c.p) || c.p - begin > 5)) {
      return CheckLongLength(c, begin, length);
    }
    return true;
  }

  // A string or bytes field, read.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Bytes(Cursor& c, absl::string_view& value) {
    uint64_t length;
    if (!Length(c, length) || !Need(c.p, length)) return false;
    value = absl::string_view(c.p, length);
    c.p += length;
    return true;
  }

  // A submessage: `c` moves after it, `sub` covers its content.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Message(Cursor& c, Cursor& sub) {
    uint64_t length;
    if (!Length(c, length)) return false;
    sub = {c.p, c.p + length};
    c.p += length;
    return true;
  }

  // A length-delimited field, not read.
  bool SkipBytes(Cursor& c) {
    uint64_t length;
    if (!Length(c, length)) return false;
    Skip(c, length);
    return true;
  }

  // The end of the consecutive fields with that tag from `c` on, limited to `most` bytes that have
  // already been read; `c.p` if not even the first fits.
  const char* EndOfRun(Cursor c, uint32_t tag, size_t most) const {
    const auto left = static_cast<size_t>(std::min(c.end, region_->loaded()) - c.p);
    const char* const last = c.p + std::min(left, most);
    while (More(c) && region_->loaded() - c.p >= ByteRegion::kSlack &&
           static_cast<uint8_t>(*c.p) == tag) {
      uint64_t length;
      const char* next = DecodeVarint(c.p + 1, length);
      if (next == nullptr || next > last || length > static_cast<uint64_t>(last - next)) break;
      c.p = next + length;
    }
    return c.p;
  }

  // Makes [p, p + n) readable.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Need(const char* p, uint64_t n) {
    if (ABSL_PREDICT_TRUE(region_->loaded() - p >= static_cast<ptrdiff_t>(n))) return true;
    return Load(p, n);
  }

  // Moves over bytes of the message that need not be read.
  void Skip(Cursor& c, uint64_t n) {
    skipped_ += n;
    c.p += n;
  }
  // Bytes moved over so far.
  uint64_t skipped() const { return skipped_; }

  // A field that this reader has no use for. Out of line, so `c` is handed over as a copy, which
  // lets the caller keep its own in registers.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool SkipField(Cursor& c, uint32_t tag) {
    Cursor copy = c;
    const bool skipped = SkipUnknown(copy, tag);
    c = copy;
    return skipped;
  }

  // Sets the error, unless there is one already. Always returns false, for use in a return
  // statement.
  bool Fail(absl::Status status);
  bool Fail(const std::string& message) { return Fail(absl::InvalidArgumentError(message)); }
  // Replaces the error by its cause.
  bool FailInstead(const std::string& message);
  // For a packed list whose length is not a multiple of its elements'.
  bool FailPacked(const char* p) {
    return FailWire(p, "begins a list that ends inside of a value");
  }
  // For a file that ends before the promised end of its last field.
  bool FailTruncated() { return FailWire(region_->end(), ""); }
  // Puts `context` and ": " before the error, unless it is one of the wire format, which has no use
  // for a name that may be damaged as well. Of nested contexts the innermost few count.
  bool AddContext(absl::string_view context);

 private:
  bool Load(const char* p, uint64_t n);
  bool SkipUnknown(Cursor& c, uint32_t tag);
  bool SkipGroup(Cursor& c, uint32_t tag);
  const char* LongTag(const char* p, uint32_t& tag);
  bool FailNumber(Cursor c);
  bool CheckLongLength(Cursor c, const char* begin, uint64_t length);
  bool FailWire(const char* p, absl::string_view what);
  uint64_t OffsetOf(const char* p) { return static_cast<uint64_t>(p - region_->begin()); }

  ByteRegion* const region_;
  uint64_t skipped_ = 0;
  absl::Status status_;
  bool wire_error_ = false;
  int contexts_ = 0;
};

}  // namespace onnxflops::load

#endif  // ONNXFLOPS_SRC_LOAD_WIRE_H_
