// How it works. The kind of an input must be known before it is read: an ONNX model, a text form of
// one, or a configuration. So the first bytes are looked at without consuming them. A text form is
// recognised by the extension of the file, or on standard input by its bytes. The program
// onnxflops-official turns it into the bytes of a model. JSON that is not a text form is a
// configuration. Everything else is loaded as ONNX. A folder stands for the configuration in it. A
// path that is not a regular file is opened only once, since a named pipe cannot be opened twice.
#include "src/api/load.h"

#include <array>
#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/api/official_program.h"
#include "src/api/text_forms.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/family/family.h"
#include "src/load/input_file.h"
#include "src/load/load_file.h"

namespace onnxflops {
namespace {

constexpr const char* kConfigNames[] = {"config.json", "open_clip_config.json"};

// The first bytes of a file or a pipe, which stay to be read.
std::string Peek(int fd) {
  std::string bytes(kTextFormPrefix, '\0');
  struct stat info;
  if (fstat(fd, &info) != 0) return "";
  size_t size = 0;
  if (S_ISREG(info.st_mode)) {
    const off_t at = lseek(fd, 0, SEEK_CUR);
    const ssize_t n = at < 0 ? 0 : pread(fd, bytes.data(), bytes.size(), at);
    size = n > 0 ? static_cast<size_t>(n) : 0;
  } else if (S_ISFIFO(info.st_mode)) {
    size = platform::PeekPipe(fd, bytes.data(), bytes.size(), kMaxStreamBytes);
  }
  bytes.resize(size);
  return bytes;
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
  // The program writes nothing if it finds a fault, so that fault is the reason.
  RETURN_IF_ERROR(Named(name, program->Finish()));
  return model;
}

absl::StatusOr<std::string> ReadConfig(int fd, absl::string_view name) {
  std::string text;
  std::array<char, size_t{1} << 14> part;
  ssize_t n = 0;
  // One byte beyond the limit shows that the file is too large.
  while (text.size() <= kMaxConfigBytes && (n = ReadSome(fd, part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<size_t>(n));
  }
  if (n < 0) return Named(name, absl::UnknownError("cannot be read"));
  return text;
}

using Side = std::optional<int64_t>;  // of a square image

absl::StatusOr<Model> LoadConfigFrom(int fd, absl::string_view name, Side side) {
  ASSIGN_OR_RETURN(const std::string text, ReadConfig(fd, name));
  return LoadConfig(text, name, side);
}

// The size in a shape [batch, channels, size, size] of --input. Images of a configuration are
// square.
Side SideOf(const CountOptions& options) {
  if (options.image_size && options.image_size->height == options.image_size->width) {
    return options.image_size->height;
  }
  constexpr size_t kImageRank = 4;
  for (const char* name : {"pixel_values", "image"}) {
    const auto shape = options.input_shapes.find(name);
    if (shape == options.input_shapes.end() || shape->second.size() != kImageRank) continue;
    const Side height = shape->second[2].AsInt64(), width = shape->second[3].AsInt64();
    if (height == width && height >= 1 && height <= kMaxConfigSize) return height;
  }
  return std::nullopt;
}

// The configuration in a folder, or the folder itself.
std::string ConfigIn(absl::string_view path) {
  struct stat info;
  if (stat(std::string(path).c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return std::string(path);
  }
  for (const char* name : kConfigNames) {
    std::string file = absl::StrCat(path, absl::EndsWith(path, "/") ? "" : "/", name);
    if (stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode)) return file;
  }
  return std::string(path);
}

absl::StatusOr<Model> LoadStandardInput(const Limits& limits, Side side) {
  const std::string beginning = Peek(STDIN_FILENO);
  if (IsOtherJson(beginning)) return LoadConfigFrom(STDIN_FILENO, "standard input", side);
  const TextForm form = TextFormOfBytes(beginning);
  if (form == TextForm::kNone) return LoadFile("-");
  return LoadText(form, STDIN_FILENO, "standard input", limits);
}

absl::StatusOr<Model> LoadForm(int fd, absl::string_view path, bool is_file, const Limits& limits,
                               Side side) {
  // A named pipe can be opened once only.
  const std::string beginning = Peek(fd);
  if (IsOtherJson(beginning)) return LoadConfigFrom(fd, path, side);
  const bool is_config = absl::c_any_of(kConfigNames, [&](const char* name) {
    return path == name || absl::EndsWith(path, absl::StrCat("/", name));
  });
  if (is_config && absl::StartsWith(absl::StripLeadingAsciiWhitespace(beginning), "[")) {
    return Named(path, absl::InvalidArgumentError("it should be a JSON object"));
  }
  const TextForm form = TextFormOfFile(path);
  if (form == TextForm::kNone) return is_file ? LoadFile(path) : LoadFromStream(fd, path);
  return LoadText(form, fd, path, limits);
}

absl::StatusOr<Model> LoadAny(absl::string_view path, const Limits& limits, Side side) {
  if (path == "-") return LoadStandardInput(limits, side);
  const std::string file = ConfigIn(path);
  path = file;
  const absl::StatusOr<int> fd = OpenForReading(path);
  if (!fd.ok()) return Named(path, fd.status());
  const absl::Cleanup close_file = [fd = *fd] { close(fd); };
  struct stat info;
  if (fstat(*fd, &info) != 0 || S_ISDIR(info.st_mode))
    return LoadFile(path);  // this gives the error
  return LoadForm(*fd, path, S_ISREG(info.st_mode), limits, side);
}

}  // namespace

absl::StatusOr<Model> Load(absl::string_view path, const Limits& limits) {
  return LoadAny(path, limits, std::nullopt);
}

absl::StatusOr<Model> LoadFor(absl::string_view path, const CountOptions& options) {
  return LoadAny(path, options.limits, SideOf(options));
}

absl::StatusOr<Model> LoadOpen(int fd, absl::string_view path, const CountOptions& options) {
  return LoadForm(fd, path, false, options.limits, SideOf(options));
}

absl::StatusOr<std::string> ConfigFileToOnnx(absl::string_view path, absl::string_view saved) {
  const std::string file = ConfigIn(path);
  const absl::StatusOr<int> fd = OpenForReading(file);
  if (!fd.ok()) return Named(file, fd.status());
  const absl::Cleanup close_file = [fd = *fd] { close(fd); };
  if (!IsOtherJson(Peek(*fd))) {
    return Named(file,
                 absl::InvalidArgumentError("is not the config.json of a known model family"));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadConfig(*fd, file));
  return ConfigToOnnx(text, file, saved.substr(saved.rfind('/') + 1));
}

}  // namespace onnxflops
