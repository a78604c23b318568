// How the program names settings in messages: by its options.
#ifndef ONNXFLOPS_TOOLS_CLI_PROGRAM_FACE_H_
#define ONNXFLOPS_TOOLS_CLI_PROGRAM_FACE_H_

#include "src/base/setting.h"

namespace onnxflops::tools {

// "--dim batch=1". An option has the name of its setting.
extern const Face kProgramFace;

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_CLI_PROGRAM_FACE_H_
