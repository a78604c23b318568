#include "src/load/looks_like_model.h"

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "src/base/limits.h"
#include "src/base/platform/posix.h"
#include "src/load/byte_region.h"
#include "src/load/wire.h"

namespace onnxflops {

namespace load {
namespace {

bool HasVersionAndGraph(ByteRegion* region) {
  WireReader wire(region);
  Cursor c = {region->begin(), region->end()};
  bool has_version = false, has_graph = false;
  for (int i = 0; i < kMaxProbedFields && wire.More(c) && !(has_version && has_graph); ++i) {
    uint32_t tag;
    if (!wire.Tag(c, tag)) return false;
    int64_t version = 0;
    bool read = false;
    if (tag == Key(1, kVarint)) {
      read = wire.Int64(c, version);
      has_version = version > 0;
    } else {
      has_graph |= tag == Key(7, kLengthDelimited);
      read = wire.SkipField(c, tag);
    }
    if (!read) break;
  }
  return has_version && has_graph;
}

}  // namespace
}  // namespace load

bool LooksLikeModel(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0 || info.st_size <= 0) return false;
  const absl::StatusOr<std::unique_ptr<load::ByteRegion>> region =
      load::ByteRegion::OfFile(fd, static_cast<uint64_t>(info.st_size));
  return region.ok() && load::HasVersionAndGraph(region->get());
}

}  // namespace onnxflops
