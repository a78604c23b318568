// onnxflops-official: a second program, which onnxflops starts for work that needs the official
// ONNX library and Protobuf. They are separate because linking them would add a seventh to the
// start of onnxflops, and because their crashes then stay in this process.
//
//   onnxflops-official text FORM BYTES   a model as text on standard input, of at most BYTES
//                                        bytes, as ModelProto on standard output
//   onnxflops-official bodies            the function bodies of operators: see function_bodies.h
//
// On failure it writes one line to standard error and nothing else; the exit code is 2.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/api/official_program.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/status_macros.h"
#include "src/load/input_file.h"
#include "tools/official/function_bodies.h"
#include "tools/official/text_form.h"

namespace onnxflops::tools {
namespace {

absl::StatusOr<std::string> ReadInput(int64_t limit) {
  std::string bytes;
  size_t size = 0;
  while (true) {
    bytes.resize(std::max<size_t>(2 * size, size_t{1} << 16));
    const ssize_t n = ReadSome(STDIN_FILENO, bytes.data() + size, bytes.size() - size);
    if (n < 0) return absl::UnknownError(absl::StrCat("cannot be read: ", std::strerror(errno)));
    size += static_cast<size_t>(n);
    if (static_cast<int64_t>(size) > limit) {
      return LimitError("text-bytes", absl::StrCat("larger than ", limit, " bytes (text-bytes)"));
    }
    if (n == 0) break;
  }
  bytes.resize(size);
  return bytes;
}

absl::Status Text(absl::string_view form, absl::string_view max_bytes) {
  int64_t limit = 0;
  if (!absl::SimpleAtoi(max_bytes, &limit) || limit > INT32_MAX) {
    return absl::InvalidArgumentError(absl::StrCat(max_bytes, " is no limit of bytes"));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadInput(limit));
  ASSIGN_OR_RETURN(const onnx::ModelProto model, ReadText(TextFormNamed(form), text));
  if (model.ByteSizeLong() == 0) return absl::InvalidArgumentError("is empty");
  if (model.ByteSizeLong() > INT32_MAX) {
    return absl::OutOfRangeError("takes more than 2 GB, which Protobuf cannot write");
  }
  // onnxflops stops reading when it has found a fault; this is not an error here.
  static_cast<void>(model.SerializeToFileDescriptor(STDOUT_FILENO));
  return absl::OkStatus();
}

absl::Status Bodies() {
  ASSIGN_OR_RETURN(const std::string bytes, ReadInput(kMaxTextBytes));
  onnx::ModelProto request;
  if (!request.ParseFromString(bytes)) return absl::InvalidArgumentError("is no ModelProto");
  static_cast<void>(FindFunctionBodies(request).SerializeToFileDescriptor(STDOUT_FILENO));
  return absl::OkStatus();
}

absl::Status Run(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "text") == 0) return Text(argv[2], argv[3]);
  if (argc == 2 && std::strcmp(argv[1], "bodies") == 0) return Bodies();
  return absl::InvalidArgumentError("this program is for onnxflops to start, which reads models");
}

absl::Status RunSafely(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("takes more memory than there is");
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the official library fails: ", error.what()));
  }
}

}  // namespace
}  // namespace onnxflops::tools

int main(int argc, char** argv) {
  // Protobuf would also log to standard error the errors that it returns.
  google::protobuf::SetLogHandler(nullptr);
  const absl::Status status = onnxflops::tools::RunSafely(argc, argv);
  if (status.ok()) return 0;
  static_cast<void>(std::fprintf(stderr, "%s", std::string(status.message()).c_str()));
  return onnxflops::LimitOf(status).empty() ? 2 : onnxflops::kTextTooLong;
}
