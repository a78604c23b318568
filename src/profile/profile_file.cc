#include "src/profile/profile_file.h"

#include <cstddef>
#include <type_traits>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/platform/posix.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/input_file.h"

namespace onnxflops {
namespace {

absl::StatusOr<int> OpenProfile(const std::string& path) {
  absl::StatusOr<int> fd = OpenForReading(path);
  if (!fd.ok()) {
    return absl::Status(fd.status().code(),
                        absl::StrCat(Escaped(path), ": ", fd.status().message()));
  }
  struct stat info;
  if (fstat(*fd, &info) == 0 && !S_ISDIR(info.st_mode)) return fd;
  close(*fd);
  return absl::InvalidArgumentError(absl::StrCat(Escaped(path), ": is a directory, not a file"));
}

// Hands the bytes of a file to `read`, with its name.
template <typename Read>
std::invoke_result_t<Read, ByteSource, absl::string_view> ReadOpened(const std::string& path,
                                                                     Read read) {
  const bool is_input = path == "-";
  int fd = STDIN_FILENO;
  if (!is_input) {
    ASSIGN_OR_RETURN(fd, OpenProfile(path));
  }
  const absl::Cleanup close_file = [fd, is_input] {
    if (!is_input) close(fd);
  };
  const auto source = [fd](char* bytes, size_t size) { return ReadSome(fd, bytes, size); };
  return read(source, is_input ? "standard input" : path);
}

}  // namespace

absl::StatusOr<Profile> ReadProfileFile(const std::string& path,
                                        const ReadProfileOptions& options) {
  return ReadOpened(path, [&](ByteSource source, absl::string_view name) {
    return ReadProfile(source, name, options);
  });
}

absl::StatusOr<Counters> ReadCountersFile(const std::string& path) {
  return ReadOpened(
      path, [](ByteSource source, absl::string_view name) { return ReadCounters(source, name); });
}

}  // namespace onnxflops
