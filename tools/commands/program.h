// The program as a function: main() calls it, and so does the Python package.
#ifndef ONNXFLOPS_TOOLS_COMMANDS_PROGRAM_H_
#define ONNXFLOPS_TOOLS_COMMANDS_PROGRAM_H_

namespace onnxflops::tools {

// Takes what main() takes and returns the exit code.
int RunProgram(int argc, char** argv);

}  // namespace onnxflops::tools

#endif  // ONNXFLOPS_TOOLS_COMMANDS_PROGRAM_H_
