#include "tools/cli/line_reader.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "src/base/platform/platform.h"
#include "src/base/status_macros.h"
#include "src/load/input_file.h"
#include "tools/cli/write_file.h"

namespace onnxflops::tools {
namespace {

constexpr size_t kPiece = size_t{1} << 16;
constexpr std::chrono::milliseconds kPause(100);

}  // namespace

LineReader::LineReader(int fd, std::string path, bool follow)
    : fd_(fd), path_(std::move(path)), follow_(follow) {}

LineReader::LineReader(LineReader&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      follow_(other.follow_),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      line_(other.line_) {}

LineReader::~LineReader() {
  if (fd_ > STDIN_FILENO) close(fd_);
}

absl::StatusOr<LineReader> LineReader::Open(const std::string& path, bool follow) {
  if (path == "-") return LineReader(STDIN_FILENO, path, false);
  ASSIGN_OR_RETURN(const int fd, OpenForReading(path));
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError("is a directory, not a file");
  }
  if (fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && isatty(fd) == 0) {
    close(fd);
    return absl::InvalidArgumentError("is a device, not a file");
  }
  return LineReader(fd, path, follow && S_ISREG(info.st_mode));
}

absl::Status LineReader::Wait() {
  std::this_thread::sleep_for(kPause);
  struct stat open;
  if (!platform::IdOf(path_) || fstat(fd_, &open) != 0) return absl::OkStatus();
  const off_t at = lseek(fd_, 0, SEEK_CUR);
  if (platform::IdOf(path_) == platform::IdOf(fd_)) {
    if (open.st_size < at) lseek(fd_, 0, SEEK_SET);  // it was made empty
    return absl::OkStatus();
  }
  if (open.st_size > at) return absl::OkStatus();  // first the rest of the old one
  const absl::StatusOr<int> next = OpenForReading(path_);
  if (!next.ok()) return absl::OkStatus();  // not yet there
  close(fd_);
  fd_ = *next;
  line_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<bool> LineReader::Fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t size = buffer_.size();
  while (true) {
    buffer_.resize(size + kPiece);
    const ssize_t n = ReadSome(fd_, buffer_.data() + size, kPiece);
    buffer_.resize(size + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0) return FromErrno(errno);
    if (n > 0) return true;
    if (!follow_) return false;
    RETURN_IF_ERROR(Wait());
  }
}

absl::StatusOr<std::optional<std::string>> LineReader::Next(size_t most) {
  std::string line;
  bool cut = false;
  while (true) {
    const size_t end = buffer_.find('\n', begin_);
    const size_t stop = std::min(end, buffer_.size());
    if (!cut) line.append(buffer_, begin_, stop - begin_);
    if (line.size() > most) {
      line.resize(most + 1);
      cut = true;
    }
    begin_ = stop;
    if (end != std::string::npos) {
      ++begin_;
      ++line_;
      return line;
    }
    ASSIGN_OR_RETURN(const bool more, Fill());
    if (more) continue;
    if (line.empty()) return std::nullopt;
    ++line_;
    return line;
  }
}

}  // namespace onnxflops::tools
