// Reads profiles in pieces: memory grows with the number of kernels and the longest run, not with
// the file.
//
// ONNX Runtime: the JSON of SessionOptions.enable_profiling (tested with 1.31.1). An event of
// category "Node" named X_kernel_time is an execution of node X. Events of a body are written
// before that of their Loop or If, and lie within its time.
//
// TensorRT: the JSON of trtexec --exportProfile. OpenVINO: the CSV of benchmark_app -report_type
// detailed_counters. Both as documented.
//
// Errors name the file and the position: InvalidArgument for any other file, or a negative time;
// OutOfRange for a limit.
#ifndef ONNXFLOPS_SRC_PROFILE_READ_PROFILE_H_
#define ONNXFLOPS_SRC_PROFILE_READ_PROFILE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/byte_reader.h"
#include "src/profile/measured.h"

namespace onnxflops {

struct ReadProfileOptions {
  bool events = false;  // fill in Profile::events
};

absl::StatusOr<Profile> ReadProfile(ByteSource source, absl::string_view name,
                                    const ReadProfileOptions& options = {});
absl::StatusOr<Profile> ReadProfileText(absl::string_view text, absl::string_view name,
                                        const ReadProfileOptions& options = {});

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_PROFILE_READ_PROFILE_H_
