// Runs onnxflops-official, a separate program that links the official ONNX library (see
// tools/official/main.cc). It is started only when needed, and must be in the folder of this
// program.
#ifndef ONNXFLOPS_SRC_API_OFFICIAL_PROGRAM_H_
#define ONNXFLOPS_SRC_API_OFFICIAL_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onnxflops {

// The environment variable that may name its path.
inline constexpr char kOfficialProgramVariable[] = "ONNXFLOPS_OFFICIAL";

// Its exit code when the text is longer than the call allows; 2 of any other fault.
inline constexpr int kTextTooLong = 3;

// One run of the program; the caller reads its standard output.
//
//   ASSIGN_OR_RETURN(OfficialProgram program, OfficialProgram::Start({"text", "json"}, fd));
//   ... read program.output() to its end ...
//   RETURN_IF_ERROR(program.Finish());
class OfficialProgram {
 public:
  // `input` becomes its standard input. FailedPrecondition if it is not there.
  static absl::StatusOr<OfficialProgram> Start(const std::vector<std::string>& arguments,
                                               int input);
  OfficialProgram(OfficialProgram&& other) noexcept;
  OfficialProgram& operator=(OfficialProgram&&) = delete;
  OfficialProgram(const OfficialProgram&) = delete;
  OfficialProgram& operator=(const OfficialProgram&) = delete;
  ~OfficialProgram();

  int output() const { return output_; }
  // Waits for its end. Its stderr becomes the error message. A broken pipe is not an error when the
  // reader stopped early.
  absl::Status Finish();

 private:
  OfficialProgram(intptr_t program, int output, int errors)
      : program_(program), output_(output), errors_(errors) {}

  intptr_t program_;
  int output_, errors_;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_OFFICIAL_PROGRAM_H_
