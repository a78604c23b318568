#include "src/api/load.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "src/api/official_program.h"
#include "src/api/text_forms.h"
#include "src/base/limit_error.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/input_file.h"
#include "src/load/load.h"

namespace onnxflops {
namespace {

// The first bytes that a pipe has or will have, left in it. Blocks until there are some.
size_t PeekPipe(int fd, char* bytes, size_t size) {
  int copy[2];
  if (pipe2(copy, O_CLOEXEC) != 0) return 0;
  const absl::Cleanup close_both = [&] {
    close(copy[0]);
    close(copy[1]);
  };
  pollfd one = {fd, POLLIN, 0};
  poll(&one, 1, -1);  // tee() would not wait in a pipe that another program made non-blocking
  const ssize_t there = tee(fd, copy[1], size, 0);
  const ssize_t n = there > 0 ? read(copy[0], bytes, static_cast<size_t>(there)) : 0;
  return n > 0 ? static_cast<size_t>(n) : 0;
}

TextForm FormOfStandardInput() {
  std::array<char, kTextFormPrefix> bytes;
  struct stat info;
  if (fstat(STDIN_FILENO, &info) != 0) return TextForm::kNone;
  size_t size = 0;
  if (S_ISREG(info.st_mode)) {
    const off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    const ssize_t n = at < 0 ? 0 : pread(STDIN_FILENO, bytes.data(), bytes.size(), at);
    size = n > 0 ? static_cast<size_t>(n) : 0;
  } else if (S_ISFIFO(info.st_mode)) {
    size = PeekPipe(STDIN_FILENO, bytes.data(), bytes.size());
  }
  return TextFormOfBytes(absl::string_view(bytes.data(), size));
}

absl::Status Named(absl::string_view name, const absl::Status& status) {
  if (status.ok()) return status;
  return WithMessage(status, absl::StrCat(Escaped(name), ": ", status.message()));
}

absl::StatusOr<Model> LoadText(TextForm form, int fd, absl::string_view name,
                               const Limits& limits) {
  absl::StatusOr<OfficialProgram> program =
      OfficialProgram::Start({"text", NameOf(form), absl::StrCat(limits.text_bytes)}, fd);
  if (!program.ok()) return Named(name, program.status());
  absl::StatusOr<Model> model = LoadFromStream(program->output(), name);
  // It writes nothing if it finds a fault, so that one is why there is no model.
  RETURN_IF_ERROR(Named(name, program->Finish()));
  return model;
}

}  // namespace

absl::StatusOr<Model> Load(absl::string_view path, const Limits& limits) {
  if (path == "-") {
    const TextForm form = FormOfStandardInput();
    if (form == TextForm::kNone) return LoadFile(path);
    return LoadText(form, STDIN_FILENO, "standard input", limits);
  }
  const TextForm form = TextFormOfFile(path);
  if (form == TextForm::kNone) return LoadFile(path);
  const absl::StatusOr<int> fd = OpenForReading(path);
  if (!fd.ok()) return Named(path, fd.status());
  const absl::Cleanup close_file = [fd = *fd] { close(fd); };
  struct stat info;
  if (fstat(*fd, &info) != 0 || S_ISDIR(info.st_mode)) return LoadFile(path);  // which says why not
  return LoadText(form, *fd, path, limits);
}

}  // namespace onnxflops
