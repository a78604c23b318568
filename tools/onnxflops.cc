// onnxflops: counts the arithmetic of ONNX models.

#include "tools/commands/program.h"

int main(int argc, char** argv) { return onnxflops::tools::RunProgram(argc, argv); }
