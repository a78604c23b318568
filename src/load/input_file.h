// Opens and reads the files that a user names.
#ifndef ONNXFLOPS_SRC_LOAD_INPUT_FILE_H_
#define ONNXFLOPS_SRC_LOAD_INPUT_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnxflops {

// Opens `path` for reading. The caller closes the descriptor. Errors do not name the path.
//
// A named pipe that no program opens for writing is an error after kMaxPipeWaitMs. A writer that is
// there may take as long as it likes.
absl::StatusOr<int> OpenForReading(absl::string_view path);

// read(), which also waits where another program made the descriptor non-blocking.
ssize_t ReadSome(int fd, char* bytes, size_t size);

// The text of a file other than a device, up to `most` + 1 bytes. Errors do not name the file.
absl::StatusOr<std::string> ReadTextFile(const std::string& file, size_t most);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_LOAD_INPUT_FILE_H_
