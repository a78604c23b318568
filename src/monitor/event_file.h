// Event files as TensorBoard reads them.
//
//   std::string bytes = EventFileHeader(now) + EventRecord(20, now, {{"perf/mfu", 0.41}});
//
// A file is records of TFRecord (a length, its checksum, data, its checksum: CRC-32C, masked), each
// an Event of tensorflow/core/util/event.proto: wall_time = 1, step = 2, file_version = 3, summary
// = 5; a summary is a list of values (1), each a tag (1) and a simple_value (2).
#ifndef ONNXFLOPS_SRC_MONITOR_EVENT_FILE_H_
#define ONNXFLOPS_SRC_MONITOR_EVENT_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onnxflops {

uint32_t Crc32c(absl::string_view bytes);
// The header of a file. `wall_time` is in seconds since 1970.
std::string EventFileHeader(double wall_time);
std::string EventRecord(int64_t step, double wall_time,
                        absl::Span<const std::pair<absl::string_view, double>> figures);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_MONITOR_EVENT_FILE_H_
