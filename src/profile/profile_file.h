// A profile, or counters, in a file.
#ifndef ONNXFLOPS_SRC_PROFILE_PROFILE_FILE_H_
#define ONNXFLOPS_SRC_PROFILE_PROFILE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/profile/counters.h"
#include "src/profile/measured.h"
#include "src/profile/read_profile.h"

namespace onnxflops {

// "-" is standard input. Errors name the file.
absl::StatusOr<Profile> ReadProfileFile(const std::string& path,
                                        const ReadProfileOptions& options = {});

// The same of counters.
absl::StatusOr<Counters> ReadCountersFile(const std::string& path);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_PROFILE_PROFILE_FILE_H_
