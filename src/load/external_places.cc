#include "src/load/external_places.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/platform/posix.h"
#include "src/load/byte_region.h"
#include "src/load/input_file.h"
#include "src/load/wire.h"

namespace onnxflops {
namespace load {
namespace {

class PlaceReader {
 public:
  explicit PlaceReader(ByteRegion* region) : wire_(region) {}

  std::map<std::string, ExternalPlace> Read() {
    ForEach({wire_.region().begin(), wire_.region().end()}, [&](uint32_t graph, Cursor& c) {
      if (graph != Key(kGraph, kLengthDelimited)) return wire_.SkipField(c, graph);
      return ForEachIn(c, [&](uint32_t tensor, Cursor& at) {
        if (tensor != Key(kInitializer, kLengthDelimited)) return wire_.SkipField(at, tensor);
        return ReadTensor(at);
      });
    });
    return wire_.ok() ? std::move(places_) : std::map<std::string, ExternalPlace>();
  }

 private:
  // Fields of ModelProto, GraphProto, TensorProto and StringStringEntryProto.
  static constexpr uint32_t kGraph = 7, kInitializer = 5, kTensorName = 8, kExternalData = 13;
  static constexpr uint32_t kEntryKey = 1, kEntryValue = 2;

  // `use` reads a field, and returns false after an error.
  template <typename Use>
  bool ForEach(Cursor c, const Use& use) {
    while (wire_.More(c)) {
      uint32_t tag;
      if (!wire_.Tag(c, tag) || !use(tag, c)) return false;
    }
    return true;
  }
  // The same for the submessage at `c`.
  template <typename Use>
  bool ForEachIn(Cursor& c, const Use& use) {
    Cursor sub;
    return wire_.Message(c, sub) && ForEach(sub, use);
  }

  bool ReadTensor(Cursor& c) {
    absl::string_view name;
    ExternalPlace place = {"", "0"};
    const bool is_read = ForEachIn(c, [&](uint32_t tag, Cursor& at) {
      if (tag == Key(kTensorName, kLengthDelimited)) return wire_.Bytes(at, name);
      if (tag != Key(kExternalData, kLengthDelimited)) return wire_.SkipField(at, tag);
      return ReadEntry(at, &place);
    });
    if (!place.first.empty()) places_.emplace(name, std::move(place));
    return is_read;
  }

  bool ReadEntry(Cursor& c, ExternalPlace* place) {
    absl::string_view key, value;
    const bool is_read = ForEachIn(c, [&](uint32_t tag, Cursor& at) {
      if (tag == Key(kEntryKey, kLengthDelimited)) return wire_.Bytes(at, key);
      if (tag == Key(kEntryValue, kLengthDelimited)) return wire_.Bytes(at, value);
      return wire_.SkipField(at, tag);
    });
    if (key == "location") place->first = std::string(value);
    if (key == "offset") place->second = std::string(value);
    return is_read;
  }

  WireReader wire_;
  std::map<std::string, ExternalPlace> places_;
};

}  // namespace
}  // namespace load

std::map<std::string, ExternalPlace> ExternalPlaces(const std::string& path) {
  const absl::StatusOr<int> fd = OpenForReading(path);
  if (!fd.ok()) return {};
  const absl::Cleanup close_file = [fd = *fd] { close(fd); };
  struct stat info;
  if (fstat(*fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return {};
  const absl::StatusOr<std::unique_ptr<load::ByteRegion>> region =
      load::ByteRegion::OfFile(*fd, static_cast<uint64_t>(info.st_size));
  if (!region.ok()) return {};
  return load::PlaceReader(region->get()).Read();
}

}  // namespace onnxflops
