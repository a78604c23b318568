#include "src/api/official_bodies.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "src/api/official_program.h"
#include "src/base/platform/platform.h"
#include "src/base/status_macros.h"

namespace onnxflops {
namespace {

absl::Status Failed(absl::string_view what) {
  return absl::UnknownError(absl::StrCat(what, ": ", std::strerror(errno)));
}

absl::Status SendAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("cannot write to a file without a name");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAll(int fd) {
  std::string bytes;
  std::array<char, 1 << 16> block;
  while (true) {
    const ssize_t n = read(fd, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("cannot read from a pipe");
    if (n == 0) return bytes;
    bytes.append(block.data(), static_cast<size_t>(n));
  }
}

}  // namespace

absl::StatusOr<std::string> OfficialBodies::Find(absl::string_view request) const {
  // A file, not a pipe: the other may begin to answer before it has read everything.
  const int fd = platform::MakeUnnamedFile();
  if (fd < 0) return Failed("cannot make a file without a name");
  const absl::Cleanup close_file = [fd] { close(fd); };
  RETURN_IF_ERROR(SendAll(fd, request));
  if (lseek(fd, 0, SEEK_SET) != 0) return Failed("cannot seek in a file without a name");
  ASSIGN_OR_RETURN(OfficialProgram program, OfficialProgram::Start({"bodies"}, fd));
  ASSIGN_OR_RETURN(std::string answer, ReadAll(program.output()));
  RETURN_IF_ERROR(program.Finish());
  return answer;
}

const FunctionBodySource* InstalledBodies() {
  static const OfficialBodies bodies;
  return &bodies;
}

}  // namespace onnxflops
