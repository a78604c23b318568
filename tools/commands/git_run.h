// Runs git in a repository that a stranger may have written.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_GIT_RUN_H_
#define ONNXFLOPS_TOOLS_COMMANDS_GIT_RUN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/platform/posix.h"

namespace onnxflops::tools {

// An open file.
struct OpenFile {
  int fd = -1;
  explicit OpenFile(int open_fd) : fd(open_fd) {}
  OpenFile(OpenFile&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
};

// The output of git, and whether it succeeded.
struct GitRun {
  OpenFile output;
  bool ok = false;
};

// Runs git in a folder. Whatever the repository's configuration says, git starts no program and
// opens no connection: a missing object is not fetched. Errors: InvalidArgument if git cannot be
// run.
absl::StatusOr<GitRun> RunGit(const std::string& folder, const std::vector<std::string>& words);

// The same with an input. `read` gets the output as a pipe, while git writes it, and may leave some
// of it unread.
absl::Status PipeFromGit(const std::string& folder, const std::vector<std::string>& words,
                         const std::string& input, absl::FunctionRef<void(int)> read);

// The first bytes, without the white space around them. They stay to be read.
std::string Beginning(const OpenFile& file);

// The whole output; OutOfRange above `most` bytes.
absl::StatusOr<std::string> AllOf(const OpenFile& file, size_t most);

// The folder of a file, or the nearest one above that exists: the revision may have others.
std::string ExistingFolder(const std::string& path);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_GIT_RUN_H_
