// Files of a git repository as they were at a revision, and which one is checked out.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_GIT_FILE_H_
#define ONNXFLOPS_TOOLS_COMMANDS_GIT_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace onnxflops::tools {

// Opens a file as it was at a revision, using the git program; the caller closes it. `path` is
// relative to the working directory, and the file need not exist there. Symbolic links are followed
// within the repository. If the revision has a Git LFS pointer, the object in the repository's
// store is opened. Whatever the repository's
// configuration says, git runs no program and opens no connection: a missing object is not fetched.
// Errors: NotFound if the revision does not have the file; InvalidArgument if there is no such
// revision, object, repository or git; OutOfRange above kMaxTextBytes.
absl::StatusOr<int> OpenGitFile(const std::string& revision, const std::string& path);

// The hash of the commit that is checked out in the repository of a file; "" if git finds none:
// outside a repository, before its first commit, without git. Like OpenGitFile it runs no program
// of the repository.
std::string HeadCommit(const std::string& path);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_GIT_FILE_H_
