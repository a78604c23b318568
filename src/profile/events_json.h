// Profiles in JSON: a list of events, or an object with the list as "traceEvents".
#ifndef ONNXFLOPS_SRC_PROFILE_EVENTS_JSON_H_
#define ONNXFLOPS_SRC_PROFILE_EVENTS_JSON_H_

#include "absl/status/statusor.h"
#include "src/base/byte_reader.h"
#include "src/profile/measured.h"
#include "src/profile/read_profile.h"

namespace onnxflops::profile {

// Reads events of ONNX Runtime or of TensorRT; their fields decide which. A file that ends in the
// middle gives the events before, with a warning. Errors do not name the file.
absl::StatusOr<Profile> ReadEventsJson(ByteReader* bytes, const ReadProfileOptions& options);

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_EVENTS_JSON_H_
