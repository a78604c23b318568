// How it works. An output is written completely or not at all: into a temporary file next to the
// target, which then replaces it. Before that, all that -o may name is told apart. "-" and
// /dev/fd/N are open descriptors; symbolic links are followed by hand, so that the link stays and
// its target is replaced; devices are written directly.
//
// A file that already exists is protected. One that is an input of the command is refused, by
// device and inode; so is a model or any file with binary data, since weights cannot be made again.
// Copies of models may only replace copies that we wrote. Width and color follow the terminal,
// COLUMNS and NO_COLOR.
#include "tools/cli/output.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/api/annotate.h"
#include "src/api/text_forms.h"
#include "src/base/limit_error.h"
#include "src/base/platform/platform.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/load/load_file.h"
#include "src/load/looks_like_model.h"
#include "tools/cli/write_file.h"

namespace onnxflops::tools {
namespace {

constexpr int kMaxLinks = 40;  // symbolic links in a row, as Linux has it
constexpr int kMaxWidth = 1000;

// The target of a name given with -o: an open descriptor, or the file at the end of a chain of
// symbolic links, whether it exists or not.
struct Target {
  int fd = -1;
  std::string path;
};

absl::StatusOr<Target> FollowLinks(const std::string& file) {
  if (file == "-") return Target{STDOUT_FILENO, ""};
  Target target = {-1, file};
  for (int i = 0; i < kMaxLinks; ++i) {
    target.fd = platform::OwnDescriptor(target.path);
    if (target.fd >= 0) return target;
    std::array<char, 4096> link;
    const ssize_t n = readlink(target.path.c_str(), link.data(), link.size());
    if (n < 0) return target;
    std::string next(link.data(), static_cast<size_t>(n));
    const size_t slash = target.path.rfind('/');
    if (next[0] != '/' && slash != std::string::npos) next.insert(0, target.path, 0, slash + 1);
    target.path = std::move(next);
  }
  return FromErrno(ELOOP);
}

absl::Status RefuseInput(const std::optional<platform::FileId>& output,
                         absl::Span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    const std::optional<platform::FileId> id =
        input == "-" ? platform::IdOf(STDIN_FILENO) : platform::IdOf(input);
    if (!id || id != output) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("it is the same file as ",
                     input == "-" ? "standard input" : absl::StrCat("the input ", Quoted(input))));
  }
  return absl::OkStatus();
}

bool IsModel(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const absl::Cleanup close_file = [fd] { close(fd); };
  std::array<char, kTextFormPrefix> bytes;
  const ssize_t n = pread(fd, bytes.data(), bytes.size(), 0);
  return n > 0 && (IsTextModel(path, absl::string_view(bytes.data(), static_cast<size_t>(n))) ||
                   LooksLikeModel(fd));
}

// Weights, for one, which no program can write again. What we write is text.
bool IsBinary(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const absl::Cleanup close_file = [fd] { close(fd); };
  std::array<char, 4096> bytes;
  const ssize_t n = pread(fd, bytes.data(), bytes.size(), 0);
  return n > 0 && std::memchr(bytes.data(), 0, static_cast<size_t>(n)) != nullptr;
}

absl::Status RefuseModelAndBinary(const std::string& path) {
  const bool model = IsModel(path);
  if (!model && !IsBinary(path)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("it is ", model ? "an ONNX model" : "no text file",
                                                 "; delete it first, or give another name"));
}

absl::Status RefuseAllButCopies(const std::string& path) {
  const absl::StatusOr<Model> model = LoadFile(path);
  if (model.ok() && IsAnnotated(*model)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "it exists, and is no copy of a model with notes; delete it first, or give another name");
}

// What goes to a file, and which file it may replace.
struct Output {
  FileFiller fill;
  absl::FunctionRef<absl::Status(const std::string& path)> may_replace;
  absl::Span<const std::string> inputs;
};

absl::Status WriteFile(const Output& output, const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ReplaceFile(path, output.fill);
  if (S_ISDIR(info.st_mode)) return FromErrno(EISDIR);
  if (access(path.c_str(), W_OK) != 0) return FromErrno(errno);
  if (!S_ISREG(info.st_mode)) return WriteToDevice(path, output.fill);
  RETURN_IF_ERROR(RefuseInput(platform::IdOf(path), output.inputs));
  RETURN_IF_ERROR(output.may_replace(path));
  return ReplaceFile(path, output.fill);
}

absl::Status WriteDescriptor(const Output& output, int fd) {
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    RETURN_IF_ERROR(RefuseInput(platform::IdOf(fd), output.inputs));
  }
  return output.fill(fd);
}

absl::Status WriteTo(const std::string& file, const Output& output) {
  // A limit on file size is an error of write(), not the end of the program.
  platform::IgnoreFileSizeSignal();
  ASSIGN_OR_RETURN(const Target target, FollowLinks(file));
  return target.fd >= 0 ? WriteDescriptor(output, target.fd) : WriteFile(output, target.path);
}

absl::Status NamedOutput(const std::string& file, const absl::Status& written) {
  if (written.ok()) return written;
  return WithMessage(
      written, absl::StrCat("cannot write to ", file == "-" ? "standard output" : Quoted(file),
                            ": ", written.message()));
}

}  // namespace

absl::Status WriteOutput(absl::string_view text, const std::string& file,
                         absl::Span<const std::string> inputs) {
  const auto fill = [&](int fd) { return WriteAll(fd, text); };
  return NamedOutput(file, WriteTo(file, {fill, RefuseModelAndBinary, inputs}));
}

absl::Status RequireDistinct(absl::Span<const std::string> files) {
  const auto plain = [](const std::string& file) {
    return std::filesystem::path(file).lexically_normal();
  };
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = 0; j < i && !files[i].empty() && files[i] != "-"; ++j) {
      if (plain(files[i]) != plain(files[j])) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("two outputs have one name: ", Quoted(files[i])));
    }
  }
  return absl::OkStatus();
}

absl::Status WriteModelCopy(FileFiller fill, const std::string& file,
                            absl::Span<const std::string> inputs) {
  return NamedOutput(file, WriteTo(file, {fill, RefuseAllButCopies, inputs}));
}

std::string StepSummaryFile() {
  const char* path = getenv("GITHUB_STEP_SUMMARY");
  return path == nullptr ? "" : path;
}

absl::Status AppendToStepSummary(absl::string_view text, absl::Span<const std::string> inputs) {
  const std::string path = StepSummaryFile();
  if (path.empty()) return absl::OkStatus();
  platform::IgnoreFileSizeSignal();
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  const auto fill = [&](int fd) { return WriteAll(fd, text); };
  absl::Status written = absl::OkStatus();
  if (exists && !S_ISREG(info.st_mode)) {
    written = S_ISDIR(info.st_mode) ? FromErrno(EISDIR) : WriteToDevice(path, fill);
  } else {
    if (exists) written = RefuseInput(platform::IdOf(path), inputs);
    if (exists && written.ok()) written = RefuseModelAndBinary(path);
    if (written.ok()) written = AppendToFile(path, text);
  }
  if (written.ok()) return written;
  return WithMessage(written, absl::StrCat("cannot write to ", Quoted(path),
                                           " (GITHUB_STEP_SUMMARY): ", written.message()));
}

void WriteError(absl::string_view message) {
  // There is nowhere left to report an error with this.
  WriteAll(STDERR_FILENO, absl::StrCat("onnxflops: ", message, "\n")).IgnoreError();
}

namespace {

// The columns and lines that standard output has; 0: as many as it takes. COLUMNS counts more than
// the terminal.
TableStyle SizeOfOutput(bool is_terminal) {
  TableStyle style;
  if (is_terminal) {
    const platform::TerminalSize size = platform::SizeOfTerminal(STDOUT_FILENO);
    style.width = size.known ? size.columns : 80;
    style.height = size.lines;
  }
  const char* columns = getenv("COLUMNS");
  int width = 0;
  if (columns != nullptr && absl::SimpleAtoi(columns, &width) && width > 0 && width <= kMaxWidth) {
    style.width = width;
  }
  return style;
}

bool IsSet(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && *value != '\0';
}

bool IsZero(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && strcmp(value, "0") == 0;
}

bool IsColored(ColorWhen color, bool is_terminal) {
  if (color != ColorWhen::kAuto) return color == ColorWhen::kAlways;
  if (IsSet("NO_COLOR")) return false;
  if (IsSet("CLICOLOR_FORCE") && !IsZero("CLICOLOR_FORCE")) return true;
  const char* term = getenv("TERM");
  const bool dumb = term == nullptr || strcmp(term, "dumb") == 0;
  return is_terminal && !dumb && !IsZero("CLICOLOR");
}

}  // namespace

TableStyle StyleFor(const std::string& file, ColorWhen color) {
  const bool is_terminal = file == "-" && isatty(STDOUT_FILENO) != 0;
  TableStyle style;
  if (file == "-") style = SizeOfOutput(is_terminal);
  style.color = IsColored(color, is_terminal);
  return style;
}

}  // namespace onnxflops::tools
