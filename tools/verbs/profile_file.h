// A profile in a file that a call names.
#ifndef ONNXFLOPS_TOOLS_VERBS_PROFILE_FILE_H_
#define ONNXFLOPS_TOOLS_VERBS_PROFILE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/profile/counters.h"
#include "src/profile/profile.h"
#include "src/profile/read_profile.h"

namespace onnxflops::tools {

// "-" is standard input. Errors name the file.
absl::StatusOr<Profile> ReadProfileFile(const std::string& path,
                                        const ReadProfileOptions& options = {});

// The same of --counters.
absl::StatusOr<Counters> ReadCountersFile(const std::string& path);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_VERBS_PROFILE_FILE_H_
