// How bytes get into files, pipes and devices.
#ifndef ONNXFLOPS_TOOLS_CLI_WRITE_FILE_H_
#define ONNXFLOPS_TOOLS_CLI_WRITE_FILE_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onnxflops::tools {

// Errors of all of these say what went wrong, and do not name the file.

// What the system says of an errno.
absl::Status FromErrno(int error);

// Writes all of `text` to an open descriptor. When the reader of a pipe has gone, the program ends
// with SIGPIPE and without a message, as other Unix programs do.
absl::Status WriteAll(int fd, absl::string_view text);

// Writes what a file is to hold to an open descriptor. It may be called twice, for another
// descriptor.
using FileFiller = absl::FunctionRef<absl::Status(int fd)>;

// Puts a file that holds what `fill` writes in the place of `path`, in one step. It keeps the
// permissions of the file that was there, and its owner and group where the system allows it.
// Errors and signals leave the old file, or none if there was none, and no other file: the bytes go
// to a file without a name (O_TMPFILE). Where the filesystem has none, to a temporary file, while
// all signals wait.
absl::Status ReplaceFile(const std::string& path, FileFiller fill);

// Adds `text` at the end of a file, which is made if it is not there. An error leaves what it held.
absl::Status AppendToFile(const std::string& path, absl::string_view text);

// Writes to a named pipe or a device. A pipe that no program reads from is an error after
// kMaxPipeWaitMs.
absl::Status WriteToDevice(const std::string& path, FileFiller fill);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_WRITE_FILE_H_
