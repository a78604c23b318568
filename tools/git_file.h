// Files of a git repository as they were at a revision.
#ifndef ONNXFLOPS_TOOLS_GIT_FILE_H_
#define ONNXFLOPS_TOOLS_GIT_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace onnxflops::tools {

// The bytes of a file at a revision, from the git program; `path` is relative to the working
// directory, and the file need not exist there. Errors: NotFound if the revision does not have it;
// InvalidArgument if there is no such revision, no repository or no git; OutOfRange above
// kMaxTextBytes.
absl::StatusOr<std::string> ReadGitFile(const std::string& revision, const std::string& path);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_GIT_FILE_H_
