// What the library asks of Linux, and WebAssembly has in another way or not at all.
#include <cerrno>
#include <utility>

#include "absl/debugging/stacktrace.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "src/api/official_bodies.h"
#include "src/api/official_program.h"
#include "src/load/address_range.h"

// There are no pipes and no other programs.
int pipe2(int*, int) { return errno = ENOSYS, -1; }
ssize_t tee(int, int, size_t, unsigned) { return errno = ENOSYS, -1; }
int memfd_create(const char*, unsigned) { return errno = ENOSYS, -1; }
extern "C" unsigned long getauxval(unsigned long) { return 0; }

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
    : pid_(other.pid_), output_(other.output_), errors_(other.errors_) {}
OfficialProgram::~OfficialProgram() = default;
absl::Status OfficialProgram::Finish() { return absl::OkStatus(); }

absl::StatusOr<std::string> OfficialBodies::Find(absl::string_view) const {
  return absl::FailedPreconditionError("not installed");
}
const FunctionBodySource* InstalledBodies() {
  static const OfficialBodies bodies;
  return &bodies;
}

namespace load {

// Memory that grows is zero, and takes room only where it is touched: payloads never are. It is not
// given back; each call of the page has an instance of its own.
AddressRange AddressRange::Reserve(uint64_t bytes) {
  constexpr uint64_t kPage = 65536;
  AddressRange range;
  const uint64_t pages = (bytes + kPage - 1) / kPage;
  if (pages > 65535) return range;
  const size_t at = __builtin_wasm_memory_grow(0, pages);
  if (at == SIZE_MAX) return range;
  range.begin_ = reinterpret_cast<char*>(at * kPage);
  range.bytes_ = pages * kPage;
  return range;
}

AddressRange::AddressRange(AddressRange&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

AddressRange& AddressRange::operator=(AddressRange&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

AddressRange::~AddressRange() = default;

void UseHugePages(void*, uint64_t) {}

}  // namespace load
}  // namespace onnxflops
