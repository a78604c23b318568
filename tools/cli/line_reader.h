// Lines of a file or a pipe, while it may still grow.
#ifndef ONNXFLOPS_TOOLS_CLI_LINE_READER_H_
#define ONNXFLOPS_TOOLS_CLI_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onnxflops::tools {

class LineReader {
 public:
  // "-" is standard input. With `follow` the end of a file is not the end: it may grow, or another
  // may take its place, as logs are rotated.
  static absl::StatusOr<LineReader> Open(const std::string& path, bool follow);
  LineReader(LineReader&& other) noexcept;
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  LineReader& operator=(LineReader&&) = delete;
  ~LineReader();

  // The next line without its end; nullopt at the end. Of a line of more than `most` bytes, so many
  // and one more.
  absl::StatusOr<std::optional<std::string>> Next(size_t most);
  int64_t line() const { return line_; }  // the number of the last one, from 1

 private:
  LineReader(int fd, std::string path, bool follow);
  // Reads more; false at the end.
  absl::StatusOr<bool> Fill();
  // Waits for more of the file, or opens the one in its place.
  absl::Status Wait();

  int fd_;
  std::string path_;
  bool follow_;
  std::string buffer_;
  size_t begin_ = 0;  // of what is not taken yet
  int64_t line_ = 0;
};

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_LINE_READER_H_
