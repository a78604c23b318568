// Replacements for Linux functions that WebAssembly lacks or does differently.
#include <utility>

#include "absl/debugging/stacktrace.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "src/api/official_bodies.h"
#include "src/api/official_program.h"

// There is one thread.
namespace absl {
ABSL_NAMESPACE_BEGIN
Mutex::~Mutex() = default;
void Mutex::Lock() {}
void Mutex::Unlock() {}
int GetStackTrace(void**, int, int) { return 0; }
namespace base_internal {
int NumCPUs();
int NumCPUs() { return 1; }
}  // namespace base_internal
ABSL_NAMESPACE_END
}  // namespace absl

namespace onnxflops {

absl::StatusOr<OfficialProgram> OfficialProgram::Start(const std::vector<std::string>&, int) {
  return absl::FailedPreconditionError(
      "text models need onnxflops-official, which a page cannot run: use the command line");
}
OfficialProgram::OfficialProgram(OfficialProgram&& other) noexcept
    : program_(other.program_), output_(other.output_), errors_(other.errors_) {}
OfficialProgram::~OfficialProgram() = default;
absl::Status OfficialProgram::Finish() { return absl::OkStatus(); }

absl::StatusOr<std::string> OfficialBodies::Find(absl::string_view) const {
  return absl::FailedPreconditionError("not installed");
}
const FunctionBodySource* InstalledBodies() {
  static const OfficialBodies bodies;
  return &bodies;
}

}  // namespace onnxflops
