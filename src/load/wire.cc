#include "src/load/wire.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"

namespace onnxflops::load {
namespace {

constexpr int kMaxContexts = 2;  // an attribute and its node

}  // namespace

bool WireReader::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
  return false;
}

bool WireReader::FailInstead(const std::string& message) {
  if (wire_error_) return false;
  contexts_ = 0;
  status_ = absl::InvalidArgumentError(message);
  return false;
}

bool WireReader::AddContext(absl::string_view context) {
  if (!wire_error_ && !status_.ok() && contexts_ < kMaxContexts) {
    ++contexts_;
    status_ = WithMessage(status_, absl::StrCat(context, ": ", status_.message()));
  }
  return false;
}

bool WireReader::FailWire(const char* p, absl::string_view what) {
  if (!status_.ok()) return false;
  wire_error_ = true;
  if (region_->size_known() && p >= region_->end()) {
    return Fail(
        absl::StrCat("truncated: it ends after ", region_->size(), " bytes, inside of a field"));
  }
  return Fail(absl::StrCat("damaged, or not an ONNX model: byte ", OffsetOf(p), " ", what));
}

bool WireReader::Load(const char* p, uint64_t n) {
  if (region_->Load(p, n)) {
    // For a stream, the end may just have been found before the promised end of the field.
    if (p + n <= region_->loaded()) return true;
    return FailWire(region_->end(), "");
  }
  wire_error_ = true;
  return Fail(region_->error());
}

const char* WireReader::LongTag(const char* p, uint32_t& tag) {
  // Protobuf reads at most five bytes of a tag and keeps 32 bits.
  uint64_t bits;
  const char* next = DecodeVarint(p, bits);
  tag = static_cast<uint32_t>(bits);
  if (next != nullptr && next - p <= 5) return next;
  FailWire(p, "begins no field");
  return nullptr;
}

bool WireReader::FailNumber(Cursor c) {
  if (c.p >= c.end || c.end >= region_->end()) return FailWire(c.end, "ends inside of a number");
  return FailWire(c.p, "begins a number that does not end");
}

bool WireReader::CheckLongLength(Cursor c, const char* begin, uint64_t length) {
  const auto left = static_cast<uint64_t>(c.end - c.p);
  if (length > left) {
    if (region_->size_known() && c.end == region_->end()) {
      wire_error_ = status_.ok();
      return Fail(absl::StrCat("truncated: the field at byte ", OffsetOf(begin), " has ", length,
                               " bytes, the file only ", left, " more"));
    }
    return FailWire(begin, absl::StrCat("begins a field of ", length,
                                        " bytes in a message that has only ", left, " more"));
  }
  // Protobuf refuses lengths of more than five bytes; here they are for lengths that need them.
  if (length < uint64_t{1} << 35) return FailWire(begin, "begins a length of too many bytes");
  return true;
}

bool WireReader::SkipUnknown(Cursor& c, uint32_t tag) {
  if (tag >> 3 == 0) return FailWire(c.p, "follows a field of number 0");
  uint64_t number;
  switch (tag & 7) {
    case kVarint:
      return Varint(c, number);
    case kFixed64:
      return Fixed(c, number);
    case kLengthDelimited:
      return SkipBytes(c);
    case kFixed32: {
      uint32_t half;
      return Fixed(c, half);
    }
    case kGroup:
      return SkipGroup(c, tag);
    case kEndGroup:
      return FailWire(c.p, "follows the end of a group that does not begin");
    default:
      return FailWire(c.p, "follows a field of a kind that protobuf does not have");
  }
}

// A group ends at the tag of its own number. Not recursive, because the file decides the depth of
// groups.
bool WireReader::SkipGroup(Cursor& c, uint32_t tag) {
  std::vector<uint32_t> open = {tag >> 3};
  while (!open.empty()) {
    if (!More(c)) return FailWire(c.end, "is the end of a message inside of a group");
    if (!Tag(c, tag)) return false;
    if (c.p > c.end) return FailWire(c.end, "is the end of a message inside of a field");
    if ((tag & 7) == kGroup && tag >> 3 != 0) {
      if (open.size() == static_cast<size_t>(kMaxIgnoredNesting)) {
        return Fail(LimitError("ignored-nesting",
                               absl::StrCat("groups are nested more than ", kMaxIgnoredNesting,
                                            " deep (ignored-nesting)")));
      }
      open.push_back(tag >> 3);
    } else if ((tag & 7) == kEndGroup && tag >> 3 == open.back()) {
      open.pop_back();
    } else if (!SkipUnknown(c, tag)) {
      return false;
    }
  }
  return true;
}

}  // namespace onnxflops::load
